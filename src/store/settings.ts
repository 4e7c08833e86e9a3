import { createHash } from 'node:crypto';
import { table, type Db } from './engine/database';
import { toColumns, toFields } from './engine/row-fields';

/** What a seller has set in the database: a setting, the shop's picture, or a text of a mail. */
export interface StoredSetting {
  id: number;
  name: string;
  /** null: it is sealed */
  value: string | null;
  valueSealed: string | null;
  /** of the value, so that a change is seen without reading it */
  revision: string;
  /** `operator:NAME` */
  changedBy: string;
  changedAt: Date;
}

/** All of them, by name. */
export async function listSettings(db: Db): Promise<StoredSetting[]> {
  const rows = await db(table(db, 'settings')).orderBy('name');
  return rows.map(toFields);
}

/** A text that differs after a change of any setting. */
export async function readSettingsMark(db: Db): Promise<string> {
  const rows = await db(table(db, 'settings')).select('name', 'revision').orderBy('name');
  return rows.map(({ name, revision }) => `${name} ${revision}`).join('\n');
}

/** Adds it, or replaces the one of this name. */
export async function putSetting(db: Db, setting: Omit<StoredSetting, 'id' | 'revision'>): Promise<void> {
  const row = { ...setting, revision: settingRevision(setting.value ?? setting.valueSealed ?? '') };
  await db(table(db, 'settings')).insert(toColumns(row)).onConflict('name').merge();
}

/** @param value as it is stored */
export function settingRevision(value: string): string {
  return createHash('sha256').update(value).digest('hex').slice(0, 32);
}

/** @returns whether there was one */
export async function deleteSetting(db: Db, name: string): Promise<boolean> {
  return (await db(table(db, 'settings')).where({ name }).delete()) > 0;
}
