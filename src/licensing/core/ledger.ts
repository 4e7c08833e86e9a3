import { inChunks } from '../../base/chunks';
import {
  countFreeActivations,
  deleteActivations,
  findActivationsOfSites,
  insertActivations,
  setActivationName,
  setFree,
  setHeldUntil,
} from '../../store/licenses/activations';
import { poolSize, type Db, type Transaction } from '../../store/engine/database';
import { isCertificationConflict, isLockConflict, isUnavailable } from '../../store/engine/errors';
import type { LicenseEvent } from '../../store/events';
import {
  lockLicenses,
  adjustSlotCounts,
  recordChecks,
  takeFreeSlots,
  type LicenseCheck,
} from '../../store/licenses/licenses';
import { inTransaction, tryTransaction } from '../../store/engine/transaction';
import { createBatches } from './batches';
import { createLanes } from './lanes';
import { lookUp, type LicenseMatch, type LookupQuery } from './lookup';
import {
  affectedSites,
  judgeSlotRequests,
  SLOT_JUDGES,
  unchangedResult,
  type SlotRequest,
  type SlotResult,
  type SlotChanges,
  type SlotCommand,
} from './slot-changes';
import { refusalWithKey, type Refusal } from './verdict';

/**
 * Writes the slots and check counts of all requests. Imports and the doctor's repair write slots themselves, under the
 * same lock of the licence's row. A batch locks the licences whose rows are free, judges, writes and commits.
 * Claims of locked licences go to their lanes (lanes.ts). A claim is judged by rows that are read under the lock, so no
 * race can exceed a limit. The unique index of activations and the condition in `takeFreeSlots` are a second guard.
 */
export interface Ledger {
  /** Takes a slot for an identifier (docs/contract.md, 6.2); none if the identifier is already activated. */
  activate(claim: SlotRequest): Promise<SlotResult | Refusal>;
  /** Frees an identifier's slot (docs/contract.md, 6.7). */
  deactivate(claim: SlotRequest): Promise<SlotResult | Refusal>;
  /** Holds (checks out) an activation for an offline licence file, for `days`. A hold only grows. @returns also `file` */
  hold(claim: SlotRequest & { days: number }): Promise<SlotResult | Refusal>;
  /** Activates an identifier for the operator, in every state of the licence and even above its limit. */
  override(claim: SlotRequest): Promise<SlotResult | Refusal>;
  /** Counts validate calls. @returns promises for the licences that are not counted yet; the callers must await them */
  count(checks: LicenseCheck[]): Promise<Map<number, Promise<unknown>>>;
}

/** The number of identifiers in one look-up. */
const REMOVAL_BATCH_SIZE = 200;

/** Writes changes of licences into their history and queues their webhooks, in the transaction that makes the changes. */
export type RecordChanges = (trx: Transaction, events: LicenseEvent[]) => Promise<void>;

type Entry = SlotRequest & { verb: SlotCommand; licenseId: number };

/** The time for which batches first ask which rows are free, after a batch has met a locked row. */
const ASK_FIRST_MS = 60_000;

/** The share of the pool's connections that may wait for locks at once. */
const LANES_SHARE = 0.4;

/**
 * @param recordChanges `createClientHistory` for clients, `recordEvents` for the operator
 * @param clock the time under the lock, by which a key may have ended; by default the time of the request
 */
