import { normalizeIdentifier, spellings, type ActivationType } from '../licensing/identifiers';
import { normalizeCustomer } from '../licensing/issue';
import { asHint, keyDigest, keyHint } from '../licensing/keys';
import { latestRelease } from '../licensing/releases';
import { liveStatus } from '../licensing/states';
import { listAccesses, countDownloads, type LoggedAccess } from '../store/access-log';
import { activationKey, findActivations, findActivationsOf } from '../store/activations';
import type { Db } from '../store/database';
import { findEvents } from '../store/events';
import {
  findLicensesByDigest,
  findLicensesByHints,
  findLicensesByIds,
  listLicenses,
  type License,
} from '../store/licenses';
import { compareHints, hintsNear, hintsOfSlips, keysNear, type Slip } from './near-keys';
import {
  explainAccesses,
  explainLicense,
  explainSeveral,
  explainSilence,
  explainUnknownKey,
  STOPPED,
  type Facts,
  type Finding,
  type Likely,
  type Name,
  type Named,
  type Standing,
  type Told,
} from './why';

/** What is known about a licence, an end of a key, or an address, gathered with a bounded number of small reads. */
export interface SupportCase {
  license: License | undefined;
  /** where several may be meant: those to choose from */
  licenses?: License[];
  /** how things stand now */
  findings: Finding[];
  /** what happened, in the order of time */
  accesses: Told[];
}

export interface CaseOptions {
  now: Date;
  /** accesses to look at, at the most */
  limit: number;
  /** how long accesses are kept */
  logDays: number;
}

const MAX_LISTED = 20;
const MAX_ADDRESSES = 20;
const MAX_HINTS = 20;
/** A search for a replaced key reads all events from end to end. */
const MAX_HISTORY_SEARCHES = 5;
const MAX_CANDIDATES = 5;
/** Licences whose history is read, and how often each may have been stopped. */
const MAX_HISTORIES = 20;
const MAX_STOPS = 20;
const STOPS = Object.keys(STOPPED);
const DIGESTS_AT_ONCE = 500;

/** The likeliest first. */
const RANK: Likely['slip'][] = [
  'replaced',
  'spelling',
  'confused',
  'one-character',
  'transposed',
  'missing',
  'extra',
  'elsewhere',
  'shape',
];

/**
 * A licence: its own accesses, those with a key that may be a slip of its key, and those without a licence from the
 * addresses it is used from (too many requests, no key at all).
 */
export async function openLicenseCase(db: Db, license: License, options: CaseOptions): Promise<SupportCase> {
  const { now, limit, logDays } = options;
  const rekeyed = await findEvents(db, ['rekey'], { licenseId: license.id }, 10);
  const formerHints = rekeyed.flatMap(({ before }) =>
    typeof before?.key_hint === 'string' ? [before.key_hint] : [],
  );
  const own = await listAccesses(db, { licenseId: license.id }, limit);
  const keyHints = [...(license.keyHint === null ? [] : hintsOfSlips(license.keyHint)), ...formerHints];
  const slips = await listAccesses(db, { licenseId: null, keyHints }, limit);
  const ips = distinct([license.lastCheckIp, ...own.map(({ ip }) => ip)]).slice(0, MAX_ADDRESSES);
  const nearby = await listAccesses(db, { licenseId: null, ips }, limit);
  const accesses = newest([...own, ...slips, ...nearby], limit);

  const facts: Facts = {
    ...(await gatherFacts(db, accesses, now)),
    about: { licenseId: license.id, keyHints: new Set(keyHints) },
  };
  for (const [hint, candidates] of facts.likely) {
    const slip = formerHints.includes(hint)
      ? 'replaced'
      : license.keyHint === null
        ? undefined
        : compareHints(hint, license.keyHint);
    // Somebody asks about this licence, so it comes before others that are as near.
    if (slip !== undefined)
      facts.likely.set(hint, [
        { license, slip },
        ...candidates.filter((other) => other.license.id !== license.id),
      ]);
  }
  return {
    license,
    findings: [
      ...explainLicense(license, await readStanding(db, license, now)),
      ...(own.length === 0 ? [explainSilence(`licence ${license.id}`, logDays)] : []),
    ],
    accesses: explainAccesses(accesses, facts),
  };
}

/** All that came from an address. */
export async function openAddressCase(db: Db, ip: string, options: CaseOptions): Promise<SupportCase> {
  const { now, limit, logDays } = options;
  const accesses = await listAccesses(db, { ips: [ip] }, limit);
  return {
    license: undefined,
    findings: accesses.length === 0 ? [explainSilence(ip, logDays)] : [],
    accesses: explainAccesses(accesses, await gatherFacts(db, accesses, now)),
  };
}

