import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import knex from 'knex';
import { PLUGIN_KINDS, type PluginKind } from '../../src/orders/shop-kinds';
import {
  createJoomlaSite,
  JOOMLA_VERSIONS,
  stopJoomlaSites,
  unpack,
  type HostOptions,
  type JoomlaSite,
  type JoomlaVersion,
  type SentMail,
  type Step,
  type Visited,
} from '../support/joomla-host';
import { addPlan, operator, type Operator } from '../support/operator';
import { php72Faults, phpFaults } from '../support/php-files';
import { eventually, freePort, inTime, temporaryFolder } from '../support/processes';
import { createMariaDbDatabase } from '../support/service';
import { openMigrated, startServiceProcess, type ServiceProcess } from '../support/service-process';
import { startStaticSite } from '../support/static-site';

/**
 * Tests the plugins of `licensing shop plugin` against the service as a process. A minimal Joomla with minimal shops
 * (test/joomla/host) fires the events that the real shops fire.
 */

const KEY = /[0-9A-F]{8}(?:-[0-9A-F]{8}){3}/;

let cli: Operator;
let service: ServiceProcess;
let address: string;
let token: string;
let settings: Record<string, string>;
const packages = new Map<PluginKind, string>();

beforeAll(async () => {
  const port = await freePort();
  address = `http://127.0.0.1:${port}`;
  settings = {
    LICENSING_DATABASE_URL: `sqlite:${join(temporaryFolder(), 'data.sqlite')}`,
    LICENSING_PACKAGES_DIR: temporaryFolder(),
    LICENSING_KEY_SECRET: randomBytes(32).toString('base64'),
    LICENSING_LISTEN: `127.0.0.1:${port}`,
  };
  await (await openMigrated(settings)).destroy();
  cli = operator(settings);
  await cli.json(['product', 'add', '--name', 'Example', '--id', '42']);
  await addPlan(cli, '42', 'Year', 'domain', '3', '--duration', '1y');
  await addPlan(cli, '42', 'Agency', 'domain', '9', '--duration', '1y');
  ({ token } = await cli.json<{ token: string }>(['token', 'add', '--name', 'shop', '--scope', 'issue']));
  for (const [shop, sku, plan] of [
    ['hikashop', 'PRO-1Y', '1'],
    ['hikashop', 'RENEW-PRO', '1'],
    ['membershippro', '7', '1'],
    ['membershippro', '8', '2'],
    ['j2commerce', 'PRO-1Y', '1'],
    ['j2commerce', 'RENEW-PRO', '1'],
    ['j2commerce', '15', '2'],
  ] as const) {
    if (sku === 'PRO-1Y' || sku === '7') await cli.json(['shop', 'add', shop]);
    await cli.json(['shop', 'map', shop, sku, '--plan', plan]);
  }
  for (const kind of PLUGIN_KINDS) packages.set(kind, await makePackage(kind));
  service = await startServiceProcess(settings);
});
afterAll(async () => {
  await stopJoomlaSites();
  await service.stop();
});

/** Makes a plugin. @returns the folder that it is unpacked in */
async function makePackage(kind: PluginKind): Promise<string> {
  const out = temporaryFolder('licensing-shop');
  const { file } = await cli.json<{ file: string }>(['shop', 'plugin', kind, '--out', out]);
  mkdirSync(join(out, 'unpacked'));
  await unpack(file, join(out, 'unpacked'));
  return join(out, 'unpacked');
}

/** A row of the plugin's table. */
interface Kept {
  order_id: number;
  event_id: string;
  state: string;
  due_at: number;
  message: string;
  error: string;
}

interface Shop {
  site: JoomlaSite;
  kind: PluginKind;
  /** Makes a request to the shop's site. */
  visit(step: object, options?: HostOptions): Promise<Visited>;
  /** Makes everything that waits due, and visits a page. */
  later(): Promise<SentMail[]>;
  set(params: object): Promise<void>;
  /** Returns the messages that an administrator reads on the dashboard. */
  notices(options?: HostOptions): Promise<string[]>;
  outbox(): Promise<Kept[]>;
}

/** The texts of all sites' pages, mails, notices and logs. */
const told: string[] = [];

async function shopOn(version: JoomlaVersion, kind: PluginKind, params: object = {}): Promise<Shop> {
  const site = await createJoomlaSite(version, { ca: '', resolve: [] }, kind);
  const element = `licensing${kind}`;
  const set = async (changed: object) => {
    const saved = { context: 'com_plugins.plugin', subject: { element, folder: 'system' } };
    const json = JSON.stringify({ address, token, ...changed }).replaceAll("'", "''");
    await site.run([
      { sql: `UPDATE #__extensions SET enabled = 1, params = '${json}' WHERE element = '${element}'` },
      { event: 'onExtensionAfterSave', arguments: version === '4.4' ? Object.values(saved) : saved },
    ]);
  };
  const run = async <T>(steps: Step[], options?: HostOptions) => {
    const results = await site.run<T>(steps, options);
    told.push(JSON.stringify(results));
    return results;
  };
  await site.run([{ install: packages.get(kind)! }]);
  await set(params);
  return {
    site,
    kind,
    set,
    async visit(step, options) {
      const [visited] = await run<Visited>([{ shop: step }], { client: 'site', ...options });
      expect(visited!.log).toEqual([]);
      return visited!;
    },
    async later() {
      const [, page] = await run<{ mails: SentMail[] }>(
        [{ sql: `UPDATE #__licensing_${kind} SET due_at = 0` }, { event: 'onAfterRespond' }],
        { client: 'site' },
      );
      return page!.mails;
    },
    async notices(options) {
      const [page] = await run<{ messages: [string, string][] }>([{ event: 'onAfterRoute' }], {
        client: 'administrator',
        option: 'com_cpanel',
        ...options,
      });
      return page!.messages.map(([, text]) => text);
    },
    async outbox() {
      const [rows] = await run([{ sql: `SELECT * FROM #__licensing_${kind} ORDER BY id` }]);
      return rows as Kept[];
    },
  };
}

