import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { writeFile } from 'node:fs/promises';
import { Ajv2020 } from 'ajv/dist/2020';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Operation } from '../../src/operations/kit/operation';
import { OPERATION_GROUPS } from '../../src/operations/operations';
import { table } from '../../src/store/engine/database';
import { operator, type Operator } from '../support/operator';
import { makePackage } from '../support/packages';
import { temporaryFolder } from '../support/processes';
import { newPlace, startTestService, type TestService } from '../support/service';

/**
 * Every operation is called through each interface that has it. generated-requests.test.ts calls the API, and this file
 * calls the command. Its `--json` must match the schema of the operation.
 */

const BY_NAME = Object.assign({}, ...Object.values(OPERATION_GROUPS)) as Record<string, Operation>;

/** Operations that no command calls, with the reason. */
const NO_COMMAND: Record<string, string> = {
  getPlan: 'plan list shows all of a plan',
  listLicenseMails: 'mail list shows those of all licences',
  listLicenseRequests: '"why" tells them',
  listRequests: '"why" tells them',
  listCustomers: 'the command is asked about a customer by the address',
  getStatistics: 'only the pages show figures',
  getMe: 'the operator at the shell knows',
  recordOrder: 'shops post orders',
  explain: '"why" tells more than the API: every request, and the commands that mend it',
  examine: '"doctor" looks further than the service can',
  importLicenses: '"import" takes files of any size, with options for other forms of them',
  undoImport: 'tried in move-in.test.ts, with something to undo',
  getRelease: 'release list shows all of a version',
  getReleaseSbom: '"release sbom" prints the file itself',
  putReleaseSbom: '"release sbom --file" reads a file of the machine',
  getReleasePackage: '"packages fetch" calls it on another host',
  getProductUpdateXml: '"update-xml lint" judges the file itself',
  setProductUpdateXml: '"update-xml write" also writes to a file of its own, and remembers that',
  getProductJoomlaPlugin: '"joomla-plugin" calls it, writes the zip to a folder and prints where',
  getJoomlaDoor: '"joomla-door" writes the zip, and needs no database',
  getExposureCsv: '"exposure --format csv" prints it, not as JSON',
  getOverview: '"doctor", "order list" and "mail list" tell',
  getShopPlugin: '"shop plugin" writes the zip to a folder',
  setShopPicture: 'LICENSING_SHOP_LOGO names a file of the machine',
  removeShopPicture: 'the pages set it',
  publishRelease: '"release publish" without --file also sets the date, and says what it noticed',
};

