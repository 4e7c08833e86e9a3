import { isUtf8 } from 'node:buffer';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CUSTOMER_LANGUAGES, type CustomerLanguage } from '../texts/customers/languages';
import { operatorLanguageOf } from '../texts/operators/languages';

/**
 * The templates of mails, with the subject in the first line. Our own texts are in one file for each language, each below a
 * line `== TYPE ==`. A seller's texts are in the database and in files named `TYPE.LANGUAGE.txt`.
 */

const OF_HOLE = ['product', 'version', 'cve', 'advisory', 'fixed'] as const;
const OF_LICENSE = ['product', 'plan', 'ends', 'renew_url', 'support_url', 'my_url'] as const;

/** The placeholders that each text may use, in addition to `{shop}`. */
export const PLACEHOLDERS = {
  license_key: [...OF_LICENSE, 'key', 'ended', 'suspended', 'entry', 'entries', 'support_until'],
  order_keys: ['products', 'keys', 'support_url', 'my_url', 'support_until'],
  reminder: [...OF_LICENSE, 'days'],
  reminder_ended: OF_LICENSE,
  payment_failed: ['products', 'billing_url', 'paid_until', 'ends', 'my_url', 'support_url'],
  customer_link: ['link'],
  operator_link: ['link'],
  key_changed: [...OF_LICENSE, 'key_hint', 'old_key_ends'],
  site_removed: [...OF_LICENSE, 'site', 'test_sites'],
  security_release: [...OF_HOLE, 'my_url', 'support_url'],
  security_notice: [...OF_HOLE, 'renew_url', 'my_url', 'support_url'],
  address_new: ['my_url', 'support_url'],
  address_old: ['support_url'],
  webhook_disabled: ['name', 'link'],
  test: [],
} as const satisfies Record<string, readonly string[]>;

export type TextName = keyof typeof PLACEHOLDERS;
export const TEXT_NAMES = Object.keys(PLACEHOLDERS) as TextName[];

/** The texts of mails that only operators receive. */
const OF_OPERATORS: readonly TextName[] = ['operator_link', 'webhook_disabled', 'test'];

export interface TextFolders {
  /** the folder with our own texts */
  builtIn: string;
  /** the folder with the seller's texts, which replace ours; undefined without one */
  own: string | undefined;
  /** the seller's texts in the database, by `NAME.LANGUAGE`; files win over them */
  stored?: Readonly<Record<string, string>>;
}

export interface MailText {
  subject: string;
  body: string;
}

/** The sources of a text. */
export const TEXT_SOURCES = ['file', 'stored', 'built_in'] as const;
export type TextSource = (typeof TEXT_SOURCES)[number];

/**
 * Returns the seller's text if it is usable, otherwise the built-in one. It is read for each mail: a change needs no
 * restart.
 */
export function readMailText(folders: TextFolders, name: TextName, language: CustomerLanguage): MailText {
  return findMailText(folders, name, language).text;
}

/** Returns the text with its source, and in its written form, which has the subject in the first line. */
export function findMailText(
  folders: TextFolders,
  name: TextName,
  language: CustomerLanguage,
): { text: MailText; written: string; source: TextSource } {
  const known = isOfOperators(name) ? operatorLanguageOf(language) : language;
  const id = textId(name, known);
  const file = `${id}.txt`;
  const own = folders.own === undefined ? undefined : join(folders.own, file);
  const candidates: [TextSource, string | undefined][] = [
    ['file', own !== undefined && existsSync(own) ? readFile(own).content : undefined],
    ['stored', folders.stored?.[id]],
  ];
  for (const [source, written] of candidates) {
    const text = written === undefined ? undefined : parseMailText(written, name);
    if (written !== undefined && text !== undefined && !('code' in text)) return { text, written, source };
  }
  const parts = readFileSync(join(folders.builtIn, `${known}.txt`), 'utf8').split(/^== (\w+) ==\n/m);
  const content = parts[parts.indexOf(name) + 1] ?? '';
  const text = parseMailText(content, name);
  if ('code' in text) throw new Error(`${name} in ${known}.txt: ${describeTextFault(text)}`);
  return { text, written: `${content.trimEnd()}\n`, source: 'built_in' };
}

