import { existsSync } from 'node:fs';
import type { Config } from '../config';
import { quantity } from '../licensing/quantity';
import { findInstances } from '../process/instances';
import { listProducts } from '../store/catalogue';
import { tablePrefix, type DatabaseSettings } from '../store/database';
import { describePrefixes, findOtherPrefixes, readSchemaState, settingsForPrefixes } from '../store/migrate';
import {
  describeMissing,
  grantStatement,
  MIGRATION_PRIVILEGES,
  REQUEST_PRIVILEGES,
  tryPrivileges,
  type Privilege,
} from '../store/privileges';
import {
  findMissingTables,
  readServerState,
  readTables,
  readTableSizes,
  readVersion,
  type ServerState,
  SUPPORTED_SERVERS,
  SUPPORTED_SERVERS_IN_GERMAN,
  tryTableRights,
} from '../store/server';
import { sideFiles } from '../store/sqlite';
import { describeDatabase, explainDatabaseError } from '../store/error-messages';
import { ok, problem, warning, type Check, type CommandCheck, type Finding } from './finding';
import { checkReaders } from './file-readers';

const CLOCK_TOLERANCE_S = 30;
/** Connections left for the operator's commands. */
const CONNECTIONS_BESIDE = 4;

/** Checks that the database answers, is supported, and has room for the service's connections. */
export const checkServer: Check = async ({ config, db, now }) => {
  let server: ServerState | undefined;
  try {
    server = await readServerState(db);
  } catch (error) {
    const { reason, remedy } = explainDatabaseError(error, config.database, config.databaseSource);
    return [
      problem(
        'DATABASE_UNREACHABLE',
        `The database (${describeDatabase(config.database)}) cannot be used: ${reason}.`,
        { why: 'Without it every request is answered 503.', remedy },
        {
          what: `Die Datenbank (${describeDatabase(config.database, 'als', 'auf')}) ist nicht benutzbar.`,
          said: `${reason}. ${remedy}`,
          why: 'Ohne sie wird jede Anfrage mit 503 beantwortet.',
          remedy: 'licensing doctor',
        },
      ),
    ];
  }
  if (server === undefined)
    return [
      ...(await checkFile(config.database)),
      warning(
        'DATABASE_SQLITE',
        `The database is ${describeDatabase(config.database)}.`,
        {
          why: 'It serves one process, and nothing but a copy of its file backs it up.',
          remedy:
            'For a shop in earnest: LICENSING_DATABASE_URL=mysql://...; "licensing export" and "import" move the data.',
        },
        {
          what: `Die Datenbank ist ${describeDatabase(config.database)}.`,
          why: 'Sie bedient nur einen Prozess, und nur eine Kopie ihrer Datei sichert sie.',
          remedy:
            'Für einen echten Shop: LICENSING_DATABASE_URL=mysql://...; „licensing export“ und „import“ übertragen die Daten.',
        },
      ),
    ];
  return [
    ok(
      'DATABASE',
      `The database answers: ${describeDatabase(config.database)}.`,
      `Die Datenbank antwortet: ${describeDatabase(config.database, 'als', 'auf')}.`,
    ),
    checkVersion(server),
    checkConnections(server, config),
    checkClock(server, now()),
    ...(server.overridden.length === 0
      ? []
      : [
          ok(
            'DATABASE_SESSION',
            `The server's own settings are ${server.overridden.join(', ')}; this program sets what it needs on each of its connections.`,
            `Der Server hat eigene Einstellungen: ${server.overridden.join(', ')}. Dieses Programm setzt auf jeder Verbindung, was es braucht.`,
          ),
        ]),
  ];
};

/** SQLite's files include the write-ahead log, which holds the latest changes. */
async function checkFile(database: DatabaseSettings): Promise<Finding[]> {
  if (database.kind !== 'sqlite') return [];
  const files = [database.path, ...sideFiles(database.path)].filter(existsSync);
  const why = {
    english: "It holds customers' addresses, orders and sites, and the sealed licence keys.",
    german:
      'Darin stehen Adressen, Bestellungen und Websites der Kunden und die versiegelten Lizenzschlüssel.',
  };
  return [await checkReaders('DATABASE_FILE', files, why)];
}

