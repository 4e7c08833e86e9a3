import ipaddr from 'ipaddr.js';
import { liveStatus, type LiveStatus } from '../licensing/states';
import { formatTimestamp } from '../licensing/timestamps';
import type { LoggedAccess } from '../store/access-log';
import { activationKey } from '../store/activations';
import type { LicenseEvent } from '../store/events';
import type { License } from '../store/licenses';
import type { Release } from '../store/releases';
import type { Slip } from './near-keys';

/** Why an update failed, in sentences for support: pure reasoning over what was recorded. */

/** One thing to know. The code is stable, for programs; the text is for people, and never holds a key. */
export interface Finding {
  code: string;
  text: string;
  /** what to do about it, often a command; null when nothing is to be done */
  remedy: string | null;
}

/** Consecutive accesses that were the same, told once. */
export interface Told extends Finding {
  /** how often */
  count: number;
  firstAt: Date;
  /** the latest of them */
  access: LoggedAccess;
}

/** A licence that an unknown key may have been meant for. */
export interface Likely {
  license: License;
  /** `replaced`: the key was that licence's until it got another */
  slip: Slip | 'replaced';
  /** whether the whole key was compared, or its end alone, which may be another's as well */
  by: 'key' | 'hint';
}

/** What a text may be to a licence, beside its id and its key. */
export type Name = 'customer' | 'reference' | 'hint' | 'identifier' | 'access';

/** A licence, and what it was found by. */
export interface NamedLicense {
  license: License;
  by: Name;
}

/** What tells of a licence now, beside its row. */
export interface Circumstances {
  now: Date;
  /** the version an updater is offered; undefined: nothing is published */
  latestVersion: string | undefined;
  /** what ended or interrupted it, when it is not active */
  stopped: LicenseEvent | undefined;
  /** downloads refused since it stopped being usable */
  refusedSince: number;
}

/** What accesses are judged by: the present, so that a sentence can say whether its cause still stands. */
export interface Facts {
  now: Date;
  /** those that accesses name */
  licenses: Map<number, License>;
  /** for the hints of unknown keys: whose they may have been meant to be, the likeliest first */
  likely: Map<string, Likely[]>;
  /** which licence and identifier are activated now, as `activationKey` writes them */
  activated: Set<string>;
  /** products and their latest published version */
  latest: Map<number, string | undefined>;
  /** products and all their versions */
  releases: Map<number, Release[]>;
  /** of licences that were refused as not active: what suspended or ended them, the latest first */
  stops: Map<number, LicenseEvent[]>;
  /** the licence that was asked about, and the ends of its key: as it is, as it was, and mistyped */
  about?: { licenseId: number; keyHints: Set<string> };
}

/** What stands in the way of a licence now. */
export function explainLicense(license: License, circumstances: Circumstances): Finding[] {
  const { id, product, activationLimit, activationsUsed } = license;
  const findings: Finding[] = [explainState(license, circumstances)];
  const usable = liveStatus(license, circumstances.now) === 'active';
  if (usable && activationLimit !== 0 && activationsUsed >= activationLimit)
    findings.push({
      code: 'SLOTS_FULL',
      text: `${activationLimit === 1 ? 'The one slot' : `All ${activationLimit} slots`} of licence ${id} ${activationLimit === 1 ? 'is' : 'are'} in use (${activationsUsed}). What is activated keeps working; nothing more can be activated.`,
      remedy: freeSlot(license),
    });
  if (circumstances.latestVersion === undefined)
    findings.push({
      code: 'NOTHING_PUBLISHED',
      text: `Product ${product.id} (${product.name}) has no published version: there is nothing to download for anybody.`,
      remedy: `licensing release publish --product ${product.id} --version VERSION --file FILE`,
    });
  if (license.lastCheckAt)
    findings.push({
      code: 'VALIDATED',
      text: `Its key was last validated at ${formatTimestamp(license.lastCheckAt)} from ${license.lastCheckIp ?? 'an unknown address'}, ${license.checkCount} times in all: that client has the right key.`,
      remedy: null,
    });
  return findings;
}