/** Commands in their order. Each uses the ids that earlier ones made, or the first id of a list. */
const LINES: [string, (made: Made) => string][] = [
  ['addToken', () => 'token add --name doors --scope issue --expires 2099-12-31'],
  ['listTokens', () => 'token list'],
  ['removeToken', ({ addToken }) => `token revoke ${addToken}`],
  ['addSigningKey', () => 'signing-key add'],
  ['addSigningKey', () => 'signing-key add'],
  ['listSigningKeys', () => 'signing-key list'],
  ['retireSigningKey', () => `signing-key retire ${new Date().getUTCFullYear()}-1`],
  ['addProduct', () => 'product add --name Shop --id 42'],
  ['addProduct', () => 'product add --name Mistake --id 43'],
  ['removeProduct', () => 'product remove 43'],
  ['listProducts', () => 'product list'],
  [
    'addPlan',
    () => 'plan add --product 42 --name One --activation-type domain --activation-limit 2 --duration 1y',
  ],
  ['issueLicense', () => 'license issue --plan One --customer jane@example.com --reference order-1'],
  ['issueLicense', () => 'license issue --plan One --count 2'],
  ['updatePlan', ({ addPlan }) => `plan edit ${addPlan} --activation-limit 3 --licenses follow`],
  ['listPlans', () => 'plan list'],
  ['getProduct', () => 'product show 42'],
  ['updateProduct', () => 'product edit 42 --name Shop2'],
  ['listProductSites', () => 'product sites 42'],
  ['getExposure', () => 'exposure --product 42 --fixed-in 1.0.0'],
  ['listSpreading', () => 'spreading'],
  ['getRenewals', () => 'renewals --product 42'],
  ['listNotRenewed', () => 'not-renewed --month 2026-10'],
  ['getMoveIn', () => 'move-in check'],
  ['listLicenses', () => 'license list'],
  ['getLicense', () => 'license show reference:order-1'],
  ['updateLicense', () => 'license set-limit reference:order-1 5'],
  ['updateLicense', () => 'license metadata reference:order-1 channel=fair'],
  ['suspendLicense', () => 'license suspend reference:order-1 --reason test'],
  ['reinstateLicense', () => 'license reinstate reference:order-1'],
  ['renewLicense', () => 'license renew reference:order-1 --for 1y'],
  ['addLicenseKey', () => 'license key add reference:order-1 --label Client --limit 1 --ends 2099-12-31'],
  ['updateLicenseKey', ({ addLicenseKey: key }) => `license key edit reference:order-1 ${key} --ends none`],
  ['listLicenseKeys', () => 'license key list reference:order-1'],
  ['removeLicenseKey', ({ addLicenseKey: key }) => `license key end reference:order-1 ${key} --free`],
  ['rekeyLicense', () => 'license rekey reference:order-1 --overlap 14d'],
  ['revealLicense', ({ getLicense }) => `license reveal ${getLicense}`],
  ['addLicenseActivation', () => 'activation add reference:order-1 one.example --name One'],
  ['listLicenseActivations', () => 'activation list reference:order-1'],
  ['removeLicenseActivation', () => 'activation remove reference:order-1 WWW.one.example'],
  ['listLicenseEvents', () => 'license history reference:order-1'],
  ['sendLicenseMail', () => 'mail send reference:order-1'],
  ['listMails', () => 'mail list'],
  ['sendMailAgain', ({ failedMail }) => `mail again ${failedMail}`],
  ['dismissMail', ({ failedMail }) => `mail dismiss ${failedMail}`],
  ['getLicenseAnswer', () => 'mail answer reference:order-1 --language de'],
  ['sendAnswer', () => 'mail answer reference:order-1 --send'],
  ['listSettings', () => 'settings list'],
  ['updateSettings', () => 'settings set log_days 30'],
  ['updateSettings', () => 'settings unset log_days'],
  ['sendTestMail', () => 'mail test jane@example.com'],
  ['listMailTexts', () => 'mail text list'],
  ['getMailText', () => 'mail text show test de'],
  ['previewMailText', () => 'mail text show test de --preview'],
  ['setMailText', () => 'mail text set test de TEXT'],
  ['resetMailText', () => 'mail text reset test de'],
  ['uploadRelease', () => 'release publish --product 42 --version 1.0.0 --unchecked --file PACKAGE'],
  ['updateRelease', () => 'release edit --product 42 --version 1.0.0 --changelog New'],
  ['updateRelease', () => 'release edit --product 42 --version 1.0.0 --security'],
  ['previewReleaseNotice', () => 'release notify --product 42 --version 1.0.0 --dry-run'],
  ['sendReleaseNotice', () => 'release notify --product 42 --version 1.0.0 --yes'],
  ['listProductReleases', () => 'release list --product 42'],
  ['withdrawRelease', () => 'release withdraw --product 42 --version 1.0.0'],
  ['addShop', ({ addPlan }) => `shop add fair --test-plan ${addPlan}`],
  ['getShop', () => 'shop rules fair'],
  ['updateShop', () => 'shop edit fair --test on --test-plan none'],
  ['updateShop', () => 'shop rules fair --on refunded=cancel'],
  ['mapShopSku', () => 'shop map fair PRO --plan One --quantity slots'],
  ['listShopMap', () => 'shop map fair'],
  ['runShop', () => 'shop run fair'],
  ['listShops', () => 'shop list'],
  ['listShopMessages', () => 'shop messages fair'],
  ['listOrders', () => 'order list'],
  ['getOrder', ({ order }) => `order show ${order}`],
  ['addOrderMail', ({ order }) => `order mail ${order}`],
  ['updateOrder', ({ order }) => `order set-customer ${order} jane@example.com`],
  ['confirmOrder', ({ order }) => `order confirm ${order}`],
  ['listUnmatched', () => 'unmatched list'],
  ['leaveUnmatched', ({ listUnmatched: id }) => `unmatched leave ${id}`],
  ['listUnmatched', () => 'unmatched list'],
  ['issueUnmatched', ({ listUnmatched: id, addPlan }) => `unmatched issue ${id} --plan ${addPlan}`],
  ['listUnmatched', () => 'unmatched list'],
  [
    'assignUnmatched',
    ({ listUnmatched: id, getLicense }) => `unmatched assign ${id} --license ${getLicense}`,
  ],
  ['unmapShopSku', () => 'shop unmap fair PRO'],
  ['removeShop', () => 'shop remove fair'],
  ['addWebhook', () => 'webhook add http://127.0.0.1:9/hook --events license.*,release.published'],
  ['listImports', () => 'import --list'],
  ['listWebhooks', () => 'webhook list'],
  ['getWebhook', ({ addWebhook }) => `webhook show ${addWebhook}`],
  ['updateWebhook', ({ addWebhook }) => `webhook disable ${addWebhook}`],
  ['rotateWebhook', ({ addWebhook }) => `webhook rotate ${addWebhook}`],
  ['listWebhookDeliveries', ({ addWebhook }) => `webhook deliveries ${addWebhook}`],
  ['removeWebhook', ({ addWebhook }) => `webhook remove ${addWebhook}`],
  ['cancelLicense', () => 'license cancel reference:order-1'],
  ['revokeLicense', ({ issueLicense }) => `license revoke ${issueLicense}`],
  ['getCustomer', () => 'customer show jane@example.com'],
  ['updateCustomer', () => 'customer set jane@example.com --language de'],
  ['removeCustomer', () => 'customer erase jane@example.com --yes'],
  ['addPlan', () => 'plan add --product 42 --name Mistake --activation-type seat --activation-limit 0'],
  ['removePlan', ({ addPlan }) => `plan remove ${addPlan}`],
];

