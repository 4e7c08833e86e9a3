import type { Logger } from 'pino';
import { DAY_MS, MINUTE_MS } from '../base/days';
import { createLoop, type Stop } from '../runner/loop';
import { createPool } from '../runner/pool';
import type { Db } from '../store/engine/database';
import { reasonCode } from '../store/engine/errors';
import {
  updateClaimedRow,
  claimOutboxRow,
  deleteOutboxRow,
  setErrorOnDueRows,
  onEnqueued,
  retryUntilRecorded,
  type OutboxRow,
} from '../store/outbox';
import { NOTICES_A_SECOND } from './security-release';
import { composeMail, type ComposerSettings } from './compose';
import { toMailFailure, type MailFailure } from './failures';
import { isNoticeType } from './queue';
import type { MailTransport } from './transport';

/** The maximum number of mails that this process sends at once. */
const CONNECTIONS = 4;
/** The interval after which mails of other processes are found. */
const POLL_MS = 2_000;
/**
 * The time limit for a mail, even if the server keeps sending bytes. A server may inspect a mail for ten minutes before
 * its 250, and a client that leaves earlier sends it twice (RFC 5321, 4.5.3.2.6).
 */
const SEND_LIMIT_MS = 10 * 60_000;
/** The duration of a claim, which is extended while the mail is sent. After a kill, its mails wait for this time. */
const CLAIM_MS = 2 * 60_000;

/** The backoff after each failed attempt. The last pause repeats until a mail is two days old. */
const PAUSES_MS = [0.5, 3, 10, 30, 60, 120, 240].map((minutes) => minutes * MINUTE_MS);
const GIVE_UP_AFTER_MS = 2 * DAY_MS;
/**
 * The circuit breaker's pauses after a failure of every mail, such as at the login: a thousand refused logins in a row
 * would get the machine banned. Mails that wait for the end of a pause do not use up their attempts.
 */
const RESTS_MS = [0.5, 3, 10].map((minutes) => minutes * MINUTE_MS);
/** The delay after which mails of a security release count as late. */
const LATE_MS = 10_000;
/** The maximum number of waiting mails that get the reason for a pause. */
const NOTED = 1_000;

export interface SenderSettings extends ComposerSettings {
  transport: MailTransport;
  from: { address: string; name: string };
}

export interface MailSender extends Stop {
  /** the attempts since the start */
  counts: () => { sent: number; failed: number };
}

/**
 * Sends queued mails, at once if this process queues one. Delivery is at-least-once: a mail is recorded as sent after
 * the server's 250. After a kill in between, the claim expires, and the mail is sent again with the same Message-ID.
 * @param current returns the settings, the same object until they change; undefined if mail is off
 * @returns a function that stops it
 */
