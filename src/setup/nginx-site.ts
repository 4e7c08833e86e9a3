import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { OperatorError } from '../licensing/operator-error';
import { filesOf, isPattern } from './glob';
import { NginxSyntaxError, parseNginx, type Block, type Directive } from './nginx-blocks';
import {
  cannotBeRead,
  insertAfter,
  isManagedByTool,
  noEdits,
  type Insertion,
  type ServerSite,
  type SiteEdits,
} from './site';

/** Finds the places of a site's two lines in nginx's files. nginx itself then checks the result (`nginx -t`). */

interface Placed extends Directive {
  /** with links resolved */
  file: string;
  /** for an include: the pattern, and the files that it includes now */
  include?: { pattern: string; files: string[] };
}

interface Server {
  file: string;
  block: Block;
  start: number;
  /** the directives that apply in it, including those of its included files */
  directives: Placed[];
}

interface Configuration {
  /** the directives at http level, including those of its included files */
  http: Placed[];
  servers: Server[];
  texts: Map<string, string>;
}

/** @param main such as `/etc/nginx/nginx.conf` @throws OperatorError */
function readNginx(main: string): Configuration {
  const texts = new Map<string, string>();
  const read = (path: string): Placed[] => {
    const file = realpathSync(path);
    const text = texts.get(file) ?? readFileSync(file, 'utf8');
    texts.set(file, text);
    try {
      return place(parseNginx(text), file);
    } catch (error) {
      if (error instanceof NginxSyntaxError) throw cannotBeRead(path, error.message);
      throw error;
    }
  };
  const place = (directives: Directive[], file: string): Placed[] =>
    directives.flatMap((directive) => {
      if (directive.name !== 'include') return [{ ...directive, file }];
      const pattern = resolve(dirname(main), directive.args[0] ?? '');
      const files = filesOf(pattern);
      return [{ ...directive, file, include: { pattern, files } }, ...files.flatMap(read)];
    });
  const http = read(main)
    .filter(({ name }) => name === 'http')
    .flatMap(({ block, file }) => place(block?.directives ?? [], file));
  const servers = http.flatMap(({ name, block, start, file }) =>
    name === 'server' && block !== undefined
      ? [{ file, block, start, directives: place(block.directives, file) }]
      : [],
  );
  return { http, servers, texts };
}

/** Returns the arguments of each use of a directive in a server. */
function wordsOf({ directives }: Server, name: string): string[][] {
  return directives.filter((one) => one.name === name).map(({ args }) => args);
}

interface Listening {
  /** distinguishes addresses */
  key: string;
  port: number;
  tls: boolean;
}

function listeningOf(server: Server): Listening[] {
  const always = wordsOf(server, 'ssl').some(([value]) => value === 'on');
  const listens = wordsOf(server, 'listen').filter(
    ([address, ...flags]) => address && !flags.includes('quic'),
  );
  return (listens.length === 0 ? [['80']] : listens)
    .filter(([address = '']) => !address.startsWith('unix:'))
    .map(([address = '', ...flags]) => {
      const port = Number(/^(?:.*:)?(\d+)$/.exec(address.replace(/^\[[^\]]*\]$/, ''))?.[1] ?? 80);
      const host = /^\d+$/.test(address) ? '*' : address.replace(/:\d+$/, '');
      return { key: `${host}:${port}`, port, tls: always || flags.includes('ssl') };
    });
}

/** Returns how closely a server's name matches; lower is closer, in nginx's own order; undefined: another name. */
function nearness(server: Server, host: string): number | undefined {
  const found = wordsOf(server, 'server_name')
    .flat()
    .map((name) => nearnessOfName(name.toLowerCase(), host))
    .filter((one) => one !== undefined);
  return found.length === 0 ? undefined : Math.min(...found);
}

