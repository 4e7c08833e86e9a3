import { normalizeIdentifier } from '../licensing/core/identifiers';
import { isLocalSite, isStagingName, mostFree, placeSite, siteOf } from '../licensing/core/staging-sites';
import type { Activation } from '../store/licenses/activations';
import type { License } from '../store/licenses/licenses';
import { finding } from './findings';
import type { Finding, SitePlace } from './finding-model';

/** Explains to support which sites take no slot, and why another one does. Pure functions. */

/** The most sites that a sentence names. */
export const MAX_NAMED = 10;

/**
 * @param free the first of a licence's activations without a slot
 * @param holders those with a slot that share a registrable domain with them
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

/** How many activations without a slot are worth reading for `explainFreeSites`. */
export const FREE_SITES_READ = MAX_NAMED + 1;

/**
 * Why a refused site needs a slot, though its plan leaves local and staging sites free.
 *
 * @param identifier as it was sent
 * @param activations all those of the licence
 * @returns `free`: it would take no slot now. `place` is null for any other site
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
  if (placeSite(name, site, holders, mostFree(activationLimit) - free).free)
    return { free: true, place: null };
  return {
    free: false,
    place:
      isStaging && holders.length === 0
        ? { kind: 'staging', site }
        : { kind: isStaging ? 'staging' : 'local', free_sites: free },
  };
}
