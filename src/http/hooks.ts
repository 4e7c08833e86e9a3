import type Router from '@koa/router';
import { isCoded } from '../base/errors';
import { SealError } from '../licensing/sealing';
import { createAsk } from '../orders/catch-up/ask';
import { completed } from '../orders/catch-up/run';
import { knowsLink, type Received } from '../orders/inbox';
import { readItemKeys } from '../orders/key-mails';
import { createRefusedCounter } from '../orders/refused-messages';
import { createReceiverList, type KnownReceiver } from '../orders/receiver-list';
import type { InboundWebhook, SignatureVerdict } from '../orders/adapters/adapter';
import { takeDelivery } from '../orders/take-message';
import type { ManageSettings } from '../operations/settings';
import type { Db } from '../licensing/licensing';
import { sendJson, sendText } from './answers';
import type { Context, RequestState } from './context';
import { withDeadline } from './faults';
import { drain, unsupported } from './api/body';
import { faultOfMessage, OperationError, toErrorResponse } from '../operations/kit/failures';
import { sendErrorResponse } from './api/endpoint';
import { readOrderBody } from '../operations/orders';
import type { LimitResult, Limiter } from './limits/rate-limit';
import { readBytes } from './read-body';
import { createKeyedSemaphore } from './limits/keyed-semaphore';

/** Inbound webhooks: receives the signed messages of shops at `POST hooks/NAME`, without a session or token. */

interface HookDependencies {
  db: Db;
  now: () => Date;
  limiter: Limiter;
  /** the settings; without LICENSING_KEY_SECRET there are no receivers */
  settings: ManageSettings;
}

/** The answer to a message that has no effect. */
const NOTHING = { result: 'noted', reason: null, order_id: null, state: null };

const MAX_BODY_BYTES = 1024 * 1024;
/** The part of the deadline in which further messages of a list are started. */
const SHARE_OF_DEADLINE = 0.5;
/** The maximum number of messages of one network that wait for verification. */
const MAX_WAITING = 100;

