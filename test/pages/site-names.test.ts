import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NOW, startManaged, type Managed } from '../support/manage';
import { eventually } from '../support/processes';
import { giveLicense, givePlan, PREFIX, rows } from '../support/service';
import { customerClient, pagesClient, textOf, type PagesClient } from './support/session';

/** How sites are named on the customer's pages and the operator's, and what removing one says. */

const EMAIL = 'agentur@example.com';
const STORED = 'xn--mnchen-3ya.net';
const WRITTEN = 'münchen.net';

let service: Managed;
let plan: number;
beforeAll(async () => {
  service = await startManaged();
  plan = await givePlan(service.db, { limit: 1, selfServiceMoves: 3, freeStaging: true }, NOW);
});
afterAll(() => service.stop());

async function give(customer = EMAIL) {
  const license = await giveLicense(service.db, plan, { customer }, NOW);
  const activate = (identifier: string) =>
    service.write.ok(`POST /licenses/${license.id}/activations`, { identifier }, 201);
  const siteId = async (identifier: string) =>
    (await rows<{ id: number; license_id: number; identifier: string }>(service.db, 'activations')).find(
      (one) => one.license_id === license.id && one.identifier === identifier,
    )!.id;
  return { ...license, path: `/licenses/${license.id}`, activate, siteId };
}

describe('an umlaut domain is written as people write it, and stored as DNS has it', () => {
  const expectWritten = async (client: PagesClient, path: string, sentence = WRITTEN) => {
    const text = textOf((await client.get(path)).html);
    expect([path, text]).toEqual([path, expect.stringContaining(sentence)]);
    expect([path, text]).toEqual([path, expect.not.stringContaining('xn--')]);
  };

  it('on every page that names it', async () => {
    const license = await give();
    const operator = await pagesClient(service);
    const { html: added } = await operator.send(`${license.path}/sites/add`, { identifier: WRITTEN });
    expect(textOf(added)).toContain(WRITTEN);
    await expectWritten(operator, `${license.path}/cancel`);
    await license.activate('staging.münchen.net');
    // The one slot is taken: the log has what the site sent.
    await fetch(`${service.url}${PREFIX}/licenses/activate`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ license_key: license.key, identifier: 'xn--kln-sna.net' }),
    });
    await eventually(async () => expect(await rows(service.db, 'access_log')).toHaveLength(1));
    const [entry] = await rows<{ identifier: string }>(service.db, 'access_log');
    expect(entry!.identifier).toBe('xn--kln-sna.net');

    await expectWritten(operator, license.path);
    // Its stored form beside it, for a search or a copy
    expect((await operator.get(license.path)).html).toContain(`<span title="${STORED}">${WRITTEN}</span>`);
    await expectWritten(operator, license.path, 'Adding köln.net refused');
    await expectWritten(operator, license.path, 'Last refused: köln.net');
    await expectWritten(operator, `${license.path}/history`);
    for (const path of ['/requests', `${license.path}/requests`])
      await expectWritten(operator, path, 'Adding köln.net refused');
    for (const about of ['köln.net', 'xn--kln-sna.net'])
      expect(await operator.post('/find', { about })).toMatchObject({ location: license.path });
    const german = await pagesClient(service, { language: 'de' });
    await expectWritten(german, license.path, 'Hinzufügen von köln.net abgelehnt');

    const customer = await customerClient(service, { email: EMAIL });
    await expectWritten(customer, '/my/mail');
    await expectWritten(customer, `/my${license.path}/sites`);
    const site = await license.siteId(STORED);
    await expectWritten(customer, `/my${license.path}/sites/${site}/remove`, `Remove ${WRITTEN}`);
    for (const typed of [WRITTEN, STORED]) {
      const { html } = await customer.post('/my/sites', { site: typed });
      expect(textOf(html)).toContain(`${WRITTEN} `);
    }
    const { html: removed } = await customer.send(`/my${license.path}/sites/${site}/remove`);
    expect(textOf(removed)).toContain(`${WRITTEN} is removed.`);
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

describe('removing a staging site frees no slot', () => {
  it.each([
    [
      'en',
      'It takes no slot, so removing it frees none and does not count.',
      'It took no slot, so none is free now.',
    ],
    [
      'de',
      'Das Entfernen gibt keinen frei und zählt nicht.',
      'Es belegte keinen Platz, also wurde keiner frei.',
    ],
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
