import ipaddr from 'ipaddr.js';
import { includedProducts, includesNone } from '../licensing/bundles';
import { normalizeIdentifier } from '../licensing/core/identifiers';
import { networkOfText } from '../licensing/ip-addresses';
import { isKeyActive } from '../licensing/license-keys';
import { offeredVersion } from '../licensing/updates';
import { branchesOf } from '../licensing/core/branches';
import { entitledUntil } from '../licensing/core/verdict';
import { liveStatus, paidUntil, type LiveStatus } from '../licensing/core/states';
import { lastSeenAt, OMITTED, type LoggedAccess } from '../store/access-log';
import { activationKey } from '../store/licenses/activations';
import type { EventAction } from '../store/events';
import type { License } from '../store/licenses/licenses';
import type { Release } from '../store/releases';
import { successorOrSelf, endedKeyCause, keyFullCause, keySlots as slotsOfKey } from './explain-keys';
import { raiseLimit, reactivationAction, licenseSlots } from './explain-license';
import { placeOfSite } from './explain-sites';
import { unknownKeyCause } from './explain-unknown-key';
import { isOfDownload } from '../texts/operators/support';
import { cause, CODE_OF, named, timeOf } from './findings';
import type { Cause } from './finding-model';
import type { CaseState } from './case-state';

/** Explains why a recorded request was refused, and whether the cause persists. The functions of this file are pure. */
export function findCause(access: LoggedAccess, license: License | undefined, known: CaseState): Cause {
  switch (access.outcome) {
    case 'RATE_LIMITED':
      return rateLimited(access);
    case 'INVALID_REQUEST':
      return invalidRequest(access, license);
    case 'LICENSE_NOT_FOUND':
      return license ? endedKey(access, license, known) : unknownKey(access, known);
    case 'DOWNLOAD_NOT_FOUND':
      return notPublished(access, license, known);
    case 'FILE_NOT_FOUND':
      return cause('PACKAGE_MISSING', {});
    case OMITTED:
      return cause('OMITTED', {});
  }
  if (license === undefined) return cause('REFUSED', {});
  switch (access.outcome) {
    case 'LICENSE_EXPIRED':
    case 'LICENSE_INACTIVE':
      return unusable(access, license, known);
    case 'PRODUCT_MISMATCH':
      return wrongProduct(access, license, known);
    case 'ACTIVATION_HELD':
      return held(access, license, known);
    case 'ACTIVATION_NOT_FOUND':
    case 'ACTIVATION_LIMIT_REACHED':
      return slotRefused(access, license, known);
    default:
      return cause('REFUSED', {});
  }
}

function rateLimited({ ip }: LoggedAccess): Cause {
  return ip !== null && isInternal(ip)
    ? cause('RATE_LIMITED_PROXY', { loopback: isLoopback(ip) })
    : cause('RATE_LIMITED', {});
}

function invalidRequest({ endpoint, productId }: LoggedAccess, license: License | undefined): Cause {
  if (!isOfDownload(endpoint))
    return license
      ? cause('BAD_IDENTIFIER', { activation_type: license.plan.activationType })
      : cause('MALFORMED', {});
  // The log does not show whether a key was sent, because the ends of unknown keys are mostly not stored.
  return cause(productId === null ? 'BAD_PRODUCT_ID' : 'NO_KEY', {});
}

function endedKey(access: LoggedAccess, license: License, known: CaseState): Cause {
  return withoutOthersAction(
    access,
    known,
    endedKeyCause(known.keys.get(access.keyId ?? 0), license, known.now),
  );
}

function unknownKey(access: LoggedAccess, known: CaseState): Cause {
  const { keyHint: hint } = access;
  const candidates = hint === null ? [] : (known.likely.get(hint) ?? []);
  const end = hint?.length === 8 ? 'last_group' : 'end';
  const found = unknownKeyCause(
    // Only the end of the sent key is known.
    candidates.map((one) => ({ ...one, by: 'hint' })),
    candidates[0]?.by === 'key' ? 'key_asked_about' : end,
    known,
  );
  return withoutOthersAction(access, known, found);
}