/** Returns our own text in its written form. */
export function builtInText(folders: TextFolders, name: TextName, language: CustomerLanguage): string {
  return findMailText({ builtIn: folders.builtIn, own: undefined }, name, language).written;
}

/** Reports whether a text is for operators, such as `operator_link`. Such texts exist only in the operators' languages. */
export function isOfOperators(name: TextName): boolean {
  return OF_OPERATORS.includes(name);
}

/** Returns the faults of the seller's texts as sentences. The built-in text is sent instead of a text with a fault. */
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
    // Ignore other files, such as a backup.
    if (name === undefined && !file.endsWith('.txt')) return [];
    const fault =
      name === undefined ? 'no mail has this name. See the folder mails.' : faultOf(join(own, file), name);
    return fault === undefined ? [] : [`${join(own, file)} is not used: ${fault}`];
  });
}

/** Returns the name by which a seller's text is found, from its name and language. */
export function textId(name: TextName, language: CustomerLanguage): string {
  return `${name}.${language}`;
}

function fileName(name: TextName, language: CustomerLanguage): string {
  return `${textId(name, language)}.txt`;
}

function faultOf(path: string, name: TextName): string | undefined {
  const { content, fault } = readFile(path);
  if (content === undefined) return fault;
  const text = parseMailText(content, name);
  return 'code' in text ? describeTextFault(text) : undefined;
}

function readFile(path: string): { content?: string; fault?: string } {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    return { fault: `it cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'}).` };
  }
  return isUtf8(bytes)
    ? { content: bytes.toString('utf8') }
    : { fault: 'it is not in UTF-8. Save it in UTF-8.' };
}

/** The fault that makes the text of a mail unusable. `line` counts from 1. */
export type MailTextFault =
  | { code: 'empty' }
  | { code: 'placeholder'; found: string; line: number; known: string[] }
  | { code: 'lacks'; needed: string };

/** Parses a text with the subject in the first line and the body below it. @returns the text, or its fault */
export function parseMailText(content: string, name: TextName): MailText | MailTextFault {
  const lines = content.replace(/^\uFEFF/, '').split(/\r?\n/);
  const [subject = '', ...rest] = lines;
  const body = rest.join('\n').trim();
  if (subject.trim() === '' || body === '') return { code: 'empty' };
  const known = placeholdersFor(name);
  // Refuse an unknown placeholder, which a customer would receive unchanged.
  for (const [i, line] of lines.entries()) {
    const found = line.match(BRACED)?.find((whole) => !known.includes(whole));
    if (found !== undefined) return { code: 'placeholder', found, line: i + 1, known };
  }
  const needed = NEEDED[name];
  return needed === undefined || content.includes(`{${needed}}`)
    ? { subject: subject.trim(), body }
    : { code: 'lacks', needed: `{${needed}}` };
}

/** Returns the placeholders of a text, with their braces. */
export function placeholdersFor(name: TextName): string[] {
  return ['shop', ...PLACEHOLDERS[name]].map((word) => `{${word}}`);
}

/** Describes a fault, as the end of a sentence that begins with the text's name. */
export function describeTextFault(fault: MailTextFault): string {
  switch (fault.code) {
    case 'empty':
      return 'it needs a subject in its first line, and a text below it.';
    case 'placeholder':
      return `it has ${fault.found} in line ${fault.line}; it may contain ${fault.known.join(', ')}.`;
    case 'lacks':
      return `it lacks ${fault.needed}.`;
  }
}

export const PLACEHOLDER = /\{([a-z_]*)\}/g;
/** A text that was meant as a placeholder, such as "{Key}", "{ key }" and "{key". */
const BRACED = /\{[^{}\r\n]*\}?|\}/g;

/** The placeholder that each mail needs to be useful. */
const NEEDED: Partial<Record<TextName, string>> = {
  license_key: 'key',
  order_keys: 'keys',
  payment_failed: 'billing_url',
  customer_link: 'link',
  operator_link: 'link',
  webhook_disabled: 'link',
};
