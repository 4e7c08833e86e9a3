import { setTimeout as sleep } from 'node:timers/promises';
import { foldedDigest } from '../../licensing/core/keys';
import { InvalidRequestError } from '../../base/errors';
import type { Context } from '../context';
import type { Attempt, DownloadOutcome } from './download-limiter';
import type { LimitResult, Limiter } from './rate-limit';
import { readDownload } from '../requests';
import { createKeyedSemaphore, permitInTime } from './keyed-semaphore';

/** The share of a limit that one process may have in doubt: a quarter, so that other processes have room too. */
const SHARE_IN_DOUBT = 4;
/** The maximum number of an address's requests that wait for a turn. */
const MAX_WAITING = 1_000;
/** The pause between attempts while requests in doubt fill the limit, and the part of the deadline for attempts. */
const ASK_AGAIN_MS = 10;
const SHARE_OF_DEADLINE = 1 / 2;

/** The codes that count as guesses, by address. */
const GUESSES: ReadonlySet<string> = new Set(['LICENSE_NOT_FOUND', 'INVALID_REQUEST', 'METHOD_NOT_ALLOWED']);
/** The codes of the service's own faults, which prove nothing about the client. */
const FAULTS: ReadonlySet<string> = new Set(['SERVICE_UNAVAILABLE', 'INTERNAL_ERROR']);

type Refuse = (ctx: Context, allowance: LimitResult) => void;

/**
 * Returns middleware that counts downloads and checks by outcome: guesses by address, others by key and address
 * (docs/api-errors.md, "Limits").
 */
export function limitDownloads({ downloads, downloadLimit }: Limiter, refuse: Refuse) {
  const takeTurn = createKeyedSemaphore(MAX_WAITING, () =>
    Math.max(1, Math.floor(downloadLimit() / SHARE_IN_DOUBT)),
  );
  return async (ctx: Context, work: () => Promise<void>): Promise<void> => {
    const { limitKey: client } = ctx.state.client;
    const endTurn = await permitInTime(ctx, takeTurn(client));
    if (endTurn === undefined) return refuse(ctx, { allowed: false, retryAfter: 1, first: false });
    let settling: Promise<unknown> | undefined;
    try {
      const asked: Attempt = { client, key: keyOf(ctx), isCheck: ctx.state.endpoint === 'check' };
      const end = performance.now() + ctx.state.deadlineMs * SHARE_OF_DEADLINE;
      let taken = await downloads.take(asked);
      // Requests in doubt are decided within ms, unless the database hangs.
      while (taken.full === 'doubt' && performance.now() <= end) {
        await sleep(ASK_AGAIN_MS);
        taken = await downloads.take(asked);
      }
      if (taken.full !== undefined)
        return refuse(ctx, {
          allowed: false,
          retryAfter: Math.max(1, Math.ceil(taken.endsIn / 1000)),
          first: taken.first,
        });
      let outcome: DownloadOutcome = { is: 'open' };
      try {
        await work();
        outcome = outcomeOf(ctx);
      } catch (error) {
        if (error instanceof InvalidRequestError) outcome = { is: 'unknown' };
        throw error;
      } finally {
        settling = downloads.settle(asked, outcome);
      }
    } finally {
      // Do not delay the answer until this is counted, only the next request of this address.
      if (settling === undefined) endTurn();
      else void settling.then(endTurn, endTurn);
    }
  };
}

/** Returns one name for all spellings of a key. */
function keyOf(ctx: Context): string | undefined {
  const { key, keyDigest } = readDownload(ctx);
  return key === undefined ? undefined : (foldedDigest(key) ?? keyDigest);
}

function outcomeOf({ state: { code, granted, keyIsKnown = false } }: Context): DownloadOutcome {
  if (code !== undefined) {
    if (FAULTS.has(code)) return { is: 'open' };
    return { is: GUESSES.has(code) && !keyIsKnown ? 'unknown' : 'refused' };
  }
  return granted === undefined ? { is: 'open' } : { is: 'granted', unit: granted };
}
