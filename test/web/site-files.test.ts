import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { apacheFile } from '../../src/cli/apache-file';
import { readConfig } from '../../src/settings/config';
import { connectApache } from '../../src/setup/apache-site';
import { connectNginx } from '../../src/setup/nginx-site';
import { serverSiteOf, type SiteEdits } from '../../src/setup/site';
import { connectSite, disconnectSite } from '../../src/setup/web-server';
import { runOrThrow } from '../../src/setup/machine';
import { makeCertificate } from '../support/certificates';
import { operator } from '../support/operator';
import {
  connects,
  endProcess,
  eventually,
  freePort,
  hasEnded,
  sharedFolder,
  startProcess,
} from '../support/processes';
import { PREFIX } from '../support/service';
import { openMigrated, startServiceProcess, type ServiceProcess } from '../support/service-process';
import { ask } from '../support/web-server';

/** The lines that setup adds to the site's own files, read by real web servers that are configured like sellers' sites. */

interface Kind {
  name: string;
  /** The files by their path in the web server's folder. `->` begins the target of a link. */
  files: (at: At) => Record<string, string>;
  /** The site's address, by default https://shop.example. */
  url?: (at: At) => string;
  /** The files that get lines. */
  changed: string[];
  made?: string[];
  /** Addresses at which the service answers, with the host to ask. */
  leads?: (at: At) => [base: string, path: string][];
  /** Addresses of other sites, which must not change. */
  stays?: (at: At) => [base: string, host: string][];
}

interface At {
  folder: string;
  tls: number;
  plain: number;
  certificate: string;
}

const HOST = 'shop.example';
const KEYS = `${PREFIX}/keys.json`;
const secure = ({ tls }: At) => `https://127.0.0.1:${tls}`;
const open = ({ plain }: At) => `http://127.0.0.1:${plain}`;

let service: ServiceProcess;
beforeAll(async () => {
  const settings = { LICENSING_DATABASE_URL: `sqlite:${join(sharedFolder(), 'data.sqlite')}` };
  await (await openMigrated(settings)).destroy();
  service = await startServiceProcess(settings);
});
afterAll(() => service.stop());

async function place(kind: Kind): Promise<At> {
  const folder = sharedFolder();
  const certificate = join(folder, 'tls');
  for (const name of ['tls', 'logs', 'temp', 'conf.d', 'sites-enabled', 'site'])
    mkdirSync(join(folder, name));
  makeCertificate(certificate);
  const at = { folder, certificate, tls: await freePort(), plain: await freePort() };
  for (const [name, text] of Object.entries(kind.files(at))) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    if (text.startsWith('->')) symlinkSync(text.slice(2), path);
    else writeFileSync(path, text);
  }
  return at;
}

const urlOf = (kind: Kind, at: At) => new URL(kind.url?.(at) ?? `https://${HOST}:${at.tls}`);

function contents({ folder }: At, kind: Kind, at: At): Record<string, string> {
  return Object.fromEntries(
    Object.keys(kind.files(at)).map((name) => [name, readFileSync(join(folder, name), 'utf8')]),
  );
}

/** Connects the site, asks it, checks that nothing is left to do, and undoes the changes. */
async function tryKind(
  kind: Kind,
  at: At,
  check: string[],
  start: string[],
  plan: () => Promise<SiteEdits> | SiteEdits,
): Promise<void> {
  const before = contents(at, kind, at);
  const edits = await plan();
  expect([...new Set(edits.insertions.map(({ path }) => path))].sort()).toEqual(
    kind.changed.map((name) => join(at.folder, name)).sort(),
  );
  expect(edits.files.map(({ path }) => path)).toEqual((kind.made ?? []).map((name) => join(at.folder, name)));
  const done = await connectSite(edits, check, join(at.folder, 'copies'));
  for (const { path, copy } of done.inserted)
    expect(readFileSync(copy, 'utf8')).toBe(before[path.slice(at.folder.length + 1)]);
  expect(await plan()).toEqual({ insertions: [], files: [], byHand: [] });

  const [program = '', ...args] = start;
  const child = startProcess(program, args, { stdio: 'inherit' });
  try {
    await eventually(async () => {
      if (hasEnded(child)) throw new Error('The web server ended at its start.');
      await connects({ port: at.plain });
    });
    for (const [base, path] of kind.leads?.(at) ?? [[secure(at), KEYS]]) {
      const answer = await ask(base, path, { headers: { Host: HOST } });
      expect({ base, path, status: answer.status, body: answer.body.toString() }).toEqual({
        base,
        path,
        status: 200,
        body: '{"keys":[]}',
      });
    }
    for (const [base, host] of [[secure(at), HOST], ...(kind.stays?.(at) ?? [])]) {
      const path = host === HOST ? '/page' : KEYS;
      expect((await ask(base!, path, { headers: { Host: host } })).body.toString().trim()).toBe(
        `this is ${host}`,
      );
    }
  } finally {
    await endProcess(child);
  }

  expect(await disconnectSite(done)).toEqual([]);
  expect(contents(at, kind, at)).toEqual(before);
  for (const { path } of done.files) expect(existsSync(path)).toBe(false);
}

