import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createSession } from '../../src/access/sessions';
import type { Settings } from '../../src/settings/config';
import { queueMail } from '../../src/mail/queue';
import { requestDigests } from '../../src/privacy/stored-data';
import { customerDigest } from '../../src/store/customer-digest';
import { PLAN, PRODUCT, PRODUCT_INSIDE } from '../../src/store/columns/catalogue';
import { isSqlite, table, type Db, type TableName } from '../../src/store/engine/database';
import { TEXT_COLUMNS, UNSEARCHED } from '../../src/store/personal-data';
import { inTransaction } from '../../src/store/engine/transaction';
import { refreshWords } from '../../src/store/search-words';
import { shortDigest } from '../../src/base/digest';
import { startManaged, type Managed } from '../support/manage';
import { operator, type Operator } from '../support/operator';
import { eventually, temporaryFolder } from '../support/processes';
import {
  DATABASE_KINDS,
  giveLicense,
  givePlan,
  newPlace,
  PREFIX,
  type TestLicense,
} from '../support/service';

/**
 * All tables and columns with data about a person: each interface shows it, and it is exported and erased. A new table or
 * column fails here until it is in PERSONAL or in OTHERS.
 */

const JANE = 'jane@example.com';
const OTHER = 'other@example.org';
/** Texts in the columns about a person. Each is searched for in every interface, and in the database after erasing. */
const PERSONAL: Partial<Record<TableName, Record<string, string>>> = {
  products: { name: `Product for ${JANE}`, update_xml: `xml of ${JANE}` },
  plans: { name: `Plan of ${JANE}` },
  licenses: {
    customer: JANE,
    reference: `reference of ${JANE}`,
    metadata: 'text of metadata',
    last_check_ip: '203.0.113.1',
  },
  license_keys: { label: 'a label of a key' },
  activations: { name: `place of ${JANE}`, ip: '203.0.113.2' },
  releases: { changelog: `mended for ${JANE}`, advisory: `reported by ${JANE}` },
  access_log: {
    identifier: `seat of ${JANE}`,
    version: `1 of ${JANE}`,
    user_agent: `agent of ${JANE}`,
    ip: '203.0.113.3',
    site: 'site-told.example',
    installed_version: '9.8.7-told',
  },
  events: { actor: `customer:${JANE}`, before_json: `before ${JANE}`, after_json: `after ${JANE}` },
  outbox: { recipient: JANE, details_json: 'site-of-mail.example', answer: 'an answer about Jane' },
  orders: { number: `number of ${JANE}`, customer: JANE, customer_name: 'Jane Roe' },
  order_events: {
    event_id: `event of ${JANE}`,
    payment: `payment of ${JANE}`,
    actor: `shop of ${JANE}`,
    lines_json: `lines of ${JANE}`,
    outcome_json: `outcome of ${JANE}`,
  },
  order_lines: { line: `line of ${JANE}`, sku: `sku of ${JANE}`, renews_json: `renews ${JANE}` },
  shop_messages: { reason: `refused ${JANE}`, pending_json: 'Jane Pending' },
  shop_links: { target: JANE },
  customers: { address: JANE, name: 'Jane Told', chosen_name: 'Jane WordOfJane', note: `note on ${JANE}` },
  webhooks: { description: `sheet of ${JANE}` },
  told_sites: { site: 'jane-told.example' },
  // A word of the chosen name, because housekeeping rewrites the words of changed licences.
  search_words: { word: 'wordofjane' },
  key_networks: { network: 'a1b2c3d4e5f60718' },
  sessions: { created_at: '2026-11-24T10:01:01Z' },
  one_time_codes: { created_at: '2026-11-24T10:02:02Z' },
  link_requests: { requested_at: '2026-11-24T10:03:03Z' },
  operators: { email: JANE },
};

const others = (columns: object, ...personal: string[]) =>
  Object.keys(columns)
    .filter((name) => !personal.includes(name))
    .join(' ');

