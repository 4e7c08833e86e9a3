import { isSqlite, table, type Db, type TableName } from '../../src/store/engine/database';

/** Runs work while the database refuses some new rows with a temporary error: on servers, ER_NEED_REPREPARE. */
export async function whileRefusing<T>(
  db: Db,
  name: TableName,
  condition: string,
  work: () => Promise<T>,
): Promise<T> {
  const signal = "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1615, MESSAGE_TEXT = 'passes'";
  const create = `CREATE TRIGGER refuse_some BEFORE INSERT ON ${table(db, name)}`;
  await db.raw(
    isSqlite(db)
      ? `${create} WHEN ${condition} BEGIN SELECT RAISE(ABORT, 'passes'); END`
      : `${create} FOR EACH ROW BEGIN IF ${condition} THEN ${signal}; END IF; END`,
  );
  try {
    return await work();
  } finally {
    await db.raw('DROP TRIGGER refuse_some');
  }
}
