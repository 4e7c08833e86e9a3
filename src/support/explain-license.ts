import { entitledUntil, needsBranches } from '../licensing/core/verdict';
import { liveStatus, nextPayment, paidUntil } from '../licensing/core/states';
import type { License } from '../store/licenses/licenses';
import type { OutboxRow } from '../store/outbox';
import { explainFreeSites } from './explain-sites';
import { CODE_OF, finding, named, timeOf } from './findings';
import type { RemedyAction, Finding, Name } from './finding-model';
import type { LicenseCase, SearchMatch } from './case-state';

/** Describes a licence's state and the reasons why it does not work now. */
export function explainLicense(license: License, circumstances: LicenseCase): Finding[] {
  const { id, product, activationLimit, activationsUsed, lastCheckAt, lastCheckIp, checkCount } = license;
  const {
    latestVersion,
    withdrawnVersion,
    included,
    includedPublished,
    now,
    free,
    holders,
    undelivered,
    told,
  } = circumstances;
  const findings: Finding[] = [explainState(license, circumstances)];
  const includes = named(included);
  if (included.length > 0) findings.push(finding('COVERS', { product_id: product.id, includes }));
  if (liveStatus(license, now) === 'active' && activationLimit !== 0 && activationsUsed >= activationLimit)
    findings.push(
      finding('SLOTS_FULL', { license_id: id, ...licenseSlots(license) }, { action: raiseLimit(license) }),
    );
  findings.push(...explainFreeSites(free, holders));
  if (latestVersion === undefined && !includedPublished)
    findings.push(
      finding(
        'NOTHING_PUBLISHED',
        { product_id: product.id, product: product.name, includes },
        { action: { type: 'publish', product_id: included[0]?.id ?? product.id } },
      ),
    );
  if (withdrawnVersion !== undefined && liveStatus(license, now) === 'active')
    findings.push(
      finding('OFFER_WITHDRAWN', {
        product_id: product.id,
        version: withdrawnVersion,
        latest: latestVersion ?? null,
      }),
    );
  if (undelivered) findings.push(explainMail(id, undelivered));
  if (told.length > 0)
    findings.push(
      finding('SITES_RUN', {
        sites: told.map(({ site, version, at }) => ({ site, version, told_at: timeOf(at) as string })),
      }),
    );
  if (lastCheckAt)
    findings.push(
      finding(
        'VALIDATED',
        {
          last_check_at: timeOf(lastCheckAt) as string,
          last_check_ip: lastCheckIp,
          check_count: checkCount,
        },
        { count: checkCount },
      ),
    );
  return findings;
}

function explainMail(licenseId: number, { createdAt, failedAt, attempts, lastError }: OutboxRow): Finding {
  const [reason = '', status] = (lastError ?? '').split(' ');
  const facts = {
    license_id: licenseId,
    given_up: failedAt !== null,
    attempts,
    reason,
    queued_at: timeOf(createdAt) as string,
    status: status === undefined ? null : Number(status),
  };
  const action: RemedyAction | null = failedAt === null ? null : { type: 'send_key', license_id: licenseId };
  return finding('MAIL_NOT_DELIVERED', facts, { since: timeOf(createdAt), action });
}

function explainState(license: License, { now, stopped, refusedSince, failedPayment }: LicenseCase): Finding {
  const { id, product, plan, customer, expiresAt } = license;
  const of = { license_id: id, product: product.name, plan: plan.name };
  const expires_at = timeOf(paidUntil(license));
  const failed = failedPayment?.after?.failed_at;
  const payment_failed_at = typeof failed === 'string' ? failed : null;
  const status = liveStatus(license, now);
  if (status === 'active')
    return finding('ACTIVE', {
      ...of,
      ...licenseSlots(license),
      activation_type: plan.activationType,
      expires_at,
      next_payment: nextPayment(license, now),
      payment_failed_at,
    });
  if (status === 'expired')
    return finding(
      'EXPIRED',
      {
        ...of,
        expires_at,
        payment_failed_at,
        refused_since: refusedSince.times,
        refused_more: refusedSince.isMore,
        still_downloads: entitledUntil(license, now) !== undefined,
        security_updates: needsBranches(license, now),
        all_returned: license.allReturned,
      },
      { since: expires_at, count: refusedSince.times, action: reactivationAction(license, now) },
    );
  const reason = stopped?.after?.reason;
  return finding(
    CODE_OF[status],
    {
      ...of,
      plan_id: plan.id,
      customer,
      stopped_at: timeOf(stopped?.at),
      actor: stopped?.actor ?? null,
      reason: typeof reason === 'string' ? reason : null,
      refused_since: refusedSince.times,
      refused_more: refusedSince.isMore,
      expired_at: expiresAt !== null && expiresAt <= now ? expires_at : null,
    },
    {
      since: timeOf(stopped?.at),
      count: refusedSince.times,
      action: reactivationAction(license, now) ?? { type: 'issue', plan_id: plan.id, customer },
    },
  );
}

/** Returns the action that makes a licence usable again; null if there is none. */
export function reactivationAction(license: License, now: Date): RemedyAction | null {
  const { id, expiresAt } = license;
  const renewal: RemedyAction = { type: 'renew', license_id: id, for: '1y' };
  switch (liveStatus(license, now)) {
    case 'expired':
      return renewal;
    case 'suspended':
      // Reinstating it after its end would leave it expired.
      return expiresAt !== null && expiresAt <= now ? renewal : { type: 'reinstate', license_id: id };
    default:
      return null;
  }
}

export function licenseSlots({ activationLimit, activationsUsed }: License) {
  return { activation_limit: activationLimit, activations_used: activationsUsed };
}

/** Returns the action that frees one slot. After an override or a lowered limit, more slots may be used than allowed. */
export function raiseLimit({ id, activationsUsed }: License): RemedyAction {
  return { type: 'change_limit', license_id: id, activation_limit: activationsUsed + 1 };
}

/** Reports that the licence's e-mail differs from the typed one. */
export function explainNearEmail({ id, customer }: License, by: Name): Finding {
  return finding('NEAR_EMAIL', { license_id: id, customer: customer ?? '', matched: by });
}

/** The order in which a list shows how its licences were found. */
const NAMES: Name[] = [
  ...(['customer', 'reference', 'order', 'hint', 'identifier', 'access'] as const),
  ...(['beginning', 'near', 'provider'] as const),
];

/** @param more whether further licences exist */
export function explainSeveral(listed: SearchMatch[], more: boolean): Finding {
  const matched = NAMES.flatMap((by) => {
    const license_ids = listed.filter((one) => one.by === by).map(({ license }) => license.id);
    return license_ids.length === 0 ? [] : [{ by, license_ids }];
  });
  return finding('SEVERAL_LICENSES', { matched, more });
}

/** Warns that a bare number may mean another licence, because order numbers may equal licence ids. */
export function explainReference({ id, reference }: License): Finding {
  return finding(
    'ALSO_A_REFERENCE',
    { license_id: id, reference: reference ?? '' },
    { action: { type: 'why', license_id: id } },
  );
}
