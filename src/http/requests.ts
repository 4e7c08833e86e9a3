import { canonicalKey, containsKey, hasOwnShape, isKey, keyDigest } from '../licensing/core/keys';
import { MAX_IDENTIFIER_LENGTH, MAX_LABEL_LENGTH, MAX_UINT32 } from '../licensing/core/columns';
import { InvalidRequestError } from '../base/errors';
import type { Context } from './context';

/** Reads requests into typed values; throws InvalidRequestError at the first mistake. */

/** The path of the address; undefined when it cannot be read, as with some absolute forms (RFC 9112, 3.2.2). */
export function readPath(ctx: { path: string | null }): string | undefined {
  try {
    return ctx.path ?? undefined;
  } catch {
    return undefined;
  }
}

interface LicenseRequest {
  /** canonical */
  key: string;
  keyDigest: string;
  /** trimmed; undefined when missing or blank */
  identifier: string | undefined;
}

/** @throws InvalidRequestError */
export function readLicenseRequest(body: unknown): LicenseRequest {
  const fields = requireFields(body);
  const licenseKey = readString(fields, 'license_key');
  const dlid = readString(fields, 'dlid');
  const identifier = readText(fields, 'identifier', MAX_IDENTIFIER_LENGTH);
  const key = chooseKey(licenseKey, dlid);
  if (key === undefined) throw noKey(licenseKey, dlid);
  const keyField = () => (chooseKey(licenseKey, undefined) === key ? 'license_key' : 'dlid');
  if (!isPlainText(key)) throw notPlain(keyField());
  if (isDamaged(key)) throw damaged(keyField());
  if (identifier !== undefined && isDamaged(identifier)) throw damaged('identifier');
  return { key, keyDigest: keyDigest(key), identifier };
}

interface ActivationRequest extends LicenseRequest {
  identifier: string;
}

/** Like `readLicenseRequest`, with a required identifier. @throws InvalidRequestError */
export function readActivationRequest(body: unknown): ActivationRequest {
  const { identifier, ...request } = readLicenseRequest(body);
  if (identifier === undefined) throw new InvalidRequestError('"identifier" is required.');
  return { ...request, identifier };
}

/** Reads the label for an activation, trimmed; undefined when missing or blank. @throws InvalidRequestError */
export function readLabel(body: unknown, key: string): string | undefined {
  const name = readText(requireFields(body), 'name', MAX_LABEL_LENGTH);
  if (name !== undefined && isDamaged(name)) throw damaged('name');
  if (name !== undefined && holdsKey(name, key))
    throw new InvalidRequestError('"name" must not contain a license key.');
  return name;
}

/** Code points of a nonce. */
const MAX_NONCE_LENGTH = 128;

/**
 * Whether the answer shall be signed, and with which nonce, which is taken as it was sent.
 * @param isForm the body's fields are texts
 * @returns undefined: not signed
 * @throws InvalidRequestError
 */
export function readSigning(
  body: unknown,
  { key, isForm }: { key: string; isForm: boolean },
): { nonce: string | undefined } | undefined {
  const fields = requireFields(body);
  const signed = ownValue(fields, 'signed') ?? false;
  const nonce = readString(fields, 'nonce') || undefined;
  const values = isForm ? FORM_FLAGS : FLAGS;
  if (!values.has(signed)) throw new InvalidRequestError('"signed" must be true or false.');
  if (nonce !== undefined) checkNonce(nonce, key);
  if (values.get(signed)) return { nonce };
  if (nonce !== undefined) throw new InvalidRequestError('"nonce" needs "signed": true.');
  return undefined;
}

const FLAGS = new Map<unknown, boolean>([
  [true, true],
  [false, false],
]);
const FORM_FLAGS = new Map<unknown, boolean>([['true', true], ['false', false], ...FLAGS]);

function checkNonce(nonce: string, key: string): void {
  if (!isPlainText(nonce)) throw notPlain('nonce');
  if (isDamaged(nonce)) throw damaged('nonce');
  if (Array.from(nonce).length > MAX_NONCE_LENGTH)
    throw new InvalidRequestError(`"nonce" must have at most ${MAX_NONCE_LENGTH} characters.`);
  if (holdsKey(nonce, key)) throw new InvalidRequestError('"nonce" must not contain a license key.');
}

/** A key of another system has no blanks: a sentence that was sent as the key is none. */
function holdsKey(text: string, key: string): boolean {
  if (containsKey(text)) return true;
  return isKey(text, key) && (hasOwnShape(key) || !/\s/.test(text.trim()));
}