function explainState(license: License, { now, stopped, refusedSince }: Circumstances): Finding {
  const { id, product, plan, expiresAt } = license;
  const name = `Licence ${id} (${product.name}, ${plan.name})`;
  const refused =
    refusedSince === 0
      ? ''
      : `, ${refusedSince} ${refusedSince === 1 ? 'download' : 'downloads'} refused since`;
  const by = stopped ? ` on ${day(stopped.at)} by ${stopped.actor}${reasonOf(stopped)}` : '';
  const past = expiresAt !== null && expiresAt <= now ? ` It also expired on ${day(expiresAt)}.` : '';
  const status = liveStatus(license, now);
  switch (status) {
    case 'active':
      return {
        code: 'ACTIVE',
        text: `${name} is active ${expiresAt ? `until ${day(expiresAt)}` : 'without an end'}, ${slots(license)}.`,
        remedy: null,
      };
    case 'expired':
      return {
        code: 'EXPIRED',
        text: `${name} expired${expiresAt ? ` on ${day(expiresAt)}` : ''}${refused}.`,
        remedy: revival(license, now),
      };
    case 'suspended':
      return {
        code: 'SUSPENDED',
        text: `${name} was suspended${by}${refused}.${past}`,
        remedy: revival(license, now),
      };
    default:
      return {
        code: status.toUpperCase(),
        text: `${name} was ${status}${by}, which is final${refused}.${past}`,
        remedy: `To give the customer a new one: licensing license issue --plan ${plan.id}`,
      };
  }
}

/** The command that makes a licence usable again; null where none does. */
function revival(license: License, now: Date): string | null {
  const { id, expiresAt } = license;
  switch (liveStatus(license, now)) {
    case 'expired':
      return `licensing license renew ${id} --for 1y`;
    case 'suspended':
      // Reinstated after its end it would be expired.
      return expiresAt !== null && expiresAt <= now
        ? `licensing license renew ${id} --for 1y`
        : `licensing license reinstate ${id}`;
    default:
      return null;
  }
}

function reasonOf({ after }: LicenseEvent): string {
  return typeof after?.reason === 'string' ? ` ("${after.reason}")` : '';
}

function slots({ activationLimit, activationsUsed, plan }: License): string {
  return `${activationsUsed} of ${activationLimit || 'unlimited'} slots used, by ${plan.activationType}`;
}

/**
 * Accesses in the order of time, each in a sentence; consecutive equal ones are one.
 *
 * @param newestFirst as the store lists them
 */
export function explainAccesses(newestFirst: LoggedAccess[], facts: Facts): Told[] {
  const groups: LoggedAccess[][] = [];
  for (const access of [...newestFirst].reverse()) {
    const group = groups.at(-1);
    if (group && isSame(group[0] as LoggedAccess, access)) group.push(access);
    else groups.push([access]);
  }
  return groups.map((group) => {
    const access = group.at(-1) as LoggedAccess;
    return {
      ...explainAccess(access, group.length, facts),
      count: group.length,
      firstAt: (group[0] as LoggedAccess).at,
      access,
    };
  });
}

function isSame(a: LoggedAccess, b: LoggedAccess): boolean {
  return (
    [
      'endpoint',
      'outcome',
      'licenseId',
      'keyHint',
      'productId',
      'version',
      'identifier',
      'ip',
      'userAgent',
    ] as const
  ).every((field) => a[field] === b[field]);
}

/** Why it ended as it did. */
type Cause = Pick<Finding, 'code' | 'remedy'> & { because: string };

function explainAccess(access: LoggedAccess, count: number, facts: Facts): Finding {
  const who = `${clientOf(access.userAgent)} at ${access.ip ?? 'an unknown address'}`;
  const license = access.licenseId === null ? undefined : facts.licenses.get(access.licenseId);
  if (access.outcome === 'ok') return explainGranted(access, who, count);
  const { code, because, remedy } = findCause(access, license, facts);
  const by = hasAnotherKey(access, facts) ? ' with another key' : '';
  return { code, text: `${attempt(access)}${by} was refused to ${who}: ${because}.`, remedy };
}

/** Whether it came from an address of the licence that was asked about, but with a key that cannot be meant for it. */
function hasAnotherKey({ licenseId, keyHint }: LoggedAccess, { about }: Facts): boolean {
  return about !== undefined && licenseId === null && keyHint !== null && !about.keyHints.has(keyHint);
}

