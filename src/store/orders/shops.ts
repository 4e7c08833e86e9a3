import { table, type Db, type Transaction } from '../engine/database';
import { fieldsToRow, rowToFields } from '../engine/row-fields';
import { tableBy } from '../engine/statements';
import { toSqlTime } from '../engine/time';

/** Kinds of shops whose plugin for Joomla posts their orders. */
export const PLUGIN_KINDS = ['hikashop', 'membershippro', 'j2commerce'] as const;
export type PluginKind = (typeof PLUGIN_KINDS)[number];

/** A shop whose orders issue licences. */
export interface Shop {
  id: number;
  name: string;
  /** a ShopKind (orders/shop-kinds.ts) */
  kind: string;
  /** the sealed secret of the sender; null: none */
  secretSealed: string | null;
  /** whether everything it sends is for testing */
  isTest: boolean;
  /** the plan that test orders issue; null: they issue nothing */
  testPlanId: number | null;
  /** JSON: the effects of events that differ from the default */
  rulesJson: string | null;
  /** the name of the `issue` tokens that own its orders; null: none has posted for it */
  owner: string | null;
  /** a ShopMail (orders/shop-kinds.ts); null: the default of its kind */
  mail: string | null;
  /** the sealed key that reads the sender's list of its messages; null: none */
  apiKeySealed: string | null;
  /** the address of a shop that runs on its own site; null: unknown */
  siteUrl: string | null;
  /** the time up to which all of the sender's messages were accepted; null: unknown */
  caughtUpUntil: Date | null;
  /** the end of the run that found this */
  caughtUpAt: Date | null;
  catchUpTriedAt: Date | null;
  /** an AskFailure (orders/catch-up/ask.ts), with a status if there is one; null: the last run did not fail */
  catchUpFailure: string | null;
  /** JSON: a cursor, the place in the list where the next run continues (orders/catch-up/run.ts); null: at the beginning */
  catchUpJson: string | null;
  /** grace period: days for which a licence works while its renewal is awaited; null: LICENSING_GRACE_DAYS */
  graceDays: number | null;
  /** the address where customers change how they pay; null: they get no mail about a failed payment */
  billingUrl: string | null;
  /** null: the first order created the row */
  createdBy: string | null;
  createdAt: Date;
}

/** A shop that the seller has not set up. */
export const PLAIN_SHOP = {
  kind: 'api',
  secretSealed: null,
  isTest: false,
  testPlanId: null,
  rulesJson: null,
  owner: null,
  mail: null,
  apiKeySealed: null,
  siteUrl: null,
  caughtUpUntil: null,
  caughtUpAt: null,
  catchUpTriedAt: null,
  catchUpFailure: null,
  catchUpJson: null,
  graceDays: null,
  billingUrl: null,
} as const;

/** @throws a duplicate (`isDuplicate`) if a shop has this name */
export async function insertShop(db: Db, shop: Omit<Shop, 'id'>): Promise<number> {
  const [id] = await db(table(db, 'shops')).insert(fieldsToRow(shop));
  return id as number;
}

export async function findShop(db: Db, name: string): Promise<Shop | undefined> {
  const row = await db(table(db, 'shops')).where({ name }).first();
  return row && rowToFields(row);
}

/** Lists shops by id. */
export async function listShops(
  db: Db,
  { after, limit }: { after?: number | undefined; limit?: number | undefined } = {},
): Promise<Shop[]> {
  const query = db(table(db, 'shops')).orderBy('id');
  if (after !== undefined) query.where('id', '>', after);
  if (limit !== undefined) query.limit(limit);
  return (await query).map(rowToFields);
}

/** Kinds that post with a token (orders/shop-kinds.ts). */
const POSTING = ['api', 'hikashop', 'membershippro', 'j2commerce'];

/** Lists the shops that receive signed messages. */
export async function listReceiverShops(db: Db): Promise<Shop[]> {
  const rows = await db(table(db, 'shops')).whereNotIn('kind', POSTING).orderBy('id');
  return rows.map(rowToFields);
}

type ShopChanges = {
  [Field in Exclude<keyof Shop, 'id' | 'name'>]?: Shop[Field] | undefined;
};

