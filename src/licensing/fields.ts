import { MAX_IDENTIFIER_LENGTH, MAX_LABEL_LENGTH, MAX_UINT32, MAX_URL_LENGTH } from './core/columns';
import type { Kind } from '../store/columns/kinds';
import { containsKey } from './core/keys';
import { requireDuration } from './durations';
import { OperatorError } from './operator-error';

/** Checks of a request's fields. Refusals name the `field` for callers that cannot. */

/** @param value NaN for a text that is not a number */
export function requireWholeNumber(
  value: number,
  { least = 0, most = MAX_UINT32, field }: { least?: number; most?: number | undefined; field?: string } = {},
): number {
  if (!Number.isInteger(value) || value < least || value > most)
    throw invalid(`It must be a whole number from ${least} to ${most}.`, field);
  return value;
}

/** Returns a one-line name that fits its column. A key is refused, because labels are stored and shown unredacted. */
export function requireLabel(text: string, field?: string, most = MAX_LABEL_LENGTH): string {
  const line = requireLine(most, text, field);
  if (containsKey(line)) throw invalid('It must not contain a licence key.', field);
  return line;
}

/** Returns the name of a site, device, seat or instance. The plan's type decides later whether it is valid. */
export function requireIdentifierText(text: string, field?: string): string {
  return requireLine(MAX_IDENTIFIER_LENGTH, text, field);
}

function requireLine(most: number, text: string, field?: string): string {
  const trimmed = text.trim();
  if (
    trimmed === '' ||
    Array.from(trimmed).length > most ||
    /\p{Cc}/u.test(trimmed) ||
    !trimmed.isWellFormed()
  )
    throw invalid(`It must be 1 to ${most} characters on one line.`, field);
  return trimmed;
}

/** Returns Joomla's name of an extension, which is used in update XML and in file names on the site. */
export function requireElement(text: string, field?: string): string {
  const trimmed = text.trim();
  if (!/^[A-Za-z0-9._-]{1,100}$/.test(trimmed))
    throw invalid('It must be a name such as pkg_example: at most 100 letters, digits and . _ -', field);
  return trimmed;
}

/** Returns an https address for customers, as a browser would write it. */
export function requireHttpsUrl(text: string, field?: string): string {
  const href = httpsUrl(text);
  if (href === undefined)
    throw invalid(
      `It must be an https:// address without a user name, of at most ${MAX_URL_LENGTH} characters.`,
      field,
    );
  if (containsKey(href)) throw invalid('It must not contain a licence key.', field);
  return href;
}

/** Reports whether an address is in the form that `requireHttpsUrl` returns. */
export function isHttpsUrl(text: string): boolean {
  return httpsUrl(text) === text;
}

function httpsUrl(text: string): string | undefined {
  if (!URL.canParse(text.trim())) return undefined;
  const url = new URL(text.trim());
  if (url.protocol !== 'https:' || url.username !== '' || url.password !== '') return undefined;
  return url.href.length <= MAX_URL_LENGTH ? url.href : undefined;
}

/** Returns a month such as 2031-12. */
export function requireMonth(text: string, field?: string): string {
  const month = text.trim();
  if (!MONTH.test(month)) throw invalid('It must be a month such as 2031-12.', field);
  return month;
}

/** The name of a vulnerability, and how many of them a release may name. */
export const CVE = /^CVE-\d{4}-\d{4,19}$/;
export const MAX_CVES = 50;
/** The maximum length of the advice for the users of a security release, in characters. */
export const MAX_ADVISORY_LENGTH = 2_000;

export const MONTH = /^20\d\d-(0[1-9]|1[0-2])$/;

function invalid(message: string, field: string | undefined): OperatorError {
  return new OperatorError(message, { code: 'INVALID_REQUEST', field });
}

/** The check for each kind of text (store/columns/kinds.ts). */
export const FIELD_JUDGES: Partial<Record<Kind, (text: string, field?: string) => string>> = {
  label: requireLabel,
  element: requireElement,
  address: requireHttpsUrl,
  duration: requireDuration,
  month: requireMonth,
};