/** Columns with no data about a person, or with data that another table's column shows. */
const OTHERS: Record<TableName, string> = {
  migrations: 'id name batch migration_time',
  products: others({ ...PRODUCT, ...PRODUCT_INSIDE }, 'name', 'update_xml'),
  plans: others(PLAN, 'name'),
  licenses:
    'id plan_id status activation_limit activations_used expires_at last_check_at check_count created_at revision main_key_id issued_by customer_digest grace_days renews_itself all_returned',
  activations: 'id license_id identifier activated_at key_id free site held_until',
  releases:
    'id product_id version version_order state rollout security notified_at published_at file_name file_size sha256 sha384 sha512 created_at cve same_fix_as',
  access_log: 'id at endpoint outcome license_id key_hint product_id times last_at key_id unsummed',
  events: 'id license_id at action times last_at unsummed',
  product_includes: 'product_id included_id',
  license_keys:
    'id key_digest folded_digest license_id key_hint key_start key_sealed activation_limit ends_at replaced_by created_at',
  tokens:
    'id name live_name scope token_digest created_by joomla_user_id by_door created_at expires_at last_used_at revoked_at revoked_by',
  license_refusals: 'license_id at',
  leases: 'name holder until',
  limit_counts: 'key points expire',
  idempotency: 'key_digest claim request_digest lease_ends_at answer created_at',
  daily_sums: 'product_id day kind name times licenses',
  refused_licenses: 'day product_id code license_id',
  outbox:
    'id kind type license_id order_id recipient_digest language message_id once created_at next_attempt_at attempts sent_at failed_at last_error webhook_id lane revision failures attempted_at answer_status settled_at',
  one_time_codes: 'code_digest kind actor name scope operator_id customer_digest expires_at',
  link_requests: 'address_digest slot',
  sessions:
    'id cookie_digest kind actor name scope token_id joomla_user_id by_door operator_id license_id key_digest customer_digest used_at expires_at ended_at',
  operators: 'id scope created_by created_at',
  license_counts: 'product_id plan_id status month licenses',
  license_months: 'license_id month downloads refused',
  refused_counts: 'product_id days code licenses licenses_before',
  told_counts: 'product_id version sites',
  end_sums: 'day plan_id outcome licenses',
  state_sums: 'month plan_id status licenses',
  money_sums: 'month shop currency paid refunded first_at',
  signing_keys: 'id kid x sealed token_days created_by created_at retired_by retired_at compromised',
  webhooks:
    'id url events secret_sealed previous_sealed previous_ends_at enabled_at disabled_at disabled_reason swept_at created_by created_at',
  settings: 'id name value value_sealed revision changed_by changed_at',
  shops:
    'id name kind secret_sealed is_test test_plan_id rules_json owner mail api_key_sealed site_url caught_up_until caught_up_at catch_up_tried_at catch_up_failure catch_up_json grace_days billing_url created_by created_at',
  shop_refusals: 'shop day times',
  release_sboms: 'id release_id format origin packed created_at',
  security_notices:
    'release_id actor plan_id license_id mails due_at done_at audience everybody_at earlier_mails',
  told_sites: 'license_id product_id version first_at at',
  license_downloads: 'license_id product_id version at',
  exposures: 'product_id fixed_in figures_json computed_at asked_at',
  key_networks: 'key_id at',
  spreading_keys: 'key_id license_id at',
  search_words: 'license_id',
  unmatched: 'id digest shop order_id message_id event reason at state acted_by acted_at license_id',
  shop_skus: 'id shop sku awaited plan_id quantity created_at',
  // The owner is the name of a token, which contains no address.
  orders:
    'id shop digest owner own_only customer_digest language mail is_test state failure failed_at retry_at confirmed_at created_at',
  order_events:
    'id order_id event identity at at_ms received_at partial is_test effect renews_itself reduced grace_days amount currency',
  order_lines: 'id order_id plan_id quantity waits_for awaited',
  order_licenses: 'id order_id line_id license_id role state base_ends_at plans_json',
  shop_messages: 'id shop digest type result order_id awaits received_at',
  shop_links: 'id shop digest kind paid currency created_at',
  customers: 'id digest language told_at chosen_language',
  imports: 'id source at actor plans_json counts_json undone_at',
  imported: 'kind item_id import_id brought_json',
};

