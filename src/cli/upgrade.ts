import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { readConfig, type Config } from '../settings/config';
import { OperatorError } from '../licensing/operator-error';
import { isWithin } from '../process/units';
import { countOf } from '../base/count-of';
import {
  backUpTables,
  countRowsSince,
  readBackTables,
  readHighestIds,
  requireReadable,
  type HighestIds,
} from '../setup/backup';
import { readText, writeText } from '../setup/files';
import { appendToJournal, readJournal, SETUP_STATE_DIR, lastWrittenText } from '../setup/journal';
import { heldLock } from '../setup/lock';
import { asUser, lastLines, runLine, runOrThrow } from '../setup/machine';
import { readInstances, requireSystemd, rollingRestart, unitProperty, waitUntilReady } from '../setup/units';
import { fileName, usageError } from './arguments';
import { createOutput, type Output } from './command';
import { withDatabase } from '../setup/database';
import { caFile, keepAuthority, withAuthority } from './machine/authority';
import {
  lockMachineChanges,
  CURRENT,
  commandLineOf,
  NGINX_FILES,
  packagedUnit,
  packageOwning,
  requireRoot,
  settingsOfUnit,
  throwIfStopped,
  currentTree,
  UNIT,
  UNIT_FILE,
  USER,
  versionOfTree,
} from './machine/place';
import {
  moveSettingsToEtc,
  futurePath,
  switchCurrentLink,
  installTree,
  readPackage,
  repack,
  requireRunnable,
  type NewTree,
} from './machine/releases';
import { isReady } from './machine/unit-step';

interface UpgradeOptions {
  backup: boolean;
  ca?: string;
  back?: boolean;
}

export function addUpgradeCommand(program: Command): void {
  program
    .command('upgrade')
    .summary('upgrade to another version, or go back to the one before')
    .description(
      'Makes a backup of the tables, installs the new version next to the present one, brings the tables up to date, and restarts one instance after the other: ' +
        "with two instances, no request is refused. It also updates the web server's files if they changed, and the doctor checks the result. Run it as root. " +
        'With --back, it returns to the version before. If that version cannot use the present tables, it also restores the backup.',
    )
    .argument(
      '[file]',
      'the archive or the .deb of the new version, or a folder with its built program',
      fileName,
    )
    .option('--no-backup', 'make no backup of the tables')
    .option(
      '--ca <file>',
      "CA certificates in PEM form that may have signed the site's certificate; default: those of NODE_EXTRA_CA_CERTS, or of the last setup or upgrade",
      caFile,
    )
    .option('--back', 'return to the version before; it prints which data since the upgrade are lost')
    .addHelpText(
      'after',
      '\nExamples:\n  licensing upgrade licensing-gateway-0.2.0-linux-x64.tar.gz\n  licensing upgrade --back',
    )
    .action(
      async (file: string | undefined, { backup, ca, back = false }: UpgradeOptions, command: Command) => {
        if ((file === undefined) !== back)
          usageError(
            command,
            back ? '--back takes no file.' : 'Name the archive or folder of the new version, or --back.',
          );
        const output = createOutput(command);
        requireRoot('upgrade ...');
        await requireSystemd();
        await lockMachineChanges(back ? 'licensing upgrade --back' : 'licensing upgrade', output);
        await keepAuthority(ca);
        const live = await readLive();
        if (file === undefined) await goBack(live, output);
        else await upgrade(live, file, backup, output);
      },
    );
}

/** The installation before the upgrade. */
interface Live {
  tree: string;
  version: string;
  /** the .deb package that owns the tree */
  owner: string | undefined;
  config: Config;
  envFile: string;
  /** the unit's user */
  user: string;
  group: string;
  /** the instances that run, or start with the machine */
  instances: string[];
}

