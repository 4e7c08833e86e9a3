import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { startHousekeeping } from '../../src/runner/housekeeping';
import type { Settings } from '../../src/settings/config';
import { isSqlite, openDatabase, table, type Db } from '../../src/store/engine/database';
import { customerDigest } from '../../src/store/customer-digest';
import { migrate } from '../../src/setup/database';
import { toSqlTime } from '../../src/store/engine/time';
import {
  numberWord,
  refreshChanged,
  refreshRenamed,
  refreshWords,
  wordsOf,
} from '../../src/store/search-words';
import { startManaged, type Managed, type Thing } from '../support/manage';
import { operator } from '../support/operator';
import { eventually, temporaryFolder } from '../support/processes';
import { DATABASE_KINDS, giveLicense, givePlan, newPlace, testConfig } from '../support/service';

/** Tests the search over HTTP, after each way to change a name, a label or an address. */

describe('a text', () => {
  test.each([
    ['Jane.Roe+shop@mail-example.co.uk', ['jane', 'roe', 'shop', 'mail', 'example', 'co', 'uk']],
    ["Seán O'Brien-Müller", ['sean', 'o', 'brien', 'muller']],
    ['Straße STRASSE', ['strasse']],
    ['ΟΔΥΣΣΕΥΣ Οδυσσ', ['οδυσσευσ', 'οδυσσ']],
    ['İstanbul ﬁn', ['istanbul', 'fin']],
    ['東京 2024', ['東京', '2024']],
    ['user77@example.com', ['user77', 'example', 'com']],
    ['+ @ .', []],
    ['', []],
    ['x'.repeat(100), ['x'.repeat(64)]],
  ])('%p has the words %p', (text, words) => expect(wordsOf(text)).toEqual(words));

  test.each([
    ['edd-csv:4711', '#4711'],
    ['shop:310:1:2', '#310'],
    ['shop:A-77:1', '#a-77'],
    ['order-77', '#77'],
    ['INV-2024-0001', '#2024-0001'],
    ['4711', '#4711'],
    [':#4711', '#4711'],
    ['none', undefined],
  ])('%p has the number %p', (reference, word) => expect(numberWord(reference)).toBe(word));
});

