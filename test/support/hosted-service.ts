import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Settings } from '../../src/settings/config';
import { openDatabase } from '../../src/store/engine/database';
import { firstAnswer, giveToSeller, openSite, startHosting, unpackHosting } from './hosting';
import { sharedFolder } from './processes';
import type { TestService } from './service';
import { testConfig } from './service';

/** With TEST_PASSENGER, the contract's tests reach the service through Apache, like a seller's customers. */

/** A line of the application in Passenger's log. */
const OUTPUT = /^App \d+ output: (\{.*\})$/;

/**
 * Works like startTestService(), with its own site, Apache and Passenger. Like a host behind another proxy, it trusts
 * the header of clients on this machine.
 */
export async function startHostedService(settings: Settings, now: Date): Promise<TestService> {
  const home = sharedFolder();
  const site = await openSite();
  const app = unpackHosting(join(home, 'licensing'), { isBuild: true });
  const packagesDir = join(home, 'licensing-packages');
  mkdirSync(packagesDir);
  giveToSeller(home);
  const clock = readableClock(join(home, 'now'), now);
  const given = {
    LICENSING_JOOMLA_ROOT: site.root,
    LICENSING_PACKAGES_DIR: packagesDir,
    LICENSING_TRUSTED_PROXIES: '127.0.0.0/8',
    LICENSING_RATE_LIMIT: '100000',
    LICENSING_LOG_LEVEL: 'debug',
    ...settings,
  };
  const hosting = await startHosting({
    root: site.root,
    app,
    variables: (url) => ({
      LICENSING_PUBLIC_URL: url,
      ...given,
      NODE_OPTIONS: `--require ${join(__dirname, 'preload-hosted.cjs')}`,
      TEST_ANSWERS: process.env.TEST_ANSWERS!,
      TEST_APP: app,
      TEST_CLOCK: join(home, 'now'),
    }),
  });
  const { database, tablePrefix } = testConfig(given);
  const db = openDatabase(database, tablePrefix, 4);
  const logLines: string[] = [];
  let read = 0;
  const stop = async () => {
    await hosting.stop();
    await db.destroy();
    await site.stop();
  };
  try {
    await firstAnswer(hosting);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    url: hosting.url,
    get admin(): string {
      throw new Error('There is no address for metrics on shared hosting.');
    },
    db,
    packagesDir,
    get logLines() {
      const lines = hosting.log().split('\n').slice(0, -1);
      logLines.push(...lines.slice(read).flatMap((line) => OUTPUT.exec(line)?.[1] ?? []));
      read = lines.length;
      return logLines;
    },
    clock,
    stop,
  };
}

/** Returns a clock that another process reads. */
function readableClock(file: string, at: Date): { now: Date } {
  let current = at;
  const write = () => writeFileSync(file, current.toISOString());
  write();
  chmodSync(file, 0o644);
  return {
    get now() {
      return current;
    },
    set now(value) {
      current = value;
      write();
    },
  };
}
