import { domainToUnicode } from 'node:url';
import {
  normalizeIdentifier,
  spellings,
  type ActivationType,
  type Spellings,
} from '../licensing/identifiers';
import { includedIn, readCatalogue } from '../licensing/bundles';
import { storedCustomer } from '../licensing/customer-email';
import { asHint, keyDigest, keyHint } from '../licensing/keys';
import { latestRelease } from '../licensing/updates';
import { liveStatus } from '../licensing/states';
import {
  countDownloads,
  findAccessesWith,
  lastAccessId,
  listAccesses,
  type LoggedAccess,
} from '../store/access-log';
import { activationKey, findActivations, findActivationsOf } from '../store/activations';
import type { Db } from '../store/database';
import { findEvents, type EventAction } from '../store/events';
import {
  findLicensesByDigest,
  findLicensesByHints,
  findLicensesByIds,
  findLicensesOfCustomers,
  listLicenses,
  type License,
} from '../store/licenses';
import { listReleases } from '../store/releases';
import { explainAccesses, explainLogged, explainNearby, explainSilence } from './explain-accesses';
import { explainLicense, explainNearEmail, explainSeveral } from './explain-license';
import { explainUnknownKey } from './explain-unknown-key';
import type { Circumstances, Facts, Finding, Likely, Name, NamedLicense, Told } from './findings';
import {
  compareHints,
  emailsNear,
  hintsNear,
  hintsOfSlips,
  keysNear,
  mayBeOwn,
  type Slip,
} from './similar-keys';
import { STOPPED } from './refusal-causes';

/** What is known about a licence, the end of a key or an address, gathered by a bounded number of small reads. */
export interface SupportCase {
  license: License | undefined;
  /** the licences to choose from, if several match */
  licenses?: License[];
  findings: Finding[];
  accesses: Told[];
}

export interface CaseOptions {
  now: Date;
  /** the most accesses to look at */
  limit: number;
  /** how long accesses are stored */
  logDays: number;
}

const MAX_LISTED = 20;
const MAX_ADDRESSES = 20;
const MAX_HINTS = 20;
/** A search for a replaced key scans all events. */
const MAX_HISTORY_SEARCHES = 5;
const MAX_CANDIDATES = 5;
/** Licences whose history is read, and stops read for each. */
const MAX_HISTORIES = 20;
const MAX_STOPS = 20;
const STOPS = Object.keys(STOPPED) as EventAction[];
const DIGESTS_AT_ONCE = 500;
/** The latest accesses searched for an identifier: two seconds on MariaDB. */
const LATEST_ACCESSES = 1_000_000;
/** Accesses whose text contains the identifier, before exact comparison. */
const MAX_ALIKE = 5_000;

/** The likeliest first: certain matches, then guesses. */
const RANK: Likely['slip'][] = [
  'replaced',
  'elsewhere',
  'spelling',
  'shape',
  'confused',
  'one-character',
  'transposed',
  'missing',
  'extra',
];

/**
 * A licence's own accesses, those with a key that may be its mistyped key, and those without a licence from its
 * addresses. `logged` are the accesses that led here, the newest first.
 */
export async function openLicenseCase(
  db: Db,
  license: License,
  options: CaseOptions,
  logged: LoggedAccess[] = [],
): Promise<SupportCase> {
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
    ...(await gatherFacts(db, [...accesses, ...logged.slice(0, 1)], now)),
    about: { licenseId: license.id, keyHints: new Set(keyHints) },
  };
  for (const [hint, candidates] of facts.likely) {
    const slip = formerHints.includes(hint)
      ? 'replaced'
      : license.keyHint === null
        ? undefined
        : compareHints(hint, license.keyHint);
    // Prefer the licence asked about to others that are as near.
    if (slip !== undefined)
      facts.likely.set(hint, [
        { license, slip, by: 'hint' },
        ...candidates.filter((other) => other.license.id !== license.id),
      ]);
  }
  return {
    license,
    findings: [
      ...explainLogged(logged, facts),
      ...explainLicense(license, await readCircumstances(db, license, now)),
      ...(own.length > 0
        ? []
        : [
            accesses.length > 0
              ? explainNearby(license.id, logDays)
              : explainSilence(`licence ${license.id}`, logDays),
          ]),
    ],
    accesses: explainAccesses(accesses, facts),
  };
}

/** All accesses from an address. */
export async function openAddressCase(db: Db, ip: string, options: CaseOptions): Promise<SupportCase> {
  const { now, limit, logDays } = options;
  const accesses = await listAccesses(db, { ips: [ip] }, limit);
  return {
    license: undefined,
    findings: accesses.length === 0 ? [explainSilence(ip, logDays)] : [],
    accesses: explainAccesses(accesses, await gatherFacts(db, accesses, now)),
  };
}

