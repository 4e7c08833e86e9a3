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
  listAccessesNearby,
  type LoggedAccess,
} from '../store/access-log';
import { isOpen } from '../licensing/license-keys';
import {
  activationKey,
  findActivations,
  findActivationsOf,
  findActivationsOfSites,
  listActivations,
  listFree,
} from '../store/activations';
import type { Db } from '../store/database';
import { findEvents, type EventAction } from '../store/events';
import {
  countSlotsOfKeys,
  findKeys,
  findKeysByDigests,
  findKeysByHints,
  listKeys,
  type LicenseKey,
} from '../store/license-keys';
import { findLicensesByIds, findLicensesOfCustomers, listLicenses, type License } from '../store/licenses';
import { findOrdersNumbered, listOrderLicenses } from '../store/orders';
import { findLatestOutboxRow } from '../store/outbox';
import { listReleases } from '../store/releases';
import { explainAccesses, explainLogged } from './explain-accesses';
import { explainAskedKey } from './explain-keys';
import { explainLicense, explainNearEmail, explainSeveral } from './explain-license';
import { explainOrder, explainOrdersOf } from './explain-orders';
import { FREE_SITES_READ } from './explain-sites';
import { explainUnknownKey } from './explain-unknown-key';
import { finding, type Finding, type StateFacts, type Told } from './findings';
import type { Circumstances, Known, KnownKey, Likely, Name, NamedLicense } from './known';
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
  /** of the key by which the licence is judged: the one asked about, else its main key */
  keyDigest?: string;
  /** the licences to choose from, if several match */
  licenses?: NamedLicense[];
  findings: Finding[];
  accesses: Told[];
}

export interface CaseOptions {
  now: Date;
  /** the most accesses to look at */
  limit: number;
  /** how long accesses are stored */
  logDays: number;
  /** the latest accesses searched for a refused identifier */
  searched?: number;
}

const MAX_LISTED = 20;
const MAX_ADDRESSES = 20;
const MAX_HINTS = 20;
/** A search for a replaced key scans all events. */
const MAX_HISTORY_SEARCHES = 5;
const MAX_CANDIDATES = 5;
/** A licence's open keys besides the main key, and its former keys, that mistyped ones are compared with. */
const MAX_OTHER_KEYS = 5;
const MAX_FORMER_KEYS = 50;
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
  'ended',
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
  { logged = [], asked }: { logged?: LoggedAccess[]; asked?: AskedKey | undefined } = {},
): Promise<SupportCase> {
  const { now, limit, logDays } = options;
  const stored = await listKeys(db, license.id);
  const { openHints, formerHints } = await hintsOf(db, license, stored, now);
  const own = await listAccesses(db, { licenseId: license.id }, limit);
  const keyHints = [...openHints.flatMap(hintsOfSlips), ...formerHints];
  const slips = await listAccesses(db, { licenseId: null, keyHints }, limit);
  const ips = distinct([license.lastCheckIp, ...own.map(({ ip }) => ip)]).slice(0, MAX_ADDRESSES);
  const nearby = await listAccessesNearby(db, ips, limit);
  const accesses = newest([...own, ...slips, ...nearby], limit);

  const known: Known = {
    ...(await gatherKnown(db, [...accesses, ...logged.slice(0, 1)], now)),
    about: { licenseId: license.id, keyHints: new Set(keyHints) },
  };
  for (const [hint, candidates] of known.likely) {
    const slip = formerHints.includes(hint)
      ? 'replaced'
      : openHints.flatMap((own) => compareHints(hint, own) ?? []).at(0);
    // Prefer the licence asked about to others that are as near.
    if (slip !== undefined)
      known.likely.set(hint, [
        { license, slip, by: 'hint' },
        ...candidates.filter((other) => other.license.id !== license.id),
      ]);
  }
  const key = asked && (await findAsked(db, stored, asked, now));
  return {
    license,
    keyDigest: key?.key.keyDigest ?? license.keyDigest,
    findings: [
      ...explainLogged(logged, known),
      ...(asked && key ? explainAskedKey(key, license, { by: asked.by, now }) : []),
      ...explainLicense(license, await readCircumstances(db, license, now)),
      ...(await explainOrdersOf(db, license.id)),
      ...(own.length > 0
        ? []
        : [
            accesses.length > 0
              ? finding('ONLY_NEARBY', { license_id: license.id, log_days: logDays })
              : silence({ about: 'license', license_id: license.id }, logDays),
          ]),
    ],
    accesses: explainAccesses(accesses, known),
  };
}

/** The key of a licence that a text named, whole or by its end. */
export interface AskedKey {
  by: 'key' | 'hint';
  /** the canonical key's digest, or the hint */
  text: string;
}

