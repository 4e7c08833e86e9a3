import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { createLedger, type Ledger } from '../../src/licensing/core/ledger';
import { recordEvents } from '../../src/licensing/webhook-events';
import { keyDigest } from '../../src/licensing/core/keys';
import { setMetadata } from '../../src/licensing/amend';
import { eraseCustomer } from '../../src/privacy/erase-customer';
import { table, type Db } from '../../src/store/engine/database';
import { addPlan, operator, type Operator } from '../support/operator';
import { temporaryFolder } from '../support/processes';
import {
  ONE_KIND,
  giveLicense,
  newPlace,
  PREFIX,
  rows,
  startTestService,
  type DATABASE_KINDS,
  type TestLicense,
  type TestService,
} from '../support/service';

/** A licence's metadata, and its revision, which every change raises by one. */

interface Shown {
  id: number;
  metadata: Record<string, string>;
  revision: number;
}

interface Place {
  settings: Awaited<ReturnType<typeof newPlace>> & { LICENSING_KEY_SECRET: string };
  service: TestService;
  db: Db;
  shop: Operator;
}

const SEALED = { LICENSING_KEY_SECRET: Buffer.alloc(32, 7).toString('base64') };
const KEY = 'A1B2C3D4-E5F6A7B8-C9D0E1F2-A3B4C5D6';
/** The longest text, in code points, made of characters that take the most bytes. */
const LONGEST = '\u{1f600}'.repeat(500);

async function startPlace(kind: (typeof DATABASE_KINDS)[number]): Promise<Place> {
  const settings = { ...(await newPlace(kind)), ...SEALED };
  const service = await startTestService(settings);
  const shop = operator(settings);
  await shop.json(['product', 'add', '--id', '42', '--name', 'Example Shop']);
  await addPlan(shop, '42', 'Club', 'domain', '3', '--duration', '1y');
  return { settings, service, db: service.db, shop };
}

