import { statSync, type Stats } from 'node:fs';
import { userInfo } from 'node:os';
import type { OperatorTexts } from '../texts/operators/texts';
import { ok, problem, type CheckFinding } from './finding';
import { mayUse, readNginxUser, type NginxUser } from './nginx-user';

interface FileWithStats {
  path: string;
  stats: Stats;
}

/**
 * Checks that neither all users nor nginx's user can read files. The site's PHP often runs as nginx's user, so that a
 * hole in any extension would expose them. `code` begins the finding's code; `why` names the secrets in the files.
 */
export async function checkReaders(
  code: string,
  paths: string[],
  why: (texts: OperatorTexts['doctor']) => string,
): Promise<CheckFinding> {
  const files = paths.map((path) => ({ path, stats: statSync(path) }));
  const nginx = await readNginxUser();
  const open = files.filter(({ stats }) => stats.mode & 0o006);
  if (open.length > 0)
    return problem(`${code}_PUBLIC`, (t) =>
      t.filesPublic(describe(open, t.mode), why(t), closeFiles(t, open, nginx)),
    );
  // Skip root, because modes do not restrict it.
  if (nginx !== undefined && nginx.uid !== 0) {
    const readable = files.filter(({ stats }) => mayUse(nginx, stats, 4));
    if (readable.length > 0)
      return problem(`${code}_NGINX`, (t) =>
        t.filesForNginx(nginx.name, describe(readable, t.mode), why(t), closeFiles(t, readable, nginx)),
      );
  }
  return ok(code, (t) => t.filesClosed(describe(files, t.mode)));
}

/** Returns the current user, which should run the service; `licensing` if that is root. */
export function serviceUser(): string {
  return process.getuid?.() === 0 ? 'licensing' : userInfo().username;
}

/** Formats a file's mode for chmod. */
export function octal(mode: number): string {
  return (mode & 0o777).toString(8).padStart(4, '0');
}

function describe(files: FileWithStats[], mode: string): string {
  return files.map(({ path, stats }) => `${path} (${mode} ${octal(stats.mode)})`).join(', ');
}

/** Returns commands that close the files. The owner comes first: at mode 600, a service needs to own the files. */
function closeFiles(
  texts: OperatorTexts['doctor'],
  files: FileWithStats[],
  nginx: NginxUser | undefined,
): string {
  const names = files.map(({ path }) => path).join(' ');
  const user = serviceUser();
  const isShared = user === nginx?.name;
  const command = `chown ${isShared ? 'licensing' : user} ${names} && chmod 600 ${names}`;
  return texts.closeFiles(isShared, command);
}
