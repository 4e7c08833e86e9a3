import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import type { Settings } from '../../src/settings/config';
import { readSearch } from '../../src/licensing/license-filter';
import { queueMail } from '../../src/mail/queue';
import { table, type Db, type TableName } from '../../src/store/engine/database';
import { TEXT_COLUMNS } from '../../src/store/personal-data';
import {
  deleteCustomer,
  findCustomer,
  listCustomers,
  readCustomerJson,
  resolveCustomer,
} from '../../src/privacy/customer-list';
import { eraseCustomer } from '../../src/privacy/erase-customer';
import type { OrderMessage } from '../../src/orders/message';
import { recordOrder } from '../../src/orders/record';
import { customerDigest } from '../../src/store/customer-digest';
import { operator, type Operator } from '../support/operator';
import { eventually, startProcess, temporaryFolder } from '../support/processes';
import { CLI } from '../support/program';
import {
  DATABASE_KINDS,
  giveLicense,
  givePlan,
  newPlace,
  PREFIX,
  rows,
  startTestService,
  type TestLicense,
  type TestService,
} from '../support/service';
import { processEnvironment } from '../support/service-process';

const JANE = 'jane@example.com';
const TABLES: TableName[] = [
  'products',
  'plans',
  'licenses',
  'license_keys',
  'activations',
  'releases',
  'access_log',
  'events',
];