/** Commands that wait for a receiver's answer (tested in test/webhooks) or a shop's (tested in test/hooks). */
const ELSEWHERE = ['testWebhook', 'replayWebhookDelivery', 'catchUpShop'];

/** The ids of the latest thing that each operation made, and of an order. */
type Made = Record<string, number>;

let service: TestService;
let shell: Operator;
let zip: string;
let text: string;

beforeAll(async () => {
  const settings = {
    ...(await newPlace('SQLite')),
    LICENSING_KEY_SECRET: randomBytes(32).toString('base64'),
    LICENSING_PUBLIC_URL: 'https://shop.example',
    LICENSING_XML_DIR: temporaryFolder(),
    LICENSING_WEBHOOK_NETWORKS: '127.0.0.0/8',
    LICENSING_MAIL_URL: `file:${temporaryFolder()}?from=shop@example.com`,
  };
  service = await startTestService(settings);
  shell = operator(settings);
  text = join(temporaryFolder(), 'test.de.txt');
  await writeFile(text, 'Probe\n\nVon {shop}.');
  zip = join(temporaryFolder(), 'package.zip');
  await writeFile(zip, (await makePackage()).bytes);
});
afterAll(() => service.stop());

test('every operation has a command, or a reason why it has none', () => {
  const known = [...Object.keys(NO_COMMAND), ...LINES.map(([name]) => name), ...ELSEWHERE];
  expect([...new Set(known)].sort()).toEqual(Object.keys(BY_NAME).sort());
});

test('each command prints the answer of its operation', async () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  const made: Made = {};
  for (const [name, line] of LINES) {
    if (name === 'listOrders') made.order = await postOrder(made.addPlan as number);
    if (name === 'sendMailAgain') made.failedMail = await giveUp(made.sendLicenseMail as number);
    const args = line(made).split(' ');
    const answer = await shell.json<unknown>(
      args.map((word) => ({ PACKAGE: zip, TEXT: text })[word] ?? word),
    );
    const first = [answer].flat()[0] as { id?: unknown } | undefined;
    if (typeof first?.id === 'number') made[name] = first.id;
    expect({ line: args.join(' '), faults: faultsOf(ajv, BY_NAME[name] as Operation, answer) }).toEqual({
      line: args.join(' '),
      faults: [],
    });
  }
});

/** Gives a mail up, as if its address had been refused. */
async function giveUp(id: number): Promise<number> {
  await service
    .db(table(service.db, 'outbox'))
    .where({ id })
    .update({ failed_at: '2026-01-01 00:00:00', next_attempt_at: null });
  return id;
}

function faultsOf(ajv: Ajv2020, { data, afterCommit, isList }: Operation, answer: unknown): unknown[] {
  // A removal has an answer without content, and the command prints the removed object.
  if (data === undefined) return [];
  const whole = afterCommit
    ? { ...data, properties: { ...(data.properties as object), ...afterCommit.adds } }
    : data;
  return ajv.validate(isList ? { type: 'array', items: whole } : whole, answer) ? [] : (ajv.errors ?? []);
}

async function postOrder(plan: number): Promise<number> {
  const { token } = await shell.json<{ token: string }>('token add --name fair --scope issue'.split(' '));
  const post = (event: object) =>
    fetch(`${service.url}/api/index.php/v1/licensing/manage/orders`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({
        shop: 'other',
        at: '2026-01-01T00:00:00Z',
        customer: { email: 'jane@example.com' },
        ...event,
      }),
    });
  for (const order of ['2001', '2002', '2003'])
    await post({ order, event: 'renewed', lines: [{ line: '1' }] });
  const answer = await post({ order: '1001', event: 'paid', lines: [{ line: '1', plan_id: plan }] });
  return ((await answer.json()) as { data: { id: number } }).data.id;
}