/** Joomla asks once for each click on Update (no retry, no HEAD), so a second time means a second try. */
function explainGranted(
  { version, userAgent, licenseId }: LoggedAccess,
  who: string,
  count: number,
): Finding {
  const text = `Version ${version ?? '?'} was granted to ${who}${licenseId === null ? '' : ` with licence ${licenseId}`}`;
  if (count < 2 || !isJoomla(userAgent)) return { code: 'GRANTED', text: `${text}.`, remedy: null };
  return {
    code: 'GRANTED_REPEATEDLY',
    text: `${text} ${count} times. Joomla asks once for each click on Update: either several sites share that address, or the package arrived and was not installed.`,
    remedy: 'Ask the customer what Joomla said, and look at CHECKSUM, NO_PACKAGE and OUT_OF_MEMORY below.',
  };
}

function attempt({ endpoint, version, productId, identifier, licenseId }: LoggedAccess): string {
  const of = licenseId === null ? '' : ` with licence ${licenseId}`;
  switch (endpoint) {
    case 'download':
      return `A download ${productId === null ? 'without a product id' : `of product ${productId}`}${version === null ? '' : `, version ${version},`}${of}`;
    case 'activate':
    case 'deactivate':
      return `${endpoint === 'activate' ? 'Activating' : 'Deactivating'} ${identifier ?? '(no identifier)'}${of}`;
    case 'updates':
      return 'An update check';
    case 'validate':
      return 'A validate call';
  }
}

function findCause(access: LoggedAccess, license: License | undefined, facts: Facts): Cause {
  switch (access.outcome) {
    case 'RATE_LIMITED':
      return rateLimited(access);
    case 'INVALID_REQUEST':
      return invalidRequest(access, license);
    case 'LICENSE_NOT_FOUND':
      return unknownKey(access, facts);
    case 'LICENSE_EXPIRED':
    case 'LICENSE_INACTIVE':
      return unusable(access, license, facts);
    case 'PRODUCT_MISMATCH':
      return {
        code: 'WRONG_PRODUCT',
        because: license
          ? `the licence is for product ${license.product.id} (${license.product.name})`
          : 'the licence is for another product',
        remedy:
          "The customer pasted the key at another extension's update site, or downloadurl in the update XML names the wrong product: licensing update-xml lint",
      };
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
    default:
      return { code: access.outcome, because: `the service answered ${access.outcome}`, remedy: null };
  }
}

function rateLimited({ ip, endpoint }: LoggedAccess): Cause {
  const because =
    'this address sent more requests than the limit allows (only the first refusal of each time window is recorded)';
  if (ip !== null && isInternal(ip))
    return {
      code: 'RATE_LIMITED_PROXY',
      because: `${because}. It is an address inside your own network, not a customer's: nginx, or a CDN before it, does not tell the service the customers' addresses, so all of them share one limit`,
      remedy: 'licensing doctor --url https://YOUR.SITE',
    };
  return {
    code: 'RATE_LIMITED',
    because,
    remedy: `Wait a minute (LICENSING_RATE_WINDOW), then try again. If many customers share this address, raise ${endpoint === 'download' ? 'LICENSING_DOWNLOAD_RATE_LIMIT' : 'LICENSING_RATE_LIMIT'}.`,
  };
}

function invalidRequest(access: LoggedAccess, license: License | undefined): Cause {
  const { endpoint, productId, keyHint } = access;
  if (endpoint !== 'download')
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
  if (productId === null && keyHint !== null)
    return {
      code: 'BAD_PRODUCT_ID',
      because: 'the download address has no product id at its end',
      remedy:
        'downloadurl in the update XML is wrong (mostly a "?" is missing before what follows the id). It is found by: licensing update-xml lint',
    };
  return {
    code: 'NO_KEY',
    because: isJoomla(access.userAgent)
      ? 'no key was sent with it. Joomla leaves the key out when downloadurl has a "#", when the request was redirected (for example from http to https), and when the extension has no Download Key field'
      : 'no key was sent with it',
    remedy: isJoomla(access.userAgent)
      ? 'Check the update XML with "licensing update-xml lint". The extension needs <dlid prefix="dlid=" suffix=""/> in its manifest: see "licensing manifest".'
      : 'The address needs the key at its end: ?dlid=KEY',
  };
}

