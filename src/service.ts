import cluster from 'node:cluster';
import { mkdir } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import type Koa from 'koa';
import type { Logger } from 'pino';
import type { Config, Variable } from './config';
import { createAdminListener, type AdminSources } from './http/admin';
import { createApp } from './http/app';
import { createClientAddressReader } from './http/client-address';
import { createMetrics, type Metrics } from './http/metrics';
import {
  createClusterLimiter,
  createMemoryLimiter,
  createRedisLimiter,
  createWatchedCounters,
  type Limiter,
} from './http/rate-limit';
import { connectRedis, type RedisConnection } from './http/redis';
import { prepareAddress, startServer, type Listen } from './http/server';
import { startHousekeeping } from './housekeeping';
import { createLicensing } from './licensing/licensing';
import { readReadiness } from './readiness';
import { openServiceDatabase, poolState, type Db } from './store/database';
import { reasonCode } from './store/errors';
import { requireCurrentSchema } from './store/migrate';
import { databaseTrouble } from './store/trouble';
import { version } from './version';

export interface Running {
  /** where it listens, as a person would type it */
  address: string;
  /** where health and metrics answer; a worker has none */
  adminAddress?: string;
  /** Ends in the reverse order of the start, losing nothing that was begun. */
  stop(): Promise<void>;
}

export type Clock = () => Date;
const systemClock: Clock = () => new Date();

/** Registers what ends a part that was just started. */
type OnStop = (stop: () => unknown) => void;

/** What both answering and supervising work with. */
interface Connections {
  db: Db;
  redis: RedisConnection | undefined;
}

/**
 * The service in one process: what answers requests, and what an operator looks at.
 *
 * @throws Error in words when the database cannot be reached, its schema is not this version's, or an address is taken
 */
export async function startService(config: Config, log: Logger, now: Clock = systemClock): Promise<Running> {
  let adminAddress = '';
  const running = await inOrder(async (onStop) => {
    const connections = await connect(config, log, onStop);
    const api = createApi(config, log, now, connections, onStop);
    const metrics = () => api.metrics.registry.metrics();
    const supervision = await supervise(config, log, now, connections, metrics, onStop);
    adminAddress = supervision.address;
    await prepare(config, 'LICENSING_LISTEN');
    const address = await listen(config, 'LICENSING_LISTEN', api.app.callback(), onStop);
    // Readiness is the first to go, and stays to be seen until the last request is answered.
    onStop(supervision.announceStop);
    return address;
  });
  return { ...running, adminAddress };
}

/** One of several workers: it answers requests and no more. */
export async function startWorker(config: Config, log: Logger): Promise<Running & { metrics: Metrics }> {
  let metrics: Metrics | undefined;
  const running = await inOrder(async (onStop) => {
    const connections = await connect(config, log, onStop);
    const api = createApi(config, log, systemClock, connections, onStop);
    metrics = api.metrics;
    return listen(config, 'LICENSING_LISTEN', api.app.callback(), onStop);
  });
  return { ...running, metrics: metrics as Metrics };
}

/**
 * What a primary does beside its workers: health, metrics, and the work that is done once for all of them.
 *
 * @param metrics of all workers together
 */
export async function startSupervision(
  config: Config,
  log: Logger,
  metrics: AdminSources['metrics'],
): Promise<Running & { announceStop: () => void }> {
  let announceStop: () => void = () => undefined;
  const running = await inOrder(async (onStop) => {
    const connections = await connect(config, log, onStop);
    // It counts no requests: what Redis refuses its workers, it has to find out by itself.
    if (connections.redis) createWatchedCounters(connections.redis, config.rateWindow);
    const supervision = await supervise(config, log, systemClock, connections, metrics, onStop);
    announceStop = supervision.announceStop;
    return supervision.address;
  });
  return { ...running, announceStop };
}

/**
 * Whether the database can be worked with, for a primary that would else hear it from each of its workers.
 *
 * @throws Error in words
 */
export async function requireDatabase(config: Config): Promise<void> {
  const db = openServiceDatabase(config.database, config.tablePrefix);
  await requireUsable(config, db).finally(() => db.destroy());
}

async function requireUsable({ database, databaseSource }: Config, db: Db): Promise<void> {
  await requireCurrentSchema(db).catch((error: unknown) => {
    throw databaseTrouble(error, database, databaseSource) ?? error;
  });
}

async function connect(config: Config, log: Logger, onStop: OnStop): Promise<Connections> {
  const db = openServiceDatabase(config.database, config.tablePrefix);
  onStop(() => db.destroy());
  await requireUsable(config, db);
  const redis = openRedis(config, log);
  onStop(() => redis?.close());
  await redis?.started;
  return { db, redis };
}

