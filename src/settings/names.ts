/** The names of the settings, and the search for misspelled names and lines. config.ts has the meaning of each setting. */

import { ConfigError } from '../base/errors';
import { DEFAULT_GRACE_DAYS, MAX_GRACE_DAYS } from '../orders/shop-kinds';
import type { Picture } from '../packages/pictures';
import { CUSTOMER_LANGUAGES } from '../texts/customers/languages';

/** Settings with a password or key. Each may also be in a file, which the setting with _FILE at its end names. */
const SECRETS = [
  'LICENSING_DATABASE_URL',
  'LICENSING_REDIS_URL',
  'LICENSING_MAIL_URL',
  'LICENSING_KEY_SECRET',
] as const;

export const VARIABLES = [
  'LICENSING_ENV_FILE',
  'LICENSING_DATABASE_URL',
  'LICENSING_DATABASE_CONNECTIONS',
  'LICENSING_JOOMLA_ROOT',
  'LICENSING_TABLE_PREFIX',
  'LICENSING_REDIS_URL',
  'LICENSING_LISTEN',
  'LICENSING_TRUSTED_PROXIES',
  'LICENSING_PACKAGES_DIR',
  'LICENSING_ACCEL_LOCATION',
  'LICENSING_XML_DIR',
  'LICENSING_PUBLIC_URL',
  'LICENSING_PAGES_HOST',
  'LICENSING_SHOP_NAME',
  'LICENSING_SHOP_LOGO',
  'LICENSING_MAIL_URL',
  'LICENSING_MAIL_LANGUAGE',
  'LICENSING_MAIL_TEXTS_DIR',
  'LICENSING_KEY_SECRET',
  ...SECRETS.map((name) => `${name}_FILE` as const),
  'LICENSING_TOKEN_DAYS',
  'LICENSING_OFFLINE_DAYS',
  'LICENSING_WEBHOOK_NETWORKS',
  'LICENSING_GRACE_DAYS',
  'LICENSING_RATE_LIMIT',
  'LICENSING_RATE_WINDOW',
  'LICENSING_DOWNLOAD_RATE_LIMIT',
  'LICENSING_OPERATOR_GROUPS',
  'LICENSING_MANAGE_RATE_LIMIT',
  'LICENSING_UPLOAD_LIMIT',
  'LICENSING_LOG_LEVEL',
  'LICENSING_LOG_DAYS',
  'LICENSING_SPREAD_FACTOR',
  'LICENSING_TIMEOUT_FACTOR',
  'LICENSING_FORMERLY',
  'LICENSING_ADMIN_LISTEN',
  'LICENSING_NODE',
] as const;
/** Each secret setting with the setting that names its file. */
export const SECRET_FILES = SECRETS.map((secret) => ({ secret, file: `${secret}_FILE` as const }));
export type Variable = (typeof VARIABLES)[number];
export type Settings = Partial<Record<Variable, string>>;

/** A setting that a seller may change while the service runs. Pages, API, command and config.ts use this list. */
export type Editable =
  | { group: SettingGroup; kind: 'text'; most: number }
  | { group: SettingGroup; kind: 'url' | 'mail' }
  | { group: SettingGroup; kind: 'choice'; of: readonly string[] }
  /** A whole number. Without `fallback`, the default is another setting's value (config.ts). */
  | { group: SettingGroup; kind: 'number'; min: number; max: number; fallback: number | undefined };

export type SettingGroup = 'shop' | 'mail' | 'limits' | 'keeping';

const number = (group: SettingGroup, fallback: number | undefined, min = 1, max = 1_000_000_000) =>
  ({ group, kind: 'number', fallback, min, max }) as const;

const MAX_WINDOW_S = 86_400;
const MAX_TOKEN_DAYS = 3_660;

/** The editable settings, keyed by the variable without LICENSING_, in the order in which they are shown. */
export const EDITABLE = {
  shop_name: { group: 'shop', kind: 'text', most: 100 },
  public_url: { group: 'shop', kind: 'url' },
  mail_url: { group: 'mail', kind: 'mail' },
  mail_language: { group: 'mail', kind: 'choice', of: CUSTOMER_LANGUAGES },
  rate_limit: number('limits', 60),
  rate_window: number('limits', 60, 1, MAX_WINDOW_S),
  download_rate_limit: number('limits', undefined),
  manage_rate_limit: number('limits', 600),
  grace_days: number('keeping', DEFAULT_GRACE_DAYS, 0, MAX_GRACE_DAYS),
  log_days: number('keeping', 90, 1, 36_500),
  token_days: number('keeping', 14, 1, MAX_TOKEN_DAYS),
  offline_days: number('keeping', 30, 1, MAX_TOKEN_DAYS),
} as const satisfies Partial<Record<SettingName, Editable>>;

/** A variable's name without LICENSING_. */
export type SettingName = Variable extends infer Name
  ? Name extends `LICENSING_${infer Rest}`
    ? Lowercase<Rest>
    : never
  : never;
export type EditableName = keyof typeof EDITABLE;
export const EDITABLE_NAMES = Object.keys(EDITABLE) as EditableName[];

