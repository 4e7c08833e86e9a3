/** The kinds of remarks on an accepted package. The first four are refusals that the operator overrode, or a draft's. */
export const REMARKS = [
  'package-lacks',
  'without-lines',
  'other-update-server',
  'foreign-server',
  'server-unchecked',
  'before-unread',
  'no-changelog-address',
  'lock-unread',
  'odd-version',
  'pre-release',
  'future-date',
] as const;

/** A remark on an accepted package, such as a check that was skipped. */
export interface Remark {
  /** identifies the remark for programs; pages look up their own text by it */
  code: (typeof REMARKS)[number];
  /** the names, versions and addresses in the text */
  facts: string[];
  message: string;
}
