import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { eventually } from './processes';

/** A Debian with its own systemd, booted by systemd-nspawn, with MariaDB, nginx and Apache from its packages. */

const ROOT = join(__dirname, '../..');
/** The folder that is created once, and copied for each machine. */
const BASE = process.env.TEST_SETUP_BASE ?? join(tmpdir(), 'licensing-setup-base');
const PACKAGES = 'mariadb-server nginx-light apache2 openssl ca-certificates adduser sudo'.split(' ');

export interface Ended {
  code: number;
  /** standard output and standard error together */
  text: string;
  stdout: string;
  ms: number;
}

export interface Machine {
  folder: string;
  /** runs a shell's line inside as root */
  sh(line: string): Promise<Ended>;
  /** runs a line; throws with its output unless it ends with 0 */
  well(line: string): Promise<string>;
  /** returns a file's text */
  read(path: string): string;
  write(path: string, text: string): void;
  /** copies a file or folder of this machine into it */
  put(from: string, to: string): void;
  stop(): Promise<void>;
}

function makeBase(): void {
  if (existsSync(join(BASE, 'etc/debian_version'))) return;
  const making = `${BASE}.making`;
  rmSync(making, { recursive: true, force: true });
  const run = (program: string, args: string[]) =>
    execFileSync(program, args, {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    });
  run('debootstrap', ['--variant=minbase', '--include=systemd,systemd-sysv,adduser', 'bookworm', making]);
  writeFileSync(join(making, 'usr/sbin/policy-rc.d'), '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  cpSync('/etc/resolv.conf', join(making, 'etc/resolv.conf'));
  run('chroot', [making, 'apt-get', 'install', '-y', '--no-install-recommends', ...PACKAGES]);
  run('chroot', [making, 'apt-get', 'clean']);
  rmSync(join(making, 'usr/sbin/policy-rc.d'));
  renameSync(making, BASE);
}

export async function bootMachine(name: string): Promise<Machine> {
  makeBase();
  const folder = join(tmpdir(), `licensing-machine-${process.pid}-${name}`);
  rmSync(folder, { recursive: true, force: true });
  execFileSync('cp', ['-a', '--reflink=auto', BASE, folder]);
  writeFileSync(join(folder, 'etc/hosts'), '127.0.0.1 localhost vm shop.example\n');
  writeFileSync(join(folder, 'etc/hostname'), 'vm\n');
  mkdirSync('/run/systemd/nspawn/propagate', { recursive: true });
  const nspawn = spawn(
    'systemd-nspawn',
    ['--quiet', '--register=no', '--keep-unit', '--private-network', '--console=pipe', '-D', folder, '-b'],
    { stdio: ['ignore', 'ignore', 'ignore'] },
  );
  const machine = enter(folder, nspawn);
  await eventually(async () => {
    const { text } = await machine.sh('systemctl is-system-running');
    if (!/running|degraded/.test(text)) throw new Error(`It does not boot: ${text}`);
  }, 60_000);
  return machine;
}

function enter(folder: string, nspawn: ChildProcess): Machine {
  const leader = () => {
    const children = readFileSync(`/proc/${nspawn.pid}/task/${nspawn.pid}/children`, 'utf8').trim();
    if (children === '') throw new Error('It has not started yet.');
    return children.split(' ')[0]!;
  };
  const sh: Machine['sh'] = (line) =>
    new Promise((resolve, reject) => {
      const begun = performance.now();
      const args = [
        '-t',
        leader(),
        '-a',
        '--',
        'env',
        '-i',
        'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
        'HOME=/root',
        'sh',
        '-c',
        line,
      ];
      execFile('nsenter', args, { maxBuffer: 1e8 }, (error, stdout, stderr) => {
        const code = error === null ? 0 : error.code;
        if (typeof code !== 'number') reject(error ?? new Error('It ended by a signal.'));
        else resolve({ code, stdout, text: stdout + stderr, ms: performance.now() - begun });
      });
    });
  return {
    folder,
    sh,
    well: async (line) => {
      const { code, text } = await sh(line);
      if (code !== 0) throw new Error(`${line}\n${text}`);
      return text;
    },
    read: (path) => readFileSync(join(folder, path), 'utf8'),
    write: (path, text) => {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    },
    put: (from, to) => execFileSync('cp', ['-a', from, join(folder, to)]),
    stop: async () => {
      await sh('systemctl poweroff').catch(() => undefined);
      await new Promise<void>((resolve) => {
        const late = setTimeout(() => nspawn.kill('SIGKILL'), 20_000);
        if (nspawn.exitCode !== null) resolve();
        nspawn.once('exit', () => {
          clearTimeout(late);
          resolve();
        });
      });
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Creates a Joomla site's configuration, database and web server, with https by its own authority. */
export async function giveSite(machine: Machine, root = '/var/www/shop'): Promise<void> {
  machine.write(
    '/etc/ssl/shop/make',
    `cd /etc/ssl/shop
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=ca -keyout ca.key -out ca.pem
openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=shop.example -keyout key.pem -out request.pem
printf 'subjectAltName=DNS:shop.example\\n' > names
openssl x509 -req -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 -extfile names -out cert.pem
`,
  );
  await machine.well('sh /etc/ssl/shop/make');
  machine.write(`${root}/page`, 'the site\n');
  machine.write(
    `${root}/configuration.php`,
    `<?php
class JConfig {
\tpublic $dbtype = 'mysqli';
\tpublic $host = 'localhost';
\tpublic $user = 'joomla';
\tpublic $password = 'it\\'s "a" p@ss#word';
\tpublic $db = 'shop';
\tpublic $dbprefix = 'jos_';
\tpublic $sitename = 'Shop';
\tpublic $secret = 'abc';
}
`,
  );
  machine.write('/etc/nginx/sites-available/shop', nginxSite(root));
  machine.write(
    '/root/site.sql',
    `CREATE DATABASE shop;
CREATE USER joomla@localhost IDENTIFIED BY 'it''s "a" p@ss#word';
GRANT ALL ON shop.* TO joomla@localhost;
CREATE TABLE shop.jos_users (id INT PRIMARY KEY, name VARCHAR(100));
INSERT INTO shop.jos_users VALUES (1, 'Super User');
`,
  );
  await machine.well(
    `ln -s ../sites-available/shop /etc/nginx/sites-enabled/shop && rm -f /etc/nginx/sites-enabled/default
groupadd web && chown -R root:web ${root} && chmod 640 ${root}/configuration.php
systemctl disable --now --quiet apache2; systemctl restart mariadb nginx && mariadb < /root/site.sql`,
  );
}

function nginxSite(root: string): string {
  return `server {
    listen 80;
    listen [::]:80;
    server_name shop.example;
    return 301 https://shop.example$request_uri;
}
server {
    listen 443 ssl http2;
    listen [::]:443 ssl http2;
    server_name shop.example;
    ssl_certificate /etc/ssl/shop/cert.pem;
    ssl_certificate_key /etc/ssl/shop/key.pem;
    root ${root};
    location / { try_files $uri =404; }
}
`;
}

/** Returns the production dependencies in the lock file. */
function productionPackages(): string[] {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; optional?: boolean }>;
  };
  return Object.entries(packages)
    .filter(([path, { dev }]) => path !== '' && !dev && existsSync(join(ROOT, path)))
    .map(([path]) => path);
}

/**
 * Creates a release's tree from the build, with Node. @param isNext true for one more migration and another nginx file
 */
export function makeTree(to: string, version: string, isNext = false): string {
  rmSync(to, { recursive: true, force: true });
  mkdirSync(join(to, 'bin'), { recursive: true });
  for (const name of ['dist', 'nginx', 'deploy', 'mails', 'php', 'docs'])
    cpSync(join(ROOT, name), join(to, name), { recursive: true });
  for (const path of productionPackages()) {
    mkdirSync(dirname(join(to, path)), { recursive: true });
    cpSync(join(ROOT, path), join(to, path), { recursive: true, verbatimSymlinks: true });
  }
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as object;
  writeFileSync(join(to, 'package.json'), JSON.stringify({ ...manifest, version }));
  cpSync(process.execPath, join(to, 'node'));
  for (const [name, file] of [
    ['licensing', 'cli'],
    ['licensing-service', 'main'],
  ])
    writeFileSync(
      join(to, 'bin', name!),
      `#!/bin/sh\nself=$(readlink -f "$0")\nroot=\${self%/bin/*}\nexec "\${LICENSING_NODE:-$root/node}" "$root/dist/src/${file}.js" "$@"\n`,
      { mode: 0o755 },
    );
  if (isNext) {
    const index = join(to, 'dist/migrations/index.js');
    const more = readFileSync(join(__dirname, 'preload-next-version.cjs'), 'utf8')
      .replace(/require\('[./]*dist\/migrations'\)/, 'exports')
      .replaceAll('../../dist/migrations/', './');
    writeFileSync(index, `${readFileSync(index, 'utf8')}\n;(() => {\n${more}\n})();\n`);
    const nginx = join(to, 'nginx/licensing.conf');
    writeFileSync(nginx, `# the next version\n${readFileSync(nginx, 'utf8')}`);
  }
  return to;
}

/** Packs a release like `npm run release`. */
export function makeArchive(folder: string, version: string, isNext = false): string {
  const top = `licensing-gateway-${version}-linux-x64`;
  makeTree(join(folder, top), version, isNext);
  const file = join(folder, `${top}.tar.gz`);
  execFileSync('tar', [
    '--create',
    '--gzip',
    '--owner=0',
    '--group=0',
    '--directory',
    folder,
    '--file',
    file,
    top,
  ]);
  return file;
}

/** Lists all files below folders with modes and sizes, which a dry run must not change. */
export function listing(machine: Machine, ...folders: string[]): string[] {
  return folders.flatMap((folder) =>
    (readdirSync(join(machine.folder, folder), { recursive: true }) as string[])
      .map((name) => join(folder, name))
      .sort(),
  );
}
