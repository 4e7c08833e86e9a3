import type { Knex } from 'knex';
import type { AfterExpiry, Plan, PlanOptions, Product } from './columns/catalogue';
import { isSqlite, table, type Db, type TableRow, type Transaction } from './engine/database';
import { insertRows, rawRows, tableBy } from './engine/statements';
import { fieldsToRow, rowToFields, type RowOf } from './engine/row-fields';

export type { AfterExpiry, Plan, PlanOptions, Product };

/** Which product includes which, by id. */
export interface Inclusion {
  productId: number;
  includedId: number;
}

/** The options of a new plan that sets none of them. */
export const PLAN_DEFAULTS: PlanOptions = {
  afterExpiry: 'nothing',
  freeStaging: false,
  selfServiceMoves: 3,
  upgradeUrl: null,
};

export async function findProduct(db: Db, id: number): Promise<Product | undefined> {
  const row = await db(table(db, 'products')).where({ id }).first();
  return row && toProduct(row);
}

/** A page of a list that is sorted by id. */
export interface IdPage {
  /** only ids above this one */
  after?: number | undefined;
  limit?: number;
}

/** Lists products by id. */
export async function listProducts(db: Db, part: IdPage = {}): Promise<Product[]> {
  return (await byId(db(table(db, 'products')), part)).map(toProduct);
}

function byId<Query extends Knex.QueryBuilder>(query: Query, { after, limit }: IdPage): Query {
  query.orderBy('id');
  if (after !== undefined) query.where('id', '>', after);
  if (limit !== undefined) query.limit(limit);
  return query;
}

/** Inserts a product; without an id, it gets the next free one. @throws a duplicate (`isDuplicate`) if the id is taken */
export async function insertProduct(
  db: Db,
  {
    includesAll = false,
    reminders = false,
    ...product
  }: Pick<Product, 'name' | 'element' | 'createdAt'> & { [K in keyof Product]?: Product[K] | undefined },
): Promise<number> {
  const row = fieldsToRow({ ...product, reminders, includesAll });
  const [id] = await db(table(db, 'products')).insert(row);
  return product.id ?? (id as number);
}

/** Changes a product: undefined keeps a value, null clears it. `replaceIncludes` changes the products included by name. */
export async function setProduct(
  db: Db,
  id: number,
  changes: { [K in keyof Omit<Product, 'id' | 'createdAt'>]?: Product[K] | undefined },
): Promise<void> {
  const given = Object.entries(changes).filter(([, value]) => value !== undefined);
  if (given.length === 0) return;
  await db(table(db, 'products'))
    .where({ id })
    .update(fieldsToRow(Object.fromEntries(given)));
}

/** Lists all inclusions by name, or those of one product, sorted by both ids. */
export async function listIncludes(db: Db, of: Partial<Inclusion> = {}): Promise<Inclusion[]> {
  const found = db(table(db, 'product_includes'))
    .where(fieldsToRow(of))
    .orderBy(['product_id', 'included_id']);
  return (await found).map(rowToFields);
}

/** Replaces the products that a locked product includes by name. The included products are locked too. */
export async function replaceIncludes(
  trx: Transaction,
  productId: number,
  included: number[],
): Promise<void> {
  // A DELETE that finds nothing would lock the gap that another product's rows are inserted into.
  if ((await listIncludes(trx, { productId })).length > 0)
    await trx(table(trx, 'product_includes')).where({ product_id: productId }).delete();
  const rows = included.map((includedId) => ({ product_id: productId, included_id: includedId }));
  if (rows.length > 0) await insertRows(trx, 'product_includes', rows);
}

/** @throws a reference conflict (`isReferenceConflict`) if the product has plans or releases */
export async function deleteProduct(db: Db, id: number): Promise<void> {
  await db(table(db, 'products')).where({ id }).delete();
}

/** Returns the product's latest settings of its update XML, as JSON; null without settings or without the product. */
export async function findUpdateXmlSettings(db: Db, id: number): Promise<string | null> {
  const settings = await db(table(db, 'products')).where({ id }).pluck('update_xml');
  return settings[0] ?? null;
}

/** Lists the update XML settings of all products that have any. */
export async function listUpdateXmlSettings(db: Db): Promise<{ productId: number; json: string }[]> {
  const rows = await db(table(db, 'products'))
    .whereNotNull('update_xml')
    .select<{ id: number; update_xml: string }[]>('id', 'update_xml');
  return rows.map(({ id, update_xml: json }) => ({
    productId: id,
    json,
  }));
}

