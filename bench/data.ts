import type { Connection, RowDataPacket } from 'mysql2/promise';
import { addPlan, addProduct } from '../src/licensing/catalogue';
import { publishRelease } from '../src/packages/releases';
import { packageFileName } from '../src/packages/package-files';
import { makePackage } from '../test/support/packages';
import type { MariaDb } from '../test/support/servers';
import { openMigrated } from '../test/support/service-process';

/**
 * Data sets: databases `licences_N` with licences 1 to N. Licence i has the key and identifiers that requests.lua
 * derives from i, and one to three activations. Rows look used, so that a first validate does not lengthen them.
 */

const CHUNK = 100_000;
/** The edition of the data below. Change both together, so that kept data sets of another edition are rebuilt. */
const EDITION = '3';

const INSERT_LICENCES = `INSERT INTO licensing_licenses
    (id, main_key_id, plan_id, status, activation_limit, activations_used, customer, customer_digest, reference,
     expires_at, last_check_at, last_check_ip, check_count, created_at)
  SELECT seq, seq, 1, 'active', 1000000, seq % 3 + 1, CONCAT('customer-', seq, '@example.com'),
    LEFT(SHA2(CONCAT('customer-', seq, '@example.com'), 256), 32), CONCAT('order-', seq), '2099-01-01', '2026-01-01', '10.255.255.254', 0, '2026-01-01'
  FROM seq_:first_to_:last`;

const INSERT_KEYS = `INSERT INTO licensing_license_keys
    (id, license_id, key_digest, key_hint, key_sealed, created_at)
  SELECT seq, seq, SHA2(CONCAT('BE9C0000-00000000-00000000-', LPAD(HEX(seq), 8, '0')), 256), LPAD(HEX(seq), 8, '0'),
    REPEAT('k', 92), '2026-01-01'
  FROM seq_:first_to_:last`;

const INSERT_ACTIVATIONS = `INSERT INTO licensing_activations (license_id, identifier, name, ip, site, activated_at)
  SELECT l.seq, LOWER(CONCAT('site-', LPAD(HEX(l.seq), 8, '0'), '-', n.seq, '.example.com')), 'Main site',
    '10.255.255.254', 'example.com', '2026-01-01'
  FROM seq_:first_to_:last l JOIN seq_1_to_3 n ON n.seq <= l.seq % 3 + 1`;

const INSERTS = [INSERT_LICENCES, INSERT_KEYS, INSERT_ACTIVATIONS];
const TABLES = ['licensing_licenses', 'licensing_license_keys', 'licensing_activations'];

/**
 * Creates a data set, replacing one of the same name.
 *
 * @returns its LICENSING_DATABASE_URL
 */
export async function makeDataSet(
  mariadb: MariaDb,
  licences: number,
  name = nameOf(licences),
): Promise<string> {
  const connection = await mariadb.connect();
  try {
    await connection.query(`DROP DATABASE IF EXISTS ${name}`);
    await connection.query(`CREATE DATABASE ${name}`);
    await makeCatalogue(mariadb.url(name));
    await connection.query(`USE ${name}`);
    await connection.query('SET unique_checks = 0, foreign_key_checks = 0');
    for (let first = 1; first <= licences; first += CHUNK)
      for (const insert of INSERTS)
        await connection.query(
          insert
            .replace(':first', String(first))
            .replace(':last', String(Math.min(first + CHUNK - 1, licences))),
        );
    await connection.query(`ANALYZE TABLE ${TABLES.join(', ')}`);
    // Written last: a data set without this table is incomplete.
    await connection.query('CREATE TABLE complete (edition VARCHAR(20), licences INT)');
    await connection.query('INSERT INTO complete VALUES (?, ?)', [EDITION, licences]);
  } finally {
    await connection.end();
  }
  return mariadb.url(name);
}

/**
 * Fills a new database whose index statistics stay those of the first licence.
 *
 * @param whileSmall runs once the first licence exists
 */
export async function growDataSet(
  mariadb: MariaDb,
  name: string,
  licences: number,
  whileSmall: (url: string) => Promise<void>,
): Promise<string> {
  const connection = await mariadb.connect();
  try {
    await connection.query(`DROP DATABASE IF EXISTS ${name}`);
    await connection.query(`CREATE DATABASE ${name}`);
    const url = mariadb.url(name);
    await makeCatalogue(url);
    await connection.query(`USE ${name}`);
    for (const table of TABLES) await connection.query(`ALTER TABLE ${table} STATS_AUTO_RECALC = 0`);
    const insert = async (first: number, last: number) => {
      for (const sql of INSERTS)
        await connection.query(sql.replace(':first', String(first)).replace(':last', String(last)));
    };
    await insert(1, 1);
    await whileSmall(url);
    await insert(2, licences);
    return url;
  } finally {
    await connection.end();
  }
}

