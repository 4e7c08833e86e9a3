import { isSqlite, table, type Db, type TableName, type Transaction } from './database';
import type { Row, SqlValue } from './export';
import { forceIndex, insertRows, licenseIndex, placeholders, rawChange, tableBy } from './statements';
import { tryTransaction } from './transaction';

/** Values in one INSERT: SQLite takes 32,766. */
const MAX_VALUES = 16_000;

/**
 * One transaction for a whole import: it survives whatever ends the process, since the server rolls back what was
 * not committed. READ COMMITTED, so that every look sees what others have committed by now, and so that looking for
 * a key that is not there locks no gap in which the shop wants to issue one. Where the server writes its log by
 * statements, InnoDB refuses that level: then it is REPEATABLE READ, and what others commit meanwhile is found by the
 * unique indexes alone, which ends the import.
 */
export async function inImportTransaction<T>(db: Db, work: (trx: Transaction) => Promise<T>): Promise<T> {
  const tried = await (isSqlite(db)
    ? tryTransaction(db, async (trx) => {
        // SQLite's one write lock is taken first: a read before it would fix a snapshot that cannot be written to.
        await trx(table(trx, 'licenses')).where({ id: 0 }).update({ id: 0 });
        return work(trx);
      })
    : tryTransaction(db, work, {
        isolationLevel: (await logsStatements(db)) ? 'repeatable read' : 'read committed',
      }));
  if ('failure' in tried) throw tried.failure;
  return tried.result;
}

async function logsStatements(db: Db): Promise<boolean> {
  const [variables] = (await db.raw(
    "SHOW VARIABLES WHERE Variable_name IN ('log_bin', 'binlog_format')",
  )) as [{ Value: string }[]];
  const values = variables.map(({ Value }) => Value);
  return values.includes('ON') && values.includes('STATEMENT');
}

export async function isEmptyTable(db: Db, name: TableName): Promise<boolean> {
  return (await db(table(db, name)).first('id')) === undefined;
}

/**
 * Inserts any number of rows as they are; all have the same columns.
 *
 * @throws a duplicate (`isDuplicate`) when one of them exists already
 */
export async function insertInChunks(trx: Transaction, name: TableName, rows: Row[]): Promise<void> {
  const chunk = Math.max(1, Math.floor(MAX_VALUES / Object.keys(rows[0] ?? {}).length));
  for (let i = 0; i < rows.length; i += chunk) await insertRows(trx, name, rows.slice(i, i + chunk));
}

/** Rows whose column has one of these values. */
export async function findRows(db: Db, name: TableName, column: string, values: SqlValue[]): Promise<Row[]> {
  if (values.length === 0) return [];
  return (await rowsWith(db, name, column, values)) as Row[];
}

/**
 * As `findRows`, and locked until the transaction ends: in the order of their ids, as everybody does who locks several.
 */
export async function lockRows(
  trx: Transaction,
  name: TableName,
  column: string,
  values: number[],
): Promise<Row[]> {
  if (values.length === 0) return [];
  return (await rowsWith(trx, name, column, values).orderBy('id').forUpdate()) as Row[];
}

function rowsWith(db: Db, name: TableName, column: string, values: SqlValue[]) {
  const index = column === 'id' ? [] : name === 'releases' ? [column, 'version'] : [column];
  return db(tableBy(db, name, ...index)).whereIn(column, values as (string | number)[]);
}

/** MySQL plans each licence with each time; past 8 MB of such plans it reads the whole table instead. */
const MAX_LICENSES = 50;

/** Events of these licences at these times: more than the pairs that were asked for. */
export async function findEventRows(db: Db, licenseIds: number[], times: string[]): Promise<Row[]> {
  const found: Row[] = [];
  for (let i = 0; i < licenseIds.length; i += MAX_LICENSES)
    found.push(
      ...((await db(tableBy(db, 'events', ...licenseIndex('events')))
        .whereIn('license_id', licenseIds.slice(i, i + MAX_LICENSES))
        .whereIn('at', times)) as Row[]),
    );
  return found;
}

/** Changes rows, those of the same columns by one statement: somebody may wait for each of them. */
export async function updateRows(
  trx: Transaction,
  name: TableName,
  rows: [id: number, changes: Row][],
): Promise<void> {
  const groups = new Map<string, [number, Row][]>();
  for (const row of rows) {
    const columns = Object.keys(row[1]).join();
    groups.set(columns, [...(groups.get(columns) ?? []), row]);
  }
  for (const group of groups.values()) {
    const bindings: SqlValue[] = [];
    const set = Object.keys(group[0]?.[1] ?? {}).map((column) => {
      for (const [, changes] of group) bindings.push(changes[column] as SqlValue);
      return `${column} = CASE id ${group.map(([id]) => `WHEN ${id} THEN ?`).join(' ')} END`;
    });
    const ids = group.map(([id]) => id);
    await rawChange(
      trx,
      `UPDATE ${table(trx, name)}${forceIndex(trx, name)} SET ${set.join(', ')} WHERE id IN (${placeholders(ids.length)})`,
      [...bindings, ...ids],
    );
  }
}

export async function updateRow(trx: Transaction, name: TableName, id: number, changes: Row): Promise<void> {
  await trx(table(trx, name)).where({ id }).update(changes);
}
