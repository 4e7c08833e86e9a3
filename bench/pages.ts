import { get as httpGet, Agent, type IncomingHttpHeaders } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { gunzipSync } from 'node:zlib';
import {
  createCode,
  CUSTOMER_CODE_TTL_MS,
  OPERATOR_CODE_TTL_MS,
  type CodeFor,
} from '../src/access/one-time-codes';
import { API_PATH } from '../src/licensing/api';
import type { Db } from '../src/store/engine/database';
import { listLicenseCounts } from '../src/store/sums';
import { sharedFolder } from '../test/support/processes';
import { publishPackages } from './data';
import { makeListData } from './lists';
import { cpuTime, inTurns, loaded, median, quantile, watchOthers, type Side } from './measure';
import { openStage, type Server, type Stage } from './stage';

/**
 * `npm run bench:pages`: measures the size and time of pages with many licences, both behind nginx, and their cost for
 * a validate storm.
 */

const HELP = `Usage: npm run bench:pages [-- --licenses N] [--rounds N] [--pairs N] [--per-second N]

  --licenses N    in the database (20000; docs/internals/performance.md: 1000000)
  --rounds N      requests of each page (100)
  --pairs N       rounds of a validate storm with and without pages (10; 0: none)
  --per-second N  pages opened beside the storm (1: five people who open one every five seconds)
`;

const AGENCY = 'agency@example.org';
const OPERATOR_PAGES = [
  ...['/', '/?days=90', '/?days=90&product_id=43'],
  ...[
    '/renewals',
    '/renewals?product_id=43',
    '/not-renewed',
    '/not-renewed?plan_id=2',
    '/not-renewed?product_id=43',
  ],
  `/not-renewed?month=${new Date(Date.now() - 60 * 24 * 60 * 60 * 1000).toISOString().slice(0, 7)}`,
  ...['/licenses', '/licenses?q=f', '/licenses?q=order-77', '/licenses?status=expired'],
  ...['/licenses?expiring=30d', '/licenses?refused=7d', '/licenses?product_id=42&refused=90d'],
  ...['/licenses?plan_id=2&status=active', '/licenses/new'],
  ...['/licenses?sort=customer', '/licenses?status=expired&sort=-expires_at', '/licenses?q=f&sort=customer'],
  ...['/products/42/sites', '/products/42/sites?version=1.8.3', '/products/42/sites?sort=at'],
  ...['/licenses/5001', '/licenses/7', '/licenses/7/requests', '/licenses/7/history'],
  ...['/requests', '/requests?outcome=LICENSE_EXPIRED', '/requests?product_id=42&outcome=ok'],
  ...['/customers', '/customers?q=agency', '/customers?sort=-customer'],
  ...['/releases?product_id=42', '/products', '/products?sort=-licenses', '/products/42'],
  ...['/system', '/tokens', '/move-in', '/mails'],
];
const OPEN_PAGES = ['/sign-in', '/my'];
/** Pages that are opened in turns during the storm. */
const CLICKED = ['/', '/licenses', '/licenses/5001', '/licenses?q=order-77', '/licenses/7/requests'];

const FIRST_BYTES = 150_000;
const AFTER_BYTES = 40_000;
const MAX_MS = 100;
const OUT_OF_REACH = '1000000000';

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
  ms: number;
}

