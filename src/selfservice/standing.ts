import { DAY_MS } from '../base/days';
import type { LicenseMatch } from '../licensing/core/lookup';
import type { Plan } from '../store/catalogue';
import {
  isFineWhenFull,
  liveStatus,
  nextPayment,
  paidUntil,
  type LiveStatus,
  type NextPayment,
} from '../licensing/core/states';
import { licenseAsSeenByKey, entitledUntil, judgeDownload, judgeNewSite } from '../licensing/core/verdict';
import type { Entitlement, Slots } from '../texts/customers/standing';

export interface LicenseStanding {
  standing: Entitlement;
  status: LiveStatus;
  /** the paid-through date; null if the licence never ends */
  expiresAt: Date | null;
  nextPayment: NextPayment;
  /** the slots of the key, if it has a limit of its own */
  slots: Slots;
}

/** Returns the state of a licence for its customer. @param found by a key that has not ended */
export function licenseStandingOf(found: LicenseMatch, now: Date): LicenseStanding {
  const { license } = found;
  const status = liveStatus(license, now);
  const { activationLimit: limit, activationsUsed: used } = licenseAsSeenByKey(found);
  return {
    standing: readStanding(found, status, now),
    status,
    expiresAt: paidUntil(license),
    nextPayment: nextPayment(license, now),
    slots: { limit, used },
  };
}

/** Returns the address for an upgrade, if no slot is free or the licence does not cover every product. */
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
    return { code: 'EXPIRED', endedAt: paidUntil(license), stillDownloads };
  }
  if (status !== 'active') return { code: 'WITHDRAWN' };
  const slots = judgeNewSite({ ...found, covered: undefined }, now)?.slots;
  const end = { until: paidUntil(license), nextPayment: nextPayment(license, now) };
  return slots === undefined
    ? { code: 'ACTIVE', ...end }
    : { code: 'FULL', ...end, limit: slots.activationLimit };
}

/** Reports whether the customer can use everything that was bought. */
export function isFine(standing: Entitlement): boolean {
  return standing.code === 'ACTIVE' || (standing.code === 'FULL' && isFineWhenFull(standing.limit));
}

/** The time before its end in which a licence ends soon. */
export const SOON_MS = 30 * DAY_MS;

/** Reports whether an active licence ends within 30 days and is not renewed automatically. */
export function endsSoon(standing: Entitlement, now: Date): boolean {
  const isLive = standing.code === 'ACTIVE' || standing.code === 'FULL';
  return (
    isLive &&
    standing.nextPayment === null &&
    standing.until !== null &&
    standing.until.getTime() - now.getTime() <= SOON_MS
  );
}

/** Reports whether a key has ended. Clients get the same response as for an unknown key. */
export function hasKeyEnded(found: LicenseMatch, now: Date): boolean {
  return judgeDownload(found, { identifierGiven: false }, now)?.refused === 'LICENSE_NOT_FOUND';
}

/** Returns the days until a time, rounded up. */
export function daysUntil(time: Date, now: Date): number {
  return Math.max(0, Math.ceil((time.getTime() - now.getTime()) / DAY_MS));
}