/** `whose` is the key or the end of it. */
const SLIPS: Record<Likely['slip'], (id: number, whose: string) => string> = {
  'one-character': (id, whose) => `${whose} differs from licence ${id}'s in one character`,
  transposed: (id, whose) => `${whose} is licence ${id}'s with two neighbouring characters swapped`,
  missing: (id, whose) => `${whose} is licence ${id}'s with one character left out`,
  extra: (id, whose) => `${whose} is licence ${id}'s with one character too many`,
  confused: (id, whose) =>
    `${whose} is licence ${id}'s with a letter for a digit that looks like it (O for 0, I or l for 1) or the other way round`,
  spelling: (id, whose) =>
    `${whose} is licence ${id}'s in another spelling (case, or hyphens in other places)`,
  elsewhere: (id) => `it ends like licence ${id}'s, and then the mistake is in a part before its end`,
  shape: (id) =>
    `it ends like licence ${id}'s, but is not a whole key: before its end a character is missing, or one too many, or not one of 0-9 and A-F`,
  replaced: (id) => `it ends like the key that licence ${id} had before "licensing license rekey"`,
};

function unknownKey(access: LoggedAccess, facts: Facts): Cause {
  const { keyHint: hint } = access;
  const candidates = hint === null ? [] : (facts.likely.get(hint) ?? []);
  const end = hint?.length === 8 ? 'its last group' : 'its end';
  const cause = unknownKeyCause(
    // Of the key that was sent, the end alone is known.
    candidates.map((one) => ({ ...one, by: 'hint' })),
    candidates[0]?.by === 'key' ? 'the key asked about' : end,
    hint === null ? ', and too short for its end to be recorded (Joomla cuts a key off at "&" and "#")' : '',
    facts,
  );
  // What helps another licence is no help for the one that was asked about.
  return candidates.length > 0 && hasAnotherKey(access, facts) ? { ...cause, remedy: null } : cause;
}

function unknownKeyCause(
  candidates: Likely[],
  whose: string,
  more: string,
  { now, about }: Pick<Facts, 'now' | 'about'>,
): Cause {
  const [first, ...others] = candidates;
  if (first === undefined)
    return {
      code: 'UNKNOWN_KEY',
      because: `the key is unknown${more}`,
      remedy:
        'Ask the customer for the whole key, for "licensing why -", or for their e-mail, for "licensing why EMAIL". There is no end of a key that has fewer than 16 characters.',
    };
  const { license, slip, by } = first;
  const theirs = by === 'key' ? '' : `it may be meant for licence ${license.id}: `;
  const also =
    others.length === 0 ? '' : ` (also possible: ${others.map((other) => other.license.id).join(', ')})`;
  const cause = {
    code: slip === 'replaced' ? 'KEY_REPLACED' : 'KEY_MISTYPED',
    because: `the key is unknown; ${theirs}${SLIPS[slip](license.id, whose)}${also}`,
  };
  const status = liveStatus(license, now);
  // The right key would be refused as well.
  if (status !== 'active')
    return {
      ...cause,
      because: `${cause.because}; licence ${license.id} is ${status} now`,
      remedy: about?.licenseId === license.id ? null : `licensing why ${license.id}`,
    };
  return {
    ...cause,
    remedy:
      slip === 'replaced'
        ? `If so, the customer needs the new key: licensing license reveal ${license.id}`
        : 'The customer should paste the whole key again, in Joomla under System > Update > Update Sites, into Download Key.',
  };
}

/** What was looked for in vain; the text itself may be a key, and is not repeated. */
export const NOTHING_FOUND =
  "No licence has this as its id, its key or the end of it, its customer's e-mail, its order's reference or what is activated on it or was refused lately.";

/**
 * What a text was meant to be that no licence has, read as a key or as the end of one.
 *
 * @param likely the likeliest first
 */
export function explainUnknownKey(likely: Likely[], what: 'key' | 'end', now: Date): Finding {
  const whose = what === 'end' ? 'this end' : likely[0]?.by === 'key' ? 'it' : 'its end';
  const { code, because, remedy } = unknownKeyCause(likely, whose, '', { now });
  if (likely.length === 0) return { code, text: NOTHING_FOUND, remedy };
  return {
    code,
    text: `No licence has ${what === 'key' ? 'this key' : 'a key with this end'}: ${because}.`,
    remedy,
  };
}