interface Visitor {
  get(path: string): Promise<Answer>;
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      help: { type: 'boolean', default: false },
      licenses: { type: 'string', default: '20000' },
      rounds: { type: 'string', default: '100' },
      pairs: { type: 'string', default: '10' },
      'per-second': { type: 'string', default: '1' },
    },
  });
  const [licences, rounds, pairs, perSecond] = [
    values.licenses,
    values.rounds,
    values.pairs,
    values['per-second'],
  ].map(Number) as [number, number, number, number];
  if (values.help || !(licences >= 5100 && rounds > 0 && pairs >= 0 && perSecond > 0)) {
    console.log(HELP);
    return values.help ? 0 : 2;
  }
  const stage = await openStage(console.error);
  try {
    console.error(`making ${licences.toLocaleString('en')} licences with their requests and events`);
    const db = await makeListData(stage.mariadb, licences, 'pages', new Date());
    const url = stage.mariadb.url('pages');
    await publishPackages(url, sharedFolder());
    const service = await stage.service({
      LICENSING_DATABASE_URL: url,
      LICENSING_MANAGE_RATE_LIMIT: OUT_OF_REACH,
      LICENSING_LOG_DAYS: '365',
    });
    await countsAreKept(db);
    const missed = [await timePages(stage, service, db, { licences, rounds })];
    if (pairs > 0) missed.push(await besideStorm(service, db, { licences, pairs, perSecond }));
    await stage.clear();
    await db.raw('DROP DATABASE pages');
    await db.destroy();
    for (const fact of await stage.facts()) console.log(`- ${fact}`);
    return missed.some(Boolean) ? 1 : 0;
  } finally {
    await stage.stop();
  }
}

/** Waits until the service has counted the licences, which is its first work after its start. */
async function countsAreKept(db: Db): Promise<void> {
  while ((await listLicenseCounts(db, undefined)).length === 0) await sleep(100);
}

/** Measures the pages. @returns whether a page is too slow or too large */
async function timePages(
  stage: Stage,
  service: Server,
  db: Db,
  { licences, rounds }: { licences: number; rounds: number },
): Promise<boolean> {
  const nginx = await stage.nginx(service);
  const others = watchOthers();
  const pages = `${nginx.url}${API_PATH}/pages`;
  const operator = await enter(pages, '', await codeOf(db, OPERATOR));
  const customer = await enter(pages, '/my', await codeOf(db, { kind: 'customer', email: AGENCY }));
  const nobody = visitor(pages, '');
  const visits: [Visitor, string, string][] = [
    ...OPERATOR_PAGES.map((path): [Visitor, string, string] => [operator, path, path]),
    ...OPEN_PAGES.map((path): [Visitor, string, string] => [nobody, path, path]),
    [customer, '/my/mail', '/my/mail'],
  ];
  const database = stage.mariadb.process.pid as number;
  console.log(
    '| Page | First visit | After | HTML | p50 | p95 | CPU | of it MariaDB |\n|---|---|---|---|---|---|---|---|',
  );
  let isMissed = false;
  for (const [who, path, name] of visits) {
    const first = await who.get(path);
    if (first.status !== 200) {
      console.log(`| \`${name}\` | answered ${first.status} | | | | | | |`);
      isMissed = true;
      continue;
    }
    const html = unpack(first);
    const assets = await assetsOf(html, who);
    const times: number[] = [];
    const [ofService, ofDatabase] = [cpuTime(service.pid), cpuTime(database)];
    for (let i = 0; i < rounds; i++) times.push((await who.get(path)).ms);
    const cpu = (cpuTime(database) - ofDatabase) / rounds;
    const allCpu = cpu + (cpuTime(service.pid) - ofService) / rounds;
    const [p50, p95] = [quantile(times, 0.5), quantile(times, 0.95)];
    const after = transferOf(first);
    isMissed ||= after + assets > FIRST_BYTES || after > AFTER_BYTES || p95 > MAX_MS;
    const sizes = [after + assets, after, html.length].map(kilobytes);
    const ms = [p50, p95, allCpu, cpu].map((value) => `${value.toFixed(1)} ms`);
    console.log(`| \`${name}\` | ${[...sizes, ...ms].join(' | ')} |`);
  }
  console.log(
    `\n${licences.toLocaleString('en')} licences; other processes took ${(others() * 100).toFixed(0)} % of the machine.\n`,
  );
  return isMissed;
}

