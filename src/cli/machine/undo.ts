import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { rm, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readText } from '../../setup/files';
import { type JournalEntry } from '../../setup/journal';
import { runLine, runOrThrow, exitsWithZero } from '../../setup/machine';
import { disconnectSite } from '../../setup/web-server';
import { isLink, replaceLink } from './trees';

/** Describes and undoes the changes of setup. */

export function describeUndo(made: JournalEntry): string {
  switch (made.kind) {
    case 'link':
      return made.before === null
        ? `remove the link ${made.path}`
        : `the link ${made.path} points to ${made.before} again`;
    case 'tree':
      return `remove ${made.path}`;
    case 'member':
      return `remove ${made.user} from the group ${made.group}`;
    case 'file':
    case 'unit-file':
    case 'door':
      return `remove ${made.path}`;
    case 'instances':
      return `stop ${made.names.join(', ')}; they no longer start with the machine`;
    case 'modules':
      return `disable Apache's modules ${made.names.join(', ')}`;
    case 'site':
      return [
        ...made.site.inserted.map(({ path }) => `remove the lines from ${path}`),
        ...made.site.files.map(({ path }) => `remove ${path}`),
      ].join('\n');
  }
}

/** Undoes a change. @returns remarks about things that were left, because they were changed since */
export async function undo(made: JournalEntry): Promise<string[]> {
  switch (made.kind) {
    case 'link':
      if (!isLink(made.path) || readlinkSync(made.path) !== made.to) return left(made.path);
      if (made.before === null) await rm(made.path);
      else await replaceLink(made.path, made.before);
      return [];
    case 'tree':
      // Keep a tree with settings, because they contain the secret that opens the keys.
      if (existsSync(join(made.path, '.env')) && !isLink(join(made.path, '.env'))) return left(made.path);
      await rm(made.path, { recursive: true, force: true });
      return [];
    case 'member':
      await runLine(['gpasswd', '--delete', made.user, made.group]);
      return [];
    case 'door':
      await rm(made.path, { force: true });
      return [];
    case 'file':
    case 'unit-file': {
      const there = readText(made.path);
      if (there !== undefined && there !== made.text) return left(made.path);
      await rm(made.path, { force: true });
      await removeEmpty(dirname(made.path));
      if (made.kind === 'unit-file') await runOrThrow(['systemctl', 'daemon-reload']);
      return [];
    }
    case 'instances':
      await runLine(['systemctl', 'disable', '--now', '--quiet', ...made.names]);
      return [];
    case 'modules':
      if (!(await exitsWithZero(['a2dismod', '--quiet', '--force', ...made.names]))) return [];
      if (await exitsWithZero(['apache2ctl', '-t'])) return [];
      await exitsWithZero(['a2enmod', '--quiet', ...made.names]);
      return [`Apache's modules ${made.names.join(', ')} stay: something else now uses them.`];
    case 'site': {
      const remarks = await disconnectSite(made.site);
      if (await exitsWithZero(made.reload)) return remarks;
      return [
        ...remarks,
        `"${made.reload.join(' ')}" failed: until it succeeds, the web server still uses the removed lines.`,
      ];
    }
  }
}

function left(path: string): string[] {
  return existsSync(path) || isLink(path) ? [`${path} was changed after setup made it, so it stays.`] : [];
}

/** Removes a folder that contained only files of setup. */
async function removeEmpty(folder: string): Promise<void> {
  if (/licensing[^/]*$/.test(folder) && existsSync(folder) && readdirSync(folder).length === 0)
    await rmdir(folder);
}
