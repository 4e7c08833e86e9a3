import { siteOf } from './addresses';
import { phpTrim } from './xml-updates';

/** The Download Key on its way from the field it is typed into to the download address; and out of what is shown. */

const PREFIX = 'dlid=';
/** `#__update_sites.extra_query` holds 1000 characters with the prefix. */
const MAX_KEY_LENGTH = 995;
/** Stands for the key in everything that is shown. */
export const SHOWN_KEY = 'DOWNLOAD-KEY';

/** What Joomla stores of what was typed: its filter takes tags out and decodes entities, the field has one line. */
export function storedKey(typed: string): string {
  const decoded = typed
    .replace(/[\r\n]+$/, '')
    .replace(/[\r\n]+/g, ' ')
    .replace(/<\/?[a-z!?][^>]*>/gi, '')
    .replace(/&(amp|lt|gt|quot|#0*39);/g, (entity, name: string) => {
      const known: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"' };
      return known[name] ?? (entity.endsWith('39;') ? "'" : entity);
    });
  return Array.from(decoded).slice(0, MAX_KEY_LENGTH).join('');
}

/** UpdateModel::install: joined as in HTML, which Joomla's own client undoes. */
export function appendKey(downloadUrl: string, key: string): string {
  return phpTrim(downloadUrl) + (downloadUrl.includes('?') ? '&amp;' : '?') + PREFIX + key;
}

/** Joomla adds the key to the first address alone: it arrives where the redirect's own address repeats it. */
export function carriesKey(address: string, key: string): boolean {
  return [address, decodeEscapes(address)].some((text) =>
    text.toLowerCase().includes(key.trim().toLowerCase()),
  );
}

/** A redirect's address without the key; where that is written in a way of its own, not more than its site. */
export function describeRedirect(address: string, typedKey: string): string {
  if (!carriesKey(address, storedKey(typedKey))) return `${address}, without the key`;
  const cleaned = keyRemover(typedKey)(address);
  return `${carriesKey(cleaned, storedKey(typedKey)) ? siteOf(address) : cleaned}, with the key, which the redirect repeats`;
}

/** Percent-encoded bytes as characters; those that are no text stay as they are. */
function decodeEscapes(text: string): string {
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (escapes) => {
    try {
      return decodeURIComponent(escapes);
    } catch {
      return escapes;
    }
  });
}

/** Takes the key out of a text, whoever wrote it there: a redirect's address, a file name, an error page. */
export function keyRemover(typedKey: string): (text: string) => string {
  const spellings = [
    typedKey,
    typedKey.trim(),
    storedKey(typedKey),
    encodeURIComponent(typedKey.trim()),
  ].flatMap((spelling) => [spelling, spelling.toUpperCase(), spelling.toLowerCase()]);
  // Shorter ones are no keys, and would be found everywhere.
  const secrets = [...new Set(spellings)].filter((spelling) => spelling.trim().length >= 6);
  return (text) => secrets.reduce((cleaned, secret) => cleaned.replaceAll(secret, SHOWN_KEY), text);
}