/** Measures the storm with open pages. @returns whether it loses more than 5 % */
async function besideStorm(
  service: Server,
  db: Db,
  { licences, pairs, perSecond }: { licences: number; pairs: number; perSecond: number },
): Promise<boolean> {
  const who = await enter(`${service.url}${API_PATH}/pages`, '', await codeOf(db, OPERATOR));
  const storm = loaded({ name: 'storm', url: service.url, kind: 'validate', licences, pid: service.pid });
  const times: number[] = [];
  const withPages: Side = {
    name: 'storm with pages',
    async run(seconds) {
      const storming = { isOver: false };
      const clicking = (async () => {
        for (let i = 0; !storming.isOver; i++) {
          const started = performance.now();
          const { status, ms } = await who.get(CLICKED[i % CLICKED.length]!);
          if (status !== 200) throw new Error(`${CLICKED[i % CLICKED.length]} answered ${status}.`);
          times.push(ms);
          await sleep(Math.max(0, 1000 / perSecond - (performance.now() - started)));
        }
      })();
      const sample = await storm.run(seconds);
      storming.isOver = true;
      await clicking;
      return sample;
    },
  };
  const samples = await inTurns([storm, withPages], { pairs, seconds: 5, warmUp: 3 }, () => undefined);
  const kept = median(samples.map(([alone, beside]) => beside.perSecond / alone.perSecond));
  const rate = (side: 0 | 1) =>
    Math.round(median(samples.map((pair) => pair[side].perSecond))).toLocaleString('en');
  console.log(
    `A validate storm answers ${rate(0)} a second alone and ${rate(1)} beside ${perSecond} pages a second: it loses ${((1 - kept) * 100).toFixed(1)} %. ` +
      `A page takes ${quantile(times, 0.5).toFixed(0)} ms in it (p95 ${quantile(times, 0.95).toFixed(0)} ms).\n`,
  );
  return kept < 0.95;
}

const OPERATOR = {
  kind: 'operator',
  actor: 'operator:bench',
  name: 'bench',
  scope: 'write',
  operatorId: null,
} as const;

function codeOf(db: Db, who: CodeFor): Promise<string> {
  const lifetime = who.kind === 'operator' ? OPERATOR_CODE_TTL_MS : CUSTOMER_CODE_TTL_MS;
  return createCode(db, who, lifetime, new Date());
}

async function enter(pages: string, below: string, code: string): Promise<Visitor> {
  const { headers, status } = await fetch(`${pages}${below}/enter/${code}`, {
    method: 'POST',
    redirect: 'manual',
    headers: { Origin: new URL(pages).origin },
  });
  if (status !== 303) throw new Error(`Signing in answered ${status}.`);
  return visitor(
    pages,
    headers
      .getSetCookie()
      .map((cookie) => cookie.split(';')[0])
      .join('; '),
  );
}

/** Returns a browser that keeps its connection, and accepts compressed answers. */
function visitor(pages: string, cookie: string): Visitor {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    get: (path) =>
      new Promise((resolve, reject) => {
        const started = performance.now();
        const headers = { Cookie: cookie, 'Accept-Encoding': 'br, gzip', 'Accept-Language': 'en' };
        const address = path.startsWith('/api/') ? `${new URL(pages).origin}${path}` : `${pages}${path}`;
        httpGet(address, { agent, headers }, (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () =>
            resolve({
              ...{ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) },
              ms: performance.now() - started,
            }),
          );
        }).on('error', reject);
      }),
  };
}

/** Returns the bytes of an answer: its headers, and its body in the transferred form. */
function transferOf({ headers, body }: Answer): number {
  return body.length + JSON.stringify(headers).length;
}

/** Returns the page without compression. */
function unpack({ headers, body }: Answer): Buffer {
  return headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
}

/** Returns the bytes of a page's style, script and pictures. */
async function assetsOf(page: Buffer, who: Visitor): Promise<number> {
  const html = page.toString();
  const addresses = [...html.matchAll(/<(?:link|script|img|use)[^>]* (?:href|src)="(\/[^"#]+)/g)].map(
    ([, path]) => path!,
  );
  const answers = await Promise.all([...new Set(addresses)].map((path) => who.get(path)));
  return answers.reduce((sum, answer) => sum + transferOf(answer), 0);
}

function kilobytes(bytes: number): string {
  return `${(bytes / 1000).toFixed(1)} KB`;
}

main().then(
  (code) => (process.exitCode = code),
  (error: unknown) => {
    console.error(error);
    process.exitCode = 1;
  },
);
