import { activationKey, deleteActivations, insertActivations, setActivationName } from '../store/activations';
import { poolSize, type Db, type Transaction } from '../store/database';
import { isLockConflict, isUnavailable } from '../store/errors';
import { insertEvents, type LicenseEvent } from '../store/events';
import {
  lockLicenses,
  moveSlots,
  recordChecks,
  takeSlots,
  type Check,
  type LicenseTerms,
} from '../store/licenses';
import type { LabelledActivation } from '../store/license-lookup';
import { inTransaction, tryTransaction } from '../store/transaction';
import { createBatches } from './batches';
import type { RecordChanges } from './client-history';
import { createLanes } from './lanes';
import { lookUp, type Found, type Named } from './lookup';
import { judgeActivation, judgeDeactivation, judgeOverride, type Refusal } from './verdict';

/**
 * The ledger is the only writer of slots and check counts, with one rule for all of them.
 *
 * A batch locks the licences whose rows are free, reads them, judges, writes and commits. A licence whose row is held
 * goes to its lane (lanes.ts), so only its own calls wait. Everything judged and written is read under the lock, so no
 * race can exceed a limit; the unique index of activations and the condition in `takeSlots` guard this again.
 */
export interface Ledger {
  /** Takes a slot for an identifier (contract, 4.1). An identifier activated already succeeds and takes none. */
  activate(claim: Claim): Promise<Activated | Refusal>;
  /** Frees an identifier's slot (decisions, "Deactivate"). */
  deactivate(claim: Claim): Promise<Activated | Refusal>;
  /** Activates for the operator: in every state, and above the limit too. */
  override(claim: Claim): Promise<Activated | Refusal>;
  /**
   * Counts validate calls.
   *
   * @returns for each licence not counted yet, a promise that its callers must await
   */
  count(checks: Check[]): Promise<Map<number, Promise<unknown>>>;
}

export interface Claim extends Named {
  identifier: string;
  /** the client's address; undefined for the operator */
  ip?: string;
  /** named in the licence's history */
  actor: string;
  now: Date;
}

export interface Activated {
  license: LicenseTerms;
  /** normalised */
  identifier: string;
  /** after this call */
  activationsUsed: number;
  /** whether the identifier was activated before */
  repeated: boolean;
}

type Outcome = Activated | Refusal;
type Verb = 'activate' | 'deactivate' | 'override';
/** A claim that must be written. */
interface Entry extends Claim {
  verb: Verb;
  licenseId: number;
}

/** After meeting a locked row, batches ask which rows are free for this long. */
const ASK_FIRST_MS = 60_000;

/** The share of the pool's connections that may wait for locks at once. */
const LANES_SHARE = 0.4;

const JUDGES: Record<Verb, (found: Found | undefined, now: Date) => Refusal | undefined> = {
  activate: judgeActivation,
  deactivate: judgeDeactivation,
  override: judgeOverride,
};

/**
 * @param find looks up one request; simultaneous calls share a statement
 * @param recordChanges writes the history: `createClientHistory` for clients, `insertEvents` for the operator
 */
