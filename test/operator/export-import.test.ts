import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createConnection } from 'mysql2/promise';
import request from 'supertest';
import { issueLicenses } from '../../src/licensing/issue';
import { keyDigest } from '../../src/licensing/core/keys';
import { addKey, endKey, rekey } from '../../src/licensing/license-keys';
import {
  addSigningKey,
  listKeysInUse,
  openSigningKey,
  retireSigningKey,
} from '../../src/licensing/signing-keys';
import type { OrderMessage } from '../../src/orders/message';
import { receive } from '../../src/orders/inbox';
import { recordOrder } from '../../src/orders/record';
import { addShop, editShop, mapSku } from '../../src/orders/shops';
import {
  FORMAT_VERSION,
  NEW_FIELDS,
  tableLayout,
  type KeyRecord,
  type OrderLicenseRecord,
  type OrderLineRecord,
} from '../../src/transfer/records';
import { insertActivations } from '../../src/store/licenses/activations';
import { table, type Db } from '../../src/store/engine/database';
import { lockLicense, adjustSlotCounts } from '../../src/store/licenses/licenses';
import { ON_BOTH } from '../support/extent';
import { addPlan } from '../support/operator';
import { giveRelease, makePackage } from '../support/packages';
import { eventually, startProcess, temporaryFolder } from '../support/processes';
import { CLI } from '../support/program';
import { startMariaDb, type MariaDb } from '../support/servers';
import { PREFIX, rows, startTestService, type DatabaseKind, type TestService } from '../support/service';
import { processEnvironment } from '../support/service-process';
import {
  closePlaces,
  contents,
  fileOf,
  HEADER,
  importJson,
  largeFile,
  newKey,
  place,
  SECRET,
  TYPES,
  writeText,
  type Place,
  type Report,
} from '../support/transfers';

const OTHER_SECRET = Buffer.alloc(32, 9).toString('base64');

afterAll(closePlaces);

const KINDS: [DatabaseKind, DatabaseKind][] = [
  ['SQLite', 'MariaDB'],
  ['MariaDB', 'SQLite'],
];

/**
 * Fills a place with something of every kind, created as in real use.
 *
 * @returns the key of licence 1
 */
async function fill({ settings, db, operator: op }: Place): Promise<string> {
  const service = await startTestService(settings, new Date('2026-03-01T10:00:00Z'));
  try {
    await op.json(['product', 'add', '--id', '42', '--name', 'Example Shop', '--element', 'pkg_example']);
    await op.json(['product', 'add', '--id', '9', '--name', 'Çelik Ω 🚀 "q" \\']);
    for (const [product, name, type, limit, duration] of [
      ['42', 'Developer', 'domain', '3', '1y'],
      ['42', 'Agency', 'domain', '0', 'lifetime'],
      ['9', 'Team', 'seat', '5', 'lifetime'],
    ] as const)
      await addPlan(op, product, name, type, limit, '--duration', duration);
    await op.json(['plan', 'edit', '2', '--after-expiry', 'last-release', '--free-staging', 'on']);
    const secret = Buffer.from(SECRET, 'base64');
    const issue = (planId: number, customer: string | undefined, reference: string | undefined) =>
      issueLicenses(
        db,
        {
          planId,
          customer,
          reference,
          expiresAt: undefined,
          activationLimit: undefined,
          key: undefined,
          count: 1,
        },
        'operator:test',
        secret,
        service.clock.now,
      );
    const [shop] = await issue(1, 'Jane@Example.com', 'order-1');
    const [agency] = await issue(2, undefined, undefined);
    const [team] = await issue(3, 'jürgen@example.com', 'order-ü');
    await issue(1, undefined, 'order-4');
    const call = (verb: string, body: object) =>
      request(service.url).post(`${PREFIX}/licenses/${verb}`).send(body);
    for (const identifier of ['b.example', 'a.example', 'münchen.example', 'd.example'])
      await call('activate', { license_key: shop!.key, identifier, name: `Seite "${identifier}"` });
    service.clock.now = new Date('2026-03-02T10:00:00Z');
    await call('deactivate', { license_key: shop!.key, identifier: 'a.example' });
    // The same change twice within a second is counted on one event ...
    for (let i = 0; i < 2; i++) {
      await call('activate', { license_key: agency!.key, identifier: 'x.example' });
      await call('deactivate', { license_key: agency!.key, identifier: 'x.example' });
    }
    // ... and two processes can write two equal events.
    const [event] = (await rows(service.db, 'events')).slice(-1);
    await service.db(table(service.db, 'events')).insert({ ...event, id: db.raw('NULL') });
    await call('activate', { license_key: team!.key, identifier: 'Jane@Example.com' });
    const context = { actor: 'operator:test', now: service.clock.now };
    for (let i = 0; i < 2; i++) await addSigningKey(db, secret, context);
    await call('token', { license_key: team!.key, identifier: 'Jane@Example.com' });
    await retireSigningKey(db, '2026-1', {}, context);
    const [client, leaked, banned] = await Promise.all(
      [
        { label: 'Çelik "Ltd"', activationLimit: 2 },
        { activationLimit: 3, endsAt: new Date('2099-01-01T00:00:00Z') },
        { label: 'Gone' },
      ].map((terms) => addKey(db, agency!.license.id, terms, secret, context)),
    );
    for (const identifier of ['staging.client.co.uk', 'client.co.uk', 'dev.client.co.uk', 'localhost'])
      await call('activate', { license_key: client!.key, identifier });
    await call('activate', { license_key: leaked!.key, identifier: 'leaked.co.uk' });
    await rekey(db, agency!.license.id, { keyId: leaked!.stored.id, overlap: '14d' }, secret, context);
    await endKey(db, agency!.license.id, banned!.stored.id, { free: false }, context);
    await rekey(db, shop!.license.id, { overlap: '14d' }, secret, context);
    await call('validate', { license_key: shop!.key });
    await call('validate', { license_key: shop!.key });
    const sbom = Buffer.from('{"spdxVersion":"SPDX-2.3"}');
    await giveRelease(service, { version: '1.0.0', changelog: 'First\nline', sbom });
    await giveRelease(service, { version: '1.1.0-beta2', draft: true });
    await request(service.url).get(`${PREFIX}/downloads/42`).query({ dlid: shop!.key });
    await request(service.url).get(`${PREFIX}/downloads/42`).query({ dlid: 'NOT-A-KEY' });
    await request(service.url).get(`${PREFIX}/downloads/0`).query({ dlid: shop!.key });
  } finally {
    await service.stop();
  }
  await giveOrders(db);
  const oldKey = await db(table(db, 'license_keys'))
    .where({ license_id: 1 })
    .min({ id: 'id' })
    .first<{ id: number }>();
  await db(table(db, 'access_log')).where({ license_id: 1 }).update({ key_id: oldKey.id });
  await op.json(['license', 'suspend', '4', '--reason', 'charge-back']);
  await op.json(['license', 'metadata', '2', 'note=Größe "4" \\ 🚀', '9.z=1', 'channel=fair']);
  return (await op.json<{ license_key: string }>(['license', 'reveal', '1'])).license_key;
}

