import type { RowDataPacket } from 'mysql2';
import { createPool, type Pool } from 'mysql2/promise';
import { readConfig, type Config } from '../src/settings/config';
import { createApp } from '../src/http/app';
import { createAddressReader } from '../src/http/client-address';
import { createMetrics } from '../src/http/metrics';
import { createRedisLimiter, FIXED_LIMITS } from '../src/http/limits/rate-limit';
import { connectRedis } from '../src/http/limits/redis';
import { startServer } from '../src/http/server';
import { createAccessLog } from '../src/licensing/access-log';
import { normalizeIdentifier } from '../src/licensing/core/identifiers';
import { createLicensing, type Licensing } from '../src/licensing/licensing';
import { liveStatus } from '../src/licensing/core/states';
import { createRefusalEnqueuer } from '../src/licensing/webhook-events';
import { createLog } from '../src/process/log';
import { DEFAULT_POOL_SIZE, openDatabase, poolState } from '../src/store/engine/database';
import type { MysqlSettings } from '../src/store/engine/mysql';
import type { License } from '../src/store/licenses/licenses';
import { fromSqlTime, toSqlTime } from '../src/store/engine/time';
import { version } from '../src/app/version';

/**
 * The service without the part that BENCH_WITHOUT names, which shows the cost of this part:
 * - `grouping`: each validate runs one prepared SELECT and one prepared UPDATE, without a query builder.
 * - `counting`: downloads record no sites and networks.
 * - `nothing`: all parts, so that both sides of a row are started in the same way.
 */

const SELECT = `SELECT l.id, l.status, l.activation_limit, l.activations_used, l.expires_at,
    p.name AS plan_name, p.activation_type, r.name AS product_name, a.id AS activation_id
  FROM licensing_license_keys k
  JOIN licensing_licenses l ON l.id = k.license_id
  JOIN licensing_plans p ON p.id = l.plan_id
  JOIN licensing_products r ON r.id = p.product_id
  LEFT JOIN licensing_activations a ON a.license_id = l.id AND a.identifier = ?
  WHERE k.key_digest = ?`;
const UPDATE = `UPDATE licensing_licenses
  SET check_count = check_count + 1, last_check_at = ?, last_check_ip = ? WHERE id = ?`;

interface Row extends RowDataPacket {
  id: number;
  status: string;
  activation_limit: number;
  activations_used: number;
  expires_at: string | null;
  plan_name: string;
  activation_type: string;
  product_name: string;
  activation_id: number | null;
}

function validateAlone(pool: Pool): Licensing['validate'] {
  return async ({ keyDigest, identifier, ip, now }) => {
    // Assume the type of every plan in the data, because one statement must suffice.
    const site = identifier === undefined ? undefined : normalizeIdentifier('domain', identifier);
    const [[row]] = await pool.execute<Row[]>(SELECT, [site ?? null, keyDigest]);
    if (row === undefined) return { refused: 'LICENSE_NOT_FOUND' };
    await pool.execute(UPDATE, [toSqlTime(now), ip, row.id]);
    const license = {
      status: row.status,
      activationLimit: row.activation_limit,
      activationsUsed: row.activations_used,
      expiresAt: row.expires_at === null ? null : fromSqlTime(row.expires_at),
      plan: { name: row.plan_name, activationType: row.activation_type },
      product: { name: row.product_name },
    } as License;
    const status = liveStatus(license, now);
    const identifierActivated = identifier === undefined || row.activation_id !== null;
    const valid = status === 'active';
    return { license, status, valid, identifierActivated, identifier: site, keyEndsAt: null };
  };
}

function reduced(licensing: Licensing, config: Config): Licensing {
  const { db } = licensing;
  switch (process.env.BENCH_WITHOUT) {
    case 'grouping':
      return { ...licensing, validate: validateAlone(openPool(config)) };
    case 'counting':
      return { ...licensing, accessLog: createAccessLog(db, () => undefined, createRefusalEnqueuer(db)) };
    default:
      return licensing;
  }
}

function openPool(config: Config): Pool {
  const { host, port, user, password, database } = config.database as MysqlSettings;
  return createPool({
    host,
    port,
    user,
    password,
    database,
    connectionLimit: DEFAULT_POOL_SIZE,
    dateStrings: true,
  });
}

async function main(): Promise<void> {
  const config = readConfig();
  const db = openDatabase(config.database, config.tablePrefix);
  const log = createLog(config.logLevel);
  const redis = connectRedis(config.redisUrls, () => undefined);
  const settings = {
    limits: {
      api: config.rateLimit,
      download: config.downloadRateLimit,
      manage: config.manageRateLimit,
      ...FIXED_LIMITS,
    },
    window: config.rateWindow,
  };
  const metrics = createMetrics({
    version,
    pool: () => poolState(db),
    nodes: undefined,
    conflicts: () => 0,
    redisIsAway: () => redis.isAway(),
    accessLogDropped: () => 0,
    tableSizes: () => Promise.resolve([]),
    catchUps: () => Promise.resolve([]),
    webhooks: undefined,
  });
  const licensing = createLicensing(
    db,
    () => new Date(),
    () => undefined,
  );
  const app = createApp({
    licensing: reduced(licensing, config),
    limiter: createRedisLimiter(settings, redis),
    clientAddress: createAddressReader(config.trustedProxies),
    downloads: { packagesDir: config.packagesDir, accelLocation: config.accelLocation },
    log,
    onAnswered: metrics.observe,
  });
  const server = await startServer(app.callback(), config.listen);
  console.log(server.address);
}

void main();
