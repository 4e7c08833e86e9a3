import { answeredInTime } from '../../process/redis';
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { createStanding } from './away';
import { countInDatabase, type Asked, type Count, type Outcome, type Taken } from './download-counts';
import type { Counted } from './memory-counters';
import {
  allowance,
  BUCKET_NAMES,
  createMemoryLimiter,
  windowOf,
  type Bucket,
  type Limiter,
  type RateLimits,
} from './rate-limit';

/** The longest that a request waits for its count. What it asks the same database next would take as long. */
const PATIENCE_MS = 1_000;
/** Clients over their limit that are refused without asking the database. */
const MOST_REMEMBERED = 20_000;
/** At most so many requests of a client are counted by one statement. */
const MOST_TOGETHER = 1_000;

/** The counts of a bucket. */
interface BucketCounts {
  add: (key: string, points: number) => Promise<Counted>;
  read: (key: string) => Promise<Counted | undefined>;
}

/** Counts that processes share (store/limit-counts.ts). */
interface SharedCounts {
  open(bucket: Bucket, seconds: () => number): BucketCounts;
  /** Runs a step while nobody else changes counts with the same lock, which is one of the keys. */
  change<T>(asked: { lock: string; keys: string[]; now: number }, step: (count: Count) => T): Promise<T>;
}

/**
 * Counts in the site's database, shared by all processes. While the database fails or hangs, each process counts in its
 * own memory. A client costs one write for all of its requests that wait at once, and none once it is over its limit.
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
  const standing = createStanding(onChange);
  standing.watch(() => stores.api.add(digest('probe'), 1));
  const over = rememberFull();

  const orInMemory = async <T>(ask: () => Promise<T>, inMemory: () => Promise<T>): Promise<T> => {
    if (standing.isAway()) return inMemory();
    try {
      return await answeredInTime(ask(), PATIENCE_MS * timeoutFactor);
    } catch (error) {
      standing.setAway(error);
      return inMemory();
    }
  };

  const lanes = Object.fromEntries(
    BUCKET_NAMES.map((bucket) => [bucket, createLanes(stores[bucket].add)]),
  ) as Record<Bucket, ReturnType<typeof createLanes>>;

  async function count(bucket: Bucket, client: string, points: 0 | 1): Promise<Counted> {
    const key = digest(client);
    if (points === 1) return lanes[bucket](key);
    return (await stores[bucket].read(key)) ?? { count: 0, endsIn: windowOf(bucket, settings) * 1000 };
  }

  const limiter = async (bucket: Bucket, client: string, points: 0 | 1 = 1) => {
    const limit = settings.limits[bucket];
    const name = `${bucket}:${client}`;
    const known = over.find(name, limit);
    if (known !== undefined) return { ...allowance(known, limit, points), allowed: false, first: false };
    return orInMemory(
      async () => {
        const counted = await count(bucket, client, points);
        if (counted.count > limit) over.add(name, counted);
        return allowance(counted, limit, points);
      },
      () => memory(bucket, client, points),
    );
  };

  const inDatabase = countInDatabase(
    () => ({ limit: settings.limits.download, window: settings.window }),
    (asked, names, change) => changeStored(shared, asked, names, change),
  );
  async function take(asked: Asked): Promise<Taken> {
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
    downloads: {
      take: (asked: Asked) =>
        orInMemory(
          () => take(asked),
          () => memory.downloads.take(asked),
        ),
      settle: (asked: Asked, outcome: Outcome) =>
        orInMemory(
          () => inDatabase.settle(asked, outcome),
          () => memory.downloads.settle(asked, outcome),
        ),
    },
    downloadLimit: () => settings.limits.download,
    stop: () => standing.stop(),
  });
}

/** Unknown keys of an address are counted with its requests of the bucket `download`, and lock its counts. */
const UNKNOWN: Bucket = 'download';

/** Full counts of downloads that only the end of their window opens again. */
const REMEMBERED = ['unknown', 'refused'] as const;

function nameOf({ client, key = '' }: Asked, full: (typeof REMEMBERED)[number]): string {
  return full === 'unknown' ? `${UNKNOWN}:${client}` : `refused:${key}:${client}`;
}

const storedKey = (name: string, who: string) => `${name}:${digest(who)}`;

/** Neither an address nor what was sent as a key is stored as it is. */
function digest(who: string): string {
  return hash('sha256', who, 'base64url');
}

/** Runs a step on the stored counts of an address and of a key there. */
function changeStored<T>(
  shared: SharedCounts,
  { client, key = '' }: Asked,
  names: string[],
  change: (count: Count) => T,
): Promise<T> {
  const keyOf = (name: string) => {
    if (name === 'unknown') return storedKey(UNKNOWN, client);
    if (name === 'doubt') return storedKey('doubt', client);
    // A version may have any length.
    return storedKey('key', `${name}:${key}:${client}`);
  };
  const asked = { lock: keyOf('unknown'), keys: names.map(keyOf), now: Date.now() };
  return shared.change(asked, (count) =>
    change((name, seconds, points) => count(keyOf(name), seconds, points)),
  );
}

/** Counts the requests of a client that wait while one statement is under way by the next one, in their order. */
function createLanes(addPoints: BucketCounts['add']): (key: string) => Promise<Counted> {
  interface Waiting {
    resolve: (counted: Counted) => void;
    reject: (error: unknown) => void;
  }
  const lanes = new Map<string, Waiting[]>();

  async function run(key: string): Promise<void> {
    for (const lane = lanes.get(key) ?? []; lane.length > 0;) {
      const together = lane.splice(0, MOST_TOGETHER);
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

/** Those over their limit, until their window ends. */
function rememberFull() {
  const full = new LRUCache<string, number>({ max: MOST_REMEMBERED });
  return {
    find(name: string, limit: number): Counted | undefined {
      const count = full.get(name);
      // The limit may have been raised since.
      if (count === undefined || count <= limit) return undefined;
      return { count, endsIn: full.getRemainingTTL(name) };
    },
    add(name: string, { count, endsIn }: Counted): void {
      // With a `ttl` of 0 an entry never ends.
      if (endsIn > 0) full.set(name, count, { ttl: endsIn });
    },
  };
}
