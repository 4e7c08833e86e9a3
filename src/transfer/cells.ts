import { OperatorError } from '../licensing/operator-error';
import { parseNewKey } from '../licensing/issue';
import { MIN_KEY_LENGTH } from '../licensing/core/keys';
import type { StoredStatus } from '../licensing/core/states';
import { MAX_LABEL_LENGTH } from '../licensing/core/columns';

/** Reads the cells of other systems' tables. An error never repeats a cell's text, which may be a key. */

/** The words and signs that systems write into empty cells of any column. */
const EMPTY = new Set(['null', '\\n', '-', '–', '—', 'n/a', 'none', 'never', 'undefined']);

/** Returns a cell's text. Removes the apostrophe with which an export keeps spreadsheets from running a formula. */
export function cellText(cell: string): string {
  const text = cell.trim().replace(/^'(?=[=+\-@])/, '');
  return EMPTY.has(text.toLowerCase()) ? '' : text;
}

/** The reason that a text is not a key. */
export class KeyFault {
  constructor(
    readonly code: 'no-key' | 'key-as-number' | 'key-too-short' | 'key-of-digits' | 'key-not-typed',
  ) {}
}

/** A number in a spreadsheet's display format, which has lost digits of the key. */
const SHOWN_NUMBER = /^[+-]?(?:\d+[.,]\d+|\d{1,3}(?:[.,]\d{3})+(?:[.,]\d+)?|\d(?:[.,]\d+)?e[+-]\d+)$/i;
/** The fewest digits of a key; a shorter number is an id or an amount. */
const MIN_DIGITS = 12;

/** Returns the canonical key, or the reason that the text is not one. An id or an amount is not, because it can be guessed. */
export function readKey(text: string): string | KeyFault {
  if (text === '') return new KeyFault('no-key');
  try {
    const key = parseNewKey(text);
    if (SHOWN_NUMBER.test(key)) return new KeyFault('key-as-number');
    if (Array.from(key).length < MIN_KEY_LENGTH) return new KeyFault('key-too-short');
    return /^\d+$/.test(key) && key.length < MIN_DIGITS ? new KeyFault('key-of-digits') : key;
  } catch (error) {
    if (error instanceof OperatorError) return new KeyFault('key-not-typed');
    throw error;
  }
}

/** Other systems' words for each status. No word for a temporary status is read as a final one. */
const STATUSES: Record<StoredStatus | 'expired', string[]> = {
  active: [
    ...['active', 'activated', 'enabled', 'valid', 'ok', 'delivered', 'sold', 'paid', '1', 'yes', 'true'],
    ...['aktiv', 'aktiviert', 'gültig', 'bezahlt', 'verkauft', 'ja'],
  ],
  expired: ['expired', 'abgelaufen'],
  suspended: [
    ...['suspended', 'inactive', 'disabled', 'deactivated', 'paused', 'blocked', 'on-hold', 'on hold'],
    ...['0', 'no', 'false', 'inaktiv', 'deaktiviert', 'gesperrt', 'pausiert', 'nein'],
  ],
  revoked: ['revoked', 'banned', 'terminated', 'widerrufen', 'entzogen'],
  cancelled: ['cancelled', 'canceled', 'refunded', 'storniert', 'erstattet'],
};
const STATUS_BY_SPELLING = new Map(
  Object.entries(STATUSES).flatMap(([status, spellings]) =>
    spellings.map((spelling) => [spelling, status as StoredStatus | 'expired'] as const),
  ),
);

/** Returns the status that a word means; undefined for an unknown word. */
export function readStatus(text: string): StoredStatus | 'expired' | undefined {
  return STATUS_BY_SPELLING.get(text.toLowerCase());
}

/** Returns a text of the source as a label, shortened to a label's maximum length. */
export function labelOf(text: string): string {
  return Array.from(text.replace(/\p{Cc}+/gu, ' ').trim())
    .slice(0, MAX_LABEL_LENGTH)
    .join('');
}
