import type { XmlUpdate } from '../updater/xml-updates';

export interface LintFinding {
  /** error: sites miss the update, cannot install it, or install it without some files; warning: the update works, with a flaw */
  level: 'error' | 'warning';
  code: string;
  /** the line of the `update` element, counted from 1; undefined for the whole file */
  line: number | undefined;
  version: string | undefined;
  problem: string;
  remedy: string;
}

export const WRITE_AGAIN = 'Write the update XML again with "licensing update-xml write".';

export type Report = (
  level: LintFinding['level'],
  code: string,
  problem: string,
  remedy: string,
  update?: XmlUpdate,
) => void;

/** Starts an empty report. */
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
