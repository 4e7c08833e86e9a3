import type { batchScripts } from './redis-script-batcher';
import type { WindowCount, createMemoryCounters } from './memory-counters';

/**
 * Limits of downloads and of the checks before them (docs/api-errors.md, "Limits"): unknown keys by address, refusals
 * and granted requests by key and address. A request is in doubt from its first step until it is decided, for its
 * address and for its key there, so that concurrent requests are limited like successive ones.
 */

export interface Attempt {
  /** the client's network, as rate limits count it */
  client: string;
  /** the digest of the key; undefined if no key was sent */
  key: string | undefined;
  isCheck: boolean;
}

export interface Reservation {
  /** the count that is full; `doubt`: full of requests in doubt, so retry soon; undefined: the request may continue */
  full: 'unknown' | 'refused' | 'granted' | 'doubt' | undefined;
  /** the milliseconds until the window ends */
  endsIn: number;
  /** true for the first request that this count refuses in the window */
  first: boolean;
}

/** The outcome. `unit` is the product and version. `open` means no verdict was given, so nothing is counted. */
export type DownloadOutcome = { is: 'unknown' | 'refused' | 'open' } | { is: 'granted'; unit: string };

export interface DownloadLimiter {
  /** Counts a request in doubt, or refuses it, in one atomic step before any look-up. */
  take(asked: Attempt): Promise<Reservation>;
  /** Counts the outcome. A download that a check has already counted is not counted again. */
  settle(asked: Attempt, outcome: DownloadOutcome): Promise<void>;
}

interface DownloadLimits {
  /** the maximum of unknown keys of an address, and of refusals of a key at this address, in a window */
  limit: number;
  /** the length of the window in seconds */
  window: number;
}

/** The maximum of granted requests of a key at an address, as a multiple of the limit. */
const GRANTED = 10;
/** Seconds after which a request in doubt is forgotten, as its process was killed: more than a request's deadline. */
const DOUBT = 10;

/** The counts that one step of a request reads and changes. */
interface Counts {
  /** counts the unknown keys of the address, and the requests of pages that count with them */
  unknown: (points: 0 | 1) => WindowCount;
  /** counts the requests in doubt: of the address, and of the key there */
  doubt: (points: -1 | 0 | 1) => { address: number; key: number };
  /** counts by key and address */
  of: (name: string, points?: -1 | 0 | 1) => WindowCount;
}

function take(counts: Counts, { isCheck }: Attempt, limit: number): Reservation {
  const isFull = (full: Reservation['full'], most: number, count: (points: 0 | 1) => WindowCount) => {
    if (count(0).count < most) return undefined;
    const { count: refused, endsIn } = count(1);
    return { full, endsIn, first: refused === most + 1 };
  };
  const checked = isCheck ? 0 : counts.of('checked').count;
  const full =
    isFull('unknown', limit, counts.unknown) ??
    isFull('refused', limit, (points) => counts.of('refused', points)) ??
    (checked > 0 ? undefined : isFull('granted', GRANTED * limit, (points) => counts.of('granted', points)));
  if (full) return full;
  const { count, endsIn } = counts.unknown(0);
  const { address, key } = counts.doubt(0);
  const hasRoom =
    count + address < limit &&
    counts.of('refused').count + key < limit &&
    (counts.of('granted').count + key < GRANTED * limit || checked > key);
  if (!hasRoom) return { full: 'doubt', endsIn, first: false };
  counts.doubt(1);
  return { full: undefined, endsIn, first: false };
}

function settle(counts: Counts, { isCheck }: Attempt, outcome: DownloadOutcome, limit: number): void {
  counts.doubt(-1);
  if (outcome.is === 'unknown') counts.unknown(1);
  if (outcome.is === 'refused') counts.of('refused', 1);
  if (outcome.is !== 'granted') return;
  const checked = checkedOf(outcome.unit);
  if (isCheck) for (const name of ['granted', 'checked', checked]) counts.of(name, 1);
  else if (counts.of(checked).count > 0) for (const name of ['checked', checked]) counts.of(name, -1);
  // The check of another version allowed this download.
  else if (counts.of('granted').count >= GRANTED * limit) counts.of('checked', -1);
  else counts.of('granted', 1);
}

