import { demoLicenses, seedDemo } from '../seeds/demo';
import { buildConfig, environment, packageRoot } from './config';
import { API_PATH } from './api-path';
import { createLog } from './log';
import { startService } from './service';
import { openDatabase } from './store/database';
import { migrate } from './store/migrate';

/** `npm run demo`: the service on a SQLite file of its own, with data to try it on. */
async function main(): Promise<void> {
  const { LICENSING_LISTEN, LICENSING_ADMIN_LISTEN } = environment();
  // The settings of a real installation are left out of this: its database must never get the demo's keys.
  const settings = {
    LICENSING_DATABASE_URL: 'sqlite:var/demo/demo.sqlite',
    LICENSING_PACKAGES_DIR: 'var/demo/packages',
    LICENSING_LOG_LEVEL: 'warn',
    LICENSING_LISTEN,
    LICENSING_ADMIN_LISTEN,
  };
  const config = buildConfig(settings, packageRoot);
  const db = openDatabase(config.database, config.tablePrefix);
  await migrate(db, config.database);
  await seedDemo(db, config.packagesDir, new Date());
  await db.destroy();

  const service = await startService(config, createLog(config.logLevel));
  process.stdout.write(introduction(service.address));
  let stopping: Promise<void> | undefined;
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => {
      stopping ??= service
        .stop()
        .then(() => void process.stdout.write('\nStopped. The data stay in var/demo.\n'));
    });
}

function introduction(address: string): string {
  const key = demoLicenses[0]?.key ?? '';
  const [curl, base] = address.startsWith('unix:')
    ? [`curl --unix-socket ${address.slice('unix:'.length)}`, 'http://localhost']
    : ['curl', address];
  const post = (verb: string, body: object) =>
    `  ${curl} -s ${base}${API_PATH}/licenses/${verb} -H 'Content-Type: application/json' -d '${JSON.stringify(body)}'`;
  const site = { license_key: key, identifier: 'https://www.example.com/shop' };
  return `
licensing-gateway answers at ${base}${API_PATH}/
Its data lie in var/demo: remove that folder to begin anew. Ctrl-C stops it.

Licence keys of product 42, which everybody knows:
${demoLicenses.map((license) => `  ${license.key}  ${license.state}, by ${license.plan}`).join('\n')}

Activate a site (any spelling of its address counts as the same one):
${post('activate', { ...site, name: 'My shop' })}

Is the licence valid, and the site activated?
${post('validate', site)}

Is there a newer version?
  ${curl} -s ${base}${API_PATH}/updates/42

Download it:
  ${curl} -sSOJ '${base}${API_PATH}/downloads/42?dlid=${key}'

Free the slot again:
${post('deactivate', site)}

`;
}

main().catch((error: unknown) => {
  process.stderr.write(`The demo cannot start: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
