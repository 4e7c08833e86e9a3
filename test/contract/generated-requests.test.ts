import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomBytes, randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { addToken } from '../../src/access/tokens';
import { table } from '../../src/store/engine/database';
import { diskTablesOf } from '../support/disk-tables';
import { ON_MYSQL } from '../support/mysql/program';
import { IS_WHOLE, runs } from '../support/extent';
import {
  requestsOf,
  type Described,
  type Generated,
  type Json,
  type Pools,
  type Schema,
} from '../support/generated-requests';
import { sendAgain } from '../support/manage';
import { makePackage } from '../support/packages';
import { eventually, temporaryFolder } from '../support/processes';
import { ONE_KIND, newPlace, PREFIX, startTestService, type TestService } from '../support/service';
import { signDigistore24 } from '../support/shop-senders';

/**
 * Sends random requests from the document to every operation. None may make the service fail (500), and the document must
 * describe every answer, which the recorder checks. Before that, each operation is called once correctly.
 */

const REQUESTS = runs(5, 200);

const document = JSON.parse(readFileSync(join(__dirname, '../../docs/openapi.json'), 'utf8')) as {
  paths: Record<string, Record<string, Described>>;
  components: { schemas: Record<string, Schema> };
};
const resolve = (schema: Schema): Schema =>
  schema.$ref === undefined
    ? schema
    : (document.components.schemas[schema.$ref.split('/').at(-1) as string] as Schema);

/** Operations that serve files to a browser (document.test.ts). */
const FILES = new Set(['readFrontPage', 'readDocument', 'readDocumentPage', 'readDocumentPageFile']);
/** Operations that other operations do not notice: they only add something, or change a setting of the whole shop. */
const ADDING =
  /^(?:add(?!License)|explain|import|issueLicense|makeLicenseFile|preview|receive|reset|reveal|send|set|testWebhook|updateSettings|upload|validate)/;
/** Operations that use up their object: after one call it is deleted, or in a final state. */
const SPENDING =
  /^(?:assign|cancel|issueUnm|leave|publish|reinstate|rekey|remove|retire|revoke|unmap|withdraw)/;

/** Operations that leave the world as it is come first, because random requests to the others may remove any part of it. */
const OPERATIONS = Object.entries(document.paths)
  .flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { operationId }]) => !FILES.has(operationId))
      .map(([method, described]) => ({
        ...{ path, method, ...described },
        isLeaving: method === 'get' || ADDING.test(described.operationId),
      })),
  )
  .sort((one, other) => Number(other.isLeaving) - Number(one.isLeaving));

/** An address at which no server listens. */
const RECEIVER = 'http://127.0.0.1:9/hook';
const SHOP_RECEIVER = 'ds24';
const RECEIVER_SECRET = 'a passphrase';

/** Objects made for an operation, which may change them. */
interface World {
  signingKey: string;
  product: number;
  emptyProduct: number;
  plan: number;
  emptyPlan: number;
  license: number;
  reference: string;
  customer: string;
  licenseKey: string;
  key: number;
  activation: number;
  release: number;
  draft: number;
  token: number;
  suspended: number;
  webhook: number;
  delivery: number;
  shop: string;
  unmatched: number;
  sku: string;
  order: number;
  orderNumber: string;
  failedMail: number;
}

interface Answered {
  status: number;
  headers: Headers;
  body: { data: Json };
}

