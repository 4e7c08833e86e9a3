import { statSync, type Stats } from 'node:fs';
import { userInfo } from 'node:os';
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
  why: { english: string; german: string },
): Promise<Finding> {
  const files = paths.map((path) => ({ path, stats: statSync(path) }));
  const nginx = await readNginxUser();
  const open = files.filter(({ stats }) => stats.mode & 0o006);
  if (open.length > 0)
    return problem(
      `${code}_PUBLIC`,
      `Every user of this machine can read ${describe(open)}.`,
      { why: why.english, remedy: closeFiles(open, nginx).english },
      {
        what: `Jeder Benutzer dieses Rechners kann ${describe(open, 'Modus')} lesen.`,
        why: why.german,
        remedy: closeFiles(open, nginx).german,
      },
    );
  // Modes do not restrict root.
  if (nginx !== undefined && nginx.uid !== 0) {
    const readable = files.filter(({ stats }) => mayUse(nginx, stats, 4));
    if (readable.length > 0)
      return problem(
        `${code}_NGINX`,
        `nginx's user ${nginx.name} can read ${describe(readable)}.`,
        {
          why: `${why.english} The site's PHP mostly runs as that user: a hole in any extension of the site is enough.`,
          remedy: closeFiles(readable, nginx).english,
        },
        {
          what: `Der Benutzer ${nginx.name} von nginx kann ${describe(readable, 'Modus')} lesen.`,
          why: `${why.german} PHP läuft für die Website meist unter diesem Benutzer: Eine Lücke in irgendeiner Erweiterung genügt.`,
          remedy: closeFiles(readable, nginx).german,
        },
      );
  }
  return ok(
    code,
    `Not readable for everybody: ${describe(files)}.`,
    `Nicht für alle lesbar: ${describe(files, 'Modus')}.`,
  );
}

/** The current user, which should be the service's; `licensing` when that is root. */
export function serviceUser(): string {
  return process.getuid?.() === 0 ? 'licensing' : userInfo().username;
}

/** A file's mode as chmod takes it. */
export function octal(mode: number): string {
  return (mode & 0o777).toString(8).padStart(4, '0');
}

function describe(files: FileWithStats[], mode = 'mode'): string {
  return files.map(({ path, stats }) => `${path} (${mode} ${octal(stats.mode)})`).join(', ');
}

/** The owner changes first: a service that read the file as its group or as others must own it at mode 600. */
function closeFiles(
  files: FileWithStats[],
  nginx: NginxUser | undefined,
): { english: string; german: string } {
  const names = files.map(({ path }) => path).join(' ');
  const user = serviceUser();
  const isShared = user === nginx?.name;
  const command = `chown ${isShared ? 'licensing' : user} ${names} && chmod 600 ${names}`;
  const who = isShared ? "a user of the service's own (docs/production.md)" : 'the user the service runs as';
  const whoInGerman = isShared
    ? 'einem eigenen Benutzer des Dienstes (docs/production.md)'
    : 'dem Benutzer, unter dem der Dienst läuft';
  return { english: `As root, with ${who}: ${command}`, german: `Als root, mit ${whoInGerman}: ${command}` };
}
