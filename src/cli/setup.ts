import { join, resolve } from 'node:path';
import { InvalidArgumentError, type Command } from 'commander';
import { readConfig, readPublicUrl, type Config } from '../settings/config';
import { ConfigError } from '../base/errors';
import { readJoomlaSite } from '../joomla/site/configuration';
import { OperatorError } from '../licensing/operator-error';
import { countOf } from '../base/count-of';
import { readText } from '../setup/files';
import { removeFromJournal, appendToJournal, readJournal, SETUP_STATE_DIR } from '../setup/journal';
import { asUser, runLine, exitsWithZero } from '../setup/machine';
import { requireSystemd, unitProperty } from '../setup/units';
import { folderName, upTo, usageError } from './arguments';
import { createOutput, type Output } from './command';
import { caFile, keepAuthority, withAuthority } from './machine/authority';
import {
  lockMachineChanges,
  DATA,
  CURRENT,
  commandLineOf,
  runningTree,
  packagedUnit,
  packageOwning,
  requireRoot,
  SETTINGS,
  settingsOfUnit,
  throwIfStopped,
  UNIT,
  USER,
} from './machine/place';
import type { Setup } from './machine/step';
import { DOOR, setupSteps } from './machine/steps';
import { describeUndo, undo } from './machine/undo';
import { findWebServer } from './machine/web-servers';

const MAX_INSTANCES = 9;

interface SetupOptions {
  joomlaRoot?: string;
  url?: URL;
  instances?: number;
  ca?: string;
  dryRun?: boolean;
  undo?: boolean;
}

export function addSetupCommand(program: Command): void {
  program
    .command('setup')
    .summary('install the service next to a Joomla site: user, tables, unit, web server')
    .description(
      'Does everything that docs/production.md and docs/joomla-site.md do by hand. It sets up the user of the service, .env, the tables, the systemd unit and its instances, ' +
        "the files of nginx or Apache, the lines in the site's own file (the web server tests them first), and the component for Joomla. Then the doctor checks the result. " +
        'Run it as root. A second run adds only what is missing.',
    )
    .option('--joomla-root <dir>', "the folder with the site's configuration.php", folderName)
    .option('--url <url>', "the site's address, such as https://shop.example", siteAddress)
    .option(
      '--instances <count>',
      'the number of processes; default: two, or one on a machine with less than 1 GB of memory',
      upTo(MAX_INSTANCES),
    )
    .option('--ca <file>', "CA certificates in PEM form that may have signed the site's certificate", caFile)
    .option('--dry-run', 'only print what would be changed')
    .option('--undo', 'undo its changes, and keep the data')
    .addHelpText(
      'after',
      '\nExamples:\n  licensing setup --joomla-root /var/www/shop --url https://shop.example --dry-run\n  licensing setup --joomla-root /var/www/shop --url https://shop.example\n  licensing setup --undo',
    )
    .action(async (options: SetupOptions, command: Command) => {
      const output = createOutput(command);
      requireRoot('setup ...');
      await requireSystemd();
      const { undo: isUndone = false, dryRun = false, joomlaRoot, url } = options;
      if (!isUndone && (joomlaRoot === undefined || url === undefined))
        usageError(command, 'Name the site: both --joomla-root DIR and --url https://YOUR.SITE are needed.');
      await lockMachineChanges(isUndone ? 'licensing setup --undo' : 'licensing setup', output);
      if (joomlaRoot === undefined || url === undefined || isUndone) return takeBack(dryRun, output);
      await setUp({ ...options, joomlaRoot: resolve(joomlaRoot), url }, output);
    });
}

