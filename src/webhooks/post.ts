import {
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { challengerOf } from '../base/challenge';
import { isCoded } from '../base/errors';
import { redactKeys } from '../licensing/core/keys';
import { type AddressRules } from './addresses';
import type { PostFailure } from '../texts/operators/failures';

/** One attempt to deliver a webhook over HTTP. */

export interface PostResult {
  /** undefined without a response */
  status: number | undefined;
  /** the beginning of the response's text */
  answer: string;
  /** true if the receiver sent more than is stored */
  isLong?: boolean;
  /** undefined if the receiver accepted it (2xx) */
  failure: PostFailure | undefined;
  /** the time in ms that the receiver asks to wait */
  retryAfter: number | undefined;
}

export type Post = (
  url: string,
  headers: Record<string, string>,
  body: string,
  /** aborts the attempt when the process stops */
  cut: AbortSignal,
) => Promise<PostResult>;

/** The timeout of an attempt (docs/webhooks.md). */
export const ATTEMPT_LIMIT_MS = 15_000;
/** The maximum number of bytes to read. The status decides, and a receiver may send without end. */
const READ_BYTES = 1_024;
const READ_LIMIT_MS = 1_000;

/** @param ca authorities in addition to the system's, in PEM @throws only if it is aborted */
export function createPost(rules: AddressRules, ca?: string): Post {
  // Open a new connection for each attempt: a kept one that the receiver closes would make an attempt fail.
  const agents = {
    'https:': new HttpsAgent({ keepAlive: false, ...(ca !== undefined && { ca }) }),
    'http:': new HttpAgent({ keepAlive: false }),
  };

  return async (href, headers, body, cut) => {
    const url = new URL(href);
    const protocol = url.protocol as keyof typeof agents;
    const ending = new AbortController();
    const end = () => ending.abort();
    cut.addEventListener('abort', end, { once: true });
    const timer = setTimeout(end, ATTEMPT_LIMIT_MS);
    try {
      // Check a literal address here, because it is not looked up.
      if (/^[\d.]+$|^\[/.test(url.hostname)) await rules.resolve(url.hostname, protocol);
      return await send(url, {
        method: 'POST',
        headers: {
          ...headers,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          'user-agent': 'licensing-gateway',
        },
        agent: agents[protocol],
        lookup: rules.lookup(protocol),
        signal: ending.signal,
      });
    } catch (error) {
      if (cut.aborted) throw error;
      const failure = ending.signal.aborted ? 'TIMEOUT' : failureOf(error);
      return { status: undefined, answer: '', failure, retryAfter: undefined };
    } finally {
      clearTimeout(timer);
      cut.removeEventListener('abort', end);
    }

    async function send(to: URL, options: RequestOptions): Promise<PostResult> {
      const sending = (protocol === 'https:' ? httpsRequest : httpRequest)(to, options);
      try {
        const response = await new Promise<IncomingMessage>((resolve, reject) => {
          sending.on('response', resolve).on('error', reject).end(body);
        });
        // Ignore errors after the status, because the rest of the response does not matter.
        sending.on('error', () => undefined);
        const status = response.statusCode ?? 0;
        const isChallenged = challengerOf((name) => response.headers[name]) !== undefined;
        return {
          status,
          ...(await readBeginning(response)),
          // AWS WAF's challenge has the status 202.
          failure: isChallenged ? 'CHALLENGED' : status >= 200 && status < 300 ? undefined : 'STATUS',
          retryAfter: readRetryAfter(response.headers['retry-after']),
        };
      } finally {
        sending.destroy();
      }
    }
  };
}

function readBeginning(response: IncomingMessage): Promise<Pick<PostResult, 'answer' | 'isLong'>> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    let bytes = 0;
    const done = () => {
      clearTimeout(timer);
      const answer = readable(Buffer.concat(parts).subarray(0, READ_BYTES).toString('utf8'));
      resolve({ answer, isLong: bytes > READ_BYTES });
    };
    const timer = setTimeout(done, READ_LIMIT_MS);
    response
      .on('data', (part: Buffer) => {
        parts.push(part);
        bytes += part.length;
        if (bytes >= READ_BYTES) done();
      })
      .on('end', done)
      .on('error', done)
      .on('close', done);
  });
}

function readable(text: string): string {
  return redactKeys(text.toWellFormed().replace(/[^\P{Cc}\n\t]/gu, ' ')).trim();
}

/** Reads Retry-After, which is in seconds or a date (RFC 9110, 10.2.3). @returns milliseconds */
export function readRetryAfter(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = /^\d{1,9}$/.test(text.trim()) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isFinite(ms) && ms > 0 ? ms : undefined;
}

/** Returns the reason that a request got no response. */
export function failureOf(error: unknown): PostFailure {
  if (isCoded(error, 'ADDRESS_REFUSED')) return 'ADDRESS_REFUSED';
  const { code = '' } = error as NodeJS.ErrnoException;
  if (['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'ENODATA', 'EAI_NODATA'].includes(code)) return 'NOT_RESOLVED';
  if (/CERT|SSL|TLS|SELF_SIGNED|VERIFY|ALTNAME/.test(code)) return 'TLS';
  if (code.startsWith('HPE_')) return 'INVALID_ANSWER';
  return /^E[A-Z]+$/.test(code) ? 'NOT_CONNECTED' : 'UNKNOWN';
}
