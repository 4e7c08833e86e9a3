import { combinedPlanKey } from './plan-map';
import { BEGINS_LATER, OVER, RUNS, type Standing } from './standing';
import type { SourceContext, SourceKey, SourceLicense, SourcePlan, SourceWarning } from './source';

/**
 * Decides which licence gets a customer's keys, for a source whose keys identify the customer instead of a product. One
 * key works for all rights of a customer there, and for one licence here. Pure functions.
 */

/** A customer's right: the licence to import, without its keys. */
export interface Right {
  license: SourceLicense;
  standing: Standing;
}

/** The part of the plan map that decides which licence gets the keys. */
export interface KeyAssignmentRules {
  /** the keys of plan combinations */
  together: ReadonlySet<string>;
  /** the plans whose licences are left out */
  leftOut: ReadonlySet<string>;
}

export function mapOfKeys({
  together = [],
  leftOut = [],
}: Pick<SourceContext, 'together' | 'leftOut'>): KeyAssignmentRules {
  return { together: new Set(together.map(combinedPlanKey)), leftOut: new Set(leftOut) };
}

/** A customer's rights as licences, one of them with the keys, and the warnings for the seller. */
export interface KeyAssignment {
  licenses: SourceLicense[];
  warnings: SourceWarning[];
}

/**
 * Gives the keys to the running right that is imported and covers the most, or among equals ends last. If none runs, a
 * right that begins later gets them, otherwise an ended one. If the right with the keys does not cover all running
 * rights, its plan becomes the combination that the map names for them, or the seller is warned.
 * @param rights the rights of one customer, at least one
 */
export function assignKeys(
  rights: Right[],
  keys: SourceKey[],
  plans: Map<string, SourcePlan>,
  { together, leftOut }: KeyAssignmentRules,
): KeyAssignment {
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
  const key = combinedPlanKey([...new Set([bearer, ...others].map(({ license }) => license.plan))]);
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

/** Returns a right's end for sorting, which is latest for a right that never ends. */
function endOf({ license: { expiresAt } }: Right): number {
  return expiresAt === null ? Infinity : (expiresAt?.getTime() ?? 0);
}

function compareIds(a: Right, b: Right): number {
  return a.license.id.localeCompare(b.license.id, 'en', { numeric: true });
}

/** Compares ends without subtracting them, because Infinity minus Infinity is NaN. */
function later(a: Right, b: Right): number {
  const [one, other] = [endOf(a), endOf(b)];
  return one === other ? 0 : other > one ? 1 : -1;
}
