import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { editProduct } from '../../src/licensing/catalogue';
import { addKey, endKey } from '../../src/licensing/license-keys';
import { editRelease, withdrawRelease } from '../../src/packages/releases';
import { table } from '../../src/store/engine/database';
import { giveRelease } from '../support/packages';
import { eventually } from '../support/processes';
import {
  ONE_BACKEND,
  countTimes,
  giveLicense,
  givePlan,
  PREFIX,
  rows,
  startTestService,
  type TestLicense,
  type TestService,
} from '../support/service';

/** Tests `check=1` on a download: the same verdict, as data. 42 is an extension, 44 a club that includes it, 43 is sold on its own. */

const NOW = new Date('2026-07-15T12:00:00Z');
const END = '2026-06-30T23:59:59Z';
const UPGRADE = 'https://shop.example/upgrade';

describe.each(ONE_BACKEND)('on %s', (_name, settings) => {
  let service: TestService;
  const licenses = new Map<string, TestLicense>();
  const keyOf = (name: string) => licenses.get(name)?.key ?? name;

  beforeAll(async () => {
    service = await startTestService(await settings(), NOW);
    const { db } = service;
    const plan = await givePlan(db);
    const faithful = await givePlan(db, { afterExpiry: 'last_release' });
    const club = await givePlan(db, { productId: 44 });
    const other = await givePlan(db, { productId: 43 });
    const own = { renewUrl: 'https://shop.example/renew', supportUrl: 'https://shop.example/help' };
    await editProduct(db, 42, own);
    await editProduct(db, 44, { includes: [42], renewUrl: 'https://shop.example/club' });
    const expiresAt = new Date(END);
    licenses.set('good', await giveLicense(db, plan));
    licenses.set('expired', await giveLicense(db, plan, { expiresAt }));
    licenses.set('faithful', await giveLicense(db, faithful, { expiresAt }));
    licenses.set('early', await giveLicense(db, faithful, { expiresAt: new Date('2020-01-01T00:00:00Z') }));
    licenses.set('club', await giveLicense(db, club));
    licenses.set('other', await giveLicense(db, other));
    const upgrade = { upgradeUrl: UPGRADE };
    const small = await givePlan(db, { ...upgrade, limit: 1 });
    licenses.set('upgradable', await giveLicense(db, small));
    licenses.set('full', await giveLicense(db, small));
    licenses.set('elsewhere', await giveLicense(db, await givePlan(db, { productId: 43, ...upgrade })));
    licenses.set('suspended', await giveLicense(db, plan));
    await db(table(db, 'licenses'))
      .where({ id: licenses.get('suspended')!.id })
      .update({ status: 'suspended' });
    for (const [version, date] of [
      ['1.0.0', '2026-01-01'],
      ['1.1.0', '2026-02-01'],
      ['1.2.0', '2026-03-01'],
      ['2.0.0', '2026-07-01'],
    ] as const)
      await giveRelease(service, { version, date: new Date(date) });
    await withdrawRelease(db, 42, '1.2.0', new Date());
    const { release } = await giveRelease(service, { version: '0.9.0', date: new Date('2026-01-01') });
    rmSync(join(service.packagesDir, `${release.sha256}.zip`));
    const taken = { license_key: keyOf('full'), identifier: 'taken.example' };
    await request(service.url).post(`${PREFIX}/licenses/activate`).send(taken).expect(200);
  });
  afterAll(() => service.stop());

  const ask = (path: string) => request(service.url).get(`${PREFIX}/downloads/${path}`);

  const bare = {
    expires_at: null,
    latest: '2.0.0',
    renew_url: 'https://shop.example/renew',
    support_url: 'https://shop.example/help',
  };
  const latest = { ...bare, version: '2.0.0', entitled_version: '2.0.0' };

  it.each<[string, string, number, string | null, object]>([
    ['good', '', 42, null, latest],
    ['good', '&version=1.0.0', 42, null, { ...latest, version: '1.0.0' }],
    ['unknown', '', 42, 'LICENSE_NOT_FOUND', { ...latest, entitled_version: null }],
    [
      'unknown',
      '&version=1.0.0',
      42,
      'LICENSE_NOT_FOUND',
      { ...bare, version: '1.0.0', entitled_version: null },
    ],
    ['suspended', '', 42, 'LICENSE_INACTIVE', { ...latest, entitled_version: null }],
    ['expired', '', 42, 'LICENSE_EXPIRED', { ...latest, entitled_version: null, expires_at: END }],
    ['faithful', '', 42, null, { ...bare, version: '1.1.0', entitled_version: '1.1.0', expires_at: END }],
    [
      'faithful',
      '&version=1.0.0',
      42,
      null,
      { ...bare, version: '1.0.0', entitled_version: '1.1.0', expires_at: END },
    ],
    [
      'faithful',
      '&version=2.0.0',
      42,
      'LICENSE_EXPIRED',
      { ...latest, entitled_version: '1.1.0', expires_at: END },
    ],
    [
      'early',
      '',
      42,
      'LICENSE_EXPIRED',
      { ...latest, entitled_version: null, expires_at: '2020-01-01T00:00:00Z' },
    ],
    ['other', '', 42, 'PRODUCT_MISMATCH', { ...latest, entitled_version: null }],
    ['good', '&identifier=new.example', 42, 'ACTIVATION_NOT_FOUND', latest],
    ['good', '&version=9.9', 42, 'DOWNLOAD_NOT_FOUND', { ...latest, version: '9.9' }],
    ['good', '&version=1.2.0', 42, 'DOWNLOAD_NOT_FOUND', { ...latest, version: '1.2.0' }],
    ['good', '&version=0.9.0', 42, 'FILE_NOT_FOUND', { ...latest, version: '0.9.0' }],
    [
      'other',
      '',
      43,
      'DOWNLOAD_NOT_FOUND',
      { ...bare, version: null, entitled_version: null, latest: null, renew_url: null, support_url: null },
    ],
    // A club without an address of its own has the extension's.
    ['club', '', 42, null, { ...latest, renew_url: 'https://shop.example/club' }],
    [
      'club',
      '',
      43,
      'PRODUCT_MISMATCH',
      {
        expires_at: null,
        version: null,
        entitled_version: null,
        latest: null,
        renew_url: 'https://shop.example/club',
        support_url: null,
      },
    ],
    ['good', '', 999, 'PRODUCT_MISMATCH', { ...bare, version: null, entitled_version: null, latest: null }],
    [
      'unknown',
      '',
      0,
      'LICENSE_NOT_FOUND',
      { ...bare, version: null, entitled_version: null, latest: null, renew_url: null, support_url: null },
    ],
    // An upgrade is offered where a larger licence would help: a product or a free slot is missing.
    ['elsewhere', '', 42, 'PRODUCT_MISMATCH', { ...latest, entitled_version: null, upgrade_url: UPGRADE }],
    ['full', '&identifier=new.example', 42, 'ACTIVATION_NOT_FOUND', { ...latest, upgrade_url: UPGRADE }],
    ['full', '&identifier=taken.example', 42, null, latest],
    ['full', '', 42, null, latest],
    ['upgradable', '&identifier=new.example', 42, 'ACTIVATION_NOT_FOUND', latest],
  ])('%s%s for product %d: %s', async (name, query, productId, code, data) => {
    const path = `${productId}?license_key=${keyOf(name)}${query}`;
    const download = await ask(path);
    const check = await ask(`${path}&check=1`);

    expect(check.status).toBe(200);
    expect(check.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
    });
    expect(check.headers).not.toHaveProperty('content-disposition');
    // The download itself is refused with this code and message, or succeeds.
    const { error } = download.body as { error?: { code: string; message: string } };
    expect(error?.code ?? null).toBe(code);
    expect(check.body).toEqual({
      data: { allowed: code === null, code, message: error?.message ?? '', ...data },
    });
    // The name of the key's parameter decides the format of a refused download, but not of a check.
    expect((await ask(`${productId}?dlid=${keyOf(name)}${query}&check=1`)).body).toEqual(check.body);
  });

  it('marks the latest version if it is a security release, whichever version was asked for', async () => {
    const says = async (query: string) =>
      ((await ask(`42?dlid=${keyOf('good')}&check=1${query}`)).body as { data: { security?: true } }).data;
    await editRelease(service.db, 42, '2.0.0', { security: true });
    const marked = [await says(''), await says('&version=1.0.0'), await says('&version=9.9')];
    await editRelease(service.db, 42, '2.0.0', { security: false });
    await editRelease(service.db, 42, '1.0.0', { security: true });
    const older = [await says(''), await says('&version=1.0.0')];
    await editRelease(service.db, 42, '1.0.0', { security: false });

    for (const data of marked) expect(data).toMatchObject({ security: true, latest: '2.0.0' });
    for (const data of older) expect(data).not.toHaveProperty('security');
  });

  it.each(['42', '42?dlid=', '42?license_key=', 'abc?dlid=KEY', 'abc?license_key=KEY', '?dlid=KEY'])(
    'a malformed request is answered as without check=1: %s',
    async (path) => {
      const [download, check] = [
        await ask(path),
        await ask(`${path}${path.includes('?') ? '&' : '?'}check=1`),
      ];

      expect(check.status).toBe(400);
      expect([check.text, check.type]).toEqual([download.text, download.type]);
    },
  );

  it('reveals nothing about a licence to a key that has ended', async () => {
    const { id } = licenses.get('good')!;
    const context = { actor: 'operator:test', now: NOW };
    const { key, stored } = await addKey(service.db, id, {}, undefined, context);
    await endKey(service.db, id, stored.id, { free: false }, context);

    expect((await ask(`42?dlid=${key}&check=1`)).body).toMatchObject({
      data: { allowed: false, code: 'LICENSE_NOT_FOUND', expires_at: null, entitled_version: null },
    });
  });

  it.each(['0', 'true', ''])('is a download with check=%s', async (value) => {
    expect((await ask(`42?dlid=${keyOf('good')}&check=${value}`)).type).toBe('application/zip');
  });

  it('answers HEAD without a body, and refuses POST', async () => {
    const path = `${PREFIX}/downloads/42?dlid=${keyOf('good')}&check=1`;
    const head = await request(service.url).head(path);

    expect([head.status, head.type, head.text]).toEqual([200, 'application/json', undefined]);
    expect((await request(service.url).post(path)).status).toBe(405);
  });

  it('is logged and measured as a check, not as a download', async () => {
    const { db } = service;
    const { key, id } = await giveLicense(db, await givePlan(db));
    // Another client, because the one above has had too many different accesses to be logged one by one.
    for (const query of ['', '&version=9.9'])
      await ask(`42?dlid=${key}&check=1${query}`).set('X-Forwarded-For', '198.51.100.7');
    await eventually(async () =>
      expect((await rows(db, 'access_log')).filter((row) => row.license_id === id)).toMatchObject([
        { endpoint: 'check', outcome: 'ok', version: '2.0.0' },
        { endpoint: 'check', outcome: 'DOWNLOAD_NOT_FOUND', version: '9.9' },
      ]),
    );
    expect(await countTimes(db, 'access_log', { license_id: id, endpoint: 'download' })).toBe(0);
    const metrics = await request(service.admin).get('/metrics');
    expect(metrics.text).toMatch(
      /licensing_verdicts_total\{endpoint="check",code="DOWNLOAD_NOT_FOUND"[^}]*\} \d/,
    );
  });
});

it('counts against the limit of downloads, and is refused like a download', async () => {
  const service = await startTestService({ LICENSING_DOWNLOAD_RATE_LIMIT: '2' });
  try {
    const { key } = await giveLicense(service.db, await givePlan(service.db));
    const statusOf = async (query: string) =>
      (await request(service.url).get(`${PREFIX}/downloads/42?dlid=${key}${query}`)).status;

    expect([
      await statusOf('&check=1'),
      await statusOf(''),
      await statusOf('&check=1'),
      await statusOf(''),
    ]).toEqual([200, 404, 429, 429]);
    expect((await request(service.url).get(`${PREFIX}/updates/42`)).status).toBe(200);
    await eventually(async () =>
      expect((await rows(service.db, 'access_log')).at(-1)).toMatchObject({
        endpoint: 'check',
        outcome: 'RATE_LIMITED',
      }),
    );
  } finally {
    await service.stop();
  }
});
