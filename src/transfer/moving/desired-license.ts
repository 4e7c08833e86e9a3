import { normalizeIdentifier } from '../../licensing/core/identifiers';
import { foldedDigest, isUrlSafeKey, keyDigest } from '../../licensing/core/keys';
import { findEmail } from '../../licensing/customer-email';
import { requireMetadataChange, type Metadata } from '../../licensing/metadata';
import { OperatorError } from '../../licensing/operator-error';
import type { StoredStatus } from '../../licensing/core/states';
import { isStorable } from '../../licensing/timestamps';
import type { Plan } from '../../store/catalogue';
import { MAX_LABEL_LENGTH } from '../../licensing/core/columns';
import { KeyFault, labelOf, readKey } from '../cells';
import { endAfter } from './dates';
import type { Reporter } from './report';
import type { SkipReason, WarningCode } from './import-messages';
import type { SourceKey, SourceLicense } from './source';
import { BEGINS_LATER, sourceStandingOf } from './standing';

/** The fields in which a licence here can differ from the source, by the API's names. */
export const MERGED_FIELDS = [
  'plan_id',
  'status',
  'activation_limit',
  'expires_at',
  'customer',
  'metadata',
] as const;
export type MergedField = (typeof MERGED_FIELDS)[number];

/** A licence of the source, in the terms of this service. */
export interface DesiredLicense {
  row: number;
  reference: string;
  plan: Plan;
  status: StoredStatus;
  activationLimit: number;
  expiresAt: Date | null;
  customer: string | null;
  /** null if unknown */
  customerName: string | null;
  /** null if unknown, or if it was never used */
  lastUsedAt: Date | null;
  metadata: Metadata;
  keys: DesiredKey[];
  /** the normalised sites of no particular key */
  sites: string[];
  /** the fields that the source does not state, which an existing licence keeps */
  unsaid: Set<MergedField>;
  /** whether it ended at an unknown time */
  endedSometime: boolean;
}

export interface DesiredKey {
  /** the key in canonical form */
  key: string;
  digest: string;
  /** undefined for a key in this service's own form */
  folded: string | undefined;
  /** null for the licence's limit */
  limit: number | null;
  ended: boolean;
  sites: string[];
}

/**
 * Converts a licence of the source to this service's terms, and warns about changes in its meaning.
 * @returns the licence, or the reason to leave it out
 */
export function toDesiredLicense(
  item: SourceLicense,
  source: string,
  plan: Plan,
  report: Reporter,
  now: Date,
): DesiredLicense | { leftOut: SkipReason } {
  const { row, startsAt } = item;
  const warn = (code: WarningCode) => report.warn(code, row);
  const reference = `${source}:${item.id}`;
  if (Array.from(reference).length > MAX_LABEL_LENGTH || /\p{Cc}/u.test(reference))
    return { leftOut: 'bad-reference' };
  const unsaid = new Set<MergedField>();
  const end = endOf(item, plan, now);
  if (end === undefined || (end.expiresAt !== null && !isStorable(end.expiresAt)))
    return { leftOut: 'bad-end' };
  if (end.isUnsaid) unsaid.add('expires_at');
  if (startsAt !== undefined && end.expiresAt !== null && end.expiresAt < startsAt)
    warn('ends-before-starts');
  if (item.status === 'expired' && item.expiresAt && item.expiresAt > now) warn('ended-early');
  const isAhead = sourceStandingOf({ ...item, expiresAt: end.expiresAt }, now) === BEGINS_LATER;
  if (isAhead) warn('begins-later');
  if (item.limit === undefined) unsaid.add('activation_limit');
  const customer = item.customer === null ? null : (findEmail(item.customer) ?? null);
  if (customer === null) {
    unsaid.add('customer');
    warn(item.customer === null ? 'no-customer' : 'bad-customer');
  }
  const metadata = readMetadata(item, warn);
  if (Object.keys(metadata).length === 0) unsaid.add('metadata');
  const seen = new Set<string>();
  const sitesOf = (texts: string[]) =>
    texts.flatMap((text) => {
      const site = normalizeIdentifier(plan.activationType, text);
      if (site === undefined || /\p{Cc}/u.test(site)) {
        warn('bad-site');
        return [];
      }
      if (seen.has(site)) return [];
      seen.add(site);
      return [site];
    });
  const keys: DesiredKey[] = [];
  const digests = new Set<string>();
  for (const one of item.keys) {
    const key = readKey(one.key.trim());
    if (key instanceof KeyFault) return { leftOut: key.code };
    const digest = keyDigest(key);
    if (digests.has(digest)) continue;
    digests.add(digest);
    if (!isUrlSafeKey(key)) warn('not-sent-whole');
    keys.push(wantedKey(one, key, digest, sitesOf(one.sites)));
  }
  return {
    row,
    reference,
    plan,
    customer,
    metadata,
    keys,
    unsaid,
    lastUsedAt: item.lastUsedAt !== undefined && item.lastUsedAt <= now ? item.lastUsedAt : null,
    customerName: labelOf(item.customerName ?? '') || null,
    // A licence here has no start: the first run after its start activates it.
    status: isAhead ? 'suspended' : item.status === 'expired' ? 'active' : item.status,
    activationLimit: item.limit ?? plan.activationLimit,
    expiresAt: end.expiresAt,
    endedSometime: end.isSometime,
    sites: sitesOf(item.sites),
  };
}

function wantedKey(one: SourceKey, key: string, digest: string, sites: string[]): DesiredKey {
  return {
    key,
    digest,
    sites,
    folded: foldedDigest(key),
    limit: one.limit ?? null,
    ended: one.ended ?? false,
  };
}

function endOf(
  { status, expiresAt, startsAt }: SourceLicense,
  { duration }: Plan,
  now: Date,
): { expiresAt: Date | null; isUnsaid: boolean; isSometime: boolean } | undefined {
  if (status === 'expired' && !(expiresAt && expiresAt <= now))
    return { expiresAt: now, isUnsaid: false, isSometime: true };
  if (expiresAt !== undefined) return { expiresAt, isUnsaid: false, isSometime: false };
  const end = duration === null ? null : endAfter(startsAt ?? now, duration);
  if (end === undefined) return undefined;
  return {
    expiresAt: end,
    // The end would differ at each run.
    isUnsaid: startsAt === undefined,
    isSometime: false,
  };
}

function readMetadata(item: SourceLicense, warn: (code: WarningCode) => void): Metadata {
  const metadata: Metadata = {};
  for (const [name, text] of Object.entries(item.metadata))
    try {
      const [, value] = requireMetadataChange(name, text);
      if (value !== null) metadata[name] = value;
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error;
      warn('bad-metadata');
    }
  return metadata;
}
