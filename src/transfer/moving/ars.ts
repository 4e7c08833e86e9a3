import type { Row } from '../../store/export';
import { importError } from '../refusals';
import { assignKeys, mapOfKeys, type KeyAssignmentRules, type Right } from './rights';
import { openSiteTables, trimmed, type SiteTables } from './site-tables';
import { openRights, type RightsByUser } from './subscriptions';
import type { MovingSource, OpenSource, SourceContext, SourceItem, SourceKey } from './source';

/**
 * Akeeba Release System (com_ars). A Download ID identifies the user. The groups of the site, which a subscription
 * component sets, decide what the user may download. A main Download ID has 32 digits; an add-on Download ID is typed
 * as `USER:DIGITS`. All of them are compared without regard to case.
 */

const NEEDED = {
  ars_dlidlabels: ['id', 'user_id', 'dlid', 'primary'],
  users: ['id', 'email', 'name'],
};

export const ars: MovingSource = {
  name: 'ars',
  title: 'Akeeba Release System',
  reads: 'tables',
  open,
};

async function open({ db, sitePrefix, confirmed, now, ...map }: SourceContext): Promise<OpenSource> {
  const tables = await openSiteTables(db, ars.title, sitePrefix, NEEDED, ['ars_log']);
  const rights = await openRights(db, tables.prefix, { confirmed, now });
  return {
    plans: rights.plans,
    ...(rights.columns && { columns: rights.columns }),
    items: () => readItems(tables, rights, mapOfKeys(map)),
  };
}

async function* readItems(
  tables: SiteTables,
  rights: RightsByUser,
  map: KeyAssignmentRules,
): AsyncGenerator<SourceItem> {
  const keys = await readKeys(tables);
  const plans = new Map(rights.plans.map((plan) => [plan.key, plan]));
  let batch: { user: number; rights: Right[] }[] = [];
  const flush = async function* (): AsyncGenerator<SourceItem> {
    const users = new Map(
      (
        await tables.find(
          'users',
          ['id', 'email', 'name'],
          'id',
          batch.map(({ user }) => user),
        )
      ).map((row) => [Number(row.id), row]),
    );
    const used = await lastUses(tables, batch);
    for (const one of batch) {
      const of = keys.get(one.user);
      keys.delete(one.user);
      const known = one.rights.map((right) => withCustomer(right, users.get(one.user)));
      if (!users.has(one.user))
        yield {
          row: one.rights[0]?.license.row ?? one.user,
          warning: 'user-gone',
        };
      for (const { row } of of?.ended ?? []) yield { row, warning: 'unpublished-ends' };
      const given = assignKeys(known, of?.keys ?? [], plans, map);
      yield* given.warnings;
      // The log contains the user but not the product, so the licence with the keys gets the use.
      for (const license of given.licenses)
        yield license.keys.length === 0 ? license : { ...license, lastUsedAt: used.get(one.user) };
    }
    batch = [];
  };
  for await (const item of rights.byUser()) {
    if ('leftOut' in item || 'warning' in item) yield item;
    else batch.push(item);
    if (batch.length >= BATCH) yield* flush();
  }
  yield* flush();
  for (const { rows } of keys.values()) for (const row of rows) yield { row, leftOut: 'nothing-moved' };
}

const BATCH = 500;

/** Returns the time of each user's latest permitted download. */
async function lastUses(tables: SiteTables, batch: { user: number }[]): Promise<Map<number, Date>> {
  if (!['user_id', 'accessed_on', 'authorized'].every((one) => tables.has('ars_log', one))) return new Map();
  const users = batch.map(({ user }) => user);
  return tables.latest('ars_log', 'user_id', 'accessed_on', users, { authorized: 1 });
}

function withCustomer(right: Right, user: Row | undefined): Right {
  const customer = trimmed(user?.email) || null;
  const customerName = trimmed(user?.name) || null;
  return { ...right, license: { ...right.license, customer, customerName } };
}

interface Keys {
  rows: number[];
  keys: SourceKey[];
  ended: { row: number }[];
}

/** Returns each user's Download IDs, the main one first. */
async function readKeys(tables: SiteTables): Promise<Map<number, Keys>> {
  // Version 7.x has the column `published`, the versions before have `enabled`.
  const flag = ['published', 'enabled'].find((one) => tables.has('ars_dlidlabels', one));
  if (flag === undefined) throw importError('no-flag', [`${tables.prefix}ars_dlidlabels`], { field: 'from' });
  const byUser = new Map<number, Keys>();
  for await (const row of tables.read('ars_dlidlabels', [...NEEDED.ars_dlidlabels, flag], ['id'])) {
    const [id, user, key] = [Number(row.id), Number(row.user_id), trimmed(row.dlid)];
    if (key === '') continue;
    const of = byUser.get(user) ?? { rows: [], keys: [], ended: [] };
    const ended = Number(row[flag]) !== 1;
    of.rows.push(id);
    if (ended) of.ended.push({ row: id });
    const sourceKey: SourceKey = { key, limit: undefined, sites: [], ended };
    if (Number(row.primary) === 1) of.keys.unshift(sourceKey);
    else of.keys.push(sourceKey);
    byUser.set(user, of);
  }
  return byUser;
}
