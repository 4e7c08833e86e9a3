import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { addSigningKey } from '../src/licensing/signing-keys';
import { startGalera } from '../test/support/galera';
import { residentMemory } from '../test/support/processes';
import type { MariaDb } from '../test/support/servers';
import { openMigrated } from '../test/support/service-process';
import { countedChecks, growDataSet, makeDataSet, refreshStatistics } from './data';
import {
  children,
  inTurns,
  loaded,
  median,
  quantile,
  together,
  watchOthers,
  type Pace,
  type Sample,
  type Side,
} from './measure';
import { HOSTILE_SETTINGS, openHostile } from './hostile';
import { makeListData, readListsOf, timeLists } from './lists';
import type { Reading, Result } from './report';
import { SMALL, type Server, type Stage } from './stage';
import { openTransactionLoop } from './transaction-loop';
import { openWebhooks, WEBHOOK_SETTINGS } from './webhooks';

/** The rows of the table. Each compares two sides, and has limits. */

export interface Options {
  quick: boolean;
  pace: Pace;
  memoryMinutes: number;
  /** the number for the row `lists` */
  licenses: number;
  /** receives progress messages */
  say: (text: string) => void;
}

export interface Row {
  about: string;
  run(stage: Stage, options: Options): Promise<Result[]>;
}

const perSecond = (limits: Partial<Reading>): Reading => ({
  what: 'requests a second',
  value: (sample) => sample.perSecond,
  unit: '/s',
  ...limits,
});

const CPU: Reading = { what: 'CPU', value: (sample) => sample.cpu ?? NaN, unit: ' ms/1,000' };

