import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import {
  connects,
  endProcess,
  eventually,
  freePort,
  hasEnded,
  sharedFolder,
  startProcess,
} from './processes';
import type { Certificate } from './certificates';
import { htaccessLines } from '../../src/setup/htaccess';
import { openDatabase, type Db } from '../../src/store/engine/database';
import { parseDatabaseUrl } from '../../src/store/engine/database-url';
import { startTestSite, SITE_PREFIX, type TestSite } from './joomla-site';
import { giveRelease } from './packages';
import { startPhp } from './php-fpm';
import { giveLicense, givePlan, PREFIX, type TestLicense } from './service';
import { startProgram, type Ended } from './service-process';

/** Shared hosting: the zip's content, and a private Apache with Debian's Passenger that serves it within a site. */

const ROOT = join(__dirname, '../..');
const MODULES = '/usr/lib/apache2/modules';
const LOCATIONS = '/usr/lib/ruby/vendor_ruby/phusion_passenger/locations.ini';
/** The address at which panels put the application. */
export const BASE = '/licensing-app';

/** The user as whom the panel runs the seller's programs. */
export const SELLER = userInfo().uid === 0 ? 'www-data' : userInfo().username;

/**
 * Unpacks a zip like that of `npm run release`: the parts for a start, without SQLite. If TEST_HOSTING_FOLDER names an
 * unpacked zip, it is used instead. @param isBuild true to use this build even then
 */
export function unpackHosting(folder: string, { isBuild = false } = {}): string {
  const unpacked = isBuild ? undefined : process.env.TEST_HOSTING_FOLDER;
  mkdirSync(folder, { recursive: true });
  if (unpacked !== undefined) cpSync(unpacked, folder, { recursive: true });
  else {
    for (const name of ['dist', 'mails', 'php', 'nginx', 'deploy', 'docs', 'package.json'])
      if (existsSync(join(ROOT, name))) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
    cpSync(join(ROOT, 'deploy/hosting/app.js'), join(folder, 'app.js'));
    linkModules(join(folder, 'node_modules'));
  }
  giveToSeller(folder);
  return folder;
}

function linkModules(folder: string): void {
  mkdirSync(folder);
  const from = join(ROOT, 'node_modules');
  for (const name of readdirSync(from))
    if (!/^(?:\.|@?libsql)/.test(name)) symlinkSync(join(from, name), join(folder, name));
}

export function giveToSeller(path: string): void {
  if (userInfo().uid === 0) execFileSync('chown', ['-R', SELLER, path]);
}

/** Returns the rules of Joomla's htaccess.txt, with our two lines above them. */
export function htaccess(lines: string): string {
  return `RewriteEngine On
${lines}
RewriteRule .* - [E=HTTP_AUTHORIZATION:%{HTTP:Authorization}]
RewriteCond %{REQUEST_URI} ^/api/
RewriteCond %{REQUEST_URI} !^/api/index\\.php
RewriteCond %{REQUEST_FILENAME} !-f
RewriteCond %{REQUEST_FILENAME} !-d
RewriteRule .* api/index.php [L]
RewriteCond %{REQUEST_URI} !^/(api/)?index\\.php
RewriteCond %{REQUEST_FILENAME} !-f
RewriteCond %{REQUEST_FILENAME} !-d
RewriteRule .* index.php [L]
`;
}

export interface Hosting {
  url: string;
  port: number;
  /** returns the log of Passenger and the application */
  log(): string;
  /** returns the ids of the application's processes */
  processes(): number[];
  /** restarts like the panel's button */
  restart(): void;
  stop(): Promise<void>;
}

export interface HostingOptions {
  /** the site's folder, with its configuration.php */
  root: string;
  /** the unpacked zip */
  app: string;
  /** the variables of the panel's form */
  variables?: (url: string) => Record<string, string>;
  /** the program that runs app.js */
  node?: string;
  /** the minimum number of processes that Passenger keeps */
  processes?: number;
  /** the seconds after which Passenger ends an idle process */
  idle?: number;
  /** the panel's configuration: cPanel's Application Manager has a location, others the address's folder in the site */
  as?: 'location' | 'folder';
  /** for a site with https only */
  certificate?: Certificate;
}

