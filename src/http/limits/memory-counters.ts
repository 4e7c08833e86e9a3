/** Fixed-window rate limiting in this process's memory. A window begins with the client's first request. */

export interface WindowCount {
  count: number;
  /** the milliseconds until the window ends */
  endsIn: number;
}

/** The maximum of counters. 1,000,000 take 63 MB, and 510 MB with rate-limiter-flexible, which has no maximum. */
const MAX_COUNTERS = 200_000;

/**
 * Counts clients in windows of `window` ms. When full, drops the oldest hundredth of the windows, and counts new
 * clients by IPv6 /48 for one window: a customer can have all 65,536 /64s of it. `points` 0 only reads, -1 takes one
 * back.
 */
export function createMemoryCounters(
  window: number,
  most = MAX_COUNTERS,
): (client: string, points?: -1 | 0 | 1) => WindowCount {
  /** The windows by client. All have the same length, so insertion order is the order in which they end. */
  const counters = new Map<string, { count: number; endsAt: number }>();
  let crowdedUntil = 0;

  function find(client: string, now: number) {
    const counter = counters.get(client);
    return counter && counter.endsAt > now ? counter : undefined;
  }

  function removeOldest(now: number): void {
    let left = most / 100;
    for (const [client, { endsAt }] of counters) {
      if (left-- <= 0) return;
      counters.delete(client);
      if (endsAt > now) crowdedUntil = now + window;
    }
  }

  return (client, points = 1) => {
    const now = performance.now();
    let key = client;
    let counter = find(key, now);
    if (counter === undefined && now < crowdedUntil) {
      key = client.replace(/:[0-9a-f]+::\/64$/, '::/48');
      counter = find(key, now);
    }
    if (counter === undefined && points <= 0) return { count: 0, endsIn: window };
    if (counter === undefined) {
      // Delete an ended window first, so that its successor is the last entry of the Map.
      counters.delete(key);
      if (counters.size >= most) removeOldest(now);
      counter = { count: 0, endsAt: now + window };
      counters.set(key, counter);
    }
    counter.count = Math.max(0, counter.count + points);
    return { count: counter.count, endsIn: counter.endsAt - now };
  };
}