/** An order in the service. */
interface KnownOrder {
  id: number;
  order: string;
  customer: string | null;
  state: string;
  test: boolean;
  lines: { sku: string; quantity: number; licenses: { id: number; status: string; expires_at: string }[] }[];
  events: { event: string }[];
}

async function call<T>(path: string): Promise<T> {
  const response = await fetch(`${address}/api/index.php/v1/licensing/manage/${path}`, {
    headers: { Authorization: `Bearer ${token}` },
  });
  return ((await response.json()) as { data: T }).data;
}

/** Returns the amounts that were paid and refunded for an order, as the service shows them. */
async function amounts(shop: string, order: string): Promise<unknown> {
  const [found] = await cli.json<{ amounts: unknown }[]>(['order', 'list', '--shop', shop, '--order', order]);
  return found?.amounts;
}

async function known(shop: string, order: string): Promise<KnownOrder | undefined> {
  const [found] = await call<KnownOrder[]>(`orders?shop=${shop}&order=${encodeURIComponent(order)}`);
  return found && call<KnownOrder>(`orders/${found.id}`);
}

/** Returns the statuses of an order's licences, and its events. */
async function history(shop: string, order: string): Promise<[string[], string[]]> {
  const found = await known(shop, order);
  return [
    found?.lines.flatMap(({ licenses }) => licenses.map(({ status }) => status)) ?? [],
    found?.events.map(({ event }) => event) ?? [],
  ];
}

const to = (mails: SentMail[], who: string) => mails.filter((mail) => mail.to.includes(who));

describe('licensing shop plugin', () => {
  it('writes a plugin that Joomla can install, and says what to do with it', async () => {
    const out = join(temporaryFolder(), 'new');
    const { code, stdout } = await cli.run(['shop', 'plugin', 'hikashop', '--out', out]);
    const [name = ''] = readdirSync(out);
    const first = readFileSync(join(out, name));
    await cli.run(['shop', 'plugin', 'hikashop', '--out', out]);

    expect(code).toBe(0);
    expect(name).toMatch(/^plg_system_licensinghikashop-\d+\.\d+\.\d+\.zip$/);
    expect(stdout).toContain('licensing token add --name hikashop --scope issue');
    expect(readFileSync(join(out, name))).toEqual(first);
    const other = await cli.run(['shop', 'plugin', 'virtuemart', '--out', out]);
    expect(other).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('hikashop, membershippro, j2commerce'),
    });
  });

  it.each(PLUGIN_KINDS)('is PHP from 7.2.5 on, with every text in English and German: %s', (kind) => {
    const folder = packages.get(kind)!;
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
      /\.\w+$/.test(file),
    );
    const scripts = files.filter((file) => file.endsWith('.php')).map((file) => join(folder, file));
    const texts = ['en-GB', 'de-DE'].map((tag) => {
      const ini = readFileSync(join(folder, `language/${tag}/plg_system_licensing${kind}.ini`), 'utf8');
      return [...ini.matchAll(/^([A-Z0-9_]+)="[^"]+"$/gm)].map(([, key]) => key!).sort();
    });
    const manifest = readFileSync(join(folder, `licensing${kind}.xml`), 'utf8');
    const used = [...manifest.matchAll(/PLG_[A-Z0-9_]+/g)].map(([key]) => key);

    expect(phpFaults(scripts)).toEqual([]);
    expect(php72Faults(scripts)).toEqual([]);
    expect(texts[0]).toEqual(texts[1]);
    expect(used.filter((key) => !texts[0]!.includes(key))).toEqual([]);
    for (const file of files)
      expect([file, readFileSync(join(folder, file), 'utf8')]).not.toEqual([
        file,
        expect.stringMatching(
          /shopplugin|KeyMark|ShopName|SHOPPLUGIN|shopkind|ShopClass|ShopTitle|ServiceAddress|ApiPath/,
        ),
      ]);
  });

  it('has the address of the service in its settings if it is known', async () => {
    const out = temporaryFolder();
    const shop = operator({ ...settings, LICENSING_PUBLIC_URL: 'https://shop.example' });
    const { file } = await shop.json<{ file: string }>(['shop', 'plugin', 'hikashop', '--out', out]);
    await unpack(file, join(out, 'unpacked'));

    expect(readFileSync(join(out, 'unpacked/licensinghikashop.xml'), 'utf8')).toContain(
      'default="https://shop.example"',
    );
  });

  it.each([
    ['joomla-shops.md', 10],
    ['j2commerce.md', 5],
  ])('is set up as its page says: %s', async (name, count) => {
    const page = readFileSync(join(__dirname, '../../docs', name), 'utf8');
    const seller = operator({
      LICENSING_DATABASE_URL: `sqlite:${join(temporaryFolder(), 'data.sqlite')}`,
      LICENSING_PACKAGES_DIR: temporaryFolder(),
    });
    await seller.run(['migrate']);
    await seller.json(['product', 'add', '--name', 'Example', '--id', '42']);
    await addPlan(seller, '42', 'Year', 'domain', '3');
    const commands = [...page.matchAll(/```sh\n([^]*?)```/g)].flatMap(([, block]) =>
      block!.trim().split('\n'),
    );
    const codes = [];
    for (const command of commands) {
      const words = command.replace('/var/lib/licensing', temporaryFolder()).split(' ');
      codes.push([command, words.shift(), (await seller.run(words)).code]);
    }

    expect(codes).toHaveLength(count);
    expect(codes).toEqual(commands.map((command) => [command, 'licensing', 0]));
  });

  it('creates its table on MySQL, which has each event of an order once, and drops it', async () => {
    const db = knex({ client: 'mysql2', connection: await createMariaDbDatabase() });
    const sql = (name: string) =>
      readFileSync(join(packages.get('hikashop')!, `sql/${name}.mysql.sql`), 'utf8').replace('#__', 'jos_');
    const row = {
      ...{
        order_id: 1,
        event: 'paid',
        event_id: 'paid',
        state: 'unsent',
        attempts: 0,
        created_at: 1,
        due_at: 1,
      },
      ...{ message: '{"name":"Jürgen 🎉"}', details: '{}', error: '' },
    };
    try {
      await db.raw(sql('install'));
      await db('jos_licensing_hikashop').insert(row);
      await expect(db('jos_licensing_hikashop').insert(row)).rejects.toThrow('Duplicate entry');
      expect(await db('jos_licensing_hikashop').select('message')).toEqual([{ message: row.message }]);
      await db.raw(sql('uninstall'));
      expect((await db.raw<[unknown[]]>('SHOW TABLES'))[0]).toEqual([]);
    } finally {
      await db.destroy();
    }
  });
});

