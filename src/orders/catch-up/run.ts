import { DAY_MS, HOUR_MS, formatTimestamp } from '../../base/days';
import { InvalidRequestError } from '../../base/errors';
import { SealError } from '../../licensing/sealing';
import type { Db } from '../../store/engine/database';
import { isUnavailable } from '../../store/engine/errors';
import { setShop, type Shop } from '../../store/orders/shops';
import { knowsLink } from '../inbox';
import { ADAPTERS } from '../adapters';
import type { InboundWebhook } from '../adapters/adapter';
import { takeMessage, type TakeContext } from '../take-message';
import { openApiKey } from './api-key';
import { AskError, askPatiently, createAsk, type Ask } from './ask';
import { listOf } from './list';
import type { ShopList, Window } from './shop-list';

/**
 * Backfill of missed webhooks: reads a sender's list of its events, and takes each entry like the message that reported
 * it. Each message takes effect once, so a list may be read again from any cursor. A run stores its cursor after each
 * page, and the next run continues there.
 */

/** Runs overlap, because an event may be listed after a newer one, and this machine's clock may be ahead. */
const OVERLAP_MS = HOUR_MS;
/** The number of days that the first run covers; Stripe lists no more. */
const FIRST_DAYS = 30;
/** The maximum age of a stored cursor. An older one may no longer be valid. */
const MAX_PLACE_AGE_MS = 2 * DAY_MS;
/** The maximum number of pages of a run. */
const MAX_PAGES = 100;
/** The maximum time of a run: a client waits for it, and proxies give up after a minute. */
const MAX_RUN_MS = 40_000;

export interface CatchUpContext extends Omit<TakeContext, 'now'> {
  now: () => Date;
  /** networks that may be reached in addition to public addresses */
  networks: readonly string[];
  /** replaces the sender's own address, for a test on this machine */
  apiUrl?: string | undefined;
  /** aborts the run, because its client has left or the process stops */
  cut?: AbortSignal | undefined;
  maxPages?: number;
  /** receives, after each page, the number of pages and of messages that had been missed */
  onPage?: ((pages: number, caughtUp: number) => void) | undefined;
}

export interface CaughtUp {
  since: Date;
  until: Date;
  pages: number;
  /** the number of listed messages */
  messages: number;
  /** the number of listed messages that had not arrived */
  caughtUp: number;
  /** the number of missed messages that cannot be stored */
  refused: number;
  /** false if the next run has to continue */
  isDone: boolean;
  /** the stored reason for an early end; null if the run did not fail */
  failure: string | null;
}

/** The place where a run ended. */
interface Place {
  since: string;
  until: string;
  cursor: string;
  /** true if everything before `since` has been read */
  joins: boolean;
}

interface OpenShop {
  shop: Shop;
  list: ShopList;
  key: string;
  origin: string;
}

/** Catches up a shop. @param since by default the time or the place that the last run reached */
export async function catchUp(
  db: Db,
  shop: Shop,
  since: Date | undefined,
  context: CatchUpContext,
): Promise<CaughtUp> {
  const started = context.now();
  const by = performance.now() + MAX_RUN_MS;
  await setShop(db, shop.id, { catchUpTriedAt: started });
  const done: CaughtUp = {
    ...{ since: since ?? started, until: started, pages: 0, messages: 0, caughtUp: 0, refused: 0 },
    ...{ isDone: false, failure: null },
  };
  const asking = { by, cut: context.cut };
  const maxPages = context.maxPages ?? MAX_PAGES;
  try {
    const from = open(shop, context);
    const ask = createAsk(context.networks, context.apiUrl !== undefined);
    const begun = beginning(shop, from.list, since, started);
    const failures: unknown[] = [];
    let { window, cursor, joins } = begun;
    done.since = window.since;
    while (done.pages < maxPages && performance.now() < by) {
      const page = await readPage(ask, from, window, cursor, asking);
      done.pages++;
      for (const delivery of page.deliveries) {
        context.cut?.throwIfAborted();
        await takeOne(db, ask, from, delivery, { ...context, now: context.now() }, done).catch(
          (error: unknown) => {
            if ((context.cut?.aborted ?? false) || error instanceof SealError || isUnavailable(error))
              throw error;
            failures.push(error);
          },
        );
      }
      // Continue after a failed entry; a later run reads it again.
      joins &&= failures.length === 0;
      context.onPage?.(done.pages, done.caughtUp);
      cursor = page.next;
      await setShop(db, shop.id, {
        catchUpJson: cursor === undefined ? null : placeOf(window, cursor, joins),
      });
      if (cursor !== undefined) continue;
      if (joins) await setShop(db, shop.id, { caughtUpUntil: window.until });
      // A run that continued another one has not yet read the events since that began.
      done.isDone = window.until >= started;
      if (done.isDone) break;
      window = { since: new Date(window.until.getTime() - OVERLAP_MS), until: started };
    }
    if (failures.length > 0) throw failures[0];
    await setShop(db, shop.id, {
      catchUpFailure: null,
      ...(done.isDone && { caughtUpAt: context.now() }),
    });
    return done;
  } catch (error) {
    const failure = failureOf(error);
    if (failure === undefined) throw error;
    await setShop(db, shop.id, { catchUpFailure: failure });
    return { ...done, failure };
  }
}

