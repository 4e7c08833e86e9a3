import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { moved as de } from '../../src/texts/operators/de/moved';
import { moved as en } from '../../src/texts/operators/en/moved';
import type { ImportErrorCode } from '../../src/transfer/refusals';
import { makeArs } from '../support/ars';
import { fillTable, makeMembershipPro } from '../support/membership-pro';
import { givePlan, newPlace, rows, startTestService, type TestService } from '../support/service';
import { selected, send, start } from './support/move-in';
import { formOf, pagesClient, textOf, type PagesAnswer, type PagesClient } from './support/session';

/** The German pages give the reasons for refusing a table or a move in German, code by code. */

let service: TestService;
let pages: PagesClient;
let planId: number;
beforeAll(async () => {
  service = await startTestService(await newPlace('MariaDB'));
  planId = await givePlan(service.db);
  pages = await pagesClient(service, { language: 'de' });
});
afterAll(() => service.stop());

const HEADING = 'License ID,License Key,License Status,Product Name,Expiration Date';
const KEY = 'd41d8cd98f00b204e9800998ecf8427e';
const FILE = `${HEADING}\n1,${KEY},active,Gallery,lifetime\n`;
const KEYS = 'id,order_id,product_id,license_key,status\n1,7,9,ABC-DEF-GHI,2\n';

const edd = (file: string | Buffer, more = {}): Promise<PagesAnswer> =>
  start(pages, { from: 'edd-csv', ...more }, file);
const tables = (from: string, more = {}) => start(pages, { from, ...more });
/** Forges the form in which the plans are chosen. */
async function forged(fields: Record<string, string>, file = FILE): Promise<PagesAnswer> {
  const first = await edd(file);
  const { checked = '' } = formOf(first.html, '/move-in');
  return send(pages, first, { checked, ...fields });
}

/** Refusals that a page cannot provoke: they need a command, the API, or chance. */
const ELSEWHERE: ImportErrorCode[] = [
  ...(['no-source', 'large-file', 'map-twice', 'no-category', 'no-import', 'no-row', 'meanwhile'] as const),
  ...(['no-product-here', 'bad-rows', 'confirm-columns'] as const),
];

