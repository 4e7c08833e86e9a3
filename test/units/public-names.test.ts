import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { Command } from 'commander';
import { typesFor } from '../../migrations/tables';
import { schema } from '../../migrations/schema';
import { selectCommands } from '../../src/cli/commands';
import { myRoutes } from '../../src/http/pages/my/routes';
import { signInRoutes } from '../../src/http/pages/sign-in/routes';
import { API_PATH } from '../../src/licensing/api';
import { WEBHOOK_TYPES } from '../../src/licensing/webhook-events';
import { PLACEHOLDERS } from '../../src/mail/texts';
import { VARIABLES } from '../../src/settings/names';
import { EDITABLE } from '../../src/settings/names';
import { FORMAT, FORMAT_VERSION, RECORDS } from '../../src/transfer/records';

/**
 * Compares docs/internals/public-names.md with the program. Sellers, scripts and earlier versions use these names, so a
 * changed list needs a decision. TEST_PUBLIC_NAMES=write writes the page's lists.
 */

const ROOT = join(__dirname, '../..');
const PAGE = 'docs/internals/public-names.md';
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const all = (path: string, pattern: RegExp) => [...read(path).matchAll(pattern)].map(([, name]) => name!);

/** The files that installed units, panels, web servers and earlier upgrades name. */
const FILES = `bin/licensing bin/licensing-service deploy/restart-in-turns deploy/licensing@.service
  deploy/grafana-dashboard.json deploy/hosting/app.js deploy/container/compose.yaml deploy/container/Containerfile
  deploy/cluster/galera.cnf deploy/cluster/nginx.conf deploy/cluster/redis-cluster.conf
  dist/src/cli.js dist/src/demo.js dist/src/hosting.js dist/src/main.js`.split(/\s+/);

test('the page has every public name of the program, and no other', async () => {
  const program = await publicNames();
  let page = read(PAGE);
  if (process.env.TEST_PUBLIC_NAMES === 'write') {
    for (const [title, names] of Object.entries(program))
      page = page.replace(listOf(title), (_all, head: string) => `${head}${names.join('\n')}\n\`\`\``);
    writeFileSync(join(ROOT, PAGE), page);
  }
  const written = Object.fromEntries(
    Object.keys(program).map((title) => [
      title,
      listOf(title).exec(page)?.[2]?.split('\n').filter(Boolean) ?? [],
    ]),
  );
  expect(written).toEqual(program);
  expect([...page.matchAll(/^## (.+)$/gm)].map(([, title]) => title)).toEqual(Object.keys(program));
});

/** Lists the tables that migrations after the first one create. */
const tablesOfMigrations = () =>
  readdirSync(join(ROOT, 'migrations'))
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => all(`migrations/${name}`, /createTable\(knex, '(\w+)'/g));

const listOf = (title: string) => new RegExp(`(## ${title}\\n[^]*?\`\`\`text\\n)([^]*?)\`\`\``);

async function publicNames(): Promise<Record<string, string[]>> {
  const { paths } = JSON.parse(read('docs/openapi.json')) as { paths: Record<string, object> };
  const tables = Object.keys(schema(typesFor(true)));
  const names: Record<string, string[]> = {
    'Calls of the API': Object.entries(paths).flatMap(([path, calls]) =>
      Object.keys(calls)
        .filter((method) => method !== 'parameters')
        .map((method) => `${method.toUpperCase()} ${API_PATH}${path}`),
    ),
    'Pages that mails, links and customers name': [
      ...signInRoutes,
      ...myRoutes.open,
      ...myRoutes.signedIn,
    ].map(({ path }) => `${API_PATH}/pages${path}`),
    Commands: commandsOf(await loadProgram()).map(describeCommand),
    'Variables of the settings': [...VARIABLES],
    'Settings without a restart': Object.keys(EDITABLE),
    'Types of webhooks': [...WEBHOOK_TYPES],
    "Error codes of the customers' API": all('src/http/answers.ts', /^ {2}([A-Z_]+): \d+,/gm),
    "Error codes of the operator's API": all('src/operations/kit/failures.ts', /^ {2}([A-Z_]+): \d+,/gm),
    'Error codes of the command': all('docs/commands.md', /^- `([A-Z_]+)`:/gm),
    'Headers of requests and answers': [
      'X-Licensing-Bucket',
      'X-Licensing-Site',
      'X-Licensing-Ticket',
      'X-Licensing-Version',
      'X-Request-Id',
      'Idempotency-Key',
    ],
    Metrics: [...new Set(all('src/http/metrics.ts', /'(licensing_[a-z_]+)'/g))],
    Tables: [...tables, ...tablesOfMigrations()].map((name) => `<prefix>licensing_${name}`),
    'Records of the export': [
      `${FORMAT}, version ${FORMAT_VERSION}`,
      ...Object.entries(RECORDS).map(([type, { fields }]) => `${type}: ${Object.keys(fields).join(' ')}`),
    ],
    'Texts of mails and their words': Object.entries(PLACEHOLDERS).map(([name, words]) =>
      `${name}: ${words.join(' ')}`.replace(/ $/, ''),
    ),
    "Files and entries of root's journal": [
      '/etc/licensing-gateway.env',
      '/var/lib/licensing-gateway/setup.json',
      '/var/lib/licensing-gateway/upgrade.json',
      '/var/lib/licensing-gateway/backups',
      ...all('src/setup/journal.ts', /\{ kind: '([a-z-]+)'/g),
    ],
    'Methods of the PHP client': all('php/client/Client.php', /^ {4}public function (?!__)(\w+)/gm),
    'Files of a release': FILES,
  };
  for (const [title, list] of Object.entries(names)) expect([title, list.length]).not.toEqual([title, 0]);
  return Object.fromEntries(Object.entries(names).map(([title, list]) => [title, [...list].sort()]));
}

test('the files of a release exist, or their sources', () => {
  const sources = FILES.map((path) => path.replace(/^dist\/(.*)\.js$/, '$1.ts'));
  expect(sources.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

async function loadProgram(): Promise<Command> {
  const program = new Command('licensing');
  for (const load of selectCommands([])) (await load())(program, () => Promise.reject(new Error('not run')));
  return program;
}

function commandsOf(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(commandsOf);
}

/** Writes a command with its arguments and long options, such as `licensing plan remove <id>`. */
function describeCommand(command: Command): string {
  const path: string[] = [];
  for (let one: Command | null = command; one !== null; one = one.parent)
    path.unshift([one.name(), ...one.aliases()].join('|'));
  const args = command.registeredArguments.map((one) =>
    one.required ? `<${one.name()}>` : `[${one.name()}]`,
  );
  const options = command.options.filter(({ hidden }) => !hidden).map(({ long }) => long!);
  return [...path, ...args, ...options.sort()].join(' ');
}