async function setUp(
  options: SetupOptions & { joomlaRoot: string; url: URL },
  output: Output,
): Promise<void> {
  const { joomlaRoot, url, dryRun = false } = options;
  refuseUnreadableSite(joomlaRoot);
  await refuseOtherUser();
  const unitText = readText(packagedUnit() ?? join(runningTree, 'deploy', UNIT)) ?? '';
  const setup: Setup = {
    joomlaRoot,
    url,
    instances: options.instances,
    envFile: await settingsOfUnit(unitText),
    webServer: await findWebServer(url),
    output,
    stale: { instances: false },
    byHand: [],
  };
  // Plan all steps first, so that every refusal comes before the first change.
  const planned: { step: string; changes: string[] }[] = [];
  for (const step of setupSteps(setup)) {
    planned.push({ step: step.title, changes: (await step.look()).map(({ words }) => words) });
    throwIfStopped('Nothing was changed.');
  }
  if (dryRun) {
    output.print({ changed: false, steps: planned }, () =>
      [...planned.map(({ step, changes }) => describeStep(step, changes)), 'Nothing was changed.'].join('\n'),
    );
    return;
  }
  let made = 0;
  for (const step of setupSteps(setup)) {
    const changes = await step.look();
    output.note(
      describeStep(
        step.title,
        changes.map(({ words }) => words),
      ),
    );
    for (const change of changes) {
      throwIfStopped('Run it again to continue from here, or undo the changes: licensing setup --undo');
      const entry = await change.make();
      if (entry !== undefined) await appendToJournal(entry);
      made++;
    }
  }
  const doctor = await examine(setup, options.ca, output);
  const last = await closing(setup);
  output.print(
    {
      changed: made > 0,
      steps: planned,
      doctor: doctor === 0 ? 'ok' : 'problems',
      env_file: setup.envFile,
      door: DOOR,
    },
    () =>
      [
        made === 0
          ? 'Nothing was changed: everything is already set up.'
          : `Done: ${countOf(made, 'change')}. "licensing setup --undo" undoes them, and keeps the data.`,
        '',
        last,
      ].join('\n'),
  );
  if (setup.byHand.length > 0)
    throw new OperatorError(`Everything is set up, except for this:\n${setup.byHand.join('\n')}`);
  if (doctor !== 0)
    throw new OperatorError('The service is set up, but the doctor found problems: see above.');
}

function describeStep(title: string, changes: string[]): string {
  const lines = changes.flatMap((words) => words.split('\n'));
  return [
    `${title}${lines.length === 0 ? ': nothing to change' : ''}`,
    ...lines.map((line) => `  ${line}`),
  ].join('\n');
}

function refuseUnreadableSite(root: string): void {
  try {
    readJoomlaSite(root);
  } catch (error) {
    if (error instanceof ConfigError)
      throw new OperatorError(error.message, { code: 'INVALID_REQUEST', field: 'joomla_root' });
    throw error;
  }
}

/** Refuses a unit with another user: with our user, a unit that was adapted by hand would lose its settings file. */
async function refuseOtherUser(): Promise<void> {
  const user = await unitProperty('licensing@1', 'User');
  if (user !== '' && user !== USER)
    throw new OperatorError(
      `licensing@.service runs as the user ${user}, and setup supports only the user ${USER}. Nothing was changed. ` +
        `Either continue by hand (docs/production.md), or write User=${USER} into the unit and run this again.`,
    );
}

/** Runs the doctor as the service's user, who has fewer permissions than root. @returns the doctor's exit code */
async function examine(
  { url, webServer, envFile }: Setup,
  ca: string | undefined,
  output: Output,
): Promise<number | null> {
  output.note('doctor');
  await keepAuthority(ca);
  const address = url.href.replace(/\/$/, '');
  // Replace root's environment, which the service does not have.
  const env = { PATH: '/usr/local/bin:/usr/bin:/bin', LICENSING_ENV_FILE: envFile };
  const { code, stdout, stderr } = await withAuthority(address, (options) =>
    runLine(asUser(USER, webServer.group, commandLineOf(CURRENT, ['doctor', '--url', address, ...options])), {
      env,
    }),
  );
  output.note(stdout.trimEnd());
  if (code !== 0 && stdout === '') output.note(stderr.trimEnd());
  return code;
}

