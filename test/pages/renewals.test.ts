import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { renew, setEnd } from '../../src/licensing/lifecycle';
import { endWithGrace } from '../../src/licensing/core/states';
import { countAllLicenses, aggregateNewRows } from '../../src/figures/statistics';
import { insertAccesses } from '../../src/store/access-log';
import { acquireOrRenewLease } from '../../src/store/leases';
import { recordRefusals } from '../../src/store/refusals';
import { startManaged, type Managed } from '../support/manage';
import { giveLicense, givePlan } from '../support/service';
import { pagesClient, textOf, type PagesClient } from './support/session';

/** The business figures that a seller reads on a Monday, on their pages and in the API. */

const NOW = new Date('2026-11-23T07:30:00Z');
const on = (day: string) => new Date(`${day}T06:00:00Z`);
const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

let service: Managed;
let pages: PagesClient;
let plans: [number, number];
const licenses: Record<string, number> = {};

beforeAll(async () => {
  service = await startManaged({}, NOW);
  pages = await pagesClient(service);
});
afterAll(() => service.stop());

/** Returns the rows of the table with this caption, as texts by the names of the columns. */
function tableOf(html: string, caption: string): Record<string, string>[] {
  const tables = [...html.matchAll(/<table.*?<\/table>/gs)].map(([table]) => table);
  const table = tables.find((one) => /<caption[^>]*>(.*?)<\/caption>/s.exec(one)?.[1]?.startsWith(caption));
  const cells = (row: string) =>
    [...row.matchAll(/<t[hd][ >].*?<\/t[hd]>/gs)].map(([cell]) => cell.replace(/<[^>]*>/g, '').trim());
  const [head = '', ...rows] = [...(table ?? '').matchAll(/<tr.*?<\/tr>/gs)].map(([row]) => row);
  const names = cells(head);
  return rows.map((row) => Object.fromEntries(cells(row).map((text, i) => [names[i]!, text])));
}

/** Returns a chart's bars by their titles: the class of each part, and its height relative to the highest bar. */
function barsOf(html: string, id: string): Map<string, { colour: string; height: number }[]> {
  const svg = new RegExp(`<svg[^>]*aria-labelledby="${id}-says".*?</svg>`, 's').exec(html)?.[0] ?? '';
  const bars = new Map(
    [...svg.matchAll(/<g><title>(.*?): [\d,]+<\/title>(.*?)<\/g>/gs)].map(([, label = '', rects = '']) => [
      label,
      [...rects.matchAll(/<rect class="(\w)"[^>]*? height="([\d.]+)"/g)].map(([, colour = '', height]) => ({
        ...{ colour, height: Number(height) },
      })),
    ]),
  );
  const highest = Math.max(...[...bars.values()].map(heightOf));
  return new Map(
    [...bars].map(([label, parts]) => [
      label,
      parts.map(({ colour, height }) => ({ colour, height: height / highest })),
    ]),
  );
}

function heightOf(parts: { height: number }[]): number {
  return parts.reduce((sum, { height }) => sum + height, 0);
}

describe('before anything was sold', () => {
  test('the pages explain what makes a licence end, and lead on', async () => {
    const { html } = await pages.get('/renewals');
    expect(textOf(html)).toContain('A licence ends if its plan has a duration');
    expect(html).toMatch(/<a href="[^"]*\/products">See the plans<\/a>/);
    expect(html).not.toContain('<svg class="chart');
    const list = await pages.get('/not-renewed');
    expect(textOf(list.html)).toContain('Every licence that ended was renewed.');
    expect(list.html).toMatch(/<a href="[^"]*\/renewals">See which licences end soon<\/a>/);
  });
});