/** Adds a shop with a secret, and orders: one renewed licence 1 twice, one renews it in turn, two wait, and one is a test. */
async function giveOrders(db: Db): Promise<void> {
  const secret = Buffer.from(SECRET, 'base64');
  const now = new Date('2026-03-03T10:00:00Z');
  const context = { actor: 'operator:test', now, keySecret: secret };
  const settings = { kind: 'stripe', secret: 'whsec_1', rules: { refunded: 'cancel' } } as const;
  await addShop(db, 'celik', settings, context);
  await mapSku(db, 'celik', { sku: 'Größe "S"', planId: 1, quantity: 'slots' }, { now });
  const post = (order: string, message: Pick<OrderMessage, 'event'> & Partial<OrderMessage>) =>
    recordOrder(
      db,
      { shop: 'celik', order, at: now, ...message },
      { owner: 'shop', ownOnly: false },
      { actor: 'token:shop', now, secret, graceDays: 3 },
    );
  const customer = { email: 'jo@example.com', name: 'Jo "the" Ö' };
  const article = { sku: 'Größe "S"', quantity: 2 };
  await post('A 1', {
    event: 'paid',
    customer,
    money: { amount: 4900, currency: 'EUR' },
    lines: [{ line: '1:a', ...article, renews: 1 }],
  });
  await post('A 1', { event: 'renewed', eventId: 'evt_1', lines: [{ line: '1:a' }] });
  await post('A 1', { event: 'refunded', partial: true });
  await post('A 1', { event: 'subscription_ended', eventId: 'evt_2' });
  await post('A 2', { event: 'paid', lines: [{ line: 'ü', planId: 1, renews: 'A 1:1%3Aa' }] });
  await post('A 3', { event: 'paid', lines: [{ line: '1', planId: 1, renews: 'A 9' }] });
  await post('A 4', { event: 'paid', lines: [{ line: '1', sku: 'not mapped' }] });
  await post('A 5', { event: 'paid', test: true, lines: [{ line: '1', ...article }] });
  await editShop(
    db,
    'celik',
    { testPlanId: 3, graceDays: 5, billingUrl: 'https://shop.example/pay' },
    context,
  );
  const links = [
    { key: 'ctm_1', email: 'jo@example.com', at: now },
    { key: 'pi_1', order: 'A 1', paid: { amount: 4900, currency: 'EUR' } },
    { key: 'in_1', other: 'pi_1' },
  ];
  await receive(db, 'celik', { id: 'evt_1', type: 'x', note: 'links', links }, { now, secret, graceDays: 3 });
}

async function exported({ operator: op }: Place, args: string[] = []): Promise<string> {
  const file = join(temporaryFolder(), 'out.jsonl');
  await op.json(['export', '--out', file, ...args]);
  return file;
}