const NAMES: Record<Name, string> = {
  customer: 'as their customer',
  reference: 'as their reference',
  hint: 'as the end of their key',
  identifier: 'as what is activated',
  access: 'in the access log alone',
};

/** @param more whether these are not all */
export function explainSeveral(named: NamedLicense[], more: boolean): Finding {
  const groups = (Object.keys(NAMES) as Name[]).flatMap((name) => {
    const ids = named.filter(({ by }) => by === name).map(({ license }) => license.id);
    return ids.length === 0 ? [] : [`${ids.join(', ')} ${NAMES[name]}`];
  });
  return {
    code: 'SEVERAL_LICENSES',
    text: `${more ? `More than ${named.length} licences have this; the first` : `${named.length} licences have this`}: ${groups.join('; ')}.`,
    remedy: 'licensing why ID',
  };
}

/** Shops number their orders as licences are numbered, and whoever calls says only a number. */
export function explainReference({ id, reference }: License): Finding {
  return {
    code: 'ALSO_A_REFERENCE',
    text: `An order has the number ${reference ?? ''} as well: that of licence ${id}.`,
    remedy: `licensing why ${id}`,
  };
}

/** Refused by the state of that moment, which need not be that of today: the access and the history tell. */
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
  // An end that came later is not the one it was refused for.
  if (expiresAt !== null && expiresAt > access.at) return { ...cause, because: `${was}, and is expired now` };
  return {
    ...cause,
    because: expiresAt ? `the licence expired on ${day(expiresAt)}` : 'the licence has expired',
  };
}

/** What an action in a licence's history made of it, when it stopped being active. */
export const STOPPED: Record<string, LiveStatus> = {
  suspend: 'suspended',
  revoke: 'revoked',
  cancel: 'cancelled',
};

/** In which state a licence was when it was refused as not active; undefined when the history does not say. */
function stoppedAs({ licenseId, at }: LoggedAccess, { stops }: Facts): LiveStatus | undefined {
  const stop = stops.get(licenseId ?? 0)?.find((event) => event.at <= at);
  return stop && STOPPED[stop.action];
}

function slotRefused(access: LoggedAccess, license: License | undefined, { activated, now }: Facts): Cause {
  const { identifier, outcome, endpoint } = access;
  const full = outcome === 'ACTIVATION_LIMIT_REACHED';
  const was = full ? 'all slots were in use' : `${identifier ?? 'that'} was not activated`;
  if (license === undefined) return { code: outcome, because: was, remedy: null };
  const status = liveStatus(license, now);
  // Neither a slot nor another try would help.
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
  return activationLimit === 0 || activationsUsed < activationLimit
    ? { code: 'SLOT_FREE', because: `${was}; a slot is free now`, remedy: 'The customer can try again.' }
    : {
        code: 'SLOTS_FULL',
        because: activationLimit === 1 ? 'the one slot is in use' : `all ${activationLimit} slots are in use`,
        remedy: freeSlot(license),
      };
}

/** An operator may have gone over the limit, or lowered it below what is in use. */
function freeSlot({ id, activationLimit, activationsUsed }: License): string {
  const over = activationsUsed - activationLimit;
  return `licensing activation list ${id}, then "licensing activation remove ${id} IDENTIFIER"${over > 0 ? ` (${over + 1} of them)` : ''}; or licensing license set-limit ${id} ${activationsUsed + 1}`;
}

function notPublished(access: LoggedAccess, facts: Facts): Cause {
  const { productId, version } = access;
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
        because: 'the product has no published version',
        remedy: `licensing release publish --product ${productId ?? 'ID'} --version VERSION --file FILE`,
      }
    : {
        code: 'PUBLISHED_SINCE',
        because: `the product had no published version; version ${now} is published now`,
        remedy: 'The customer can try again.',
      };
}

/** @param newestFirst accesses that have as their identifier what is activated nowhere */
export function explainLogged(newestFirst: LoggedAccess[], facts: Facts): Finding[] {
  const [latest] = newestFirst;
  if (latest === undefined) return [];
  const { text, remedy } = explainAccess(latest, 1, facts);
  return [
    {
      code: 'IN_ACCESS_LOG',
      text: `This is activated on no licence, but stands in the access log, the last time on ${formatTimestamp(latest.at)}: ${text}`,
      remedy,
    },
  ];
}