const PLESK =
  '#ATTENTION!\n#\n#DO NOT MODIFY THIS FILE BECAUSE IT WAS GENERATED AUTOMATICALLY,\n#SO ALL YOUR CHANGES WILL BE LOST THE NEXT TIME THE FILE IS GENERATED.\n\n';

describe('nginx', () => {
  const NGINX = existsSync('/usr/sbin/nginx') ? '/usr/sbin/nginx' : 'nginx';
  const tlsServer = (at: At, host: string, more = '') => `server {
    listen 127.0.0.1:${at.tls} ssl;
    server_name ${host};
    ssl_certificate ${at.certificate}/fullchain.pem;
    ssl_certificate_key ${at.certificate}/privkey.pem;${more}
    location / { return 200 "this is ${host.split(' ')[0]}"; }
}
`;
  const redirect = (at: At, host: string) => `server {
    listen 127.0.0.1:${at.plain};
    server_name ${host};
    return 301 https://$host$request_uri;
}
`;

  const KINDS: Kind[] = [
    {
      name: 'several servers in a file, with quotes, comments and braces in odd places',
      files: (at) => ({
        'sites-enabled/all.conf': `# server { server_name shop.example; }
map $uri $odd { "~^/a{2}\\}" 1; default "}{'"; }
server { listen 127.0.0.1:${at.plain}; server_name other.example; location / { return 200 "this is other.example"; } }
${tlsServer(at, 'other.example')}${tlsServer(at, 'www.shop.example shop.example', ' # the shop {\n    set $x "${odd}{";').replace('this is www.shop.example', 'this is $host')}${tlsServer(at, '*.example')}`,
      }),
      changed: ['sites-enabled/all.conf'],
      stays: (at) => [
        [secure(at), 'other.example'],
        [open(at), 'other.example'],
      ],
    },
    {
      name: 'a link in sites-enabled, whose server has its name and its certificate in other files',
      files: (at) => ({
        'sites-available/shop': `server {\n\tinclude snippets/*.part;\n\tlocation / { return 200 "this is shop.example"; }\n}\n`,
        'snippets/name.part': `server_name shop.example;\nlisten 127.0.0.1:${at.tls} ssl;\nlisten 127.0.0.1:${at.plain};\n`,
        'snippets/tls.part': `ssl_certificate ${at.certificate}/fullchain.pem;\nssl_certificate_key ${at.certificate}/privkey.pem;\n`,
        'sites-enabled/shop': '->../sites-available/shop',
      }),
      changed: ['sites-available/shop'],
      leads: (at) => [
        [secure(at), KEYS],
        [open(at), KEYS],
      ],
    },
    {
      name: 'a Joomla in a sub-folder',
      files: (at) => ({ 'sites-enabled/shop': tlsServer(at, HOST) + redirect(at, HOST) }),
      url: (at) => `https://${HOST}:${at.tls}/joomla`,
      changed: ['sites-enabled/shop'],
      leads: (at) => [[secure(at), `/joomla${KEYS}`]],
    },
    {
      name: 'IPv6 in a server of its own',
      files: (at) => ({
        'sites-enabled/shop':
          tlsServer(at, HOST) + redirect(at, HOST) + tlsServer(at, HOST).replace('127.0.0.1:', '[::1]:'),
      }),
      changed: ['sites-enabled/shop'],
      leads: (at) => [
        [secure(at), KEYS],
        [`https://[::1]:${at.tls}`, KEYS],
      ],
    },
    {
      name: 'a redirect to https before the site, and IPv6 in the same server',
      files: (at) => ({
        'sites-enabled/shop': redirect(at, HOST) + tlsServer(at, HOST, `\n    listen [::1]:${at.tls} ssl;`),
      }),
      changed: ['sites-enabled/shop'],
      leads: (at) => [[`https://[::1]:${at.tls}`, KEYS]],
    },
    {
      name: 'a file that a panel writes, which includes one of your own',
      files: (at) => ({
        'conf.d/zz_panel.conf': 'include panel/vhosts/*.conf;\n',
        'panel/vhosts/shop.conf': '->../../system/shop.example/conf/nginx.conf',
        'panel/vhosts/other.conf': `${PLESK}${tlsServer(at, 'other.example', `\n    include "${at.folder}/shared.conf";`)}`,
        'shared.conf': '# for all\n',
        'system/shop.example/conf/nginx.conf': `${PLESK}${tlsServer(at, HOST, `\n    include "${at.folder}/shared.conf";\n    include "${at.folder}/system/shop.example/conf/vhost_nginx.conf";`)}${redirect(at, HOST)}`,
        'system/shop.example/conf/vhost_nginx.conf': 'client_max_body_size 64m;\n',
      }),
      changed: ['system/shop.example/conf/vhost_nginx.conf'],
      made: ['conf.d/00-licensing.conf'],
      stays: (at) => [[secure(at), 'other.example']],
    },
    {
      name: 'a file that a panel writes, which includes files by a pattern',
      files: (at) => ({
        'sites-enabled/shop': `#=== written anew with each change of the domain: DO NOT EDIT ===\n${tlsServer(at, HOST, `\n    include ${at.folder}/shop.example/nginx.ssl.conf_*;`)}${redirect(at, HOST)}`,
        'shop.example/nginx.forcessl.conf': '# not included\n',
      }),
      changed: [],
      made: ['shop.example/nginx.ssl.conf__licensing', 'conf.d/00-licensing.conf'],
    },
  ];

  function main({ folder }: At): string {
    const temporary = ['client_body', 'proxy', 'fastcgi', 'scgi', 'uwsgi'];
    const conf = join(folder, 'nginx.conf');
    writeFileSync(
      conf,
      `daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log ${folder}/logs/error.log;
events { worker_connections 512; }
http {
    ${temporary.map((name) => `${name}_temp_path ${folder}/temp/${name};`).join('\n    ')}
    access_log ${folder}/logs/access.log;
    include conf.d/*.conf;
    include sites-enabled/*;
}
`,
    );
    return conf;
  }

  async function prepare(
    kind: Kind,
  ): Promise<{ at: At; conf: string; check: string[]; plan: () => SiteEdits }> {
    const at = await place(kind);
    const conf = main(at);
    const files = join(at.folder, 'licensing');
    const env = {
      LICENSING_ENV_FILE: '/dev/null',
      LICENSING_DATABASE_URL: 'sqlite:/nowhere/a.sqlite',
      LICENSING_LISTEN: service.url.replace('http://', ''),
      LICENSING_PUBLIC_URL: urlOf(kind, at).href,
    };
    const written = await operator({}).run(['nginx', '--server-name', HOST, '--out', files], { env });
    expect(written).toMatchObject({ code: 0 });
    const own = join(files, 'licensing.conf');
    writeFileSync(own, readFileSync(own, 'utf8').replaceAll('/var/log/nginx/', `${at.folder}/logs/`));
    const check = [NGINX, '-t', '-q', '-e', `${at.folder}/logs/start.log`, '-p', at.folder, '-c', conf];
    return { at, conf, check, plan: () => connectNginx(conf, files, serverSiteOf(urlOf(kind, at))) };
  }

  test.each(KINDS)('$name', async (kind) => {
    const { at, conf, check, plan } = await prepare(kind);
    await tryKind(kind, at, check, [NGINX, '-p', at.folder, '-c', conf], plan);
  });

  const plain = (files: Kind['files'], url?: Kind['url']): Kind => ({
    name: '',
    files,
    changed: [],
    ...(url && { url }),
  });

  it.each<[string, Kind, RegExp]>([
    [
      'no server names the host',
      plain((at) => ({ 'sites-enabled/a': tlsServer(at, 'other.example') })),
      /no server \{\} for shop\.example.*they name other\.example.*"server_name shop\.example;"/s,
    ],
    [
      'the site has no TLS',
      plain((at) => ({ 'sites-enabled/a': redirect(at, HOST) })),
      /answers shop\.example only without TLS.*Give the site a certificate/s,
    ],
    [
      'the address has no TLS and the site has',
      plain(
        (at) => ({ 'sites-enabled/a': tlsServer(at, HOST) }),
        () => `http://${HOST}`,
      ),
      /only with TLS.*--url https:\/\/shop\.example/s,
    ],
  ])('refuses when %s', async (_name, kind, words) => {
    const { plan } = await prepare(kind);
    expect(plan).toThrow(words);
  });

  it('leaves the line to the seller when a tool writes the file and the file includes no other', async () => {
    const kind = plain((one) => ({
      'sites-enabled/a': `# Ansible managed: will be overwritten\n${tlsServer(one, HOST)}`,
    }));
    const { at, conf, check, plan } = await prepare(kind);
    const edits = plan();
    expect(edits).toEqual({
      insertions: [],
      files: [
        {
          path: `${at.folder}/conf.d/00-licensing.conf`,
          text: expect.stringContaining(`include ${at.folder}/licensing/upstream.conf;\n`),
        },
      ],
      byHand: [
        expect.stringMatching(/states that a tool generates it.*\n {2}include \S+\/licensing\.conf;$/s),
      ],
    });
    await connectSite(edits, check, join(at.folder, 'copies'));
    // The seller now adds the line by hand.
    const [, line] = /\n {2}(include .*)$/.exec(edits.byHand[0]!)!;
    const file = join(at.folder, 'sites-enabled/a');
    writeFileSync(file, readFileSync(file, 'utf8').replace('server {', `server {\n${line}`));
    expect(plan()).toEqual({ insertions: [], files: [], byHand: [] });
    mkdirSync(join(at.folder, 'xml/rollout/pkg_a'), { recursive: true });
    const own = join(at.folder, 'licensing/licensing.conf');
    const root = `root ${at.folder}/xml;`;
    writeFileSync(own, readFileSync(own, 'utf8').replace(/root \S*\/xml;/, root));
    writeFileSync(join(at.folder, 'xml/pkg_a.xml'), '<updates/>');
    const child = startProcess(NGINX, ['-p', at.folder, '-c', conf], { stdio: 'inherit' });
    try {
      await eventually(() => connects({ port: at.tls }));
      const headers = { Host: HOST };
      expect((await ask(secure(at), KEYS, { headers })).body.toString()).toBe('{"keys":[]}');
      const xml = await ask(secure(at), '/licensing-updates/pkg_a.xml', { headers });
      expect([xml.status, xml.body.toString()]).toEqual([200, '<updates/>']);
    } finally {
      await endProcess(child);
    }
  });

  it('restores the site when nginx refuses the lines, and changes nothing if nginx refused its files before', async () => {
    const kind = plain((at) => ({ 'sites-enabled/a': tlsServer(at, HOST) }));
    const { at, check, plan } = await prepare(kind);
    const before = contents(at, kind, at);
    writeFileSync(join(at.folder, 'licensing/licensing.conf'), 'nonsense on;\n');
    await expect(connectSite(plan(), check, join(at.folder, 'copies'))).rejects.toThrow(
      /the former file was restored.*unknown directive "nonsense"/s,
    );
    expect(contents(at, kind, at)).toEqual(before);
    writeFileSync(join(at.folder, 'conf.d/broken.conf'), 'nonsense on;\n');
    await expect(connectSite(plan(), check, join(at.folder, 'copies'))).rejects.toThrow(
      /the present files of the web server\. Nothing was changed/s,
    );
    expect(contents(at, kind, at)).toEqual(before);
  });

  it('removes only its own lines when the file has been changed since', async () => {
    const kind = plain((at) => ({ 'sites-enabled/a': tlsServer(at, HOST) + redirect(at, HOST) }));
    const { at, check, plan } = await prepare(kind);
    const done = await connectSite(plan(), check, join(at.folder, 'copies'));
    const file = join(at.folder, 'sites-enabled/a');
    writeFileSync(file, `# mine\n${readFileSync(file, 'utf8').replace('return 301', 'return 308')}`);
    expect(await disconnectSite(done)).toEqual([]);
    expect(readFileSync(file, 'utf8')).toBe(
      `# mine\n${kind.files(at)['sites-enabled/a']!.replace('return 301', 'return 308')}`,
    );
    expect(await disconnectSite(done)).toEqual([expect.stringContaining('was changed since')]);
    // nginx has been removed from the machine.
    const again = await connectSite(plan(), check, join(at.folder, 'copies'));
    expect(await disconnectSite({ ...again, test: ['/nowhere/nginx', '-t'] })).toEqual([]);
    expect(readFileSync(file, 'utf8')).not.toContain('licensing.conf');
  });
});

