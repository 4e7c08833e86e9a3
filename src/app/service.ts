import { mkdir } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { MINUTE_MS } from '../base/days';
import { copyConfig, packageRoot, type Config, type Variable } from '../settings/config';
import { createAuthenticator } from '../access/authenticate';
import { createLinkCodes, type CustomerLink, type OperatorLink } from '../access/link-requests';
import { runInProcessChecks } from '../doctor/examine';
import { createAskForXml } from '../doctor/xml-reach';
import { createMonitoringListener } from '../http/monitoring';
import { createApp } from '../http/app';
import { createDatabaseLimiter } from '../http/limits/database-limits';
import { createAddressReader } from '../http/client-address';
import { isUnderPassenger } from '../http/passenger';
import { createMetrics } from '../http/metrics';
import type { DownloadSettings } from '../http/downloads';
import type { PagesSettings } from '../http/pages/page';
import type { ManageSettings } from '../operations/settings';
import {
  createMemoryLimiter,
  createRedisLimiter,
  FIXED_LIMITS,
  type Limiter,
  type RateLimits,
} from '../http/limits/rate-limit';
import { connectRedis, type RedisConnection } from '../http/limits/redis';
import { startServer, type RunningServer } from '../http/server';
import type { CustomerLanguage } from '../texts/customers/languages';
import { composerOf, letterheadOf } from '../mail/compose';
import { mailingOf, queueMail, type Mailing } from '../mail/queue';
import { queueReminders } from '../mail/reminders';
import { queueNotices } from '../mail/security-release';
import type { MailSettings } from '../mail/settings';
import { startMailSender, type MailSender, type SenderSettings } from '../mail/sender';
import { createMailTransport } from '../mail/transport';
import { faultOfMessage } from '../operations/kit/failures';
import { readOrderBody } from '../operations/orders';
import { catchUpAll } from '../orders/catch-up/nightly';
import { workOnQueued } from '../orders/queue';
import { readCatchUps } from '../orders/catch-up/standing';
import { runReady } from '../orders/retry';
import { toMailFailure } from '../mail/failures';
import { failures } from '../texts/operators/en/failures';
import { describeStored, mailRemedy } from '../texts/operators/failures';
import { hasNoNewPrivileges } from '../process/units';
import { startHousekeeping } from '../runner/housekeeping';
import type { Job } from '../runner/jobs';
import { startSharing } from '../runner/processes';
import type { ChangeMail } from '../selfservice/changes';
import { createLicensing } from '../licensing/licensing';
import {
  conflictsOf,
  openServiceDatabase,
  poolState,
  shareOf,
  clusterStatusOf,
  type Db,
} from '../store/engine/database';
import { reasonCode } from '../store/engine/errors';
import { claimDatabase, requireCurrentSchema } from '../store/engine/migrate';
import { openLimitCounts } from '../store/limit-counts';
import { readTableSizes } from '../store/engine/server';
import { withDatabaseHint } from '../setup/database';
import { watchSettings, type LiveSettings } from '../settings/stored';
import { readReadiness } from './readiness';
import { version } from './version';
import { createAddressRules } from '../webhooks/addresses';
import { startExpiryWatcher } from '../webhooks/expiry-events';
import { createPost } from '../webhooks/post';
import { readWebhookBacklog } from '../webhooks/backlog';
import { startWebhookSender, type WebhookSender } from '../webhooks/sender';

export interface Addresses {
  /** the listening address as a user would type it */
  address: string;
  /** the address of `/healthz`, `/readyz` and `/metrics`; undefined if there is none */
  adminAddress: string | undefined;
}

export interface Running extends Addresses {
  /** stops the parts in the reverse order of their start, after running work */
  stop(): Promise<void>;
}

export type Clock = () => Date;
const systemClock: Clock = () => new Date();

/** Registers the function that stops a part which has just been started. */
type OnStop = (stop: () => unknown) => void;

/** Opens the server for customers and operators. */
type Open = (listener: RequestListener) => Promise<RunningServer>;

