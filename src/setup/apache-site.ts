import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { OperatorError } from '../licensing/operator-error';
import { filesOf } from './glob';
import {
  insertAfter,
  isManagedByTool,
  noEdits,
  type Insertion,
  type ServerSite,
  type SiteEdits,
} from './site';

/** Finds the place of a site's line in Apache's files. Apache itself states where each <VirtualHost> is (DUMP_VHOSTS). */

interface VirtualHost {
  /** with links resolved */
  file: string;
  text: string;
  /** the position right after the line of <VirtualHost> */
  open: number;
  /** its lines, without comments */
  lines: string[];
  port: number;
  names: string[];
}

/** `port 443 namevhost shop.example (/etc/apache2/sites-enabled/shop.conf:2)`, and the form without "namevhost" */
const PLACE = /^\s*(?:(\S+):(\d+|\*)\s+|port (\d+|\*) namevhost )(\S+) \((.+):(\d+)\)$/;

/** @param dump the output of `apachectl -t -D DUMP_VHOSTS` */
function readVirtualHosts(dump: string): VirtualHost[] {
  const seen = new Set<string>();
  return dump.split('\n').flatMap((line) => {
    const [, , single, named, name = '', path = '', number = '0'] = PLACE.exec(line) ?? [];
    if (path === '' || seen.has(`${path}:${number}`) || !existsSync(path)) return [];
    seen.add(`${path}:${number}`);
    const file = realpathSync(path);
    const text = readFileSync(file, 'utf8');
    const start = text
      .split('\n')
      .slice(0, Number(number) - 1)
      .join('\n').length;
    const opening = /<VirtualHost\s[^>]*>/iy;
    opening.lastIndex = text.indexOf('<', start);
    const found = opening.exec(text);
    if (found === null) return [];
    const end = /^[ \t]*<\/VirtualHost>/gim;
    end.lastIndex = opening.lastIndex;
    const inside = text.slice(opening.lastIndex, end.exec(text)?.index);
    const lines = inside
      .replace(/\\\r?\n/g, ' ')
      .split('\n')
      .map((one) => one.trim())
      .filter((one) => !one.startsWith('#'));
    const own = wordsOf(lines, 'ServerName').concat(wordsOf(lines, 'ServerAlias'));
    const names = [name, ...own.map((one) => one.replace(/^https?:\/\//, '').replace(/:\d+$/, ''))];
    return [
      {
        file,
        text,
        open: opening.lastIndex,
        lines,
        port: Number(single ?? named),
        names: names.map((one) => one.toLowerCase()),
      },
    ];
  });
}

function wordsOf(lines: string[], name: string): string[] {
  return lines
    .map((line) => line.split(/\s+/))
    .filter(([first]) => first?.toLowerCase() === name.toLowerCase())
    .flatMap(([, ...words]) => words.map((word) => word.replace(/^["']|["']$/g, '')));
}

/**
 * @param dump the output of `apachectl -t -D DUMP_VHOSTS`
 * @param root Apache's ServerRoot, where relative paths start
 * @param file the service's licensing.conf
 * @throws OperatorError that names the host, or the file that a tool writes
 */
export function connectApache(dump: string, root: string, file: string, site: ServerSite): SiteEdits {
  const all = readVirtualHosts(dump);
  const chosen = hostsOf(all, site);
  const line = `Include ${file}`;
  const edits = noEdits();
  for (const host of chosen) {
    if (includes(host.lines, root, file)) continue;
    const one = intoHost(all, host, root, line, site);
    if (typeof one === 'string') edits.byHand.push(one);
    else if (!edits.insertions.some(({ path, at }) => path === one.path && at === one.at))
      edits.insertions.push(one);
  }
  return edits;
}

function hostsOf(all: VirtualHost[], { host, https, port }: ServerSite): VirtualHost[] {
  const matches = (name: string) =>
    new RegExp(
      `^${name
        .replace(/[.+^${}()|[\]\\]/g, '\\$&')
        .replaceAll('*', '.*')
        .replaceAll('?', '.')}$`,
    ).test(host);
  const exact = all.filter(({ names }) => names.includes(host));
  const here = exact.length > 0 ? exact : all.filter(({ names }) => names.some(matches));
  if (here.length === 0) {
    const names = [...new Set(all.flatMap((one) => one.names))].slice(0, 10);
    throw new OperatorError(
      `Apache has no <VirtualHost> for ${host}: no ServerName or ServerAlias names it${names.length === 0 ? '' : ` (it has ${names.join(', ')})`}. ` +
        `Write "ServerName ${host}" into the site's <VirtualHost>, or give one of its addresses with --url.`,
      { code: 'NOT_FOUND', field: 'url' },
    );
  }
  const isTls = ({ lines }: VirtualHost) =>
    wordsOf(lines, 'SSLEngine').some((word) => word.toLowerCase() === 'on');
  const choices = [
    here.filter((one) => one.port === port),
    here.filter((one) => isTls(one) === https),
    // TLS ends in front of Apache.
    https ? here.filter(({ lines }) => !isRedirect(lines)) : [],
  ];
  const chosen = choices.find(({ length }) => length > 0);
  if (chosen === undefined)
    throw new OperatorError(
      `Apache answers ${host} ${https ? 'only without TLS' : 'only with TLS'} (${here.map((one) => one.file).join(', ')}), but --url begins with ${https ? 'https' : 'http'}. ` +
        (https
          ? 'Give the site a certificate first, for example with certbot.'
          : `Write --url https://${host}.`),
      { field: 'url' },
    );
  return chosen;
}

function isRedirect(lines: string[]): boolean {
  return lines.some((line) =>
    /^Redirect(?:Permanent)?\s+(?:(?:permanent|temp|30\d)\s+)?"?\/"?\s+"?https?:/i.test(line),
  );
}

/** Reports whether these lines, or a file that they include, include the service's file. */
function includes(lines: string[], root: string, file: string, depth = 0): boolean {
  return includedBy(lines, root).some(
    (path) => same(path, file) || (depth < 3 && includes(linesOf(path), root, file, depth + 1)),
  );
}

function same(path: string, file: string): boolean {
  return path === file || (existsSync(file) && realpathSync(path) === realpathSync(file));
}

function linesOf(path: string): string[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .map((one) => one.trim())
    .filter((one) => !one.startsWith('#'));
}

function includedBy(lines: string[], root: string): string[] {
  return [...wordsOf(lines, 'Include'), ...wordsOf(lines, 'IncludeOptional')].flatMap((pattern) =>
    filesOf(resolve(root, pattern)),
  );
}

function intoHost(
  all: VirtualHost[],
  host: VirtualHost,
  root: string,
  line: string,
  site: ServerSite,
): Insertion | string {
  // Before the site's own Rewrite... and ProxyPass lines, which would otherwise receive the requests.
  if (!isManagedByTool(host.text)) return { path: host.file, ...insertAfter(host.text, host.open, line) };
  const others = all
    .filter(({ names }) => !names.includes(site.host))
    .flatMap(({ lines }) => includedBy(lines, root));
  const own = includedBy(host.lines, root).find(
    (path) => !others.includes(path) && !isManagedByTool(readFileSync(path, 'utf8')),
  );
  if (own !== undefined) return { path: realpathSync(own), at: 0, text: `${line}\n` };
  return (
    `${host.file} has the <VirtualHost> of ${site.host}, but states that a tool generates it. The tool would overwrite a line in it. ` +
    `Add this line with that tool, in its field for additional Apache directives or in a file that it includes, and run this again:\n  ${line}`
  );
}
