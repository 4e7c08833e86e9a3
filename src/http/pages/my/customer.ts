import { readSession, type CustomerSession } from '../../../access/sessions';
import type { Client } from '../../../selfservice/by-key';
import type { Changing } from '../../../selfservice/changes';
import type { Context } from '../../context';
import { OperationError, notFound } from '../../../operations/kit/failures';
import { readSessionCookie } from '../../session-cookies';
import type { PageResponse, CustomerCall, PageCall, Route } from '../page';

/** What the customer's pages share: who is signed in, and limits. */

/** The customer's session of this browser. 'ended': there was one */
export async function readCustomer({
  ctx,
  db,
  at,
}: PageCall): Promise<CustomerSession | 'ended' | undefined> {
  const cookie = readSessionCookie(ctx, 'customer');
  return cookie === undefined ? undefined : readSession(db, 'customer', cookie, at);
}

/** Typed keys, links and downloads count in the bucket of downloads. @throws OperationError (RATE_LIMITED) */
export async function countInDownloads({ ctx, limiter, licensing, at }: PageCall): Promise<void> {
  const { allowed, retryAfter, first } = await limiter('download', ctx.state.client.limitKey);
  if (allowed) return;
  // As for the API, only a client's first refusal in a window is recorded.
  const { limitKey: client } = ctx.state.client;
  if (first)
    licensing.accessLog.record({
      at,
      endpoint: 'download',
      outcome: 'RATE_LIMITED',
      client,
      ip: ctx.state.client.ip,
      userAgent: ctx.get('User-Agent'),
    });
  ctx.set('Retry-After', String(retryAfter));
  throw new OperationError('RATE_LIMITED', '', { retryAfter });
}

/** Tells the customer by mail of a change, where mail is set up. */
export function queueOf({
  settings: { queueMail },
  at: now,
  view: { language },
}: PageCall): Changing['queue'] {
  return queueMail && ((trx, mail) => queueMail(trx, mail, { now, language }));
}

/** As in the access log. */
export function clientOf(ctx: Context): Client {
  return { ...ctx.state.client, userAgent: ctx.get('User-Agent') };
}

/** A request by the link that was mailed. */
export interface MailCall extends CustomerCall {
  email: string;
}

type Handler<Call> = (call: Call, sent: URLSearchParams) => Promise<PageResponse> | PageResponse;

/** A route for the link's session. A key's session does not show sites, and is led to what it may see. */
export function byMail(
  path: string,
  { get, post, hasDeadline }: { get?: Handler<MailCall>; post?: Handler<MailCall>; hasDeadline?: boolean },
): Route<CustomerCall> {
  const led =
    (handle: Handler<MailCall>): Handler<CustomerCall> =>
    (call, sent) =>
      call.session.by === 'mail' ? handle({ ...call, email: call.session.email }, sent) : { to: '/my' };
  return {
    path,
    ...(get && { get: (call) => led(get)(call, new URLSearchParams()) }),
    ...(post && { post: led(post) }),
    ...(hasDeadline === undefined ? {} : { hasDeadline }),
  };
}

/** Where a form's answer stood, which cannot be shown again: back to the licences. */
export const toLicenses = (): PageResponse => ({ to: '/my/mail' });

/** @throws OperationError (NOT_FOUND) if it does not exist or belongs to another customer */
export function found<T>(thing: T | undefined): T {
  if (thing === undefined) throw notFound('licence');
  return thing;
}
