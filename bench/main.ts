import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { packageRoot } from '../src/settings/config';
import { summarizeProfile } from './profile';
import { isMissed, report, type Result } from './report';
import { rows, type Options } from './rows';
import { openStage } from './stage';

const PROFILES = join(packageRoot, 'var/bench/profiles');

const HELP = `Usage: npm run bench [-- [ROW...] [--quick] [--pairs N] [--seconds N] [--memory-minutes N] [--licenses N] [--profile]]

Measures the service against what its parts can do on this machine, on private servers, and prints ratios: the two
sides of each row run in turns, and the median of the pairs counts: of their rates, and where these and the CPU time of
the service's processes disagree, of the latter. Exits with 1 when a row misses what is asked.

Rows (all of them unless some are named):
${Object.entries(rows)
  .map(([name, { about }]) => `  ${name.padEnd(10)}${about}`)
  .join('\n')}

  --quick             short rounds: everything in about five minutes, for a first impression
  --pairs N           rounds of both sides (20; quick: 3)
  --seconds N         of each side in a round (2)
  --memory-minutes N  of load for the row "memory" (10; quick: 0.5)
  --licenses N        for the row "lists" (1000000; quick: 100000)
  --profile           of the services' CPU time: in var/bench/profiles, and a summary of each. It slows them, so that
                      nothing is judged

The data sets of 1,000,000 and 5,000,000 licences are made once, in some minutes, and kept in var/bench (about 7 GB).
Remove that folder to be rid of them.
`;

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      help: { type: 'boolean' },
      quick: { type: 'boolean', default: false },
      pairs: { type: 'string' },
      seconds: { type: 'string' },
      'memory-minutes': { type: 'string' },
      licenses: { type: 'string' },
      profile: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const unknown = positionals.filter((name) => !(name in rows));
  if (unknown.length > 0) throw new UsageError(`There is no row ${unknown.join(', ')}.`);
  const { quick } = values;
  const options: Options = {
    quick,
    pace: {
      pairs: positive(values.pairs, quick ? 3 : 20),
      seconds: Math.ceil(positive(values.seconds, 2)),
      warmUp: quick ? 3 : 15,
    },
    memoryMinutes: positive(values['memory-minutes'], quick ? 0.5 : 10),
    licenses: Math.ceil(positive(values.licenses, quick ? 100_000 : 1_000_000)),
    say,
  };
  const names = positionals.length === 0 ? Object.keys(rows) : positionals;
  if (!values.profile) return run(names, options);
  rmSync(PROFILES, { recursive: true, force: true });
  mkdirSync(PROFILES, { recursive: true });
  await run(names, options, PROFILES);
  for (const name of readdirSync(PROFILES).sort())
    console.log(`\n${name}\n${summarizeProfile(join(PROFILES, name))}`);
  return 0;
}

async function run(names: string[], options: Options, profiles?: string): Promise<number> {
  const stage = await openStage(say, profiles);
  const results: Result[] = [];
  let broken = false;
  try {
    for (const name of names) {
      say(`-- ${name}: ${rows[name]?.about ?? ''}`);
      try {
        results.push(...((await rows[name]?.run(stage, options)) ?? []));
      } catch (error) {
        // Measure the other rows even after a failure.
        broken = true;
        say(`${name} could not be measured: ${(error as Error).message}`);
      }
      await stage.clear();
    }
    const { pairs, seconds } = options.pace;
    console.log(`\n${report(results)}\n`);
    for (const fact of await stage.facts()) console.log(`- ${fact}`);
    console.log(
      `- ${pairs} pairs of ${seconds} s a side; CPU: ms of the service's processes for 1,000 requests`,
    );
  } finally {
    say('stopping');
    await stage.stop();
  }
  return broken || results.some(isMissed) ? 1 : 0;
}

class UsageError extends Error {}

function positive(text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback;
  const value = Number(text);
  if (!(value > 0)) throw new UsageError(`"${text}" is not a number above 0.`);
  return value;
}

const started = performance.now();
function say(text: string): void {
  console.error(`${((performance.now() - started) / 1000).toFixed(0).padStart(5)} s  ${text}`);
}

main()
  .then((code) => process.exit(code))
  .catch((error: unknown) => {
    const usage =
      error instanceof UsageError || (error as { code?: string }).code?.startsWith('ERR_PARSE_ARGS');
    console.error(usage ? `${(error as Error).message} See --help.` : error);
    process.exit(usage ? 2 : 1);
  });
