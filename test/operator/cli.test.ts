import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import type { Settings } from '../../src/settings/config';
import { formatTable } from '../../src/cli/tables';
import { generateKey, keyDigest } from '../../src/licensing/core/keys';
import { table } from '../../src/store/engine/database';
import { addPlan, operator, type Operator } from '../support/operator';
import { makePackage } from '../support/packages';
import { startProcess, temporaryFolder } from '../support/processes';
import { CLI } from '../support/program';
import {
  ONE_BACKEND,
  createMariaDbDatabase,
  ONE_KIND,
  newPlace,
  PREFIX,
  rows,
  storedLicense,
  startTestService,
  unusedAddress,
  type TestService,
} from '../support/service';
import { processEnvironment } from '../support/service-process';

/** No server listens there: these commands answer before they open a database. */
const nowhere = operator({ LICENSING_DATABASE_URL: 'mysql://u:p@127.0.0.1:1/none' });
const KEY = generateKey();
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/;

it('prints a table however many rows it has', () => {
  const rows = Array.from({ length: 200_000 }, (_, i) => [i]);
  expect(formatTable(['number'], rows)).toMatch(/^number\n0\n[^]*\n199999$/);
});

it('prints a table no wider than 80 columns or the terminal, and loses no text', () => {
  const row = [
    '2027-01-31T12:00:00Z',
    'status active, expires_at 2027-01-31T12:00:00Z',
    'x'.repeat(70),
    null,
  ];
  const text = formatTable(['AT', 'WHAT', 'NAME', 'NOTHING'], [row, ['a', 'b', 'c', 'd']]);
  expect(Math.max(...text.split('\n').map(({ length }) => length))).toBe(80);
  expect(text).toContain('status active,');
  expect(text.match(/x/g)!.length).toBeGreaterThanOrEqual(70);
  expect(formatTable(['A'], [], 'Nothing.')).toBe('Nothing.');
});

describe('help', () => {
  async function help(...path: string[]): Promise<string> {
    const { code, stdout, stderr } = await nowhere.run([...path, '--help']);
    expect({ path, code, stderr }).toEqual({ path, code: 0, stderr: '' });
    return stdout;
  }
  const commandsIn = (text: string) =>
    [...text.slice(text.indexOf('\nCommands:')).matchAll(/^ {2}([a-z][a-z-]*)\b/gm)]
      .map(([, name]) => name!)
      .filter((name) => name !== 'help');

  it('of every command says what it does, and has its options and an example that names it', async () => {
    const seen: string[] = [];
    const visit = async (path: string[]): Promise<void> => {
      const text = await help(...path);
      expect(text).toContain(`Usage: ${['licensing', ...path].join(' ')}`);
      expect(text).toContain('--json');
      if (text.includes('\nCommands:')) {
        await Promise.all(commandsIn(text).map((name) => visit([...path, name])));
        return;
      }
      seen.push(path.join(' '));
      expect(text).toMatch(/\nExamples?:\n {2}/);
      expect(text.slice(text.indexOf('\nExample'))).toContain(`licensing ${path.join(' ')}`);
    };
    await visit([]);
    for (const command of ['doctor', 'license issue'])
      expect(await nowhere.run(['help', ...command.split(' ')])).toEqual(
        await nowhere.run([...command.split(' '), '--help']),
      );
    for (const command of ['migrate', 'product add', 'plan list', 'license issue', 'release publish'])
      expect(seen).toContain(command);
    expect(seen.length).toBeGreaterThanOrEqual(17);
  });
});

describe('a usage error', () => {
  const notKept = new RegExp(`^(?!.*${KEY}).*It must not contain a licence key`);
  const noAddress = new RegExp(
    `^(?!.*${KEY}).*The customer must be an e-mail address such as jane@example\\.com, or "Jane Roe <`,
  );
  const plan = 'plan add --product 42 --name P --activation-type domain --activation-limit'.split(' ');
  it.each<[string, string[], RegExp]>([
    ['no command', [], /Usage: licensing/],
    ['no verb', ['license'], /Usage: licensing license/],
    ['an unknown noun', ['licence'], /unknown command 'licence'/],
    ['an unknown verb', ['license', 'destroy', '1'], /unknown command 'destroy'/],
    ...[
      ['export', '--out', ''],
      ['export', '--out', 'all.jsonl', '--packages', ''],
      ['customer', 'export', 'jane@example.com', '--out', ''],
      ['import', 'all.jsonl', '--packages', ''],
      ['nginx', '--server-name', 'shop.example', '--out', ''],
      ['release', 'publish', '--product', '1', '--version', '1', '--file', ''],
    ].map((args): [string, string[], RegExp] => [
      `no path: ${args.join(' ')}`,
      args,
      /^error: option '--(out|packages|file) .*' argument '' is invalid\. It must name a/,
    ]),
    [
      'no installed version',
      ['update-xml', 'try', 'https://shop.example/u.xml', '--key', '-', '--installed', ' '],
      /--installed.*It must be the version that is installed on the site, such as 1\.0\.0/,
    ],
    ['an unknown option', ['plan', 'list', '--colour'], /unknown option '--colour'/],
    ['a missing argument', ['license', 'show'], /missing required argument 'key'/],
    ['one argument too many', ['license', 'show', '1', '2'], /too many arguments/],
    ['a missing option', ['product', 'add'], /required option '--name <name>' not specified/],
    ['an option without its value', ['product', 'add', '--name'], /'--name <name>' argument missing/],
    ['a blank name', ['product', 'add', '--name', '  '], /--name.*1 to 190 characters on one line/],
    ['a name of two lines', ['product', 'add', '--name', 'a\nb'], /1 to 190 characters on one line/],
    ['a name too long', ['product', 'add', '--name', 'x'.repeat(191)], /1 to 190 characters/],
    [
      'an element that is none',
      ['product', 'add', '--name', 'X', '--element', 'a b'],
      /--element.*pkg_example/,
    ],
    ['such an element later', ['product', 'edit', '42', '--element', 'a\tb'], /--element.*pkg_example/],
    ['an id of 0', ['product', 'add', '--name', 'X', '--id', '0'], /--id.*a whole number from 1/],
    ['an id beyond the column', ['product', 'show', '4294967296'], /a whole number from 1 to 4294967295/],
    ['an id in words', ['product', 'show', 'forty-two'], /a whole number from 1/],
    ['a limit below 0', [...plan, '-1'], /--activation-limit.*a whole number from 0 to/],
    ['a type that is none', ['plan', 'add', '--activation-type', 'domian'], /domain, device, seat, instance/],
    ['a duration that is none', [...plan, '5', '--duration', '1w'], /--duration.*Write 1y, 6m or 30d/],
    ['a duration of nothing', [...plan, '5', '--duration', '0d'], /--duration.*Write 1y, 6m or 30d/],
    [
      'a state that is none',
      ['license', 'list', '--status', 'dead'],
      /active, suspended, revoked, cancelled, expired/,
    ],
    ['a day that is none', ['license', 'renew', '1', '--until', '2027-02-30'], /There is no such day/],
    [
      'a moment of such a day',
      ['license', 'renew', '1', '--until', '2027-02-29T12:00:00Z'],
      /There is no such day/,
    ],
    [
      'a year that no database holds',
      ['license', 'issue', '--plan', '1', '--expires', '0999-12-31'],
      /--expires.*in the years 1000 to 9999/,
    ],
    [
      'the same by its zone',
      ['license', 'issue', '--plan', '1', '--expires', '9999-12-31T23:59:59-12:00'],
      /in the years 1000 to 9999/,
    ],
    ['a key for a customer', ['license', 'issue', '--plan', '1', '--customer', KEY], noAddress],
    ['a name for a customer', ['license', 'set-customer', '1', 'Jane Roe'], noAddress],
    [
      'a customer with a part of an address',
      ['license', 'issue', '--plan', '1', '--customer', 'Jane <jane>'],
      noAddress,
    ],
    ['a key as a reason', ['license', 'suspend', '1', '--reason', `lost ${KEY}`], notKept],
    ['an identifier of two lines', ['activation', 'add', '1', 'a\nb'], /1 to 255 characters on one line/],
    [
      'an identifier that the terminal would obey',
      ['activation', 'add', '1', 'a\u001b[31mb'],
      /1 to 255 characters on one line/,
    ],
    ['a date that is none', ['license', 'issue', '--plan', '1', '--expires', 'soon'], /2027-01-31/],
    [
      'a date without a zone',
      ['license', 'issue', '--plan', '1', '--expires', '2027-01-31T12:00:00'],
      /2027-01-31/,
    ],
    [
      'more licences than one command issues',
      ['license', 'issue', '--plan', '1', '--count', '10001'],
      /--count.*It must be a whole number from 1 to 10000\./,
    ],
    [
      'no licence at all',
      ['license', 'issue', '--plan', '1', '--count', '0'],
      /--count.*It must be a whole number from 1 to 10000\./,
    ],
    [
      'two ends',
      ['license', 'issue', '--plan', '1', '--expires', '2027-01-31', '--lifetime'],
      /cannot be used with/,
    ],
    [
      'two renewals',
      ['license', 'renew', '1', '--for', '1y', '--until', '2027-01-31'],
      /cannot be used with/,
    ],
    ['an end and none', ['license', 'renew', '1', '--for', '1y', '--lifetime'], /cannot be used with/],
    ['a duration without end', ['license', 'renew', '1', '--for', 'lifetime'], /--lifetime/],
    ['an end that never comes', ['license', 'renew', '1', '--until', 'never'], /--lifetime/],
    [
      'two changelogs',
      ['release', 'publish', '--product', '1', '--version', '1', '--changelog', 'a', '--changelog-file', 'b'],
      /cannot be used with/,
    ],
  ])('%s', async (_what, args, reason) => {
    const { code, stdout, stderr } = await nowhere.run(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(reason);
  });

  it.each([
    ['as a noun', [KEY]],
    ['as a verb', ['license', KEY]],
    ['as an option', ['license', 'show', `--${KEY}`]],
    ['as a plan', ['license', 'issue', '--plan', KEY]],
    ['as one argument more', ['license', 'show', KEY, KEY.toLowerCase()]],
    ['where an id belongs', ['license', 'reveal', KEY.toLowerCase()]],
  ])('does not repeat a key: %s', async (_where, args) => {
    const { code, stdout, stderr } = await nowhere.run(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr.toUpperCase()).not.toContain(KEY);
    expect(stderr).not.toBe('');
  });
});

describe('a failure with --json', () => {
  it.each<[string, string[], object]>([
    ['of an option', ['product', 'show', 'x'], { field: 'id', message: /a whole number from 1/ }],
    ['of a reader', ['license', 'issue', '--plan', '1', '--customer', KEY], { field: 'customer' }],
    ['of a missing option', ['product', 'add'], { field: 'name' }],
    ['of a missing argument', ['license', 'show'], { field: 'key' }],
    ['of two options', ['license', 'renew', '1', '--for', '1y', '--lifetime'], { field: 'for' }],
    ['of an option that is unknown', ['plan', 'list', `--${KEY}`], { message: /unknown option/ }],
    ['without a verb', ['license'], { message: 'A command is missing; --help lists them.' }],
    ['of an unknown noun', ['licence'], { message: /unknown command 'licence'/ }],
  ])(
    'is JSON on standard output, and the same sentence on standard error: %s',
    async (_what, args, error) => {
      const { code, stdout, stderr } = await nowhere.run([...args, '--json']);
      expect(code).toBe(2);
      expect(stdout).not.toContain(KEY);
      expect(stderr).not.toBe('');
      const expected = Object.fromEntries(
        Object.entries(error).map(([name, value]: [string, unknown]) => [
          name,
          value instanceof RegExp ? expect.stringMatching(value) : value,
        ]),
      );
      expect(JSON.parse(stdout)).toEqual({
        error: { code: 'INVALID_REQUEST', message: expect.stringMatching(/^(?!error: )./), ...expected },
      });
    },
  );

  it('has the kind of error if there is no database, or no setting for one', async () => {
    expect(JSON.parse((await nowhere.run(['product', 'list', '--json'])).stdout)).toEqual({
      error: { code: 'SERVICE_UNAVAILABLE', message: expect.stringMatching(/database/) },
    });
    const { code, stdout } = await operator({ LICENSING_DATABASE_URL: 'x' }).run([
      '--json',
      'product',
      'list',
    ]);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'CONFIGURATION' } });
  });

  it('does not follow a result that was already printed: that stays the only value', async () => {
    const { code, stdout, stderr } = await nowhere.run(['doctor', '--json']);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^error: The doctor found/) });
    expect(JSON.parse(stdout)).toMatchObject({ ok: false });
  });
});

