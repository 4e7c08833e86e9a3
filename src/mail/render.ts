import { PLACEHOLDER, type MailText } from './texts';

/** The values of placeholders; a list gets a line for each entry. A line whose placeholder is undefined is left out. */
export type Values = Partial<Record<string, string | string[]>>;

export interface MailContent {
  subject: string;
  text: string;
  html: string;
}

/** A part of `{keys}`: a key below the name of its product. */
export interface KeyLine {
  what: string;
  key: string;
}

/** Fills in a text, and converts it to plain HTML: paragraphs, links, and the key in a monospace font. */
export function renderMail({ subject, body }: MailText, values: Values, keys: KeyLine[] = []): MailContent {
  const keysText = keys.map(({ what, key }) => `${oneLine(what)}:\n${oneLine(key)}`).join('\n\n');
  const lines = body
    .split('\n')
    .filter((line) => placeholdersOf(line).every((name) => values[name] !== undefined));
  const kept = lines
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
  return {
    subject: fill(subject, (name) => written(values[name]))
      .replace(/\s+/g, ' ')
      .trim(),
    text: `${fill(kept, (name) => (name === 'keys' ? keysText : written(values[name]))).replace(/ +\n/g, '\n')}\n`,
    html: toHtml(kept, values, keys),
  };
}

function placeholdersOf(line: string): string[] {
  return [...line.matchAll(PLACEHOLDER)].map(([, name]) => name as string);
}

function fill(text: string, valueOf: (name: string) => string): string {
  return text.replace(PLACEHOLDER, (_whole, name: string) => valueOf(name));
}

function written(value: string | string[] = ''): string {
  return Array.isArray(value) ? value.map((one) => `\n- ${oneLine(one)}`).join('') : oneLine(value);
}

/** Replaces line breaks in a value, which could make it look like the seller's own text. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ');
}

const MONOSPACE =
  'font-family:Consolas,Menlo,monospace;font-size:16px;background:#f1f3f5;padding:6px 10px;display:inline-block';
const PAGE =
  'font-family:Arial,Helvetica,sans-serif;font-size:16px;line-height:1.5;color:#212529;max-width:600px';

/** Returns a mail that a seller wrote, in which braces are not placeholders. */
export function plainMail(subject: string, body: string): MailContent {
  const html = asPage(body, (paragraph) => linked(escapeHtml(paragraph)));
  return { subject: oneLine(subject), text: `${body}\n`, html };
}

function toHtml(body: string, values: Values, keys: KeyLine[]): string {
  const code = (text: string) => `<code style="${MONOSPACE}">${escapeHtml(oneLine(text))}</code>`;
  const keysHtml = keys
    .map(({ what, key }) => `${escapeHtml(oneLine(what))}:<br>${code(key)}`)
    .join('<br><br>');
  return asPage(body, (paragraph) =>
    linked(escapeHtml(paragraph)).replace(PLACEHOLDER, (_whole, name: string) => {
      if (name === 'keys') return keysHtml;
      if (name === 'key') return code(written(values.key));
      const value = escapeHtml(written(values[name]));
      return name === 'link' || name.endsWith('_url') ? `<a href="${value}">${value}</a>` : value;
    }),
  );
}

/** @param write returns a paragraph's HTML */
function asPage(body: string, write: (paragraph: string) => string): string {
  const paragraphs = body
    .split(/\n{2,}/)
    .map((paragraph) => `<p>${write(paragraph).replaceAll('\n', '<br>\n')}</p>`);
  return `<!doctype html>\n<html><body><div style="${PAGE}">\n${paragraphs.join('\n')}\n</div></body></html>\n`;
}

/** Makes links of the URLs that the seller wrote into a text. */
function linked(html: string): string {
  return html.replace(/https:\/\/[^\s<>"{}]*[^\s<>"{}.,;:!?)]/g, (url) => `<a href="${url}">${url}</a>`);
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