describe.each(ONE_KIND)('on %s', (kind) => {
  let place: Place;
  let db: Db;
  let shop: Operator;

  beforeAll(async () => {
    place = await startPlace(kind);
    ({ db, shop } = place);
  });
  afterAll(() => place.service.stop());

  const issue = (...args: string[]) =>
    shop.json<{ id: number; license_key: string }>(['license', 'issue', '--plan', '1', ...args]);
  const show = (id: number) => shop.json<Shown>(['license', 'show', `id:${id}`]);
  const set = (id: number, ...changes: string[]) =>
    shop.json<Shown>(['license', 'metadata', `id:${id}`, ...changes]);
  const history = (id: number) =>
    shop.json<{ action: string; before: unknown; after: unknown }[]>(['license', 'history', `id:${id}`]);
  const revision = async (id: number) => (await show(id)).revision;

  describe('metadata', () => {
    it('is given when a licence is issued, and merged by name later', async () => {
      const { id } = await issue('--metadata', 'order_item=77', '--metadata', 'note= two = 2 ');
      expect(await show(id)).toMatchObject({ metadata: { order_item: '77', note: 'two = 2' }, revision: 1 });
      expect(await set(id, 'channel=fair', 'note=', 'constructor=x')).toMatchObject({
        metadata: { channel: 'fair', constructor: 'x', order_item: '77' },
        revision: 2,
      });
      const listed = await shop.json<Shown[]>(['license', 'list']);
      expect(listed.find((one) => one.id === id)).toMatchObject({
        metadata: { channel: 'fair' },
        revision: 2,
      });
      const [issued, changed] = await history(id);
      expect(issued).toMatchObject({ after: { metadata: { note: 'two = 2', order_item: '77' } } });
      expect(changed).toMatchObject({
        action: 'set-metadata',
        before: { metadata: { channel: null, constructor: null, note: 'two = 2' } },
        after: { metadata: { channel: 'fair', constructor: 'x', note: null } },
      });
    });

    it('is {} if there is none, and no event mentions it', async () => {
      const { id } = await issue();
      expect(await show(id)).toMatchObject({ metadata: {}, revision: 1 });
      expect(Object.keys((await history(id))[0]!.after as object)).not.toContain('metadata');
      expect((await shop.run(['license', 'metadata', String(id)])).stdout).toBe(
        `Licence ${id} has no metadata.\n`,
      );
      await set(id, 'a=1');
      expect(await set(id, 'a=')).toMatchObject({ metadata: {}, revision: 3 });
      expect(await rows(db, 'licenses')).toContainEqual(expect.objectContaining({ id, metadata: null }));
    });

    it('is shown as text, with its changes', async () => {
      const { id } = await issue('--metadata', 'channel=fair');
      const { stdout } = await shop.run(['license', 'metadata', String(id), 'size=\u202e4']);
      expect(stdout).toBe('channel  fair\nsize     \\u{202e}4\n');
      await set(id, 'channel=', 'size=5');
      expect((await shop.run(['license', 'show', String(id)])).stdout).toMatch(/^metadata\.size +5$/m);
      const told = (await shop.run(['license', 'history', String(id)])).stdout;
      expect(told).toContain(
        '  set-metadata\n    metadata.channel: fair -> none\n    metadata.size: \\u{202e}4 -> 5\n',
      );
      expect(told).toContain('    metadata.channel: fair\n');
    });

    it('changes nothing and records nothing if all values are the same', async () => {
      const { id } = await issue('--metadata', 'channel=fair');
      expect(await set(id, 'channel=fair', 'unknown=')).toMatchObject({ revision: 1 });
      expect(await history(id)).toHaveLength(1);
    });

    it('is not changed by a repeated reference, as a note says', async () => {
      const order = ['--reference', `order-${kind}`, '--metadata'];
      const { id } = await issue(...order, 'channel=fair');
      const repeated = (text: string) => shop.run(['license', 'issue', '--plan', '1', ...order, text]);
      expect((await repeated('channel=fair')).stderr).not.toContain('metadata');
      expect((await repeated('channel=web')).stderr).toContain(
        `note: licence ${id} was issued before, and keeps its metadata, which "licensing license metadata" changes.`,
      );
      const more = Array.from({ length: 20 }, (_, i) => ['--metadata', `n${i}=1`]).flat();
      expect(await issue(...order, 'constructor=x', ...more)).toMatchObject({ id });
      expect(await show(id)).toMatchObject({ metadata: { channel: 'fair' }, revision: 1 });
    });

    it('has 20 names of 500 characters at the most', async () => {
      const { id } = await issue();
      const many = Array.from({ length: 20 }, (_, i) => `${String(i).padStart(2, '0')}.${'n'.repeat(37)}`);
      const full = await set(id, ...many.map((name) => `${name}=${LONGEST}`));
      expect(full.metadata).toEqual(Object.fromEntries(many.map((name) => [name, LONGEST])));
      const { code, stderr } = await shop.run(['license', 'metadata', String(id), 'more=1']);
      expect([code, stderr]).toEqual([1, expect.stringContaining('at most 20 names')]);
      expect(await set(id, 'more=1', `${many[0]}=`)).toMatchObject({ revision: 3 });
      const before = await rows(db, 'licenses');
      const tooMany = [...many, 'more'].flatMap((name) => ['--metadata', `${name}=1`]);
      expect((await shop.run(['license', 'issue', '--plan', '1', ...tooMany])).code).toBe(1);
      expect(await rows(db, 'licenses')).toEqual(before);
    });

    it.each([
      ['no name', '=1', /1 to 40 characters of a-z/],
      ['a name in upper case', 'Order=1', /1 to 40 characters of a-z/],
      ['a name that begins with a dot', '.order=1', /1 to 40 characters of a-z/],
      ['a name of 41 characters', `${'n'.repeat(41)}=1`, /1 to 40 characters of a-z/],
      ['a key as a name', `${KEY.toLowerCase()}=1`, /not be a licence key/],
      ['a text of 501 characters', `a=${LONGEST}x`, /1 to 500 characters on one line/],
      ['a text of two lines', 'a=1\n2', /1 to 500 characters on one line/],
      ['a lone surrogate', 'a=\ud800', /1 to 500 characters on one line/],
      ['a key in a text', `a=for ${KEY}`, /must not contain a licence key/],
      ['no text', 'a', /NAME=TEXT/],
    ])('refuses %s', async (_, change, message) => {
      const { id } = await issue();
      for (const args of [
        ['license', 'metadata', String(id), 'b=1', change],
        ['license', 'issue', '--plan', '1', '--metadata', change],
      ]) {
        const { code, stdout, stderr } = await shop.run(args);
        expect([code, stdout, stderr]).toEqual([2, '', expect.stringMatching(message)]);
        expect(stderr).not.toMatch(new RegExp(KEY, 'i'));
        expect(JSON.parse((await shop.run([...args, '--json'])).stdout)).toMatchObject({
          error: { field: 'metadata' },
        });
      }
      expect(await show(id)).toMatchObject({ metadata: {}, revision: 1 });
    });

    it('keeps names that several commands set at once', async () => {
      const { id } = await issue();
      const names = Array.from({ length: 12 }, (_, i) => `name${i}`);
      const context = { actor: 'operator:test', now: new Date() };
      await Promise.all(names.map((name) => setMetadata(db, id, { [name]: name }, context)));
      const stored = await show(id);
      expect(stored.metadata).toEqual(Object.fromEntries(names.map((name) => [name, name])));
      expect(stored.revision).toBe(13);
    });

    it('is not in the answers to customers', async () => {
      const { license_key } = await issue('--metadata', 'channel=for-the-shop-alone');
      for (const verb of ['activate', 'validate', 'deactivate']) {
        const { text } = await request(place.service.url)
          .post(`${PREFIX}/licenses/${verb}`)
          .send({ license_key, identifier: 'shop.example' });
        expect(text).toContain('"activations_used"');
        expect(text).not.toMatch(/metadata|revision|for-the-shop-alone/);
      }
    });
  });

  describe('the revision', () => {
    it('is raised by each change, once, and by nothing else', async () => {
      const { id, license_key } = await issue();
      const seen: [string, number][] = [];
      let last = await revision(id);
      const raise = async (what: string, work: () => Promise<unknown>) => {
        await work();
        const now = await revision(id);
        seen.push([what, now - last]);
        last = now;
      };
      const command = (...args: string[]) => shop.run(['license', args[0]!, String(id), ...args.slice(1)]);
      const call = (verb: string, body: object) =>
        request(place.service.url)
          .post(`${PREFIX}/licenses/${verb}`)
          .send({ license_key, ...body });
      await raise('suspend', () => command('suspend'));
      await raise('refused', () => command('suspend'));
      await raise('refused activation', () => call('activate', { identifier: 'a.example' }).expect(403));
      await raise('reinstate', () => command('reinstate'));
      await raise('renew', () => command('renew', '--for', '1y'));
      await raise('set-customer', () => command('set-customer', 'joe@example.com'));
      await raise('change-plan', () => command('change-plan', '1'));
      await raise('set-limit', () => command('set-limit', '2'));
      await raise('metadata', () => command('metadata', 'a=1', 'b=2'));
      await raise('metadata again', () => command('metadata', 'a=1'));
      await raise('activate', () => call('activate', { identifier: 'a.example' }).expect(200));
      await raise('activate again', () => call('activate', { identifier: 'a.example' }).expect(200));
      await raise('name', () => call('activate', { identifier: 'a.example', name: 'Main' }).expect(200));
      await raise('name again', () =>
        call('activate', { identifier: 'a.example', name: 'Main' }).expect(200),
      );
      await raise('activation add', () => shop.run(['activation', 'add', String(id), 'b.example']));
      await raise('no slot', () => call('activate', { identifier: 'c.example' }).expect(403));
      await raise('validate', () => call('validate', { identifier: 'a.example' }).expect(200));
      await raise('deactivate', () => call('deactivate', { identifier: 'a.example' }).expect(200));
      await raise('deactivate again', () => call('deactivate', { identifier: 'a.example' }));
      await raise('activation remove', () => shop.run(['activation', 'remove', String(id), 'b.example']));
      await raise('reveal', () => command('reveal'));
      await raise('show', () => command('show'));
      await raise('rekey', () => command('rekey'));
      const none = [
        ...['refused', 'refused activation', 'metadata again', 'activate again', 'name again', 'no slot'],
        ...['validate', 'deactivate again', 'show'],
      ];
      expect(seen).toEqual(seen.map(([what]) => [what, none.includes(what) ? 0 : 1]));
      expect(await history(id)).toHaveLength(await revision(id));
    });

    it('is raised by the number of changes that one transaction makes', async () => {
      const [one, other] = [await giveLicense(db, 1), await giveLicense(db, 1)];
      const ledger: Ledger = createLedger(db, recordEvents);
      const claim = ({ key }: TestLicense, identifier: string, name?: string) => ({
        ...{ keyDigest: keyDigest(key), identifier, actor: 'operator:test', now: new Date() },
        ...(name === undefined ? {} : { name }),
      });
      await Promise.all([
        ledger.activate(claim(one, 'a.example')),
        ledger.activate(claim(one, 'b.example')),
        ledger.activate(claim(other, 'a.example')),
      ]);
      expect([await revision(one.id), await revision(other.id)]).toEqual([3, 2]);
      // The number of slots of the first licence stays the same, and the activation of the other gets a name.
      await Promise.all([
        ledger.deactivate(claim(one, 'a.example')),
        ledger.activate(claim(one, 'c.example')),
        ledger.activate(claim(other, 'a.example', 'Main')),
      ]);
      expect([await revision(one.id), await revision(other.id)]).toEqual([5, 3]);
      expect(
        (await rows<{ license_id: number }>(db, 'events')).filter((e) => e.license_id === one.id),
      ).toHaveLength(5);
    });

    it('counts changes that the history counts on one event', async () => {
      const { id, license_key } = await issue();
      for (let i = 0; i < 3; i++)
        for (const verb of ['activate', 'deactivate'])
          await request(place.service.url)
            .post(`${PREFIX}/licenses/${verb}`)
            .send({ license_key, identifier: 'a.example' })
            .expect(200);
      expect(await history(id)).toHaveLength(3);
      expect(await revision(id)).toBe(7);
    });

    it('is raised by repairing a counter', async () => {
      const { id } = await issue();
      await db(table(db, 'licenses')).where({ id }).update({ activations_used: 2 });
      await shop.run(['doctor', '--repair']);
      expect(await rows(db, 'licenses')).toContainEqual(
        expect.objectContaining({ id, activations_used: 0, revision: 2 }),
      );
    });
  });

  describe('an export and its import', () => {
    const written = async (from: Operator) => {
      const file = join(temporaryFolder(), 'out.jsonl');
      await from.json(['export', '--out', file]);
      return file;
    };
    type Line = Record<string, unknown> & { type: string; version?: number; id?: number };
    const linesOf = (file: string) =>
      readFileSync(file, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Line);
    const fileOf = (lines: Line[]) => {
      const file = join(temporaryFolder(), 'in.jsonl');
      writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
      return file;
    };

    it('keep both; a later file brings its changes, and an older one removes nothing', async () => {
      const to = await startPlace(kind);
      try {
        await to.shop.json(['license', 'issue', '--plan', '1', '--key', 'ONE-OF-THIS-PLACE']);
        const { id } = await issue('--metadata', 'channel=fair', '--metadata', 'size=4');
        await set(id, 'size=5');
        const digest = async (where: Db, of: number) =>
          (await rows<{ license_id: number; key_digest: string }>(where, 'license_keys')).find(
            (one) => one.license_id === of,
          )!.key_digest;
        const theirs = async () => {
          const [row] = await to
            .db(table(to.db, 'license_keys'))
            .where({ key_digest: await digest(db, id) })
            .pluck<number[]>('license_id');
          return to.shop.json<Shown>(['license', 'show', `id:${row}`]);
        };
        const file = await written(shop);
        await to.shop.json(['import', file]);
        expect(await theirs()).toMatchObject({ metadata: { channel: 'fair', size: '5' }, revision: 2 });
        const again = await to.shop.json<{ records: { license: object } }>(['import', file]);
        expect(again.records.license).toMatchObject({ new: 0, changed: 0 });

        await set(id, 'size=6', 'channel=', 'colour=red');
        const later = await written(shop);
        await to.shop.json(['import', later]);
        const changed = await theirs();
        // One more than in the file, because the import is a change too.
        expect(changed).toMatchObject({ metadata: { size: '6', colour: 'red' }, revision: 4 });
        const events = await to.shop.json<object[]>(['license', 'history', `id:${changed.id}`]);
        expect(events).toContainEqual(
          expect.objectContaining({
            action: 'import',
            before: { metadata: { channel: 'fair', colour: null, size: '5' } },
            after: { metadata: { channel: null, colour: 'red', size: '6' } },
          }),
        );
        await to.shop.json(['import', later]);
        expect(await theirs()).toEqual(changed);

        const without = linesOf(file).map((line) =>
          line.type === 'license' ? { ...line, metadata: {}, revision: 0 } : line,
        );
        await to.shop.json(['import', fileOf(without)]);
        expect(await theirs()).toEqual(changed);
      } finally {
        await to.service.stop();
      }
    });

    it('raise the revision for activations that are added to an existing licence', async () => {
      const { id, license_key } = await issue();
      const before = await written(shop);
      const send = (verb: string, body: object) =>
        request(place.service.url)
          .post(`${PREFIX}/licenses/${verb}`)
          .send({ license_key, ...body })
          .expect(200);
      for (const identifier of ['a.example', 'b.example']) await send('activate', { identifier });
      const with2 = await written(shop);
      for (const identifier of ['a.example', 'b.example']) await send('deactivate', { identifier });
      expect(await revision(id)).toBe(5);
      await shop.json(['import', before]);
      expect(await revision(id)).toBe(5);
      await shop.json(['import', with2]);
      expect(await revision(id)).toBe(7);
      const renamed = linesOf(with2).map((line) =>
        line.type === 'activation' && line.license_id === id ? { ...line, name: 'Main' } : line,
      );
      await shop.json(['import', fileOf(renamed)]);
      expect(await revision(id)).toBe(9);
      await shop.json(['import', fileOf(renamed)]);
      expect(await revision(id)).toBe(9);
    });

    it.each([
      ['a text', 'no object'],
      ['no text', { a: '' }],
      ['a number', { a: 1 }],
      ['a wrong name', { A: '1' }],
      ['a key', { a: KEY }],
      ['21 names', Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`n${i}`, '1']))],
    ])('refuse invalid metadata: %s', async (_, metadata) => {
      await issue();
      const lines = linesOf(await written(shop)).map((line) =>
        line.type === 'license' ? { ...line, metadata } : line,
      );
      const { code, stderr } = await shop.run(['import', fileOf(lines)]);
      expect([code, stderr]).toEqual([1, expect.stringContaining('"metadata" of the license must be')]);
      expect(stderr).not.toContain(KEY);
    });

    it('accept metadata from columns of a table', async () => {
      const file = join(temporaryFolder(), 'old.csv');
      const key = `OLD-KEY-OF-${kind.toUpperCase()}`;
      const text = (note: string) => `Key,Item,Note\n${key},77,${note}\n${key}-2,,\n`;
      const run = (map: string) => shop.run(['import', file, '--csv', '--plan', '1', '--map', map, '--json']);
      const map = 'key=Key,metadata.order_item=Item, metadata.note=Note';
      writeFileSync(file, text('two words'));
      expect((await run(map)).code).toBe(0);
      expect(JSON.parse((await run(map)).stdout)).toMatchObject({ new: 0, same: 2 });
      const found = await shop.json<Shown>(['license', 'show', key]);
      expect(found).toMatchObject({ metadata: { order_item: '77', note: 'two words' }, revision: 1 });
      expect(await history(found.id)).toMatchObject([
        { action: 'import', after: { metadata: { order_item: '77' } } },
      ]);
      expect(await shop.json(['license', 'show', `${key}-2`])).toMatchObject({ metadata: {}, revision: 1 });
      writeFileSync(file, text(KEY));
      expect((await run(map)).stdout).toContain('"bad-metadata"');
      writeFileSync(file, text('other words'));
      expect(JSON.parse((await run(map)).stdout)).toMatchObject({ changed: 1 });
      expect((await run('key=Key,metadata.Note=Note')).stderr).toContain('1 to 40 characters of a-z');
    });
  });

  describe("a customer's data", () => {
    it('has the metadata of their licences, and erasing removes it from the history too', async () => {
      const customer = `jane@${kind.toLowerCase()}.example`;
      const { id } = await issue('--customer', customer, '--metadata', 'phone=0151-secret');
      await set(id, 'phone=0152-secret', 'colour=red');
      const { id: others } = await issue('--metadata', `recommended_by=${customer}, a friend`);
      const shown = await shop.json<{ licenses: Shown[] }>(['customer', 'show', customer]);
      expect(shown.licenses).toMatchObject([{ id, metadata: { phone: '0152-secret' } }]);
      expect((await shop.run(['customer', 'show', customer])).stdout).toMatch(
        new RegExp(`^${id} +phone +0152-secret$`, 'm'),
      );
      const out = join(temporaryFolder(), 'jane.json');
      await shop.json(['customer', 'export', customer, '--out', out]);
      expect(JSON.parse(readFileSync(out, 'utf8'))).toMatchObject({
        licenses: [{ id, metadata: { phone: '0152-secret', colour: 'red' }, revision: 2 }],
        mentions: { license: [{ id: others }] },
      });

      await eraseCustomer(db, customer, { actor: 'operator:test', now: new Date() });
      expect(await show(id)).toMatchObject({ metadata: {}, revision: 3 });
      expect(await show(others)).toMatchObject({
        metadata: { recommended_by: 'erased, a friend' },
        revision: 2,
      });
      const events = await history(id);
      expect(events).toMatchObject([
        { action: 'issue', after: { plan_id: 1, customer: 'erased' } },
        { action: 'set-metadata', before: null, after: null },
        { action: 'erase-customer', after: { customer: null, metadata: null } },
      ]);
      expect(JSON.stringify(events)).not.toMatch(/secret|phone|colour/);
      expect(JSON.stringify(await history(others))).not.toContain(customer);
    });
  });
});
