import type { SECURITY_BRANCHES } from '../../store/words';

/** The branches of a product's versions, in which an expired licence still gets security releases. */

type SecurityBranch = (typeof SECURITY_BRANCHES)[number];

/** The first publication of a version of each branch. Versions that were withdrawn later count too. */
export interface Branches {
  rule: SecurityBranch;
  since: ReadonlyMap<string, Date>;
}

/** Returns the branch of a version: 2.4 of 2.4.7, with `major` 2. PHP compares `-`, `_` and `+` like a dot. */
export function branchOf(version: string, rule: SecurityBranch): string {
  if (rule === 'any') return '';
  const [, major = '0', minor = '0'] = /^v?0*(\d+)(?:[.\-_+]0*(\d+))?/i.exec(version) ?? [];
  return rule === 'major' ? major : `${major}.${minor}`;
}

/** @param versions all versions of a product; drafts do not count */
export function branchesOf(
  rule: SecurityBranch,
  versions: readonly { version: string; publishedAt: Date | null }[],
): Branches {
  const since = new Map<string, Date>();
  for (const { version, publishedAt } of versions) {
    const branch = branchOf(version, rule);
    const first = since.get(branch);
    if (publishedAt !== null && (first === undefined || publishedAt < first)) since.set(branch, publishedAt);
  }
  return { rule, since };
}

/** Reports whether a branch had a version by a time. */
export function hasBranchBy({ rule, since }: Branches, version: string, until: Date): boolean {
  const first = since.get(branchOf(version, rule));
  return first !== undefined && first <= until;
}
