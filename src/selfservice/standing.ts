import { DAY_MS } from '../base/days';
import type { LicenseMatch } from '../licensing/core/lookup';
import type { Plan } from '../store/catalogue';
import {
  liveStatus,
  nextPayment,
  paidEnd,
  type LiveStatus,
  type NextPayment,
} from '../licensing/core/states';
import { asShown, entitledUntil, judgeDownload, judgeNewSite } from '../licensing/core/verdict';
import type { Entitlement, Slots } from '../texts/customers/standing';

export interface LicenseStanding {
  standing: Entitlement;
  status: LiveStatus;
  /** the paid end; null: for life */
  expiresAt: Date | null;
  nextPayment: NextPayment;
  /** of a key with a limit of its own: those of the key */
  slots: Slots;
}

/** @param found by a key that has not ended */
export function standingOf(found: LicenseMatch, now: Date): LicenseStanding {
  const { license } = found;
  const status = liveStatus(license, now);
  const { activationLimit: limit, activationsUsed: used } = asShown(found);
  return {
    standing: readStanding(found, status, now),
    status,
    expiresAt: paidEnd(license),
    nextPayment: nextPayment(license, now),
    slots: { limit, used },
  };
}

/** Where the customer is offered a larger licence: when no slot is free, or the licence does not cover every product. */
export function upgradeOffer(
  plan: Pick<Plan, 'upgradeUrl'> | undefined,
  { standing: { code } }: LicenseStanding,
  coversAll: boolean,
): string | null {
  return code === 'FULL' || (code === 'ACTIVE' && !coversAll) ? (plan?.upgradeUrl ?? null) : null;
}

function readStanding(found: LicenseMatch, status: LiveStatus, now: Date): Entitlement {
  const { license } = found;
  if (status === 'suspended') return { code: 'SUSPENDED' };
  if (status === 'expired') {
    const stillDownloads = entitledUntil(license, now) !== undefined;
    return { code: 'EXPIRED', endedAt: paidEnd(license), stillDownloads };
  }
  if (status !== 'active') return { code: 'WITHDRAWN' };
  const slots = judgeNewSite({ ...found, covered: undefined }, now)?.slots;
  const end = { until: paidEnd(license), nextPayment: nextPayment(license, now) };
  return slots === undefined
    ? { code: 'ACTIVE', ...end }
    : { code: 'FULL', ...end, limit: slots.activationLimit };
}

/** Whether nothing keeps the customer from what was bought: one slot in use is what a licence for one is for. */
export function isFine(standing: Entitlement): boolean {
  return standing.code === 'ACTIVE' || (standing.code === 'FULL' && standing.limit === 1);
}

/** A licence that ends within this ends soon. */
export const SOON_MS = 30 * DAY_MS;

/** Whether a licence that works ends within 30 days, and nothing renews it by itself. */
export function endsSoon(standing: Entitlement, now: Date): boolean {
  const isLive = standing.code === 'ACTIVE' || standing.code === 'FULL';
  return (
    isLive &&
    standing.nextPayment === null &&
    standing.until !== null &&
    standing.until.getTime() - now.getTime() <= SOON_MS
  );
}

/** Clients are told of an ended key that it is unknown. */
export function hasKeyEnded(found: LicenseMatch, now: Date): boolean {
  return judgeDownload(found, { identifierGiven: false }, now)?.refused === 'LICENSE_NOT_FOUND';
}

/** Whole days until a time, a part of a day counted as one. */
export function daysUntil(time: Date, now: Date): number {
  return Math.max(0, Math.ceil((time.getTime() - now.getTime()) / DAY_MS));
}