const CUSTOMERS: Step = {
  sql: `INSERT INTO #__hikashop_user VALUES (1, 51, 'jo@example.com', 'Jo'), (2, 0, 'guest@example.com', NULL),
    (3, 53, 'ann@example.com', 'Ann'), (4, 54, 'nobody@example.com', '')`,
};

async function hikaShopOn(version: JoomlaVersion, params: object = {}): Promise<Shop> {
  const shop = await shopOn(version, 'hikashop', params);
  // The orders of each site have their own range of numbers.
  await shop.site.run([
    CUSTOMERS,
    { sql: `INSERT INTO #__hikashop_order (order_id) VALUES (${(first += 100)})` },
  ]);
  return shop;
}
let first = 0;

interface Bought {
  code: string;
  name?: string;
  quantity?: number;
  earlier_order?: string;
}

/** Creates an unpaid order of a customer. @returns its id */
async function order(shop: Shop, products: Bought[], more: object = {}): Promise<number> {
  const visited = await shop.visit({
    create: { order: { order_user_id: 1, order_status: 'created', ...more }, products },
  });
  expect(visited.mails.some(({ body }) => KEY.test(body))).toBe(false);
  return visited.result;
}

const status = (id: number, order_status: string, more: object = {}) => ({
  update: { order: { order_id: id, order_status }, notify: 1, ...more },
});

describe.each(JOOMLA_VERSIONS)('HikaShop on Joomla %s', (version) => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await hikaShopOn(version);
  });

  it('issues a licence for a paid order once, and has the key in its mail and on its page', async () => {
    const id = await order(shop, [{ code: 'PRO-1Y', name: 'Pro <b>year</b> &amp; more', quantity: 2 }]);
    expect(await known('hikashop', `HIKA${id}`)).toBeUndefined();
    const { mails } = await shop.visit(status(id, 'confirmed'));
    const again = await shop.visit(status(id, 'confirmed'));
    await shop.visit(status(id, 'shipped'));
    const page = await shop.visit({ page: id });

    const [{ body, alt }] = to(mails, 'jo@example.com') as [SentMail];
    const keys = body.match(new RegExp(KEY, 'g')) ?? [];
    expect(keys).toHaveLength(2);
    expect(body).toMatch(
      /<strong>Your licence keys<\/strong><br>Pro year &amp; more: .* \(valid until 20\d\d-.*<\/body>/s,
    );
    expect(alt).toContain(`Pro year & more: ${keys[0]} (valid until`);
    expect(page.shown.match(new RegExp(KEY, 'g'))).toEqual(keys);
    expect(again.mails.some((mail) => KEY.test(mail.body))).toBe(false);
    expect(await known('hikashop', `HIKA${id}`)).toMatchObject({
      ...{ customer: 'jo@example.com', state: 'done', test: false, events: [{ event: 'paid' }] },
      lines: [{ sku: 'PRO-1Y', quantity: 2, licenses: [{ status: 'active' }, { status: 'active' }] }],
    });
    // The site does not keep the key, and keeps the address only as long as needed.
    expect(JSON.stringify(await shop.outbox())).not.toMatch(new RegExp(`${KEY.source}|jo@example`));
  });

  it('issues at once for a free order, and puts the key where the template wants it', async () => {
    const { result, mails } = await shop.visit({
      create: {
        ...{ order: { order_user_id: 2, order_status: 'confirmed', order_lang: 'de-DE' } },
        ...{ products: [{ code: 'PRO-1Y' }], template: 'Hier: [LICENCE_KEY]. Ende.', html: 0 },
      },
    });

    expect(to(mails, 'guest@')[0]!.body).toMatch(
      /^Hier: Ihre Lizenzschlüssel\nPRO-1Y: [0-9A-F-]{35} \(gültig bis \d\d\.\d\d\.20\d\d\)\n\. Ende\.$/,
    );
    expect(to(mails, 'shop@')[0]!.body).not.toMatch(KEY);
    expect(await known('hikashop', `HIKA${result}`)).toMatchObject({
      ...{ customer: 'guest@example.com', customer_name: 'Gus Guest', events: [{ event: 'paid' }] },
      lines: [{ licenses: [{ status: 'active' }] }],
    });
    // The customer of this order was deleted.
    const orphan = await order(shop, [{ code: 'PRO-1Y' }], { order_user_id: 99 });
    await shop.visit(status(orphan, 'confirmed'));
    expect(await known('hikashop', `HIKA${orphan}`)).toMatchObject({ customer: null, state: 'done' });
  });

  it('posts an order once if the shop receives the payment twice at the same time', async () => {
    const id = await order(shop, [{ code: 'PRO-1Y' }]);
    const other = await createJoomlaSite(version, { ca: '', resolve: [] }, 'hikashop', shop.site.folder);
    const steps: Step[] = [{ shop: status(id, 'confirmed') }];
    const visits = await Promise.all(
      [shop.site, other].map((site) => site.run<Visited>(steps, { client: 'site' })),
    );

    expect(visits.map(([visit]) => visit!.log)).toEqual([[], []]);
    const mails = visits.flatMap(([visit]) => to(visit!.mails, 'jo@'));
    expect(new Set(mails.flatMap(({ body }) => KEY.exec(body) ?? [])).size).toBe(1);
    expect((await shop.outbox()).filter(({ order_id: one }) => one === id)).toHaveLength(1);
    expect(await history('hikashop', `HIKA${id}`)).toEqual([['active'], ['paid']]);
  });

  it('suspends after a refund, and only until it is paid again', async () => {
    const id = await order(shop, [{ code: 'PRO-1Y' }]);
    const number = `HIKA${id}`;
    const states = [];
    for (const next of ['confirmed', 'refunded', 'refunded', 'confirmed', 'cancelled']) {
      await shop.visit(status(id, next), { client: 'administrator' });
      states.push((await history('hikashop', number))[0]);
    }
    const page = await shop.visit({ page: id });

    expect(states).toEqual([['active'], ['suspended'], ['suspended'], ['active'], ['suspended']]);
    expect((await history('hikashop', number))[1]).toEqual(['paid', 'refunded', 'paid', 'refunded']);
    expect(await amounts('hikashop', number)).toEqual([{ currency: 'EUR', paid: 9800, refunded: 9800 }]);
    expect(page.shown).toBe('');
  });

  it('ignores orders without a licence, unpaid orders, and orders that are not a sale', async () => {
    await shop.set({ articles: 'PRO-*\r\nOTHER' });
    const shirt = await order(shop, [{ code: 'SHIRT' }]);
    const unpaid = await order(shop, [{ code: 'PRO-1Y' }]);
    const mixed = await order(shop, [{ code: 'SHIRT' }, { code: 'PRO-1Y' }]);
    await shop.visit(status(shirt, 'confirmed'));
    await shop.visit(status(unpaid, 'cancelled'));
    await shop.visit(status(mixed, 'confirmed'));
    await shop.visit({ update: { order: { order_id: unpaid } } });
    const part = await shop.visit({
      create: {
        order: { order_user_id: 1, order_status: 'confirmed', order_type: 'subsale' },
        products: [{ code: 'PRO-1Y' }],
      },
    });
    await shop.set({});

    for (const id of [shirt, unpaid, part.result])
      expect(await known('hikashop', `HIKA${id}`)).toBeUndefined();
    expect((await known('hikashop', `HIKA${mixed}`))!.lines).toMatchObject([{ sku: 'PRO-1Y' }]);
    expect((await shop.visit({ page: shirt })).shown).toBe('');
  });

  it('leaves no table when it is uninstalled', async () => {
    const [, tables, extensions] = await shop.site.run([
      { uninstall: 'licensinghikashop' },
      { sql: "SELECT name FROM sqlite_master WHERE name LIKE '%licensing%'" },
      { sql: 'SELECT element FROM #__extensions' },
    ]);

    expect([tables, extensions]).toEqual([[], []]);
    expect(readdirSync(join(shop.site.folder, 'plugins/system'))).toEqual([]);
  });
});