/** Removes an action for another licence, which does not help the licence asked about. */
function withoutOthersAction(access: LoggedAccess, known: CaseState, found: Cause): Cause {
  return hasAnotherKey(access, known) ? { ...found, action: null } : found;
}

/** Reports whether an access came from an address of the licence asked about, with a key that cannot be meant for it. */
export function hasAnotherKey({ licenseId, keyHint }: LoggedAccess, { about }: CaseState): boolean {
  if (about === undefined || keyHint === null || licenseId === about.licenseId) return false;
  return licenseId !== null || !about.keyHints.has(keyHint);
}

function wrongProduct({ productId }: LoggedAccess, { product }: License, { catalogue }: CaseState): Cause {
  const { id, name } = product;
  const included = includedProducts(catalogue, id);
  const asked = catalogue.get(productId ?? 0);
  if (asked && [id, ...included.map((one) => one.id)].includes(asked.id))
    return cause('COVERED_SINCE', { product: { id: asked.id, name: asked.name } });
  const list = catalogue.get(id)?.includes ?? [];
  const mayInclude = asked && includesNone(asked) && list !== 'all' && included.length > 0;
  return cause(
    'WRONG_PRODUCT',
    {
      product: { id, name },
      includes: named(included),
      asked: asked ? { id: asked.id, name: asked.name } : null,
    },
    mayInclude
      ? {
          type: 'change_product',
          product_id: id,
          includes: [...list, asked.id].sort((a, b) => a - b),
        }
      : null,
  );
}

/** Explains a refusal by the licence's state at that time, which may differ from today's. */
function unusable(access: LoggedAccess, license: License, known: CaseState): Cause {
  const { expiresAt } = license;
  const was = access.outcome === 'LICENSE_EXPIRED' ? 'expired' : stoppedAs(access, known);
  const status = liveStatus(license, known.now);
  if (status === 'active') return cause('ACTIVE_AGAIN', { was });
  // A later end was not the reason for the refusal.
  const movedSince = status === 'expired' && expiresAt !== null && expiresAt > lastSeenAt(access);
  return cause(
    CODE_OF[status],
    {
      was,
      still: status === was && !movedSince,
      expires_at: timeOf(paidUntil(license)),
      older_versions: isOfDownload(access.endpoint) && entitledUntil(license, known.now) !== undefined,
    },
    reactivationAction(license, known.now),
  );
}

export const STATUS_BY_EVENT: Partial<Record<EventAction, LiveStatus>> = {
  suspend: 'suspended',
  revoke: 'revoked',
  cancel: 'cancelled',
};

/** Returns the state in which a licence was refused as inactive; null if the history does not contain it. */
function stoppedAs(access: LoggedAccess, { stops }: CaseState): LiveStatus | null {
  const at = lastSeenAt(access);
  const stop = stops.get(access.licenseId ?? 0)?.find((event) => event.at <= at);
  return (stop && STATUS_BY_EVENT[stop.action]) ?? null;
}

/** Explains that a key with its own limit frees only what it activated. @returns undefined if this was not the reason */
function otherKeys(
  { endpoint, identifier, keyId }: LoggedAccess,
  { id: license_id, plan }: License,
  { activated, keys }: CaseState,
): Cause | undefined {
  const known = keys.get(keyId ?? 0);
  const own = known && successorOrSelf(known);
  if (endpoint !== 'deactivate' || identifier === null || !own?.activationLimit) return undefined;
  const by = activated.get(activationKey({ licenseId: license_id, identifier }));
  if (by === undefined || by === own.id) return undefined;
  return cause(
    'OTHER_KEY',
    { key_id: own.id, label: own.label, activation_type: plan.activationType, activated_by: by },
    { type: 'remove_activation', license_id, identifier },
  );
}

function held({ identifier }: LoggedAccess, { id: license_id }: License, { activated }: CaseState): Cause {
  const isThere = identifier !== null && activated.has(activationKey({ licenseId: license_id, identifier }));
  return cause('HELD', {}, isThere ? { type: 'remove_activation', license_id, identifier } : null);
}

