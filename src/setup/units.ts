import { setTimeout as sleep } from 'node:timers/promises';
import { OperatorError } from '../licensing/operator-error';
import { lastLines, runLine, runOrThrow, exitsWithZero } from './machine';

/** The instances of licensing@.service in systemd. */

export interface Instance {
  /** such as `licensing@1` */
  name: string;
  isEnabled: boolean;
  isRunning: boolean;
}

/** @throws OperatorError unless systemd runs the machine */
export async function requireSystemd(): Promise<void> {
  const running = await exitsWithZero(['systemctl', 'is-system-running', '--quiet']);
  // "degraded" and "starting" also end with 1, but systemd answers.
  if (!running && !(await exitsWithZero(['systemctl', 'show', '--property=Version'])))
    throw new OperatorError(
      'Setup installs a systemd unit, but systemd does not run on this machine ("systemctl" does not answer). Nothing was changed. In a container, the service is the process itself: npm start.',
    );
}

export async function readInstances(): Promise<Instance[]> {
  const listed = await runOrThrow([
    'systemctl',
    'list-units',
    '--all',
    '--plain',
    '--no-legend',
    'licensing@*.service',
  ]);
  const files = await runLine(['systemctl', 'list-unit-files', '--no-legend', 'licensing@*.service']);
  const names = new Set(
    [...`${listed}\n${files.stdout}`.matchAll(/^\W*licensing@(\d{1,2})\.service/gm)].map(
      ([, name]) => `licensing@${name ?? ''}`,
    ),
  );
  const instances: Instance[] = [];
  for (const name of [...names].sort()) {
    const state = (
      await runLine(['systemctl', 'show', '--property=ActiveState', '--value', name])
    ).stdout.trim();
    instances.push({
      name,
      isEnabled: await exitsWithZero(['systemctl', 'is-enabled', '--quiet', name]),
      isRunning: !/^(?:inactive|failed|)$/.test(state),
    });
  }
  return instances.filter(({ isEnabled, isRunning }) => isEnabled || isRunning);
}

/** Returns a variable that the unit and its drop-in files set; undefined if none sets it, or the unit is unknown. */
export async function unitVariable(unit: string, name: string): Promise<string | undefined> {
  const { stdout } = await runLine(['systemctl', 'show', '--property=Environment', '--value', unit]);
  const word = stdout.split(/\s+/).findLast((one) => one.startsWith(`${name}=`));
  return word?.slice(name.length + 1);
}

export async function unitProperty(unit: string, name: string): Promise<string> {
  return (await runLine(['systemctl', 'show', `--property=${name}`, '--value', unit])).stdout.trim();
}

const TIMEOUT_MS = 30_000;

/**
 * A rolling restart: restarts instances one after the other; each restart waits until the previous instance is ready.
 * @param isReady returns whether an instance is ready now
 * @throws OperatorError with the instance's own last lines
 */
export async function rollingRestart(
  names: string[],
  isReady: (name: string) => Promise<boolean>,
): Promise<void> {
  for (const name of names) {
    await runOrThrow(['systemctl', 'restart', name]);
    await waitUntilReady(name, isReady);
  }
}

export async function waitUntilReady(
  name: string,
  isReady: (name: string) => Promise<boolean>,
): Promise<void> {
  for (const end = Date.now() + TIMEOUT_MS; Date.now() < end; await sleep(50))
    if (await isReady(name)) return;
  // The instance's own output, without systemd's messages about it.
  const { stdout } = await runLine([
    'journalctl',
    '--unit',
    name,
    '_TRANSPORT=stdout',
    '--lines',
    '3',
    '--output',
    'cat',
    '--no-pager',
  ]);
  throw new OperatorError(`${name} does not become ready. Its output:\n${lastLines(stdout, 3)}`);
}