const CASES: Partial<Record<ImportErrorCode, () => Promise<PagesAnswer>>> = {
  'no-file': () => tables('edd-csv'),
  'file-not-read': () => start(pages, { from: 'membershippro' }, FILE),
  'users-not-read': () => start(pages, { from: 'edd-csv' }, FILE, FILE),
  'empty-file': () => edd('\n\n'),
  'not-text': () => edd(Buffer.concat([Buffer.from(`${FILE}ä`), Buffer.from([0xff, 0xfe])])),
  'open-quote': () => edd(`${FILE}"2,x\n`),
  'text-after-quote': () => edd(`${FILE}"2"x,x\n`),
  'quote-inside': () => edd(`${FILE}2"x,x\n`),
  'long-row': () => edd(`${FILE}2,"${'x'.repeat(1_100_000)}",active,Gallery,\n`),
  'other-table': () => edd('a,b\n1,2\n'),
  'foreign-column': () =>
    start(pages, { from: 'lemonsqueezy-csv' }, 'license_key,status,product_id,expires_at,valid_for\n'),
  'other-people': () => start(pages, { from: 'lmfwc-csv' }, KEYS, 'a,b\n1,2\n'),
  'which-dates': () => edd(FILE.replace('lifetime', '01/02/2027')),
  'bad-prefix': () => tables('hikaserial', { site_prefix: 'a-b' }),
  'map-form': () => forged({ keys: '[""]', plan0: '1' }),
  'no-plan-there': () => forged({ keys: '["Nothing"]', plan0: String(planId) }),
  'no-plan-here': () => forged({ plan0: '99' }),
  'unsaid-plans': () => forged({ do: 'import' }),
  'no-tables': () => tables('hikaserial'),
  'missing-columns': async () => {
    await makeMembershipPro(service.db, 'old_');
    await service.db.schema.alterTable('old_osmembership_subscribers', (t) => {
      t.dropColumn('plan_main_record');
    });
    return tables('membershippro');
  },
  'several-sites': async () => {
    await makeMembershipPro(service.db, 'new_');
    return tables('membershippro');
  },
  'several-components': async () => {
    const { db } = service;
    await makeArs(db, 'jos_');
    await db.schema.createTable('jos_payplans_subscription', (t) => t.increments('subscription_id'));
    await db('jos_payplans_subscription').insert({ subscription_id: 1 });
    await db('jos_akeebasubs_subscriptions').insert({
      ...{ user_id: 1, akeebasubs_level_id: 1, publish_up: '2026-01-01', publish_down: '2027-01-01' },
    });
    return tables('ars');
  },
  'no-flag': async () => {
    await service.db('jos_payplans_subscription').delete();
    await service.db.schema.alterTable('jos_ars_dlidlabels', (t) => {
      t.dropColumn('published');
    });
    return tables('ars');
  },
  'column-twice': () => start(pages, { from: 'csv' }, 'key,key\nABCDEF-123456,x\n'),
  'several-columns': () =>
    start(pages, { from: 'csv' }, 'Key,Status,License Status\nABCDEF-123456,active,x\n'),
  'no-key-column': () => start(pages, { from: 'csv' }, 'a,b\nABCDEF-123456,x\n'),
  'no-column': () => start(pages, { from: 'csv', 'col-key': 'Schlüssel' }, 'a,b\nABCDEF-123456,x\n'),
  'many-cells': () => edd(`${FILE}${','.repeat(2_000)}\n`),
  'many-lines': () => edd(`${FILE}${'\n'.repeat(2_100_000)}`),
  'many-plans': () =>
    edd([HEADING, ...Array.from({ length: 501 }, (_, i) => `${i},,active,Plan ${i},`)].join('\n')),
  'undone-before': async () => {
    const first = await edd(FILE);
    const chosen = await send(pages, first, { do: 'check', plan0: String(planId) });
    await send(pages, chosen, { do: 'import' });
    const [, undo = ''] = /pages(\/move-in\/\d+\/undo)"/.exec((await pages.get('/move-in')).html) ?? [];
    await pages.get(undo);
    await pages.post(undo);
    await pages.get('/move-in');
    return pages.post(undo);
  },
};

/** Returns the fixed words of a sentence, without the names that it contains. */
const wordsOf = (code: ImportErrorCode): string[] => {
  const sentence: string | ((...facts: string[]) => string) = de.refusals[code];
  const text = typeof sentence === 'string' ? sentence : sentence('§', '§', '§', '§', '§');
  return text.split(/§/).map((part) => part.trim().replace(/^[„“ ]+|[„“ ]+$/g, ''));
};

