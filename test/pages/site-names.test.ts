import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Settings } from '../../src/settings/config';
import { inBothForms } from '../../src/licensing/core/identifiers';
import { NOW, startManaged, type Managed } from '../support/manage';
import { eventually, temporaryFolder } from '../support/processes';
import { operator } from '../support/operator';
import { giveLicense, givePlan, PREFIX, rows } from '../support/service';
import { customerClient, pagesClient, textOf, type PagesClient } from './support/session';

/** The names of sites on the customer's and the operator's pages, and the texts about removing one. */

const EMAIL = 'agentur@example.com';
const STORED = 'xn--mnchen-3ya.net';
const WRITTEN = 'münchen.net';
const BOTH = `${WRITTEN} (${STORED})`;
/** All letters of this name are Cyrillic. */
const [LOOKS_LATIN, IS] = ['аррӏе.com', 'xn--80ak6aa92e.com'];
const [SENT, SENT_IS] = ['www.арр.com', 'xn--80a6aa.com'];

let service: Managed;
let plan: number;
let settings: Settings;
beforeAll(async () => {
  settings = { LICENSING_DATABASE_URL: `sqlite:${join(temporaryFolder(), 'test.sqlite')}` };
  service = await startManaged(settings);
  plan = await givePlan(service.db, { limit: 1, selfServiceMoves: 3, freeStaging: true }, NOW);
});
afterAll(() => service.stop());

async function give(customer = EMAIL, planId = plan) {
  const license = await giveLicense(service.db, planId, { customer }, NOW);
  const activate = (identifier: string) =>
    service.write.ok(`POST /licenses/${license.id}/activations`, { identifier }, 201);
  const siteId = async (identifier: string) =>
    (await rows<{ id: number; license_id: number; identifier: string }>(service.db, 'activations')).find(
      (one) => one.license_id === license.id && one.identifier === identifier,
    )!.id;
  return { ...license, path: `/licenses/${license.id}`, activate, siteId };
}

describe('an international name is written in both forms, and stored as DNS has it', () => {
  const expectWritten = async (client: PagesClient, path: string, sentence = BOTH) => {
    const text = textOf((await client.get(path)).html);
    expect([path, text]).toEqual([path, expect.stringContaining(sentence)]);
    expectBoth(text);
  };
  /** Expects both forms of each name, and not one of them without the other. */
  const expectBoth = (text: string) => {
    for (const [written, stored] of [
      [WRITTEN, STORED],
      ['köln.net', 'xn--kln-sna.net'],
      [LOOKS_LATIN, IS],
      [SENT, SENT_IS],
    ] as const) {
      const both = new RegExp(`${written} \\((?:staging\\.)?${stored}\\)`, 'g');
      expect(text.replaceAll(both, '')).not.toMatch(new RegExp(`${written}|${stored}`));
    }
  };

  it('on every page that names it', async () => {
    const license = await give();
    const operator = await pagesClient(service);
    const { html: added } = await operator.send(`${license.path}/sites/add`, { identifier: WRITTEN });
    expect(textOf(added)).toContain(BOTH);
    await expectWritten(operator, `${license.path}/cancel`);
    await license.activate('staging.münchen.net');
    // The only slot is in use, so the log has the name that the site sent.
    await fetch(`${service.url}${PREFIX}/licenses/activate`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ license_key: license.key, identifier: 'xn--kln-sna.net' }),
    });
    await eventually(async () => expect(await rows(service.db, 'access_log')).toHaveLength(1));
    const [entry] = await rows<{ identifier: string }>(service.db, 'access_log');
    expect(entry!.identifier).toBe('xn--kln-sna.net');

    await expectWritten(operator, license.path);
    const koeln = 'köln.net (xn--kln-sna.net)';
    await expectWritten(operator, license.path, `Adding ${koeln} refused`);
    await expectWritten(operator, license.path, `Last refused: ${koeln}`);
    await expectWritten(operator, `${license.path}/history`);
    for (const path of ['/requests', `${license.path}/requests`])
      await expectWritten(operator, path, `Adding ${koeln} refused`);
    for (const about of ['köln.net', 'xn--kln-sna.net'])
      expect(await operator.post('/find', { about })).toMatchObject({ location: license.path });
    const german = await pagesClient(service, { language: 'de' });
    await expectWritten(german, license.path, `Hinzufügen von ${koeln} abgelehnt`);

    const customer = await customerClient(service, { email: EMAIL });
    await expectWritten(customer, '/my/mail');
    await expectWritten(customer, `/my${license.path}/sites`);
    const site = await license.siteId(STORED);
    await expectWritten(customer, `/my${license.path}/sites/${site}/remove`, `Remove ${BOTH}`);
    for (const typed of [WRITTEN, STORED]) {
      const { html } = await customer.post('/my/sites', { site: typed });
      expect(textOf(html)).toContain(BOTH);
    }
    const { html: removed } = await customer.send(`/my${license.path}/sites/${site}/remove`);
    expect(textOf(removed)).toContain(`${BOTH} is removed.`);
  });

  it('also by the command, and if all letters belong to another script but look like Latin ones', async () => {
    const license = await give('cyrillic@example.com');
    await license.activate(LOOKS_LATIN);
    // The log keeps the name in the form that the client sent.
    const sent = { license_key: license.key, identifier: SENT };
    await fetch(`${service.url}${PREFIX}/licenses/activate`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(sent),
    });
    const { run } = operator(settings);
    const id = String(license.id);
    await eventually(async () => {
      const { stdout, stderr } = await run(['why', `id:${id}`]);
      expect([stdout, stderr]).toEqual([expect.stringContaining('Activating'), '']);
    });
    const { stdout: why } = await run(['why', `id:${id}`]);
    expectBoth(why.replaceAll(/\s+/g, ' '));
    for (const args of [
      ['activation', 'list', id],
      ['customer', 'show', 'cyrillic@example.com'],
    ]) {
      const { stdout: table } = await run(args);
      // The table wraps a wide cell.
      for (const form of [LOOKS_LATIN, `(${IS})`]) expect(table).toContain(form);
    }
    const pages = await pagesClient(service);
    await expectWritten(pages, license.path, `${LOOKS_LATIN} (${IS})`);
    await expectWritten(pages, `${license.path}/history`, `Site added: ${LOOKS_LATIN} (${IS})`);
  });

  it('in the API, and as a form keeps it, as it is stored or was typed', async () => {
    const license = await give('api@example.com');
    await license.activate(WRITTEN);
    const [activation] = (await service.read.ok(`GET ${license.path}/activations`)) as unknown as {
      identifier: string;
    }[];
    expect(activation!.identifier).toBe(STORED);
    const operator = await pagesClient(service);
    const refused = await operator.post(`${license.path}/sites/add`, {
      identifier: 'xn--kln-sna.net',
      name: 'x'.repeat(300),
    });
    expect(refused.status).toBe(400);
    expect(refused.html).toContain('value="xn--kln-sna.net"');
  });
});

