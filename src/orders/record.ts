import type { License } from '../licensing/licenses';
import { OperatorError } from '../licensing/operator-error';
import type { Db, Transaction } from '../store/engine/database';
import { isDuplicate } from '../store/engine/errors';
import { inReadCommitted } from '../store/engine/transaction';
import { findLicensesByIds } from '../store/licenses/licenses';
import {
  findOrder,
  insertOrder,
  listOrderEvents,
  listOrderLicenses,
  listOrderLines,
  lockOrder,
  type Order,
  type OrderEvent,
  type OrderLicense,
} from '../store/orders/orders';
import type { Shop } from '../store/orders/shops';
import { applyDecision, type Applied } from './apply';
import { decideOrder } from './decide';
import { isSameEvent } from './event-identity';
import { newEvent } from './new-event';
import { loadOrderFacts, type OrderFacts, type RecordContext } from './facts';
import { keptKey } from './key-mails';
import { requireMessage, requireOrderCustomer, type OrderMessage } from './message';
import { orderDigest } from './names';
import type { LineOutcome, Outcome, StoredLine } from './order-events';
import {
  hasLinked,
  isUnexpected,
  keepFailed,
  orderNotFoundError,
  reportFailed,
  requireShopOf,
  wakeAwaiting,
  type Poster,
} from './process';

/** The entrance for shops' messages about orders, from receivers and from the API. */

export type { RecordContext };

interface RecordedLine extends Outcome {
  line: string;
  /** `key` is undefined for events other than `paid`, or if it is not stored or cannot be decrypted */
  licenses: { license: License; key: string | undefined }[];
}

export interface Recorded {
  order: Order;
  /** false if the event was recorded before */
  isNew: boolean;
  /** the lines of the event */
  lines: RecordedLine[];
}

/** The maximum number of attempts. If callers insert the same order in parallel, the last attempt finds it. */
const MAX_ATTEMPTS = 3;

/**
 * Records an event of an order, and applies it to the licences. It is idempotent: a repeated event changes nothing and
 * gets the same reply, with the licences' present state. After an unexpected error the event is stored, and the order
 * is retried later.
 * @throws OperatorError: INVALID_REQUEST with the field; NOT_FOUND if the shop or order belongs to another
 */
export async function recordOrder(
  db: Db,
  given: OrderMessage,
  poster: Poster,
  context: RecordContext,
): Promise<Recorded> {
  const message = requireMessage(given, context.now);
  for (let attempt = 1; ; attempt++)
    try {
      const { recorded, hasIssued } = await inOrder(db, message, poster, context, async (opened) =>
        recordIn(opened, message, context),
      );
      if (hasIssued) await wakeAwaiting(db, recorded.order.digest, context);
      return recorded;
    } catch (error) {
      // Try again, because another caller has inserted the same order or shop in the meantime.
      if (isDuplicate(error) && attempt < MAX_ATTEMPTS) continue;
      if (!isUnexpected(db, error)) throw error;
      const failed = await inOrder(db, message, poster, context, async ({ trx, order, shop }) => {
        const event = newEvent(order, shop, message, context);
        const kept = await keepFailed(trx, order, { error, event, message }, context.now);
        return { order: kept, isNew: true, lines: waitingLines(event, 'failed') };
      });
      reportFailed(failed.order, context);
      return failed;
    }
}

interface Opened {
  trx: Transaction;
  order: Order;
  shop: Shop;
  isNew: boolean;
}

/** Runs `work` with the order locked. Code that also locks licences must do so afterwards. */
async function inOrder<T>(
  db: Db,
  message: OrderMessage,
  poster: Poster,
  { now }: RecordContext,
  work: (opened: Opened) => Promise<T>,
): Promise<T> {
  const digest = orderDigest(message.shop, message.order);
  const found = await findOrder(db, { digest });
  return inReadCommitted(db, async (trx) => {
    const locked = found && (await lockOrder(trx, found.id));
    if (locked !== undefined && poster.ownOnly && locked.owner !== poster.owner) throw orderNotFoundError();
    const shop = await requireShopOf(trx, message.shop, now, { poster, kind: message.kind });
    const order = locked ?? (await addOrder(trx, shop, message, digest, poster, now));
    return work({ trx, order, shop, isNew: locked === undefined });
  });
}

async function addOrder(
  trx: Transaction,
  shop: Shop,
  { order: number, customer, test = false }: OrderMessage,
  digest: string,
  { owner, ownOnly }: Poster,
  now: Date,
): Promise<Order> {
  const order: Omit<Order, 'id'> = {
    shop: shop.name,
    number,
    digest,
    ownOnly,
    createdAt: now,
    owner: shop.owner ?? owner,
    customer: customer?.email ?? null,
    customerName: customer?.name ?? null,
    language: customer?.language ?? null,
    mail: null,
    isTest: test || shop.isTest,
    state: 'done',
    failure: null,
    failedAt: null,
    retryAt: null,
    confirmedAt: null,
  };
  return { ...order, id: await insertOrder(trx, order) };
}

