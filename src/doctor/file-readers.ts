import { statSync, type Stats } from 'node:fs';
import { userInfo } from 'node:os';
import type { OperatorTexts } from '../texts/operators/texts';
import { ok, problem, type Finding } from './finding';
import { mayUse, readNginxUser, type NginxUser } from './nginx-user';

interface FileWithStats {
  path: string;
  stats: Stats;
}

/**
 * Checks that neither everybody nor nginx's user can read files. The site's PHP often runs as nginx's user, so a hole
 * in any of its extensions would expose them. `code` begins the finding's code; `why` says what the files give away.
 */
export async function checkReaders(
  code: string,
  paths: string[],
  why: (texts: OperatorTexts['doctor']) => string,
): Promise<Finding> {
  const files = paths.map((path) => ({ path, stats: statSync(path) }));
  const nginx = await readNginxUser();
  const open = files.filter(({ stats }) => stats.mode & 0o006);
  if (open.length > 0)
    return problem(`${code}_PUBLIC`, (t) =>
      t.filesPublic(describe(open, t.mode), why(t), closeFiles(t, open, nginx)),
    );
  // Modes do not restrict root.
  if (nginx !== undefined && nginx.uid !== 0) {
    const readable = files.filter(({ stats }) => mayUse(nginx, stats, 4));
    if (readable.length > 0)
      return problem(`${code}_NGINX`, (t) =>
        t.filesForNginx(nginx.name, describe(readable, t.mode), why(t), closeFiles(t, readable, nginx)),
      );
  }
  return ok(code, (t) => t.filesClosed(describe(files, t.mode)));
}

/** The current user, which should be the service's; `licensing` when that is root. */
export function serviceUser(): string {
  return process.getuid?.() === 0 ? 'licensing' : userInfo().username;
}

/** A file's mode as chmod takes it. */
export function octal(mode: number): string {
  return (mode & 0o777).toString(8).padStart(4, '0');
}

function describe(files: FileWithStats[], mode: string): string {
  return files.map(({ path, stats }) => `${path} (${mode} ${octal(stats.mode)})`).join(', ');
}

/** The owner changes first: a service that read the file as its group or as others must own it at mode 600. */
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
