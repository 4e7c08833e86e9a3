/** Parts of the pages' style that the site of the documentation has too. */

/** Removes comments except those that begin with an exclamation mark: a licence. */
export const withoutComments = (text) =>
  text.replace(/\/\*(?!!)[^]*?\*\/\n?/g, '').replace(/^\s*\/\/.*\n/gm, '');

/**
 * The letters of each font, in the syntax of CSS. A browser fetches the second font only for a page with such a letter,
 * as in "Wiśniewska".
 */
export const LETTERS = {
  'inter-latin':
    'U+20-7E, U+A0-FF, U+131, U+152-153, U+2BB-2BC, U+2C6, U+2DA, U+2DC, U+2000-206F, U+20AC, U+2122, U+2191, U+2193, U+2212, U+2215',
  'inter-latin-ext': 'U+100-130, U+132-151, U+154-17F, U+218-21B',
};
/** The weights that the style uses: a font with all nine is a third larger. */
export const WEIGHTS = { min: 400, max: 600 };
export const fontFace = (name, file) => `@font-face {
font-family: Inter;
src: url(${file}) format('woff2');
font-weight: ${WEIGHTS.min} ${WEIGHTS.max};
font-display: swap;
unicode-range: ${LETTERS[name]};
}
`;

/**
 * Writes light-dark(a, b) as two variables of which one is empty: browsers before May 2024 do not know the function,
 * and show the same colours by this.
 * @throws Error if a colour contains a comma or a parenthesis
 */
export function forOldBrowsers(css) {
  const written = css.replace(/light-dark\(([^,()]+),\s*([^,()]+)\)/g, 'var(--l,$1) var(--d,$2)');
  if (written.includes('light-dark(')) throw new Error('A colour in light-dark() is not a plain value.');
  const [light, dark] = ['--l:initial;--d: ', '--l: ;--d:initial'];
  return `:root{${light}}@media (prefers-color-scheme:dark){:root{${dark}}}[data-theme=light]{${light}}[data-theme=dark]{${dark}}\n${written}`;
}
