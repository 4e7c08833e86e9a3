import type { FixLink } from '../store/releases';
import { branchOf, type Branches } from './core/branches';
import { compareVersions } from './versions';

/** Releases that bring the same fix to several branches (`same_fix_as`), such as 2.4.2 and 3.0.1. */

/** Returns the linked releases, with the release itself. Links count in both directions and over several steps. */
export function withSameFix<T extends Pick<FixLink, 'id' | 'sameFixAs'>>(
  releases: readonly T[],
  releaseId: number,
): T[] {
  const linked = new Set([releaseId]);
  for (let seen = 0; seen < linked.size;) {
    seen = linked.size;
    for (const { id, sameFixAs } of releases)
      if (sameFixAs !== null && (linked.has(id) || linked.has(sameFixAs))) linked.add(id).add(sameFixAs);
  }
  return releases.filter(({ id }) => linked.has(id));
}

/**
 * Reports whether a version lacks a fix: it is lower than the fixed version of its branch or, if its branch has no fixed
 * version, than the highest fixed version.
 */
export function lacksFix(version: string, fixedIn: readonly string[], rule: Branches['rule']): boolean {
  if (fixedIn.includes(version)) return false;
  const branch = branchOf(version, rule);
  const ofBranch = fixedIn.filter((fixed) => branchOf(fixed, rule) === branch);
  const [highest] = (ofBranch.length > 0 ? ofBranch : [...fixedIn]).sort((a, b) => compareVersions(b, a));
  return highest !== undefined && compareVersions(version, highest) < 0;
}