/** Licences whose customer, reference, end of key or activated identifier is the text. Each is listed once, by id. */
export async function findLicensesNamed(db: Db, text: string, now: Date): Promise<NamedLicense[]> {
  const limit = MAX_LISTED + 1;
  const hint = asHint(text);
  const found: Record<'customer' | 'reference' | 'hint' | 'identifier', License[]> = {
    customer: await listLicenses(db, { customer: storedCustomer(text), limit }, now),
    reference: await listLicenses(db, { reference: text, limit }, now),
    hint: hint === undefined ? [] : await listLicenses(db, { hint, limit }, now),
    identifier: await findLicensesByIdentifier(db, text, limit),
  };
  const named = new Map<number, NamedLicense>();
  for (const [by, licenses] of Object.entries(found) as [Name, License[]][])
    for (const license of licenses) if (!named.has(license.id)) named.set(license.id, { license, by });
  return [...named.values()].sort((a, b) => a.license.id - b.license.id);
}

/** Licences of customers whose e-mail begins with the text, else is within one slip, else has the name elsewhere. */
export async function findLicensesByNearEmail(db: Db, text: string): Promise<NamedLicense[]> {
  const email = storedCustomer(text);
  const limit = MAX_LISTED + 1;
  // Numbers mean ids and orders.
  if (!/^\S{3,190}$/.test(email) || /^\d+$/.test(email)) return [];
  const named = (licenses: License[], by: Name) =>
    licenses.map((license) => ({ license, by })).sort((a, b) => a.license.id - b.license.id);
  const begun = await findLicensesOfCustomers(db, { beginning: email }, limit);
  const [name = '', provider] = email.split('@');
  if (begun.length > 0 || provider === undefined) return named(begun, 'beginning');
  const emails = emailsNear(email);
  const near: License[] = [];
  for (let i = 0; i < emails.length && near.length < limit; i += DIGESTS_AT_ONCE)
    near.push(...(await findLicensesOfCustomers(db, { among: emails.slice(i, i + DIGESTS_AT_ONCE) }, limit)));
  if (near.length > 0 || name === '') return named(near.slice(0, limit), 'near');
  return named(await findLicensesOfCustomers(db, { beginning: `${name}@` }, limit), 'provider');
}

