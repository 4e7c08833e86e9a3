import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import request from 'supertest';
import { type Settings } from '../../src/settings/config';
import { openDatabase } from '../../src/store/engine/database';
import { giveGoods, isHealthy, startLoad, tally, type Book } from '../support/load';
import { NEXT_VERSION } from '../support/next-version';
import { eventually, temporaryFolder } from '../support/processes';
import { startMariaDb, type MariaDb } from '../support/servers';
import { giveLicense, givePlan, PREFIX, rows, testConfig } from '../support/service';
import { openMigrated, startServiceProcess } from '../support/service-process';
import { startShell, type Shell } from '../support/shell';

/** Runs the commands of docs/backup.md and docs/restore.md in folders that stand for a machine. */

const ROOT = join(__dirname, '../..');
const guide = ['backup', 'restore']
  .map((name) => readFileSync(join(ROOT, `docs/${name}.md`), 'utf8'))
  .join('');
const SECRET = Buffer.alloc(32, 7).toString('base64');

interface Issued {
  id: number;
  license_key: string;
}

/** Replaces port 3306. The second server uses the first one's port. */
let databasePort: number;
/** Replaces `/`, and root's folder of programs and settings. */
let machine: string;
let commands: Shell;
const stops: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  machine = temporaryFolder();
  // nginx serves the update XML from this folder.
  chmodSync(machine, 0o711);
  for (const folder of 'bin root etc/cron.daily opt/licensing-gateway/deploy var/lib/licensing var/www/shop'.split(
    ' ',
  ))
    mkdirSync(join(machine, folder), { recursive: true });
  const env = { HOME: on('root'), LICENSING_ENV_FILE: on('opt/licensing-gateway/.env') };
  commands = await startShell(on('bin'), env, on('root'));
  stops.push(() => commands.stop());
  // The machine does not have the service's own user.
  writeProgram('bin/sudo', 'shift 2; exec "$@"');
  writeProgram('bin/chown', `echo "$@" >> ${on('chown.log')}`);
  writeProgram('bin/systemctl', `echo "$@" >> ${on('systemctl.log')}`);
  writeProgram('opt/licensing-gateway/deploy/restart-in-turns', `echo started >> ${on('systemctl.log')}`);
});

afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

const on = (path: string) => join(machine, path);

function writeProgram(path: string, commands: string): void {
  writeFileSync(on(path), `#!/bin/sh\n${commands}\n`);
  chmodSync(on(path), 0o755);
}

/** Returns the blocks of commands below a heading of the guides. */
function blocksBelow(heading: string): string[] {
  const [section = ''] = new RegExp(`^## ${heading}\\n[^]*?(?=^## |$(?![^]))`, 'm').exec(guide) ?? [];
  const blocks = [...section.matchAll(/```sh\n([^]*?)```/g)].map(([, commands]) => commands as string);
  if (blocks.length === 0) throw new Error(`The guides have no commands below "${heading}".`);
  return blocks.map((commands) =>
    commands
      .replace(/\/(?=(?:var\/(?:backups|lib)|etc\/cron\.daily|opt|root)\/)/g, `${machine}/`)
      .replaceAll('127.0.0.1:3306', `127.0.0.1:${databasePort}`),
  );
}

/** Runs all commands of a section, as if they were pasted one after the other. */
function follow(heading: string): Promise<string> {
  return shell(blocksBelow(heading).join(''));
}

/** Runs the backup. The first block of the guide is the script for cron, and the second installs it. */
function backUp(): Promise<string> {
  const [script, commands] = blocksBelow('Back up');
  writeFileSync(on('etc/cron.daily/licensing-backup'), script!, { mode: 0o644 });
  return shell(commands!);
}

/** @throws Error with the output if a command fails */
async function shell(lines: string): Promise<string> {
  const { code, stdout, stderr } = await commands.run('sh', '-e', '-c', lines);
  if (code !== 0) throw new Error(`${lines}\n${stderr}${stdout}`);
  return stdout;
}

