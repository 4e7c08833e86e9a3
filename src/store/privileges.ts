import { isSqlite, table, type Db } from './database';

/**
 * Tries what the service needs of its database: making and changing a table of its own, and rows in it. Nothing else
 * is touched, and nothing is left.
 *
 * @returns what could not be done, in the words of the server; empty when all could
 */
export async function tryPrivileges(db: Db): Promise<string[]> {
  const probe = `${table(db, 'migrations')}_probe`;
  const steps: [string, string][] = [
    ['CREATE', `CREATE TABLE ${probe} (id INTEGER NOT NULL PRIMARY KEY, text VARCHAR(10))`],
    ['ALTER', `ALTER TABLE ${probe} ADD COLUMN more INTEGER`],
    ['INDEX', `CREATE INDEX ${probe}_more ON ${probe} (more)`],
    // MySQL asks for this one at the parent's side of a foreign key; SQLite cannot add any.
    ...(isSqlite(db)
      ? []
      : ([
          [
            'REFERENCES',
            `ALTER TABLE ${probe} ADD CONSTRAINT ${probe}_fk FOREIGN KEY (more) REFERENCES ${probe} (id)`,
          ],
        ] satisfies [string, string][])),
    ['INSERT', `INSERT INTO ${probe} (id) VALUES (1)`],
    ['UPDATE', `UPDATE ${probe} SET text = 'x' WHERE id = 1`],
    ['SELECT', `SELECT more FROM ${probe} WHERE id = 1${isSqlite(db) ? '' : ' FOR UPDATE'}`],
    ['DELETE', `DELETE FROM ${probe} WHERE id = 1`],
  ];
  const missing: string[] = [];
  await db.raw(`DROP TABLE IF EXISTS ${probe}`).catch(() => undefined);
  for (const [privilege, statement] of steps) {
    try {
      await db.raw(statement);
    } catch (error) {
      const { sqlMessage, message } = error as { sqlMessage?: string; message: string };
      missing.push(`${privilege}: ${sqlMessage ?? message}`);
      if (privilege === 'CREATE') return missing;
    }
  }
  await db.raw(`DROP TABLE ${probe}`).catch((error: unknown) => {
    missing.push(`DROP: ${(error as { sqlMessage?: string }).sqlMessage ?? 'refused'}`);
  });
  return missing;
}
