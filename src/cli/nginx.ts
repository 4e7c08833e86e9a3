import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { InvalidArgumentError, type Command } from 'commander';
import { packageRoot, readConfig, type Config } from '../settings/config';
import { countOf } from '../base/count-of';
import { hostAndPort } from '../process/listen';
import { findInstances, instanceSocket } from '../process/instances';
import { asCaller } from '../process/rights';
import { explainFileFault } from '../packages/file-faults';
import { OperatorError } from '../licensing/operator-error';
import { nginxParts, type NginxParts } from '../joomla/formerly/nginx';
import {
  lookAt,
  makeFolder,
  refuseProtected,
  replaceFile,
  type ProtectedFile,
} from '../packages/replace-file';
import { folderName, upTo } from './arguments';
import { createOutput, type Output } from './command';
import { formerlyOption, planFormerUrls, type FormerlyOptions } from './formerly';
import { ownFiles } from './output-file';

/** The files in nginx/, in the order in which nginx reads them. */
const FILES = ['upstream.conf', 'licensing.conf', 'site.example.conf'] as const;

/** The file for LICENSING_PAGES_HOST: a separate server with the same licensing.conf. */
const PAGES_FILE = 'pages.example.conf';

const MAX_INSTANCES = 99;
const MEGABYTE = 1_048_576;

/** The folder from which site.example.conf includes the other two files. */
const DEFAULT_FOLDER = '/etc/nginx/licensing';

interface NginxOptions extends FormerlyOptions {
  serverName: string;
  out?: string;
  instances?: number;
}

export function addNginxCommand(program: Command): void {
  program
    .command('nginx')
    .summary("print nginx's configuration for this service")
    .description(
      'Prints the files that put the service behind nginx, filled in for this configuration: upstream.conf (for the http level), ' +
        "licensing.conf (for the site's server {}), and a whole site as an example. With LICENSING_PAGES_HOST, it also prints a server " +
        'for the pages as an example. It does not change the nginx of this machine.',
    )
    .requiredOption('--server-name <host>', "the site's host name", hostName)
    .option(
      '--instances <count>',
      'forward to the systemd instances licensing@1 to licensing@COUNT, each on its own socket; default: forward to LICENSING_LISTEN',
      upTo(MAX_INSTANCES),
    )
    .option(
      '--out <dir>',
      'write the files into this folder instead; a file there that differs is kept, and the new one is written as NAME.new',
      folderName,
    )
    .addOption(formerlyOption())
    .addHelpText(
      'after',
      '\nExample:\n  licensing nginx --server-name shop.example --instances 2 --out /etc/nginx/licensing',
    )
    .action(async ({ serverName, out, instances, formerly }: NginxOptions, command: Command) => {
      const config = readConfig();
      const output = createOutput(command);
      const folder = out === undefined ? DEFAULT_FOLDER : resolve(out);
      const files = await nginxFiles(config, { serverName, folder, instances, formerly }, output);
      for (const remark of remarks(config, instances)) output.note(remark);
      const { written, kept } =
        out === undefined ? NOTHING : await writeServerFiles(folder, files, ownFiles(config));
      for (const path of kept) output.note(describeDifference(path));
      output.print(
        Object.fromEntries(files.map(({ name, text }) => [name, text])),
        out === undefined
          ? files.map(({ name, text }) => `# ==== ${name} ====\n\n${text}`).join('\n')
          : whatToInclude(config, folder, written),
      );
    });
}

interface Filling {
  serverName: string;
  formerly: FormerlyOptions['formerly'] | undefined;
  /** the folder from which the site includes the files */
  folder: string;
  /** the number of instances; undefined: the address of LICENSING_LISTEN */
  instances: number | undefined;
}

/** Returns the files for this configuration, in the order in which nginx reads them. @throws OperatorError */
export async function nginxFiles(
  config: Config,
  { serverName, folder, instances, formerly }: Filling,
  output: Output,
): Promise<{ name: string; text: string }[]> {
  const servers = upstreamServers(config, instances);
  const plan = await planFormerUrls(config, formerly, output);
  const parts =
    plan &&
    nginxParts(plan.answers, {
      accelLocation: config.accelLocation ?? ACCEL_LOCATION,
      siteUrl: plan.siteUrl ?? `https://${serverName}`,
      quotable,
    });
  return Promise.all(
    filesFor(config).map(async (name) => ({
      name,
      text: withFormerly(name, await fillIn(name, config, serverName, folder, servers), parts),
    })),
  );
}

