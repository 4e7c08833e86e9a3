import type { Logger } from 'pino';
import { createBatches } from '../licensing/core/batches';
import type { Db } from '../store/engine/database';
import { claimNextInLanes, recordOutcomes, releaseLane, type Delivery, type Lane } from '../store/deliveries';
import { isLockConflict, reasonCode } from '../store/engine/errors';
import { retryUntilRecorded } from '../store/outbox';
import type { WebhookRow } from '../store/webhooks';

/** A claimed delivery, with its receiver as it was read after the claim. */
export interface ClaimedDelivery {
  row: Delivery;
  webhook: WebhookRow;
}

interface Attempt {
  row: Delivery;
  outcome: Partial<Delivery>;
}

/**
 * Records the outcomes of claimed deliveries. Outcomes that arrive together are recorded in one commit, and the next
 * deliveries in their licences' lanes are claimed in another.
 * @param withReceivers reads the receivers of claimed rows
 * @returns the next row of the same lane, if this one was delivered
 */
export function createOutcomeRecorder(
  db: Db,
  { now, stopping }: { now: () => Date; stopping: AbortSignal },
  withReceivers: (rows: Delivery[]) => Promise<ClaimedDelivery[]>,
  log: Logger,
): (row: Delivery, outcome: Partial<Delivery>) => Promise<ClaimedDelivery | undefined> {
  const record = createBatches(async (attempts: Attempt[]) => {
    const recorded = await recordTogether(db, attempts);
    const delivered = attempts.filter(({ outcome }, i) => recorded[i] === true && outcome.sentAt);
    const lanes = delivered.flatMap(({ row: { lane, ...row } }) => (lane === null ? [] : { ...row, lane }));
    const nexts = await claimBehind(lanes);
    return attempts.map((attempt, i) => {
      const isTaken = recorded[i];
      if (typeof isTaken !== 'boolean')
        return Promise.reject(isTaken ?? new Error('No outcome was recorded.'));
      const { kind, webhookId, lane } = attempt.row;
      const hasNext = kind === 'webhook' && delivered.includes(attempt);
      const next = nexts.find(({ row }) => hasNext && row.webhookId === webhookId && row.lane === lane);
      return { isTaken, next };
    });
  });

  /** Claims the next rows of the lanes. A replay's lane has its own order, and is only released. */
  async function claimBehind(rows: (Lane & Pick<Delivery, 'kind'>)[]): Promise<ClaimedDelivery[]> {
    try {
      const ordered = stopping.aborted ? [] : rows.filter(({ kind }) => kind === 'webhook');
      for (const row of rows) if (!ordered.includes(row)) await releaseLane(db, row, now());
      return await withReceivers(await claimNextInLanes(db, ordered, now()));
    } catch (error) {
      // The outcomes stay recorded. The next rows are found when the claims of the delivered rows would have expired.
      log.warn({ reason: reasonCode(error) }, 'webhooks wait: the outbox cannot be read');
      return [];
    }
  }

  return async (row, outcome) => {
    const { isTaken, next } = await retryUntilRecorded(() => record({ row, outcome }), row, {
      now,
      stopping,
    });
    if (!isTaken)
      log.warn({ delivery: row.id }, 'another instance has taken this webhook over: it may arrive twice');
    return next;
  };
}

/** Records attempts. @returns for each whether it was still claimed, or the error */
async function recordTogether(db: Db, attempts: Attempt[]): Promise<(boolean | Error)[]> {
  try {
    return await recordOutcomes(db, attempts);
  } catch (error) {
    if (!isLockConflict(error)) throw error;
  }
  // Record each on its own: a transaction holds one of the rows, and the others must not wait for it.
  const recorded: (boolean | Error)[] = [];
  for (const attempt of attempts)
    recorded.push(
      await recordOutcomes(db, [attempt]).then(
        ([isTaken]) => isTaken === true,
        (error: unknown) => error as Error,
      ),
    );
  return recorded;
}