async function readLive(): Promise<Live> {
  const tree = currentTree();
  const version = tree === undefined ? undefined : versionOfTree(tree);
  if (tree === undefined || version === undefined)
    throw new OperatorError(`Nothing is installed in ${CURRENT}. "licensing setup" installs it.`);
  const unit = packagedUnit() ?? UNIT_FILE;
  const envFile = await settingsOfUnit(readText(unit) ?? '');
  const config = readConfig({ LICENSING_ENV_FILE: envFile });
  // Restart stopped instances first, like deploy/restart-in-turns: an interrupted rollback may have stopped them.
  const instances = (await readInstances())
    .sort((one, other) => Number(one.isRunning) - Number(other.isRunning))
    .map(({ name }) => name);
  const [user, group] = await Promise.all(
    ['User', 'Group'].map((property) => unitProperty(instances[0] ?? 'licensing@1', property)),
  );
  return {
    tree,
    version,
    owner: await packageOwning(tree),
    config,
    envFile,
    user: user || USER,
    group: group || 'www-data',
    instances,
  };
}

/** The record of an upgrade that `--back` needs (rollback). */
interface Upgrade {
  at: string;
  from: Version;
  to: Version;
  /** undefined with --no-backup */
  backup?: { file: string; extent: HighestIds };
  /** the migrations that the tables had */
  completed: string[];
  /** the copy of tables that a rollback began to replace by the backup; until it ends, they match no version */
  replaced?: string;
}

interface Version {
  version: string;
  tree: string;
  /** a .deb that reinstalls the version */
  package?: string;
  /** true if an upgrade created the tree, so that a rollback removes it */
  isCopy?: boolean;
}

const NOTE = join(SETUP_STATE_DIR, 'upgrade.json');
const BACKUPS = join(SETUP_STATE_DIR, 'backups');
const KEPT_BACKUPS = 4;

function readUpgrade(): Upgrade | undefined {
  const text = readText(NOTE);
  return text === undefined ? undefined : (JSON.parse(text) as Upgrade);
}

/** Records the upgrade. @param made undefined if no rollback is possible */
async function writeUpgrade(made: Upgrade | undefined): Promise<void> {
  await mkdir(SETUP_STATE_DIR, { recursive: true, mode: 0o700 });
  if (made === undefined) await rm(NOTE, { force: true });
  else await writeText(NOTE, `${JSON.stringify(made, null, 1)}\n`, { mode: 0o600 });
}

async function upgrade(live: Live, given: string, withBackup: boolean, output: Output): Promise<void> {
  const last = readUpgrade();
  if (last?.replaced !== undefined)
    throw new OperatorError(
      `An earlier "upgrade --back" to ${last.from.version} was interrupted while it restored the tables. Nothing was changed. Finish it first: licensing upgrade --back`,
    );
  const path = resolve(given);
  const isPackage = path.endsWith('.deb');
  if (live.owner !== undefined && !isPackage)
    throw new OperatorError(
      `The program in ${CURRENT} belongs to the package ${live.owner}: give the .deb of the new version. Nothing was changed.`,
    );
  if (live.owner === undefined && isPackage)
    throw new OperatorError(
      `The program in ${CURRENT} was not installed as a package: give the archive of the new version (.tar.gz). Nothing was changed.`,
    );
  if (isPackage) return upgradePackage(live, path, withBackup, output);
  refuseDataIn(live);
  const next = await installTree(path, live.tree);
  let made: Upgrade | undefined;
  try {
    await requireRunnable(next);
    await moveSettingsToEtc(live.tree, next.path);
    const { completed } = await requireMigratable(live, next.path);
    output.note(`The new version ${next.version} is in ${next.path}.`);
    throwIfStopped('Nothing was changed.');
    const cutOff =
      last !== undefined && isCutOff(live, last) && haveOther(completed, last) ? last : undefined;
    if (cutOff !== undefined)
      output.note(
        `An upgrade to ${cutOff.to.version} was interrupted after it had changed tables. ${cutOff.backup === undefined ? 'It made no backup (--no-backup), so you cannot go back' : 'If you go back, the tables from before that upgrade are restored'}.`,
      );
    const { backup, completed: then } = cutOff ?? {
      completed,
      backup: withBackup ? await backUp(live, `before-${next.version}`, output) : undefined,
    };
    throwIfStopped('Nothing was changed.');
    made = {
      at: new Date().toISOString(),
      from: { version: live.version, tree: futurePath(live.tree) },
      to: { version: next.version, tree: next.path, isCopy: next.isCopy },
      ...(backup && { backup }),
      completed: then,
    };
    // Record the upgrade before the tables change, so that a rollback is possible however this process ends.
    await writeUpgrade(made);
    await migrateWith(live, next.path, output);
  } catch (error) {
    if (made !== undefined && (await isChangedSince(live, made)))
      throw new OperatorError(
        `${(error as Error).message}\nTables were changed. Fix the cause and run it again, or go back: licensing upgrade --back`,
      );
    if (made !== undefined) await writeUpgrade(last);
    if (next.isCopy) await rm(next.path, { recursive: true, force: true });
    throw error;
  }
  await swap(live, next, output);
  await removeOld(live, next, last);
  await finish(live, next.path, output);
  output.print(
    { from: live.version, to: next.version, tree: next.path },
    `Version ${next.version} runs. "licensing upgrade --back" returns to ${live.version}.`,
  );
}