const checkedOf = (unit: string) => `checked ${unit}`;

/** Counts in memory. @param limitNow of unknown keys, and of a key's refusals @param unknown counts unknown keys */
export function countInMemory(
  limitNow: () => number,
  unknown: (client: string, points: 0 | 1) => WindowCount,
  counters: ReturnType<typeof createMemoryCounters>,
): DownloadLimiter {
  const inDoubt = new Map<string, number>();
  const doubt = (name: string, points: -1 | 0 | 1) => {
    const count = (inDoubt.get(name) ?? 0) + points;
    if (count > 0) inDoubt.set(name, count);
    else inDoubt.delete(name);
    return count;
  };
  const countsOf = ({ client, key = '' }: Attempt): Counts => ({
    unknown: (points) => unknown(client, points),
    doubt: (points) => ({ address: doubt(client, points), key: doubt(`${key}:${client}`, points) }),
    of: (name, points = 0) => counters(`${name}:${key}:${client}`, points),
  });
  return {
    take: (asked) => Promise.resolve(take(countsOf(asked), asked, limitNow())),
    settle: (asked, outcome) => Promise.resolve(settle(countsOf(asked), asked, outcome, limitNow())),
  };
}

/**
 * Counts in the shared counts, or in memory while these are away. A request is settled where it was taken, because memory
 * never forgets a request in doubt.
 */
export function countInEither(
  shared: DownloadLimiter,
  memory: DownloadLimiter,
  orInMemory: <T>(asked: Attempt, ask: () => Promise<T>, inMemory: () => Promise<T>) => Promise<T>,
): DownloadLimiter {
  const takenInMemory = new WeakSet<Attempt>();
  return {
    take(asked) {
      takenInMemory.delete(asked);
      return orInMemory(
        asked,
        () => shared.take(asked),
        () => {
          takenInMemory.add(asked);
          return memory.take(asked);
        },
      );
    },
    settle(asked, outcome) {
      const inMemory = () => memory.settle(asked, outcome);
      if (takenInMemory.has(asked)) return inMemory();
      return orInMemory(asked, () => shared.settle(asked, outcome), inMemory);
    },
  };
}

/** Adds points to a count, whose window has the given seconds, and returns the count. With `renews`, a point begins the window again. */
export type Count = (name: string, seconds: number, points: -1 | 0 | 1, renews?: boolean) => WindowCount;

/** Changes stored counts by name. `unknown` and `doubt` belong to an address, the others to a key at this address. */
export type ChangeStored = <T>(asked: Attempt, names: string[], change: (count: Count) => T) => Promise<T>;

/** Counts in the database, one transaction a step. @param change runs a step while the address is locked */
export function countInDatabase(limitsNow: () => DownloadLimits, change: ChangeStored): DownloadLimiter {
  const step = <T>(asked: Attempt, more: string[], run: (counts: Counts, limit: number) => T) => {
    const { limit, window } = limitsNow();
    const names = ['unknown', 'doubt', 'undecided', 'refused', 'granted', 'checked', ...more];
    return change(asked, names, (count) =>
      run(
        {
          unknown: (points) => count('unknown', window, points),
          doubt: (points) => ({
            address: count('doubt', DOUBT, points, true).count,
            key: count('undecided', DOUBT, points, true).count,
          }),
          of: (name, points = 0) => count(name, window, points),
        },
        limit,
      ),
    );
  };
  return {
    take: (asked) => step(asked, [], (counts, limit) => take(counts, asked, limit)),
    settle: (asked, outcome) =>
      step(asked, outcome.is === 'granted' ? [checkedOf(outcome.unit)] : [], (counts, limit) =>
        settle(counts, asked, outcome, limit),
      ),
  };
}

/**
 * One script for both steps, so that all steps of one event-loop turn are one command. KEYS: unknown keys of an address, a
 * hash of the requests in doubt of an address (`all`, and by key), and a hash of the counts of the key. ARGV has one text,
 * because each argument costs the service 0.3 µs: the limit, the seconds of the window, `check` or `download`, `take` or
 * the outcome, and the unit of a granted request. An empty answer to `take` lets the request continue.
 */
