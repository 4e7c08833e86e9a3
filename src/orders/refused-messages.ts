import { DAY_MS, dayOf } from '../base/days';
import type { Db } from '../store/engine/database';
import { countMessages, listMessages } from '../store/orders/shop-messages';
import { addRefused, listRefusedDays, type RefusedDay } from '../store/orders/shop-refusals';

/**
 * Counts messages that receivers refuse for their signature. Writes are coalesced, so that a flood of messages is not a
 * flood of statements: messages that arrive while one statement runs are added by the next.
 */
export function createRefusedCounter(db: Db): (shop: string, at: Date) => void {
  const counts = new Map<string, RefusedDay>();
  let isWriting = false;

  async function write(): Promise<void> {
    if (isWriting) return;
    isWriting = true;
    try {
      for (const [key, count] of counts) {
        counts.delete(key);
        await addRefused(db, count);
      }
    } catch {
      // Drop the counts while the database is unavailable. The messages are still refused.
      counts.clear();
    } finally {
      isWriting = false;
    }
    if (counts.size > 0) await write();
  }

  return (shop, at) => {
    const day = dayOf(at);
    const key = `${shop} ${day}`;
    const count = counts.get(key) ?? { shop, day, times: 0 };
    counts.set(key, { ...count, times: count.times + 1 });
    void write();
  };
}

export interface RefusedMessages {
  /** newest first */
  days: RefusedDay[];
  times: number;
  /** true if no message was accepted on the latest of these days or later, so that the secret may belong to another address */
  isAlone: boolean;
}

const SHOWN_DAYS = 7;

/** Returns the number of messages that all receivers refused for their signature in the last 7 days. */
export async function countRefused(db: Db, now: Date): Promise<number> {
  const days = await listRefusedDays(db, firstShown(now));
  return days.reduce((sum, { times }) => sum + times, 0);
}

/** Counts the messages of each shop in the last week that contained no order, or could not be stored. */
export async function countUnreadable(db: Db, now: Date): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const since = new Date(now.getTime() - SHOWN_DAYS * DAY_MS);
  for (const { shop, messages } of await countMessages(db, ['unreadable', 'refused'], since))
    counts.set(shop, (counts.get(shop) ?? 0) + messages);
  return counts;
}

function firstShown(now: Date): string {
  return dayOf(new Date(now.getTime() - (SHOWN_DAYS - 1) * DAY_MS));
}

/** Returns the messages of a shop that were refused for their signature in the last 7 days. */
export async function readRefusedMessages(db: Db, shop: string, now: Date): Promise<RefusedMessages> {
  const days = await listRefusedDays(db, firstShown(now), shop);
  const [latest] = days;
  const [taken] = latest === undefined ? [] : await listMessages(db, { shop, limit: 1 });
  return {
    days,
    times: days.reduce((sum, { times }) => sum + times, 0),
    isAlone: latest !== undefined && (taken === undefined || dayOf(taken.receivedAt) < latest.day),
  };
}
