import { readNginxUser } from '../../doctor/nginx-user';
import { OperatorError } from '../../licensing/operator-error';
import { connectApache } from '../../setup/apache-site';
import { runLine, runOrThrow, exitsWithZero } from '../../setup/machine';
import { connectNginx } from '../../setup/nginx-site';
import { serverSiteOf, type SiteEdits } from '../../setup/site';
import { NGINX_FILES } from './place';

/** The web server that serves the site's address. */
export interface WebServer {
  kind: 'nginx' | 'apache';
  /** its name for people */
  name: string;
  /** the group of its workers, which read packages and connect to the sockets */
  group: string;
  user: string;
  /** the command that checks its files */
  test: string[];
  reload: string[];
  /** the path of Apache's licensing.conf */
  file: string;
  /** the missing modules and the program that enables modules; undefined if the machine has no such program */
  modules: { missing: string[]; enable: string | undefined };
  /** Plans the edits of the site's files; no edits if both lines exist. */
  plan(): Promise<SiteEdits>;
}

/** Finds the web server of a site. @throws OperatorError that names the host if no web server here serves it */
export async function findWebServer(url: URL): Promise<WebServer> {
  const candidates = [await findNginx(url), await findApache(url)].filter((one) => one !== undefined);
  if (candidates.length === 0)
    throw new OperatorError(
      'Neither nginx nor Apache runs on this machine (systemctl is-active nginx apache2). Start the one that serves the site.',
    );
  const refusals: string[] = [];
  for (const one of candidates) {
    try {
      await one.plan();
      return one;
    } catch (error) {
      if (!(error instanceof OperatorError) || error.code !== 'NOT_FOUND') throw error;
      refusals.push(error.message);
    }
  }
  throw new OperatorError(refusals.join('\n'), { code: 'NOT_FOUND', field: 'url' });
}

/** Returns the command to reload a unit. A stopped web server reads its files at its start, so `--undo` continues. */
function reloadOf(unit: string): string[] {
  return ['systemctl', 'try-reload-or-restart', unit];
}

async function findNginx(url: URL): Promise<WebServer | undefined> {
  if (!(await exitsWithZero(['systemctl', 'is-active', '--quiet', 'nginx']))) return undefined;
  const { stderr } = await runLine(['nginx', '-V']);
  const main = /--conf-path=(\S+)/.exec(stderr)?.[1] ?? '/etc/nginx/nginx.conf';
  const user = await readNginxUser(main);
  if (user === undefined)
    throw new OperatorError(
      `${main} does not name the user of nginx ("user www-data;"), which must be able to connect to the service.`,
    );
  return {
    kind: 'nginx',
    name: 'nginx',
    group: user.group,
    user: user.name,
    test: ['nginx', '-t'],
    reload: reloadOf('nginx'),
    file: '',
    modules: { missing: [], enable: undefined },
    plan: () => Promise.resolve(connectNginx(main, NGINX_FILES, serverSiteOf(url))),
  };
}

/** The modules that docs/apache.md lists. */
const MODULES = [
  'headers',
  'lbmethod_byrequests',
  'proxy',
  'proxy_balancer',
  'proxy_http',
  'rewrite',
  'slotmem_shm',
];

async function findApache(url: URL): Promise<WebServer | undefined> {
  for (const unit of ['apache2', 'httpd']) {
    if (!(await exitsWithZero(['systemctl', 'is-active', '--quiet', unit]))) continue;
    const control = unit === 'apache2' ? 'apache2ctl' : 'httpd';
    const settings = await runOrThrow([control, '-t', '-D', 'DUMP_RUN_CFG']);
    const root = /^ServerRoot: "(.*)"$/m.exec(settings)?.[1] ?? '/etc/apache2';
    const loaded = await runOrThrow([control, '-M']);
    const file = `${root}/licensing.conf`;
    return {
      kind: 'apache',
      name: 'Apache',
      user: /^User: name="([^"]+)"/m.exec(settings)?.[1] ?? 'www-data',
      group: /^Group: name="([^"]+)"/m.exec(settings)?.[1] ?? 'www-data',
      test: [control, '-t'],
      reload: reloadOf(unit),
      file,
      modules: {
        missing: MODULES.filter((name) => !loaded.includes(` ${name}_module`)),
        enable: (await exitsWithZero(['which', 'a2enmod'])) ? 'a2enmod' : undefined,
      },
      plan: async () =>
        connectApache(await runOrThrow([control, '-t', '-D', 'DUMP_VHOSTS']), root, file, serverSiteOf(url)),
    };
  }
  return undefined;
}
