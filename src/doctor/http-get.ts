import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { readChallenge } from '../joomla/challenge';
import { simulationUserAgent } from '../joomla/updater/agent';
import { ASSUMED_JOOMLA } from '../joomla/updater/try';
import type { Challenge } from '../texts/operators/doctor';

/** The options of a request like those of Joomla's updater, because a CDN or firewall may decide by the User-Agent. */
export const AS_JOOMLA = { headers: { 'User-Agent': simulationUserAgent(ASSUMED_JOOMLA) } };

class ChallengedError extends Error {
  constructor(readonly challenge: Challenge) {
    super();
  }
}

/** Returns the response of a CDN or firewall that made `httpGet` fail; undefined for any other error. */
export function challengeOf(error: unknown): Challenge | undefined {
  return error instanceof ChallengedError ? error.challenge : undefined;
}

export interface HttpResponse {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  /** the first 64 KiB of the body */
  body: string;
  /** the client's address of the connection */
  localAddress: string;
}

export interface GetOptions {
  headers?: Record<string, string>;
  /** the address to connect from */
  localAddress?: string | undefined;
  /** authorities for the certificate; undefined for Node's own */
  ca?: string[] | undefined;
  /** aborts the request, however much has arrived */
  signal?: AbortSignal;
  /** receives the whole body; by default, reading stops after 64 KiB */
  onChunk?: (chunk: Buffer) => void;
}

const TIMEOUT_MS = 15_000;
const MAX_BODY = 64 * 1024;

/** Sends a GET on a new connection. A redirect is returned, not followed. The response of a CDN or firewall is an error: see `challengeOf`. */
export function httpGet(
  url: URL,
  { headers, localAddress, ca, signal, onChunk }: GetOptions = {},
): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(
      url,
      {
        agent: false,
        headers: { Accept: '*/*', ...headers },
        timeout: TIMEOUT_MS,
        ...(signal === undefined ? {} : { signal }),
        ...(localAddress === undefined ? {} : { localAddress }),
        ...(ca === undefined ? {} : { ca }),
      },
      (response) => {
        const challenge = readChallenge(url, response.statusCode ?? 0, (name) => response.headers[name]);
        if (challenge !== undefined) {
          request.destroy();
          return reject(new ChallengedError(challenge));
        }
        const own = (response.socket.localAddress ?? '').replace(/^::ffff:/, '');
        const chunks: Buffer[] = [];
        let size = 0;
        const done = () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(chunks).toString('utf8'),
            localAddress: own,
          });
        response.on('data', (chunk: Buffer) => {
          if (size < MAX_BODY) chunks.push(chunk.subarray(0, MAX_BODY - size));
          size += chunk.length;
          onChunk?.(chunk);
          if (size < MAX_BODY || onChunk) return;
          done();
          request.destroy();
        });
        response.on('end', done);
        response.on('error', reject);
      },
    );
    request.on('timeout', () => request.destroy(new Error(`no answer within ${TIMEOUT_MS / 1000} s`)));
    request.on('error', reject);
    request.end();
  });
}

/** Returns a header's value; its first one if it has several, and empty without any. */
export function header({ headers }: HttpResponse, name: string): string {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? '';
}