describe('an order that renews', () => {
  let shop: Shop;
  const settingsOf = { renewals: 'RENEW-PRO = PRO-1Y', renewal_field: 'earlier_order' };
  beforeAll(async () => {
    shop = await hikaShopOn('5.3', settingsOf);
  });
  const buy = async (code: string, more: object = {}, customer = 1) => {
    const id = await order(shop, [{ code, ...more }], { order_user_id: customer });
    const { mails } = await shop.visit(status(id, 'confirmed'));
    const [{ body }] = mails as [SentMail];
    return { number: `HIKA${id}`, id, key: KEY.exec(body)?.[0] };
  };
  const ends = async (number: string) => (await known('hikashop', number))!.lines[0]!.licenses[0]!.expires_at;

  it('prolongs the same customer’s last order, or the order that the customer names', async () => {
    const older = await buy('PRO-1Y');
    const newer = await buy('PRO-1Y');
    const before = await ends(newer.number);
    const renewal = await buy('RENEW-PRO');
    const named = await buy('RENEW-PRO', { earlier_order: older.number });

    expect(renewal.key).toBe(newer.key);
    expect(named.key).toBe(older.key);
    for (const { number } of [older, newer])
      expect(new Date(await ends(number)).getFullYear()).toBe(new Date(before).getFullYear() + 1);
    await shop.visit(status(renewal.id, 'refunded'));
    expect(await ends(newer.number)).toBe(before);
  });

  it('never gives the key of another customer, nor prolongs for a guest', async () => {
    const others = await buy('PRO-1Y', {}, 3);
    const guest = await buy('PRO-1Y', {}, 2);
    const found = [
      await buy('RENEW-PRO', { earlier_order: others.number }),
      await buy('RENEW-PRO', { earlier_order: "' OR 1=1 --" }),
      await buy('RENEW-PRO', {}, 2),
    ];

    const keys = found.map(({ key }) => key);
    expect(keys.every((key) => key !== undefined && KEY.test(key))).toBe(true);
    expect(new Set([...keys, others.key, guest.key]).size).toBe(5);
  });
});