async function findAsked(
  db: Db,
  keys: LicenseKey[],
  { by, text }: AskedKey,
  now: Date,
): Promise<KnownKey | undefined> {
  const named = keys.filter(
    ({ keyDigest: digest, keyHint: hint }) => (by === 'key' ? digest : hint) === text,
  );
  // The newest of several with this end.
  const key = named.find((one) => isOpen(one, now)) ?? named.at(-1);
  return key && (await readKeys(db, [key.id])).get(key.id);
}

/** Nothing is recorded of a thing. */
function silence(of: Omit<StateFacts['NOTHING_RECORDED'], 'log_days'>, logDays: number): Finding {
  return finding('NOTHING_RECORDED', { ...of, log_days: logDays });
}

/** The ends of a licence's keys, the main key's first, and of those that it had before. */
async function hintsOf(
  db: Db,
  { id, keyHint: main }: License,
  keys: LicenseKey[],
  now: Date,
): Promise<{ openHints: string[]; formerHints: string[] }> {
  const others = (isWanted: (key: LicenseKey) => boolean) =>
    distinct(keys.filter(isWanted).map(({ keyHint: hint }) => hint)).reverse();
  const openHints = distinct([main, ...others((key) => isOpen(key, now)).slice(0, MAX_OTHER_KEYS)]);
  // Keys that were replaced before licences could have several are in the history alone.
  const rekeyed = await findEvents(db, ['rekey'], { licenseId: id }, 10);
  const formerHints = distinct([
    ...rekeyed.map(({ before }) => (typeof before?.key_hint === 'string' ? before.key_hint : null)),
    ...others((key) => !isOpen(key, now)).slice(0, MAX_FORMER_KEYS),
  ]).filter((hint) => !openHints.includes(hint));
  return { openHints, formerHints };
}

