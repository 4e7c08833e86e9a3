import { asStorable } from '../../licensing/timestamps';
import { InvalidRequestError } from '../../base/errors';

/** Reads a sender's JSON, whose shape differs between versions. A missing value, or one of another type, is undefined. */

/** Parses a body. @throws InvalidRequestError if it is not a JSON object */
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

/** Returns the text at a path; undefined also if the text is empty. */
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

/** Returns the text at a path. @throws InvalidRequestError if it is missing or empty */
export function requireText(value: unknown, ...path: (string | number)[]): string {
  const found = textAt(value, ...path);
  if (found === undefined) throw new InvalidRequestError(`"${path.join('.')}" is missing.`);
  return found;
}

/** Returns the time at a path, from its seconds since 1970. */
export function secondsAt(value: unknown, ...path: (string | number)[]): Date | undefined {
  const found = numberAt(value, ...path);
  return found === undefined ? undefined : asStorable(new Date(found * 1000));
}

/** Returns the RFC 3339 time at a path; undefined if it is outside the years that can be stored. */
export function timeAt(value: unknown, ...path: (string | number)[]): Date | undefined {
  return asStorable(new Date(textAt(value, ...path) ?? NaN));
}

/** Returns the id at a path, which some messages have as a number and others as text. */
export function idAt(value: unknown, ...path: (string | number)[]): string | undefined {
  const found = valueAt(value, ...path);
  return typeof found === 'number' && Number.isSafeInteger(found) && found > 0
    ? String(found)
    : textAt(value, ...path);
}

/** Returns the id at a path. @throws InvalidRequestError if it is missing */
export function requireId(value: unknown, ...path: (string | number)[]): string {
  const found = idAt(value, ...path);
  if (found === undefined) throw new InvalidRequestError(`"${path.join('.')}" is missing.`);
  return found;
}

/** Returns the quantity at a path, or 1 if it is missing. NaN stands for a value that is not a number (bounds.ts). */
export function quantityAt(value: unknown, ...path: (string | number)[]): number {
  const found = valueAt(value, ...path);
  if (found === undefined || found === null || found === '') return 1;
  return typeof found === 'number' || typeof found === 'string' ? Number(found) : NaN;
}

/** Returns the id at a path, or the id of a whole object at this path. */
export function referenceAt(value: unknown, ...path: (string | number)[]): string | undefined {
  return textAt(value, ...path) ?? textAt(value, ...path, 'id');
}