describe('Apache', () => {
  const APACHE = existsSync('/usr/sbin/apache2') ? '/usr/sbin/apache2' : 'apache2';
  const MODULES = '/usr/lib/apache2/modules';
  const NEEDED = 'mpm_event authz_core authz_host alias deflate dir env filter mime setenvif ssl'.split(' ');
  const DOCUMENTED = 'headers lbmethod_byrequests proxy proxy_balancer proxy_http rewrite slotmem_shm'.split(
    ' ',
  );

  const section = (
    { folder, certificate }: At,
    listen: string,
    host: string,
    more = '',
  ) => `<VirtualHost ${listen}>
    ServerName ${host}
    DocumentRoot ${folder}/${host}
    FallbackResource /index.html${more}
    SSLEngine on
    SSLCertificateFile ${certificate}/fullchain.pem
    SSLCertificateKeyFile ${certificate}/privkey.pem
</VirtualHost>
`;
  const tlsHost = (at: At, host: string, more = '') => section(at, `127.0.0.1:${at.tls}`, host, more);
  const redirect = (at: At, host: string) =>
    `<VirtualHost 127.0.0.1:${at.plain}>\n    ServerName ${host}\n    Redirect permanent / https://${host}/\n</VirtualHost>\n`;
  const pages = (host: string) => ({ [`${host}/index.html`]: `this is ${host}\n` });

  const KINDS: Kind[] = [
    {
      name: 'several hosts in a file, one of which is a comment',
      files: (at) => ({
        'sites-enabled/all.conf': `# <VirtualHost *:443>\n#   ServerName shop.example\n${tlsHost(at, 'other.example')}${redirect(at, HOST)}${tlsHost(at, 'main.example', '\n    ServerAlias www.shop.example \\\n      shop.example').replace(`${at.folder}/main.example`, `${at.folder}/shop.example`)}`,
        ...pages(HOST),
        ...pages('other.example'),
      }),
      changed: ['sites-enabled/all.conf'],
      stays: (at) => [[secure(at), 'other.example']],
    },
    {
      name: 'a link in sites-enabled, with rules of its own that would take the requests',
      files: (at) => ({
        'sites-available/shop.conf':
          tlsHost(at, HOST, '\n    RewriteEngine On\n    RewriteRule ^/api/ /index.html [L]') +
          redirect(at, HOST),
        'sites-enabled/shop.conf': '->../sites-available/shop.conf',
        ...pages(HOST),
      }),
      changed: ['sites-available/shop.conf'],
    },
    {
      name: 'a Joomla in a sub-folder',
      files: (at) => ({ 'sites-enabled/shop.conf': tlsHost(at, HOST) + redirect(at, HOST), ...pages(HOST) }),
      url: (at) => `https://${HOST}:${at.tls}/joomla`,
      changed: ['sites-enabled/shop.conf'],
      leads: (at) => [[secure(at), `/joomla${KEYS}`]],
    },
    {
      name: 'IPv6 in a host of its own',
      files: (at) => ({
        'sites-enabled/shop.conf':
          tlsHost(at, HOST) + redirect(at, HOST) + section(at, `[::1]:${at.tls}`, HOST),
        ...pages(HOST),
      }),
      changed: ['sites-enabled/shop.conf'],
      leads: (at) => [
        [secure(at), KEYS],
        [`https://[::1]:${at.tls}`, KEYS],
      ],
    },
    {
      name: 'a redirect to https before the site',
      files: (at) => ({ 'sites-enabled/shop.conf': redirect(at, HOST) + tlsHost(at, HOST), ...pages(HOST) }),
      changed: ['sites-enabled/shop.conf'],
    },
    {
      name: 'a file that a panel writes, which includes one of your own',
      files: (at) => ({
        'sites-enabled/other.conf':
          PLESK + tlsHost(at, 'other.example', `\n    Include ${at.folder}/shared.conf`),
        'sites-enabled/shop.conf':
          PLESK +
          tlsHost(
            at,
            HOST,
            `\n    Include ${at.folder}/shared.conf\n    Include "${at.folder}/system/vhost_ssl.conf"`,
          ) +
          redirect(at, HOST),
        'shared.conf': '# for all\n',
        'system/vhost_ssl.conf': 'RewriteEngine On\nRewriteRule ^/api/ /index.html [L]\n',
        ...pages(HOST),
        ...pages('other.example'),
      }),
      changed: ['system/vhost_ssl.conf'],
      stays: (at) => [[secure(at), 'other.example']],
    },
  ];

  function main({ folder, tls, plain }: At): string {
    const conf = join(folder, 'apache2.conf');
    const load = [...NEEDED, ...DOCUMENTED]
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
User www-data
Group www-data
Listen 127.0.0.1:${plain}
Listen 127.0.0.1:${tls}
Listen [::1]:${tls}
ServerName localhost
Define APACHE_LOG_DIR ${folder}/logs
ErrorLog ${folder}/logs/error.log
IncludeOptional sites-enabled/*.conf
`,
    );
    return conf;
  }

  async function prepare(
    kind: Kind,
  ): Promise<{ at: At; conf: string; check: string[]; plan: () => Promise<SiteEdits> }> {
    const at = await place(kind);
    const conf = main(at);
    const own = join(at.folder, 'licensing.conf');
    const config = readConfig({
      LICENSING_ENV_FILE: '/dev/null',
      LICENSING_DATABASE_URL: 'sqlite:/nowhere/a.sqlite',
      LICENSING_PUBLIC_URL: urlOf(kind, at).href,
      LICENSING_XML_DIR: `${at.folder}/xml`,
    });
    const listen = service.url.replace('http://', 'http://');
    writeFileSync(
      own,
      (await apacheFile(config, 2))
        .replace(/"unix:[^|]*\|http:\/\/licensing-1"/g, `"${listen}"`)
        .replace(/.*"unix:.*\n/g, ''),
    );
    const check = [APACHE, '-t', '-f', conf];
    const plan = async () =>
      connectApache(
        await runOrThrow([...check, '-D', 'DUMP_VHOSTS']),
        at.folder,
        own,
        serverSiteOf(urlOf(kind, at)),
      );
    return { at, conf, check, plan };
  }

  test.each(KINDS)('$name', async (kind) => {
    const { at, conf, check, plan } = await prepare(kind);
    await tryKind(kind, at, check, [APACHE, '-f', conf, '-D', 'FOREGROUND'], plan);
  });

  it.each<[string, Kind['files'], RegExp]>([
    [
      'no host has the name',
      (at) => ({ 'sites-enabled/a.conf': tlsHost(at, 'other.example') }),
      /no <VirtualHost> for shop\.example.*other\.example/s,
    ],
    ['the site has no TLS', (at) => ({ 'sites-enabled/a.conf': redirect(at, HOST) }), /only without TLS/],
  ])('refuses when %s', async (_name, files, words) => {
    const { plan } = await prepare({ name: '', files, changed: [] });
    await expect(plan()).rejects.toThrow(words);
  });

  it('leaves the line to the seller when a tool writes the file and the file includes no other', async () => {
    const files: Kind['files'] = (at) => ({ 'sites-enabled/a.conf': PLESK + tlsHost(at, 'shop.example') });
    const { plan } = await prepare({ name: '', files, changed: [] });
    expect(await plan()).toEqual({
      insertions: [],
      files: [],
      byHand: [
        expect.stringMatching(/states that a tool generates it.*\n {2}Include \S+\/licensing\.conf$/s),
      ],
    });
  });

  it('gets a line for each instance', async () => {
    const config = readConfig({
      LICENSING_ENV_FILE: '/dev/null',
      LICENSING_DATABASE_URL: 'sqlite:/nowhere/a.sqlite',
    });
    const members = (await apacheFile(config, 3)).match(/^ *BalancerMember .*$/gm) ?? [];
    expect(
      members.map((line) => /"unix:(\S+)\|http:\/\/licensing-(\d)".*timeout=(15|120) /.exec(line)?.slice(1)),
    ).toEqual(
      ['15', '120'].flatMap((limit) =>
        [1, 2, 3].map((n) => [`/run/licensing/${n}/http.sock`, String(n), limit]),
      ),
    );
  });
});