export function startMailSender(
  db: Db,
  current: () => SenderSettings | undefined,
  log: Logger,
  now: () => Date,
): MailSender {
  const loop = createLoop(log, 'mails wait: the outbox cannot be read');
  const { stopping } = loop;
  const counts = { sent: 0, failed: 0 };
  /** the mails that are being sent */
  const sending = new Set<OutboxRow>();
  let rests = 0;
  let restsUntil = 0;
  /** the next second for late mails of a security release, and the number of mails in it */
  let turn = { second: 0, mails: 0 };
  const isResting = () => now().getTime() < restsUntil;
  let latest = current();

  /** Returns the settings, and ends a pause if they have changed. */
  function settingsNow(): SenderSettings | undefined {
    const next = current();
    if (next !== latest) {
      latest = next;
      rests = 0;
      restsUntil = 0;
    }
    return next;
  }

  const wake = createPool<OutboxRow>(loop, {
    limit() {
      if (settingsNow() === undefined || isResting()) return 0;
      // After a pause, test with one mail.
      return rests === 0 ? CONNECTIONS : 1;
    },
    claimMost: 1,
    async claim() {
      const at = now();
      const row = await claimOutboxRow(db, 'mail', at, new Date(at.getTime() + CLAIM_MS));
      return row === undefined ? [] : [row];
    },
    async work(row) {
      const outcome = postponed(row, now()) ?? (await attempt(row));
      if (outcome === 'obsolete') await deleteOutboxRow(db, row.id);
      else if (!(await retryUntilRecorded(() => updateClaimedRow(db, row, outcome), row, { now, stopping })))
        log.warn({ mail: row.id }, 'another instance has taken this mail over, or it was erased meanwhile');
      return undefined;
    },
  });

  /** Postpones late mails of a security release, which keep their rate even if all are due after an outage. */
  function postponed({ type, dueAt, attempts, attemptedBefore }: OutboxRow, at: Date) {
    if (!isNoticeType(type) || at.getTime() - (dueAt ?? at).getTime() < LATE_MS) return undefined;
    const second = at.getTime() - at.getMilliseconds();
    if (turn.second < second) turn = { second, mails: 0 };
    if (turn.mails === NOTICES_A_SECOND) turn = { second: turn.second + 1_000, mails: 0 };
    turn.mails++;
    if (turn.second === second) return undefined;
    return {
      nextAttemptAt: new Date(turn.second),
      attempts: attempts - 1,
      attemptedAt: attemptedBefore ?? null,
    };
  }

  async function attempt(row: OutboxRow): Promise<'obsolete' | Partial<OutboxRow>> {
    const { id, type } = row;
    const settings = settingsNow();
    // Mail was switched off after the claim.
    if (settings === undefined) return { nextAttemptAt: now() };
    let to = row.recipient;
    try {
      const composed = await composeMail(db, row, settings, now());
      if ('obsolete' in composed) return 'obsolete';
      if ('failed' in composed) return giveUp(row, composed.failed);
      const { mail } = composed;
      to = mail.to;
      sending.add(row);
      await loop
        .cuttable((cut) => settings.transport.send(mail, settings.from, cut), SEND_LIMIT_MS)
        .finally(() => sending.delete(row));
      rests = 0;
      counts.sent++;
      log.info({ mail: id, type }, 'mail sent');
      return { sentAt: now(), nextAttemptAt: null, lastError: null, ...forgotten(row) };
    } catch (error) {
      const failure = toMailFailure(error);
      const { stored, isFinal } = failure;
      // Ignore the response of a server that is no longer used.
      if (current() !== settings && !isFinal)
        return { lastError: stored, nextAttemptAt: now(), attempts: row.attempts - 1 };
      await restAfter(failure);
      const next = nextAttempt(row, now());
      counts.failed++;
      const isOver = isFinal || next === undefined;
      const reason = failure.code === 'UNKNOWN' ? `UNKNOWN ${reasonCode(error)}` : stored;
      log.warn(
        { mail: id, type, reason, attempts: row.attempts },
        isOver ? 'mail given up' : 'mail not sent yet',
      );
      return isOver ? giveUp({ ...row, recipient: to }, stored) : { lastError: stored, nextAttemptAt: next };
    }
  }

  const giveUp = (row: OutboxRow, lastError: string) => ({
    lastError,
    // Store the failed address, which the seller may correct.
    recipient: row.recipient,
    failedAt: now(),
    nextAttemptAt: null,
    ...forgotten(row),
  });

  async function restAfter({ isOfServer, stored }: MailFailure): Promise<void> {
    if (!isOfServer) rests = 0;
    // Skip this during a pause: mails that were sent in parallel fail together.
    if (!isOfServer || isResting()) return;
    restsUntil = now().getTime() + (RESTS_MS[Math.min(rests++, RESTS_MS.length - 1)] as number);
    // Store the reason with the waiting mails, for `why` and the licence's page.
    await setErrorOnDueRows(db, 'mail', now(), stored, NOTED).catch(() => undefined);
  }

  /** Extends the claims. If the database is unavailable, a claim expires, and the mail may arrive twice. */
  function prolongClaims(): void {
    const end = now().getTime() + CLAIM_MS;
    for (const row of sending) {
      if (end - (row.nextAttemptAt as Date).getTime() < CLAIM_MS / 2) continue;
      row.nextAttemptAt = new Date(end);
      updateClaimedRow(db, row, { nextAttemptAt: row.nextAttemptAt }).catch(() => undefined);
    }
  }

  loop.start(POLL_MS, () => {
    prolongClaims();
    wake();
  });
  const forget = onEnqueued(db, 'mail', wake);
  const stop = () => {
    forget();
    return loop.stop();
  };
  return Object.assign(stop, { idle: loop.idle, counts: () => ({ ...counts }) });
}

/** Deletes the text of a reply as soon as it is no longer needed. */
function forgotten({ type }: OutboxRow): Pick<Partial<OutboxRow>, 'detailsJson'> {
  return type === 'answer' ? { detailsJson: null } : {};
}

/** Returns the time of the next attempt; undefined if the mail is given up. */
function nextAttempt({ attempts, createdAt }: OutboxRow, now: Date): Date | undefined {
  const pause = PAUSES_MS[Math.min(attempts, PAUSES_MS.length) - 1] as number;
  const next = now.getTime() + pause;
  return next - createdAt.getTime() > GIVE_UP_AFTER_MS ? undefined : new Date(next);
}
