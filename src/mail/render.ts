import { redactKeys } from '../licensing/core/keys';
import { CUSTOMERS, type CustomerLanguage } from '../texts/customers/languages';
import * as html from './html';
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

/** Fills in a text, and makes the HTML of the same text. @param keys the keys for `{keys}` */
export function renderMail(
  { subject: pattern, body }: MailText,
  values: Values,
  language: CustomerLanguage,
  keys: KeyLine[] = [],
): MailContent {
  const keysText = keys.map(({ what, key }) => `${oneLine(what)}:\n${oneLine(key)}`).join('\n\n');
  const lines = body
    .split('\n')
    .filter((line) => placeholdersOf(line).every((name) => values[name] !== undefined));
  const kept = lines
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
  const subject = fill(pattern, (name) => written(values[name]))
    .replace(/\s+/g, ' ')
    .trim();
  return {
    subject,
    text: `${fill(kept, (name) => (name === 'keys' ? keysText : written(values[name]))).replace(/ +\n/g, '\n')}\n`,
    html: toHtml(kept, values, keys, { subject, shop: written(values.shop), language }),
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

/** Returns a mail that a seller wrote, in which braces are not placeholders. */
export function plainMail({ subject, body }: MailText, head: Omit<html.MailHead, 'subject'>): MailContent {
  const paragraphs = body
    .split(/\n{2,}/)
    .map((block) => html.paragraph('text', block.split('\n').map(withLinks)));
  // An inbox shows the preheader even on a locked screen.
  const page = html.mailPage(
    { subject, ...head },
    redactKeys(oneLine(body)).slice(0, 120),
    paragraphs.join('\n'),
  );
  return { subject: oneLine(subject), text: `${body}\n`, html: page };
}

/** The length of the words before a link, above which they are a sentence and not the name of a button. */
const MAX_LABEL_LENGTH = 40;
/** The first sentence of a text, or its first line, and the rest. */
const LEAD = /^(.*?[.!?](?= \p{Lu})|.*)\s*([^]*)$/u;
/** A line that consists of a placeholder, or of words, a colon and a placeholder. */
const STANDING_ALONE = /^(?:(.+): *)?\{([a-z_]+)\}$/;

/**
 * Makes the HTML of a text. A key, a list, and one link that end a line become a box, a list and a button, named by the
 * words before the link. A link within a sentence gets the button below its paragraph. The first sentence is large, and
 * what follows the button is quiet.
 */
function toHtml(kept: string, values: Values, keys: KeyLine[], head: html.MailHead): string {
  const labels: Partial<Record<string, string>> = CUSTOMERS[head.language].sentences.mailButtons;
  const filled = (text: string) => fill(text, (name) => written(values[name])).replace(/\s+/g, ' ');
  const isButton = (name: string) => name in labels && html.isWebAddress(written(values[name]));
  const pressed = placeholdersOf(kept).find(isButton) ?? '';
  const content: string[] = [];
  let kind = 'lead' as html.ParagraphKind;
  let lines: string[] = [];
  const endParagraph = (as = kind) => {
    if (lines.length === 0) return;
    content.push(html.paragraph(as, lines));
    lines = [];
    if (kind === 'lead') kind = 'text';
  };
  const add = (block: string) => {
    endParagraph(kind === 'text' ? 'label' : kind);
    content.push(block);
  };
  const press = (label: string) => {
    endParagraph();
    content.push(html.mailButton(label, written(values[pressed])));
    kind = 'quiet';
  };

  const [, lead = '', rest = ''] = LEAD.exec(kept) ?? [];
  // The shop's name is above the text.
  const others = rest.replace(/(?:^|\n\n)\{shop\}$/, '').split(/\n{2,}/);
  for (const block of [lead, ...others.filter(Boolean)]) {
    for (const line of block.split('\n')) {
      const [, words, name = ''] = STANDING_ALONE.exec(line) ?? [];
      const value = values[name];
      const label = words === undefined ? (labels[name] ?? '') : filled(words);
      if (value !== undefined && name === pressed && kind !== 'quiet' && label.length <= MAX_LABEL_LENGTH) {
        press(label);
        if (name === 'link') lines.push(html.link(written(value), 'quiet'));
      } else if (name === 'key' || name === 'keys' || Array.isArray(value)) {
        if (words !== undefined) lines.push(`${inline(words, values)}:`);
        if (name === 'key') add(html.keyBox(written(value)));
        if (Array.isArray(value)) add(html.bulletList(value.map(oneLine)));
        for (const { what, key } of name === 'keys' ? keys : []) {
          lines.push(`${html.escapeHtml(oneLine(what))}:`);
          add(html.keyBox(oneLine(key)));
        }
      } else lines.push(inline(line, values));
    }
    endParagraph();
    if (kind !== 'quiet' && block.includes(`{${pressed}}`)) press(labels[pressed] ?? '');
  }
  // An inbox shows the preheader even on a locked screen, so it has no key and no code.
  return html.mailPage(head, /\{(?:keys?|link)\}/.test(lead) ? '' : filled(lead), content.join('\n'));
}

/** Returns the HTML of a line, with its values. */
function inline(line: string, values: Values): string {
  return withLinks(line).replace(PLACEHOLDER, (_whole, name: string) => {
    const value = written(values[name]);
    if (name === 'key') return html.keyText(value);
    return name === 'link' || name.endsWith('_url') ? html.link(value) : html.escapeHtml(value);
  });
}

/** Returns HTML with links of the URLs that the seller wrote into a text. */
function withLinks(line: string): string {
  return line
    .split(/(https:\/\/[^\s<>"{}]*[^\s<>"{}.,;:!?)])/)
    .map((part, i) => (i % 2 === 1 ? html.link(part) : html.escapeHtml(part)))
    .join('');
}
