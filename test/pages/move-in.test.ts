import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/processes';
import { PREFIX, giveLicense, givePlan, rows, startTestService, type TestService } from '../support/service';
import { selected, send, start } from './support/move-in';
import { pagesClient, textOf } from './support/session';

/** The page that moves licences in from another system: the preview, the plans, the move, and undoing it. */

let service: TestService;
let planId: number;
beforeAll(async () => {
  service = await startTestService({ LICENSING_KEY_SECRET: Buffer.alloc(32, 7).toString('base64') });
  planId = await givePlan(service.db);
});
afterAll(() => service.stop());

const HEADING =
  'License ID,License Key,License Status,Customer Email,Customer Name,Product Name,Price ID,Purchase Date,Expiration Date,Activation Limit,Activated URLs';
const KEYS = [1, 2, 3].map((i) => `${i}41d8cd98f00b204e9800998ecf8427e`);
const row = (i: number, product: string, status = 'active', end = '4102444799') =>
  `${i},${KEYS[i - 1] ?? ''},${status},jane${i}@example.com,Jane Roe,${product},,2024-03-01 10:00:00,${end},2,example.com/`;
const FILE = [
  HEADING,
  row(1, 'Gallery'),
  row(2, 'Forms', 'inactive', 'lifetime'),
  row(3, 'Forms', 'odd'),
].join('\n');

const licenses = () => rows<{ reference: string; plan_id: number }>(service.db, 'licenses');

