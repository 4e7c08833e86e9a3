import { formatTimestampOrNull } from '../base/days';
import type { Db, Transaction } from '../store/engine/database';
import {
  findLicense,
  lockLicense,
  setLicense,
  type License,
  type LockedLicense,
} from '../store/licenses/licenses';
import { inTransaction } from '../store/engine/transaction';
import { addDuration } from './durations';
import { OperatorError } from './operator-error';
import { throwLicenseNotFound } from './find-or-throw';
import {
  allowedTransitions,
  endWithGrace,
  liveStatus,
  paidUntil,
  transitionTarget,
  type EndWithGrace,
  type Transition,
} from './core/states';
import { recordEvents } from './webhook-events';

export interface ChangeContext {
  actor: string;
  now: Date;
  reason?: string | undefined;
  /** the id of the shop's order that caused it */
  order?: number | undefined;
}

/** The new end of a licence; null: lifetime. */
export type Renewal = { until: Date | null } | { for: string };

/** Changes the state (docs/contract.md, 5.3). @throws OperatorError that names the allowed transitions if this one is not */
export function changeState(
  db: Db,
  id: number,
  transition: Exclude<Transition, 'renew'>,
  context: ChangeContext,
): Promise<License> {
  return changeLicense(db, id, async (trx, license) => {
    const status = requireTransition(license, transition, context.now);
    await setLicense(trx, id, { status });
    await recordEvents(trx, [
      {
        licenseId: id,
        at: context.now,
        actor: context.actor,
        action: transition,
        before: { status: liveStatus(license, context.now) },
        after: { status: liveStatus({ ...license, status }, context.now), ...eventReason(context) },
      },
    ]);
  });
}

/**
 * Renews a licence. A duration counts from now, or from the paid-through date while the licence works, and keeps the
 * grace period. A suspended licence becomes active again.
 */
export function renew(db: Db, id: number, renewal: Renewal, context: ChangeContext): Promise<License> {
  return changeEnd(db, id, renewal, context, 'until', () => undefined);
}

/** Sets the end like `renew`, but does not activate a suspended licence. @param until null: lifetime */
export function moveEnd(db: Db, id: number, until: Date | null, context: ChangeContext): Promise<License> {
  return changeEnd(db, id, { until }, context, 'expires_at', (license) => {
    if (license.status === 'suspended')
      throw new OperatorError(`Licence ${id} is suspended: renewing gives it an end and makes it active.`, {
        code: 'CONFLICT',
      });
  });
}

/**
 * Sets the end that a shop's order requires, even a past one, and keeps the state. Statistics count only renewals, not
 * the effects of a refund or a reversal.
 */
export function setEnd(
  db: Db,
  id: number,
  end: EndWithGrace & { renewsItself: boolean },
  context: ChangeContext & { isRenewal: boolean },
): Promise<License> {
  const { now, actor, isRenewal } = context;
  return changeLicense(db, id, async (trx, license) => {
    const status = license.status === 'expired' ? 'active' : license.status;
    await setLicense(trx, id, { status, ...end });
    const isOther = end.renewsItself !== license.renewsItself;
    const renewing = (is: boolean) => isOther && { renews_itself: is };
    await recordEvents(trx, [
      {
        licenseId: id,
        at: now,
        actor,
        action: isRenewal ? 'renew' : 'set-end',
        before: {
          status: liveStatus(license, now),
          ...endFields(license),
          ...renewing(license.renewsItself),
        },
        after: {
          status: liveStatus({ status, ...end }, now),
          ...endFields(end),
          ...renewing(end.renewsItself),
          ...eventReason(context),
        },
      },
    ]);
  });
}

function changeEnd(
  db: Db,
  id: number,
  renewal: Renewal,
  context: ChangeContext,
  field: string,
  refuse: (license: LockedLicense) => void,
): Promise<License> {
  const { now, actor } = context;
  return changeLicense(db, id, async (trx, license) => {
    refuse(license);
    const status = requireTransition(license, 'renew', now);
    const end = renewedUntil(license, renewal, now, field);
    await setLicense(trx, id, { status, ...end });
    await recordEvents(trx, [
      {
        licenseId: id,
        at: now,
        actor,
        action: 'renew',
        before: { status: liveStatus(license, now), ...endFields(license) },
        after: { status, ...endFields(end), ...eventReason(context) },
      },
    ]);
  });
}

/** Returns an end in the form that the history stores. */
function endFields({ expiresAt, graceDays }: EndWithGrace) {
  return { expires_at: formatTimestampOrNull(expiresAt), ...(graceDays > 0 && { grace_days: graceDays }) };
}

/** @param field the field with a date, which is the end itself, without a grace period */
function renewedUntil(license: LockedLicense, renewal: Renewal, now: Date, field: string): EndWithGrace {
  if ('until' in renewal) {
    if (renewal.until !== null && renewal.until <= now)
      throw new OperatorError('This end is in the past. To end a licence, suspend, cancel or revoke it.', {
        code: 'INVALID_REQUEST',
        field,
      });
    return endWithGrace(renewal.until, 0);
  }
  const { expiresAt, graceDays, status } = license;
  // A row with the status "expired" but no date has ended too.
  if (expiresAt === null && status !== 'expired')
    throw new OperatorError(`Licence ${license.id} is a lifetime licence: there is nothing to extend.`, {
      code: 'CONFLICT',
      facts: { reason: 'lifetime-license' },
    });
  return endWithGrace(extendedUntil(license, renewal.for, now, 'for'), graceDays);
}

/** Returns the paid-through date after a renewal, which counts from the old one until the grace period ends, then from now. */
export function extendedUntil(end: EndWithGrace, duration: string, now: Date, field?: string): Date {
  const paid = paidUntil(end);
  const isOver = paid === null || end.expiresAt === null || end.expiresAt < now;
  return addDuration(isOver ? now : paid, duration, field);
}

/** Runs `work` under a lock on the licence's row. @throws OperatorError if the licence does not exist */
export async function changeLicense(
  db: Db,
  id: number,
  work: (trx: Transaction, license: LockedLicense) => Promise<void>,
): Promise<License> {
  return inTransaction(db, async (trx) => {
    await work(trx, (await lockLicense(trx, id)) ?? throwLicenseNotFound(id));
    // Read before the commit: a failure after it would look as if nothing had changed, and a new key would be lost.
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
          ? `Possible actions: ${allowed.join(', ')}.`
          : 'That state is final; issue a new licence.'),
      { code: 'CONFLICT' },
    );
  }
  return target;
}

/** Returns the reason and the order that an event records in addition to the change. */
export function eventReason({ reason, order }: ChangeContext): { reason?: string; order?: number } {
  return { ...(reason !== undefined && { reason }), ...(order !== undefined && { order }) };
}