/** All accesses from an address. */
export async function openAddressCase(db: Db, ip: string, options: CaseOptions): Promise<SupportCase> {
  const { now, limit, logDays } = options;
  const accesses = await listAccesses(db, { ips: [ip] }, limit);
  return {
    license: undefined,
    findings: accesses.length === 0 ? [silence({ about: 'ip', ip }, logDays)] : [],
    accesses: explainAccesses(accesses, await gatherKnown(db, accesses, now)),
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

/** A shop's order by its number, with its licences; undefined: no order has it. */
export async function openOrderCase(
  db: Db,
  number: string,
  options: CaseOptions,
): Promise<SupportCase | undefined> {
  const orders = await findOrdersNumbered(db, number, MAX_LISTED + 1);
  if (orders.length === 0) return undefined;
  const stored = await listOrderLicenses(
    db,
    orders.map(({ id }) => id),
  );
  const licenses = await findLicensesByIds(db, distinct(stored.map(({ licenseId }) => licenseId)));
  const [only, ...others] = licenses;
  if (only && others.length === 0 && orders.length === 1) return openLicenseCase(db, only, options);
  const findings: Finding[] = [];
  for (const order of orders.slice(0, MAX_LISTED)) findings.push(await explainOrder(db, order));
  if (only === undefined) return { license: undefined, findings, accesses: [] };
  const list = openListCase(licenses.map((license) => ({ license, by: 'order' })));
  return { ...list, findings: [...findings, ...list.findings] };
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
  const { accesses, licenses } = await findLogged(db, text, options);
  const [only, ...others] = licenses;
  if (only)
    return others.length === 0
      ? openLicenseCase(db, only, options, { logged: accesses })
      : openListCase(licenses.map((license) => ({ license, by: 'access' })));
  if (accesses.length === 0) return undefined;
  const known = await gatherKnown(db, accesses, options.now);
  return {
    license: undefined,
    findings: explainLogged(accesses, known),
    accesses: explainAccesses(accesses, known),
  };
}

async function findLogged(
  db: Db,
  text: string,
  { limit, searched = LATEST_ACCESSES }: CaseOptions,
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
  const after = (await lastAccessId(db)) - searched;
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
    licenses: listed,
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
  const known = await gatherKnown(db, accesses, now);
  const likely = known.likely.get(hint) ?? (await findLikely(db, hint, now));
  return {
    license: undefined,
    findings: [
      explainUnknownKey(likely, 'hint', now),
      ...(accesses.length === 0 ? [silence({ about: 'hint' }, logDays)] : []),
    ],
    accesses: explainAccesses(accesses, known),
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
  const certain = await findLicensesOfNearKeys(db, canonical, now);
  const likely =
    certain.length > 0 || hint === null
      ? certain
      : await findLikely(db, hint, now, { inHistory: true, own: mayBeOwn(canonical) });
  const known = await gatherKnown(db, accesses, now, hint === null ? [] : [[hint, likely]]);
  return {
    license: undefined,
    findings: [
      explainUnknownKey(likely, 'key', now),
      ...(hint !== null && accesses.length === 0 ? [silence({ about: 'key' }, logDays)] : []),
    ],
    accesses: explainAccesses(accesses, known),
  };
}

async function readCircumstances(db: Db, license: License, now: Date): Promise<Circumstances> {
  const { id, product, expiresAt } = license;
  const status = liveStatus(license, now);
  const free = await listFree(db, id, FREE_SITES_READ);
  const sites = distinct(free.map(({ site }) => site)).map((site) => ({ licenseId: id, site }));
  const holders = (await findActivationsOfSites(db, sites)).filter((one) => !one.free);
  const mail = await findLatestOutboxRow(db, 'license_key', id);
  const undelivered = mail?.lastError && mail.sentAt === null ? mail : undefined;
  const known = { now, free, holders, undelivered, ...(await readOffer(db, product.id)) };
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

/** What the sentences about accesses are built from. @param histories how many unknown keys are looked for in all events */
export async function gatherKnown(
  db: Db,
  accesses: LoggedAccess[],
  now: Date,
  known: [hint: string, likely: Likely[]][] = [],
  histories = MAX_HISTORY_SEARCHES,
): Promise<Known> {
  const licenses = await findLicensesByIds(db, distinct(accesses.map(({ licenseId }) => licenseId)));
  const byId = new Map(licenses.map((license) => [license.id, license]));
  const unknown = accesses.filter(
    ({ outcome, licenseId }) => outcome === 'LICENSE_NOT_FOUND' && licenseId === null,
  );
  const likely = new Map(known);
  for (const [i, hint] of distinct(unknown.map(({ keyHint: seen }) => seen))
    .filter((seen) => !likely.has(seen))
    .slice(0, MAX_HINTS)
    .entries())
    likely.set(hint, await findLikely(db, hint, now, { inHistory: i < histories }));
  const products = distinct(
    accesses.map(({ outcome, productId }) => (outcome === 'DOWNLOAD_NOT_FOUND' ? productId : null)),
  );
  const latest: Known['latest'] = new Map();
  const releases: Known['releases'] = new Map();
  for (const id of products) {
    latest.set(id, (await latestRelease(db, id))?.version);
    releases.set(id, await listReleases(db, id));
  }
  return {
    now,
    licenses: byId,
    likely,
    keys: await readKeys(db, distinct(accesses.map(concernedKey))),
    activated: await findActivated(db, accesses, byId),
    sites: await readSites(db, accesses, byId),
    latest,
    releases,
    stops: await findStops(db, accesses),
    catalogue: accesses.some(({ outcome }) => ['PRODUCT_MISMATCH', 'DOWNLOAD_NOT_FOUND'].includes(outcome))
      ? await readCatalogue(db)
      : new Map<number, never>(),
  };
}

/** The key that an access is explained by. */
function concernedKey({ outcome, keyId }: LoggedAccess): number | null {
  return outcome === 'LICENSE_NOT_FOUND' || outcome.startsWith('ACTIVATION_') ? keyId : null;
}

async function readKeys(db: Db, ids: number[]): Promise<Map<number, KnownKey>> {
  const keys = await findKeys(db, ids);
  const successors = await findKeys(db, distinct(keys.map(({ replacedBy }) => replacedBy)));
  const byId = new Map(successors.map((key) => [key.id, key]));
  const slots = await countSlotsOfKeys(db, distinct(keys.map(({ id, replacedBy }) => replacedBy ?? id)));
  return new Map(
    keys.map((key) => {
      const effective = key.replacedBy ?? key.id;
      return [key.id, { key, successor: byId.get(effective), used: slots.get(effective) ?? 0 }];
    }),
  );
}

async function readSites(
  db: Db,
  accesses: LoggedAccess[],
  licenses: Map<number, License>,
): Promise<Known['sites']> {
  const full = accesses.filter(
    ({ outcome, licenseId }) =>
      outcome === 'ACTIVATION_LIMIT_REACHED' && licenses.get(licenseId ?? 0)?.plan.freeStaging,
  );
  const sites: Known['sites'] = new Map();
  for (const licenseId of distinct(full.map((access) => access.licenseId)).slice(0, MAX_HISTORIES))
    sites.set(licenseId, await listActivations(db, licenseId));
  return sites;
}

async function findStops(db: Db, accesses: LoggedAccess[]): Promise<Known['stops']> {
  const inactive = accesses.filter(({ outcome }) => outcome === 'LICENSE_INACTIVE');
  const stops: Known['stops'] = new Map();
  for (const licenseId of distinct(inactive.map((access) => access.licenseId)).slice(0, MAX_HISTORIES))
    stops.set(licenseId, await findEvents(db, STOPS, { licenseId }, MAX_STOPS));
  return stops;
}

async function findActivated(
  db: Db,
  accesses: LoggedAccess[],
  licenses: Map<number, License>,
): Promise<Known['activated']> {
  const asked = new Map<string, { licenseId: number; identifier: string }>();
  for (const { licenseId, identifier, outcome } of accesses) {
    if (licenseId === null || identifier === null || !outcome.startsWith('ACTIVATION_')) continue;
    const type = licenses.get(licenseId)?.plan.activationType;
    const normalized = type === undefined ? undefined : normalizeIdentifier(type, identifier);
    if (normalized !== undefined)
      asked.set(activationKey({ licenseId, identifier }), { licenseId, identifier: normalized });
  }
  const found = await findActivations(db, [...asked.values()]);
  return new Map(
    [...asked].flatMap(([sent, pair]): [string, number | null][] => {
      const activation = found.get(activationKey(pair));
      return activation ? [[sent, activation.keyId]] : [];
    }),
  );
}

/** The licences a key that ends in `hint` may be meant for. `own`: it may be in our format, with longer hints. */
async function findLikely(
  db: Db,
  hint: string,
  now: Date,
  { inHistory = true, own = true }: { inHistory?: boolean; own?: boolean } = {},
): Promise<Likely[]> {
  const { exact, patterns } = hintsNear(hint);
  const near = { exact, patterns: own ? patterns : [] };
  const found = await findKeysByHints(db, hint, near, 2 * MAX_CANDIDATES);
  const candidates = await withLicenses(db, found, (key, license): Likely[] => {
    const { keyHint: own } = key;
    const slip =
      own === null ? undefined : isOpen(key, now) ? compareHints(hint, own) : formerSlip(key, hint);
    return slip === undefined ? [] : [{ license, slip, by: 'hint' }];
  });
  if (inHistory) {
    const events = await findEvents(db, ['rekey'], { field: 'key_hint', before: hint }, MAX_CANDIDATES);
    const replaced = await findLicensesByIds(db, distinct(events.map(({ licenseId }) => licenseId)));
    candidates.push(...replaced.map((license): Likely => ({ license, slip: 'replaced', by: 'hint' })));
  }
  return ranked(candidates);
}

/** A request with an ended key itself is logged with its licence, so this one was mistyped, or came before. */
function formerSlip({ keyHint: own, replacedBy }: LicenseKey, hint: string): Likely['slip'] | undefined {
  if (own !== hint) return undefined;
  return replacedBy === null ? 'ended' : 'replaced';
}

async function withLicenses<T>(
  db: Db,
  keys: LicenseKey[],
  read: (key: LicenseKey, license: License) => T[],
): Promise<T[]> {
  const licenses = await findLicensesByIds(db, distinct(keys.map(({ licenseId }) => licenseId)));
  const byId = new Map(licenses.map((license) => [license.id, license]));
  return keys.flatMap((key) => {
    const license = byId.get(key.licenseId);
    return license ? read(key, license) : [];
  });
}

async function findLicensesOfNearKeys(db: Db, canonical: string, now: Date): Promise<Likely[]> {
  const near = keysNear(canonical);
  const found: Likely[] = [];
  for (let i = 0; i < near.length && found.length < MAX_CANDIDATES; i += DIGESTS_AT_ONCE) {
    const slips = new Map(near.slice(i, i + DIGESTS_AT_ONCE).map(({ key, slip }) => [keyDigest(key), slip]));
    found.push(
      ...(await withLicenses(db, await findKeysByDigests(db, [...slips.keys()]), (key, license): Likely[] => {
        const slip = slips.get(key.keyDigest) as Slip;
        return [{ license, slip, by: 'key', hasEnded: !isOpen(key, now) }];
      })),
    );
  }
  return ranked(found);
}

function ranked(candidates: Likely[]): Likely[] {
  const likeliestFirst = [...candidates].sort((a, b) => RANK.indexOf(a.slip) - RANK.indexOf(b.slip));
  const ids = likeliestFirst.map(({ license }) => license.id);
  return likeliestFirst.filter((one, i) => ids.indexOf(one.license.id) === i).slice(0, MAX_CANDIDATES);
}

function newest(accesses: LoggedAccess[], limit: number): LoggedAccess[] {
  return [...new Map(accesses.map((access) => [access.id, access])).values()]
    .sort((a, b) => b.at.getTime() - a.at.getTime() || b.id - a.id)
    .slice(0, limit);
}

function distinct<T>(values: (T | null)[]): T[] {
  return [...new Set(values.filter((value): value is T => value !== null))];
}