/** Reports whether the upgrade was interrupted before the new version was live. */
function isCutOff({ tree, version, owner }: Live, made: Upgrade): boolean {
  return (
    owner === undefined &&
    made.to.tree !== tree &&
    made.from.version === version &&
    (made.from.tree === tree || tree === CURRENT)
  );
}

function haveOther(now: string[], { completed }: Upgrade): boolean {
  return now.join() !== completed.join();
}

/** Reports whether tables were changed since the upgrade began; true also if it cannot be determined. */
async function isChangedSince(live: Live, made: Upgrade): Promise<boolean> {
  if (made.replaced !== undefined) return true;
  return statusWith(live, made.to.tree).then(
    ({ completed }) => haveOther(completed, made),
    () => true,
  );
}

/** Refuses data in the program's tree, which the next upgrade would leave behind. */
function refuseDataIn({ tree, config }: Live): void {
  const { packagesDir, xmlDir, database } = config;
  const paths = [packagesDir, xmlDir, ...(database.kind === 'sqlite' ? [dirname(database.path)] : [])];
  const inside = paths.filter((one) => isWithin(one, [tree, CURRENT]));
  if (inside.length > 0)
    throw new OperatorError(
      `${inside.join(', ')} is in the program's folder, which a new version replaces. Nothing was changed. First move it to /var/lib/licensing, set its new path in .env, and restart the service.`,
    );
}

/** Lets the other version check the tables. @throws OperatorError with the other version's message */
async function statusWith(live: Live, tree: string): Promise<{ pending: string[]; completed: string[] }> {
  const { code, stdout, stderr } = await runAsService(live, tree, ['migrate', '--status', '--json']);
  const answer = JSON.parse(stdout || '{}') as {
    pending?: string[];
    completed?: string[];
    error?: { message: string };
  };
  if (code !== 0 || answer.pending === undefined)
    throw new OperatorError(answer.error?.message ?? (lastLines(stderr) || 'The database was not checked.'));
  return { pending: answer.pending, completed: answer.completed ?? [] };
}

async function requireMigratable(live: Live, tree: string): Promise<{ completed: string[] }> {
  try {
    return await statusWith(live, tree);
  } catch (error) {
    throw new OperatorError(
      `The new version cannot use these tables. Nothing was changed. ${(error as Error).message}`,
    );
  }
}

function runAsService(live: Live, tree: string, args: string[]) {
  const env = { PATH: '/usr/local/bin:/usr/bin:/bin', LICENSING_ENV_FILE: settingsIn(live, tree) };
  return runLine(asUser(live.user, live.group, commandLineOf(tree, args)), { env });
}

/** Returns the settings file for another tree: a file inside the program's folder moves with it. */
function settingsIn({ envFile, tree: from }: Live, tree: string): string {
  const inside = [CURRENT, from].find((folder) => isWithin(envFile, [folder]));
  return inside === undefined ? envFile : join(tree, envFile.slice(inside.length));
}