function nearnessOfName(name: string, host: string): number | undefined {
  if (name === host || name === `.${host}`) return 0;
  if (/^\*?\./.test(name) && host.endsWith(name.replace(/^\*/, ''))) return 1_000 - name.length;
  if (name.endsWith('.*') && host.startsWith(name.slice(0, -1))) return 2_000 - name.length;
  if (!name.startsWith('~')) return undefined;
  try {
    return new RegExp(name.slice(1).replace(/\(\?P?</g, '(?<'), 'i').test(host) ? 3_000 : undefined;
  } catch {
    return undefined;
  }
}

/** Reports whether the server redirects every request. */
function isRedirect(server: Server): boolean {
  return (
    wordsOf(server, 'return').some(([status]) => /^(?:30[12378]|https?:)/.test(status ?? '')) ||
    wordsOf(server, 'rewrite').some(([pattern]) => pattern === '^')
  );
}

/** Returns the servers of the site's address: one, or several if the machine has several addresses. */
function serversOf({ servers }: Configuration, main: string, { host, https, port }: ServerSite): Server[] {
  const named = servers
    .map((server) => ({ server, near: nearness(server, host), listening: listeningOf(server) }))
    .filter((one) => one.near !== undefined);
  const nearest = Math.min(...named.map(({ near }) => near as number));
  const here = named.filter(({ near }) => near === nearest);
  if (here.length === 0) {
    const names = [...new Set(servers.flatMap((server) => wordsOf(server, 'server_name').flat()))]
      .filter((name) => /\w/.test(name) && name !== '_')
      .slice(0, 10);
    throw new OperatorError(
      `nginx has no server {} for ${host}: no server_name in ${main} and its included files names it${names.length === 0 ? '' : ` (they name ${names.join(', ')})`}. ` +
        `Write "server_name ${host};" into the site's server {}, or give one of its addresses with --url.`,
      { code: 'NOT_FOUND', field: 'url' },
    );
  }
  const choices = [
    here.filter(({ listening }) => listening.some((one) => one.tls === https && one.port === port)),
    here.filter(({ listening }) => listening.some((one) => one.tls === https)),
    // TLS ends in front of nginx.
    https ? here.filter(({ server }) => !isRedirect(server)) : [],
  ];
  const chosen = choices.find(({ length }) => length > 0);
  if (chosen === undefined)
    throw new OperatorError(
      `nginx answers ${host} ${https ? 'only without TLS' : 'only with TLS'} (${here.map(({ server }) => server.file).join(', ')}), but --url begins with ${https ? 'https' : 'http'}. ` +
        (https
          ? `Give the site a certificate first, for example with certbot.`
          : `Write --url https://${host}.`),
      { field: 'url' },
    );
  // nginx uses the first of several servers with the same address.
  const taken = new Set<string>();
  return chosen.flatMap(({ server, listening }) => {
    const isNew = listening.some(({ key }) => !taken.has(key));
    listening.forEach(({ key }) => taken.add(key));
    return isNew ? [server] : [];
  });
}

const PREFIX = '/api/index.php/v1/licensing/';

/**
 * Returns the edits that connect a site, or no edit if both lines exist.
 * @param main nginx's own configuration file
 * @param folder the folder of licensing.conf and upstream.conf
 * @throws OperatorError that names the host, or the file that a tool writes
 */
export function connectNginx(main: string, folder: string, site: ServerSite): SiteEdits {
  const configuration = readNginx(main);
  const servers = serversOf(configuration, main, site);
  const lacking = servers.filter(
    ({ directives }) => !directives.some(({ name, args }) => name === 'location' && args.includes(PREFIX)),
  );
  const hasUpstream = configuration.http.some(
    ({ name, args }) => name === 'upstream' && args[0] === 'licensing',
  );
  const edits = noEdits();
  const include = (name: string) => `include ${join(folder, name)};`;
  const add = (edit: Edit) => {
    if (typeof edit === 'string') edits.byHand.push(edit);
    else if (!('at' in edit)) edits.files.push(edit);
    else if (!edits.insertions.some(({ path, at }) => path === edit.path && at === edit.at))
      edits.insertions.push(edit);
  };
  for (const server of lacking) add(intoServer(configuration, server, include('licensing.conf'), site));
  const [first] = servers;
  if (!hasUpstream && first !== undefined) {
    const edit = beforeServer(configuration, first, include('upstream.conf'), site);
    const isAlone = typeof edit !== 'string' && edits.byHand.length > 0;
    add(isAlone ? { ...edit, text: edit.text + UNTIL_CONNECTED } : edit);
  }
  return edits;
}

/** Without this, nginx refuses upstream.conf until the site includes licensing.conf, which sets the variable. */
const UNTIL_CONNECTED = 'map "" $licensing_file { default ""; }\n';

/** An edit; a text is an instruction for the operator. */
type Edit = Insertion | SiteEdits['files'][number] | string;

function intoServer(configuration: Configuration, server: Server, line: string, site: ServerSite): Edit {
  const text = configuration.texts.get(server.file) ?? '';
  if (!isManagedByTool(text)) return { path: server.file, ...insertAfter(text, server.block.open, line) };
  const own = server.directives.filter(
    ({ include }) => include !== undefined && isOfSiteAlone(configuration, include.pattern, site),
  );
  for (const { include } of own) {
    const [path] = include?.files ?? [];
    if (path === undefined || include === undefined || isPattern(include.pattern)) continue;
    const file = realpathSync(path);
    if (!isManagedByTool(configuration.texts.get(file) ?? ''))
      return { path: file, at: 0, text: `${line}\n` };
  }
  for (const { include } of own)
    if (include !== undefined && canHold(include.pattern))
      return { path: include.pattern.replace('*', '_licensing'), text: `${line}\n` };
  return byHand(server, line, site);
}

/** Reports whether only the site's servers include it. */
function isOfSiteAlone({ servers }: Configuration, pattern: string, { host }: ServerSite): boolean {
  return servers
    .filter(({ directives }) => directives.some(({ include }) => include?.pattern === pattern))
    .every((server) => nearness(server, host) !== undefined);
}

/** Reports whether it is a pattern such as `/etc/nginx/conf.d/*.conf` whose folder exists. */
function canHold(pattern: string): boolean {
  return /^[^*?[]+\/[^*?[/]*\*[^*?[/]*$/.test(pattern) && existsSync(dirname(pattern));
}

function beforeServer(configuration: Configuration, server: Server, line: string, site: ServerSite): Edit {
  const text = configuration.texts.get(server.file) ?? '';
  if (!isManagedByTool(text)) {
    const before = text.slice(0, server.start);
    const at = /(?:^|\n)[ \t]*$/.test(before) ? before.replace(/[ \t]*$/, '').length : server.start;
    const indent = text.slice(at, server.start);
    return { path: server.file, at, text: `${indent}${line}\n` };
  }
  // It must be read before the site's file, because a log format must be defined before its use.
  const from = configuration.http.findIndex(
    ({ file, start }) => file === server.file && start === server.start,
  );
  const earlier = configuration.http
    .slice(0, from)
    .find(({ include }) => include !== undefined && canHold(include.pattern));
  if (earlier?.include === undefined) return byHand(server, line, site);
  return { path: earlier.include.pattern.replace('*', '00-licensing'), text: `${line}\n` };
}

function byHand({ file }: Server, line: string, { host }: ServerSite): string {
  return (
    `${file} has the server {} of ${host}, but states that a tool generates it. The tool would overwrite a line in it. ` +
    `Add this line with that tool, in its field for additional nginx directives or in a file that it includes, and run this again:\n  ${line}`
  );
}
