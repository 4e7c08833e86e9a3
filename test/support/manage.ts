import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from '@jest/globals';
import type { Scope } from '../../src/access/caller';
import { addToken } from '../../src/access/tokens';
import type { Settings } from '../../src/settings/config';
import type { Db } from '../../src/store/engine/database';
import { PREFIX, startTestService, type OwnSettings, type TestService } from './service';

/** The operator's API over HTTP, as a shop or a script uses it. */

export const MANAGE = `${PREFIX}/manage`;
export const NOW = new Date('2026-11-24T12:00:00Z');

export interface ManageAnswer {
  status: number;
  headers: Headers;
  text: string;
  /** the JSON; undefined without a body */
  body: Body;
}

/** The fields of answers that tests read; a missing one fails there. */
export type Thing = Record<string, any>; // oxlint-disable-line typescript/no-explicit-any
interface Body {
  data: Thing;
  next: string | null;
  error: { code: string; message: string; field?: string };
}

export interface Sent {
  /** an object becomes JSON; a text or bytes are sent unchanged */
  body?: unknown;
  headers?: Record<string, string>;
  /** for a body that the service reads as it arrives */
  stream?: AsyncIterable<Uint8Array>;
}

export interface ManageClient {
  token: string;
  /** sends `send('POST /licenses', { body })`; the path is below `P/manage` */
  send(call: string, sent?: Sent): Promise<ManageAnswer>;
  /** Expects a success. @returns its `data` */
  ok(call: string, body?: unknown, status?: number): Promise<Thing>;
  /** Expects a refusal with this code and field. @returns its message */
  refused(call: string, body: unknown, refusal: Refusal, field?: string): Promise<string>;
  /** Lists all items by pages of `limit`. */
  all(path: string, limit?: number): Promise<Thing[]>;
}

const REFUSALS = {
  INVALID_REQUEST: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  SIGN_IN_AGAIN: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  CONFLICT: 409,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  IDEMPOTENCY_MISMATCH: 422,
  RATE_LIMITED: 429,
  SERVICE_UNAVAILABLE: 503,
  INSUFFICIENT_STORAGE: 507,
} as const;
export type Refusal = keyof typeof REFUSALS;

/** Reports whether an answer asks for a retry: the service is busy, or a first request with its key is running. */
export function isLate({ status, headers }: Pick<ManageAnswer, 'status' | 'headers'>): boolean {
  return (status === 503 || status === 409) && headers.has('retry-after');
}

/** Retries when the service asks for it, as a client does: on a busy machine a request may be late. */
export async function sendAgain<A extends Pick<ManageAnswer, 'status' | 'headers'>>(
  send: () => Promise<A>,
): Promise<A> {
  let answer = await send();
  for (let left = 3; isLate(answer) && left > 0; left--) {
    await sleep(1_000 * Number(answer.headers.get('retry-after')));
    answer = await send();
  }
  return answer;
}

