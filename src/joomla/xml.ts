import { DOMParser, type Element } from '@xmldom/xmldom';
import { CodedError } from '../base/errors';

/**
 * Limits for XML files. A tag costs the parser up to 1 kB, and a namespace is copied to every element below it. The
 * limits far exceed the needs of a thousand versions or ten thousand files.
 */
const LIMITS = [
  { mark: '<', limit: 50_000, what: 'tags' },
  { mark: 'xmlns:', limit: 500, what: 'namespaces' },
];

/** The maximum number of attributes of one tag. A parser compares each with all before it: 480,000 take minutes. */
const MAX_ATTRIBUTES = 500;

/** Characters that XML cannot contain, not even as references (https://www.w3.org/TR/xml/#charsets). */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/u;
const FORBIDDEN_OR_HALF =
  // oxlint-disable-next-line no-control-regex -- they are what is removed
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

const REFERENCES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\r': '&#13;',
  '\n': '&#10;',
  '\t': '&#9;',
};

/** Removes the characters that XML cannot contain. */
export function printableInXml(text: string): string {
  return text.replace(FORBIDDEN_OR_HALF, '');
}

/** Escapes text for an element. Characters that XML cannot contain are removed. */
export function escapeXml(text: string): string {
  return printableInXml(text).replace(/[&<>\r]/g, (character) => REFERENCES[character] ?? '');
}

