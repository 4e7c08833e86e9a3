/** What a changelog says of security: the lines that begin with `security:`, in a list or not (docs/releases.md). */

const SECURITY = /^\s*(?:[-*•]\s+)?security:\s*(?=\S)/i;

/** What a version closes, a line each, without the word. */
export function securityLines(changelog: string): string[] {
  return changelog.split(/\r\n|[\r\n]/).flatMap((line) => {
    const [word] = SECURITY.exec(line) ?? [];
    return word === undefined ? [] : [line.slice(word.length).trim()];
  });
}

/** A version's changelog as customers read it: of a security release these lines stand first. */
export function shownChangelog({ changelog, security }: { changelog: string; security: boolean }): string {
  if (!security) return changelog;
  const lines = changelog.split(/\r\n|[\r\n]/);
  const first = lines.filter((line) => SECURITY.test(line));
  return first.length === 0
    ? changelog
    : [...first, ...lines.filter((line) => !SECURITY.test(line))].join('\n');
}