export async function setUpdateXmlSettings(db: Db, id: number, json: string): Promise<void> {
  await db(table(db, 'products')).where({ id }).update({ update_xml: json });
}

export async function findPlan(db: Db, id: number): Promise<Plan | undefined> {
  const [row] = await rawRows<RowOf<Plan>>(db, `SELECT * FROM ${table(db, 'plans')} WHERE id = ?`, [id]);
  return row && rowToFields(row);
}

export async function findPlans(db: Db, ids: number[]): Promise<Plan[]> {
  return ids.length === 0 ? [] : (await db(table(db, 'plans')).whereIn('id', ids)).map(rowToFields);
}

/** Locks a plan; must be the first statement. Meanwhile no licence joins the plan. Requests never wait for this lock. */
export async function lockPlan(trx: Transaction, id: number): Promise<Plan | undefined> {
  const row = await lockedRow(trx, 'plans', id);
  return row && rowToFields(row);
}

/** Locks all licences of a locked plan before anything is read, so that no client activates on them meanwhile. */
export async function lockLicensesOfPlan(trx: Transaction, id: number): Promise<void> {
  // By id, the order in which all code locks several licences.
  await trx(tableBy(trx, 'licenses', 'plan_id'))
    .where({ plan_id: id })
    .orderBy('id')
    .forUpdate()
    .pluck('id');
}

/** Reads a plan and keeps it unchanged until the transaction ends. */
export async function sharePlan(trx: Transaction, id: number): Promise<Plan | undefined> {
  const row = await lockedRow(trx, 'plans', id, 'forShare');
  return row && rowToFields(row);
}

/** Locks a product until the transaction ends, so that one process at a time compares and adds its versions. */
export async function lockProduct(trx: Transaction, id: number): Promise<Product | undefined> {
  const row = await lockedRow(trx, 'products', id);
  return row && toProduct(row);
}

async function lockedRow<Name extends 'products' | 'plans'>(
  trx: Transaction,
  name: Name,
  id: number,
  lock: 'forUpdate' | 'forShare' = 'forUpdate',
): Promise<TableRow<Name> | undefined> {
  const rows = () => trx<{ id: number }>(table(trx, name)).where({ id });
  // An UPDATE takes SQLite's only write lock; Knex drops FOR UPDATE and FOR SHARE there.
  if (isSqlite(trx)) await rows().update({ id });
  return rows()[lock]().first() as Promise<TableRow<Name> | undefined>;
}

/** Reads all plans and keeps them unchanged until the transaction ends. */
export async function sharePlans(trx: Transaction): Promise<Plan[]> {
  return (await trx(table(trx, 'plans')).orderBy('id').forShare()).map(rowToFields);
}

/** Lists plans by id. */
export async function listPlans(db: Db, productId?: number, part: IdPage = {}): Promise<Plan[]> {
  const query = byId(db(table(db, 'plans')), part);
  if (productId !== undefined) query.where({ product_id: productId });
  return (await query).map(rowToFields);
}

/** @throws a reference conflict (`isReferenceConflict`) if the product does not exist */
export async function insertPlan(db: Db, plan: Omit<Plan, 'id'>): Promise<number> {
  const [id] = await db(table(db, 'plans')).insert(fieldsToRow(plan));
  return id as number;
}

/** Changes a locked plan: undefined keeps a value, a null duration means lifetime. */
export async function setPlan(
  db: Db,
  id: number,
  changes: Partial<Omit<Plan, 'id' | 'productId' | 'createdAt'>>,
): Promise<void> {
  await db(table(db, 'plans')).where({ id }).update(fieldsToRow(changes));
}

/** @throws a reference conflict (`isReferenceConflict`) if licences use the plan */
export async function deletePlan(db: Db, id: number): Promise<void> {
  await db(table(db, 'plans')).where({ id }).delete();
}

/** @returns false if the limit is no longer `from`; it is then left unchanged */
export async function replacePlanLimit(
  db: Db,
  id: number,
  { from, to }: { from: number; to: number },
): Promise<boolean> {
  const plans = db(table(db, 'plans'));
  return (await plans.where({ id, activation_limit: from }).update({ activation_limit: to })) > 0;
}

function toProduct({ update_xml: _settings, ...row }: TableRow<'products'>): Product {
  return rowToFields(row);
}
