import { table, type Db, type TableName } from './engine/database';

/** The columns that are sealed with LICENSING_KEY_SECRET and kept permanently. */
const SEALED = [
  ['license_keys', 'key_sealed'],
  ['signing_keys', 'sealed'],
  ['webhooks', 'secret_sealed'],
  ['shops', 'secret_sealed'],
  ['shops', 'api_key_sealed'],
  ['settings', 'value_sealed'],
] as const satisfies [TableName, string][];

/** Reports whether the tables contain a value that can only be opened with the secret that sealed it. */
export async function holdsSealed(db: Db): Promise<boolean> {
  for (const [name, column] of SEALED)
    if (
      (await db(table(db, name) as string)
        .whereNotNull(column)
        .first(column)) !== undefined
    )
      return true;
  return false;
}
