import { get as httpGet, Agent, type IncomingHttpHeaders } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import {
  createCode,
  CUSTOMER_CODE_LIFETIME_MS,
  OPERATOR_CODE_LIFETIME_MS,
  type CodeFor,
} from '../src/access/one-time-codes';
import { API_PATH } from '../src/api';
import type { Db } from '../src/store/database';
import { openMigrated } from '../test/support/service-process';
import { makeListData } from './lists';
import { inTurns, loaded, median, quantile, watchOthers, type Side } from './measure';
import { openStage, type Stage } from './stage';

/** `npm run bench:pages`: what the pages weigh, how long they take with many licences, and what they cost a validate storm. */

const HELP = `Usage: npm run bench:pages [-- --licenses N] [--rounds N] [--pairs N] [--per-second N]

  --licenses N    in the database (20000; docs/performance.md: 1000000)
  --rounds N      requests of each page (100)
  --pairs N       rounds of a validate storm with and without pages (10; 0: none)
  --per-second N  pages opened beside the storm (1: five people who open one every five seconds)
`;

const OPERATOR_PAGES = [
  ...['/', '/licenses', '/licenses?q=f', '/licenses?q=order-77', '/licenses?status=expired'],
  ...['/licenses?expiring=30d', '/licenses?plan_id=2&status=active', '/licenses/new'],
  ...['/licenses/5001', '/licenses/7', '/licenses/7/requests', '/licenses/7/history'],
  ...[
    '/requests',
    '/customers',
    '/customers?q=agency',
    '/releases?product_id=42',
    '/products',
    '/products/42',
  ],
  ...['/system', '/tokens', '/imports'],
];
const OPEN_PAGES = ['/sign-in', '/my'];
/** Opened in turns beside the storm. */
const CLICKED = ['/', '/licenses', '/licenses/5001', '/licenses?q=order-77', '/licenses/7/requests'];
const AGENCY = 'agency@example.org';

const FIRST_BYTES = 150_000;
const AFTER_BYTES = 40_000;
const MOST_MS = 100;

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
    const missed = [await timePages(stage, licences, rounds)];
    if (pairs > 0) missed.push(await besideStorm(stage, licences, pairs, perSecond));
    for (const fact of await stage.facts()) console.log(`- ${fact}`);
    return missed.some(Boolean) ? 1 : 0;
  } finally {
    await stage.stop();
  }
}

/** @returns whether a page is too slow or too heavy */
async function timePages(stage: Stage, licences: number, rounds: number): Promise<boolean> {
  console.error(`making ${licences.toLocaleString('en')} licences with their requests and events`);
  const db = await makeListData(stage.mariadb, licences, 'pages');
  const service = await stage.service({
    LICENSING_DATABASE_URL: stage.mariadb.url('pages'),
    LICENSING_MANAGE_RATE_LIMIT: '1000000',
  });
  const others = watchOthers();
  try {
    const pages = `${service.url}${API_PATH}/pages`;
    const operator = await enter(pages, '', await codeOf(db, OPERATOR));
    const customer = await enter(pages, '/my', await codeOf(db, { kind: 'customer', email: AGENCY }));
    const nobody = visitor(pages, '');
    const visits: [Visitor, string, string][] = [
      ...OPERATOR_PAGES.map((path): [Visitor, string, string] => [operator, path, path]),
      ...OPEN_PAGES.map((path): [Visitor, string, string] => [nobody, path, path]),
      [customer, '/my', '/my (by mail)'],
    ];
    console.log('| Page | First visit | After | HTML | p50 | p95 |\n|---|---|---|---|---|---|');
    let isMissed = false;
    for (const [who, path, name] of visits) {
      const first = await who.get(path);
      if (first.status !== 200) {
        console.log(`| \`${name}\` | answered ${first.status} | | | | |`);
        isMissed = true;
        continue;
      }
      const assets = await assetsOf(first, who);
      const times: number[] = [];
      for (let i = 0; i < rounds; i++) times.push((await who.get(path)).ms);
      const [p50, p95] = [quantile(times, 0.5), quantile(times, 0.95)];
      const after = transferOf(first);
      isMissed ||= after + assets > FIRST_BYTES || after > AFTER_BYTES || p95 > MOST_MS;
      console.log(
        `| \`${name}\` | ${kilobytes(after + assets)} | ${kilobytes(after)} | ${kilobytes(first.body.length)} | ${p50.toFixed(1)} ms | ${p95.toFixed(1)} ms |`,
      );
    }
    console.log(
      `\n${licences.toLocaleString('en')} licences; other processes took ${(others() * 100).toFixed(0)} % of the machine.\n`,
    );
    return isMissed;
  } finally {
    await stage.clear();
    await db.raw('DROP DATABASE pages');
    await db.destroy();
  }
}

/** @returns whether the storm loses more than 5 % */
async function besideStorm(
  stage: Stage,
  licences: number,
  pairs: number,
  perSecond: number,
): Promise<boolean> {
  const url = await stage.dataSet(licences);
  const service = await stage.service({ LICENSING_DATABASE_URL: url });
  const db = await openMigrated({ LICENSING_DATABASE_URL: url });
  const who = await enter(`${service.url}${API_PATH}/pages`, '', await codeOf(db, OPERATOR));
  await db.destroy();
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
  await stage.clear();
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
  const lifetime = who.kind === 'operator' ? OPERATOR_CODE_LIFETIME_MS : CUSTOMER_CODE_LIFETIME_MS;
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

/** A browser that keeps its connection, and takes what is compressed. */
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

/** Bytes of an answer: its body as it was sent, and its headers. */
function transferOf({ headers, body }: Answer): number {
  return body.length + JSON.stringify(headers).length;
}

/** Bytes of the style, the script and the pictures of a page. */
async function assetsOf({ body }: Answer, who: Visitor): Promise<number> {
  const html = body.toString();
  const addresses = [...html.matchAll(/<(?:link|script|img)[^>]* (?:href|src)="(\/[^"]+)"/g)].map(
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
