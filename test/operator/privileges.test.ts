import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createConnection, type Connection } from 'mysql2/promise';
import request from 'supertest';
import type { Db } from '../../src/store/engine/database';
import { tryTableRights } from '../../src/store/engine/server';
import { createMariaDbDatabase, giveLicense, givePlan, PREFIX, startTestService } from '../support/service';

/** The database user of docs/security.md can do everything that the service does, with exactly these privileges. */

let root: Connection;

beforeAll(async () => {
  root = await createConnection({ socketPath: process.env.TEST_MARIADB_SOCKET as string, user: 'root' });
});

afterAll(() => root.end());

function documented(name: string): string {
  const text = readFileSync(join(__dirname, '../../docs/security.md'), 'utf8');
  const statement = new RegExp(`^${name} .*;$`, 'm').exec(text)?.[0];
  if (statement === undefined) throw new Error(`docs/security.md has no ${name} statement.`);
  return statement.replaceAll('@localhost', "@'127.0.0.1'");
}

test('migrating and serving work with the documented GRANT; serving also works after DDL is revoked', async () => {
  const database = (await createMariaDbDatabase()).split('/').at(-1) as string;
  const user = documented('CREATE USER');
  await root.query(user.replace(/^CREATE USER (\S+) .*/, 'DROP USER IF EXISTS $1'));
  await root.query(user);
  await root.query(documented('GRANT').replace('shop.*', `${database}.*`));
  const url = `mysql://licensing:a%20long%20password@127.0.0.1:${process.env.TEST_MARIADB_PORT as string}/${database}`;

  const service = await startTestService({ LICENSING_DATABASE_URL: url });
  const license = await giveLicense(service.db, await givePlan(service.db));
  await root.query(
    `REVOKE CREATE, ALTER, INDEX, DROP, REFERENCES ON ${database}.* FROM licensing@'127.0.0.1'`,
  );
  for (const verb of ['activate', 'validate', 'deactivate'])
    await request(service.url)
      .post(`${PREFIX}/licenses/${verb}`)
      .send({ license_key: license.key, identifier: 'example.com' })
      .expect(200);
  await request(service.url).get(`${PREFIX}/downloads/42?dlid=${license.key}`).expect(404);
  await service.stop();
});

test('a right is missing if SQLite refuses with a code that its driver cannot name', async () => {
  // The code of SQLITE_READONLY_DIRECTORY.
  const refusal = Object.assign(new Error('attempt to write a readonly database'), {
    code: 'UNKNOWN_SQLITE_ERROR_1544',
    rawCode: 1544,
  });
  const db = { userParams: { tablePrefix: '' }, raw: () => Promise.reject(refusal) } as unknown as Db;
  expect(await tryTableRights(db)).toContain('INSERT on licensing_licenses');
});
