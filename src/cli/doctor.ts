import { open } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { InvalidArgumentError, type Command } from 'commander';
import { ConfigError } from '../base/errors';
import { loginName, readConfig, wantsColor, type Config } from '../settings/config';
import { readEffective } from '../settings/stored';
import { countOf } from '../base/count-of';
import { runChecks } from '../doctor/examine';
import { problem, type CommandFinding, type CheckContext } from '../doctor/finding';
import { OperatorError } from '../licensing/operator-error';
import { asCaller } from '../process/rights';
import { explainReadFault } from '../packages/file-faults';
import { authorities, fileName } from './arguments';
import { doctor as english } from '../texts/operators/en/doctor';
import { createOutput, type Output } from './command';
import { STATEMENT_TIMEOUT_MS, withDatabase, type Db } from '../setup/database';
import { printable } from './printable';

interface DoctorOptions {
  url?: URL;
  ca?: string[];
  repair?: boolean;
  log?: string;
}

export function addDoctorCommand(program: Command): void {
  program
    .command('doctor')
    .summary('find problems, and print how to fix each')
    .description(
      'Checks the configuration, the database, Redis, the packages, the sealed keys and the counters. With --url, it also checks the site as customers see it: ' +
        'whether nginx forwards requests to the service, passes on client addresses and sends packages (it tries this with a licence that it makes and removes at once). ' +
        'Run it as the user that the service runs as. The exit code is 1 if there is a problem.',
    )
    .option('--url <url>', "the site's address as customers know it", siteUrl)
    .option(
      '--ca <file>',
      "CA certificates in PEM form that may have signed the site's certificate, in addition to those that Node knows",
      authorities,
    )
    .option('--repair', 'correct counters that differ from the activations in the database')
    .option(
      '--log <file>',
      'count the requests for addresses of a former system in this log of the web server; - reads standard input',
      fileName,
    )
    .addHelpText('after', '\nExample:\n  licensing doctor --url https://shop.example')
    .action(async (options: DoctorOptions, command: Command) => {
      const output = createOutput(command);
      const findings = await findAll(options, output);
      const count = (label: string) => findings.filter((one) => labelOf(one) === label).length;
      const [problems, warnings, unknown] = [count('problem'), count('warning'), count('unknown')];
      output.print(
        { ok: problems === 0, problems, warnings, unknown, findings: findings.map(inEnglish) },
        () =>
          [
            ...findings.map(formatFinding),
            '',
            `${countOf(problems, 'problem')}, ${countOf(warnings, 'warning')}, ${unknown} unknown.`,
          ].join('\n'),
      );
      if (problems > 0) throw new OperatorError(`The doctor found ${countOf(problems, 'problem')}.`);
    });
}

async function findAll({ url, ca, repair, log }: DoctorOptions, output: Output): Promise<CommandFinding[]> {
  if (ca !== undefined && url?.protocol !== 'https:')
    throw new OperatorError(
      '--ca is for the certificate of a site: name the site with --url https://YOUR.SITE.',
    );
  let config: Config;
  try {
    config = readConfig();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return [
      problem('CONFIGURATION', error.message, {
        why: 'The service and the commands cannot start, and nothing else could be checked.',
        remedy: 'Correct the setting that is named.',
      }),
    ];
  }
  const look = async (db: Db) =>
    runChecks({
      // Without the database, use the settings of the environment.
      config: await readEffective(db, config).catch(() => config),
      db,
      now: () => new Date(),
      url,
      ca,
      repairAs: repair ? `operator:${loginName()}` : undefined,
      progress: (text) => output.progress(text),
      ...(log !== undefined && { log: await openLog(log) }),
    });
  return withDatabase(config, look, STATEMENT_TIMEOUT_MS).finally(() => output.endProgress());
}

/** Opens a log. @throws OperatorError if it cannot be read */
async function openLog(file: string): Promise<NonNullable<CheckContext['log']>> {
  if (file === '-')
    return { name: 'Standard input', readLines: () => createInterface({ input: process.stdin }) };
  try {
    const handle = await asCaller(() => open(file));
    return { name: file, readLines: () => handle.readLines() };
  } catch (error) {
    throw new OperatorError(`${file} cannot be read: ${explainReadFault(error)}.`, {
      code: 'INVALID_REQUEST',
      field: 'log',
    });
  }
}

/** Returns a finding with its English texts, which all commands use. */
function inEnglish({ code, level, checked, say }: CommandFinding) {
  const { what, why, remedy } = say(english);
  return { code, level, checked, what, why, remedy };
}

/** Returns the label of a finding. A check that could not run has neither passed nor failed. */
function labelOf({ level, checked }: CommandFinding): CommandFinding['level'] | 'unknown' {
  return checked ? level : 'unknown';
}

function formatFinding(finding: CommandFinding): string {
  const { level, checked, what, why, remedy } = inEnglish(finding);
  return [
    `${colored(labelOf(finding).padEnd(7), level)}  ${printable(what)}`,
    ...(why === null || !checked ? [] : [`         why: ${printable(why)}`]),
    ...(remedy === null ? [] : [`         -> ${printable(remedy)}`]),
  ].join('\n');
}

function colored(text: string, level: CommandFinding['level']): string {
  if (!wantsColor(process.stdout)) return text;
  const color = { ok: 32, warning: 33, problem: 31 }[level];
  return `\u001b[${color}m${text}\u001b[39m`;
}

/** Reads the site's address: `https://shop.example`, plus the folder of a site in a subfolder. */
function siteUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.search || url.username)
    throw new InvalidArgumentError('It must be the address of the site, such as https://shop.example.');
  return url;
}
