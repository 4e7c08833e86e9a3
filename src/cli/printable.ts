/** Texts of customers on the terminal and in JSON: nothing in them acts, and nothing is unseen. */

/**
 * What a terminal obeys or does not show: control characters, direction marks and overrides, line separators, tags and
 * whatever else is invisible. Not the selectors that nearly every emoji has.
 */
const UNSEEN = /(?![\ufe0e\ufe0f])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** JSON with escapes for these too: JSON itself has them only for what is below U+0020. */
export function escapeUnseen(json: string): string {
  return json.replace(UNSEEN, (character) =>
    Array.from({ length: character.length }, (_, i) => `\\u${hex(character.charCodeAt(i), 4)}`).join(''),
  );
}

/** What customers sent is shown, never obeyed: `\u{202e}` for a character that turns the text around it. */
export function printable(text: string): string {
  return text.replace(UNSEEN, (character) =>
    character === '\n' ? ' ' : `\\u{${hex(character.codePointAt(0) as number, 2)}}`,
  );
}

/** The same of a text of several lines, with tabs and this program's own bold and colours. */
export function printableText(text: string): string {
  return text
    .split(OWN)
    .map((part, i) => (i % 2 === 1 ? part : printable(part)))
    .join('');
}

// eslint-disable-next-line no-control-regex -- the styles begin with one
const OWN = /([\n\t]|\u001b\[(?:1|22|3[0-9])m)/;

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0');
}