/** Reads the tables' statistics again, as a restart would. */
export async function refreshStatistics(mariadb: MariaDb, name: string): Promise<void> {
  const connection = await mariadb.connect(name);
  try {
    await connection.query(`ANALYZE TABLE ${TABLES.join(', ')}`);
    // Without names, FLUSH TABLES would flush every database's tables.
    await connection.query(`FLUSH TABLES ${TABLES.join(', ')}`);
  } finally {
    await connection.end();
  }
}

async function makeCatalogue(url: string): Promise<void> {
  const db = await openMigrated({ LICENSING_DATABASE_URL: url });
  await addProduct(db, { id: 42, name: 'Example Shop' }, new Date());
  await addPlan(
    db,
    { productId: 42, name: 'Developer', activationType: 'domain', activationLimit: 3, duration: null },
    new Date(),
  );
  await db.destroy();
}

/**
 * Publishes version 2.1.0 (2 KB) and the older 1.0.0 (20 MB).
 *
 * @returns the file name of 1.0.0
 */
export async function publishPackages(url: string, packagesDir: string): Promise<string> {
  const db = await openMigrated({ LICENSING_DATABASE_URL: url });
  const publish = async (version: string, size: number) =>
    publishRelease(
      db,
      packagesDir,
      {
        productId: 42,
        version,
        file: (await makePackage({}, size)).path,
        changelog: '- Faster\n- Safer',
        draft: false,
        date: undefined,
      },
      new Date(),
    );
  await publish('2.1.0', 1_800);
  const { sha256 } = await publish('1.0.0', 20_000_000);
  await db.destroy();
  return packageFileName(sha256);
}

/**
 * Reports whether an earlier run left a complete data set with the tables of the current migrations.
 *
 * @param reference a data set of this run
 */
export async function hasDataSet(mariadb: MariaDb, licences: number, reference: number): Promise<boolean> {
  const name = nameOf(licences);
  const connection = await mariadb.connect();
  try {
    const [found] = await connection.query<RowDataPacket[]>('SHOW DATABASES LIKE ?', [name]);
    if (found.length === 0 || !(await tables(connection, name)).has('complete')) return false;
    const [[complete]] = await connection.query<RowDataPacket[]>(
      `SELECT edition = ? AND licences = ? AS same FROM ${name}.complete`,
      [EDITION, licences],
    );
    if (complete?.same !== 1) return false;
    const expected = await tables(connection, nameOf(reference));
    const actual = await tables(connection, name);
    return [...expected].every(([table, definition]) => actual.get(table) === definition);
  } finally {
    await connection.end();
  }
}

/** Returns each table's definition, without the parts that change with its rows. */
async function tables(connection: Connection, database: string): Promise<Map<string, string>> {
  const [names] = await connection.query<RowDataPacket[]>(`SHOW TABLES IN ${database}`);
  const definitions = new Map<string, string>();
  for (const row of names) {
    const name = Object.values(row)[0] as string;
    const [[made]] = await connection.query<RowDataPacket[]>(`SHOW CREATE TABLE ${database}.${name}`);
    definitions.set(name, (made!['Create Table'] as string).replace(/ AUTO_INCREMENT=\d+/, ''));
  }
  return definitions;
}

/**
 * Reads everything that validate needs into the buffer pool.
 *
 * @returns the size of data and indexes (bytes)
 */
export async function warmDataSet(mariadb: MariaDb, licences: number): Promise<number> {
  const name = nameOf(licences);
  const connection = await mariadb.connect(name);
  try {
    for (const [table, index, column] of [
      ['licensing_licenses', 'PRIMARY', 'check_count'],
      ['licensing_license_keys', 'PRIMARY', 'key_hint'],
      ['licensing_activations', 'PRIMARY', 'ip'],
      ['licensing_activations', 'licensing_activations_license_id_identifier', 'identifier'],
    ])
      await connection.query(
        `SELECT COUNT(${column}) FROM ${table} FORCE INDEX (${index}) WHERE ${column} > ''`,
      );
    const [[size]] = await connection.query<RowDataPacket[]>(
      `SELECT SUM(data_length + index_length) AS bytes FROM information_schema.tables WHERE table_schema = ?`,
      [name],
    );
    return Number(size?.bytes);
  } finally {
    await connection.end();
  }
}

/** Returns the number of validate calls that all licences have counted. */
export async function countedChecks(mariadb: MariaDb, licences: number): Promise<number> {
  const connection = await mariadb.connect(nameOf(licences));
  try {
    const [[row]] = await connection.query<RowDataPacket[]>(
      'SELECT SUM(check_count) AS checks FROM licensing_licenses',
    );
    return Number(row?.checks);
  } finally {
    await connection.end();
  }
}

function nameOf(licences: number): string {
  return `licences_${licences}`;
}
