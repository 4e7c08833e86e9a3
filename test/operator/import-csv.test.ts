import { randomUUID } from 'node:crypto';
import { readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import type { Settings } from '../../src/config';
import { generateKey, keyDigest } from '../../src/licensing/core/keys';
import type { Db } from '../../src/store/database';
import { addPlan, operator, type Operator } from '../support/operator';
import { temporaryFolder } from '../support/processes';
import { DATABASE_KINDS, newPlace, PREFIX, rows, startTestService } from '../support/service';
import { openMigrated } from '../support/service-process';

const SECRET = Buffer.alloc(32, 7).toString('base64');

interface LicenseRow {
  id: number;
  main_key_id: number;
  key_digest: string;
  plan_id: number;
  status: string;
  activation_limit: number;
  activations_used: number;
  customer: string | null;
  reference: string | null;
  expires_at: string | null;
}

interface Report {
  rows: number;
  new: number;
  same: number;
  bad: number;
  over_limit: number;
  unmapped_columns: string[];
  bad_rows: { line: number; message: string; count: number; lines: number[] }[];
  twins: number;
  twin_rows: { line: number; lines: number[]; message: string }[];
  over_limit_rows: { line: number; message: string }[];
}

const open: Db[] = [];
afterAll(() => Promise.all(open.map((db) => db.destroy())));

const FILE = 'licences.csv';

function write(content: string | Buffer): string {
  const file = join(temporaryFolder(), FILE);
  writeFileSync(file, content);
  return file;
}

/** The names of the files that this process, in which the command runs, has open. */
function openFiles(): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return basename(readlinkSync(`/proc/self/fd/${fd}`));
    } catch {
      // That of the list itself, and what was closed meanwhile
      return [];
    }
  });
}

const MAP =
  'key=License Key,product=Product,plan=Plan,status=Status,limit=Limit,expiry=Expires,customer=E-mail,reference=Order,activations=Sites';
const HEADING = 'License Key,Product,Plan,Status,Limit,Expires,E-mail,Order,Sites';

