import './process/node-version';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { giveYear } from '../seeds/year/year';
import { demoAgency, demoClient, demoClub, demoLicenses, referenceOf, seedDemo } from '../seeds/demo';
import { environment, packageRoot, readConfig, type Config } from './settings/config';
import { createCode, OPERATOR_CODE_TTL_MS } from './access/one-time-codes';
import { addToken, listTokens, revokeToken } from './access/tokens';
import { API_PATH } from './licensing/api';
import { regenerateUpdateXml } from './joomla/regenerate-update-xml';
import { listCatalogue } from './licensing/catalogue';
import { createLog } from './process/log';
import { startService } from './app/service';
import { isMeantForUs } from './settings/names';
import { migrate, SchemaError, withDatabase, type Db } from './setup/database';

/**
 * Runs the demo: `npm run demo` the service on its own SQLite file with sample data; `npm run demo:licensing -- ...`
 * the command. Neither reads a real installation's settings, whose database must never receive the demo's public keys.
 */

const FOLDER = 'var/demo';
const ENV_FILE = join(packageRoot, FOLDER, '.env');
const FIRST_PORT = 3080;
const PORTS = 20;
const TOKEN_NAME = 'demo';

async function main(): Promise<void> {
  const { LICENSING_LISTEN, LICENSING_ADMIN_LISTEN } = environment();
  writeSettings();
  const listen = LICENSING_LISTEN || (await freeAddress());
  const config = readConfig({
    LICENSING_ENV_FILE: ENV_FILE,
    LICENSING_LISTEN: listen,
    // Links in mails lead to this address.
    ...(/^[\d.]+:[1-9]/.test(listen) ? { LICENSING_PUBLIC_URL: `http://${listen}` } : {}),
    // Use any free port, because no monitoring checks the health of a demo.
    LICENSING_ADMIN_LISTEN: LICENSING_ADMIN_LISTEN || '127.0.0.1:0',
  });
  const signIn = await withDatabase(config, async (db) => {
    await migrate(db, config.database);
    await giveShop(db, config, new Date());
    await writeUpdateXmls(db, config);
    return { token: await newToken(db), code: await newCode(db) };
  });

  const service = await startService(config, createLog(config.logLevel));
  process.stdout.write(introduction(service.address, signIn));
  let stopping: Promise<void> | undefined;
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => {
      stopping =
        stopping ||
        service.stop().then(() => void process.stdout.write(`\nStopped. The data stays in ${FOLDER}.\n`));
    });
}

function runLicensing(args: string[]): void {
  if (!existsSync(ENV_FILE)) fail('There is no demo yet. Start it in another terminal: npm run demo');
  const others = Object.entries(environment()).filter(([name]) => !isMeantForUs(name));
  const env = { ...Object.fromEntries(others), LICENSING_ENV_FILE: ENV_FILE };
  const { status } = spawnSync(process.execPath, [join(packageRoot, 'dist/src/cli.js'), ...args], {
    env,
    stdio: 'inherit',
  });
  process.exitCode = status === null ? 1 : status;
}

function writeSettings(): void {
  if (existsSync(ENV_FILE)) return;
  mkdirSync(join(packageRoot, FOLDER), { recursive: true });
  const lines = [
    '# Settings of the demo. Its keys are public: do not sell licences with it.',
    'LICENSING_DATABASE_URL=sqlite:demo.sqlite',
    'LICENSING_PACKAGES_DIR=packages',
    'LICENSING_XML_DIR=xml',
    'LICENSING_PUBLIC_URL=http://127.0.0.1:3080',
    'LICENSING_SHOP_NAME=Acme Extensions',
    '# Mails become files in this folder.',
    'LICENSING_MAIL_URL=file:mails?from=shop@example.com',
    'LICENSING_LOG_LEVEL=warn',
    `LICENSING_KEY_SECRET=${randomBytes(32).toString('base64')}`,
  ];
  writeFileSync(ENV_FILE, `${lines.join('\n')}\n`, { mode: 0o600 });
}

/** Returns the usual port, or the next one on which no other program listens. */
async function freeAddress(): Promise<string> {
  for (let port = FIRST_PORT; port < FIRST_PORT + PORTS; port++)
    if (await isFree(port)) return `127.0.0.1:${port}`;
  return '127.0.0.1:0';
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
      .once('error', () => resolve(false))
      .listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}

async function giveShop(db: Db, config: Config, now: Date): Promise<void> {
  await seedDemo(db, config, now);
  await giveYear(db, config, now);
}

/** Creates a token at each start, because a token is shown only once. */
async function newToken(db: Db): Promise<string> {
  const context = { actor: 'operator:demo', now: new Date() };
  for (const { id, name } of await listTokens(db))
    if (name === TOKEN_NAME) await revokeToken(db, id, context);
  return (await addToken(db, { name: TOKEN_NAME, scope: 'write', expiresAt: null }, context)).token;
}

/** Writes the update XML like publishing, so that the pages show a shop in operation. */
async function writeUpdateXmls(db: Db, config: Config): Promise<void> {
  mkdirSync(config.xmlDir, { recursive: true });
  for (const { id } of await listCatalogue(db)) await regenerateUpdateXml(db, config, id);
}

