import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { freePort, temporaryFolder } from '../support/processes';
import { makePackage } from '../support/packages';
import { processEnvironment, startServiceProcess, type ServiceProcess } from '../support/service-process';
import { startShell, type Shell } from '../support/shell';

/** Follows docs/operator-api.md and the pages on shops from top to bottom, and sells with the PHP of docs/shop-issue.md. */

const ROOT = join(__dirname, '../..');
const guide = (name: string) => readFileSync(join(ROOT, `docs/${name}.md`), 'utf8');
const PATH = '/api/index.php/v1/licensing/manage';

let folder: string;
let service: ServiceProcess;
let shell: Shell;

beforeAll(async () => {
  folder = temporaryFolder();
  const settings = {
    LICENSING_DATABASE_URL: `sqlite:${folder}/data.sqlite`,
    LICENSING_PACKAGES_DIR: join(folder, 'packages'),
    LICENSING_XML_DIR: join(folder, 'xml'),
    LICENSING_PUBLIC_URL: 'https://shop.example',
    LICENSING_KEY_SECRET: Buffer.alloc(32, 7).toString('base64'),
  };
  const server = 'https://shop.example/licensing-updates/pkg_example.xml';
  const manifest = (version: string) =>
    `<extension type="package"><packagename>example</packagename><version>${version}</version><updateservers><server type="extension">${server}</server></updateservers><dlid prefix="dlid="/></extension>`;
  for (const version of ['1.1.0', '1.1.1'])
    copyFileSync(
      (await makePackage({ 'pkg_example.xml': manifest(version) })).path,
      join(folder, `pkg_example-${version}.zip`),
    );
  shell = await startShell(folder, processEnvironment(settings));
  expect(await shell.run('licensing', 'migrate')).toMatchObject({ code: 0 });
  service = await startServiceProcess(settings);
});

afterAll(async () => {
  await shell.stop();
  await service.stop();
});

/** Runs the commands of a page with this service's address. */
async function walk(commands: string): Promise<string> {
  const there = commands.replaceAll('https://shop.example', service.url);
  const { code, stdout, stderr } = await shell.run('sh', '-e', '-c', there);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  return stdout;
}

const commandsOf = (name: string) =>
  [...guide(name).matchAll(/```sh\n([^]*?)```/g)].map(([, block]) => block ?? '');

test('the walk does what the page says', async () => {
  const stdout = await walk(
    commandsOf('operator-api')
      .join('')
      .replaceAll(/^(curl(?:.*\\\n)*.*)$/gm, "$1 -w '\\n%{http_code}\\n'"),
  );
  const answers = stdout.trim().split('\n');
  const statuses = answers.filter((_, i) => i % 2 === 1);
  expect(statuses).toEqual(['201', '201', '201', '201', '200', '200', '200', '200', '200', '201']);
  const [product, plan, release, sold, found, renewed, why, releases, withdrawn, draft] = answers
    .filter((_, i) => i % 2 === 0)
    .map((line) => (JSON.parse(line) as { data: unknown }).data);
  expect(product).toMatchObject({ id: 900 });
  expect(plan).toMatchObject({ id: 1, product_id: 900 });
  const url = 'https://shop.example/licensing-updates/pkg_example.xml';
  expect(release).toMatchObject({ id: 1, version: '1.1.0', update_xml: { state: 'written', url } });
  expect(sold).toMatchObject({ id: 1, license_key: expect.stringMatching(/^[0-9A-F-]{35}$/) });
  expect(found).toEqual([expect.objectContaining({ id: 1, reference: 'order-5001' })]);
  expect(renewed).toMatchObject({ id: 1, status: 'active', revision: 2 });
  expect(why).toMatchObject({ now: { new_site: { allowed: true } } });
  expect(releases).toMatchObject([{ version: '1.1.0', state: 'published' }]);
  expect(withdrawn).toMatchObject({ version: '1.1.0', state: 'withdrawn', update_xml: { state: 'written' } });
  expect(draft).toMatchObject({ version: '1.1.1', state: 'draft', changelog: 'Faster' });
});