async function backUp(
  { config }: Live,
  name: string,
  output: Output,
): Promise<NonNullable<Upgrade['backup']>> {
  return withDatabase(config, async (db) => {
    const extent = await readHighestIds(db);
    const time = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
    const file = await backUpTables(db, config, BACKUPS, `${time}-${name}`);
    output.note(`The tables are saved in ${file}.`);
    // Delete old backups, because they contain customers' data, and the nightly backup is elsewhere.
    const needed = [file, readUpgrade()?.backup?.file];
    for (const old of readdirSync(BACKUPS).sort().slice(0, -KEPT_BACKUPS))
      if (!needed.includes(join(BACKUPS, old))) await rm(join(BACKUPS, old));
    return { file, extent };
  });
}

async function migrateWith(live: Live, tree: string, output: Output): Promise<void> {
  const { pending } = await statusWith(live, tree);
  if (pending.length === 0) return output.note('The tables need no change.');
  output.note('Bringing the tables up to date. With a million licences, this takes some minutes.');
  // Stop the service first, because it would keep the file open (docs/upgrade.md).
  const stop = live.config.database.kind === 'sqlite' && live.instances.length > 0;
  if (stop) await runOrThrow(['systemctl', 'stop', ...live.instances]);
  const { code, stdout, stderr } = await runAsService(live, tree, ['migrate']);
  if (code !== 0) {
    if (stop) await runOrThrow(['systemctl', 'start', ...live.instances]);
    throw new OperatorError(
      `The tables were not brought up to date, and version ${live.version} still runs: ${lastLines(stderr || stdout)}`,
    );
  }
  output.note(`The tables are up to date: ${pending.join(', ')}.`);
}

/** Makes the new version the live one. */
async function swap(live: Live, next: NewTree, output: Output): Promise<void> {
  const from = futurePath(live.tree);
  await lead(next.path);
  await followUnit(from, next.path, output);
  await restart(live, output);
}

/** Removes old trees, except those of this version and of a rollback. A checkout may contain a person's own work. */
async function removeOld(live: Live, next: NewTree, last: Upgrade | undefined): Promise<void> {
  const kept = [realpathSync(CURRENT), next.path, readUpgrade()?.from.tree];
  const old =
    last?.to.tree === live.tree
      ? last.from
      : last !== undefined && isCutOff(live, last)
        ? last.to
        : undefined;
  if (
    old !== undefined &&
    !kept.includes(old.tree) &&
    isWithin(old.tree, [dirname(CURRENT)]) &&
    !existsSync(join(old.tree, '.git'))
  )
    await rm(old.tree, { recursive: true, force: true });
}

/** Updates HOME, and the journal's record of its link, which undo compares. */
async function lead(tree: string): Promise<void> {
  await switchCurrentLink(tree);
  const link = readJournal().made.find((one) => one.kind === 'link' && one.path === CURRENT);
  if (link?.kind === 'link') await appendToJournal({ ...link, to: tree });
}

async function restart({ instances, version }: Live, output: Output): Promise<void> {
  if (instances.length === 0) return;
  try {
    await rollingRestart(instances, isReady);
  } catch (error) {
    throw new OperatorError(
      `${(error as Error).message}\nThe remaining instances were not restarted, and still run version ${version}. "licensing upgrade --back" returns to it.`,
    );
  }
  output.note(`${instances.join(', ')} restarted, one after the other.`);
}

/** Replaces the unit with the new version's, if it is identical to the previous version's. */
async function followUnit(from: string, to: string, output: Output): Promise<void> {
  const [there, before, after] = [UNIT_FILE, ...[from, to].map((tree) => join(tree, 'deploy', UNIT))].map(
    (path) => readText(path),
  );
  if (there === undefined || after === undefined || there === after) return;
  if (there !== before)
    return output.note(
      `${UNIT_FILE} was changed by hand and stays. The file of the new version: ${join(CURRENT, 'deploy', UNIT)}`,
    );
  await writeText(UNIT_FILE, after);
  // Update the record that undo compares with the unit.
  if (lastWrittenText(UNIT_FILE) !== undefined)
    await appendToJournal({ kind: 'unit-file', path: UNIT_FILE, text: after });
  await runOrThrow(['systemctl', 'daemon-reload']);
}

