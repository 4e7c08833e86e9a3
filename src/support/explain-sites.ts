import { normalizeIdentifier } from '../licensing/identifiers';
import { isLocalSite, isStagingName, mostFree, placeSite, siteOf } from '../licensing/staging-sites';
import type { Activation } from '../store/activations';
import type { License } from '../store/licenses';
import type { Finding } from './findings';

/** Explains to support which sites take no slot, and why another one does. Pure functions. */

const MAX_NAMED = 10;

/**
 * @param free the first of a licence's activations without a slot
 * @param holders those with a slot that share a registrable domain with them
 */
export function explainFreeSites(free: Activation[], holders: Activation[]): Finding[] {
  if (free.length === 0) return [];
  const bySite = new Map<string | null, string[]>();
  for (const { site, identifier } of free.slice(0, MAX_NAMED))
    bySite.set(site, [...(bySite.get(site) ?? []), identifier]);
  const sentences = [...bySite].map(([site, identifiers]) => {
    const they = `${inWords(identifiers, 'and')} ${identifiers.length === 1 ? 'takes' : 'take'} no slot`;
    if (site === null)
      return `${they}: only ${identifiers.length === 1 ? 'its' : 'their'} own machine or network reaches ${identifiers.length === 1 ? 'it' : 'them'}.`;
    const carriers = holders.filter((one) => one.site === site).map(({ identifier }) => identifier);
    const named =
      carriers.length > MAX_NAMED ? `a site of ${site}` : inWords(carriers, 'or') || `a site of ${site}`;
    return `${they} as long as ${named} has one.`;
  });
  const more = free.length > MAX_NAMED ? ' There are more free sites.' : '';
  return [{ code: 'FREE_SITES', text: `${sentences.join(' ')}${more}`, remedy: null }];
}

/** How many activations without a slot are worth reading for `explainFreeSites`. */
export const FREE_SITES_READ = MAX_NAMED + 1;

/**
 * Why a refused site needs a slot, though its plan leaves local and staging sites free.
 *
 * @param identifier as it was sent
 * @param activations all those of the licence
 * @returns `free`: it would take no slot now. `why` is a further clause; empty for any other site
 */
export function placeOfSite(
  identifier: string,
  { plan, activationLimit }: License,
  activations: Activation[],
): { free: boolean; why: string } {
  const ordinary = { free: false, why: '' };
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
  if (placeSite(name, site, holders, mostFree(activationLimit) - free).free) return { free: true, why: '' };
  return {
    free: false,
    why:
      isStaging && holders.length === 0
        ? `; it is a staging site, which takes no slot as soon as another site of ${site} has one`
        : `; it is a ${isStaging ? 'staging' : 'local'} site, but ${free} sites take no slot already, the most for this licence`,
  };
}

function inWords(names: string[], word: 'and' | 'or'): string {
  const [last = '', ...others] = [...names].reverse();
  return others.length === 0 ? last : `${others.reverse().join(', ')} ${word} ${last}`;
}