export const checkSchema: Check = async ({ db }) => {
  const { pending, completed, other, newer } = await readSchemaState(db);
  if (other !== undefined)
    return [
      problem(
        'SCHEMA_OTHER',
        `The tables are those of another version before 1.0.0 (${other}).`,
        {
          why: 'This version neither starts on them nor can change them.',
          remedy:
            'Export with the version that made them, and import here into a new database (docs/upgrade.md, "Tables of another version").',
        },
        {
          what: `Die Tabellen sind die einer anderen Version vor 1.0.0 (${other}).`,
          why: 'Diese Version startet damit nicht und kann sie nicht ändern.',
          remedy:
            'Exportieren Sie mit der Version, die sie angelegt hat, und importieren Sie hier in eine neue Datenbank (docs/upgrade.md, „Tables of another version“).',
        },
      ),
    ];
  if (newer.length > 0)
    return [
      problem(
        'SCHEMA_NEWER',
        `The tables were made by a newer version of this program (${newer.join(', ')}).`,
        {
          why: 'This version does not start on them.',
          remedy: 'Install that version again, or restore the backup made before the upgrade.',
        },
        {
          what: `Die Tabellen stammen von einer neueren Version dieses Programms (${newer.join(', ')}).`,
          why: 'Diese Version startet damit nicht.',
          remedy:
            'Installieren Sie jene Version wieder, oder spielen Sie die Sicherung von vor dem Upgrade zurück.',
        },
      ),
    ];
  const missing = pending.length === 0 ? await findMissingTables(db) : [];
  if (missing.length > 0)
    return [
      problem(
        'TABLES_MISSING',
        `There is no table ${missing.join(', ')}.`,
        {
          why: 'Whatever needs it fails.',
          remedy: 'Restore it from a backup (docs/backup.md).',
        },
        {
          what: `Diese Tabellen fehlen: ${missing.join(', ')}.`,
          why: 'Alles, was sie braucht, scheitert.',
          remedy: 'Stellen Sie sie aus einer Sicherung wieder her (docs/backup.md).',
        },
      ),
    ];
  const others =
    completed.length === 0 || (pending.length === 0 && (await listProducts(db)).length === 0)
      ? await findOtherPrefixes(db)
      : [];
  if (others.length > 0) return [otherPrefix(tablePrefix(db), completed.length > 0, others)];
  if (pending.length > 0)
    return [
      problem(
        'SCHEMA_OLD',
        `The tables are not those of this version (missing: ${pending.join(', ')}).`,
        {
          why: 'The service does not start on them.',
          remedy: 'licensing migrate',
        },
        {
          what: `Die Tabellen sind nicht die dieser Version (es fehlen: ${pending.join(', ')}).`,
          why: 'Der Dienst startet damit nicht.',
        },
      ),
    ];
  return [ok('SCHEMA', 'The tables are those of this version.', 'Die Tabellen sind die dieser Version.')];
};

function otherPrefix(own: string, hasTables: boolean, others: string[]): Finding {
  const ours = describePrefixes([own]);
  return problem(
    'OTHER_PREFIX',
    `${hasTables ? `The tables named ${ours} are empty` : `There are no tables named ${ours}`}, and there are ${describePrefixes(others)} in the same database.`,
    {
      why: 'If those are the ones with the licences, every key is unknown to this service.',
      remedy: `${settingsForPrefixes(others)} in .env, then start again. Or, for a new shop beside the other: ${hasTables ? 'licensing product add' : 'a LICENSING_TABLE_PREFIX of its own, and licensing migrate'}.`,
    },
    {
      what: `${hasTables ? `Die Tabellen ${ours} sind leer` : `Es gibt keine Tabellen ${ours}`}, und in derselben Datenbank gibt es ${describePrefixes(others, 'oder')}.`,
      why: 'Wenn dort die Lizenzen stehen, ist diesem Dienst jeder Schlüssel unbekannt.',
      remedy: `Setzen Sie in .env ${others.map((prefix) => (prefix === '' ? 'LICENSING_DATABASE_URL, ohne LICENSING_TABLE_PREFIX und LICENSING_JOOMLA_ROOT' : `LICENSING_TABLE_PREFIX=${prefix}`)).join(' oder ')}, und starten Sie neu. Oder, für einen neuen Shop neben dem anderen: ${hasTables ? 'licensing product add' : 'ein eigenes LICENSING_TABLE_PREFIX und licensing migrate'}.`,
    },
  );
}

