import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, jest, test } from '@jest/globals';
import Router from '@koa/router';
import { Command } from 'commander';
import { selectCommands } from '../../src/cli/commands';
import { WEBHOOK_TYPES } from '../../src/licensing/webhook-events';
import { OPERATION_GROUPS } from '../../src/operations/operations';
import { VARIABLES } from '../../src/settings/names';
import { PREFIX, startTestService, type TestService } from '../support/service';

/** Compares docs/internals/inventory.json with the program. docs/internals/add.md explains its lines. */

const ROOT = join(__dirname, '../..');
const FILE = 'docs/internals/inventory.json';

test('the inventory has the program’s number of each thing', async () => {
  const inventory = readJson(FILE) as Record<string, string[]>;
  const program = await counts();
  expect(Object.keys(inventory)).toEqual(Object.keys(program));
  const faults = Object.entries(program).flatMap(([name, count]) => {
    const lines = inventory[name] as string[];
    const more = count - lines.reduce((sum, line) => sum + figureOf(name, line), 0);
    if (more === 0) return [];
    const remedy =
      more > 0
        ? `Append the line "+${more} REASON" to "${name}"`
        : `Lower the figures of "${name}" by ${-more}, or delete a line`;
    return [`${name}: the program has ${count}, ${FILE} ${count - more}. ${remedy}.`];
  });
  expect(faults).toEqual([]);
});

/** @throws Error if a line has no figure, or no reason */
function figureOf(name: string, line: string): number {
  const [, figure] = /^\+?(\d+) \S+ \S+/.exec(line) ?? [];
  if (figure === undefined)
    throw new Error(`A line of "${name}" in ${FILE} is not a figure and its reason: ${line}`);
  return Number(figure);
}

async function counts(): Promise<Record<string, number>> {
  const { dependencies, devDependencies } = readJson('package.json') as Record<string, object>;
  const folders = readdirSync(join(ROOT, 'src'), { withFileTypes: true }).filter((one) => one.isDirectory());
  const program = new Command();
  for (const load of selectCommands([])) (await load())(program, () => Promise.reject(new Error('not run')));
  const routers = jest.spyOn(Router.prototype, 'routes');
  const service = await startTestService();
  try {
    // The first request for an operator's address adds all of them.
    await fetch(`${service.url}${PREFIX}/openapi.json`);
    const addresses = (routers.mock.contexts as Router[]).flatMap(addressesOf);
    const isPage = (address: string) => address.startsWith(`${PREFIX}/pages`);
    return {
      operations: Object.values(OPERATION_GROUPS).flatMap(Object.keys).length,
      commands: commandsOf(program).length,
      routes: addresses.filter((address) => !isPage(address)).length,
      pages: addresses.filter(isPage).length,
      ...(await countTables(service)),
      settings: VARIABLES.length,
      'webhook types': WEBHOOK_TYPES.length,
      'folders of src': folders.length,
      clones: countClones(),
      dependencies: Object.keys(dependencies as object).length,
      devDependencies: Object.keys(devDependencies as object).length,
    };
  } finally {
    routers.mockRestore();
    await service.stop();
  }
}

/** Lists the addresses of a router, without the guides' site, which only `npm run docs` makes. */
function addressesOf(router: Router): string[] {
  return router.stack
    .filter(({ methods }) => methods.length > 0)
    .map(({ path }) => String(path))
    .filter((path) => !path.startsWith(`${PREFIX}/pages/guide/`));
}

/** Lists the commands, but not groups of commands. */
function commandsOf(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(commandsOf);
}

/** Counts the tables of a migrated database, and their columns. */
async function countTables({ db }: TestService): Promise<{ tables: number; columns: number }> {
  const [counted] = (await db.raw(`
    SELECT count(DISTINCT t.name) AS tables, count(*) AS columns
    FROM sqlite_master t, pragma_table_info(t.name)
    WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%' AND t.name NOT LIKE '%migrations%'`)) as [
    { tables: number; columns: number },
  ];
  return counted;
}

/** Counts all clones in src, including the baseline. */
function countClones(): number {
  const { stdout } = spawnSync(join(ROOT, 'node_modules/.bin/jscpd'), ['--reporters', 'silent'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return Number(/Found (\d+)/.exec(stdout)?.[1]);
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(join(ROOT, path), 'utf8'));
}
