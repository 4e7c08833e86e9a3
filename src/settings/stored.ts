import type { Logger } from 'pino';
import { isPreset, withUsable, type Config } from './config';
import { ConfigError } from '../base/errors';
import { OperatorError } from '../licensing/operator-error';
import { openSealedKey, SealError, sealKey } from '../licensing/sealing';
import { uploadedPicture } from '../packages/pictures';
import { createLoop } from '../runner/loop';
import {
  EDITABLE,
  isEditable,
  NOTHING_STORED,
  variableOf,
  type EditableName,
  type StoredSettings,
} from './names';
import type { Db } from '../store/engine/database';
import {
  deleteSetting,
  listSettings,
  putSetting,
  readSettingsMark,
  type StoredSetting,
} from '../store/settings';

/**
 * Settings that a seller stores in the database. Settings of the environment win over them. Each instance checks for
 * changes every second, so that a change takes effect everywhere within two seconds.
 */

export { describeDatabase } from '../store/engine/error-messages';
export { deleteSetting, type StoredSetting };

/** The names of rows that are not settings themselves. */
export const PICTURE = 'picture';
export const MAIL_TEXT = 'mail_text.';

/** Reads and decrypts the stored settings. `faults` are sentences about values that cannot be decrypted. */
export async function readStoredSettings(
  db: Db,
  keySecret: Buffer | undefined,
): Promise<{ stored: StoredSettings; faults: string[]; rows: StoredSetting[] }> {
  const rows = await listSettings(db);
  const values: Partial<Record<EditableName, string>> = {};
  const mailTexts: Record<string, string> = {};
  const faults: string[] = [];
  let { picture } = NOTHING_STORED;
  for (const row of rows) {
    const { name, value } = row;
    if (name === PICTURE) picture = uploadedPicture(Buffer.from(value ?? '', 'base64'));
    else if (name.startsWith(MAIL_TEXT)) mailTexts[name.slice(MAIL_TEXT.length)] = value ?? '';
    else if (isEditable(name))
      try {
        values[name] = openValue(row, keySecret);
      } catch (error) {
        if (!(error instanceof SealError)) throw error;
        faults.push(
          `The stored setting ${name} is not used: it was sealed with another LICENSING_KEY_SECRET. Set it again: licensing settings set ${name}`,
        );
      }
  }
  return { stored: { values, mailTexts, picture }, faults, rows };
}

/** Returns the settings in effect now. @throws ConfigError if settings of the environment can no longer be used */
export async function readEffective(db: Db, config: Config): Promise<Config> {
  const { stored, faults } = await readStoredSettings(db, config.keySecret);
  const built = withUsable(config, stored);
  // Keep the value that no variable sets.
  const { shopApiUrl } = config;
  const own = shopApiUrl === undefined ? {} : { shopApiUrl };
  return Object.assign(built, own, { warnings: [...built.warnings, ...faults] });
}

/** Stores a value that was checked by `withStored`; null removes it. @throws OperatorError if it needs a key secret */
export async function storeSetting(
  db: Db,
  name: EditableName,
  value: string | null,
  { keySecret, ...by }: { actor: string; now: Date; keySecret: Buffer | undefined },
): Promise<void> {
  if (value === null) {
    await deleteSetting(db, name);
    return;
  }
  if (!holdsPassword(name, value)) {
    await storeRow(db, name, { value, valueSealed: null }, by);
    return;
  }
  if (keySecret === undefined)
    throw new OperatorError(
      `A password is stored sealed, which needs LICENSING_KEY_SECRET. Set that ("licensing init" makes one), or set ${variableOf(name)} in the environment.`,
      { code: 'CONFLICT', field: name, facts: { reason: 'no-key-secret' } },
    );
  await storeRow(db, name, { value: null, valueSealed: sealKey(value, sealedFor(name), keySecret) }, by);
}

/** Stores a row. @param name PICTURE, or MAIL_TEXT with a text's id */
export function storeRow(
  db: Db,
  name: string,
  values: Pick<StoredSetting, 'value' | 'valueSealed'>,
  { actor, now }: { actor: string; now: Date },
): Promise<void> {
  return putSetting(db, { name, ...values, changedBy: actor, changedAt: now });
}

function holdsPassword(name: EditableName, value: string): boolean {
  return EDITABLE[name].kind === 'mail' && /^[a-z]+:\/\/[^/?#]*@/i.test(value);
}

function openValue({ name, value, valueSealed }: StoredSetting, keySecret: Buffer | undefined): string {
  if (valueSealed === null) return value ?? '';
  if (keySecret === undefined) throw new SealError('LICENSING_KEY_SECRET is not set.');
  return openSealedKey(valueSealed, sealedFor(name), keySecret);
}

/** Returns the context in which a value is sealed: it opens only in its own row. */
function sealedFor(name: string): string {
  return `setting ${name}`;
}

/** The sources of a setting's present value. */
export const SETTING_SOURCES = ['environment', 'stored', 'default'] as const;
export type SettingSource = (typeof SETTING_SOURCES)[number];

export function sourceOf(config: Config, name: EditableName): SettingSource {
  if (isPreset(config, variableOf(name))) return 'environment';
  return config.stored.values[name] === undefined ? 'default' : 'stored';
}

/** The settings of a running service. */
export interface LiveSettings {
  /** the present settings; a new object after each change */
  readonly config: Config;
  /** checks for a change at once, after this process has made one */
  refresh(): Promise<void>;
  stop(): Promise<void>;
}

const LOOK_EVERY_MS = 1_000;

/** Reads the stored settings, and watches them for changes. @throws the database's error */
export async function watchSettings(db: Db, config: Config, log: Logger): Promise<LiveSettings> {
  let mark = await readSettingsMark(db);
  let current = await readEffective(db, config);
  for (const warning of current.warnings.filter((one) => !config.warnings.includes(one))) log.warn(warning);
  const loop = createLoop(log, 'changes of the settings are not noticed: the database cannot be read');
  let looking: Promise<void> | undefined;

  async function look(): Promise<void> {
    const next = await readSettingsMark(db);
    if (next === mark) return;
    try {
      current = await readEffective(db, config);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      log.warn({ reason: error.message }, 'a change of the settings waits');
      return;
    }
    mark = next;
    log.info('the settings were changed');
  }

  loop.start(LOOK_EVERY_MS, () => {
    // Run one check at a time, even if the database is slow.
    if (looking !== undefined) return;
    looking = look().finally(() => (looking = undefined));
    loop.track(looking);
  });
  return {
    get config() {
      return current;
    },
    refresh: look,
    stop: loop.stop,
  };
}
