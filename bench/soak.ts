import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { packageRoot } from '../src/settings/config';
import { table } from '../src/store/engine/database';
import {
  duration,
  findLosses,
  isHealthy,
  isUnavailable,
  openStand,
  startLoad,
  usage,
  type Call,
  type Stand,
} from '../test/support/load';
import { startNginx } from '../test/support/nginx';
import { sharedFolder } from '../test/support/processes';
import { lineChart, type Series } from './chart';

/**
 * Runs two instances behind nginx under a mixed load with a fault each minute, then compares all acknowledged changes
 * with the stored data. Writes var/soak/soak.md and soak.svg.
 */

const DEFAULT_MINUTES = 20;
const MAX_MINUTES = 180;
const CLIENTS = 24;
const PAUSE_MS = 15;
const SAMPLE_MS = 5_000;
/** The time allowed for full recovery after a fault. */
const RECOVERY_MS = 5_000;
const FOLDER = join(packageRoot, 'var/soak');

interface Fault {
  name: string;
  run: (site: Site) => Promise<unknown>;
}

interface Site {
  stand: Stand;
  redis: Redis;
  pids: () => number[];
  kill: (instance: number) => Promise<unknown>;
  restart: (instance: number) => Promise<void>;
  start: (instance: number) => Promise<void>;
}

const FAULTS: Fault[] = [
  {
    name: 'MariaDB killed, back after 5 s',
    async run({ stand: { mariadb } }) {
      await mariadb.stop('SIGKILL');
      await sleep(5_000);
      await mariadb.start();
    },
  },
  {
    name: 'Redis killed, back after 10 s, empty',
    async run({ stand: { redis } }) {
      await redis.stop('SIGKILL');
      await sleep(10_000);
      await redis.start();
    },
  },
  {
    name: 'one instance killed, back after 3 s',
    async run({ kill, start }) {
      await kill(0);
      await sleep(3_000);
      await start(0);
    },
  },
  {
    name: 'MariaDB hung for 15 s',
    async run({ stand: { mariadb } }) {
      mariadb.hang();
      await sleep(15_000);
      mariadb.resume();
    },
  },
  {
    name: 'both instances restarted in turns',
    async run({ restart }) {
      await restart(0);
      await restart(1);
    },
  },
  {
    name: 'Redis hung for 10 s',
    async run({ stand: { redis } }) {
      redis.hang();
      await sleep(10_000);
      redis.resume();
    },
  },
  {
    name: 'a licence locked by somebody else for 15 s',
    async run({ stand: { db } }) {
      const holder = await db.transaction();
      await holder(table(db, 'licenses')).orderBy('id').first().forUpdate();
      await sleep(15_000);
      await holder.rollback();
    },
  },
  {
    name: 'packages folder gone for 5 s',
    async run({ stand: { packagesDir } }) {
      renameSync(packagesDir, `${packagesDir}.aside`);
      await sleep(5_000);
      renameSync(`${packagesDir}.aside`, packagesDir);
    },
  },
  {
    name: 'Redis out of memory for 10 s',
    async run({ redis }) {
      await redis.config('SET', 'maxmemory', '1');
      await sleep(10_000);
      await redis.config('SET', 'maxmemory', '0');
    },
  },
  {
    name: 'MariaDB restarted in good order',
    async run({ stand: { mariadb } }) {
      await mariadb.stop('SIGTERM');
      await mariadb.start();
    },
  },
];

interface Window {
  name: string;
  from: number;
  to: number;
}

interface Sample {
  at: number;
  ok: number;
  refused: number;
  unanswered: number;
  memory: number;
  descriptors: number;
}

async function main(): Promise<boolean> {
  const { values } = parseArgs({
    options: { minutes: { type: 'string', default: String(DEFAULT_MINUTES) } },
  });
  const minutes = Number(values.minutes);
  if (!(minutes > 0 && minutes <= MAX_MINUTES))
    throw new Error(`--minutes must be a number above 0, at most ${MAX_MINUTES}.`);
  mkdirSync(FOLDER, { recursive: true });
  say('starting MariaDB, Redis, nginx and two instances');
  const stand = await openStand({ LICENSING_ACCEL_LOCATION: '/_licensing_packages/' });
  const redis = new Redis(stand.redis.url, { maxRetriesPerRequest: null });
  redis.on('error', () => undefined);
  const folder = sharedFolder();
  const sockets = ['1', '2'].map((name) => `unix:${join(folder, `${name}.sock`)}`);
  const launch = (i: number) => stand.start({ LICENSING_LISTEN: sockets[i] as string });
  const instances = [await launch(0), await launch(1)];
  const nginx = await startNginx({ upstream: sockets, packagesDir: stand.packagesDir });
  const start = async (i: number) => {
    instances[i] = await launch(i);
  };
  const site: Site = {
    stand,
    redis,
    pids: () =>
      instances
        .filter(({ process }) => process.exitCode === null && process.signalCode === null)
        .map(({ process }) => process.pid as number),
    kill: (i) => instances[i]!.stop('SIGKILL'),
    async restart(i) {
      await instances[i]!.stop('SIGTERM');
      await start(i);
    },
    start,
  };
  try {
    return await soak(site, nginx.url, minutes);
  } finally {
    say('stopping');
    redis.disconnect();
    await nginx.stop();
    await stand.close();
  }
}