/**
 * Licences that have a text as their customer, their order's reference, the end of their key, or an activated
 * identifier as their plan spells it: each once, in the order of their ids.
 */
export async function findLicensesNamed(db: Db, text: string, now: Date): Promise<Named[]> {
  const limit = MAX_LISTED + 1;
  const hint = asHint(text);
  const found: Record<Name, License[]> = {
    customer: await listLicenses(db, { customer: normalizeCustomer(text) ?? '', limit }, now),
    reference: await listLicenses(db, { reference: text, limit }, now),
    hint: hint === undefined ? [] : await listLicenses(db, { hint, limit }, now),
    identifier: await findLicensesByIdentifier(db, text, limit),
  };
  const named = new Map<number, Named>();
  for (const [by, licenses] of Object.entries(found) as [Name, License[]][])
    for (const license of licenses) if (!named.has(license.id)) named.set(license.id, { license, by });
  return [...named.values()].sort((a, b) => a.license.id - b.license.id);
}

async function findLicensesByIdentifier(db: Db, text: string, limit: number): Promise<License[]> {
  const spelled = spellings(text);
  const identifiers = [...new Set(Object.values(spelled))].filter((one) => one !== undefined);
  if (identifiers.length === 0) return [];
  const activations = await findActivationsOf(db, identifiers, limit);
  const licenses = await findLicensesByIds(db, distinct(activations.map(({ licenseId }) => licenseId)));
  const isActivated = new Set(activations.map(activationKey));
  return licenses.filter(({ id, plan }) => {
    const identifier = spelled[plan.activationType as ActivationType];
    return identifier !== undefined && isActivated.has(activationKey({ licenseId: id, identifier }));
  });
}

/** Several licences, of which support has to choose one. */
export function openListCase(named: Named[]): SupportCase {
  const listed = named.slice(0, MAX_LISTED);
  return {
    license: undefined,
    licenses: listed.map(({ license }) => license),
    findings: [explainSeveral(listed, named.length > listed.length)],
    accesses: [],
  };
}

/** An end of a key that no licence has. */
export async function openHintCase(db: Db, hint: string, options: CaseOptions): Promise<SupportCase> {
  const { now, limit, logDays } = options;
  const accesses = await listAccesses(db, { keyHints: [hint] }, limit);
  const facts = await gatherFacts(db, accesses, now);
  const likely = facts.likely.get(hint) ?? (await findLikely(db, hint, true));
  return {
    license: undefined,
    findings: [
      explainUnknownKey(likely, 'end', now),
      ...(accesses.length === 0 ? [explainSilence('a key with this end', logDays)] : []),
    ],
    accesses: explainAccesses(accesses, facts),
  };
}

/** A whole key that is unknown: whose it was meant to be, and what was refused with it. */
export async function openUnknownKeyCase(
  db: Db,
  canonical: string,
  options: CaseOptions,
): Promise<SupportCase> {
  const { now, limit, logDays } = options;
  // What is rather an e-mail or a site ends as many do (".com"): that says nothing.
  const hint = /[@.]/.test(canonical) ? null : keyHint(canonical);
  const accesses = hint === null ? [] : await listAccesses(db, { licenseId: null, keyHints: [hint] }, limit);
  const facts = await gatherFacts(db, accesses, now);
  const certain = await findLicensesOfNearKeys(db, canonical);
  const likely =
    certain.length > 0 || hint === null
      ? certain
      : (facts.likely.get(hint) ?? (await findLikely(db, hint, true)));
  if (hint !== null && certain.length > 0) facts.likely.set(hint, certain);
  return {
    license: undefined,
    findings: [
      explainUnknownKey(likely, 'key', now),
      ...(hint !== null && accesses.length === 0 ? [explainSilence('this key', logDays)] : []),
    ],
    accesses: explainAccesses(accesses, facts),
  };
}

async function readStanding(db: Db, license: License, now: Date): Promise<Standing> {
  const { id, product, expiresAt } = license;
  const status = liveStatus(license, now);
  const latestVersion = (await latestRelease(db, product.id))?.version;
  if (status === 'active') return { now, latestVersion, stopped: undefined, refusedSince: 0 };
  if (status === 'expired') {
    const refusedSince = await countDownloads(db, id, 'LICENSE_EXPIRED', expiresAt ?? new Date(0));
    return { now, latestVersion, stopped: undefined, refusedSince };
  }
  const [stopped] = await findEvents(db, STOPS, { licenseId: id }, 1);
  const refusedSince = await countDownloads(db, id, 'LICENSE_INACTIVE', stopped?.at ?? new Date(0));
  return { now, latestVersion, stopped, refusedSince };
}

