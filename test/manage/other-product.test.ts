/* oxlint-disable typescript/no-unsafe-assignment -- answers are JSON of any form */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pagesClient, textOf } from '../pages/support/session';
import { startManaged, type Managed, type Thing } from '../support/manage';
import { giveRelease } from '../support/packages';
import { eventually } from '../support/processes';
import { ONE_BACKEND, PREFIX } from '../support/service';
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver';

/** Tests a licence that moves to a plan of another product, such as from Gallery Pro to the club: by hand and by an order. */

describe.each(ONE_BACKEND)('a plan of another product, on %s', (_, settings) => {
  let service: Managed;
  let receiver: WebhookReceiver;
  let gallery: number;
  let plans: { pro: number; club: number; other: number };
  beforeAll(async () => {
    receiver = await startReceiver();
    // The receiver's library refuses timestamps that are not current.
    const own = { ...(await settings()), LICENSING_WEBHOOK_NETWORKS: '127.0.0.0/8' };
    service = await startManaged(own, new Date());
    const { write } = service;
    const added = await write.ok('POST /webhooks', { url: receiver.url, events: ['license.*'] }, 201);
    receiver.secret = added.secret as string;
    const product = async (body: Thing) => (await write.ok('POST /products', body, 201)).id as number;
    const plan = async (product_id: number, name: string, limit: number) => {
      const body = { product_id, name, activation_type: 'domain', activation_limit: limit, duration: '1y' };
      return (await write.ok('POST /plans', body, 201)).id as number;
    };
    gallery = await product({ name: 'Gallery' });
    const club = await product({ name: 'Club', includes: [gallery] });
    plans = {
      pro: await plan(gallery, 'Pro', 3),
      club: await plan(club, 'All', 9),
      other: await plan(await product({ name: 'Forms' }), 'One', 1),
    };
    await giveRelease(service, { productId: gallery, version: '1.0.0' });
  });
  afterAll(async () => {
    await service.stop();
    await receiver.stop();
  });

  const SITE = 'shop.example';
  const licenseOf = async () => {
    const license = await service.write.ok('POST /licenses', { plan_id: plans.pro }, 201);
    await service.write.ok(`POST /licenses/${license.id}/activations`, { identifier: SITE }, 201);
    return license as Thing & { id: number; license_key: string };
  };
  const fetches = async (key: string) => {
    const query = new URLSearchParams({ license_key: key, identifier: SITE });
    return (await fetch(`${service.url}${PREFIX}/downloads/${gallery}?${String(query)}`)).status;
  };
  /** Expects what must be the same after the move, and what the receiver was sent. */
  const expectMoved = async ({ id, license_key, expires_at }: Thing, limit: number) => {
    expect(await service.write.ok(`GET /licenses/${id}`)).toMatchObject({
      ...{ product: 'Club', plan_id: plans.club, activation_limit: limit, activations_used: 1, expires_at },
      activations: [{ identifier: SITE }],
    });
    expect(await fetches(license_key as string)).toBe(200);
    const changed = (await service.read.all(`/licenses/${id}/events`)).filter(
      ({ action }) => action === 'change-plan',
    );
    expect(changed).toMatchObject([{ before: { plan_id: plans.pro }, after: { plan_id: plans.club } }]);
    await eventually(() => {
      const told = receiver.received
        .filter(({ data }) => data.license?.id === id)
        .map(({ type, data }) => [type, data.license?.plan_id]);
      expect(told).toContainEqual(['license.changed', plans.club]);
    });
  };

  it('asks by the API, and keeps key, sites, downloads and end', async () => {
    const license = await licenseOf();
    const call = `PATCH /licenses/${license.id}`;
    const said = await service.write.refused(call, { plan_id: plans.club }, 'CONFLICT', 'plan_id');
    const lost = await service.write.refused(call, { plan_id: plans.other }, 'CONFLICT', 'plan_id');
    expect(said).toMatch(
      /belongs to Club, and licence \d+ to Gallery\. Club includes Gallery, so its sites keep getting updates\./,
    );
    expect(lost).toContain('The licence would no longer cover Gallery.');
    expect(await service.write.ok(`GET /licenses/${license.id}`)).toMatchObject({ plan_id: plans.pro });
    await service.write.ok(call, { plan_id: plans.club, other_product: true });
    await expectMoved(license, 9);
  });

  it('asks by the page', async () => {
    const license = await licenseOf();
    const seller = await pagesClient(service);
    const path = `/licenses/${license.id}/plan`;
    expect(textOf((await seller.get(path)).html)).toContain('Club · All');
    const asked = await seller.post(path, { plan_id: plans.club });
    const german = await (await pagesClient(service, { language: 'de' })).post(path, { plan_id: plans.club });
    expect(asked.status).toBe(409);
    expect(asked.html).toContain('name="other_product"');
    expect(textOf(asked.html)).toContain('This plan belongs to another product.');
    expect(textOf(german.html)).toContain('Ja, zum anderen Produkt wechseln');
    await seller.send(path, { plan_id: plans.club, other_product: '1' });
    await expectMoved(license, 9);
  });

  it('follows an upgrade in the shop, if its article is mapped', async () => {
    const body = { shop: 'fair', order: '7', event: 'paid', lines: [{ line: '1', plan_id: plans.pro }] };
    const at = (minutes: number) => new Date(service.clock.now.getTime() - minutes * 60_000).toISOString();
    const paid = await service.issue.ok('POST /orders', { ...body, at: at(9) });
    const [license] = (paid.lines as { licenses: Thing[] }[])[0]!.licenses;
    await service.write.ok(`POST /licenses/${license!.id}/activations`, { identifier: SITE }, 201);
    await service.write.ok(
      'POST /shops/fair/map',
      { sku: 'CLUB', plan_id: plans.club, quantity: 'slots' },
      201,
    );
    const lines = [{ line: '1', sku: 'CLUB', quantity: 2 }];
    const upgraded = await service.issue.ok('POST /orders', { ...body, event: 'upgraded', at: at(1), lines });
    expect(upgraded.lines).toMatchObject([{ action: 'plan_changed' }]);
    await expectMoved(license!, 18);
  });
});