describe('when the service does not take an order', () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await hikaShopOn('6.1');
  });

  it('keeps it, posts it when the service is back, and mails the key', async () => {
    await service.stop('SIGKILL');
    const ids = [
      await order(shop, [{ code: 'PRO-1Y' }], { order_lang: 'de-DE' }),
      await order(shop, [{ code: 'PRO-1Y' }]),
    ];
    const visits = [];
    for (const id of ids) visits.push(await shop.visit(status(id, 'confirmed')));
    await shop.visit(status(ids[1]!, 'refunded'));
    const page = await shop.visit({ page: ids[0] });
    const during = await shop.outbox();
    const early = await shop.notices();
    await shop.site.run([{ sql: 'UPDATE #__licensing_hikashop SET created_at = 0' }]);
    const late = await shop.notices();
    const stillAway = await shop.later();
    const next = new Set((await shop.outbox()).map(({ due_at: due }) => due));
    service = await startServiceProcess(settings);
    const mails: SentMail[] = [];
    // On a slow machine one page has no time for all of them.
    await eventually(async () => {
      mails.push(...(await shop.later()));
      expect((await shop.outbox()).map(({ state }) => state)).toEqual(['done', 'done', 'done']);
    });
    const again = await shop.later();

    const follows = 'Ihr Lizenzschlüssel wird vorbereitet. Sie erhalten ihn per Mail.';
    expect(to(visits[0]!.mails, 'jo@')[0]!.body).toContain(follows);
    expect(page.shown).toContain(follows);
    expect(during.map(({ event_id, state }) => [event_id, state])).toEqual([
      ...[
        ['paid', 'unsent'],
        ['paid', 'unsent'],
        ['refunded', 'unsent'],
      ],
    ]);
    expect(early).toEqual([]);
    expect(late).toEqual([
      expect.stringMatching(
        /: 3 events of orders are waiting, because .* cannot be reached: .*posted when it can be reached again\.$/,
      ),
    ]);
    expect([stillAway, again]).toEqual([[], []]);
    // All are retried at the same time, so that no event overtakes an older one.
    expect(next.size).toBe(1);
    // The refunded order gets no mail.
    expect(mails).toMatchObject([
      { to: 'Jo <jo@example.com>', subject: `Ihre Lizenzschlüssel zur Bestellung HIKA${ids[0]}` },
    ]);
    expect(mails[0]!.body).toMatch(
      /^Vielen Dank für Ihre Bestellung HIKA\d+\. Das sind Ihre Lizenzschlüssel:\n\nPRO-1Y: [0-9A-F-]{35} \(gültig bis/,
    );
    expect(await history('hikashop', `HIKA${ids[0]}`)).toEqual([['active'], ['paid']]);
    expect(await history('hikashop', `HIKA${ids[1]}`)).toEqual([['suspended'], ['paid', 'refunded']]);
    expect(await shop.notices()).toEqual([]);
  });

  it('holds up the first sale for a few seconds, and no other, when the service hangs', async () => {
    const hanging: Server = createServer(() => undefined);
    await new Promise<void>((resolve) => hanging.listen(0, '127.0.0.1', resolve));
    await shop.set({ address: `http://127.0.0.1:${(hanging.address() as AddressInfo).port}` });
    const seconds: number[] = [];
    for (let i = 0; i < 3; i++) {
      const id = await order(shop, [{ code: 'PRO-1Y' }]);
      seconds.push((await shop.visit(status(id, 'confirmed'))).seconds);
      seconds.push((await shop.visit({ page: id })).seconds);
    }
    hanging.close();
    await shop.set({});
    const mails = await shop.later();

    expect(seconds[0]).toBeGreaterThan(2);
    expect(seconds[0]).toBeLessThan(inTime(5));
    expect(Math.max(...seconds.slice(1))).toBeLessThan(inTime(2));
    expect(mails.filter(({ body }) => KEY.test(body))).toHaveLength(3);
  });

  it('does not spend longer on waiting orders than on a sale', async () => {
    const slow = await startStaticSite((request, response) => {
      request.resume();
      setTimeout(() => response.end('{"data":{"lines":[]}}'), 700);
    });
    await shop.set({ address: 'http://shop.example' });
    for (let i = 0; i < 6; i++)
      await shop.visit(status(await order(shop, [{ code: 'PRO-1Y' }]), 'confirmed'));
    await shop.set({ address: slow.url });
    await shop.later();
    const { length } = slow.requests;
    await slow.stop();
    await shop.set({});
    await shop.later();

    expect(length).toBeGreaterThan(0);
    expect(length).toBeLessThan(6);
    expect((await shop.outbox()).filter(({ state }) => state === 'unsent')).toEqual([]);
  });

  it('waits as long as the service asks, and does not mistake a proxy for the service', async () => {
    const answers: [number, Record<string, string>, string][] = [
      [429, { 'Retry-After': '500' }, '{"error":{"code":"RATE_LIMITED","message":"Too many."}}'],
      [503, {}, '{"error":{"code":"SERVICE_UNAVAILABLE","message":"Soon."}}'],
      [404, {}, '<h1>Not Found</h1>'],
      [200, {}, '<h1>Welcome</h1>'],
      [301, { Location: `${address}/api/index.php/v1/licensing/manage/orders` }, ''],
    ];
    let answer = answers[0]!;
    const busy = await startStaticSite((request, response) => {
      request.resume();
      response.writeHead(answer[0], answer[1]).end(answer[2]);
    });
    await shop.set({ address: busy.url });
    const id = await order(shop, [{ code: 'PRO-1Y' }]);
    const seen = [];
    const start = Math.floor(Date.now() / 1000);
    for (answer of answers) {
      if (seen.length === 0) await shop.visit(status(id, 'confirmed'));
      else await shop.later();
      const { state, due_at: due } = (await shop.outbox()).at(-1)!;
      seen.push([state, due - start >= 60, due - start >= 500]);
    }
    await shop.set({});
    await shop.later();
    await busy.stop();

    expect(seen).toEqual([
      ['unsent', true, true],
      ...[120, 240, 480, 960].map((pause) => ['unsent', true, pause >= 500]),
    ]);
    expect(await history('hikashop', `HIKA${id}`)).toEqual([['active'], ['paid']]);
  });

  it('shows the administrator what was refused, and retries it when the settings are saved', async () => {
    const revoked = token.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'));
    const counts = [];
    for (const [wrong, reason] of [
      [revoked, '401'],
      ['my Joomla password', 'no valid token'],
      ['', 'no valid token'],
    ] as const) {
      await shop.set({ token: wrong });
      const id = await order(shop, [{ code: 'PRO-1Y' }]);
      const { mails } = await shop.visit(status(id, 'confirmed'));
      await shop.site.run([{ sql: "UPDATE #__licensing_hikashop SET created_at = 0 WHERE state <> 'done'" }]);
      const [notice = ''] = await shop.notices({ option: '' });
      const german = await shop.notices({ language: 'de-DE' });
      const none = [await shop.notices({ option: 'com_content' }), await shop.notices({ client: 'site' })];
      await shop.set({});
      const keys = await shop.later();

      expect(notice).toContain(reason);
      expect(notice).not.toContain(wrong === '' ? 'lgw_' : wrong);
      expect(german[0]).toMatch(/^Lizenzen für HikaShop: /);
      expect(none).toEqual([[], []]);

      expect(to(mails, 'jo@')[0]!.body).toContain('is being prepared');
      expect(keys.filter(({ body }) => KEY.test(body))).toHaveLength(1);
      counts.push(await shop.notices());
      expect(await history('hikashop', `HIKA${id}`)).toEqual([['active'], ['paid']]);
    }

    expect(counts).toEqual([[], [], []]);
    // A password that a browser filled in is never sent.
    expect(service.lines.join('\n')).not.toContain('my Joomla password');
  });

  it('sends no token in clear text', async () => {
    await shop.set({ address: 'http://shop.example' });
    const id = await order(shop, [{ code: 'PRO-1Y' }]);
    await shop.visit(status(id, 'confirmed'));
    await shop.site.run([{ sql: "UPDATE #__licensing_hikashop SET created_at = 0 WHERE state <> 'done'" }]);
    expect(await shop.notices()).toEqual([expect.stringContaining('must begin with https://')]);
    await shop.set({});
    expect(await shop.later()).toHaveLength(1);
  });

  it('mails the key when the article is mapped', async () => {
    const id = await order(shop, [{ code: 'NEW-1Y' }, { code: 'PRO-1Y' }]);
    const { mails } = await shop.visit(status(id, 'confirmed'));
    const early = await shop.later();
    await cli.json(['shop', 'map', 'hikashop', 'NEW-1Y', '--plan', '2']);
    const late = await shop.later();
    const after = await shop.later();

    expect(to(mails, 'jo@')[0]!.body).toMatch(/PRO-1Y: [0-9A-F-]{35}.*being prepared/s);
    expect([early, after]).toEqual([[], []]);
    expect(late).toHaveLength(1);
    expect(late[0]!.body).toMatch(/NEW-1Y: [0-9A-F-]{35}/);
    expect(late[0]!.body).not.toContain('PRO-1Y');
  });

  it('issues nothing for a test order, and sends key mails of its own if that is set', async () => {
    await shop.set({ test: '1' });
    const test = await order(shop, [{ code: 'PRO-1Y' }]);
    const tested = await shop.visit(status(test, 'confirmed'));
    await shop.set({ key_mail: 'own' });
    const own = await order(shop, [{ code: 'PRO-1Y' }]);
    const { mails } = await shop.visit(status(own, 'confirmed'));
    await shop.set({});

    expect(await known('hikashop', `HIKA${test}`)).toMatchObject({ test: true, lines: [{ licenses: [] }] });
    expect(JSON.stringify(tested.mails)).not.toMatch(/licence/);
    expect(mails.map(({ subject, body }) => [subject, KEY.test(body)])).toEqual([
      [`Your licence keys for order HIKA${own}`, true],
      ['order_status_notification', false],
    ]);
  });

  it('tries again when Joomla cannot send the mail', async () => {
    await shop.set({ key_mail: 'own' });
    const id = await order(shop, [{ code: 'PRO-1Y' }], { order_user_id: 4 });
    await shop.visit(status(id, 'confirmed'));
    const [before] = (await shop.outbox()).slice(-1);
    const failed = await shop.later();
    await shop.site.run([
      { sql: "UPDATE #__licensing_hikashop SET message = replace(message, 'nobody@', 'somebody@')" },
    ]);
    const mails = await shop.later();
    await shop.set({});

    expect(before).toMatchObject({ state: 'waiting', error: expect.stringContaining('mail server') });
    expect(failed).toEqual([]);
    expect(mails).toMatchObject([
      { to: 'Gus Guest <somebody@example.com>', body: expect.stringMatching(KEY) },
    ]);
    expect((await shop.outbox()).at(-1)).toMatchObject({ state: 'done', error: '' });
    expect(await history('hikashop', `HIKA${id}`)).toEqual([['active'], ['paid']]);
  });
});

