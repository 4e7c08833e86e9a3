/** Counts of a fixed window that begins with a client's first request, in this process's memory. */

export interface Counted {
  count: number;
  /** ms until the window ends */
  endsIn: number;
}

/** rate-limiter-flexible's own limiter in memory has no bound: 1,000,000 clients took 510 MB, here 63. */
const MOST_COUNTERS = 200_000;

/**
 * When all are in use the oldest windows go, one in a hundred at a time. For the length of a window from then on, clients
 * that are new count by their IPv6 /48 instead of their /64, because one customer of a provider may have 65,536 of those.
 *
 * @param window in ms
 * @returns adds one to a client's count
 */
export function createMemoryCounters(window: number, most = MOST_COUNTERS): (client: string) => Counted {
  /** All windows have one length, so the order of insertion is the order in which they end. */
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

  return (client) => {
    const now = performance.now();
    let key = client;
    let counter = find(key, now);
    if (counter === undefined && now < crowdedUntil) {
      key = client.replace(/:[0-9a-f]+::\/64$/, '::/48');
      counter = find(key, now);
    }
    if (counter === undefined) {
      // One that has ended is removed first, so that its successor goes to the end.
      counters.delete(key);
      if (counters.size >= most) removeOldest(now);
      counter = { count: 0, endsAt: now + window };
      counters.set(key, counter);
    }
    counter.count++;
    return { count: counter.count, endsIn: counter.endsAt - now };
  };
}
