import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createInterface } from 'node:readline';
import { endProcess, residentMemory, startProcess, temporaryFolder } from '../test/support/processes';
import { startMariaDb } from '../test/support/servers';
import { giveLicense, givePlan } from '../test/support/service';
import { openMigrated, processEnvironment } from '../test/support/service-process';

/**
 * Prints a release's resident memory, minute by minute, while it answers one validate call a second: `npm run
 * bench:resident -- FOLDER [MINUTES]`, with the folder of an unpacked archive.
 */

const [folder = '.', minutes = '20'] = process.argv.slice(2);

async function main(): Promise<void> {
  const mariadb = await startMariaDb();
  const settings = { LICENSING_DATABASE_URL: await mariadb.createDatabase() };
  const db = await openMigrated(settings);
  const { key } = await giveLicense(db, await givePlan(db, { limit: 5 }));
  await db.destroy();

  const service = startProcess(join(folder, 'bin/licensing-service'), [], {
    env: processEnvironment({ ...settings, LICENSING_PACKAGES_DIR: temporaryFolder() }),
  });
  const url = await new Promise<string>((resolve) =>
    createInterface({ input: service.stdout! }).on('line', (line) => {
      console.error(line);
      const [, listen] = /"listen":"([^"]+)"/.exec(line) ?? [];
      if (listen !== undefined) resolve(listen);
    }),
  );
  const body = JSON.stringify({ license_key: key, identifier: 'shop.example' });
  const ask = async (what: string) => {
    const headers = { 'Content-Type': 'application/json' };
    const answer = await fetch(`${url}/api/index.php/v1/licensing/licenses/${what}`, {
      ...{ method: 'POST', headers, body },
    });
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
    await answer.arrayBuffer();
  };
  await ask('activate');
  for (let second = 1; second <= 60 * Number(minutes); second++) {
    await Promise.all([sleep(1_000), ask('validate')]);
    if (second % 60 === 0)
      console.log(`${second / 60} min: ${residentMemory(service.pid as number).toFixed(1)} MB`);
  }
  await endProcess(service);
  await mariadb.stop();
}

void main();
