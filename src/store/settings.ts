import { createHash } from 'node:crypto';
import { table, type Db } from './engine/database';
import { fieldsToRow, rowToFields } from './engine/row-fields';

/** A value that the seller has set in the database: a setting, the shop's picture, or a text of a mail. */
export interface StoredSetting {
  id: number;
  name: string;
  /** null: the value is sealed */
  value: string | null;
  valueSealed: string | null;
  /** a digest of the value, which shows a change without the value being read */
  revision: string;
  /** `operator:NAME` */
  changedBy: string;
  changedAt: Date;
}

/** Lists all settings by name. */
export async function listSettings(db: Db): Promise<StoredSetting[]> {
  const rows = await db(table(db, 'settings')).orderBy('name');
  return rows.map(rowToFields);
}

/** Returns a text that differs after a change of any setting. */
export async function readSettingsMark(db: Db): Promise<string> {
  const rows = await db(table(db, 'settings')).select('name', 'revision').orderBy('name');
  return rows.map(({ name, revision }) => `${name} ${revision}`).join('\n');
}

/** Adds a setting, or replaces the setting of this name. */
export async function putSetting(db: Db, setting: Omit<StoredSetting, 'id' | 'revision'>): Promise<void> {
  const row = { ...setting, revision: settingRevision(setting.value ?? setting.valueSealed ?? '') };
  await db(table(db, 'settings')).insert(fieldsToRow(row)).onConflict('name').merge();
}

/** Returns the revision of a stored value. @param value in its stored form */
export function settingRevision(value: string): string {
  return createHash('sha256').update(value).digest('hex').slice(0, 32);
}

/** @returns whether the setting existed */
export async function deleteSetting(db: Db, name: string): Promise<boolean> {
  return (await db(table(db, 'settings')).where({ name }).delete()) > 0;
}
