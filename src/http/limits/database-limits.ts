import { withTimeout } from '../../process/redis';
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { createCircuitBreaker } from './circuit-breaker';
import {
  countInEither,
  countInDatabase,
  type Attempt,
  type Count,
  type Reservation,
} from './download-limiter';
import type { WindowCount } from './memory-counters';
import {
  limitResult,
  BUCKET_NAMES,
  createMemoryLimiter,
  windowOf,
  type Bucket,
  type Limiter,
  type RateLimits,
} from './rate-limit';

/** The maximum time that a request waits for its count. Its next query to the same database would take as long. */
const TIMEOUT_MS = 1_000;
/** The maximum number of remembered clients over their limit, which are refused without a query. */
const MAX_REMEMBERED = 20_000;
/** The maximum number of a client's requests that one statement counts. */
const MAX_BATCH_SIZE = 1_000;

/** The counts of a bucket. */
interface BucketCounts {
  add: (key: string, points: number) => Promise<WindowCount>;
  read: (key: string) => Promise<WindowCount | undefined>;
}

/** Counts that all processes share (store/limit-counts.ts). */
interface SharedCounts {
  open(bucket: Bucket, seconds: () => number): BucketCounts;
  /** Runs a step under `lock`, which is one of the keys: no other holder of this lock can change counts meanwhile. */
  change<T>(asked: { lock: string; keys: string[]; now: number }, step: (count: Count) => T): Promise<T>;
}

/**
 * A rate limiter with counts in the site's database, shared by all processes. While the database fails or hangs, each
 * counts in memory. A client costs one write for all its concurrent requests, and none once it is over its limit.
 */
export function createDatabaseLimiter(
  settings: Readonly<RateLimits>,
  shared: SharedCounts,
  onChange: (away: boolean, error?: unknown) => void,
  timeoutFactor = 1,
): Limiter & { stop(): void } {
  const memory = createMemoryLimiter(settings);
  const stores = Object.fromEntries(
    BUCKET_NAMES.map((bucket) => [bucket, shared.open(bucket, () => windowOf(bucket, settings))]),
  ) as Record<Bucket, BucketCounts>;
  const standing = createCircuitBreaker(onChange);
  standing.watch(() => stores.api.add(digest('probe'), 1));
  const over = rememberFull();

  const orInMemory = async <T>(ask: () => Promise<T>, inMemory: () => Promise<T>): Promise<T> => {
    if (standing.isAway()) return inMemory();
    try {
      return await withTimeout(ask(), TIMEOUT_MS * timeoutFactor);
    } catch (error) {
      standing.setAway(error);
      return inMemory();
    }
  };

  const lanes = Object.fromEntries(
    BUCKET_NAMES.map((bucket) => [bucket, createLanes(stores[bucket].add)]),
  ) as Record<Bucket, ReturnType<typeof createLanes>>;

  async function count(bucket: Bucket, client: string, points: 0 | 1): Promise<WindowCount> {
    const key = digest(client);
    if (points === 1) return lanes[bucket](key);
    return (await stores[bucket].read(key)) ?? { count: 0, endsIn: windowOf(bucket, settings) * 1000 };
  }

  const limiter = async (bucket: Bucket, client: string, points: 0 | 1 = 1) => {
    const limit = settings.limits[bucket];
    const name = `${bucket}:${client}`;
    const known = over.find(name, limit);
    if (known !== undefined) return { ...limitResult(known, limit, points), allowed: false, first: false };
    return orInMemory(
      async () => {
        const counted = await count(bucket, client, points);
        if (counted.count > limit) over.add(name, counted);
        return limitResult(counted, limit, points);
      },
      () => memory(bucket, client, points),
    );
  };

  const inDatabase = countInDatabase(
    () => ({ limit: settings.limits.download, window: settings.window }),
    (asked, names, change) => changeStored(shared, asked, names, change),
  );
  async function take(asked: Attempt): Promise<Reservation> {
    for (const full of REMEMBERED) {
      const known = over.find(nameOf(asked, full), settings.limits.download);
      if (known !== undefined) return { full, endsIn: known.endsIn, first: false };
    }
    const taken = await inDatabase.take(asked);
    const full = REMEMBERED.find((one) => one === taken.full);
    if (full !== undefined)
      over.add(nameOf(asked, full), { count: settings.limits.download + 1, endsIn: taken.endsIn });
    return taken;
  }
  return Object.assign(limiter, {
    downloads: countInEither({ ...inDatabase, take }, memory.downloads, (_, ...asks) => orInMemory(...asks)),
    downloadLimit: () => settings.limits.download,
    stop: () => standing.stop(),
  });
}

