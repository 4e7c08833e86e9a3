import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { getDomain } from 'tldts';

/**
 * Decides which sites need no slot on a plan with free staging. It is pure; docs/staging-sites.md has the rules. Names
 * are compared label by label, so `developer.example.com` is not a staging site.
 */

/** Top-level labels that public DNS never has (RFC 2606, 6761, 6762; `internal` and `lan` by custom). */
const LOCAL_LABELS = new Set(['test', 'localhost', 'local', 'example', 'invalid', 'internal', 'lan']);

/** Address ranges by their names in `ipaddr.js`. 100.64/10 is not local, because customers of a provider share it. */
const LOCAL_RANGES = new Set(['loopback', 'private', 'linkLocal', 'uniqueLocal']);

const WORDS = 'dev|development|staging|stage|stg|test|testing|qa|uat|sandbox|preview|local';
/** A staging word with optional digits, as the whole label or as its first or last part before or after a hyphen. */
const STAGING_LABEL = new RegExp(`^(?:(?:${WORDS})\\d*(?:-.*)?|.*-(?:${WORDS})\\d*)$`);

/** Reports whether a site can only be reached from its own machine or network. @param identifier a normalised domain */
export function isLocalSite(identifier: string): boolean {
  if (isIP(identifier) !== 0) return LOCAL_RANGES.has(ipaddr.process(identifier).range());
  const labels = identifier.split('.');
  return (
    labels.length === 1 || LOCAL_LABELS.has(labels.at(-1) ?? '') || labels.slice(-2).join('.') === 'home.arpa'
  );
}

/**
 * Returns the registrable domain: the public suffix, from the list with its private section, and one more label. An
 * unknown top-level domain counts as a public suffix.
 * @param identifier a normalised domain
 * @returns undefined for addresses, single labels and public suffixes
 */
export function registrableDomain(identifier: string): string | undefined {
  // Skip the validation of host names, because identifiers may contain underscores.
  const domain = getDomain(identifier, { allowPrivateDomains: true, validateHostname: false });
  return domain ?? undefined;
}

/**
 * Reports whether a site has a name like a staging copy of another site with the same registrable domain.
 * @param identifier a normalised domain
 * @param site the registrable domain of the identifier
 */
export function isStagingName(identifier: string, site: string): boolean {
  const before = identifier.slice(0, -site.length).split('.');
  return before.some((label) => STAGING_LABEL.test(label));
}

/** Returns the registrable domain that an activation stores. @returns null for local sites and for types without domains */
export function siteOf(activationType: string, identifier: string): string | null {
  if (activationType !== 'domain' || isLocalSite(identifier)) return null;
  return registrableDomain(identifier) ?? null;
}

/** The number of free sites for each slot of a licence, and for a licence with unlimited slots. */
const FREE_FOR_EACH_SLOT = 5;
const FREE_OF_UNLIMITED = 1_000;

/** Returns the maximum number of free sites of a licence. @param limit the licence's slots; 0 if unlimited */
export function maxFreeSites(limit: number): number {
  return limit === 0 ? FREE_OF_UNLIMITED : FREE_FOR_EACH_SLOT * limit;
}

/** The decision about a new site on a plan with free staging. */
export interface Placement<Site> {
  /** true if the site takes no slot */
  free: boolean;
  /** the staging sites that give their slots back, because the new site is their production site */
  freed: Site[];
}

/**
 * Decides whether a new site needs a slot. A staging site is free if another site of its domain has a slot.
 * @param site the registrable domain; null for a local site
 * @param holders the sites of this registrable domain that have slots
 * @param room the number of further sites that may be free
 */
export function classifySite<Site extends { identifier: string }>(
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

/** A site of a licence, as it is stored. */
export interface ClassifiedSite {
  identifier: string;
  site: string | null;
  free: boolean;
}

/**
 * Decides for all identifiers of a licence at once which need a slot, as if the production sites had been activated
 * first. Free places are given in the order of the list.
 * @param limit the licence's slots; 0 if unlimited
 */
export function classifySites(
  { activationType, freeStaging }: { activationType: string; freeStaging: boolean },
  limit: number,
  identifiers: string[],
): ClassifiedSite[] {
  const sites = identifiers.map((identifier): ClassifiedSite => {
    return { identifier, site: siteOf(activationType, identifier), free: false };
  });
  if (!freeStaging) return sites;
  const holders = sites.filter(({ identifier, site }) => site !== null && !isStagingName(identifier, site));
  let room = maxFreeSites(limit);
  for (const one of sites) {
    if (holders.includes(one)) continue;
    const carriers = holders.filter(({ site }) => site === one.site);
    one.free = classifySite(one.identifier, one.site, carriers, room).free;
    if (one.free) room--;
    else holders.push(one);
  }
  return sites;
}
