import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { RowDataPacket } from 'mysql2/promise';
import request from 'supertest';
import type { Db } from '../../src/store/engine/database';
import { sequence } from '../support/mysql/program';
import { operator, type Operator } from '../support/operator';
import { temporaryFolder } from '../support/processes';
import { startMariaDb, type MariaDb } from '../support/servers';
import { giveLicense, givePlan, PREFIX } from '../support/service';
import { openMigrated, startServiceProcess, type ServiceProcess } from '../support/service-process';

/**
 * A shop that has grown from nothing to 200,000 licences, on a server that still plans by the statistics of the empty
 * tables. Without the right index named, the optimizer reads a table from end to end, and so would every request.
 *
 * The server itself says how many rows each statement read: in its slow log, which here takes every statement that read
 * more than MANY rows.
 */

const LICENSES = 200_000;
/** Far more than a page, a batch or a licence's own rows, and far less than a table or an index. */
const MANY = 5_000;

let mariadb: MariaDb;
let db: Db;
let service: ServiceProcess;
let licensing: Operator;
let files: { small: string; csv: string };
/** the plans; the first one has nearly all licences */
let plans: [number, number];

beforeAll(async () => {
  mariadb = await startMariaDb([
    // Keep the statistics from the creation of the tables.
    '--innodb-stats-auto-recalc=OFF',
    '--slow-query-log=ON',
    '--log-output=TABLE',
    '--long-query-time=0',
    `--min-examined-row-limit=${MANY}`,
    '--innodb-buffer-pool-size=256M',
    '--innodb-flush-log-at-trx-commit=2',
  ]);
  const settings = { LICENSING_DATABASE_URL: await mariadb.createDatabase() };
  db = await openMigrated(settings);
  licensing = operator(settings);
  plans = [await givePlan(db), await givePlan(db)];
  const folder = temporaryFolder();
  files = { small: join(folder, 'small.jsonl'), csv: join(folder, 'licences.csv') };
  const { key } = await giveLicense(db, plans[1], { customer: 'first@example.com', count: 1 });
  service = await startServiceProcess(settings);
  // Connections opened now keep these statistics.
  await call('activate', key, 'first.example');
  await call('validate', key, 'first.example');
  await licensing.json(['license', 'set-limit', '1', '4']);
  await licensing.json(['export', '--out', files.small]);
  writeFileSync(
    files.csv,
    `key,customer,sites\n${Array.from({ length: 1_000 }, (_, i) => `IMPORTED-KEY-${i},c${i}@example.com,csv-${i}.example`).join('\n')}\n`,
  );
  await grow();
}, 300_000);

afterAll(async () => {
  await service.stop();
  await db.destroy();
  await mariadb.stop('SIGKILL');
});

async function grow(): Promise<void> {
  const hex = "LPAD(HEX(seq), 8, '0')";
  const each = `FROM ${sequence(2, LICENSES)}`;
  for (const insert of [
    `licenses (id, main_key_id, plan_id, status, activation_limit, activations_used, customer, reference, expires_at, created_at)
       SELECT seq, seq, ${plans[0]}, 'active', 3, 1,
       CONCAT('customer-', seq DIV 4, '@example.com'), CONCAT('order-', seq), '2099-01-01', '2026-01-01' ${each}`,
    `license_keys (id, license_id, key_digest, key_hint, created_at)
       SELECT seq, seq, SHA2(CONCAT('BE9C0000-00000000-00000000-', ${hex}), 256), ${hex}, '2026-01-01' ${each}`,
    `activations (license_id, identifier, ip, activated_at)
       SELECT seq, CONCAT('site-', seq, '.example'), '10.0.0.1', '2026-01-01' ${each}`,
    `events (license_id, at, actor, action, after_json) SELECT seq, '2026-01-01', 'operator:test', 'issue', '{}' ${each}`,
    // Nine of ten entries are older than the retention time.
    `access_log (at, endpoint, outcome, license_id, key_hint, identifier, ip)
       SELECT DATE_ADD(IF(seq % 10, '2020-01-01', UTC_TIMESTAMP() - INTERVAL 10 DAY), INTERVAL seq SECOND), 'activate',
       'ACTIVATION_LIMIT_REACHED', seq, ${hex}, CONCAT('site-', seq, '.example'), CONCAT('10.1.', seq DIV 250 % 250, '.', seq % 250) ${each}`,
  ])
    await db.raw(`INSERT INTO licensing_${insert}`);
}

