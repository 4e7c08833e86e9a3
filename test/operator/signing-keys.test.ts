import { execFile } from 'node:child_process';
import { createPublicKey, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runInProcessChecks } from '../../src/doctor/examine';
import type { Examined } from '../../src/doctor/finding';
import { OPERATORS } from '../../src/texts/operators/languages';
import { readConfig, type Settings } from '../../src/settings/config';
import { issueLicenses } from '../../src/licensing/issue';
import { listKeysInUse } from '../../src/licensing/signing-keys';
import { table, type Db } from '../../src/store/engine/database';
import { startManaged, type Managed } from '../support/manage';
import { operator } from '../support/operator';
import { ONE_KIND, givePlan, newPlace, PREFIX } from '../support/service';
import { openMigrated } from '../support/service-process';
import { customerClient, pagesClient } from '../pages/support/session';

/** Signing keys in the command, the operator's API and the pages, and a held site on the pages. */

const YEAR = new Date().getUTCFullYear();

interface Listed {
  kid: string;
  state: string;
  x: string;
  created_at: string;
  retired_at: string | null;
}

describe.each(ONE_KIND)('licensing signing-key on %s', (kind) => {
  let settings: Settings;
  let db: Db;
  beforeAll(async () => {
    settings = { ...(await newPlace(kind)), LICENSING_KEY_SECRET: randomBytes(32).toString('base64') };
    db = await openMigrated(settings);
  });
  afterAll(() => db.destroy());

  const doctor = async (more: Settings = {}) => {
    const config = readConfig({ LICENSING_ENV_FILE: '/dev/null', ...settings, ...more });
    const findings = await runInProcessChecks(config, db, () => new Date());
    const { state, say } = findings.find(({ id }) => id === 'SIGNING_KEYS') as Examined;
    return { state, en: say(OPERATORS.en.doctor), de: say(OPERATORS.de.doctor) };
  };

  test('add, list and retire never show a private key', async () => {
    const { run, json } = operator(settings);
    expect(await run(['signing-key', 'list'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('No signing'),
    });
    expect(await doctor()).toMatchObject({
      state: 'ok',
      en: { what: expect.stringContaining('no signing key') },
    });
    const withoutSecret = await operator({ ...settings, LICENSING_KEY_SECRET: '' }).run([
      'signing-key',
      'add',
    ]);
    expect(withoutSecret).toMatchObject({ code: 1, stderr: expect.stringContaining('LICENSING_KEY_SECRET') });
    const first = await json<Listed>(['signing-key', 'add']);
    expect(first).toEqual({
      ...{ id: 1, kid: `${YEAR}-1`, state: 'current', retired_at: null },
      x: expect.stringMatching(/^[\w-]{43}$/),
      created_at: expect.stringMatching(/Z$/),
    });
    expect(await json<Listed>(['signing-key', 'add'])).toMatchObject({ kid: `${YEAR}-2`, state: 'next' });
    const last = await run(['signing-key', 'retire', `${YEAR}-9`, '--json']);
    expect([last.code, JSON.parse(last.stdout)]).toMatchObject([1, { error: { code: 'NOT_FOUND' } }]);
    const retired = await json<Listed>(['signing-key', 'retire', `${YEAR}-1`]);
    expect(retired).toMatchObject({ state: 'retired', retired_at: expect.stringMatching(/Z$/) });
    const only = await run(['signing-key', 'retire', `${YEAR}-2`]);
    expect(only).toMatchObject({ code: 1, stderr: expect.stringContaining('licensing signing-key add') });
    const listed = await json<Listed[]>(['signing-key', 'list']);
    expect(listed.map(({ kid, state }) => `${kid} ${state}`)).toEqual([
      `${YEAR}-1 retired`,
      `${YEAR}-2 current`,
    ]);
    expect(await doctor()).toMatchObject({
      state: 'ok',
      en: { what: expect.stringContaining(`${YEAR}-2 signs`) },
      de: { what: expect.stringContaining(`${YEAR}-2 signiert`) },
    });

    const php = await run(['signing-key', 'list', '--php']);
    const running = promisify(execFile)('php');
    running.child.stdin!.end(`<?php\n${php.stdout}\necho json_encode(LICENSE_KEYS);`);
    expect(JSON.parse((await running).stdout)).toEqual(
      Object.fromEntries(listed.map(({ kid, x }) => [kid, x])),
    );
    const pem = await run(['signing-key', 'list', '--pem']);
    const blocks = pem.stdout.match(/-----BEGIN PUBLIC KEY-----[^]*?-----END PUBLIC KEY-----/g)!;
    expect(blocks.map((block) => createPublicKey(block).export({ format: 'jwk' }).x)).toEqual(
      listed.map(({ x }) => x),
    );
    expect((await run(['signing-key', 'list', '--pem', '--php'])).code).toBe(2);

    await json(['signing-key', 'retire', `${YEAR}-1`, '--compromised']);
    expect((await run(['signing-key', 'list', '--php'])).stdout).not.toContain(`${YEAR}-1`);
    expect((await run(['signing-key', 'list'])).stdout).toMatch(/-1 +compromised /);
  });

  test('with another secret, the list and the doctor warn', async () => {
    const other = { LICENSING_KEY_SECRET: randomBytes(32).toString('base64') };
    const { code, stderr } = await operator({ ...settings, ...other }).run(['signing-key', 'list']);
    expect([code, stderr]).toEqual([0, expect.stringContaining('another LICENSING_KEY_SECRET')]);
    expect(await doctor(other)).toMatchObject({
      state: 'problem',
      en: { what: expect.stringContaining('another LICENSING_KEY_SECRET') },
    });
    await db(table(db, 'signing_keys'))
      .where({ kid: `${YEAR}-2` })
      .update({ sealed: null });
    expect(await doctor()).toMatchObject({ state: 'problem' });
  });
});

describe('over HTTP', () => {
  let service: Managed;
  beforeAll(async () => {
    service = await startManaged();
  });
  afterAll(() => service.stop());

  test('by the operator’s API', async () => {
    const { read, write, issue } = service;
    expect(await read.all('/signing-keys')).toEqual([]);
    await read.refused('POST /signing-keys', {}, 'FORBIDDEN');
    await issue.refused('GET /signing-keys', undefined, 'FORBIDDEN');
    const first = await write.ok('POST /signing-keys', {}, 201);
    expect(first).toMatchObject({ id: 1, kid: '2026-1', state: 'current' });
    await write.refused('POST /signing-keys/2026-1/retire', {}, 'CONFLICT');
    await write.refused('POST /signing-keys/2026-7/retire', {}, 'NOT_FOUND');
    await write.refused('POST /signing-keys', { kid: 'own' }, 'INVALID_REQUEST', 'kid');
    const headers = { 'Idempotency-Key': 'once' };
    const [made, again] = [
      await write.send('POST /signing-keys', { body: {}, headers }),
      await write.send('POST /signing-keys', { body: {}, headers }),
    ];
    expect([made.status, again.text]).toEqual([201, made.text]);
    expect(await read.all('/signing-keys', 1)).toMatchObject([{ state: 'current' }, { state: 'next' }]);
    expect(await write.ok('POST /signing-keys/2026-1/retire', { compromised: true })).toMatchObject({
      state: 'retired',
    });
    const text = JSON.stringify(await read.all('/signing-keys'));
    const [{ sealed } = { sealed: null }] = await listKeysInUse(service.db);
    expect(text).not.toContain(sealed);
  });

  test('with the pages, after signing in again', async () => {
    const client = await pagesClient(service);
    expect((await client.get('/system')).html).toContain('2026-2 signs.');
    const list = await client.get('/signing-keys');
    expect(list.html).toMatch(/compromised[^]*2026-2/);
    await client.get('/signing-keys/new');
    expect((await client.send('/signing-keys/new')).html).toContain('Signing key 2026-3 is added.');
    const ask = await client.get('/signing-keys/2026-2/retire');
    expect(ask.html).toContain('Retire signing key 2026-2?');
    expect((await client.send('/signing-keys/2026-2/retire', { compromised: '1' })).html).toContain(
      'Signing key 2026-2 is retired.',
    );
    const only = await client.get('/signing-keys/2026-3/retire');
    expect(only.html).toContain('Add the next one first.');
    expect((await client.post('/signing-keys/2026-3/retire')).status).toBe(409);
    expect((await client.get('/signing-keys/1999-1/retire')).status).toBe(404);
    const reader = await pagesClient(service, { scope: 'read', language: 'de' });
    expect((await reader.get('/signing-keys')).html).toContain('Signaturschlüssel');
    expect((await reader.get('/signing-keys/new')).status).toBe(403);
    service.clock.now = new Date(service.clock.now.getTime() + 25 * 60_000);
    await client.get('/system');
    service.clock.now = new Date(service.clock.now.getTime() + 25 * 60_000);
    await client.get('/system');
    service.clock.now = new Date(service.clock.now.getTime() + 25 * 60_000);
    expect((await client.get('/signing-keys/new')).location).toMatch(/^\/sign-in/);
  });

  test('a held site: the customer’s page refuses, lists show the date, and the operator frees it', async () => {
    const { db, clock, write } = service;
    const planId = await givePlan(db, { freeStaging: true }, clock.now);
    const customer = 'held@example.com';
    const terms = { reference: undefined, expiresAt: null, activationLimit: undefined, key: undefined };
    const [issued] = await issueLicenses(
      db,
      { planId, customer, ...terms, count: 1 },
      'operator:test',
      undefined,
      clock.now,
    );
    const { id } = issued!.license;
    const call = async (path: string, identifier: string) => {
      const answer = await fetch(`${service.url}${PREFIX}/licenses/${path}`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ license_key: issued!.key, identifier }),
      });
      return ((await answer.json()) as { data: { expires_at: string } }).data;
    };
    await call('activate', 'carrier.com');
    await call('activate', 'staging.carrier.com');
    const { expires_at } = await call('token', 'staging.carrier.com');
    const sites = await write.all(`/licenses/${id}/activations`);
    expect(sites.map(({ identifier, held_until }): unknown[] => [identifier, held_until])).toEqual([
      ['carrier.com', null],
      ['staging.carrier.com', expires_at],
    ]);
    const page = await customerClient(service, { email: customer });
    expect((await page.get(`/my/licenses/${id}/sites`)).html).toContain('works without network until');
    for (const { id: site } of sites) {
      const refused = await page.post(`/my/licenses/${id}/sites/${site}/remove`);
      expect(refused.status).toBe(403);
      expect(refused.html).toContain('a file with which it works without network until');
    }
    expect(await write.all(`/licenses/${id}/activations`)).toHaveLength(2);
    const operatorsPage = await pagesClient(service);
    expect((await operatorsPage.get(`/licenses/${id}`)).html).toContain('works without network until');
    expect((await operatorsPage.get(`/licenses/${id}/history`)).html).toContain(
      'File for use without network',
    );
    await write.ok(`DELETE /licenses/${id}/activations/${sites[0]!.id}`, undefined, 204);
    expect(await write.all(`/licenses/${id}/activations`)).toEqual([]);
  });
});