/** Serves the site with PHP, and the application below `BASE`. */
export async function startHosting({
  root,
  app,
  variables = () => ({}),
  node = process.execPath,
  processes = 1,
  idle = 300,
  as = 'location',
  certificate,
}: HostingOptions): Promise<Hosting> {
  const folder = sharedFolder();
  const port = await freePort();
  const url = `${certificate ? 'https' : 'http'}://127.0.0.1:${port}`;
  const logs = join(folder, 'logs');
  const registry = join(folder, 'registry');
  for (const one of [logs, registry, join(app, 'tmp')]) mkdirSync(one, { recursive: true });
  const load =
    'mpm_event authz_core authz_host alias dir env mime proxy proxy_fcgi rewrite setenvif ssl passenger'
      .split(' ')
      .map((name) => `LoadModule ${name}_module ${MODULES}/mod_${name}.so`)
      .join('\n');
  if (as === 'folder') mkdirSync(join(root, BASE));
  const conf = join(folder, 'apache2.conf');
  const envs = Object.entries(variables(url)).map(([name, value]) => `SetEnv ${name} "${value}"`);
  writeFileSync(
    conf,
    `${load}
ServerRoot ${folder}
PidFile ${folder}/apache.pid
DefaultRuntimeDir ${folder}
Mutex file:${folder} default
TypesConfig /dev/null
User www-data
Group www-data
StartServers 1
ServerLimit 1
ThreadsPerChild 64
MaxRequestWorkers 64
Listen 127.0.0.1:${port}
ServerName shop.example
${certificate ? `SSLEngine on\nSSLCertificateFile ${certificate.cert}\nSSLCertificateKeyFile ${certificate.key}` : ''}
ErrorLog ${logs}/error.log
LogLevel warn
PassengerRoot ${LOCATIONS}
PassengerInstanceRegistryDir ${registry}
PassengerLogFile ${logs}/passenger.log
PassengerDefaultUser ${SELLER}
PassengerMinInstances ${processes}
PassengerMaxPoolSize 6
PassengerPoolIdleTime ${idle}
PassengerDisableSecurityUpdateCheck on
PassengerDisableAnonymousTelemetry on
DocumentRoot ${root}
<Directory ${root}>
  AllowOverride All
  Require all granted
  DirectoryIndex index.php
  <FilesMatch "\\.php$">
    SetHandler "proxy:unix:${folder}/php.sock|fcgi://localhost"
  </FilesMatch>
</Directory>
<Directory ${app}>
  AllowOverride None
  Require all granted
</Directory>
${as === 'location' ? `<Location ${BASE}>` : `<Directory ${join(root, BASE)}>`}
  PassengerEnabled on
  PassengerBaseURI ${BASE}
  PassengerAppRoot ${app}
  PassengerAppType node
  PassengerStartupFile app.js
  PassengerNodejs ${node}
  ${envs.join('\n  ')}
${as === 'location' ? '</Location>' : '</Directory>'}
`,
  );
  const stopPhp = await startPhp(folder);
  const child = startProcess('apache2', ['-f', conf, '-D', 'FOREGROUND'], {
    stdio: 'ignore',
    // Pass no variable of the tests to the application.
    env: { PATH: process.env.PATH },
  });
  const log = () =>
    readdirSync(logs)
      .map((name) => readFileSync(join(logs, name), 'latin1'))
      .join('');
  const stop = async () => {
    await endProcess(child);
    await stopPhp();
  };
  try {
    await eventually(async () => {
      if (hasEnded(child)) throw new Error(`Apache ended at its start.\n${log()}`);
      await connects({ port });
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    url,
    port,
    log,
    processes: () => processesOf(app),
    restart: () => writeFileSync(join(app, 'tmp/restart.txt'), `${Date.now()}`),
    stop,
  };
}

function processesOf(app: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        return readFileSync(`/proc/${name}/cmdline`, 'utf8').startsWith(
          `Passenger NodeApp: ${app}`.slice(0, 60),
        );
      } catch {
        return false;
      }
    })
    .map(Number);
}