const YEAR = 365 * 86_400_000;
const sqlTime = (time: number) => new Date(time).toISOString().slice(0, 19).replace('T', ' ');

// The events have one shape on 4.4, and another one since 5.0.
describe.each(['4.4', '6.1'] as const)('Membership Pro on Joomla %s', (version) => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await shopOn(version, 'membershippro');
    await shop.site.run([
      { sql: "INSERT INTO #__osmembership_plans VALUES (7, 'Pro'), (8, 'Agency')" },
      { sql: 'INSERT INTO #__osmembership_upgraderules VALUES (5, 7, 8)' },
      { sql: `INSERT INTO #__osmembership_subscribers (id) VALUES (${(first += 100)})` },
    ]);
  });
  const pay = async (row: object = {}, template?: string) => {
    const until = Math.floor(Date.now() / 1000) * 1000 + YEAR;
    const pay = {
      ...{
        plan_id: 7,
        user_id: shop.kind.length,
        email: 'jo@example.com',
        first_name: 'Jo',
        last_name: 'Doe',
      },
      ...{ to_date: sqlTime(until), ...row },
    };
    const { result, mails } = await shop.visit({ pay, template });
    const [mail] = to(mails, 'jo@') as [SentMail];
    expect(to(mails, 'shop@')[0]!.body).not.toMatch(KEY);
    return { id: result, mail, key: KEY.exec(mail.body)?.[0], until };
  };
  const license = async (id: number) => (await known('membershippro', String(id)))!.lines[0]!.licenses[0]!;

  it('issues until the end of the subscription, in UTC, and has the key in the mail', async () => {
    const { id, mail, until } = await pay({ user_id: 1 });
    const marked = await pay({ user_id: 2 }, 'Key: [LICENCE_KEY]!');
    // An administrator may fire the events of all subscriptions a second time.
    const [row] = await shop.site.run([
      { sql: `SELECT * FROM #__osmembership_subscribers WHERE id = ${id}` },
    ]);
    await shop.visit({ event: 'onMembershipActive', row: (row as object[])[0] });

    expect(mail.body).toMatch(
      /<strong>Your licence keys<\/strong><br>Pro: [0-9A-F-]{35} \(valid until .*<\/body>/s,
    );
    expect(marked.mail.body).toMatch(/Key: <p><strong>.*<\/p>!/s);
    expect(await license(id)).toMatchObject({
      status: 'active',
      expires_at: new Date(until).toISOString().replace('.000Z', 'Z'),
    });
    expect(await history('membershippro', String(id))).toEqual([['active'], ['paid']]);
  });

  it('is prolonged by a renewal, gets another plan by an upgrade, and ends with the last of them', async () => {
    const bought = await pay({ user_id: 3 });
    const renewal = await pay({ user_id: 3, act: 'renew', to_date: sqlTime(bought.until + YEAR) });
    const prolonged = await license(bought.id);
    await shop.visit({ expire: bought.id });
    const upgrade = await pay({ user_id: 3, plan_id: 8, act: 'upgrade', upgrade_option_id: 5 });
    const upgraded = await history('membershippro', String(bought.id));
    const last = await pay({
      user_id: 3,
      plan_id: 8,
      act: 'renew',
      to_date: sqlTime(bought.until + 2 * YEAR),
    });
    const { id: licenseId, expires_at: end } = await license(bought.id);
    await shop.visit({ expire: upgrade.id });
    await shop.visit({ expire: last.id });

    expect(renewal.key).toBe(bought.key);
    expect(prolonged.expires_at).toBe(new Date(bought.until + YEAR).toISOString().replace('.000Z', 'Z'));
    // Neither the renewed subscription nor the upgraded one has ended.
    expect(upgraded).toEqual([['active'], ['paid', 'upgraded']]);
    expect(upgrade.key).toBeUndefined();
    expect(last.key).toBe(bought.key);
    expect(end).toBe(new Date(bought.until + 2 * YEAR).toISOString().replace('.000Z', 'Z'));
    expect(await cli.json(['license', 'show', String(licenseId)])).toMatchObject({ plan_id: 2 });
    expect((await history('membershippro', String(bought.id)))[1]).toEqual([
      ...['paid', 'upgraded', 'subscription_ended'],
    ]);
  });

  it('undoes a refunded payment, and of a renewal only the time that it added', async () => {
    const bought = await pay({ user_id: 4 });
    const renewal = await pay({ user_id: 4, act: 'renew', to_date: sqlTime(bought.until + YEAR) });
    await shop.visit({ edit: { id: renewal.id, published: 4 } }, { client: 'administrator' });
    const after = await license(bought.id);
    await shop.visit({ edit: { id: bought.id, refunded: 1 } }, { client: 'administrator' });

    expect(after).toMatchObject({
      status: 'active',
      expires_at: new Date(bought.until).toISOString().replace('.000Z', 'Z'),
    });
    expect(await history('membershippro', String(bought.id))).toEqual([['suspended'], ['paid', 'refunded']]);
    // The yen has no decimals.
    expect(await amounts('membershippro', String(bought.id))).toEqual([
      { currency: 'JPY', paid: 1200, refunded: 1200 },
    ]);
  });

  it('ignores members of a group, plans without a licence, and events of other extensions', async () => {
    const member = await pay({ group_admin_id: 9 });
    await shop.set({ articles: '7' });
    const other = await pay({ plan_id: 8 });
    await shop.set({});
    await shop.visit({ event: 'onMembershipActive', row: { id: 1, title: 'of another extension' } });
    const guest = await pay({ user_id: 0 });
    const stranger = await pay({ user_id: 0, act: 'renew' });

    for (const { id } of [member, other]) expect(await known('membershippro', String(id))).toBeUndefined();
    expect([member.key, other.key]).toEqual([undefined, undefined]);
    expect(stranger.key).not.toBe(guest.key);
  });
});