/** Runs the test. @returns whether all checks passed */
async function soak(site: Site, url: string, minutes: number): Promise<boolean> {
  const { stand } = site;
  const totals = new Map<string, number>();
  const failed: Call[] = [];
  let current = { ok: 0, refused: 0, unanswered: 0 };
  let slowest = 0;
  const load = startLoad(url, await stand.newGoods(), {
    clients: CLIENTS,
    pause: PAUSE_MS,
    onCall(call) {
      const kind = isHealthy(call) ? 'ok' : call.status === undefined ? 'unanswered' : 'refused';
      current[kind]++;
      const name = classOf(call);
      totals.set(name, (totals.get(name) ?? 0) + 1);
      slowest = Math.max(slowest, duration(call));
      if (kind !== 'ok') failed.push(call);
    },
  });

  const samples: Sample[] = [];
  const sampling = setInterval(() => {
    const used = site.pids().flatMap((pid) => {
      try {
        return [usage(pid)];
      } catch {
        return [];
      }
    });
    samples.push({
      at: load.now(),
      ...current,
      memory: used.reduce((sum, { memory }) => sum + memory, 0),
      descriptors: used.reduce((sum, { descriptors }) => sum + descriptors, 0),
    });
    current = { ok: 0, refused: 0, unanswered: 0 };
  }, SAMPLE_MS);

  const windows: Window[] = [];
  for (let minute = 0; minute < minutes; minute++) {
    // Start the fault at 20 s of each minute, so that recovery ends before the next one.
    await until(load.now, minute * 60_000 + 20_000);
    const { name, run } = FAULTS[minute % FAULTS.length]!;
    say(`minute ${minute + 1} of ${minutes}: ${name}`);
    const from = load.now();
    await run(site);
    windows.push({ name, from, to: load.now() });
  }
  await until(load.now, minutes * 60_000);
  clearInterval(sampling);
  const lasted = load.now();
  await load.stop();

  say('comparing what was acknowledged with what is stored');
  const losses = await findLosses(stand.db, load.book);
  const stray = failed.filter(
    ({ sentAt, answeredAt }) =>
      !windows.some(({ from, to }) => answeredAt >= from && sentAt <= to + RECOVERY_MS),
  );
  const { text, svg } = await report(site, {
    samples,
    windows,
    totals,
    losses,
    stray,
    slowest,
    lasted,
    load,
    failed,
  });
  writeFileSync(join(FOLDER, 'soak.md'), text);
  writeFileSync(join(FOLDER, 'soak.svg'), svg);
  console.log(text);
  say(`written to ${relative(process.cwd(), FOLDER)}/soak.md and soak.svg`);
  return losses.length === 0 && stray.length === 0;
}

interface Figures {
  samples: Sample[];
  windows: Window[];
  totals: Map<string, number>;
  losses: string[];
  stray: Call[];
  slowest: number;
  lasted: number;
  load: ReturnType<typeof startLoad>;
  failed: Call[];
}

