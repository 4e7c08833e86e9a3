import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { CodedError, InvalidRequestError } from '../../base/errors';
import { createAddressRules } from '../../webhooks/addresses';
import { failureOf, readRetryAfter } from '../../webhooks/post';
import type { AskFailure } from '../../texts/operators/failures';

/** Asks a shop's own API. Headers carry the key; it is in no address, error or log. */

export class AskError extends CodedError<AskFailure> {
  constructor(
    code: AskFailure,
    readonly status?: number,
  ) {
    super(code);
  }

  /** as it is stored */
  get stored(): string {
    return this.status === undefined ? this.code : `${this.code} ${this.status}`;
  }
}

export interface ShopAnswer {
  status: number;
  body: Buffer;
  header: (name: string) => string | undefined;
}

/** @throws AskError when there is no answer within the limit, and the cut's reason when it is cut */
export type Ask = (url: string, headers: Record<string, string>, limits: AskLimits) => Promise<ShopAnswer>;

export interface AskLimits {
  /** for one answer */
  ms: number;
  /** ends the request: nobody waits for it any more */
  cut?: AbortSignal | undefined;
}

/** A hundred events with an invoice of a hundred lines each. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;
const LOOPBACK = ['127.0.0.0/8', '::1/128'];

/** Whether shops' APIs may be asked there instead of at their own addresses: on this machine, for a test. */
export function isTestApi(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url?.protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname);
}

/**
 * @param networks that may be reached besides public addresses, as webhooks may
 * @param isTest asks this machine, and nothing else
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
      // No look-up happens for a literal address.
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

/** The most entries that a page of a list is asked for. */
export const PER_PAGE = 100;

/**
 * Returns the entries of a page.
 * @throws InvalidRequestError for more than were asked for: a page of millions kept customers' calls waiting for seconds
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
/** How long the next try waits where the sender does not say. */
const WAITS_MS = [500, 2_000, 5_000];
/** A sender that asks for more has the next run wait. */
const MAX_WAIT_MS = 60_000;

/**
 * Asks again after a fault that may pass: a limit of the sender, an error of its own, no answer.
 * @param by when it has to be known, by `performance.now()`
 * @returns an answer of 200 or 404 @throws AskError
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
  if (status === 200 || status === 404) return answer;
  if (status === 429) return { error: new AskError('RATE_LIMITED'), mayPass: true, waitMs };
  if (status === 401 || status === 403) return { error: new AskError('KEY_REFUSED', status), mayPass: false };
  if (status >= 300 && status < 400) return { error: new AskError('MOVED', status), mayPass: false };
  return { error: new AskError('STATUS', status), mayPass: status >= 500, waitMs };
}
