import { findPlan, findProduct, type Plan, type Product } from '../store/catalogue';
import type { Db } from '../store/engine/database';
import { isLockConflict, isUnavailable } from '../store/engine/errors';
import { createAccessLog, type AccessLog } from './access-log';
import { createClientHistory } from './client-history';
import { createReleaseFinder, type ReleaseFinder } from './download';
import { createBatches } from './core/batches';
import { createLedger, type Ledger } from './core/ledger';
import { createSigner, NO_SIGNING, type Signer, type SigningSettings } from './signer';
import { lookUp, type LicenseMatch, type LicenseQuery } from './core/lookup';
import { createLatestUpdate, rememberBriefly, type Update } from './updates';
import { createValidator, type ValidateRequest } from './core/validate';
import type { Refusal, Validation } from './core/verdict';
import { createTold, SPREAD_FACTOR } from './told';
import { createRefusalAnnouncer } from './webhook-events';

export type { Db };

/** The domain rules on one database. Simultaneous calls in this process share their statements. */
export interface Licensing {
  db: Db;
  now: () => Date;
  ledger: Ledger;
  lookUp: (request: LicenseQuery) => Promise<LicenseMatch | undefined>;
  /** answers and counts one validate call; simultaneous calls share their statements */
  validate: (request: ValidateRequest) => Promise<Validation | Refusal>;
  releases: ReleaseFinder;
  /** @param network of the client, which decides about a version that is not rolled out to everybody */
  latestUpdate: (productId: number, network: string) => Promise<Update | undefined>;
  /** from a short memory, as `latestUpdate` */
  findProduct: (productId: number) => Promise<Product | undefined>;
  /** from a short memory too */
  findPlan: (planId: number) => Promise<Plan | undefined>;
  accessLog: AccessLog;
  signer: Signer;
}

/**
 * @param onAccessLogError called when access log entries could not be written, with the number lost
 * @param settings by default, nothing is signed
 */
export function createLicensing(
  db: Db,
  now: () => Date,
  onAccessLogError: (error: unknown, lost: number) => void,
  settings: SigningSettings & { spreadFactor?: number; onFault?: (reason: string) => void } = NO_SIGNING,
): Licensing {
  const find = createBatches((requests: LicenseQuery[]) => lookUp(db, requests));
  const announceRefusals = createRefusalAnnouncer(db);
  const keepTold = createTold(db, settings.spreadFactor ?? SPREAD_FACTOR);
  const ledger = createLedger(db, createClientHistory(), find, now);
  return {
    db,
    now,
    ledger,
    lookUp: find,
    validate: createBatches(createValidator(db, ledger)),
    releases: createReleaseFinder(db),
    latestUpdate: createLatestUpdate(db),
    findProduct: rememberBriefly((id) => findProduct(db, id)),
    findPlan: rememberBriefly((id) => findPlan(db, id)),
    accessLog: createAccessLog(db, onAccessLogError, async (accesses) => {
      await announceRefusals(accesses);
      await keepTold(accesses);
    }),
    signer: createSigner(db, settings, now, settings.onFault),
  };
}

/** Returns why the database gave no answer: it is away, or others held the same rows for too long. @returns undefined for another error */
export function databaseFault(error: unknown): 'away' | 'locked' | undefined {
  if (!isUnavailable(error)) return undefined;
  return isLockConflict(error) ? 'locked' : 'away';
}
