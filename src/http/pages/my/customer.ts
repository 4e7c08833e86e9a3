import { readSession, type CustomerSession } from '../../../access/sessions';
import type { Client } from '../../../selfservice/by-key';
import type { Changing } from '../../../selfservice/changes';
import type { Context } from '../../context';
import { OperationError, notFound } from '../../../operations/kit/failures';
import { readSessionCookie } from '../../session-cookies';
import type { PageResponse, CustomerCall, PageCall, Route } from '../page';

/** The session and the limits that all customers' pages share. */

/** Returns this browser's customer session. 'ended' if it has expired or was ended. */
export async function readCustomerSession({
  ctx,
  db,
  at,
}: PageCall): Promise<CustomerSession | 'ended' | undefined> {
  const cookie = readSessionCookie(ctx, 'customer');
  return cookie === undefined ? undefined : readSession(db, 'customer', cookie, at);
}

/**
 * Counts a typed key, a link or a download in the bucket of downloads (rate limit).
 * @throws OperationError (RATE_LIMITED)
 */
export async function limitAsDownload({ ctx, limiter, licensing, at }: PageCall): Promise<void> {
  const { allowed, retryAfter, first } = await limiter('download', ctx.state.client.limitKey);
  if (allowed) return;
  // Record only a client's first refusal in a window, like the API.
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

/** Returns the function that queues a mail about a change; undefined if mail is not set up. */
export function mailQueueOf({
  settings: { queueMail },
  at: now,
  view: { language },
}: PageCall): Changing['queue'] {
  return queueMail && ((trx, mail) => queueMail(trx, mail, { now, language }));
}

/** Returns the client, with the fields that the access log stores. */
export function clientOf(ctx: Context): Client {
  return { ...ctx.state.client, userAgent: ctx.get('User-Agent') };
}

/** A request in a session that a mailed link opened. */
export interface MailCall extends CustomerCall {
  email: string;
}

type Handler<Call> = (call: Call, sent: URLSearchParams) => Promise<PageResponse> | PageResponse;

/**
 * Returns a route for the session of a mailed link. A key's session is redirected to its own page, which shows no
 * sites.
 */
export function mailSessionRoute(
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

/** Redirects to the licences, for a GET of an address whose page only answers a POST. */
export const redirectToLicenses = (): PageResponse => ({ to: '/my/mail' });

/** Returns the thing. @throws OperationError (NOT_FOUND) if it does not exist or belongs to another customer */
export function orNotFound<T>(thing: T | undefined): T {
  if (thing === undefined) throw notFound('licence');
  return thing;
}
