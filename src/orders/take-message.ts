import type { Db } from '../store/engine/database';
import { keepUnreadable, receive, type Received } from './inbox';
import type { RecordContext } from './record';
import type { Delivery, ParseContext, ShopAdapter } from './adapters/adapter';
import type { ParsedMessage } from './parsed-message';

/** What becomes of a message that is known to be its sender's: one that came, and one that its list tells. */

export interface TakeContext extends Omit<RecordContext, 'actor'>, Pick<ParseContext, 'readOrder'> {
  /** What is wrong with a message that cannot be taken; undefined: it is not the message's fault. */
  faultOf: (error: unknown) => string | undefined;
}

export interface ShopDelivery {
  shop: string;
  adapter: ShopAdapter;
  delivery: Delivery;
}

/** A message that cannot be read is kept too: its sender's log is not the operator's. @throws what `read` throws */
export async function keepingUnread<T>(
  db: Db,
  { shop, delivery }: Pick<ShopDelivery, 'shop' | 'delivery'>,
  { now, faultOf }: Pick<TakeContext, 'now' | 'faultOf'>,
  read: () => T,
): Promise<T> {
  try {
    return read();
  } catch (error) {
    const fault = faultOf(error);
    if (fault !== undefined) await keepUnreadable(db, shop, delivery.body, fault, now);
    throw error;
  }
}

/** @throws what reading throws */
export function readMessage(db: Db, about: ShopDelivery, context: TakeContext): Promise<ParsedMessage> {
  const { shop, adapter, delivery } = about;
  const { now, readOrder } = context;
  return keepingUnread(db, about, context, () => adapter.parse(delivery, { shop, now, readOrder }));
}

/** Does what a message tells. The same one again changes nothing. @throws OperatorError when it cannot be stored */
export async function takeMessage(db: Db, about: ShopDelivery, context: TakeContext): Promise<Received> {
  return receive(db, about.shop, await readMessage(db, about, context), context);
}
