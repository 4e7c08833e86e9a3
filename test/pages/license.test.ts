import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createSession } from '../../src/access/sessions';
import { aggregateNewRows } from '../../src/figures/statistics';
import { acquireOrRenewLease } from '../../src/store/leases';
import { recordReportedSites } from '../../src/store/reported-sites';
import { addActivation } from '../../src/licensing/activations';
import { findLicense, type License } from '../../src/licensing/licenses';
import { insertEvents } from '../../src/store/events';
import { table } from '../../src/store/engine/database';
import { startManaged, type Managed } from '../support/manage';
import { giveRelease } from '../support/packages';
import { eventually } from '../support/processes';
import { countTimes, givePlan, PREFIX, rows, storedLicense } from '../support/service';
import { pagesClient } from './support/session';

/** The page of one licence, and its actions, over HTTP as a browser without script uses them. */

const XSS = '<script>alert(1)</script>';

describe('the page of a licence', () => {
  let service: Managed;
  let planId: number;
  let otherPlan: number;
  beforeAll(async () => {
    service = await startManaged();
    planId = await givePlan(service.db, { limit: 2 }, service.clock.now);
    otherPlan = await givePlan(service.db, { limit: 25 }, service.clock.now);
    await giveRelease(service, { version: '1.0.0' });
  });
  afterAll(() => service.stop());

  const browser = async (scope: 'read' | 'write' = 'write') => {
    const who = { kind: 'operator', actor: 'operator:root', name: 'root', scope, operatorId: null } as const;
    const { cookie } = await createSession(service.db, who, service.clock.now);
    const call = async (path: string, init: RequestInit, headers: Record<string, string> = {}) => {
      const response = await fetch(`${service.url}${PREFIX}/pages${path}`, {
        ...init,
        redirect: 'manual',
        headers: { Cookie: `licensing=${cookie}`, 'Accept-Language': 'en', ...headers },
      });
      const html = await response.text();
      const to = response.headers.get('location')?.replace(/^.*\/pages/, '');
      return { status: response.status, html, text: textOf(html), to };
    };
    return {
      get: (path: string, language = 'en') => call(path, {}, { 'Accept-Language': language }),
      post: (path: string, fields: Record<string, string> = {}) =>
        call(path, { method: 'POST', body: new URLSearchParams(fields) }, { Origin: service.url }),
    };
  };
  const give = (body: object = {}) =>
    service.write
      .ok('POST /licenses', { plan_id: planId, customer: 'ann@example.com', ...body }, 201)
      .then(({ id, license_key: key }) => ({ id: id as number, key: key as string }));
  /** Waits until the download or its refusal is recorded. */
  const download = async (key: string, agent = 'Joomla/5.3.0') => {
    const before = await countTimes(service.db, 'access_log');
    const address = `${service.url}${PREFIX}/downloads/42?dlid=${key}`;
    const response = await fetch(address, { headers: { 'User-Agent': agent } });
    await response.arrayBuffer();
    await eventually(async () => expect(await countTimes(service.db, 'access_log')).toBeGreaterThan(before));
    return response;
  };
  const events = async (id: number) =>
    (await rows<{ license_id: number; action: string; actor: string }>(service.db, 'events'))
      .filter((one) => one.license_id === id)
      .map(({ action }) => action);

  it('names the test sites that went with a removed site', async () => {
    const { id: planId } = await service.write.ok(
      'POST /plans',
      {
        ...{ product_id: 42, name: 'Staging', activation_type: 'domain', activation_limit: 2 },
        free_staging: true,
      },
      201,
    );
    const { id } = await service.write.ok('POST /licenses', { plan_id: planId as number }, 201);
    for (const identifier of ['acme.net', 'staging.acme.net'])
      await service.write.ok(`POST /licenses/${id}/activations`, { identifier }, 201);
    const [site] = (await service.read.all(`/licenses/${id}/activations`)).filter(
      (one) => one.identifier === 'acme.net',
    );
    const seller = await pagesClient(service);
    await seller.get(`/licenses/${id}`);
    const { html } = await seller.send(`/licenses/${id}/sites/${site!.id}/remove`);
    expect(textOf(html)).toContain('acme.net is removed, and with it staging.acme.net.');
    expect(await service.read.all(`/licenses/${id}/activations`)).toEqual([]);
  });

  it('says whether the licence works now, why not, and how to fix it', async () => {
    const { get, post } = await browser();
    const { id, key } = await give({ expires_at: '2026-12-01' });
    expect((await get(`/licenses/${id}`)).text).toContain('Updates work: version 1.0.0 is sent.');
    expect((await get(`/licenses/${id}`)).text).toContain('New sites can be added: 2 of 2 slots are free.');

    await service.write.ok(`POST /licenses/${id}/suspend`, { reason: 'waiting for payment' });
    expect((await download(key)).status).toBe(403);
    const suspended = await get(`/licenses/${id}`);
    expect(suspended.text).toContain('Updates are refused');
    expect(suspended.text).toContain('waiting for payment');
    expect(suspended.html).toContain(`action="${PREFIX}/pages/licenses/${id}/reinstate"`);
    expect((await post(`/licenses/${id}/reinstate`)).to).toBe(`/licenses/${id}`);
    expect((await get(`/licenses/${id}`)).text).toContain('Updates work');

    service.clock.now = new Date('2026-12-05T12:00:00Z');
    const later = await browser();
    const expired = await later.get(`/licenses/${id}`);
    expect(expired.text).toContain('Updates are refused: the licence expired on 1 Dec 2026.');
    expect(expired.text).toContain('Renew for 1 year new end: 5 Dec 2027, counted from today');
    expect((await later.get(`/licenses/${id}`, 'de')).text).toContain('01.12.2026');
    expect((await later.get(`/licenses/${id}?reply=de`)).html).toContain('Guten Tag');
    expect((await later.post(`/licenses/${id}/renew`, { how: 'time', for: '1y' })).to).toBe(
      `/licenses/${id}`,
    );
    expect((await storedLicense(service.db, id)).expires_at).toBe('2027-12-05 12:00:00');

    await service.write.ok(`POST /licenses/${id}/revoke`, {});
    const revoked = await later.get(`/licenses/${id}`);
    expect(revoked.text).toContain('Updates are refused: the licence is revoked.');
    expect(revoked.text).toContain('Issue a new licence');
    expect(revoked.html).not.toContain(`/licenses/${id}/renew`);
    expect((await later.get(`/licenses/${id}/revoke`)).to).toBe(`/licenses/${id}`);
  });

  it('shows requests of the same network without its key apart, and does not count them', async () => {
    const { get } = await browser();
    const { id, key } = await give();
    expect((await download(key)).status).toBe(200);
    for (const sent of ['', 'ABCDEF01-ABCDEF02-ABCDEF03-ABCDEF04'])
      expect((await download(sent)).status).not.toBe(200);
    for (const [language, quiet, heading] of [
      ['en', 'No refusal in 90 days.', 'From the same network, perhaps another person'],
      ['de', 'Keine Ablehnung in 90 Tagen.', 'Aus demselben Netz, vielleicht von jemand anderem'],
    ] as const) {
      const { text } = await get(`/licenses/${id}`, language);
      const [own, others] = text.split(heading);
      expect(own).toContain(quiet);
      expect(own).not.toMatch(/Update refused|Update abgelehnt/);
      expect(others).toMatch(
        /with another key refused.*Update refused|mit einem anderen Schlüssel.*Update abgelehnt/,
      );
    }
    expect(await service.read.ok(`GET /licenses/${id}/answer`)).toMatchObject({ case: 'fine' });
    expect(await service.read.ok(`GET /licenses/${id}/requests`)).toMatchObject([{ outcome: 'ok' }]);
  });

  it('shows a year of use, where it was seen last, why it was suspended, and the sites of each key', async () => {
    const { get, post } = await browser();
    const { id, key } = await give();
    expect((await get(`/licenses/${id}`)).text).toContain(
      'No site has asked for anything with this licence yet. The downloads and refusals of twelve months will appear here.',
    );
    await download(key);
    await post(`/licenses/${id}/suspend`, { reason: 'charge-back <b>' });
    await download(key);
    const lease = { name: 'housekeeping', holder: 'test' };
    const later = new Date(Date.now() + 7 * 24 * 60 * 60 * 1000);
    expect(await acquireOrRenewLease(service.db, lease, later)).toBe(true);
    expect(await aggregateNewRows(service.db, lease, () => later)).toBe(true);
    const told = { licenseId: id, productId: 42, site: 'www.example.org', version: '0.9.0' };
    const shown = await get(`/licenses/${id}`);
    expect(shown.text).toContain('In twelve months: downloads 1, refused requests 1.');
    expect(shown.text).toMatch(/Last seen .*, from (?:::ffff:)?127\.0\.0\.1/);
    expect(shown.text).toMatch(/Suspended \d+ \w+ \d+ charge-back &lt;b&gt;/);
    expect(shown.html).not.toContain('<b>');
    await recordReportedSites(service.db, [{ ...told, at: new Date(service.clock.now.getTime() + 60_000) }]);
    expect((await get(`/licenses/${id}`)).text).toMatch(
      /Last seen .*, on www\.example\.org, which runs 0\.9\.0\./,
    );

    const other = await service.write.ok(`POST /licenses/${id}/keys`, { label: 'client' }, 201);
    for (const [licenseId, identifier, keyId] of [
      [id, 'main.example.com', null],
      [id, 'client-a.example.com', other.id],
      [id, 'client-b.example.com', other.id],
      [id, 'client-c.example.com', other.id],
    ] as [number, string, number | null][])
      await service.db(table(service.db, 'activations')).insert({
        ...{ license_id: licenseId, identifier, key_id: keyId, name: null, ip: null, free: 1, site: null },
        ...{ activated_at: '2026-11-24 10:00:00', held_until: null },
      });
    const keys = /<section[^>]*aria-labelledby="h-keys".*?<\/section>/s.exec(
      (await get(`/licenses/${id}`)).html,
    )?.[0];
    expect(textOf(`<main>${keys ?? ''}`)).toMatch(
      /main key .*main\.example\.com .*client .*client-c\.example\.com, client-b\.example\.com and more/,
    );
  });

  it('shows a mistyped key, and slots that are all in use', async () => {
    const { get } = await browser();
    const { id, key } = await give();
    const last = key.at(-1) === '0' ? '1' : '0';
    await download(`${key.slice(0, -1)}${last}`);
    for (const name of ['a', 'b'])
      await service.write.ok(`POST /licenses/${id}/activations`, { identifier: `${name}.example.com` }, 201);
    const { text, html } = await get(`/licenses/${id}`);
    expect(text).toContain('the key is mistyped.');
    expect(text).toContain('one character differs');
    expect(text).toContain('New sites are refused: all 2 slots are in use.');
    expect(html).toContain('href="#h-sites"');
    expect(html).toContain(`/licenses/${id}/slots?slots=3`);
    expect(html).not.toContain(key);
  });

  it('shows the only slot in use as a fact, not as a problem', async () => {
    const { get } = await browser();
    const { id, key } = await give({ activation_limit: 1 });
    await service.write.ok(`POST /licenses/${id}/activations`, { identifier: 'a.example.com' }, 201);
    await download(key);
    const { text, html } = await get(`/licenses/${id}`);
    expect(html).toContain('verdict-ok');
    expect(text).toContain('The only slot is in use.');
    expect(text).not.toContain('New sites are refused');
    expect(text).not.toContain('Choose a site to remove');
  });

  it('does every action once, and keeps the typed values when it is refused', async () => {
    const { get, post } = await browser();
    const { id } = await give({ expires_at: '2027-06-01', reference: `order-${Date.now()}` });
    const path = `/licenses/${id}`;
    const forms = ['renew', 'plan', 'slots', 'customer', 'note', 'suspend', 'reinstate', 'cancel', 'revoke'];
    for (const one of forms) expect([one, (await get(`${path}/${one}`)).status]).toEqual([one, 200]);

    const once = { once: 'a-form-of-this-test' };
    for (const _ of [1, 2])
      expect((await post(`${path}/renew`, { ...once, how: 'time', for: '1y' })).status).toBe(303);
    expect((await storedLicense(service.db, id)).expires_at).toBe('2028-06-01 23:59:59');
    const wrong = await post(`${path}/renew`, { how: 'day', until: '2020-01-01', reason: 'typed' });
    expect(wrong.status).toBe(400);
    expect(wrong.html).toContain('value="typed"');
    expect((await post(`${path}/renew`, { how: 'time', for: '' })).status).toBe(400);
    const unchosen = await post(`${path}/renew`, { how: 'plan', until: '2030-01-01' });
    expect([unchosen.status, unchosen.html]).toEqual([400, expect.stringContaining('Choose “Until a day”')]);
    await post(`${path}/renew`, { how: 'life' });
    expect((await storedLicense(service.db, id)).expires_at).toBeNull();

    expect((await post(`${path}/plan`, { plan_id: String(otherPlan) })).status).toBe(303);
    expect((await post(`${path}/slots`, { activation_limit: 'many' })).status).toBe(400);
    expect((await post(`${path}/slots`, { activation_limit: '' })).status).toBe(400);
    await post(`${path}/slots`, { activation_limit: '7' });
    expect((await post(`${path}/customer`, { customer: 'nobody' })).status).toBe(400);
    await post(`${path}/customer`, { customer: 'eve@example.com' });
    await post(`${path}/note`, {
      'name-0': 'line',
      'text-0': 'first',
      'name-1': 'other',
      'text-1': 'second',
    });
    await post(`${path}/note`, { 'name-0': 'line', 'text-0': '' });
    expect((await post(`${path}/note`, { 'name-0': 'No Name', 'text-0': 'x' })).status).toBe(400);
    expect(await storedLicense(service.db, id)).toMatchObject({
      plan_id: otherPlan,
      activation_limit: 7,
      customer: 'eve@example.com',
      metadata: '{"other":"second"}',
    });

    await post(`${path}/suspend`, { reason: 'unpaid' });
    expect((await post(`${path}/suspend`)).status).toBe(409);
    await post(`${path}/reinstate`);
    expect((await get(`${path}/cancel`)).text).toContain(
      'stays with this licence. A new sale needs another order.',
    );
    await post(`${path}/cancel`, { reason: 'refund' });
    expect(await events(id)).toEqual([
      ...['issue', 'renew', 'renew', 'change-plan', 'set-limit', 'set-customer'],
      ...['set-metadata', 'set-metadata', 'suspend', 'reinstate', 'cancel'],
    ]);
    const { text } = await get(path);
    expect(text).toContain('Cancelled: “refund”');
    expect(text).toContain('Note changed: line, other');
  });

  it('adds and removes sites, even over the limit', async () => {
    const { get, post } = await browser();
    const { id } = await give();
    const path = `/licenses/${id}`;
    for (const name of ['a', 'b', 'c'])
      expect((await post(`${path}/sites/add`, { identifier: `https://${name}.example.com` })).to).toBe(path);
    expect((await post(`${path}/sites/add`, { identifier: 'not a site' })).status).toBe(400);
    expect((await get(path)).text).toContain('3 of 2 in use');
    const sites = await rows<{ id: number; license_id: number }>(service.db, 'activations');
    const [first] = sites.filter((one) => one.license_id === id);
    for (const _ of [1, 2]) expect((await post(`${path}/sites/${first?.id}/remove`)).to).toBe(path);
    expect((await storedLicense(service.db, id)).activations_used).toBe(2);
    expect((await get(`${path}/sites?site=B.EX`)).text).toContain('b.example.com');
    expect((await get(`${path}/sites?site=a.ex`)).text).toContain('Nothing matches.');
    const csv = (await get(`${path}/sites.csv`)).html.trim().split('\r\n');
    expect(csv).toHaveLength(3);
  });

  it('adds, changes, replaces and ends keys', async () => {
    const { get, post } = await browser();
    const { id, key } = await give();
    const path = `/licenses/${id}`;
    const keys = async () =>
      (await rows<Record<string, number | string | null>>(service.db, 'license_keys')).filter(
        (one) => one.license_id === id,
      );
    const [main] = await keys();
    const once = { once: 'a-new-key' };
    const made = await post(`${path}/keys/${main?.id}/new`, { ...once, overlap: '14d', reason: 'leaked' });
    const newKey = keyIn(made.html);
    expect(newKey).not.toBe(key);
    expect(
      keyIn((await post(`${path}/keys/${main?.id}/new`, { ...once, overlap: '14d', reason: 'leaked' })).html),
    ).toBe(newKey);
    expect((await download(key)).status).toBe(200);
    expect((await download(newKey)).status).toBe(200);

    const added = await post(`${path}/keys/add`, { label: 'Bakery', activation_limit: '1', ends_at: '' });
    expect((await download(keyIn(added.html))).status).toBe(200);
    expect((await post(`${path}/keys/add`, { activation_limit: '0' })).status).toBe(400);
    const other = (await keys()).at(-1);
    expect(other).toMatchObject({ label: 'Bakery', activation_limit: 1, ends_at: null });
    const change = `${path}/keys/${other?.id}/change`;
    expect((await get(change)).html).toContain('value="Bakery"');
    await post(change, { label: '', activation_limit: '', ends_at: '2027-01-31' });
    expect((await keys()).at(-1)).toMatchObject({
      label: null,
      activation_limit: null,
      ends_at: '2027-01-31 23:59:59',
    });
    expect((await get(`${path}/keys/${other?.id}/end`)).text).toContain('No slot is taken with it.');
    for (const _ of [1, 2]) expect((await post(`${path}/keys/${other?.id}/end`)).to).toBe(path);
    expect((await download(keyIn(added.html))).status).toBe(403);
    expect((await get(`${path}/keys`)).text).toContain('ended');
    expect((await get(`${path}/keys/999999/end`)).status).toBe(404);
    expect(await events(id)).toEqual(['issue', 'rekey', 'add-key', 'edit-key', 'end-key']);
  });

  it('shows a key, and asks to sign in again after an hour', async () => {
    const { get, post } = await browser();
    const { id, key } = await give();
    const { main_key_id } = await storedLicense(service.db, id);
    const path = `/licenses/${id}/keys/${String(main_key_id)}/show`;
    expect((await get(path)).html).not.toContain(key);
    expect(await events(id)).toEqual(['issue']);
    expect(keyIn((await post(path)).html)).toBe(key);
    expect(await events(id)).toEqual(['issue', 'reveal']);
    for (const _ of [1, 2, 3]) {
      service.clock.now = new Date(service.clock.now.getTime() + 25 * 60_000);
      expect((await get(`/licenses/${id}`)).status).toBe(200);
    }
    const again = await post(path);
    expect([again.status, again.to]).toEqual([
      303,
      `/sign-in?${String(new URLSearchParams({ next: path, why: 'again' }))}`,
    ]);
    expect(await events(id)).toEqual(['issue', 'reveal']);
  });

  it('lets a session with read access change nothing', async () => {
    const { get, post } = await browser('read');
    const { id } = await give();
    const path = `/licenses/${id}`;
    await service.write.ok(`POST ${path}/activations`, { identifier: 'a.example.com' }, 201);
    await service.write.ok(`POST ${path}/suspend`, {});
    const main = (await get(path)).html.replace(/^.*?<main/s, '').replace(/<footer class="wrap.*/s, '');
    expect(main).toContain('You can view everything and change nothing.');
    expect(main).not.toContain('method="post"');
    for (const action of ['renew', 'suspend', 'revoke', 'sites/add', 'keys/add', 'keys/1/show'])
      expect([
        action,
        (await post(`${path}/${action}`)).status,
        (await get(`${path}/${action}`)).status,
      ]).toEqual([action, 403, 403]);
    expect((await get(`${path}/sites`)).status).toBe(200);
  });

  it('shows what customers and shops wrote as plain text', async () => {
    const { get } = await browser();
    const { id, key } = await give({ reference: XSS, metadata: { line: XSS } });
    const license = (await findLicense(service.db, id)) as License;
    await addActivation(
      service.db,
      license,
      { identifier: 'a.example.com', name: XSS },
      { actor: XSS, now: service.clock.now },
    );
    await service
      .db(table(service.db, 'licenses'))
      .where({ id })
      .update({ customer: `${XSS}@example.com` });
    await service.write.ok(`POST /licenses/${id}/suspend`, { reason: XSS });
    await insertEvents(service.db as never, [
      {
        ...{ licenseId: id, at: service.clock.now, actor: XSS, action: 'set-customer' },
        ...{ before: { customer: XSS }, after: { customer: XSS } },
      },
    ]);
    await download(key, `Joomla/${XSS}`);
    for (const path of ['', '/sites', '/keys', '/cancel', '/note', '/plan']) {
      const { status, html } = await get(`/licenses/${id}${path}`);
      expect([path, status, html.includes(XSS)]).toEqual([path, 200, false]);
    }
    expect((await get(`/licenses/${id}`)).html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
  });

  it('has only numbers in its address, and works with thousands of sites', async () => {
    const { get } = await browser();
    const { id } = await give({ reference: 'order-in-path', activation_limit: 0 });
    for (const path of ['reference:order-in-path', '0', '999999', 'x'])
      expect((await get(`/licenses/${path}`)).status).toBe(404);
    // While mail is off, there is no mail to send.
    expect((await get(`/licenses/${id}/send-key`)).status).toBe(404);
    const at = service.clock.now.toISOString().slice(0, 19).replace('T', ' ');
    const sites = Array.from({ length: 10_000 }, (_, i) => ({
      ...{ license_id: id, identifier: `site-${i}.example.com`, activated_at: at, free: 0 },
    }));
    await service.db.batchInsert(table(service.db, 'activations'), sites, 100);
    await service.db(table(service.db, 'licenses')).where({ id }).update({ activations_used: sites.length });
    const { html, text } = await get(`/licenses/${id}`);
    expect(html.length).toBeLessThan(60_000);
    expect(text).toContain('All 10,000');
    expect((await get(`/licenses/${id}/sites`)).text).toContain('Next 50');
  });
});

/** Returns the whole key that a page shows. */
function keyIn(html: string): string {
  return /value="([0-9A-F]{8}(?:-[0-9A-F]{8}){3})"/.exec(html)?.[1] ?? '';
}

/** Returns the text that a reader sees, with single spaces between words. */
function textOf(html: string): string {
  return html
    .replace(/<[^>]*>/g, ' ')
    .replaceAll('&amp;', '&')
    .replace(/\s+/g, ' ');
}
