import { canonicalKey, containsKey, isNativeKey, isKey, keyDigest } from '../licensing/core/keys';
import { MAX_IDENTIFIER_LENGTH, MAX_LABEL_LENGTH, MAX_UINT32 } from '../licensing/core/columns';
import { InvalidRequestError } from '../base/errors';
import type { Context } from './context';

/** Validates requests and reads them into typed values. It throws InvalidRequestError at the first mistake. */

/** Returns the path of the address; undefined if it cannot be read, as with some absolute forms (RFC 9112, 3.2.2). */
export function readPath(ctx: { path: string | null }): string | undefined {
  try {
    return ctx.path ?? undefined;
  } catch {
    return undefined;
  }
}

interface LicenseRequest {
  /** the key in canonical form */
  key: string;
  keyDigest: string;
  /** the identifier, trimmed; undefined if it is missing or blank */
  identifier: string | undefined;
}

/** Reads the key and identifier of a request. @throws InvalidRequestError */
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

/** Reads the label for an activation, trimmed; undefined if it is missing or blank. @throws InvalidRequestError */
export function readLabel(body: unknown, key: string): string | undefined {
  const name = readText(requireFields(body), 'name', MAX_LABEL_LENGTH);
  if (name !== undefined && isDamaged(name)) throw damaged('name');
  if (name !== undefined && holdsKey(name, key))
    throw new InvalidRequestError('"name" must not contain a license key.');
  return name;
}

/** The maximum length of a nonce in code points. */
const MAX_NONCE_LENGTH = 128;

/**
 * Reads whether the answer must be signed, and with which nonce, which is used unchanged.
 * @param isForm true if the body's fields are texts
 * @returns undefined if the answer is not signed
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

/** Reports whether a text contains the key. Another system's key has no blanks, so a sentence does not count as one. */
function holdsKey(text: string, key: string): boolean {
  if (containsKey(text)) return true;
  return isKey(text, key) && (isNativeKey(key) || !/\s/.test(text.trim()));
}

function requireFields(body: unknown): object {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new InvalidRequestError(
      'The body must be a JSON object (Content-Type: application/json) or a form (application/x-www-form-urlencoded).',
    );
  return body;
}

/** Returns the key in a refused body, if it has one, for the access log. */
export function readKeyAlone(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const read = (field: string) => {
    const value = ownValue(body, field);
    return typeof value === 'string' ? value : undefined;
  };
  return chooseKey(read('license_key'), read('dlid'));
}

/** Returns the canonical `license_key`, or `dlid` if that is empty; undefined if both are. */
export function chooseKey(licenseKey: string | undefined, dlid: string | undefined): string | undefined {
  return canonicalKey(licenseKey ?? '') || canonicalKey(dlid ?? '') || undefined;
}

function ownValue(body: object, field: string): unknown {
  return Object.hasOwn(body, field) ? (body as Record<string, unknown>)[field] : undefined;
}

/** Reads a string field. A missing field, null and undefined have the same meaning. */
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
  // Count code points, as the column does. Compare the UTF-16 units first: they are never fewer.
  if (text.length > maxLength && Array.from(text).length > maxLength)
    throw new InvalidRequestError(`"${field}" must have at most ${maxLength} characters.`);
  return text;
}

/** Reports whether a text has no control characters or lone surrogates: it can be stored, shown and typed. */
function isPlainText(text: string): boolean {
  return !/\p{Cc}/u.test(text) && text.isWellFormed();
}

/** Reports whether a text has a replacement character, to which all bytes that are not UTF-8 are decoded alike. */
function isDamaged(text: string): boolean {
  return text.includes('\uFFFD');
}

/** Returns the error for a missing key. It names the field that was sent, even if the field was empty. */
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

/** Returns the product id in the path; undefined if it is not an integer, 0 if it is out of range. */
export function readProductId({ params }: Context): number | undefined {
  return toProductId((params as { product_id?: unknown }).product_id);
}

/** Returns the product whose coverage a body asks for; undefined without one. @throws InvalidRequestError */
export function readCoverage(body: unknown): number | undefined {
  const value = ownValue(requireFields(body), 'product_id');
  if (value === undefined || value === null) return undefined;
  const id = toProductId(value);
  if (id === undefined) throw new InvalidRequestError('"product_id" must be an integer.');
  return id;
}

/** Returns a product id, or 0, which no product uses, if it is out of the column's range; undefined: not an integer. */
function toProductId(value: unknown): number | undefined {
  if (typeof value === 'string' ? !/^-?[0-9]+$/.test(value) : !Number.isInteger(value)) return undefined;
  const id = Number(value);
  return id > 0 && id <= MAX_UINT32 ? id : 0;
}

/**
 * Parses a query string; of repeated parameters the last one counts. Joomla joins parameters with a literal `&amp;`, so
 * `amp;dlid` counts as `dlid`. It sends the Download Key as typed, so `+` remains `+`.
 */
function readQuery(query: string): Map<string, string> {
  const parameters = new Map<string, string>();
  for (const pair of query.split('&')) {
    const at = pair.indexOf('=');
    const [name, value] = at < 0 ? [pair, ''] : [pair.slice(0, at), pair.slice(at + 1)];
    const decoded = decode(name);
    parameters.set(decoded.startsWith('amp;') ? decoded.slice(4) : decoded, decode(value));
  }
  return parameters;
}

/** Reads the query of a download, and its key in canonical form with its digest. */
export function readDownload({ state, querystring }: Context): NonNullable<Context['state']['download']> {
  if (state.download === undefined) {
    const query = readQuery(querystring);
    const key = chooseKey(readQueryKey(query.get('license_key')), readQueryKey(query.get('dlid')));
    state.download = key === undefined ? { query } : { query, key, keyDigest: keyDigest(key) };
  }
  return state.download;
}

/** Reads a key in a query. No key of our own shape has a `+`, and no key is only `+`: there it is an encoded blank. */
function readQueryKey(text: string | undefined): string | undefined {
  if (!text?.includes('+')) return text;
  const spaced = canonicalKey(text.replaceAll('+', ' '));
  return spaced === '' || isNativeKey(spaced) ? spaced : text;
}

function decode(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