/** Returns the closing text: what to type next, and what to back up. */
async function closing({ envFile, url }: Setup): Promise<string> {
  const config = readConfig({ LICENSING_ENV_FILE: envFile });
  const { line, what } = await copyOfTables(config);
  return `Keep a copy of three things, also on another machine (docs/backup.md has a script for every night). This line makes a copy in /root/licensing-copy:
  install -d -m 700 /root/licensing-copy && cd /root/licensing-copy && cp ${shellWord(envFile)} licensing.env && cp -R ${shellWord(config.packagesDir)} . && ${line}
- ${envFile}: without its LICENSING_KEY_SECRET, no key can be shown again
- ${what}
- the packages in ${config.packagesDir}

Next, in your browser:
  sudo -u ${USER} licensing sign-in          prints a link to the pages
  ${DOOR}     upload it in Joomla's administrator (System > Install > Extensions); then Components > Licensing > Open
Your first licence, in a shell (docs/joomla-site.md has the next steps):
  sudo -u ${USER} licensing product add --name "Example" --id 42 --element pkg_example
  sudo -u ${USER} licensing plan add --product 42 --name Single --activation-type domain --activation-limit 1 --duration 1y
  sudo -u ${USER} licensing license issue --plan 1 --customer you@${url.hostname}`;
}

/** Returns a shell line that copies the tables into the current folder, and their description. */
async function copyOfTables({ database, tablePrefix }: Config): Promise<{ line: string; what: string }> {
  if (database.kind === 'sqlite')
    return {
      line: `sudo -u ${USER} licensing export --out - > everything.jsonl`,
      what: `the tables in ${database.path}, which that file contains (docs/move.md shows how to read it back)`,
    };
  const [client, dump] = (await exitsWithZero(['mariadb-dump', '--version']))
    ? ['mariadb', 'mariadb-dump']
    : ['mysql', 'mysqldump'];
  const { host, port, user, socketPath, database: name } = database;
  // Root needs no password on this machine.
  const isHere = socketPath !== undefined || ['localhost', '127.0.0.1', '::1'].includes(host);
  const server = isHere ? '' : `--host=${shellWord(host)} --port=${port} --user=${shellWord(user)} -p `;
  const like = `${tablePrefix}licensing_%`.replaceAll('_', '\\_');
  const tables = `$(${client} ${server}-N -e "SHOW TABLES LIKE '${like}'" ${shellWord(name)})`;
  return {
    // Without this option, the server refuses MySQL's dump if it uses global transaction ids.
    line: `${dump} ${server}${dump === 'mysqldump' ? '--set-gtid-purged=OFF ' : ''}--single-transaction --no-tablespaces ${shellWord(name)} ${tables} > licensing.sql`,
    what: `the tables ${tablePrefix}licensing_... of the database ${name}`,
  };
}

function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

async function takeBack(dryRun: boolean, output: Output): Promise<void> {
  const made = readJournal().made.toReversed();
  if (made.length === 0)
    throw new OperatorError(
      `There is nothing to undo: ${SETUP_STATE_DIR} has no record of a setup. docs/remove.md shows how to remove the service by hand.`,
    );
  const words = made.map(describeUndo);
  const remarks: string[] = [];
  if (!dryRun)
    for (const [i, one] of made.entries()) {
      throwIfStopped('Run it again to undo the rest.');
      output.note(words[i] ?? '');
      remarks.push(...(await undo(one)));
      await removeFromJournal(one);
    }
  const packaged = await packageOwning(runningTree);
  output.print({ changed: !dryRun, steps: words, left: remarks }, () =>
    dryRun
      ? [...words, 'Nothing was changed.'].join('\n')
      : [
          ...remarks,
          `The changes are undone. These stay: the tables, the settings with LICENSING_KEY_SECRET (${SETTINGS}, or .env in ${CURRENT}), the packages and update XMLs in ${DATA}, ` +
            `their owner, the user ${USER}, the web server's licensing.log, and the program's folder. ${SETUP_STATE_DIR} has copies of the site's files. docs/remove.md shows how to remove these as well.`,
          ...(packaged === undefined ? [] : [`To remove the package too: apt-get remove ${packaged}`]),
        ].join('\n'),
  );
}

function siteAddress(text: string): URL {
  const address = readPublicUrl(text.trim());
  if (address === undefined)
    throw new InvalidArgumentError('It must be the address of the site, such as https://shop.example.');
  return new URL(address);
}