/** Starts a server that root can use through its socket. */
async function startDatabase(options: string[] = []): Promise<MariaDb> {
  const server = await startMariaDb(options);
  stops.push(() => server.stop('SIGKILL'));
  writeFileSync(on('root/.my.cnf'), `[client]\nuser=root\nsocket=${server.socket}\n`);
  return server;
}

function writeSettings(database: Settings): Settings {
  const settings = {
    ...database,
    LICENSING_PACKAGES_DIR: on('var/lib/licensing/packages'),
    LICENSING_XML_DIR: on('var/lib/licensing/xml'),
    LICENSING_PUBLIC_URL: 'https://shop.example',
    LICENSING_KEY_SECRET: SECRET,
  };
  writeFileSync(
    on('opt/licensing-gateway/.env'),
    Object.entries(settings)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
  );
  return settings;
}

/** Runs `backUp` while a service has customers and is under load. Afterwards kills the service and deletes its files. */
async function loseAfter(
  settings: Settings,
  backUp: () => Promise<unknown>,
): Promise<{ book: Book; sold: Issued }> {
  const db = await openMigrated(settings);
  const goods = await giveGoods(db, settings.LICENSING_PACKAGES_DIR!);
  await shell('licensing product edit 42 --element pkg_example');
  const order = '--plan 1 --customer jane@example.com --reference order-1001';
  const sold = JSON.parse(await shell(`licensing license issue ${order} --json`)) as Issued;
  const service = await startServiceProcess({ ...settings, LICENSING_RATE_LIMIT: '1000000' });
  const api = request(service.url);
  await api
    .post(`${PREFIX}/licenses/activate`)
    .send({ license_key: sold.license_key, identifier: 'example.com' })
    .expect(200);
  const early = startLoad(service.url, goods, { clients: 8 });
  const has = (load: typeof early, calls: number) =>
    eventually(() => expect(load.calls.length).toBeGreaterThanOrEqual(calls));
  await has(early, 80);
  await early.stop();
  const meanwhile = startLoad(service.url, goods, { clients: 8 });
  await has(meanwhile, 20);
  await backUp();
  await has(meanwhile, meanwhile.calls.length + 20);
  await meanwhile.stop();
  expect(tally(meanwhile.calls.filter((call) => !isHealthy(call)))).toEqual({});
  await service.stop('SIGKILL');
  await db.destroy();
  rmSync(on('var/lib'), { recursive: true });
  rmSync(on('opt/licensing-gateway/.env'));
  rmSync(on('var/www'), { recursive: true });
  return { book: early.book, sold };
}

