import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { table } from '../../src/store/engine/database';
import { operator, type Operator } from '../support/operator';
import { eventually, temporaryFolder } from '../support/processes';
import {
  ONE_BACKEND,
  countTimes,
  PREFIX,
  startTestService,
  storedLicense,
  type TestService,
} from '../support/service';

/** The seller's commands for the keys of a licence and for staging sites, and how support sees both. */

interface Key {
  id: number;
  license_key?: string;
  key_hint: string;
  label: string | null;
  activation_limit: number | null;
  ends_at: string | null;
  created_at: string;
}

interface Told {
  findings: { code: string; text: string; remedy: string | null }[];
  accesses: { code: string; text: string; remedy: string | null; license_id: number | null }[];
}

const OWN_KEY = /^[0-9A-F]{8}(-[0-9A-F]{8}){3}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

describe.each(ONE_BACKEND)('on %s', (_name, backend) => {
  let service: TestService;
  let shop: Operator;

  beforeAll(async () => {
    const settings = {
      LICENSING_DATABASE_URL: `sqlite:${temporaryFolder()}/keys.sqlite`,
      LICENSING_PACKAGES_DIR: temporaryFolder(),
      LICENSING_KEY_SECRET: Buffer.alloc(32, 7).toString('base64'),
      ...(await backend()),
    };
    service = await startTestService(settings);
    shop = operator(settings);
    await shop.json(['product', 'add', '--id', '42', '--name', 'Example Shop']);
    const plan = 'plan add --product 42 --activation-type domain --activation-limit 3 --name'.split(' ');
    await shop.json([...plan, 'Developer']);
    await shop.json([...plan, 'Agency', '--free-staging', 'on']);
  });
  afterAll(() => service.stop());

  async function issue(plan = 1): Promise<{ id: number; key: string; main: number }> {
    const { id, license_key: key } = await shop.json<{ id: number; license_key: string }>([
      ...['license', 'issue', '--plan', String(plan)],
    ]);
    return { id, key, main: (await storedLicense(service.db, id)).main_key_id as number };
  }
  const key = (verb: string, id: number, ...args: string[]) =>
    shop.json<Key>(['license', 'key', verb, String(id), ...args]);
  const list = (id: number) => shop.json<Key[]>(['license', 'key', 'list', String(id)]);
  const why = (what: string | number) => shop.json<Told>(['why', String(what)]);

  async function text(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await shop.run(args);
    expect({ args, code, stderr: stderr.replace(/^(?:It is key|The old key|note:) .*\n/gm, '') }).toEqual({
      args,
      code: 0,
      stderr: '',
    });
    return stdout;
  }

  async function refused(args: string[]): Promise<{ code: string; message: string }> {
    const { code, stdout, stderr } = await shop.run([...args, '--json']);
    const { error } = JSON.parse(stdout) as { error: { code: string; message: string } };
    expect({ args, code, stderr }).toEqual({ args, code: 1, stderr: `error: ${error.message}\n` });
    return error;
  }

  /** A separate address for each test, because "why" also shows other requests from a customer's address. */
  let client = '';
  let clients = 0;
  beforeEach(() => void (client = `198.51.100.${++clients}`));

  async function call(verb: string, license_key: string, identifier: string) {
    service.clock.now = new Date();
    const answer = await request(service.url)
      .post(`${PREFIX}/licenses/${verb}`)
      .set('X-Forwarded-For', client)
      .send({ license_key, identifier });
    const { data, error } = answer.body as { data?: { activations_used: number }; error?: { code: string } };
    return error?.code ?? data?.activations_used;
  }

  async function history(id: number): Promise<[string, unknown, unknown][]> {
    const events = await shop.json<{ action: string; before: unknown; after: unknown }[]>([
      ...['license', 'history', String(id)],
    ]);
    return events.map(({ action, before, after }) => [action, before, after]);
  }

  it('adds a key with or without terms, and shows it once', async () => {
    const { id, key: main } = await issue();
    const plain = await key('add', id);
    expect(plain).toEqual({
      id: expect.any(Number),
      license_key: expect.stringMatching(OWN_KEY),
      key_hint: plain.license_key!.slice(-8),
      label: null,
      activation_limit: null,
      ends_at: null,
      created_at: expect.stringMatching(TIME),
    });
    expect(Object.keys(plain)).toEqual([
      ...['id', 'license_key', 'key_hint', 'label', 'activation_limit', 'ends_at', 'created_at'],
    ]);
    const limited = await key('add', id, '--label', 'Bakery Smith', '--limit', '1', '--ends', '2099-03-03');
    expect(limited).toMatchObject({
      ...{ label: 'Bakery Smith', activation_limit: 1, ends_at: '2099-03-03T23:59:59Z' },
    });
    const { stdout, stderr, code } = await shop.run(['license', 'key', 'add', main]);
    expect([code, stdout.trim()]).toEqual([0, expect.stringMatching(OWN_KEY)]);
    expect(stderr).toMatch(
      new RegExp(`^It is key (\\d+) of licence ${id}\\. To end it: licensing license key end ${id} \\1`),
    );
    const all = await list(id);
    expect(all.map(({ id: one }) => one)).toEqual(all.map(({ id: one }) => one).sort((a, b) => a - b));
    expect(all).toHaveLength(4);
    expect(all[2]).toEqual({ ...limited, license_key: undefined });
    for (const one of all) expect(one).not.toHaveProperty('license_key');
    expect((await history(id)).slice(1, 3)).toEqual([
      ['add-key', null, { ...terms(plain) }],
      ['add-key', null, { ...terms(limited) }],
    ]);
    expect(await shop.json(['license', 'show', String(id)])).toMatchObject({ keys: all });
    expect((await shop.json<object[]>(['license', 'list']))[0]).not.toHaveProperty('keys');
  });

  const terms = ({ id, key_hint, label, activation_limit, ends_at }: Key) => ({
    key_id: id,
    ...{ key_hint, label, activation_limit, ends_at },
  });

  it('lists keys in a table, and shows them with the licence if there are several', async () => {
    const { id, key: mainKey, main } = await issue();
    const table = () => text('license', 'key', 'list', String(id));
    expect(await text('license', 'show', String(id))).not.toContain('LABEL');
    const limited = await key('add', id, '--label', 'Bakery', '--limit', '2', '--ends', '2099-03-03');
    expect(await call('activate', limited.license_key!, 'a.com')).toBe(1);
    expect(await call('activate', mainKey, 'b.com')).toBe(2);
    const squeezed = (await table()).replace(/ +/g, ' ');
    expect(squeezed).toContain('ID KEY LABEL SLOTS ENDS');
    expect(squeezed).toContain(`${main} ${mainKey.slice(-8)} main key 1 with the licence`);
    expect(squeezed).toContain(`${limited.id} ${limited.key_hint} Bakery 1/2 2099-03-03T23:59:59Z`);
    expect((await text('license', 'show', String(id))).replace(/ +/g, ' ')).toContain(squeezed.trim());
    await shop.json(['license', 'rekey', String(id), '--key-id', String(limited.id), '--overlap', '14d']);
    const [, , successor] = await list(id);
    expect((await table()).replace(/\s+/g, ' ')).toMatch(
      new RegExp(`${limited.id} ${limited.key_hint} Bakery - \\S+, replaced by ${successor!.id} `),
    );
    // A leaked key can be ended before its overlap is over.
    await key('end', id, String(limited.id));
    expect(
      (await list(id)).map(({ ends_at }) => ends_at !== null && Date.parse(ends_at) <= Date.now()),
    ).toEqual([false, true, false]);
    await key('end', id, String(successor!.id));
    expect((await table()).replace(/\s+/g, ' ')).toMatch(/ 1\/2 ended \S+Z/);
  });

  it('notes if a key gets more than its licence has', async () => {
    const { id } = await issue();
    const added = await shop.run(['license', 'key', 'add', String(id), '--limit', '30']);
    expect(added).toMatchObject({ code: 0, stderr: expect.stringMatching(/has 3 slots in all, fewer/) });
    await shop.json(['license', 'renew', String(id), '--until', '2098-01-01']);
    const later = await shop.run(['license', 'key', 'add', String(id), '--ends', '2099-01-01']);
    expect(later.stderr).toMatch(/ends before this key, on 2098-01-01T23:59:59Z/);
    await shop.json(['license', 'suspend', String(id)]);
    const closed = await shop.run(['license', 'key', 'add', String(id)]);
    expect(closed.stderr).toMatch(/is suspended, so this key does not work now/);
  });

  it('changes the terms of a key, and removes them', async () => {
    const { id } = await issue();
    const added = await key('add', id, '--label', 'Bakery');
    const [, shown] = await list(id);
    const edit = (...args: string[]) => key('edit', id, String(added.id), ...args);
    const changed = await edit('--label', 'Bakery Smith', '--limit', '2', '--ends', '2099-01-31');
    expect(changed).toEqual({
      ...shown,
      ...{ label: 'Bakery Smith', activation_limit: 2, ends_at: '2099-01-31T23:59:59Z' },
    });
    expect(await edit('--limit', '5')).toEqual({ ...changed, activation_limit: 5 });
    expect(await edit('--label', 'none', '--limit', 'none', '--ends', 'none')).toEqual({
      ...shown,
      label: null,
    });
    expect((await history(id)).map(([action]) => action)).toEqual([
      ...['issue', 'add-key', 'edit-key', 'edit-key', 'edit-key'],
    ]);
    expect((await history(id))[2]).toEqual(['edit-key', terms(added), terms(changed)]);
    expect(await text('license', 'key', 'edit', String(id), String(added.id), '--limit', '4')).toBe(
      `Key ${added.id} of licence ${id} is changed.\n`,
    );
    const told = await text('license', 'history', String(id));
    expect(told).toContain('    label: Bakery -> Bakery Smith\n');
    expect(told).toContain('    activation_limit: none -> 2\n');
    // An unchanged field is shown once.
    expect(told).toContain(`    key_id: ${added.id}\n`);
  });

  it('ends a key, and keeps its sites or removes them', async () => {
    const { id, key: main } = await issue(2);
    const given = await key('add', id, '--label', 'Bakery');
    for (const site of ['bakery.com', 'staging.bakery.com', 'localhost'])
      expect(await call('activate', given.license_key!, site)).toBe(1);
    expect(await call('activate', main, 'dev.bakery.com')).toBe(1);
    expect(await call('activate', main, 'own.com')).toBe(2);
    expect(await text('license', 'key', 'end', String(id), String(given.id))).toBe(
      `Key ${given.id} of licence ${id} has ended.\n`,
    );
    expect(await call('validate', given.license_key!, 'bakery.com')).toBe('LICENSE_NOT_FOUND');
    expect(await call('validate', main, 'bakery.com')).toBe(2);
    const ended = await key('end', id, String(given.id), '--free');
    expect(ended).toEqual({
      ...{ id: given.id, key_hint: given.key_hint, label: 'Bakery', activation_limit: null },
      ...{ ends_at: expect.stringMatching(TIME), created_at: given.created_at },
      freed: ['bakery.com', 'staging.bakery.com', 'localhost', 'dev.bakery.com'],
    });
    expect(await call('validate', main, 'own.com')).toBe(1);
    const events = await history(id);
    expect(events.map(([action]) => action).slice(-5)).toEqual([
      'end-key',
      ...Array<string>(4).fill('deactivate'),
    ]);
    expect(events.find(([action]) => action === 'end-key')).toEqual([
      'end-key',
      terms(given),
      { ...terms(given), ends_at: ended.ends_at },
    ]);
    expect(await call('activate', main, 'c.com')).toBe(2);
    const other = await key('add', id);
    await call('activate', other.license_key!, 'd.com');
    expect(await text('license', 'key', 'end', String(id), String(other.id), '--free')).toBe(
      `Key ${other.id} of licence ${id} has ended.\nd.com is removed.\n`,
    );
  });

  it('replaces the main key, or another one, at once or after a while', async () => {
    const { id, key: oldMain, main } = await issue();
    const renewed = await shop.json<Key>(['license', 'rekey', String(id)]);
    expect(renewed).toEqual({
      id: expect.any(Number),
      license_key: expect.stringMatching(OWN_KEY),
      key_hint: renewed.license_key!.slice(-8),
      ...{ label: null, activation_limit: null, ends_at: null },
      created_at: expect.stringMatching(TIME),
    });
    expect(await storedLicense(service.db, id)).toMatchObject({ main_key_id: renewed.id });
    expect(await call('validate', oldMain, 'a.com')).toBe('LICENSE_NOT_FOUND');
    // Any of the licence's keys can name the licence.
    const given = await key('add', id, '--label', 'Bakery', '--limit', '1', '--ends', '2099-01-31');
    const { stdout, stderr } = await shop.run([
      ...['license', 'rekey', oldMain, '--key-id', String(given.id), '--overlap', '14d'],
    ]);
    expect(stdout.trim()).toMatch(OWN_KEY);
    expect(stderr).toMatch(/^The old key works until \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\.\n$/);
    const keys = await list(id);
    expect(keys.map(({ id: one }) => one).slice(0, 3)).toEqual([main, renewed.id, given.id]);
    expect(keys[3]).toMatchObject({
      ...{ label: 'Bakery', activation_limit: 1, ends_at: '2099-01-31T23:59:59Z' },
    });
    const until = Date.parse(keys[2]!.ends_at!) - Date.now();
    expect(until / 86_400_000).toBeGreaterThan(13.9);
    expect(until / 86_400_000).toBeLessThan(14.1);
    expect((await history(id)).filter(([action]) => action === 'rekey')).toEqual([
      [
        'rekey',
        { key_id: main, key_hint: oldMain.slice(-8) },
        { key_id: renewed.id, key_hint: renewed.key_hint },
      ],
      [
        'rekey',
        { key_id: given.id, key_hint: given.key_hint },
        { key_id: keys[3]!.id, key_hint: keys[3]!.key_hint, old_key_ends_at: keys[2]!.ends_at },
      ],
    ]);
    const told = await text('license', 'history', String(id));
    expect(told).toContain(`    key_hint: ${given.key_hint} -> ${keys[3]!.key_hint}\n`);
    expect(told).toContain(`    old_key_ends_at: ${keys[2]!.ends_at}\n`);
  });

  it('reveals the main key, or the requested one', async () => {
    const { id, key: main } = await issue();
    const given = await key('add', id);
    expect(await shop.json(['license', 'reveal', String(id)])).toMatchObject({ license_key: main });
    const reveal = ['license', 'reveal', String(id), '--key-id', String(given.id)];
    expect(await shop.json(reveal)).toMatchObject({ license_key: given.license_key });
    expect(await text(...reveal)).toBe(`${given.license_key}\n`);
    expect((await history(id)).slice(-3)).toEqual([
      ['reveal', null, null],
      ['reveal', null, { key_id: given.id }],
      ['reveal', null, { key_id: given.id }],
    ]);
    expect(await refused(['license', 'reveal', String(id), '--key-id', '999999'])).toMatchObject({
      code: 'NOT_FOUND',
    });
  });

  it('refuses changes that a main key, an ended key or a key of another licence cannot have', async () => {
    const { id, main } = await issue();
    const { main: others } = await issue();
    const given = await key('add', id);
    const conflict = async (...args: string[]) =>
      expect(await refused(['license', ...args])).toMatchObject({ code: 'CONFLICT' });
    const [on, ofMain, of] = [String(id), String(main), String(given.id)];
    await conflict('key', 'end', on, ofMain);
    await conflict('key', 'edit', on, ofMain, '--limit', '1');
    await conflict('key', 'edit', on, ofMain, '--ends', '2099-01-31');
    await key('edit', id, ofMain, '--label', 'The first');
    for (const args of [
      ['key', 'end', on, String(others)],
      ['key', 'edit', on, String(others), '--label', 'x'],
      ['rekey', on, '--key-id', '999999'],
    ])
      expect(await refused(['license', ...args])).toMatchObject({ code: 'NOT_FOUND' });
    expect(await refused(['license', 'key', 'add', on, '--ends', '2020-01-01'])).toMatchObject({
      code: 'INVALID_REQUEST',
    });
    await key('end', id, of);
    expect(await refused(['license', 'key', 'end', on, of])).toMatchObject({ code: 'NOT_FOUND' });
    await conflict('key', 'edit', on, of, '--label', 'x');
    await conflict('rekey', on, '--key-id', of);
    await shop.json(['license', 'rekey', on]);
    await conflict('rekey', on, '--key-id', ofMain);
    // As text, a refusal names the remedy. It changes nothing.
    const { code, stderr } = await shop.run(['license', 'key', 'end', on, of]);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^error: Key \d+ ended on .*Add another key\./),
    ]);
  });

  it.each([
    ['license key add 1 --limit 0', /limit/],
    ['license key add 1 --limit many', /limit/],
    ['license key add 1 --ends soon', /ends/],
    ['license key add 1 --label', /label/],
    ['license key add', /key/],
    ['license key edit 1 2', /option|change/i],
    ['license key edit 1 two --limit 1', /key_id/],
    ['license key edit 1 2 --limit nothing', /limit/],
    ['license key end 1', /key_id/],
    ['license key end 1 0', /key_id/],
    ['license rekey 1 --overlap never', /overlap/],
    ['license rekey 1 --key-id x', /key-id/],
    ['license reveal 1 --key-id 0', /key-id/],
    ['plan edit 1 --free-staging maybe', /must be one of on, off/],
  ])('reports "%s" as a usage error', async (line, words) => {
    const { code, stdout, stderr } = await shop.run(line.split(' '));
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringMatching(words)]);
  });

  it('shows and lists free sites, and changes the option of a plan', async () => {
    const { id, key: main, main: keyId } = await issue(2);
    for (const site of ['shop.com', 'staging.shop.com', '10.1.2.3']) await call('activate', main, site);
    const activations = await shop.json<object[]>(['activation', 'list', String(id)]);
    expect(activations).toMatchObject([
      { identifier: 'shop.com', free: false, key_id: keyId },
      { identifier: 'staging.shop.com', free: true, key_id: keyId },
      { identifier: '10.1.2.3', free: true, key_id: keyId },
    ]);
    expect(await shop.json(['license', 'show', String(id)])).toMatchObject({
      activations_used: 1,
      activations,
    });
    const shown = (await text('license', 'show', String(id))).replace(/ +/g, ' ');
    expect(shown).toContain('slots 1 of 3 slots used, by domain');
    expect(shown).toMatch(/^shop\.com .* one$/m);
    expect(shown).toMatch(/^staging\.shop\.com .* free$/m);

    const plans = await shop.json<{ free_staging: boolean }[]>(['plan', 'list']);
    expect(plans.map((plan) => plan.free_staging)).toEqual([false, true]);
    const edit = (word: string) => shop.json(['plan', 'edit', '2', '--free-staging', word]);
    expect(await edit('off')).toMatchObject({ id: 2, free_staging: false });
    // Existing activations do not change.
    expect(await shop.json(['activation', 'list', String(id)])).toEqual(activations);
    expect(await call('activate', main, 'dev.shop.com')).toBe(2);
    expect(await edit('on')).toMatchObject({ free_staging: true });
    expect(
      await shop.run(
        'plan add --product 42 --name Seats --activation-type seat --activation-limit 3 --free-staging on'.split(
          ' ',
        ),
      ),
    ).toMatchObject({ code: 1 });

    const { id: first, key: early } = await issue(2);
    await call('activate', early, 'staging.first.com');
    await call('activate', early, 'first.com');
    expect((await history(first)).slice(1)).toMatchObject([
      ['activate', { activations_used: 0 }, { activations_used: 1 }],
      [
        'free-activation',
        { activations_used: 1, identifier: 'staging.first.com' },
        { activations_used: 0, identifier: 'staging.first.com' },
      ],
      ['activate', { activations_used: 0 }, { activations_used: 1 }],
    ]);
    expect(await text('license', 'history', String(first))).toContain('    identifier: staging.first.com\n');
  });

  it('does not count free sites when the doctor compares and repairs counters', async () => {
    const { id, key: main } = await issue(2);
    for (const site of ['count.com', 'dev.count.com', 'localhost']) await call('activate', main, site);
    const counters = async (...args: string[]) => {
      const { stdout } = await shop.run(['doctor', ...args, '--json']);
      const { findings } = JSON.parse(stdout) as {
        findings: { code: string; level: string; what: string }[];
      };
      return findings.find(({ code }) => code.startsWith('COUNTERS'));
    };
    expect(await counters()).toMatchObject({ code: 'COUNTERS', level: 'ok' });
    await service.db(table(service.db, 'licenses')).where({ id }).update({ activations_used: 3 });
    expect(await counters()).toMatchObject({
      level: 'problem',
      what: `1 licence counts a number of used slots that does not match the activations: ${id} (counts 3, has 1).`,
    });
    expect(await counters('--repair')).toMatchObject({ code: 'COUNTERS_REPAIRED' });
    expect(await storedLicense(service.db, id)).toMatchObject({ activations_used: 1 });
  });

  describe('"why"', () => {
    let logged = 0;
    async function expectRefused(verb: string, by: string, site: string, code: string): Promise<void> {
      logged ||= await countTimes(service.db, 'access_log');
      expect(await call(verb, by, site)).toBe(code);
      logged++;
      await eventually(async () => expect(await countTimes(service.db, 'access_log')).toBe(logged));
    }

    it('states when an ended key ended, and that no other replaced it', async () => {
      const { id } = await issue();
      const given = await key('add', id, '--label', 'Bakery');
      await key('end', id, String(given.id));
      const today = new Date().toISOString().slice(0, 10);
      await expectRefused('activate', given.license_key!, 'a.com', 'LICENSE_NOT_FOUND');
      const { findings, accesses } = await why(given.license_key!);
      expect(findings[0]).toEqual({
        code: 'KEY_ENDED',
        text: `This key ended on ${today}, and no other took its place.`,
        remedy: `If the customer may still use the licence, they need another key: licensing license key add ${id}`,
      });
      expect(accesses).toMatchObject([
        {
          code: 'KEY_ENDED',
          license_id: id,
          text: expect.stringMatching(
            `^Activating a\\.com with licence ${id} was refused .*: the key ended on ${today}, and no other took its place\\.$`,
          ),
        },
      ]);
      // For the licence, "why" reports the refusal, and nothing about the key.
      expect(await why(id)).toMatchObject({
        findings: [{ code: 'ACTIVE' }, { code: 'NOTHING_PUBLISHED' }],
        accesses: [{ code: 'KEY_ENDED' }],
      });
      expect((await why(given.key_hint)).findings[0]?.text).toBe(
        `The key with this end ended on ${today}, and no other took its place.`,
      );
    });

    it('states when a replaced key ends, and which key replaced it', async () => {
      const { id, key: main } = await issue();
      const first = await key('add', id, '--label', 'Bakery');
      const rekey = (...args: string[]) => shop.json<Key>(['license', 'rekey', String(id), ...args]);
      const second = await rekey('--key-id', String(first.id), '--overlap', '14d');
      const [, { ends_at: end }] = (await list(id)) as [Key, Key];
      expect((await why(first.license_key!)).findings[0]).toEqual({
        code: 'KEY_ENDS',
        text: `This key ends on ${end!.slice(0, 10)}; another took its place, which ends in ${second.key_hint}.`,
        remedy: `The customer needs the new key: licensing license reveal ${id} --key-id ${second.id}`,
      });
      const newMain = await rekey();
      expect((await why(main)).findings[0]).toMatchObject({
        code: 'KEY_REPLACED',
        text: expect.stringMatching(`another took its place, which ends in ${newMain.key_hint}\\.$`),
        remedy: `The customer needs the new key: licensing license reveal ${id}`,
      });
      await key('end', id, String(second.id));
      await shop.json(['license', 'cancel', String(id)]);
      expect((await why(second.license_key!)).findings).toMatchObject([
        { code: 'KEY_ENDED', remedy: null },
        { code: 'CANCELLED' },
        { code: 'NOTHING_PUBLISHED' },
        { code: 'NOTHING_RECORDED' },
      ]);
    });

    it('names the key whose own limit was reached, together with the licence', async () => {
      const { id, key: main } = await issue();
      const given = await key('add', id, '--label', 'Bakery Smith', '--limit', '1');
      const named = `key ${given.id} ("Bakery Smith")`;
      await call('activate', given.license_key!, 'bakery.com');
      await expectRefused('activate', given.license_key!, 'second.com', 'ACTIVATION_LIMIT_REACHED');
      const edit = `licensing license key edit ${id} ${given.id} --limit 2`;
      const { findings, accesses } = await why(given.license_key!);
      expect(findings[0]).toMatchObject({
        code: 'KEY_SLOTS_FULL',
        text: `The one slot of ${named} is in use (1). By this key nothing more can be activated.`,
        remedy: expect.stringMatching(`; or ${edit}$`),
      });
      expect(accesses).toMatchObject([
        {
          code: 'KEY_SLOTS_FULL',
          text: expect.stringContaining(
            `: the one slot of ${named} is in use (1), while the licence uses 1 of 3.`,
          ),
          remedy: expect.stringMatching(`; or ${edit}$`),
        },
      ]);
      for (const site of ['b.com', 'c.com']) await call('activate', main, site);
      expect((await why(id)).accesses).toMatchObject([
        {
          code: 'SLOTS_FULL',
          text: expect.stringContaining(`: all 3 slots are in use; used slots of ${named}: 1 of 1.`),
        },
      ]);
      await shop.json(['license', 'set-limit', String(id), '5']);
      await key('edit', id, String(given.id), '--limit', '2');
      expect((await why(given.license_key!)).findings[0]).toMatchObject({ code: 'KEY_SLOTS' });
      expect((await why(id)).accesses).toMatchObject([{ code: 'SLOT_FREE' }]);
    });

    it('states that a site which a limited key cannot free belongs to another key', async () => {
      const { id, key: main } = await issue();
      const given = await key('add', id, '--label', 'Bakery', '--limit', '2');
      await call('activate', main, 'own.com');
      await expectRefused('deactivate', given.license_key!, 'own.com', 'ACTIVATION_NOT_FOUND');
      await expectRefused('deactivate', given.license_key!, 'none.com', 'ACTIVATION_NOT_FOUND');
      expect((await why(id)).accesses).toMatchObject([
        {
          code: 'OTHER_KEY',
          text: expect.stringContaining(
            `: this site was activated with another key (the main key), and key ${given.id} ("Bakery") frees only slots that were taken with it.`,
          ),
          remedy: `licensing activation remove ${id} own.com`,
        },
        { code: 'NOT_ACTIVATED' },
      ]);
    });

    it('says which sites are free, and why', async () => {
      const { id, key: main } = await issue(2);
      for (const site of ['example.com', 'staging.example.com', 'localhost'])
        await call('activate', main, site);
      const told = {
        code: 'FREE_SITES',
        text: 'staging.example.com takes no slot as long as example.com has one. localhost takes no slot: only its own machine or network reaches it.',
        remedy: null,
      };
      for (const what of [id, main, 'staging.example.com'])
        expect((await why(what)).findings).toContainEqual(told);
    });

    it('says why a staging site needs a slot', async () => {
      const { id, key: main } = await issue(2);
      for (const site of ['a.com', 'b.com', 'c.com']) await call('activate', main, site);
      await expectRefused('activate', main, 'dev.d.com', 'ACTIVATION_LIMIT_REACHED');
      expect((await why(id)).accesses.at(-1)).toMatchObject({
        code: 'SLOTS_FULL',
        text: expect.stringMatching(
          / in use; it is a staging site, which takes no slot as soon as another site of d\.com has one\.$/,
        ),
      });
      for (let i = 1; i <= 15; i++) expect(await call('activate', main, `dev${i}.a.com`)).toBe(3);
      await expectRefused('activate', main, 'qa.a.com', 'ACTIVATION_LIMIT_REACHED');
      await expectRefused('activate', main, 'intranet', 'ACTIVATION_LIMIT_REACHED');
      const most = 'site, but 15 sites take no slot already, the most for this licence.';
      const { accesses, findings } = await why(id);
      expect(accesses.slice(-2)).toMatchObject([
        { text: expect.stringContaining(`; it is a staging ${most}`) },
        { text: expect.stringContaining(`; it is a local ${most}`) },
      ]);
      expect(findings.find(({ code }) => code === 'FREE_SITES')?.text).toMatch(
        /^dev1\.a\.com, .* and dev10\.a\.com take no slot as long as a\.com has one\. There are more free sites\.$/,
      );
      await call('deactivate', main, 'dev15.a.com');
      expect((await why(id)).accesses.at(-1)).toMatchObject({
        code: 'SLOT_FREE',
        text: expect.stringContaining('; this site takes no slot now.'),
      });
    });
  });
});