export function mountHooks(
  router: Router<RequestState>,
  { db, now, limiter, settings }: HookDependencies,
): void {
  const { keySecret, webhookNetworks, shopApiUrl } = settings;
  const receiverOf = createReceiverList(db, keySecret);
  const ask = createAsk(webhookNetworks, shopApiUrl !== undefined);
  const takeTurn = createKeyedSemaphore(MAX_WAITING);
  const countRefused = createRefusedCounter(db);

  async function take(ctx: Context): Promise<void> {
    const name = String((ctx.params as { name?: string }).name);
    const known = await withDeadline(ctx, receiverOf(name));
    if (known === undefined)
      throw refused(ctx, new OperationError('NOT_FOUND', 'There is no receiver at this address.'));
    if (ctx.method !== 'POST') {
      ctx.set('Allow', 'POST');
      throw refused(ctx, new OperationError('METHOD_NOT_ALLOWED', 'This address accepts only POST.'));
    }
    await requireFewFailures(ctx, known);
    const delivery = await readDelivery(ctx, known);
    if (delivery === undefined || !(await verify(ctx, delivery, known, name))) {
      sendJson(ctx, 200, { data: NOTHING });
      return;
    }
    const { allowed, retryAfter } = await limiter('hooks', name);
    if (!allowed) throw new OperationError('RATE_LIMITED', 'Too many messages.', { retryAfter });
    const { adapter, kind, apiKey: key } = known;
    const { mailing, graceDays, onFailed } = settings;
    const context = {
      now: now(),
      secret: keySecret,
      mailing,
      graceDays,
      onFailed,
      readOrder: readOrderBody,
      faultOf: faultOfMessage,
    };
    const whole = (part: InboundWebhook) =>
      completed(part, { kind, key, ask, apiUrl: shopApiUrl, knows: (id) => knowsLink(db, name, id) });
    // Leave time in the deadline to store the rest of a long list.
    const until = performance.now() + ctx.state.deadlineMs * SHARE_OF_DEADLINE;
    const about = { shop: name, adapter, delivery };
    const received = await withDeadline(ctx, takeDelivery(db, about, context, { until, whole }));
    if (adapter.answer === undefined) return sendJson(ctx, 200, { data: toJson(received) });
    const item = adapter.answer.item(delivery);
    const keys = item === undefined ? [] : await withDeadline(ctx, readItemKeys(db, name, item, keySecret));
    sendText(ctx, 200, adapter.answer.text(delivery, keys));
  }

  /** Verifies a message before parsing its body. @returns whether the message takes effect @throws OperationError */
  async function verify(
    ctx: Context,
    delivery: InboundWebhook,
    { adapter, secret }: KnownReceiver,
    name: string,
  ): Promise<boolean> {
    // Answer with a fault, so that the sender retries until the operator has restored the key.
    if (secret === undefined) throw new SealError('The secret of a receiver cannot be opened.');
    // Verify one message after another: concurrent ones would all be verified before the first failure is counted.
    const endTurn = adapter.verifiesSlowly ? await takeTurn(ctx.state.client.limitKey) : () => undefined;
    if (endTurn === undefined)
      throw new OperationError('RATE_LIMITED', 'Too many messages at once.', { retryAfter: 1 });
    let verdict: SignatureVerdict;
    try {
      await requireFewFailures(ctx, { adapter });
      verdict = secret === null ? 'wrong' : adapter.verify(delivery, secret, now());
      if (verdict !== 'right') {
        countRefused(name, now());
        await refuseOver(limiter('hook_failures', ctx.state.client.limitKey));
      }
    } finally {
      endTurn();
    }
    if (verdict === 'right') return true;
    if (secret === null && adapter.takesBeforeSecret) return false;
    throw new OperationError(
      'UNAUTHORIZED',
      secret === null
        ? 'This receiver has no secret yet. Its operator adds the one that is shown for this address.'
        : verdict === 'old'
          ? "The signature is too old, or the sender's clock is wrong."
          : 'The signature is missing or wrong. It must be made with the secret that this receiver was added with.',
    );
  }

  /**
   * Refuses a network with too many failures, if verification is slow: before the body is read, and before it is
   * verified. With a fast adapter, a correct message is never refused because of failures from its network.
   * @throws OperationError
   */
  async function requireFewFailures(
    ctx: Context,
    { adapter }: Pick<KnownReceiver, 'adapter'>,
  ): Promise<void> {
    if (adapter.verifiesSlowly) await refuseOver(limiter('hook_failures', ctx.state.client.limitKey, 0));
  }

  router.all('/hooks/:name', async (ctx) => {
    ctx.state.endpoint = 'hooks';
    ctx.state.route = '/hooks/{name}';
    try {
      await take(ctx);
    } catch (error) {
      if (error instanceof SealError) throw error;
      const failure = toErrorResponse(error, {});
      if (failure === undefined) throw error;
      sendErrorResponse(ctx, failure);
    }
  });
}

/** Throws if the limit of wrong signatures is exceeded. @throws OperationError */
async function refuseOver(allowance: Promise<LimitResult>): Promise<void> {
  const { allowed, retryAfter } = await allowance;
  if (!allowed) throw new OperationError('RATE_LIMITED', 'Too many wrong signatures.', { retryAfter });
}

/** Reads a message. @returns undefined if the sender only tests the address @throws OperationError */
async function readDelivery(
  ctx: Context,
  { adapter: { contentType, maxBody = MAX_BODY_BYTES, ping } }: KnownReceiver,
): Promise<InboundWebhook | undefined> {
  const isPing = ping !== undefined && Boolean(ctx.is(ping.contentType));
  if (!isPing && !ctx.is(contentType)) throw unsupported(ctx, [contentType]);
  const body = await readBytes(ctx, maxBody).catch((error: unknown) => {
    if (!isCoded(error, 'BODY_TOO_LARGE')) throw error;
    const most = maxBody === MAX_BODY_BYTES ? '1 MiB' : `${maxBody / 1024} KiB`;
    throw new OperationError('PAYLOAD_TOO_LARGE', `The body must not be larger than ${most}.`);
  });
  if (isPing && ping.body.test(body.toString('latin1'))) return undefined;
  if (isPing) throw unsupported(ctx, [contentType]);
  return { body, header: (name) => ctx.get(name) || undefined };
}

/** Discards the rest of the body, which would block the next request on the connection, and returns the error. */
function refused(ctx: Context, error: OperationError): OperationError {
  drain(ctx);
  return error;
}

/** Returns the JSON answer without keys, because senders show answers to everyone who can read their log. */
function toJson({ result, reason, recorded }: Received) {
  return { result, reason, order_id: recorded?.order.id ?? null, state: recorded?.order.state ?? null };
}