async function report(site: Site, figures: Figures): Promise<{ text: string; svg: string }> {
  const { samples, windows, totals, losses, stray, slowest, lasted, load, failed } = figures;
  const { db } = site.stand;
  const { checks, activations, downloads, goods } = load.book;
  const ids = goods.licenses.map(({ id }) => id);
  const stored = await db(table(db, 'licenses'))
    .whereIn('id', ids)
    .sum<{ checks: string; activations: string }>({ checks: 'check_count', activations: 'activations_used' })
    .first();
  const sum = (values: number[]) => values.reduce((a, b) => a + b, 0);
  const answered = sum([...totals.values()]);
  const rows: [string, string][] = [
    ['Length', `${number(lasted / 60_000, 1)} min`],
    ['Load held', `${number(answered / (lasted / 1000))} calls/s of ${CLIENTS} clients`],
    ['Faults survived', String(windows.length)],
    ['Calls', number(answered)],
    ...[...totals]
      .sort(([, a], [, b]) => b - a)
      .map(([name, count]): [string, string] => [`- ${name}`, number(count)]),
    ['Refused or unanswered more than 5 s after a fault', String(stray.length)],
    ['Slowest answer', `${number(slowest / 1000, 1)} s`],
    [
      'Validations acknowledged / stored / sent',
      [sum(checks.map((one) => one.acknowledged)), Number(stored!.checks), sum(checks.map((one) => one.sent))]
        .map((n) => number(n))
        .join(' / '),
    ],
    [
      'Activations acknowledged / stored / sent',
      [
        sum(activations.map((one) => one.acknowledged.size)),
        Number(stored!.activations),
        sum(activations.map((one) => one.sent.size)),
      ]
        .map((n) => number(n))
        .join(' / '),
    ],
    ['Downloads that came whole', number(downloads)],
    ['Lost', String(losses.length)],
    [
      'Memory of both instances, first and last minute',
      `${meanOf(samples.slice(0, 12))} and ${meanOf(samples.slice(-12))} MB`,
    ],
  ];
  const within = ({ from, to }: Window) =>
    failed.filter(({ answeredAt, sentAt }) => answeredAt >= from && sentAt <= to + RECOVERY_MS);
  const faults = windows.map((window, i) => {
    const hit = within(window);
    const last = Math.max(window.to, ...hit.map(({ answeredAt }) => answeredAt));
    return [
      String(i + 1),
      window.name,
      number((window.to - window.from) / 1000, 1),
      number(hit.filter(({ status }) => status !== undefined).length),
      number(hit.filter(({ status }) => status === undefined).length),
      number((last - window.to) / 1000, 1),
    ];
  });
  const text = [
    `Two instances behind nginx on ${cpus().length} cores (${cpus()[0]?.model.trim() ?? ''}), ${Math.round(totalmem() / 1024 ** 3)} GB, which MariaDB, Redis and the clients share; Node ${process.version}, ${new Date().toISOString().slice(0, 10)}.`,
    '',
    markdown([['', 'Measured'], ...rows]),
    '',
    markdown([
      ['', 'Fault', 'Lasted (s)', 'Refused', 'Unanswered', 'Last of them after its end (s)'],
      ...faults,
    ]),
    '',
    '![Answers, memory and descriptors over time](soak.svg)',
    ...(losses.length > 0 ? ['', '## Lost', ...losses.map((loss) => `- ${loss}`)] : []),
    ...(stray.length > 0
      ? ['', '## Outside of faults', ...stray.slice(0, 20).map((call) => `- ${JSON.stringify(call)}`)]
      : []),
    '',
  ].join('\n');
  const seconds = SAMPLE_MS / 1000;
  const times = samples.map(({ at }) => at / 60_000);
  const series = (name: string, color: string, value: (sample: Sample) => number): Series => ({
    name,
    color,
    values: samples.map(value),
  });
  const svg = lineChart({
    times,
    marks: windows.map(({ from, to }, i) => ({ from: from / 60_000, to: to / 60_000, label: String(i + 1) })),
    panels: [
      {
        title: 'Calls a second',
        series: [
          series('answered', '#2a7f3f', ({ ok }) => ok / seconds),
          series('refused (503, package missing)', '#d98000', ({ refused }) => refused / seconds),
          series('unanswered', '#c02020', ({ unanswered }) => unanswered / seconds),
        ],
      },
      {
        title: 'Memory of both instances, MB',
        series: [series('resident', '#2060b0', ({ memory }) => memory)],
      },
      {
        title: 'Open descriptors of both instances',
        series: [series('descriptors', '#7040a0', ({ descriptors }) => descriptors)],
      },
    ],
  });
  return { text, svg };
}

function classOf(call: Call): string {
  if (isHealthy(call)) return call.status === 200 ? 'answered 200' : 'refused: no slot is free (403)';
  if (call.status === undefined) return 'unanswered: the connection failed';
  if (isUnavailable(call)) return 'refused: not available, try again (503)';
  return `refused: ${call.status} ${call.code ?? ''}`;
}

function meanOf(samples: Sample[]): string {
  return number(samples.reduce((sum, { memory }) => sum + memory, 0) / Math.max(1, samples.length));
}

function number(value: number, digits = 0): string {
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function markdown(lines: string[][]): string {
  const [head = [], ...rest] = lines;
  return [head, head.map(() => '---'), ...rest].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

async function until(now: () => number, moment: number): Promise<void> {
  await sleep(Math.max(0, moment - now()));
}

const began = performance.now();
function say(text: string): void {
  console.error(`${((performance.now() - began) / 1000).toFixed(0).padStart(5)} s  ${text}`);
}

main()
  .then((held) => process.exit(held ? 0 : 1))
  .catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  });