export const rows: Record<string, Row> = {
  validate: {
    about: 'validate with identifier, 10,000 licences, against the bare route: rate, CPU and p99',
    async run(stage, options) {
      const service = await stage.service();
      const before = await countedChecks(stage.mariadb, SMALL);
      let answered = 0;
      const side = counted(validate(service), (requests) => (answered += requests));
      const results = await compare(options, side, validate(await stage.bare(), 'bare route'), [
        perSecond({ least: 0.7, goal: 0.85 }),
        { ...CPU, most: 1.6, goal: 1.3 },
        { what: 'p99', value: (sample) => sample.p99, unit: ' ms', most: 3, goal: 2 },
      ]);
      await stage.clear();
      // wrk stops before each connection's last answer, which the service has counted.
      const recorded = (await countedChecks(stage.mariadb, SMALL)) - before;
      const rounds = options.pace.pairs + 1;
      if (recorded < answered || recorded > answered + 64 * rounds)
        throw new Error(`${answered} validate calls were answered, ${recorded} are counted in the database.`);
      results[0]?.notes.push(`every one of ${answered.toLocaleString('en')} answered calls is counted`);
      return results;
    },
  },
  '1m': {
    about: 'validate at 1,000,000 licences against 10,000',
    run: (stage, options) => againstSmall(stage, options, 1_000_000),
  },
  '5m': {
    about: 'validate at 5,000,000 licences against 10,000 (with --quick only where they were kept)',
    run: (stage, options) => againstSmall(stage, options, 5_000_000),
  },
  grown: {
    about: 'validate while statistics are those of a first licence, grown to 50,000, against fresh ones',
    run: (stage, options) => onceGrown(stage, options, 'validate'),
  },
  unknown: {
    about: 'unknown keys in the same shop: old statistics against fresh ones',
    run: (stage, options) => onceGrown(stage, options, 'validate-unknown'),
  },
  alone: {
    about: 'one connection alone: grouped against the same handler with one prepared SELECT and one UPDATE',
    async run(stage, options) {
      const alone = (server: Server, name: string): Side =>
        loaded({ ...server, name, kind: 'validate', licences: SMALL, connections: 1 });
      return compare(
        options,
        alone(await stage.service(), 'one connection alone'),
        alone(await stage.without('grouping'), 'the same ungrouped'),
        [{ what: 'p50', value: (sample) => sample.p50, unit: ' ms', most: 1.15, goal: 1 }],
      );
    },
  },
  signed: {
    about:
      'signed answers: each a first one, with a nonce, of 1,000 licences, whose tokens are reused, and a tenth of all; against validate',
    async run(stage, options) {
      const url = await stage.freshDataSet('signed');
      const secret = randomBytes(32);
      const db = await openMigrated({ LICENSING_DATABASE_URL: url });
      await addSigningKey(db, secret, { actor: 'operator:bench', now: new Date() });
      await db.destroy();
      const service = await stage.service({
        LICENSING_DATABASE_URL: url,
        LICENSING_KEY_SECRET: secret.toString('base64'),
      });
      const signed = (name: string, kind: string, licences: number, least = 0.3) =>
        compare(options, loaded({ ...service, name, kind, licences }), validate(service), [
          perSecond({ least }),
          CPU,
        ]);
      return [
        ...(await signed('signed, first', 'validate-signed-first', SMALL)),
        ...(await signed('signed, reused', 'validate-signed', 1_000)),
        ...(await signed('a tenth signed', 'validate-tenth-signed', SMALL, 0.7)),
      ];
    },
  },
  hot: {
    about: 'one hot licence, all connections on it, against random keys',
    async run(stage, options) {
      const service = await stage.service();
      return compare(
        options,
        loaded({ ...service, name: 'one hot licence', kind: 'validate-one' }),
        validate(service, 'random keys'),
        [perSecond({ least: 0.9, goal: 1 })],
      );
    },
  },
  updates: {
    about: 'update checks against a bare route',
    async run(stage, options) {
      const updates = (server: Server, name: string): Side => loaded({ ...server, name, kind: 'updates' });
      return compare(
        options,
        updates(await stage.service(), 'updates'),
        updates(await stage.bare(), 'bare route'),
        [perSecond({ least: 0.8, goal: 0.9 })],
      );
    },
  },
  again: {
    about: 'activation of an already activated identifier against validate',
    async run(stage, options) {
      const service = await stage.service();
      return compare(
        options,
        loaded({ ...service, name: 'activation repeated', kind: 'activate-again', licences: SMALL }),
        validate(service),
        [perSecond({ least: 0.6, goal: 0.8 })],
      );
    },
  },
  activate: {
    about: 'new activations against a loop of the bare transaction on as many connections as the pool has',
    async run(stage, options) {
      const url = await stage.freshDataSet('activations');
      const service = await stage.service({ LICENSING_DATABASE_URL: url });
      const loop = await openTransactionLoop(url, SMALL);
      try {
        return await compare(
          options,
          loaded({ ...service, name: 'new activations', kind: 'activate-new', licences: SMALL }),
          {
            name: 'bare transactions',
            async run(seconds) {
              const { seconds: lasted, durations } = await loop.run(seconds);
              const requests = durations.length;
              const [p50, p99] = [quantile(durations, 0.5), quantile(durations, 0.99)];
              const rate = requests / lasted;
              return { perSecond: rate, bytesPerSecond: 0, p50, p99, cpu: undefined, requests, failed: 0 };
            },
          },
          [perSecond({ least: 0.7, goal: 0.9 })],
        );
      } finally {
        await loop.stop();
      }
    },
  },
  download: {
    about: 'download decisions (2 KB package, nginx with X-Accel) against validate through the same nginx',
    async run(stage, options) {
      const { service, nginx } = await behindNginx(stage);
      return compare(
        options,
        loaded({ ...nginx, name: 'downloads by nginx', kind: 'download', licences: SMALL }),
        validate({ ...service, url: nginx.url }, 'validate by nginx'),
        [perSecond({ least: 0.7, goal: 0.9 })],
      );
    },
  },
  counted: {
    about:
      'download decisions that tell sites and count networks, each in the same few networks and each in a random one, against the same without',
    async run(stage, options) {
      const service = async (part: 'nothing' | 'counting') => {
        const url = await stage.freshDataSet(`without_${part}`);
        return stage.without(part, {
          LICENSING_DATABASE_URL: url,
          LICENSING_PACKAGES_DIR: await stage.publish(url),
          LICENSING_ACCEL_LOCATION: '/_licensing_packages/',
        });
      };
      const [counting, without] = [await service('nothing'), await service('counting')];
      const results: Result[] = [];
      for (const [kind, name] of [
        ['download-told', 'downloads'],
        ['download', 'downloads, networks at random'],
      ] as const) {
        const side = (server: Server, how: string) =>
          loaded({ ...server, name: `${name}, ${how}`, kind, licences: SMALL });
        results.push(
          ...(await compare(options, side(counting, 'counted'), side(without, 'not counted'), [
            perSecond({ least: 0.95, goal: 0.98 }),
          ])),
        );
      }
      return results;
    },
  },
  package: {
    about:
      'a 20 MB package through nginx and the service against the same file from the same nginx: bytes a second',
    async run(stage, options) {
      const { nginx } = await behindNginx(stage);
      return compare(
        options,
        loaded({ ...nginx, name: '20 MB package', kind: 'download-large', licences: SMALL }),
        loaded({ ...nginx, name: 'static file', kind: `/static/${stage.largePackage}`, pid: undefined }),
        [
          {
            what: 'bytes a second',
            value: (sample) => sample.bytesPerSecond / 1e6,
            unit: ' MB/s',
            least: 0.9,
            goal: 0.97,
          },
        ],
      );
    },
  },
  lists: {
    about: "the operator's lists and look-ups with --licenses licences: p50 and p95 of a page against 100 ms",
    async run({ mariadb }, { licenses, quick, say }) {
      say(`making ${licenses.toLocaleString('en')} licences with their requests and events`);
      const db = await makeListData(mariadb, licenses, 'lists');
      const others = watchOthers();
      const timings = await timeLists(readListsOf(db), mariadb.process.pid as number, quick ? 20 : 100);
      await db.raw('DROP DATABASE lists');
      await db.destroy();
      const disturbed = others();
      return timings.map(({ name, rows: found, p50, p95, cpu }) => ({
        what: `${name} (${found}): p50 / p95`,
        values: [`${format(p50)} ms`, `${format(p95)} ms`],
        cpu: [cpu * 1000, undefined],
        ratios: [p95 / LIST_MS],
        most: 1,
        failed: 0,
        disturbed,
        notes: [],
      }));
    },
  },
  webhooks: {
    about:
      'validate while 10,000 changes an hour go to five receivers, one of which hangs, against the same without receivers; and how long a change takes to arrive',
    async run(stage, options) {
      const [told, untold] = [await stage.freshDataSet('told'), await stage.freshDataSet('untold')];
      const hooks = [await openWebhooks(told, 4, 1), await openWebhooks(untold, 0, 0)] as const;
      const service = (url: string) => stage.service({ ...WEBHOOK_SETTINGS, LICENSING_DATABASE_URL: url });
      const [beside, without] = [await service(told), await service(untold)];
      try {
        const results = await compare(
          options,
          hooks[0].changing(validate(beside, 'validate beside webhooks'), beside),
          hooks[1].changing(validate(without, 'without receivers'), without),
          [perSecond({ least: 0.95, goal: 0.98 })],
        );
        const lags = await hooks[0].lags();
        const [p50, p99] = [quantile(lags, 0.5), quantile(lags, 0.99)];
        const disturbed = results[0]?.disturbed ?? 0;
        return [
          ...results,
          {
            what: `a change until it has arrived, beside full load (${lags.length}): p50 / p99, against a second`,
            values: [`${format(p50)} ms`, `${format(p99)} ms`],
            ...{
              cpu: [undefined, undefined],
              ratios: [p99 / LAG_MS],
              most: 1,
              failed: 0,
              disturbed,
              notes: [`${hooks[0].refused()} changes were answered with 503`],
            },
          },
        ];
      } finally {
        for (const one of hooks) one.stop();
      }
    },
  },
  hostile: {
    about:
      'validate beside 20 requests a second that were made to be dear (compressed and large forms, wrong signatures, pages of 1,000 licences), each from another network, against validate without them',
    async run(stage, options) {
      const url = await stage.freshDataSet('hostile');
      const hostile = await openHostile(url);
      const service = await stage.service({ ...HOSTILE_SETTINGS, LICENSING_DATABASE_URL: url });
      const results = await compare(
        options,
        hostile.beside(validate(service), service),
        validate(service, 'validate alone'),
        [perSecond({ least: 0.9, goal: 0.97 })],
      );
      results[0]?.notes.push(...hostile.sent());
      return results;
    },
  },
  cluster: {
    about:
      'validate of random licences and of one, and new activations: a Galera cluster of three nodes on this machine, one of which is written to, against one server',
    async run(stage, options) {
      const nodes = await startGalera();
      try {
        const url = await makeDataSet(nodes[0] as MariaDb, SMALL, 'clustered');
        const list = nodes.map(({ port }) => `127.0.0.1:${port}`).join(',');
        const clustered = await stage.service({
          LICENSING_DATABASE_URL: url.replace(new URL(url).host, list),
        });
        const single = await stage.service({ LICENSING_DATABASE_URL: await stage.freshDataSet('single') });
        const results: Result[] = [];
        for (const [kind, name] of [
          ['validate', 'validate'],
          ['validate-one', 'one hot licence'],
          ['activate-new', 'new activations'],
        ] as const) {
          const side = (server: Server, where: string) =>
            loaded({ ...server, name: `${name}, ${where}`, kind, licences: SMALL });
          results.push(
            ...(await compare(options, side(clustered, 'cluster'), side(single, 'one server'), [
              perSecond({}),
              CPU,
              { what: 'p99', value: (sample) => sample.p99, unit: ' ms' },
            ])),
          );
        }
        return results;
      } finally {
        await stage.clear();
        for (const node of nodes) await node.stop('SIGKILL');
      }
    },
  },
  instances: {
    about: 'validate by three instances on this machine, a third of the connections each, against one',
    async run(stage, options) {
      const one = await stage.service();
      const sides: Side[] = [];
      for (const connections of [22, 21, 21])
        sides.push(
          loaded({
            ...(await stage.service()),
            ...{ name: 'instance', kind: 'validate', licences: SMALL, connections },
          }),
        );
      return compare(options, together('three instances', sides), validate(one, 'one instance'), [
        perSecond({}),
        CPU,
      ]);
    },
  },
  memory: {
    about:
      'resident memory of the service at the end of --memory-minutes of full load against its first tenth',
    async run(stage, { memoryMinutes, say }) {
      const service = await stage.service();
      const others = watchOthers();
      const side = validate(service);
      const seconds = Math.max(10, Math.round(memoryMinutes * 60));
      const load = side.run(seconds);
      const early = await residentMemoryAt(service, seconds / 10);
      say(`memory: ${early.toFixed(0)} MB after the first tenth`);
      const late = await residentMemoryAt(service, (seconds * 9) / 10);
      const { failed, requests } = await load;
      return [
        {
          what: `resident memory after ${memoryMinutes} min of load / after a tenth of it`,
          values: [`${late.toFixed(0)} MB`, `${early.toFixed(0)} MB`],
          cpu: [undefined, undefined],
          ratios: [late / early],
          // Set no limit in a short run, because a young process's heap still grows: it proves nothing about leaks.
          ...(memoryMinutes < 10 ? {} : { most: 1.1 }),
          failed,
          disturbed: others(),
          notes: [
            `${requests.toLocaleString('en')} requests; goal: under 150 MB` +
              (memoryMinutes < 10 ? '; judged only from 10 minutes on' : ''),
          ],
        },
      ];
    },
  },
};

