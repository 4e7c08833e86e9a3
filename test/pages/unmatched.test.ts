import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createSession } from '../../src/access/sessions';
import { startManaged, type Managed, type Thing } from '../support/manage';
import { PREFIX } from '../support/service';
import { fixture, sendHook, signStripe } from '../support/shop-senders';

/** Unmatched payments on their page: shown, confirmed and assigned. */

let service: Managed;
let plan: number;
let license: number;
let cookie: string;
beforeAll(async () => {
  service = await startManaged({});
  const { write, db, clock } = service;
  const product = (await write.ok('POST /products', { name: 'Gallery' }, 201)).id as number;
  const terms = { product_id: product, name: 'Month', activation_type: 'domain', duration: '1m' };
  plan = (await write.ok('POST /plans', { ...terms, activation_limit: 3 }, 201)).id as number;
  license = (await write.ok('POST /licenses', { plan_id: plan, customer: 'jo@example.com' }, 201))
    .id as number;
  const opener = { actor: 'operator:root', scope: 'write' as const, name: 'root', operatorId: null };
  ({ cookie } = await createSession(db, { kind: 'operator', ...opener }, clock.now));
});
afterAll(() => service.stop());

async function send(path: string, fields?: Record<string, string>, language = 'en') {
  const response = await fetch(`${service.url}${PREFIX}/pages${path}`, {
    ...(fields && { method: 'POST', body: new URLSearchParams(fields) }),
    redirect: 'manual',
    headers: { Cookie: `licensing=${cookie}`, Origin: service.url, 'Accept-Language': language },
  });
  const location = response.headers.get('location')?.replace(/^.*\/pages/, '');
  return { status: response.status, location, html: await response.text() };
}

async function tell(order: string, event = 'renewed'): Promise<number> {
  const at = service.clock.now.toISOString();
  const customer = { email: 'jo@example.com' };
  await service.write.ok('POST /orders', { shop: 'shop', order, event, at, customer });
  const [one] = (await service.write.ok('GET /unmatched')) as unknown as Thing[];
  return (one as Thing).id as number;
}

it('says so if nothing is unmatched', async () => {
  expect((await send('/unmatched')).html).toContain('Every payment matches an order');
});

it('shows the customer of a licence before a payment is assigned to it', async () => {
  const id = await tell('77');
  expect((await send('/shops/shop')).html).toMatch(
    /unmatched\?shop=shop"[^>]*>(?:(?!<\/a>).)*1 payment matches no order\./s,
  );
  const { html } = await send('/unmatched');
  for (const text of ['Renewed', 'no payment for this order is known', '77', 'jo@example.com'])
    expect(html).toContain(text);
  expect((await send('/unmatched', undefined, 'de')).html).toContain('Nicht zugeordnete Zahlungen');
  const path = `/unmatched/${id}/assign`;
  // The customer's licences are offered at once. Another licence has to be searched for.
  expect((await send(path)).html).toContain(`${path}?license=${license}`);
  expect((await send(`${path}?about=nobody%40example.com`)).html).toContain('No licence found');
  expect((await send(`${path}?about=${license}`)).html).toContain(`${path}?license=${license}`);
  const asked = await send(`${path}?license=${license}`);
  expect(asked.html).toContain(`Assign to licence ${license}?`);
  expect(asked.html).toContain('The licence belongs to jo@example.com');
  const assigned = await send(path, { license_id: String(license), once: 'a' });
  expect([assigned.status, assigned.location?.split('?')[0]]).toEqual([303, '/unmatched']);
  expect(await service.write.ok('GET /unmatched?state=assigned')).toMatchObject([
    { license_id: license, acted_by: 'operator:root' },
  ]);
});

it('describes a message of a shop in words, and offers no licence for a refund', async () => {
  const secret = 'whsec_made_up_by_the_seller';
  await service.write.ok('POST /shops', { name: 'stripe', kind: 'stripe', secret }, 201);
  const event = {
    ...(fixture('stripe/charge.refunded') as Thing),
    created: service.clock.now.getTime() / 1000,
  };
  const sent = await sendHook(service.url, 'stripe', signStripe(event, secret, service.clock.now));
  expect([sent.status, sent.text]).toEqual([200, expect.stringContaining('unmatched')]);
  const [refund] = (await service.write.ok('GET /unmatched?shop=stripe')) as unknown as Thing[];
  expect(refund).toMatchObject({ event: 'charge.refunded' });
  const paid = await tell('80');
  for (const [language, word] of [
    ['en', 'Refunded'],
    ['de', 'Erstattet'],
  ] as const) {
    const { html } = await send('/unmatched', undefined, language);
    expect(html).toContain(`>${word}<`);
    expect(html).not.toContain('charge.refunded');
    const acts = [...html.matchAll(/<td role="cell" class="act">.*?<\/td>/gs)].map(([cell]) =>
      [...cell.matchAll(/href="[^"]*\/unmatched\/(\d+)\/(\w+)"/g)].map(([, id, what]) => [Number(id), what]),
    );
    expect(acts.filter((links) => links.length > 0)).toEqual([
      [paid, paid, paid].map((id, i) => [id, ['assign', 'issue', 'leave'][i]]),
      [Number(refund!.id), Number(refund!.id)].map((id, i) => [id, ['assign', 'leave'][i]]),
    ]);
    const about = await send(`/unmatched/${String(refund!.id)}/leave`, undefined, language);
    expect([about.html.includes(word), about.html.includes('charge.refunded')]).toEqual([true, false]);
  }
  for (const id of [paid, Number(refund!.id)]) await send(`/unmatched/${id}/leave`, { once: `x${id}` });
});

it('issues a licence, or leaves the payment, and explains a refusal', async () => {
  const id = await tell('78');
  expect((await send(`/unmatched/${id}/issue`)).html).toContain('The licence is for jo@example.com');
  const issued = await send(`/unmatched/${id}/issue`, { plan_id: String(plan), once: 'b' });
  expect([issued.status, issued.location]).toEqual([303, expect.stringMatching(/^\/licenses\/\d+/)]);
  const refund = await tell('79', 'refunded');
  const refused = await send(`/unmatched/${refund}/issue`, { plan_id: String(plan), once: 'c' });
  expect([refused.status, refused.html]).toEqual([409, expect.stringContaining('This is a refund')]);
  const left = await send(`/unmatched/${refund}/leave`, { once: 'd' });
  expect([left.status, left.location?.split('?')[0]]).toEqual([303, '/unmatched']);
  expect((await send('/unmatched/999/leave')).status).toBe(404);
});
