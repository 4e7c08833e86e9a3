import { existsSync, readlinkSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { OperatorError } from '../../licensing/operator-error';
import { appendToJournal } from '../../setup/journal';
import {
  COMMAND,
  commandIn,
  hasOwnNode,
  CURRENT,
  runningTree,
  packagedUnit,
  packageOwning,
  SETTINGS,
  currentTree,
  versionOfTree,
} from './place';
import type { PlannedChange } from './step';
import { copyTree, newTreePath, isForAll, isLink, replaceLink } from './trees';

/** A step of setup: the program's folder, the link to it, and the command. */

export async function planProgram(): Promise<PlannedChange[]> {
  const there = currentTree();
  const changes: PlannedChange[] = [];
  if (there !== runningTree) {
    // A package that was removed leaves its settings behind.
    if (there !== undefined && versionOfTree(there) === undefined)
      throw new OperatorError(
        `${CURRENT} already exists, but does not contain the program. Keep its settings (.env), and move the folder away: mv ${CURRENT}/.env ${SETTINGS}; rmdir ${CURRENT}`,
      );
    if (there !== undefined)
      throw new OperatorError(
        `${CURRENT} already exists, and links to version ${versionOfTree(there) ?? 'unknown'} in ${there}. This is version ${versionOfTree(runningTree) ?? ''} in ${runningTree}. ` +
          `To change the version: ${commandIn(runningTree)} upgrade ${runningTree}`,
      );
    const tree = isForAll(runningTree) ? runningTree : newTreePath(versionOfTree(runningTree) ?? 'new');
    if (tree !== runningTree)
      changes.push({
        words: `copy ${runningTree}, which the service's user may not read, to ${tree}`,
        make: async () => {
          // Record the tree before copying, because the copy takes a while.
          await appendToJournal({ kind: 'tree', path: tree });
          await copyTree(runningTree, tree);
          return undefined;
        },
      });
    changes.push(...settingsOutside(tree, packagedUnit() === undefined), link(CURRENT, tree));
  } else changes.push(...settingsOutside(CURRENT, false));
  requireNode();
  const command = join(CURRENT, relative(runningTree, commandIn(runningTree)));
  const isPackaged = await packageOwning(runningTree);
  if (isPackaged === undefined && !(isLink(COMMAND) && readlinkSync(COMMAND) === command)) {
    if (existsSync(COMMAND) && !isLink(COMMAND))
      throw new OperatorError(`${COMMAND} already exists, and is not this program. Move it away.`);
    changes.push(link(COMMAND, command));
  }
  return changes;
}

/**
 * Returns the changes that move the settings outside of a version's tree, which the next version replaces.
 * @param isTree false: only for settings that exist already, such as those of an archive before the package
 */
function settingsOutside(tree: string, isTree: boolean): PlannedChange[] {
  const path = join(tree, '.env');
  if (existsSync(path) || !(isTree || existsSync(SETTINGS))) return [];
  return [
    {
      words: `the link ${path}, to ${SETTINGS}, which every version uses`,
      make: async () => {
        await writeFile(SETTINGS, '', { mode: 0o600, flag: 'a' });
        await replaceLink(path, SETTINGS);
        return undefined;
      },
    },
  ];
}

/** Requires the machine's Node, which runs a checkout, at a path that the service's user can reach. */
function requireNode(): void {
  if (hasOwnNode(runningTree) || isForAll(process.execPath)) return;
  throw new OperatorError(
    `Node is in ${process.execPath}, which the service's user may not read. Install Node for all users, such as /usr/bin/node (https://nodejs.org/en/download).`,
  );
}

function link(path: string, to: string): PlannedChange {
  const before = isLink(path) ? readlinkSync(path) : null;
  return {
    words: `the link ${path}, to ${to}`,
    make: async () => {
      await replaceLink(path, to);
      return { kind: 'link', path, to, before };
    },
  };
}
