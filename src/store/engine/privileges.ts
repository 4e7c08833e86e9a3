import { isSqlite, table, type Db } from './database';
import type { MysqlSettings } from './mysql';

export const REQUEST_PRIVILEGES = ['SELECT', 'INSERT', 'UPDATE', 'DELETE'] as const;
/** The privileges that only migrations need; some operators give them to another user. */
export const MIGRATION_PRIVILEGES = ['CREATE', 'ALTER', 'INDEX', 'DROP', 'REFERENCES'] as const;
export type Privilege = (typeof REQUEST_PRIVILEGES | typeof MIGRATION_PRIVILEGES)[number];

interface MissingPrivilege {
  privilege: Privilege;
  reason: string;
}

/** Returns the statement for the database's administrator, with the user's host left open. */
export function grantStatement(
  privileges: readonly Privilege[],
  { database, user }: Pick<MysqlSettings, 'database' | 'user'>,
): string {
  return `GRANT ${privileges.join(', ')} ON \`${database}\`.* TO '${user}'@'...';`;
}

/** Tests each privilege on a table that it creates and drops. @returns the missing privileges */
export async function tryPrivileges(db: Db): Promise<MissingPrivilege[]> {
  const probe = `${table(db, 'migrations')}_probe`;
  const steps: [Privilege, string][] = [
    ['CREATE', `CREATE TABLE ${probe} (id INTEGER NOT NULL PRIMARY KEY, text VARCHAR(10))`],
    ['ALTER', `ALTER TABLE ${probe} ADD COLUMN more INTEGER`],
    ['INDEX', `CREATE INDEX ${probe}_more ON ${probe} (more)`],
    // MySQL checks this privilege on the parent table of a foreign key; SQLite cannot add foreign keys.
    ...(isSqlite(db)
      ? []
      : ([
          [
            'REFERENCES',
            `ALTER TABLE ${probe} ADD CONSTRAINT ${probe}_fk FOREIGN KEY (more) REFERENCES ${probe} (id)`,
          ],
        ] satisfies [Privilege, string][])),
    ['INSERT', `INSERT INTO ${probe} (id) VALUES (1)`],
    ['UPDATE', `UPDATE ${probe} SET text = 'x' WHERE id = 1`],
    ['SELECT', `SELECT more FROM ${probe} WHERE id = 1${isSqlite(db) ? '' : ' FOR UPDATE'}`],
    ['DELETE', `DELETE FROM ${probe} WHERE id = 1`],
  ];
  const missing: MissingPrivilege[] = [];
  await db.raw(`DROP TABLE IF EXISTS ${probe}`).catch(() => undefined);
  for (const [privilege, statement] of steps) {
    try {
      await db.raw(statement);
    } catch (error) {
      const { sqlMessage, message } = error as { sqlMessage?: string; message: string };
      missing.push({ privilege, reason: sqlMessage ?? message });
      if (privilege === 'CREATE') return missing;
    }
  }
  await db.raw(`DROP TABLE ${probe}`).catch((error: unknown) => {
    missing.push({
      privilege: 'DROP',
      reason: (error as { sqlMessage?: string }).sqlMessage ?? 'refused',
    });
  });
  return missing;
}

/** Describes a missing privilege, for example `CREATE: command denied to user ...`. */
export function describeMissing({ privilege, reason }: MissingPrivilege): string {
  return `${privilege}: ${reason}`;
}
