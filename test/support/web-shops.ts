import type { RequestListener, RequestOptions } from 'node:http';
import { expect } from '@jest/globals';
import type { Settings } from '../../src/settings/config';
import { startApache } from './apache';
import { startNginx, type NginxOptions } from './nginx';
import { giveRelease, makePackage, type TestPackage } from './packages';
import { sharedFolder } from './processes';
import { giveLicense, givePlan, PREFIX, startTestService, type TestService } from './service';
import { get, hostOf, startUpstream, withoutOwn, type Answer, type Upstream } from './web-server';
import type { TestWebServer } from './web-server-process';

/** Services behind a web server. */

export type { TestWebServer };

type ServerOptions = Pick<
  NginxOptions,
  'upstream' | 'packagesDir' | 'xmlDir' | 'edit' | 'example' | 'pagesHost'
>;

/** A web server, with the answers that it gives itself. */
export interface Kind {
  name: string;
  start: (options: ServerOptions) => Promise<TestWebServer>;
  /** requests for the site, and the form in which its PHP receives them */
  site: [uri: string, seen: object][];
  /** uncomments the lines for a site behind a CDN, like an operator, with this network as the CDN's */
  behindCdn: (text: string, network: string) => string;
  /** moves the service below a site in the subfolder /joomla */
  inSubFolder: (text: string) => string;
  /** the pages on their own host name, pages.shop.example */
  withPagesHost: Pick<NginxOptions, 'edit' | 'example' | 'pagesHost'>;
  /** the senders of packages, and their settings */
  senders: [string, Settings][];
  /** the ids that it gives requests */
  id: RegExp;
  /** whether its own answers also have an id */
  namesRefusals: boolean;
  /** its status when the service closes the connection instead of answering a POST */
  lost: number;
  /** the request, status and rest of a line in its log */
  logLine: RegExp;
  /** the form in which this line shows a path that may contain a key */
  hidden: string;
  /** a request for the site that writes a line to the error log, and that line */
  fails: [uri: string, line: RegExp];
  /** its own error messages that name a request to the service */
  ownErrors: RegExp[];
}