export function createLedger(
  db: Db,
  recordChanges: RecordChanges,
  find: (request: LookupQuery) => Promise<LicenseMatch | undefined> = createBatches((requests) =>
    lookUp(db, requests),
  ),
  clock?: () => Date,
): Ledger {
  const writeNow = (trx: Transaction, entries: Entry[]) => write(trx, entries, recordChanges, clock?.());
  const lanesAtOnce = Math.max(1, Math.floor(poolSize(db) * LANES_SHARE));
  const lanes = createLanes(lanesAtOnce, (items: (Entry | LicenseCheck)[]) =>
    inTransaction(db, async (trx) => {
      await lockLicenses(trx, idsOf(items));
      const answers = await writeNow(trx, items.filter(isEntry));
      await recordChecks(trx, mergeChecks(items.filter(isCheck)));
      return items.map((item) => answers.get(item));
    }),
  );
  const claimInLane = (entry: Entry) => lanes.submit(entry.licenseId, entry) as Promise<SlotResult | Refusal>;

  const writeTogether = createBatches(async (entries: Entry[]) => {
    const tried = await tryTransaction(db, async (trx) => {
      const free = await lockLicenses(trx, idsOf(entries), { skipLocked: true });
      return writeNow(
        trx,
        entries.filter(({ licenseId }) => free.has(licenseId)),
      );
    });
    // Do not retry claim by claim: without a database, each would fail in the same way.
    if ('failure' in tried && isUnavailable(tried.failure) && !isLockConflict(tried.failure))
      throw tried.failure;
    // Retry each licence in its lane: one of them may have caused the failure, which the others must not share.
    const answers = 'failure' in tried ? undefined : tried.result;
    return entries.map((entry) => answers?.get(entry) ?? claimInLane(entry));
  });

  async function claim(verb: SlotCommand, request: SlotRequest): Promise<SlotResult | Refusal> {
    // Answer a call that changes nothing without a lock.
    const found = await find(request);
    const refusal = SLOT_JUDGES[verb](found, request.now);
    if (refusal !== undefined) return refusalWithKey(refusal, found);
    const match = found as LicenseMatch;
    const same = unchangedResult(verb, request, match);
    if (same !== undefined) return same;
    const entry = { ...request, verb, licenseId: match.license.id };
    return lanes.has(entry.licenseId) ? claimInLane(entry) : writeTogether(entry);
  }

  /** The time, by performance.now(), until which batches first ask which rows are free. */
  let askUntil = -Infinity;

  /**
   * Counts checks. After a lock wait, and for a while afterwards, it first asks which rows are free, and counts only
   * the checks of these licences. Asking takes three more round trips (docs/decisions, 0011).
   * @returns the ids of the counted licences
   */
  async function countUnlocked(checks: LicenseCheck[]): Promise<Set<number>> {
    const ids = idsOf(checks);
    if (performance.now() > askUntil)
      try {
        await recordChecks(db, checks);
        return new Set(ids);
      } catch (error) {
        if (!isLockConflict(error)) throw error;
        // Do not ask after a conflict with another node: no connection here holds the row, so asking would not show it.
        if (!isCertificationConflict(error)) askUntil = performance.now() + ASK_FIRST_MS;
      }
    const counting = inTransaction(db, async (trx) => {
      const free = await lockLicenses(trx, ids, { skipLocked: true });
      await recordChecks(
        trx,
        checks.filter(({ licenseId }) => free.has(licenseId)),
      );
      return new Set(free.keys());
    });
    return counting.catch((error: unknown) => {
      // Count each licence in its lane if another node of the cluster keeps changing them.
      if (isCertificationConflict(error)) return new Set();
      throw error;
    });
  }

  return {
    activate: (request) => claim('activate', request),
    deactivate: (request) => claim('deactivate', request),
    hold: (request) => claim('hold', request),
    override: (request) => claim('override', request),

    async count(checks) {
      const merged = mergeChecks(checks);
      const counted = await countUnlocked(merged.filter(({ licenseId }) => !lanes.has(licenseId)));
      const uncounted = merged.filter(({ licenseId }) => !counted.has(licenseId));
      return new Map(
        uncounted.map((check) => {
          const inLane = lanes.submit(check.licenseId, check);
          // The callers receive a rejection. If their batch fails first, no caller awaits it, and the process must not end.
          inLane.catch(() => undefined);
          return [check.licenseId, inLane];
        }),
      );
    },
  };
}

function isEntry(item: Entry | LicenseCheck): item is Entry {
  return 'verb' in item;
}

function isCheck(item: Entry | LicenseCheck): item is LicenseCheck {
  return !isEntry(item);
}

function idsOf(items: { licenseId: number }[]): number[] {
  return [...new Set(items.map(({ licenseId }) => licenseId))];
}

/** Merges the checks of each licence into one: the sum of calls, and the latest time with its address. */
function mergeChecks(checks: LicenseCheck[]): LicenseCheck[] {
  const merged = new Map<number, LicenseCheck>();
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

/** Judges and writes claims, and records their events. @param trx holds the row locks of all the licences */
async function write(
  trx: Transaction,
  entries: Entry[],
  recordChanges: RecordChanges,
  now?: Date,
): Promise<Map<unknown, SlotResult | Refusal>> {
  if (entries.length === 0) return new Map();
  const found = await lookUp(trx, entries, { details: true });
  const claims = entries.map((entry, i) => ({ claim: now ? { ...entry, now } : entry, found: found[i] }));
  const withStaging = claims.flatMap(({ found }) =>
    found?.license.plan.freeStaging ? found.license.id : [],
  );
  const { answers, changes } = judgeSlotRequests(claims, {
    neighbours: await findActivationsOfSites(trx, affectedSites(claims)),
    free: await countFreeActivations(trx, [...new Set(withStaging)]),
  });
  await store(trx, changes);
  if (changes.events.length > 0) await recordChanges(trx, changes.events);
  return new Map(entries.map((entry, i) => [entry, answers[i] as SlotResult | Refusal]));
}

/**
 * Removes stored activations in the caller's transaction, which holds the licence's row lock.
 * @param evenHeld true for the operator, who may also remove held activations
 * @returns the answers, in the order of the identifiers
 */
export async function removeActivations(
  trx: Transaction,
  { id: licenseId, keyDigest }: { id: number; keyDigest: string },
  identifiers: string[],
  { actor, now, evenHeld }: { actor: string; now: Date; evenHeld: boolean },
  recordChanges: RecordChanges,
): Promise<(SlotResult | Refusal)[]> {
  const entries = identifiers.map((identifier): Entry => ({
    verb: 'deactivate',
    licenseId,
    keyDigest,
    identifier,
    isStored: true,
    evenHeld,
    actor,
    now,
  }));
  const remove = async (some: Entry[]) => (await write(trx, some, recordChanges)).values();
  return inChunks(entries, remove, REMOVAL_BATCH_SIZE);
}

async function store(
  trx: Transaction,
  { removed, added, renamed, freed, held, taken, moved, counts }: SlotChanges,
): Promise<void> {
  if (removed.length > 0) await deleteActivations(trx, removed);
  await takeFreeSlots(trx, taken, counts);
  await adjustSlotCounts(trx, moved, counts);
  if (added.length > 0) await insertActivations(trx, added);
  for (const { licenseId, identifier, name } of renamed)
    await setActivationName(trx, licenseId, identifier, name);
  await setFree(trx, freed);
  await setHeldUntil(trx, held);
}
