import { readGoods } from '../../src/overview/first-steps';
import { refreshFigures } from '../../src/figures/kept-figures';
import { listSortedPositions } from '../../src/store/licenses/license-lists';
import { refusalsByReason } from '../../src/overview/action-items';
import { readInstalled, readTrend } from '../../src/overview/overview';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { LIST_CONNECTIONS } from '../../src/store/engine/connections';
import { table } from '../../src/store/engine/database';
import { findMiscounts } from '../../src/store/counters';
import { listNewestActivations } from '../../src/store/licenses/activations';
import { listAccessesNearby } from '../../src/store/access-log';
import { diskTablesOf, makeDiskTable } from '../support/disk-tables';
import { startManaged, type Managed } from '../support/manage';
import { operator, type Operator } from '../support/operator';
import { eventually, temporaryFolder } from '../support/processes';
import { givePlan, newPlace, PREFIX } from '../support/service';
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver';

/** No statement of the service or the command makes MariaDB write an internal table to disk. */

let service: Managed;
let command: Operator;
let receiver: WebhookReceiver;

beforeAll(async () => {
  const settings = {
    ...(await newPlace('MariaDB')),
    LICENSING_KEY_SECRET: Buffer.alloc(32, 7).toString('base64'),
    LICENSING_PUBLIC_URL: 'https://shop.example',
    LICENSING_MAIL_URL: `file:${temporaryFolder()}?from=shop@example.com`,
    LICENSING_WEBHOOK_NETWORKS: '127.0.0.0/8',
    LICENSING_XML_DIR: temporaryFolder(),
  };
  service = await startManaged(settings, new Date());
  command = operator(settings);
  receiver = await startReceiver();
});

afterAll(async () => {
  await service.stop();
  await receiver.stop();
});

test('webhooks, mail, orders and every command that reads or writes', async () => {
  const { db, write } = service;
  await makeDiskTable(db);
  const noted = diskTablesOf(db).length;
  expect(noted).toBeGreaterThan(0);

  // Webhooks: some lanes wait behind a failed row, and others continue.
  const planId = await givePlan(db, { limit: 2 });
  await write.ok('POST /webhooks', { url: receiver.url, events: ['*'] }, 201);
  receiver.answer = (response, { type }) => response.writeHead(type === 'license.changed' ? 500 : 204).end();
  const customer = 'jane@example.com';
  const license = await write.ok('POST /licenses', { plan_id: planId, customer, reference: 'O-1' }, 201);
  const { id, license_key: key } = license as { id: number; license_key: string };
  const post = (verb: string, identifier: string) =>
    fetch(`${service.url}${PREFIX}/licenses/${verb}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ license_key: key, identifier }),
    });
  for (const site of ['a.example', 'b.example', 'c.example']) await post('activate', site);
  await post('validate', 'a.example');
  await fetch(`${service.url}${PREFIX}/downloads/42?dlid=${key}`);
  await fetch(`${service.url}${PREFIX}/downloads/42?dlid=${key.slice(0, -4)}0000`);
  await write.ok(`PATCH /licenses/${id}`, { activation_limit: 3 });
  await write.ok(`PATCH /licenses/${id}`, { activation_limit: 4 });
  const paid = { shop: 'own', order: 'O-2', at: '2026-01-01T00:00:00Z', customer: { email: customer } };
  await write.ok('POST /orders', { ...paid, event: 'paid', lines: [{ line: '1', plan_id: planId }] });
  await write.ok('POST /orders', { ...paid, event: 'renewed', at: '2026-02-01T00:00:00Z' });
  await write.ok(`POST /licenses/${id}/mails`, undefined, 201);
  await eventually(async () => {
    expect(receiver.received.map(({ type }) => type)).toContain('license.changed');
    const mails = db(table(db, 'outbox')).where({ kind: 'mail' }).whereNotNull('next_attempt_at');
    expect(await mails).toEqual([]);
  });
  service.clock.now = new Date(service.clock.now.getTime() + 10_000);
  receiver.answer = undefined;
  await eventually(async () => {
    const waiting = db(table(db, 'outbox')).whereNotNull('next_attempt_at');
    expect(await waiting).toEqual([]);
  });

  const file = join(temporaryFolder(), 'all.jsonl');
  for (const line of [
    ...['license list', `license show ${id}`, `license history ${id}`, 'license list --expiring 30d'],
    ...['product list', 'product show 42', 'plan list', 'release list 42', 'token list', 'operator list'],
    ...['mail list', 'mail list --failed', 'order list', 'shop list', 'webhook list', 'webhook deliveries 1'],
    ...[`customer set ${customer} --language de`, `customer show ${customer}`],
    ...['signing-key list', `export --out ${file}`, `import ${file} --dry-run`],
    ...[`import ${file}`, `why ${customer}`, `why ${key}`, 'why 127.0.0.1', 'why a.example', 'doctor'],
    ...[`customer export ${customer}`, `customer erase ${customer} --yes`, 'migrate'],
  ])
    await command.run(line.split(' '));
  for (const page of [
    '/statistics',
    '/renewals',
    '/not-renewed',
    '/overview',
    `/licenses?q=${customer}`,
    '/customers',
    '/requests',
  ])
    await write.send(`GET ${page}`);
  // With little data, the server chooses these plans. The queries have the same form with much data.
  await findMiscounts(db, 10);
  await listNewestActivations(db, [id], 5);
  await listAccessesNearby(db, ['127.0.0.1', '::1'], 5);
  const now = new Date();
  for (const column of ['customer', 'expires_at'] as const)
    for (const isDown of [false, true])
      await listSortedPositions(
        db,
        { planIds: [planId], status: 'active' },
        { sort: { column, isDown }, after: undefined, limit: 5 },
        now,
        { few: 0, sortable: 0, window: 4 },
      );
  expect(await refreshFigures(db, undefined, () => now)).toBe(true);
  const overview = { productId: undefined, days: 90 } as const;
  await readTrend(db, overview, now);
  await readInstalled(db, await readGoods(db), undefined);
  await refusalsByReason(db, overview, now, 'en');
  // This runs before a lost connection is killed.
  await db.raw(LIST_CONNECTIONS);
  expect(diskTablesOf(db).slice(noted)).toEqual([]);
});
