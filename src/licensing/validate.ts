import type { Db } from '../store/database';
import { isLockConflict } from '../store/errors';
import { recordChecks, type Check, type License } from '../store/licenses';
import { lookUp, type Named } from './lookup';
import type { Refusal } from './refusals';
import { liveStatus, type LiveStatus } from './states';

export interface ValidateRequest extends Named {
  /** the client's address */
  ip: string;
  now: Date;
}

export interface Validation {
  license: License;
  status: LiveStatus;
  valid: boolean;
  /** true when no identifier was given */
  identifierActivated: boolean;
}

/**
 * Answers a batch of validate calls: two reads and one write for all of them. Each is counted on its licence before
 * any is answered, so that no acknowledged call is ever lost (contract, section 4.2).
 */
export async function validateBatch(
  db: Db,
  requests: ValidateRequest[],
): Promise<(Validation | Refusal | Error)[]> {
  const found = await lookUp(db, requests);
  const checks = new Map<number, Check>();
  requests.forEach(({ now, ip }, i) => {
    const licenseId = found[i]?.license.id;
    if (licenseId === undefined) return;
    const earlier = checks.get(licenseId);
    checks.set(licenseId, {
      licenseId,
      calls: (earlier?.calls ?? 0) + 1,
      ...(earlier && earlier.at > now ? { at: earlier.at, ip: earlier.ip } : { at: now, ip }),
    });
  });
  const failed = await record(db, [...checks.values()]);
  return requests.map(({ identifier, now }, i) => {
    const one = found[i];
    if (one === undefined) return { refused: 'LICENSE_NOT_FOUND' };
    const failure = failed.get(one.license.id);
    if (failure !== undefined) return failure;
    const status = liveStatus(one.license, now);
    return {
      license: one.license,
      status,
      valid: status === 'active',
      identifierActivated: identifier === undefined || one.activatedAs !== undefined,
    };
  });
}

/**
 * All checks in one statement; where a row is locked by somebody else, or a deadlock chose this statement, each
 * licence on its own, so that one of them cannot fail its neighbours.
 *
 * @returns the licences that could not be written, with the reason
 */
async function record(db: Db, checks: Check[]): Promise<Map<number, Error>> {
  const failed = new Map<number, Error>();
  if (checks.length === 0) return failed;
  try {
    await recordChecks(db, checks);
    return failed;
  } catch (error) {
    if (!isLockConflict(error)) throw error;
  }
  await Promise.all(
    checks.map(async (check) => {
      try {
        await recordChecks(db, [check]);
      } catch (error) {
        failed.set(check.licenseId, error as Error);
      }
    }),
  );
  return failed;
}
