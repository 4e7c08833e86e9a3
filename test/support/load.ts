import { readdirSync } from 'node:fs';
import { Agent, request as httpRequest } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { publishRelease } from '../../src/packages/releases';
import type { Settings } from '../../src/settings/config';
import { table, type Db } from '../../src/store/engine/database';
import { makePackage } from './packages';
import { residentMemory, sharedFolder } from './processes';
import { startMariaDb, startRedis, type MariaDb, type PrivateServer } from './servers';
import { countTimes, giveLicense, givePlan, PREFIX, type TestLicense } from './service';
import { openMigrated, startServiceProcess, type ServiceProcess } from './service-process';

/** The load during faults, and its record: no acknowledged change may be lost. */

export type Kind = 'validate' | 'activate' | 'repeat' | 'download';

export interface Call {
  kind: Kind;
  /** the index of the licence in the load */
  license: number;
  /** the ms since the load began */
  sentAt: number;
  answeredAt: number;
  /** undefined if the connection failed, was cut, or remained silent */
  status: number | undefined;
  /** the code of the JSON error, or the text of a refused download */
  code: string | undefined;
  retryAfter: string | undefined;
  /** the reason for no answer */
  failure: string | undefined;
}

/** The goods of the load: licences of product 42, the last ones with few slots, and its package. */
export interface Goods {
  licenses: TestLicense[];
  bytes: Buffer;
  sha256: string;
}

export interface LoadOptions {
  /** the number of clients; a change does not affect running ones */
  clients?: number;
  /** the average ms between a client's calls */
  pause?: number;
  /** receives each call instead of `calls`, which then stays empty */
  onCall?: (call: Call) => void;
}

export interface Load {
  calls: Call[];
  book: Book;
  /** returns the ms since the load began */
  now: () => number;
  /** Waits for pending calls to end. */
  stop(): Promise<void>;
}

/** The sent and acknowledged calls by licence. */
export interface Book {
  goods: Goods;
  checks: { sent: number; acknowledged: number }[];
  activations: { sent: Set<string>; acknowledged: Set<string> }[];
  downloads: number;
  /** answers that no fault excuses: a body outside the contract, a package with other bytes */
  wrong: string[];
}

/** The clients' time-out; a call that takes this long hung. */
export const CLIENT_TIMEOUT_MS = 30_000;
const FEW_SLOTS = 5;
const SHOWN_LOSSES = 20;

/** Creates a product with a published 20 kB package, and licences for it. */
export async function giveGoods(db: Db, packagesDir: string): Promise<Goods> {
  const licenses = await giveLicenses(db);
  const { path, bytes } = await makePackage({}, 20_000);
  const { sha256 } = await publishRelease(
    db,
    packagesDir,
    { productId: 42, version: '2.1.0', file: path, changelog: undefined, draft: false, date: undefined },
    new Date(),
  );
  return { licenses, bytes, sha256 };
}

export async function giveLicenses(db: Db, count = 12): Promise<TestLicense[]> {
  const unlimited = await givePlan(db, { limit: 0 });
  const few = await givePlan(db, { limit: FEW_SLOTS });
  const licenses: TestLicense[] = [];
  for (let i = 1; i <= count; i++) licenses.push(await giveLicense(db, i === count ? few : unlimited));
  return licenses;
}

/**
 * Starts clients that call one after another, each on a kept connection: half of the calls validate, a quarter activate
 * something new, the others repeat an activation or download. Each call has a new address, to avoid rate limits.
 *
 * @param urls the service's instances, which the clients share
 */