async function gatherFacts(db: Db, accesses: LoggedAccess[], now: Date): Promise<Facts> {
  const licenses = await findLicensesByIds(db, distinct(accesses.map(({ licenseId }) => licenseId)));
  const byId = new Map(licenses.map((license) => [license.id, license]));
  const unknown = accesses.filter(({ outcome }) => outcome === 'LICENSE_NOT_FOUND');
  const likely = new Map<string, Likely[]>();
  for (const [i, hint] of distinct(unknown.map(({ keyHint: seen }) => seen))
    .slice(0, MAX_HINTS)
    .entries())
    likely.set(hint, await findLikely(db, hint, i < MAX_HISTORY_SEARCHES));
  const products = distinct(
    accesses.map(({ outcome, productId }) => (outcome === 'DOWNLOAD_NOT_FOUND' ? productId : null)),
  );
  const latest = new Map<number, string | undefined>();
  for (const id of products) latest.set(id, (await latestRelease(db, id))?.version);
  return {
    now,
    licenses: byId,
    likely,
    activated: await findActivated(db, accesses, byId),
    latest,
    stops: await findStops(db, accesses),
  };
}

/** What stopped the licences that were refused as not active. */
async function findStops(db: Db, accesses: LoggedAccess[]): Promise<Facts['stops']> {
  const inactive = accesses.filter(({ outcome }) => outcome === 'LICENSE_INACTIVE');
  const stops: Facts['stops'] = new Map();
  for (const licenseId of distinct(inactive.map((access) => access.licenseId)).slice(0, MAX_HISTORIES))
    stops.set(licenseId, await findEvents(db, STOPS, { licenseId }, MAX_STOPS));
  return stops;
}

/** Which of the refused identifiers are activated by now. */
async function findActivated(
  db: Db,
  accesses: LoggedAccess[],
  licenses: Map<number, License>,
): Promise<Set<string>> {
  const asked = new Map<string, { licenseId: number; identifier: string }>();
  for (const { licenseId, identifier, outcome } of accesses) {
    if (licenseId === null || identifier === null || !outcome.startsWith('ACTIVATION_')) continue;
    const type = licenses.get(licenseId)?.plan.activationType as ActivationType | undefined;
    const normalized = type && normalizeIdentifier(type, identifier);
    if (normalized !== undefined)
      asked.set(activationKey({ licenseId, identifier }), { licenseId, identifier: normalized });
  }
  const found = await findActivations(db, [...asked.values()]);
  return new Set([...asked].filter(([, pair]) => found.has(activationKey(pair))).map(([sent]) => sent));
}

/** Whose a key that ends in `hint` may have been meant to be. */
async function findLikely(db: Db, hint: string, inHistory: boolean): Promise<Likely[]> {
  const near = await findLicensesByHints(db, hintsNear(hint), 2 * MAX_CANDIDATES);
  const candidates: Likely[] = near.flatMap((license) => {
    const slip = license.keyHint === null ? undefined : compareHints(hint, license.keyHint);
    return slip === undefined ? [] : [{ license, slip }];
  });
  if (inHistory) {
    const events = await findEvents(db, ['rekey'], { field: 'key_hint', before: hint }, MAX_CANDIDATES);
    const replaced = await findLicensesByIds(db, distinct(events.map(({ licenseId }) => licenseId)));
    candidates.push(...replaced.map((license) => ({ license, slip: 'replaced' as const })));
  }
  return ranked(candidates);
}

async function findLicensesOfNearKeys(db: Db, canonical: string): Promise<Likely[]> {
  const near = keysNear(canonical);
  const found: { license: License; slip: Slip }[] = [];
  for (let i = 0; i < near.length && found.length < MAX_CANDIDATES; i += DIGESTS_AT_ONCE) {
    const slips = new Map(near.slice(i, i + DIGESTS_AT_ONCE).map(({ key, slip }) => [keyDigest(key), slip]));
    const licenses = await findLicensesByDigest(db, [...slips.keys()]);
    for (const [digest, license] of licenses) found.push({ license, slip: slips.get(digest) as Slip });
  }
  return ranked(found);
}

function ranked(candidates: Likely[]): Likely[] {
  return [...candidates].sort((a, b) => RANK.indexOf(a.slip) - RANK.indexOf(b.slip)).slice(0, MAX_CANDIDATES);
}

function newest(accesses: LoggedAccess[], limit: number): LoggedAccess[] {
  return [...new Map(accesses.map((access) => [access.id, access])).values()]
    .sort((a, b) => b.at.getTime() - a.at.getTime() || b.id - a.id)
    .slice(0, limit);
}

function distinct<T>(values: (T | null)[]): T[] {
  return [...new Set(values.filter((value): value is T => value !== null))];
}
