import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually, freePort, temporaryFolder } from '../support/processes';
import { createMariaDbDatabase, PREFIX } from '../support/service';
import { processEnvironment, startProgram, type Running } from '../support/service-process';

/** The entry for shared hosting, started with PORT and without Passenger. */

const ENTRY = join(__dirname, '../../dist/src/hosting.js');

let running: Running | undefined;
afterEach(async () => {
  running?.process.kill('SIGTERM');
  await running?.ended;
});

async function start(settings: Record<string, string>): Promise<string> {
  const [port, folder] = [String(await freePort()), temporaryFolder()];
  const env = processEnvironment(
    {
      LICENSING_ENV_FILE: join(folder, '.env'),
      LICENSING_PACKAGES_DIR: folder,
      LICENSING_XML_DIR: folder,
      LICENSING_PUBLIC_URL: 'https://shop.example',
      ...settings,
    },
    { PORT: port },
  );
  running = startProgram(process.execPath, [ENTRY], env);
  return `http://127.0.0.1:${port}${PREFIX}`;
}

describe('the entry for shared hosting', () => {
  it('hides the reason of a failed start from visitors, and writes it for the seller', async () => {
    const root = temporaryFolder();
    const closed = await freePort();
    writeFileSync(
      join(root, 'configuration.php'),
      `<?php class JConfig { public $dbtype = 'mysqli'; public $host = '127.0.0.1:${closed}'; public $user = 'owner7';
       public $password = 'pw'; public $db = 'shop7'; public $dbprefix = 'jos_'; public $secret = 'abcdefghijklmnop'; }`,
    );
    const url = await start({ LICENSING_JOOMLA_ROOT: root });
    const page = await eventually(async () => (await fetch(`${url}/pages/sign-in`)).text());
    expect(page).toContain('The licence service is not available');
    expect(page).not.toMatch(/owner7|shop7|127\.0\.0\.1|configuration\.php/);
    running!.process.kill('SIGTERM');
    expect((await running!.ended).stderr).toMatch(/shop7 as owner7 at 127\.0\.0\.1:\d+.*configuration\.php/);
  });

  it("ignores a client's X-Forwarded-For", async () => {
    const url = await start({
      LICENSING_DATABASE_URL: await createMariaDbDatabase(),
      LICENSING_RATE_LIMIT: '3',
    });
    await eventually(async () => expect((await fetch(`${url}/updates/42`)).status).not.toBe(503));
    const ask = async (n: number) =>
      (await fetch(`${url}/updates/42`, { headers: { 'X-Forwarded-For': `192.0.2.${n}` } })).status;
    const statuses: number[] = [];
    for (let n = 1; n <= 5; n++) statuses.push(await ask(n));
    expect(statuses).toContain(429);
  });
});