/** Of a version that exists: when it was published is kept, and not when it was withdrawn. */
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

/** Nothing was recorded of what was asked about. */
export function explainSilence(what: string, logDays: number): Finding {
  return {
    code: 'NOTHING_RECORDED',
    text: `There is no record of ${what} (records are kept for ${logDays} days). If an update failed, its request did not come as far as this service, or it failed after the download.`,
    remedy: 'Ask the customer what Joomla said, and look for it in the list below.',
  };
}

/** What fails without leaving anything here, and how it is recognised (observed on Joomla 5.3). */
export const UNTRACED: Omit<Finding, 'remedy'>[] = [
  {
    code: 'KEY_FIELD_EMPTY',
    text: 'Joomla says "The Download Key is missing": the field is empty, or has only a 0 in it. Joomla sends nothing.',
  },
  {
    code: 'BLANK_IN_KEY',
    text: 'Joomla says "URL using bad/illegal format": there is a space or a line break in the key (or in downloadurl). Joomla sends nothing.',
  },
  {
    code: 'INVISIBLE_CHARACTER',
    text: 'Joomla says "Error connecting to the server: 400" and no refusal is listed here: an invisible character was pasted with the key. (With licensing.conf, nginx removes it.)',
  },
  {
    code: 'NOT_OFFERED',
    text: 'Joomla offers no update: <client>administrator</client> in the update XML, a targetplatform that does not match, the update site disabled, or the XML cannot be fetched. Joomla does not ask this service then. To check: licensing update-xml lint.',
  },
  {
    code: 'CHECKSUM',
    text: 'Joomla says "The checksum verification failed": the download is listed here as sent. A hash in the update XML belongs to another package, or has spaces around it. Write it again: licensing update-xml write.',
  },
  {
    code: 'NO_PACKAGE',
    text: 'Joomla says "Failed to extract file": the answer did not come from this service, or its headers were changed: by the site\'s own pages, or a cache. To check: licensing doctor --url https://YOUR.SITE.',
  },
  {
    code: 'PACKAGE_NOT_SENT',
    text: 'Joomla says "Error connecting to the server: 404" and the download is listed here as sent: nginx cannot read the package. To check: licensing doctor.',
  },
  {
    code: 'SERVER_ERROR',
    text: 'Joomla says "Error connecting to the server: 500", 502, 503, or names a time-out: the service or its database did not run, or the transfer broke off. The logs of nginx and of the service say when.',
  },
  {
    code: 'REDIRECTED',
    text: 'Joomla says "Maximum (20) redirects followed", or a download without a key is listed here: downloadurl is redirected, and Joomla does not send the key to the new address. downloadurl must be the final https address.',
  },
  {
    code: 'OUT_OF_MEMORY',
    text: "Joomla shows a blank or error page, and the download is listed here as sent: Joomla holds the whole package in memory, and PHP's memory_limit is too small for it.",
  },
  {
    code: 'VALIDATE',
    text: 'Validate calls are not recorded one by one. Of each licence, the time of the latest call and the number of calls are kept.',
  },
];

function clientOf(userAgent: string | null): string {
  if (userAgent === null) return 'a client without a name';
  const joomla = /Joomla!\/([\w.-]+)/.exec(userAgent)?.[1];
  if (joomla !== undefined) return `Joomla ${joomla}`;
  if (/^Mozilla\/.*(Firefox|Chrome|Safari|Edg)/.test(userAgent)) return 'a browser';
  return `"${userAgent.slice(0, 60)}"`;
}

function isJoomla(userAgent: string | null): boolean {
  return userAgent?.includes('Joomla!/') ?? false;
}

/** Not an address a customer has on the internet. */
function isInternal(ip: string): boolean {
  return (
    ipaddr.isValid(ip) &&
    ['loopback', 'private', 'uniqueLocal', 'linkLocal', 'carrierGradeNat'].includes(ipaddr.parse(ip).range())
  );
}

/** What a client sent is shown as one word of a command, or not at all. */
function shellWord(text: string | null): string {
  return text !== null && /^\w[\w.:@/-]*$/.test(text) ? text : 'IDENTIFIER';
}

function day(date: Date): string {
  return formatTimestamp(date).slice(0, 10);
}
