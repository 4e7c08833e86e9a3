#!/usr/bin/env node
import './process/node-version';
import { setFlagsFromString } from 'node:v8';
import { Command, CommanderError } from 'commander';
import { printableText } from './cli/printable';
import { selectCommands } from './cli/commands';
import { describeError, toCommandFailure } from './cli/describe-error';
import { hasStandardOutput, jsonLine, writeStandardOutput } from './cli/standard-output';
import { redactKeys } from './licensing/core/keys';
import type { WorkOnce } from './cli/work';
import { version } from './app/version';

/** Exit codes: 0 done; 1 refused or failed, with nothing changed unless the message says so; 2 usage error. */
const FAILED = 1;
const USAGE = 2;

/**
 * Runs the command of a line like process.argv, and returns its exit code.
 * @param isOwnProcess true if the process ends with the command, and may change to another user
 */
export async function run(argv: string[], isOwnProcess = false): Promise<number> {
  if (asksForVersion(argv.slice(2))) {
    writeStandardOutput(argv.includes('--json') ? jsonLine({ version }) : `${version}\n`);
    return 0;
  }
  const program = new Command('licensing')
    .description('Sells and serves software licences next to a Joomla site.')
    .addHelpText(
      'after',
      '\ndocs/operator.md lists the tasks of a seller, each with its command.\n"licensing --version" prints the version of this program.',
    )
    .option('--json', 'print one JSON value on standard output')
    .showHelpAfterError('(--help shows how)')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ writeErr: complain })
    .exitOverride();
  if (isOwnProcess)
    program.hook('preAction', async (_program, command) =>
      (await import('./cli/service-user.js')).leaveRoot(command),
    );
  for (const load of selectCommands(argv)) (await load())(program, workOnce);
  try {
    await program.parseAsync(asHelpOption(argv));
    return 0;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    // Commander has already written its usage errors to standard error.
    if (!(error instanceof CommanderError)) complain(`error: ${describeError(error)}\n`);
    if (argv.includes('--json') && !hasStandardOutput())
      writeStandardOutput(jsonLine({ error: toCommandFailure(error) }));
    return error instanceof CommanderError ? USAGE : FAILED;
  }
}

/** Runs the due work. It is loaded on demand, because only one command starts parts of the service. */
const workOnce: WorkOnce = async (...given) => (await import('./app/work.js')).runDueJobs(...given);

/** Reads `help license issue` as `license issue --help`, because Commander's own "help" knows only the first level. */
function asHelpOption(argv: string[]): string[] {
  const [node = '', script = '', first, ...rest] = argv;
  return first === 'help' && rest.length > 1 ? [node, script, ...rest, '--help'] : argv;
}

/** Writes to standard error, which cron jobs keep: a key typed in the wrong place must not be repeated there. */
function complain(text: string): void {
  process.stderr.write(printableText(redactKeys(text)));
}

/** Reports whether a line asks for the version. Commander's own option would also match that of "release publish". */
function asksForVersion(args: string[]): boolean {
  return (
    args.some((argument) => argument !== '--json') &&
    args.every((argument) => ['--version', '-V', '--json'].includes(argument))
  );
}

/** Runs the command of this process. */
export function main(): void {
  // Limit garbage, by default four times the live heap: moving 100,000 licences in took 264 MB instead of 163 MB.
  setFlagsFromString('--heap-growing-percent=50');
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // The reader may close the pipe early ("| head"), which is not a failure.
    if (error.code === 'EPIPE') process.exit();
    complain(
      `error: The output could not be written (${error.code || error.message}). The command may have changed something: check before you run it again.\n`,
    );
    process.exit(FAILED);
  });
  process.stderr.on('error', () => undefined);
  void run(process.argv, true).then((code) => {
    process.exitCode = code;
  });
}

// Tests import this file and run the command in their own process, and a release's cli.js calls main().
if (require.main === module) main();
