import { schemeAndHostOf } from '../addresses';
import { phpTrim } from './xml-updates';

const PREFIX = 'dlid=';
/** `#__update_sites.extra_query` holds 1000 characters, prefix included. */
const MAX_KEY_LENGTH = 995;
export const SHOWN_KEY = 'DOWNLOAD-KEY';

/** Returns the typed key as Joomla stores it: its filter removes tags and decodes entities, and the field has one line. */
export function joomlaStoredKey(typed: string): string {
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

/** Appends the key as UpdateModel::install does. Joomla's own client later turns `&amp;` back into `&`. */
export function appendKey(downloadUrl: string, key: string): string {
  return phpTrim(downloadUrl) + (downloadUrl.includes('?') ? '&amp;' : '?') + PREFIX + key;
}

/** Reports whether an address has the key. Joomla appends it only to the first address, so a redirect must repeat it. */
export function carriesKey(address: string, key: string): boolean {
  return [address, decodeEscapes(address)].some((text) =>
    text.toLowerCase().includes(key.trim().toLowerCase()),
  );
}

/** Describes a redirect and whether it repeats the key. If the key cannot be removed, only scheme and host are shown. */
export function describeRedirect(address: string, typedKey: string): string {
  if (!carriesKey(address, joomlaStoredKey(typedKey))) return `${address}, without the key`;
  const cleaned = keyRemover(typedKey)(address);
  return `${carriesKey(cleaned, joomlaStoredKey(typedKey)) ? schemeAndHostOf(address) : cleaned}, with the key, which the redirect repeats`;
}

/** Decodes percent-encoded UTF-8; other bytes stay encoded. */
function decodeEscapes(text: string): string {
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (escapes) => {
    try {
      return decodeURIComponent(escapes);
    } catch {
      return escapes;
    }
  });
}

/** Removes the key from any text, such as a redirect's address, a file name or an error page. */
export function keyRemover(typedKey: string): (text: string) => string {
  const spellings = [
    typedKey,
    typedKey.trim(),
    joomlaStoredKey(typedKey),
    encodeURIComponent(typedKey.trim()),
  ].flatMap((spelling) => [spelling, spelling.toUpperCase(), spelling.toLowerCase()]);
  // Shorter texts are not keys, and would match everywhere.
  const secrets = [...new Set(spellings)].filter((spelling) => spelling.trim().length >= 6);
  return (text) => secrets.reduce((cleaned, secret) => cleaned.replaceAll(secret, SHOWN_KEY), text);
}
