import { existsSync } from 'node:fs';
import type { Config } from '../settings/config';
import { findInstances } from '../process/instances';
import { listProducts } from '../store/catalogue';
import { tablePrefix, type DatabaseSettings } from '../store/engine/database';
import { describePrefixes, findOtherPrefixes, readSchemaState } from '../store/engine/migrate';
import {
  describeMissing,
  grantStatement,
  MIGRATION_PRIVILEGES,
  REQUEST_PRIVILEGES,
  tryPrivileges,
  type Privilege,
} from '../store/engine/privileges';
import {
  findMissingTables,
  readServerState,
  readTables,
  readTableSizes,
  parseServerVersion,
  type ServerState,
  SUPPORTED_SERVERS,
  tryTableRights,
} from '../store/engine/server';
import { companionFiles } from '../store/engine/sqlite';
import { countProcesses } from '../store/leases';
import { describeDatabase, explainDatabaseError } from '../store/engine/error-messages';
import { ok, problem, warning, type Check, type CommandCheck, type CheckFinding } from './finding';
import { checkReaders } from './file-readers';

const CLOCK_TOLERANCE_S = 30;
/** The number of connections left for the operator's commands. */
const CONNECTIONS_BESIDE = 4;

/** Checks that the database answers, is supported, and has room for the service's connections. */
export const checkServer: Check = async ({ config, db, now }) => {
  let server: ServerState | undefined;
  try {
    server = await readServerState(db);
  } catch (error) {
    const { reason, remedy } = explainDatabaseError(error, config.database, config.databaseSource);
    return [
      problem('DATABASE_UNREACHABLE', (t) =>
        t.databaseUnreachable(describeDatabase(config.database, t.as, t.at), reason, remedy),
      ),
    ];
  }
  if (server === undefined)
    return [
      ...(await checkFile(config.database)),
      warning('DATABASE_SQLITE', (t) => t.databaseSqlite(describeDatabase(config.database))),
    ];
  return [
    ok('DATABASE', (t) => t.databaseAnswers(describeDatabase(config.database, t.as, t.at))),
    checkVersion(server),
    checkConnections(server, config, await countProcesses(db, now()).catch(() => 0)),
    checkClock(server, now()),
    ...(server.overridden.length === 0
      ? []
      : [ok('DATABASE_SESSION', (t) => t.databaseSession(server.overridden.join(', ')))]),
  ];
};

/** Checks access to SQLite's files, including the write-ahead log with the latest changes. */
async function checkFile(database: DatabaseSettings): Promise<CheckFinding[]> {
  if (database.kind !== 'sqlite') return [];
  const files = [database.path, ...companionFiles(database.path)].filter(existsSync);
  return [await checkReaders('DATABASE_FILE', files, (t) => t.databaseFileHolds)];
}

export const checkSchema: Check = async ({ db }) => {
  const { pending, completed, other, newer } = await readSchemaState(db);
  if (other !== undefined) return [problem('SCHEMA_OTHER', (t) => t.schemaOther(other))];
  if (newer.length > 0) return [problem('SCHEMA_NEWER', (t) => t.schemaNewer(newer.join(', ')))];
  const missing = pending.length === 0 ? await findMissingTables(db) : [];
  if (missing.length > 0) return [problem('TABLES_MISSING', (t) => t.tablesMissing(missing.join(', ')))];
  const others =
    completed.length === 0 || (pending.length === 0 && (await listProducts(db)).length === 0)
      ? await findOtherPrefixes(db)
      : [];
  if (others.length > 0) return [otherPrefix(tablePrefix(db), completed.length > 0, others)];
  if (pending.length > 0) return [problem('SCHEMA_OLD', (t) => t.schemaOld(pending.join(', ')))];
  return [ok('SCHEMA', (t) => t.schemaFits)];
};

function otherPrefix(own: string, hasTables: boolean, others: string[]): CheckFinding {
  const ours = describePrefixes([own]);
  return problem('OTHER_PREFIX', (t) =>
    t.otherPrefix(hasTables, ours, describePrefixes(others, t.or), others),
  );
}