function lines(file: string): Record<string, unknown>[] {
  return readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

const keysOf = (license: Record<string, unknown>) => license.keys as KeyRecord[];

/** Reports whether an event names a key. */
const namesKey = ({ before, after }: Record<string, unknown>) =>
  [before, after].some((json) => json !== null && typeof json === 'object' && 'key_id' in json);

async function expectCountersExact(db: Db): Promise<void> {
  const { license, activation } = await contents(db);
  for (const { id, activations_used } of license)
    expect({ id, activations_used }).toEqual({
      id,
      activations_used: activation.filter(({ license_id, free }) => license_id === id && free === 0).length,
    });
}

/** Runs a command that must refuse, and returns its message. */
async function refused({ operator: op }: Place, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await op.run(args);
  expect({ code, stdout, stderr }).toMatchObject({ code: 1, stdout: '' });
  return stderr;
}

function totals({ records }: Report) {
  const sum = { new: 0, same: 0, changed: 0, conflicting: 0 };
  for (const counts of Object.values(records))
    for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += counts[name];
  return sum;
}

describe.each(KINDS)('an export of %s', (kind, otherKind) => {
  let source: Place;
  let file: string;
  let key: string;

  beforeAll(async () => {
    source = await place(kind);
    key = await fill(source);
    await source.operator.json(['settings', 'set', 'shop_name', 'Acme']);
    file = await exported(source);
  });

  it.each([kind, otherKind])(
    'is restored in an empty %s byte for byte, with ids and counters',
    async (target) => {
      const to = await place(target);
      const report = await importJson(to, file);
      expect(totals(report)).toMatchObject({
        new: lines(file).length - 2,
        same: 0,
        changed: 0,
        conflicting: 0,
      });
      expect(readFileSync(await exported(to), 'utf8')).toBe(readFileSync(file, 'utf8'));
      expect(await contents(to.db)).toEqual(await contents(source.db));
      // These sums are not exported, but counted again.
      const sums = (db: Db) => db(table(db, 'money_sums')).select();
      expect(await sums(to.db)).toEqual(await sums(source.db));
      expect(await sums(to.db)).toMatchObject([{ shop: 'celik', currency: 'EUR', paid: 4900 }]);
      await expectCountersExact(to.db);
      expect(await to.operator.json(['license', 'reveal', '1'])).toMatchObject({ license_key: key });
    },
  );

  it('is read in the form of the previous version, which lacks the newer fields', async () => {
    const without = (type: keyof typeof NEW_FIELDS, record: Record<string, unknown>) =>
      Object.fromEntries(Object.entries(record).filter(([name]) => !(name in (NEW_FIELDS[type] ?? {}))));
    const before = lines(file).flatMap((record) => {
      if (record.type === 'setting') return [];
      if (record.type === 'header') return JSON.stringify({ ...record, version: FORMAT_VERSION - 1 });
      if (record.type === 'footer')
        return JSON.stringify({ ...record, records: { ...(record.records as object), setting: undefined } });
      const { keys, events } = record as Partial<Record<'keys' | 'events', Record<string, unknown>[]>>;
      return JSON.stringify({
        ...without(record.type as keyof typeof NEW_FIELDS, record),
        ...(keys && { keys: keys.map((one) => without('key', one)) }),
        ...(events && { events: events.map((one) => without('order_event', one)) }),
      });
    });
    const old = join(temporaryFolder(), 'old.jsonl');
    writeFileSync(old, `${before.join('\n')}\n`);
    const to = await place(kind);
    expect((await importJson(to, old)).records).toMatchObject({ license: { new: 4 } });
    expect(new Set(await to.db(table(to.db, 'releases')).pluck('rollout'))).toEqual(new Set([100]));
    // The folded digests of keys that can be opened here are computed again.
    const sealedOnes = (await contents(source.db)).key.filter(({ key_sealed }) => key_sealed !== null);
    const made = new Map((await contents(to.db)).key.map((one) => [one.key_digest, one.folded_digest]));
    expect(sealedOnes.length).toBeGreaterThan(0);
    for (const { key_digest, folded_digest } of sealedOnes) expect(made.get(key_digest)).toBe(folded_digest);
  });

  it('has something of every type, and nothing that opens a licence', () => {
    const types = lines(file).map(({ type }) => type);
    expect(new Set(types)).toEqual(new Set(['header', ...TYPES, 'footer']));
    expect(readFileSync(file, 'utf8')).not.toMatch(/[0-9A-F]{8}(-[0-9A-F]{8}){3}/);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('has every column, except those that are computed from others', async () => {
    const derived: Record<string, string[]> = {
      licenses: ['activations_used', 'customer_digest'],
      releases: ['version_order'],
      // The sums are computed again from the imported rows.
      access_log: ['unsummed'],
      events: ['unsummed'],
      // The result of the last catch-up here.
      shops: ['catch_up_tried_at', 'catch_up_failure', 'catch_up_json'],
      orders: ['customer_digest'],
      // A password and a digest are not exported.
      settings: ['value_sealed', 'revision'],
      ...{ order_lines: ['order_id'], order_events: ['order_id'], order_licenses: ['order_id'] },
    };
    for (const type of [...TYPES, 'order_line', 'order_event', 'order_license'] as const) {
      const { table: name, columns } = tableLayout(type);
      const there = Object.keys(await source.db(table(source.db, name)).columnInfo());
      expect({ type, columns: [...columns, ...(derived[name] ?? [])].sort() }).toEqual({
        type,
        columns: there.sort(),
      });
    }
    const ofKey = Object.keys(lines(file).flatMap((one) => (one.type === 'license' ? keysOf(one) : []))[0]!);
    const there = Object.keys(await source.db(table(source.db, 'license_keys')).columnInfo());
    expect([...ofKey, 'license_id'].sort()).toEqual(there.sort());
  });

  it('changes nothing in its own database, nor a second time in another one', async () => {
    const before = await contents(source.db);
    expect(totals(await importJson(source, file))).toEqual({
      new: 0,
      same: lines(file).length - 2,
      changed: 0,
      conflicting: 0,
    });
    expect(await contents(source.db)).toEqual(before);
    const to = await place(kind);
    await importJson(to, file);
    const once = await contents(to.db);
    expect(totals(await importJson(to, file))).toMatchObject({ new: 0, changed: 0, conflicting: 0 });
    expect(await contents(to.db)).toEqual(once);
  });

  it('is reported by a dry run, which changes nothing', async () => {
    const to = await place(kind);
    const report = await importJson(to, file, '--dry-run');
    expect(report).toMatchObject({ dry_run: true, records: { license: { new: 4 }, product: { new: 2 } } });
    expect(Object.values(await contents(to.db)).flat()).toEqual([]);
    const text = await to.operator.run(['import', file, '--dry-run']);
    expect(text).toMatchObject({ code: 0 });
    expect(text.stdout).toMatch(/license +4 +0 +0 +0/);
    expect(text.stdout).toMatch(/dry run/);
  });

  it('joins a database that already has licences, by names and not by ids', async () => {
    const to = await place(kind);
    await to.operator.json(['product', 'add', '--id', '42', '--name', 'Example Shop']);
    await addPlan(to.operator, '42', 'Other', 'device', '1');
    await addPlan(to.operator, '42', 'Agency', 'domain', '0', '--after-expiry', 'last-release');
    await to.operator.json(['plan', 'edit', '2', '--free-staging', 'on']);
    await to.operator.json(['license', 'issue', '--plan', '2', '--count', '7']);
    const report = await importJson(to, file);
    expect(report.records).toMatchObject({
      product: { new: 1, changed: 1 },
      plan: { new: 2, same: 1 },
      license: { new: 4 },
    });
    const all = await contents(to.db);
    expect(all.license).toHaveLength(11);
    const filesKeys = lines(file).flatMap((one) =>
      one.type === 'license' ? keysOf(one).map((key) => ({ ...key, license_id: one.id })) : [],
    );
    const keyHere = (id: unknown) => {
      const digest = filesKeys.find((key) => key.id === id)?.key_digest;
      return all.key.find(({ key_digest }) => key_digest === digest)?.id ?? null;
    };
    const idHere = (id: unknown) => {
      const digests = filesKeys.filter(({ license_id }) => license_id === id).map((key) => key.key_digest);
      const [license] = new Set(
        all.key.filter((key) => digests.includes(key.key_digest as string)).map((key) => key.license_id),
      );
      return license;
    };
    for (const { id, main_key_id } of lines(file).filter(({ type }) => type === 'license'))
      expect(all.license.find((one) => one.id === idHere(id))!.main_key_id).toBe(keyHere(main_key_id));
    for (const { id, replaced_by } of filesKeys)
      expect(all.key.find((one) => one.id === keyHere(id))!.replaced_by).toBe(keyHere(replaced_by));
    for (const { license_id, identifier, key_id } of lines(file).filter(({ type }) => type === 'activation'))
      expect(
        all.activation.find((one) => one.license_id === idHere(license_id) && one.identifier === identifier),
      ).toMatchObject({ key_id: keyHere(key_id) });
    const keyIds = lines(file).filter((one) => one.type === 'event' && namesKey(one));
    expect(keyIds.length).toBeGreaterThan(5);
    for (const { license_id, action, after } of keyIds)
      expect(
        all.event.filter((one) => one.license_id === idHere(license_id) && one.action === action),
      ).toContainEqual(
        expect.objectContaining({
          after_json: JSON.stringify({
            ...(after as object),
            ...{ key_id: keyHere((after as { key_id: number }).key_id) },
          }),
        }),
      );
    expect(all.access.flatMap(({ key_id }) => key_id ?? [])).toContain(keyHere(filesKeys[0]!.id));
    for (const type of ['activation', 'event'] as const)
      for (const record of lines(file).filter((one) => one.type === type))
        expect(all[type].filter(({ license_id }) => license_id === idHere(record.license_id)).length).toBe(
          lines(file).filter((one) => one.type === type && one.license_id === record.license_id).length,
        );
    const plan = (id: unknown) =>
      all.plan.find((one) => one.id === all.license.find((license) => license.id === idHere(id))!.plan_id)!
        .name;
    expect([1, 2, 3, 4].map(plan)).toEqual(['Developer', 'Agency', 'Team', 'Developer']);
    await expectCountersExact(to.db);
    // Orders refer to their licences, plans and lines by the ids here, and histories refer to the orders.
    const [waits] = await rows<{ renews_json: string }>(to.db, 'order_lines').then((found) =>
      found.filter(({ renews_json: renews }) => renews === String(idHere(1))),
    );
    expect(waits).toBeDefined();
    for (const one of lines(file).filter(({ type }) => type === 'order')) {
      const order = all.order.find(({ digest }) => digest === one.digest)!;
      for (const { license_id, line_id, plans } of one.licenses as OrderLicenseRecord[]) {
        const { line } = (one.lines as OrderLineRecord[]).find(({ id }) => id === line_id)!;
        const lineHere = all.order_line.find((own) => own.order_id === order.id && own.line === line)!;
        const own = all.order_license.find(
          (candidate) => candidate.license_id === idHere(license_id) && candidate.order_id === order.id,
        )!;
        expect(own).toMatchObject({ line_id: lineHere.id });
        const base = (json: unknown) => (json as { base: { plan: number } }).base.plan;
        expect(all.plan.find(({ id }) => id === base(JSON.parse(own.plans_json as string)))!.name).toBe(
          lines(file).find(({ type, id }) => type === 'plan' && id === base(plans))!.name,
        );
      }
    }
    const caused = all.event.flatMap(({ after_json: after, license_id }) => {
      const order = after === null ? undefined : (JSON.parse(after as string) as { order?: number }).order;
      return order === undefined ? [] : [[order, license_id]];
    });
    expect(caused.length).toBeGreaterThan(0);
    for (const [order, licenseId] of caused)
      expect(all.order_license).toContainEqual(
        expect.objectContaining({ order_id: order, license_id: licenseId }),
      );
    expect(totals(await importJson(to, file))).toMatchObject({ new: 0, changed: 0, conflicting: 0 });
    expect(await contents(to.db)).toEqual(all);
  });

  it('refuses an order that has other events here, and brings the changes of a shop', async () => {
    const to = await place(kind);
    await importJson(to, file);
    const changed = lines(file).map((one) =>
      one.type === 'order' && one.number === 'A 4'
        ? { ...one, events: [] }
        : one.type === 'shop'
          ? { ...one, rules: null, secret_sealed: null }
          : one,
    );
    expect(await refused(to, 'import', fileOf(changed))).toMatch(
      /order A 4 of shop celik has other events here than in the file/,
    );
    const shops = changed.map((one) => (one.type === 'order' ? undefined : one)).filter((one) => !!one);
    const [before] = await rows<{ secret_sealed: string }>(to.db, 'shops');
    expect((await importJson(to, fileOf(shops))).records.shop).toMatchObject({ changed: 1 });
    expect(await rows(to.db, 'shops')).toMatchObject([
      { rules_json: null, secret_sealed: before!.secret_sealed },
    ]);
  });

  it('brings later changes, with an event that states them, and keeps the uses counted here', async () => {
    const to = await place(kind);
    await importJson(to, file);
    await to.db(table(to.db, 'licenses')).where({ id: 2 }).update({ check_count: 1000 });
    const later = lines(file).map((record) =>
      record.type === 'license' && record.id === 1
        ? { ...record, status: 'suspended', customer: 'john@example.com', check_count: 50 }
        : record.type === 'activation' && record.identifier === 'b.example'
          ? { ...record, name: 'Renamed' }
          : record.type === 'release' && record.state === 'draft'
            ? { ...record, state: 'published', published_at: '2026-05-01T00:00:00Z' }
            : record,
    );
    const report = await importJson(to, fileOf(later));
    expect(report.records).toMatchObject({
      license: { changed: 1, same: 3 },
      activation: { changed: 1 },
      release: { changed: 1 },
    });
    const all = await contents(to.db);
    expect(all.license[0]).toMatchObject({
      status: 'suspended',
      customer: 'john@example.com',
      check_count: 50,
    });
    expect(all.license[1]).toMatchObject({ check_count: 1000 });
    expect(all.activation.find(({ identifier }) => identifier === 'b.example')).toMatchObject({
      name: 'Renamed',
    });
    const history = await to.operator.json<Record<string, unknown>[]>(['license', 'history', '1']);
    expect(history.at(-1)).toMatchObject({
      action: 'import',
      before: { status: 'active', customer: 'jane@example.com' },
      after: { status: 'suspended', customer: 'john@example.com' },
    });
  });

  // The tests below do not depend on the SQL dialect.
  if (kind === 'SQLite' && !ON_BOTH) return;

  it('brings customers that are not addresses unchanged, and addresses without a name', async () => {
    const to = await place(kind);
    const customers = ['Member 77', 'Jane Roe <Roe@example.com>'];
    const older = lines(file).map((record) =>
      record.type === 'license' ? { ...record, customer: customers.shift() ?? null } : record,
    );
    await importJson(to, fileOf(older));
    const all = await contents(to.db);
    expect(all.license.map(({ customer }) => customer)).toEqual(['Member 77', 'roe@example.com', null, null]);
    expect(totals(await importJson(to, fileOf(older)))).toMatchObject({ changed: 0, conflicting: 0 });
  });

  it('keeps the later of two last checks, with its address', async () => {
    const to = await place(kind);
    await importJson(to, file);
    const licenses = table(to.db, 'licenses');
    const checked = { last_check_at: '2026-06-01 00:00:00', last_check_ip: '203.0.113.9' };
    await to.db(licenses).where({ id: 1 }).update(checked);
    await to.db(licenses).where({ id: 2 }).update(checked);
    const later = { last_check_at: '2026-07-01T00:00:00Z', last_check_ip: '2001:db8::7' };
    const changed = fileOf(
      lines(file).map((one) => (one.type === 'license' && one.id === 2 ? { ...one, ...later } : one)),
    );
    expect((await importJson(to, changed)).records.license).toMatchObject({ same: 3, changed: 1 });
    expect(await rows(to.db, 'licenses')).toMatchObject([
      checked,
      { last_check_at: '2026-07-01 00:00:00', last_check_ip: '2001:db8::7' },
      {},
      {},
    ]);
  });

  it('brings the missing one of two equal events', async () => {
    const to = await place(kind);
    await importJson(to, file);
    const before = await contents(to.db);
    const content = ({ id: _id, ...event }: Record<string, unknown>) => JSON.stringify(event);
    const equal = before.event.filter((one) =>
      before.event.some((other) => other !== one && content(other) === content(one)),
    );
    expect(equal.length).toBeGreaterThanOrEqual(2);
    await to
      .db(table(to.db, 'events'))
      .where({ id: equal[0]!.id as number })
      .delete();
    expect((await importJson(to, file)).records.event).toMatchObject({
      new: 1,
      same: before.event.length - 1,
    });
    expect((await contents(to.db)).event.map(content).sort()).toEqual(before.event.map(content).sort());
  });

  it('takes over another package of a draft, which no customer has yet', async () => {
    const to = await place(kind);
    await importJson(to, file);
    await to
      .db(table(to.db, 'releases'))
      .where({ id: 2 })
      .update({ sha256: 'f'.repeat(64), file_size: 1 });
    expect((await importJson(to, file)).records.release).toMatchObject({ same: 1, changed: 1 });
    expect((await contents(to.db)).release).toEqual((await contents(source.db)).release);
  });

  it('links releases with the same fix whatever their ids are here, and brings their advice', async () => {
    const to = await place(kind);
    await importJson(to, file);
    const others = (advisory: string) =>
      fileOf(
        lines(file).map((record) =>
          record.type === 'release'
            ? {
                ...record,
                version: `9.${String(record.id)}.0`,
                advisory,
                same_fix_as: record.id === 1 ? 2 : null,
              }
            : record,
        ),
      );
    expect((await importJson(to, others('Update.'))).records.release).toMatchObject({ new: 2 });
    expect((await importJson(to, others('Update now.'))).records.release).toMatchObject({ changed: 2 });
    expect((await contents(to.db)).release.slice(2)).toMatchObject([
      { id: 3, version: '9.1.0', advisory: 'Update now.', same_fix_as: 4 },
      { id: 4, version: '9.2.0', advisory: 'Update now.', same_fix_as: null },
    ]);
  });

  it('is refused if several plans match, unless the id decides', async () => {
    const to = await place(kind);
    await to.operator.json(['product', 'add', '--id', '42', '--name', 'Example Shop']);
    // An earlier version allowed two plans of one name.
    const addTwin = async ({ operator: op, db }: Place) => {
      await addPlan(op, '42', 'Twin', 'domain', '3', '--duration', '1y');
      await db(table(db, 'plans')).where({ name: 'Twin' }).update({ name: 'Developer' });
    };
    for (const name of ['Other', 'Developer'])
      await addPlan(to.operator, '42', name, 'domain', '3', '--duration', '1y');
    await addTwin(to);
    const before = await contents(to.db);
    const line = lines(file).findIndex(({ type }) => type === 'plan') + 1;
    expect(await refused(to, 'import', file)).toContain(
      `line ${line}: product 42 has several plans of this name, so it is not clear which one is meant`,
    );
    expect(await contents(to.db)).toEqual(before);

    const other = await place(kind);
    await importJson(other, file);
    await addTwin(other);
    expect(totals(await importJson(other, file))).toMatchObject({ new: 0, changed: 0, conflicting: 0 });
  });

  it('is refused if several plans match, however far apart they are in the file', async () => {
    const to = await place(kind);
    await to.operator.json(['product', 'add', '--id', '42', '--name', 'Example Shop']);
    await addPlan(to.operator, '42', 'Other', 'domain', '3');
    const before = await contents(to.db);
    const products = lines(file).filter(({ type }) => type === 'product');
    const plan = lines(file).find(({ type, product_id }) => type === 'plan' && product_id === 42);
    const plans = Array.from({ length: 450 }, (_, i) => ({
      ...plan,
      id: 1_000 + i,
      name: i % 449 === 0 ? 'Twin' : `Plan ${i}`,
    }));
    const path = fileOf([...products, ...plans]);
    expect(await refused(to, 'import', path)).toContain(
      `line ${1 + products.length + plans.length}: product 42 has several plans of this name, so it is not clear which one is meant`,
    );
    expect(await contents(to.db)).toEqual(before);
  });

  it('is refused if an earlier record of the same name took the plan of a later record', async () => {
    const to = await place(kind);
    await to.operator.json(['product', 'add', '--id', '42', '--name', 'Example Shop']);
    await addPlan(to.operator, '42', 'Twin', 'domain', '3', '--duration', '1y');
    await to.db(table(to.db, 'plans')).update({ id: 5_000 });
    const before = await contents(to.db);
    const products = lines(file).filter(({ type }) => type === 'product');
    const plan = lines(file).find(({ type, product_id }) => type === 'plan' && product_id === 42);
    const plans = Array.from({ length: 450 }, (_, i) => ({ ...plan, id: 1_000 + i, name: `Plan ${i}` }));
    const path = fileOf([
      ...products,
      { ...plan, id: 999, name: 'Twin' },
      ...plans,
      { ...plan, id: 5_000, name: 'Twin' },
    ]);
    expect(await refused(to, 'import', path)).toContain('product 42 has several plans of this name');
    expect(await contents(to.db)).toEqual(before);
  });

  it('is refused if the same key, id or version belongs to something else here', async () => {
    const to = await place(kind);
    await importJson(to, file);
    await addPlan(to.operator, '42', 'Devices', 'device', '1');
    const update = (name: 'licenses' | 'products' | 'releases', id: number, changes: object) =>
      to.db(table(to.db, name)).where({ id }).update(changes);
    await update('products', 42, { element: 'pkg_other' });
    await update('releases', 2, { version: '1.1.0.beta.2' });
    await update('licenses', 1, { plan_id: 3 });
    await update('licenses', 2, { plan_id: 4 });
    await update('licenses', 4, { reference: 'order-5' });
    const before = await contents(to.db);
    const stderr = await refused(to, 'import', file);
    expect(stderr).toContain('product 42 has another element here');
    expect(stderr).toContain(
      'version 1.1.0-beta2 of product 42 is the same to Joomla as version 1.1.0.beta.2',
    );
    expect(stderr).toContain(
      'licence 1, which has the same key, is for product 9 here, and for 42 in the file',
    );
    expect(stderr).toContain('licence 2 counts by device here, and by domain in the file');
    expect(stderr).toContain('licence 4 has another reference here');
    expect(stderr).toMatch(/^error: Nothing was imported: 5 records/m);
    expect(await contents(to.db)).toEqual(before);
  });

  it('is refused as a whole if it conflicts, with a sentence for each line', async () => {
    const to = await place(kind);
    await importJson(to, file);
    await to.operator.json(['license', 'revoke', '1']);
    await to.db(table(to.db, 'products')).where({ id: 9 }).update({ name: 'Another' });
    await to.db(table(to.db, 'plans')).where({ id: 2 }).update({ activation_type: 'device' });
    await to.db(table(to.db, 'licenses')).where({ id: 3 }).update({ reference: null });
    await to.db(table(to.db, 'licenses')).where({ id: 2 }).update({ reference: 'order-ü' });
    await to
      .db(table(to.db, 'releases'))
      .where({ id: 1 })
      .update({ sha256: 'f'.repeat(64) });
    const before = await contents(to.db);
    const changed = fileOf(
      lines(file).map((one) =>
        one.type === 'license' && one.id === 4 ? { ...one, activation_limit: 99 } : one,
      ),
    );
    const stderr = await refused(to, 'import', changed);
    const lineOf = (type: string, id: number) =>
      lines(file).findIndex((one) => one.type === type && one.id === id) + 1;
    expect(stderr).toContain(`line ${lineOf('product', 9)}: product 9 has another name here`);
    expect(stderr).toContain(`line ${lineOf('plan', 2)}: plan 2 counts by device here`);
    expect(stderr).toContain(
      `line ${lineOf('release', 1)}: version 1.0.0 of product 42 has another package here`,
    );
    expect(stderr).toContain(`line ${lineOf('license', 1)}: licence 1 is revoked here, which is final`);
    expect(stderr).toContain(`line ${lineOf('license', 3)}: its reference belongs to licence 2 here`);
    expect(stderr).toMatch(/^error: Nothing was imported: 5 records/m);
    expect(await contents(to.db)).toEqual(before);
    const dry = await to.operator.run(['import', changed, '--dry-run', '--json']);
    expect(dry.code).toBe(1);
    expect((JSON.parse(dry.stdout) as Report).conflicts).toHaveLength(5);
    expect((JSON.parse(dry.stdout) as Report).records.license).toEqual({
      new: 0,
      same: 1,
      changed: 1,
      conflicting: 2,
    });
  });

  it('keeps keys sealed only where they can be opened', async () => {
    const other = await place(kind, { LICENSING_KEY_SECRET: OTHER_SECRET });
    const stderr = await refused(other, 'import', file);
    const line = lines(file).findIndex(({ type }) => type === 'license') + 1;
    expect(stderr).toMatch(
      new RegExp(`^error: Line ${line}: .*another LICENSING_KEY_SECRET.*--without-sealed-keys`),
    );
    expect(Object.values(await contents(other.db)).flat()).toEqual([]);
    await importJson(other, file, '--without-sealed-keys');
    expect((await contents(other.db)).key.filter(({ key_sealed }) => key_sealed !== null)).toEqual([]);
    // Tokens that these keys signed are still valid, but the keys sign no new ones.
    const keysThere = await listKeysInUse(other.db);
    expect(keysThere.map(({ kid, sealed, state }) => [kid, sealed, state])).toEqual([
      ['2026-1', null, 'retired'],
      ['2026-2', null, 'retired'],
    ]);

    const none = await place(kind, {});
    const noted = await none.operator.run(['import', file]);
    expect(noted).toMatchObject({ code: 0 });
    expect(noted.stderr).toMatch(/^4 licences have a sealed key, and no LICENSING_KEY_SECRET is set here/m);
    expect(readFileSync(await exported(none), 'utf8')).toBe(readFileSync(file, 'utf8'));
  });

  it('brings signing keys: a key that has never signed is replaced, and retired keys stay retired', async () => {
    const keysOfFile = lines(file).filter(({ type }) => type === 'signing_key');
    expect(keysOfFile).toMatchObject([
      { kid: '2026-1', token_days: 30, retired_by: 'operator:test' },
      { kid: '2026-2', token_days: 0, retired_at: null },
    ]);
    const secret = Buffer.from(SECRET, 'base64');
    const context = { actor: 'operator:test', now: new Date('2026-06-01T10:00:00Z') };
    const to = await place(kind);
    for (let i = 0; i < 3; i++) await addSigningKey(to.db, secret, context);
    const { records } = await importJson(to, file);
    expect(records.signing_key).toMatchObject({ new: 2, conflicting: 0 });
    const keys = await listKeysInUse(to.db);
    expect(keys.map(({ kid, state }) => `${kid} ${state}`)).toEqual([
      ...['2026-1 retired', '2026-2 current', '2026-3 next'],
    ]);
    expect(keys.slice(0, 2).map(({ x }) => x)).toEqual(keysOfFile.map(({ x }) => x));
    expect(openSigningKey(keys[1]!, secret)).toMatchObject({ type: 'private' });

    await retireSigningKey(to.db, '2026-2', { compromised: true }, context);
    expect((await importJson(to, file)).records.signing_key).toMatchObject({ new: 0, same: 2, changed: 0 });
    const states = (await listKeysInUse(to.db)).map(({ state }) => state);
    expect(states).toEqual(['retired', 'retired', 'current']);

    const other = await place(kind);
    await addSigningKey(other.db, secret, context);
    await other.db(table(other.db, 'signing_keys')).update({ token_days: 1 });
    expect(await refused(other, 'import', file)).toContain(
      'signing key 2026-1 here is a different key, and has already signed',
    );
  });

  it('keeps holds, which can only become longer', async () => {
    const to = await place(kind);
    await importJson(to, file);
    const held = () =>
      to.db(table(to.db, 'activations')).whereNotNull('held_until').pluck<string[]>('held_until');
    expect(await held()).toEqual(['2026-04-01 10:00:00']);
    for (const [here, after] of [
      ['2026-03-20 10:00:00', '2026-04-01 10:00:00'],
      ['2026-05-01 10:00:00', '2026-05-01 10:00:00'],
    ] as const) {
      await to.db(table(to.db, 'activations')).whereNotNull('held_until').update({ held_until: here });
      await importJson(to, file);
      expect(await held()).toEqual([after]);
    }
  });

  it('takes packages along, except missing or damaged ones', async () => {
    const folder = join(temporaryFolder(), 'packages');
    await exported(source, ['--packages', folder]);
    const names = readdirSync(source.packagesDir).sort();
    expect(readdirSync(folder).sort()).toEqual(names);
    for (const name of names)
      expect(
        `${createHash('sha256')
          .update(readFileSync(join(folder, name)))
          .digest('hex')}.zip`,
      ).toBe(name);

    const to = await place(kind);
    const without = await to.operator.run(['import', file]);
    expect(without.stderr).toMatch(/The packages of 2 releases are not in/);
    await importJson(to, file, '--packages', folder);
    expect(readdirSync(to.packagesDir).sort()).toEqual(names);

    const damaged = join(folder, names[0]!);
    const bytes = readFileSync(damaged);
    bytes[100] = bytes[100]! ^ 1;
    writeFileSync(damaged, bytes);
    for (const args of [[], ['--dry-run']]) {
      const clean = await place(kind);
      expect(await refused(clean, 'import', file, '--packages', folder, ...args)).toMatch(
        /^error: Line \d+: the package .* is damaged/,
      );
      expect(Object.values(await contents(clean.db)).flat()).toEqual([]);
      expect(readdirSync(clean.packagesDir)).not.toContain(names[0]);
    }

    const kept = join(temporaryFolder(), 'kept.jsonl');
    const yesterday = JSON.stringify(HEADER);
    writeFileSync(kept, yesterday);
    writeFileSync(join(to.packagesDir, names[1]!), 'other bytes');
    const copies = join(temporaryFolder(), 'p');
    expect(await refused(to, 'export', '--out', kept, '--packages', copies)).toMatch(
      /is damaged: .*Restore it/,
    );
    expect(readFileSync(kept, 'utf8')).toBe(yesterday);
    expect(readdirSync(join(kept, '..'))).toEqual(['kept.jsonl']);
  });

  it('says why packages cannot be copied to the given folder', async () => {
    const none = writeText('');
    const out = join(dirname(none), 'out.jsonl');
    expect(await refused(source, 'export', '--out', out, '--packages', none)).toBe(
      `error: The folder ${none} was not created: ${none} is not a folder. Correct the path.\n`,
    );
    expect(existsSync(out)).toBe(false);
  });

  it('replaces a damaged package with the intact one', async () => {
    const folder = join(temporaryFolder(), 'packages');
    await exported(source, ['--packages', folder]);
    const [name] = readdirSync(folder) as [string];
    const whole = readFileSync(join(folder, name));
    const to = await place(kind);
    await importJson(to, file, '--packages', folder);
    for (const [place, repair] of [
      [to.packagesDir, () => importJson(to, file, '--packages', folder)],
      [folder, () => exported(to, ['--packages', folder])],
    ] as const) {
      writeFileSync(join(place, name), 'other bytes');
      await repair();
      expect(readFileSync(join(place, name)).equals(whole)).toBe(true);
    }
  });

  it('needs no package of a withdrawn version, and takes along an existing one', async () => {
    const from = await place(kind);
    await fill(from);
    for (const version of ['1.0.0', '1.1.0-beta2'])
      await from.operator.json(['release', 'withdraw', '--product', '42', '--version', version]);
    const [lost, whole] = (await contents(from.db)).release.map(({ sha256 }) => `${String(sha256)}.zip`);
    rmSync(join(from.packagesDir, lost!));
    const folder = join(temporaryFolder(), 'packages');
    const withdrawn = await exported(from, ['--packages', folder]);
    expect(readdirSync(folder)).toEqual([whole]);

    const to = await place(kind);
    const without = await to.operator.run(['import', withdrawn]);
    expect(without).toMatchObject({ code: 0 });
    expect(without.stderr).not.toMatch(/packages/);
    await importJson(to, withdrawn, '--packages', folder, '--dry-run');
    await importJson(to, withdrawn, '--packages', folder);
    expect(readdirSync(to.packagesDir)).toEqual([whole]);

    // A damaged package counts as missing.
    writeFileSync(join(folder, whole!), 'other bytes');
    const other = await place(kind);
    await importJson(other, withdrawn, '--packages', folder);
    expect(readdirSync(other.packagesDir)).toEqual([]);
  });

  it('goes to standard output and comes from standard input', async () => {
    const { code, stdout, stderr } = await source.operator.run(['export', '--out', '-', '--json']);
    expect(code).toBe(0);
    expect(stdout).toBe(readFileSync(file, 'utf8'));
    expect(stderr).toMatch(
      /^Exported: 2 products, 3 plans, 2 releases, 1 SBOM, 4 licences, 1 shop, 1 article of a shop, 5 orders, 3 links of shops, 1 customer, \d+ activations, \d+ events, \d+ accesses, 2 signing keys, 1 setting\.\n$/,
    );
    const to = await place(kind);
    await to.operator.json(['import', '-'], { stdin: stdout });
    expect(readFileSync(await exported(to), 'utf8')).toBe(readFileSync(file, 'utf8'));
  });

  it('replaces the target of a link, and reports if it cannot be written', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'real.jsonl'), '');
    symlinkSync(join(folder, 'real.jsonl'), join(folder, 'link.jsonl'));
    await source.operator.json(['export', '--out', join(folder, 'link.jsonl')]);
    expect(readFileSync(join(folder, 'real.jsonl'), 'utf8')).toBe(readFileSync(file, 'utf8'));
    expect(await refused(source, 'export', '--out', join(folder, 'no', 'such.jsonl'))).toMatch(
      /was not written: there is no folder .*\/no\. Create it/,
    );
  });

  const broken: [string, (text: string[]) => string | Buffer, RegExp][] = [
    [
      'a line that is cut off',
      (l) => [...l.slice(0, 4), l[4]!.slice(0, 30), ...l.slice(5)].join('\n'),
      /^error: Line 5: this is not one whole JSON object/,
    ],
    [
      'a file without its end',
      (l) => l.slice(0, -1).join('\n'),
      /^error: Line \d+: the file ends here without its footer/,
    ],
    [
      'a file that ends inside of a line',
      (l) => l.join('\n').slice(0, -40),
      /^error: Line \d+: this is not one whole JSON object/,
    ],
    [
      'a line that is missing',
      (l) => [...l.slice(0, -3), ...l.slice(-1)].join('\n'),
      /^error: Line \d+: the footer does not agree/,
    ],
    ['something after the end', (l) => [...l, l[1]].join('\n'), /there is more text after the footer/],
    [
      'a newer format',
      (l) => [JSON.stringify({ ...HEADER, version: HEADER.version + 1 }), ...l.slice(1)].join('\n'),
      new RegExp(
        `^error: Line 1: the file has format version ${FORMAT_VERSION + 1}, and this program reads ${FORMAT_VERSION - 1} and ${FORMAT_VERSION}\\. Install the version`,
      ),
    ],
    [
      'an older format',
      (l) => [JSON.stringify({ ...HEADER, version: HEADER.version - 2 }), ...l.slice(1)].join('\n'),
      new RegExp(
        `^error: Line 1: the file has format version ${FORMAT_VERSION - 2}, and this program reads ${FORMAT_VERSION - 1} and ${FORMAT_VERSION}\\. Export again with a version`,
      ),
    ],
    [
      'another kind of file',
      () => 'Key;Plan\nA;B\n',
      /^error: Line 1: this is not a file that an export wrote.*"licensing export".*--from csv/,
    ],
    ['an empty file', () => '', /^error: The file is empty/],
    [
      'text that is not UTF-8',
      (l) => Buffer.concat([Buffer.from(`${l[0]!}\n`), Buffer.from([0x7b, 0xff, 0x7d, 10])]),
      /^error: Line 2: this is not UTF-8/,
    ],
    [
      'a field nobody knows',
      (l) => [l[0]!, l[1]!.replace('}', ',"nmae":1}'), ...l.slice(2)].join('\n'),
      /^error: Line 2: a product has no field named "nmae"/,
    ],
    [
      'a field that is missing',
      (l) => [l[0]!, l[1]!.replace('"name"', '"type"'), ...l.slice(2)].join('\n'),
      /^error: Line 2: /,
    ],
    [
      'a value of the wrong kind',
      (l) => l.map((one) => one.replace('"activation_limit":3', '"activation_limit":-3')).join('\n'),
      /"activation_limit" of the plan must be a whole number/,
    ],
    [
      'a day that does not exist',
      (l) =>
        l.map((one) => one.replace(/"created_at":"[^"]*"/, '"created_at":"2026-02-31T00:00:00Z"')).join('\n'),
      /^error: Line 2: "created_at" of the product must be a time/,
    ],
    [
      'a name of a download that would end its header',
      (l) => l.map((one) => one.replace(/"file_name":"[^"]*"/, '"file_name":"a\\"; b=c.zip"')).join('\n'),
      /"file_name" of the release must be a name of letters, digits/,
    ],
    ...[`${'a'.repeat(252)}.zip`, 'a.zip.php', '.zip', 'é.zip', '../a.zip'].map(
      (name): (typeof broken)[number] => [
        `a download named ${name}`,
        (l) => l.map((one) => one.replace(/"file_name":"[^"]*"/, `"file_name":"${name}"`)).join('\n'),
        /"file_name" of the release must be a name of letters, digits/,
      ],
    ),
    [
      'a type nobody knows',
      (l) => [l[0]!, '{"type":"invoice"}', ...l.slice(1)].join('\n'),
      /^error: Line 2: "type" must be one of/,
    ],
    [
      'records in another order',
      (l) => [l[0]!, l[3]!, l[1]!, ...l.slice(2)].join('\n'),
      /^error: Line 3: records of the type product come before/,
    ],
    [
      'the same record twice',
      (l) => [l[0]!, l[1]!, l[1]!, ...l.slice(2)].join('\n'),
      /^error: Line 3: records of the type product must be sorted by id, without duplicates/,
    ],
    [
      'a key that is there twice',
      (l) =>
        l
          .map((one) =>
            one.startsWith('{"type":"license","id":2,')
              ? one.replace(
                  /"key_digest":"[^"]*"/,
                  /"key_digest":"[^"]*"/.exec(
                    l.find((other) => other.startsWith('{"type":"license","id":1,'))!,
                  )![0],
                )
              : one,
          )
          .join('\n'),
      /this licence has the same key as that of line/,
    ],
    [
      'a record of nobody',
      (l) =>
        l.map((one) => one.replace('"license_id":3,"identifier"', '"license_id":5,"identifier"')).join('\n'),
      /the file has no licence 5/,
    ],
  ];

  it('is refused with the line, and leaves no row, if it was altered', async () => {
    const to = await place(kind);
    const text = readFileSync(file, 'utf8').trim().split('\n');
    for (const [what, damage, message] of broken) {
      const stderr = await refused(to, 'import', writeText(damage(text)));
      expect({ what, stderr }).toEqual({ what, stderr: expect.stringMatching(message) });
      expect(stderr).toContain('Nothing was imported');
      expect({ what, rows: Object.values(await contents(to.db)).flat() }).toEqual({ what, rows: [] });
    }
  });

  it('is the state of one moment, however long it takes', async () => {
    const large = await place(kind);
    await importJson(large, largeFile(4_000));
    const child = startProcess(process.execPath, [CLI, 'export', '--out', '-'], {
      env: processEnvironment(large.settings),
    });
    // While nothing reads the pipe, it is full, and the export waits within the licences. The header alone proves nothing:
    // it is written before the first read, which fixes the moment of the export.
    child.stdout!.on('readable', () => undefined);
    await eventually(() => expect(child.stdout!.readableLength).toBeGreaterThan(5_000));
    await large.operator.json(['activation', 'add', '4000', 'late.example']);
    await large.operator.json(['license', 'issue', '--plan', '1', '--reference', 'late']);
    let text = '';
    child.stdout!.removeAllListeners('readable');
    child.stdout!.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    const [code] = (await once(child, 'close')) as [number];
    expect(code).toBe(0);
    // Compares only matching lines, because a failure would print the whole text.
    expect(text.split('\n').filter((line) => line.includes('late'))).toEqual([]);
    const to = await place(kind);
    expect((await importJson(to, writeText(text))).records).toMatchObject({
      license: { new: 4_000 },
      activation: { new: 4_000 },
    });
    expect((await importJson(large, await exported(large), '--dry-run')).records.license).toMatchObject({
      same: 4_001,
    });
  });
});