export function createLedger(
  db: Db,
  find: (request: Named) => Promise<Found | undefined> = createBatches((requests) => lookUp(db, requests)),
  recordChanges: RecordChanges = insertEvents,
): Ledger {
  const lanesAtOnce = Math.max(1, Math.floor(poolSize(db) * LANES_SHARE));
  const lanes = createLanes(lanesAtOnce, (items: (Entry | Check)[]) =>
    inTransaction(db, async (trx) => {
      await lockLicenses(trx, idsOf(items));
      const outcomes = await write(trx, items.filter(isEntry), recordChanges);
      await recordChecks(trx, mergeChecks(items.filter(isCheck)));
      return items.map((item) => outcomes.get(item));
    }),
  );
  const waitFor = (entry: Entry) => lanes.submit(entry.licenseId, entry) as Promise<Outcome>;

  const writeTogether = createBatches(async (entries: Entry[]) => {
    const tried = await tryTransaction(db, async (trx) => {
      const free = await lockLicenses(trx, idsOf(entries), { skipLocked: true });
      return write(
        trx,
        entries.filter(({ licenseId }) => free.has(licenseId)),
        recordChanges,
      );
    });
    // Retrying them one by one would hit the same error.
    if ('failure' in tried && isUnavailable(tried.failure) && !isLockConflict(tried.failure))
      throw tried.failure;
    // One licence may have caused the failure; retry each in its lane so that the others do not share it.
    const outcomes = 'failure' in tried ? new Map<unknown, Outcome>() : tried.result;
    return entries.map((entry) => outcomes.get(entry) ?? waitFor(entry));
  });

  async function claim(verb: Verb, request: Claim): Promise<Outcome> {
    // A call that changes nothing is answered without a lock.
    const found = await find(request);
    const refusal = JUDGES[verb](found, request.now);
    if (refusal !== undefined) return refusal;
    const known = found as Found;
    if (verb !== 'deactivate' && known.activation !== undefined && !isRename(request, known.activation))
      return toActivated(known as Judged, 0);
    const entry = { ...request, verb, licenseId: known.license.id };
    return lanes.has(entry.licenseId) ? waitFor(entry) : writeTogether(entry);
  }

  /** In performance.now() time; until then, batches first ask which rows are free. */
  let askUntil = -Infinity;

  /**
   * Counts the checks whose rows are free. Asking which are free costs a batch three round trips, so that is done only
   * for a while after a lock wait (docs/decisions).
   *
   * @returns the licences whose checks are counted
   */
  async function countFree(checks: Check[]): Promise<Set<number>> {
    const ids = idsOf(checks);
    if (performance.now() > askUntil)
      try {
        await recordChecks(db, checks);
        return new Set(ids);
      } catch (error) {
        if (!isLockConflict(error)) throw error;
        askUntil = performance.now() + ASK_FIRST_MS;
      }
    return inTransaction(db, async (trx) => {
      const free = await lockLicenses(trx, ids, { skipLocked: true });
      await recordChecks(
        trx,
        checks.filter(({ licenseId }) => free.has(licenseId)),
      );
      return new Set(free.keys());
    });
  }

  return {
    activate: (request) => claim('activate', request),
    deactivate: (request) => claim('deactivate', request),
    override: (request) => claim('override', request),

    async count(checks) {
      const merged = mergeChecks(checks);
      const waiting = merged.filter(({ licenseId }) => lanes.has(licenseId));
      const together = merged.filter(({ licenseId }) => !lanes.has(licenseId));
      const counted = await countFree(together);
      waiting.push(...together.filter(({ licenseId }) => !counted.has(licenseId)));
      return new Map(
        waiting.map((check) => {
          const counted = lanes.submit(check.licenseId, check);
          // The callers get a failure; if their batch fails first, nobody awaits it, and that must not end the process.
          counted.catch(() => undefined);
          return [check.licenseId, counted];
        }),
      );
    },
  };
}

/** A request that passed its guards: its identifier is valid for the plan. */
type Judged = Found & { identifier: string };

function toActivated({ license, identifier }: Judged, moved: -1 | 0 | 1): Activated {
  return {
    license,
    identifier,
    activationsUsed: Math.max(0, license.activationsUsed + moved),
    repeated: moved === 0,
  };
}

function isEntry(item: Entry | Check): item is Entry {
  return 'verb' in item;
}

function isCheck(item: Entry | Check): item is Check {
  return !isEntry(item);
}

function idsOf(items: { licenseId: number }[]): number[] {
  return [...new Set(items.map(({ licenseId }) => licenseId))];
}

/** Whether a claim gives its activation another label. */
function isRename({ name }: Claim, activation: LabelledActivation): boolean {
  return name !== undefined && name !== activation.name;
}

/** Merges checks to one for each licence: the sum of calls, and the latest time with its address. */
function mergeChecks(checks: Check[]): Check[] {
  const merged = new Map<number, Check>();
  for (const check of checks) {
    const earlier = merged.get(check.licenseId);
    if (earlier === undefined) merged.set(check.licenseId, { ...check });
    else {
      earlier.calls += check.calls;
      if (check.at >= earlier.at) Object.assign(earlier, { at: check.at, ip: check.ip });
    }
  }
  return [...merged.values()];
}

/** An identifier of a licence: as stored, and as the batch leaves it. */
interface Place {
  licenseId: number;
  identifier: string;
  stored: LabelledActivation | undefined;
  /** undefined: not activated */
  current: LabelledActivation | undefined;
  /** the row to insert, perhaps replacing the stored one */
  added?: { name: string | null; ip: string | null; activatedAt: Date } | undefined;
}

/**
 * Judges claims in order, each on the state the earlier ones leave, and writes the final differences.
 *
 * @param trx holds the locks of all the licences
 * @returns by entry
 */