/** Checks the rights that requests need separately from those of upgrades, which some sites give to another user. */
export const checkPrivileges: CommandCheck = async ({ config, db }) => {
  const { database } = config;
  const grant = (privileges: readonly Privilege[]) =>
    database.kind === 'mysql'
      ? `As the database's administrator: ${grantStatement(privileges, database)}`
      : `Let the user the service runs as write to ${database.path} and its folder.`;
  const rights = await tryTableRights(db);
  const upgrade = (await tryPrivileges(db))
    .filter(({ privilege }) => (MIGRATION_PRIVILEGES as readonly Privilege[]).includes(privilege))
    .map(describeMissing);
  if (rights.length + upgrade.length === 0)
    return [ok('PRIVILEGES', 'The database user may do all that requests and upgrades need.')];
  return [
    rights.length === 0
      ? ok('PRIVILEGES', 'The database user may do all that requests need.')
      : problem('PRIVILEGES', `The database user may not: ${rights.join(', ')}.`, {
          why: 'Requests fail, or leave out what they should record.',
          remedy: grant(REQUEST_PRIVILEGES),
        }),
    ...(upgrade.length === 0
      ? []
      : [
          warning('PRIVILEGES_UPGRADE', `The database user may not change tables: ${upgrade.join('; ')}.`, {
            why: '"licensing migrate" fails at the next upgrade. Requests do not need it.',
            remedy: `For the upgrade: ${grant(MIGRATION_PRIVILEGES)}`,
          }),
        ]),
  ];
};

export const checkTables: Check = async ({ config, db }) => {
  if (config.database.kind === 'sqlite') return [];
  const { foreign, wrongEngine } = await readTables(db);
  const findings: Finding[] = [];
  if (wrongEngine.length > 0)
    findings.push(
      problem(
        'TABLE_ENGINE',
        `Not in InnoDB: ${wrongEngine.join(', ')}.`,
        {
          why: 'Without transactions and row locks, slots are not exact and a crash loses changes.',
          remedy: wrongEngine.map((name) => `ALTER TABLE ${name} ENGINE=InnoDB;`).join(' '),
        },
        {
          what: `Nicht in InnoDB: ${wrongEngine.join(', ')}.`,
          why: 'Ohne Transaktionen und Zeilensperren stimmen die Plätze nicht genau, und ein Absturz verliert Änderungen.',
        },
      ),
    );
  if (foreign > 0)
    findings.push(
      warning(
        'SHARED_DATABASE',
        `The database also holds ${quantity(foreign, 'table')} of others, such as the site's.`,
        {
          why: "Restoring the site's backup rewinds licences too: keys sold since are unknown, renewals and activations are gone.",
          remedy: `Before restoring the site, dump the tables named ${tablePrefix(db)}licensing_..., and put them back afterwards (docs/backup.md). Or leave them out of the restore.`,
        },
        {
          what: `In der Datenbank ${foreign === 1 ? 'liegt' : 'liegen'} auch ${quantity(foreign, 'fremde Tabelle', 'fremde Tabellen')}, zum Beispiel die der Website.`,
          why: 'Wer die Sicherung der Website zurückspielt, setzt auch die Lizenzen zurück: Seitdem verkaufte Schlüssel sind unbekannt, Verlängerungen und Aktivierungen sind weg.',
          remedy: `Sichern Sie die Tabellen ${tablePrefix(db)}licensing_..., bevor Sie die Website zurückspielen, und spielen Sie sie danach wieder ein (docs/backup.md). Oder lassen Sie sie beim Zurückspielen aus.`,
        },
      ),
    );
  return findings;
};

/** Reports the tables' sizes, so that an access log larger than documented is noticed. */
export const checkSizes: Check = async ({ db }) => {
  const sizes = await readTableSizes(db);
  const list = sizes.map(
    ({ name, bytes, rows }) =>
      `${name} ${(bytes / 1e6).toFixed(1)} MB${rows === undefined ? '' : ` (about ${quantity(rows, 'row')})`}`,
  );
  const inGerman = sizes.map(({ name, bytes, rows }) => {
    const size = `${(bytes / 1e6).toFixed(1).replace('.', ',')} MB`;
    return rows === undefined
      ? `die Datenbank ${size}`
      : `${name} ${size} (etwa ${quantity(rows, 'Zeile', 'Zeilen')})`;
  });
  return [ok('SIZES', `On the disk: ${list.join(', ')}.`, `Auf der Festplatte: ${inGerman.join(', ')}.`)];
};