describe.each(ONE_KIND)('on %s', (kind) => {
  let service: TestService;
  let token: string;
  let zip: Buffer;
  let world: World;
  /** The world that is shared by all operations that leave it as it is. */
  let unchanged: World;

  beforeAll(async () => {
    service = await startTestService({
      ...(await newPlace(kind)),
      LICENSING_MANAGE_RATE_LIMIT: '1000000',
      LICENSING_KEY_SECRET: randomBytes(32).toString('base64'),
      LICENSING_PUBLIC_URL: 'https://shop.example',
      LICENSING_XML_DIR: temporaryFolder(),
      LICENSING_WEBHOOK_NETWORKS: '127.0.0.0/8',
      LICENSING_MAIL_URL: `file:${temporaryFolder()}?from=shop@example.com`,
    });
    ({ bytes: zip } = await makePackage());
    token = await makeToken();
    unchanged = await makeWorld();
    await make('/shops', { name: SHOP_RECEIVER, kind: 'digistore24', secret: RECEIVER_SECRET });
  });
  afterAll(async () => {
    const onDisk = kind === 'MariaDB' && !ON_MYSQL ? diskTablesOf(service.db) : [];
    await service.stop();
    expect(onDisk).toEqual([]);
  });

  async function call(
    method: string,
    path: string,
    {
      query = [],
      body,
      headers = {},
    }: { query?: [string, string][]; body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<Answered> {
    const search = new URLSearchParams(query).toString();
    const isBytes = Buffer.isBuffer(body) || body instanceof FormData || typeof body === 'string';
    const answer = await fetch(`${service.url}${PREFIX}${path}${search && `?${search}`}`, {
      method: method.toUpperCase(),
      headers: {
        ...(path.startsWith('/manage') ? { Authorization: `Bearer ${token}` } : undefined),
        ...(body === undefined || isBytes ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined
        ? {}
        : { body: isBytes ? (body as string | Buffer<ArrayBuffer> | FormData) : JSON.stringify(body) }),
    });
    const text = await answer.text();
    return {
      ...{ status: answer.status, headers: answer.headers },
      body: (answer.headers.get('content-type')?.startsWith('application/json') && text !== ''
        ? JSON.parse(text)
        : {}) as Answered['body'],
    };
  }

  async function make(path: string, body: unknown, query: [string, string][] = []): Promise<Json> {
    const headers = {
      'Idempotency-Key': randomUUID(),
      ...(Buffer.isBuffer(body) ? { 'Content-Type': 'application/zip' } : {}),
    };
    const { status, body: answer } = await sendAgain(() =>
      call('post', `/manage${path}`, { body, query, headers }),
    );
    expect([path, status, answer]).toEqual([path, expect.any(Number), { data: expect.anything() }]);
    return answer.data;
  }

  /** Makes a token for one operation, which may revoke it. */
  async function makeToken(): Promise<string> {
    const context = { actor: 'operator:test', now: new Date() };
    const request = { name: randomUUID(), scope: 'write', expiresAt: null } as const;
    return (await addToken(service.db, request, context)).token;
  }

  async function makeWorld(): Promise<World> {
    const name = randomUUID();
    const id = async (made: Promise<Json>) => (await made).id as number;
    const product = await id(make('/products', { name }));
    const planOf = (limit: number, planName: string) =>
      id(
        make('/plans', {
          ...{ product_id: product, name: planName, duration: '1y' },
          ...{ activation_type: 'domain', activation_limit: limit },
        }),
      );
    const [plan, emptyPlan] = [await planOf(3, 'One'), await planOf(5, 'Two')];
    const reference = `ORDER ${name}`;
    const customer = `${name}@example.com`;
    const { id: license, license_key: licenseKey } = (await make('/licenses', {
      ...{ plan_id: plan, reference, customer },
    })) as { id: number; license_key: string };
    const suspended = await id(make('/licenses', { plan_id: plan }));
    await make(`/licenses/${suspended}/suspend`, {});
    const release = (version: string, query: [string, string][] = []) =>
      id(make(`/products/${product}/releases`, zip, [['version', version], ...query]));
    const shop = name.slice(0, 20);
    const paid = {
      shop,
      order: name,
      event: 'paid',
      at: '2026-01-01T00:00:00Z',
      customer: { email: customer },
      kind: 'j2commerce',
    };
    const order = await id(make('/orders', { ...paid, lines: [{ line: '1', plan_id: plan }] }));
    await make(`/shops/${shop}/map`, { sku: 'PRO', plan_id: plan });
    await make('/orders', { ...paid, order: `${name}-2`, event: 'renewed' });
    const { body: open } = await call('get', '/manage/unmatched', { query: [['shop', shop]] });
    const [found] = open.data as unknown as Json[];
    return {
      ...{ product, plan, emptyPlan, license, reference, customer, licenseKey, suspended },
      ...{ shop, sku: 'PRO', order, orderNumber: name, unmatched: found?.id as number },
      emptyProduct: await id(make('/products', { name: `${name} empty`, element: `pkg_${name}` })),
      key: await id(make(`/licenses/${license}/keys`, {})),
      activation: await id(make(`/licenses/${license}/activations`, { identifier: 'example.com' })),
      release: await release('1.0.0', [['security', '1']]),
      draft: await release('1.1.0', [['draft', '1']]),
      token: await id(make('/tokens', { name, scope: 'read' })),
      // This one may be retired, because another one stays.
      signingKey: [await make('/signing-keys', {}), await make('/signing-keys', {})][1]!.kid as string,
      failedMail: await makeFailedMail(license),
      ...(await makeWebhook()),
    };
  }

  /** Makes a mail that has failed for good, as if its address had been refused. */
  async function makeFailedMail(license: unknown): Promise<number> {
    const { id } = await make(`/licenses/${String(license)}/mails`, {});
    const changes = { failed_at: '2026-01-01 00:00:00', next_attempt_at: null };
    await service
      .db(table(service.db, 'outbox'))
      .where({ id: id as number })
      .update(changes);
    return id as number;
  }

  async function makeWebhook(): Promise<Pick<World, 'webhook' | 'delivery'>> {
    const { id: webhook } = await make('/webhooks', { url: RECEIVER, events: ['webhook.test'] });
    const { id: delivery } = await make(`/webhooks/${webhook as number}/test`, {});
    return { webhook, delivery } as { webhook: number; delivery: number };
  }

  const pools = (): Pools => {
    const { product, emptyProduct, plan, emptyPlan, license, suspended, key, reference, customer } = world;
    const { activation, release, draft, token: other, licenseKey, signingKey, webhook, delivery } = world;
    const { shop, sku, order, orderNumber, unmatched } = world;
    const of = (...values: unknown[]) => fc.constantFrom(...values);
    const times = of('2030-01-01', '2030-06-30T12:00:00Z', '2020-02-30', '2020-01-01', 'tomorrow', null);
    const durations = of('1y', '30d', '6m', '0d', '9999y', '-1d', 'x');
    return {
      ...{ product_id: of(product, emptyProduct), covers: of(product), plan_id: of(plan, emptyPlan) },
      ...{ expires_at: times, ends_at: times, until: times, since: times, from: times, to: times },
      ...{ for: durations, overlap: durations, duration: durations, expiring: durations, refused: durations },
      ...{ customer: of(customer, 'jane@example.com', 'not an address'), '{customer}': of(customer) },
      ...{ reference: of(reference, 'other'), q: of(customer, reference, licenseKey.slice(-8), 'exam', '1') },
      license_id: of(license, suspended),
      ...{ hint: of(licenseKey.slice(-8)), key_id: of(key), '{key_id}': of(key) },
      ...{ '{activation_id}': of(activation), identifier: of('example.com', 'two.example.com') },
      ...{ license_key: of(licenseKey), dlid: of(licenseKey), '{product_id}': of(product) },
      ...{ version: of('1.0.0', '2.0.0', 'x'), renew_url: of('https://example.com', 'javascript:1') },
      ...{
        map: of('key=Key,plan=Plan', 'key=Key', 'x'),
        product: of(String(product)),
        plan: of(String(plan)),
      },
      ...{ '{delivery_id}': of(delivery), url: of(RECEIVER, 'https://10.0.0.1', 'x') },
      ...{ events: of(['license.*'], ['*', 'x'], []) },
      ...{ limit: of(1, 2, 500, 501, 0), count: of(1, 2, 3), element: of('pkg_a', 'A B', '') },
      ...{ shop: of(shop), '{name}': of(shop), name: of(shop, 'new', 'A B'), order: of(orderNumber, 'x:%') },
      ...{ sku: of(sku, 'OTHER'), '{sku}': of(sku), at: times, line: of('1', '2'), paid_until: times },
      ...{ renews: of(license, orderNumber, `${orderNumber}:1`, 'x'), test_plan_id: of(plan, null) },
      '{kid}': of(signingKey, '1999-1'),
      '{id}': of(
        ...[
          order,
          unmatched,
          product,
          plan,
          license,
          suspended,
          release,
          draft,
          other,
          webhook,
          `reference:${reference}`,
        ],
      ),
    };
  };

  async function setPicture(): Promise<void> {
    const body = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
    await call('put', '/manage/settings/picture', { body, headers: { 'Content-Type': 'image/png' } });
  }

  async function setText(): Promise<void> {
    await call('put', '/manage/mail-texts/test/de', { body: { text: 'Probe\n\nVon {shop}.' } });
  }

  async function setSbom(): Promise<void> {
    const body = Buffer.from('{"spdxVersion":"SPDX-2.3"}');
    const headers = { 'Content-Type': 'application/json' };
    await call('put', `/manage/releases/${world.release}/sbom`, { body, headers });
  }

  const csv = () => `Key,Plan\nAAAA-${randomUUID()},${world.plan}\n`;

  /** Returns a correct call of each operation, with the statuses that it then answers. */
  function goodCalls(): Record<
    string,
    {
      path?: string;
      query?: [string, string][];
      body?: unknown;
      type?: string;
      statuses?: number[];
      /** Waits until the operation can be called. */
      ready?: () => Promise<void>;
    }
  > {
    const { product, emptyProduct, plan, emptyPlan, license, suspended, key, reference, customer } = world;
    const { activation, release, draft, token: other, licenseKey, signingKey, webhook, delivery } = world;
    const { shop, sku, order, orderNumber, unmatched, failedMail } = world;
    const hook = `/manage/webhooks/${webhook}`;
    const lic = `/manage/licenses/${license}`;
    return {
      issueLicense: { body: { plan_id: plan, customer, reference }, statuses: [200] },
      explain: { body: { about: customer } },
      getLicense: { path: lic },
      updateLicense: { path: lic, body: { activation_limit: 7, metadata: { a: 'b' } } },
      suspendLicense: { path: `${lic}/suspend`, body: { reason: 'test' } },
      reinstateLicense: { path: `/manage/licenses/${suspended}/reinstate` },
      revokeLicense: { path: `${lic}/revoke` },
      cancelLicense: { path: `${lic}/cancel` },
      renewLicense: { path: `${lic}/renew`, body: { for: '1y' } },
      listLicenseKeys: { path: `${lic}/keys` },
      addLicenseKey: { path: `${lic}/keys`, body: { label: 'Client' }, statuses: [201] },
      updateLicenseKey: { path: `${lic}/keys/${key}`, body: { label: 'Other' } },
      removeLicenseKey: { path: `${lic}/keys/${key}`, statuses: [204] },
      rekeyLicense: { path: `${lic}/rekey`, body: { overlap: '14d' } },
      revealLicense: { path: `${lic}/reveal` },
      listLicenseActivations: { path: `${lic}/activations` },
      addLicenseActivation: {
        path: `${lic}/activations`,
        body: { identifier: 'b.example' },
        statuses: [201, 200],
      },
      removeLicenseActivation: { path: `${lic}/activations/${activation}`, statuses: [204] },
      listLicenseMails: { path: `${lic}/mails` },
      sendLicenseMail: { path: `${lic}/mails`, statuses: [201] },
      getLicenseAnswer: { path: `${lic}/answer`, query: [['language', 'de']] },
      sendAnswer: {
        body: { license_id: license, subject: 'Your licence', body: 'It is valid.' },
        statuses: [201],
      },
      listSettings: {},
      updateSettings: { body: { shop_name: 'Acme', log_days: null } },
      setShopPicture: {
        path: '/manage/settings/picture',
        body: Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
        type: 'image/png',
      },
      removeShopPicture: {
        path: '/manage/settings/picture',
        statuses: [204],
        ready: setPicture,
      },
      sendTestMail: { body: { to: 'jane@example.com' } },
      listMailTexts: {},
      getMailText: { path: '/manage/mail-texts/test/de' },
      setMailText: { path: '/manage/mail-texts/test/de', body: { text: 'Probe\n\nVon {shop}.' } },
      resetMailText: { path: '/manage/mail-texts/test/de', statuses: [204], ready: setText },
      previewMailText: { path: '/manage/mail-texts/test/de/preview' },
      listLicenseEvents: { path: `${lic}/events` },
      listLicenseRequests: { path: `${lic}/requests` },
      addProduct: { body: { name: randomUUID() }, statuses: [201] },
      getProduct: { path: `/manage/products/${product}` },
      updateProduct: { path: `/manage/products/${product}`, body: { includes: 'all' } },
      removeProduct: { path: `/manage/products/${emptyProduct}`, statuses: [204] },
      addPlan: {
        body: { product_id: product, name: 'Three', activation_type: 'seat', activation_limit: 0 },
        statuses: [201],
      },
      getPlan: { path: `/manage/plans/${plan}` },
      updatePlan: { path: `/manage/plans/${plan}`, body: { name: 'Renamed' } },
      removePlan: { path: `/manage/plans/${emptyPlan}`, statuses: [204] },
      listProductReleases: { path: `/manage/products/${product}/releases` },
      getMoveIn: {},
      listProductSites: { path: `/manage/products/${product}/sites` },
      getExposure: { path: `/manage/products/${product}/exposure`, query: [['fixed_in', '1.0.0']] },
      getExposureCsv: { path: `/manage/products/${product}/exposure.csv`, query: [['fixed_in', '1.0.0']] },
      uploadRelease: {
        path: `/manage/products/${product}/releases`,
        ...{ query: [['version', '3.0.0']], body: zip, type: 'application/zip', statuses: [201] },
      },
      getRelease: { path: `/manage/releases/${release}` },
      getReleasePackage: { path: `/manage/releases/${release}/package` },
      putReleaseSbom: {
        path: `/manage/releases/${release}/sbom`,
        body: Buffer.from('{"spdxVersion":"SPDX-2.3"}'),
        type: 'application/json',
      },
      getReleaseSbom: { path: `/manage/releases/${release}/sbom`, ready: setSbom },
      updateRelease: { path: `/manage/releases/${release}`, body: { changelog: 'New' } },
      publishRelease: { path: `/manage/releases/${draft}/publish` },
      withdrawRelease: { path: `/manage/releases/${release}/withdraw` },
      previewReleaseNotice: { path: `/manage/releases/${release}/notify` },
      sendReleaseNotice: { path: `/manage/releases/${release}/notify` },
      getProductJoomlaPlugin: {
        path: `/manage/products/${emptyProduct}/joomla-plugin`,
        query: [['vendor', 'Acme']],
      },
      getJoomlaDoor: { path: '/manage/joomla-door' },
      getOverview: { path: '/manage/overview' },
      getProductUpdateXml: { path: `/manage/products/${product}/update-xml` },
      setProductUpdateXml: {
        path: `/manage/products/${product}/update-xml`,
        body: { description: 'An extension' },
      },
      assignUnmatched: {
        path: `/manage/unmatched/${unmatched}/assign`,
        body: { license_id: license },
        statuses: [200, 200],
      },
      issueUnmatched: { path: `/manage/unmatched/${unmatched}/issue`, body: { plan_id: plan } },
      leaveUnmatched: { path: `/manage/unmatched/${unmatched}/leave`, body: {} },
      listOrders: { query: [['shop', shop]] },
      recordOrder: {
        body: { shop, order: orderNumber, event: 'renewed', at: '2026-02-01T00:00:00Z' },
      },
      getOrder: { path: `/manage/orders/${order}` },
      addOrderMail: { path: `/manage/orders/${order}/mails`, statuses: [201] },
      confirmOrder: { path: `/manage/orders/${order}/confirm` },
      updateOrder: { path: `/manage/orders/${order}`, body: { customer: { email: 'new@example.com' } } },
      listMails: { query: [['state', 'failed']] },
      sendMailAgain: { path: `/manage/mails/${failedMail}/again`, statuses: [201] },
      dismissMail: { path: `/manage/mails/${failedMail}/dismiss` },
      addShop: { body: { name: 'fair', kind: 'api', test: true }, statuses: [201] },
      getShop: { path: `/manage/shops/${shop}` },
      updateShop: { path: `/manage/shops/${shop}`, body: { rules: { refunded: 'cancel' } } },
      removeShop: { path: `/manage/shops/${shop}`, statuses: [204] },
      listShopMap: { path: `/manage/shops/${shop}/map` },
      mapShopSku: { path: `/manage/shops/${shop}/map`, body: { sku, plan_id: emptyPlan }, statuses: [201] },
      unmapShopSku: { path: `/manage/shops/${shop}/map/${sku}`, statuses: [204] },
      getShopPlugin: { path: `/manage/shops/${shop}/plugin` },
      listShopMessages: { path: `/manage/shops/${shop}/messages` },
      receiveMessage: {
        path: `/hooks/${SHOP_RECEIVER}`,
        body: signDigistore24({ event: 'connection_test' }, RECEIVER_SECRET).body,
        type: 'application/x-www-form-urlencoded',
      },
      runShop: { path: `/manage/shops/${shop}/run` },
      // This shop sends its orders itself, so it has no catch-up. test/hooks tries the others.
      catchUpShop: { path: `/manage/shops/${shop}/catch-up`, statuses: [409] },
      getCustomer: { path: `/manage/customers/${customer}` },
      updateCustomer: { path: `/manage/customers/${customer}`, body: { language: 'de' } },
      removeCustomer: { path: `/manage/customers/${customer}`, statuses: [204] },
      importLicenses: { query: [['map', 'key=Key,plan=Plan']], body: csv(), type: 'text/csv' },
      // This shop has no import to undo. test/operator/move-in.test.ts tries it.
      undoImport: { path: '/manage/imports/999999/undo', body: {}, statuses: [404] },
      addWebhook: { body: { url: RECEIVER, events: ['license.*'] }, statuses: [201] },
      getWebhook: { path: hook },
      updateWebhook: { path: hook, body: { enabled: false, description: 'CRM' } },
      removeWebhook: { path: hook, statuses: [204] },
      testWebhook: { path: `${hook}/test`, statuses: [201] },
      rotateWebhook: { path: `${hook}/rotate` },
      listWebhookDeliveries: { path: `${hook}/deliveries` },
      replayWebhookDelivery: {
        path: `${hook}/deliveries/${delivery}/replay`,
        // The delivery was attempted at once, and cannot be replayed until that attempt has failed.
        ready: () =>
          eventually(async () => {
            const { data } = (await call('get', `${hook}/deliveries`)).body;
            expect(data).toMatchObject([{ error: expect.anything() }]);
          }),
      },
      addToken: { body: { name: randomUUID(), scope: 'issue' }, statuses: [201] },
      removeToken: { path: `/manage/tokens/${other}`, statuses: [204] },
      activate: { body: { license_key: licenseKey, identifier: 'c.example' } },
      validate: { body: { license_key: licenseKey, product_id: product } },
      deactivate: { body: { license_key: licenseKey, identifier: 'example.com' } },
      makeLicenseFile: { body: { license_key: licenseKey, identifier: 'example.com' } },
      addSigningKey: { body: {}, statuses: [201] },
      retireSigningKey: { path: `/manage/signing-keys/${signingKey}/retire`, body: {} },
      checkUpdates: { path: `/updates/${product}` },
      download: { path: `/downloads/${product}`, query: [['dlid', licenseKey]] },
    };
  }

  async function send(method: string, template: string, made: Generated): Promise<number> {
    const path = template.replace(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent((made.path[name] ?? '').toWellFormed()).replace(/^\.+$/, '%2e'),
    );
    const { body: { type, value } = {}, idempotencyKey } = made;
    const body =
      type === undefined
        ? undefined
        : type === 'multipart/form-data'
          ? formOf(value as Json)
          : type.endsWith('json')
            ? JSON.stringify(value)
            : type === 'application/x-www-form-urlencoded'
              ? new URLSearchParams(
                  Object.entries(value as Json).map(([name, one]) => [name, String(one)] as [string, string]),
                ).toString()
              : String(value);
    const headers = {
      ...(type === undefined || type === 'multipart/form-data' ? {} : { 'Content-Type': type }),
      ...(idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey }),
    };
    return (await sendAgain(() => call(method, path, { query: made.query, body, headers }))).status;
  }

  test.each(OPERATIONS)(
    '$operationId',
    async (operation) => {
      const { method, path, operationId, isLeaving } = operation;
      token = await makeToken();
      world = isLeaving ? unchanged : await makeWorld();
      const { statuses = [200], type, ready, ...good } = goodCalls()[operationId] ?? {};
      await ready?.();
      for (const status of statuses) {
        const headers = type === undefined ? {} : { 'Content-Type': type };
        const answer = await sendAgain(() => call(method, good.path ?? path, { ...good, headers }));
        expect(answer).toMatchObject({ status });
      }
      // A database fails to compare an ASCII column with other text; the service must not.
      if (method === 'get')
        for (const { name } of operation.parameters?.filter((one) => one.in === 'query') ?? []) {
          const query = [
            ...(good.query ?? []).filter(([one]) => one !== name),
            [name, 'Müller'] as [string, string],
          ];
          const { status } = await sendAgain(() => call(method, good.path ?? path, { query }));
          expect([name, status < 500]).toEqual([name, true]);
        }
      // A new world takes 21 requests, so only a long run replaces what the operation used up.
      if (IS_WHOLE && SPENDING.test(operationId) && !isLeaving) world = await makeWorld();
      await fc.assert(
        fc.asyncProperty(requestsOf(operation, method === 'post', resolve, pools()), async (made) => {
          expect(await send(method, path, made)).toBeLessThan(500);
        }),
        { numRuns: REQUESTS, ...(IS_WHOLE ? {} : { seed: 1 }), endOnFailure: true },
      );
    },
    300_000,
  );
});

/** Builds a form. Values other than strings are sent as JSON. */
function formOf(fields: Json): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields))
    if (name === 'file') form.append(name, new Blob([String(value)]), 'file');
    else form.append(name, typeof value === 'string' ? value : JSON.stringify(value));
  return form;
}