async function recordIn(
  { trx, order, shop, isNew }: Opened,
  message: OrderMessage,
  context: RecordContext,
): Promise<{ recorded: Recorded; hasIssued: boolean }> {
  const known = isNew ? [] : await listOrderEvents(trx, order.id);
  const repeated = known.find((one) => isSameEvent(one, message));
  // Answer a repeated message without further reads, because a sender repeats it for days.
  if (repeated !== undefined) {
    const lines = await listOrderLines(trx, [order.id]);
    const links = await listOrderLicenses(trx, [order.id]);
    return { recorded: await answer(trx, { order, lines, links }, repeated, context), hasIssued: false };
  }
  const event = newEvent(order, shop, message, context);
  const facts = await loadOrderFacts(trx, order, { shop, events: [...known, event], isNew }, context);
  requirePlans(facts, message);
  const { customer, at } = message;
  const decision = decideOrder(facts, customer && { customer, at });
  const applied = await applyDecision(trx, decision, context);
  const recorded = await answer(trx, decision.draft, decision.draft.events.at(-1) ?? event, context, applied);
  return { recorded, hasIssued: hasLinked(decision) };
}

/** Checks that all plans exist. @throws OperatorError for the first line whose plan does not exist */
function requirePlans({ plans }: OrderFacts, { lines = [] }: OrderMessage): void {
  for (const [i, { line, planId }] of lines.entries())
    if (planId !== undefined && !plans.some(({ id }) => id === planId))
      throw new OperatorError(`Line ${line}: there is no plan ${planId}.`, {
        code: 'INVALID_REQUEST',
        field: `lines.${i}.plan_id`,
      });
}

/** Sets the customer of an order without one, and of its licences. An address that exists stays. */
export async function nameOrderCustomer(
  db: Db,
  { shop, order: number }: Pick<OrderMessage, 'shop' | 'order'>,
  given: { email: string; name?: string | undefined },
  context: RecordContext,
): Promise<void> {
  const found = await findOrder(db, { digest: orderDigest(shop, number) });
  if (found === undefined) throw orderNotFoundError();
  const { email, name } = requireOrderCustomer(given);
  const naming = { customer: { email, name }, at: context.now };
  await inReadCommitted(db, async (trx) => {
    const order = (await lockOrder(trx, found.id)) ?? found;
    const facts = await loadOrderFacts(
      trx,
      order,
      { shop: await requireShopOf(trx, shop, context.now) },
      context,
    );
    await applyDecision(trx, decideOrder(facts, naming), context);
  });
}

/** Returns the reply to an event that is not processed yet. */
function waitingLines({ linesJson }: OrderEvent, reason: string): RecordedLine[] {
  const items = JSON.parse(linesJson ?? '[]') as StoredLine[];
  return items.map(({ line }) => ({ line, action: 'waiting', reason, licenses: [] }));
}

async function answer(
  trx: Transaction,
  {
    order,
    lines,
    links,
  }: Pick<OrderFacts, 'order' | 'lines'> & { links: Pick<OrderLicense, 'lineId' | 'licenseId'>[] },
  event: OrderEvent,
  { secret }: RecordContext,
  applied?: Applied,
): Promise<Recorded> {
  const isNew = applied !== undefined;
  if (event.outcomeJson === null)
    return {
      order,
      isNew,
      lines: waitingLines(event, order.failure === 'too_many' ? order.failure : 'failed'),
    };
  const outcomes = JSON.parse(event.outcomeJson) as LineOutcome[];
  const idOf = applied?.idOf ?? ((id: number) => id);
  const of = new Map(lines.map(({ id, line }) => [line, links.filter(({ lineId }) => lineId === id)]));
  const named = outcomes.flatMap(({ line }) => of.get(line) ?? []);
  const licenses = await findLicensesByIds(
    trx,
    named.map(({ licenseId }) => idOf(licenseId)),
  );
  const byId = new Map(licenses.map((license) => [license.id, license]));
  const view = (license: License) => {
    const isShown = event.event === 'paid';
    return {
      license,
      key: isShown ? (applied?.keys.get(license.id) ?? keptKey(license, secret)) : undefined,
    };
  };
  return {
    order,
    isNew,
    lines: outcomes.map((outcome) => ({
      ...outcome,
      licenses: (of.get(outcome.line) ?? [])
        .flatMap(({ licenseId }) => byId.get(idOf(licenseId)) ?? [])
        .map(view),
    })),
  };
}
