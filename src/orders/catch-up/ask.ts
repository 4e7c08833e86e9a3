import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { challengerOf } from '../../base/challenge';
import { CodedError, InvalidRequestError } from '../../base/errors';
import { createAddressRules } from '../../webhooks/addresses';
import { failureOf, readRetryAfter } from '../../webhooks/post';
import type { AskFailure } from '../../texts/operators/failures';

/** Requests to a shop's API, with timeout, retry and backoff. The key is sent in headers, and never in a URL, error or log. */

export class AskError extends CodedError<AskFailure> {
  constructor(
    code: AskFailure,
    readonly status?: number,
  ) {
    super(code);
  }

  /** the failure in the form that is stored */
  get stored(): string {
    return this.status === undefined ? this.code : `${this.code} ${this.status}`;
  }
}

export interface ShopAnswer {
  status: number;
  body: Buffer;
  header: (name: string) => string | undefined;
}

/** Sends one request. @throws AskError without a response within the limit, and the signal's reason if it is aborted */
export type Ask = (url: string, headers: Record<string, string>, limits: AskLimits) => Promise<ShopAnswer>;

export interface AskLimits {
  /** for one response */
  ms: number;
  /** aborts the request, because its result is no longer needed */
  cut?: AbortSignal | undefined;
}

/** The maximum size of a response: a hundred events with an invoice of a hundred lines each. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;
const LOOPBACK = ['127.0.0.0/8', '::1/128'];

/** Reports whether a URL, set for a test instead of the shops' own APIs, is on this machine. */
export function isTestApi(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url?.protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname);
}

/**
 * @param networks that may be reached in addition to public addresses, like those of webhooks
 * @param isTest allows this machine only
 */
export function createAsk(networks: readonly string[], isTest: boolean): Ask {
  const rules = createAddressRules(isTest ? LOOPBACK : networks);
  const agents = {
    'https:': new HttpsAgent({ keepAlive: false }),
    'http:': new HttpAgent({ keepAlive: false }),
  };
  return async (href, headers, { ms, cut }) => {
    const url = new URL(href);
    const protocol = url.protocol as keyof typeof agents;
    const ending = new AbortController();
    const end = () => ending.abort();
    if (cut?.aborted) end();
    cut?.addEventListener('abort', end, { once: true });
    const timer = setTimeout(end, ms);
    try {
      // Check a literal address here, because it is never looked up.
      if (/^[\d.]+$|^\[/.test(url.hostname)) await rules.resolve(url.hostname, protocol);
      const sending = (protocol === 'https:' ? httpsRequest : httpRequest)(url, {
        headers: { ...headers, accept: 'application/json', 'user-agent': 'licensing-gateway' },
        agent: agents[protocol],
        lookup: rules.lookup(protocol),
        signal: ending.signal,
      });
      try {
        const response = await new Promise<IncomingMessage>((resolve, reject) => {
          sending.on('response', resolve).on('error', reject).end();
        });
        const body = await readAll(response);
        const header = (name: string) => {
          const value = response.headers[name];
          return Array.isArray(value) ? value[0] : value;
        };
        return { status: response.statusCode ?? 0, body, header };
      } finally {
        sending.on('error', () => undefined).destroy();
      }
    } catch (error) {
      cut?.throwIfAborted();
      if (error instanceof AskError) throw error;
      throw new AskError(ending.signal.aborted ? 'TIMEOUT' : failureOf(error));
    } finally {
      clearTimeout(timer);
      cut?.removeEventListener('abort', end);
    }
  };
}

/** The maximum number of entries that one page is asked for. */
export const PER_PAGE = 100;

/**
 * Returns the entries of a page.
 * @throws InvalidRequestError if there are more than requested: a page of millions blocked customers' calls for seconds
 */
export function entriesOf(list: unknown[]): unknown[] {
  if (list.length > PER_PAGE) throw new InvalidRequestError(`A page has more than ${PER_PAGE} entries.`);
  return list;
}

async function readAll(response: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > MAX_ANSWER_BYTES) throw new AskError('TOO_LARGE');
    parts.push(part);
  }
  return Buffer.concat(parts);
}

const ANSWER_LIMIT_MS = 30_000;
/** The backoff between attempts if the sender names no time. */
const WAITS_MS = [500, 2_000, 5_000];
/** The longest wait that a sender may ask for within a run. If it asks for more, the next run continues. */
const MAX_WAIT_MS = 60_000;

/**
 * Sends a request, and retries after a temporary failure: a rate limit, a server error or no response.
 * @param by the deadline, by `performance.now()`
 * @returns a response with status 200 or 404 @throws AskError
 */
export async function askPatiently(
  ask: Ask,
  url: string,
  headers: Record<string, string>,
  { by, cut }: { by: number; cut?: AbortSignal | undefined },
): Promise<ShopAnswer> {
  for (let tries = 0; ; tries++) {
    const left = by - performance.now();
    const failed = await askOnce(ask, url, headers, {
      ms: Math.max(1, Math.min(ANSWER_LIMIT_MS, left)),
      cut,
    });
    if (!('error' in failed)) return failed;
    const wait = failed.waitMs ?? WAITS_MS[tries];
    const isLate = wait === undefined || wait > MAX_WAIT_MS || performance.now() + wait >= by;
    if (!failed.mayPass || isLate || tries >= WAITS_MS.length) throw failed.error;
    await sleep(wait, undefined, { ...(cut && { signal: cut }) });
  }
}

interface Failed {
  error: AskError;
  mayPass: boolean;
  waitMs?: number | undefined;
}

async function askOnce(
  ask: Ask,
  url: string,
  headers: Record<string, string>,
  limits: AskLimits,
): Promise<ShopAnswer | Failed> {
  let answer: ShopAnswer;
  try {
    answer = await ask(url, headers, limits);
  } catch (error) {
    if (!(error instanceof AskError)) throw error;
    return { error, mayPass: ['TIMEOUT', 'NOT_CONNECTED', 'NOT_RESOLVED'].includes(error.code) };
  }
  const { status, header } = answer;
  const waitMs = readRetryAfter(header('retry-after'));
  if (challengerOf(header) !== undefined)
    return { error: new AskError('CHALLENGED', status), mayPass: false };
  if (status === 200 || status === 404) return answer;
  if (status === 429) return { error: new AskError('RATE_LIMITED'), mayPass: true, waitMs };
  if (status === 401 || status === 403) return { error: new AskError('KEY_REFUSED', status), mayPass: false };
  if (status >= 300 && status < 400) return { error: new AskError('MOVED', status), mayPass: false };
  return { error: new AskError('STATUS', status), mayPass: status >= 500, waitMs };
}
