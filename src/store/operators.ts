import { table, type Db } from './engine/database';
import { fieldsToRow, rowToFields } from './engine/row-fields';

/** An operator, who may request a sign-in link by mail. */
export interface Operator {
  id: number;
  /** in lower case */
  email: string;
  /** a Scope (access/caller.ts): read or write */
  scope: string;
  createdBy: string;
  createdAt: Date;
}

/** @throws a duplicate (`isDuplicate`) if the address already belongs to an operator */
export async function insertOperator(db: Db, operator: Omit<Operator, 'id'>): Promise<number> {
  const [id] = await db(table(db, 'operators')).insert(fieldsToRow(operator));
  return id as number;
}

export async function findOperatorByEmail(db: Db, email: string): Promise<Operator | undefined> {
  const row = await db(table(db, 'operators')).where({ email }).first();
  return row && rowToFields(row);
}

export async function listOperators(db: Db): Promise<Operator[]> {
  const rows = await db(table(db, 'operators')).orderBy('email');
  return rows.map(rowToFields);
}

/** @returns false if the operator does not exist */
export async function deleteOperator(db: Db, id: number): Promise<boolean> {
  return (await db(table(db, 'operators')).where({ id }).delete()) === 1;
}
