import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Db } from '../store/database';
import { reasonCode } from '../store/errors';
import {
  changeClaimed,
  claimOutboxRow,
  deleteOutboxRow,
  noteOnDueRows,
  onQueued,
  settleClaimed,
  type OutboxRow,
} from '../store/outbox';
import { composeMail, type ComposedMail, type ComposerSettings } from './compose';
import { toMailFailure, type MailFailure } from './failures';
import type { MailTransport } from './transport';

/** At the most so many mails of this process are on their way at once. */
const CONNECTIONS = 4;
/** What other processes queue is found within this time. */
const POLL_MS = 2_000;
/**
 * For one mail in all; a server that sends a byte now and then is not silent. RFC 5321, 4.5.3.2.6: a server may look at a mail
 * for ten minutes before its 250, and whoever leaves earlier sends it twice.
 */
const SEND_LIMIT_MS = 10 * 60_000;
/** Prolonged while the mail is on its way, so that no other instance sends it; a killed one's mails wait this long. */
const CLAIM_MS = 2 * 60_000;
/** At the stop, for the server's answer. */
const STOP_LIMIT_MS = 5_000;

const MINUTE_MS = 60_000;
/** After each failed attempt; the last one repeats, until a mail is two days old. */
const PAUSES_MS = [0.5, 3, 10, 30, 60, 120, 240].map((minutes) => minutes * MINUTE_MS);
const GIVE_UP_AFTER_MS = 2 * 24 * 60 * MINUTE_MS;
/**
 * After mails that the server took from nobody, before it is asked again: a thousand refused logins in a row would have the
 * machine banned. Mails that wait for this do not use up their attempts.
 */
const RESTS_MS = [0.5, 3, 10].map((minutes) => minutes * MINUTE_MS);
/** Mails that wait for a rest's end get its reason. */
const NOTED = 1_000;

export interface SenderSettings extends ComposerSettings {
  transport: MailTransport;
  from: { address: string; name: string };
}

/**
 * Sends queued mails, at once when this process queues one. At least once: a mail is recorded as sent after the server's
 * 250, and a process that is killed in between leaves a claim that ends, so that it is sent again with the same Message-ID.
 * Call the result to stop.
 */
export function startMailSender(
  db: Db,
  settings: SenderSettings,
  log: Logger,
  now: () => Date,
): () => Promise<void> {
  const stopping = new AbortController();
  const lanes = new Set<Promise<void>>();

  let rests = 0;
  let restsUntil = 0;
  const isResting = () => now().getTime() < restsUntil;

  async function restAfter({ isOfServer, stored }: MailFailure): Promise<void> {
    if (!isOfServer) rests = 0;
    // Mails that were on their way together fail together.
    if (!isOfServer || isResting()) return;
    restsUntil = now().getTime() + (RESTS_MS[Math.min(rests++, RESTS_MS.length - 1)] as number);
    // For `why` and the licence's page.
    await noteOnDueRows(db, 'mail', now(), stored, NOTED).catch(() => undefined);
  }

  async function lane(): Promise<void> {
    while (!stopping.signal.aborted && !isResting()) {
      const at = now();
      const row = await claimOutboxRow(db, 'mail', at, new Date(at.getTime() + CLAIM_MS));
      if (row === undefined) return;
      // There may be more.
      startLane();
      await deliver(row);
    }
  }

  let failures = 0;
  function startLane(): void {
    // After a rest, one mail tries.
    if (lanes.size >= (rests === 0 ? CONNECTIONS : 1) || stopping.signal.aborted) return;
    const running: Promise<void> = lane()
      .then(
        () => void (failures = 0),
        (error: unknown) => {
          if (failures++ === 0)
            log.warn({ reason: reasonCode(error) }, 'mails wait: the outbox cannot be read');
        },
      )
      .finally(() => lanes.delete(running));
    lanes.add(running);
  }

  async function deliver(row: OutboxRow): Promise<void> {
    const outcome = await attempt(row);
    if (outcome === 'obsolete') await deleteOutboxRow(db, row.id);
    else if (!(await settleClaimed(db, row, outcome, { now, stopping: stopping.signal })))
      log.warn({ mail: row.id }, 'another instance has taken this mail over, or it was erased meanwhile');
  }

  async function attempt(row: OutboxRow): Promise<'obsolete' | Partial<OutboxRow>> {
    const { id, type } = row;
    try {
      const composed = await composeMail(db, row, settings, now());
      if ('obsolete' in composed) return 'obsolete';
      if ('failed' in composed) return givenUp(composed.failed);
      await sendInTime(row, composed.mail);
      rests = 0;
      log.info({ mail: id, type }, 'mail sent');
      return { sentAt: now(), nextAttemptAt: null, lastError: null };
    } catch (error) {
      const failure = toMailFailure(error);
      const { stored, isFinal } = failure;
      await restAfter(failure);
      const next = nextAttempt(row, now());
      const isOver = isFinal || next === undefined;
      const reason = failure.code === 'UNKNOWN' ? `UNKNOWN ${reasonCode(error)}` : stored;
      log.warn(
        { mail: id, type, reason, attempts: row.attempts },
        isOver ? 'mail given up' : 'mail not sent yet',
      );
      return isOver ? givenUp(stored) : { lastError: stored, nextAttemptAt: next };
    }
  }

  const givenUp = (lastError: string) => ({ lastError, failedAt: now(), nextAttemptAt: null });

  /** What is on its way. At the stop it is cut, and tried again later. */
  const sending = new Map<AbortController, OutboxRow>();
  let isCut = false;
  async function sendInTime(row: OutboxRow, mail: ComposedMail): Promise<void> {
    const cut = new AbortController();
    const timer = setTimeout(() => cut.abort(), SEND_LIMIT_MS).unref();
    sending.set(cut, row);
    if (isCut) cut.abort();
    try {
      await settings.transport.send(mail, settings.from, cut.signal);
    } finally {
      clearTimeout(timer);
      sending.delete(cut);
    }
  }

  /** A claim that the database cannot prolong ends; then the mail may arrive twice. */
  function prolongClaims(): void {
    const end = now().getTime() + CLAIM_MS;
    for (const row of sending.values()) {
      if (end - (row.nextAttemptAt as Date).getTime() < CLAIM_MS / 2) continue;
      row.nextAttemptAt = new Date(end);
      changeClaimed(db, row, { nextAttemptAt: row.nextAttemptAt }).catch(() => undefined);
    }
  }

  startLane();
  const timer = setInterval(() => {
    prolongClaims();
    startLane();
  }, POLL_MS).unref();
  const forget = onQueued(db, 'mail', startLane);
  return async () => {
    stopping.abort();
    clearInterval(timer);
    forget();
    const done = Promise.all(lanes);
    await Promise.race([done, sleep(STOP_LIMIT_MS, undefined, { ref: false })]);
    isCut = true;
    for (const cut of sending.keys()) cut.abort();
    await done;
  };
}

/** undefined: it is given up */
function nextAttempt({ attempts, createdAt }: OutboxRow, now: Date): Date | undefined {
  const pause = PAUSES_MS[Math.min(attempts, PAUSES_MS.length) - 1] as number;
  const next = now.getTime() + pause;
  return next - createdAt.getTime() > GIVE_UP_AFTER_MS ? undefined : new Date(next);
}