/** Expects that everything from before the backup exists, is consistent, and works. */
async function works(settings: Settings, { book, sold }: { book: Book; sold: Issued }): Promise<void> {
  for (const path of readdirSync(on('var/lib/licensing/packages'), { recursive: true }) as string[])
    expect(statSync(join(on('var/lib/licensing/packages'), path)).mode & 0o040).toBe(0o040);
  expect(statSync(on('var/lib/licensing/packages')).mode & 0o050).toBe(0o050);
  // The site's PHP can read what nginx's group can read, so .env must belong to the service's group.
  expect(readFileSync(on('chown.log'), 'utf8').split('\n')).toEqual(
    expect.arrayContaining([
      `licensing:licensing ${on('opt/licensing-gateway/.env')}`,
      `-R licensing:www-data ${on('var/lib/licensing')}`,
    ]),
  );
  expect(statSync(on('opt/licensing-gateway/.env')).mode & 0o777).toBe(0o600);
  const doctor = JSON.parse(await shell('licensing doctor --json')) as { ok: boolean; problems: number };
  expect(doctor).toMatchObject({ ok: true, problems: 0 });
  expect(readFileSync(on('var/lib/licensing/xml/pkg_example.xml'), 'utf8')).toContain(
    '<version>2.1.0</version>',
  );
  expect(statSync(on('var/lib/licensing/xml')).mode & 0o050).toBe(0o050);
  expect(await shell(`licensing license reveal ${sold.id}`)).toBe(`${sold.license_key}\n`);

  const db = await openMigrated(settings);
  stops.push(() => db.destroy());
  const licenses = await rows<{
    id: number;
    main_key_id: number;
    check_count: number;
    activations_used: number;
  }>(db, 'licenses');
  const keys = await rows<{ id: number; key_hint: string }>(db, 'license_keys');
  const activations = await rows<{ license_id: number; identifier: string }>(db, 'activations');
  for (const [i, { id, key }] of book.goods.licenses.entries()) {
    const stored = licenses.find((one) => one.id === id)!;
    const identifiers = activations
      .filter(({ license_id }) => license_id === id)
      .map(({ identifier }) => identifier);
    expect(identifiers).toEqual(expect.arrayContaining([...book.activations[i]!.acknowledged]));
    const mainKey = keys.find((one) => one.id === stored.main_key_id);
    expect(mainKey!.key_hint).toBe(key.slice(-8));
    expect(stored.activations_used).toBe(identifiers.length);
    expect(stored.check_count).toBeGreaterThanOrEqual(book.checks[i]!.acknowledged);
  }

  const service = await startServiceProcess(settings);
  stops.push(() => service.stop());
  const api = request(service.url);
  const customer = { license_key: sold.license_key, identifier: 'https://www.example.com/' };
  const validated = await api.post(`${PREFIX}/licenses/validate`).send(customer).expect(200);
  expect(validated.body).toMatchObject({
    data: { valid: true, identifier_activated: true, activations_used: 1 },
  });
  const again = await api.post(`${PREFIX}/licenses/activate`).send(customer).expect(200);
  expect(again.body).toMatchObject({ data: { activations_used: 1 } });
  const { body: bytes } = (await api
    .get(`${PREFIX}/downloads/42?dlid=${sold.license_key}`)
    .buffer(true)
    .responseType('blob')
    .expect(200)) as { body: Buffer };
  expect(bytes.equals(book.goods.bytes)).toBe(true);
}

/** Creates the database user as described in docs/security.md. */
async function createUser(server: MariaDb): Promise<void> {
  const security = readFileSync(join(ROOT, 'docs/security.md'), 'utf8');
  const root = await server.connect();
  for (const name of ['CREATE USER', 'GRANT']) {
    const [statement] = new RegExp(`^${name} .*;$`, 'm').exec(security)!;
    await root.query(statement.replace('@localhost', "@'127.0.0.1'"));
  }
  await root.end();
}

test('a MariaDB that is lost with its site is restored on another server from the dump, the packages and .env', async () => {
  const old = await startDatabase();
  databasePort = old.port;
  await shell('mariadb --execute "CREATE DATABASE shop"');
  await createUser(old);
  writeFileSync(
    on('var/www/shop/configuration.php'),
    `<?php\nclass JConfig {\n\tpublic $dbtype = 'mysqli';\n\tpublic $host = '127.0.0.1:${old.port}';\n\tpublic $user = 'licensing';\n` +
      "\tpublic $password = 'a long password';\n\tpublic $db = 'shop';\n\tpublic $dbprefix = 'jos_';\n}\n",
  );
  const { LICENSING_JOOMLA_ROOT, ...others } = writeSettings({ LICENSING_JOOMLA_ROOT: on('var/www/shop') });
  await shell('mariadb --execute "CREATE TABLE jos_content (id INT)" shop');
  let later: Issued | undefined;
  const lost = await loseAfter({ ...others, LICENSING_JOOMLA_ROOT: LICENSING_JOOMLA_ROOT! }, async () => {
    await follow('Keep the secret');
    await backUp();
    later = JSON.parse(
      await shell('licensing license issue --plan 1 --reference order-1002 --json'),
    ) as Issued;
  });
  const dump = readFileSync(on('var/backups/licensing/licensing.sql'), 'utf8');
  const [script = ''] = blocksBelow('Back up');
  await expect(shell(script.replace('prefix=jos_', 'prefix=abc_'))).rejects.toThrow(
    /shop has no tables abc_licensing_\.\.\.: nothing was backed up/,
  );
  expect(readFileSync(on('var/backups/licensing/licensing.sql'), 'utf8')).toBe(dump);
  expect(dump).not.toContain('jos_content');
  expect(dump).not.toContain(lost.sold.license_key);
  await old.stop('SIGKILL');

  await createUser(await startDatabase([`--port=${old.port}`]));
  await follow('Restore on another server');
  const settings = {
    ...others,
    LICENSING_DATABASE_URL: `mysql://licensing:a%20long%20password@127.0.0.1:${old.port}/shop`,
    LICENSING_TABLE_PREFIX: 'jos_',
  };
  await works(settings, lost);

  // A licence that was sold after the backup is missing, and is issued again with the key that the customer has.
  const db = await openMigrated(settings);
  stops.push(() => db.destroy());
  const unknown = () => db('jos_licensing_licenses').where({ reference: 'order-1002' });
  expect(await unknown()).toEqual([]);
  writeFileSync(on('root/key-of-order-1002.txt'), `${later!.license_key}\n`);
  expect(await follow('What was lost since')).toMatch(
    new RegExp(`^${lost.sold.license_key} .*\\n${later!.license_key} `),
  );
  expect(await unknown()).toHaveLength(1);
});