/** The bucket that counts unknown keys of an address in addition to its requests. Its count is also the lock. */
const UNKNOWN: Bucket = 'download';

/** Full counts of downloads, which reopen only at the end of their window. */
const REMEMBERED = ['unknown', 'refused'] as const;

function nameOf({ client, key = '' }: Attempt, full: (typeof REMEMBERED)[number]): string {
  return full === 'unknown' ? `${UNKNOWN}:${client}` : `refused:${key}:${client}`;
}

const storedKey = (name: string, who: string) => `${name}:${digest(who)}`;

/** Hashes an address or a text that was sent as a key, because neither is stored as plain text. */
function digest(who: string): string {
  return hash('sha256', who, 'base64url');
}

/** Runs a step on the stored counts of an address and of a key at this address. */
function changeStored<T>(
  shared: SharedCounts,
  { client, key = '' }: Attempt,
  names: string[],
  change: (count: Count) => T,
): Promise<T> {
  const keyOf = (name: string) => {
    if (name === 'unknown') return storedKey(UNKNOWN, client);
    if (name === 'doubt') return storedKey('doubt', client);
    // Hash the name too, because a version may have any length.
    return storedKey('key', `${name}:${key}:${client}`);
  };
  const asked = { lock: keyOf('unknown'), keys: names.map(keyOf), now: Date.now() };
  return shared.change(asked, (count) => change((name, ...added) => count(keyOf(name), ...added)));
}

/** Returns a counter that collects a client's requests while a statement runs. The next one counts them in order. */
function createLanes(addPoints: BucketCounts['add']): (key: string) => Promise<WindowCount> {
  interface Waiting {
    resolve: (counted: WindowCount) => void;
    reject: (error: unknown) => void;
  }
  const lanes = new Map<string, Waiting[]>();

  async function run(key: string): Promise<void> {
    for (const lane = lanes.get(key) ?? []; lane.length > 0;) {
      const together = lane.splice(0, MAX_BATCH_SIZE);
      try {
        const { count, endsIn } = await addPoints(key, together.length);
        together.forEach(({ resolve }, i) => resolve({ count: count - together.length + 1 + i, endsIn }));
      } catch (error) {
        for (const { reject } of together) reject(error);
      }
    }
    lanes.delete(key);
  }

  return (key) =>
    new Promise((resolve, reject) => {
      const lane = lanes.get(key);
      if (lane) lane.push({ resolve, reject });
      else {
        lanes.set(key, [{ resolve, reject }]);
        void run(key);
      }
    });
}

/** Remembers the clients over their limit until their window ends. */
function rememberFull() {
  const full = new LRUCache<string, number>({ max: MAX_REMEMBERED });
  return {
    find(name: string, limit: number): WindowCount | undefined {
      const count = full.get(name);
      // Ask again if the limit was raised in the meantime.
      if (count === undefined || count <= limit) return undefined;
      return { count, endsIn: full.getRemainingTTL(name) };
    },
    add(name: string, { count, endsIn }: WindowCount): void {
      // Skip a window that has ended, because an entry with a `ttl` of 0 never expires.
      if (endsIn > 0) full.set(name, count, { ttl: endsIn });
    },
  };
}