/** Assigns a shop without an owner to a token's name. */
export async function claimShop(trx: Transaction, id: number, owner: string): Promise<void> {
  await trx(table(trx, 'shops')).where({ id }).whereNull('owner').update({ owner });
}

/** Changes a shop: undefined keeps a value, null clears it. */
export async function setShop(db: Db, id: number, changes: ShopChanges): Promise<void> {
  await db(table(db, 'shops')).where({ id }).update(fieldsToRow(changes));
}

/**
 * Claims the catch-up of a shop, so that only one of several instances runs it.
 * @param due.before the last run began before it, or @param due.interruptedBefore it was unfinished and began before it
 */
export async function claimCatchUp(
  db: Db,
  id: number,
  now: Date,
  due: { before: Date; interruptedBefore: Date },
): Promise<boolean> {
  const claimed = await db(table(db, 'shops'))
    .where({ id })
    .where((or) =>
      or
        .whereNull('catch_up_tried_at')
        .orWhere('catch_up_tried_at', '<', toSqlTime(due.before))
        .orWhere((interrupted) =>
          interrupted
            .whereNotNull('catch_up_json')
            .whereNull('catch_up_failure')
            .where('catch_up_tried_at', '<', toSqlTime(due.interruptedBefore)),
        ),
    )
    .update({ catch_up_tried_at: toSqlTime(now) });
  return claimed > 0;
}

/** Deletes a shop with its article map; orders stay. */
export async function deleteShop(trx: Transaction, { id, name }: Pick<Shop, 'id' | 'name'>): Promise<void> {
  await trx(table(trx, 'shop_skus')).where({ shop: name }).delete();
  await trx(table(trx, 'shops')).where({ id }).delete();
}

/** A plan that a shop's article number stands for. */
export interface ShopSku {
  id: number;
  shop: string;
  sku: string;
  /** the digest that waiting lines store (store/orders/orders.ts) */
  awaited: string;
  planId: number;
  /** a SkuQuantity (orders/shops.ts) */
  quantity: string;
  createdAt: Date;
}

/** @throws a duplicate (`isDuplicate`) if the article has this plan already; a reference conflict without the plan */
export async function insertSku(db: Db, sku: Omit<ShopSku, 'id'>): Promise<number> {
  const [id] = await db(table(db, 'shop_skus')).insert(fieldsToRow(sku));
  return id as number;
}

export async function setSkuQuantity(db: Db, id: number, quantity: string): Promise<void> {
  await db(table(db, 'shop_skus')).where({ id }).update({ quantity });
}

/** Finds the plans of articles, by the digest that lines wait for, in the order of their ids. */
export async function findSkus(db: Db, awaited: string[]): Promise<ShopSku[]> {
  if (awaited.length === 0) return [];
  const rows = await db(tableBy(db, 'shop_skus', 'awaited', 'plan_id'))
    .whereIn('awaited', awaited)
    .orderBy('id');
  return rows.map(rowToFields);
}

/** Finds the shops that sell a plan; `sku` null: for test orders. */
export async function findShopsSelling(
  db: Db,
  planId: number,
): Promise<{ shop: string; sku: string | null }[]> {
  const mapped = await db(tableBy(db, 'shop_skus', 'plan_id'))
    .where({ plan_id: planId })
    .orderBy('id')
    .select('shop', 'sku');
  const tested = await db(table(db, 'shops')).where({ test_plan_id: planId }).pluck('name');
  return [...mapped, ...tested.map((shop) => ({ shop, sku: null }))];
}

/** Lists a shop's article map, by id. */
export async function listSkus(
  db: Db,
  shop: string,
  { after, limit }: { after?: number | undefined; limit?: number | undefined } = {},
): Promise<ShopSku[]> {
  const query = db(table(db, 'shop_skus')).where({ shop }).orderBy('id');
  if (after !== undefined) query.where('id', '>', after);
  if (limit !== undefined) query.limit(limit);
  return (await query).map(rowToFields);
}

/** @returns how many plans the article was mapped to */
export async function deleteSkus(db: Db, awaited: string): Promise<number> {
  return db(table(db, 'shop_skus')).where({ awaited }).delete();
}