function requireFields(body: unknown): object {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new InvalidRequestError(
      'The body must be a JSON object (Content-Type: application/json) or a form (application/x-www-form-urlencoded).',
    );
  return body;
}

/** The key in a refused body, if any; for the access log. */
export function readKeyAlone(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const read = (field: string) => {
    const value = ownValue(body, field);
    return typeof value === 'string' ? value : undefined;
  };
  return chooseKey(read('license_key'), read('dlid'));
}

/** The canonical `license_key`, or `dlid` where that is empty; undefined when both are. */
export function chooseKey(licenseKey: string | undefined, dlid: string | undefined): string | undefined {
  return canonicalKey(licenseKey ?? '') || canonicalKey(dlid ?? '') || undefined;
}

function ownValue(body: object, field: string): unknown {
  return Object.hasOwn(body, field) ? (body as Record<string, unknown>)[field] : undefined;
}

/** A string field; absent, null and undefined are the same. */
function readString(body: object, field: string): string | undefined {
  const value = ownValue(body, field);
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw new InvalidRequestError(`"${field}" must be a string.`);
  return value;
}

function readText(body: object, field: string, maxLength: number): string | undefined {
  const text = readString(body, field)?.trim();
  if (text === undefined || text === '') return undefined;
  if (!isPlainText(text)) throw notPlain(field);
  // The column counts code points; a string never has more of them than UTF-16 units.
  if (text.length > maxLength && Array.from(text).length > maxLength)
    throw new InvalidRequestError(`"${field}" must have at most ${maxLength} characters.`);
  return text;
}

/** No control characters and no lone surrogates: the text can be stored, shown and typed. */
function isPlainText(text: string): boolean {
  return !/\p{Cc}/u.test(text) && text.isWellFormed();
}

/** Has the replacement character for bytes that are not UTF-8: different texts may have become equal. */
function isDamaged(text: string): boolean {
  return text.includes('\uFFFD');
}

/** Names the field that was sent, even if it was empty. */
function noKey(licenseKey: string | undefined, dlid: string | undefined): InvalidRequestError {
  if (licenseKey === undefined && dlid === undefined)
    return new InvalidRequestError('"license_key" (or "dlid") is required.');
  return new InvalidRequestError(`"${licenseKey === undefined ? 'dlid' : 'license_key'}" must not be empty.`);
}

function damaged(field: string): InvalidRequestError {
  return new InvalidRequestError(`"${field}" was damaged on its way: the body must be in UTF-8.`);
}

function notPlain(field: string): InvalidRequestError {
  return new InvalidRequestError(`"${field}" must not contain control characters.`);
}

/** The product id in the path. Undefined: not an integer. */
export function readProductId({ params }: Context): number | undefined {
  return toProductId((params as { product_id?: unknown }).product_id);
}

/** The product whose coverage a body asks for; undefined: none. @throws InvalidRequestError */
export function readCoverage(body: unknown): number | undefined {
  const value = ownValue(requireFields(body), 'product_id');
  if (value === undefined || value === null) return undefined;
  const id = toProductId(value);
  if (id === undefined) throw new InvalidRequestError('"product_id" must be an integer.');
  return id;
}

/** Undefined: not an integer. 0, which no product has: outside the column's range. */
function toProductId(value: unknown): number | undefined {
  if (typeof value === 'string' ? !/^-?[0-9]+$/.test(value) : !Number.isInteger(value)) return undefined;
  const id = Number(value);
  return id > 0 && id <= MAX_UINT32 ? id : 0;
}

/**
 * Parses a query string; the last of repeated parameters counts. Joomla joins parameters with a literal `&amp;`, so
 * `amp;dlid` counts as `dlid`. It sends the Download Key as typed, so `+` stays `+`.
 */
export function readQuery(query: string): Map<string, string> {
  const parameters = new Map<string, string>();
  for (const pair of query.split('&')) {
    const at = pair.indexOf('=');
    const [name, value] = at < 0 ? [pair, ''] : [pair.slice(0, at), pair.slice(at + 1)];
    parameters.set(decode(name).replace(/^amp;/, ''), decode(value));
  }
  return parameters;
}

/** The canonical key of a download; undefined: there is none. */
export function readDownloadKey(query: ReadonlyMap<string, string>): string | undefined {
  return chooseKey(readQueryKey(query.get('license_key')), readQueryKey(query.get('dlid')));
}

/** Keys of our own shape have no `+`, and no key is only `+`: in those a `+` is a blank that a form encoded. */
function readQueryKey(text: string | undefined): string | undefined {
  if (!text?.includes('+')) return text;
  const spaced = canonicalKey(text.replaceAll('+', ' '));
  return spaced === '' || hasOwnShape(spaced) ? spaced : text;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