/**
 * @param open opens the server, by default at LICENSING_LISTEN
 * @throws Error for the operator: no database, another version's schema, or an address in use
 */
export function startService(
  config: Config,
  log: Logger,
  now: Clock = systemClock,
  open: Open = (listener) => startServer(listener, config.listen),
): Promise<Running> {
  return inOrder(async (onStop) => {
    const db = openServiceDatabase(
      config.database,
      config.tablePrefix,
      config.databaseConnections,
      (change) => log.warn(change, 'another database server is used'),
    );
    onStop(() => db.destroy());
    await requireCurrentSchema(db).catch((error: unknown) => {
      throw withDatabaseHint(error, config);
    });
    onStop(await claimDatabase(config.database));
    onStop(startSharing(db, log, now));
    const live = await watchSettings(db, config, log);
    onStop(() => live.stop());
    const redis = openRedis(config, log);
    onStop(() => redis?.close());
    await redis?.started;
    await preparePackagesFolder(config, log);

    const licensing = createLicensing(
      db,
      now,
      (error, lost) => log.error({ lost, reason: reasonCode(error) }, 'access log entries were lost'),
      {
        keySecret: config.keySecret,
        spreadFactor: config.spreadFactor,
        get issuer() {
          return issuerOf(live.config);
        },
        get tokenDays() {
          return live.config.tokenDays;
        },
        get offlineDays() {
          return live.config.offlineDays;
        },
        onFault: (reason) => log.error({ reason }, 'answers cannot be signed'),
      },
    );
    onStop(() => licensing.accessLog.flush());
    onStop(startHousekeeping(db, () => live.config.logDays, log, now, jobsOf(live, db, log, now)));
    onStop(startMail(live, db, log, now));
    const webhooks = startWebhooks(live, db, log, now);
    onStop(() => webhooks?.stop());

    let stopping = false;
    // Set last, because the server only listens when all other parts are ready.
    const own: { server?: RunningServer } = {};
    const metrics = createMetrics({
      version,
      pool: () => poolState(db),
      nodes: clusterStatusOf(db),
      conflicts: () => conflictsOf(db),
      redisIsAway: redis && (() => redis.isAway()),
      accessLogDropped: () => licensing.accessLog.dropped(),
      tableSizes: () => readTableSizes(db),
      catchUps: () => readCatchUps(db),
      webhooks: webhooks && { counts: webhooks.counts, backlog: () => readWebhookBacklog(db, now()) },
    });
    const admin = createMonitoringListener({
      readiness: () =>
        readReadiness(config.packagesDir, db, redis, { stopping, lostSocket: own.server?.lostSocket() }),
      metrics: () => metrics.registry.metrics(),
    });
    const downloads = { packagesDir: config.packagesDir, accelLocation: config.accelLocation };
    const settings = settingsOf(live, db, { log, now, downloads });
    const app = createApp({
      licensing,
      limiter: openLimiter(live, { redis, db, log, onStop }),
      clientAddress: createAddressReader(config.trustedProxies, {
        behindPassenger: isHosted(config) && isUnderPassenger(),
      }),
      downloads,
      operator: {
        authenticate: createAuthenticator(Object.assign(copyConfig(config), { db, now })),
        settings,
      },
      pages: { db: shareOf(db), settings, assetsFolder: join(packageRoot, 'dist/pages') },
      pagesHost: config.pagesHost,
      timeoutFactor: config.timeoutFactor,
      origins: () =>
        [live.config.publicUrl, live.config.operatorUrl].flatMap((url) =>
          url === undefined ? [] : new URL(url).origin,
        ),
      document: { version, pageFolder: join(packageRoot, 'dist/docs-page') },
      guideFolder: join(packageRoot, 'docs-site'),
      log,
      onAnswered: metrics.observe,
    });

    const { adminListen } = config;
    const monitoring =
      adminListen && (await listen('LICENSING_ADMIN_LISTEN', () => startServer(admin, adminListen), onStop));
    const server = await listen('LICENSING_LISTEN', () => open(app.callback()), onStop);
    own.server = server;
    // Register this last, so that readiness fails first and can be read until the last request is answered.
    onStop(() => (stopping = true));
    return { address: server.address, adminAddress: monitoring?.address };
  });
}

