/** Characters that control a terminal or are invisible. Variation selectors are allowed: most emoji contain one. */
const UNSEEN = /(?![\ufe0e\ufe0f])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** Escapes these characters in JSON, which only requires it below U+0020. Line ends separate the parts of JSON. */
export function escapeInvisible(json: string): string {
  return json.replace(UNSEEN, (character) =>
    character === '\n'
      ? character
      : Array.from({ length: character.length }, (_, i) => `\\u${hex(character.charCodeAt(i), 4)}`).join(''),
  );
}

/** Shows invisible characters as `\u{202e}`, so that a customer's text cannot control the terminal. */
export function printable(text: string): string {
  return text.replace(UNSEEN, (character) =>
    character === '\n' ? ' ' : `\\u{${hex(character.codePointAt(0) as number, 2)}}`,
  );
}

/** Works like printable(), but keeps line breaks, tabs and this program's own bold and colours. */
export function printableText(text: string): string {
  return text
    .split(OWN)
    .map((part, i) => (i % 2 === 1 ? part : printable(part)))
    .join('');
}

// oxlint-disable-next-line no-control-regex -- the styles begin with one
const OWN = /([\n\t]|\u001b\[(?:1|22|3[0-9])m)/;

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0');
}