function failureOf(error: unknown): string | undefined {
  if (error instanceof AskError) return error.stored;
  return error instanceof SealError ? 'SECRET' : undefined;
}

/** Returns the place where the last run ended, or a new window from the time that it reached. */
function beginning(
  shop: Shop,
  { days }: ShopList,
  asked: Date | undefined,
  now: Date,
): { window: Window; cursor: string | undefined; joins: boolean } {
  const ago = (ms: number) => new Date(now.getTime() - ms);
  const later = (one: Date, other: Date) => (one > other ? one : other);
  const known = shop.caughtUpUntil;
  const expected =
    known === null ? later(shop.createdAt, ago(FIRST_DAYS * DAY_MS)) : new Date(known.getTime() - OVERLAP_MS);
  const place = JSON.parse(shop.catchUpJson ?? 'null') as Place | null;
  if (asked === undefined && place !== null && new Date(place.until) > ago(MAX_PLACE_AGE_MS)) {
    const window = { since: new Date(place.since), until: new Date(place.until) };
    return { window, cursor: place.cursor, joins: place.joins };
  }
  const since = asked ?? (days === undefined ? expected : later(expected, ago(days * DAY_MS)));
  return {
    window: { since, until: now },
    cursor: undefined,
    joins: asked === undefined || asked <= expected,
  };
}

function placeOf({ since, until }: Window, cursor: string, joins: boolean): string {
  const place: Place = { since: formatTimestamp(since), until: formatTimestamp(until), cursor, joins };
  return JSON.stringify(place);
}

/** Opens the shop's key. @throws SealError if it cannot be opened; `catchUpState` has checked that it exists */
function open(shop: Shop, { secret, apiUrl }: Pick<CatchUpContext, 'secret' | 'apiUrl'>): OpenShop {
  const list = listOf(shop.kind);
  const key = openApiKey(shop, secret);
  if (list === undefined || key === undefined)
    throw new SealError('The API key of the shop cannot be opened.');
  return { shop, list, key, origin: (apiUrl ?? list.origin(key, shop.siteUrl)).replace(/\/+$/, '') };
}

/** Reads a page of the list. @throws AskError */
async function readPage(
  ask: Ask,
  { list, key, origin }: OpenShop,
  window: Window,
  cursor: string | undefined,
  asking: { by: number; cut?: AbortSignal | undefined },
) {
  const url = `${origin}${list.path(window, cursor)}`;
  const answer = await askPatiently(ask, url, list.headers(key), asking);
  if (answer.status === 404) {
    const missing = list.missing?.(cursor);
    if (missing === undefined) throw new AskError('NOT_FOUND', 404);
    return { ...missing, deliveries: [] };
  }
  try {
    return list.read(answer, window, cursor);
  } catch (error) {
    throw error instanceof InvalidRequestError ? new AskError('INVALID_ANSWER') : error;
  }
}

async function takeOne(
  db: Db,
  ask: Ask,
  { shop, key }: OpenShop,
  delivery: InboundWebhook,
  context: CatchUpContextNow,
  done: CaughtUp,
): Promise<void> {
  const adapter = ADAPTERS[shop.kind as keyof typeof ADAPTERS];
  done.messages++;
  const knows = (id: string) => knowsLink(db, shop.name, id);
  const whole = await completed(delivery, { kind: shop.kind, key, ask, knows, ...context });
  // Take a stored message again: its instance may have been killed before it took effect.
  const { result, isNew } = await takeMessage(db, { shop: shop.name, adapter, delivery: whole }, context);
  if (isNew) done.caughtUp++;
  if (result === 'unreadable' || result === 'queued') done.refused++;
}

type CatchUpContextNow = Omit<CatchUpContext, 'now'> & { now: Date };

/** The time limit for adding data to a message. A sender that waits for the response would give up. */
const COMPLETE_LIMIT_MS = 3_000;

interface CompleteContext extends Pick<CatchUpContext, 'apiUrl' | 'cut'> {
  kind: string;
  key: string | undefined;
  ask: Ask;
  knows: (key: string) => Promise<boolean>;
}

/** Adds data that the sender left out, from its API. Returns the message unchanged if that fails or takes too long. */
export async function completed(
  delivery: InboundWebhook,
  { kind, key, ask, knows, apiUrl, cut }: CompleteContext,
): Promise<InboundWebhook> {
  const adapter = ADAPTERS[kind as keyof typeof ADAPTERS];
  const list = listOf(kind);
  if (adapter.complete === undefined || list === undefined || key === undefined) return delivery;
  const by = performance.now() + COMPLETE_LIMIT_MS;
  const origin = apiUrl ?? list.origin(key, null);
  try {
    const get = async (path: string) => {
      const answer = await askPatiently(ask, `${origin}${path}`, list.headers(key), { by, cut });
      if (answer.status === 404) throw new AskError('NOT_FOUND', 404);
      return JSON.parse(answer.body.toString('utf8')) as object;
    };
    return await adapter.complete(delivery, get, knows);
  } catch {
    cut?.throwIfAborted();
    return delivery;
  }
}