/** The limit for a webhook's delay at the 99th percentile. */
const LAG_MS = 1_000;
/** The limit for a page of a list at the 95th percentile. */
const LIST_MS = 100;

function validate(server: Server, name = 'validate'): Side {
  return loaded({ ...server, name, kind: 'validate', licences: SMALL });
}

async function againstSmall(stage: Stage, options: Options, licences: number): Promise<Result[]> {
  if (options.quick && licences > 1_000_000 && !(await stage.isKept(licences))) {
    options.say(
      `${licences.toLocaleString('en')} licences are left out: they take minutes to make. A whole run keeps them.`,
    );
    return [];
  }
  const url = await stage.dataSet(licences);
  const large = await stage.service({ LICENSING_DATABASE_URL: url });
  return compare(
    options,
    loaded({ ...large, name: `${licences.toLocaleString('en')} licences`, kind: 'validate', licences }),
    validate(await stage.service(), '10,000 licences'),
    [perSecond({ least: 0.9, goal: 0.95 })],
  );
}

const GROWN = 50_000;

/** Starts and uses the service on the first licence, then grows the data. */
async function onceGrown(stage: Stage, options: Options, kind: string): Promise<Result[]> {
  let grown: Server | undefined;
  const isRefused = kind === 'validate-unknown';
  const side = (server: Server, name: string) =>
    loaded({ ...server, name, kind, licences: GROWN, isRefused });
  const grow = (name: string, whileSmall: (url: string) => Promise<void>) =>
    growDataSet(stage.mariadb, name, GROWN, whileSmall);
  await grow('grown', async (url) => {
    grown = await stage.service({ LICENSING_DATABASE_URL: url });
    await loaded({ ...grown, name: 'small', kind, isRefused }).run(2);
  });
  const url = await grow('grown_fresh', () => Promise.resolve());
  await refreshStatistics(stage.mariadb, 'grown_fresh');
  const fresh = await stage.service({ LICENSING_DATABASE_URL: url });
  const what = isRefused ? 'unknown keys' : 'validate';
  return compare(options, side(grown as Server, `${what}, shop grown`), side(fresh, 'fresh statistics'), [
    perSecond({ least: 0.95, goal: 1 }),
  ]);
}

