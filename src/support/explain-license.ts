import { namesOf } from '../licensing/bundles';
import { entitledUntil } from '../licensing/verdict';
import { liveStatus } from '../licensing/states';
import { formatTimestamp } from '../licensing/timestamps';
import type { LicenseEvent } from '../store/events';
import type { License } from '../store/licenses';
import { explainFreeSites } from './explain-sites';
import type { Circumstances, Finding, Name, NamedLicense } from './findings';

/** Describes a licence's state and what keeps it from working now. */
export function explainLicense(license: License, circumstances: Circumstances): Finding[] {
  const { id, product, activationLimit, activationsUsed } = license;
  const { latestVersion, included, includedPublished } = circumstances;
  const findings: Finding[] = [explainState(license, circumstances)];
  if (included.length > 0)
    findings.push({
      code: 'COVERS',
      text: `It also covers what product ${product.id} includes: ${namesOf(included)}.`,
      remedy: null,
    });
  const usable = liveStatus(license, circumstances.now) === 'active';
  if (usable && activationLimit !== 0 && activationsUsed >= activationLimit)
    findings.push({
      code: 'SLOTS_FULL',
      text: `${activationLimit === 1 ? 'The one slot' : `All ${activationLimit} slots`} of licence ${id} ${activationLimit === 1 ? 'is' : 'are'} in use (${activationsUsed}). What is activated keeps working; nothing more can be activated.`,
      remedy: freeSlot(license),
    });
  findings.push(...explainFreeSites(circumstances.free, circumstances.holders));
  if (latestVersion === undefined && !includedPublished)
    findings.push({
      code: 'NOTHING_PUBLISHED',
      text: `Product ${product.id} (${product.name}) has no published version${included.length > 0 ? ', nor has what it includes' : ''}: there is nothing to download for anybody.`,
      remedy: `licensing release publish --product ${included[0]?.id ?? product.id} --version VERSION --file FILE`,
    });
  if (license.lastCheckAt)
    findings.push({
      code: 'VALIDATED',
      text: `Its key was last validated at ${formatTimestamp(license.lastCheckAt)} from ${license.lastCheckIp ?? 'an unknown address'}, ${license.checkCount} times in all: that client has the right key.`,
      remedy: null,
    });
  return findings;
}

function explainState(license: License, { now, stopped, refusedSince }: Circumstances): Finding {
  const { id, product, plan, customer, expiresAt } = license;
  const name = `Licence ${id} (${product.name}, ${plan.name})`;
  const refused =
    refusedSince === 0
      ? ''
      : `, ${refusedSince} ${refusedSince === 1 ? 'download' : 'downloads'} refused since`;
  const by = stopped ? ` on ${day(stopped.at)} by ${stopped.actor}${reasonOf(stopped)}` : '';
  const past = expiresAt !== null && expiresAt <= now ? ` It also expired on ${day(expiresAt)}.` : '';
  const status = liveStatus(license, now);
  switch (status) {
    case 'active':
      return {
        code: 'ACTIVE',
        text: `${name} is active ${expiresAt ? `until ${day(expiresAt)}` : 'without an end'}, ${slots(license)}.`,
        remedy: null,
      };
    case 'expired':
      return {
        code: 'EXPIRED',
        text: `${name} expired${expiresAt ? ` on ${day(expiresAt)}` : ''}${refused}.${entitledUntil(license, now) ? ' By its plan it still downloads what was published before that.' : ''}`,
        remedy: revival(license, now),
      };
    case 'suspended':
      return {
        code: 'SUSPENDED',
        text: `${name} was suspended${by}${refused}.${past}`,
        remedy: revival(license, now),
      };
    default:
      return {
        code: status.toUpperCase(),
        text: `${name} was ${status}${by}, which is final${refused}.${past}`,
        remedy: `To give the customer a new one: licensing license issue --plan ${plan.id}${customer === null ? '' : ` --customer ${customer}`}`,
      };
  }
}

/** The command that makes a licence usable again; null if there is none. */
export function revival(license: License, now: Date): string | null {
  const { id, expiresAt } = license;
  switch (liveStatus(license, now)) {
    case 'expired':
      return `licensing license renew ${id} --for 1y`;
    case 'suspended':
      // Reinstating it after its end would leave it expired.
      return expiresAt !== null && expiresAt <= now
        ? `licensing license renew ${id} --for 1y`
        : `licensing license reinstate ${id}`;
    default:
      return null;
  }
}

function reasonOf({ after }: LicenseEvent): string {
  return typeof after?.reason === 'string' ? ` ("${after.reason}")` : '';
}

function slots({ activationLimit, activationsUsed, plan }: License): string {
  return `${activationsUsed} of ${activationLimit || 'unlimited'} slots used, by ${plan.activationType}`;
}

/** The command that frees a slot. More slots may be in use than allowed, after an override or a lowered limit. */
export function freeSlot({ id, activationLimit, activationsUsed }: License): string {
  const over = activationsUsed - activationLimit;
  return `licensing activation list ${id}, then "licensing activation remove ${id} IDENTIFIER"${over > 0 ? ` (${over + 1} of them)` : ''}; or licensing license set-limit ${id} ${activationsUsed + 1}`;
}

const NAMES: Record<Name, string> = {
  customer: 'as their customer',
  reference: 'as their reference',
  hint: 'as the end of their key',
  identifier: 'as what is activated',
  access: 'in the access log alone',
  beginning: "as the beginning of their customer's e-mail",
  near: "as their customer's e-mail but for one slip",
  provider: "as the name in their customer's e-mail, at another provider",
};

const NEARLY: Name[] = ['beginning', 'near', 'provider'];

/** Reports that the licence's e-mail differs from the typed one. */
export function explainNearEmail({ id, customer }: License, by: Name): Finding {
  return {
    code: 'NEAR_EMAIL',
    text: `No customer has exactly this e-mail. Licence ${id} has it ${NAMES[by]}: ${customer ?? ''}.`,
    remedy: null,
  };
}

/** @param more whether there are further licences */
export function explainSeveral(named: NamedLicense[], more: boolean): Finding {
  const groups = (Object.keys(NAMES) as Name[]).flatMap((name) => {
    const ids = named.filter(({ by }) => by === name).map(({ license }) => license.id);
    return ids.length === 0 ? [] : [`${ids.join(', ')} ${NAMES[name]}`];
  });
  const have = named.some(({ by }) => NEARLY.includes(by)) ? 'come near this' : 'have this';
  return {
    code: 'SEVERAL_LICENSES',
    text: `${more ? `More than ${named.length} licences ${have}; the first` : `${named.length} licences ${have}`}: ${groups.join('; ')}.`,
    remedy: 'licensing why ID',
  };
}

/** Order numbers may equal licence ids, so a bare number may mean another licence. */
export function explainReference({ id, reference }: License): Finding {
  return {
    code: 'ALSO_A_REFERENCE',
    text: `An order has the number ${reference ?? ''} as well: that of licence ${id}.`,
    remedy: `licensing why ${id}`,
  };
}

export function day(date: Date): string {
  return formatTimestamp(date).slice(0, 10);
}