describe('a move from another system', () => {
  it('shows a preview, asks for the plans, imports what it showed, and is undone', async () => {
    const pages = await pagesClient(service);
    expect(textOf((await pages.get('/system')).html)).toContain('Move in');
    expect(textOf((await pages.get('/move-in')).html)).toContain('None yet.');

    const first = await start(pages, { from: 'edd-csv' }, FILE);
    expect(first.status).toBe(200);
    const text = textOf(first.html);
    expect(text).toContain('Move in from EDD Software Licensing');
    expect(text).toContain('License Status: this state is not known 1 4');
    expect(text).toContain('Assign each plan');
    expect(first.html).not.toContain('value="import"');
    expect(selected(first.html)).toMatchObject({ plan0: '', plan1: '' });
    expect(await licenses()).toEqual([]);

    const german = textOf(
      (await start(await pagesClient(service, { language: 'de' }), { from: 'edd-csv' }, FILE)).html,
    );
    expect(german).toContain('License Status: dieser Zustand ist nicht bekannt 1 4');
    expect(german).toContain('Tarif „Gallery“ ist noch nicht zugeordnet');
    const chosen = await send(pages, first, { do: 'check', plan0: String(planId), plan1: 'new' });
    expect(textOf(chosen.html)).toContain('2 licences would be new.');
    expect(textOf(chosen.html)).toContain('Licences before and after');
    expect(chosen.html).toContain('Import 2 licences');
    expect(selected(chosen.html)).toMatchObject({ plan0: String(planId), plan1: 'new' });
    // The new plan is proposed like its licence, with two sites and no end.
    const typed = (html: string) =>
      Object.fromEntries(
        ['name.1', 'activation_limit.1', 'duration.1'].map((name) => [
          name,
          new RegExp(`name="${name}"[^>]* value="([^"]*)"`).exec(html)?.[1],
        ]),
      ) as Record<string, string>;
    const proposed = { 'name.1': 'Forms, 2 sites', 'activation_limit.1': '2', 'duration.1': '' };
    expect(typed(chosen.html)).toEqual(proposed);
    const odd = await send(pages, chosen, { do: 'import', ...proposed, 'duration.1': 'a year' });
    expect(odd.status).toBe(400);
    expect(textOf(odd.html)).toContain('Please type a time such as 1y');
    expect(odd.html).not.toContain('value="import"');
    const edited = { ...proposed, 'name.1': 'Forms Agency', 'duration.1': '2y' };
    const looked = await send(pages, chosen, { do: 'import', ...edited });
    expect(typed(looked.html)).toEqual(edited);
    for (const key of KEYS) expect(textOf(chosen.html)).not.toContain(key);
    expect(await licenses()).toEqual([]);

    // A choice that differs from the preview is shown first, and not imported.
    const other = await send(pages, looked, { do: 'import', ...edited, plan1: '-' });
    expect(other.html).toContain('Import 1 licence<');
    expect(await licenses()).toEqual([]);

    const done = await send(pages, looked, { do: 'import', ...edited });
    expect(textOf(done.html)).toContain('Moved in from EDD Software Licensing');
    expect(await rows(service.db, 'plans')).toContainEqual(
      expect.objectContaining({ name: 'Forms Agency', activation_limit: 2, duration: '2y' }),
    );
    const here = await licenses();
    expect(here.map(({ reference }) => reference).sort()).toEqual(['edd-csv:1', 'edd-csv:2']);
    expect(here.find(({ reference }) => reference === 'edd-csv:1')?.plan_id).toBe(planId);
    const answer = await fetch(`${service.url}${PREFIX}/licenses/validate`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ license_key: KEYS[1]?.toUpperCase() }),
    });
    expect(await answer.json()).toMatchObject({ data: { status: 'active' } });

    // The plans of the last run are remembered.
    const again = await start(pages, { from: 'edd-csv' }, FILE);
    expect(textOf(again.html)).toContain('There is nothing to import.');
    expect(selected(again.html)).toMatchObject({ plan0: String(planId) });

    const list = await pages.get('/move-in');
    expect(textOf(list.html)).toContain('EDD Software Licensing');
    const [, undo = ''] = /pages(\/move-in\/\d+\/undo)"/.exec(list.html) ?? [];
    expect(textOf((await pages.get(undo)).html)).toContain('Undo the move from EDD Software Licensing?');
    const undone = await pages.post(undo);
    expect(textOf(undone.html)).toMatch(/Licences removed 2 Plans removed 1 Products removed 1/);
    expect(textOf(undone.html)).toContain('Nothing is left.');
    expect(await licenses()).toEqual([]);
    expect(textOf((await pages.get('/move-in')).html)).toContain('undone');
    expect(textOf((await pages.get(undo)).html)).toContain('This move is already undone.');
  });

  it('joins a second file with the customers’ addresses, and keeps both', async () => {
    const pages = await pagesClient(service);
    const keys =
      'id,order_id,product_id,user_id,license_key,status,expires_at,valid_for\n1,7,9,5,ABC-DEF-GHI,2,,\n';
    const first = await start(
      pages,
      { from: 'lmfwc-csv' },
      keys,
      'ID,user_email,display_name\n5,jo@example.com,Jo\n',
    );
    const chosen = await send(pages, first, { do: 'check', plan0: String(planId) });
    expect(textOf(chosen.html)).toContain('jo@example.com');
    await send(pages, chosen, { do: 'import' });
    expect(await rows(service.db, 'licenses')).toMatchObject([{ customer: 'jo@example.com' }]);
    const { html } = await pages.get('/move-in');
    await pages.post(/pages(\/move-in\/\d+\/undo)"/.exec(html)?.[1] ?? '');
    expect(await licenses()).toEqual([]);
  });

  it('reports mistakes in a file, in the form in which it was chosen', async () => {
    const pages = await pagesClient(service);
    const cases: [Record<string, string>, string | undefined, RegExp][] = [
      [{ from: 'edd-csv' }, undefined, /file of EDD Software Licensing is missing/],
      [{ from: 'edd-csv' }, 'a,b\n1,2\n', /This is not the table that EDD Software Licensing exports/],
      [
        { from: 'edd-csv' },
        [HEADING, row(1, 'Gallery', 'active', '01/02/2027')].join('\n'),
        /the day \(01\/02\/2027 is 2027-02-01\), or the month \(01\/02\/2027 is 2027-01-02\)/,
      ],
      [{ from: 'hikaserial' }, undefined, /no table whose name ends in hikaserial_serial/],
      [{ from: 'nothing' }, undefined, /./],
    ];
    for (const [fields, file, sentence] of cases) {
      const { status, html } = await start(pages, fields, file);
      expect([fields, status]).toEqual([fields, 400]);
      expect(html).toContain('role="alert"');
      expect(textOf(html)).toMatch(sentence);
    }
    const dated = [HEADING, row(1, 'Gallery', 'active', '01/02/2027')].join('\n');
    const { status } = await start(pages, { from: 'edd-csv', dates: 'dmy' }, dated);
    expect(status).toBe(200);
  });

  it('shows how the sites are doing, and which keys are unknown', async () => {
    const pages = await pagesClient(service);
    expect((await pages.get('/move-in')).html).toContain('/move-in/check"');
    expect(textOf((await pages.get('/move-in/check')).html)).toContain('No site has asked yet.');
    const { id, key } = await giveLicense(service.db, planId);
    // The last digit differs.
    const slip = key.slice(0, -1) + (key.endsWith('0') ? '1' : '0');
    await fetch(`${service.url}${PREFIX}/licenses/activate`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ license_key: slip, identifier: 'site.example' }),
    });
    await eventually(async () => {
      const { html } = await pages.get('/move-in/check');
      expect(textOf(html)).toContain('Here, the last 30 days 1 0 1 Unknown or mistyped key: 1');
      expect(textOf(html)).toMatch(new RegExp(`Key ${slip.slice(-8)} 1 1 .*one character differs`));
      expect(html).toContain(`/licenses/${id}"`);
    });
    const german = await pagesClient(service, { language: 'de' });
    expect(textOf((await german.get('/move-in/check')).html)).toContain(
      'Schlüssel unbekannt oder vertippt: 1',
    );
  });

  it('is available in German', async () => {
    const pages = await pagesClient(service, { language: 'de' });
    expect(textOf((await pages.get('/move-in')).html)).toContain('Bisheriges System');
    const first = await start(pages, { from: 'edd-csv' }, FILE);
    expect(textOf(first.html)).toContain('Welcher Tarif wird welcher?');
  });
});