// Joomla 4.4 gets version 4, with J2Store's events and tables. Joomla 6.1 gets version 6.
describe.each(['4.4', '6.1'] as const)('J2Commerce on Joomla %s', (version) => {
  let shop: Shop;
  const tables = version === '4.4' ? 'j2store' : 'j2commerce';
  beforeAll(async () => {
    shop = await shopOn(version, 'j2commerce', { renewals: 'RENEW-PRO = PRO-1Y' });
    // The orders of each site have their own range of numbers.
    await shop.site.run([
      { sql: `INSERT INTO #__${tables}_orders (${tables}_order_id) VALUES (${(first += 100)})` },
    ]);
  });
  const pro = { orderitem_sku: 'PRO-1Y' };
  const buy = async (items: object[] = [pro], more: object = {}) =>
    `1732660000${(await shop.visit({ create: { items, ...more } })).result}`;
  const pay = async (number: string, more: object = {}) =>
    to((await shop.visit({ status: [number, 1], ...more })).mails, '@example.com');
  const keyOf = async (number: string) => KEY.exec((await shop.visit({ page: number })).shown)?.[0];
  const end = async (number: string) =>
    (await known('j2commerce', number))!.lines[0]!.licenses[0]!.expires_at;
  const years = (later: string, earlier: string) =>
    new Date(later).getFullYear() - new Date(earlier).getFullYear();

  it('issues a licence for a paid order once, and has the key in its mail and on its page', async () => {
    const number = await buy([
      { ...pro, orderitem_name: 'Pro &amp; more', orderitem_quantity: '2.000' },
      { orderitem_name: 'Without a SKU', product_id: 15 },
    ]);
    const unpaid = await shop.visit({ page: number });
    const mails = await pay(number);
    // The administrator's model fires the event in another shape.
    const shipped = await shop.visit({ status: [number, 7, 'model'] });
    const page = await shop.visit({ page: number });
    const cart = await shop.visit({ page: number, view: 'carts' });

    const [customers, sellers] = mails as [SentMail, SentMail];
    const keys = customers.body.match(new RegExp(KEY, 'g')) ?? [];
    expect(keys).toHaveLength(3);
    expect(customers.body).toMatch(/<br>Pro &amp; more: .* \(valid until 20\d\d-.*<\/body>/s);
    expect(customers.alt).toContain(`Without a SKU: ${keys[2]}`);
    expect(sellers).toMatchObject({ to: 'shop@example.com', body: expect.not.stringMatching(KEY) });
    expect(shipped.mails.some(({ body }) => KEY.test(body))).toBe(false);
    expect([unpaid.shown, cart.shown]).toEqual(['', '']);
    expect(page.shown.match(new RegExp(KEY, 'g'))).toEqual(keys);
    expect(await known('j2commerce', number)).toMatchObject({
      ...{ customer: 'jo@example.com', customer_name: 'Gus Guest', state: 'done', test: false },
      ...{ events: [{ event: 'paid' }] },
      lines: [
        { sku: 'PRO-1Y', quantity: 2 },
        { sku: '15', quantity: 1 },
      ],
    });
    expect(JSON.stringify(await shop.outbox())).not.toMatch(new RegExp(`${KEY.source}|jo@example`));
  });

  it('has the key where the template wants it, in the language of the order', async () => {
    const number = await buy([pro], {
      user_email: 'guest@example.com',
      user_id: 0,
      customer_language: 'de-DE',
    });
    const template = 'Hier: {LICENCE_KEY}. [LICENCE_KEY] Ende.';
    const [{ body, alt }] = (await pay(number, { template })) as [SentMail];
    const later = await shop.visit({ status: [number, 8], template });

    expect(alt).toMatch(
      /^Hier: Ihre Lizenzschlüssel\nPRO-1Y: [0-9A-F-]{35} \(gültig bis .*\)\n\. {2}Ende\.$/,
    );
    expect(body).toContain('Hier: <p><strong>Ihre Lizenzschlüssel');
    expect(KEY.test(to(later.mails, 'guest@')[0]!.body)).toBe(true);
    expect(await cli.json(['customer', 'show', 'guest@example.com'])).toMatchObject({ language: 'de' });
  });

  it('suspends when the order is cancelled, and only until it is paid again', async () => {
    const number = await buy();
    const states = [];
    for (const next of [4, 1, 6, 6, 1, 8, 6]) {
      await shop.visit({ status: [number, next, 'model'] }, { client: 'administrator' });
      states.push((await history('j2commerce', number))[0][0]);
    }
    const unpaid = await buy();
    await shop.visit({ status: [unpaid, 6] });

    const [active, suspended] = ['active', 'suspended'];
    expect(states).toEqual([undefined, active, suspended, suspended, active, active, suspended]);
    expect((await history('j2commerce', number))[1]).toEqual(['paid', 'refunded', 'paid', 'refunded']);
    // The dinar has three decimals, and the amount follows the order's exchange rate.
    expect(await amounts('j2commerce', number)).toEqual([
      { currency: 'KWD', paid: 10_000, refunded: 10_000 },
    ]);
    expect(await known('j2commerce', unpaid)).toBeUndefined();
    expect((await shop.visit({ page: number })).shown).toBe('');
  });

  it('ignores orders without a licence', async () => {
    await shop.set({ articles: 'PRO-*' });
    const [shirt, mixed] = [
      await buy([{ orderitem_sku: 'SHIRT' }]),
      await buy([{ orderitem_sku: 'SHIRT' }, pro]),
    ];
    await pay(shirt);
    await pay(mixed);
    await shop.set({ renewals: 'RENEW-PRO = PRO-1Y' });

    expect(await known('j2commerce', shirt)).toBeUndefined();
    expect((await known('j2commerce', mixed))!.lines).toMatchObject([{ sku: 'PRO-1Y' }]);
  });

  it('prolongs the same registered customer’s last licence by an article for renewals', async () => {
    const bought = await buy([pro], { user_id: 77 });
    await pay(bought);
    const before = await end(bought);
    const renewal = await buy([{ orderitem_sku: 'RENEW-PRO' }], { user_id: 77 });
    await pay(renewal);
    const guests = await buy([{ orderitem_sku: 'RENEW-PRO' }], { user_id: 0 });
    await pay(guests);

    const key = await keyOf(bought);
    expect(await keyOf(renewal)).toBe(key);
    expect(years(await end(bought), before)).toBe(1);
    expect(await keyOf(guests)).not.toBe(key);
  });

  it('renews the licence of a subscription, and undoes only the payment that was refunded', async () => {
    const type = { product_type: 'subscriptionproduct' };
    const number = await buy([
      { ...pro, ...type },
      { orderitem_sku: 'PRO-1Y', product_id: 16 },
    ]);
    await pay(number);
    const lines = async () => (await known('j2commerce', number))!.lines.map(({ licenses }) => licenses[0]!);
    const [first, other] = await lines();
    const renew = { subscription: { id: 3, product_id: 15, order_id: number }, sku: 'PRO-1Y' };
    const { result } = await shop.visit({ renew });
    const [renewed, untouched] = await lines();
    await shop.visit({ status: [`1732660000${result}`, 6, 'model'] });
    const [after] = await lines();

    expect(years(renewed!.expires_at, first!.expires_at)).toBe(1);
    expect(untouched!.expires_at).toBe(other!.expires_at);
    // The service does not record the renewal as an order of its own.
    expect(await known('j2commerce', `1732660000${result}`)).toBeUndefined();
    expect(after).toMatchObject({ status: 'active', expires_at: first!.expires_at });
    expect((await history('j2commerce', number))[1]).toEqual(['paid', 'renewed', 'refunded']);
    expect(await keyOf(number)).toMatch(KEY);
  });

  it('renews once by a payment that has no order', async () => {
    const number = await buy([{ ...pro, product_type: 'variablesubscriptionproduct' }]);
    await pay(number);
    const before = await end(number);
    const renew = { subscription: { id: 4, order_id: number }, transaction: '5TY05013RG002845M' };
    if (version === '6.1') for (let i = 0; i < 2; i++) await shop.visit({ renew });

    expect(years(await end(number), before)).toBe(version === '6.1' ? 1 : 0);
  });

  it('keeps what it cannot post, and mails the key afterwards', async () => {
    await shop.set({ address: 'http://127.0.0.1:1' });
    const number = await buy();
    const [{ body }] = (await pay(number)) as [SentMail];
    await shop.set({});
    const mails = await shop.later();

    expect(body).toContain('is being prepared');
    expect(mails).toMatchObject([{ to: 'Gus Guest <jo@example.com>', body: expect.stringMatching(KEY) }]);
    expect(await history('j2commerce', number)).toEqual([['active'], ['paid']]);
  });

  it('leaves no table when it is uninstalled', async () => {
    const [, left] = await shop.site.run([
      { uninstall: 'licensingj2commerce' },
      { sql: "SELECT name FROM sqlite_master WHERE name LIKE '%licensing%'" },
    ]);

    expect(left).toEqual([]);
  });
});

it('keeps the token out of pages, mails, notices and logs', () => {
  expect(told.length).toBeGreaterThan(100);
  expect(told.join('\n')).not.toContain(token.slice(4));
});