describe.each(DATABASE_KINDS)('a customer stored in %s', (kind) => {
  let settings: Settings;
  let service: TestService;
  let db: Db;
  let op: Operator;
  let own: TestLicense;
  let team: TestLicense;
  let marys: TestLicense;
  let seatPlan: number;

  beforeEach(async () => {
    settings = { ...(await newPlace(kind)), LICENSING_TRUSTED_PROXIES: '127.0.0.0/8' };
    service = await startTestService(settings);
    db = service.db;
    op = operator(settings);
    const plan = await givePlan(db, { limit: 1 });
    seatPlan = await givePlan(db, { type: 'seat', limit: 10 });
    own = await giveLicense(db, plan, {
      customer: 'Jane@Example.com',
      reference: 'order-17/JANE@example.com',
    });
    team = await giveLicense(db, seatPlan, { customer: 'boss@corp.example' });
    marys = await giveLicense(db, seatPlan, { customer: 'mary.jane@example.com', reference: 'order-18' });
    await call('activate', own, 'jane-doe.example', '203.0.113.7', 'Laptop of jane@example.com');
    await call('activate', own, 'second.example', '203.0.113.8');
    await call('validate', own, 'jane-doe.example', '203.0.113.9');
    await call('activate', team, 'JANE@Example.com', '203.0.113.10', 'Jane');
    await call('activate', team, 'mary.jane@example.com', '203.0.113.11');
    await call('activate', team, 'jane@example.com.au', '203.0.113.12');
    await call('activate', marys, 'jane@example.com', '203.0.113.13');
    await request(service.url)
      .get(`${PREFIX}/downloads/42`)
      .query({ dlid: own.key, identifier: 'jane@example.com' })
      .set('User-Agent', 'Updater (jane@example.com)')
      .set('X-Forwarded-For', '203.0.113.14');
    await op.json([
      'license',
      'suspend',
      String(own.id),
      '--reason',
      'asked by Jane@Example.com, not by mary.jane@example.com',
    ]);
    await op.json(['product', 'edit', '42', '--name', 'Made for jane@example.com']);
    await eventually(async () => expect((await rows(db, 'access_log')).length).toBeGreaterThanOrEqual(2));
  });

  afterEach(() => service.stop());

  function call(verb: string, license: TestLicense, identifier: string, ip: string, name?: string) {
    return request(service.url)
      .post(`${PREFIX}/licenses/${verb}`)
      .set('X-Forwarded-For', ip)
      .send({ license_key: license.key, identifier, ...(name === undefined ? {} : { name }) });
  }

  /** Returns every value of every column of every table that contains a text, in upper or lower case. */
  async function placesOf(text: string): Promise<string[]> {
    const places: string[] = [];
    for (const name of TABLES)
      for (const row of await rows(db, name))
        for (const [column, value] of Object.entries(row))
          if (String(value).toLowerCase().includes(text.toLowerCase()))
            places.push(`${name}.${column}: ${String(value)}`);
    return places;
  }

  /** Returns the places of Jane's address, without those of longer addresses that contain it. */
  async function placesOfJane(): Promise<string[]> {
    return (await placesOf(JANE)).filter((place) =>
      place
        .toLowerCase()
        .replaceAll('mary.jane@example.com', '')
        .replaceAll('jane@example.com.au', '')
        .includes(JANE),
    );
  }

  it('is shown with licences, activations and latest accesses, and is not found by a part of another address', async () => {
    const shown = await op.json<{
      customer: string;
      licenses: { id: number; activations: { identifier: string }[] }[];
      seats: { license_id: number; identifier: string }[];
      accesses: { endpoint: string; outcome: string }[];
    }>(['customer', 'show', ' JANE@example.com ']);
    expect(shown.customer).toBe(JANE);
    expect(shown.licenses.map(({ id }) => id)).toEqual([own.id]);
    expect(shown.licenses[0]!.activations.map(({ identifier }) => identifier)).toEqual(['jane-doe.example']);
    expect(shown.seats.map(({ license_id, identifier }) => [license_id, identifier])).toEqual([
      [team.id, JANE],
      [marys.id, JANE],
    ]);
    expect(shown.accesses.map(({ endpoint, outcome }) => [endpoint, outcome])).toContainEqual([
      'activate',
      'ACTIVATION_LIMIT_REACHED',
    ]);
    const text = await op.run(['customer', 'show', '-'], { stdin: `${JANE}\n` });
    expect(text).toMatchObject({ code: 0 });
    expect(text.stdout).toMatch(/jane-doe\.example/);
    expect(await op.run(['customer', 'show', 'nobody@example.com'])).toMatchObject({ code: 1, stdout: '' });
    expect((await op.run(['customer', 'show', 'jane'])).stderr).toMatch(
      /^error: The customer must be an e-mail address such as jane@example\.com/,
    );
  });

  it('is shown page by page, in the order of the licences', async () => {
    const more: TestLicense[] = [];
    for (let i = 0; i < 5; i++) more.push(await giveLicense(db, seatPlan, { customer: JANE }));
    interface Page {
      licenses: { id: number }[];
      seats: { license_id: number }[];
    }
    const pages: number[][] = [];
    for (let after: string | undefined = '1'; after !== undefined;) {
      const options: string[] = ['customer', 'show', JANE, '--limit', '3'];
      if (pages.length > 0) options.push('--after', after);
      const { licenses, seats } = await op.json<Page>(options);
      pages.push([...licenses.map(({ id }) => id), ...seats.map((seat) => seat.license_id)].sort());
      const { stderr } = await op.run(options);
      after = /^There may be more: --after (\d+)\n$/.exec(stderr)?.[1];
    }
    const ids = more.map(({ id }) => id);
    expect(pages).toEqual([[own.id, team.id, marys.id], ids.slice(0, 3), ids.slice(3)]);
    const end = await op.run(['customer', 'show', JANE, '--after', String(ids.at(-1))]);
    expect(end).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('This customer has no more licences'),
    });
  });

  it('with 500 licences is erased in a few transactions, and the terminal shows the progress', async () => {
    const plan = await givePlan(db, { type: 'seat', limit: 2 });
    await giveLicense(db, plan, { customer: JANE, count: 500 });
    let transactions = 0;
    const told: [number, number][] = [];
    db.on('query', ({ sql }: { sql: string }) => {
      if (sql.startsWith('BEGIN')) transactions++;
    });
    const counts = await eraseCustomer(
      db,
      JANE,
      { actor: 'operator:test', now: new Date() },
      (done, total) => {
        told.push([done, total]);
      },
    );
    expect(counts.licenses).toBe(503);
    expect(told.at(-1)).toEqual([503, 503]);
    expect(told.length).toBeLessThanOrEqual(6);
    expect(transactions).toBeLessThan(25);
    expect(await placesOfJane()).toEqual([]);
    const erasures = (await rows<{ action: string }>(db, 'events')).filter(
      ({ action }) => action === 'erase-customer',
    );
    expect(erasures).toHaveLength(503);
  });

  it('gets an export of everything that is stored about them, and of no other customer', async () => {
    const file = join(temporaryFolder(), 'jane.json');
    await op.json(['customer', 'export', JANE, '--out', file]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const text = readFileSync(file, 'utf8');
    const value = JSON.parse(text) as {
      customer: string;
      licenses: Record<'activations' | 'events' | 'accesses', Record<string, unknown>[]>[];
      mentions: Record<string, Record<string, unknown>[]>;
    };
    expect(value.customer).toBe(JANE);
    expect(value.licenses).toHaveLength(1);
    const [license] = value.licenses;
    expect(license).toMatchObject({
      id: own.id,
      customer: JANE,
      last_check_ip: '203.0.113.9',
      product: 'Made for jane@example.com',
    });
    expect(license!.activations).toMatchObject([
      { identifier: 'jane-doe.example', name: 'Laptop of jane@example.com', ip: '203.0.113.7' },
    ]);
    expect(license!.events.map(({ action }) => action)).toEqual(['issue', 'activate', 'suspend']);
    expect(license!.accesses.map(({ ip }) => ip)).toContain('203.0.113.14');
    expect(value.mentions.activation!.map(({ license_id }) => license_id)).toEqual([team.id, marys.id]);
    expect(value.mentions.event!.map(({ license_id }) => license_id)).toEqual([team.id, marys.id]);
    expect(value.mentions.product!.map(({ id }) => id)).toEqual([42]);
    for (const absent of ['203.0.113.11', '203.0.113.12', 'boss@corp.example', 'key_digest', 'key_sealed'])
      expect(text).not.toContain(absent);

    const none = join(temporaryFolder(), 'none.json');
    expect((await op.run(['customer', 'export', 'nobody@example.com', '--out', none])).stderr).toMatch(
      /^error: Nothing is stored/,
    );
    expect(() => statSync(none)).toThrow();
    expect(await op.run(['customer', 'export', 'nobody@example.com', '--out', '-'])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^error: Nothing is stored/),
    });
    const whole = await op.run(['customer', 'export', JANE, '--out', '-']);
    expect(whole.stderr).toMatch(
      /^Exported: 1 licence with all that belongs to it, and \d+ mentions elsewhere\.\n$/,
    );
  });

  it('is gone from every column once erased, with the IP addresses, while licences and slots stay', async () => {
    const before = await rows<{ id: number; activations_used: number }>(db, 'licenses');
    expect((await placesOfJane()).length).toBeGreaterThan(10);
    expect(await op.json(['customer', 'erase', JANE, '--yes'])).toMatchObject({ licenses: 3 });
    expect(await placesOfJane()).toEqual([]);
    for (const ip of ['7', '8', '9', '10', '13', '14']) expect(await placesOf(`203.0.113.${ip}`)).toEqual([]);

    const after = await rows(db, 'licenses');
    expect(after.map(({ id, activations_used }) => ({ id, activations_used }))).toEqual(
      before.map(({ id, activations_used }) => ({ id, activations_used })),
    );
    expect(after[0]).toMatchObject({
      customer: null,
      last_check_ip: null,
      check_count: 1,
      status: 'suspended',
    });
    expect(after[0]!.reference).toMatch(/^order-17\/erased-[0-9a-f]{16}$/);
    const activations = await rows<{
      license_id: number;
      identifier: string;
      name: string | null;
      ip: string | null;
    }>(db, 'activations');
    expect(activations[0]).toMatchObject({
      identifier: 'jane-doe.example',
      name: 'Laptop of erased',
      ip: null,
    });
    const placeholders = activations.filter(({ identifier }) => /^erased-[0-9a-f]{16}$/.test(identifier));
    expect(placeholders.map(({ license_id, ip }) => [license_id, ip])).toEqual([
      [team.id, null],
      [marys.id, null],
    ]);
    expect(placeholders[0]!.identifier).not.toBe(placeholders[1]!.identifier);

    // The others are unchanged.
    expect(after[2]).toMatchObject({ customer: 'mary.jane@example.com' });
    expect(
      activations
        .filter(({ identifier }) => /mary\.jane|\.au$/.test(identifier))
        .map(({ identifier, ip }) => [identifier, ip]),
    ).toEqual([
      ['mary.jane@example.com', '203.0.113.11'],
      ['jane@example.com.au', '203.0.113.12'],
    ]);
    expect((await call('validate', team, 'Mary.Jane@example.com', '203.0.113.11')).body).toMatchObject({
      data: { identifier_activated: true },
    });
    expect((await call('validate', team, JANE, '203.0.113.10')).body).toMatchObject({
      data: { identifier_activated: false, activations_used: 3 },
    });

    const events = await rows<{
      license_id: number;
      action: string;
      actor: string;
      before_json: string | null;
      after_json: string | null;
    }>(db, 'events');
    const erasures = events.filter(({ action }) => action === 'erase-customer');
    expect(erasures.map(({ license_id }) => license_id)).toEqual([own.id, team.id, marys.id]);
    expect(erasures[0]).toMatchObject({ before_json: null, after_json: '{"customer":null}' });
    const suspended = events.find(({ action }) => action === 'suspend')!;
    expect(JSON.parse(suspended.after_json!)).toMatchObject({
      reason: 'asked by erased, not by mary.jane@example.com',
    });
    for (const { before_json, after_json } of events)
      for (const json of [before_json, after_json]) if (json !== null) JSON.parse(json);

    expect(await op.json(['customer', 'erase', JANE, '--yes'])).toEqual({ licenses: 0, rows: 0 });
    expect(await rows(db, 'events')).toHaveLength(events.length);
  });

  it('gets keys in the export, and labels of keys are erased with the address even if they name others too', async () => {
    const addKey = (license: TestLicense, label: string) =>
      op.json<{ id: number; license_key: string }>([
        ...['license', 'key', 'add', String(license.id), '--label', label, '--limit', '2'],
      ]);
    await op.json(['license', 'set-limit', String(own.id), '5']);
    await op.json(['license', 'reinstate', String(own.id)]);
    const added = await addKey(own, 'Anna Muster');
    await op.json(['license', 'key', 'edit', String(own.id), String(added.id), '--label', 'Bob Muster']);
    await call('activate', { id: own.id, key: added.license_key }, 'muster.example', '203.0.113.15');
    const named = await addKey(team, 'For Jane@Example.com');
    await addKey(team, 'Carl Corp');

    const file = join(temporaryFolder(), 'jane.json');
    await op.json(['customer', 'export', JANE, '--out', file]);
    const text = readFileSync(file, 'utf8');
    const value = JSON.parse(text) as {
      licenses: { main_key_id: number; keys: object[]; activations: object[] }[];
      mentions: { key: object[] };
    };
    const [license] = value.licenses;
    expect(license!.keys).toMatchObject([
      { id: license!.main_key_id, key_hint: own.key.slice(-8), label: null },
      { id: added.id, key_hint: added.license_key.slice(-8), label: 'Bob Muster', activation_limit: 2 },
    ]);
    expect(license!.activations).toMatchObject([
      { identifier: 'jane-doe.example', key_id: null, free: false },
      { identifier: 'muster.example', key_id: added.id, free: false },
    ]);
    expect(value.mentions.key).toMatchObject([
      { license_id: team.id, id: named.id, label: 'For Jane@Example.com' },
    ]);
    for (const absent of ['key_digest', 'key_sealed', 'Carl']) expect(text).not.toContain(absent);

    expect((await placesOf('Muster')).length).toBeGreaterThan(3);
    await op.json(['customer', 'erase', JANE, '--yes']);
    expect((await placesOf('Muster')).filter((one) => one.includes('Muster'))).toEqual([]);
    expect(await placesOfJane()).toEqual([]);
    const labels = (await rows<{ label: string | null }>(db, 'license_keys')).map(({ label }) => label);
    expect(labels.filter((label) => label !== null)).toEqual(['For erased', 'Carl Corp']);
    const edits = (
      await rows<{ action: string; before_json: string; after_json: string }>(db, 'events')
    ).filter(({ action }) => action === 'edit-key');
    expect(edits.map((one) => JSON.parse(one.after_json) as object)).toMatchObject([
      { key_id: added.id, label: null, activation_limit: 2 },
    ]);
  });

  it('is not erased without a confirmation', async () => {
    const before = await placesOfJane();
    const { code, stdout, stderr } = await op.run(['customer', 'erase', JANE]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/Nothing was erased: there is no terminal to ask on\. --yes/);
    expect(await placesOfJane()).toEqual(before);
    for (const bad of ['', 'jane', '@', 'a@b', 'example.com', 'jane @example.com'])
      expect({ bad, code: (await op.run(['customer', 'erase', '--yes', '--', bad])).code }).toEqual({
        bad,
        code: 1,
      });
    expect(await placesOfJane()).toEqual(before);
  });

  it('is erased on a terminal after a yes, and kept after a no', async () => {
    const command = `${process.execPath} ${CLI} customer erase ${JANE}`;
    const answer = async (text: string) => {
      const child = startProcess('script', ['-qec', command, '/dev/null'], {
        env: processEnvironment(settings),
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      let output = '';
      child.stdout!.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
      const closed = once(child, 'close');
      await eventually(() => expect(output).toMatch(/\[y\/N\]/));
      child.stdin!.write(text);
      const [code] = (await closed) as [number];
      return { code, output };
    };
    expect(await answer('n\r')).toMatchObject({
      code: 1,
      output: expect.stringMatching(
        /The address is in 1 row of products, 1 row of licenses.*Nothing was erased/s,
      ),
    });
    expect((await placesOfJane()).length).toBeGreaterThan(10);
    expect(await answer('y\r')).toMatchObject({
      code: 0,
      output: expect.stringMatching(/Erased from 3 licences/),
    });
    expect(await placesOfJane()).toEqual([]);
  });

  it('with an address of any letters is found and erased, in JSON too', async () => {
    for (const address of ['JÜRGEN.groß@exämple.com', '"o\\brien%_!"@example.com']) {
      const license = await giveLicense(db, seatPlan, { customer: address });
      await call('activate', license, address, '203.0.113.20', `For ${address}`);
      await op
        .json(['license', 'set-customer', String(license.id), address.toUpperCase().replace('SS', 'ß')])
        .catch(() => undefined);
      const lower = address.toLowerCase();
      const context = { now: new Date(), language: 'en' } as const;
      await queueMail(db, { type: 'customer_link', email: lower }, context);
      await queueMail(db, { type: 'site_removed', licenseId: license.id, site: lower }, context);
      const file = join(temporaryFolder(), 'mails.json');
      await op.json(['customer', 'export', address, '--out', file]);
      const { mails } = JSON.parse(readFileSync(file, 'utf8')) as { mails: object[] };
      expect(mails).toMatchObject([
        { type: 'customer_link', recipient: lower },
        { type: 'site_removed', license_id: license.id, details: { site: lower } },
      ]);
      expect((await op.json<{ licenses: unknown[] }>(['customer', 'show', address])).licenses).toHaveLength(
        1,
      );
      await op.json(['customer', 'erase', address, '--yes']);
      for (const spelled of [lower, JSON.stringify(lower).slice(1, -1)])
        expect(await placesOf(spelled)).toEqual([]);
      expect(await placesOf('203.0.113.20')).toEqual([]);
      expect(await rows(db, 'outbox')).toEqual([]);
    }
    expect((await placesOfJane()).length).toBeGreaterThan(10);
  });

  it('is searched for in every column that can contain a text', async () => {
    const chosen: Record<string, string[]> = {
      plans: ['activation_type', 'duration', 'after_expiry', 'created_at'],
      products: ['support_until', 'security_branch', 'created_at'],
      // The name of a token contains no address.
      licenses: [
        'customer_digest',
        'issued_by',
        'status',
        'expires_at',
        'last_check_at',
        'last_check_ip',
        'created_at',
      ],
      license_keys: [
        ...['key_digest', 'folded_digest', 'key_hint', 'key_start', 'key_sealed'],
        ...['ends_at', 'created_at'],
      ],
      // A site is the end of a domain, so it contains no address.
      activations: ['ip', 'site', 'activated_at', 'held_until'],
      releases: [
        'version',
        'version_order',
        'notified_at',
        'state',
        'published_at',
        'sha256',
        'sha384',
        'sha512',
        'cve',
        'created_at',
      ],
      access_log: ['at', 'last_at', 'endpoint', 'outcome', 'key_hint', 'ip'],
      events: ['at', 'last_at', 'action'],
      // A row is deleted together with its digest. The Message-ID is random.
      outbox: [
        ...['kind', 'type', 'recipient_digest', 'language', 'message_id', 'once', 'last_error'],
        ...['created_at', 'next_attempt_at', 'attempted_at', 'sent_at', 'failed_at', 'settled_at'],
      ],
      orders: [
        ...['shop', 'digest', 'customer_digest', 'language', 'mail', 'state', 'created_at'],
        ...['failure', 'failed_at', 'retry_at', 'confirmed_at'],
      ],
      order_events: ['event', 'identity', 'at', 'received_at', 'effect', 'reduced', 'currency'],
      order_lines: ['waits_for', 'awaited'],
      shop_links: ['shop', 'digest', 'kind', 'currency', 'created_at'],
      customers: ['digest', 'language', 'told_at', 'chosen_language'],
      shop_messages: ['shop', 'digest', 'type', 'result', 'awaits', 'received_at'],
      // Names of operators, and the seller's own addresses.
      webhooks: [
        ...['url', 'events', 'secret_sealed', 'previous_sealed', 'previous_ends_at', 'enabled_at'],
        ...['disabled_at', 'disabled_reason', 'swept_at', 'created_by', 'created_at'],
      ],
    };
    for (const [name, columns] of Object.entries(TEXT_COLUMNS)) {
      const info = await db(table(db, name as TableName)).columnInfo();
      const texts = Object.entries(info as unknown as Record<string, { type: string }>)
        .filter(([, { type }]) => /text|char|datetime/i.test(type))
        .map(([column]) => column);
      expect({ name, columns: [...columns, ...chosen[name]!].sort() }).toEqual({
        name,
        columns: texts.sort(),
      });
    }
  });

  it('gets orders in the export, and is erased from them with their name, while the orders stay', async () => {
    const message: OrderMessage = {
      ...{
        shop: 'fair',
        order: `of ${JANE}`,
        event: 'paid',
        at: new Date('2026-01-01'),
        eventId: `evt ${JANE}`,
        payment: `pay ${JANE}`,
      },
      customer: { email: JANE, name: 'Jane Roe' },
      lines: [{ line: '1', sku: 'NOT-MAPPED' }],
    };
    const context = { actor: 'shop:fair', now: new Date(), secret: undefined, graceDays: 3 };
    await recordOrder(db, message, { owner: null, ownOnly: false }, context);
    await recordOrder(
      db,
      { ...message, order: 'of others', customer: { email: 'mary@example.com' }, eventId: 'e' },
      { owner: null, ownOnly: false },
      context,
    );
    const file = join(temporaryFolder(), 'jane.json');
    await op.json(['customer', 'export', JANE, '--out', file]);
    expect((JSON.parse(readFileSync(file, 'utf8')) as { orders: unknown[] }).orders).toMatchObject([
      {
        customer: JANE,
        customer_name: 'Jane Roe',
        lines: [{ sku: 'NOT-MAPPED' }],
        events: [{ event: 'paid' }],
      },
      // Its payment contains Jane's address, but she must not learn whose order it is.
      { order: 'of others', customer: null, customer_name: null },
    ]);
    expect(readFileSync(file, 'utf8')).not.toContain('mary@example.com');
    await op.json(['customer', 'erase', JANE, '--yes']);
    expect(JSON.stringify([await rows(db, 'orders'), await rows(db, 'order_events')])).not.toMatch(
      /jane|Roe/i,
    );
    expect(await rows(db, 'orders')).toMatchObject([
      { number: 'of erased', customer: null, customer_name: null, customer_digest: null, state: 'waiting' },
      { number: 'of others', customer: 'mary@example.com' },
    ]);
  });

  it('stays erased while the service continues to write', async () => {
    const state = { stopped: false };
    const traffic = (async () => {
      while (!state.stopped) await call('activate', team, JANE, '203.0.113.30');
    })();
    const erased = op.run(['customer', 'erase', JANE, '--yes']);
    const { code } = await erased;
    state.stopped = true;
    await traffic;
    expect([0, 1]).toContain(code);
    await service.stop();
    service = await startTestService(settings);
    db = service.db;
    expect((await op.run(['customer', 'erase', JANE, '--yes'])).code).toBe(0);
    expect(await placesOfJane()).toEqual([]);
    const activations = await rows<{ license_id: number }>(db, 'activations');
    for (const { id, activations_used } of await rows<{ id: number; activations_used: number }>(
      db,
      'licenses',
    ))
      expect(activations.filter(({ license_id }) => license_id === id)).toHaveLength(activations_used);
  });

  it('is erased from rows without a licence while others are served', async () => {
    for (let i = 0; i < 20; i++)
      await db(table(db, 'access_log')).insert(
        Array.from({ length: 60 }, () => ({
          at: '2026-11-20 10:00:00',
          endpoint: 'activate',
          outcome: 'LICENSE_NOT_FOUND',
          identifier: JANE,
        })),
      );
    const many = await giveLicense(db, await givePlan(db, { type: 'seat', limit: 0 }));
    const state = { stopped: false };
    const traffic = Promise.all(
      Array.from({ length: 10 }, async (_, client) => {
        for (let i = 0; !state.stopped; i++)
          await call('activate', many, `seat-${client}-${i}@corp.example`, '203.0.113.13');
      }),
    );
    const { code, stderr } = await op.run(['customer', 'erase', JANE, '--yes'], { ownProcess: true });
    state.stopped = true;
    await traffic;
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(await db(table(db, 'access_log')).whereNull('license_id').where('identifier', JANE)).toEqual([]);
  });

  it('is listed by address, and shown and erased by an id that does not reveal it', async () => {
    const now = new Date('2026-11-20T10:00:00Z');
    const plan = await givePlan(db);
    for (const end of ['2027-03-01', '2027-02-01', '2020-01-01'])
      await giveLicense(db, plan, { customer: JANE, expiresAt: new Date(end) }, now);
    const ended = await giveLicense(db, plan, { customer: JANE, expiresAt: new Date('2027-01-01') }, now);
    await op.json(['license', 'suspend', String(ended.id)]);
    await giveLicense(db, plan);

    const all = await listCustomers(db, { limit: 10 }, now);
    expect(all).toEqual([
      {
        id: expect.stringMatching(/^[0-9a-f]{32}$/),
        customer: 'boss@corp.example',
        name: null,
        licenses: 1,
        next_end: null,
      },
      { id: expect.anything(), customer: JANE, name: null, licenses: 5, next_end: '2027-02-01T00:00:00Z' },
      { id: expect.anything(), customer: 'mary.jane@example.com', name: null, licenses: 1, next_end: null },
    ]);
    const { id } = all[1]!;
    expect(await listCustomers(db, { limit: 1, after: 'boss@corp.example' }, now)).toEqual([all[1]]);
    expect(await listCustomers(db, { limit: 10, after: 'mary.jane@example.com' }, now)).toEqual([]);
    const find = async (q: string, after?: string) =>
      listCustomers(db, { limit: 10, search: readSearch(q), after }, now);
    expect(await find(' JaNe')).toEqual([all[1], all[2]]);
    expect(await find('mary%')).toEqual([all[2]]);
    expect(await find('jan%x')).toEqual([]);
    expect(await find('jane', JANE)).toEqual([all[2]]);

    const shown = await readCustomerJson(db, id, { limit: 50 }, new Date());
    expect(shown).toEqual(await op.json(['customer', 'show', JANE]));
    expect(await readCustomerJson(db, 'JANE@example.com', { limit: 50 }, new Date())).toEqual(shown);
    const first = await readCustomerJson(db, id, { limit: 2 }, now);
    expect(first.licenses.map((one) => one.id)).toEqual([own.id, shown.licenses[1]!.id]);
    const second = await readCustomerJson(db, id, { limit: 10, after: first.next! }, now);
    expect([...first.licenses, ...second.licenses]).toHaveLength(5);

    const context = { actor: 'operator:test', now };
    expect(await deleteCustomer(db, id, context)).toMatchObject({ licenses: 7 });
    expect(await placesOfJane()).toEqual([]);
    expect(await placesOf(id)).toEqual([]);
    for (const gone of [id, JANE, 'f'.repeat(32), 'nobody'])
      for (const attempt of [
        () => readCustomerJson(db, gone, { limit: 50 }, now),
        () => deleteCustomer(db, gone, context),
      ])
        await expect(attempt()).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('is found by the id however the address got to a licence, even through an earlier version', async () => {
    const idOf = async (address: string) => (await findCustomer(db, address, new Date()))!.id;
    const expectFound = async (address: string) =>
      expect(await resolveCustomer(db, await idOf(address))).toBe(address);
    await op.json(['license', 'set-customer', String(own.id), 'set@example.com']);
    await expectFound('set@example.com');
    const csv = join(temporaryFolder(), 'licences.csv');
    writeFileSync(csv, 'key,mail\nkey-of-another-system,csv@example.com\n');
    await op.json([
      'import',
      csv,
      '--csv',
      '--map',
      'key=key,customer=mail',
      '--plan',
      String(seatPlan),
      '--product',
      '42',
    ]);
    await expectFound('csv@example.com');
    const file = join(temporaryFolder(), 'all.jsonl');
    await op.json(['export', '--out', file]);
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll('csv@example.com', 'file@example.com'));
    await op.json(['import', file]);
    await expectFound('file@example.com');
    await expect(resolveCustomer(db, customerDigest('csv@example.com'))).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
  });
});
