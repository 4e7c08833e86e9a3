import { DAY_MS } from '../base/days';
import { OperatorError } from '../licensing/operator-error';
import type { Db, Transaction } from '../store/engine/database';
import { isUnavailable, reasonCode } from '../store/engine/errors';
import { inReadCommitted } from '../store/engine/transaction';
import {
  insertOrderEvent,
  listAwaiting,
  listOrderEvents,
  lockOrder,
  setOrder,
  type Order,
  type OrderEvent,
} from '../store/orders/orders';
import { claimShop, findShop, insertShop, PLAIN_SHOP, setShop, type Shop } from '../store/orders/shops';
import { applyDecision } from './apply';
import { decideOrder, type OrderDecision } from './decide';
import { loadOrderFacts, type RecordContext } from './facts';
import type { OrderMessage } from './message';
import { isReceiver, belongsTo } from './whose';

/** Processes one order: in its own transaction, with its own error handler, so that no order stops another. */

/** Who sends an order's events. */
export interface Poster {
  /** the name of the token, which owns the orders it posts first; null: a receiver, or a Joomla account */
  owner: string | null;
  /** a token of the scope `issue`: it reaches nothing that another name owns */
  ownOnly: boolean;
}

/** What became of an order that was processed. */
export interface ProcessedOrder extends Pick<Order, 'id' | 'shop' | 'number' | 'state'> {
  /** why it waits or failed; null: it is done */
  reason: string | null;
}

/** Orders that wait for the same thing, in one go. */
const RUN_AT_ONCE = 100;

/** Takes what was told of an order and has not been processed, then its lines that wait. Other orders may follow. */
export async function processOrder(db: Db, id: number, context: RecordContext): Promise<ProcessedOrder> {
  try {
    const { order, reason, hasIssued } = await inReadCommitted(db, (trx) => processIn(trx, id, context));
    if (hasIssued) await wakeAwaiting(db, order.digest, context);
    return { id, shop: order.shop, number: order.number, state: order.state, reason };
  } catch (error) {
    if (!isUnexpected(db, error) && !(error instanceof OperatorError)) throw error;
    const failed = await inReadCommitted(db, async (trx) =>
      keepFailed(trx, (await lockOrder(trx, id)) ?? raise(noOrder()), { error }, context.now),
    );
    reportFailed(failed, context);
    const { shop, number, state, failure } = failed;
    return { id, shop, number, state, reason: failure };
  }
}

async function processIn(trx: Transaction, id: number, context: RecordContext) {
  const order = (await lockOrder(trx, id)) ?? raise(noOrder());
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

/** Whether an order has licences that it had not: other orders may wait to renew them. */
export function hasLinked({ changes }: OrderDecision): boolean {
  return changes.some(({ type }) => type === 'link');
}

/** Processes the orders that wait for one that has licences by now. */
export async function wakeAwaiting(db: Db, digest: string, context: RecordContext): Promise<void> {
  for (const id of await listAwaiting(db, digest, RUN_AT_ONCE)) await processOrder(db, id, context);
}

/** Whether an error is neither the caller's fault nor a database that is away; within a transaction, its owner handles it. */
export function isUnexpected(db: Db, error: unknown): boolean {
  return !db.isTransaction && !(error instanceof OperatorError) && !isUnavailable(error);
}

const FIRST_RETRY_MS = 60_000;
const MAX_REASON = 190;

/**
 * Keeps that an order failed, with the event that it failed at, which is processed when it is tried again: after a minute,
 * then after as long as it has failed already, a day at the most.
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
  await setOrder(trx, order.id, changes);
  const stored = event === undefined ? [] : await listOrderEvents(trx, order.id);
  if (event !== undefined && !stored.some(({ identity }) => identity === event.identity)) {
    const { id: _, ...row } = event;
    await insertOrderEvent(trx, row);
  }
  return { ...order, ...changes };
}

/** Reports the first failure of an order. The job that tries the order again reports the others. */
export function reportFailed({ id, failure, failedAt }: Order, { now, onFailed }: RecordContext): void {
  if (failedAt?.getTime() === now.getTime()) onFailed?.(id, failure ?? '');
}

export function noOrder(): OperatorError {
  return new OperatorError('There is no such order.', { code: 'NOT_FOUND', facts: { reason: 'no-order' } });
}

const NOBODY: Poster = { owner: null, ownOnly: false };

/**
 * A shop belongs to its receiver, else to the name of the first `issue` token that posts for it.
 * @param posted `kind`: the plugin that posts, which is the kind of a shop that nobody added
 * @throws OperatorError (404) when it is another's
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
  if (ownOnly && !belongsTo(shop, owner)) throw noOrder();
  if (kind === undefined || shop.createdBy !== null || shop.kind !== PLAIN_SHOP.kind) return shop;
  await setShop(trx, shop.id, { kind });
  return { ...shop, kind };
}
