import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { OperatorError } from '../../licensing/operator-error';
import { giveRights, idOf, ownerIds, readText, writeText } from '../../setup/files';
import {
  removeFromJournal,
  appendToJournal,
  SETUP_STATE_DIR,
  lastWrittenText,
  type JournalEntry,
} from '../../setup/journal';
import { lastLines, runLine, runOrThrow } from '../../setup/machine';
import { connectSite, describeEdits, requireValidConfig } from '../../setup/web-server';
import { apacheFile } from '../apache-file';
import { nginxFiles } from '../nginx';
import { NGINX_FILES, NGINX_LOG } from './place';
import { configOf, currentSettingsFile } from './settings-step';
import { WORLD_READABLE, type PlannedChange, type Setup } from './step';
import { wantedInstances } from './unit-step';
import type { WebServer } from './web-servers';

/** A step of setup: the web server's files for the service, and the site's own file that includes them. */

export async function webFiles(setup: Setup): Promise<PlannedChange[]> {
  const { webServer, url, output } = setup;
  const { count } = await wantedInstances(setup);
  const config = configOf(setup);
  const files =
    webServer.kind === 'nginx'
      ? (
          await nginxFiles(
            existsSync(currentSettingsFile(setup)) ? config : { ...config, formerly: [] },
            { serverName: url.hostname, folder: NGINX_FILES, instances: count, formerly: undefined },
            output,
          )
        ).map(({ name, text }) => ({ path: join(NGINX_FILES, name), text }))
      : [{ path: webServer.file, text: await apacheFile(config, count) }];
  const changes = files.flatMap(({ path, text }): PlannedChange[] => {
    const there = readText(path);
    if (there === text) return [];
    if (there !== undefined && there !== lastWrittenText(path)) {
      if (readText(`${path}.new`) === text) return [];
      return [
        {
          words: `${path} was changed by hand and stays; the new file is ${path}.new`,
          make: async () => {
            await writeText(`${path}.new`, text, WORLD_READABLE);
            return undefined;
          },
        },
      ];
    }
    return [
      {
        words: path,
        make: async () => {
          await mkdir(dirname(path), { recursive: true, mode: 0o755 });
          await writeText(path, text, WORLD_READABLE);
          return { kind: 'file', path, text };
        },
      },
    ];
  });
  // Replace only files that setup wrote, because files that were changed by hand remain unchanged.
  const before = files.flatMap(({ path }) => {
    const text = readText(path);
    return text === undefined || text !== lastWrittenText(path) ? [] : [{ path, text }];
  });
  const replaced = before.length > 0 && changes.length > 0;
  return [
    ...modules(webServer),
    ...accessLog(webServer),
    ...changes,
    ...(replaced ? [reload(webServer, before)] : []),
  ];
}

/** Reloads the web server. @param before the earlier files, to restore if it refuses the new ones */
function reload(webServer: WebServer, before: { path: string; text: string }[]): PlannedChange {
  return {
    words: `${webServer.name} tests its files, and reloads them`,
    make: async () => {
      const { code, stderr } = await runLine(webServer.test);
      if (code !== 0) {
        for (const { path, text } of before) {
          await writeText(path, text, WORLD_READABLE);
          await appendToJournal({ kind: 'file', path, text });
        }
        throw new OperatorError(
          `"${webServer.test.join(' ')}" refused the new files, so the former files were restored:\n${lastLines(stderr)}`,
        );
      }
      await runOrThrow(webServer.reload);
      return undefined;
    },
  };
}

function modules({ modules: { missing, enable }, name }: WebServer): PlannedChange[] {
  if (missing.length === 0) return [];
  if (enable === undefined)
    throw new OperatorError(
      `${name} lacks modules that the service needs: ${missing.join(', ')}. Enable them, and run this again.`,
    );
  return [
    {
      words: `modules of Apache: ${missing.join(', ')}`,
      make: async () => {
        await runOrThrow([enable, '--quiet', ...missing]);
        return { kind: 'modules', names: missing };
      },
    },
  ];
}

/** Creates the access log before nginx does, which would let every user of the machine read it. */
function accessLog({ kind, user }: WebServer): PlannedChange[] {
  if (kind !== 'nginx' || existsSync(NGINX_LOG)) return [];
  return [
    {
      words: `${NGINX_LOG}, which nginx and the group adm may read`,
      make: async () => {
        const group = idOf('adm', '/etc/group') === undefined ? 'root' : 'adm';
        await writeFile(NGINX_LOG, '', { mode: 0o640, flag: 'ax' });
        await giveRights(NGINX_LOG, { mode: 0o640, owner: ownerIds(user, group) });
        return undefined;
      },
    },
  ];
}

export async function siteFile(setup: Setup): Promise<PlannedChange[]> {
  const { webServer } = setup;
  const edits = await webServer.plan();
  setup.byHand = edits.byHand;
  const words = describeEdits(edits);
  if (words.length === 0) return [];
  await requireValidConfig(webServer.test);
  return [
    {
      words: `${words.join('\n')}\n(a copy of the old file is kept in ${SETUP_STATE_DIR}/copies; ${webServer.name} tests the new one, and reloads it)`,
      make: async () => {
        let made: JournalEntry | undefined;
        try {
          await connectSite(edits, webServer.test, join(SETUP_STATE_DIR, 'copies'), (site) =>
            appendToJournal((made = { kind: 'site', site, reload: webServer.reload })),
          );
        } catch (error) {
          // The files have their earlier content again.
          if (made !== undefined) await removeFromJournal(made);
          throw error;
        }
        await runOrThrow(webServer.reload);
        return undefined;
      },
    },
  ];
}
