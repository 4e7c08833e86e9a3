import ipaddr from 'ipaddr.js';
import { joomlaVersion } from '../joomla/updater/agent';
import { includedIn, includesNone, namesOf } from '../licensing/bundles';
import { isOpen } from '../licensing/license-keys';
import { entitledUntil } from '../licensing/verdict';
import { liveStatus, type LiveStatus } from '../licensing/states';
import { latestOf, OMITTED, type LoggedAccess } from '../store/access-log';
import { activationKey } from '../store/activations';
import type { EventAction } from '../store/events';
import type { License } from '../store/licenses';
import type { Release } from '../store/releases';
import { effective, endedKeyCause, keyFullCause, nameKey, useOfKey } from './explain-keys';
import { day, freeSlot, revival } from './explain-license';
import { placeOfSite } from './explain-sites';
import { unknownKeyCause } from './explain-unknown-key';
import type { Cause, Facts } from './findings';

export function findCause(access: LoggedAccess, license: License | undefined, facts: Facts): Cause {
  switch (access.outcome) {
    case 'RATE_LIMITED':
      return rateLimited(access);
    case 'INVALID_REQUEST':
      return invalidRequest(access, license);
    case 'LICENSE_NOT_FOUND':
      return license ? endedKey(access, license, facts) : unknownKey(access, facts);
    case 'LICENSE_EXPIRED':
    case 'LICENSE_INACTIVE':
      return unusable(access, license, facts);
    case 'PRODUCT_MISMATCH':
      return wrongProduct(access, license, facts);
    case 'ACTIVATION_NOT_FOUND':
    case 'ACTIVATION_LIMIT_REACHED':
      return slotRefused(access, license, facts);
    case 'DOWNLOAD_NOT_FOUND':
      return notPublished(access, facts);
    case 'FILE_NOT_FOUND':
      return {
        code: 'PACKAGE_MISSING',
        because: "the package's file was missing from the packages folder, or the service may not read it",
        remedy: 'licensing doctor',
      };
    case OMITTED:
      return {
        code: OMITTED,
        because:
          'this address had many different requests refused in a minute, and only the first of them are recorded one by one',
        remedy: null,
      };
    default:
      return { code: access.outcome, because: `the service answered ${access.outcome}`, remedy: null };
  }
}

/** A check of a download is refused for the same reasons. */
function isOfDownload(endpoint: LoggedAccess['endpoint']): boolean {
  return endpoint === 'download' || endpoint === 'check';
}

function rateLimited({ ip, endpoint }: LoggedAccess): Cause {
  const because =
    'this address sent more requests than the limit allows (only the first refusal of each time window is recorded)';
  if (ip !== null && isInternal(ip))
    return {
      code: 'RATE_LIMITED_PROXY',
      because: `${because}. The address is ${isLoopback(ip) ? "this machine's own" : 'inside your own network'}. Either the site or program that asked is ${isLoopback(ip) ? 'on this machine' : 'in that network'} too, or nginx, or a CDN before it, does not tell the service the customers' addresses, so that all of them share one limit`,
      remedy: 'To find out which: licensing doctor --url https://YOUR.SITE',
    };
  return {
    code: 'RATE_LIMITED',
    because,
    remedy: `Wait a minute (LICENSING_RATE_WINDOW), then try again. If many customers share this address, raise ${isOfDownload(endpoint) ? 'LICENSING_DOWNLOAD_RATE_LIMIT' : 'LICENSING_RATE_LIMIT'}.`,
  };
}

