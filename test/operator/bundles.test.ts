import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import type { Settings } from '../../src/settings/config';
import { editProduct } from '../../src/licensing/catalogue';
import { table, type Db } from '../../src/store/engine/database';
import { addPlan, operator, type Operator } from '../support/operator';
import { giveRelease } from '../support/packages';
import { eventually, temporaryFolder } from '../support/processes';
import {
  ONE_KIND,
  giveLicense,
  newPlace,
  PREFIX,
  rows,
  startTestService,
  type TestService,
} from '../support/service';
import { openMigrated } from '../support/service-process';

/** The seller's side of products that include others (test/contract/bundles.test.ts). */

interface ProductJson {
  id: number;
  includes: number[] | 'all';
}

interface Report {
  records: Record<string, Record<'new' | 'same' | 'changed' | 'conflicting', number>>;
  conflicts: { line: number; message: string }[];
}

describe.each(ONE_KIND)('in %s', (kind) => {
  const open: Db[] = [];
  let settings: Settings;
  let service: TestService;
  let shop: Operator;

  beforeAll(async () => {
    settings = await newPlace(kind);
    service = await startTestService(settings);
    shop = operator(settings);
    // The club's id is lower than those of the products that it includes.
    await shop.json(['product', 'add', '--id', '40', '--name', 'Acme Club']);
    for (const [id, name] of [
      ['41', 'Acme Everything'],
      ['42', 'Acme Forms'],
      ['43', 'Acme Photos'],
      ['44', 'Acme Gallery'],
    ] as const)
      await shop.json(['product', 'add', '--id', id, '--name', name]);
    await addPlan(shop, '40', 'Yearly', 'domain', '3');
  });
  afterAll(async () => {
    await service.stop();
    await Promise.all(open.map((db) => db.destroy()));
  });

  const said = async (args: string[]) => {
    const { code, stdout, stderr } = await shop.run(args);
    return { code, text: (stdout + stderr).replace(/\s+/g, ' ') };
  };
  const edit = (id: string, ...options: string[]) =>
    shop.json<ProductJson>(['product', 'edit', id, ...options]);

  describe('the command', () => {
    it('sets what a product includes, and where its customers are sent', async () => {
      const edited = await edit(
        ...(['40', '--includes', '43, 42,43'] as const),
        ...['--renew-url', ' https://SHOP.example/club?a=1#renew ', '--support-url', 'https://shop.example'],
      );
      expect(edited).toMatchObject({
        id: 40,
        name: 'Acme Club',
        element: null,
        includes: [42, 43],
        renew_url: 'https://shop.example/club?a=1#renew',
        support_url: 'https://shop.example/',
        reminders: false,
        created_at: expect.any(String),
      });
      // An option that is not given changes nothing.
      const update_xml = { state: 'not_set', url: null };
      expect(await edit('40', '--name', 'Acme Club')).toEqual({ ...edited, update_xml });
      expect(await edit('40', '--support-url', 'none')).toEqual({ ...edited, support_url: null });
      expect(await edit('41', '--includes', 'all')).toMatchObject({ includes: 'all' });
    });

    it('adds a product with all of it', async () => {
      const added = await shop.json([
        ...['product', 'add', '--id', '49', '--name', 'Duo', '--includes', '42,44'],
        ...['--renew-url', 'https://shop.example/duo', '--support-url', 'none'],
      ]);
      expect(added).toMatchObject({
        includes: [42, 44],
        renew_url: 'https://shop.example/duo',
        support_url: null,
        reminders: false,
      });
      expect(await edit('49', '--includes', 'none')).toMatchObject({ includes: [] });
      await shop.json(['product', 'remove', '49']);
    });

    it('lists and shows it', async () => {
      expect(await shop.json(['product', 'list'])).toMatchObject([
        { id: 40, includes: [42, 43] },
        { id: 41, includes: 'all' },
        { id: 42, includes: [] },
        { id: 43, includes: [] },
        { id: 44, includes: [] },
      ]);
      expect((await shop.run(['product', 'list'])).stdout).toMatch(/^40 +Acme Club +- +42,43$/m);
      expect(await shop.json(['product', 'show', '40'])).toMatchObject({
        includes: [42, 43],
        included_in: [],
      });
      expect(await shop.json(['product', 'show', '43'])).toMatchObject({
        includes: [],
        included_in: [40, 41],
      });
      expect((await said(['product', 'show', '40'])).text).toContain(
        'includes Acme Forms (42), Acme Photos (43)',
      );
      expect((await said(['product', 'show', '44'])).text).toContain('included in Acme Everything (41)');
      expect((await said(['product', 'show', '41'])).text).toContain('includes all: Acme Forms (42), Acme');
    });

    it.each([
      [['--includes', '42,x'], 2, /whole number/],
      [['--includes', ''], 2, /whole number/],
      [['--includes', '0'], 2, /whole number/],
      [['--renew-url', 'http://shop.example'], 2, /https:\/\/ address/],
      [['--renew-url', 'shop.example'], 2, /https:\/\/ address/],
      [['--renew-url', 'https://jane:secret@shop.example'], 2, /https:\/\/ address/],
      [['--support-url', `https://shop.example/${'a'.repeat(480)}`], 2, /at most 500/],
      [['--support-url', ''], 2, /https:\/\/ address/],
      [['--includes', '99'], 1, /There is no product 99 to include\. "licensing product list"/],
      [['--includes', '44'], 1, /Product 44 cannot include itself/],
      [['--includes', '40'], 1, /Product 40 includes others itself.*"licensing product show 40"/],
    ])('refuses %j', async (options, code, message) => {
      expect(await said(['product', 'edit', '44', ...options])).toEqual({
        code,
        text: expect.stringMatching(message),
      });
    });

    it('names the option in JSON', async () => {
      const { stdout } = await shop.run(['product', 'edit', '42', '--includes', '44', '--json']);
      expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'CONFLICT', field: 'includes' } });
    });

    it('names the products that include a product when it is removed', async () => {
      expect(await said(['product', 'remove', '43'])).toMatchObject({
        code: 1,
        text: expect.stringMatching(
          /43 is included in product 40, so it cannot be deleted\..*"licensing product edit 40 --includes"/,
        ),
      });
    });
  });

  it('"why" names the products that the licence covers, the requested one, and the remedy', async () => {
    const { id, key } = await giveLicense(service.db, 1);
    await giveRelease(service, { productId: 42, version: '1.0' });
    const why = async () => (await said(['why', String(id)])).text;
    expect(await why()).toContain(
      'It also covers what product 40 includes: Acme Forms (42), Acme Photos (43).',
    );
    expect(await why()).not.toContain('no published version');
    expect((await said(['license', 'show', String(id)])).text).toContain(
      'also covers Acme Forms (42), Acme Photos (43)',
    );
    await request(service.url).get(`${PREFIX}/downloads/44?dlid=${key}`).expect(403);
    const body = { license_key: key, identifier: 'shop.example', product_id: 44 };
    await request(service.url).post(`${PREFIX}/licenses/activate`).send(body).expect(403);
    await eventually(async () => expect(await rows(service.db, 'access_log')).toHaveLength(2));
    const told = await why();
    expect(
      told.match(
        /the licence is for product 40 \(Acme Club\), which includes Acme Forms \(42\), Acme Photos \(43\), and the request was for product 44 \(Acme Gallery\)/g,
      ),
    ).toHaveLength(2);
    expect(told).toContain('licensing product edit 40 --includes 42,43,44');
    expect(told).toContain('the extension sends the wrong product_id');
    await edit('40', '--includes', '42,43,44');
    expect(await why()).toContain('the licence did not cover product 44 (Acme Gallery); it covers it now');
    await edit('40', '--includes', '42,43');
  });

  it('the doctor warns of a product that cannot be bought, and of a club without products', async () => {
    const findings = async () => {
      const { stdout } = await shop.run(['doctor', '--json']);
      const { findings: all } = JSON.parse(stdout) as {
        findings: { code: string; what: string; level: string }[];
      };
      return all.filter(({ code }) => ['PRODUCT_UNSOLD', 'BUNDLE_EMPTY'].includes(code));
    };
    expect(await findings()).toEqual([]);
    await giveRelease(service, { productId: 44, version: '1.0' });
    expect(await findings()).toMatchObject([
      { code: 'PRODUCT_UNSOLD', level: 'warning', what: expect.stringContaining('Acme Everything (41)') },
    ]);
    await addPlan(shop, '41', 'All', 'domain', '3');
    expect(await findings()).toEqual([]);

    const alone = operator(await place());
    await alone.json(['product', 'add', '--name', 'Club', '--includes', 'all']);
    const { stdout } = await alone.run(['doctor', '--json']);
    expect(stdout).toContain('BUNDLE_EMPTY');
  });

  async function place(): Promise<Settings> {
    const own = await newPlace(kind);
    open.push(await openMigrated(own));
    return own;
  }

  describe('export and import', () => {
    let file: string;
    const exported = async (from: Operator) => {
      const out = join(temporaryFolder(), 'out.jsonl');
      await from.json(['export', '--out', out]);
      return out;
    };
    const includes = async (of: Operator) =>
      Object.fromEntries(
        (await of.json<ProductJson[]>(['product', 'list'])).map((product) => [product.id, product.includes]),
      );
    const withProducts = async (...products: [id: string, name: string, ...options: string[]][]) => {
      const other = operator(await place());
      for (const [id, name, ...options] of products)
        await other.json(['product', 'add', '--id', id, '--name', name, ...options]);
      return other;
    };
    const counts = async (into: Operator, ...args: string[]) =>
      (await into.json<Report>(['import', file, ...args])).records.product;
    const conflicts = async (into: Operator) => {
      const before = await includes(into);
      const dry = await into.run(['import', file, '--dry-run', '--json']);
      const { code, stderr } = await into.run(['import', file]);
      expect(code).toBe(1);
      expect(await includes(into)).toEqual(before);
      const { conflicts: found, records } = JSON.parse(dry.stdout) as Report;
      expect(records.product).toMatchObject({ conflicting: found.length });
      for (const { message } of found) expect(stderr).toContain(message);
      return found.map(({ message }) => message);
    };
    beforeAll(async () => {
      file = await exported(shop);
    });

    it('lose nothing, to the byte', async () => {
      const other = operator(await place());
      expect(await counts(other, '--dry-run')).toEqual({ new: 5, same: 0, changed: 0, conflicting: 0 });
      expect(await counts(other)).toEqual({ new: 5, same: 0, changed: 0, conflicting: 0 });
      expect(readFileSync(await exported(other), 'utf8')).toBe(readFileSync(file, 'utf8'));
      expect(await counts(other)).toEqual({ new: 0, same: 5, changed: 0, conflicting: 0 });
    });

    it('fill what is empty here', async () => {
      const other = await withProducts(['40', 'Acme Club'], ['50', 'Other Club', '--includes', 'all']);
      expect(await counts(other)).toEqual({ new: 4, same: 0, changed: 1, conflicting: 0 });
      expect(await includes(other)).toEqual({ 40: [42, 43], 41: 'all', 42: [], 43: [], 44: [], 50: 'all' });
    });

    it('keep what a product includes here and not in the file', async () => {
      const other = await withProducts(['42', 'Acme Forms'], ['50', 'Other Club', '--includes', '42']);
      await counts(other);
      expect(await includes(other)).toMatchObject({ 40: [42, 43], 50: [42] });
    });

    it('refuse a different list, and anything that the rules of bundles forbid with the products here', async () => {
      const differs = await withProducts(['42', 'Acme Forms'], ['40', 'Acme Club', '--includes', '42']);
      expect(await conflicts(differs)).toEqual(['product 40 includes other products here than in the file']);
      const isBundle = await withProducts(['50', 'Part'], ['42', 'Acme Forms', '--includes', '50']);
      expect(await conflicts(isBundle)).toEqual([
        'Product 42 includes others itself, so it cannot be included',
      ]);
      const isIncluded = await withProducts(['41', 'Acme Everything'], ['50', 'Club', '--includes', '41']);
      expect(await conflicts(isIncluded)).toEqual([
        'Product 41 is included in product 50, so it cannot include others',
      ]);
    });

    it.each([
      ['an unknown product', [42, 99]],
      ['itself', [40, 42]],
      ['one twice', [42, 42]],
      ['another order', [43, 42]],
      ['a word', 'some'],
      ['nothing at all', null],
    ])('refuse a file whose product includes %s', async (_, list) => {
      const changed = join(temporaryFolder(), 'changed.jsonl');
      writeFileSync(
        changed,
        readFileSync(file, 'utf8').replace('"includes":[42,43]', `"includes":${JSON.stringify(list)}`),
      );
      const other = operator(await place());
      expect(await other.run(['import', changed])).toMatchObject({ code: 1 });
      expect(await other.json(['product', 'list'])).toEqual([]);
    });
  });

  it('waits for a concurrent change of the list: a removed product is no longer included', async () => {
    await editProduct(service.db, 40, { includes: [42] });
    expect(await service.db(table(service.db, 'product_includes')).select()).toEqual([
      { product_id: 40, included_id: 42 },
    ]);
    expect(await shop.json(['product', 'remove', '43'])).toMatchObject({ id: 43 });
    expect(await shop.json(['product', 'show', '41'])).toMatchObject({ includes: 'all' });
  });
});