/** Updates the web server's files and runs the doctor. After `setup`, the new version's `setup` does all of it. */
async function finish(live: Live, tree: string, output: Output): Promise<void> {
  const { joomlaRoot, publicUrl } = live.config;
  for (const one of BY_HAND) await followWebServer(live, tree, one, output);
  const isSetUp = readJournal().made.some(({ kind }) => kind === 'site');
  if (isSetUp && joomlaRoot !== undefined && publicUrl !== undefined) {
    const { code, stdout, stderr } = await runLine(
      commandLineOf(tree, ['setup', '--joomla-root', joomlaRoot, '--url', publicUrl, '--json']),
      { pass: heldLock() },
    );
    output.note(stderr.trimEnd());
    const { error } = JSON.parse(stdout.split('\n').findLast((line) => line.startsWith('{')) ?? '{}') as {
      error?: { message: string };
    };
    // A version before the command does not know "setup" (2).
    if (code === 1)
      throw new OperatorError(`The version runs, but one thing is left to do. ${error?.message ?? ''}`);
    return;
  }
  const { code, stdout, stderr } = await withAuthority(publicUrl ?? '', (options) =>
    runAsService(live, tree, [
      'doctor',
      ...(publicUrl === undefined ? [] : ['--url', publicUrl]),
      ...options,
    ]),
  );
  output.note((stdout || stderr).trimEnd());
  if (code !== 0) throw new OperatorError('The version runs, but the doctor found problems: see above.');
}

/** A web server whose files a person writes with the command of this name (docs/nginx.md, docs/apache.md). */
interface ByHand {
  command: 'nginx' | 'apache';
  folder: string;
  test: string[];
  unit: string;
}

const BY_HAND: ByHand[] = [
  { command: 'nginx', folder: NGINX_FILES, test: ['nginx', '-t'], unit: 'nginx' },
  { command: 'apache', folder: '/etc/apache2', test: ['apache2ctl', '-t'], unit: 'apache2' },
  { command: 'apache', folder: '/etc/httpd', test: ['httpd', '-t'], unit: 'httpd' },
];

/** Replaces files that are identical to the previous version's. Those of `setup` are updated by `setup`. */
async function followWebServer(
  live: Live,
  tree: string,
  { command, folder, test, unit }: ByHand,
  output: Output,
): Promise<void> {
  const { publicUrl } = live.config;
  if (publicUrl === undefined || !existsSync(join(folder, 'licensing.conf'))) return;
  const args = [
    command,
    '--json',
    ...(command === 'nginx' ? ['--server-name', new URL(publicUrl).hostname] : []),
    '--instances',
    String(live.instances.length || 1),
  ];
  const before = await filesBy(live, live.tree === CURRENT ? futureOrHome() : live.tree, args);
  const after = await filesBy(live, tree, args);
  const [changed, replaced]: [string[], { path: string; text: string }[]] = [[], []];
  for (const [name, text] of Object.entries(after)) {
    const path = join(folder, name);
    const there = readText(path);
    if (there === undefined || there === text || lastWrittenText(path) !== undefined) continue;
    const isOurs = there === before[name];
    if (isOurs) replaced.push({ path, text: there });
    await writeText(isOurs ? path : `${path}.new`, text, { mode: 0o644 });
    changed.push(isOurs ? path : `${path}.new (${path} was changed by hand, and stays)`);
  }
  if (changed.length === 0) return;
  output.note(`${unit}: ${changed.join(', ')}`);
  const { code, stderr } = await runLine(test);
  if (code !== 0) {
    for (const { path, text } of replaced) await writeText(path, text);
    throw new OperatorError(
      `The version runs, but "${test.join(' ')}" refused its web server files, so the former files were restored:\n${lastLines(stderr)}`,
    );
  }
  await runOrThrow(['systemctl', 'try-reload-or-restart', unit]);
}

function futureOrHome(): string {
  return readUpgrade()?.from.tree ?? CURRENT;
}

async function filesBy(live: Live, tree: string, args: string[]): Promise<Record<string, string>> {
  const { code, stdout } = await runAsService(live, tree, args);
  return code === 0 ? (JSON.parse(stdout) as Record<string, string>) : {};
}

