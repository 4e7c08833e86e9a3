import { expect } from '@jest/globals';
import { createServer, request as httpRequest, type RequestListener, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect, type AddressInfo } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { PREFIX, rows, type TestService } from './service';

export interface WebServer {
  /** the site's address: `http://127.0.0.1:port` or `https://127.0.0.1:port` */
  url: string;
  port: number;
}

export interface Answer {
  status: number;
  reason: string;
  headers: Record<string, string | string[] | undefined>;
  rawHeaders: string[];
  body: Buffer;
  json(): unknown;
}

export function ask(
  base: string,
  path: string,
  options: RequestOptions = {},
  body?: string,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = base.startsWith('https:') ? httpsRequest : httpRequest;
    request(`${base}${path}`, { agent: false, rejectUnauthorized: false, ...options }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', reject);
      response.once('end', () => {
        const { statusCode = 0, statusMessage = '', headers, rawHeaders } = response;
        const whole = Buffer.concat(chunks);
        const json = () => JSON.parse(whole.toString()) as unknown;
        resolve({ status: statusCode, reason: statusMessage, headers, rawHeaders, body: whole, json });
      });
    })
      .once('error', reject)
      .end(body);
  });
}

export function get({ url }: WebServer, path: string, options: RequestOptions = {}): Promise<Answer> {
  return ask(url, path, options);
}

/** Sends a POST. @param path below the API's prefix */
export function post({ url }: WebServer, path: string, body: object): Promise<Answer> {
  const headers = { 'Content-Type': 'application/json' };
  return ask(url, PREFIX + path, { method: 'POST', headers }, JSON.stringify(body));
}

/** Validates a key. @param folder the site's subfolder */
export function validate(
  { url }: WebServer,
  key: string,
  { headers, ...options }: { localAddress?: string; headers?: Record<string, string> } = {},
  folder = '',
): Promise<Answer> {
  return ask(
    url,
    `${folder}${PREFIX}/licenses/validate`,
    {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...headers },
      ...options,
    },
    `license_key=${key}`,
  );
}

/** Sends a raw request line in latin1: one byte for each character. */
export function raw({ url, port }: WebServer, line: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const to = { port, host: '127.0.0.1', rejectUnauthorized: false };
    const socket = url.startsWith('https:') ? connectTls(to) : connect(to);
    let answer = '';
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString('latin1')));
    socket.once('error', reject).once('end', () => resolve(answer));
    socket.write(`${line}\r\nHost: shop.example\r\nConnection: close\r\n\r\n`, 'latin1');
  });
}

/** Returns all headers by name, including repeated ones, without those that the web server adds to every answer. */
export function withoutOwn({ rawHeaders }: Answer): [string, string][] {
  return rawHeaders
    .flatMap((name, at): [string, string][] =>
      at % 2 === 0 ? [[name.toLowerCase(), rawHeaders[at + 1] as string]] : [],
    )
    .filter(([name]) => name !== 'date' && name !== 'server')
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

export async function everyEndpointAnswers(server: WebServer, key: string): Promise<void> {
  const activation = { license_key: key, identifier: 'a.example' };

  expect((await get(server, `${PREFIX}/updates/42`)).json()).toMatchObject({ data: { version: '2.1.0' } });
  expect((await validate(server, key)).json()).toMatchObject({ data: { valid: true, license_key: key } });
  expect((await post(server, '/licenses/activate', activation)).status).toBe(200);
  expect((await post(server, '/licenses/deactivate', activation)).status).toBe(200);
  expect((await get(server, `${PREFIX}/downloads/42?dlid=${key}`)).status).toBe(200);
  // No signing key exists.
  const noFile = await post(server, '/licenses/token', activation);
  expect([noFile.status, noFile.json()]).toMatchObject([404, { error: { code: 'NOT_FOUND' } }]);
  const keys = await get(server, `${PREFIX}/keys.json`);
  expect(keys.json()).toEqual({ keys: [] });
  expect(keys.headers['cache-control']).toBe('public, max-age=3600');
}

/** Returns the client address at the latest validation of the service's only licence. */
export async function lastCheckIp({ service }: { service: TestService }): Promise<unknown> {
  const [license] = await rows(service.db, 'licenses');
  return license?.last_check_ip;
}

/** Returns the address in the form of a web server's configuration. */
export function hostOf({ url }: TestService): string {
  return url.replace('http://', '');
}

export interface Upstream {
  /** `127.0.0.1:3080` */
  host: string;
  connections(): number;
  close(): Promise<void>;
}

/** Starts a faulty upstream server, for answers that a healthy service never gives. */
export async function startUpstream(listener: RequestListener, port = 0): Promise<Upstream> {
  let connections = 0;
  const server = createServer(listener).on('connection', () => connections++);
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: () => connections,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
