import { togetherKey } from './plan-map';
import { BEGINS_LATER, OVER, RUNS, type Standing } from './standing';
import type { SourceContext, SourceKey, SourceLicense, SourcePlan, SourceWarning } from './source';

/**
 * Which licence gets a customer's keys, of a source whose keys say who comes and not for what: one key there opens all of a
 * customer's rights, and here one licence. Pure.
 */

/** A right of a customer: a licence to be, without its keys. */
export interface Right {
  license: SourceLicense;
  standing: Standing;
}

/** What the plan map says, as far as it decides where keys go. */
export interface MapOfKeys {
  /** keys of plans that one plan of ours takes together */
  together: ReadonlySet<string>;
  /** plans whose licences do not come */
  leftOut: ReadonlySet<string>;
}

export function mapOfKeys({
  together = [],
  leftOut = [],
}: Pick<SourceContext, 'together' | 'leftOut'>): MapOfKeys {
  return { together: new Set(together.map(togetherKey)), leftOut: new Set(leftOut) };
}

/** A customer's rights as licences, the keys on one of them, and what somebody has to know. */
export interface Given {
  licenses: SourceLicense[];
  warnings: SourceWarning[];
}

/**
 * The keys go to the running right that comes and covers most; of equals to the one that ends last. A right that was bought ahead
 * gets them only if no right runs. Where the bearer does not cover all that the customer may have, the plan that the map names for
 * them together takes its place.
 *
 * @param rights of one customer, at least one
 */
export function giveKeys(
  rights: Right[],
  keys: SourceKey[],
  plans: Map<string, SourcePlan>,
  { together, leftOut }: MapOfKeys,
): Given {
  const licenses = rights.map(({ license }) => license);
  const coming = rights.filter(({ license }) => !leftOut.has(license.plan));
  if (keys.length === 0 || coming.length === 0) return { licenses, warnings: [] };
  const covers = ({ license }: Right) => plans.get(license.plan)?.covers ?? [];
  const those = (wanted: Standing) => coming.filter(({ standing }) => standing === wanted);
  const running = those(RUNS);
  const candidates = [running, those(BEGINS_LATER), those(OVER)].find((some) => some.length > 0) ?? [];
  const [best] = [...candidates].sort(
    (a, b) => covers(b).length - covers(a).length || later(a, b) || compareIds(a, b),
  );
  const bearer = best as Right;
  const covered = new Set(covers(bearer));
  const others = running.filter(
    (right) => right !== bearer && !covers(right).every((one) => covered.has(one)),
  );
  const withKeys = (plan: string) =>
    licenses.map((license) => (license === bearer.license ? { ...license, plan, keys } : license));
  if (others.length === 0) return { licenses: withKeys(bearer.license.plan), warnings: [] };
  const key = togetherKey([...new Set([bearer, ...others].map(({ license }) => license.plan))]);
  if (together.has(key)) return { licenses: withKeys(key), warnings: [] };
  const names = [bearer, ...others].map(({ license }) => plans.get(license.plan)?.name ?? license.plan);
  return {
    licenses: withKeys(bearer.license.plan),
    warnings: [
      {
        row: bearer.license.row,
        warning: 'no-cover',
        facts: [[...new Set(names)].join(', '), names[0] ?? '', key],
        ...(bearer.license.customer !== null && { customer: bearer.license.customer }),
      },
    ],
  };
}

/** The later the higher; for life is the latest. */
function endOf({ license: { expiresAt } }: Right): number {
  return expiresAt === null ? Infinity : (expiresAt?.getTime() ?? 0);
}

function compareIds(a: Right, b: Right): number {
  return a.license.id.localeCompare(b.license.id, 'en', { numeric: true });
}

/** Infinity less itself is no number. */
function later(a: Right, b: Right): number {
  const [one, other] = [endOf(a), endOf(b)];
  return one === other ? 0 : other > one ? 1 : -1;
}