/** An operator stays an operator when their data as a customer is erased. A version of a program belongs to the product. */
const STAYS: Partial<Record<TableName, string[]>> = { operators: ['email'] };

const AT = '2026-11-24 10:00:00';
const digest = () => randomBytes(32).toString('hex');

describe.each(DATABASE_KINDS)('data about a person in %s', (kind) => {
  let settings: Settings;
  let service: Managed;
  let db: Db;
  let seller: Operator;
  let own: TestLicense;
  beforeEach(async () => {
    settings = {
      ...(await newPlace(kind)),
      LICENSING_KEY_SECRET: randomBytes(32).toString('base64'),
      LICENSING_PUBLIC_URL: 'https://shop.example',
    };
    // Shortly after the times below, because housekeeping would delete old rows.
    service = await startManaged(settings, new Date('2026-11-24T10:30:00Z'));
    db = service.db;
    seller = operator(settings);
    // `init` adds one, too.
    await seller.json(['signing-key', 'add']);
    own = await giveLicense(db, await givePlan(db, { limit: 5 }), { customer: JANE });
    await store();
  });
  afterEach(() => service.stop());

  async function store(): Promise<void> {
    const value = (name: TableName, column: string) => PERSONAL[name]?.[column] as string;
    const of = (name: TableName, ...columns: string[]) =>
      Object.fromEntries(columns.map((column) => [column, value(name, column)]));
    const json = (name: TableName, column: string, around = (text: string): unknown => ({ text })) =>
      JSON.stringify(around(value(name, column)));
    const add = async (name: TableName, row: object) => {
      const [id] = await db(table(db, name)).insert(row);
      return id as number;
    };
    const change = (name: TableName, by: object, row: object) => db(table(db, name)).where(by).update(row);
    const license_id = own.id;
    const [plan] = (await db(table(db, 'plans')).limit(1)) as { id: number; product_id: number }[];
    await change(
      'products',
      { id: plan!.product_id },
      {
        ...of('products', 'name'),
        update_xml: json('products', 'update_xml'),
      },
    );
    await change('plans', { id: plan!.id }, of('plans', 'name'));
    await change(
      'licenses',
      { id: license_id },
      {
        ...of('licenses', 'reference', 'last_check_ip'),
        metadata: json('licenses', 'metadata', (text) => ({ note: text })),
      },
    );
    await change('license_keys', { license_id }, of('license_keys', 'label'));
    await add('activations', {
      ...{ license_id, identifier: 'jane-doe.example', activated_at: AT },
      ...of('activations', 'name', 'ip'),
    });
    await add('releases', {
      ...{ product_id: plan!.product_id, version: '1.0.0', version_order: '1', state: 'published' },
      ...{ file_name: 'a.zip', file_size: 1, sha256: digest(), created_at: AT, published_at: AT },
      ...{ sha384: digest() + digest().slice(32), sha512: digest() + digest() },
      ...of('releases', 'changelog', 'advisory'),
    });
    await add('access_log', {
      ...{ at: AT, endpoint: 'download', outcome: 'ok', license_id },
      ...of('access_log', 'identifier', 'version', 'user_agent', 'ip', 'site', 'installed_version'),
    });
    await add('told_sites', {
      ...{ license_id, product_id: plan!.product_id, version: '1.0.0', first_at: AT, at: AT },
      ...of('told_sites', 'site'),
    });
    const [keyId] = await db(table(db, 'license_keys')).where({ license_id }).pluck('id');
    await add('key_networks', { key_id: keyId as number, at: AT, ...of('key_networks', 'network') });
    await add('spreading_keys', { key_id: keyId as number, license_id, at: AT });
    const brought_json = JSON.stringify({ customer: shortDigest(JANE) });
    await add('imported', { kind: 'license', item_id: license_id, import_id: 1, brought_json });
    await add('events', {
      ...{ license_id, at: AT, action: 'suspend', ...of('events', 'actor') },
      ...{ before_json: json('events', 'before_json'), after_json: json('events', 'after_json') },
    });
    const mail = { language: 'en', created_at: AT, license_id };
    await add('outbox', {
      ...{ ...mail, kind: 'mail', type: 'site_removed', message_id: 'a', sent_at: AT },
      ...{ recipient: JANE, recipient_digest: customerDigest(JANE) },
      details_json: json('outbox', 'details_json', (site) => ({ site })),
    });
    const webhook_id = await add('webhooks', {
      ...{ url: 'https://receiver.example/', events: 'license.*', secret_sealed: 'x', enabled_at: AT },
      ...{ swept_at: AT, created_by: 'operator:root', created_at: AT, ...of('webhooks', 'description') },
    });
    await add('outbox', {
      ...{ ...mail, kind: 'webhook', type: 'license.issued', message_id: 'b', sent_at: AT, webhook_id },
      ...{ details_json: JSON.stringify({ license: { customer: JANE } }), ...of('outbox', 'answer') },
    });
    const order_id = await add('orders', {
      ...{ shop: 'fair', digest: digest(), state: 'waiting', created_at: AT },
      ...{ ...of('orders', 'number', 'customer', 'customer_name') },
      customer_digest: customerDigest(JANE),
    });
    await add('order_events', {
      ...{ order_id, event: 'paid', identity: digest(), at: AT, received_at: AT, effect: 'issue' },
      ...of('order_events', 'event_id', 'payment', 'actor'),
      lines_json: json('order_events', 'lines_json', (line) => [{ line }]),
      outcome_json: json('order_events', 'outcome_json', (line) => [{ line }]),
    });
    const line_id = await add('order_lines', {
      ...{ order_id, quantity: 1, ...of('order_lines', 'line', 'sku') },
      renews_json: JSON.stringify(value('order_lines', 'renews_json')),
    });
    await add('order_licenses', {
      ...{ order_id, line_id, license_id, role: 'issued', state: 'active', plans_json: '{}' },
    });
    await add('shop_messages', {
      ...{ shop: 'fair', digest: digest(), type: 'x', result: 'refused', order_id, received_at: AT },
      ...of('shop_messages', 'reason'),
      pending_json: json('shop_messages', 'pending_json', (name) => ({
        event: { event: 'paid', customer: { email: JANE, name } },
        of: 'payment',
      })),
    });
    await add('shop_links', {
      ...{ shop: 'fair', digest: digest(), kind: 'customer', created_at: AT, ...of('shop_links', 'target') },
    });
    const customer = await add('customers', {
      ...{ digest: customerDigest(JANE), language: 'de', told_at: AT },
      ...of('customers', 'address', 'name', 'chosen_name', 'note'),
    });
    await add('imported', { kind: 'customer', item_id: customer, import_id: 1 });
    await inTransaction(db, (trx) => refreshWords(trx, [license_id]));
    await add('customers', { digest: customerDigest(OTHER), address: OTHER, note: `a friend of ${JANE}` });
    const time = (name: TableName, column: string) => value(name, column).replace('T', ' ').slice(0, 19);
    const mailed = {
      kind: 'customer',
      customer_digest: customerDigest(JANE),
      expires_at: '2026-11-24 12:00:00',
    };
    await add('sessions', {
      ...{ ...mailed, cookie_digest: digest(), created_at: time('sessions', 'created_at'), used_at: AT },
    });
    await add('one_time_codes', {
      ...{ ...mailed, code_digest: digest(), created_at: time('one_time_codes', 'created_at') },
    });
    await add('link_requests', {
      ...{ address_digest: requestDigests([JANE])[0], slot: 1 },
      requested_at: time('link_requests', 'requested_at'),
    });
    await add('operators', { email: JANE, scope: 'read', created_by: 'operator:root', created_at: AT });
    await storeOthers(plan!.product_id, plan!.id);
  }

  /** Adds a row to each table that has no data about a person. */
  async function storeOthers(product_id: number, plan_id: number): Promise<void> {
    const [day, month, license_id] = ['2026-11-24', '2026-11', own.id];
    const made = { created_by: 'operator:root', created_at: AT };
    const [release] = await db(table(db, 'releases')).limit(1);
    const others: [TableName, object][] = [
      ['product_includes', { product_id, included_id: product_id }],
      ['license_refusals', { license_id, at: AT }],
      ['leases', { name: 'a-work', holder: 'an-instance', until: AT }],
      ['limit_counts', { key: 'a-digest', points: 1, expire: Date.parse('2099-01-01') }],
      [
        'idempotency',
        { key_digest: digest(), claim: 'a', request_digest: digest(), lease_ends_at: AT, created_at: AT },
      ],
      ['daily_sums', { product_id, day, kind: 'issued', name: '', times: 1, licenses: 1 }],
      ['refused_licenses', { day, product_id, code: 'LICENSE_EXPIRED', license_id }],
      ['license_counts', { product_id, plan_id, status: 'trial', month, licenses: 1 }],
      ['license_months', { license_id, month, downloads: 1, refused: 1 }],
      ['exposures', { product_id, fixed_in: '1.0.0', asked_at: '2099-01-01 00:00:00' }],
      ['license_downloads', { license_id, product_id, version: '1.0.0', at: AT }],
      ['refused_counts', { product_id, days: 7, code: 'X', licenses: 1, licenses_before: 1 }],
      ['told_counts', { product_id, version: '1.0.0', sites: 1 }],
      ['end_sums', { day, plan_id, outcome: 'renewed', licenses: 1 }],
      ['money_sums', { month, shop: 'a', currency: 'EUR', paid: 1, refunded: 0, first_at: AT }],
      ['state_sums', { month, plan_id, status: 'active', licenses: 1 }],
      ['settings', { name: 'shop_name', value: 'Acme', revision: 'a', changed_by: 'x', changed_at: AT }],
      ['shops', { name: 'fair', kind: 'api', is_test: 0, ...made }],
      [
        'shop_skus',
        { shop: 'fair', sku: 'A', awaited: digest(), plan_id, quantity: 'licenses', created_at: AT },
      ],
      ['shop_refusals', { shop: 'fair', day, times: 1 }],
      [
        'release_sboms',
        { release_id: release!.id, format: 'SPDX-2.3', origin: 'given', packed: 'x', created_at: AT },
      ],
      ['security_notices', { release_id: 1, actor: 'operator:root', plan_id: 0, license_id: 0, due_at: AT }],
      [
        'unmatched',
        { digest: digest(), shop: 'fair', event: 'refunded', reason: 'x', at: AT, state: 'open' },
      ],
      ['imports', { source: 'edd', at: AT, actor: 'operator:root', plans_json: '{}', counts_json: '{}' }],
    ];
    // The service also counts some of these itself.
    for (const [name, row] of others)
      await db(table(db, name) as string)
        .insert(row)
        .onConflict()
        .ignore();
  }

  const tables = Object.keys(OTHERS) as TableName[];

  async function storedTables(): Promise<string[]> {
    const found = (await db.raw(
      isSqlite(db)
        ? `SELECT name AS found FROM sqlite_master WHERE type = 'table'`
        : 'SELECT table_name AS found FROM information_schema.tables WHERE table_schema = DATABASE()',
    )) as { found: string }[] | [{ found: string }[]];
    const rows = (isSqlite(db) ? found : found[0]) as { found: string }[];
    return rows.map((row) => row.found).filter((name) => !/^sqlite_|migrations_lock$/.test(name));
  }

  async function dump(name: TableName): Promise<string> {
    return JSON.stringify(await db(table(db, name)));
  }

  /** Returns the columns of PERSONAL whose texts are missing in the JSON of an interface. */
  function missingIn(text: string, isHere: (name: TableName) => boolean = () => true): string[] {
    return tables.flatMap((name) =>
      Object.entries(PERSONAL[name] ?? {})
        .filter(([, told]) => isHere(name) && !text.includes(told))
        .map(([column]) => `${name}.${column}`),
    );
  }

  it('is in known tables and columns only', async () => {
    const stored = await storedTables();
    const [plan] = (await db(table(db, 'plans')).limit(1)) as { id: number; product_id: number }[];
    // An empty table would prove nothing. The service's first count of its figures may replace rows of this test.
    await eventually(async () => {
      await storeOthers(plan!.product_id, plan!.id);
      const empty: string[] = [];
      for (const name of stored) if ((await db(name).limit(1)).length === 0) empty.push(name);
      expect(empty).toEqual([]);
    });
    expect(stored.sort()).toEqual(tables.map((name) => table(db, name)).sort());
    expect([...Object.keys(TEXT_COLUMNS), ...Object.keys(UNSEARCHED)].sort()).toEqual([...tables].sort());
    for (const name of tables) {
      const columns = Object.keys(await db(table(db, name)).columnInfo());
      const known = [...OTHERS[name].split(' '), ...Object.keys(PERSONAL[name] ?? {})];
      expect({ name, columns: columns.sort() }).toEqual({ name, columns: known.sort() });
    }
  });

  it('is shown by the command and the API, and is completely in the export', async () => {
    const shown = await seller.json<{ licenses: object[]; next: null }>(['customer', 'show', JANE]);
    // Names of products are in it with each licence.
    expect(missingIn(JSON.stringify(shown))).toEqual([]);
    const id = customerDigest(JANE);
    const answered = await service.read.ok(`GET /customers/${id}`);
    expect(answered).toMatchObject({ ...shown, seats: [], mentions: answered.mentions as object });
    expect(missingIn(JSON.stringify(answered))).toEqual([]);
    expect(answered).toMatchObject({ id, customer: JANE, shortened: [] });

    const file = join(temporaryFolder(), 'jane.json');
    await seller.json(['customer', 'export', JANE, '--out', file]);
    const exported = readFileSync(file, 'utf8');
    expect(missingIn(JSON.stringify(JSON.parse(exported)))).toEqual([]);
    const piped = await seller.run(['customer', 'export', JANE, '--out', '-']);
    expect(piped).toMatchObject({ code: 0 });
    const withoutTime = (text: string) => ({ ...(JSON.parse(text) as object), exported_at: '' });
    expect(withoutTime(piped.stdout)).toEqual(withoutTime(exported));
    for (const text of [exported, JSON.stringify(shown), JSON.stringify(answered)])
      expect(text).not.toMatch(/_sealed|key_digest|folded_digest|cookie_digest|code_digest|address_digest/);
    const printed = await seller.run(['customer', 'show', JANE]);
    expect(printed.stdout).toMatch(/a label of a key/);
    expect(printed.stdout).toMatch(/number of/);
    expect(printed.stdout).toMatch(/site_removed/);
    expect(printed.stdout).toMatch(/Also stored: 1 shop's message, 1 shop's customer id, 1 webhook/);
  });

  it('is shown by the page, which also offers the export', async () => {
    const who = {
      kind: 'operator',
      actor: 'operator:root',
      name: 'root',
      scope: 'write',
      operatorId: null,
    } as const;
    const { cookie } = await createSession(db, who, service.clock.now);
    const get = async (path: string, language: string) => {
      const response = await fetch(`${service.url}${PREFIX}/pages/customers/${customerDigest(JANE)}${path}`, {
        headers: { Cookie: `licensing=${cookie}`, 'Accept-Language': language },
      });
      expect(response.status).toBe(200);
      return response.text();
    };
    // Data that only mentions a person is in the file, not on the page.
    const onPage: TableName[] = [
      'license_keys',
      'orders',
      'order_events',
      'order_lines',
      'outbox',
      'operators',
      'customers',
    ];
    for (const language of ['en', 'de']) {
      const html = (await get('', language)).replaceAll('&quot;', '"');
      expect(missingIn(html, (name) => onPage.includes(name) || name === 'shop_messages')).toEqual([]);
      for (const times of ['sessions', 'one_time_codes', 'link_requests'] as const)
        expect(missingIn(html, (name) => name === times)).toEqual([]);
    }
    expect(missingIn(JSON.stringify(JSON.parse(await get('/export', 'en'))))).toEqual([]);
  });

  it('is gone once it is erased, and waiting work is done without the person', async () => {
    await seller.json(['customer', 'erase', JANE, '--yes']);
    for (const name of tables) {
      const text = await dump(name);
      const left = Object.entries(PERSONAL[name] ?? {}).filter(
        ([column, told]) =>
          !STAYS[name]?.includes(column) && text.includes(column.endsWith('_at') ? told.slice(11, 19) : told),
      );
      expect({ name, left }).toEqual({ name, left: [] });
      if (name !== 'operators') expect({ name, text: text.includes(JANE) }).toEqual({ name, text: false });
      expect({ name, digest: text.includes(customerDigest(JANE)) }).toEqual({ name, digest: false });
    }
    // An import stores a digest of the address.
    expect(await dump('imported')).toBe('[]');
    const [message] = await db<{ pending_json: string }>(table(db, 'shop_messages')).select('pending_json');
    expect(JSON.parse(message!.pending_json)).toEqual({ event: { event: 'paid' }, of: 'payment' });
    expect(await seller.json(['customer', 'erase', JANE, '--yes'])).toEqual({ licenses: 0, rows: 0 });
  });

  it('is in the export as a note on another customer, who is not named', async () => {
    const { stdout } = await seller.run(['customer', 'export', JANE, '--out', '-']);
    const { mentions } = JSON.parse(stdout) as { mentions: Record<string, object[]> };
    expect(mentions.customer).toEqual([{ id: expect.any(Number), note: `a friend of ${JANE}` }]);
    expect(stdout).not.toContain(OTHER);
  });

  it('is followed through each change of the address, by every interface and by the erasure', async () => {
    const [second, third] = ['jane@second.example', 'jane@third.example'];
    const mail = { type: 'customer_link', email: JANE } as const;
    const mailId = await queueMail(db, mail, { now: service.clock.now, language: 'en' });
    await db(table(db, 'outbox')).where({ id: mailId }).update({ sent_at: AT, next_attempt_at: null });
    const sold = await giveLicense(db, await givePlan(db, { type: 'seat', limit: 5 }), { customer: JANE });
    await db(table(db, 'imported')).insert({
      ...{ kind: 'license', item_id: sold.id, import_id: 1 },
      brought_json: JSON.stringify({ run: 1, customer: shortDigest(JANE), keys: [], sites: [] }),
    });
    await seller.json(['license', 'set-customer', String(sold.id), OTHER]);
    await seller.json(['customer', 'set', JANE, '--email', second]);
    await seller.json(['customer', 'set', second, '--email', third]);

    const answered = await service.read.ok(`GET /customers/${customerDigest(third)}`);
    const shown = await seller.json(['customer', 'show', third]);
    const { stdout } = await seller.run(['customer', 'export', third, '--out', '-']);
    const isThere = (name: TableName) =>
      // The first change of the address deletes a word that is in no text.
      !['licenses', 'sessions', 'one_time_codes', 'orders', 'customers', 'search_words'].includes(name);
    for (const text of [answered, shown, JSON.parse(stdout)].map((one) => JSON.stringify(one))) {
      expect(missingIn(text, isThere)).toEqual([]);
      expect(text).toContain(`"former_addresses":["${second}","${JANE}"]`);
      expect(text).toContain(`{"customer":"${JANE}"}`);
      expect(text).toContain('"type":"customer_link"');
    }
    expect((await seller.run(['customer', 'show', third])).stdout).toContain(
      `Former addresses: ${second}, ${JANE}`,
    );

    await service.write.ok(`DELETE /customers/${customerDigest(third)}`, undefined, 204);
    for (const name of tables) {
      const text = await dump(name);
      for (const address of name === 'operators' ? [second, third] : [JANE, second, third])
        for (const found of [address, customerDigest(address), shortDigest(address)])
          expect({ name, found, is: text.includes(found) }).toEqual({ name, found, is: false });
    }
    expect(await dump('licenses')).toContain(OTHER);
    expect(await seller.json(['customer', 'erase', third, '--yes'])).toEqual({ licenses: 0, rows: 0 });
  });

  it('is kept for the present owner of a former address, and for the former owner of a licence', async () => {
    const [second, seat] = ['jane@second.example', 'seat@example.net'];
    const plan = await givePlan(db, { type: 'seat', limit: 5 });
    const given = await giveLicense(db, plan, { customer: seat });
    await giveLicense(db, plan, { customer: OTHER });
    for (const from of [OTHER, 'agency@example.net']) {
      const one = await giveLicense(db, plan, { customer: from });
      await seller.json(['license', 'set-customer', String(one.id), JANE]);
    }
    // This licence was the only one of its customer, whom a reference still names.
    const alone = await giveLicense(db, plan, { customer: 'alone@example.net' });
    await seller.json(['license', 'set-customer', String(alone.id), JANE]);
    await seller.json(['license', 'set-customer', String(given.id), 'agency@example.net']);
    await seller.json(['license', 'set-customer', String(given.id), 'client@example.net']);
    await seller.json(['customer', 'set', JANE, '--email', second]);
    // Now another customer has this address.
    const theirs = await giveLicense(db, plan, { customer: JANE });

    const shown = await service.read.ok(`GET /customers/${customerDigest(second)}`);
    expect(shown).toMatchObject({ former_addresses: [] });
    await giveLicense(db, plan, { reference: 'of alone@example.net' });
    await seller.json(['customer', 'erase', second, '--yes']);
    const events = await db(table(db, 'events')).select('license_id', 'before_json', 'after_json');
    const naming = (address: string) =>
      events.filter((one) => JSON.stringify(one).includes(address)).map((one) => one.license_id);
    expect(naming(second)).toEqual([]);
    // The events of its issue and its change, and no event of a licence that belonged to the other customer.
    expect(new Set(naming(JANE))).toEqual(new Set([theirs.id]));
    expect(naming(OTHER)).not.toEqual([]);
    expect(naming('agency@example.net').filter((id) => id === given.id)).toHaveLength(2);
    expect(naming('client@example.net')).toEqual([given.id]);
    expect(naming('alone@example.net').length).toBeGreaterThan(0);
    expect(await dump('licenses')).toContain('of alone@example.net');
    const customers = await db(table(db, 'licenses')).whereNotNull('customer').pluck('customer');
    expect(customers.sort()).toEqual(['client@example.net', JANE, OTHER]);
  });

  it('is found for a customer who has paid but has no licence yet', async () => {
    const bob = 'bob@example.com';
    await service.issue.ok('POST /orders', {
      ...{ shop: 'fair2', order: '7', event: 'paid', at: '2026-11-24T10:00:00Z' },
      ...{ customer: { email: bob, name: 'Bob Poe' }, lines: [{ line: '1', sku: 'NOT-MAPPED' }] },
    });
    for (const one of [bob, customerDigest(bob)])
      expect(await service.read.ok(`GET /customers/${encodeURIComponent(one)}`)).toMatchObject({
        licenses: [],
        orders: [{ customer: bob, customer_name: 'Bob Poe' }],
      });
    expect(await seller.json(['customer', 'show', bob])).toMatchObject({ orders: [{ order: '7' }] });
    await service.write.ok(`DELETE /customers/${customerDigest(bob)}`, undefined, 204);
    await service.read.refused(`GET /customers/${encodeURIComponent(bob)}`, undefined, 'NOT_FOUND');
  });
});