function filesFor({ pagesHost }: Config): string[] {
  return pagesHost === undefined ? [...FILES] : [...FILES, PAGES_FILE];
}

/** The internal location in the shipped files. */
const ACCEL_LOCATION = '/_licensing_packages/';

/** Appends the answers to a former system's addresses to the files. */
function withFormerly(name: string, text: string, parts: NginxParts | undefined): string {
  if (parts === undefined) return text;
  if (name === 'licensing.conf') return text + parts.server;
  if (name !== 'upstream.conf') return text;
  return text.replace('default "(another path)";', `default ${parts.defaultPath};`) + parts.http;
}

const EXAMPLE_SERVERS = `    server unix:${instanceSocket('1')} max_fails=0;
    #server unix:${instanceSocket('2')} max_fails=0;
`;

function upstreamServer(listen: Config['listen']): string {
  if ('passenger' in listen)
    throw new OperatorError(
      'Passenger forwards the requests to this service, so nginx has no address to forward to. "licensing apache --passenger" prints the lines that the site needs.',
    );
  return 'path' in listen ? `unix:${quotable(listen.path)}` : hostAndPort(listen);
}

function upstreamServers({ listen }: Config, instances: number | undefined): string {
  const servers =
    instances === undefined
      ? [upstreamServer(listen)]
      : Array.from({ length: instances }, (_, i) => `unix:${instanceSocket(String(i + 1))}`);
  return servers.map((server) => `    server ${server} max_fails=0;\n`).join('');
}

/** Replaces the CHANGE marks with the values that this configuration has. */
async function fillIn(
  name: string,
  config: Config,
  serverName: string,
  folder: string,
  servers: string,
): Promise<string> {
  const { packagesDir, xmlDir, accelLocation, joomlaRoot, pagesHost, publicUrl, uploadLimit } = config;
  const shipped = await readFile(join(packageRoot, 'nginx', name), 'utf8');
  const folderOfSite = publicUrl === undefined ? '' : new URL(publicUrl).pathname.slice(1);
  const text = inUse(shipped, [
    ...(pagesHost === undefined ? [] : [PAGES_HOST_LINES]),
    ...(FOLDER_NAME.test(folderOfSite) ? [FOLDER_LINES] : []),
  ]);
  const values = new Map([
    [EXAMPLE_SERVERS, servers],
    ['/var/lib/licensing/packages/', `${quotable(packagesDir)}/`],
    ['root /var/lib/licensing/xml;', `root ${quotable(xmlDir)};`],
    [ACCEL_LOCATION, accelLocation ?? ACCEL_LOCATION],
    ['client_max_body_size 257m;', `client_max_body_size ${uploadLimit / MEGABYTE + 1}m;`],
    ['/joomla', FOLDER_NAME.test(folderOfSite) ? `/${folderOfSite}` : '/joomla'],
    ['pages.shop.example', pagesHost ?? `pages.${serverName}`],
    ['pages\\.shop\\.example', (pagesHost ?? `pages.${serverName}`).replaceAll('.', '\\.')],
    [`${DEFAULT_FOLDER}/`, `${quotable(folder)}/`],
    ['shop.example', serverName],
    ['/var/www/shop', quotable(joomlaRoot ?? '/var/www/shop')],
  ]);
  // Replace all marks in one pass, because an inserted value may look like a mark.
  const marks = [...values.keys()].map((mark) => mark.replace(/[.\\]/g, '\\$&'));
  return text.replace(new RegExp(marks.join('|'), 'g'), (mark) => values.get(mark) ?? mark);
}

/** Lines of the files that are commented out until a setting needs them. */
const PAGES_HOST_LINES = /^( *)#(?="~.* (?:[01]|\$licensing_no_ticket);$)/gm;
const FOLDER_LINES = /^()#(?=location \^~ \/joomla\/)/gm;
/** Folder names that need no quoting in nginx's addresses and expressions. */
export const FOLDER_NAME = /^[A-Za-z0-9_-]+(?:\/[A-Za-z0-9_-]+)*$/;