it.each([['--version'], ['-V'], ['-V --json']])('%s prints the version', async (args) => {
  const { code, stdout } = await nowhere.run(args.split(' '));
  expect(code).toBe(0);
  expect(stdout).toMatch(/^(\{"version":")?\d+\.\d+\.\d+("\})?\n$/);
});

interface LicenseJson {
  id: number;
  license_key: string;
  status: string;
  expires_at: string | null;
}
interface EventRow {
  license_id: number;
  actor: string;
  action: string;
  before_json: string | null;
  after_json: string | null;
}

describe.each(ONE_BACKEND)('the command, on %s', (_name, backend) => {
  let settings: Settings;
  let shop: Operator;
  let service: TestService;
  beforeAll(async () => {
    const folder = temporaryFolder();
    settings = {
      LICENSING_DATABASE_URL: `sqlite:${join(folder, 'shop.sqlite')}`,
      LICENSING_PACKAGES_DIR: join(folder, 'packages'),
      LICENSING_KEY_SECRET: Buffer.alloc(32, 7).toString('base64'),
      ...(await backend()),
    };
    shop = operator(settings);
    const { pending, completed } = await shop.json<Record<'pending' | 'completed', string[]>>([
      ...['migrate', '--status'],
    ]);
    expect(completed).toEqual([]);
    expect(pending.length).toBeGreaterThan(0);
    expect(await shop.json(['migrate'])).toEqual({ run: pending });
    expect(await shop.run(['migrate'])).toEqual({
      code: 0,
      stdout: 'The database was already up to date.\n',
      stderr: '',
    });
    service = await startTestService(settings);
    await shop.json(['product', 'add', '--name', 'Example Shop', '--id', '42', '--element', 'pkg_example']);
    await shop.json([
      ...'plan add --product 42 --name Developer --activation-type domain'.split(' '),
      '--activation-limit',
      '2',
    ]);
  });
  afterAll(() => service.stop());

  const issue = (...options: string[]) =>
    shop.json<LicenseJson>(['license', 'issue', '--plan', '1', ...options]);
  const refused = async (args: string[], stdin = '') => {
    const { code, stdout, stderr } = await shop.run(args, { stdin });
    expect({ args, code, stdout }).toEqual({ args, code: 1, stdout: '' });
    expect(stderr).toMatch(/^error: [^\n]+\n$/);
    return stderr;
  };
  const stored = (id: number) => storedLicense(service.db, id);
  const history = async (id: number) =>
    (await rows<EventRow>(service.db, 'events'))
      .filter((event) => event.license_id === id)
      .map(({ actor, action, before_json, after_json }) => ({
        actor,
        action,
        before: JSON.parse(before_json ?? 'null') as unknown,
        after: JSON.parse(after_json ?? 'null') as unknown,
      }));
  const actor = `operator:${process.env.SUDO_USER ?? userInfo().username}`;

  it('adds, changes, lists and shows products', async () => {
    const added = await shop.json(['product', 'add', '--name', '  Zweites  ', '--element', 'com_zwei']);
    expect(added).toMatchObject({
      id: 43,
      name: 'Zweites',
      element: 'com_zwei',
      includes: [],
      renew_url: null,
      support_url: null,
      reminders: false,
      created_at: expect.stringMatching(TIME),
    });
    expect(await shop.run(['product', 'edit', '43', '--name', 'Drittes', '--element', ''])).toEqual({
      code: 0,
      stdout: 'Product 43 is changed: Drittes.\n',
      stderr: '',
    });
    expect(await rows(service.db, 'products')).toMatchObject([
      { id: 42, name: 'Example Shop', element: 'pkg_example' },
      { id: 43, name: 'Drittes', element: null },
    ]);
    expect(await shop.json(['product', 'list'])).toMatchObject([{ id: 42 }, { id: 43, name: 'Drittes' }]);
    expect((await shop.run(['product', 'list'])).stdout).toBe(
      'ID  NAME          ELEMENT\n42  Example Shop  pkg_example\n43  Drittes       -\n',
    );
    expect(await shop.json(['product', 'show', '42'])).toMatchObject({
      id: 42,
      plans: [{ id: 1, name: 'Developer' }],
      published_versions: [],
    });
    expect(await refused(['product', 'add', '--name', 'X', '--id', '42'])).toContain(
      'Product 42 already exists.',
    );
    expect(await refused(['product', 'show', '99'])).toContain('There is no product 99.');
  });

  it('adds, changes and lists plans', async () => {
    const added = await shop.json<{ id: number }>([
      ...['plan', 'add', '--product', '42', '--name', 'Team', '--activation-type', 'seat'],
      ...['--activation-limit', '0', '--duration', '1y'],
    ]);
    const plan = {
      product_id: 42,
      name: 'Team',
      activation_type: 'seat',
      activation_limit: 0,
      duration: '1y',
      after_expiry: 'nothing',
    };
    expect(added).toEqual({
      ...{ id: added.id, ...plan, free_staging: false, self_service_moves: 3, upgrade_url: null },
      created_at: expect.stringMatching(TIME),
    });
    expect(await rows(service.db, 'plans')).toContainEqual(
      expect.objectContaining({ id: added.id, ...plan }),
    );
    const year = await shop.json<LicenseJson>(['license', 'issue', '--plan', String(added.id)]);
    expect(Date.parse(year.expires_at!) - Date.now()).toBeGreaterThan(364 * 86_400_000);
    expect(
      await shop.run(['plan', 'edit', String(added.id), '--name', 'Crew', '--duration', 'lifetime']),
    ).toEqual({ code: 0, stdout: `Plan ${added.id} is changed: Crew.\n`, stderr: '' });
    expect((await shop.run(['plan', 'edit', String(added.id), '--activation-type', 'device'])).stderr).toBe(
      `note: existing licences on plan ${added.id} now also count by device.\n`,
    );
    await shop.json(['plan', 'edit', String(added.id), '--activation-type', 'seat']);
    expect(await rows(service.db, 'plans')).toContainEqual(
      expect.objectContaining({ id: added.id, ...plan, name: 'Crew', duration: null }),
    );
    const { id } = await shop.json<{ id: number }>([
      ...'plan add --product 42 --name Forever --activation-type device --activation-limit 1'.split(' '),
      ...['--duration', 'lifetime'],
    ]);
    expect(await rows(service.db, 'plans')).toContainEqual(expect.objectContaining({ id, duration: null }));
    expect(await shop.json(['license', 'issue', '--plan', String(id)])).toMatchObject({ expires_at: null });
    expect(await shop.json(['plan', 'list', '--product', '43'])).toEqual([]);
    expect(await shop.json(['plan', 'list', '--product', '42'])).toHaveLength(3);
    expect((await shop.run(['plan', 'list'])).stdout).toContain('Crew       seat    unlimited  lifetime\n');
    expect(
      await refused('plan add --product 99 --name P --activation-type seat --activation-limit 1'.split(' ')),
    ).toContain('There is no product 99.');
  });

  it('removes a product and a plan that were added by mistake, and none that is in use', async () => {
    await shop.json(['product', 'add', '--id', '77', '--name', 'Typo']);
    const addPlan = ['plan', 'add', '--product', '77', '--name', 'Slip', '--activation-type', 'seat'];
    const { id } = await shop.json<{ id: number }>([...addPlan, '--activation-limit', '1']);
    const issued = await shop.json<LicenseJson>(['license', 'issue', '--plan', String(id)]);
    await shop.run(['license', 'revoke', String(issued.id)]);
    expect(await refused(['plan', 'remove', String(id)])).toBe(
      `error: Plan ${id} has licences, so it cannot be deleted. To stop selling it, issue no more licences on it. ` +
        `"licensing license list --plan ${id}" shows its licences.\n`,
    );
    const spare = await shop.json<{ id: number }>([...addPlan, '--name', 'Spare', '--activation-limit', '2']);
    await shop.run(['license', 'change-plan', String(issued.id), String(spare.id)]);
    expect(await shop.run(['plan', 'remove', String(id)])).toEqual({
      code: 0,
      stdout: `Plan ${id} is removed: Slip.\n`,
      stderr: '',
    });
    expect(await rows<{ id: number }>(service.db, 'plans')).not.toContainEqual(
      expect.objectContaining({ id }),
    );
    expect(await refused(['plan', 'remove', String(id)])).toContain(`There is no plan ${id}.`);
    expect(await refused(['product', 'remove', '77'])).toBe(
      'error: Product 77 has plans or versions, so it cannot be deleted. A plan without licences can be removed ' +
        '("licensing plan remove"), a version cannot.\n',
    );
    await shop.json(['product', 'add', '--id', '78', '--name', 'Unused']);
    expect(await shop.json(['product', 'remove', '78'])).toMatchObject({ id: 78, name: 'Unused' });
    expect(await refused(['product', 'remove', '78'])).toContain('There is no product 78.');
  });

  it('issues a licence whose key works at once', async () => {
    const issued = await issue(
      '--customer',
      ' Jane@Example.com ',
      '--reference',
      'order-1',
      '--expires',
      '2099-01-31',
    );
    expect(issued).toMatchObject({
      id: issued.id,
      license_key: expect.stringMatching(/^[0-9A-F]{8}(-[0-9A-F]{8}){3}$/),
      status: 'active',
      product_id: 42,
      plan_id: 1,
      activation_limit: 2,
      expires_at: '2099-01-31T23:59:59Z',
    });
    expect(await stored(issued.id)).toMatchObject({
      key_digest: keyDigest(issued.license_key),
      key_hint: issued.license_key.slice(-8),
      plan_id: 1,
      status: 'active',
      activation_limit: 2,
      activations_used: 0,
      customer: 'jane@example.com',
      reference: 'order-1',
      expires_at: '2099-01-31 23:59:59',
    });
    expect(await history(issued.id)).toEqual([
      {
        actor,
        action: 'issue',
        before: null,
        after: {
          status: 'active',
          plan_id: 1,
          activation_limit: 2,
          customer: 'jane@example.com',
          reference: 'order-1',
          expires_at: '2099-01-31T23:59:59Z',
        },
      },
    ]);
    const answer = (await request(service.url)
      .post(`${PREFIX}/licenses/validate`)
      .send({ license_key: issued.license_key })) as { body: { data: { valid: boolean } } };
    expect(answer.body.data.valid).toBe(true);
    // The same order again.
    const { id, license_key } = issued;
    for (const customer of [[], ['--customer', 'jane@example.COM']])
      expect(await issue('--reference', 'order-1', ...customer)).toMatchObject({
        ...{ id, license_key, check_count: 1 },
      });
    const { code, stderr } = await shop.run([
      ...'license issue --plan 1 --reference order-1 --lifetime --activation-limit 99 --json'.split(' '),
    ]);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(
        /^note: licence \d+ was issued before, and keeps its end \(\d{4}-.*Z\), which "licensing license renew" changes, and its slots \(\d+\), which "licensing license set-limit" changes\.\n$/,
      ),
    });
    expect(await history(issued.id)).toHaveLength(1);
  });

  it('explains how to set the customer of a licence that has neither a customer nor an order', async () => {
    const nobodys = await shop.run(['license', 'issue', '--plan', '1']);
    expect(nobodys).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(
        /^note: licence \d+ names neither a customer nor an order\. To set the customer of one: licensing license set-customer \d+ EMAIL\n$/,
      ),
    });
    for (const whose of [
      ['--customer', 'somebody@example.com'],
      ['--reference', 'order-nobody'],
    ])
      expect(await shop.run(['license', 'issue', '--plan', '1', ...whose])).toMatchObject({
        code: 0,
        stderr: '',
      });
  });

  it('warns if the licence of a repeated order no longer works', async () => {
    const again = ['license', 'issue', '--plan', '1', '--reference', 'order-2', '--expires', '2020-01-01'];
    const { id } = await issue('--reference', 'order-2');
    const key = expect.stringMatching(/^[0-9A-F]{8}(-[0-9A-F]{8}){3} {2}licence \d+\n$/);
    const kept = `note: licence ${id} was issued before, and keeps its end (none), which "licensing license renew" changes.\n`;
    expect(await shop.run(again)).toEqual({ code: 0, stdout: key, stderr: kept });
    await shop.json(['license', 'cancel', String(id)]);
    expect(await shop.run(again)).toEqual({
      code: 0,
      stdout: key,
      stderr: `note: licence ${id}, which has this reference, is cancelled: its key does not work. "licensing license history ${id}" shows why.\n${kept}`,
    });
  });

  it('returns the licence of a repeated order if its key cannot be shown, and says why', async () => {
    const again = ['license', 'issue', '--plan', '1', '--reference', 'order-4', '--json'];
    const { id } = await issue('--reference', 'order-4');
    for (const [secret, why] of [
      [randomBytes(32).toString('base64'), /sealed with another LICENSING_KEY_SECRET/],
      ['', /LICENSING_KEY_SECRET is not set/],
    ] as const) {
      const { code, stdout, stderr } = await operator({ ...settings, LICENSING_KEY_SECRET: secret }).run(
        again,
      );
      expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(why) });
      expect(JSON.parse(stdout)).toMatchObject({ id, license_key: null, status: 'active' });
    }
    await service.db('licensing_license_keys').where({ license_id: id }).update({ key_sealed: null });
    expect(await shop.run(again)).toMatchObject({ code: 0, stderr: expect.stringContaining('was not kept') });
  });

  it("issues by a plan's name or number, with a key from standard input, and with its own limits", async () => {
    const { stdout } = await shop.run(['license', 'issue', '--plan', '1']);
    expect(stdout).toMatch(/^[0-9A-F]{8}(-[0-9A-F]{8}){3} {2}licence \d+\n$/);
    const several = await shop.json<LicenseJson[]>(['license', 'issue', '--plan', '1', '--count', '3']);
    expect(new Set(several.map(({ license_key }) => license_key)).size).toBe(3);
    expect(await shop.json(['license', 'issue', '--plan', '1', '--count', '1'])).toHaveLength(1);
    const own = await shop.json<LicenseJson>(
      ['license', 'issue', '--plan', '1', '--key', '-', '--activation-limit', '0'],
      {
        stdin: ' "Imported-Key-0001" \n',
      },
    );
    expect(own).toMatchObject({ license_key: 'Imported-Key-0001', activation_limit: 0 });
    expect(await stored(own.id)).toMatchObject({
      key_digest: keyDigest('Imported-Key-0001'),
      key_hint: '0001',
    });
  });

  it('issues many at once, each with its event', async () => {
    const issued = await shop.json<LicenseJson[]>(['license', 'issue', '--plan', '1', '--count', '1001']);
    expect(new Set(issued.map(({ license_key }) => license_key)).size).toBe(1001);
    for (const { id, license_key } of [issued[0]!, issued[500]!, issued[1000]!]) {
      expect(await stored(id)).toMatchObject({
        key_digest: keyDigest(license_key),
        plan_id: 1,
        activation_limit: 2,
      });
      expect(await history(id)).toMatchObject([{ action: 'issue', after: { plan_id: 1 } }]);
    }
    const ids = issued.map(({ id }) => id);
    await service.db(table(service.db, 'events')).whereIn('license_id', ids).delete();
    await service.db(table(service.db, 'license_keys')).whereIn('license_id', ids).delete();
    await service.db(table(service.db, 'licenses')).whereIn('id', ids).delete();
  });

  it('issues unusual licences, and says what is unusual', async () => {
    const { code, stderr } = await shop.run([
      ...['license', 'issue', '--plan', '1', '--customer', 'jane@example.com', '--expires', '2020-01-01'],
    ]);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: 'note: this end is in the past, so the licence is already expired.\n',
    });
  });

  it('recognizes a customer by the address, with or without a name before it', async () => {
    const roe = 'Jane Roe <ROE@example.com>';
    const { id } = await issue('--customer', roe, '--reference', 'order-roe');
    expect(await stored(id)).toMatchObject({ customer: 'roe@example.com' });
    expect(
      await issue('--customer', '"Roe, J." <roe@example.com>', '--reference', 'order-roe'),
    ).toMatchObject({
      id,
    });
    await shop.json(['license', 'set-customer', String(id), 'Richard <Richard@example.com>']);
    expect(await stored(id)).toMatchObject({ customer: 'richard@example.com' });
    for (const args of [['license', 'list', '--customer'], ['customer', 'show'], ['why']])
      expect((await shop.run([...args, 'R <richard@example.com>', '--json'])).stdout).toContain(
        `"id":${id},`,
      );
    // Another version stored customers in this form.
    await service
      .db(table(service.db, 'licenses'))
      .where({ id })
      .update({ customer: 'jane roe <roe@example.com>' });
    expect(await issue('--customer', roe, '--reference', 'order-roe')).toMatchObject({ id });
    await service.db(table(service.db, 'licenses')).where({ id }).update({ customer: 'member 77' });
    expect(await shop.json(['license', 'list', '--customer', 'Member 77'])).toMatchObject([{ id }]);
  });

  it('tells programs the kind of a refusal', async () => {
    const error = async (...args: string[]) => {
      const { code, stdout, stderr } = await shop.run([...args, '--json']);
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^error: /) });
      return (JSON.parse(stdout) as { error: object }).error;
    };
    expect(await error('license', 'show', '999999')).toEqual({
      code: 'NOT_FOUND',
      message: 'There is no licence 999999.',
    });
    const { id } = await issue();
    await shop.json(['license', 'revoke', String(id)]);
    expect(await error('license', 'suspend', String(id))).toMatchObject({ code: 'CONFLICT' });
    expect(await error('activation', 'add', String(id), '***')).toMatchObject({
      code: 'INVALID_REQUEST',
      field: 'identifier',
    });
  });

  it('lists nothing of a product or plan that does not exist', async () => {
    for (const noun of ['plan', 'license'])
      expect(await refused([noun, 'list', '--product', '99'])).toContain('There is no product 99.');
    expect(await refused(['license', 'list', '--plan', '99'])).toContain('There is no plan 99.');
  });

  it('warns if Joomla cannot send a chosen key', async () => {
    const issue = (stdin: string) =>
      shop.run(['license', 'issue', '--plan', '1', '--customer', 'own@example.com', '--key', '-'], { stdin });
    expect(await issue('Own-Key+0001')).toMatchObject({ code: 0, stderr: '' });
    const cut = await issue('Own-Key&0001');
    expect(cut.code).toBe(0);
    expect(cut.stderr).toMatch(/^note: Joomla's updater cannot send a key with #, &/);
  });

  it('refuses an impossible request, and issues nothing', async () => {
    const before = await rows(service.db, 'licenses');
    const eventsBefore = await rows(service.db, 'events');
    const own = ['license', 'issue', '--plan', '1', '--key'];
    expect(await refused(['license', 'issue', '--plan', '99'])).toContain('There is no plan 99.');
    expect(await refused([...own, '-'], '\n')).toContain('The key is empty');
    const taken = await refused([...own, 'Imported-Key-0001']);
    expect(taken).toContain('A licence with this key already exists.');
    expect(taken).not.toContain('Imported-Key-0001');
    expect(await refused([...own, 'Other-Key', '--reference', 'order-1'])).toContain('has another key');
    const again = ['license', 'issue', '--reference', 'order-1', '--plan'];
    expect(await refused([...again, '2'])).toContain('is on plan 1');
    const others = await refused([...again, '1', '--customer', 'john@example.com']);
    expect(others).toContain('belongs to another customer');
    expect(others).not.toContain('jane@example.com');
    for (const count of ['1', '2'])
      expect(
        await shop.run(['license', 'issue', '--plan', '1', '--count', count, '--reference', 'order-9']),
      ).toMatchObject({
        code: 2,
        stdout: '',
        stderr: expect.stringContaining(
          '--reference: It is for a single licence, and cannot be combined with --count.',
        ),
      });
    expect(await rows(service.db, 'licenses')).toEqual(before);
    expect(await rows(service.db, 'events')).toEqual(eventsBefore);
  });

  it('shows a licence by its id, reference, key in any spelling, or from standard input, and never its key', async () => {
    const { id, license_key: key } = await issue('--customer', 'joe@example.com', '--reference', 'order 3');
    await request(service.url)
      .post(`${PREFIX}/licenses/activate`)
      .send({ license_key: key, identifier: 'example.com', name: 'Main\u202e' });
    const { main_key_id: keyId } = await stored(id);
    const shown = {
      id,
      key_hint: key.slice(-8),
      status: 'active',
      product_id: 42,
      product: 'Example Shop',
      plan_id: 1,
      plan: 'Developer',
      activation_type: 'domain',
      activation_limit: 2,
      activations_used: 1,
      customer: 'joe@example.com',
      reference: 'order 3',
      metadata: {},
      ...{ expires_at: null, paid_until: null, renews_itself: false },
      last_check_at: null,
      last_check_ip: null,
      check_count: 0,
      created_at: expect.stringMatching(TIME),
      revision: 2,
      keys: [
        {
          id: keyId,
          key_hint: key.slice(-8),
          ...{ label: null, activation_limit: null, ends_at: null },
          created_at: expect.stringMatching(TIME),
        },
      ],
      activations: [
        {
          identifier: 'example.com',
          name: 'Main\u202e',
          ip: '127.0.0.1',
          ...{ id: expect.any(Number), key_id: keyId, free: false },
          activated_at: expect.stringMatching(TIME),
          held_until: null,
        },
      ],
    };
    for (const [given, stdin] of [
      [String(id), ''],
      [key, ''],
      [`dlid=${key.toLowerCase()}_`, ''],
      ['-', `${key}\n`],
      ['-', `${id}\n`],
      ['order 3', ''],
      ['-', 'order 3\n'],
    ] as const)
      expect(await shop.json(['license', 'show', given], { stdin })).toEqual(shown);
    const { stdout, stderr } = await shop.run(['license', 'show', '-'], { stdin: key });
    expect(stdout).toContain('example.com');
    expect(stdout).toContain(key.slice(-8));
    expect(stdout + stderr).not.toContain(key);
    // The output is not a terminal, so it has no colours.
    expect(stdout).not.toContain('\u001b');

    // A number is always an id and never an order's number. Otherwise its meaning would change as ids grow.
    await issue('--reference', '999998');
    expect(await refused(['license', 'show', '999998'])).toBe(
      'error: There is no licence 999998. An order has this number: reference:999998.\n',
    );
    expect(await shop.json(['license', 'show', 'reference:999998'])).toMatchObject({ reference: '999998' });
  });

  it('changes nothing if a number is the id of one licence and the order of another, and notes it when it only reads', async () => {
    const { id: own } = await issue();
    const key = `imported-key-of-${own}`;
    const issued = await shop.run([
      ...['license', 'issue', '--plan', '1', '--key', key, '--reference', String(own), '--json'],
    ]);
    const ordered = (JSON.parse(issued.stdout) as LicenseJson).id;
    expect(issued.stderr).toBe(
      `note: the licence with the id ${own} is another one. Write reference:${own} or id:${ordered} for this licence, and id:${own} for the other.\n`,
    );
    expect((await shop.run(['license', 'issue', '--plan', '1', '--reference', String(own)])).stderr).toBe(
      issued.stderr,
    );
    const both = `the id of licence ${own} and the reference of licence ${ordered}`;
    const before = [await rows(service.db, 'licenses'), await rows(service.db, 'events')];
    const changes = [
      ...['suspend', 'reinstate', 'revoke', 'cancel', 'rekey'].map((verb) => [verb]),
      ...[
        ['renew', '--for', '1y'],
        ['set-limit', '1'],
        ['set-customer', 'x@example.com'],
        ['change-plan', '1'],
      ],
    ].map(([verb, ...rest]) => ['license', verb!, String(own), ...rest]);
    for (const change of [
      ...changes,
      ['activation', 'add', String(own), 'both.example'],
      ['activation', 'remove', String(own), 'both.example'],
    ])
      expect(await refused(change)).toBe(
        `error: Nothing was changed, because this is ${both}. Write id:${own} or id:${ordered}.\n`,
      );
    expect([await rows(service.db, 'licenses'), await rows(service.db, 'events')]).toEqual(before);

    for (const read of [
      ['license', 'show', String(own)],
      ['license', 'history', String(own)],
      ['activation', 'list', String(own)],
      ['license', 'reveal', String(own)],
    ]) {
      const { code, stderr } = await shop.run(read);
      expect({ code, stderr }).toEqual({
        code: 0,
        stderr: `note: this is ${both}; licence ${own} is shown.\n`,
      });
    }

    for (const [name, id] of [
      [`id:${own}`, own],
      [`id:${ordered}`, ordered],
      [`reference:${own}`, ordered],
      [key, ordered],
    ] as const) {
      const { code, stdout, stderr } = await shop.run(['license', 'suspend', name, '--json']);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(JSON.parse(stdout)).toMatchObject({ id, status: 'suspended' });
      await shop.json(['license', 'reinstate', name]);
      expect(await shop.json(['why', name])).toMatchObject({ license: { id } });
    }
    expect(await refused(['license', 'show', 'id:999998'])).toBe('error: There is no licence 999998.\n');
    expect(await refused(['license', 'show', 'reference:none'])).toContain('There is no licence with this');

    // A licence whose reference is its own id is not ambiguous.
    await service
      .db('licensing_licenses')
      .where({ id: ordered })
      .update({ reference: String(ordered) });
    await shop.json(['license', 'cancel', String(ordered)]);
  });

  it('takes --json anywhere, and then prints one JSON value and nothing else', async () => {
    const places = [
      ['--json', 'product', 'list'],
      ['product', '--json', 'list'],
      ['product', 'list', '--json'],
    ];
    const outcomes = await Promise.all(places.map((args) => shop.run(args)));
    for (const outcome of outcomes) expect(outcome).toEqual({ ...outcomes[0], code: 0, stderr: '' });
    expect(outcomes[0]!.stdout).toMatch(/^\[\{.*\}\]\n$/);
  });

  it('lists licences by filters, a page at a time', async () => {
    await shop.json(['product', 'add', '--name', 'Lists', '--id', '50']);
    const { id: plan } = await shop.json<{ id: number }>(
      'plan add --product 50 --name Lists --activation-type device --activation-limit 1'.split(' '),
    );
    const give = (...options: string[]) =>
      shop.json<LicenseJson>(['license', 'issue', '--plan', String(plan), ...options]);
    const soon = new Date(Date.now() + 10 * 86_400_000).toISOString();
    const [lasting, ending, over, suspended] = [
      await give('--customer', 'ann@example.com', '--reference', 'list-1001'),
      await give('--expires', soon),
      await give('--expires', '2020-01-01'),
      await give('--lifetime'),
    ];
    await shop.json(['license', 'suspend', String(suspended.id)]);
    const paused = await give('--expires', soon, '--customer', 'bob@example.com');
    await shop.json(['license', 'suspend', String(paused.id)]);
    // The service never writes this status, but a table that was edited by hand can contain it, and then it counts.
    const saysSo = await give('--lifetime');
    await service.db(table(service.db, 'licenses')).where({ id: saysSo.id }).update({ status: 'expired' });
    const ids = async (...options: string[]) =>
      (await shop.json<LicenseJson[]>(['license', 'list', '--product', '50', ...options])).map(
        ({ id }) => id,
      );
    expect(await ids()).toEqual([lasting.id, ending.id, over.id, suspended.id, paused.id, saysSo.id]);
    for (const one of await shop.json<LicenseJson[]>(['license', 'list', '--product', '50']))
      expect(await ids('--status', one.status)).toContain(one.id);
    expect(await ids('--plan', '1')).toEqual([]);
    expect(await ids('--status', 'active')).toEqual([lasting.id, ending.id]);
    expect(await ids('--status', 'expired')).toEqual([over.id, saysSo.id]);
    expect(await ids('--status', 'suspended')).toEqual([suspended.id, paused.id]);
    expect(await ids('--customer', 'ANN@example.com')).toEqual([lasting.id]);
    expect(await ids('--reference', ' list-1001')).toEqual([lasting.id]);
    expect(await ids('--hint', ending.license_key.slice(-8).toLowerCase())).toEqual([ending.id]);
    expect(await ids('--expiring', '30d')).toEqual([ending.id]);
    expect(await ids('--expiring', '5d')).toEqual([]);
    // The last day counts until its end, because a date means the whole day.
    const last = await give('--expires', soon.slice(0, 10));
    expect(last.expires_at).toBe(`${soon.slice(0, 10)}T23:59:59Z`);
    expect(await ids('--expiring', '10d')).toEqual([ending.id, last.id]);
    expect(await ids('--expiring', '9d')).toEqual([]);
    expect(await ids('--limit', '2', '--after', String(lasting.id))).toEqual([ending.id, over.id]);
    const one = ['license', 'list', '--product', '50', '--limit', '1'];
    const page = await shop.run(one);
    expect(page.stderr).toBe('');
    expect(page.stdout).toMatch(
      /^ID +KEY +STATUS +PLAN +SLOTS +EXPIRES +CUSTOMER\n\d+ +[0-9A-F]{8} +active .*\nThere may be more: --after \d+\n$/,
    );
    const json = await shop.run([...one, '--json']);
    expect(json.stderr).toBe(`There may be more: --after ${lasting.id}\n`);
    expect(JSON.parse(json.stdout)).toHaveLength(1);
    expect((await shop.run(['license', 'list', '--customer', 'nobody@example.com'])).stdout).toBe(
      'No licences.\n',
    );
  });

  it('accepts the name of a plan if only one plan has it', async () => {
    for (const id of ['160', '161']) {
      await shop.json(['product', 'add', '--id', id, '--name', `Named ${id}`]);
      expect((await shop.run(['plan', 'list', '--product', id])).stdout).toBe('No plans.\n');
      await addPlan(shop, id, 'Both have it', 'seat', '1');
    }
    await addPlan(shop, '160', 'Sixty', 'seat', '1');
    const sold = await shop.json<LicenseJson & { product_id: number }>([
      ...['license', 'issue', '--plan', 'sixty'],
    ]);
    expect(sold).toMatchObject({ product_id: 160 });
    expect(await shop.json(['license', 'list', '--plan', 'Sixty'])).toMatchObject([{ id: sold.id }]);
    expect(await refused(['license', 'issue', '--plan', 'Both have it'])).toMatch(
      /Several plans have this name: \d+ \(product 160\), \d+ \(product 161\)\. Give the id\./,
    );
    expect(await shop.json(['license', 'change-plan', String(sold.id), 'Both have it'])).toMatchObject({
      product_id: 160,
      plan: 'Both have it',
    });
    expect(await shop.json(['license', 'list', '--product', '161', '--plan', 'Both have it'])).toEqual([]);
    expect(await refused(['license', 'issue', '--plan', 'Seventy'])).toContain('There is no plan Seventy.');
  });

  it('refuses a second plan of the same name, and keeps existing ones', async () => {
    await shop.json(['product', 'add', '--id', '162', '--name', 'Twins']);
    const add = (name: string) => [
      ...['plan', 'add', '--product', '162', '--name', name],
      ...['--activation-type', 'seat', '--activation-limit', '1'],
    ];
    const { id } = await shop.json<{ id: number }>(add('Single'));
    const { id: other } = await shop.json<{ id: number }>(add('Other'));
    for (const args of [add('SINGLE'), ['plan', 'edit', String(other), '--name', 'Single']])
      expect(await refused(args)).toContain(`Product 162 already has a plan of this name: plan ${id}.`);
    await service.db(table(service.db, 'plans')).where({ id: other }).update({ name: 'Single' });
    expect(
      await shop.json(['plan', 'edit', String(other), '--name', 'Single', '--duration', '1y']),
    ).toMatchObject({ name: 'Single', duration: '1y' });
    const both = await Promise.all(
      Array.from({ length: 2 }, () => shop.run(add('At once'), { ownProcess: true })),
    );
    expect(both.map(({ code }) => code).sort()).toEqual([0, 1]);
  });

  it.each([
    ['suspend', 'active', 'suspended'],
    ['reinstate', 'suspended', 'active'],
    ['revoke', 'active', 'revoked'],
    ['cancel', 'active', 'cancelled'],
  ])('%s makes an %s licence %s, with the reason in its history', async (verb, from, to) => {
    const { id, license_key: key } = await issue();
    if (from === 'suspended') await shop.json(['license', 'suspend', String(id)]);
    const text = await shop.run(['license', verb, '-', '--reason', 'ticket 77'], { stdin: key });
    expect(text).toEqual({ code: 0, stdout: `Licence ${id} is ${to} now.\n`, stderr: '' });
    expect(await stored(id)).toMatchObject({ status: to });
    expect((await history(id)).at(-1)).toEqual({
      actor,
      action: verb,
      before: { status: from },
      after: { status: to, reason: 'ticket 77' },
    });
    const before = await history(id);
    expect(await refused(['license', verb, String(id)])).toContain(
      `Licence ${id} is ${to}: "${verb}" is not possible.`,
    );
    expect(await history(id)).toEqual(before);
  });

  it('records in the history that a licence had expired when it was revoked', async () => {
    const { id } = await issue('--expires', '2020-01-01');
    await shop.json(['license', 'revoke', String(id)]);
    expect((await history(id)).at(-1)).toMatchObject({
      before: { status: 'expired' },
      after: { status: 'revoked' },
    });
  });

  it('allows no change after a final state', async () => {
    const { id } = await issue();
    await shop.json(['license', 'revoke', String(id)]);
    for (const verb of [['suspend'], ['reinstate'], ['cancel'], ['renew', '--for', '1y']])
      expect(await refused(['license', ...verb, String(id)])).toContain('That state is final');
    expect(await stored(id)).toMatchObject({ status: 'revoked' });
  });

  it('renews until a date, for a time after the end, from now if the end has passed, and after a suspension', async () => {
    const { id } = await issue('--expires', '2098-01-31');
    const renew = (...options: string[]) => shop.json(['license', 'renew', String(id), ...options]);
    expect(await renew('--for', '1m')).toMatchObject({
      status: 'active',
      expires_at: '2098-02-28T23:59:59Z',
    });
    await shop.json(['license', 'suspend', String(id)]);
    expect(await renew('--until', '2099-06-30T12:00:00Z', '--reason', 'paid')).toMatchObject({
      status: 'active',
      expires_at: '2099-06-30T12:00:00Z',
    });
    expect(await stored(id)).toMatchObject({ status: 'active', expires_at: '2099-06-30 12:00:00' });
    expect((await history(id)).slice(-1)).toEqual([
      {
        actor,
        action: 'renew',
        before: { status: 'suspended', expires_at: '2098-02-28T23:59:59Z' },
        after: { status: 'active', expires_at: '2099-06-30T12:00:00Z', reason: 'paid' },
      },
    ]);
    const { id: over } = await issue('--expires', '2020-01-01');
    const renewed = await shop.json<LicenseJson>(['license', 'renew', String(over), '--for', '30d']);
    expect(Date.parse(renewed.expires_at!) - Date.now()).toBeGreaterThan(29.9 * 86_400_000);
    // A row that was edited by hand can be expired without an end.
    await service
      .db('licensing_licenses')
      .where({ id: over })
      .update({ status: 'expired', expires_at: null });
    const revived = await shop.json<LicenseJson>(['license', 'renew', String(over), '--for', '30d']);
    expect(revived.status).toBe('active');
    expect(Date.parse(revived.expires_at!) - Date.now()).toBeGreaterThan(29.9 * 86_400_000);

    expect(await refused(['license', 'renew', String(id), '--until', '2020-01-01'])).toContain(
      'is in the past',
    );
    const { id: lifetime } = await issue();
    expect(await refused(['license', 'renew', String(lifetime), '--for', '1y'])).toContain(
      'is a lifetime licence',
    );
    const neither = await shop.run(['license', 'renew', '999999']);
    expect(neither).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('Give one of --until, --for and --lifetime.'),
    });
  });

  it('removes the end of a licence, sets one, and explains how to undo an earlier end', async () => {
    const { id } = await issue('--expires', '2098-01-31');
    const renew = (...options: string[]) => shop.run(['license', 'renew', String(id), ...options]);
    const lifetime = { code: 0, stdout: `Licence ${id} is active forever.\n`, stderr: '' };
    expect(await renew('--lifetime')).toEqual(lifetime);
    expect(await renew('--lifetime')).toEqual(lifetime);
    expect(await stored(id)).toMatchObject({ status: 'active', expires_at: null });
    expect((await history(id)).at(-1)).toMatchObject({ action: 'renew', after: { expires_at: null } });

    const until = (end: string) => ({ code: 0, stdout: `Licence ${id} is active until ${end}.\n` });
    expect(await renew('--until', '2099-01-31')).toEqual({
      ...until('2099-01-31T23:59:59Z'),
      stderr: `note: the licence had no end before. To restore it: licensing license renew ${id} --lifetime\n`,
    });
    expect(await renew('--until', '2098-06-30')).toEqual({
      ...until('2098-06-30T23:59:59Z'),
      stderr: `note: the old end was later. To restore it: licensing license renew ${id} --until 2099-01-31T23:59:59Z\n`,
    });
    // A shop may repeat the renewal of an order.
    const later = { ...until('2099-06-30T23:59:59Z'), stderr: '' };
    expect(await renew('--until', '2099-06-30')).toEqual(later);
    expect(await renew('--until', '2099-06-30')).toEqual(later);
  });

  it('notes if a plan is for life and the licence that moves to it is not, or the other way round', async () => {
    const add = 'plan add --product 42 --activation-type domain --activation-limit 3'.split(' ');
    const { id: forLife } = await shop.json<{ id: number }>([...add, '--name', 'For life']);
    const { id: yearly } = await shop.json<{ id: number }>([...add, '--name', 'Yearly', '--duration', '1y']);
    const { id } = await issue('--expires', '2099-01-31');
    const change = async (plan: number) =>
      (await shop.run(['license', 'change-plan', String(id), String(plan)])).stderr;
    expect(await change(yearly)).toBe('');
    expect(await change(forLife)).toBe(
      `note: plan ${forLife} is for life, and licence ${id} still ends on 2099-01-31T23:59:59Z; "licensing license renew ${id} --lifetime" changes that.\n`,
    );
    await shop.json(['license', 'renew', String(id), '--lifetime']);
    expect(await change(forLife)).toBe('');
    expect(await change(yearly)).toBe(
      `note: plan ${yearly} is for 1y, and licence ${id} still has no end; "licensing license renew ${id} --until DATE" changes that.\n`,
    );
  });

  it('asks before a licence moves to a plan of another product, and refuses if it cannot ask', async () => {
    await shop.json(['product', 'add', '--id', '171', '--name', 'Club', '--includes', '42']);
    await addPlan(shop, '171', 'All of it', 'domain', '30');
    const { id } = await issue();
    const args = ['license', 'change-plan', String(id), 'All of it'];
    const plan = (await shop.json<{ id: number; name: string }[]>(['plan', 'list'])).find(
      ({ name }) => name === 'All of it',
    )!;
    expect(await refused(args)).toContain('There is no plan All of it.');
    args[3] = String(plan.id);
    const said = await refused(args);
    expect(said).toMatch(
      /belongs to Club, and licence .* Club includes .* so its sites keep getting updates\..* --yes\.\n$/s,
    );
    expect(await shop.json([...args, '--yes'])).toMatchObject({ product_id: 171, activation_limit: 30 });
    expect(await stored(id)).toMatchObject({ plan_id: plan.id });
  });

  it('changes limit, plan, customer and key, and records each', async () => {
    const { id, license_key: old } = await issue();
    const { id: plan } = await shop.json<{ id: number }>(
      'plan add --product 42 --name Agency --activation-type domain --activation-limit 9'.split(' '),
    );
    await shop.json(['license', 'set-limit', String(id), '5']);
    await shop.json(['license', 'set-customer', String(id), 'New@Example.com']);
    await shop.json(['license', 'change-plan', String(id), String(plan)]);
    const { license_key: key } = await shop.json<LicenseJson>(['license', 'rekey', String(id)]);
    expect(key).not.toBe(old);
    expect(await shop.json(['license', 'reveal', String(id)])).toMatchObject({ license_key: key });
    expect(await stored(id)).toMatchObject({
      plan_id: plan,
      activation_limit: 9,
      customer: 'new@example.com',
      key_digest: keyDigest(key),
    });
    const shown = await shop.json<{ actor: string; action: string }[]>(['license', 'history', String(id)]);
    expect(shown.map(({ action }) => action)).toEqual([
      ...['issue', 'set-limit', 'set-customer', 'change-plan', 'rekey', 'reveal'],
    ]);
    expect(new Set(shown.map((event) => event.actor))).toEqual(new Set([actor]));
    expect((await history(id)).slice(1).map(({ before, after }) => [before, after])).toEqual([
      [{ activation_limit: 2 }, { activation_limit: 5 }],
      [{ customer: null }, { customer: 'new@example.com' }],
      [
        { plan_id: 1, activation_limit: 5 },
        { plan_id: plan, activation_limit: 9 },
      ],
      [
        { key_id: expect.any(Number), key_hint: old.slice(-8) },
        { key_id: expect.any(Number), key_hint: key.slice(-8) },
      ],
      [null, null],
    ]);
    expect(JSON.stringify(shown)).not.toContain(key);
    const byOld = await shop.run(['license', 'show', old]);
    expect(byOld).toMatchObject({ code: 0, stderr: '' });
    expect(byOld.stdout).not.toContain(old);
  });

  it('keeps nothing of the old key if a new one is made without a secret', async () => {
    const { id } = await issue();
    const { LICENSING_KEY_SECRET: secret, ...without } = settings;
    expect(secret).toBeDefined();
    await operator(without).json(['license', 'rekey', String(id)]);
    expect(await stored(id)).toMatchObject({ key_sealed: null });
    expect(await refused(['license', 'reveal', String(id)])).toContain('was not kept');
  });

  it('moves a licence with activations to a plan of the same type, and keeps the activations', async () => {
    const { id } = await issue();
    await shop.json(['activation', 'add', String(id), 'one.example']);
    const { id: plan } = await shop.json<{ id: number }>(
      'plan add --product 42 --name Bigger --activation-type domain --activation-limit 20'.split(' '),
    );
    await shop.json(['license', 'change-plan', String(id), String(plan)]);
    expect(await stored(id)).toMatchObject({ plan_id: plan, activation_limit: 20, activations_used: 1 });
    expect(await shop.json(['activation', 'list', String(id)])).toMatchObject([
      { identifier: 'one.example' },
    ]);
  });

  it('refuses a plan of another product, and leaves the licence on its own', async () => {
    const { id } = await issue();
    await shop.json(['product', 'add', '--name', 'Elsewhere', '--id', '60']);
    const { id: plan } = await shop.json<{ id: number }>(
      'plan add --product 60 --name Elsewhere --activation-type domain --activation-limit 2'.split(' '),
    );
    expect(await refused(['license', 'change-plan', String(id), String(plan)])).toContain(
      `Plan ${plan} belongs to Elsewhere, and licence ${id} to Example Shop.`,
    );
    expect(await stored(id)).toMatchObject({ plan_id: 1 });
    expect(await history(id)).toHaveLength(1);
  });

  it('adds activations over the limit, lists and removes them', async () => {
    const { id } = await issue('--activation-limit', '1');
    await shop.json(['activation', 'add', String(id), 'https://www.One.example/', '--name', 'One']);
    const over = await shop.run(['activation', 'add', String(id), 'two.example']);
    expect(over).toMatchObject({ code: 0, stderr: expect.stringContaining('over its limit of 1') });
    expect(await shop.json(['activation', 'list', String(id)])).toMatchObject([
      { identifier: 'one.example', name: 'One' },
      { identifier: 'two.example', name: null },
    ]);
    expect(await stored(id)).toMatchObject({ activations_used: 2 });
    await shop.json(['activation', 'remove', String(id), 'WWW.one.example']);
    expect(await stored(id)).toMatchObject({ activations_used: 1 });
    expect(await refused(['activation', 'remove', String(id), 'one.example'])).toContain('is not activated');
    expect(await refused(['activation', 'add', String(id), '127.1'])).not.toBe('');
    expect((await history(id)).map((event) => event.actor)).toEqual(Array(4).fill(actor));
    const [one, two] = [
      { identifier: 'one.example', name: 'One' },
      { identifier: 'two.example', name: null },
    ];
    expect((await history(id)).slice(1).map(({ before, after }) => [before, after])).toEqual([
      [{ activations_used: 0 }, { activations_used: 1, ...one, override: true }],
      [{ activations_used: 1 }, { activations_used: 2, ...two, override: true }],
      [{ activations_used: 2, ...one }, { activations_used: 1 }],
    ]);
  });

  it('publishes, edits, lists and withdraws a release', async () => {
    const { path, bytes } = await makePackage({
      'pkg_example.xml': `<extension type="package"><packagename>example</packagename><version>2.1.0</version>
        <updateservers><server>https://shop.example/u.xml</server></updateservers><dlid prefix="dlid=" suffix=""/></extension>`,
    });
    const notes = join(temporaryFolder(), 'CHANGES.txt');
    writeFileSync(notes, 'Faster\n\nSmaller\n');
    const of = ['--product', '42', '--version', '2.1.0'];
    const text = await shop.run(['release', 'publish', ...of, '--file', path, '--changelog-file', notes]);
    expect(text).toEqual({
      code: 0,
      stdout: `Version 2.1.0 is published: example-shop-2.1.0.zip, ${bytes.length} bytes.\n`,
      // The address of the update XML is not known here.
      stderr: expect.stringMatching(/^note: it was not checked whether [^\n]*\n$/),
    });
    await shop.json(['release', 'edit', ...of, '--changelog', 'Better']);
    expect(await shop.json(['release', 'list', '--product', '42'])).toMatchObject([
      {
        version: '2.1.0',
        state: 'published',
        changelog: 'Better',
        published_at: expect.stringMatching(TIME),
      },
    ]);
    expect(await shop.json(['release', 'withdraw', ...of])).toMatchObject({ state: 'withdrawn' });
    expect(await rows(service.db, 'releases')).toMatchObject([{ version: '2.1.0', state: 'withdrawn' }]);
    expect(await refused(['release', 'list', '--product', '99'])).toContain('There is no product 99.');
  });

  it('records in the history who used sudo', async () => {
    const { stdout } = await shop.run(['license', 'issue', '--plan', '1', '--json'], {
      env: { SUDO_USER: 'anna' },
    });
    expect(await history((JSON.parse(stdout) as LicenseJson).id)).toMatchObject([{ actor: 'operator:anna' }]);
  });

  it('does not repeat an unknown key, whatever the command', async () => {
    const unknown = generateKey();
    const verbs = [
      ...[
        ['show'],
        ['suspend'],
        ['reinstate'],
        ['revoke'],
        ['cancel'],
        ['renew', '--for', '1y'],
        ['history'],
      ],
      ...[['rekey'], ['set-limit', '1'], ['set-customer', 'x@example.com'], ['change-plan', '1']],
    ];
    for (const [i, [verb, ...rest]] of verbs.entries()) {
      const message = await refused(['license', verb!, i % 2 ? '-' : unknown, ...rest], unknown);
      expect(message).toContain('There is no licence with this key or reference.');
      expect(message).not.toContain(unknown);
    }
    expect(await refused(['activation', 'list', unknown])).not.toContain(unknown);
    expect(await refused(['license', 'show', '999999'])).toBe('error: There is no licence 999999.\n');
  });

  it("shows control characters in customers' names as escapes, and never executes them", async () => {
    const { id } = await issue();
    await service.db('licensing_licenses').where({ id }).update({ customer: 'a\u001b[2Jb\nc' });
    const { stdout } = await shop.run(['license', 'show', String(id)]);
    expect(stdout).toContain('a\\u{1b}[2Jb c');
    await service.db('licensing_licenses').where({ id }).update({ customer: 'a\u009b2Jb\u007fc' });
    const json = await shop.run(['license', 'show', String(id), '--json']);
    expect(json.stdout).not.toMatch(/[\u007f-\u009f]/);
    expect(JSON.parse(json.stdout)).toMatchObject({ customer: 'a\u009b2Jb\u007fc' });
  });

  it('escapes characters that reverse text or are invisible, on the terminal, in notes and in JSON', async () => {
    const { id } = await issue();
    // An override, a zero-width space, line separators, a tag (as a surrogate pair), a filler, and a BOM.
    const unseen = ['\u202e', '\u200b', '\u2028', '\u2029', '\u{e0041}', '\u3164', '\ufeff', '\u0085'];
    const customer = `moc.${unseen.join('x')}\u2764\ufe0f@example.com`;
    await service.db('licensing_licenses').where({ id }).update({ customer });
    const escaped = String.raw`moc.\u{202e}x\u{200b}x\u{2028}x\u{2029}x\u{e0041}x\u{3164}x\u{feff}x\u{85}`;
    const shown = [
      await shop.run(['license', 'show', String(id)]),
      await shop.run(['license', 'list', '--customer', customer]),
      // This prints a sentence, not a table.
      await shop.run(['license', 'set-limit', String(id), '7']),
    ];
    for (const { stdout } of shown) {
      // A narrow column wraps the text.
      expect(stdout.replaceAll(/\n\s*/g, '')).toContain(`${escaped}\u2764\ufe0f@example.com`);
      for (const character of unseen) expect(stdout).not.toContain(character);
    }
    for (const verb of ['show', 'history']) {
      const { stdout } = await shop.run(['license', verb, String(id), '--json']);
      for (const character of unseen) expect(stdout).not.toContain(character);
    }
    expect(await shop.json(['license', 'show', String(id)])).toMatchObject({ customer });
    const refused = await shop.run(['plan', 'add', '--product', '\u202e42', '--name', 'x']);
    expect(refused.stderr).not.toContain('\u202e');
    const exported = await shop.run(['customer', 'export', customer.toLowerCase(), '--out', '-']);
    for (const character of unseen) expect(exported.stdout).not.toContain(character);
  });

  it('reports in one line that its output could not be written, and that its work is done', async () => {
    const full = openSync('/dev/full', 'w');
    const child = startProcess(
      process.execPath,
      [CLI, 'license', 'issue', '--plan', '1', '--reference', 'full'],
      { env: processEnvironment(settings), stdio: ['ignore', full, 'pipe'] },
    );
    closeSync(full);
    let stderr = '';
    child.stderr!.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    const [code] = (await once(child, 'close')) as [number];
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr:
        'error: The output could not be written (ENOSPC). The command may have changed something: check before you run it again.\n',
    });
    expect(await rows(service.db, 'licenses')).toContainEqual(expect.objectContaining({ reference: 'full' }));
  });

  it('names the reason why a statement failed, and none of its values', async () => {
    const renamed = (from: string, to: string) =>
      service.db.schema.alterTable('licensing_licenses', (licenses) => licenses.renameColumn(from, to));
    await renamed('reference', 'order_number');
    try {
      const stderr = await refused(['license', 'issue', '--plan', '1', '--customer', 'jane@example.com']);
      expect(stderr).toMatch(/reference/);
      expect(stderr).not.toMatch(/jane|values/i);
    } finally {
      await renamed('order_number', 'reference');
    }
  });

  it('ends quietly if its output is not read to the end', async () => {
    await shop.json(['license', 'issue', '--plan', '1', '--count', '1500']);
    const child = startProcess(process.execPath, [CLI, 'license', 'list', '--limit', '1500', '--json'], {
      env: processEnvironment(settings),
    });
    let stderr = '';
    child.stderr!.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    await once(child.stdout!, 'readable');
    child.stdout!.destroy();
    const [code] = (await once(child, 'exit')) as [number];
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'There may be more: --after ' + stderr.slice(27) });
    expect(stderr).not.toMatch(/EPIPE|at /);
  });
});

