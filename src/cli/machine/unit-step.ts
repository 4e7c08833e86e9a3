import { existsSync, realpathSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { OperatorError } from '../../licensing/operator-error';
import { HOMES, isWithin } from '../../process/units';
import { readText, writeText } from '../../setup/files';
import { appendToJournal, lastWrittenText, type JournalEntry } from '../../setup/journal';
import { runOrThrow } from '../../setup/machine';
import {
  readInstances,
  rollingRestart,
  unitProperty,
  unitVariable,
  waitUntilReady,
  type Instance,
} from '../../setup/units';
import { askReadiness } from '../health';
import {
  DROP_IN,
  hasOwnNode,
  CURRENT,
  runningTree,
  packagedUnit,
  SERVICE_SCRIPT,
  UNIT,
  UNIT_FILE,
} from './place';
import { configOf } from './settings-step';
import { WORLD_READABLE, type PlannedChange, type Setup } from './step';

/** A step of setup: the systemd unit and its instances. */

export async function planUnit(setup: Setup): Promise<PlannedChange[]> {
  const changes: PlannedChange[] = [];
  const shipped = readText(join(runningTree, 'deploy', UNIT));
  const packaged = packagedUnit();
  if (shipped === undefined) throw new OperatorError(`${runningTree}/deploy has no ${UNIT}.`);
  if (packaged === undefined) {
    const there = readText(UNIT_FILE);
    if (there !== undefined && there !== shipped && there !== lastWrittenText(UNIT_FILE))
      setup.output.note(`${UNIT_FILE} differs from ${CURRENT}/deploy/${UNIT}, and is not changed.`);
    else if (there !== shipped) changes.push(unitFile(setup, UNIT_FILE, shipped));
  }
  const text = packaged === undefined ? shipped : (readText(packaged) ?? '');
  const dropIn = await dropInFor(setup, text);
  const there = readText(DROP_IN);
  if (dropIn !== undefined && there !== dropIn) changes.push(unitFile(setup, DROP_IN, dropIn));
  return changes;
}

function unitFile(setup: Setup, path: string, text: string): PlannedChange {
  const said = text
    .split('\n')
    .filter((line) => /^[A-Z]\w*=./.test(line))
    .join(', ');
  setup.stale.instances = true;
  return {
    words: path === DROP_IN ? `${path}: ${said}` : path,
    make: async () => {
      await mkdir(dirname(path), { recursive: true, mode: 0o755 });
      await writeText(path, text, WORLD_READABLE);
      await runOrThrow(['systemctl', 'daemon-reload']);
      return { kind: 'unit-file', path, text };
    },
  };
}

/** The paths of Node in the PATH that systemd gives a unit. */
const FOUND_BY_SYSTEMD = ['/usr/local/sbin/node', '/usr/local/bin/node', '/usr/sbin/node', '/usr/bin/node'];

/** Returns the lines that this machine needs in addition to the unit; undefined if there are none. */
async function dropInFor({ joomlaRoot, webServer }: Setup, unitText: string): Promise<string | undefined> {
  const value = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(unitText)?.[1] ?? '';
  const own = readText(DROP_IN) ?? '';
  const lines: string[] = [];
  if (value('Group') !== webServer.group) lines.push(`Group=${webServer.group}`);
  const script = join(CURRENT, SERVICE_SCRIPT);
  const hasScript = existsSync(join(runningTree, SERVICE_SCRIPT));
  const start = hasScript ? script : `${process.execPath} dist/src/main.js`;
  if (value('ExecStart') !== start) lines.push('ExecStart=', `ExecStart=${start}`);
  if (hasScript && !hasOwnNode(runningTree) && !FOUND_BY_SYSTEMD.includes(process.execPath))
    lines.push(`Environment=LICENSING_NODE=${process.execPath}`);
  if (isWithin(realpathSync(joomlaRoot), HOMES)) {
    // Ask systemd only about a known unit, because it reports "no" for an unknown one.
    const isKnown = (await unitProperty('licensing@1', 'LoadState')) === 'loaded';
    const now = isKnown ? await unitProperty('licensing@1', 'ProtectHome') : value('ProtectHome');
    if (own.includes('ProtectHome=') || !['no', 'read-only'].includes(now))
      lines.push('ProtectHome=read-only');
  }
  return lines.length === 0
    ? undefined
    : `# Written by "licensing setup", which overwrites it at each run. Write your own lines into another file in this folder.\n[Service]\n${lines.join('\n')}\n`;
}

const ENOUGH_MEMORY = 0.95 * 1024 ** 3;

export async function wantedInstances(setup: Setup): Promise<{ count: number; there: Instance[] }> {
  const { instances: given } = setup;
  const there = await readInstances();
  const isAlone = configOf(setup).database.kind === 'sqlite';
  if (isAlone && (given ?? 1) > 1)
    throw new OperatorError(
      'The tables are in an SQLite file, which only one instance can use: --instances 1. For more instances, set LICENSING_DATABASE_URL to a MySQL or MariaDB database.',
      { code: 'INVALID_REQUEST', field: 'instances' },
    );
  const byDefault = totalmem() >= ENOUGH_MEMORY && !isAlone ? 2 : 1;
  return { count: given ?? (there.length || byDefault), there };
}

/** Reports whether an instance is ready, by its own monitoring address. */
export async function isReady(name: string): Promise<boolean> {
  const address = await unitVariable(name, 'LICENSING_ADMIN_LISTEN');
  const [, host = '127.0.0.1', port] = /^(.*):(\d+)$/.exec(address ?? '') ?? [];
  const listen = address?.startsWith('unix:')
    ? { path: address.slice(5) }
    : { host: host.replace(/^\[|\]$/g, ''), port: Number(port) };
  return askReadiness(listen, 2_000).then(
    ({ ready }) => ready,
    () => false,
  );
}

export async function planInstances(setup: Setup): Promise<PlannedChange[]> {
  const { count, there } = await wantedInstances(setup);
  const wantedNames = Array.from({ length: count }, (_, i) => `licensing@${i + 1}`);
  const names = wantedNames.filter(
    (name) => !there.some((one) => one.name === name && one.isEnabled && one.isRunning),
  );
  const tooMany = there.map(({ name }) => name).filter((name) => !wantedNames.includes(name));
  const old = there
    .filter(({ name, isRunning }) => isRunning && !names.includes(name))
    .map(({ name }) => name);
  return [
    ...(setup.stale.instances && old.length > 0
      ? [
          {
            words: `${old.join(', ')} restart in turns`,
            make: async () => {
              await rollingRestart(old, isReady);
              setup.stale.instances = false;
              return undefined;
            },
          },
        ]
      : []),
    ...(names.length === 0
      ? []
      : [
          {
            words: `${names.join(', ')}: start now and with the machine`,
            make: async (): Promise<JournalEntry> => {
              // Record only new instances, not those that existed before setup.
              const made: JournalEntry = { kind: 'instances', names };
              await appendToJournal(made);
              for (const name of names) {
                await runOrThrow(['systemctl', 'enable', '--now', '--quiet', name]);
                await waitUntilReady(name, isReady);
              }
              return made;
            },
          },
        ]),
    ...(tooMany.length === 0
      ? []
      : [
          {
            words: `${tooMany.join(', ')}: stop, and no longer start with the machine`,
            make: async () => {
              await runOrThrow(['systemctl', 'disable', '--now', '--quiet', ...tooMany]);
              return undefined;
            },
          },
        ]),
  ];
}
