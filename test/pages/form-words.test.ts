import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startManaged, type Managed } from '../support/manage';
import { giveRelease } from '../support/packages';
import { givePlan } from '../support/service';
import { pagesClient, textOf, type Fields, type PagesClient } from './support/session';

/** Every form of the operator's pages answers a wrong value with a sentence of the page, in the reader's language. */

const KEY = '0123ABCD-4567EF89-0123ABCD-4567EF89';
const LONG = 'x'.repeat(300);
/** Words of the API. A page calls its fields by their labels instead. */
const API_WORDS =
  /must be of type|must NOT|must match|give "|"[a-z]+(?:_[a-z]+)*"|\b[a-z]+_(?:id|at|limit|type)\b|is not a known field|not on plan \d+/;
const ENGLISH =
  /\b(?:the|must|is not|please|type|cannot|there|already|give|its|longer|of at most|licence|service says)\b/i;

interface Wrong {
  form: string;
  field: string;
  value: string;
  /** The other fields of the form. */
  others?: Fields;
}

describe('a form with a wrong value', () => {
  let service: Managed;
  let english: PagesClient;
  let german: PagesClient;
  const ids: Record<string, string> = {};
  beforeAll(async () => {
    service = await startManaged({ LICENSING_PUBLIC_URL: 'https://shop.example' });
    const planId = await givePlan(service.db, { limit: 2 }, service.clock.now);
    const other = await givePlan(service.db, { limit: 3 }, service.clock.now);
    await giveRelease(service, { version: '1.0.0' });
    const license = await service.write.ok(
      'POST /licenses',
      { plan_id: planId, customer: 'jane@example.com', reference: 'order-1' },
      201,
    );
    const key = await service.write.ok(
      `POST /licenses/${license.id}/keys`,
      { label: 'Bakery', activation_limit: 1 },
      201,
    );
    await service.write.ok('POST /shops', { name: 'store', kind: 'hikashop' }, 201);
    await service.write.ok(
      'POST /shops',
      { name: 'pay', kind: 'stripe', secret: `whsec_${'a1B2c3D4'.repeat(4)}` },
      201,
    );
    await service.write.ok('POST /tokens', { name: 'taken', scope: 'read' }, 201);
    Object.assign(ids, {
      PLAN: String(planId),
      OTHER: String(other),
      PRODUCT: '42',
      LICENSE: String(license.id),
      CLIENT: String(key.id),
    });
    english = await pagesClient(service);
    german = await pagesClient(service, { language: 'de' });
  });
  afterAll(() => service.stop());

  const planFields = (changed: Fields): Fields => ({
    name: 'Another',
    activation_type: 'domain',
    activation_limit: '3',
    duration: '1y',
    after_expiry: 'nothing',
    self_service_moves: '1',
    ...changed,
  });
  const wrongPlans = (form: string): Wrong[] =>
    (
      [
        ['name', LONG],
        ['name', KEY],
        ['activation_type', 'x'],
        ['activation_limit', 'many'],
        ['activation_limit', '-1'],
        ['activation_limit', '99999999999'],
        ['duration', 'soon'],
        ['duration_own', 'soon'],
        ['after_expiry', 'x'],
        ['self_service_moves', 'x'],
        ['self_service_moves', '99999999999'],
        ['upgrade_url', 'http://shop.example/upgrade'],
      ] as const
    ).map(([field, value]) => ({
      form,
      field,
      value,
      others: planFields({
        product_id: 'PRODUCT',
        ...(field === 'duration_own' ? { duration: 'own' } : {}),
      }),
    }));
  const many = (form: string, field: string, values: string[], others: Fields = {}): Wrong[] =>
    values.map((value) => ({ form, field, value, others }));
  const issue = (field: string, values: string[], others: Fields = {}) =>
    many('/licenses/new', field, values, { plan_id: 'PLAN', customer: 'jane@example.com', ...others });
  const stripe = (values: string[]) =>
    many('/shops/new', 'secret', values, { name: 'second', kind: 'stripe' });

  const WRONG: Wrong[] = [
    ...issue('plan_id', ['', 'x', '999']),
    ...issue('customer', ['nobody', LONG]),
    ...issue('reference', [LONG, KEY]),
    ...issue('reference', ['order-1'], { plan_id: 'OTHER' }),
    ...issue('reference', ['order-1'], { customer: 'other@example.com' }),
    ...issue('reference', ['order-9'], { count: '2' }),
    ...issue('expires_at', ['soon', '2027-02-31', '99999-01-01']),
    ...issue('lifetime', ['1'], { expires_at: '2027-01-01' }),
    ...issue('activation_limit', ['many', '-1', '1.5']),
    ...issue('key', ['x'.repeat(400), '\u0007']),
    ...issue('key', ['SHOPS-OWN-KEY-1'], { count: '2' }),
    ...issue('count', ['many', '0', '1e2', '1000000']),
    ...issue('send', ['1'], { count: '2' }),

    ...wrongPlans('/plans/new'),
    ...wrongPlans('/plans/PLAN'),
    ...many('/plans/PLAN', 'licenses', ['', 'x'], planFields({ activation_limit: '9' })),
    ...many('/plans/PLAN/delete', 'once', ['a'.repeat(22)]),

    ...many('/products/new', 'name', ['', LONG, KEY]),
    ...many('/products/new', 'element', ['a b', LONG], { name: 'New' }),
    ...many('/products/new', 'renew_url', ['x', 'http://shop.example'], { name: 'New' }),
    ...many('/products/new', 'support_url', ['x'], { name: 'New' }),
    ...many('/products/PRODUCT/edit', 'name', ['', LONG, KEY]),
    ...many('/products/PRODUCT/edit', 'element', ['a b'], { name: 'Same' }),
    ...many('/products/PRODUCT/edit', 'renew_url', ['x'], { name: 'Same' }),
    ...many('/products/PRODUCT/delete', 'once', ['b'.repeat(22)]),
    ...many('/products/PRODUCT/joomla-plugin', 'vendor', ['', 'a b', 'Joomla']),
    ...['target_platform', 'php_minimum', 'info_url', 'tag', 'client', 'type', 'db_mysql'].map((field) => ({
      form: '/products/PRODUCT/update-xml',
      field,
      value: '(',
    })),

    ...many('/licenses/LICENSE/renew', 'for', ['', 'soon', '99999y'], { how: 'time' }),
    ...many('/licenses/LICENSE/renew', 'for', ['1y'], { how: 'plan' }),
    ...many('/licenses/LICENSE/renew', 'until', ['', 'soon', '2020-01-01', '2027-02-31'], { how: 'day' }),
    ...many('/licenses/LICENSE/renew', 'how', ['x']),
    ...many('/licenses/LICENSE/plan', 'plan_id', ['', 'x', '999']),
    ...many('/licenses/LICENSE/slots', 'activation_limit', ['many', '-3', '9999999999999']),
    ...many('/licenses/LICENSE/customer', 'customer', ['nobody', LONG]),
    ...many('/licenses/LICENSE/note', 'name-0', ['Ä', 'x'.repeat(100)], { 'text-0': 'text' }),
    ...many('/licenses/LICENSE/note', 'text-0', [KEY, 'x\ny'], { 'name-0': 'note' }),
    ...['suspend', 'cancel', 'revoke'].flatMap((what) =>
      many(`/licenses/LICENSE/${what}`, 'reason', [LONG, KEY]),
    ),
    ...many('/licenses/LICENSE/reinstate', 'reason', [LONG]),
    ...many('/licenses/LICENSE/sites/add', 'identifier', ['', 'not a site', LONG, KEY]),
    ...many('/licenses/LICENSE/sites/add', 'name', [LONG, KEY], { identifier: 'www.example.com' }),
    ...many('/licenses/LICENSE/keys/add', 'label', [LONG, KEY]),
    ...many('/licenses/LICENSE/keys/add', 'activation_limit', ['many', '-1'], { label: 'Client' }),
    ...many('/licenses/LICENSE/keys/add', 'ends_at', ['soon', '2020-01-01'], { label: 'Client' }),
    ...many('/licenses/LICENSE/keys/CLIENT/change', 'label', [LONG, KEY]),
    ...many('/licenses/LICENSE/keys/CLIENT/change', 'activation_limit', ['many', '-1']),
    ...many('/licenses/LICENSE/keys/CLIENT/change', 'ends_at', ['soon', '2020-01-01']),
    ...many('/licenses/LICENSE/keys/CLIENT/new', 'reason', [LONG, KEY]),

    ...many('/shops/new', 'name', ['', 'a b', 'store', LONG], { kind: 'hikashop' }),
    ...many('/shops/new', 'kind', ['x'], { name: 'second' }),
    ...many('/shops/new', 'mail', ['x'], { name: 'second', kind: 'hikashop' }),
    ...many('/shops/new', 'test_plan_id', ['x', '999'], { name: 'second', kind: 'hikashop' }),
    ...stripe(['sk_live_1', 'we_1', '"quoted"', LONG.repeat(9)]),
    ...many('/shops/store/edit', 'refunded', ['x']),
    ...many('/shops/store/edit', 'mail', ['x']),
    ...many('/shops/store/edit', 'test_plan_id', ['x', '999']),
    ...many('/shops/store/edit', 'secret', ['a-secret']),
    ...many('/shops/pay/secret', 'secret', ['', 'sk_live_1', LONG.repeat(9)]),
    ...many('/shops/store/map', 'sku', ['', LONG, KEY], { plan_id: 'PLAN', quantity: 'licenses' }),
    ...many('/shops/store/map', 'plan_id', ['', 'x', '999'], { sku: 'A-1', quantity: 'licenses' }),
    ...many('/shops/store/map', 'quantity', ['x'], { sku: 'A-1', plan_id: 'PLAN' }),

    ...many('/tokens/new', 'name', ['', LONG, KEY, 'taken'], { scope: 'read' }),
    ...many('/tokens/new', 'scope', ['', 'x'], { name: 'new' }),
    ...many('/tokens/new', 'expires_at', ['soon', '2020-01-01'], { name: 'new', scope: 'read' }),
    ...many('/operators/new', 'email', ['', 'nobody', LONG]),
    ...many(
      '/webhooks/new',
      'url',
      ['', 'x', 'http://shop.example/', 'https://a:b@shop.example/', 'https://a/#b'],
      {
        events: 'license.*',
      },
    ),
    ...many('/webhooks/new', 'events', ['', 'x'], { url: 'https://127.0.0.1/' }),
    ...many('/webhooks/new', 'description', [LONG, KEY], { url: 'https://127.0.0.1/', events: 'license.*' }),
    ...many('/start/license', 'customer', ['nobody']),
  ];

  const named = (text: string) =>
    text.replace(/\b(?:PLAN|OTHER|PRODUCT|LICENSE|CLIENT)\b/g, (name) => ids[name] ?? name);
  let sent = 0;
  /** Sends the form with the wrong value. @returns the sentence that the form shows, or an empty text */
  const refuse = async (client: PagesClient, { form, field, value, others = {} }: Wrong) => {
    const once = `form-${String(++sent).padStart(17, '0')}`;
    const fields = Object.fromEntries(
      Object.entries({ once, ...others, [field]: value }).map(([name, one]) => [name, named(one)]),
    );
    const { status, html } = await client.post(named(form), fields);
    const [, alert = ''] =
      /<div class="note note-bad" role="alert"[^>]*>.*?<div>(.*?)<\/div>/s.exec(html) ?? [];
    return { status, sentence: textOf(`<main>${alert} `) };
  };

  it('is refused with a sentence of the page, in English and in German', async () => {
    const wrong: string[] = [];
    for (const one of WRONG) {
      const what = `${one.form} ${one.field}=${one.value.slice(0, 20)}`;
      const [en, de] = [await refuse(english, one), await refuse(german, one)];
      if (en.sentence === '' || API_WORDS.test(en.sentence))
        wrong.push(`${what}: ${en.status} ${en.sentence}`);
      if (de.sentence === '' || API_WORDS.test(de.sentence) || ENGLISH.test(de.sentence))
        wrong.push(`${what}: ${de.status} ${de.sentence}`);
    }
    expect(wrong).toEqual([]);
  });
});
