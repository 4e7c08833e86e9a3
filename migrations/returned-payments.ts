import type { Knex } from 'knex';
import { fillInPieces } from './steps';
import { indexName, isSqlite, tableName } from './tables';

/** Marks the licences whose payments were all refunded or charged back before `all_returned` existed. */

/** Each piece is a transaction of its own. */
export const config = { transaction: false };

type Row = Record<string, unknown>;

/** The rows of the orders that issued or renewed some licences, by id. */
export interface ReturnRows {
  links: object[];
  lines: object[];
  events: object[];
}

/** The columns that the rule of orders reads. */
const COLUMNS = {
  order_lines: ['id', 'order_id', 'line', 'sku'],
  order_events: [
    ...['id', 'order_id', 'event', 'identity', 'at', 'at_ms', 'partial', 'is_test', 'effect', 'lines_json'],
    ...['outcome_json', 'payment', 'renews_itself', 'reduced', 'grace_days', 'amount', 'currency'],
  ],
};

/** Ids in one statement. */
const CHUNK = 500;

export async function up(knex: Knex): Promise<void> {
  const named = (name: string) => tableName(knex, name);
  // The rule of orders, so that the next event of an order finds the mark that it would have set.
  const { returnedLicenses } = knex.userParams as { returnedLicenses: (rows: ReturnRows) => number[] };
  // The statistics may be stale: without these indexes, MySQL could read all events for each piece.
  const by = (name: string, alias: string, ...index: string[]) =>
    `${named(name)} ${alias}${isSqlite(knex) ? '' : ` FORCE INDEX (${indexName(named(name), index)})`}`;
  await fillInPieces(knex, 'licenses', async (trx, ids) => {
    const returned = await trx
      .from(
        trx.raw(
          `${by('order_licenses', 'l', 'license_id')} ${isSqlite(knex) ? 'CROSS JOIN' : 'STRAIGHT_JOIN'}
            ${by('order_events', 'e', 'order_id', 'identity')} ON e.order_id = l.order_id`,
        ),
      )
      .where('l.license_id', '>', ids[0])
      .where('l.license_id', '<=', ids[1])
      .where('l.role', 'issued')
      .whereIn('e.event', ['refunded', 'charged_back'])
      .distinct()
      .pluck<number[]>('l.license_id');
    for (let i = 0; i < returned.length; i += CHUNK) {
      const links = await trx(named('order_licenses'))
        .whereIn('license_id', returned.slice(i, i + CHUNK))
        .select<{ order_id: number }[]>('license_id', 'order_id', 'line_id', 'role');
      const orders = [...new Set(links.map(({ order_id: id }) => id))];
      const rowsOf = async (name: keyof typeof COLUMNS) => {
        const rows: Row[] = [];
        for (let n = 0; n < orders.length; n += CHUNK)
          rows.push(
            ...(await trx(named(name))
              .whereIn('order_id', orders.slice(n, n + CHUNK))
              .orderBy('id')
              .select<Row[]>(COLUMNS[name])),
          );
        return rows;
      };
      const lines = await rowsOf('order_lines');
      const marked = returnedLicenses({ links, lines, events: await rowsOf('order_events') });
      if (marked.length > 0) await trx(named('licenses')).whereIn('id', marked).update({ all_returned: 1 });
    }
  });
}