function invalidRequest(access: LoggedAccess, license: License | undefined): Cause {
  const { endpoint, productId } = access;
  if (!isOfDownload(endpoint))
    return license
      ? {
          code: 'BAD_IDENTIFIER',
          because: `that is not a valid ${license.plan.activationType}, and the plan counts ${license.plan.activationType}s`,
          remedy: `The customer's software must send a ${license.plan.activationType}. Tell its developer.`,
        }
      : {
          code: 'MALFORMED',
          because:
            'the key or the identifier is missing, a field has a value that is not allowed, or the body cannot be read',
          remedy: "The customer's software does not send what the API asks for. Tell its developer.",
        };
  // The log cannot tell whether a key was sent, because ends of unknown keys are mostly not stored.
  if (productId === null)
    return {
      code: 'BAD_PRODUCT_ID',
      because: 'the download address has no product id at its end',
      remedy:
        'downloadurl in the update XML is wrong (mostly a "?" is missing before what follows the id). It is found by: licensing update-xml lint',
    };
  return {
    code: 'NO_KEY',
    because: joomlaVersion(access.userAgent)
      ? 'no key was sent with it. Joomla leaves the key out when downloadurl has a "#", when the request was redirected (for example from http to https), and when the extension has no Download Key field'
      : 'no key was sent with it',
    remedy: joomlaVersion(access.userAgent)
      ? 'Check the update XML with "licensing update-xml lint". The extension needs <dlid prefix="dlid=" suffix=""/> in its manifest: see "licensing manifest".'
      : 'The address needs the key at its end: ?dlid=KEY',
  };
}

function endedKey(access: LoggedAccess, license: License, facts: Facts): Cause {
  const cause = endedKeyCause(facts.keys.get(access.keyId ?? 0), license, facts.now);
  // A remedy for another licence does not help the licence asked about.
  return hasAnotherKey(access, facts) ? { ...cause, remedy: null } : cause;
}

function unknownKey(access: LoggedAccess, facts: Facts): Cause {
  const { keyHint: hint } = access;
  const candidates = hint === null ? [] : (facts.likely.get(hint) ?? []);
  const end = hint?.length === 8 ? 'its last group' : 'its end';
  const cause = unknownKeyCause(
    // Only the end of the sent key is known.
    candidates.map((one) => ({ ...one, by: 'hint' })),
    candidates[0]?.by === 'key' ? 'the key asked about' : end,
    hint === null
      ? ', and not of the form of this service\'s keys, so that nothing of it is recorded (Joomla cuts a key off at "&" and "#")'
      : '',
    facts,
  );
  // A remedy for another licence does not help the licence asked about.
  return candidates.length > 0 && hasAnotherKey(access, facts) ? { ...cause, remedy: null } : cause;
}

/** Whether an access came from an address of the licence asked about, but with a key that cannot be meant for it. */
export function hasAnotherKey({ licenseId, keyHint }: LoggedAccess, { about }: Facts): boolean {
  if (about === undefined || keyHint === null || licenseId === about.licenseId) return false;
  return licenseId !== null || !about.keyHints.has(keyHint);
}

function wrongProduct(
  { endpoint, productId }: LoggedAccess,
  license: License | undefined,
  { catalogue }: Facts,
): Cause {
  const mistake = isOfDownload(endpoint)
    ? "The customer pasted the key at another extension's update site, or downloadurl in the update XML names the wrong product: licensing update-xml lint"
    : "The customer entered another extension's key, or the extension sends the wrong product_id.";
  if (license === undefined)
    return { code: 'WRONG_PRODUCT', because: 'the licence is for another product', remedy: mistake };
  const { id, name } = license.product;
  const included = includedIn(catalogue, id);
  const asked = catalogue.get(productId ?? 0);
  const request = asked ? `product ${asked.id} (${asked.name})` : `product ${productId ?? '?'}`;
  if (asked && [id, ...included.map((one) => one.id)].includes(asked.id))
    return {
      code: 'COVERED_SINCE',
      because: `the licence did not cover ${request}; it covers it now`,
      remedy: 'The customer can try again.',
    };
  const list = catalogue.get(id)?.includes ?? [];
  const canInclude = asked && includesNone(asked) && list !== 'all' && included.length > 0;
  return {
    code: 'WRONG_PRODUCT',
    because: `the licence is for product ${id} (${name})${included.length > 0 ? `, which includes ${namesOf(included)}` : ''}, and the request was for ${request}`,
    remedy: canInclude
      ? `${mistake} If product ${id} is to include ${asked.name} too: licensing product edit ${id} --includes ${[...list, asked.id].sort((a, b) => a - b).join(',')}`
      : mistake,
  };
}