const COUNT = `
local most, seconds, kind, step, unit = string.match(ARGV[1], '^(%S+) (%S+) (%S+) (%S+) ?(.*)')
local limit, window = tonumber(most), tonumber(seconds)
local isCheck = kind == 'check'
local granted = ${GRANTED} * limit
if step == 'take' then
  local function refuse(name, key, count, most)
    return { name, redis.call('pttl', key), count == most + 1 and 1 or 0 }
  end
  local unknown = tonumber(redis.call('get', KEYS[1]) or '0')
  if unknown >= limit then return refuse('unknown', KEYS[1], redis.call('incr', KEYS[1]), limit) end
  local of = redis.call('hmget', KEYS[3], 'refused', 'granted', 'checked')
  local function count(i) return tonumber(of[i] or '0') end
  if count(1) >= limit then
    return refuse('refused', KEYS[3], redis.call('hincrby', KEYS[3], 'refused', 1), limit)
  end
  if count(2) >= granted and (isCheck or count(3) <= 0) then
    return refuse('granted', KEYS[3], redis.call('hincrby', KEYS[3], 'granted', 1), granted)
  end
  local doubt = redis.call('hmget', KEYS[2], 'all', KEYS[3])
  local all, own = tonumber(doubt[1] or '0'), tonumber(doubt[2] or '0')
  local isOpen = not isCheck and count(3) > own
  if unknown + all >= limit or count(1) + own >= limit or (count(2) + own >= granted and not isOpen) then
    return { 'doubt', 0, 0 }
  end
  redis.call('hincrby', KEYS[2], 'all', 1)
  redis.call('hincrby', KEYS[2], KEYS[3], 1)
  redis.call('expire', KEYS[2], ${DOUBT})
  return {}
end
local function decide(name)
  if tonumber(redis.call('hget', KEYS[2], name) or '0') > 1 then redis.call('hincrby', KEYS[2], name, -1)
  else redis.call('hdel', KEYS[2], name) end
end
decide('all')
decide(KEYS[3])
local function add(name, by)
  redis.call('hincrby', KEYS[3], name, by)
  if redis.call('ttl', KEYS[3]) < 0 then redis.call('expire', KEYS[3], window) end
end
local checked = 'checked ' .. unit
if step == 'unknown' then
  redis.call('set', KEYS[1], 0, 'EX', window, 'NX')
  redis.call('incr', KEYS[1])
elseif step == 'refused' then
  add('refused', 1)
elseif step == 'granted' and isCheck then
  add('granted', 1)
  add('checked', 1)
  add(checked, 1)
elseif step == 'granted' then
  if tonumber(redis.call('hget', KEYS[3], checked) or '0') > 0 then
    add('checked', -1)
    add(checked, -1)
  elseif tonumber(redis.call('hget', KEYS[3], 'granted') or '0') >= granted then
    add('checked', -1)
  else
    add('granted', 1)
  end
end
return {}`;

/**
 * Counts in Redis, with one round trip for each step. The braces keep an address's keys on one node of a cluster.
 * @param nameOf returns the key that counts unknown keys
 */
export function countInRedis(
  limitsNow: () => DownloadLimits,
  client: ReturnType<typeof batchScripts>,
  nameOf: (client: string) => string,
): DownloadLimiter {
  client.defineCommand('countDownload', { lua: COUNT, keys: 3 });
  type Run = (call: string[]) => Promise<[Reservation['full']?, number?, (0 | 1)?]>;
  const run = client.countDownload as Run;
  const count = ({ client: address, key = '', isCheck }: Attempt, step: string) => {
    const name = nameOf(address);
    const { limit, window } = limitsNow();
    const named = `${limit} ${window} ${isCheck ? 'check' : 'download'} ${step}`;
    // In an earlier version `doubt` was a text.
    return run([name, `${name}:doubts`, `${name}:${key}`, named]);
  };
  return {
    async take(asked) {
      const [full, endsIn = 0, first] = await count(asked, 'take');
      return { full, endsIn, first: first === 1 };
    },
    async settle(asked, outcome) {
      await count(asked, outcome.is === 'granted' ? `granted ${outcome.unit}` : outcome.is);
    },
  };
}