/** Returns the host name that identifies the service to software, regardless of the name in a request. */
function issuerOf({ publicUrl }: Config): string {
  return publicUrl === undefined ? 'licensing' : new URL(publicUrl).hostname;
}

/**
 * Makes the packages folder, which is missing before the first publish. After a failure the service starts, and
 * readiness reports it.
 * @throws Error with the setting's name if the path is not a folder
 */
async function preparePackagesFolder({ packagesDir }: Config, log: Logger): Promise<void> {
  try {
    // Log this, because a mistyped path would look like a shop without packages.
    if ((await mkdir(packagesDir, { recursive: true })) !== undefined)
      log.info({ folder: packagesDir }, 'the packages folder did not exist and was made');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' || code === 'ENOTDIR')
      throw new Error(`LICENSING_PACKAGES_DIR: ${packagesDir} is not a folder.`, { cause: error });
    log.warn({ folder: packagesDir, code }, 'the packages folder cannot be made');
  }
}

/** Returns the settings of operations and pages. Getters read those that a seller may change at each use. */
function settingsOf(
  live: LiveSettings,
  db: Db,
  { log, now, downloads }: { log: Logger; now: Clock; downloads: DownloadSettings },
): PagesSettings {
  const { packagesDir, keySecret, webhookNetworks, uploadLimit, pagesHost } = live.config;
  const { spreadFactor, shopApiUrl } = live.config;
  return {
    packagesDir,
    keySecret,
    webhookNetworks,
    uploadLimit,
    pagesHost,
    downloads,
    version,
    timeoutFactor: live.config.timeoutFactor,
    spreadFactor,
    shopApiUrl,
    programFolder: packageRoot,
    examine: () => runInProcessChecks(live.config, db, now),
    askForXml: createAskForXml(now),
    mailGainsNoRights: () => Promise.resolve(hasNoNewPrivileges()),
    refresh: () => live.refresh(),
    onFailed: warnOfOrder(log),
    get config() {
      return live.config;
    },
    get timeZone() {
      return live.config.timeZone;
    },
    get mailing() {
      return mailingOf(live.config);
    },
    get letterhead() {
      return letterheadOf(live.config);
    },
    get updateXml() {
      return live.config;
    },
    get logDays() {
      return live.config.logDays;
    },
    get graceDays() {
      return live.config.graceDays;
    },
    get operatorUrl() {
      return live.config.operatorUrl;
    },
    get shopName() {
      return live.config.shopName;
    },
    get shopLogo() {
      return live.config.shopLogo;
    },
    get publicUrl() {
      return live.config.publicUrl;
    },
    get queueMail() {
      const mailing = mailingOf(live.config);
      return mailing && (queueIn(mailing) as PagesSettings['queueMail']);
    },
  };
}

function queueIn({ language }: Mailing) {
  return (
    trx: Db,
    request: CustomerLink | OperatorLink | ChangeMail,
    at: { now: Date; language?: CustomerLanguage },
  ) => queueMail(trx, request, { language, ...at });
}

function warnOfOrder(log: Logger): ManageSettings['onFailed'] {
  return (order, reason) => log.warn({ order, reason }, 'an order failed; it is tried again in a minute');
}

