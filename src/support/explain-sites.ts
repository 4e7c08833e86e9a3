import { normalizeIdentifier } from '../licensing/core/identifiers';
import {
  isLocalSite,
  isStagingName,
  maxFreeSites,
  classifySite,
  siteOf,
} from '../licensing/core/staging-sites';
import type { Activation } from '../store/licenses/activations';
import type { License } from '../store/licenses/licenses';
import { finding } from './findings';
import type { Finding, SitePlace } from './finding-model';

/** Explains to support which sites take no slot, and why another site takes one. The functions are pure. */

/** The maximum of sites that a sentence names. */
export const MAX_NAMED = 10;

/**
 * @param free the first of a licence's activations without a slot
 * @param holders the activations with a slot that share a registrable domain with them
 */
export function explainFreeSites(free: Activation[], holders: Activation[]): Finding[] {
  if (free.length === 0) return [];
  const bySite = new Map<string | null, string[]>();
  for (const { site, identifier } of free.slice(0, MAX_NAMED))
    bySite.set(site, [...(bySite.get(site) ?? []), identifier]);
  const sites = [...bySite].map(([site, identifiers]) => ({
    site,
    free: identifiers,
    holders:
      site === null
        ? []
        : holders
            .filter((one) => one.site === site)
            .map(({ identifier }) => identifier)
            .slice(0, MAX_NAMED + 1),
  }));
  return [finding('FREE_SITES', { sites, more: free.length > MAX_NAMED })];
}

/** The number of activations without a slot that `explainFreeSites` needs. */
export const FREE_SITES_READ = MAX_NAMED + 1;

/**
 * Explains why a refused site needs a slot although local and staging sites are free on its plan.
 *
 * @param identifier in the spelling of the request
 * @param activations all activations of the licence
 * @returns `free` if it would take no slot now. `place` is null for any other site
 */
export function placeOfSite(
  identifier: string,
  { plan, activationLimit }: License,
  activations: Activation[],
): { free: boolean; place: SitePlace | null } {
  const ordinary = { free: false, place: null };
  const name =
    plan.freeStaging && plan.activationType === 'domain'
      ? normalizeIdentifier('domain', identifier)
      : undefined;
  if (name === undefined) return ordinary;
  const site = siteOf('domain', name);
  const isStaging = site !== null && isStagingName(name, site);
  if (!isStaging && !isLocalSite(name)) return ordinary;
  const holders = activations.filter((one) => one.site === site && !one.free);
  const free = activations.filter((one) => one.free).length;
  if (classifySite(name, site, holders, maxFreeSites(activationLimit) - free).free)
    return { free: true, place: null };
  return {
    free: false,
    place:
      isStaging && holders.length === 0
        ? { kind: 'staging', site }
        : { kind: isStaging ? 'staging' : 'local', free_sites: free },
  };
}
