import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { shareConnections, userLimitOf, type Db } from '../store/engine/database';
import { countProcesses, PROCESS_LEASE } from '../store/leases';
import { startJobs } from './jobs';
import type { Stop } from './loop';

const EVERY_MS = 5_000;

/** Makes this process known to the others by a lease, and shares the connections of the database's user with them. */
export function startSharing(db: Db, log: Logger, now: () => Date): Stop {
  const share = {
    name: 'connections',
    isDue: () => Promise.resolve(userLimitOf(db) > 0),
    run: async () => shareConnections(db, await countProcesses(db, now())),
  };
  const lease = PROCESS_LEASE + randomBytes(8).toString('hex');
  const failure = 'the other processes at this database cannot be counted';
  return startJobs(db, { lease, everyMs: EVERY_MS, jobs: [share], failure }, log, now);
}
