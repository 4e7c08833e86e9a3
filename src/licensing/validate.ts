import type { Db } from '../store/database';
import { isLockConflict } from '../store/errors';
import { findHeld, recordChecks, type Check, type LicenseTerms } from '../store/licenses';
import { createGroup } from './group';
import type { LockWaits } from './lock-waits';
import { lookUp, type Named } from './lookup';
import type { Refusal } from './refusals';
import { liveStatus, type LiveStatus } from './states';

export interface ValidateRequest extends Named {
  /** the client's address */
  ip: string;
  now: Date;
}

export interface Validation {
  license: LicenseTerms;
  status: LiveStatus;
  valid: boolean;
  /** true when no identifier was given */
  identifierActivated: boolean;
}

/** A batch takes a few milliseconds; one that takes this long waits for a row that somebody holds. */
const BATCH_PATIENCE_MS = 200;
/** The server's own lock wait ends before. */
const ALONE_PATIENCE_MS = 5_000;
/** How long a licence that was found locked is kept out of batches. */
const APART_MS = 3_000;
const MAX_WAITING_ALONE = 500;

/**
 * Answers batches of validate calls: one read (see lookup.ts) and one write for all of a batch. Each call is counted on
 * its licence before it is answered, so that no acknowledged call is ever lost (contract, section 4.2).
 *
 * Where the write meets a row that somebody else holds, the batch is written without it. That licence is written by
 * itself, and stays apart from later batches for a while: its callers wait, and nobody else.
 */
export function createValidator(
  db: Db,
  lockWaits: LockWaits,
): (requests: ValidateRequest[]) => Promise<(Validation | Refusal | Promise<Validation>)[]> {
  const apart = new Map<number, { until: number; record: (check: Check) => Promise<void> }>();

  function keepApart(licenseId: number): (check: Check) => Promise<void> {
    const known = apart.get(licenseId);
    const record =
      known?.record ??
      createGroup(
        async (checks: Check[]) => {
          await lockWaits(licenseId, () => recordChecks(db, merge(checks), ALONE_PATIENCE_MS));
          apart.delete(licenseId);
          return checks.map(() => undefined);
        },
        { maxItems: MAX_WAITING_ALONE, maxWaiting: MAX_WAITING_ALONE },
      );
    apart.set(licenseId, { until: performance.now() + APART_MS, record });
    return record;
  }

  /** @returns false when somebody's lock was in the way, and nothing is written */
  async function isRecorded(checks: Check[]): Promise<boolean> {
    if (checks.length === 0) return true;
    try {
      await recordChecks(db, checks, BATCH_PATIENCE_MS);
      return true;
    } catch (error) {
      if (isLockConflict(error)) return false;
      throw error;
    }
  }

  /** @returns for each licence that is not written yet, what its callers have to wait for */
  async function record(checks: Check[]): Promise<Map<number, Promise<void>>> {
    const now = performance.now();
    for (const [id, { until }] of apart) if (until < now) apart.delete(id);
    const together = checks.filter(({ licenseId }) => !apart.has(licenseId));
    const alone = checks.filter(({ licenseId }) => apart.has(licenseId));
    if (!(await isRecorded(together))) {
      const held = await findHeld(
        db,
        together.map(({ licenseId }) => licenseId),
      );
      const free = together.filter(({ licenseId }) => !held.has(licenseId));
      // Where none is held any more, somebody comes and goes: each by itself then.
      const isWritten = held.size > 0 && (await isRecorded(free));
      alone.push(...(isWritten ? together.filter(({ licenseId }) => held.has(licenseId)) : together));
    }
    return new Map(
      alone.map((check) => {
        const recorded = keepApart(check.licenseId)(check);
        // Its callers hear of a failure; if their batch fails first, nobody listens any more, which is no crash.
        recorded.catch(() => undefined);
        return [check.licenseId, recorded];
      }),
    );
  }

  return async (requests) => {
    const found = await lookUp(db, requests);
    const checks = requests.flatMap(({ now, ip }, i) => {
      const license = found[i]?.license;
      return license ? [{ licenseId: license.id, calls: 1, at: now, ip }] : [];
    });
    const pending = await record(merge(checks));
    return requests.map(({ identifier, now }, i) => {
      const one = found[i];
      if (one === undefined) return { refused: 'LICENSE_NOT_FOUND' };
      const status = liveStatus(one.license, now);
      const validation = {
        license: one.license,
        status,
        valid: status === 'active',
        identifierActivated: identifier === undefined || one.activation !== undefined,
      };
      return pending.get(one.license.id)?.then(() => validation) ?? validation;
    });
  };
}

/** One check for each licence: the sum of the calls, the latest time and its address. */
function merge(checks: Check[]): Check[] {
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