function inUse(text: string, commented: RegExp[]): string {
  return commented.reduce((one, lines) => one.replace(lines, '$1'), text);
}

function whatToInclude({ pagesHost }: Config, folder: string, written: string[]): string {
  const names = written.map((path) => basename(path)).join(', ');
  return `${names === '' ? `The files in ${folder} are up to date: nothing was written` : `Written to ${folder}: ${names}`}.
Add two lines to nginx's files:
  include ${folder}/upstream.conf;     at the http level: in nginx.conf inside http {}, or above the site's server {}
  include ${folder}/licensing.conf;    inside the site's server {} for https
Then: nginx -t && systemctl reload nginx
${FILES[2]} shows both in a whole site.${
    pagesHost === undefined
      ? ''
      : `\n${PAGES_FILE} is a server for ${pagesHost}: set its certificate, and copy it to the folder of the site's file.`
  }`;
}

function remarks({ accelLocation, listen, trustedProxies }: Config, instances: number | undefined): string[] {
  return [
    ...remarksOnInstances('nginx', instances),
    ...(accelLocation === undefined
      ? [
          'Set LICENSING_ACCEL_LOCATION=/_licensing_packages/ in .env and restart the service: nginx then sends the packages itself.',
        ]
      : []),
    ...(instances === undefined &&
    'host' in listen &&
    !trustedProxies.some((proxy) => /^127\.|^::1/.test(proxy))
      ? [
          'LICENSING_TRUSTED_PROXIES has no loopback address, so the service would ignore the client addresses that this nginx passes on.',
        ]
      : []),
  ];
}

/** Notes a wrong number of instances. @param name the web server's name for people */
export function remarksOnInstances(name: string, instances: number | undefined): string[] {
  const running = findInstances().length;
  return running > 0 && instances !== running
    ? [
        `systemd runs ${countOf(running, 'instance')} of the service here: with --instances ${running}, ${name} forwards to all of them.`,
      ]
    : [];
}

export interface Written {
  written: string[];
  kept: string[];
}
const NOTHING: Written = { written: [], kept: [] };

export function describeDifference(path: string): string {
  return `${path} differs from the new file, and is not changed. The new file is ${path}.new. To compare and replace it: diff -u ${path} ${path}.new; mv ${path}.new ${path}`;
}

/** Writes files, next to those edited by hand. @returns the written paths, and the existing files that differ */
export function writeServerFiles(
  dir: string,
  files: { name: string; text: string }[],
  own: ProtectedFile[],
): Promise<Written> {
  return asCaller(() => writeInFolder(dir, files, own));
}

async function writeInFolder(
  dir: string,
  files: { name: string; text: string }[],
  own: ProtectedFile[],
): Promise<Written> {
  const written: string[] = [];
  const kept: string[] = [];
  try {
    await makeFolder(dir);
    for (const { name, text } of files) {
      const path = join(dir, name);
      const there = existsSync(path) ? await readFile(path, 'utf8') : undefined;
      if (there === text) continue;
      if (there !== undefined) kept.push(path);
      const place = await lookAt(there === undefined ? path : `${path}.new`);
      await refuseProtected(place, own);
      await replaceFile(place, (place.there?.mode ?? 0) & 0o775 || 0o644, (sink) => sink(text));
      written.push(place.path);
    }
    return { written, kept };
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    const fault = explainFileFault(error, join(dir, FILES[0])) ?? (error as Error).message;
    throw new OperatorError(`The files were not written: ${fault}.`);
  }
}

/** Refuses a path with a character that ends a word in nginx's files, because no escape works everywhere. */
function quotable(path: string): string {
  if (/[\s;{}"'\\$#]/.test(path))
    throw new OperatorError(
      `nginx cannot read the path ${path} without quoting. Choose a folder without spaces and ;{}"'\\$#.`,
    );
  return path;
}

function hostName(text: string): string {
  if (!/^[a-z0-9-]+(\.[a-z0-9-]+)*$/i.test(text))
    throw new InvalidArgumentError('It must be a host name, such as shop.example.');
  return text.toLowerCase();
}
