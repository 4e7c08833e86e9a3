import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Settings } from '../../src/settings/config';
import { table, type Db } from '../../src/store/engine/database';
import { formOf, pagesClient, textOf, type PagesAnswer, type PagesClient } from '../pages/support/session';
import { makeArs } from '../support/ars';
import { fillTable, makeMembershipPro } from '../support/membership-pro';
import { operator, type Operator } from '../support/operator';
import { giveRelease, makePackage } from '../support/packages';
import { eventually, sharedFolder, temporaryFolder } from '../support/processes';
import {
  createMariaDbDatabase,
  givePlan,
  countTimes,
  rows,
  startTestService,
  type TestService,
} from '../support/service';
import { get, hostOf, post } from '../support/web-server';
import { NGINX, webShops, type TestWebServer, type WebShops } from '../support/web-shops';

/** Both moves of docs/moving-in.md, made as a seller makes them, from the first look to the day after, behind nginx. */

const PREFIX = 'jos_';
const USERS = 500;
const hex = (n: number) => createHash('sha256').update(`key ${n}`).digest('hex').slice(0, 32).toUpperCase();
const ids = (first: number, count: number) => Array.from({ length: count }, (_, i) => first + i);

let shops: WebShops;
let service: TestService;
let server: TestWebServer;
let settings: Settings;
let db: Db;
let seller: Operator;
let planId: number;
let root: string;
let versions: { bytes: Buffer }[];

beforeAll(async () => {
  shops = await webShops(NGINX);
  root = temporaryFolder();
  settings = {
    LICENSING_DATABASE_URL: await createMariaDbDatabase(),
    LICENSING_TABLE_PREFIX: PREFIX,
    LICENSING_KEY_SECRET: randomBytes(32).toString('base64'),
    LICENSING_PACKAGES_DIR: sharedFolder(),
    LICENSING_XML_DIR: sharedFolder(),
    LICENSING_PUBLIC_URL: 'https://shop.example',
    LICENSING_FORMERLY: 'membershippro=5:42,ars=7:43',
    ...NGINX.senders[0]![1],
  };
  service = await startTestService(settings);
  ({ db } = service);
  planId = await givePlan(db, { limit: 2 });
  await giveRelease(service, { version: '2.1.0', file: shops.zip.path });
  seller = operator({ ...settings, LICENSING_LISTEN: hostOf(service) });
  await seller.json(['product', 'add', '--name', 'Backup', '--id', '43', '--element', 'pkg_backup']);
  await fillMembershipPro();
  await fillArs();
  const files = await seller.json<Record<string, string>>(['nginx', '--server-name', 'shop.example']);
  server = await shops.start({
    ...{ upstream: hostOf(service), example: true, edit: (text, file) => files[file] ?? text },
  });
});
afterAll(async () => {
  await shops.close();
  await service.stop();
});