describe('a shop of two products', () => {
  beforeAll(async () => {
    const { db } = service;
    plans = [
      await givePlan(db, { limit: 1 }, on('2025-01-01')),
      await givePlan(db, { limit: 1, productId: 43 }, on('2025-01-01')),
    ];
    const context = (day: string) => ({ actor: 'operator:test', now: on(day) });
    const sell = async (
      name: string,
      end: string,
      { planId = plans[0], customer }: { planId?: number; customer?: string } = {},
    ) =>
      (licenses[name] = (
        await giveLicense(db, planId, { expiresAt: on(end), customer }, on('2025-06-01'))
      ).id);
    for (let i = 0; i < 24; i++) {
      const month = String(1 + (i % 9)).padStart(2, '0');
      const id = await sell(`s${i}`, `2026-${month}-10`, { planId: plans[i % 2]! });
      if (i % 4 < 2) await renew(db, id, { for: '1y' }, context(`2026-${month}-04`));
      else if (i % 4 === 2) await renew(db, id, { for: '1y' }, context(`2026-${month}-20`));
    }
    await sell('quiet', '2026-11-02', { customer: 'quiet@example.com' });
    await sell('tried', '2026-10-20', { customer: 'tried@example.com' });
    await sell('another', '2026-10-21', { customer: 'two@example.com' });
    await sell('works', '2027-05-01', { customer: 'two@example.com' });
    const soon = await sell('soon', '2026-11-28');
    await setEnd(
      ...([db, soon] as const),
      { ...endWithGrace(on('2026-11-28'), 3), renewsItself: true },
      { ...context('2026-01-01'), isRenewal: false },
    );
    await sell('due', '2026-12-10', { planId: plans[1] });
    await sell('due2', '2026-12-10', { planId: plans[1] });
    const access = {
      ...{ endpoint: 'download' as const, keyId: null, keyHint: null, productId: 42, version: null },
      ...{ identifier: null, ip: null, userAgent: null, licenseId: licenses.tried! },
      ...{ site: null, installedVersion: null },
    };
    await insertAccesses(db, [
      { ...access, at: on('2026-10-01'), outcome: 'ok', times: 1 },
      { ...access, at: on('2026-11-20'), outcome: 'LICENSE_EXPIRED', times: 3 },
    ]);
    await recordRefusals(db, [{ ...access, at: on('2026-11-20'), outcome: 'LICENSE_EXPIRED' }]);
    const lease = { name: 'housekeeping', holder: 'test' };
    const later = new Date(Date.now() + 24 * 60 * 60 * 1000);
    expect(await acquireOrRenewLease(db, lease, later)).toBe(true);
    expect(await aggregateNewRows(db, lease, () => later)).toBe(true);
    expect(await countAllLicenses(db, { ...lease }, () => NOW)).toBe(true);
  });

  test('shows the figures of the API, and each chart what its table says', async () => {
    const { html } = await pages.get('/renewals');
    const figures = (await service.read.ok('GET /renewals', undefined)) as unknown as {
      months: { month: string; ended: number; in_time: number; late: number; lost: number; final: boolean }[];
      states: ({ month: string } & Record<string, number>)[];
      ends: { day: string; licenses: number }[];
    };
    const nameOf = (month: string) => `${MONTHS[Number(month.slice(5)) - 1]} ${month.slice(0, 4)}`;
    expect(textOf(html)).toContain('Licences that ended from Dec 2025 to Sep 2026: 24. Renewed: 18 (75 %).');
    const months = tableOf(html, 'Renewals by month');
    expect(months).toEqual(
      figures.months.map((one) => ({
        Month: one.final ? nameOf(one.month) : `${nameOf(one.month)}, not final`,
        ...{ Ended: String(one.ended), 'In time': String(one.in_time) },
        ...{ 'Within 30 days': String(one.late), Lost: String(one.lost) },
      })),
    );
    expect(months.filter(({ Month }) => Month?.includes('not final')).map(({ Month }) => Month)).toEqual([
      'Oct 2026, not final',
      'Nov 2026, not final',
    ]);
    expect(months.at(-2)).toMatchObject({ Ended: '2', Lost: '2' });

    const highest = Math.max(...figures.months.map(({ ended }) => ended));
    const drawn = (values: Record<string, number>, top: number) =>
      Object.entries(values)
        .filter(([, value]) => value > 0)
        .map(([colour, value]) => ({ colour, height: expect.closeTo(value / top, 2) }));
    const bars = barsOf(html, 'months');
    for (const { month, in_time: b, late: s, lost: r, ended } of figures.months)
      if (ended > 0) expect(bars.get(nameOf(month))).toEqual(drawn({ b, s, r }, highest));
      else expect(bars.has(nameOf(month))).toBe(false);

    const states = tableOf(html, 'Licences by state');
    expect(states).toHaveLength(24);
    expect(states.at(-1)).toEqual({
      ...{ Month: 'Nov 2026, now', Active: '22', Expired: '9', Suspended: '0', Revoked: '0', Cancelled: '0' },
    });
    expect(states.map(({ Active }) => Number(Active))).toEqual(figures.states.map(({ active }) => active));
    const most = Math.max(...figures.states.map(({ active, expired }) => active! + expired!));
    expect(barsOf(html, 'states').get('Nov 2026, now')).toEqual(drawn({ b: 22, s: 9 }, most));

    const calendar = /<svg class="chart days".*?<\/svg>/s.exec(html)?.[0] ?? '';
    const shaded = [...calendar.matchAll(/<rect class="d([1-4])"[^>]*><title>(.*?): (\d+)<\/title>/g)];
    const most2 = Math.max(...figures.ends.map(({ licenses: count }) => count));
    expect(shaded.map(([, shade, day, count]) => [day, count, Number(shade)])).toEqual(
      tableOf(html, 'Ends by day').map(({ Day, Licences }) => [
        Day,
        Licences,
        Math.ceil((Number(Licences) / most2) * 4),
      ]),
    );
    expect(shaded.slice(0, 2).map(([, , day, count]) => [day, count])).toEqual([
      ['28 Nov 2026', '1'],
      ['10 Dec 2026', '2'],
    ]);
    // One square for each day of the thirteen months.
    expect(calendar.match(/<rect /g)).toHaveLength(395);

    const due = tableOf(html, 'Licences that end').slice(0, 2);
    expect(due).toEqual([
      { In: '7 days', 'Without a subscription': '0', 'With a subscription': '1' },
      { In: '30 days', 'Without a subscription': '2', 'With a subscription': '1' },
    ]);
    expect(html).toContain('/licenses?expiring=30d"');
    expect((await service.read.all('/licenses?expiring=30d')).length).toBe(2);
    expect(html).toContain('/not-renewed?month=2026-10"');
  });

  test('counts a single product or plan', async () => {
    const all = tableOf((await pages.get('/renewals')).html, 'The same twelve months');
    expect(all.map(({ Plan, Ended }) => [Plan, Ended])).toEqual([
      ['Example Shop · Developer', '15'],
      ['Product 43 · Developer', '12'],
    ]);
    const { html } = await pages.get('/renewals?product_id=43');
    expect(textOf(html)).toContain('Licences that ended from Dec 2025 to Sep 2026: 12. Renewed: 6.');
    expect(html).toContain(`/not-renewed?product_id=43&amp;month=2026-08"`);
    const byPlan = await service.read.ok(`GET /renewals?plan_id=${plans[1]}`, undefined);
    expect(byPlan).toMatchObject({ final: { ended: 12, in_time: 6, late: 0, lost: 6 } });
    await service.read.refused('GET /renewals?plan_id=99', undefined, 'INVALID_REQUEST', 'plan_id');
    await service.read.refused('GET /not-renewed?month=2026', undefined, 'INVALID_REQUEST', 'month');
    // A page ignores a filter for a plan that does not exist.
    expect((await pages.get('/renewals?plan_id=99')).status).toBe(200);
  });

  test('lists who did not renew, with the addresses to write to', async () => {
    const { html } = await pages.get('/not-renewed');
    const rows = tableOf(html, 'Latest refusal since the end first');
    expect(rows[0]).toEqual({
      ...{ Customer: 'tried@example.com', 'Product · plan': 'Example Shop · Developer' },
      ...{ 'Customer since': '1 Jun 2025', Ended: '20 Oct 2026', 'Last download': '1 Oct 2026' },
      ...{ 'Refused since the end': '3', 'Last tried': '20 Nov 06:00' },
    });
    expect(rows.slice(1, 3).map(({ Customer }) => Customer)).toEqual([
      'quiet@example.com',
      'two@example.comhas another valid licence',
    ]);
    expect(textOf(html)).toContain('Write to 2 addresses');
    expect(html).toContain('>tried@example.com, quiet@example.com</textarea>');
    expect(html).toContain(`/licenses/${licenses.tried}/requests?outcome=LICENSE_EXPIRED"`);
    expect(
      tableOf((await pages.get('/not-renewed?month=2026-10')).html, 'Latest refusal since the end first'),
    ).toHaveLength(2);
    expect(textOf((await pages.get('/not-renewed?month=2026-10&product_id=43')).html)).toContain(
      'No licence matches.',
    );

    const csv = (await pages.get('/not-renewed.csv?month=2026-10')).html.trim().split('\r\n');
    expect(csv).toHaveLength(3);
    expect(csv[0]).toContain('"Licence ID","Customer","Product","Plan","Customer since","Ended"');
    expect(csv[1]).toContain(
      `${licenses.tried},"tried@example.com","Example Shop","Developer","2025-06-01T06:00:00.000Z","2026-10-20T06:00:00.000Z","2026-10-01T06:00:00.000Z",3,"2026-11-20T06:00:00.000Z",false`,
    );
    expect(await service.read.all('/not-renewed?month=2026-10')).toMatchObject([
      { license_id: licenses.tried, refused: 3, has_active: false },
      { license_id: licenses.another, refused: 0, refused_at: null, has_active: true },
    ]);
  });

  test('is for every operator who may read, but not for a shop', async () => {
    const reader = await pagesClient(service, { scope: 'read' });
    for (const path of ['/renewals', '/not-renewed', '/not-renewed.csv'])
      expect((await reader.get(path)).status).toBe(200);
    const nobody = await pagesClient(service, { scope: 'none' });
    for (const path of ['/renewals', '/not-renewed', '/not-renewed.csv'])
      expect((await nobody.get(path)).status).not.toBe(200);
    for (const path of ['/renewals', '/not-renewed'])
      await service.issue.refused(`GET ${path}`, undefined, 'FORBIDDEN');
  });

  test('is in German too', async () => {
    const german = await pagesClient(service, { language: 'de' });
    const page = textOf((await german.get('/renewals')).html);
    for (const text of [
      'Von Dez 2025 bis Sep 2026 abgelaufene Lizenzen: 24. Davon verlängert: 18 (75 %).',
      'Nov 2026, vorläufig',
      'Ohne Abonne\u00adment',
      'An welchen Tagen laufen Lizenzen ab?',
    ])
      expect(page).toContain(text);
    expect(page).not.toMatch(/Renew|Due|Lost|licence/);
    const list = textOf((await german.get('/not-renewed')).html);
    for (const text of ['Nicht verlängert', '2 Adressen anschreiben', 'hat eine andere gültige Lizenz'])
      expect(list).toContain(text);
    expect(list).not.toMatch(/Renew|Write|licence/);
  });
});