/** Lists the background jobs of one instance, in addition to sums and pruning. */
export function jobsOf(live: LiveSettings, db: Db, log: Logger, now: Clock): Job[] {
  const { keySecret } = live.config;
  const messageContext = () => ({
    secret: keySecret,
    // Call it lazily, so that a release loads the operators' part of the program only when a message arrives.
    readOrder: (body: object) => readOrderBody(body),
    faultOf: (error: unknown) => faultOfMessage(error),
    mailing: mailingOf(live.config),
    graceDays: live.config.graceDays,
    onFailed: warnOfOrder(log),
  });
  return [
    {
      name: 'reminders',
      everyMs: 10 * MINUTE_MS,
      async run({ lease, goesOn }) {
        const mailing = mailingOf(live.config);
        if (mailing !== undefined) await queueReminders(db, { lease, mailing, now: now(), goesOn });
      },
      failure: 'reminders could not be queued; it is tried again in ten minutes',
    },
    {
      // This continues mails that a stopped process had begun to queue; the operation itself queues the others.
      name: 'security notices',
      everyMs: MINUTE_MS,
      inBackground: true,
      async run({ goesOn }) {
        const mailing = mailingOf(live.config);
        if (mailing !== undefined) await queueNotices(db, { language: mailing.language, now: now(), goesOn });
      },
      failure: 'mails of a security release could not be queued; it is tried again in a minute',
    },
    {
      name: 'orders',
      everyMs: MINUTE_MS,
      inBackground: true,
      run: ({ goesOn }) => {
        const { graceDays } = live.config;
        const mailing = mailingOf(live.config);
        return runReady(db, { actor: 'orders', now: now(), secret: keySecret, mailing, graceDays }, goesOn);
      },
      failure: 'orders that waited could not be run; it is tried again in a minute',
    },
    {
      name: 'messages',
      everyMs: MINUTE_MS,
      inBackground: true,
      run: ({ goesOn }) => workOnQueued(db, messageContext(), now, goesOn),
      failure: 'messages of shops that wait could not be worked on; it is tried again in a minute',
    },
    {
      name: 'catch up',
      everyMs: 10 * MINUTE_MS,
      inBackground: true,
      run: (turn) =>
        catchUpAll(
          db,
          {
            ...messageContext(),
            now,
            networks: live.config.webhookNetworks,
            apiUrl: live.config.shopApiUrl,
          },
          turn,
        ),
      failure: 'shops could not be caught up; it is tried again in ten minutes',
    },
  ];
}

/** Starts to send queued mails, whenever mail is set up. */
export function startMail(live: LiveSettings, db: Db, log: Logger, now: Clock): MailSender {
  const { mail } = live.config;
  // Test sendmail now; otherwise only the waiting mails would reveal a problem.
  if (mail?.route.kind === 'sendmail' && live.config.publicUrl !== undefined)
    createMailTransport(mail, { gainsNoRights: hasNoNewPrivileges() })
      .verify()
      .catch((error: unknown) => warnOfMail(log, mail, error));
  const createCode = createLinkCodes(db);
  let known: { of: Config; settings: SenderSettings | undefined } | undefined;
  const current = () => {
    const { config } = live;
    if (known?.of !== config) known = { of: config, settings: senderOf(config, createCode) };
    return known.settings;
  };
  return startMailSender(db, current, log, now);
}

/** Returns the sender's settings; undefined if mail is off. */
function senderOf(
  config: Config,
  createCode: ReturnType<typeof createLinkCodes>,
): SenderSettings | undefined {
  const composer = composerOf(config, createCode);
  if (config.mail === undefined || composer === undefined) return undefined;
  const from = { address: config.mail.from.address, name: composer.shopName };
  return {
    ...composer,
    from,
    transport: createMailTransport(config.mail, { gainsNoRights: hasNoNewPrivileges() }),
  };
}

function warnOfMail(log: Logger, { source, from }: MailSettings, error: unknown): void {
  const { stored } = toMailFailure(error);
  const remedy = mailRemedy(failures, stored, from.address) ?? `Correct ${source}.`;
  log.warn(
    `mails wait, because they cannot be sent by ${source}: ${describeStored(failures.mail, stored)}. ${remedy}`,
  );
}