/** Explains a refusal by the licence's state at that time, which may differ from today's. */
function unusable(access: LoggedAccess, license: License | undefined, facts: Facts): Cause {
  const then = access.outcome === 'LICENSE_EXPIRED' ? 'expired' : stoppedAs(access, facts);
  const was = `the licence ${then === 'expired' ? 'had expired' : `was ${then ?? 'not active'}`}`;
  if (license === undefined) return { code: access.outcome, because: was, remedy: null };
  const { expiresAt } = license;
  const status = liveStatus(license, facts.now);
  if (status === 'active')
    return {
      code: 'ACTIVE_AGAIN',
      because: `${was}; it is active again now`,
      remedy: 'The customer can try again.',
    };
  const cause = { code: status.toUpperCase(), remedy: revival(license, facts.now) };
  if (status !== then) return { ...cause, because: `${was}, and is ${status} now` };
  if (status === 'suspended') return { ...cause, because: 'the licence is suspended' };
  if (status !== 'expired') return { ...cause, because: `the licence is ${status}, which is final` };
  // A later end was not the reason for the refusal.
  if (expiresAt !== null && expiresAt > latestOf(access))
    return { ...cause, because: `${was}, and is expired now` };
  const expired = expiresAt ? `the licence expired on ${day(expiresAt)}` : 'the licence has expired';
  if (isOfDownload(access.endpoint) && entitledUntil(license, facts.now))
    return {
      ...cause,
      because: `${expired}, and ${access.version ? `version ${access.version}` : 'every version'} was published after that. It still downloads what was published before`,
    };
  return { ...cause, because: expired };
}

export const STOPPED: Partial<Record<EventAction, LiveStatus>> = {
  suspend: 'suspended',
  revoke: 'revoked',
  cancel: 'cancelled',
};

/** The state in which a licence was refused as inactive; undefined if the history does not say. */
function stoppedAs(access: LoggedAccess, { stops }: Facts): LiveStatus | undefined {
  const at = latestOf(access);
  const stop = stops.get(access.licenseId ?? 0)?.find((event) => event.at <= at);
  return stop && STOPPED[stop.action];
}

/** A key with a limit of its own frees only what came by it. @returns undefined when that was not the reason */
function otherKeys(
  { endpoint, identifier, keyId }: LoggedAccess,
  license: License,
  { activated, keys }: Facts,
): Cause | undefined {
  const facts = keys.get(keyId ?? 0);
  const own = facts && effective(facts);
  if (endpoint !== 'deactivate' || identifier === null || !own?.activationLimit) return undefined;
  const by = activated.get(activationKey({ licenseId: license.id, identifier }));
  if (by === undefined || by === own.id) return undefined;
  return {
    code: 'OTHER_KEY',
    because: `${license.plan.activationType === 'domain' ? 'this site' : 'it'} came by another key (${by === null ? 'the main key' : `key ${by}`}), and ${nameKey(own)} frees only what came by it`,
    remedy: `licensing activation remove ${license.id} ${shellWord(identifier)}`,
  };
}