function createApi(
  config: Config,
  log: Logger,
  now: Clock,
  { db, redis }: Connections,
  onStop: OnStop,
): { app: Koa; metrics: Metrics } {
  const licensing = createLicensing(db, now, (error, lost) =>
    log.error({ lost, reason: reasonCode(error) }, 'access log entries were lost'),
  );
  onStop(() => licensing.accessLog.flush());
  const metrics = createMetrics({
    version,
    pool: () => poolState(db),
    redisIsAway: redis && (() => redis.isAway()),
    accessLogDropped: () => licensing.accessLog.dropped(),
  });
  const app = createApp({
    licensing,
    limiter: openLimiter(config, redis),
    clientAddress: createClientAddressReader(config.trustedProxies),
    downloads: { packagesDir: config.packagesDir, accelLocation: config.accelLocation },
    log,
    onAnswered: metrics.observe,
  });
  return { app, metrics };
}

async function supervise(
  config: Config,
  log: Logger,
  now: Clock,
  { db, redis }: Connections,
  metrics: AdminSources['metrics'],
  onStop: OnStop,
): Promise<{ address: string; announceStop: () => void }> {
  let stopping = false;
  await preparePackagesFolder(config, log);
  onStop(startHousekeeping(db, config.logDays, log, now));
  const readiness = () => readReadiness(config, db, redis, stopping);
  await prepare(config, 'LICENSING_ADMIN_LISTEN');
  const admin = createAdminListener({ readiness, metrics });
  const address = await listen(config, 'LICENSING_ADMIN_LISTEN', admin, onStop);
  return { address, announceStop: () => void (stopping = true) };
}

/**
 * Before the first publish there is none. Where it cannot be made or read, the rest of the service goes on, and
 * readiness says so.
 *
 * @throws Error that names the setting when it is no folder
 */
async function preparePackagesFolder({ packagesDir }: Config, log: Logger): Promise<void> {
  try {
    // A wrong path would look like a shop without packages.
    if ((await mkdir(packagesDir, { recursive: true })) !== undefined)
      log.info({ folder: packagesDir }, 'the packages folder did not exist and was made');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' || code === 'ENOTDIR')
      throw new Error(`LICENSING_PACKAGES_DIR: ${packagesDir} is not a folder.`, { cause: error });
    log.warn({ folder: packagesDir, code }, 'the packages folder cannot be made');
  }
}

/** The settings that say where something listens. */
type ListenVariable = Extract<Variable, 'LICENSING_LISTEN' | 'LICENSING_ADMIN_LISTEN'>;

async function listen(
  config: Config,
  variable: ListenVariable,
  listener: RequestListener,
  onStop: OnStop,
): Promise<string> {
  const server = await naming(variable, startServer(listener, addressOf(config, variable)));
  onStop(() => server.drain());
  return server.address;
}

/**
 * Makes way on the address of one of the settings, once for all processes.
 *
 * @throws Error that names the setting
 */
export function prepare(config: Config, variable: ListenVariable): Promise<void> {
  return naming(variable, prepareAddress(addressOf(config, variable)));
}

function addressOf(config: Config, variable: ListenVariable): Listen {
  return variable === 'LICENSING_LISTEN' ? config.listen : config.adminListen;
}

/** An address that cannot be had is mended in the settings: its failure names the one. */
async function naming<T>(variable: ListenVariable, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw new Error(`${variable}: ${(error as Error).message}`, { cause: error });
  }
}

/** Starts parts one after the other; if one fails, or at the stop, those before it end in reverse order. */
async function inOrder(start: (onStop: OnStop) => Promise<string>): Promise<Running> {
  const stops: (() => unknown)[] = [];
  const stop = async () => {
    const failures: unknown[] = [];
    // One that cannot end well must not keep the others from ending.
    for (const one of stops.splice(0).reverse())
      try {
        await one();
      } catch (failure) {
        failures.push(failure);
      }
    if (failures.length > 0) throw failures[0];
  };
  try {
    return { address: await start((one) => stops.push(one)), stop };
  } catch (error) {
    await stop().catch(() => undefined);
    throw error;
  }
}

function openRedis(config: Config, log: Logger): RedisConnection | undefined {
  if (config.redisUrls.length === 0) return undefined;
  return connectRedis(config.redisUrls, (away, error) => {
    // The message only: ioredis' errors carry the command with its arguments.
    if (away) log.warn({ reason: (error as Error).message }, 'Redis is away: limits are counted in memory');
    else log.info('Redis is back: limits are counted there again');
  });
}

function openLimiter(config: Config, redis: RedisConnection | undefined): Limiter {
  const settings = {
    limits: { api: config.rateLimit, download: config.downloadRateLimit },
    window: config.rateWindow,
  };
  if (redis) return createRedisLimiter(settings, redis);
  return cluster.isWorker ? createClusterLimiter(settings) : createMemoryLimiter(settings);
}
