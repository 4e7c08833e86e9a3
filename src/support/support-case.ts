import { keyHint } from '../licensing/core/keys';
import { lastSeenAt, listAccesses, listAccessesNearby, type LoggedAccess } from '../store/access-log';
import { networkOfText } from '../licensing/ip-addresses';
import { isKeyActive } from '../licensing/license-keys';
import { listSpreadingKeys, SPREAD_FACTOR } from '../licensing/spreading';
import type { Db } from '../store/engine/database';
import { findEvents } from '../store/events';
import { listKeys, type LicenseKey } from '../store/licenses/license-keys';
import { findLicensesByIds, type License } from '../store/licenses/licenses';
import { findOrdersNumbered, listOrderLicenses } from '../store/orders/orders';
import { explainAccesses, explainLogged } from './explain-accesses';
import { explainAskedKey, explainShared } from './explain-keys';
import { explainLicense, explainNearEmail, explainSeveral } from './explain-license';
import { explainOrder, explainOrdersOf } from './explain-orders';
import { explainUnknownKey } from './explain-unknown-key';
import { finding } from './findings';
import type { Finding, StateFacts, AccessFinding } from './finding-model';
import type { CaseState, KeyWithSuccessor, SearchMatch } from './case-state';
import { compareHints, hintsOfTypos, mayBeNativeKey } from './similar-keys';
import { uniqueNonNull } from './distinct';
import { loadCaseState, loadLicenseCase, readKeys } from './load-case-state';
import { findLicensesOfNearKeys, findLikely } from './likely-licenses';
import { findLogged, MAX_NAMED_LICENSES } from './named-licenses';
import { isOfDownload } from '../texts/operators/support';

/** The data about a licence, the end of a key or an address, gathered by a bounded number of small reads. */
export interface SupportCase {
  license: License | undefined;
  /** the digest of the key that decides the verdict: the key asked about, otherwise the main key */
  keyDigest?: string;
  /** the network of its latest download or check (`networkOfClient`); undefined: unknown */
  network?: string | undefined;
  /** the licences to choose from, if several match */
  licenses?: SearchMatch[];
  findings: Finding[];
  accesses: AccessFinding[];
  /** accesses without a key of the licence from its networks: perhaps another person's, so they are not counted */
  nearby?: AccessFinding[];
}

export interface CaseOptions {
  now: Date;
  /** the maximum of accesses to read */
  limit: number;
  /** the days for which accesses are stored */
  logDays: number;
  /** for a licence that is named by its number: the key that decides the verdict; by default its main key */
  keyId?: number | undefined;
  /** see LICENSING_SPREAD_FACTOR */
  spreadFactor?: number;
  /** the latest accesses searched for a refused identifier */
  searched?: number;
}

const MAX_ADDRESSES = 20;
/** The open keys besides the main key, and the former keys, with which mistyped keys are compared. */
const MAX_OTHER_KEYS = 5;
const MAX_FORMER_KEYS = 50;

/**
 * Opens a licence's case: its own accesses, accesses with a key that may be its mistyped key, and separately the
 * accesses from its addresses without its key. `logged` are the accesses that led here, newest first.
 */