function slotRefused(access: LoggedAccess, license: License | undefined, facts: Facts): Cause {
  const { activated, keys, now } = facts;
  const { identifier, outcome, endpoint } = access;
  const full = outcome === 'ACTIVATION_LIMIT_REACHED';
  const was = full ? 'all slots were in use' : `${identifier ?? 'that'} was not activated`;
  if (license === undefined) return { code: outcome, because: was, remedy: null };
  const byOtherKey = otherKeys(access, license, facts);
  if (byOtherKey) return byOtherKey;
  const status = liveStatus(license, now);
  // A free slot or another try would not help.
  if (status !== 'active')
    return {
      code: full ? 'SLOTS_FULL' : 'NOT_ACTIVATED',
      because: `${was}; the licence is ${status} now`,
      remedy: null,
    };
  if (identifier !== null && activated.has(activationKey({ licenseId: license.id, identifier })))
    return { code: 'ACTIVATED_SINCE', because: `${was}; ${identifier} is activated now`, remedy: null };
  if (endpoint === 'deactivate')
    return {
      code: 'NOT_ACTIVATED',
      because: `${was}, so there was no slot to free`,
      remedy: `licensing activation list ${license.id}`,
    };
  if (!full)
    return {
      code: 'NOT_ACTIVATED',
      because: was,
      remedy: `The customer's software must activate it first; or do it for them: licensing activation add ${license.id} ${shellWord(identifier)}`,
    };
  const { activationLimit, activationsUsed } = license;
  const place = placeOfSite(identifier ?? '', license, facts.sites.get(license.id) ?? []);
  const key = keys.get(access.keyId ?? 0);
  const limit = key && effective(key).activationLimit;
  if (!place.free && activationLimit !== 0 && activationsUsed >= activationLimit)
    return {
      code: 'SLOTS_FULL',
      because: `${activationLimit === 1 ? 'the one slot is' : `all ${activationLimit} slots are`} in use${useOfKey(key)}${place.why}`,
      remedy: freeSlot(license),
    };
  if (!place.free && key && limit && key.used >= limit) {
    const cause = keyFullCause(key, license);
    return { ...cause, because: cause.because + place.why };
  }
  if (key && !isOpen(effective(key), now)) {
    const cause = endedKeyCause(key, license, now);
    return { ...cause, because: `${was}; ${cause.because}` };
  }
  return {
    code: 'SLOT_FREE',
    because: `${was}; ${place.free ? 'this site takes no slot now' : 'a slot is free now'}`,
    remedy: 'The customer can try again.',
  };
}

function notPublished(access: LoggedAccess, facts: Facts): Cause {
  const { productId, version } = access;
  const included = includedIn(facts.catalogue, productId ?? 0);
  const now = productId === null ? undefined : facts.latest.get(productId);
  const release = facts.releases.get(productId ?? 0)?.find((one) => one.version === version);
  if (release) return refusedRelease(access, release, now);
  if (version !== null && now !== undefined)
    return {
      code: 'VERSION_NOT_PUBLISHED',
      because: `version ${version} was not published; the latest is ${now}`,
      remedy: `The update XML names a version that cannot be downloaded. Write it again: licensing update-xml write --product ${productId ?? ''}`,
    };
  return now === undefined
    ? {
        code: 'NOTHING_PUBLISHED',
        because: `the product has no published version${included.length > 0 ? `; the licence also covers ${namesOf(included)}, each by its own product id` : ''}`,
        remedy: `licensing release publish --product ${productId ?? 'ID'} --version VERSION --file FILE`,
      }
    : {
        code: 'PUBLISHED_SINCE',
        because: `the product had no published version; version ${now} is published now`,
        remedy: 'The customer can try again.',
      };
}

/** For an existing version. The date of its publication is stored, that of its withdrawal is not. */
function refusedRelease(
  { at, productId }: LoggedAccess,
  { version, state, publishedAt }: Release,
  latest: string | undefined,
): Cause {
  const product = productId ?? '';
  const others = latest === undefined ? 'no other is published' : `the latest is ${latest}`;
  switch (state) {
    case 'published':
      return {
        code: 'PUBLISHED_SINCE',
        because: `version ${version} was not published; it is published now`,
        remedy: 'The customer can try again.',
      };
    case 'draft':
      return {
        code: 'VERSION_NOT_PUBLISHED',
        because: `version ${version} is a draft; ${others}`,
        remedy: `licensing release publish --product ${product} --version ${version}`,
      };
    case 'withdrawn': {
      const was =
        publishedAt !== null && publishedAt <= at ? 'withdrawn' : 'not published, and is withdrawn now';
      return {
        code: 'VERSION_WITHDRAWN',
        because: `version ${version} was ${was}; ${others}`,
        remedy: `A site lists it until it checks for updates again. If it still does then, write the update XML again: licensing update-xml write --product ${product}`,
      };
    }
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

/** A client's text as a word of a shell command, or a placeholder. */
function shellWord(text: string | null): string {
  return text !== null && /^\w[\w.:@/-]*$/.test(text) ? text : 'IDENTIFIER';
}
