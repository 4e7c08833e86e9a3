import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDoor } from '../../joomla/door';
import { runOrThrow } from '../../setup/machine';
import { DATA, commandLineOf, runningTree, USER } from './place';
import { planProgram } from './program-step';
import { planServiceUser, planPermissions, planSettings, siteReader } from './settings-step';
import type { PlannedChange, Setup, SetupStep } from './step';
import { planInstances, planUnit } from './unit-step';
import { siteFile, webFiles } from './web-step';

/** Lists the steps of setup. Each finds the changes that are still necessary, so that a second run changes nothing. */

export function setupSteps(setup: Setup): SetupStep[] {
  return [
    { title: 'program', look: () => planProgram() },
    { title: `user ${USER}`, look: () => planServiceUser() },
    { title: 'settings and tables', look: () => planSettings(setup) },
    { title: 'folders and rights', look: () => planPermissions(setup) },
    { title: 'configuration.php', look: () => siteReader(setup) },
    { title: 'unit', look: () => planUnit(setup) },
    { title: 'instances', look: () => planInstances(setup) },
    { title: `files of ${setup.webServer.name}`, look: () => webFiles(setup) },
    { title: "the site's own file", look: () => siteFile(setup) },
    { title: 'the component for Joomla', look: () => door() },
  ];
}

export const DOOR = join(DATA, 'com_licensing.zip');

async function door(): Promise<PlannedChange[]> {
  const { zip } = await makeDoor(runningTree);
  const there = existsSync(DOOR) ? await readFile(DOOR) : undefined;
  if (there?.equals(zip)) return [];
  return [
    {
      words: DOOR,
      make: async () => {
        await runOrThrow(commandLineOf(runningTree, ['joomla-door', '--out', DOOR]));
        return { kind: 'door', path: DOOR };
      },
    },
  ];
}