describe("nginx's configuration", () => {
  it('is written with the two lines that connect it to the site, and where to put them', async () => {
    const folder = join(temporaryFolder(), 'licensing');
    const nginx = (out: string) => nowhere.run(['nginx', '--server-name', 'shop.example', '--out', out]);
    const { code, stdout } = await nginx(folder);
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`include ${folder}/upstream\\.conf; +at the http level`));
    expect(stdout).toMatch(new RegExp(`include ${folder}/licensing\\.conf; +inside the site's server`));
    for (const name of ['upstream.conf', 'licensing.conf', 'site.example.conf'])
      expect(readFileSync(join(folder, name), 'utf8')).toContain('licensing');

    const packages = { LICENSING_PACKAGES_DIR: '/srv/shop.example/packages' };
    const shop = operator({ LICENSING_DATABASE_URL: 'sqlite:/nonexistent/shop', ...packages });
    expect((await shop.run(['nginx', '--server-name', 'other.example'])).stdout).toContain(
      'alias /srv/shop.example/packages/;',
    );

    const servers = async (...args: string[]) => {
      const all = await shop.json<Record<string, string>>(['nginx', '--server-name', 'a.example', ...args]);
      return [...all['upstream.conf']!.matchAll(/^ *server (.*);$/gm)].map(([, server]) => server);
    };
    expect(await servers()).toEqual(['127.0.0.1:0 max_fails=0']);
    expect(await servers('--instances', '3')).toEqual(
      [1, 2, 3].map((name) => `unix:/run/licensing/${name}/http.sock max_fails=0`),
    );

    // A file that the seller changed is not overwritten.
    const file = join(folder, 'upstream.conf');
    const written = readFileSync(file, 'utf8');
    const same = await nginx(folder);
    expect(same).toMatchObject({ code: 0, stderr: expect.not.stringContaining('.new') });
    writeFileSync(file, `${written}# mine\n`);
    const again = await nginx(folder);
    expect(again).toMatchObject({ code: 0, stderr: expect.stringContaining(`${file}.new`) });
    expect(again.stderr).not.toContain('licensing.conf.new');
    expect(stdout).toMatch(/^Written to .*: upstream\.conf, licensing\.conf, site\.example\.conf\.\n/);
    expect(same.stdout).toMatch(/^The files in .* are up to date: nothing was written\.\n/);
    expect(again.stdout).toMatch(/^Written to .*: upstream\.conf\.new\.\n/);
    expect(readFileSync(file, 'utf8')).toBe(`${written}# mine\n`);
    expect(readFileSync(`${file}.new`, 'utf8')).toBe(written);

    expect(await nginx(join(file, 'below'))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(
        `error: The folder ${join(file, 'below')} was not created: ${join(file, 'below')} is not a folder.`,
      ),
    });
  });
});

