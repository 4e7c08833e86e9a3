import { asStorable } from '../../licensing/timestamps';
import { InvalidRequestError } from '../../base/errors';

/** Reads a sender's JSON, whose shape differs between its versions: what is not there, or of another type, is undefined. */

/** @throws InvalidRequestError when it is not a JSON object */
export function parseObject(body: Buffer): object {
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch {
    throw new InvalidRequestError('The body is not JSON.');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new InvalidRequestError('The body is not a JSON object.');
  return value;
}

export function valueAt(value: unknown, ...path: (string | number)[]): unknown {
  return path.reduce<unknown>(
    (inner, step) =>
      typeof inner === 'object' && inner !== null && Object.hasOwn(inner, step)
        ? (inner as Record<string | number, unknown>)[step]
        : undefined,
    value,
  );
}

/** @returns undefined for an empty text too */
export function textAt(value: unknown, ...path: (string | number)[]): string | undefined {
  const found = valueAt(value, ...path);
  return typeof found === 'string' && found !== '' ? found : undefined;
}

export function numberAt(value: unknown, ...path: (string | number)[]): number | undefined {
  const found = valueAt(value, ...path);
  return typeof found === 'number' && Number.isFinite(found) ? found : undefined;
}

export function listAt(value: unknown, ...path: (string | number)[]): unknown[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? (found as unknown[]) : [];
}

/** @throws InvalidRequestError */
export function requireText(value: unknown, ...path: (string | number)[]): string {
  const found = textAt(value, ...path);
  if (found === undefined) throw new InvalidRequestError(`"${path.join('.')}" is missing.`);
  return found;
}

/** Seconds since 1970. */
export function secondsAt(value: unknown, ...path: (string | number)[]): Date | undefined {
  const found = numberAt(value, ...path);
  return found === undefined ? undefined : asStorable(new Date(found * 1000));
}

/** RFC 3339, and in the years that are stored. */
export function timeAt(value: unknown, ...path: (string | number)[]): Date | undefined {
  return asStorable(new Date(textAt(value, ...path) ?? NaN));
}

/** An id, which some messages have as a number and others as a text. */
export function idAt(value: unknown, ...path: (string | number)[]): string | undefined {
  const found = valueAt(value, ...path);
  return typeof found === 'number' && Number.isSafeInteger(found) && found > 0
    ? String(found)
    : textAt(value, ...path);
}

/** @throws InvalidRequestError */
export function requireId(value: unknown, ...path: (string | number)[]): string {
  const found = idAt(value, ...path);
  if (found === undefined) throw new InvalidRequestError(`"${path.join('.')}" is missing.`);
  return found;
}

/** How many; 1 where nothing is said. What is not a number is not a quantity (bounds.ts). */
export function quantityAt(value: unknown, ...path: (string | number)[]): number {
  const found = valueAt(value, ...path);
  if (found === undefined || found === null || found === '') return 1;
  return typeof found === 'number' || typeof found === 'string' ? Number(found) : NaN;
}

/** An id, or that of the whole object in its place. */
export function referenceAt(value: unknown, ...path: (string | number)[]): string | undefined {
  return textAt(value, ...path) ?? textAt(value, ...path, 'id');
}
