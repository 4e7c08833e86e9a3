import type { CustomerLanguage } from '../texts/customers/languages';

/**
 * The HTML of mails. Outlook lays out with tables, and Gmail keeps only styles of the elements themselves, so every
 * element has its light colours. Mail programs that know dark mode replace these by the rules in `STYLE`. Nothing is
 * loaded from anywhere: a picture or a font of another host would report who reads the mail.
 */

const FONT = "font-family:'Segoe UI',-apple-system,BlinkMacSystemFont,Roboto,Helvetica,Arial,sans-serif";
const MONOSPACE = "font-family:Consolas,Menlo,'Liberation Mono',monospace";
const BREAKS = 'word-break:break-word;overflow-wrap:anywhere';
const TABLE = '<table role="presentation" cellpadding="0" cellspacing="0" border="0"';
const STYLE = `:root{color-scheme:light dark}
@media (max-width:480px){
.page-in{padding:20px 12px!important} .panel{padding:24px 20px 10px!important}
.key{font-size:17px!important;padding:12px!important}
}
@media (prefers-color-scheme:dark){
.page{background:#0d0f13!important} .panel{background:#15181d!important;border-color:#262b33!important}
.text{color:#e8ebf0!important} .quiet{color:#a2aab7!important} .link{color:#a3b4ff!important}
.sunk{background:#1c2027!important;border-color:#3a414c!important;color:#e8ebf0!important}
.button{background:#5568e8!important;border-color:#5568e8!important}
}`;

/** Fills the rest of the line that an inbox shows below the subject, which would otherwise continue with the text. */
const FILLER = '&#847;&#160;'.repeat(80);

export interface MailHead {
  subject: string;
  /** the name above the text */
  shop: string;
  language: CustomerLanguage;
}

/** Returns the whole mail. @param preheader the line that an inbox shows below the subject @param content HTML */
export function mailPage({ subject, shop, language }: MailHead, preheader: string, content: string): string {
  return `<!doctype html>
<html lang="${language}"><head><meta charset="utf-8" /><title>${escapeHtml(subject)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1" /><meta name="color-scheme" content="light dark" /><meta name="supported-color-schemes" content="light dark" /><meta name="format-detection" content="telephone=no, date=no, address=no, email=no" />
<style>${STYLE}</style></head>
<body class="page" style="margin:0;padding:0;background:#f6f7f9">
<div style="display:none;max-height:0;overflow:hidden;mso-hide:all">${escapeHtml(preheader)}${FILLER}</div>
${TABLE} width="100%" class="page" bgcolor="#f6f7f9" style="background:#f6f7f9"><tr><td class="page-in" align="center" style="padding:32px 16px">
<!--[if mso]>${TABLE} width="560"><tr><td><![endif]-->${TABLE} width="100%" style="max-width:560px">
<tr><td class="text" align="left" style="padding:0 4px 14px;${FONT};font-size:15px;line-height:20px;font-weight:600;color:#13171d;${BREAKS}">${escapeHtml(shop)}</td></tr>
<tr><td class="panel text" align="left" bgcolor="#ffffff" style="padding:32px 32px 18px;background:#ffffff;border:1px solid #e6e9ee;border-radius:12px;${FONT};font-size:15px;line-height:23px;color:#13171d;${BREAKS}">
${content}
</td></tr></table><!--[if mso]></td></tr></table><![endif]--></td></tr></table></body></html>
`;
}

const PARAGRAPHS = {
  lead: 'class="text" style="margin:0 0 16px;font-size:18px;line-height:26px;font-weight:600"',
  label: 'class="text" style="margin:0 0 6px"',
  text: 'class="text" style="margin:0 0 16px"',
  quiet: 'class="quiet" style="margin:0 0 12px;font-size:14px;line-height:21px;color:#59616e"',
};
export type ParagraphKind = keyof typeof PARAGRAPHS;

/** @param lines HTML */
export function paragraph(kind: ParagraphKind, lines: string[]): string {
  return `<p ${PARAGRAPHS[kind]}>${lines.join('<br />\n')}</p>`;
}

/** Returns a key in a box of its own. In programs that can, a click selects all of it. */
export function keyBox(key: string): string {
  return `${TABLE} width="100%" style="margin:0 0 20px"><tr><td class="sunk key" align="left" bgcolor="#f3f4f7" style="padding:14px 18px;background:#f3f4f7;border:1px solid #d3d8e0;border-radius:8px;${MONOSPACE};font-size:20px;line-height:28px;color:#13171d;${BREAKS};-webkit-user-select:all;user-select:all">${escapeHtml(key)}</td></tr></table>`;
}

/** Returns a key within a sentence. */
export function keyText(key: string): string {
  return `<code class="sunk" style="padding:2px 6px;background:#f3f4f7;border-radius:4px;${MONOSPACE};color:#13171d">${escapeHtml(key)}</code>`;
}

/** Returns a link as a button, whose colour is also the cell's, because Outlook knows no padding of links. */
export function mailButton(label: string, url: string): string {
  return `${TABLE} style="margin:4px 0 20px"><tr><td class="button" align="center" bgcolor="#3f52d4" style="background:#3f52d4;border-radius:8px;mso-padding-alt:12px 24px"><a class="button" href="${escapeHtml(url)}" style="display:inline-block;padding:11px 24px;background:#3f52d4;border:1px solid #3f52d4;border-radius:8px;${FONT};font-size:15px;line-height:20px;font-weight:600;color:#ffffff;text-decoration:none;mso-padding-alt:0">${escapeHtml(label)}</a></td></tr></table>`;
}

/** Returns the list of a value with several entries. */
export function bulletList(entries: string[]): string {
  const items = entries.map((entry) => `<li style="margin:0 0 6px">${escapeHtml(entry)}</li>\n`);
  return `<ul style="margin:0 0 16px;padding:0 0 0 22px">\n${items.join('')}</ul>`;
}

/** Returns a link that shows its address, without its scheme. Another scheme than that of web pages is only text. */
export function link(url: string, colour: 'link' | 'quiet' = 'link'): string {
  if (!isWebAddress(url)) return escapeHtml(url);
  const style = colour === 'link' ? 'color:#3446c4' : 'color:#59616e;font-size:13px';
  return `<a class="${colour}" href="${escapeHtml(url)}" style="${style};${BREAKS}">${escapeHtml(url.replace(/^https?:\/\//i, ''))}</a>`;
}

/** Reports whether a value may become a link: a script's address never does. */
export function isWebAddress(url: string): boolean {
  return /^https?:\/\//i.test(url);
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
