import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeCertificate } from './certificates';
import { startPhp } from './php-fpm';
import {
  connects,
  endProcess,
  eventually,
  freePort,
  hasEnded,
  sharedFolder,
  startProcess,
} from './processes';

/** A private nginx with the real files of nginx/, and a private PHP-FPM whose only page is the site. */

const FILES = join(__dirname, '../../nginx');
const NGINX = ['/usr/sbin/nginx', '/usr/local/sbin/nginx'].find((path) => existsSync(path)) ?? 'nginx';

/** The values an operator changes in the files of nginx/. */
const PLACEHOLDERS = {
  packagesDir: '/var/lib/licensing/packages/',
  logs: '/var/log/nginx/',
  includes: '/etc/nginx/licensing/',
  certificates: '/etc/letsencrypt/live/shop.example/',
  site: '/var/www/shop',
  php: '/run/php/php-fpm.sock',
};

export interface NginxOptions {
  /** where each instance listens: `127.0.0.1:3080` or `unix:/path` */
  upstream: string | string[];
  /** the folder the internal location serves */
  packagesDir?: string;
  /** use the whole site.example.conf, over TLS; by default a small plain HTTP site that includes licensing.conf */
  example?: boolean;
  /** edits a file's text as an operator would */
  edit?: (text: string, file: string) => string;
}

export interface TestNginx {
  /** the site's address: `http://127.0.0.1:port`, or `https://127.0.0.1:port` with `example` */
  url: string;
  port: number;
  /** plain HTTP; equals `port` without `example` */
  httpPort: number;
  /** a log file's text; empty when there is no file */
  log(name: 'access.log' | 'error.log' | 'licensing.log'): string;
  /** everything nginx wrote to its logs and standard error */
  allLogs(): string;
  stop(): Promise<void>;
}

export async function startNginx(options: NginxOptions): Promise<TestNginx> {
  const folder = sharedFolder();
  const httpPort = await freePort();
  const port = options.example ? await freePort() : httpPort;
  const stopPhp = await startPhp(folder);
  const conf = writeConfiguration(folder, options, httpPort, port);
  const child = startProcess(NGINX, ['-p', folder, '-c', conf], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString('latin1')));
  const stop = async () => {
    await endProcess(child);
    await stopPhp();
  };
  try {
    await eventually(async () => {
      if (hasEnded(child)) throw new Error(`nginx ended at its start.\n${stderr}`);
      await connects({ port });
    });
  } catch (error) {
    await stop();
    throw error;
  }
  const logs = join(folder, 'logs');
  const log = (name: string) => {
    const path = join(logs, name);
    return existsSync(path) ? readFileSync(path, 'latin1') : '';
  };
  return {
    url: `${options.example ? 'https' : 'http'}://127.0.0.1:${port}`,
    port,
    httpPort,
    log,
    allLogs: () => readdirSync(logs).map(log).join('') + stderr,
    stop,
  };
}

/** Runs `nginx -t` on the files in their contexts. */
export function checkNginx(options: NginxOptions): { ok: boolean; output: string } {
  const folder = sharedFolder();
  const conf = writeConfiguration(folder, options, 8080, 8443);
  const { status, stderr } = spawnSync(NGINX, ['-t', '-p', folder, '-c', conf], {
    encoding: 'utf8',
  });
  return { ok: status === 0, output: stderr };
}

/** The site's PHP page returns the request it received. */
const PAGE = `<?php
header('Content-Type: application/json');
echo json_encode(['php' => basename(__FILE__), 'uri' => $_SERVER['REQUEST_URI'], 'path_info' => $_SERVER['PATH_INFO'] ?? '']);
`;

function writeConfiguration(folder: string, options: NginxOptions, httpPort: number, port: number): string {
  const { upstream, packagesDir, example = false, edit = (text: string) => text } = options;
  const site = join(folder, 'site');
  for (const name of [
    site,
    join(site, 'api'),
    join(folder, 'logs'),
    join(folder, 'temp'),
    join(folder, 'tls'),
  ])
    mkdirSync(name, { recursive: true });
  for (const name of ['index.php', 'api/index.php']) writeFileSync(join(site, name), PAGE);
  if (example) makeCertificate(join(folder, 'tls'));

  const values: Record<keyof typeof PLACEHOLDERS, string> = {
    packagesDir: `${(packagesDir ?? join(folder, 'packages')).replace(/\/$/, '')}/`,
    logs: `${folder}/logs/`,
    includes: `${folder}/`,
    certificates: `${folder}/tls/`,
    site,
    php: `${folder}/php.sock`,
  };
  for (const file of ['upstream.conf', 'licensing.conf', 'site.example.conf']) {
    let text = edit(readFileSync(join(FILES, file), 'utf8'), file).replace(
      /^ {4}server unix:.*\n/m,
      [upstream]
        .flat()
        .map((server) => `    server ${server} max_fails=0;\n`)
        .join(''),
    );
    for (const [name, placeholder] of Object.entries(PLACEHOLDERS))
      text = text.replaceAll(placeholder, values[name as keyof typeof PLACEHOLDERS]);
    text = text
      .replace(/^ *listen \[::\].*\n/gm, '')
      .replace(/^( *)listen 80;/m, `$1listen 127.0.0.1:${httpPort};`)
      .replace(/^( *)listen 443 /m, `$1listen 127.0.0.1:${port} `);
    if (/^ *listen (?!127\.0\.0\.1:)/m.test(text)) throw new Error(`${file} would listen beyond loopback.`);
    writeFileSync(join(folder, file), text);
  }
  const temporary = ['client_body', 'proxy', 'fastcgi', 'scgi', 'uwsgi']
    .map((name) => `${name}_temp_path ${folder}/temp/${name};`)
    .join('\n  ');
  const conf = join(folder, 'nginx.conf');
  writeFileSync(
    conf,
    `daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log ${folder}/logs/error.log;
events { worker_connections 4096; }
http {
  ${temporary}
  types { text/html html; application/zip zip; }
  default_type application/octet-stream;
  access_log ${folder}/logs/access.log;
  # what a distribution's nginx.conf may say, and these files must stand
  gzip on;
  gzip_types *;
  proxy_intercept_errors on;
  ${example ? `include ${folder}/site.example.conf;` : plainSite(folder, httpPort)}
}
`,
  );
  return conf;
}

function plainSite(folder: string, port: number): string {
  return `include ${folder}/upstream.conf;
  server {
    listen 127.0.0.1:${port};
    server_name shop.example;
    root ${folder}/site;
    index index.php;
    error_page 404 /404.html;
    location / { try_files $uri $uri/ /index.php?$args; }
    location ~ \\.php(/|$) {
      fastcgi_split_path_info ^(.+?\\.php)(/.*)?$;
      include /etc/nginx/fastcgi_params;
      fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
      fastcgi_param PATH_INFO $fastcgi_path_info;
      fastcgi_pass unix:${folder}/php.sock;
    }
    location ~ \\.zip$ { return 410; }
    include ${folder}/licensing.conf;
  }`;
}
