import { DAY_MS } from '../base/days';
import { OperatorError } from '../licensing/operator-error';
import type { Db, Transaction } from '../store/engine/database';
import { isUnavailable, reasonCode } from '../store/engine/errors';
import { inReadCommitted } from '../store/engine/transaction';
import {
  insertOrderEvent,
  listAwaitingOrders,
  listOrderEvents,
  lockOrder,
  updateOrder,
  type Order,
  type OrderEvent,
} from '../store/orders/orders';
import { claimShop, findShop, insertShop, PLAIN_SHOP, setShop, type Shop } from '../store/orders/shops';
import { applyDecision } from './apply';
import { decideOrder, type OrderDecision } from './decide';
import { loadOrderFacts, type RecordContext } from './facts';
import type { OrderMessage } from './message';
import { isReceiver, belongsTo } from './whose';

/** Processes one order in its own transaction and with its own error handling, so that no order stops another. */

/** The sender of an order's events. */
export interface Poster {
  /** the name of the token, which owns the orders that it posts first; null for a receiver or a Joomla account */
  owner: string | null;
  /** true for a token of the scope `issue`, which cannot reach what another name owns */
  ownOnly: boolean;
}

/** The result of processing an order. */
export interface ProcessedOrder extends Pick<Order, 'id' | 'shop' | 'number' | 'state'> {
  /** the reason that it waits or failed; null if it is done */
  reason: string | null;
}

/** The number of orders that are processed at once if they wait for the same thing. */
const BATCH_SIZE = 100;

/** Processes the unprocessed events of an order, then its waiting lines. Orders that waited for this one follow. */
export async function processOrder(db: Db, id: number, context: RecordContext): Promise<ProcessedOrder> {
  try {
    const { order, reason, hasIssued } = await inReadCommitted(db, (trx) => processIn(trx, id, context));
    if (hasIssued) await wakeAwaiting(db, order.digest, context);
    return { id, shop: order.shop, number: order.number, state: order.state, reason };
  } catch (error) {
    if (!isUnexpected(db, error) && !(error instanceof OperatorError)) throw error;
    const failed = await inReadCommitted(db, async (trx) =>
      keepFailed(trx, (await lockOrder(trx, id)) ?? raise(orderNotFoundError()), { error }, context.now),
    );
    reportFailed(failed, context);
    const { shop, number, state, failure } = failed;
    return { id, shop, number, state, reason: failure };
  }
}

async function processIn(trx: Transaction, id: number, context: RecordContext) {
  const order = (await lockOrder(trx, id)) ?? raise(orderNotFoundError());
  const shop = await requireShopOf(trx, order.shop, context.now);
  const decision = decideOrder(await loadOrderFacts(trx, order, { shop }, context));
  await applyDecision(trx, decision, context);
  const { draft } = decision;
  const waiting = draft.lines.find(({ waitsFor }) => waitsFor !== null);
  const reason = draft.order.failure ?? waiting?.waitsFor ?? null;
  return { order: draft.order, reason, hasIssued: hasLinked(decision) };
}

function raise(error: Error): never {
  throw error;
}

/** Reports whether a decision gives an order licences, which other orders may wait to renew. */
export function hasLinked({ changes }: OrderDecision): boolean {
  return changes.some(({ type }) => type === 'link');
}

/** Processes the orders that waited for an order which has licences now. */
export async function wakeAwaiting(db: Db, digest: string, context: RecordContext): Promise<void> {
  for (const id of await listAwaitingOrders(db, digest, BATCH_SIZE)) await processOrder(db, id, context);
}

/** Reports whether an error is unexpected: not the caller's, no unavailable database, and not in a caller's transaction. */
export function isUnexpected(db: Db, error: unknown): boolean {
  return !db.isTransaction && !(error instanceof OperatorError) && !isUnavailable(error);
}

const FIRST_RETRY_MS = 60_000;
const MAX_REASON = 190;

/**
 * Stores the failure of an order, with the event that failed and is processed at the retry. Backoff: the first retry is
 * after a minute, the next ones after the time since the first failure, at most a day.
 */
export async function keepFailed(
  trx: Transaction,
  order: Order,
  { error, event, message }: { error: unknown; event?: OrderEvent; message?: OrderMessage },
  now: Date,
): Promise<Order> {
  const failedAt = order.failedAt ?? now;
  const after = Math.min(DAY_MS, Math.max(FIRST_RETRY_MS, now.getTime() - failedAt.getTime()));
  const changes: Partial<Order> = {
    state: 'failed',
    failure: reasonCode(error).slice(0, MAX_REASON),
    failedAt,
    retryAt: new Date(now.getTime() + after),
  };
  if (order.customer === null && message?.customer !== undefined) {
    changes.customer = message.customer.email;
    changes.customerName = message.customer.name ?? null;
    changes.language = order.language ?? message.customer.language ?? null;
  }
  await updateOrder(trx, order.id, changes);
  const stored = event === undefined ? [] : await listOrderEvents(trx, order.id);
  if (event !== undefined && !stored.some(({ identity }) => identity === event.identity)) {
    const { id: _, ...row } = event;
    await insertOrderEvent(trx, row);
  }
  return { ...order, ...changes };
}

/** Reports the first failure of an order. The retry job reports later ones. */
export function reportFailed({ id, failure, failedAt }: Order, { now, onFailed }: RecordContext): void {
  if (failedAt?.getTime() === now.getTime()) onFailed?.(id, failure ?? '');
}

export function orderNotFoundError(): OperatorError {
  return new OperatorError('This order does not exist.', {
    code: 'NOT_FOUND',
    facts: { reason: 'no-order' },
  });
}

const NOBODY: Poster = { owner: null, ownOnly: false };

/**
 * Returns a shop, and adds an unknown one. It belongs to its receiver, or to the first `issue` token that posts for it.
 * @param posted `kind`: the posting plugin, which becomes the kind of a shop that was not added by a seller
 * @throws OperatorError (404) if it belongs to another
 */
export async function requireShopOf(
  trx: Transaction,
  name: string,
  now: Date,
  { poster: { owner, ownOnly } = NOBODY, kind }: { poster?: Poster; kind?: string | undefined } = {},
): Promise<Shop> {
  const claims = ownOnly ? owner : null;
  let shop = await findShop(trx, name);
  if (shop === undefined) {
    const added = {
      ...PLAIN_SHOP,
      name,
      kind: kind ?? PLAIN_SHOP.kind,
      owner: claims,
      createdBy: null,
      createdAt: now,
    };
    shop = { ...added, id: await insertShop(trx, added) };
  } else if (claims !== null && shop.owner === null && !isReceiver(shop)) {
    await claimShop(trx, shop.id, claims);
    shop = (await findShop(trx, name)) as Shop;
  }
  if (ownOnly && !belongsTo(shop, owner)) throw orderNotFoundError();
  if (kind === undefined || shop.createdBy !== null || shop.kind !== PLAIN_SHOP.kind) return shop;
  await setShop(trx, shop.id, { kind });
  return { ...shop, kind };
}
