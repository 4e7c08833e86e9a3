/**
 * The kinds of changes. A line of a changelog may begin with a word for its kind, in a list or not (docs/releases.md).
 * Joomla shows a separate list for each kind (com_installer, loadChangelog), in this order.
 */
export const CHANGE_KINDS = ['security', 'fix', 'addition', 'change', 'remove', 'language', 'note'] as const;
export type ChangeKind = (typeof CHANGE_KINDS)[number];

export interface ChangelogEntry {
  kind: ChangeKind;
  /** the line without this word and the list mark */
  text: string;
}

/** `add:` is the only word that differs from its kind's name. */
const LINE = /^(?:[-*•]\s+)?(?:(security|fix|add|change|remove|language|note):\s*(?=\S))?([^]*)$/i;

/** Reads the lines of a changelog, without empty ones. A line without a word is a note. */
export function readChanges(changelog: string): ChangelogEntry[] {
  return changelog.split(/\r\n|[\r\n]/).flatMap((line) => {
    const [, word = 'note', text = ''] = LINE.exec(line.trim()) ?? [];
    const kind = CHANGE_KINDS.find((one) => one === word.toLowerCase()) ?? 'addition';
    return text === '' ? [] : [{ kind, text }];
  });
}

function isSecurity(line: string): boolean {
  return readChanges(line)[0]?.kind === 'security';
}

/** Lists the lines of the advice for the users of a version. */
export function adviceLines(advisory: string | null): string[] {
  return readChanges(advisory ?? '').map(({ text }) => text);
}

/** Returns a changelog whose list of security holes begins with the names of the holes, and the advice. */
export function withAdvice(
  { cve = [], advisory = null }: { cve?: string[]; advisory?: string | null },
  changelog: string,
): string {
  const advice = [...(cve.length === 0 ? [] : [cve.join(', ')]), ...adviceLines(advisory)];
  return [...advice.map((line) => `security: ${line}`), changelog].join('\n');
}

/** Lists the security holes that a version closes, without the word. */
export function securityLines(changelog: string): string[] {
  return readChanges(changelog).flatMap(({ kind, text }) => (kind === 'security' ? [text] : []));
}

/** Returns a changelog as customers read it: in a security release, the security lines come first. */
export function shownChangelog({ changelog, security }: { changelog: string; security: boolean }): string {
  if (!security) return changelog;
  const lines = changelog.split(/\r\n|[\r\n]/);
  const first = lines.filter(isSecurity);
  return first.length === 0 ? changelog : [...first, ...lines.filter((line) => !isSecurity(line))].join('\n');
}