describe('a move from Membership Pro by the pages', () => {
  let pages: PagesClient;
  let undo = '';
  const send = (shown: PagesAnswer, fields: Record<string, string>) => {
    const { once = '', ...hidden } = formOf(shown.html, '/move-in');
    const body = new FormData();
    for (const [name, value] of Object.entries({ ...hidden, ...fields })) body.append(name, value);
    return pages.post(`/move-in?once=${once}`, body);
  };
  const look = async () => send(await pages.get('/move-in'), { from: 'membershippro', dates: '' });

  it('shows the dry run, takes the choice of the plan, and imports what the dry run showed', async () => {
    pages = await pagesClient(service);
    const first = await look();
    expect(textOf(first.html)).toContain('Pro yearly 3 500');
    const chosen = await send(first, { do: 'check', plan0: String(planId) });
    expect(textOf(chosen.html)).toContain('500 licences would be new.');
    expect(await rows(db, 'licenses')).toEqual([]);
    const done = await send(chosen, { do: 'import', plan0: String(planId) });
    expect(textOf(done.html)).toContain('Moved in from Membership Pro New 500');
    expect(await rows(db, 'customers')).toHaveLength(USERS);
  });

  it('old keys activate and download, in the old spellings and at the old addresses', async () => {
    const spellings = [
      (key: string) => key,
      (key: string) => key.toLowerCase(),
      (key: string) => ` ${key} `,
      (key: string) => `dlid=${key}`,
      (key: string) => `${key.slice(0, 16)}\u200b${key.slice(16)}`,
    ];
    for (const [i, spell] of spellings.entries()) {
      const key = hex(2 * i + 1);
      const activated = await post(server, '/licenses/activate', {
        ...{ license_key: spell(key), identifier: `https://www.site${i}.example/` },
      });
      expect([spell.toString(), activated.status]).toEqual([spell.toString(), 200]);
    }
    const task = 'task=download_update_package&document_id=5';
    for (const address of [
      `/index.php?option=com_osmembership&${task}&dlid=${hex(2)}`,
      `/index.php?option=com_osmembership&${task}&download_id=${hex(2).toLowerCase()}&domain=www.user2.example`,
      `/en/component/osmembership/?${task}&download_id=${hex(3)}&domain=`,
    ]) {
      const { status, body } = await get(server, address);
      expect([address, status, body.equals(readFileSync(shops.zip.path))]).toEqual([address, 200, true]);
    }
  });

  it('takes what was sold and renewed there meanwhile, and keeps what was changed here', async () => {
    await fillSales(USERS + 1, 20);
    await db(`${PREFIX}osmembership_subscribers`)
      .whereBetween('id', [11, 15])
      .update({ plan_subscription_to_date: '2033-01-01 00:00:00' });
    const [id] = await db(table(db, 'licenses')).where({ reference: 'membershippro:20' }).pluck('id');
    await seller.json(['license', 'suspend', String(id)]);
    const next = await look();
    expect(textOf(next.html)).toContain('20 licences would be new.');
    const done = textOf((await send(next, { do: 'import', plan0: String(planId) })).html);
    expect(done).toMatch(/New 20 Changed 5 Already here, unchanged 494 Changed here since then, and kept 1/);
  });

  it('shows the day after, and undoing it leaves only licences that were used', async () => {
    await eventually(async () => {
      expect(textOf((await pages.get('/move-in/check')).html)).toMatch(
        /Here, the last 30 days 7 7 0 Membership Pro, 1 Nov 2026 – 1 Dec 2026 3 3 0 /,
      );
    });
    const list = (await pages.get('/move-in')).html;
    undo = [...list.matchAll(/pages(\/move-in\/\d+\/undo)"/g)].map(([, path = '']) => path).at(-1) ?? '';
    const undone = textOf((await pages.post(undo)).html);
    // 488 of 500: five were activated, one more downloaded, one was suspended, and the next run changed five.
    expect(undone).toMatch(/Licences removed 488 Plans removed 0/);
    expect(undone).toContain('a later move has changed it');
    expect(undone).toContain('it was activated');
    expect(undone).toContain('something was downloaded with it');
  });
});

describe('a move from Akeeba Release System by the command', () => {
  it('brings licences, releases and the target platform, and the old addresses answer', async () => {
    const site = operator({ ...settings, LICENSING_LISTEN: hostOf(service), LICENSING_JOOMLA_ROOT: root });
    const move = (...args: string[]) =>
      site.json<{ id: number; new: number; changed: number }>(['import', '--from', 'ars', ...args]);
    const plan = await givePlan(db, { productId: 43, limit: 0 });
    expect(await move('--plans', `1=${plan}`, '--dry-run')).toMatchObject({ id: null, new: 200 });
    const { id } = await move('--plans', `1=${plan}`);
    const releases = await site.json<{ releases: { version: string }[]; target_platforms: object }>([
      ...['import', '--from', 'ars', '--releases'],
    ]);
    expect(releases).toMatchObject({
      releases: [{ version: '1.9.0' }, { version: '1.10.0' }],
      target_platforms: { 43: '(4\\.[0-9]+|5\\.[0-9]+)' },
    });
    await site.json(['update-xml', 'write', '--product', '43']);
    const stream = await get(server, '/index.php?option=com_ars&view=update&task=stream&format=xml&id=7');
    expect(stream.body.toString()).toContain('<version>1.10.0</version>');
    expect(stream.body.toString()).toContain('version="(4\\.[0-9]+|5\\.[0-9]+)"');
    const item = '/index.php?option=com_ars&view=item&task=download&format=raw&item_id=2';
    const old = hex(10_001).toLowerCase();
    for (const typed of [old, old.toUpperCase(), `1001:${old}`]) {
      const { status, body } = await get(server, `${item}&dlid=${encodeURIComponent(typed)}`);
      expect([typed, status, body.equals(versions[1]!.bytes)]).toEqual([typed, 200, true]);
    }
    // A download is recorded after its answer.
    await eventually(async () =>
      expect(await countTimes(db, 'access_log', { product_id: 43, outcome: 'ok' })).toBe(3),
    );
    await db(`${PREFIX}akeebasubs_subscriptions`).insert(payment(5_000, 1_201));
    expect(await move()).toMatchObject({ new: 1, changed: 0 });
    const undone = await site.json<{ removed: { licenses: number } }>(['import', '--undo', String(id)]);
    expect(undone.removed.licenses).toBe(199);
  });
});

async function fillMembershipPro(): Promise<void> {
  await makeMembershipPro(db, PREFIX);
  await fillTable(db, PREFIX, {
    osmembership_plans: [
      { id: 3, title: 'Pro yearly', subscription_length: 1, subscription_length_unit: 'Y' },
    ],
    osmembership_documents: [{ id: 5, title: 'Pro', update_package: 'pro.zip' }],
    osmembership_plan_documents: [{ plan_id: 3, document_id: 5 }],
  });
  await fillSales(1, USERS);
  await fillTable(db, PREFIX, {
    osmembership_downloadlogs: ids(1, 3).map((id) => ({
      ...{
        download_id: id,
        document_id: 5,
        download_date: '2026-12-01 10:00:00',
        server_ip: `192.0.2.${id}`,
      },
    })),
  });
}

async function fillSales(first: number, count: number): Promise<void> {
  await fillTable(db, PREFIX, {
    osmembership_subscribers: ids(first, count).map((id) => ({
      ...{
        id,
        plan_id: 3,
        user_id: id,
        email: `user${id}@example.com`,
        first_name: 'Jo',
        last_name: `${id}`,
      },
      ...{ plan_main_record: 1, plan_subscription_status: 1 },
      plan_subscription_from_date: '2026-01-01 00:00:00',
      plan_subscription_to_date: '2031-01-01 00:00:00',
    })),
    osmembership_downloadids: ids(first, count).map((id) => ({
      ...{ id, user_id: id, download_id: hex(id), published: 1 },
      domain: id % 2 === 0 ? `www.user${id}.example` : null,
    })),
  });
}

const payment = (id: number, user: number) => ({
  ...{ akeebasubs_subscription_id: id, user_id: user, akeebasubs_level_id: 1, state: 'C', enabled: 1 },
  ...{ publish_up: '2026-01-01 00:00:00', publish_down: '2030-01-01 00:00:00', processor_key: `P${id}` },
});

async function fillArs(): Promise<void> {
  await makeArs(db, PREFIX);
  mkdirSync(join(root, 'arsrepo'));
  writeFileSync(
    join(root, 'configuration.php'),
    "<?php\nclass JConfig {\n\tpublic $dbtype = 'mysqli';\n\tpublic $host = 'localhost';\n\tpublic $user = 'x';\n\tpublic $password = 'x';\n\tpublic $db = 'x';\n\tpublic $dbprefix = 'jos_';\n\tpublic $secret = 'x';\n}",
  );
  const manifest = (version: string) =>
    `<?xml version="1.0"?><extension type="package" method="upgrade"><name>Backup</name><packagename>backup</packagename><version>${version}</version></extension>`;
  versions = await Promise.all(
    ['1.9.0', '1.10.0'].map((version) => makePackage({ 'pkg_backup.xml': manifest(version) })),
  );
  versions.forEach(({ bytes }, i) => writeFileSync(join(root, 'arsrepo', `backup-${i}.zip`), bytes));
  const users = ids(1_001, 201);
  await fillTable(db, PREFIX, {
    users: users.map((id) => ({ id, name: `User ${id}`, email: `ars${id}@example.com` })),
    akeebasubs_levels: [{ akeebasubs_level_id: 1, title: 'Backup yearly', duration: 365 }],
    akeebasubs_subscriptions: users.slice(0, 200).map((user) => payment(user, user)),
    ars_dlidlabels: users.map((id) => ({
      ...{ id, user_id: id, primary: 1, title: '_MAIN_', dlid: hex(id + 9_000).toLowerCase(), published: 1 },
    })),
    ars_categories: [{ id: 1, title: 'Backup', directory: 'arsrepo' }],
    ars_updatestreams: [{ id: 7, element: 'pkg_backup', category: 1 }],
    ars_environments: [
      { id: 1, title: 'Joomla 4', xmltitle: 'joomla/4' },
      { id: 2, title: 'Joomla 5', xmltitle: 'joomla/5' },
    ],
    ars_releases: ['1.9.0', '1.10.0'].map((version, i) => ({
      ...{ id: i + 1, category_id: 1, version, notes: null, published: 1 },
    })),
    ars_items: ids(1, 2).map((id) => ({
      ...{ id, release_id: id, filename: `backup-${id - 1}.zip`, type: 'file', updatestream: 7 },
      environments: '["1","2"]',
    })),
  });
}