const keyOf = (id: number) => `BE9C0000-00000000-00000000-${id.toString(16).toUpperCase().padStart(8, '0')}`;

function call(verb: string, key: string, identifier: string, more: object = {}): Promise<number> {
  return request(service.url)
    .post(`${PREFIX}/licenses/${verb}`)
    .send({ license_key: key, identifier, name: 'a label', ...more })
    .then(({ status }) => status);
}

/** Sends calls together, so that they share their statements. */
async function together(verb: string, ids: number[], key = keyOf): Promise<Set<number>> {
  return new Set(await Promise.all(ids.map((id) => call(verb, key(id), `new-${id}.example`))));
}

/** Returns the statements that read many rows during `work`. */
async function readingMany(work: () => Promise<unknown>): Promise<string[]> {
  const connection = await mariadb.connect();
  try {
    await connection.query('TRUNCATE TABLE mysql.slow_log');
    await work();
    // The count of all licences by status deliberately reads their index.
    const [logged] = await connection.query<RowDataPacket[]>(
      `SELECT rows_examined, LEFT(sql_text, 400) AS statement FROM mysql.slow_log
        WHERE sql_text LIKE '%licensing\\\\_%' AND sql_text NOT LIKE '%plan\\\\_id\\\\_status\\\\_expires\\\\_at%'`,
    );
    return logged.map((row) => `${row.rows_examined as number} rows: ${String(row.statement as Buffer)}`);
  } finally {
    await connection.end();
  }
}

const IDS = Array.from({ length: 64 }, (_, i) => 1_000 + i * 3_000);

describe.each([
  ['that open tables keep', () => Promise.resolve()],
  [
    'that the server reads at its start',
    async () => {
      await mariadb.stop();
      await mariadb.start();
    },
  ],
])('with statistics of empty tables %s', (_where, prepare) => {
  beforeAll(prepare);

  test.each([
    ['validations', 'validate', keyOf, 200],
    ['activations', 'activate', keyOf, 200],
    ['deactivations', 'deactivate', keyOf, 200],
    ['validations of unknown keys', 'validate', (id: number) => `UNKNOWN-KEY-${id}`, 403],
  ])('%s that arrive together read no more than their rows', async (_what, verb, key, status) => {
    const answers = new Set<number>();
    const statements = await readingMany(async () => {
      for (let i = 0; i < 3; i++) for (const one of await together(verb, IDS.slice(i), key)) answers.add(one);
    });
    expect(statements).toEqual([]);
    expect(answers).toContain(status);
  });

  test('calls for a product, and downloads, read no more than their rows', async () => {
    const answers = new Set<number>();
    const statements = await readingMany(async () => {
      for (const product_id of [42, 43])
        for (const id of IDS)
          for (const verb of ['activate', 'validate'] as const)
            answers.add(await call(verb, keyOf(id), 'first.example', { product_id }));
      for (const id of IDS)
        answers.add((await request(service.url).get(`${PREFIX}/downloads/43?dlid=${keyOf(id)}`)).status);
    });
    expect(statements).toEqual([]);
    expect([...answers].sort()).toEqual([200, 403]);
  });

  test('requests of one licence for several identifiers read no more than its rows', async () => {
    expect(
      await readingMany(() =>
        Promise.all(
          Array.from({ length: 64 }, (_, i) => call('validate', keyOf(500), `site-${i % 7}.example`)),
        ),
      ),
    ).toEqual([]);
  });
});

test('the process that does it for all sums and prunes the access log a few rows at a time', async () => {
  const count = async () =>
    (
      (await db('licensing_access_log').where('at', '<', '2021-01-01').count({ n: '*' }).first()) as {
        n: number;
      }
    ).n;
  const before = await count();
  const [[{ name }]] = (await db.raw('SELECT DATABASE() AS name')) as [[{ name: string }]];
  expect(
    await readingMany(async () => {
      await service.stop();
      service = await startServiceProcess({ LICENSING_DATABASE_URL: mariadb.url(name) });
      while ((await count()) > before - 1_000) await sleep(500);
    }).then((statements) => statements.filter((text) => !text.includes('count('))),
  ).toEqual([]);
}, 180_000);