async function behindNginx(stage: Stage): Promise<{ service: Server; nginx: Server }> {
  const service = await stage.service({ LICENSING_ACCEL_LOCATION: '/_licensing_packages/' });
  const { url } = await stage.nginx(service);
  return { service, nginx: { url, pid: service.pid } };
}

/** Returns the mean of up to ten seconds before `seconds` have passed, to even out garbage collection. */
async function residentMemoryAt({ pid }: Server, seconds: number): Promise<number> {
  const readings = Math.max(1, Math.min(10, Math.floor(seconds)));
  await sleep((seconds - readings) * 1000);
  let sum = 0;
  for (let i = 0; i < readings; i++) {
    await sleep(1000);
    sum += [pid, ...children(pid)].reduce((all, one) => Math.max(all, residentMemory(one)), 0);
  }
  return sum / readings;
}

/** Counts answers. @param count receives the number of successful answers in each round */
function counted(side: Side, count: (requests: number) => void): Side {
  return {
    ...side,
    async run(seconds) {
      const sample = await side.run(seconds);
      count(sample.requests - sample.failed);
      return sample;
    },
  };
}

/** Measures two sides in turns, and takes several readings from the same rounds. */
async function compare(
  { pace, say }: Options,
  a: Side,
  b: Side,
  readings: [Reading, ...Reading[]],
): Promise<Result[]> {
  const [first] = readings;
  const show = (sample: Sample) => `${format(first.value(sample))}${first.unit}`;
  const others = watchOthers();
  const samples = await inTurns([a, b], pace, (one, other) =>
    say(
      `${a.name} ${show(one)}, ${b.name} ${show(other)}: ${(first.value(one) / first.value(other)).toFixed(2)}`,
    ),
  );
  const disturbed = others();
  const middle = (side: 0 | 1, value: (sample: Sample) => number | undefined) => {
    const values = samples.map((pair) => value(pair[side]));
    return values.includes(undefined) ? undefined : median(values as number[]);
  };
  return readings.map(({ what, value, unit, ...limits }) => ({
    what: `${a.name} / ${b.name}: ${what}`,
    values: [`${format(middle(0, value))}${unit}`, `${format(middle(1, value))}${unit}`],
    cpu: [middle(0, (sample) => sample.cpu), middle(1, (sample) => sample.cpu)],
    ratios: samples.map(([one, other]) => value(one) / value(other)),
    failed: samples.reduce((sum, [one, other]) => sum + one.failed + other.failed, 0),
    // The CPU time should determine the rate. Where it does not, other load interfered.
    cpuRatios: what === 'requests a second' ? cpuRatios(samples) : undefined,
    disturbed,
    notes: [],
    ...limits,
  }));
}

function cpuRatios(samples: [Sample, Sample][]): number[] | undefined {
  const ratios = samples.map(([one, other]) => (other.cpu ?? NaN) / (one.cpu ?? NaN));
  return ratios.some(Number.isNaN) ? undefined : ratios;
}

function format(value = NaN): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(2);
}
