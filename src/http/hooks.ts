import type Router from '@koa/router';
import readRawBody from 'raw-body';
import { SealError } from '../licensing/sealing';
import { keepUnreadable, receive, type Received } from '../orders/receive';
import { createReceiverList, type KnownReceiver } from '../orders/receiver-list';
import { MessageError, type Delivery, type Told } from '../orders/receivers/receiver';
import type { Mailing } from '../mail/queue';
import type { Db } from '../store/database';
import { sendJson, sendText } from './answers';
import type { Context, State } from './context';
import { bodyError, inTime } from './faults';
import { drain, unsupported } from './manage/body';
import { ManageError, toFailure, type Failure } from './manage/failures';
import { sendFailure } from './manage/endpoint';
import { readOrderBody } from './manage/orders';
import type { Limiter } from './rate-limit';

/** Receives the signed messages of shops: `POST hooks/NAME`, open to everybody. */

export interface HookDependencies {
  db: Db;
  now: () => Date;
  limiter: Limiter;
  /** LICENSING_KEY_SECRET; without it there are no receivers */
  keySecret: Buffer | undefined;
  mailing: Mailing | undefined;
}

const MAX_BODY_BYTES = 1024 * 1024;

export function mountHooks(
  router: Router<State>,
  { db, now, limiter, keySecret, mailing }: HookDependencies,
): void {
  const receiverOf = createReceiverList(db, keySecret);

  async function take(ctx: Context): Promise<void> {
    const name = String((ctx.params as { name?: string }).name);
    const known = await inTime(receiverOf(name));
    if (known === undefined)
      throw refused(ctx, new ManageError('NOT_FOUND', 'There is no receiver at this address.'));
    if (ctx.method !== 'POST') {
      ctx.set('Allow', 'POST');
      throw refused(ctx, new ManageError('METHOD_NOT_ALLOWED', 'This address takes POST alone.'));
    }
    const delivery = await readDelivery(ctx, known);
    await verify(ctx, delivery, known);
    const { allowed, retryAfter } = await limiter('hooks', name);
    if (!allowed) throw new ManageError('RATE_LIMITED', 'Too many messages.', { retryAfter });
    const { receiver } = known;
    const told = await read(delivery, known, name);
    const received = await inTime(receive(db, name, told, { now: now(), secret: keySecret, mailing }));
    if (receiver.answer === undefined) sendJson(ctx, 200, { data: toJson(received) });
    else sendText(ctx, 200, receiver.answer(delivery, keysOf(received)));
  }

  /** @throws ManageError; the body is not parsed, and the database is not asked */
  async function verify(
    ctx: Context,
    delivery: Delivery,
    { receiver, secret }: KnownReceiver,
  ): Promise<void> {
    // The sender tries again, until the operator has mended it.
    if (secret === undefined) throw new SealError('The secret of a receiver cannot be opened.');
    const verdict = receiver.verify(delivery, secret, now());
    if (verdict === 'right') return;
    const { allowed, retryAfter } = await limiter('hook_failures', ctx.state.client.limitKey);
    if (!allowed) throw new ManageError('RATE_LIMITED', 'Too many wrong signatures.', { retryAfter });
    throw new ManageError(
      'UNAUTHORIZED',
      verdict === 'old'
        ? 'The signature is too old, or made by a clock that is wrong.'
        : 'The signature is missing or wrong. It must be made with the secret that this receiver was added with.',
    );
  }

  /** A message that cannot be read is kept too: its sender's log is not the operator's. */
  async function read(delivery: Delivery, { receiver }: KnownReceiver, shop: string): Promise<Told> {
    try {
      return receiver.read(delivery, { shop, now: now(), readOrder: readOrderBody });
    } catch (error) {
      const failure = failureOf(error);
      if (failure === undefined) throw error;
      await inTime(keepUnreadable(db, shop, delivery.body, failure.error.message, now()));
      throw error;
    }
  }

  router.all('/hooks/:name', async (ctx) => {
    ctx.state.endpoint = 'hooks';
    ctx.state.route = '/hooks/{name}';
    try {
      await take(ctx);
    } catch (error) {
      if (error instanceof SealError) throw error;
      const failure = failureOf(error);
      if (failure === undefined) throw error;
      sendFailure(ctx, failure);
    }
  });
}

function failureOf(error: unknown): Failure | undefined {
  return toFailure(
    error instanceof MessageError ? new ManageError('INVALID_REQUEST', error.message) : error,
    {},
  );
}

async function readDelivery(ctx: Context, { receiver: { contentType } }: KnownReceiver): Promise<Delivery> {
  if (!ctx.is(contentType)) throw unsupported(ctx, [contentType]);
  const body = await readRawBody(ctx.req, { limit: MAX_BODY_BYTES, length: ctx.request.length }).catch(
    (error: unknown) => {
      if ((error as { type?: string }).type === 'entity.too.large')
        throw refused(ctx, new ManageError('PAYLOAD_TOO_LARGE', 'The body must not be larger than 1 MiB.'));
      return bodyError(error as Error, ctx);
    },
  );
  return { body, header: (name) => ctx.get(name) || undefined };
}

/** The rest of the body is read, which would block the next request on the connection. */
function refused(ctx: Context, error: ManageError): ManageError {
  drain(ctx);
  return error;
}

/** Without keys: senders show their customers' answers to whoever sees their log. */
function toJson({ result, reason, recorded }: Received) {
  return { result, reason, order_id: recorded?.order.id ?? null, state: recorded?.order.state ?? null };
}

function keysOf({ recorded }: Received): string[] {
  return (recorded?.lines ?? []).flatMap(({ licenses }) => licenses.flatMap(({ key }) => key ?? []));
}
