import type { Logger } from 'pino';
import type { Config } from './config';
import { createApp } from './http/app';
import { createClientAddressReader } from './http/client-address';
import { createMemoryLimiter, createRedisLimiter, type Limiter } from './http/rate-limit';
import { connectRedis } from './http/redis';
import { startServer } from './http/server';
import { createLicensing } from './licensing/licensing';
import { openDatabase } from './store/database';
import { requireCurrentSchema } from './store/migrate';

export interface Service {
  /** where it listens */
  address: string;
  /** Ends in the reverse order of the start, losing nothing that was begun. */
  stop(): Promise<void>;
}

/**
 * Starts the service: database, limiter, application, server.
 *
 * @throws Error in words when the database cannot be reached, its schema is not this version's, or the address is taken
 */
export async function startService(
  config: Config,
  log: Logger,
  now: () => Date = () => new Date(),
): Promise<Service> {
  const db = openDatabase(config.database, config.tablePrefix);
  const stops: (() => unknown)[] = [() => db.destroy()];
  const stop = async () => {
    for (const one of stops.splice(0).reverse()) await one();
  };
  try {
    await requireCurrentSchema(db);

    const licensing = createLicensing(db, now, (error, lost) =>
      log.error(
        { lost, reason: error instanceof Error ? error.name : 'unknown' },
        'access log entries were lost',
      ),
    );
    stops.push(() => licensing.accessLog.flush());

    const { limiter, close } = openLimiter(config, log);
    stops.push(close);

    const app = createApp({
      licensing,
      limiter,
      clientAddress: createClientAddressReader(config.trustedProxies),
      downloads: { packagesDir: config.packagesDir, accelLocation: config.accelLocation },
      log,
    });
    const server = await startServer(app.callback(), config.listen);
    stops.push(() => server.drain());
    return { address: server.address, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function openLimiter(config: Config, log: Logger): { limiter: Limiter; close: () => void } {
  const settings = {
    limits: { api: config.rateLimit, download: config.downloadRateLimit },
    window: config.rateWindow,
  };
  if (config.redisUrls.length === 0)
    return { limiter: createMemoryLimiter(settings), close: () => undefined };
  const redis = connectRedis(config.redisUrls, (away, error) => {
    // The message only: ioredis' errors carry the command with its arguments.
    if (away) log.warn({ reason: (error as Error).message }, 'Redis is away: limits are counted in memory');
    else log.info('Redis is back: limits are counted there again');
  });
  return { limiter: createRedisLimiter(settings, redis), close: () => redis.close() };
}