async function write(
  trx: Transaction,
  entries: Entry[],
  recordChanges: RecordChanges,
): Promise<Map<unknown, Outcome>> {
  if (entries.length === 0) return new Map();
  const found = await lookUp(trx, entries, { labels: true });
  const slots = new Map<number, number>();
  const places = new Map<string, Place>();
  const events: LicenseEvent[] = [];

  function decide(entry: Entry, now: Judged, place: Place): Activated {
    const { license, identifier, activation } = now;
    const { verb, actor, name, ip = null, now: at } = entry;
    const used = license.activationsUsed;
    const record = (action: string, before: LicenseEvent['before'], after: LicenseEvent['after']) =>
      events.push({ licenseId: license.id, at, actor, action, before, after });
    const move = (by: -1 | 1): Activated => {
      slots.set(license.id, (slots.get(license.id) ?? 0) + by);
      return toActivated(now, by);
    };
    if (verb === 'deactivate') {
      place.added = undefined;
      place.current = undefined;
      const freed = move(-1);
      record(
        'deactivate',
        { activations_used: used, identifier, name: activation?.name },
        { activations_used: freed.activationsUsed },
      );
      return freed;
    }
    if (activation === undefined) {
      place.added = { name: name ?? null, ip, activatedAt: at };
      place.current = place.added;
      const taken = move(1);
      const after = { activations_used: taken.activationsUsed, identifier, name: name ?? null };
      record(
        'activate',
        { activations_used: used },
        verb === 'override' ? { ...after, override: true } : after,
      );
      return taken;
    }
    if (isRename(entry, activation)) {
      const label = name ?? null;
      record('rename-activation', { identifier, name: activation.name }, { identifier, name: label });
      if (place.added) place.added = { ...place.added, name: label };
      place.current = { name: label };
    }
    return toActivated(now, 0);
  }

  const outcomes = entries.map((entry, i): [unknown, Outcome] => {
    const { now, place } = asItStands(found[i], slots, places);
    const refusal = JUDGES[entry.verb](now, entry.now);
    return [entry, refusal ?? decide(entry, now as Judged, place as Place)];
  });

  const unbounded = idsOf(entries.filter(({ verb }) => verb === 'override'));
  await store(trx, [...places.values()], slots, new Set(unbounded));
  if (events.length > 0) await recordChanges(trx, events);
  return new Map(outcomes);
}

/** What was found, updated by the earlier claims, and the place of its identifier, if valid. */
function asItStands(
  found: Found | undefined,
  slots: Map<number, number>,
  places: Map<string, Place>,
): { now: Found | undefined; place?: Place } {
  if (found === undefined) return { now: undefined };
  const { license, identifier, activation } = found;
  const moved = slots.get(license.id) ?? 0;
  const current = { ...license, activationsUsed: Math.max(0, license.activationsUsed + moved) };
  if (identifier === undefined) return { now: { ...found, license: current } };
  const key = activationKey({ licenseId: license.id, identifier });
  const place = places.get(key) ?? {
    licenseId: license.id,
    identifier,
    stored: activation,
    current: activation,
  };
  places.set(key, place);
  return { now: { license: current, identifier, activation: place.current }, place };
}

/** @param unbounded licences for which the operator may exceed the limit */
async function store(
  trx: Transaction,
  places: Place[],
  slots: Map<number, number>,
  unbounded: Set<number>,
): Promise<void> {
  const removed = places.filter(({ stored, current, added }) => stored && (added ?? !current));
  const added = places.flatMap(({ licenseId, identifier, added: row }) =>
    row ? [{ licenseId, identifier, ...row }] : [],
  );
  const renamed = places.filter(
    ({ stored, current, added: row }) => stored && current && !row && stored.name !== current.name,
  );
  const moved = [...slots].filter(([, by]) => by !== 0);
  const isBounded = ([id, by]: [number, number]) => by > 0 && !unbounded.has(id);
  if (removed.length > 0) await deleteActivations(trx, removed);
  await takeSlots(trx, new Map(moved.filter(isBounded)));
  await moveSlots(trx, new Map(moved.filter((move) => !isBounded(move))));
  if (added.length > 0) await insertActivations(trx, added);
  for (const { licenseId, identifier, current } of renamed)
    await setActivationName(trx, licenseId, identifier, current?.name ?? null);
}
