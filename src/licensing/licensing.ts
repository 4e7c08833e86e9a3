import type { Db } from '../store/database';
import { createAccessLog, type AccessLog } from './access-log';
import { createClaims, type Activated, type Changed, type Claim } from './claims';
import { createReleaseFinder, type FindRelease } from './download';
import { createGroup } from './group';
import { createLockWaits, type LockWaits } from './lock-waits';
import { lookUp, type Found, type Named } from './lookup';
import type { Refusal } from './refusals';
import { createLatestUpdate, type Update } from './updates';
import { createValidator, type ValidateRequest, type Validation } from './validate';

/** The domain as one process runs it: its rules on one database, with what is shared between requests. */
export interface Licensing {
  db: Db;
  now: () => Date;
  /** what writes to a licence and may have to wait for its row */
  lockWaits: LockWaits;
  /** finds a licence and identifier; calls made at the same time share their statements */
  lookUp: (request: Named) => Promise<Found | undefined>;
  /** takes a slot, or changes a label; calls made at the same time share their transaction */
  claim: (claim: Claim) => Promise<Activated | Refusal | Changed>;
  /** answers and counts one validate call; calls made at the same time share their statements */
  validate: (request: ValidateRequest) => Promise<Validation | Refusal>;
  /** finds the version of a product that is to be downloaded; calls made at the same time share their statements */
  findRelease: FindRelease;
  latestUpdate: (productId: number) => Promise<Update | undefined>;
  accessLog: AccessLog;
}

/** Larger batches gain little, and make the answer of their first item wait for the last. */
export const BATCH = { maxItems: 200, maxWaiting: 5_000 };

/**
 * @param onAccessLogError told of entries of the access log that could not be written, and how many are lost
 */
export function createLicensing(
  db: Db,
  now: () => Date,
  onAccessLogError: (error: unknown, lost: number) => void,
): Licensing {
  const lockWaits = createLockWaits(db);
  return {
    db,
    now,
    lockWaits,
    lookUp: createGroup((requests: Named[]) => lookUp(db, requests), BATCH),
    claim: createClaims(db, lockWaits, BATCH),
    validate: createGroup(createValidator(db, lockWaits), BATCH),
    findRelease: createReleaseFinder(db, BATCH),
    latestUpdate: createLatestUpdate(db),
    accessLog: createAccessLog(db, onAccessLogError),
  };
}