export function variableOf<Name extends SettingName>(name: Name): `LICENSING_${Uppercase<Name>}` {
  return `LICENSING_${name.toUpperCase() as Uppercase<Name>}`;
}

export function isEditable(name: string): name is EditableName {
  return Object.hasOwn(EDITABLE, name);
}

/** The decrypted settings of the database (settings/stored.ts). */
export interface StoredSettings {
  values: Readonly<Partial<Record<EditableName, string>>>;
  /** the seller's mail texts, by `NAME.LANGUAGE` */
  mailTexts: Readonly<Record<string, string>>;
  picture: Picture | undefined;
}

export const NOTHING_STORED: StoredSettings = { values: {}, mailTexts: {}, picture: undefined };

/** Settings that are read before any settings file. */
const OF_THE_START = ['LICENSING_ENV_FILE', 'LICENSING_NODE'];

/** Reports whether a settings file can contain this setting. */
export function isSetting(name: string): name is Exclude<Variable, 'LICENSING_ENV_FILE' | 'LICENSING_NODE'> {
  return !OF_THE_START.includes(name) && (VARIABLES as readonly string[]).includes(name);
}

/** Returns a line for a settings file. @throws ConfigError for a value that such a file cannot contain */
export function settingLine(name: string, value: string): string {
  return `${name}=${quote(value)}\n`;
}

/** Quotes a value for dotenv: inside quotes, only the quote itself is special (and \ in double quotes). */
function quote(value: string): string {
  if (/^[\w./:@%+=,-]*$/.test(value)) return value;
  const mark = ["'", '"', '`'].find((candidate) => !value.includes(candidate));
  if (mark === undefined || value.includes('\n') || (mark === '"' && value.includes('\\')))
    throw new ConfigError(
      'A setting has characters that this command cannot write to .env. Write it into .env by hand.',
    );
  return mark + value + mark;
}

/** Returns a warning for each unknown name that is meant for this program, with the likely right name. */
export function describeUnknown(names: string[]): string[] {
  return names
    .filter((name) => !(VARIABLES as readonly string[]).includes(name))
    .filter(isMeantForUs)
    .map((name) => {
      const meant = almostVariable(name) ?? closestVariable(name);
      return `${name} is not a setting of this program and is ignored. ${
        meant === undefined ? `The settings are: ${VARIABLES.join(', ')}.` : `Did you mean ${meant}?`
      }`;
    });
}

const ASSIGNMENT = /^\s*(?:export\s+)?([\w.-]+)(?:\s*=|:\s)(.*)/;

/** Warns about lines for this program that set nothing or are overridden. Values are never repeated. */
export function describeLines(text: string, file: string): string[] {
  const remarks: string[] = [];
  const set = new Map<string, string>();
  for (const [i, line] of text.split(/\r?\n/).entries()) {
    const [, name, value = ''] = ASSIGNMENT.exec(line) ?? [];
    if (name !== undefined) {
      const earlier = set.get(name);
      if (isMeantForUs(name) && earlier !== undefined && earlier !== value.trim())
        remarks.push(`${name} is set twice in ${file}: the value in line ${i + 1} is used.`);
      set.set(name, value.trim());
    } else if (/^\s*(?:export\s+)?LICENSING/i.test(line)) {
      const meant = VARIABLES.find((variable) => line.trim().split(/\s/).includes(variable));
      remarks.push(`Line ${i + 1} of ${file} sets nothing. It must have the form ${meant ?? 'NAME'}=VALUE.`);
    }
  }
  return remarks;
}

/** Reports whether a variable is meant for this program, even if it is misspelled. */
export function isMeantForUs(name: string): boolean {
  return name.startsWith('LICENSING_') || almostVariable(name) !== undefined;
}

/** A quick check: two typing errors leave one of the three parts of "LICENSING_" intact, so most names need no comparison. */
const RESEMBLES = /LIC|ENS|ING_/i;

/** Returns the setting within two typing errors of a name, ignoring case, even if "LICENSING_" is misspelled. */
function almostVariable(name: string): Variable | undefined {
  if (!RESEMBLES.test(name)) return undefined;
  const most = 2;
  return VARIABLES.find(
    (variable) =>
      Math.abs(variable.length - name.length) <= most && editDistance(name.toUpperCase(), variable) <= most,
  );
}

function closestVariable(name: string): Variable | undefined {
  const word = (variable: string) => variable.toUpperCase().slice('LICENSING_'.length);
  const [closest] = VARIABLES.map((variable) => ({
    variable,
    distance: editDistance(word(name), word(variable)),
  })).sort((a, b) => a.distance - b.distance);
  return closest && closest.distance <= word(closest.variable).length / 3 ? closest.variable : undefined;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (const [i, character] of Array.from(a).entries()) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++)
      next.push(
        Math.min(
          (next[j] as number) + 1,
          (row[j + 1] as number) + 1,
          (row[j] as number) + (character === b[j] ? 0 : 1),
        ),
      );
    row = next;
  }
  return row[b.length] as number;
}
