import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { shareConnections, userLimitOf, type Db } from '../store/engine/database';
import { countProcesses, PROCESS_LEASE } from '../store/leases';
import { startScheduler } from './jobs';
import type { Stop } from './loop';

const EVERY_MS = 5_000;

/** Announces this process to the others by a lease, and shares the database user's connections with them. */
export function startSharing(db: Db, log: Logger, now: () => Date): Stop {
  const share = {
    name: 'connections',
    isDue: () => Promise.resolve(userLimitOf(db) > 0),
    run: async () => shareConnections(db, await countProcesses(db, now())),
  };
  const lease = PROCESS_LEASE + randomBytes(8).toString('hex');
  const failure = 'the other processes that use this database cannot be counted';
  return startScheduler(db, { lease, everyMs: EVERY_MS, jobs: [share], failure }, log, now);
}