function checkVersion({ version }: ServerState): Finding {
  const { name, isSupported } = readVersion(version);
  return isSupported
    ? ok('DATABASE_VERSION', `It is ${name}.`, `Es ist ${name}.`)
    : problem(
        'DATABASE_VERSION',
        `It is ${name}.`,
        {
          why: `The service needs ${SUPPORTED_SERVERS}.`,
          remedy: 'Upgrade the server, or give the service a database of its own on a newer one.',
        },
        {
          what: `Es ist ${name}.`,
          why: `Der Dienst braucht ${SUPPORTED_SERVERS_IN_GERMAN}.`,
          remedy:
            'Aktualisieren Sie den Server, oder geben Sie dem Dienst eine eigene Datenbank auf einem neueren.',
        },
      );
}

function checkConnections(
  { maxConnections, maxUserConnections }: ServerState,
  { databaseConnections }: Config,
): Finding {
  const instances = Math.max(1, findInstances().length);
  const needed = instances * databaseConnections + CONNECTIONS_BESIDE;
  const needs = `${instances} ${instances === 1 ? 'instance needs' : 'instances need'} up to ${needed} connections`;
  const needsInGerman = `${quantity(instances, 'Instanz braucht', 'Instanzen brauchen')} bis zu ${needed} Verbindungen`;
  const limits = [
    { name: 'max_connections', value: maxConnections },
    ...(maxUserConnections > 0 ? [{ name: 'max_user_connections', value: maxUserConnections }] : []),
  ].sort((a, b) => a.value - b.value);
  const { name, value } = limits[0] as { name: string; value: number };
  const why = 'When none is free, requests are answered 503, and the site beside it fails too.';
  const remedy = `Raise ${name} to ${Math.max(100, 2 * needed)} or more, lower LICENSING_DATABASE_CONNECTIONS, or run fewer instances.`;
  const allowed = `${needs}, and the server allows ${value} (${name}).`;
  const german = {
    what: `${needsInGerman}, und der Server erlaubt ${value} (${name}).`,
    why: 'Wenn keine frei ist, werden Anfragen mit 503 beantwortet, und auch die Website daneben fällt aus.',
    remedy: `Erhöhen Sie ${name} auf ${Math.max(100, 2 * needed)} oder mehr, senken Sie LICENSING_DATABASE_CONNECTIONS, oder starten Sie weniger Instanzen.`,
  };
  if (needed > value) return problem('CONNECTIONS', allowed, { why, remedy }, german);
  if (2 * needed > value)
    return warning(
      'CONNECTIONS',
      `${needs}, more than half of the ${value} the server allows (${name}).`,
      { why, remedy },
      {
        ...german,
        what: `${needsInGerman}, mehr als die Hälfte der ${value}, die der Server erlaubt (${name}).`,
      },
    );
  return ok('CONNECTIONS', allowed, german.what);
}

function checkClock({ now: theirs }: ServerState, ours: Date): Finding {
  const seconds = Math.round((theirs.getTime() - ours.getTime()) / 1000);
  const apart = `The database's clock is ${Math.abs(seconds)} s ${seconds < 0 ? 'behind' : 'ahead of'} this machine's`;
  return Math.abs(seconds) > CLOCK_TOLERANCE_S
    ? warning(
        'CLOCK',
        `${apart} (${theirs.toISOString()}, here ${ours.toISOString()}).`,
        {
          why: 'Licences expire by the clock of this machine: if that is the wrong one, too early or too late.',
          remedy: 'Let both keep time: timedatectl set-ntp true',
        },
        {
          what: `Die Uhr der Datenbank geht gegenüber diesem Rechner ${Math.abs(seconds)} s ${seconds < 0 ? 'nach' : 'vor'} (${theirs.toISOString()}, hier ${ours.toISOString()}).`,
          why: 'Lizenzen laufen nach der Uhr dieses Rechners ab: Wenn sie die falsche ist, zu früh oder zu spät.',
          remedy: 'Lassen Sie beide die Zeit abgleichen: timedatectl set-ntp true',
        },
      )
    : ok(
        'CLOCK',
        `This machine's clock and the database's agree within ${CLOCK_TOLERANCE_S} s.`,
        `Die Uhren dieses Rechners und der Datenbank stimmen auf ${CLOCK_TOLERANCE_S} s überein.`,
      );
}
