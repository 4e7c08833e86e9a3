import { redactKeys } from '../licensing/core/keys';
import { CUSTOMERS, type CustomerLanguage } from '../texts/customers/languages';
import * as html from './html';
import { PLACEHOLDER, type MailText, type TextName } from './texts';

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

/** The mail that a text belongs to. */
export interface RenderedFor {
  name: TextName;
  language: CustomerLanguage;
  /** the keys for `{keys}` */
  keys?: KeyLine[];
}

/** Fills in a text, and makes the HTML of the same text. */
export function renderMail({ subject, body }: MailText, values: Values, to: RenderedFor): MailContent {
  const keysText = (to.keys ?? []).map(({ what, key }) => `${oneLine(what)}:\n${oneLine(key)}`).join('\n\n');
  const lines = body
    .split('\n')
    .filter((line) => placeholdersOf(line).every((name) => values[name] !== undefined));
  const kept = lines
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
  const filled = fill(subject, (name) => written(values[name]))
    .replace(/\s+/g, ' ')
    .trim();
  return {
    subject: filled,
    text: `${fill(kept, (name) => (name === 'keys' ? keysText : written(values[name]))).replace(/ +\n/g, '\n')}\n`,
    html: toHtml(kept, values, { ...to, subject: filled }),
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
export function plainMail(
  { subject, body }: MailText,
  letterhead: { shop: string; language: CustomerLanguage },
): MailContent {
  const paragraphs = body
    .split(/\n{2,}/)
    .map((block) => html.paragraph('text', block.split('\n').map(withLinks)));
  // An inbox shows the preheader even on a locked screen.
  const page = html.mailPage(
    { subject, ...letterhead },
    redactKeys(oneLine(body)).slice(0, 120),
    paragraphs.join('\n'),
  );
  return { subject: oneLine(subject), text: `${body}\n`, html: page };
}

/** The length of the words before a link, above which they are a sentence and not the name of a button. */
const MAX_LABEL_LENGTH = 40;
/** The length of a first sentence, above which it is too long for large letters. */
const MAX_LEAD_LENGTH = 140;
/** The first sentence of a text, or its first line, and the rest. */
const LEAD = /^(.*?[.!?](?= \p{Lu})|.*)\s*([^]*)$/u;
/** A line that consists of a placeholder, or of words, a colon and a placeholder. */
const STANDING_ALONE = /^(?:(.+): *)?\{([a-z_]+)\}$/;

/**
 * Makes the HTML of a text. A key, a list, and one link that end a line become a box, a list and a
 * button, named by the words before the link. A link within a sentence gets the button below its paragraph. The first
 * sentence is large, and what follows the button is quiet.
 */
function toHtml(kept: string, values: Values, to: RenderedFor & { subject: string }): string {
  const { mailButtons } = CUSTOMERS[to.language].sentences;
  const labelOf = (name: string): string | undefined =>
    mailButtons[(name === 'link' ? to.name : name) as keyof typeof mailButtons];
  const pressed = placeholdersOf(kept).find(
    (name) => labelOf(name) !== undefined && html.isWebAddress(written(values[name])),
  );
  const filled = (text: string) => fill(text, (name) => written(values[name])).replace(/\s+/g, ' ');
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
  const press = (name: string, label: string) => {
    endParagraph();
    content.push(html.button(label, written(values[name])));
    kind = 'quiet';
  };

  const [, lead = '', rest = ''] = LEAD.exec(kept) ?? [];
  const blocks = [lead, ...rest.split(/\n{2,}/)];
  // The shop's name is above the text.
  if (blocks.at(-1) === '{shop}') blocks.pop();
  const first = filled(lead);
  if (first.length > MAX_LEAD_LENGTH) kind = 'text';
  for (const block of blocks) {
    for (const line of block.split('\n')) {
      const [, words, name = ''] = STANDING_ALONE.exec(line) ?? [];
      const value = values[name];
      const label = words === undefined ? (labelOf(name) ?? '') : filled(words);
      if (name === pressed && kind !== 'quiet' && label.length <= MAX_LABEL_LENGTH) {
        press(name, label);
        if (name === 'link') lines.push(html.quietLink(written(value)));
      } else if (name === 'key' || name === 'keys' || Array.isArray(value)) {
        if (words !== undefined) lines.push(`${inline(words, values)}:`);
        if (name === 'key') add(html.keyBox(written(value)));
        else if (Array.isArray(value)) add(html.list(value.map(oneLine)));
        else
          for (const { what, key } of to.keys ?? []) {
            lines.push(`${html.escapeHtml(oneLine(what))}:`);
            add(html.keyBox(oneLine(key)));
          }
      } else lines.push(inline(line, values));
    }
    endParagraph();
    if (pressed !== undefined && kind !== 'quiet' && block.includes(`{${pressed}}`))
      press(pressed, labelOf(pressed) as string);
  }
  const preheader = /\{(?:keys?|link)\}/.test(lead) ? '' : first;
  return html.mailPage({ ...to, shop: written(values.shop) }, preheader, content.join('\n'));
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
