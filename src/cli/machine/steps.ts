import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDoor } from '../../joomla/door';
import { runWell } from '../../setup/machine';
import { DATA, lineIn, ownTree, USER } from './place';
import { program } from './program-step';
import { account, rights, settings, siteReader } from './settings-step';
import type { Change, Setup, Step } from './step';
import { instances, unit } from './unit-step';
import { siteFile, webFiles } from './web-step';

/** Lists the steps of setup. Each finds the changes that are still necessary, so that a second run changes nothing. */

export function stepsOf(setup: Setup): Step[] {
  return [
    { title: 'program', look: () => program() },
    { title: `user ${USER}`, look: () => account() },
    { title: 'settings and tables', look: () => settings(setup) },
    { title: 'folders and rights', look: () => rights(setup) },
    { title: 'configuration.php', look: () => siteReader(setup) },
    { title: 'unit', look: () => unit(setup) },
    { title: 'instances', look: () => instances(setup) },
    { title: `files of ${setup.webServer.name}`, look: () => webFiles(setup) },
    { title: "the site's own file", look: () => siteFile(setup) },
    { title: 'the component for Joomla', look: () => door() },
  ];
}

export const DOOR = join(DATA, 'com_licensing.zip');

async function door(): Promise<Change[]> {
  const { zip } = await makeDoor(ownTree);
  const there = existsSync(DOOR) ? await readFile(DOOR) : undefined;
  if (there?.equals(zip)) return [];
  return [
    {
      words: DOOR,
      make: async () => {
        await runWell(lineIn(ownTree, ['joomla-door', '--out', DOOR]));
        return { kind: 'door', path: DOOR };
      },
    },
  ];
}