describe.each(DATABASE_KINDS)('a table of another system, read into %s,', (kind) => {
  let settings: Settings;
  let db: Db;
  let op: Operator;

  // Product 42 with the plans 1 Single (domain, 1) and 2 Team (seat, 5); product 43 with 3 Single (device, unlimited).
  beforeEach(async () => {
    settings = { ...(await newPlace(kind)), LICENSING_KEY_SECRET: SECRET };
    db = await openMigrated(settings);
    open.push(db);
    op = operator(settings);
    await op.json(['product', 'add', '--id', '42', '--name', 'Example Shop']);
    await op.json(['product', 'add', '--id', '43', '--name', 'Other']);
    for (const [product, name, type, limit] of [
      ['42', 'Single', 'domain', '1'],
      ['42', 'Team', 'seat', '5'],
      ['43', 'Single', 'device', '0'],
    ] as const)
      await addPlan(op, product, name, type, limit);
  });

  afterEach(() => expect(openFiles()).not.toContain(FILE));

  const importing = (content: string | Buffer, ...args: string[]) => [
    'import',
    write(content),
    '--csv',
    ...(args.includes('--map') ? [] : ['--map', MAP]),
    ...args,
  ];
  const table = (...lines: string[]) => `${[HEADING, ...lines].join('\n')}\n`;
  const run = (content: string | Buffer, ...args: string[]) => op.run(importing(content, ...args));
  const json = (content: string | Buffer, ...args: string[]) => op.json<Report>(importing(content, ...args));
  const licenses = async () => {
    const keys = await rows<{ id: number; key_digest: string }>(db, 'license_keys');
    return (await rows<Omit<LicenseRow, 'key_digest'>>(db, 'licenses')).map((row): LicenseRow => ({
      ...row,
      key_digest: keys.find(({ id }) => id === row.main_key_id)!.key_digest,
    }));
  };

  it('is read by the name csv as well, and by no other system’s', async () => {
    const args = importing(table('ABCDEF-123456-GHI,42,Single,,,,,,'), '--dry-run').filter(
      (arg) => arg !== '--csv',
    );
    expect(await op.json<Report>([...args, '--from', 'csv'])).toMatchObject({ rows: 1 });
    const both = await op.run([...args, '--csv', '--from', 'edd-csv']);
    expect(both).toMatchObject({ code: 2 });
    expect(both.stderr).toContain('--csv does not go with --from');
  });

  it('becomes licences whose keys work at once, with their activations, states and dates', async () => {
    const own = generateKey();
    const report = await json(
      table(
        `${own.toLowerCase()},42,Single,Active,,2099-01-31,Jane@Example.com,order-1,https://www.Shop.example/path`,
        'ABC-def-1234567890,Example Shop,team,SUSPENDED,3,2099-01-31 12:30:00,,,"a@x.example|B@x.example\nc@x.example"',
        'expired-key-000001,42,1,expired,1,2020-05-06T07:08:09Z,,,',
        'expired-key-000002,42,1,expired,1,,,,',
        'lifetime-key-00001,Other,3,,unlimited,0000-00-00 00:00:00,,,Machine 7',
        'canceled-key-00001,other,single,canceled,0,lifetime,,,',
        'revoked-key-000001,42,1,revoked,1,2099-01-31T12:00:00+02:00,,,',
        'disabled-key-00001,42,1,disabled,1,,,,"one.example,two.example;three.example"',
      ),
    );
    expect(report).toMatchObject({ rows: 8, new: 8, same: 0, bad: 0 });
    const byKey = new Map((await licenses()).map((row) => [row.key_digest, row]));
    const of = (key: string) => byKey.get(keyDigest(key))!;
    expect(of(own)).toMatchObject({
      plan_id: 1,
      status: 'active',
      activation_limit: 1,
      activations_used: 1,
      customer: 'jane@example.com',
      reference: 'order-1',
      expires_at: '2099-01-31 23:59:59',
    });
    expect(of('ABC-def-1234567890')).toMatchObject({
      plan_id: 2,
      status: 'suspended',
      activation_limit: 3,
      activations_used: 3,
      expires_at: '2099-01-31 12:30:00',
    });
    expect(of('expired-key-000001')).toMatchObject({ status: 'active', expires_at: '2020-05-06 07:08:09' });
    expect(
      new Date(`${of('expired-key-000002').expires_at!.replace(' ', 'T')}Z`).getTime(),
    ).toBeLessThanOrEqual(Date.now());
    expect(of('lifetime-key-00001')).toMatchObject({
      plan_id: 3,
      status: 'active',
      activation_limit: 0,
      expires_at: null,
    });
    expect(of('canceled-key-00001')).toMatchObject({ plan_id: 3, status: 'cancelled', expires_at: null });
    expect(of('revoked-key-000001')).toMatchObject({ status: 'revoked', expires_at: '2099-01-31 10:00:00' });
    expect(of('disabled-key-00001')).toMatchObject({ status: 'suspended', activations_used: 3 });
    const activations = await rows<{ license_id: number; identifier: string }>(db, 'activations');
    const identifiersOf = (key: string) =>
      activations.filter(({ license_id }) => license_id === of(key).id).map(({ identifier }) => identifier);
    expect(identifiersOf(own)).toEqual(['shop.example']);
    expect(identifiersOf('ABC-def-1234567890')).toEqual(['a@x.example', 'b@x.example', 'c@x.example']);
    expect(identifiersOf('lifetime-key-00001')).toEqual(['Machine 7']);
    expect(identifiersOf('disabled-key-00001')).toEqual(['one.example', 'two.example', 'three.example']);
    expect(report.over_limit_rows).toEqual([
      { line: 10, message: '3 activations on 1 slot', count: 1, lines: [10] },
    ]);
    expect((await rows(db, 'events')).map(({ action }) => action)).toEqual(Array(8).fill('import'));
    expect(await op.json(['license', 'reveal', String(of(own).id)])).toMatchObject({ license_key: own });

    const service = await startTestService(settings);
    try {
      const answer = await request(service.url)
        .post(`${PREFIX}/licenses/validate`)
        .send({ license_key: own, identifier: 'shop.example' });
      expect((answer.body as { data: object }).data).toMatchObject({
        valid: true,
        identifier_activated: true,
      });
    } finally {
      await service.stop();
    }
  });

  it('has cells as spreadsheets and databases write them', async () => {
    const content = [
      'sep=;',
      HEADING.replaceAll(',', ';'),
      '="WRAPPED-KEY-0001";42;Single;NULL;-;never;N/A;undefined;NULL',
      '"=""WRAPPED-KEY-0002""";42;Single;aktiv;none;lifetime;\\N;n/a;none',
      "'=EQUALS-KEY-0003;42;Single;Abgelaufen;2;2020-01-31;-;-;one.example|-|NULL",
      '123456789012;42;Team;Storniert;;unbefristet;;;a@x.example',
    ];
    const report = await json(content.join('\r\n'));
    expect(report).toMatchObject({ rows: 4, new: 4, bad: 0, over_limit: 0 });
    const byKey = new Map((await licenses()).map((row) => [row.key_digest, row]));
    const nothing = {
      activations_used: 0,
      customer: null,
      reference: null,
      expires_at: null,
      status: 'active',
    };
    for (const key of ['WRAPPED-KEY-0001', 'WRAPPED-KEY-0002'])
      expect(byKey.get(keyDigest(key))).toMatchObject({ ...nothing, activation_limit: 1 });
    expect(byKey.get(keyDigest('=EQUALS-KEY-0003'))).toMatchObject({
      ...{ activations_used: 1, expires_at: '2020-01-31 23:59:59', customer: null },
    });
    expect(byKey.get(keyDigest('123456789012'))).toMatchObject({ status: 'cancelled', expires_at: null });
    expect(await json(content.join('\n'))).toMatchObject({ same: 4, new: 0 });
  });

  it('names the line and field of what is no key', async () => {
    const none = [
      'NULL',
      '-',
      'none',
      'N/A',
      'undefined',
      'na',
      'nan',
      '1',
      'short-1',
      '1.23E+15',
      '1,23E-4',
    ];
    const numbers = ['"1,234.5"', '1.234.567', '12345678901', '1234567.5', '="1.23E+15"'];
    const keys = [...none, ...numbers].map((key) => (key === '1,23E-4' ? `"${key}"` : key));
    const good = ['123456789012', '1234.5678.9012', '9E1234567890', 'A-B-C-D1'];
    const content = ['sep=,', HEADING, ...[...keys, ...good].map((key) => `${key},42,Single,active,1,,,,`)];
    const report = await json(content.join('\n'), '--skip-bad-rows');
    expect(report).toMatchObject({ new: good.length, bad: keys.length });
    const lines = report.bad_rows.flatMap(({ lines, message }) => {
      expect(message).toMatch(/^License Key: (there is no key|this is no key: )/);
      return lines;
    });
    expect(lines.sort((a, b) => a - b)).toEqual(keys.map((_, i) => i + 3));
  });

  it('is refused where a German column is left out that says who, until when, or whether it works', async () => {
    for (const name of ['Zustand', 'Ablaufdatum', 'Läuft ab am', 'Kunde']) {
      const content = `License Key,Plan,${name}\nGERMAN-KEY-0001,Single,x\n`;
      const { stderr } = await run(content, '--map', 'key=License Key,plan=Plan', '--product', '42');
      expect(stderr).toContain(`in column "${name}"`);
    }
  });

  it('is told of keys that no Joomla site can send, which are imported all the same', async () => {
    const content = table(
      'fine+key-0001%ZZ,42,Single,active,1,,,,',
      'cut#key-00000001,42,Single,active,1,,,,',
      'cut&key-00000001,42,Single,active,1,,,,',
      'decoded%41key-01,42,Single,active,1,,,,',
      'schlüssel-000001,42,Single,active,1,,,,',
    );
    const { code, stdout, stderr } = await run(content);
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('5 imported') });
    expect(stderr).toContain("4 keys cannot be used in Joomla's Download Key field (line 3, 4, 5, 6).");
    expect(stderr).not.toContain('cut#key');
    expect(await json(content)).toMatchObject({ same: 5, not_sent_whole: 4 });
  });

  it('is told by line of keys that differ in case or hyphens alone, which stay exact', async () => {
    const content = table(
      'TWIN-Key-000001,42,Single,active,1,,,,',
      'twin-key-000001,42,Single,active,1,,,,',
      'another-000001,42,Single,active,1,,,,',
      'twin\u2011key-000001,42,Single,active,1,,,,',
    );
    const expected = [
      { line: 3, lines: [3, 5], message: 'the key differs from that of line 2 in case or hyphens alone' },
    ];
    const dry = await json(content, '--dry-run');
    expect(dry).toMatchObject({ new: 4, bad: 0, twins: 2, twin_rows: expected });
    const { code, stderr } = await run(content);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringContaining('lines 3, 5: the key differs from that of line 2'),
    });
    expect(stderr).not.toMatch(/twin-key/i);
    // Of a later file too
    const later = table('TWIN-KEY-000001,42,Single,active,1,,,,');
    const report = await json(later);
    expect(report).toMatchObject({ new: 1, twins: 1, twin_rows: [{ line: 2 }] });
    expect(report.twin_rows[0]!.message).toMatch(
      /^the key differs from a key of licence \d+ here in case or hyphens alone$/,
    );
  });

  it('changes nothing the second time, whatever was activated since', async () => {
    const content = table(
      'first-key-00000001,42,Single,active,2,2099-01-31,jane@example.com,o-1,a.example',
      'second-key-0000001,42,Single,expired,1,,,,',
      'third-key-00000001,42,Single,active,1,2020-01-31,,,',
    );
    await json(content);
    await op.json(['activation', 'add', '1', 'b.example']);
    const before = [await licenses(), await rows(db, 'activations'), await rows(db, 'events')];
    expect(await json(content)).toMatchObject({ rows: 3, new: 0, same: 3, bad: 0 });
    expect([await licenses(), await rows(db, 'activations'), await rows(db, 'events')]).toEqual(before);
  });

  it('is refused as a whole for one bad row, and taken without it when that is wanted', async () => {
    await json(
      table(
        'there-already-0001,42,Single,active,1,,jane@example.com,order-7,',
        'there-already-0002,42,Single,active,1,,,order-8,',
      ),
    );
    const key = generateKey();
    const content = table(
      `${key},42,Single,active,1,,,order-1,good.example`, // 2
      ',42,Single,active,1,,,,',
      'unknown-product-01,77,Single,active,1,,,,',
      'unknown-plan-00001,42,Nothing,active,1,,,,',
      'unknown-status-001,42,Single,secret-status,1,,,,', // 6
      'bad-limit-00000001,42,Single,active,many,,,,',
      'bad-date-000000001,42,Single,active,1,31.01.2027,,,',
      'no-such-day-000001,42,Single,active,1,2027-02-31,,,',
      'bad-domain-0000001,42,Single,active,1,,,,good.example|not a domain', // 10
      'contradiction-0001,42,Single,expired,1,2099-01-01,,,',
      `${key.toLowerCase()},42,Single,active,1,,,,`,
      'same-reference-001,42,Single,active,1,,,order-1,',
      'theirs-00000000001,42,Single,active,1,,,order-8,', // 14
      'there-already-0001,42,Single,suspended,3,2099-01-01,john@example.com,order-7,new.example',
      'too,few,cells',
      'too-many-cells-001,42,Single,active,1,,,,a.example,b.example',
      `${'x'.repeat(400)},42,Single,active,1,,,,`, // 18
      `two-faults-0000001,42,Single,what,ever,,,,`,
      'beyond-9999-000001,42,Single,active,1,9999-12-31 23:59:59-12:00,,,', // 20
      'beyond-limit-00001,42,Single,active,4294967296,,,,',
    );
    const refused = await run(content);
    expect({ code: refused.code, stdout: refused.stdout }).toEqual({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(
      /^error: Nothing was imported: 19 rows do not fit\. --skip-bad-rows imports the others\.$/m,
    );
    expect(await licenses()).toHaveLength(2);

    const report = await json(content, '--skip-bad-rows');
    expect(report).toMatchObject({ rows: 20, new: 1, same: 0, bad: 19 });
    expect(await licenses()).toHaveLength(3);
    const messages = new Map(
      report.bad_rows.flatMap(({ lines, message }) => lines.map((line) => [line, message] as const)),
    );
    const expected: [number, RegExp][] = [
      [3, /^License Key: there is no key$/],
      [4, /^Plan: there is no product of this id or name/],
      [5, /^Plan: product 42 has no plan, or several, of this id or name/],
      [6, /^Status: this status is not known/],
      [7, /^Limit: the limit must be a whole number/],
      [8, /^Expires: this is no date/],
      [9, /^Expires: this is no date/],
      [10, /^Sites: number 2 is no valid domain$/],
      [11, /^the status says expired, and the date is in the future$/],
      [12, /^the key is the same as in line 2$/],
      [13, /^the reference is the same as in line 2$/],
      [14, /^the reference belongs to licence 2 here, which has another key$/],
      [
        15,
        /^the key is that of licence 1, which is here already and differs in: status, limit, expiry, customer, activations$/,
      ],
      [16, /^the row has 3 cells, and the first line 9 columns/],
      [17, /^the row has 10 cells, and the first line 9 columns$/],
      [18, /^License Key: this is no key: it is longer than 350 bytes/],
      [19, /^Status: this status is not known.*; Limit: the limit must be/],
      [20, /^Expires: this is no date/],
      [21, /^Limit: the limit must be a whole number/],
    ];
    for (const [line, message] of expected)
      expect({ line, message: messages.get(line) }).toEqual({
        line,
        message: expect.stringMatching(message),
      });
    for (const secret of [
      key,
      key.toLowerCase(),
      'secret-status',
      'unknown-plan-00001',
      '31.01.2027',
      'not a domain',
    ])
      expect(refused.stderr + JSON.stringify(report)).not.toContain(secret);
  });

  it('says of a licence that it expired on the day of the import, and it has', async () => {
    const today = new Date().toISOString().slice(0, 10);
    const content = table(
      `ended-key-00000001,42,Single,expired,1,${today},,,`,
      `ended-key-00000002,42,Single,expired,1,2026-01-31,,,`,
    );
    expect(await json(content)).toMatchObject({ new: 2, bad: 0 });
    const [ended, earlier] = await licenses();
    expect(Date.parse(`${ended!.expires_at!}Z`)).toBeLessThanOrEqual(Date.now());
    expect(earlier).toMatchObject({ expires_at: '2026-01-31 23:59:59' });
    expect(await json(content)).toMatchObject({ same: 2, bad: 0 });
  });

  it('has customers by their address, whatever name stands before it', async () => {
    const rows = [
      'customer-key-00001,42,Single,active,1,,Jane Roe <ROE@example.com>,,',
      'customer-key-00002,42,Single,active,1,,"""Roe, J."" <roe@example.com>",,',
    ];
    expect(await json(table(...rows))).toMatchObject({ new: 2 });
    expect(await licenses()).toMatchObject([
      { customer: 'roe@example.com' },
      { customer: 'roe@example.com' },
    ]);
    expect(await json(table(...rows))).toMatchObject({ same: 2 });
    const named = await run(table('customer-key-00003,42,Single,active,1,,Jane Roe,,'));
    expect(named).toMatchObject({ code: 1, stdout: '' });
    expect(named.stderr).toMatch(
      /line 2: E-mail: the customer must be an e-mail address such as jane@example/,
    );
    expect(await licenses()).toHaveLength(2);
  });

  it('is told of the same fault in many rows once, with their number', async () => {
    const many = Array.from({ length: 1000 }, (_, i) => `same-fault-${i},42,Single,unheard,1,,,,`);
    const { code, stderr } = await run(table('good-key-000000001,42,Single,active,1,,,,', ...many));
    expect(code).toBe(1);
    expect(stderr.split('\n')).toEqual([
      'error: Nothing was imported: 1000 rows do not fit. --skip-bad-rows imports the others.',
      expect.stringMatching(
        /^ {2}lines 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 and 990 more: Status: this status is not/,
      ),
      '',
    ]);
  });

  it('is told about by a dry run, which changes nothing', async () => {
    const dry = await run(
      table('a-key-000000000001,42,Single,active,1,,,,', ',42,Single,active,1,,,,'),
      '--dry-run',
      '--json',
    );
    expect(dry.code).toBe(1);
    expect(JSON.parse(dry.stdout)).toMatchObject({ dry_run: true, new: 1, bad: 1, bad_rows: [{ line: 3 }] });
    expect(await licenses()).toEqual([]);
    expect(await json(table('a-key-000000000001,42,Single,active,1,,,,'), '--dry-run')).toMatchObject({
      new: 1,
      bad: 0,
    });
    expect(await licenses()).toEqual([]);
  });

  it('names the columns that were left out, and does so with a status, an expiry or a customer on purpose only', async () => {
    const content =
      'License Key,Plan,Order state,Expires on,E-mail,Notes,\nold-key-1,1,refunded,2099-01-31,jane@example.com,x,\n';
    const map = ['--map', 'key=License Key,plan=Plan'];
    const refusal =
      'error: Nothing was imported: the map leaves out what licences may need: status in column "Order state", ' +
      'expiry in column "Expires on", customer in column "E-mail". Map it, as --map "status=Order state", ' +
      'or leave it out on purpose: --ignore "Order state,Expires on,E-mail".\n';
    for (const args of [map, [...map, '--dry-run'], [...map, '--skip-bad-rows']])
      expect(await run(content, ...args)).toEqual({ code: 1, stdout: '', stderr: refusal });
    expect(await licenses()).toEqual([]);

    const some = [...map, '--map', 'status=Order state', '--ignore', 'expires ON, e-mail'];
    expect(await json(content, ...some, '--dry-run')).toMatchObject({ new: 1, unmapped_columns: ['Notes'] });
    expect((await run(content, ...some)).stdout).toBe(
      '1 row: 1 imported, 0 here already, 0 that do not fit.\nColumns that were left out: Notes.\n',
    );
    expect(await licenses()).toMatchObject([{ status: 'cancelled', expires_at: null, customer: null }]);
  });

  const spelled: [string, string | Buffer, string[]][] = [
    ['a byte order mark and CRLF', '\ufeffKey,Plan\r\nkey-1,1\r\nkey-2,1\r\n', []],
    ['semicolons', 'Key;Plan\nkey-1;1\nkey-2;1\n', []],
    ['tabs', 'Key\tPlan\nkey-1\t1\nkey-2\t1\n', []],
    ['another delimiter', 'Key:Plan\nkey-1:1\nkey-2:1\n', ['--delimiter', ':']],
    [
      'the word tab',
      'Key\tPlan,x\nkey-1\t1\nkey-2\t1\n',
      ['--delimiter', 'tab', '--map', 'key=Key', '--plan', 'Single', '--product', '42'],
    ],
    [
      'quotes, commas and line ends inside of cells',
      'Note,"Key",Plan\n"a, ""b""\r\nc;;;;",key-1,1\n"x",key-2,"1"\n',
      [],
    ],
    ['old Macintosh line ends', 'Key,Plan\rkey-1,1\rkey-2,1', []],
    ['blank lines and blanks', '\n  key , PLAN \n\n key-1 , 1\n\nkey-2,1', []],
    ['UTF-16', Buffer.from('\ufeffKey,Plan\nkey-1,1\nkey-2,1\n', 'utf16le'), []],
    ['UTF-16, big-endian', Buffer.from('\ufeffKey,Plan\nkey-1,1\nkey-2,1\n', 'utf16le').swap16(), []],
    ['plans given beside it', 'Key\nkey-1\nkey-2\n', ['--map', 'key=Key', '--plan', '1']],
  ];
  it('gives staging sites no slot where the plan gives them none, as if the production sites had come first', async () => {
    await addPlan(op, '42', 'Staging', 'domain', '1', '--free-staging', 'on');
    const sites = 'staging.shop.co.uk|localhost|shop.co.uk|dev.shop.co.uk|dev.other.co.uk|10.0.0.1';
    const report = await json(
      table(`key-with-staging-1,42,Staging,,,,,,${sites}`, `key-without-staging,42,Single,,9,,,,${sites}`),
    );
    expect(report.over_limit_rows).toMatchObject([{ line: 2, message: '2 activations on 1 slot' }]);
    const stored = await rows<{ license_id: number; identifier: string; free: number; site: string | null }>(
      db,
      'activations',
    );
    expect(
      stored.filter(({ license_id }) => license_id === 1).map((one) => [one.identifier, one.free, one.site]),
    ).toEqual([
      ['staging.shop.co.uk', 1, 'shop.co.uk'],
      ['localhost', 1, null],
      ['shop.co.uk', 0, 'shop.co.uk'],
      ['dev.shop.co.uk', 1, 'shop.co.uk'],
      ['dev.other.co.uk', 0, 'other.co.uk'],
      ['10.0.0.1', 1, null],
    ]);
    const [first, second] = await licenses();
    expect([first!.activations_used, second!.activations_used]).toEqual([2, 6]);
    expect(
      stored.filter(({ license_id, free }) => license_id === 2 && free === 0).map(({ site }) => site),
    ).toEqual(['shop.co.uk', null, 'shop.co.uk', 'shop.co.uk', 'other.co.uk', null]);
    // Five free ones for each slot, and the sixth takes one.
    const six = [1, 2, 3, 4, 5, 6].map((i) => `staging${i}.more.co.uk`).join('|');
    await json(table(`key-with-staging-2,42,Staging,,,,,,more.co.uk|${six}`));
    expect((await licenses())[2]).toMatchObject({ activations_used: 2 });
  });

  it('knows a licence by any of its keys', async () => {
    await json(table('key-of-a-licence-1,42,Single,active,,,,order-1,'));
    await op.json(['license', 'rekey', '1', '--overlap', '14d']);
    const added = await op.json<{ license_key: string }>(['license', 'key', 'add', '1', '--label', 'Client']);
    expect(
      await json(
        table(
          'key-of-a-licence-1,42,Single,active,,,,order-1,',
          `${added.license_key},42,Single,active,,,,,`,
        ),
      ),
    ).toMatchObject({ new: 0, same: 2, bad: 0 });
    expect(
      await json(table('key-of-somebody-else,42,Single,active,,,,order-1,'), '--skip-bad-rows'),
    ).toMatchObject({
      bad: 1,
      bad_rows: [{ message: 'the reference belongs to licence 1 here, which has another key' }],
    });
  });

  it('is read however it is spelled', async () => {
    for (const [what, content, args] of spelled) {
      const before = (await licenses()).length;
      const unique = randomUUID().slice(0, 8);
      const swap = (bytes: Buffer) => (what.includes('big-endian') ? Buffer.from(bytes).swap16() : bytes);
      const fresh = Buffer.isBuffer(content)
        ? swap(Buffer.from(swap(content).toString('utf16le').replaceAll('key-', `${unique}-`), 'utf16le'))
        : content.replaceAll('key-', `${unique}-`);
      const map = args.includes('--map') ? [] : ['--map', 'key=Key,plan=Plan'];
      const { code, stderr } = await run(fresh, ...map, ...args);
      expect({ what, code, stderr }).toEqual({ what, code: 0, stderr: '' });
      const added = (await licenses()).slice(before).map(({ key_digest, plan_id }) => [key_digest, plan_id]);
      expect({ what, added }).toEqual({
        what,
        added: [
          [keyDigest(`${unique}-1`), 1],
          [keyDigest(`${unique}-2`), 1],
        ],
      });
    }
  });

  it('counts lines as an editor does', async () => {
    const content =
      'Key,Plan,Note\r\nkey-00001,1,"two\r\nlines"\r\n\r\n,1,bad\r\nkey-00003,1,"x\ny\nz"\n,1,"bad\ntoo"\n';
    const report = await json(content, '--map', 'key=Key,plan=Plan', '--skip-bad-rows');
    expect(report.bad_rows).toMatchObject([{ line: 5, count: 2, lines: [5, 9] }]);
  });

  it('that cannot be read on, or has not what --map names, is refused in words without a cell of it', async () => {
    const map = ['--map', 'key=Key,plan=Plan'];
    const cases: [string | Buffer, string[], RegExp][] = [
      [
        'Key,Plan\nkey-1,1\n"key-2,1\nkey-3,1\n',
        ['--skip-bad-rows', ...map],
        /^error: Line 3: a cell that begins with a quotation mark has none at its end\. Nothing/,
      ],
      ['Key,Plan\n"key-1"key,1\n', map, /^error: Line 2: there is text after the quotation mark/],
      ['Key,Plan\nkey"-1,1\n', map, /^error: Line 2: there is a quotation mark inside a cell/],
      [
        Buffer.concat([Buffer.from('Key,Plan\nkey-ü,1\n'), Buffer.from('key-\xfc,1\n', 'latin1')]),
        map,
        /^error: The file is neither UTF-8 nor Windows-1252.*CSV UTF-8/,
      ],
      ['', map, /^error: The file is empty/],
      [
        'key-000000000001,1\nkey-2,1\n',
        map,
        /^error: The first line of the file, which must have the columns' names, has no column "Key" \(it has 2 columns\)/,
      ],
      ['Key,Plan,Key\nkey-1,1,\n', map, /^error: The file has two columns "Key"/],
      [
        'Key,Plan,Expires\nkey-1,1,2020-01-01\n',
        [...map, '--ignore', 'Notes,Expires'],
        /^error: The first line of the file, .*, has no column "Notes" \(it has 3 columns\)/,
      ],
      [
        'Key,Plan\nkey-1,1\n',
        ['--map', 'plan=Plan'],
        /^error: Which column has the key\? Say it with key=COLUMN in --map\.$/m,
      ],
      ['Key,Plan\nkey-1,1\n', ['--map', 'key=Key'], /^error: Which plan are the licences on/],
      [
        'Key,Plan\nkey-1,1\n',
        [...map, '--product', 'Nothing'],
        /^error: There is no product of this id or name\. "licensing product list" shows/,
      ],
    ];
    for (const [content, args, message] of cases) {
      const { code, stdout, stderr } = await run(content, ...args);
      expect({ code, stdout, stderr }).toEqual({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(message),
      });
      expect(stderr).not.toMatch(/key-/);
    }
    expect(await licenses()).toEqual([]);
    for (const args of [
      ['--map', 'Key'],
      ['--map', 'colour=Key'],
      ['--map', 'key=A,key=B'],
      [...map, '--delimiter', '::'],
      [...map, '--separator', ''],
      [...map, '--separator', '.'],
      [...map, '--packages', 'x'],
    ])
      expect({ args, code: (await run('Key,Plan\n', ...args)).code }).toEqual({ args, code: 2 });
    expect((await op.run(['import', write('x'), '--plan', '1'])).stderr).toMatch(/with --csv only: --plan/);
  });
});