/** Returns a client of the API. @param heard receives all texts, for `expectNoSecrets` */
export function manageClient(
  url: string,
  token: string,
  heard: (text: string) => void = () => undefined,
): ManageClient {
  const client: ManageClient = {
    token,
    async send(call, { body, headers = {}, stream } = {}) {
      const [method, path] = call.split(/ (.*)/s) as [string, string];
      const isRaw =
        body === undefined ||
        typeof body === 'string' ||
        body instanceof Uint8Array ||
        body instanceof FormData;
      const sent = isRaw ? body : JSON.stringify(body);
      heard(JSON.stringify([path, headers, typeof sent === 'string' ? sent : '']));
      const response = await fetch(`${url}${MANAGE}${path}`, {
        method,
        headers: {
          ...(token === '' ? {} : { Authorization: `Bearer ${token}` }),
          ...(isRaw ? {} : { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(stream === undefined
          ? { body: sent ?? null }
          : { body: ReadableStream.from(stream), duplex: 'half' as const }),
      });
      const text = await response.text();
      heard(text);
      return {
        status: response.status,
        headers: response.headers,
        text,
        body: (text === '' ? undefined : JSON.parse(text)) as Body,
      };
    },
    async ok(call, body, status = 200) {
      // The key makes the retry safe (idempotency).
      const headers: Record<string, string> = call.startsWith('POST ')
        ? { 'Idempotency-Key': randomUUID() }
        : {};
      const send = () => client.send(call, { body, headers });
      const answer = await (status === 503 ? send() : sendAgain(send));
      if (answer.status !== status) throw new Error(`${call}: ${answer.status} ${answer.text}`);
      return answer.text === '' ? {} : answer.body.data;
    },
    async refused(call, body, refusal, field) {
      const answer = await client.send(call, { body });
      expectRefusal(answer, refusal, field, call);
      return answer.body.error.message;
    },
    async all(path, limit = 500) {
      const things: Thing[] = [];
      for (let after: string | null = ''; after !== null;) {
        const page = `${path}${path.includes('?') ? '&' : '?'}limit=${limit}`;
        const answer = await client.send(
          `GET ${page}${after === '' ? '' : `&after=${encodeURIComponent(after)}`}`,
        );
        expect(answer.status).toBe(200);
        const data = answer.body.data as Thing[];
        // Every page but the last is full.
        if (answer.body.next !== null) expect(data).toHaveLength(limit);
        things.push(...data);
        after = answer.body.next;
      }
      return things;
    },
  };
  return client;
}

export function expectRefusal(
  { status, headers, text, body }: ManageAnswer,
  refusal: Refusal,
  field?: string,
  call?: string,
): void {
  const error = { code: refusal, message: expect.any(String), ...(field === undefined ? {} : { field }) };
  const given = text === '' ? {} : { ...body.error, ...(field === undefined ? { field: undefined } : {}) };
  expect([call, status, given]).toEqual([call, REFUSALS[refusal], error]);
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(headers.get('cache-control')).toBe('no-store');
}

/** The maximum text, because searching a megabyte of one letter for addresses would take hours. */
const MAX_HEARD = 10_000;

export interface Managed extends TestService {
  read: ManageClient;
  issue: ManageClient;
  write: ManageClient;
  /** returns a client with a new token */
  withToken(scope: Scope, name: string, expiresAt?: Date | null): Promise<ManageClient & { id: number }>;
  /** returns a client with this text as its token */
  as(token: string): ManageClient;
  /** every text that was sent or received */
  heard: string[];
}

/** Starts a service with a token of each scope (`reader`, `shop`, `admin`); the clock stays at NOW. */
export async function startManaged(
  settings: Settings = {},
  now = NOW,
  own: OwnSettings = {},
): Promise<Managed> {
  const service = await startTestService(
    {
      LICENSING_MANAGE_RATE_LIMIT: '100000',
      LICENSING_KEY_SECRET: randomBytes(32).toString('base64'),
      ...settings,
    },
    now,
    own,
  );
  const heard: string[] = [];
  const as = (token: string) =>
    manageClient(service.url, token, (text) => void heard.push(text.slice(0, MAX_HEARD)));
  const withToken = async (scope: Scope, name: string, expiresAt: Date | null = null) => {
    const { token, id } = await giveToken(service.db, scope, name, { expiresAt, now: service.clock.now });
    return { ...as(token), id };
  };
  const [read, issue, write] = [
    await withToken('read', 'reader'),
    await withToken('issue', 'shop'),
    await withToken('write', 'admin'),
  ];
  return { ...service, heard, as, withToken, read, issue, write };
}

export async function giveToken(
  db: Db,
  scope: Scope,
  name: string,
  { expiresAt = null, now = NOW }: { expiresAt?: Date | null; now?: Date } = {},
): Promise<{ token: string; id: number }> {
  const { token, stored } = await addToken(db, { name, scope, expiresAt }, { actor: 'operator:test', now });
  return { token, id: stored.id };
}

const SECRETS = [
  /lgw_[\w-]{49}/g,
  /[0-9A-F]{8}(?:-[0-9A-F]{8}){3}/gi,
  // Search from a word's first character: a search from each one takes the square of a long word's time.
  /(?<![\w.+-])[\w.+-]+@[\w.-]+\.\w+/g,
  /(?<="Idempotency-Key":")[^"]+/g,
];

/** Expects no secret of these texts in the log: token, key, address or Idempotency-Key. Call it at a suite's end. */
export function expectNoSecrets({ heard, logLines, read, issue, write }: Managed): void {
  const secrets = new Set(
    heard.flatMap((text) => SECRETS.flatMap((secret) => text.replaceAll('%40', '@').match(secret) ?? [])),
  );
  for (const { token } of [read, issue, write]) secrets.add(token);
  expect(logLines.filter((line) => line.includes('"endpoint":"manage"')).length).toBeGreaterThan(0);
  const log = logLines.join('\n').toLowerCase().replaceAll('%40', '@');
  // Skip a short Idempotency-Key, which may be a word of the log.
  expect([...secrets].filter((secret) => secret.length > 5 && log.includes(secret.toLowerCase()))).toEqual(
    [],
  );
}