describe('an import into a database in use', () => {
  /** Imports a file while another transaction holds a row that it needs, and changes that row before it releases it. */
  async function importWhileHeld(
    to: Place,
    records: Record<string, unknown>[],
    name: 'licenses' | 'releases',
    changes: object,
  ): Promise<string> {
    const trx = await to.db.transaction();
    await trx(table(to.db, name)).where({ id: 1 }).forUpdate();
    const refusal = refused(to, 'import', fileOf(records));
    await eventually(async () => {
      const [waiting] = await to.db.raw<[object[]]>(
        "SELECT 1 FROM information_schema.processlist WHERE db = DATABASE() AND info LIKE 'select % for update'",
      );
      expect(waiting).toHaveLength(1);
    });
    await trx(table(to.db, name)).where({ id: 1 }).update(changes);
    await trx.commit();
    return refusal;
  }

  it('does not bring back a licence that was revoked, or a version that was withdrawn, a moment before', async () => {
    const to = await place('MariaDB');
    await importJson(to, largeFile(1));
    const { path } = await makePackage();
    await to.operator.json(['release', 'publish', '--product', '1', '--version', '1.0', '--file', path]);
    const before = lines(await exported(to));
    const changed = (type: string, changes: object) =>
      before.map((one) => (one.type === type ? { ...one, ...changes } : one));
    expect(
      await importWhileHeld(to, changed('license', { customer: 'other@example.com' }), 'licenses', {
        status: 'revoked',
      }),
    ).toMatch(/licence 1 is revoked here, which is final, and active in the file/);
    expect(await rows(to.db, 'licenses')).toMatchObject([{ status: 'revoked', customer: 'c1@example.com' }]);
    await to.db(table(to.db, 'licenses')).update({ status: 'active' });
    expect(
      await importWhileHeld(to, changed('release', { changelog: 'Better' }), 'releases', {
        state: 'withdrawn',
      }),
    ).toMatch(
      /version 1.0 of product 1 is withdrawn here and published in the file, and there is no way back/,
    );
    expect(await rows(to.db, 'releases')).toMatchObject([{ state: 'withdrawn', changelog: '' }]);
  });

  it('accepts an activation that was made a moment before its own', async () => {
    const to = await place('MariaDB');
    await importJson(to, largeFile(1));
    const before = lines(await exported(to));
    const activation = before.find(({ type }) => type === 'activation');
    const trx = await to.db.transaction();
    await lockLicense(trx, 1);
    const report = importJson(
      to,
      fileOf(
        before.flatMap((one) =>
          one === activation ? [{ ...one, id: 2, identifier: 'new.example' }, one] : [one],
        ),
      ),
    );
    await eventually(async () => {
      const [waiting] = await to.db.raw<[object[]]>(
        "SELECT 1 FROM information_schema.processlist WHERE db = DATABASE() AND info LIKE 'select % for update'",
      );
      expect(waiting).toHaveLength(1);
    });
    await adjustSlotCounts(trx, new Map([[1, 1]]));
    await insertActivations(trx, [
      {
        licenseId: 1,
        identifier: 'new.example',
        name: null,
        ip: null,
        keyId: null,
        free: false,
        heldUntil: null,
        site: null,
        activatedAt: new Date(),
      },
    ]);
    await trx.commit();
    expect((await report).records.activation).toMatchObject({ new: 0, changed: 0 });
    expect((await contents(to.db)).activation.map(({ identifier }) => identifier)).toEqual([
      'site-1.example',
      'new.example',
    ]);
    await expectCountersExact(to.db);
  });

  it('locks the rows that it changes only after it has read everything', async () => {
    const to = await place('MariaDB');
    const both = lines(largeFile(2)).map((one) =>
      one.type === 'license' && one.id === 1
        ? { ...one, keys: [newKey(1, { key_digest: keyDigest('KNOWN-KEY') })] }
        : one,
    );
    const isSecond = ({ type, id, license_id }: (typeof both)[0]) =>
      license_id === 2 || (type === 'license' && id === 2);
    await importJson(to, fileOf(both.filter((one) => !isSecond(one))));
    const changed = both.flatMap((one) =>
      one.type === 'license' && one.id === 1
        ? [{ ...one, customer: 'other@example.com' }]
        : one.type === 'activation' && one.license_id === 1
          ? [{ ...one, id: 3, identifier: 'imported.example' }, one]
          : [one],
    );
    const text = readFileSync(fileOf(changed));
    const cut = text.indexOf('{"type":"footer"');
    const service = await startTestService(to.settings);
    const child = startProcess(process.execPath, [CLI, 'import', '-'], {
      env: processEnvironment(to.settings),
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    try {
      child.stdin!.write(text.subarray(0, cut));
      // New rows are inserted, and the import waits within its transaction for the file's last line.
      await eventually(async () => {
        const uncommitted = await to.db.transaction(
          (trx) => trx(table(to.db, 'activations')).where({ license_id: 2 }).pluck('id'),
          { isolationLevel: 'read uncommitted' },
        );
        expect(uncommitted).toHaveLength(1);
      });
      for (const verb of ['validate', 'activate'])
        await request(service.url)
          .post(`${PREFIX}/licenses/${verb}`)
          .send({ license_key: 'KNOWN-KEY', identifier: 'new.example' })
          .expect(200);
      child.stdin!.end(text.subarray(cut));
      expect(await once(child, 'close')).toEqual([0, null]);
      expect(await rows(to.db, 'licenses')).toMatchObject([
        { customer: 'other@example.com', activations_used: 3, check_count: 1 },
        { activations_used: 1 },
      ]);
      await expectCountersExact(to.db);
    } finally {
      child.kill('SIGKILL');
      await service.stop();
    }
  });

  it('does not block concurrent issues and activations, and is not blocked by them', async () => {
    const to = await place('MariaDB');
    await importJson(to, largeFile(10));
    const service: TestService = await startTestService(to.settings);
    try {
      const file = fileOf(lines(await exported(to)).concat());
      const more = lines(largeFile(3_000))
        .filter(({ type }) => type === 'license')
        .slice(10);
      const merged = fileOf(
        lines(file).flatMap((one) => (one.type === 'license' && one.id === 10 ? [one, ...more] : [one])),
      );
      const child = startProcess(process.execPath, [CLI, 'import', '-'], {
        env: processEnvironment(to.settings),
        stdio: ['pipe', 'ignore', 'inherit'],
      });
      const text = readFileSync(merged);
      // All licences are inserted, and the import waits within its transaction.
      child.stdin!.write(text.subarray(0, text.indexOf('{"type":"activation"') + 40));
      await eventually(async () => {
        const connection = await createConnection(
          to.settings.LICENSING_DATABASE_URL!.replace('root:@', 'root@'),
        );
        await connection.query('SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED');
        const [[row]] = (await connection.query(
          `SELECT COUNT(*) AS n FROM ${table(to.db, 'licenses')}`,
        )) as unknown as [[{ n: number }]];
        await connection.end();
        expect(row.n).toBeGreaterThan(2_500);
      });
      const issued = await to.operator.json<{ id: number; license_key: string }>([
        'license',
        'issue',
        '--plan',
        '1',
      ]);
      const activated = await request(service.url)
        .post(`${PREFIX}/licenses/activate`)
        .send({ license_key: issued.license_key, identifier: 'new.example' });
      expect(activated.status).toBe(200);
      await to.operator.json(['activation', 'add', '5', 'extra.example']);
      child.stdin!.end(text.subarray(text.indexOf('{"type":"activation"') + 40));
      const [code] = (await once(child, 'close')) as [number];
      expect(code).toBe(0);
      expect((await contents(to.db)).license).toHaveLength(3_001);
      await expectCountersExact(to.db);
    } finally {
      await service.stop();
    }
  });
});

describe('an import into a server with special settings', () => {
  let mariadb: MariaDb;
  let to: Place;
  beforeAll(async () => {
    mariadb = await startMariaDb(['--log-bin', '--binlog-format=STATEMENT', '--max-allowed-packet=1M']);
    to = await place('MariaDB', { LICENSING_DATABASE_URL: await mariadb.createDatabase() });
  });
  afterAll(() => mariadb.stop('SIGKILL'));

  it('works if changes are logged as statements', async () => {
    const file = largeFile(300);
    expect(totals(await importJson(to, file)).new).toBeGreaterThan(900);
    const changed = lines(file).map((one) =>
      one.type === 'license' ? { ...one, customer: 'other@example.com' } : one,
    );
    expect(totals(await importJson(to, fileOf(changed)))).toMatchObject({ changed: 300, conflicting: 0 });
    await expectCountersExact(to.db);
  });

  it('names a packet that is larger than the server accepts', async () => {
    const long = lines(largeFile(1)).map((one) =>
      one.type === 'event'
        ? { ...one, after: { customer: 'x'.repeat(3_000_000) } }
        : one.type === 'license'
          ? { ...one, reference: null }
          : one,
    );
    expect(await refused(to, 'import', fileOf(long))).toMatch(
      /ended the connection .* larger than its max_allowed_packet.*Raise max_allowed_packet/,
    );
  });
});
