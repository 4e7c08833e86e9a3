import { createHash } from 'node:crypto';
import type { Db } from '../store/engine/database';
import { isUnavailable, reasonCode } from '../store/engine/errors';
import type { Delivery, ParseContext, ShopAdapter } from './adapters/adapter';
import { listAt, parseObject } from './adapters/json';
import { InvalidRequestError } from '../base/errors';
import { keepQueued, keepUnreadable, receive, type Received, type StoredDelivery } from './inbox';
import type { RecordContext } from './record';

/** What becomes of a message that is known to be its sender's: one that came, one that its list tells, one that is queued. */

export interface TakeContext extends Omit<RecordContext, 'actor'>, Pick<ParseContext, 'readOrder'> {
  /** What is wrong with a message that cannot be taken; undefined: it is not the message's fault. */
  faultOf: (error: unknown) => string | undefined;
}

export interface ShopDelivery {
  shop: string;
  adapter: ShopAdapter;
  delivery: Delivery;
}

/** Messages of one body that are worked on in one go. */
const MOST_AT_ONCE = 100;

/**
 * Does what a message tells. The same one again changes nothing. It is kept whatever is in it, and what may go right later
 * is left to a job. @throws the error of a database that is away
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
 * Takes the messages of a body, which may be a list: the first hundred, and until a time. A job takes the others.
 * @param whole a message with what its sender left out @param until by `performance.now()`
 * @returns what became of the first one
 */
export async function takeDelivery(
  db: Db,
  about: ShopDelivery,
  context: TakeContext,
  { until = Infinity, whole }: { until?: number; whole?: (delivery: Delivery) => Promise<Delivery> } = {},
): Promise<Received> {
  const { shop, adapter, delivery } = about;
  const split = reading(() => partsOf(adapter, delivery), context);
  if ('fault' in split) return keepUnreadable(db, shop, delivery.body, split.fault, context.now);
  const parts = split.found;
  let first: Received | undefined;
  let taken = 0;
  for (
    ;
    taken < Math.min(parts.length, MOST_AT_ONCE) && (taken === 0 || performance.now() < until);
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

/** A body's messages; a body that is one, as it is. @throws InvalidRequestError */
function partsOf({ list }: ShopAdapter, delivery: Delivery): unknown[] {
  if (list === undefined) return [undefined];
  const parts = listAt(parseObject(delivery.body), list);
  if (parts.length === 0) throw new InvalidRequestError(`"${list}" is missing.`);
  return parts;
}

function partOf(delivery: Delivery, part: unknown): Delivery {
  return part === undefined ? delivery : { ...delivery, body: Buffer.from(JSON.stringify(part)) };
}

/** What is wrong with a message, whatever reading it throws: nothing of it has been done. */
function reading<T>(read: () => T, { faultOf }: TakeContext): { found: T } | { fault: string } {
  try {
    return { found: read() };
  } catch (error) {
    return { fault: faultOf(error) ?? `error ${reasonCode(error)}` };
  }
}

/** The headers that adapters read besides signatures. */
const KEPT_HEADERS = ['webhook-id', 'x-wc-webhook-topic'];

function toStored({ body, header }: Delivery): StoredDelivery {
  const headers = KEPT_HEADERS.flatMap((name) => {
    const value = header(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  return { body: body.toString('utf8'), headers: Object.fromEntries(headers) };
}

/** The delivery that a queued message has; undefined: it has none. */
export function fromStored(pendingJson: string | null): Delivery | undefined {
  const { delivery } = JSON.parse(pendingJson ?? '{}') as { delivery?: StoredDelivery };
  return delivery && { body: Buffer.from(delivery.body), header: (name) => delivery.headers[name] };
}
