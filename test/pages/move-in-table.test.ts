import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { givePlan, rows, startTestService, type TestService } from '../support/service';
import { selected, send, start } from './support/move-in';
import { pagesClient, textOf, type PagesClient } from './support/session';

/** A table of an unknown system, on the German page. */

/** A table as a German Excel saves it: Windows-1252, semicolons, German dates and words. All of it is invented. */
const GERMAN = readFileSync(join(__dirname, '../transfer/tables/german.csv'));

let service: TestService;
let pages: PagesClient;
let planId: number;
beforeAll(async () => {
  service = await startTestService({ LICENSING_KEY_SECRET: Buffer.alloc(32, 7).toString('base64') });
  planId = await givePlan(service.db);
  pages = await pagesClient(service, { language: 'de' });
});
afterAll(() => service.stop());

const licenses = () =>
  rows<{ reference: string; customer: string | null; plan_id: number }>(service.db, 'licenses');
const undoLatest = async () => {
  const [, undo = ''] = /pages(\/move-in\/\d+\/undo)"/.exec((await pages.get('/move-in')).html) ?? [];
  return textOf((await pages.post(undo)).html);
};

describe('a table of another system', () => {
  it('is imported from a German spreadsheet: rows that do not fit are named, and it can be undone', async () => {
    const first = await start(pages, { from: 'csv' }, GERMAN);
    expect(first.status).toBe(200);
    expect(selected(first.html)).toMatchObject({
      ...{
        'col-key': 'Lizenzschlüssel',
        'col-product': 'Produkt',
        'col-plan': 'Tarif',
        'col-status': 'Status',
      },
      ...{ 'col-limit': 'Max. Websites', 'col-start': 'Gekauft am', 'col-expiry': 'Gültig bis' },
      ...{
        'col-customer': 'E-Mail',
        'col-name': 'Kunde',
        'col-reference': 'Bestellnr.',
        'col-activations': 'Domains',
      },
    });
    const fields = Object.keys(selected(first.html)).filter((name) => name.startsWith('plan'));
    const plans = Object.fromEntries(fields.map((name) => [name, String(planId)]));
    const chosen = await send(pages, first, { do: 'check', ...plans });
    const [, count = '0'] =
      /Umzug von einer CSV-Tabelle .*?(\d+) Lizenzen wären neu/.exec(textOf(chosen.html)) ?? [];
    expect(Number(count)).toBeGreaterThanOrEqual(188);
    const left = textOf(chosen.html).split('Ausgelassen')[1]?.split('Lizenzen vorher')[0];
    // Each reason is listed with its row. Rows that share a key are tested in test/transfer.
    expect(left).toMatch(
      /Status: dieser Zustand ist nicht bekannt 1 24 Gültig bis: das ist kein Datum 1 32 der Schlüssel fehlt 1 42/,
    );
    expect(left).toMatch(
      /wie eine Tabellenkalkulation sie zeigt.* 1 46 Max. Websites: das ist keine Anzahl von Websites 1 55/,
    );
    const done = await send(pages, chosen, { do: 'import' });
    expect(textOf(done.html)).toContain('Umgezogen von einer CSV-Tabelle');
    expect(await licenses()).toHaveLength(Number(count));
    expect(await undoLatest()).toContain(`Lizenzen entfernt ${count}`);
    expect(await licenses()).toEqual([]);
  });

  it('has its plain German name in the list of moves, without the article of a sentence', async () => {
    const list = textOf((await pages.get('/move-in')).html).split('Bisherige Umzüge')[1];
    expect(list).toContain(' CSV-Tabelle zurückgenommen');
    expect(list).not.toContain('einer CSV-Tabelle');
  });

  const HEADING = 'Schlüssel;Tarif;Kunde;Läuft ab';
  const row = (i: number, end: string) => `TABLE-KEY-${1000 + i};${planId};Jo <jo${i}@example.com>;${end}`;
  const table = (ends: string[], heading = HEADING) =>
    [heading, ...ends.map((end, i) => row(i, end))].join('\n');

  it('raises the question whether day or month comes first, with one of its dates, and is kept', async () => {
    const asked = await start(pages, { from: 'csv' }, table(['03/04/2027', '05/06/2027']));
    expect(asked.status).toBe(400);
    expect(textOf(asked.html)).toContain('Was steht in der Spalte „Läuft ab“ zuerst?');
    expect(textOf(asked.html)).toMatch(
      /der Tag: 05\/06\/2027 ist der 5\. Juni 2027.*der Monat: 05\/06\/2027 ist der 6\. Mai 2027/,
    );
    expect(textOf(asked.html)).toContain('Die Datei ist noch da.');
    const answered = await send(pages, asked, { from: 'csv', dates: 'mdy' });
    expect(textOf(answered.html)).toMatch(/2 Lizenzen wären neu.*endet 04\.03\.2027/);
    await send(pages, answered, { do: 'import' });
    // The plans are ids, and names precede the addresses.
    expect(await licenses()).toMatchObject([{ customer: 'jo0@example.com', plan_id: planId }, {}]);
    expect(await undoLatest()).toContain('Lizenzen entfernt 2');
  });

  it('raises no question because of a few rows that contradict the others', async () => {
    const ends = [...Array<string>(19).fill('31/01/2027'), '01/31/2027'];
    const first = await start(pages, { from: 'csv' }, table(ends));
    expect(textOf(first.html)).toMatch(/19 Lizenzen wären neu.*Läuft ab: das ist kein Datum 1 21/);
    const more = await start(
      pages,
      { from: 'csv' },
      table([...ends.slice(1), '02/28/2027', 'ohne', '2027-01-31']),
    );
    expect(textOf(more.html)).toContain('Was steht in der Spalte „Läuft ab“ zuerst?');
  });

  it('raises the question for the column of the keys if no heading names it', async () => {
    const asked = await start(pages, { from: 'csv' }, table(['31.01.2027'], 'Spalte A;Tarif;Kunde;Läuft ab'));
    expect(textOf(asked.html)).toContain('Welche Spalte der ersten Zeile enthält die Lizenzschlüssel?');
    const chosen = await send(pages, asked, { from: 'csv', 'col-key': 'Spalte A' });
    expect(textOf(chosen.html)).toContain('Eine Lizenz wäre neu.');
    expect(selected(chosen.html)).toMatchObject({ 'col-key': 'Spalte A', 'col-plan': 'Tarif' });
    // Without a column of ends, the licence never expires. This choice was not shown yet, so it is shown first.
    const other = await send(pages, chosen, { do: 'import', 'col-expiry': '' });
    expect(textOf(other.html)).toMatch(/Eine Lizenz wäre neu.*unbefristet/);
    expect(await licenses()).toEqual([]);
  });

  it('raises the question for the column of the state, the end or the customer if there are several', async () => {
    const names =
      'Schlüssel;Tarif;Kundenname;E-Mail;Rechnungs-E-Mail;Status;License Status;Läuft ab;Updates until';
    const file = `${names}\nTWO-KEY-000001;${planId};Jo;a@example.com;b@example.com;active;revoked;;\n`;
    const customer = await start(pages, { from: 'csv' }, file);
    expect(textOf(customer.html)).toContain(
      'Welche Spalte enthält die Adresse des Kunden: „E-Mail“ oder „Rechnungs-E-Mail“?',
    );
    const end = await send(pages, customer, { from: 'csv', 'col-customer': 'Rechnungs-E-Mail' });
    expect(textOf(end.html)).toContain('Welche Spalte enthält das Ende: „Läuft ab“ oder „Updates until“?');
    const state = await send(pages, end, { from: 'csv', 'col-expiry': 'Läuft ab' });
    expect(textOf(state.html)).toContain(
      'Welche Spalte enthält den Zustand: „Status“ oder „License Status“?',
    );
    const chosen = await send(pages, state, { from: 'csv', 'col-status': 'License Status' });
    expect(selected(chosen.html)).toMatchObject({
      ...{ 'col-customer': 'Rechnungs-E-Mail', 'col-status': 'License Status' },
    });
    expect(textOf(chosen.html)).toMatch(/Eine Lizenz wäre neu.*b@example.com.*Entzogen/);
  });

  it('had its own page, whose address now leads to this one', async () => {
    const { status, location } = await pages.get('/imports');
    expect([status, location]).toEqual([303, expect.stringMatching(/\/move-in\?from=csv$/)]);
    expect(selected((await pages.get('/move-in?from=csv')).html)).toEqual({ from: 'csv' });
  });
});