async function upgradePackage(live: Live, file: string, withBackup: boolean, output: Output): Promise<void> {
  const { name, version } = await readPackage(file);
  if (name !== live.owner)
    throw new OperatorError(
      `${file} is the package ${name}, but ${live.owner ?? ''} is installed. Nothing was changed.`,
    );
  const { completed } = await statusWith(live, CURRENT);
  throwIfStopped('Nothing was changed.');
  const old = await repack(name, join(SETUP_STATE_DIR, 'packages'));
  const backup = withBackup ? await backUp(live, `before-${version}`, output) : undefined;
  throwIfStopped('Nothing was changed.');
  await writeUpgrade({
    at: new Date().toISOString(),
    from: { version: live.version, tree: CURRENT, package: old },
    to: { version, tree: CURRENT },
    ...(backup && { backup }),
    completed,
  });
  const before = await startsOf(live.instances);
  // Its own scripts migrate, and restart in turns, as with apt-get.
  await installPackage(file, output);
  await migrateWith(live, CURRENT, output);
  const after = await startsOf(live.instances);
  await restart({ ...live, instances: live.instances.filter((_, i) => after[i] === before[i]) }, output);
  await finish(live, CURRENT, output);
  output.print(
    { from: live.version, to: version, tree: CURRENT },
    `Version ${version} runs. "licensing upgrade --back" returns to ${live.version}.`,
  );
}

function startsOf(instances: string[]): Promise<string[]> {
  return Promise.all(instances.map((name) => unitProperty(name, 'ExecMainStartTimestampMonotonic')));
}

async function installPackage(file: string, output: Output): Promise<void> {
  const env = {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    DEBIAN_FRONTEND: 'noninteractive',
  };
  output.note(
    (
      await runOrThrow(['dpkg', '--install', '--force-confold', '--force-downgrade', file], {
        env,
        pass: heldLock(),
      })
    ).trimEnd(),
  );
}

async function goBack(live: Live, output: Output): Promise<void> {
  const made = readUpgrade();
  if (made === undefined)
    throw new OperatorError(
      `There is no version to go back to: ${NOTE} has no record of an upgrade. docs/upgrade.md shows how to go back by hand.`,
    );
  const { from, to } = made;
  if (isCutOff(live, made)) return goBackBefore(live, made, output);
  if (from.package === undefined && live.tree !== to.tree)
    throw new OperatorError(
      `The upgrade from ${from.version} installed ${to.tree}, but ${CURRENT} now links to ${live.tree}. Nothing was changed.`,
    );
  if (!existsSync(from.package ?? from.tree))
    throw new OperatorError(
      `${from.package ?? from.tree} with version ${from.version} no longer exists. Nothing was changed.`,
    );
  if (from.package === undefined) {
    await moveSettingsToEtc(live.tree, from.tree);
    const isOther = await haveOtherTables(live, made);
    if (isOther) await readBack(live, made, output);
    else await requireUsable(live, from);
    await lead(from.tree);
    await followUnit(to.tree, from.tree, output);
    await startAgain(live, isOther, output);
    await writeUpgrade(undefined);
    try {
      await finish({ ...live, tree: to.tree }, from.tree, output);
    } finally {
      // This command runs from that tree, and has already loaded everything that it needs.
      if (to.isCopy) await rm(to.tree, { recursive: true, force: true });
    }
  } else await goBackPackage(live, made, from.package, output);
  output.print({ from: to.version, to: from.version }, `Version ${from.version} runs again.`);
}

/** Rolls back an interrupted upgrade: the earlier version is still live, but the tables may have changed. */
async function goBackBefore(live: Live, made: Upgrade, output: Output): Promise<void> {
  const { to } = made;
  if (await isChangedSince(live, made)) {
    await readBack(live, made, output);
    await startAgain(live, true, output);
  }
  await writeUpgrade(undefined);
  if (to.isCopy) await rm(to.tree, { recursive: true, force: true });
  output.print(
    { from: to.version, to: live.version },
    `Version ${live.version} runs with its former tables.`,
  );
}

