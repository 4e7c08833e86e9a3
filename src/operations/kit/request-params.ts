import type { Static } from '@sinclair/typebox';
import { requireMetadataChange, type MetadataChanges } from '../../licensing/metadata';
import { parseMoment } from '../../licensing/timestamps';
import { requireLabel } from '../../licensing/fields';
import type { ChangeContext } from '../../licensing/lifecycle';
import type { PageRequest } from '../../licensing/lists';
import { findLicense, findLicenseByReference, type License } from '../../licensing/licenses';
import { notFound } from './failures';
import type { OperationCall } from './operation';
import type { QueryFlag } from './schemas';

/** Reads parts of a call that a schema cannot validate. */

/**
 * Returns the licence in the path: an id, or `reference:ORDER`. A shop's token finds only licences that it issued.
 * @throws OperationError if it does not exist
 */
export async function requireLicense({
  db,
  path,
  caller,
}: Pick<OperationCall, 'db' | 'path' | 'caller'>): Promise<License> {
  const reference = /^reference:(.+)$/s.exec(path.id ?? '')?.[1];
  const license = await (reference === undefined
    ? findLicense(db, readId({ path }, 'id', 'licence'))
    : findLicenseByReference(db, reference));
  if (license === undefined || (caller.scope === 'issue' && license.issuedBy !== caller.name))
    throw notFound('licence');
  return license;
}

/** Reads an id in the path. @throws OperationError (404) if it is not an id */
export function readId({ path }: Pick<OperationCall, 'path'>, name = 'id', what = 'thing'): number {
  return toId(path[name], what);
}

const ID = /^[1-9]\d{0,14}$/;

/** Reads an id in a list's filter. A text that is not an id, such as `1e999`, becomes 0, which matches nothing. */
export function filterId(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  return ID.test(text) ? Number(text) : 0;
}

/** Reads an id in a path or a field. @throws OperationError (404) if it is not an id */
export function toId(text: string | null | undefined, what = 'thing'): number {
  if (!ID.test(text ?? '')) throw notFound(what);
  return Number(text);
}

/** Reads the end of a period: a day includes its last second. undefined and null are returned unchanged. */
export function readEnd(text: string | null | undefined, field: string): Date | null | undefined {
  return typeof text === 'string' ? parseMoment(text, 'last', 'refused', field) : text;
}

export function readMetadataChanges(
  given: Record<string, string | null> | undefined,
): MetadataChanges | undefined {
  return (
    given &&
    Object.fromEntries(Object.entries(given).map(([name, text]) => requireMetadataChange(name, text)))
  );
}

/** Reports whether a flag of a query, such as `?free=1`, is set. */
export function isSet(flag: Static<typeof QueryFlag> | undefined): boolean {
  return flag === '1' || flag === 'true';
}

export function pageOf({
  limit = 50,
  after,
}: {
  limit?: number | undefined;
  after?: string | undefined;
}): PageRequest {
  return { limit, after };
}

/** Adds the reason for the history. @throws OperatorError if it is not a text of one line */
export function withReason({
  context,
  body: { reason },
}: OperationCall<unknown, { reason?: string }>): ChangeContext {
  return { ...context, reason: reason === undefined ? undefined : requireLabel(reason, 'reason') };
}
