import type { XmlUpdate } from '../xml-updates';

/** What is wrong with an update XML, and what mends it. */

export interface LintFinding {
  /** error: sites miss the update, or cannot install it; warning: it works, and something is not as it should be */
  level: 'error' | 'warning';
  code: string;
  /** of the `update` element, counted from 1; undefined when it is about the whole file */
  line: number | undefined;
  version: string | undefined;
  problem: string;
  remedy: string;
}

/** What mends most of it. */
export const WRITE_AGAIN = 'Write the update XML again with "licensing update-xml write".';

/** Adds a finding; about one update, or about the whole file. */
export type Report = (
  level: LintFinding['level'],
  code: string,
  problem: string,
  remedy: string,
  update?: XmlUpdate,
) => void;

/** No findings yet, and what adds to them. */
export function createReport(): { findings: LintFinding[]; report: Report } {
  const findings: LintFinding[] = [];
  const report: Report = (level, code, problem, remedy, update) =>
    findings.push({
      level,
      code,
      line: update?.line,
      version: update?.text('version')?.trim(),
      problem,
      remedy,
    });
  return { findings, report };
}
