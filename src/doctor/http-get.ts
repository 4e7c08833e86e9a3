import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { readChallenge } from '../joomla/challenge';
import { trialUserAgent } from '../joomla/updater/agent';
import { ASSUMED_JOOMLA } from '../joomla/updater/try';
import type { Challenge } from '../texts/operators/doctor';

/** The options of a request as Joomla's updater makes it, because a CDN or firewall may decide by the User-Agent. */
export const AS_JOOMLA = { headers: { 'User-Agent': trialUserAgent(ASSUMED_JOOMLA) } };

class ChallengedError extends Error {
  constructor(readonly challenge: Challenge) {
    super();
  }
}

/** Returns the response of a CDN or firewall that a request failed for; undefined for any other error. */
export function challengeOf(error: unknown): Challenge | undefined {
  return error instanceof ChallengedError ? error.challenge : undefined;
}

export interface Answer {
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

const PATIENCE_MS = 15_000;
const MAX_BODY = 64 * 1024;

/** Sends a GET on a new connection. A redirect is returned, not followed. `challengeOf` explains some errors. */
export function httpGet(
  url: URL,
  { headers, localAddress, ca, signal, onChunk }: GetOptions = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(
      url,
      {
        agent: false,
        headers: { Accept: '*/*', ...headers },
        timeout: PATIENCE_MS,
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
    request.on('timeout', () => request.destroy(new Error(`no answer within ${PATIENCE_MS / 1000} s`)));
    request.on('error', reject);
    request.end();
  });
}

/** Returns a header's value; its first one if it has several, and empty without any. */
export function header({ headers }: Answer, name: string): string {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? '';
}