/** Escapes text for a quoted attribute, including line breaks and tabs, which a parser would convert to blanks. */
export function escapeAttribute(text: string): string {
  return printableInXml(text).replace(/[&<>"\r\n\t]/g, (character) => REFERENCES[character] ?? '');
}

/** Parses a document. Like PHP's parser, it refuses one that is not well-formed. @throws MALFORMED_XML, XML_TOO_BIG */
export function parseXml(bytes: Buffer): Element {
  const text = decode(bytes);
  refuseTooMuch(text);
  refuseForbidden(text);
  let problem: string | undefined;
  try {
    const document = new DOMParser({
      onError(_level, message, { locator }: { locator?: { lineNumber?: number } }) {
        problem ??= `${message.split('\n')[0] ?? message} (line ${locator?.lineNumber ?? 1})`;
        // Stop at the first error, because the library would report each "<" of a million.
        throw new CodedError('MALFORMED_XML', problem);
      },
    }).parseFromString(text, 'text/xml');
    if (problem === undefined && document.documentElement) return document.documentElement;
  } catch (error) {
    problem ??= (error as Error).message;
  }
  throw new CodedError('MALFORMED_XML', problem ?? 'it has no element');
}

/** Lists all elements below an element, in document order. */
export function descendants(element: Element): Element[] {
  return Array.from(element.getElementsByTagName('*'));
}

/** Returns an element's own text, without that of nested elements. */
export function ownText(element: Element): string {
  return Array.from(element.childNodes)
    .filter(({ nodeType }) => nodeType === element.TEXT_NODE || nodeType === element.CDATA_SECTION_NODE)
    .map(({ nodeValue }) => nodeValue ?? '')
    .join('');
}

export function attributes(element: Element): Record<string, string> {
  return Object.fromEntries(
    Array.from(element.attributes).map(({ name, value }) => [name.toLowerCase(), value]),
  );
}

export function lineOf(element: Element): number {
  return (element as { lineNumber?: number }).lineNumber ?? 1;
}

/** The first bytes by which libxml recognizes an encoding, in hex: a byte order mark, or `<?`. They outrank a declaration. */
const ENCODINGS: [start: RegExp, encoding: string][] = [
  [/^efbbbf/, 'utf-8'],
  [/^(?:fffe|3c003f00)/, 'utf-16le'],
  [/^(?:feff|003c003f)/, 'utf-16be'],
];

function decode(bytes: Buffer): string {
  const first = bytes.toString('hex', 0, 4);
  const recognized = ENCODINGS.find(([start]) => start.test(first))?.[1];
  const start = bytes.subarray(0, 200).toString('latin1');
  const declared = /^(?:\u00ef\u00bb\u00bf)?<\?xml[^>]*?encoding\s*=\s*["']([^"']*)["']/.exec(start)?.[1];
  if (!recognized?.startsWith('utf-16') && /^utf-?16/i.test(declared ?? ''))
    throw new CodedError('MALFORMED_XML', `it is declared as ${declared}, but it is not (line 1)`);
  const encoding = recognized ?? declared ?? 'UTF-8';
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    throw new CodedError(
      'MALFORMED_XML',
      `it is not ${encoding.toUpperCase()} text (line ${lineOfBadByte(bytes, encoding)})`,
    );
  }
}

/** Returns the line after the longest beginning that can be decoded. */
function lineOfBadByte(bytes: Buffer, encoding: string): number {
  let line = 1;
  for (let [low, high] = [0, bytes.length]; low <= high;) {
    const middle = (low + high) >> 1;
    try {
      const text = new TextDecoder(encoding, { fatal: true }).decode(bytes.subarray(0, middle), {
        stream: true,
      });
      line = text.split('\n').length;
      low = middle + 1;
    } catch {
      high = middle - 1;
    }
  }
  return line;
}

function refuseTooMuch(text: string): void {
  for (const { mark, limit, what } of LIMITS) {
    let index = -1;
    for (let count = 0; (index = text.indexOf(mark, index + 1)) >= 0; count++)
      if (count === limit)
        throw new CodedError('XML_TOO_BIG', `It has more than ${limit} ${what}, so it was not read.`);
  }
  let attributesOfTag = 0;
  // Ignore quotes, which may contain a ">": the beginning of a tag ends the one before.
  for (const [found] of text.matchAll(/<|=\s*["']/g))
    if (found === '<') attributesOfTag = 0;
    else if (++attributesOfTag > MAX_ATTRIBUTES)
      throw new CodedError(
        'XML_TOO_BIG',
        `A tag has more than ${MAX_ATTRIBUTES} attributes, so it was not read.`,
      );
}

/**
 * Comments, CDATA sections, instructions, tags, a stray `]]>` and references. An unclosed piece extends to the end:
 * otherwise the search for its end would restart at every "<", which takes minutes per megabyte.
 */
const PIECES =
  /<!--[^]*?(?:-->|$)|<!\[CDATA\[[^]*?(?:\]\]>|$)|<\?[^]*?(?:\?>|$)|<[^>]*(?:>|$)|\]\]>|&([^\s;<&]*;?)/g;

/** Refuses errors that only this library accepts. */
function refuseForbidden(text: string): void {
  const forbidden = FORBIDDEN.exec(text);
  if (forbidden) throw at(text, forbidden.index, 'a control character, which XML cannot contain');
  for (const match of text.matchAll(PIECES)) {
    const [found, reference] = match;
    if (found === ']]>') throw at(text, match.index, '"]]>" outside a CDATA section');
    if (/^<[^!?]/.test(found)) {
      if (hasStraySlash(found))
        throw at(text, match.index, 'a tag with a "/" that is not directly before its ">"');
      for (const inTag of found.matchAll(/&([^\s;<&"']*;?)/g))
        refuseReference(text, match.index + inTag.index, inTag[1] ?? '');
    } else if (reference !== undefined) refuseReference(text, match.index, reference);
  }
}

/** Reports whether a tag contains a `/` that neither begins nor ends it. The piece may end early, at a `>` within quotes. */
function hasStraySlash(tag: string): boolean {
  const unquoted = tag.replace(/"[^"]*"|'[^']*'/g, '');
  return tag.endsWith('>') && !/["']/.test(unquoted) && /[^<]\/[^>]/.test(unquoted);
}

function refuseReference(text: string, index: number, reference: string): void {
  const groups = /^(?:#(?<decimal>[0-9]+)|#x(?<hex>[0-9a-fA-F]+)|[A-Za-z_:][\w.:-]*);$/.exec(reference);
  if (!groups) throw at(text, index, '"&" that does not begin a reference; write &amp;');
  const { decimal, hex } = groups.groups ?? {};
  const point = decimal ? Number(decimal) : hex ? parseInt(hex, 16) : 0x41;
  if (point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff) || FORBIDDEN.test(String.fromCodePoint(point)))
    throw at(text, index, 'a reference to a character that XML cannot contain');
}

function at(text: string, index: number, problem: string): CodedError {
  return new CodedError('MALFORMED_XML', `${problem} (line ${text.slice(0, index).split('\n').length})`);
}
