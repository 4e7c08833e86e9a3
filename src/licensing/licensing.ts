import type { Db } from '../store/database';
import { createAccessLog, type AccessLog } from './access-log';
import { createClientHistory } from './client-history';
import { createReleaseFinder, type FindRelease } from './download';
import { createBatches } from './batches';
import { createLedger, type Ledger } from './ledger';
import { lookUp, type Found, type Named } from './lookup';
import { createLatestUpdate, type Update } from './updates';
import { createValidator, type ValidateRequest } from './validate';
import type { Refusal, Validation } from './verdict';

/** The domain as one process runs it: its rules on one database, with what is shared between requests. */
export interface Licensing {
  db: Db;
  now: () => Date;
  ledger: Ledger;
  /** finds a licence and identifier; calls made at the same time share their statements */
  lookUp: (request: Named) => Promise<Found | undefined>;
  /** answers and counts one validate call; calls made at the same time share their statements */
  validate: (request: ValidateRequest) => Promise<Validation | Refusal>;
  /** finds the version of a product that is to be downloaded; calls made at the same time share their statements */
  findRelease: FindRelease;
  latestUpdate: (productId: number) => Promise<Update | undefined>;
  accessLog: AccessLog;
}

/**
 * @param onAccessLogError told of entries of the access log that could not be written, and how many are lost
 */
export function createLicensing(
  db: Db,
  now: () => Date,
  onAccessLogError: (error: unknown, lost: number) => void,
): Licensing {
  const find = createBatches((requests: Named[]) => lookUp(db, requests));
  const ledger = createLedger(db, find, createClientHistory());
  return {
    db,
    now,
    ledger,
    lookUp: find,
    validate: createBatches(createValidator(db, ledger)),
    findRelease: createReleaseFinder(db),
    latestUpdate: createLatestUpdate(db),
    accessLog: createAccessLog(db, onAccessLogError),
  };
}
