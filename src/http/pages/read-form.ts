import { isCoded } from '../../base/errors';
import { parseForm } from '../../licensing/forms';
import { ManageError } from '../../operations/kit/failures';
import type { Context } from '../context';
import { readBytes } from '../read-body';

/** Bytes. The largest form of a customer, with an address, has some hundred; an operator's has a changelog. */
export const FORM_LIMIT = 16 * 1024;
export const OPERATOR_FORM_LIMIT = 2 * 1024 * 1024;
/** Of a GET, or of an upload, which the operation reads itself; each its own, because an upload's fields are put into it. */
export const noForm = () => new URLSearchParams();

/** @throws ManageError for a form that is larger than `limit` bytes */
export async function readForm(ctx: Context, limit: number): Promise<URLSearchParams> {
  const body = await readBytes(ctx, limit).catch((error: unknown) => {
    throw isCoded(error, 'BODY_TOO_LARGE') ? new ManageError('PAYLOAD_TOO_LARGE', '') : error;
  });
  if (!ctx.is('urlencoded')) return new URLSearchParams();
  // Of a field that is given twice, the last counts.
  return new URLSearchParams([...new Map(parseForm(body))]);
}