describe('a name that is not a site is written once', () => {
  it.each([
    ['jörg.müller', undefined, 'jörg.müller'],
    ['jörg.müller', 'domain', 'jörg.müller (xn--jrg-sna.xn--mller-kva)'],
    ['jörg.müller.de', 'seat', 'jörg.müller.de'],
    [STORED, 'seat', STORED],
    [STORED, undefined, BOTH],
    [WRITTEN, undefined, BOTH],
    ['xn--mnchen-3ya.local', 'domain', 'münchen.local (xn--mnchen-3ya.local)'],
    ['xn--mnchen-3ya.local', undefined, 'xn--mnchen-3ya.local'],
    ['https://büro.local/x', undefined, 'https://büro.local/x (xn--bro-hoa.local)'],
    ['büro.github.io', undefined, 'büro.github.io (xn--bro-hoa.github.io)'],
  ])('%p as %p', (identifier, type, written) => expect(inBothForms(identifier, type)).toBe(written));

  it('such as a user who has a seat, on pages and by the command', async () => {
    const email = 'seats@example.com';
    const own = { type: 'seat', limit: 1, selfServiceMoves: 3 } as const;
    const license = await give(email, await givePlan(service.db, own, NOW));
    const [seat, other] = ['jörg.müller', 'jürgen.groß.de'];
    await license.activate(seat);
    await fetch(`${service.url}${PREFIX}/licenses/activate`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ license_key: license.key, identifier: 'jörg.meier' }),
    });
    const { run } = operator(settings);
    const id = String(license.id);
    await eventually(async () => expect((await run(['why', `id:${id}`])).stdout).toContain('jörg.meier'));
    const pages = await pagesClient(service);
    const customer = await customerClient(service, { email });
    const site = await license.siteId(seat);
    const texts = [
      ...(await Promise.all(
        ['', '/history', '/requests', '/cancel', '/sites'].map(
          async (path) => (await pages.get(license.path + path)).html,
        ),
      )),
      ...(await Promise.all(
        ['/my/mail', `/my${license.path}/sites`, `/my${license.path}/sites/${site}/remove`].map(
          async (path) => (await customer.get(path)).html,
        ),
      )),
      ...(await Promise.all(
        [
          ['why', `id:${id}`],
          ['activation', 'list', id],
          ['customer', 'show', email],
        ].map(async (args) => (await run(args)).stdout),
      )),
      (await customer.send(`/my${license.path}/sites/${site}/remove`)).html,
      (await pages.send(`${license.path}/sites/add`, { identifier: other })).html,
      (await run(['activation', 'remove', id, other])).stdout,
    ];
    for (const text of texts) {
      expect(text).toMatch(/jörg|jürgen/);
      expect(text).not.toContain('xn--');
    }
  });
});

describe('removing a staging site frees no slot', () => {
  it.each([
    [
      'en',
      'It takes no slot, so removing it frees none and does not count.',
      'No slot becomes free by this.',
    ],
    ['de', 'deshalb wird keiner frei, und das Entfernen zählt nicht.', 'Dadurch wird kein Platz frei.'],
  ] as const)('and says so to the customer and the operator: %s', async (language, before, after) => {
    const email = `${language}@example.com`;
    const license = await give(email);
    await license.activate('www.example.org');
    const staging = ['staging.example.org', 'test.example.org'] as const;
    for (const site of staging) await license.activate(site);
    const [mine, theirs] = [await license.siteId(staging[0]), await license.siteId(staging[1])];

    const customer = await customerClient(service, { email }, { language });
    const path = `/my${license.path}/sites/${mine}/remove`;
    expect(textOf((await customer.get(path)).html)).toContain(before);
    await customer.send(path);

    const operator = await pagesClient(service, { language });
    const { html } = await operator.send(`${license.path}/sites/${theirs}/remove`);
    expect(textOf(html)).toContain(
      `${staging[1]} ${language === 'en' ? 'is removed' : 'ist entfernt'}. ${after}`,
    );
    const { activations_used: used } = await service.read.ok(`GET ${license.path}`);
    expect(used).toBe(1);
  });
});