export function startLoad(urls: string | string[], goods: Goods, options: LoadOptions = {}): Load {
  const { clients = 24, pause = 20, onCall } = options;
  const calls: Call[] = [];
  const book: Book = {
    goods,
    checks: goods.licenses.map(() => ({ sent: 0, acknowledged: 0 })),
    activations: goods.licenses.map(() => ({ sent: new Set(), acknowledged: new Set() })),
    downloads: 0,
    wrong: [],
  };
  const began = performance.now();
  const now = () => performance.now() - began;
  let running = true;
  let numbers = 0;

  async function call(url: string, agent: Agent): Promise<Call> {
    const license = Math.floor(Math.random() * goods.licenses.length);
    const { key } = goods.licenses[license]!;
    const activations = book.activations[license]!;
    const chance = Math.random();
    const again = [...firstOf(activations.acknowledged, 20)];
    const kind: Kind =
      chance < 0.5
        ? 'validate'
        : chance < 0.75 || again.length === 0
          ? 'activate'
          : chance < 0.85
            ? 'repeat'
            : 'download';
    const identifier =
      kind === 'repeat' ? again[Math.floor(Math.random() * again.length)]! : `site-${++numbers}.example`;
    if (kind === 'validate') book.checks[license]!.sent++;
    if (kind === 'activate') activations.sent.add(identifier);
    const number = Math.floor(Math.random() * 2 ** 24);
    const address = `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}`;

    const sentAt = now();
    const answer =
      kind === 'download'
        ? await send(url, agent, address, `${PREFIX}/downloads/42?dlid=${key}`)
        : await send(
            url,
            agent,
            address,
            `${PREFIX}/licenses/${kind === 'validate' ? 'validate' : 'activate'}`,
            {
              license_key: key,
              ...(kind === 'validate' ? {} : { identifier }),
            },
          );
    const done: Call = {
      kind,
      license,
      sentAt,
      answeredAt: now(),
      status: answer.status,
      code: undefined,
      retryAfter: answer.retryAfter,
      failure: answer.failure,
    };
    if (answer.status === undefined) return done;
    const complain = (what: string) =>
      book.wrong.push(`${kind} answered ${answer.status}: ${what}: ${answer.body.toString().slice(0, 200)}`);
    if (kind === 'download') {
      if (answer.status !== 200) done.code = answer.body.toString();
      else if (answer.body.equals(goods.bytes)) book.downloads++;
      else complain('not the package');
      return done;
    }
    const body = parse(answer.body);
    done.code = body?.error?.code;
    if (answer.status !== 200) {
      if (done.code === undefined) complain('no code');
    } else if (kind === 'validate') {
      book.checks[license]!.acknowledged++;
      if (body?.data?.valid !== true || body.data.license_key !== key) complain('not valid');
    } else {
      activations.acknowledged.add(identifier);
      if (body?.data?.identifier !== identifier) complain('another identifier');
    }
    return done;
  }

  const all = Array.from({ length: clients }, async (_, client) => {
    const url = [urls].flat()[client % [urls].flat().length]!;
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    await sleep((client / clients) * pause);
    while (running) {
      const done = await call(url, agent);
      if (onCall) onCall(done);
      else calls.push(done);
      // Let a refused client wait a little; others continue after their pause.
      await sleep(done.status === 200 ? pause * (0.5 + Math.random()) : pause + 50);
    }
    agent.destroy();
  });
  return {
    calls,
    book,
    now,
    async stop() {
      running = false;
      await Promise.all(all);
    },
  };
}

/**
 * Compares the record with the database.
 *
 * @returns sentences about lost and superfluous data
 */
export async function findLosses(db: Db, { goods, checks, activations, wrong }: Book): Promise<string[]> {
  const losses = [...wrong];
  for (const [i, { id }] of goods.licenses.entries()) {
    const say = (what: string) => losses.push(`licence ${id}: ${what}`);
    const stored = (await db(table(db, 'licenses')).where({ id }).first()) as {
      check_count: number;
      activations_used: number;
      activation_limit: number;
    };
    const rows = await db(table(db, 'activations')).where({ license_id: id }).pluck<string[]>('identifier');
    const happened = await countTimes(db, 'events', { license_id: id, action: 'activate' });
    const { sent, acknowledged } = checks[i]!;
    if (stored.check_count < acknowledged)
      say(`${acknowledged} checks acknowledged, ${stored.check_count} stored`);
    if (stored.check_count > sent) say(`${sent} checks sent, ${stored.check_count} stored`);
    if (stored.activations_used !== rows.length)
      say(`counts ${stored.activations_used} activations, has ${rows.length}`);
    if (happened !== rows.length) say(`tells of ${happened} activations, has ${rows.length}`);
    if (stored.activation_limit !== 0 && rows.length > stored.activation_limit)
      say(`has ${rows.length} activations, may have ${stored.activation_limit}`);
    const present = new Set(rows);
    for (const identifier of activations[i]!.acknowledged)
      if (!present.has(identifier)) say(`${identifier} was acknowledged and is not there`);
    for (const identifier of present)
      if (!activations[i]!.sent.has(identifier)) say(`${identifier} is there and nobody sent it`);
  }
  return losses.length > SHOWN_LOSSES
    ? [...losses.slice(0, SHOWN_LOSSES), `and ${losses.length - SHOWN_LOSSES} more`]
    : losses;
}

/** Counts outcomes: `{"200": 310, "503 SERVICE_UNAVAILABLE": 12, "ECONNRESET": 1}`. */
export function tally(calls: Call[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const call of calls) {
    const outcome = outcomeOf(call);
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  }
  return counts;
}

export function outcomeOf({ status, code, failure }: Call): string {
  if (status === undefined) return failure ?? 'no answer';
  return code === undefined ? String(status) : `${status} ${code}`;
}

