import { findPlan, findProduct, type Plan, type Product } from '../store/catalogue';
import type { Db } from '../store/engine/database';
import { isLockConflict, isUnavailable } from '../store/engine/errors';
import { createAccessLog, type AccessLog } from './access-log';
import { createClientHistory } from './client-history';
import { createReleaseFinder, type ReleaseFinder } from './download';
import { createBatches } from './core/batches';
import { createLedger, type Ledger } from './core/ledger';
import { createSigner, NO_SIGNING, type Signer, type SigningSettings } from './signer';
import { lookUp, type LicenseMatch, type LookupQuery } from './core/lookup';
import { createLatestUpdate, cacheBriefly, type Update } from './updates';
import { createValidator, type ValidateRequest } from './core/validate';
import type { Refusal, Validation } from './core/verdict';
import { createSiteRecorder, SPREAD_FACTOR } from './spreading';
import { createRefusalEnqueuer } from './webhook-events';

export type { Db };

/** The domain rules on one database. Simultaneous calls in this process share their statements. */
export interface Licensing {
  db: Db;
  now: () => Date;
  ledger: Ledger;
  lookUp: (request: LookupQuery) => Promise<LicenseMatch | undefined>;
  /** answers and counts one validate call; simultaneous calls share their statements */
  validate: (request: ValidateRequest) => Promise<Validation | Refusal>;
  releases: ReleaseFinder;
  /** @param network the client's network, which decides whether it is offered a staged version */
  latestUpdate: (productId: number, network: string) => Promise<Update | undefined>;
  /** cached for a moment, like `latestUpdate` */
  findProduct: (productId: number) => Promise<Product | undefined>;
  /** cached for a moment */
  findPlan: (planId: number) => Promise<Plan | undefined>;
  accessLog: AccessLog;
  signer: Signer;
}

/**
 * @param onAccessLogError called if access log entries could not be written, with the number lost
 * @param settings by default, nothing is signed
 */
export function createLicensing(
  db: Db,
  now: () => Date,
  onAccessLogError: (error: unknown, lost: number) => void,
  settings: SigningSettings & { spreadFactor?: number; onFault?: (reason: string) => void } = NO_SIGNING,
): Licensing {
  const find = createBatches((requests: LookupQuery[]) => lookUp(db, requests));
  const announceRefusals = createRefusalEnqueuer(db);
  const keepTold = createSiteRecorder(db, settings.spreadFactor ?? SPREAD_FACTOR);
  const ledger = createLedger(db, createClientHistory(), find, now);
  return {
    db,
    now,
    ledger,
    lookUp: find,
    validate: createBatches(createValidator(db, ledger)),
    releases: createReleaseFinder(db),
    latestUpdate: createLatestUpdate(db),
    findProduct: cacheBriefly((id) => findProduct(db, id)),
    findPlan: cacheBriefly((id) => findPlan(db, id)),
    accessLog: createAccessLog(db, onAccessLogError, async (accesses) => {
      await announceRefusals(accesses);
      await keepTold(accesses);
    }),
    signer: createSigner(db, settings, now, settings.onFault),
  };
}

/** Returns why the database did not answer: unavailable, or rows locked for too long. @returns undefined for other errors */
export function databaseFault(error: unknown): 'away' | 'locked' | undefined {
  if (!isUnavailable(error)) return undefined;
  return isLockConflict(error) ? 'locked' : 'away';
}
