import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeCertificate } from './certificates';
import { freePort, sharedFolder } from './processes';
import { checkConfiguration, startWebServer, type TestWebServer } from './web-server-process';

/** A private Apache with the configuration in deploy/apache, and a private PHP-FPM that serves the site. */

const ROOT = join(__dirname, '../..');
const FILES = ['licensing.conf', 'site.example.conf', 'pages.example.conf'];
const APACHE = ['/usr/sbin/apache2', '/usr/local/sbin/apache2'].find((path) => existsSync(path)) ?? 'apache2';
const MODULES = '/usr/lib/apache2/modules';

/** Debian's default modules. The guide names the others. */
const DEFAULT_MODULES = 'mpm_event authz_core authz_host alias deflate dir env filter mime setenvif'.split(
  ' ',
);
/** Modules for unfavourable parts of the server's own configuration, and for those that the guide comments out. */
const TEST_MODULES = ['brotli', 'expires', 'remoteip'];

export interface ApacheOptions {
  /** the address of each instance: `127.0.0.1:3080` or `unix:/path` */
  upstream: string | string[];
  /** the folder of the update XML files */
  xmlDir?: string;
  /** true to serve the pages on their own host name, pages.shop.example */
  pagesHost?: boolean;
  /** edits a file's text like an operator */
  edit?: (text: string, file: string) => string;
}

export async function startApache(options: ApacheOptions): Promise<TestWebServer> {
  const folder = sharedFolder();
  const [port, httpPort] = [await freePort(), await freePort()];
  const conf = writeConfiguration(folder, options, httpPort, port);
  const url = `https://127.0.0.1:${port}`;
  return startWebServer([APACHE, '-f', conf, '-D', 'FOREGROUND'], folder, { url, port, httpPort });
}

/** Runs `apache2 -t` on the shipped configuration. */
export function checkApache(options: ApacheOptions): { ok: boolean; output: string } {
  const conf = writeConfiguration(sharedFolder(), options, 8080, 8443);
  return checkConfiguration([APACHE, '-t', '-f', conf]);
}

/** The site's PHP page, which returns the request that it received. */
const PAGE = `<?php
if (isset($_GET['complain'])) error_log('the site complains');
header('Content-Type: application/json');
echo json_encode(['php' => substr(__FILE__, strlen($_SERVER['DOCUMENT_ROOT'])), 'uri' => $_SERVER['REQUEST_URI']]);
`;

/** The rules of Joomla's htaccess.txt: requests without a file go to the two entry points. */
const HTACCESS = `
RewriteEngine On
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

function writeConfiguration(folder: string, options: ApacheOptions, httpPort: number, port: number): string {
  const { upstream, xmlDir = join(folder, 'xml'), edit = (text: string) => text } = options;
  const site = join(folder, 'site');
  const tls = join(folder, 'tls');
  for (const name of [site, join(site, 'api'), join(folder, 'logs'), tls])
    mkdirSync(name, { recursive: true });
  for (const name of ['index.php', 'api/index.php']) writeFileSync(join(site, name), PAGE);
  writeFileSync(join(site, '.htaccess'), HTACCESS);
  makeCertificate(tls);

  for (const file of FILES) {
    const shipped = readFileSync(join(ROOT, 'deploy/apache', file), 'utf8');
    const text = replaceEach(edit(listensAt(shipped, [upstream].flat()), file), {
      '/etc/apache2/licensing.conf': `${folder}/licensing.conf`,
      '/etc/letsencrypt/live/shop.example': tls,
      '/etc/letsencrypt/live/pages.shop.example': tls,
      '/var/lib/licensing/xml': xmlDir,
      '/var/www/shop': site,
      '/run/php/php-fpm.sock': `${folder}/php.sock`,
      '<VirtualHost *:443>': `<VirtualHost 127.0.0.1:${port}>`,
      '<VirtualHost *:80>': `<VirtualHost 127.0.0.1:${httpPort}>`,
    });
    writeFileSync(join(folder, file), text);
  }
  const conf = join(folder, 'apache2.conf');
  const load = [...new Set([...DEFAULT_MODULES, ...documentedModules(), ...TEST_MODULES])]
    .map((name) => `LoadModule ${name}_module ${MODULES}/mod_${name}.so`)
    .join('\n');
  writeFileSync(
    conf,
    `${load}
ServerRoot ${folder}
PidFile ${folder}/apache.pid
DefaultRuntimeDir ${folder}
Mutex file:${folder} default
TypesConfig /dev/null
# ignored unless started as root
User www-data
Group www-data
# one process, or each would have connections of its own to the service
StartServers 1
ServerLimit 1
ThreadsPerChild 32
MaxRequestWorkers 32
Listen 127.0.0.1:${port}
Listen 127.0.0.1:${httpPort}
ServerName shop.example
Define APACHE_LOG_DIR ${folder}/logs
ErrorLog ${folder}/logs/error.log
LogLevel warn
LogFormat "%h %l %u %t \\"%r\\" %>s %O \\"%{Referer}i\\" \\"%{User-Agent}i\\"" combined
# what a server may have set for its sites, and the shipped configuration must stand
SetOutputFilter BROTLI_COMPRESS;DEFLATE
ExpiresActive On
ExpiresDefault "access plus 1 month"
AddDefaultCharset iso-8859-1
ProxyErrorOverride On
ErrorDocument 404 /index.php
ErrorDocument 503 /index.php
Include ${folder}/site.example.conf
${options.pagesHost ? `Include ${folder}/pages.example.conf` : ''}
`,
  );
  return conf;
}

/** Returns the modules that the guide tells operators to enable. */
function documentedModules(): string[] {
  const guide = readFileSync(join(ROOT, 'docs/apache.md'), 'utf8');
  return [...guide.matchAll(/a2enmod ([a-z0-9_ ]+)/g)].flatMap(([, names]) => names!.trim().split(' '));
}

/** Repeats the first shipped line of each balancer for each instance. */
function listensAt(text: string, upstreams: string[]): string {
  return text.replace(/^( *BalancerMember ")unix:[^"]+(".*\n)/gm, (_line, before: string, after: string) =>
    upstreams
      .map((upstream, i) =>
        upstream.startsWith('unix:')
          ? `${before}${upstream}|http://licensing-${i + 1}${after}`
          : `${before}http://${upstream}${after}`,
      )
      .join(''),
  );
}

function replaceEach(text: string, values: Record<string, string>): string {
  return Object.entries(values).reduce((all, [from, to]) => all.replaceAll(from, to), text);
}