/** Reports whether a healthy service gives this answer to the load. */
export function isHealthy({ status, code }: Call): boolean {
  return status === 200 || code === 'ACTIVATION_LIMIT_REACHED';
}

/** Reports whether this is the documented refusal while the database is unavailable. */
export function isUnavailable({ kind, status, code, retryAfter }: Call): boolean {
  const text =
    kind === 'download'
      ? 'The service is not available at the moment; please try again'
      : 'SERVICE_UNAVAILABLE';
  return status === 503 && code === text && Number(retryAfter) > 0;
}

/** Returns the ms from sending to the answer. */
export function duration({ sentAt, answeredAt }: Call): number {
  return answeredAt - sentAt;
}

export function slowest(calls: Call[]): number {
  return Math.max(0, ...calls.map(duration));
}

/** Returns the resident memory (MB) and open descriptors of a process. */
export function usage(pid: number): { memory: number; descriptors: number } {
  return { memory: residentMemory(pid), descriptors: readdirSync(`/proc/${pid}/fd`).length };
}

/** Private servers, a database with goods, and the build's own processes in front of them. */
export interface Stand {
  mariadb: MariaDb;
  redis: PrivateServer & { url: string };
  settings: Settings;
  /** the test's own connection */
  db: Db;
  packagesDir: string;
  /** Creates the package, and licences without load. */
  newGoods(): Promise<Goods>;
  /** Starts a process of the service, which ends with the stand. */
  start(settings?: Settings): Promise<ServiceProcess & { admin: string }>;
  close(): Promise<void>;
}

/** Starts the servers. @param options MariaDB's options @param data MariaDB's data folder; by default a new one */
export async function openStand(
  more: Settings = {},
  { options, data }: { options?: string[]; data?: string } = {},
): Promise<Stand> {
  const [mariadb, redis] = await Promise.all([startMariaDb(options, { data }), startRedis()]);
  const packagesDir = sharedFolder();
  const settings: Settings = {
    LICENSING_DATABASE_URL: await mariadb.createDatabase(),
    LICENSING_REDIS_URL: redis.url,
    LICENSING_PACKAGES_DIR: packagesDir,
    ...more,
  };
  const db = await openMigrated(settings);
  const goods = await giveGoods(db, packagesDir);
  const services: ServiceProcess[] = [];
  return {
    mariadb,
    redis,
    settings,
    db,
    packagesDir,
    newGoods: async () => ({ ...goods, licenses: await giveLicenses(db) }),
    async start(own = {}) {
      const service = await startServiceProcess({ ...settings, ...own });
      services.push(service);
      const { admin } = service.log().find(({ msg }) => msg === 'listening') as unknown as { admin: string };
      return Object.assign(service, { admin });
    },
    async close() {
      await Promise.all(services.map((service) => service.stop('SIGKILL')));
      await db.destroy();
      await Promise.all([mariadb.stop('SIGKILL'), redis.stop('SIGKILL')]);
    },
  };
}

interface Answer {
  status: number | undefined;
  body: Buffer;
  retryAfter: string | undefined;
  failure: string | undefined;
}

function send(url: string, agent: Agent, address: string, path: string, body?: object): Promise<Answer> {
  return new Promise((resolve) => {
    const fail = (failure: string) =>
      resolve({ status: undefined, body: Buffer.alloc(0), retryAfter: undefined, failure });
    const text = body && JSON.stringify(body);
    const request = httpRequest(url + path, {
      agent,
      method: text === undefined ? 'GET' : 'POST',
      headers: {
        'X-Forwarded-For': address,
        ...(text === undefined
          ? {}
          : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }),
      },
      timeout: CLIENT_TIMEOUT_MS,
    });
    request.on('timeout', () => {
      fail('hung');
      request.destroy();
    });
    request.on('error', (error: NodeJS.ErrnoException) => fail(error.code ?? error.message));
    request.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', (error: NodeJS.ErrnoException) => fail(`cut: ${error.code ?? error.message}`));
      response.on('end', () =>
        resolve({
          status: response.statusCode,
          body: Buffer.concat(chunks),
          retryAfter: response.headers['retry-after'],
          failure: undefined,
        }),
      );
    });
    request.end(text);
  });
}

interface Body {
  data?: { valid?: boolean; license_key?: string; identifier?: string };
  error?: { code?: string };
}

function parse(body: Buffer): Body | undefined {
  try {
    return JSON.parse(body.toString()) as Body;
  } catch {
    return undefined;
  }
}

function* firstOf<T>(values: Iterable<T>, count: number): Generator<T> {
  for (const value of values) {
    if (count-- <= 0) return;
    yield value;
  }
}