describe("nginx's configuration follows the settings", () => {
  const files = async (settings: Settings) => {
    const { json } = operator({ LICENSING_DATABASE_URL: 'sqlite:/nonexistent/shop', ...settings });
    return json<Record<string, string>>(['nginx', '--server-name', 'acme.example']);
  };

  it('for uploads, a site in a sub-folder, and pages on a host name of their own', async () => {
    const all = await files({
      LICENSING_UPLOAD_LIMIT: '600',
      LICENSING_PUBLIC_URL: 'https://acme.example/a/shop',
      LICENSING_PAGES_HOST: 'licences.acme.example',
    });
    expect(Object.keys(all)).toEqual([
      'upstream.conf',
      'licensing.conf',
      'site.example.conf',
      'pages.example.conf',
    ]);
    expect(all['licensing.conf']!.match(/client_max_body_size .*/g)).toEqual([
      'client_max_body_size 128k;',
      'client_max_body_size 601m;',
      'client_max_body_size 2m;',
      'client_max_body_size 601m;',
      'client_max_body_size 64k;',
      'client_max_body_size 64k;',
    ]);
    expect(all['licensing.conf']).toContain(
      `\nlocation ^~ /a/shop${PREFIX}/ { set $licensing_folder /a/shop; rewrite ^/a/shop(/.*)$ $1 last; }\n`,
    );
    expect(all['upstream.conf']!.match(/^ *"~\^licences\\\.acme\\\.example .* [01];$/gm)).toHaveLength(2);
    expect(all['upstream.conf']).not.toMatch(/^ *#"~/m);
    expect(all['pages.example.conf']!.match(/server_name .*/g)).toEqual(
      Array(2).fill('server_name licences.acme.example;'),
    );
    expect(Object.values(all).join('')).not.toMatch(/shop\.example|joomla/);
  });

  it('and without these settings is as shipped', async () => {
    const all = await files({ LICENSING_PUBLIC_URL: 'https://acme.example' });
    expect(Object.keys(all)).not.toContain('pages.example.conf');
    expect(all['upstream.conf']!.match(/^ *#"~/gm)).toHaveLength(4);
    expect(all['licensing.conf']!.match(/^#location/gm)).toHaveLength(2);
    expect(all['licensing.conf']!.match(/client_max_body_size 257m/g)).toHaveLength(2);
  });
});

describe('a database that cannot be used', () => {
  async function failure(settings: Settings): Promise<string> {
    const { code, stdout, stderr } = await operator(settings).run(['license', 'show', KEY]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^error: [^\n]+\n$/);
    expect(stderr).not.toMatch(/S3cret|select|licensing_/);
    expect(stderr).not.toContain(KEY);
    return stderr;
  }

  it('because nothing listens there', async () => {
    const url = `mysql://u:S3cret@${await unusedAddress()}/d`;
    expect(await failure({ LICENSING_DATABASE_URL: url })).toMatch(
      /^error: The database \(d as u at 127\.0\.0\.1:\d+\) cannot be used: no server listens there \(ECONNREFUSED\)\. Start .* correct host and port in LICENSING_DATABASE_URL\.$/m,
    );
  });

  it("because nothing listens where the site's configuration.php says", async () => {
    const site = temporaryFolder();
    const host = await unusedAddress();
    writeFileSync(
      join(site, 'configuration.php'),
      `<?php\nclass JConfig {\n  public $host = '${host}';\n  public $user = 'u';\n  public $password = 'S3cret';\n  public $db = 'd';\n  public $dbprefix = 'jos_';\n}\n`,
    );
    const said = await failure({ LICENSING_JOOMLA_ROOT: site });
    expect(said).toContain(`correct host and port in ${join(site, 'configuration.php')}.`);
    expect(said).not.toContain('LICENSING_DATABASE_URL');
  });

  it('because the host has no address, or never answers', async () => {
    expect(await failure({ LICENSING_DATABASE_URL: 'mysql://u:S3cret@nowhere.invalid/d' })).toMatch(
      /the host nowhere\.invalid cannot be resolved/,
    );
    const silent = createServer(() => undefined);
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port } = silent.address() as AddressInfo;
    const said = await failure({ LICENSING_DATABASE_URL: `mysql://u:S3cret@127.0.0.1:${port}/d` });
    expect(said).toMatch(/there is no answer \(ETIMEDOUT\)\. Check that the server runs/);
    silent.close();
  });

  it('because its socket is gone', async () => {
    const folder = join(temporaryFolder(), 'gone');
    const said = await failure({
      LICENSING_DATABASE_URL: `mysql://u:S3cret@localhost/d?socketPath=${folder}/mysqld.sock`,
    });
    expect(said).toContain(`d as u at ${folder}/mysqld.sock) `);
    expect(said).toContain(`there is no such socket, and no folder ${folder} (ENOENT)`);
  });

  it('because the password is wrong', async () => {
    const url = `mysql://nobody:S3cret@127.0.0.1:${process.env.TEST_MARIADB_PORT!}/mysql`;
    expect(await failure({ LICENSING_DATABASE_URL: url })).toMatch(
      /refuses this user or this password: Access denied for user 'nobody'.*\(ER_ACCESS_DENIED_ERROR\)\. Correct user and password in LICENSING_DATABASE_URL/,
    );
  });

  it('because there is no such database', async () => {
    const url = `mysql://root:@127.0.0.1:${process.env.TEST_MARIADB_PORT!}/nonexistent`;
    expect(await failure({ LICENSING_DATABASE_URL: url })).toMatch(
      /no database of that name \(ER_BAD_DB_ERROR\)\..*CREATE DATABASE `nonexistent`;/,
    );
  });

  it('because it was not migrated', async () => {
    const empty = join(temporaryFolder(), 'empty.sqlite');
    writeFileSync(empty, '');
    for (const url of [`sqlite:${empty}`, await createMariaDbDatabase()]) {
      const { code, stderr } = await operator({ LICENSING_DATABASE_URL: url }).run(['product', 'list']);
      expect(code).toBe(1);
      expect(stderr).toMatch(/^error: The database's schema is not up to date .*Run "licensing migrate"/);
    }
  });

  it('because there is no SQLite file of that name, and makes none', async () => {
    const folder = join(temporaryFolder(), 'mistyped');
    const path = join(folder, 'shop.sqlite');
    expect(await failure({ LICENSING_DATABASE_URL: `sqlite:${path}` })).toBe(
      `error: There is no database ${path}. Correct LICENSING_DATABASE_URL, or make a new database there: "licensing migrate".\n`,
    );
    expect(existsSync(folder)).toBe(false);
  });

  it('because the SQLite file is a folder, or no database', async () => {
    const folder = join(temporaryFolder(), 'data');
    mkdirSync(folder);
    const text = join(folder, 'text');
    writeFileSync(text, 'This is no database. '.repeat(100));
    for (const path of [folder, text])
      expect(await failure({ LICENSING_DATABASE_URL: `sqlite:${path}` })).toContain(
        `The database (SQLite, ${path}) cannot be used: `,
      );
  });
});

describe.each(ONE_KIND)('a shop of its own, in %s', (kind) => {
  let settings: Settings;
  let shop: Operator;
  beforeAll(async () => {
    settings = await newPlace(kind);
    shop = operator(settings);
    await shop.json(['migrate']);
  });

  it('reports that no higher id is left for a product', async () => {
    await shop.json(['product', 'add', '--name', 'Last', '--id', '4294967295']);
    expect(await shop.run(['product', 'add', '--name', 'Next'])).toMatchObject({
      code: 1,
      stderr: 'error: There is no higher id than 4294967295. Choose one with --id.\n',
    });
    expect(await shop.json(['product', 'list'])).toHaveLength(1);
  });

  it('erases the progress line before an error', async () => {
    await shop.json(['product', 'add', '--name', 'Shop', '--id', '42']);
    const file = join(temporaryFolder(), 'no.zip');
    writeFileSync(file, randomBytes(3_000_000));
    const command = `${process.execPath} ${CLI} release publish --product 42 --version 1.0 --file ${file}`;
    const child = startProcess('script', ['-qec', command, '/dev/null'], {
      env: processEnvironment(settings),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout!.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
    await once(child, 'close');
    expect(output).toContain(' MB\r\u001b[Kerror: ');
  });
});

it('ends with its exit code when it runs as a separate process, and reads a pipe to its end', async () => {
  const settings = { LICENSING_DATABASE_URL: `sqlite:${join(temporaryFolder(), 'shop.sqlite')}` };
  const ends = async (args: string[], stdin = '') => {
    const inProcess = await operator(settings).run(args, { stdin });
    expect(await operator(settings).run(args, { stdin, ownProcess: true })).toEqual(inProcess);
    return inProcess.code;
  };
  expect(await ends(['license', 'show', KEY, '--json'])).toBe(1);
  expect(await operator(settings).run(['migrate'], { ownProcess: true })).toMatchObject({ code: 0 });
  expect(await ends(['migrate', '--status', '--json'])).toBe(0);
  expect(await ends(['license', 'show', '-', '--json'], `${KEY}\n`)).toBe(1);
  expect(await ends(['product', 'list', '--colour'])).toBe(2);
  expect(await ends(['license', 'issue', '--help'])).toBe(0);
  expect(await ends(['-V'])).toBe(0);
});

it('asks at a terminal for the value that standard input should have', async () => {
  const settings = { LICENSING_DATABASE_URL: `sqlite:${join(temporaryFolder(), 'shop.sqlite')}` };
  expect(await operator(settings).run(['migrate'])).toMatchObject({ code: 0 });
  const typed = async (question: string, text: string, ...args: string[]) => {
    const command = `${process.execPath} ${CLI} ${args.join(' ')}`;
    const child = startProcess('script', ['-qec', command, '/dev/null'], {
      env: processEnvironment(settings),
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    let [output, isAnswered] = ['', false];
    child.stdout!.setEncoding('utf8').on('data', (chunk: string) => {
      // If TERM can move the cursor, readline does so, perhaps in a separate chunk.
      output += stripVTControlCharacters(chunk);
      if (isAnswered || !output.endsWith(`${question}: `)) return;
      isAnswered = true;
      child.stdin!.write(text);
    });
    const [code] = (await once(child, 'close')) as [number];
    return { code, output };
  };
  expect(await typed('Key, id or reference', 'unknown\r', 'license', 'show', '-')).toEqual({
    code: 1,
    output: expect.stringMatching(
      /^Key, id or reference: unknown\r+\nerror: There is no licence with this key/s,
    ),
  });
  for (const end of ['\u0003', '\u0004'])
    expect(await typed('E-mail address', end, 'customer', 'show', '-')).toEqual({
      code: 1,
      output: expect.stringMatching(
        /^E-mail address: \r?\nerror: Nothing was done: the question was not answered\.\r?\n$/,
      ),
    });
});

it('prints the address to open, with brackets around an IPv6 address', async () => {
  const folder = temporaryFolder();
  const { code, stdout } = await operator({
    LICENSING_ENV_FILE: join(folder, '.env'),
    LICENSING_DATABASE_URL: `sqlite:${join(folder, 'shop.sqlite')}`,
    LICENSING_PACKAGES_DIR: join(folder, 'packages'),
    LICENSING_LISTEN: '[::1]:3080',
    LICENSING_ADMIN_LISTEN: '[::1]:3081',
  }).run(['init']);
  expect(code).toBe(0);
  expect(stdout).toContain('(it listens on http://[::1]:3080)');
  expect(stdout).toContain(' http://[::1]:3081/readyz\n');
});
