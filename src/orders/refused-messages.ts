import { DAY_MS, dayOf } from '../base/days';
import type { Db } from '../store/engine/database';
import { countMessages, listMessages } from '../store/orders/shop-messages';
import { addRefused, listRefusedDays, type RefusedDay } from '../store/orders/shop-refusals';

/**
 * Counts messages that receivers refuse for their signature. A flood of them must not become a flood of statements: what
 * comes while one runs is added by the next.
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
      // While the database is away, messages are refused and not counted.
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

export interface Refused {
  /** the newest first */
  days: RefusedDay[];
  times: number;
  /** none was taken on the latest of these days or since: the secret may be another address's */
  isAlone: boolean;
}

const SHOWN_DAYS = 7;

/** How many messages all receivers refused for their signature within the last days. */
export async function countRefused(db: Db, now: Date): Promise<number> {
  const days = await listRefusedDays(db, firstShown(now));
  return days.reduce((sum, { times }) => sum + times, 0);
}

/** How many messages of each shop within the last week had no order in them, or could not be stored. */
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

/** What a receiver refused for its signature within the last days. */
export async function readRefused(db: Db, shop: string, now: Date): Promise<Refused> {
  const days = await listRefusedDays(db, firstShown(now), shop);
  const [latest] = days;
  const [taken] = latest === undefined ? [] : await listMessages(db, { shop, limit: 1 });
  return {
    days,
    times: days.reduce((sum, { times }) => sum + times, 0),
    isAlone: latest !== undefined && (taken === undefined || dayOf(taken.receivedAt) < latest.day),
  };
}
