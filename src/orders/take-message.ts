import { createHash } from 'node:crypto';
import type { Db } from '../store/engine/database';
import { isUnavailable, reasonCode } from '../store/engine/errors';
import type { InboundWebhook, ParseContext, ShopAdapter } from './adapters/adapter';
import { listAt, parseObject } from './adapters/json';
import { InvalidRequestError } from '../base/errors';
import { keepQueued, keepUnreadable, receive, type Received, type StoredDelivery } from './inbox';
import type { RecordContext } from './record';

/** Processes a message whose sender is verified: a received webhook, an entry of its list, or a queued one. */

export interface TakeContext extends Omit<RecordContext, 'actor'>, Pick<ParseContext, 'readOrder'> {
  /** Returns an error message if the message itself is at fault, otherwise undefined. */
  faultOf: (error: unknown) => string | undefined;
}

export interface ShopDelivery {
  shop: string;
  adapter: ShopAdapter;
  delivery: InboundWebhook;
}

/** The maximum number of messages of one body that are processed at once. */
const MAX_MESSAGES = 100;

/**
 * Processes a message. It is idempotent. An unreadable message is stored, and one that failed for a temporary reason is
 * queued for a job. @throws the error of an unavailable database
 */
export async function takeMessage(db: Db, about: ShopDelivery, context: TakeContext): Promise<Received> {
  const { shop, adapter, delivery } = about;
  const { now, readOrder } = context;
  const parsed = reading(() => adapter.parse(delivery, { shop, now, readOrder }), context);
  if ('fault' in parsed) return keepUnreadable(db, shop, delivery.body, parsed.fault, now);
  try {
    return await receive(db, shop, parsed.found, context);
  } catch (error) {
    if (isUnavailable(error)) throw error;
    const about = { shop, id: parsed.found.id, type: parsed.found.type, reason: reasonCode(error) };
    return keepQueued(db, about, toStored(delivery), now);
  }
}

/**
 * Processes the messages of a body, which may be a list: at most a hundred, and until a deadline. A job takes the others.
 * @param whole adds data that the sender left out of a message @param until the deadline, by `performance.now()`
 * @returns the result of the first message
 */
export async function takeDelivery(
  db: Db,
  about: ShopDelivery,
  context: TakeContext,
  {
    until = Infinity,
    whole,
  }: { until?: number; whole?: (delivery: InboundWebhook) => Promise<InboundWebhook> } = {},
): Promise<Received> {
  const { shop, adapter, delivery } = about;
  const split = reading(() => partsOf(adapter, delivery), context);
  if ('fault' in split) return keepUnreadable(db, shop, delivery.body, split.fault, context.now);
  const parts = split.found;
  let first: Received | undefined;
  let taken = 0;
  for (
    ;
    taken < Math.min(parts.length, MAX_MESSAGES) && (taken === 0 || performance.now() < until);
    taken++
  ) {
    const part = partOf(delivery, parts[taken]);
    const received = await takeMessage(db, { ...about, delivery: (await whole?.(part)) ?? part }, context);
    first ??= received;
  }
  const left = parts.slice(taken);
  if (left.length > 0) {
    const rest = partOf(delivery, { [adapter.list as string]: left });
    const id = createHash('sha256').update(rest.body).digest('hex');
    await keepQueued(db, { shop, id, type: 'many', reason: 'many' }, toStored(rest), context.now);
  }
  return first as Received;
}

/** Returns the messages of a body that is a list, otherwise one entry. @throws InvalidRequestError if the list is missing */
function partsOf({ list }: ShopAdapter, delivery: InboundWebhook): unknown[] {
  if (list === undefined) return [undefined];
  const parts = listAt(parseObject(delivery.body), list);
  if (parts.length === 0) throw new InvalidRequestError(`"${list}" is missing.`);
  return parts;
}

function partOf(delivery: InboundWebhook, part: unknown): InboundWebhook {
  return part === undefined ? delivery : { ...delivery, body: Buffer.from(JSON.stringify(part)) };
}

/** Reads a message, and returns an error message for anything that reading throws. Nothing has been done then. */
function reading<T>(read: () => T, { faultOf }: TakeContext): { found: T } | { fault: string } {
  try {
    return { found: read() };
  } catch (error) {
    return { fault: faultOf(error) ?? `error ${reasonCode(error)}` };
  }
}

/** The headers that adapters read in addition to signatures. */
const KEPT_HEADERS = ['webhook-id', 'x-wc-webhook-topic'];

function toStored({ body, header }: InboundWebhook): StoredDelivery {
  const headers = KEPT_HEADERS.flatMap((name) => {
    const value = header(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  return { body: body.toString('utf8'), headers: Object.fromEntries(headers) };
}

/** Returns the delivery of a queued message; undefined for other messages. */
export function fromStored(pendingJson: string | null): InboundWebhook | undefined {
  const { delivery } = JSON.parse(pendingJson ?? '{}') as { delivery?: StoredDelivery };
  return delivery && { body: Buffer.from(delivery.body), header: (name) => delivery.headers[name] };
}