const COMMANDS = [
  ['license', 'show', keyOf(70_000)],
  ['license', 'show', '70001'],
  ['license', 'history', '70002'],
  ['license', 'list'],
  ['license', 'list', '--after', '150000'],
  ['license', 'list', '--plan', '1', '--after', '150000'],
  ['license', 'list', '--product', '42', '--after', '150000'],
  ['license', 'list', '--status', 'active', '--after', '150000'],
  ['license', 'list', '--customer', 'customer-40000@example.com'],
  ['license', 'list', '--reference', 'order-160000'],
  ['license', 'list', '--hint', '00027100'],
  ['license', 'list', '--expiring', '30d'],
  [
    'license',
    'issue',
    '--plan',
    '1',
    '--customer',
    'new@example.com',
    '--reference',
    'order-new',
    '--count',
    '1',
  ],
  ['license', 'issue', '--plan', '1', '--reference', 'order-190000'],
  ['license', 'issue', '--plan', '1', '--count', '500'],
  ['license', 'renew', '70010', '--until', '2100-01-01'],
  ['license', 'suspend', '70011'],
  ['license', 'set-customer', '70012', 'other@example.com'],
  ['license', 'change-plan', '70013', '2'],
  ['license', 'metadata', '70013', 'channel=fair'],
  ['license', 'rekey', '70014'],
  ['license', 'key', 'add', '70014', '--limit', '1'],
  ['license', 'key', 'list', '70014'],
  ['activation', 'list', '70015'],
  ['activation', 'add', '70016', 'operator.example'],
  ['activation', 'remove', '70017', 'site-70017.example'],
  ['plan', 'list'],
  ['plan', 'edit', '2', '--activation-limit', '5', '--licenses', 'follow'],
  ['plan', 'edit', '2', '--duration', '1y'],
  ['why', '70018'],
  ['why', keyOf(70_019)],
  ['why', 'order-70020'],
  ['why', 'customer-17505@example.com'],
  ['why', '00011184'],
  ['why', '10.1.30.20'],
];

test.each(COMMANDS.map((args) => [args.join(' '), args] as const))('licensing %s', async (_text, args) => {
  const statements = await readingMany(() => licensing.json([...args]));
  // No index begins with the identifier, so its activations are deliberately read from the index of all activations.
  expect(statements.filter((text) => !(args[0] === 'why' && text.includes('where `identifier` in')))).toEqual(
    [],
  );
});

test('imports look up what they need and no more', async () => {
  expect(
    await readingMany(async () => {
      await licensing.json(['import', files.small]);
      const csv = ['import', files.csv, '--csv', '--map', 'key=key,customer=customer,activations=sites'];
      for (const more of [[], ['--dry-run']])
        await licensing.json([...csv, '--plan', '1', '--product', '42', ...more]);
    }),
  ).toEqual([]);
});

test('an import of new keys reads the rows of their licences', async () => {
  const lines = readFileSync(files.small, 'utf8').trim().split('\n');
  const records = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  const license = records.find(({ type }) => type === 'license')!;
  const [key] = license.keys as Record<string, unknown>[];
  const newKey = (id: number) => ({ ...key!, id, key_digest: String(id).repeat(64) });
  const rekeyed = { ...license, main_key_id: 8, keys: [{ ...key!, replaced_by: 8 }, newKey(8)] };
  const other = { ...license, id: 9, reference: null, main_key_id: 9, keys: [newKey(9)] };
  const changed = records.flatMap((one) =>
    one === license
      ? [rekeyed, other]
      : one.type === 'footer'
        ? [{ ...one, records: { ...(one.records as object), license: 2 } }]
        : [one],
  );
  writeFileSync(files.small, changed.map((one) => `${JSON.stringify(one)}\n`).join(''));
  const reports: unknown[] = [];
  expect(await readingMany(async () => reports.push(await licensing.json(['import', files.small])))).toEqual(
    [],
  );
  expect(reports).toMatchObject([{ records: { license: { new: 1, changed: 1 } } }]);
});

test('an export reads each page by its index', async () => {
  const pages = await readingMany(() =>
    licensing.json(['export', '--out', join(temporaryFolder(), 'all.jsonl')]),
  );
  expect(pages).toEqual([]);
});

test('what a customer leaves is erased licence by licence', async () => {
  const statements = await readingMany(() =>
    licensing.json(['customer', 'erase', 'customer-30000@example.com', '--yes']),
  );
  // Finding an address anywhere reads everything; later statements about a licence read its own rows.
  expect(statements.filter((text) => !text.includes('LOWER(') || text.includes('license_id'))).toEqual([]);
});