/** Checks the privileges for requests apart from those for upgrades, which some sites grant to another user. */
export const checkPrivileges: CommandCheck = async ({ config, db }) => {
  const { database } = config;
  const grant = (privileges: readonly Privilege[]) =>
    database.kind === 'mysql'
      ? `As the database's administrator: ${grantStatement(privileges, database)}`
      : `Give the user that runs the service write access to ${database.path} and its folder.`;
  const rights = await tryTableRights(db);
  const upgrade = (await tryPrivileges(db))
    .filter(({ privilege }) => (MIGRATION_PRIVILEGES as readonly Privilege[]).includes(privilege))
    .map(describeMissing);
  if (rights.length + upgrade.length === 0)
    return [ok('PRIVILEGES', 'The database user has all privileges that requests and upgrades need.')];
  return [
    rights.length === 0
      ? ok('PRIVILEGES', 'The database user has all privileges that requests need.')
      : problem('PRIVILEGES', `The database user lacks privileges for requests: ${rights.join(', ')}.`, {
          why: 'Requests fail, or do not record everything.',
          remedy: grant(REQUEST_PRIVILEGES),
        }),
    ...(upgrade.length === 0
      ? []
      : [
          warning(
            'PRIVILEGES_UPGRADE',
            `The database user lacks privileges for upgrades: ${upgrade.join('; ')}.`,
            {
              why: '"licensing migrate" fails at the next upgrade. Requests do not need it.',
              remedy: `For the upgrade: ${grant(MIGRATION_PRIVILEGES)}`,
            },
          ),
        ]),
  ];
};

export const checkTables: Check = async ({ config, db }) => {
  if (config.database.kind === 'sqlite') return [];
  const { foreign, wrongEngine } = await readTables(db);
  const findings: CheckFinding[] = [];
  if (wrongEngine.length > 0)
    findings.push(
      problem('TABLE_ENGINE', (t) =>
        t.tableEngine(
          wrongEngine.join(', '),
          wrongEngine.map((name) => `ALTER TABLE ${name} ENGINE=InnoDB;`).join(' '),
        ),
      ),
    );
  if (foreign > 0)
    findings.push(warning('SHARED_DATABASE', (t) => t.sharedDatabase(foreign, tablePrefix(db))));
  return findings;
};

/** Reports the tables' sizes, so that an access log larger than documented is noticed. */
export const checkSizes: Check = async ({ db }) => {
  const sizes = await readTableSizes(db);
  return [ok('SIZES', (t) => t.sizes(sizes))];
};

function checkVersion({ version }: ServerState): CheckFinding {
  const { name, isSupported } = parseServerVersion(version);
  return isSupported
    ? ok('DATABASE_VERSION', (t) => t.databaseVersion(name))
    : problem('DATABASE_VERSION', (t) => t.databaseTooOld(name, SUPPORTED_SERVERS));
}

function checkConnections(
  { maxConnections, maxUserConnections }: ServerState,
  { databaseConnections }: Config,
  processes: number,
): CheckFinding {
  const instances = Math.max(1, findInstances().length, processes);
  const fits = 2 * instances * databaseConnections;
  if (maxUserConnections > 0 && maxUserConnections < fits) {
    const share = Math.max(instances, Math.floor(maxUserConnections / 2));
    const level = maxUserConnections < 2 * instances ? problem : warning;
    return level('CONNECTIONS', (t) => t.connectionsShared(instances, fits, maxUserConnections, share));
  }
  const needed = instances * databaseConnections + CONNECTIONS_BESIDE;
  const facts = { instances, needed, allowed: maxConnections, setting: 'max_connections' };
  if (needed > maxConnections) return problem('CONNECTIONS', (t) => t.connectionsMissing(facts));
  if (2 * needed > maxConnections) return warning('CONNECTIONS', (t) => t.connectionsScarce(facts));
  return ok('CONNECTIONS', (t) => t.connections(facts));
}

function checkClock({ now: theirs }: ServerState, ours: Date): CheckFinding {
  const seconds = Math.round((theirs.getTime() - ours.getTime()) / 1000);
  return Math.abs(seconds) > CLOCK_TOLERANCE_S
    ? warning('CLOCK', (t) => t.clocksDiffer(seconds, theirs.toISOString(), ours.toISOString()))
    : ok('CLOCK', (t) => t.clocksAgree(CLOCK_TOLERANCE_S));
}
