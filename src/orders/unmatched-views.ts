import { jsonOf } from '../base/json';
import { isAscii, readCursor, toPage, isCursorId, type Page, type PageRequest } from '../licensing/cursors';
import type { Db } from '../store/engine/database';
import { findOrder } from '../store/orders/orders';
import { findMessage } from '../store/orders/shop-messages';
import { countUnmatched, findUnmatched, listUnmatched, type Unmatched } from '../store/orders/unmatched';
import { GIVES_BACK } from './decide-unmatched';
import { readPending } from './inbox';

/** Unmatched events, in the form that is shown to sellers. */

export { countUnmatched, type Unmatched };

export const UNMATCHED_STATES = ['open', 'assigned', 'issued', 'left'] as const;

export interface UnmatchedView extends Unmatched {
  /** the shop's number of the order, otherwise the id that the message refers to, such as a payment */
  names: string | null;
  customer: string | null;
  /** the name of the order's event; of a message that cannot be read, the sender's name */
  kind: string;
  /** false for a refund or a dispute: nothing is paid that a licence could be issued for */
  mayIssue: boolean;
}

/** Lists unmatched events, newest first. */
export async function listUnmatchedPage(
  db: Db,
  filter: { shop?: string | undefined; state?: Unmatched['state'] | undefined },
  { after, limit }: PageRequest,
): Promise<Page<UnmatchedView>> {
  // Return nothing for text outside ASCII, which cannot be compared with an ASCII column.
  if (filter.shop !== undefined && !isAscii(filter.shop)) return { items: [], next: null };
  const [before] = readCursor<[number]>(after, [isCursorId]) ?? [];
  const { items, next } = toPage(
    await listUnmatched(db, filter, { before, limit: limit + 1 }),
    limit,
    ({ id }) => [id],
  );
  const views: UnmatchedView[] = [];
  for (const one of items) views.push(await viewUnmatched(db, one));
  return { items: views, next };
}

export async function readUnmatched(db: Db, id: number): Promise<UnmatchedView | undefined> {
  const found = await findUnmatched(db, id);
  return found && viewUnmatched(db, found);
}

export async function viewUnmatched(db: Db, one: Unmatched): Promise<UnmatchedView> {
  const message = one.messageId === null ? undefined : await findMessage(db, one.messageId);
  const told = message && (await readPending(db, message));
  const orderId = one.orderId ?? message?.orderId ?? null;
  const order = orderId === null ? undefined : await findOrder(db, { id: orderId });
  const kind = told?.event.event ?? one.event;
  return {
    ...one,
    orderId,
    names: order?.number ?? told?.names ?? null,
    customer: order?.customer ?? told?.event.customer?.email ?? null,
    kind,
    mayIssue: !GIVES_BACK.has(kind),
  };
}

export function unmatchedJson(one: UnmatchedView) {
  return {
    ...jsonOf(one, 'id', 'shop', 'event', 'reason', 'orderId', 'messageId', 'names', 'customer', 'state'),
    ...jsonOf(one, 'at', 'actedBy', 'actedAt', 'licenseId'),
  };
}