test('an upgrade, the restore in the guide and another upgrade leave the same as one upgrade', async () => {
  const server = await startDatabase();
  databasePort = server.port;
  await shell('mariadb --execute "CREATE DATABASE shop"');
  await createUser(server);
  await shell(
    'mariadb --execute "CREATE TABLE jos_content (id INT); CREATE TABLE jos_licensings (id INT)" shop',
  );
  const settings = writeSettings({
    LICENSING_DATABASE_URL: `mysql://licensing:a%20long%20password@127.0.0.1:${server.port}/shop`,
    LICENSING_TABLE_PREFIX: 'jos_',
  });
  mkdirSync(settings.LICENSING_PACKAGES_DIR!);
  const { database } = testConfig(settings);
  const db = openDatabase(database, 'jos_', 4);
  stops.push(() => db.destroy());
  const tables = () => shell("mariadb --skip-column-names --execute 'SHOW TABLES' shop");
  const upgrade = async () => {
    await shell(`NODE_OPTIONS='${NEXT_VERSION.NODE_OPTIONS}' licensing migrate`);
    const notes = await db('jos_licensing_notes').orderBy('id');
    return { tables: await tables(), notes, licenses: await rows(db, 'licenses') };
  };
  await shell('licensing migrate');
  const planId = await givePlan(db);
  for (let i = 0; i < 3; i++) await giveLicense(db, planId);
  const before = await tables();
  await backUp();

  const upgraded = await upgrade();
  expect(upgraded.tables).not.toBe(before);
  expect(upgraded.notes).toHaveLength(3);

  await follow('Restore on the same server');
  expect(readFileSync(on('systemctl.log'), 'utf8')).toBe('stop licensing@*\nstarted\n');
  expect(await tables()).toBe(before);
  expect(await upgrade()).toEqual(upgraded);

  // A truncated dump drops nothing.
  const dump = readFileSync(on('var/backups/licensing/licensing.sql'), 'utf8');
  writeFileSync(on('var/backups/licensing/licensing.sql'), dump.slice(0, dump.length / 2));
  expect(await follow('Restore on the same server')).toMatch(/nothing was dropped/);
  expect(await tables()).toBe(upgraded.tables);
});

test('a lost SQLite file is restored from a copy that was made during writes', async () => {
  const settings = writeSettings({
    LICENSING_DATABASE_URL: `sqlite:${on('var/lib/licensing/licensing.sqlite')}`,
  });
  mkdirSync(on('var/backups/licensing'), { recursive: true });
  const lost = await loseAfter(settings, async () => {
    await follow('Keep the secret');
    await follow('SQLite');
  });

  await follow('SQLite: restore');
  await works(settings, lost);
});
