import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import type { Readiness } from '../http/monitoring';
import type { RedisConnection } from '../http/limits/redis';
import type { Db } from '../store/engine/database';
import { reasonCode } from '../store/engine/errors';
import { readSchemaState } from '../store/engine/migrate';

const TIMEOUT_MS = 2_000;

/** Checks if the database, its schema, the packages folder and the socket are ready. Redis may fail: limits work without. */
export async function readReadiness(
  packagesDir: string,
  db: Db,
  redis: RedisConnection | undefined,
  process: { stopping: boolean; lostSocket: string | undefined },
): Promise<Readiness> {
  const [database, packages] = await Promise.all([
    check(async () => {
      const { pending, other, newer } = await readSchemaState(db);
      if (other !== undefined) return 'its tables belong to another version';
      if (newer.length > 0) return 'its schema is newer than this version';
      return pending.length > 0 ? 'its schema is not up to date: run "licensing migrate"' : 'ok';
    }),
    check(async () => {
      await access(packagesDir, constants.R_OK | constants.X_OK);
      return 'ok';
    }),
    redis?.look(),
  ]);
  const needed = {
    database,
    packages: packages === 'ok' ? 'ok' : `the folder ${packagesDir} ${packages}`,
    process: describeProcess(process),
  };
  return {
    ready: Object.values(needed).every((state) => state === 'ok'),
    checks: {
      ...needed,
      redis:
        redis === undefined
          ? 'not configured'
          : redis.isAway()
            ? 'not available: limits are counted in memory'
            : 'ok',
    },
  };
}

function describeProcess({
  stopping,
  lostSocket,
}: {
  stopping: boolean;
  lostSocket: string | undefined;
}): string {
  if (stopping) return 'is stopping';
  return lostSocket === undefined ? 'ok' : `its socket ${lostSocket} no longer exists: restart this instance`;
}

async function check(look: () => Promise<string>): Promise<string> {
  let timer: NodeJS.Timeout | undefined;
  try {
    return await Promise.race([
      look(),
      new Promise<string>((resolve) => {
        timer = setTimeout(() => resolve('does not answer'), TIMEOUT_MS);
      }),
    ]);
  } catch (error) {
    return `cannot be used (${reasonCode(error)})`;
  } finally {
    clearTimeout(timer);
  }
}
