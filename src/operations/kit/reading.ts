import type { Static } from '@sinclair/typebox';
import { requireMetadataChange, type MetadataChanges } from '../../licensing/metadata';
import { parseMoment } from '../../licensing/timestamps';
import { requireLabel } from '../../licensing/fields';
import type { ChangeContext } from '../../licensing/lifecycle';
import type { PageRequest } from '../../licensing/lists';
import { findLicense, findLicenseByReference, type License } from '../../licensing/licenses';
import { notFound } from './failures';
import type { Call } from './operation';
import type { Flag } from './schemas';

/** Reads parts of a call that its schema cannot judge. */

/**
 * The licence of the path: an id, or `reference:ORDER`; for a shop's token only one that it issued.
 * @throws ManageError when there is none
 */
export async function requireLicense({
  db,
  path,
  caller,
}: Pick<Call, 'db' | 'path' | 'caller'>): Promise<License> {
  const reference = /^reference:(.+)$/s.exec(path.id ?? '')?.[1];
  const license = await (reference === undefined
    ? findLicense(db, readId({ path }, 'id', 'licence'))
    : findLicenseByReference(db, reference));
  if (license === undefined || (caller.scope === 'issue' && license.issuedBy !== caller.name))
    throw notFound('licence');
  return license;
}

/** An id in the path. @throws ManageError (404) when it is none */
export function readId({ path }: Pick<Call, 'path'>, name = 'id', what = 'thing'): number {
  return toId(path[name], what);
}

const ID = /^[1-9]\d{0,14}$/;

/** An id in the filter of a list. 0, an id that nothing has, for a text that is not an id, such as `1e999`. */
export function filterId(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  return ID.test(text) ? Number(text) : 0;
}

/** An id, as it is written in a path or a field. @throws ManageError (404) when it is none */
export function toId(text: string | null | undefined, what = 'thing'): number {
  if (!ID.test(text ?? '')) throw notFound(what);
  return Number(text);
}

/** The end of a period: a day includes its last second. undefined and null stay. */
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

/** Whether a flag of a query, such as `?free=1`, is set. */
export function isSet(flag: Static<typeof Flag> | undefined): boolean {
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

/** With the reason for the history. @throws OperatorError when it is no text for one line */
export function withReason({ context, body: { reason } }: Call<unknown, { reason?: string }>): ChangeContext {
  return { ...context, reason: reason === undefined ? undefined : requireLabel(reason, 'reason') };
}