describe.each(DATABASE_KINDS)('the search, on %s', (kind) => {
  let service: Managed;
  let write: Managed['write'];
  let planId: number;
  let place: Settings;
  beforeAll(async () => {
    place = await newPlace(kind);
    service = await startManaged(place);
    ({ write } = service);
    planId = await givePlan(service.db, {}, service.clock.now);
  });
  afterAll(() => service.stop());

  const issue = (more: Thing) => write.ok('POST /licenses', { plan_id: planId, ...more }, 201);
  const found = async (q: string, more: Record<string, string> = {}) =>
    (await write.all(`/licenses?${String(new URLSearchParams({ q, ...more }))}`)).map(
      ({ id }) => id as number,
    );
  const customers = async (q: string) =>
    (await write.all(`/customers?${String(new URLSearchParams({ q }))}`)).map(
      ({ customer }) => customer as string,
    );
  const words = async (id: number) =>
    service.db(table(service.db, 'search_words')).where({ license_id: id }).orderBy('word').pluck('word');

  test('finds the beginning of any word of an address, and of several words', async () => {
    const { id } = await issue({ customer: 'jane.roe@mail-example.org' });
    for (const q of [
      'jane',
      'ROE',
      'mail',
      'exam',
      'roe mail',
      'org jane',
      'jane.roe@mail-example.org',
      '@mail',
    ])
      expect([q, await found(q)]).toEqual([q, [id]]);
    for (const q of ['ane', 'jane doe', '+']) expect([q, await found(q)]).toEqual([q, []]);
    expect(await customers('roe')).toEqual(['jane.roe@mail-example.org']);
    expect(await found('roe', { sort: 'customer' })).toEqual([id]);
    expect(await found('roe', { status: 'suspended' })).toEqual([]);
  });

  test('finds by the name in an order, and by the name that the seller chooses', async () => {
    const order = {
      ...{ shop: 'own', order: 'A-1', event: 'paid', at: '2026-11-20T10:00:00Z' },
      customer: { email: 'buyer@one.example', name: 'Annika Müller-Özil' },
      lines: [{ line: '1', plan_id: planId }],
    };
    await write.ok('POST /orders', order);
    const [id] = await found('annika');
    expect(id).toBeGreaterThan(0);
    for (const q of ['müll', 'Muller', 'OZIL', 'annika müller'])
      expect([q, await found(q)]).toEqual([q, [id]]);
    expect(await customers('özil')).toEqual(['buyer@one.example']);
    await write.ok('PATCH /customers/buyer@one.example', { name: 'Annika Tischler' });
    expect(await found('tisch')).toEqual([id]);
    // The order still has the old name.
    expect(await found('Müller')).toEqual([id]);
    await write.ok('PATCH /customers/buyer@one.example', { email: 'other@two.example' });
    expect(await found('two tischler')).toEqual([id]);
    expect(await found('one')).toEqual([]);
  });

  test('finds a key by each word of its label, and another system’s number with or without its prefix', async () => {
    const { id } = await issue({ customer: 'agency@three.example', reference: 'edd-csv:4711' });
    const { id: keyId } = (await write.ok(`POST /licenses/${id}/keys`, { label: 'Blumen Schäfer' }, 201)) as {
      id: number;
    };
    for (const q of ['schäf', 'blumen', '4711', '#4711', 'edd-csv:4711'])
      expect([q, await found(q)]).toEqual([q, [id]]);
    for (const q of ['471', '711', 'edd']) expect([q, await found(q)]).toEqual([q, []]);
    await write.ok(`PATCH /licenses/${id}/keys/${keyId}`, { label: 'Bäckerei Kurz' });
    expect([await found('schäfer'), await found('kurz')]).toEqual([[], [id]]);
    const order = { shop: 'own', order: 'B-99', event: 'paid', at: '2026-11-20T10:00:00Z' };
    await write.ok('POST /orders', { ...order, lines: [{ line: '1', plan_id: planId }] });
    expect((await write.all('/licenses?q=B-99')).map(({ reference }) => reference as string)).toEqual([
      'own:B-99:1',
    ]);
  });

  test('pages through many licences, in each order, without repeating one', async () => {
    const ids: number[] = [];
    for (let i = 0; i < 12; i++)
      ids.push((await issue({ customer: `many${i % 5}.many@four.example` })).id as number);
    for (const sort of ['id', '-id', 'customer', '-customer', 'expires_at']) {
      const all = await write.all(`/licenses?q=many&sort=${sort}`, 5);
      expect(all.map(({ id }) => id as number).sort((a, b) => a - b)).toEqual(ids);
    }
    const sorted = ['0', '1', '2', '3', '4'].map((n) => `many${n}.many@four.example`);
    expect((await write.all('/customers?q=many', 2)).map(({ customer }) => customer as string)).toEqual(
      sorted,
    );
    expect(
      (await write.all('/customers?q=many&sort=-customer', 2)).map((one) => one.customer as string),
    ).toEqual(sorted.toReversed());
  });

  test('forgets a customer’s words when the data are erased, and exports them before', async () => {
    const { id } = (await issue({ customer: 'gone@five.example', reference: 'shop:77:1' })) as { id: number };
    await write.ok('PATCH /customers/gone@five.example', { name: 'Xaver Quittung' });
    const shown = await write.ok('GET /customers/gone@five.example');
    expect(shown.search_words).toEqual([
      { license_id: id, words: ['#77', 'example', 'five', 'gone', 'quittung', 'xaver'] },
    ]);
    await write.ok('DELETE /customers/gone@five.example', undefined, 204);
    expect(await words(id)).toEqual(['#77']);
    expect(await found('quittung')).toEqual([]);
  });

  test('finds imported licences, and a name that an import changes', async () => {
    const own = operator(place);
    const { id } = await issue({ customer: 'moved@six.example' });
    await write.ok('PATCH /customers/moved@six.example', { name: 'Petra Ofen' });
    const file = join(temporaryFolder(), 'all.jsonl');
    expect(await own.run(['export', '--out', file])).toMatchObject({ code: 0, stderr: '' });
    expect(readFileSync(file, 'utf8')).not.toContain('search_words');
    await write.ok('PATCH /customers/moved@six.example', { name: 'Petra Herd' });
    expect(await found('ofen')).toEqual([]);
    expect(await own.run(['import', file])).toMatchObject({ code: 0 });
    expect([await found('ofen'), await found('herd')]).toEqual([[id], []]);
  });
});

