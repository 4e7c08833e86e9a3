import { isUtf8 } from 'node:buffer';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CUSTOMER_LANGUAGES, type CustomerLanguage } from '../texts/customers/languages';
import { operatorLanguageOf } from '../texts/operators/languages';

/** The texts of mails: files named `TYPE.LANGUAGE.txt`, with the subject in the first line. */

const OF_LICENSE = ['product', 'plan', 'ends', 'renew_url', 'support_url', 'my_url'] as const;

/** The placeholders that each text may use, besides `{shop}`. */
export const PLACEHOLDERS = {
  license_key: [...OF_LICENSE, 'key', 'ended', 'entry', 'entries'],
  order_keys: ['products', 'keys', 'support_url', 'my_url'],
  reminder: [...OF_LICENSE, 'days'],
  reminder_ended: OF_LICENSE,
  customer_link: ['link'],
  operator_link: ['link'],
  key_changed: [...OF_LICENSE, 'key_hint', 'old_key_ends'],
  site_removed: [...OF_LICENSE, 'site'],
  security_release: ['product', 'version', 'fixed', 'my_url', 'support_url'],
  address_new: ['my_url', 'support_url'],
  address_old: ['support_url'],
  webhook_disabled: ['name', 'link'],
  test: [],
} as const satisfies Record<string, readonly string[]>;

export type TextName = keyof typeof PLACEHOLDERS;
export const TEXT_NAMES = Object.keys(PLACEHOLDERS) as TextName[];

/** Those that only operators get. */
const OF_OPERATORS: readonly TextName[] = ['operator_link', 'webhook_disabled', 'test'];

export interface TextFolders {
  /** our own texts */
  builtIn: string;
  /** the seller's, each instead of ours; undefined: none */
  own: string | undefined;
}

export interface MailText {
  subject: string;
  body: string;
}

/** The seller's text where there is a usable one, else ours. Read for each mail, so that a change needs no restart. */
export function readMailText(folders: TextFolders, name: TextName, language: CustomerLanguage): MailText {
  const file = fileName(name, OF_OPERATORS.includes(name) ? operatorLanguageOf(language) : language);
  const own = folders.own === undefined ? undefined : join(folders.own, file);
  if (own !== undefined && existsSync(own)) {
    const text = readText(own, name);
    if (typeof text !== 'string') return text;
  }
  const builtIn = readText(join(folders.builtIn, file), name);
  if (typeof builtIn === 'string') throw new Error(`${file}: ${builtIn}`);
  return builtIn;
}

/** What is wrong with the seller's texts, as sentences; each such text is replaced by ours. */
export function findTextFaults({ own }: TextFolders): string[] {
  if (own === undefined) return [];
  let files: string[];
  try {
    files = readdirSync(own).sort();
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    const fault = code === 'ENOENT' ? 'there is no such folder' : `it cannot be read as a folder (${code})`;
    return [`LICENSING_MAIL_TEXTS_DIR names ${own}, and ${fault}.`];
  }
  const names = new Map(
    TEXT_NAMES.flatMap((name) =>
      CUSTOMER_LANGUAGES.map((language) => [fileName(name, language), name] as const),
    ),
  );
  return files.flatMap((file) => {
    const name = names.get(file);
    // Other files, such as a backup, may lie there.
    if (name === undefined && !file.endsWith('.txt')) return [];
    const fault =
      name === undefined ? 'no mail has this name. See the folder mails.' : readText(join(own, file), name);
    return typeof fault === 'string' ? [`${join(own, file)} is not used: ${fault}`] : [];
  });
}

function fileName(name: TextName, language: CustomerLanguage): string {
  return `${name}.${language}.txt`;
}

/** The text, or why it cannot be used. */
function readText(path: string, name: TextName): MailText | string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    return `it cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'}).`;
  }
  if (!isUtf8(bytes)) return 'it is not in UTF-8. Save it in UTF-8.';
  const content = bytes.toString('utf8');
  const [subject = '', ...lines] = content.replace(/^\uFEFF/, '').split(/\r?\n/);
  const body = lines.join('\n').trim();
  if (subject.trim() === '' || body === '')
    return 'it needs a subject in its first line, and a text below it.';
  const known: readonly string[] = ['shop', ...PLACEHOLDERS[name]];
  const isKnown = (whole: string) => known.some((word) => whole === `{${word}}`);
  // A customer would get it unchanged.
  const wrong = content.match(BRACED)?.find((whole) => !isKnown(whole));
  if (wrong !== undefined)
    return `it has ${wrong}; it may have ${known.map((word) => `{${word}}`).join(', ')}.`;
  const needed = NEEDED[name];
  return needed === undefined || content.includes(`{${needed}}`)
    ? { subject: subject.trim(), body }
    : `it lacks {${needed}}.`;
}

export const PLACEHOLDER = /\{([a-z_]*)\}/g;
/** Text that was meant as a placeholder, such as "{Key}", "{ key }" and "{key". */
const BRACED = /\{[^{}\r\n]*\}?|\}/g;

/** The placeholder without which the mail would be of no use. */
const NEEDED: Partial<Record<TextName, string>> = {
  license_key: 'key',
  order_keys: 'keys',
  customer_link: 'link',
  operator_link: 'link',
  webhook_disabled: 'link',
};
