import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { sharedFolder } from '../test/support/processes';
import { startRedis } from '../test/support/servers';
import type * as ServiceProcess from '../test/support/service-process';
import type * as Data from './data';
import { inTurns, loaded, median, type Load, type Sample, type Side } from './measure';
import { openStage, SMALL, writeProgram } from './stage';

type Requests = Pick<Load, 'kind' | 'licences' | 'connections' | 'isRefused'>;

/** The load of each row, with the number of connections if it is not 64. */
const KINDS: Record<string, Requests> = {
  validate: { kind: 'validate', licences: SMALL },
  alone: { kind: 'validate', licences: SMALL, connections: 1 },
  unknown: { kind: 'validate-unknown', licences: SMALL, isRefused: true },
  pasted: { kind: 'validate-unknown-pasted', licences: SMALL, isRefused: true },
  imported: { kind: 'validate-unknown-imported', licences: SMALL, isRefused: true },
  hot: { kind: 'validate-one' },
  updates: { kind: 'updates' },
  again: { kind: 'activate-again', licences: SMALL },
  activate: { kind: 'activate-new', licences: SMALL },
  download: { kind: 'download', licences: SMALL },
};

const HELP = `Usage: npm run bench:against -- DIR [ROW...] [--starts N] [--pairs N]

Compares this version with another checkout of it, side by side: DIR must be installed (npm ci) and built (npm run build).
Both run on one MariaDB and one Redis, and are loaded in turns. A ratio above 1 means that this version is faster.

Rows: ${Object.keys(KINDS).join(', ')} (all of them unless some are named)

  --starts N  new processes of both versions (6). Two starts of the same build can differ by a quarter, so the medians
              of several starts count
  --pairs N   rounds of a second of both sides with each start (4)
`;

/** Loads a module of either checkout; import() would need its file extension. */
const load = createRequire(__filename);

/** A checkout with its own service on its own data set. */
interface Version {
  name: string;
  dir: string;
  url: string;
  settings: Record<string, string>;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { help: { type: 'boolean' }, starts: { type: 'string' }, pairs: { type: 'string' } },
  });
  const [other, ...named] = positionals;
  const rows = named.length > 0 ? named : Object.keys(KINDS);
  const starts = Number(values.starts ?? 6);
  const pairs = Number(values.pairs ?? 4);
  const isUsable = rows.every((row) => row in KINDS) && starts > 0 && pairs > 0;
  if (values.help === true || other === undefined || !isUsable) {
    console.log(HELP);
    process.exitCode = values.help === true ? 0 : 2;
    return;
  }
  if (!existsSync(join(other, 'dist/src/main.js'))) throw new Error(`${resolve(other)} is not built.`);
  writeProgram(resolve(other));
  const stage = await openStage(console.error);
  try {
    const redis = await startRedis();
    const open = async (name: string, dir: string): Promise<Version> => {
      const data = load(join(dir, 'bench/data')) as typeof Data;
      const url = await data.makeDataSet(stage.mariadb, SMALL, name);
      const packagesDir = sharedFolder();
      await data.publishPackages(url, packagesDir);
      const settings = {
        LICENSING_DATABASE_URL: url,
        LICENSING_REDIS_URL: redis.url,
        LICENSING_RATE_LIMIT: '1000000000',
        LICENSING_PACKAGES_DIR: packagesDir,
        LICENSING_ACCEL_LOCATION: '/_licensing_packages/',
      };
      return { name, dir, url, settings };
    };
    const versions: [Version, Version] = [
      await open('this_version', join(__dirname, '..')),
      await open('other_version', resolve(other)),
    ];
    console.log(
      '| Row | this | other | ratio | by CPU | CPU this | CPU other |\n|---|---|---|---|---|---|---|',
    );
    for (const row of rows) console.log(await compare(row, versions, starts, pairs));
    await redis.stop();
  } finally {
    await stage.stop();
  }
}

/** Compares two versions. @returns the row's line of the table: medians of the starts' medians */
async function compare(row: string, versions: [Version, Version], starts: number, pairs: number) {
  const medians: { rate: number; cpu: number; sides: [Sample, Sample] }[] = [];
  for (let start = 1; start <= starts; start++) {
    const running = await Promise.all(versions.map((version) => startVersion(version, row)));
    const [mine, others] = running.map(({ side }) => side) as [Side, Side];
    // Let the other version begin after each start, as after each round.
    const swapped = start % 2 === 0;
    const samples = await inTurns(
      swapped ? [others, mine] : [mine, others],
      { pairs, seconds: 1, warmUp: 4 },
      () => undefined,
    );
    const ordered = samples.map(([a, b]): [Sample, Sample] => (swapped ? [b, a] : [a, b]));
    const failed = ordered.flat().reduce((sum, sample) => sum + sample.failed, 0);
    if (failed > 0) throw new Error(`${row}: ${failed} requests failed.`);
    medians.push({
      rate: median(ordered.map(([a, b]) => a.perSecond / b.perSecond)),
      cpu: median(ordered.map(([a, b]) => (b.cpu ?? NaN) / (a.cpu ?? NaN))),
      sides: [middle(ordered.map(([a]) => a)), middle(ordered.map(([, b]) => b))],
    });
    for (const { stop } of running) await stop();
  }
  const [a, b] = [0, 1].map((i) => middle(medians.map(({ sides }) => sides[i] as Sample))) as [
    Sample,
    Sample,
  ];
  const cells = [
    row,
    `${a.perSecond.toFixed(0)}/s`,
    `${b.perSecond.toFixed(0)}/s`,
    median(medians.map(({ rate }) => rate)).toFixed(2),
    median(medians.map(({ cpu }) => cpu)).toFixed(2),
    `${a.cpu?.toFixed(0) ?? ''} µs`,
    `${b.cpu?.toFixed(0) ?? ''} µs`,
  ];
  return `| ${cells.join(' | ')} |`;
}

async function startVersion({ name, dir, settings }: Version, row: string) {
  // Let each checkout start its own build.
  const own = load(join(dir, 'test/support/service-process')) as typeof ServiceProcess;
  const service = await own.startServiceProcess(settings);
  const requests = KINDS[row] as Requests;
  const side = loaded({ name, url: service.url, pid: service.process.pid, ...requests });
  return { side, stop: () => service.stop() };
}

/** Returns the sample with the median rate. */
function middle(samples: Sample[]): Sample {
  const rates = samples.map(({ perSecond }) => perSecond).sort((a, b) => a - b);
  return samples.find(({ perSecond }) => perSecond === rates[rates.length >> 1]) as Sample;
}

main()
  .then(() => process.exit())
  .catch((error: unknown) => {
    console.error(error);
    process.exit(1);
  });