export interface HostedShop {
  url: string;
  port: number;
  /** the seller's home */
  home: string;
  app: string;
  packagesDir: string;
  site: TestSite;
  hosting: Hosting;
  db: Db;
  license: TestLicense;
  /** runs the command like the seller's cron, without the panel's variables */
  licensing(args: string[]): Promise<Ended>;
  close(): Promise<void>;
}

/** Creates a site whose pages return the request, with our two lines in its .htaccess. */
export async function openSite(): Promise<TestSite> {
  const tested = await startTestSite();
  // Use the database's socket, as panels do, and let the seller reach it.
  const socket = process.env.TEST_MARIADB_SOCKET as string;
  chmodSync(dirname(socket), 0o755);
  const configure: TestSite['configure'] = (values) =>
    tested.configure({ host: `localhost:${socket}`, ...values });
  configure();
  const site = { ...tested, configure };
  chmodSync(site.root, 0o755);
  mkdirSync(join(site.root, 'api'));
  for (const name of ['index.php', 'api/index.php'])
    writeFileSync(
      join(site.root, name),
      "<?php header('Content-Type: application/json'); echo json_encode(['uri' => $_SERVER['REQUEST_URI']]);",
    );
  writeFileSync(join(site.root, '.htaccess'), htaccess(htaccessLines(BASE)));
  giveToSeller(site.root);
  return site;
}

/** Creates a shop with a product, a version and a licence of three slots, from the unpacked zip and two variables. */
export async function openHostedShop({
  variables = {},
  ...options
}: { variables?: Record<string, string> } & Pick<
  HostingOptions,
  'processes' | 'idle' | 'node' | 'as'
> = {}): Promise<HostedShop> {
  const home = sharedFolder();
  const site = await openSite();
  const app = unpackHosting(join(home, 'licensing'));
  const packagesDir = join(home, 'licensing-packages');
  giveToSeller(home);
  const hosting = await startHosting({
    ...options,
    root: site.root,
    app,
    variables: (url) => ({
      LICENSING_JOOMLA_ROOT: site.root,
      LICENSING_PUBLIC_URL: url,
      // The seller of the tests has no home.
      LICENSING_PACKAGES_DIR: packagesDir,
      ...variables,
    }),
  });
  const db = openDatabase(parseDatabaseUrl(site.url, home), SITE_PREFIX, 4);
  const close = async () => {
    await hosting.stop();
    await db.destroy();
    await site.stop();
  };
  try {
    await firstAnswer(hosting);
    const license = await giveLicense(db, await givePlan(db));
    await giveRelease({ db, packagesDir }, { version: '2.1.0' });
    giveToSeller(packagesDir);
    const licensing = (args: string[]) => runLicensing(app, args);
    return {
      url: hosting.url,
      port: hosting.port,
      home,
      app,
      packagesDir,
      site,
      hosting,
      db,
      license,
      licensing,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Waits for the first start. @throws Error with the answer and the log if the service does not run then */
export async function firstAnswer(hosting: Hosting): Promise<void> {
  const answer = await fetch(`${hosting.url}${PREFIX}/keys.json`);
  const text = await answer.text();
  if (answer.status !== 200)
    throw new Error(`The first answer is ${answer.status}: ${text}\n${hosting.log()}`);
}

/** Runs the command like a panel's cron: as the seller, without the form's variables. */
export async function runLicensing(app: string, args: string[]): Promise<Ended> {
  const { PATH } = process.env;
  const command = [process.execPath, join(app, 'dist/src/cli.js'), ...args];
  const [program, ...rest] = userInfo().uid === 0 ? ['runuser', '-u', SELLER, '--', ...command] : command;
  return startProgram(program!, rest, { PATH, HOME: app }).ended;
}