/** Returns the one-time code of a link that signs in to the pages. */
function newCode(db: Db): Promise<string> {
  const operator = {
    kind: 'operator',
    actor: 'operator:demo',
    name: 'demo',
    scope: 'write',
    operatorId: null,
  } as const;
  return createCode(db, operator, OPERATOR_CODE_TTL_MS, new Date());
}

/** An order of the demo's shop. Its event_id makes it count once, even if it is sent again after another start. */
const ORDER = {
  shop: 'demo',
  order: '1001',
  event: 'paid',
  event_id: 'demo-1001',
  at: new Date().toISOString(),
  customer: { email: 'max@example.com', name: 'Max' },
  lines: [{ line: '1', plan_id: 1, quantity: 2 }],
};

function introduction(address: string, { token, code }: { token: string; code: string }): string {
  const { key } = demoLicenses[0] as { key: string };
  const number = demoLicenses.findIndex(({ state }) => state === 'expired') + 1;
  const expired = demoLicenses[number - 1] as { key: string };
  const [curl, base] = address.startsWith('unix:')
    ? [`curl --unix-socket ${address.slice('unix:'.length)}`, 'http://localhost']
    : ['curl', address];
  const ask = (path: string, rest = "-w '\\n'") => `  ${curl} -sS '${base}${API_PATH}${path}' ${rest}`;
  const post = (verb: string, body: object) =>
    ask(`/licenses/${verb}`, `-H 'Content-Type: application/json' -d '${JSON.stringify(body)}' -w '\\n'`);
  const manage = (path: string, body: object) =>
    ask(
      `/manage${path}`,
      `-H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' -d '${JSON.stringify(body)}' -w '\\n'`,
    );
  const licensing = (args: string) => `  npm run -s demo:licensing -- ${args}`;
  const site = { license_key: key, identifier: 'https://www.example.com/shop' };
  const download = (product: number, by: string, name: string) => {
    const file = join(FOLDER, `${name}.zip`);
    const written = `HTTP %{http_code}, %{size_download} bytes in ${file}`;
    return ask(`/downloads/${product}?dlid=${by}`, `-o ${file} -w '${written}\\n'`);
  };
  const client = (identifier: string) => post('activate', { license_key: demoClient.key, identifier });
  return `
licensing-gateway answers at ${base}${API_PATH}/
Its data is in ${FOLDER}. To begin again, remove that folder. Ctrl-C stops the demo.

IN THE BROWSER

Open this link and press the button. It signs you in once, within ten minutes:
  ${base}${API_PATH}/pages/enter/${code}

Later, sign in with this token, which is valid until the demo starts again, at ${base}${API_PATH}/pages/
  ${token}

What your customers see, with one of the keys below:
  ${base}${API_PATH}/pages/my

Mails are files in ${FOLDER}/mails.

Licence keys. They are public. For product 42:
${demoLicenses.map((license) => `  ${license.key}  ${license.state}, by ${license.plan}`).join('\n')}
For a club, with one key for the products 42, 43 and 45:
  ${demoClub.key}
For an agency, and for one of its clients with one site:
  ${demoAgency.key}
  ${demoClient.key}

IN A SHELL

Paste these lines into a second terminal, in this folder.

WHAT A CUSTOMER'S SOFTWARE SENDS

Activate a site (all spellings of its address count as the same site):
${post('activate', { ...site, name: 'My shop' })}

Is the licence valid, and the site activated?
${post('validate', site)}

Is there a newer version?
${ask('/updates/42')}

Download it:
${download(42, key, 'example-shop')}

Free the slot again:
${post('deactivate', site)}

WHAT YOU DO AS THE SELLER (where an answer says "licensing ...", type "npm run -s demo:licensing -- ...")

See what is sold:
${licensing('license list --limit 12')}

Sell a licence and mail its key:
${licensing('license issue --plan 1 --customer jane@example.com --send')}

A customer's update fails, because the licence has expired:
${ask(`/downloads/42?dlid=${expired.key}`)}

The customer writes to you. Find out why it failed and what to do about it (${number} is the licence's number in the list):
${licensing(`why ${number}`)}

THE SAME OVER HTTP, FOR A SHOP OR A SCRIPT

Sell the licence of an order:
${manage('/licenses', { plan_id: 1, customer: 'jane@example.com', reference: 'order-77' })}

Report an order, as a shop does. The service issues its licences, and writes one mail with their keys to ${FOLDER}/mails:
${manage('/orders', ORDER)}

Every call is described at ${base}${API_PATH}/docs

A CLUB, AN AGENCY AND STAGING SITES

Download two products of the club with the same key:
${download(43, demoClub.key, 'example-gallery')}
${download(45, demoClub.key, 'example-forms')}

Activate the site of the agency's client. Its staging site is free. Another site is refused, because the key is for one site:
${client('https://bakery.example.com')}
${client('https://staging.bakery.example.com')}
${client('https://florist.example.com')}

See the agency's keys and sites, and which of them take a slot:
${licensing(`license show ${referenceOf(demoAgency)}`)}

`;
}

function fail(text: string): never {
  process.stderr.write(`${text}\n`);
  process.exit(1);
}

const [first, ...args] = process.argv.slice(2);
if (first === 'licensing') runLicensing(args);
else
  main().catch((error: unknown) =>
    fail(
      `The demo cannot start: ${error instanceof Error ? error.message : String(error)}` +
        (error instanceof SchemaError ? ` Remove ${FOLDER} to begin again.` : ''),
    ),
  );