function slotRefused(access: LoggedAccess, license: License, known: CaseState): Cause {
  const { activated, keys, now, sites } = known;
  const { identifier, outcome, endpoint } = access;
  const { id: license_id, plan, activationLimit, activationsUsed } = license;
  const isFull = outcome === 'ACTIVATION_LIMIT_REACHED';
  const byOtherKey = otherKeys(access, license, known);
  if (byOtherKey) return byOtherKey;
  const license_status = liveStatus(license, now);
  const slots = { ...licenseSlots(license), license_status, key: null, place: null };
  // A free slot or a retry would not help.
  if (license_status !== 'active')
    return isFull ? cause('SLOTS_FULL', slots) : cause('NOT_ACTIVATED', { license_status });
  if (identifier !== null && activated.has(activationKey({ licenseId: license_id, identifier })))
    return cause('ACTIVATED_SINCE', {});
  if (!isFull) {
    const isValid = normalizeIdentifier(plan.activationType, identifier ?? '') !== undefined;
    return cause(
      'NOT_ACTIVATED',
      { license_status },
      endpoint === 'deactivate'
        ? null
        : { type: 'add_activation', license_id, ...(isValid && identifier !== null ? { identifier } : {}) },
    );
  }
  const { free, place } = placeOfSite(identifier ?? '', license, sites.get(license_id) ?? []);
  const key = keys.get(access.keyId ?? 0);
  const limit = key && successorOrSelf(key).activationLimit;
  if (!free && activationLimit !== 0 && activationsUsed >= activationLimit)
    return cause(
      'SLOTS_FULL',
      { ...slots, key: key && limit !== null ? slotsOfKey(key) : null, place },
      raiseLimit(license),
    );
  if (!free && key && limit && key.used >= limit) return keyFullCause(key, license, place);
  if (key && !isKeyActive(successorOrSelf(key), now)) return endedKeyCause(key, license, now);
  return cause('SLOT_FREE', { free_site: free });
}

function notPublished(
  access: LoggedAccess,
  license: License | undefined,
  { now: at, catalogue, releases }: CaseState,
): Cause {
  const { productId: product_id, version, ip } = access;
  const known = releases.get(product_id ?? 0) ?? [];
  const published = known.filter(({ state }) => state === 'published');
  const network = ip === null ? undefined : networkOfText(ip);
  const branches = branchesOf(catalogue.get(product_id ?? 0)?.securityBranch ?? 'minor', known);
  const offered =
    offeredVersion(license, { id: product_id ?? 0, published, branches }, network, at) ?? published[0];
  const now = offered?.version ?? null;
  const release = known.find((one) => one.version === version);
  if (release) return refusedRelease(access, release, now);
  if (version !== null && now !== null)
    return cause(
      'VERSION_NOT_PUBLISHED',
      { latest: now, draft: false },
      product_id === null ? null : { type: 'write_update_xml', product_id },
    );
  if (now !== null) return cause('PUBLISHED_SINCE', { version: now });
  return cause(
    'NOTHING_PUBLISHED',
    { includes: named(includedProducts(catalogue, product_id ?? 0)) },
    product_id === null ? null : { type: 'publish', product_id },
  );
}

/** Explains the refusal of an existing version. Its publication date is stored, its withdrawal date is not. */
function refusedRelease(
  { at }: LoggedAccess,
  { id: release_id, productId: product_id, version, state, publishedAt }: Release,
  latest: string | null,
): Cause {
  switch (state) {
    case 'published':
      return cause('PUBLISHED_SINCE', { version });
    case 'draft':
      return cause(
        'VERSION_NOT_PUBLISHED',
        { latest, draft: true },
        { type: 'publish', product_id, release_id, version },
      );
    case 'withdrawn':
      return cause(
        'VERSION_WITHDRAWN',
        { latest, withdrawn_then: publishedAt !== null && publishedAt <= at },
        { type: 'write_update_xml', product_id },
      );
  }
}

function isInternal(ip: string): boolean {
  return (
    ipaddr.isValid(ip) &&
    ['loopback', 'private', 'uniqueLocal', 'linkLocal', 'carrierGradeNat'].includes(ipaddr.parse(ip).range())
  );
}

function isLoopback(ip: string): boolean {
  return ipaddr.parse(ip).range() === 'loopback';
}