export async function openLicenseCase(
  db: Db,
  license: License,
  options: CaseOptions,
  { logged = [], asked }: { logged?: LoggedAccess[]; asked?: AskedKey | undefined } = {},
): Promise<SupportCase> {
  const { now, limit, logDays, spreadFactor = SPREAD_FACTOR } = options;
  const stored = await listKeys(db, license.id);
  const { openHints, formerHints } = await hintsOf(db, license, stored, now);
  const own = await listAccesses(db, { licenseId: license.id }, limit);
  const keyHints = [...openHints.flatMap(hintsOfTypos), ...formerHints];
  const slips = await listAccesses(db, { licenseId: null, keyHints }, limit);
  const ips = uniqueNonNull([license.lastCheckIp, ...own.map(({ ip }) => ip)]).slice(0, MAX_ADDRESSES);
  const accesses = newest([...own, ...slips], limit);
  const nearby = (await listAccessesNearby(db, ips, limit)).filter(
    ({ licenseId, keyHint: hint }) => licenseId !== license.id && !keyHints.includes(hint ?? ''),
  );
  const [last] = own
    .filter(({ endpoint }) => isOfDownload(endpoint))
    .sort((a, b) => lastSeenAt(b).getTime() - lastSeenAt(a).getTime());
  const ip = last?.ip ?? license.lastCheckIp;
  const network = ip === null ? undefined : networkOfText(ip);

  const known: CaseState = {
    // The licence's former keys are known, and its page does not wait for a search of the whole history.
    ...(await loadCaseState(db, [...accesses, ...nearby, ...logged.slice(0, 1)], now, [], 0)),
    about: { licenseId: license.id, keyHints: new Set(keyHints) },
  };
  for (const [hint, candidates] of known.likely) {
    const slip = formerHints.includes(hint)
      ? 'replaced'
      : openHints.flatMap((own) => compareHints(hint, own) ?? []).at(0);
    // The licence asked about comes before others that are equally near.
    if (slip !== undefined)
      known.likely.set(hint, [
        { license, slip, by: 'hint' },
        ...candidates.filter((other) => other.license.id !== license.id),
      ]);
  }
  const key = asked && (await findAsked(db, stored, asked, now));
  const shared = await listSpreadingKeys(db, spreadFactor, now, license.id);
  // More slots would help the people who share the key.
  const withoutSlots = <One extends Finding>(one: One): One =>
    shared.length > 0 && /^change_.*limit$/.test(one.action?.type ?? '') ? { ...one, action: null } : one;
  return {
    license,
    keyDigest: key?.key.keyDigest ?? license.keyDigest,
    network,
    findings: [
      ...explainLogged(logged, known),
      ...(asked && key ? explainAskedKey(key, license, { by: asked.by, now }) : []),
      ...explainLicense(license, await loadLicenseCase(db, license, network, now)),
      ...shared.map(explainShared),
      ...(await explainOrdersOf(db, license.id)),
      ...(own.length > 0
        ? []
        : [
            accesses.length + nearby.length > 0
              ? finding('ONLY_NEARBY', { license_id: license.id, log_days: logDays })
              : silence({ about: 'license', license_id: license.id }, logDays),
          ]),
    ].map(withoutSlots),
    accesses: explainAccesses(accesses, known).map(withoutSlots),
    nearby: explainAccesses(nearby, known),
  };
}

/** The key of a licence that a text named, completely or by its end. */
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
): Promise<KeyWithSuccessor | undefined> {
  const named = keys.filter(
    ({ keyDigest: digest, keyHint: hint }) => (by === 'key' ? digest : hint) === text,
  );
  // The newest of several keys with this end.
  const key = named.find((one) => isKeyActive(one, now)) ?? named.at(-1);
  return key && (await readKeys(db, [key.id])).get(key.id);
}

/** Returns the finding that no request is recorded. */
function silence(of: Omit<StateFacts['NOTHING_RECORDED'], 'log_days'>, logDays: number): Finding {
  return finding('NOTHING_RECORDED', { ...of, log_days: logDays });
}

/** Returns the ends of a licence's open keys, the main key's first, and of its former keys. */
async function hintsOf(
  db: Db,
  { id, keyHint: main }: License,
  keys: LicenseKey[],
  now: Date,
): Promise<{ openHints: string[]; formerHints: string[] }> {
  const others = (isWanted: (key: LicenseKey) => boolean) =>
    uniqueNonNull(keys.filter(isWanted).map(({ keyHint: hint }) => hint)).reverse();
  const openHints = uniqueNonNull([main, ...others((key) => isKeyActive(key, now)).slice(0, MAX_OTHER_KEYS)]);
  // Keys that were replaced before licences could have several are only in the history.
  const rekeyed = await findEvents(db, ['rekey'], { licenseId: id }, 10);
  const formerHints = uniqueNonNull([
    ...rekeyed.map(({ before }) => (typeof before?.key_hint === 'string' ? before.key_hint : null)),
    ...others((key) => !isKeyActive(key, now)).slice(0, MAX_FORMER_KEYS),
  ]).filter((hint) => !openHints.includes(hint));
  return { openHints, formerHints };
}

