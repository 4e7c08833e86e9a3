import { DAY_MS } from '../base/days';
import { normalizeIdentifier } from '../licensing/core/identifiers';
import { networkOfText } from '../licensing/ip-addresses';
import { formerPlace } from '../joomla/formerly/place';
import { lastSeenAt, readSiteAccesses, type SiteAccess } from '../store/access-log';
import type { Db } from '../store/engine/database';
import { readRecentActivations, readRecentChecks } from '../store/recent-sites';
import { readArsLog, readMembershipProLog, type FormerLog } from '../joomla/formerly/tables';
import type { Likely } from '../support/case-state';
import { findLikely } from '../support/likely-licenses';

/** The check after a move: whether the sites of a seller who came from another system get their answers here. */

/** The results of the sites' requests: each site counts once, by its latest request. */
export interface SitesAsked {
  sites: number;
  answered: number;
  refused: number;
  /** the reasons as codes, the most frequent first */
  refusals: { code: string; sites: number }[];
}

export interface UnknownKey {
  keyHint: string;
  times: number;
  sites: number;
  at: Date;
  /** licences whose key it may be meant for, likeliest first */
  nearest: Likely[];
}

export interface MoveIn {
  days: number;
  now: SitesAsked & {
    /** whether more sites exist than are counted */
    more: boolean;
  };
  /** the last days of a former system's own log, if it exists and is readable */
  before: (SitesAsked & { source: 'ars' | 'membershippro'; from: Date; to: Date })[];
  unknownKeys: UnknownKey[];
}

export const MOVE_IN_DAYS = 30;
/** The maximum of sites, which takes about 60 MB. */
const MAX_SITES = 200_000;
const MAX_UNKNOWN_KEYS = 50;

export async function readMoveIn(
  db: Db,
  settings: { joomlaRoot: string | undefined; tablePrefix: string },
  now: Date,
): Promise<MoveIn> {
  const since = new Date(now.getTime() - MOVE_IN_DAYS * DAY_MS);
  const sites = new Map<string, { at: Date; outcome: string }>();
  const licenses = new Set<number>();
  const unknown = new Map<string, { times: number; sites: Set<string>; at: Date }>();
  let more = false;
  const note = (name: string, at: Date, outcome: string) => {
    const before = sites.get(name);
    if (before === undefined && sites.size >= MAX_SITES) more = true;
    else if (before === undefined || at >= before.at) sites.set(name, { at, outcome });
  };
  for await (const accesses of readSiteAccesses(db, since))
    for (const access of accesses) {
      // Requests for updates need no key, so they do not show whether a site's licence works.
      if (access.endpoint === 'updates') continue;
      const name = siteOf(access);
      note(name, lastSeenAt(access), access.outcome);
      if (access.licenseId !== null) licenses.add(access.licenseId);
      if (access.outcome === 'LICENSE_NOT_FOUND') addUnknown(unknown, access, name);
    }
  for await (const activations of readRecentActivations(db, since))
    for (const { licenseId, identifier, activatedAt } of activations) {
      note(nameOfSite(identifier), activatedAt, 'ok');
      licenses.add(licenseId);
    }
  // A check does not store its site, so it counts only if no other request shows the licence's sites.
  for await (const checks of readRecentChecks(db, since))
    for (const { id, lastCheckAt, lastCheckIp } of checks)
      if (!licenses.has(id)) note(placeOf(`licence ${id}`, lastCheckIp), lastCheckAt, 'ok');
  const place = formerPlace(settings);
  const logs = [
    ['ars', await readArsLog(db, place, MOVE_IN_DAYS)],
    ['membershippro', await readMembershipProLog(db, place, MOVE_IN_DAYS)],
  ] as const;
  return {
    days: MOVE_IN_DAYS,
    now: { ...count([...sites.values()].map(({ outcome }) => (outcome === 'ok' ? null : outcome))), more },
    before: logs.flatMap(([source, log]) => (log === undefined ? [] : [{ source, ...countFormer(log) }])),
    unknownKeys: await nearestOf(db, unknown, now),
  };
}

/** Returns a name for the requesting site: its reported address, otherwise its key and network. */
function siteOf({ site, identifier, licenseId, keyHint, ip }: SiteAccess): string {
  const told = site ?? identifier;
  if (told !== null) return nameOfSite(told);
  return placeOf(licenseId === null ? `key ${keyHint ?? ''}` : `licence ${licenseId}`, ip ?? '');
}

/** Returns one name for all spellings of a site's address. */
function nameOfSite(text: string): string {
  return normalizeIdentifier('domain', text) ?? text;
}

function placeOf(who: string, ip: string): string {
  return `${who} ${networkOfText(ip)}`;
}

function addUnknown(
  unknown: Map<string, { times: number; sites: Set<string>; at: Date }>,
  access: SiteAccess,
  site: string,
): void {
  const { keyHint, times } = access;
  if (keyHint === null) return;
  const at = lastSeenAt(access);
  const known = unknown.get(keyHint) ?? { times: 0, sites: new Set<string>(), at };
  known.times += times;
  known.sites.add(site);
  if (at > known.at) known.at = at;
  if (unknown.size < MAX_SITES) unknown.set(keyHint, known);
}

async function nearestOf(
  db: Db,
  unknown: Map<string, { times: number; sites: Set<string>; at: Date }>,
  now: Date,
): Promise<UnknownKey[]> {
  const most = [...unknown]
    .sort(([, a], [, b]) => b.sites.size - a.sites.size || b.times - a.times)
    .slice(0, MAX_UNKNOWN_KEYS);
  const keys: UnknownKey[] = [];
  for (const [keyHint, { times, sites, at }] of most)
    keys.push({
      keyHint,
      times,
      sites: sites.size,
      at,
      nearest: await findLikely(db, keyHint, now, { inHistory: false }),
    });
  return keys;
}

/** @param codes the refusal of each site; null: it was answered; empty: the reason is unknown */
function count(codes: (string | null)[]): SitesAsked {
  const byCode = new Map<string, number>();
  let refused = 0;
  for (const code of codes) {
    if (code === null) continue;
    refused++;
    if (code !== '') byCode.set(code, (byCode.get(code) ?? 0) + 1);
  }
  const refusals = [...byCode].map(([code, sites]) => ({ code, sites })).sort((a, b) => b.sites - a.sites);
  return { sites: codes.length, answered: codes.length - refused, refused, refusals };
}

function countFormer({ from, to, sites }: FormerLog): SitesAsked & { from: Date; to: Date } {
  const answered = new Map<string, boolean>();
  for (const { domain, key, ip, isAnswered } of sites) {
    const name = domain === null ? placeOf(key, ip) : nameOfSite(domain);
    answered.set(name, isAnswered || answered.get(name) === true);
  }
  return { ...count([...answered.values()].map((is) => (is ? null : ''))), from, to };
}
