import { isCoded } from '../../base/errors';
import { parseForm } from '../../licensing/forms';
import { OperationError } from '../../operations/kit/failures';
import type { Context } from '../context';
import { readBytes } from '../read-body';

/** Limits in bytes. A customer's largest form, with an address, has some hundred. Operators send changelogs. */
export const FORM_LIMIT = 16 * 1024;
export const OPERATOR_FORM_LIMIT = 2 * 1024 * 1024;
/** Creates an empty form, for a GET or an upload. Each is a new one, because an upload's fields are added to it. */
export const emptyForm = () => new URLSearchParams();

/** Reads a form. @throws OperationError if it is larger than `limit` bytes */
export async function readForm(ctx: Context, limit: number): Promise<URLSearchParams> {
  const body = await readBytes(ctx, limit).catch((error: unknown) => {
    throw isCoded(error, 'BODY_TOO_LARGE') ? new OperationError('PAYLOAD_TOO_LARGE', '') : error;
  });
  if (!ctx.is('urlencoded')) return new URLSearchParams();
  // If a field was sent twice, keep its last value.
  return new URLSearchParams([...new Map(parseForm(body))]);
}