/** Opens the case of an address, with all its accesses. */
export async function openAddressCase(db: Db, ip: string, options: CaseOptions): Promise<SupportCase> {
  const { now, limit, logDays } = options;
  const accesses = await listAccesses(db, { ips: [ip] }, limit);
  return {
    license: undefined,
    findings: accesses.length === 0 ? [silence({ about: 'ip', ip }, logDays)] : [],
    accesses: explainAccesses(accesses, await loadCaseState(db, accesses, now)),
  };
}

/** Opens the case of a shop's order by its number, with its licences; undefined if no order has the number. */
export async function openOrderCase(
  db: Db,
  number: string,
  options: CaseOptions,
): Promise<SupportCase | undefined> {
  const orders = await findOrdersNumbered(db, number, MAX_NAMED_LICENSES + 1);
  if (orders.length === 0) return undefined;
  const stored = await listOrderLicenses(
    db,
    orders.map(({ id }) => id),
  );
  const licenses = await findLicensesByIds(db, uniqueNonNull(stored.map(({ licenseId }) => licenseId)));
  const [only, ...others] = licenses;
  if (only && others.length === 0 && orders.length === 1) return openLicenseCase(db, only, options);
  const findings: Finding[] = [];
  for (const order of orders.slice(0, MAX_NAMED_LICENSES)) findings.push(...(await explainOrder(db, order)));
  if (only === undefined) return { license: undefined, findings, accesses: [] };
  const list = openListCase(licenses.map((license) => ({ license, by: 'order' })));
  return { ...list, findings: [...findings, ...list.findings] };
}

/** Builds the case of the only licence whose e-mail nearly matches the typed one, and first reports the difference. */
export async function openNearEmailCase(
  db: Db,
  { license, by }: SearchMatch,
  options: CaseOptions,
): Promise<SupportCase> {
  const found = await openLicenseCase(db, license, options);
  return { ...found, findings: [explainNearEmail(license, by), ...found.findings] };
}

/**
 * Finds the licences for which an identifier was refused, in the latest accesses, or these accesses without a licence.
 * @returns undefined if the log does not contain it either
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
  const known = await loadCaseState(db, accesses, options.now);
  return {
    license: undefined,
    findings: explainLogged(accesses, known),
    accesses: explainAccesses(accesses, known),
  };
}

/** Lists several licences, from which support chooses. */
export function openListCase(named: SearchMatch[]): SupportCase {
  const listed = named.slice(0, MAX_NAMED_LICENSES);
  return {
    license: undefined,
    licenses: listed,
    findings: [explainSeveral(listed, named.length > listed.length)],
    accesses: [],
  };
}

/** Opens the end of an unknown key; undefined for letters only, probably a word, without a matching recorded key. */
export async function openHintCase(
  db: Db,
  hint: string,
  options: CaseOptions,
): Promise<SupportCase | undefined> {
  const { now, limit, logDays } = options;
  const accesses = await listAccesses(db, { keyHints: [hint] }, limit);
  if (accesses.length === 0 && !/\d/.test(hint)) return undefined;
  const known = await loadCaseState(db, accesses, now);
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

/** Opens a whole unknown key: the licence for which it was meant, and the refused requests with it. */
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
      : await findLikely(db, hint, now, { inHistory: true, own: mayBeNativeKey(canonical) });
  const known = await loadCaseState(db, accesses, now, hint === null ? [] : [[hint, likely]]);
  return {
    license: undefined,
    findings: [
      explainUnknownKey(likely, 'key', now),
      ...(hint !== null && accesses.length === 0 ? [silence({ about: 'key' }, logDays)] : []),
    ],
    accesses: explainAccesses(accesses, known),
  };
}

function newest(accesses: LoggedAccess[], limit: number): LoggedAccess[] {
  return [...new Map(accesses.map((access) => [access.id, access])).values()]
    .sort((a, b) => b.at.getTime() - a.at.getTime() || b.id - a.id)
    .slice(0, limit);
}