/** Starts to send webhooks. @returns undefined without LICENSING_KEY_SECRET, which they need */
export function startWebhooks(
  live: LiveSettings,
  db: Db,
  log: Logger,
  now: Clock,
): WebhookSender | undefined {
  const { keySecret, webhookNetworks } = live.config;
  if (keySecret === undefined) return undefined;
  const post = createPost(createAddressRules(webhookNetworks));
  const sender = startWebhookSender(db, { keySecret, post, mailing: () => mailingOf(live.config) }, log, now);
  const stopWatch = startExpiryWatcher(db, log, now);
  const stop = async () => {
    await stopWatch();
    await sender.stop();
  };
  const idle = async () => {
    await stopWatch.idle();
    await sender.idle();
  };
  return { counts: sender.counts, idle, stop };
}

/** Opens a server and registers its stop. @throws Error with the setting to correct */
async function listen(
  variable: Extract<Variable, 'LICENSING_LISTEN' | 'LICENSING_ADMIN_LISTEN'>,
  open: () => Promise<RunningServer>,
  onStop: OnStop,
): Promise<RunningServer> {
  try {
    const server = await open();
    onStop(() => server.drain());
    return server;
  } catch (error) {
    throw new Error(`${variable}: ${(error as Error).message}`, { cause: error });
  }
}

/** Starts the parts one after the other. After a failure, and at the stop, the started parts stop in reverse order. */
async function inOrder(start: (onStop: OnStop) => Promise<Addresses>): Promise<Running> {
  const stops: (() => unknown)[] = [];
  const stop = async () => {
    const failures: unknown[] = [];
    // Continue after a failure, because the other parts must still be stopped.
    for (const one of stops.splice(0).reverse())
      try {
        await one();
      } catch (failure) {
        failures.push(failure);
      }
    if (failures.length > 0) throw failures[0];
  };
  try {
    return { ...(await start((one) => stops.push(one))), stop };
  } catch (error) {
    await stop().catch(() => undefined);
    throw error;
  }
}

function openRedis(config: Config, log: Logger): RedisConnection | undefined {
  if (config.redisUrls.length === 0) return undefined;
  const onChange = (away: boolean, error?: unknown) => {
    // Log only the message: errors of ioredis contain the command with its arguments.
    if (away) log.warn({ reason: (error as Error).message }, 'Redis is away: limits are counted in memory');
    else log.info('Redis is back: limits are counted there again');
  };
  return connectRedis(config.redisUrls, onChange, config.timeoutFactor);
}

/** Opens the rate limiter. Passenger may run several processes at any time, so they need a common count even without Redis. */
function openLimiter(
  live: LiveSettings,
  { redis, db, log, onStop }: { redis: RedisConnection | undefined; db: Db; log: Logger; onStop: OnStop },
): Limiter {
  let known: { of: Config; limits: RateLimits['limits'] } | undefined;
  const settings: Readonly<RateLimits> = {
    get limits() {
      const { config } = live;
      if (known?.of !== config) known = { of: config, limits: limitsOf(config) };
      return known.limits;
    },
    get window() {
      return live.config.rateWindow;
    },
  };
  if (redis) return createRedisLimiter(settings, redis);
  const { database } = live.config;
  if (!isHosted(live.config) || database.kind !== 'mysql') return createMemoryLimiter(settings);
  const onChange = (away: boolean, error?: unknown) => {
    if (away)
      log.warn({ reason: reasonCode(error) }, 'the database cannot count limits: they are counted in memory');
    else log.info('limits are counted in the database again');
  };
  const counts = openLimitCounts(db, database);
  const limiter = createDatabaseLimiter(settings, counts, onChange, live.config.timeoutFactor);
  onStop(() => limiter.stop());
  return limiter;
}

/** Reports whether Passenger starts and ends the processes. */
function isHosted({ listen }: Config): boolean {
  return 'passenger' in listen;
}

function limitsOf({ rateLimit, downloadRateLimit, manageRateLimit }: Config): RateLimits['limits'] {
  return { api: rateLimit, download: downloadRateLimit, manage: manageRateLimit, ...FIXED_LIMITS };
}