describe('the refusals of tables and moves', () => {
  it('are all tried here, except those that a page cannot provoke', () => {
    expect([...Object.keys(CASES), ...ELSEWHERE].sort()).toEqual(Object.keys(en.refusals).sort());
  });

  it.each(Object.entries(CASES) as [ImportErrorCode, () => Promise<PagesAnswer>][])(
    'say %s in German',
    async (code, provoke) => {
      const { status, html } = await provoke();
      expect([code, status >= 400]).toEqual([code, true]);
      const [, alert = ''] = /role="alert"[^>]*>(.*?)<\/(?:div|p)>/s.exec(html) ?? [];
      const said = textOf(`${alert} ${html}`);
      for (const words of wordsOf(code)) expect(said).toContain(words);
      expect(said).not.toMatch(/Nothing was imported|This is |The (?:file|tables?) /);
    },
  );

  it('have their own German words', () => {
    const text = (one: unknown) => (typeof one === 'function' ? (one as () => string)() : one);
    for (const kind of ['refusals', 'leftOut', 'warnings', 'stays'] as const)
      for (const [code, sentence] of Object.entries(en[kind])) {
        const german = (de[kind] as Record<string, unknown>)[code];
        expect([code, typeof german]).toEqual([code, typeof sentence]);
        expect([code, text(german) === text(sentence)]).toEqual([code, false]);
      }
  });

  it('come from one place, with a code for each', () => {
    const folder = join(__dirname, '../../src/transfer');
    const files = [
      ...['csv.ts', 'new-licenses.ts', 'cells.ts'].map((name) => join(folder, name)),
      ...readdirSync(join(folder, 'moving')).map((name) => join(folder, 'moving', name)),
    ];
    const own = /new OperatorError\((?![^;]*(?:facts:|field: 'map'))/;
    for (const file of files) expect([file, own.test(readFileSync(file, 'utf8'))]).toEqual([file, false]);
  });
});

describe('a move from Membership Pro with several sites in the database', () => {
  const subscriber = (id: number, plan_id: number, user_id: number, to: string) => ({
    ...{ id, plan_id, user_id, email: `user${user_id}@example.com`, plan_main_record: 1 },
    ...{ plan_subscription_status: 1, plan_subscription_to_date: to },
  });
  const plans = async () =>
    (await rows<{ id: number; reference: string; plan_id: number }>(service.db, 'licenses'))
      .filter(({ reference }) => reference.startsWith('membershippro:'))
      .map(({ reference, plan_id }) => [reference, plan_id])
      .sort();

  it('asks for the site, and for the plan that covers customers with several', async () => {
    const { db } = service;
    await makeMembershipPro(db, 'two_');
    await fillTable(db, 'two_', {
      osmembership_plans: [3, 5, 8].map((id) => ({ id, title: { 3: 'Pro', 5: 'Trial', 8: 'Forms' }[id] })),
      osmembership_documents: [1, 2].map((id) => ({ id, title: `Document ${id}` })),
      osmembership_plan_documents: [
        { plan_id: 3, document_id: 1 },
        { plan_id: 8, document_id: 2 },
      ],
      osmembership_subscribers: [
        subscriber(1, 3, 11, '2030-01-01 00:00:00'),
        subscriber(2, 8, 11, '2031-01-01 00:00:00'),
        subscriber(3, 3, 12, '2030-01-01 00:00:00'),
      ],
      osmembership_downloadids: [11, 12].map((user_id) => ({
        ...{ user_id, download_id: `${user_id}${KEY}`.slice(0, 32).toUpperCase(), published: 1 },
      })),
    });
    const club = await givePlan(db, { limit: 7 });
    const english = await pagesClient(service);
    const asked = await start(english, { from: 'membershippro' });
    expect(textOf(asked.html)).toContain('Several sites are in this database: new_, old_, two_.');
    const first = await send(english, asked, { from: 'membershippro', site_prefix: 'two_' });
    expect(textOf(first.html)).toContain('Customers with several plans');
    expect(textOf(first.html)).toMatch(/Forms, Pro user11@example\.com 1 /);
    expect(selected(first.html)).toEqual({ plan0: '', plan1: '', plan2: '-' });

    const without = await send(english, first, { do: 'check', plan0: String(planId), plan1: String(planId) });
    expect(without.html).toContain('Import 3 licences');
    expect(textOf(without.html)).toContain('each other licence gets a new key');
    const covered = await send(english, without, { do: 'check', plan2: String(club) });
    expect(textOf(covered.html)).not.toContain('each other licence gets a new key');
    expect(selected(covered.html)).toMatchObject({ plan2: String(club) });
    // This choice was not shown yet, so it is shown first.
    const back = await send(english, covered, { do: 'import', plan2: '-' });
    expect(await plans()).toEqual([]);
    expect(selected(back.html)).toMatchObject({ plan2: '-' });

    await send(english, covered, { do: 'import' });
    expect(await plans()).toEqual([
      ['membershippro:1', planId],
      ['membershippro:2', club],
      ['membershippro:3', planId],
    ]);
    // The next run remembers the choice, and the seller can take it back.
    const again = await start(english, { from: 'membershippro', site_prefix: 'two_' });
    expect(textOf(again.html)).toContain('There is nothing to import.');
    expect(selected(again.html)).toMatchObject({ plan2: String(club) });
    const none = await send(english, again, { do: 'check', plan2: '-' });
    expect(selected(none.html)).toMatchObject({ plan2: '-' });
    expect(textOf(none.html)).toContain('each other licence gets a new key');
  });
});
