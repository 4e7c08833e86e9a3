import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Db } from '../../src/store/engine/database';
import { addPlan, operator, type Operator } from '../support/operator';
import { temporaryFolder } from '../support/processes';
import { newPlace, rows } from '../support/service';
import { openMigrated } from '../support/service-process';

/** A table of any other system, imported with the command. */

let db: Db;
let op: Operator;
beforeAll(async () => {
  const settings = await newPlace('SQLite');
  db = await openMigrated(settings);
  op = operator(settings);
  await op.json(['product', 'add', '--id', '42', '--name', 'Example Shop']);
  await addPlan(op, '42', 'Single', 'domain', '1');
  await addPlan(op, '42', 'Team', 'device', '5');
});
afterAll(() => db.destroy());

interface Report {
  new: number;
  same: number;
  left_out: { code: string; rows: number[] }[];
  warnings: { code: string; rows: number[] }[];
  plans: { key: string; target: { plan: string } | null }[];
}

function write(content: string | Buffer): string {
  const file = join(temporaryFolder(), 'licences.csv');
  writeFileSync(file, content);
  return file;
}
const licenses = () =>
  rows<{ plan_id: number; status: string; activation_limit: number; expires_at: string | null }>(
    db,
    'licenses',
  );
const undo = () => op.json(['import', '--undo', String(lastId)]);
let lastId = 0;
const run = async (content: string | Buffer, ...args: string[]) => {
  const report = await op.json<Report & { id: number | null }>([
    'import',
    write(content),
    '--from',
    'csv',
    ...args,
  ]);
  lastId = report.id ?? lastId;
  return report;
};

it('has plans by name, and words and dates in German and English', async () => {
  const report = await run(
    [
      'sep=;',
      'Lizenzschlüssel;Produkt;Tarif;Status;Plätze;Ablauf;E-Mail;Kunde;Websites',
      '="WRAPPED-KEY-0001";42;Single;NULL;-;never;N/A;undefined;NULL',
      'GERMAN-KEY-0002;example shop;TEAM;Gesperrt;unbegrenzt;31.01.2099;jo@example.com;Jörg;Machine 7|Machine 8',
      'EXPIRED-KEY-0003;42;1;abgelaufen;-1;2020-05-06T07:08:09Z;;;"a.example b.example,c.example"',
    ].join('\r\n'),
  );
  expect(report).toMatchObject({ new: 3, left_out: [] });
  expect(await licenses()).toMatchObject([
    { plan_id: 1, status: 'active', activation_limit: 1, expires_at: null },
    { plan_id: 2, status: 'suspended', activation_limit: 0, expires_at: '2099-01-31 23:59:59' },
    { plan_id: 1, status: 'active', activation_limit: 0, expires_at: '2020-05-06 07:08:09' },
  ]);
  expect((await rows<{ identifier: string }>(db, 'activations')).map(({ identifier }) => identifier)).toEqual(
    ['Machine 7', 'Machine 8', 'a.example', 'b.example', 'c.example'],
  );
  await undo();
  expect(await licenses()).toEqual([]);
});

it('is refused with the line of a row that does not fit, and imported without it on request', async () => {
  const table = 'Key,Note\nGOOD-KEY-0001,x\n1.23E+15,y\n,z\n"GOOD-KEY-0002","two\nlines"\n';
  const args = ['--csv', '--product', '42', '--plan', 'Single', '--map', 'metadata.note=Note'];
  const refused = await op.run(['import', write(table), ...args]);
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toContain(
    '2 rows do not fit (3, 4). A dry run lists the reasons. Nothing was imported.',
  );
  expect(refused.stderr).toContain('--skip-bad-rows imports the others.');
  const report = await run(table, ...args.slice(1), '--skip-bad-rows');
  expect(report).toMatchObject({ new: 2, left_out: [{ code: 'key-as-number' }, { code: 'no-key' }] });
  // A text of two lines is not added to the licence's metadata.
  expect(report.warnings).toContainEqual(expect.objectContaining({ code: 'bad-metadata', rows: [5] }));
  expect(await run('Key\nGOOD-KEY-0001\n', '--plan', '1')).toMatchObject({ new: 0, same: 1 });
  await op.json(['import', '--undo', '2']);
});

it('is one licence for rows with the same key, customer and order, and a refund counts', async () => {
  const heading = 'Key,State,Email,Order';
  const same = `${heading}\nTWICE-KEY-0001,active,jo@example.com,7\nTWICE-KEY-0001,refunded,jo@example.com,7\n`;
  expect(await run(same, '--plan', '1')).toMatchObject({
    new: 1,
    left_out: [{ code: 'other-row', rows: [2] }],
  });
  expect((await licenses()).at(-1)).toMatchObject({ status: 'cancelled' });
});

it('uses the columns that the options name, and asks for plans that do not exist here', async () => {
  const table = 'License Key,Plan,State,Ends,Visits\nASK-KEY-000001,Gold,off,01/02/2099,3\n';
  const dry = ['--dry-run', '--ignore', 'State', '--map', 'expiry=', '--dates', 'dmy'];
  const { stdout } = await op.run(['import', write(table), '--from', 'csv', ...dry]);
  expect(stdout).toMatch(
    /License Key: key\n.*Plan: plan\n.*State: left out\n.*Ends: left out\n.*Visits: left out/,
  );
  expect(stdout).toContain('--plans "Gold=?" --dates dmy --map "expiry=" --ignore State --dry-run');
  const asked = await op.run(['import', write(table), '--from', 'csv']);
  expect(asked.stderr).toMatch(
    /Which comes first in the dates of column "Ends".* --dates dmy or --dates mdy/,
  );
  const both = await op.run(['import', write(table), '--csv', '--from', 'edd-csv']);
  expect(both).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--csv and --from exclude each other'),
  });
  const odd = await op.run(['import', write(table), '--map', 'key=Key']);
  expect(odd.stderr).toContain('only with --from csv: --map');
});
