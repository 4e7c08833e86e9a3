import type { Db, Transaction } from '../store/database';
import { insertEvents } from '../store/events';
import { findLicense, lockLicense, setLicense, type License, type LockedLicense } from '../store/licenses';
import { inTransaction } from '../store/transaction';
import { addDuration } from './durations';
import { OperatorError } from './operator-error';
import { noLicense } from './require';
import { allowedTransitions, liveStatus, transitionTarget, type Transition } from './states';
import { formatTimestamp, formatTimestampOrNull } from './timestamps';

/** Who changes a licence, when and why. */
export interface ChangeContext {
  actor: string;
  now: Date;
  reason?: string | undefined;
}

/** Until when a licence is renewed. null: for life */
export type Renewal = { until: Date | null } | { for: string };

/**
 * Moves a licence to another state (decisions, "Transitions").
 *
 * @throws OperatorError when its state does not allow that, naming what it allows
 */
export function changeState(
  db: Db,
  id: number,
  transition: Exclude<Transition, 'renew'>,
  context: ChangeContext,
): Promise<License> {
  return changeLicense(db, id, async (trx, license) => {
    const status = requireTransition(license, transition, context.now);
    await setLicense(trx, id, { status });
    await insertEvents(trx, [
      {
        licenseId: id,
        at: context.now,
        actor: context.actor,
        action: transition,
        before: { status: liveStatus(license, context.now) },
        after: { status: liveStatus({ ...license, status }, context.now), ...reasonOf(context) },
      },
    ]);
  });
}

/**
 * Renews a licence: for a duration from the later of now and its date, until a date, be it an earlier one, or for
 * life. A suspended one becomes active again.
 */
export function renew(db: Db, id: number, renewal: Renewal, context: ChangeContext): Promise<License> {
  const { now, actor } = context;
  return changeLicense(db, id, async (trx, license) => {
    const status = requireTransition(license, 'renew', now);
    const expiresAt = renewedUntil(license, renewal, now);
    await setLicense(trx, id, { status, expiresAt });
    await insertEvents(trx, [
      {
        licenseId: id,
        at: now,
        actor,
        action: 'renew',
        before: { status: liveStatus(license, now), expires_at: formatTimestampOrNull(license.expiresAt) },
        after: { status, expires_at: formatTimestampOrNull(expiresAt), ...reasonOf(context) },
      },
    ]);
  });
}

function renewedUntil(license: LockedLicense, renewal: Renewal, now: Date): Date | null {
  if ('until' in renewal) {
    if (renewal.until !== null && renewal.until <= now)
      throw new OperatorError(
        `${formatTimestamp(renewal.until)} has passed already. To end a licence: suspend, cancel or revoke it.`,
        { code: 'INVALID_REQUEST', field: 'until' },
      );
    return renewal.until;
  }
  const { expiresAt, status } = license;
  // A row that says "expired" without saying since when has ended all the same.
  if (expiresAt === null && status !== 'expired')
    throw new OperatorError(
      `Licence ${license.id} is a lifetime licence: there is nothing to prolong. "--until" gives it an end.`,
      { code: 'CONFLICT' },
    );
  return addDuration(expiresAt !== null && expiresAt > now ? expiresAt : now, renewal.for);
}

/**
 * Runs `work` under a lock on the licence's row.
 *
 * @returns the licence as it is afterwards
 * @throws OperatorError when there is no such licence
 */
export async function changeLicense(
  db: Db,
  id: number,
  work: (trx: Transaction, license: LockedLicense) => Promise<void>,
): Promise<License> {
  return inTransaction(db, async (trx) => {
    await work(trx, (await lockLicense(trx, id)) ?? noLicense(id));
    // Not after the commit, where a failure would be taken for one with nothing changed, and a new key be lost.
    return (await findLicense(trx, id)) as License;
  });
}

function requireTransition(license: LockedLicense, transition: Transition, now: Date) {
  const from = liveStatus(license, now);
  const target = transitionTarget(transition, from);
  if (target === undefined) {
    const allowed = allowedTransitions(from);
    throw new OperatorError(
      `Licence ${license.id} is ${from}: "${transition}" is not possible. ` +
        (allowed.length > 0
          ? `Possible are: ${allowed.join(', ')}.`
          : 'That state is final; issue a new licence.'),
      { code: 'CONFLICT' },
    );
  }
  return target;
}

function reasonOf({ reason }: ChangeContext): { reason?: string } {
  return reason === undefined ? {} : { reason };
}
