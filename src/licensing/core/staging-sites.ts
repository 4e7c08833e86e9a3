import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { getDomain } from 'tldts';

/**
 * Which sites of a plan with free staging need no slot. Pure; the rules are in docs/staging-sites.md. Names are
 * compared label by label: `developer.example.com` is not a staging site.
 */

/** Last labels that the public DNS never has (RFC 2606, 6761, 6762; `internal` and `lan` by custom). */
const LOCAL_LABELS = new Set(['test', 'localhost', 'local', 'example', 'invalid', 'internal', 'lan']);

/** As `ipaddr.js` names them. 100.64/10, shared by providers' customers, is not among them. */
const LOCAL_RANGES = new Set(['loopback', 'private', 'linkLocal', 'uniqueLocal']);

const WORDS = 'dev|development|staging|stage|stg|test|testing|qa|uat|sandbox|preview|local';
/** A word, perhaps with digits: the whole label, or its beginning or end with a hyphen between. */
const STAGING_LABEL = new RegExp(`^(?:(?:${WORDS})\\d*(?:-.*)?|.*-(?:${WORDS})\\d*)$`);

/**
 * Whether a site can only be reached from its own machine or network.
 *
 * @param identifier a normalised domain
 */
export function isLocalSite(identifier: string): boolean {
  if (isIP(identifier) !== 0) return LOCAL_RANGES.has(ipaddr.process(identifier).range());
  const labels = identifier.split('.');
  return (
    labels.length === 1 || LOCAL_LABELS.has(labels.at(-1) ?? '') || labels.slice(-2).join('.') === 'home.arpa'
  );
}

/**
 * The registrable domain: the public suffix, by the list with its private section, and one label more. An unknown top
 * level counts as a public suffix.
 *
 * @param identifier a normalised domain
 * @returns undefined for addresses, single labels and public suffixes themselves
 */
export function registrableDomain(identifier: string): string | undefined {
  // Identifiers may contain underscores, which are not valid in host names.
  const domain = getDomain(identifier, { allowPrivateDomains: true, validateHostname: false });
  return domain ?? undefined;
}

/**
 * Whether a site looks like a staging copy of another site with the same registrable domain.
 *
 * @param identifier a normalised domain
 * @param site its registrable domain
 */
export function isStagingName(identifier: string, site: string): boolean {
  const before = identifier.slice(0, -site.length).split('.');
  return before.some((label) => STAGING_LABEL.test(label));
}

/** The registrable domain that an activation stores. @returns null for local sites, and where none is counted */
export function siteOf(activationType: string, identifier: string): string | null {
  if (activationType !== 'domain' || isLocalSite(identifier)) return null;
  return registrableDomain(identifier) ?? null;
}

/** Free sites for each slot of a licence, and at least; and those of a licence with unlimited slots. */
const FREE_FOR_EACH_SLOT = 5;
const FREE_OF_UNLIMITED = 1_000;

/** The most free sites of a licence. @param limit its slots; 0: unlimited */
export function mostFree(limit: number): number {
  return limit === 0 ? FREE_OF_UNLIMITED : FREE_FOR_EACH_SLOT * limit;
}

/** Where a new site is placed on a plan with free staging. */
export interface Placement<Site> {
  /** it takes no slot */
  free: boolean;
  /** the sites that give their slots back because their production site has come */
  freed: Site[];
}

/**
 * Places a new site.
 *
 * @param site its registrable domain; null for a local one
 * @param holders the sites with slots of that registrable domain
 * @param room how many more may be free
 */
export function placeSite<Site extends { identifier: string }>(
  identifier: string,
  site: string | null,
  holders: Site[],
  room: number,
): Placement<Site> {
  const isFree = (carried: boolean) => ({ free: carried && room > 0, freed: [] });
  if (site === null) return isFree(isLocalSite(identifier));
  if (isStagingName(identifier, site)) return isFree(holders.length > 0);
  return { free: false, freed: holders.filter((one) => isStagingName(one.identifier, site)) };
}

/** A site of a licence as it is stored. */
export interface PlacedSite {
  identifier: string;
  site: string | null;
  free: boolean;
}

/**
 * Places all identifiers of a licence at once, in the order of the list: as if the production sites had come first.
 *
 * @param limit the licence's slots; 0: unlimited
 */
export function placeSites(
  { activationType, freeStaging }: { activationType: string; freeStaging: boolean },
  limit: number,
  identifiers: string[],
): PlacedSite[] {
  const sites = identifiers.map((identifier): PlacedSite => {
    return { identifier, site: siteOf(activationType, identifier), free: false };
  });
  if (!freeStaging) return sites;
  const holders = sites.filter(({ identifier, site }) => site !== null && !isStagingName(identifier, site));
  let room = mostFree(limit);
  for (const one of sites) {
    if (holders.includes(one)) continue;
    const carriers = holders.filter(({ site }) => site === one.site);
    one.free = placeSite(one.identifier, one.site, carriers, room).free;
    if (one.free) room--;
    else holders.push(one);
  }
  return sites;
}