/** Uncomments the lines of nginx's files. */
export function uncommentNginx(text: string): string {
  return text.replace(/^( *)#(?=(?:set_real_ip|real_ip|location|add_header) ?)/gm, '$1');
}

/** Uncomments the lines for a CDN in Apache's file. */
export function uncommentApache(text: string): string {
  return text.replace(/^( *)#(?=RemoteIP)/gm, '$1');
}

export const CDN = '203.0.113.0/24';
export const ACCEL = { LICENSING_ACCEL_LOCATION: '/_licensing_packages/' };

export const NGINX: Kind = {
  name: 'nginx',
  start: startNginx,
  site: [
    ['/', { php: 'index.php', uri: '/' }],
    ['/index.php', { php: 'index.php', uri: '/index.php' }],
    ['/index.php/blog?dlid=x', { php: 'index.php', uri: '/index.php/blog?dlid=x' }],
    [
      '/api/index.php/v1/content/articles',
      { php: 'index.php', uri: '/api/index.php/v1/content/articles', path_info: '/v1/content/articles' },
    ],
    ['/blog/article', { php: 'index.php', uri: '/blog/article', path_info: '' }],
    [
      `${PREFIX}-portal/orders`,
      { php: 'index.php', uri: `${PREFIX}-portal/orders`, path_info: '/v1/licensing-portal/orders' },
    ],
  ],
  behindCdn: (text, network) => uncommentNginx(text).replace(CDN, network),
  inSubFolder: uncommentNginx,
  withPagesHost: {
    example: true,
    pagesHost: true,
    edit: (text) => text.replace(/^( *)#(?="~)/gm, '$1'),
  },
  senders: [
    ['nginx', ACCEL],
    ['the service', {}],
  ],
  id: /^[0-9a-f]{32}$/,
  namesRefusals: true,
  lost: 503,
  logLine: /"(.*?)" (\d+) .* upstream=[\d.]+:\d+:\d+:/,
  hidden: '(another path)',
  fails: [
    '/none.php?v=1',
    /FastCGI sent in stderr: "Primary script unknown".* request: "GET \/none\.php\?v=1 /,
  ],
  // nginx.test.ts explains why there are no such messages.
  ownErrors: [],
};

export const APACHE: Kind = {
  name: 'Apache',
  start: startApache,
  site: [
    ['/', '/index.php'],
    ['/index.php', '/index.php'],
    ['/index.php/blog?dlid=x', '/index.php'],
    ['/api/index.php/v1/content/articles', '/api/index.php'],
    ['/api/v1/licensing/updates/42', '/api/index.php'],
    ['/blog/article', '/index.php'],
    [`${PREFIX}-portal/orders`, '/api/index.php'],
  ].map(([uri, php]) => [uri!, { php, uri }]),
  behindCdn: (text, network) => uncommentApache(text).replace(CDN, network),
  inSubFolder: (text) => text.replace(/^(Define LICENSING_PATH )/m, '$1/joomla'),
  withPagesHost: {
    pagesHost: true,
    edit: (text) => text.replace(/^(Define LICENSING_PAGES_HOST ).*/m, '$1pages.shop.example'),
  },
  senders: [['the service', {}]],
  id: /^[0-9a-f-]{36}$/,
  namesRefusals: false,
  lost: 502,
  logLine: /^127\.0\.0\.1 .* "(.*?)" (\d+) \d+ \d+ /,
  hidden: '-',
  fails: ['/?complain', /the site complains/],
  ownErrors: [/\[proxy:error\] .*attempt to connect to .* failed/],
};

export const UNAVAILABLE = 'The service is not available at the moment; please try again';
/** Characters for raw request lines. */
export const NBSP = Buffer.from('\u00a0').toString('latin1');
export const EMOJI = Buffer.from('🔑').toString('latin1');

/** A service with one licence and a published package of 5 MB, behind its own web server. */
export interface Shop {
  service: TestService;
  server: TestWebServer;
  key: string;
  /** the folder in which the service looks for packages, and by default nginx too */
  packagesDir: string;
  /** the folder in which update XML files are written, and from which they are served */
  xmlDir: string;
  sha256: string;
}

export interface WebShops {
  zip: TestPackage;
  open(settings?: Settings): Promise<Shop>;
  start(options: ServerOptions): Promise<TestWebServer>;
  /** Starts the web server in front of a server that behaves like no healthy service. */
  behind(
    listener: RequestListener,
    edit?: ServerOptions['edit'],
  ): Promise<{ server: TestWebServer; connections: () => number }>;
  /** Adds a server that the test itself started. */
  closing(upstream: Upstream): void;
  /** returns the logs of all servers that were started here */
  logs(): string;
  /** Expects these lines, and no part of any key, in the logs of all servers that were started here. Call it last. */
  expectNoKeyInLogs(keys: number, lines: RegExp[]): void;
  close(): Promise<void>;
}

export async function webShops(kind: Kind): Promise<WebShops> {
  const zip = await makePackage({}, 5 * 1024 * 1024);
  const stops: (() => Promise<void>)[] = [];
  const logs: (() => string)[] = [];
  const keys: string[] = [];
  const closing = (upstream: Upstream) => void stops.push(() => upstream.close());

  async function start(options: ServerOptions): Promise<TestWebServer> {
    const server = await kind.start(options);
    stops.push(() => server.stop());
    logs.push(() => server.allLogs());
    return server;
  }

  return {
    zip,
    start,
    closing,
    logs: () => logs.map((read) => read()).join('\n'),
    async open(settings = kind.senders[0]![1]) {
      const [packagesDir, xmlDir] = [sharedFolder(), sharedFolder()];
      const service = await startTestService({ LICENSING_PACKAGES_DIR: packagesDir, ...settings });
      stops.push(() => service.stop());
      logs.push(() => service.logLines.join(''));
      const { key } = await giveLicense(service.db, await givePlan(service.db));
      keys.push(key);
      const { release } = await giveRelease(service, { version: '2.1.0', file: zip.path });
      const server = await start({ upstream: hostOf(service), packagesDir, xmlDir });
      return { service, server, key, packagesDir, xmlDir, sha256: release.sha256 };
    },
    async behind(listener, edit) {
      const upstream = await startUpstream(listener);
      closing(upstream);
      const server = await start({ upstream: upstream.host, ...(edit && { edit }) });
      return { server, connections: () => upstream.connections() };
    },
    expectNoKeyInLogs(count, lines) {
      const everything = logs.map((read) => read()).join('\n');
      expect(lines.filter((line) => !line.test(everything))).toEqual([]);
      expect(keys).toHaveLength(count);
      const groups = keys.flatMap((key) => key.split('-'));
      expect(groups).toHaveLength(4 * count);
      expect(groups.filter((group) => everything.toUpperCase().includes(group))).toEqual([]);
    },
    async close() {
      for (const stop of stops.reverse()) await stop();
    },
  };
}

export function download({ server, key }: Shop, options: RequestOptions = {}): Promise<Answer> {
  return get(server, `${PREFIX}/downloads/42?dlid=${key}`, options);
}

/** Returns the headers of an answer that must be the same for every sender of packages. */
export function masked(answer: Answer): [string, string][] {
  return withoutOwn(answer).map(([name, value]) => [name, name === 'x-request-id' ? 'an id' : value]);
}