/** A licence whose customer's e-mail differs from the typed one. */
export async function openNearEmailCase(
  db: Db,
  { license, by }: NamedLicense,
  options: CaseOptions,
): Promise<SupportCase> {
  const found = await openLicenseCase(db, license, options);
  return { ...found, findings: [explainNearEmail(license, by), ...found.findings] };
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

/**
 * Finds the licences for which an identifier was refused, in the latest accesses, or else those accesses.
 * @returns undefined when the log does not contain it either
 */
export async function openLoggedCase(
  db: Db,
  text: string,
  options: CaseOptions,
): Promise<SupportCase | undefined> {
  const { accesses, licenses } = await findLogged(db, text, options.limit);
  const [only, ...others] = licenses;
  if (only)
    return others.length === 0
      ? openLicenseCase(db, only, options, accesses)
      : openListCase(licenses.map((license) => ({ license, by: 'access' })));
  if (accesses.length === 0) return undefined;
  const facts = await gatherFacts(db, accesses, options.now);
  return {
    license: undefined,
    findings: explainLogged(accesses, facts),
    accesses: explainAccesses(accesses, facts),
  };
}

async function findLogged(
  db: Db,
  text: string,
  limit: number,
): Promise<{ accesses: LoggedAccess[]; licenses: License[] }> {
  const spelled = spellings(text);
  const { domain, seat } = spelled;
  // The log stores identifiers as they were sent.
  const texts = distinct([
    seat ?? null,
    domain ?? null,
    domain === undefined ? null : domainToUnicode(domain),
  ]);
  if (texts.length === 0) return { accesses: [], licenses: [] };
  const after = (await lastAccessId(db)) - LATEST_ACCESSES;
  const alike = await findAccessesWith(db, texts, { after, limit: MAX_ALIKE });
  const licenses = await findLicensesByIds(db, distinct(alike.map(({ licenseId }) => licenseId)));
  const types = new Map(licenses.map(({ id, plan }) => [id, plan.activationType as ActivationType]));
  const accesses = alike
    .filter(({ identifier, licenseId }) =>
      isSameIdentifier(spelled, spellings(identifier ?? ''), types.get(licenseId ?? 0)),
    )
    .slice(0, limit);
  const named = new Set(accesses.map(({ licenseId }) => licenseId));
  return {
    accesses,
    licenses: licenses.filter(({ id }) => named.has(id)).sort((a, b) => a.id - b.id),
  };
}

function isSameIdentifier(asked: Spellings, sent: Spellings, type: ActivationType | undefined): boolean {
  // An invalid identifier was refused and is logged as sent.
  if (sent.seat !== undefined && sent.seat === asked.seat) return true;
  if (sent.domain === undefined || sent.domain !== asked.domain) return false;
  // As a domain, an e-mail address would match everybody at its provider.
  return type === undefined ? ![sent, asked].some(({ seat }) => seat?.includes('@')) : type === 'domain';
}

/** Several licences, from which support chooses. */
export function openListCase(named: NamedLicense[]): SupportCase {
  const listed = named.slice(0, MAX_LISTED);
  return {
    license: undefined,
    licenses: listed.map(({ license }) => license),
    findings: [explainSeveral(listed, named.length > listed.length)],
    accesses: [],
  };
}

/** The end of a key that no licence has; undefined for letters only, probably a word, that no recorded key ended in. */
export async function openHintCase(
  db: Db,
  hint: string,
  options: CaseOptions,
): Promise<SupportCase | undefined> {
  const { now, limit, logDays } = options;
  const accesses = await listAccesses(db, { keyHints: [hint] }, limit);
  if (accesses.length === 0 && !/\d/.test(hint)) return undefined;
  const facts = await gatherFacts(db, accesses, now);
  const likely = facts.likely.get(hint) ?? (await findLikely(db, hint));
  return {
    license: undefined,
    findings: [
      explainUnknownKey(likely, 'end', now),
      ...(accesses.length === 0 ? [explainSilence('a key with this end', logDays)] : []),
    ],
    accesses: explainAccesses(accesses, facts),
  };
}

/** A whole unknown key: the licence it was meant for, and what was refused with it. */
export async function openUnknownKeyCase(
  db: Db,
  canonical: string,
  options: CaseOptions,
): Promise<SupportCase> {
  const { now, limit, logDays } = options;
  // An e-mail or a domain has a common end such as ".com", which identifies nothing.
  const hint = /[@.]/.test(canonical) ? null : keyHint(canonical);
  const accesses = hint === null ? [] : await listAccesses(db, { licenseId: null, keyHints: [hint] }, limit);
  const certain = await findLicensesOfNearKeys(db, canonical);
  const likely =
    certain.length > 0 || hint === null
      ? certain
      : await findLikely(db, hint, { inHistory: true, own: mayBeOwn(canonical) });
  const facts = await gatherFacts(db, accesses, now, hint === null ? [] : [[hint, likely]]);
  return {
    license: undefined,
    findings: [
      explainUnknownKey(likely, 'key', now),
      ...(hint !== null && accesses.length === 0 ? [explainSilence('this key', logDays)] : []),
    ],
    accesses: explainAccesses(accesses, facts),
  };
}

async function readCircumstances(db: Db, license: License, now: Date): Promise<Circumstances> {
  const { id, product, expiresAt } = license;
  const status = liveStatus(license, now);
  const known = { now, ...(await readOffer(db, product.id)) };
  if (status === 'active') return { ...known, stopped: undefined, refusedSince: 0 };
  if (status === 'expired') {
    const refusedSince = await countDownloads(db, id, 'LICENSE_EXPIRED', expiresAt ?? new Date(0));
    return { ...known, stopped: undefined, refusedSince };
  }
  const [stopped] = await findEvents(db, STOPS, { licenseId: id }, 1);
  const refusedSince = await countDownloads(db, id, 'LICENSE_INACTIVE', stopped?.at ?? new Date(0));
  return { ...known, stopped, refusedSince };
}

/** What a product's licences cover, and whether anything of it is published. */
async function readOffer(
  db: Db,
  productId: number,
): Promise<Pick<Circumstances, 'latestVersion' | 'included' | 'includedPublished'>> {
  const latestVersion = (await latestRelease(db, productId))?.version;
  const included = includedIn(await readCatalogue(db), productId);
  let includedPublished = false;
  for (const { id } of latestVersion === undefined ? included : [])
    includedPublished ||= (await latestRelease(db, id)) !== undefined;
  return { latestVersion, included, includedPublished };
}

async function gatherFacts(
  db: Db,
  accesses: LoggedAccess[],
  now: Date,
  known: [hint: string, likely: Likely[]][] = [],
): Promise<Facts> {
  const licenses = await findLicensesByIds(db, distinct(accesses.map(({ licenseId }) => licenseId)));
  const byId = new Map(licenses.map((license) => [license.id, license]));
  const unknown = accesses.filter(({ outcome }) => outcome === 'LICENSE_NOT_FOUND');
  const likely = new Map(known);
  for (const [i, hint] of distinct(unknown.map(({ keyHint: seen }) => seen))
    .filter((seen) => !likely.has(seen))
    .slice(0, MAX_HINTS)
    .entries())
    likely.set(hint, await findLikely(db, hint, { inHistory: i < MAX_HISTORY_SEARCHES }));
  const products = distinct(
    accesses.map(({ outcome, productId }) => (outcome === 'DOWNLOAD_NOT_FOUND' ? productId : null)),
  );
  const latest: Facts['latest'] = new Map();
  const releases: Facts['releases'] = new Map();
  for (const id of products) {
    latest.set(id, (await latestRelease(db, id))?.version);
    releases.set(id, await listReleases(db, id));
  }
  return {
    now,
    licenses: byId,
    likely,
    activated: await findActivated(db, accesses, byId),
    latest,
    releases,
    stops: await findStops(db, accesses),
    catalogue: accesses.some(({ outcome }) => outcome === 'PRODUCT_MISMATCH')
      ? await readCatalogue(db)
      : new Map<number, never>(),
  };
}

async function findStops(db: Db, accesses: LoggedAccess[]): Promise<Facts['stops']> {
  const inactive = accesses.filter(({ outcome }) => outcome === 'LICENSE_INACTIVE');
  const stops: Facts['stops'] = new Map();
  for (const licenseId of distinct(inactive.map((access) => access.licenseId)).slice(0, MAX_HISTORIES))
    stops.set(licenseId, await findEvents(db, STOPS, { licenseId }, MAX_STOPS));
  return stops;
}

async function findActivated(
  db: Db,
  accesses: LoggedAccess[],
  licenses: Map<number, License>,
): Promise<Set<string>> {
  const asked = new Map<string, { licenseId: number; identifier: string }>();
  for (const { licenseId, identifier, outcome } of accesses) {
    if (licenseId === null || identifier === null || !outcome.startsWith('ACTIVATION_')) continue;
    const type = licenses.get(licenseId)?.plan.activationType;
    const normalized = type === undefined ? undefined : normalizeIdentifier(type, identifier);
    if (normalized !== undefined)
      asked.set(activationKey({ licenseId, identifier }), { licenseId, identifier: normalized });
  }
  const found = await findActivations(db, [...asked.values()]);
  return new Set([...asked].filter(([, pair]) => found.has(activationKey(pair))).map(([sent]) => sent));
}

/** The licences a key that ends in `hint` may be meant for. `own`: it may be in our format, with longer hints. */
async function findLikely(
  db: Db,
  hint: string,
  { inHistory = true, own = true }: { inHistory?: boolean; own?: boolean } = {},
): Promise<Likely[]> {
  const { exact, patterns } = hintsNear(hint);
  const near = { exact, patterns: own ? patterns : [] };
  const found = await findLicensesByHints(db, hint, near, 2 * MAX_CANDIDATES);
  const candidates: Likely[] = found.flatMap((license) => {
    const slip = license.keyHint === null ? undefined : compareHints(hint, license.keyHint);
    return slip === undefined ? [] : [{ license, slip, by: 'hint' }];
  });
  if (inHistory) {
    const events = await findEvents(db, ['rekey'], { field: 'key_hint', before: hint }, MAX_CANDIDATES);
    const replaced = await findLicensesByIds(db, distinct(events.map(({ licenseId }) => licenseId)));
    candidates.push(...replaced.map((license): Likely => ({ license, slip: 'replaced', by: 'hint' })));
  }
  return ranked(candidates);
}

async function findLicensesOfNearKeys(db: Db, canonical: string): Promise<Likely[]> {
  const near = keysNear(canonical);
  const found: Likely[] = [];
  for (let i = 0; i < near.length && found.length < MAX_CANDIDATES; i += DIGESTS_AT_ONCE) {
    const slips = new Map(near.slice(i, i + DIGESTS_AT_ONCE).map(({ key, slip }) => [keyDigest(key), slip]));
    const licenses = await findLicensesByDigest(db, [...slips.keys()]);
    for (const [digest, license] of licenses)
      found.push({ license, slip: slips.get(digest) as Slip, by: 'key' });
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
