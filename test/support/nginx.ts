import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeCertificate } from './certificates';
import { freePort, sharedFolder } from './processes';
import { checkConfiguration, startWebServer, type TestWebServer } from './web-server-process';

/** A private nginx with the real files of nginx/, and a private PHP-FPM whose only page is the site. */

const FILES = join(__dirname, '../../nginx');
const NGINX = ['/usr/sbin/nginx', '/usr/local/sbin/nginx'].find((path) => existsSync(path)) ?? 'nginx';

/** The values that an operator changes in the files of nginx/. */
const PLACEHOLDERS = {
  packagesDir: '/var/lib/licensing/packages/',
  xmlDir: '/var/lib/licensing/xml;',
  logs: '/var/log/nginx/',
  includes: '/etc/nginx/licensing/',
  certificates: '/etc/letsencrypt/live/shop.example/',
  pagesCertificates: '/etc/letsencrypt/live/pages.shop.example/',
  site: '/var/www/shop',
  php: '/run/php/php-fpm.sock',
};

export interface NginxOptions {
  /** the address of each instance: `127.0.0.1:3080` or `unix:/path` */
  upstream: string | string[];
  /** the folder that the internal location serves */
  packagesDir?: string;
  /** the folder of the update XML files */
  xmlDir?: string;
  /** true for the whole site.example.conf over TLS; by default a small plain HTTP site that includes licensing.conf */
  example?: boolean;
  /** true to serve the pages on their own host name, pages.shop.example; needs the whole site */
  pagesHost?: boolean;
  /** edits a file's text like an operator */
  edit?: (text: string, file: string) => string;
}

export async function startNginx(options: NginxOptions): Promise<TestWebServer> {
  const folder = sharedFolder();
  const httpPort = await freePort();
  const port = options.example ? await freePort() : httpPort;
  const conf = writeConfiguration(folder, options, httpPort, port);
  const url = `${options.example ? 'https' : 'http'}://127.0.0.1:${port}`;
  return startWebServer([NGINX, '-p', folder, '-c', conf], folder, { url, port, httpPort });
}

/** Returns the upstream of deploy/cluster/nginx.conf, with these addresses instead of its hosts, in their order. */
export function ofCluster(addresses: string[]): NonNullable<NginxOptions['edit']> {
  const upstream = addresses.reduce(
    (text, address, i) => text.replace(`10.0.0.1${i + 1}:3080`, address),
    readFileSync(join(__dirname, '../../deploy/cluster/nginx.conf'), 'utf8'),
  );
  return (text, file) =>
    file === 'upstream.conf' ? text.replace(/^upstream licensing \{[^]*?^\}/m, upstream) : text;
}

/** Runs `nginx -t` on the files in their contexts. */
export function checkNginx(options: NginxOptions): { ok: boolean; output: string } {
  const folder = sharedFolder();
  const conf = writeConfiguration(folder, options, 8080, 8443);
  return checkConfiguration([NGINX, '-t', '-p', folder, '-c', conf]);
}

/** The site's PHP page, which returns the request that it received. */
const PAGE = `<?php
header('Content-Type: application/json');
echo json_encode(['php' => basename(__FILE__), 'uri' => $_SERVER['REQUEST_URI'], 'path_info' => $_SERVER['PATH_INFO'] ?? '']);
`;

function writeConfiguration(folder: string, options: NginxOptions, httpPort: number, port: number): string {
  const { upstream, packagesDir, xmlDir, example = false, edit = (text: string) => text } = options;
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
    xmlDir: `${xmlDir ?? join(folder, 'xml')};`,
    logs: `${folder}/logs/`,
    includes: `${folder}/`,
    certificates: `${folder}/tls/`,
    pagesCertificates: `${folder}/tls/`,
    site,
    php: `${folder}/php.sock`,
  };
  for (const file of ['upstream.conf', 'licensing.conf', 'site.example.conf', 'pages.example.conf']) {
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
  ${options.pagesHost ? `include ${folder}/pages.example.conf;` : ''}
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