async function goBackPackage(live: Live, made: Upgrade, old: string, output: Output): Promise<void> {
  const isOther = await haveOtherTables(live, made);
  if (isOther) await readBack(live, made, output);
  const before = await startsOf(live.instances);
  await installPackage(old, output);
  const after = await startsOf(live.instances);
  const left = live.instances.filter((_, i) => after[i] === before[i]);
  await startAgain({ ...live, instances: left }, isOther, output);
  await writeUpgrade(undefined);
  await finish(live, CURRENT, output);
}

/** Reports whether the tables differ. Only then the backup is restored, because that loses everything written since. */
async function haveOtherTables(live: Live, made: Upgrade): Promise<boolean> {
  // A restored list of migrations does not prove that all tables are restored.
  return made.replaced !== undefined || haveOther((await statusWith(live, live.tree)).completed, made);
}

/** Checks that the earlier version works on the present tables. @throws OperatorError if it does not */
async function requireUsable(live: Live, { version, tree }: Version): Promise<void> {
  try {
    const { pending } = await statusWith(live, tree);
    if (pending.length === 0) return;
    throw new Error(`It lacks ${pending.join(', ')}.`);
  } catch (error) {
    throw new OperatorError(
      `Version ${version} can no longer run here, although it could use the tables. Nothing was changed. ${(error as Error).message}`,
    );
  }
}

/** Restores the backup. @throws OperatorError if none exists; nothing is changed then */
async function readBack(live: Live, made: Upgrade, output: Output): Promise<void> {
  const { backup, replaced, ...others } = made;
  const { version } = made.from;
  if (backup === undefined || !existsSync(backup.file))
    throw new OperatorError(
      `Version ${version} cannot use the present tables, and there is no backup from before the upgrade${backup === undefined ? ' (--no-backup)' : `: ${backup.file} no longer exists`}. Nothing was changed.`,
    );
  await requireReadable(live.config, backup.file);
  if (replaced === undefined) {
    const lost = await withDatabase(live.config, (db) => countRowsSince(db, backup.extent));
    output.note(
      `Version ${version} cannot use the present tables, so they are restored from ${backup.file}. ${describeLost(lost)}`,
    );
  } else
    output.note(
      `An earlier "upgrade --back" was interrupted while it read ${backup.file}, so the file is read again.`,
    );
  if (live.instances.length > 0) await runOrThrow(['systemctl', 'stop', ...live.instances]);
  const kept = replaced ?? (await keepReplaced(live, output));
  output.note(`Data from after the upgrade are now only in ${kept}.`);
  await writeUpgrade({ ...others, backup, replaced: kept });
  output.note('Reading the backup. With a million licences, the service is stopped for some minutes.');
  await readBackTables(live.config, backup.file);
  // Forget the replaced copy: the earlier version may write again, which a second restore would lose.
  await writeUpgrade({ ...others, backup });
}

async function keepReplaced(live: Live, output: Output): Promise<string> {
  try {
    return (await backUp(live, `after-${live.version}`, output)).file;
  } catch (error) {
    if (live.instances.length > 0) await runLine(['systemctl', 'start', ...live.instances]);
    throw error;
  }
}

function describeLost({ licenses, orders, releases, events }: HighestIds): string {
  const counts = [
    countOf(licenses, 'licence'),
    countOf(orders, 'order'),
    countOf(releases, 'version'),
    `${countOf(events, 'entry', 'entries')} in the histories of licences (including activations)`,
  ];
  return licenses + orders + releases + events === 0
    ? 'No licence, order, version or history entry was written since the upgrade.'
    : `Written since the upgrade, and lost: ${counts.join(', ')}. docs/restore.md explains what to do about each.`;
}

async function startAgain(live: Live, stopped: boolean, output: Output): Promise<void> {
  if (live.instances.length === 0) return;
  if (!stopped) return restart(live, output);
  for (const name of live.instances) {
    await runOrThrow(['systemctl', 'restart', name]);
    await waitUntilReady(name, isReady);
  }
  output.note(`${live.instances.join(', ')} started.`);
}