describe.each(DATABASE_KINDS)('an upgrade on %s', (kind) => {
  let db: Db;
  afterAll(() => db.destroy());

  test('fills the words of existing licences, and again after it was killed', async () => {
    const settings = await newPlace(kind);
    const { database, tablePrefix } = testConfig(settings);
    db = openDatabase(database, tablePrefix, 2);
    await migrate(db, database);
    const now = new Date('2026-11-24T12:00:00Z');
    const plan = await givePlan(db);
    const first = await giveLicense(db, plan, { customer: 'ann@example.com', reference: 'edd-csv:12' }, now);
    const second = await giveLicense(db, plan, {}, now);
    // Restore the tables of the previous version.
    await db.schema.dropTable(table(db, 'search_words'));
    await db.schema.alterTable(table(db, 'licenses'), (licenses) =>
      licenses.dropIndex([], 'licensing_licenses_created_at'),
    );
    const undone = () => db(table(db, 'migrations')).where({ name: '002_search_words' }).delete();
    await undone();
    const seen: number[][] = [];
    expect(await migrate(db, database, (...progress) => seen.push(progress))).toEqual(['002_search_words']);
    expect(seen).toEqual([[second.id, second.id]]);
    const ann = ['#12', 'ann', 'com', 'example'].map((word) => ({ license_id: first.id, word }));
    const words = () =>
      db(table(db, 'search_words')).orderBy(['license_id', 'word']).select('license_id', 'word');
    expect(await words()).toEqual(ann);
    // Leave the tables as a killed migration does: filled, but not recorded.
    await undone();
    await db(table(db, 'search_words')).where({ word: 'ann' }).delete();
    await migrate(db, database);
    expect(await words()).toEqual(ann);
    // The range of a word is read by the index.
    const range = `SELECT license_id FROM ${table(db, 'search_words')} WHERE word >= 'a' AND word < 'b'`;
    const plans: unknown = await db.raw(`EXPLAIN ${isSqlite(db) ? 'QUERY PLAN ' : ''}${range}`);
    expect(JSON.stringify(plans)).toContain('search_words_word_license_id');
  });

  test('includes changes that an earlier version made meanwhile', async () => {
    const now = new Date();
    const plan = await givePlan(db);
    const before = new Date(now.getTime() - 7_200_000);
    const [late, chosen, reported] = await Promise.all(
      Object.entries({ late: now, chosen: before, reported: before }).map(([name, at]) =>
        giveLicense(db, plan, { customer: `${name}@example.com` }, at),
      ),
    );
    await db(table(db, 'search_words')).where({ license_id: late!.id }).delete();
    // These changes leave no event of a licence.
    await db(table(db, 'customers')).insert([
      { digest: customerDigest('chosen@example.com'), address: 'chosen@example.com', chosen_name: 'Zoë' },
      {
        digest: customerDigest('reported@example.com'),
        address: 'reported@example.com',
        name: 'Yves',
        told_at: toSqlTime(now),
      },
    ]);
    const words = (id: number) =>
      db(table(db, 'search_words')).where({ license_id: id }).orderBy('word').pluck('word');
    const since = new Date(now.getTime() - 3_600_000);
    await refreshChanged(db, since);
    await refreshRenamed(db, since);
    expect(await words(late!.id)).toEqual(['com', 'example', 'late']);
    expect(await words(chosen!.id)).toEqual(['chosen', 'com', 'example', 'zoe']);
    expect(await words(reported!.id)).toEqual(['com', 'example', 'reported', 'yves']);
    await db.transaction((trx) => refreshWords(trx, [late!.id]));
    expect(await words(late!.id)).toHaveLength(3);
    // Later, every version writes the words of a name.
    await db(table(db, 'search_words')).where({ word: 'zoe' }).delete();
    await refreshRenamed(db, new Date(Date.now() + 60_000));
    expect(await words(chosen!.id)).not.toContain('zoe');
  });

  test('forgets within a minute the words of a customer whom an earlier version erased meanwhile', async () => {
    const filled = new Date();
    const license = await giveLicense(db, await givePlan(db), { customer: 'gone@example.com' }, filled);
    // Do what that version does: it knows no words.
    await db(table(db, 'licenses'))
      .where({ id: license.id })
      .update({ customer: null, customer_digest: null });
    await db(table(db, 'events')).insert({
      ...{ license_id: license.id, at: toSqlTime(filled), actor: 'operator:x', action: 'erase-customer' },
    });
    // Later events fill more than one read.
    const later = { license_id: license.id, at: toSqlTime(filled), actor: 'x', action: 'activate' } as const;
    for (let i = 0; i < 3; i++)
      await db(table(db, 'events')).insert(Array.from({ length: 400 }, () => later));
    const words = () => db(table(db, 'search_words')).where({ license_id: license.id });
    expect(await words()).not.toEqual([]);
    const clock = { now: new Date(filled.getTime() + 3 * 86_400_000) };
    const stop = startHousekeeping(
      db,
      () => 90,
      pino({ level: 'silent' }),
      () => clock.now,
    );
    await eventually(async () => expect(await words()).toEqual([]));
    await stop();
  });
});