test('the page on shops does what it says', async () => {
  const secrets = {
    'stripe-secret.txt': 'whsec_of_stripe',
    'paddle-secret.txt': 'pdl_ntfset_of_paddle',
    'passphrase.txt': 'a passphrase',
    'lemonsqueezy-secret.txt': 'a secret of ours',
    'fastspring-secret.txt': 'another secret of ours',
    'woocommerce-secret.txt': 'a third secret of ours',
    'crm-secret.txt': `whsec_${Buffer.alloc(24, 5).toString('base64')}`,
  };
  for (const [name, secret] of Object.entries(secrets)) writeFileSync(join(folder, name), `${secret}\n`);
  // The guide says to post the order again after the article is mapped.
  const [token = '', paid = '', map = '', ...others] = commandsOf('shop');
  const pages = 'shop-waiting shop-receivers shop-stripe shop-receivers-more shop-woocommerce';
  const more = pages.split(' ').flatMap(commandsOf);
  const stdout = await walk([token, paid, map, paid, ...others, ...more].join('\necho ---\n'));
  const [, first, mapped, again, refunded, rules, renewal, tests, keys, ...further] = stdout.split('---\n');
  const [waiting, addressless, unmatched, ...receiving] = further;
  const [added, given, messages, adopted, crm, stripe, ...receivers] = receiving;
  const lineOf = (answer = '') => (JSON.parse(answer) as { data: { lines: object[] } }).data.lines[0];
  expect(lineOf(first)).toMatchObject({ action: 'waiting', reason: 'not_mapped', licenses: [] });
  expect(mapped).toContain('"PRO-1Y" has plan 1');
  // A second later it is another event, and the licence exists already. The same event would answer "issued".
  expect(lineOf(again)).toMatchObject({
    action: expect.stringMatching(/^(issued|none)$/),
    licenses: [{ license_key: expect.stringMatching(/^[0-9A-F-]{35}$/), status: 'active' }],
  });
  expect(lineOf(refunded)).toMatchObject({ action: 'suspended', licenses: [{ status: 'suspended' }] });
  expect(rules).toMatch(/subscription_ended +suspend/);
  expect(lineOf(renewal)).toMatchObject({ action: 'renewed' });
  expect(tests).toContain('Shop hikashop is changed.');
  expect(unmatched).toContain('Nothing is unmatched.');
  expect(keys).toMatch(/keys mailed +no: mail is not set up/);
  expect([added, crm, ...receivers].map((text) => /^Shop (\w+) is added/.exec(text ?? '')?.[1])).toEqual([
    ...['stripe', 'crm', 'paddle', 'digistore24', 'lemonsqueezy', 'fastspring', 'woocommerce'],
  ]);
  expect(given).toContain('Shop stripe is changed.');
  expect(messages).toContain('No messages of stripe.');
  expect(lineOf(adopted)).toMatchObject({ action: 'renewed', licenses: [{ id: 1 }] });
  expect(stripe).toContain('{"data":{"result":"order","reason":"no_quantity","order_id":4,"state":"done"}}');
  expect(stripe).toMatch(/stripe +pi_try_1 +done/);
  expect(waiting).toMatch(/^No orders\.\n.*hikashop/s);
  expect(addressless).toContain('No orders.');
});

describe('a shop in PHP', () => {
  let api: string;
  let token: string;

  beforeAll(async () => {
    api = `${service.url}${PATH}`;
    const blocks = [...guide('shop-issue').matchAll(/```php\n([^]*?)```/g)].map(([, block]) => block);
    const program = blocks.find((block) => block?.includes('issueLicence(')) ?? '';
    writeFileSync(
      join(folder, 'shop.php'),
      `${program}\necho json_encode(issueLicence(...array_slice($argv, 1)));\n`,
    );
    token = await walk('licensing token add --name shop --scope issue').then((text) => text.trim());
  });

  const sell = async (
    order: { plan?: string; email?: string; number?: string; at?: string; by?: string } = {},
  ) => {
    const { plan = '1', email = "o'hara@example.com", number = '1 & 2', at = api, by = token } = order;
    const { code, stdout, stderr } = await shell.run('php', 'shop.php', at, by, plan, email, number);
    if (code !== 0) throw new Error(stdout + stderr);
    return JSON.parse(stdout) as Record<string, unknown>;
  };

  test('sells, once for each order', async () => {
    const sold = await sell();
    expect(sold).toMatchObject({ status: 'active', license_key: expect.stringMatching(/^[0-9A-F-]{35}$/) });
    expect(await sell()).toEqual(sold);
  });

  test('gets a sentence about what is wrong', async () => {
    const refusals: [Parameters<typeof sell>[0], string][] = [
      [{ email: 'jane@example.com' }, 'belongs to licence'],
      [{ number: 'order-5001' }, 'This reference is in use'],
      [{ plan: '99', number: '2' }, 'There is no plan 99.'],
      [{ email: 'nobody', number: '3' }, 'e-mail'],
      [{ by: 'lgw_wrong' }, 'A valid token is needed'],
      [{ at: `http://127.0.0.1:${await freePort()}` }, 'The licence service does not answer.'],
    ];
    for (const [order, says] of refusals) await expect(sell(order)).rejects.toThrow(says);
  });
});
