/** The kinds of remarks on a package that was taken. The first four are refusals that were accepted, or a draft's. */
export const REMARKS = [
  'package-lacks',
  'without-lines',
  'other-update-server',
  'foreign-server',
  'server-unchecked',
  'before-unread',
  'no-changelog-address',
  'odd-version',
  'pre-release',
  'future-date',
] as const;

/** A remark on a package that was taken, such as a check that was skipped. */
export interface Remark {
  /** for programs, and for pages, which have their own words */
  code: (typeof REMARKS)[number];
  /** the names, versions and addresses of the sentence */
  facts: string[];
  message: string;
}
