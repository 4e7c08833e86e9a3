import type { Knex } from 'knex';
import { siteOf } from '../src/licensing/staging-sites';
import { table } from '../src/store/database';
import { forceIndex, orderedJoin, placeholders, rawRows } from '../src/store/statements';
import { inTransaction } from '../src/store/transaction';
import { addColumns, addIndex, columnTypes, dropColumns, dropIndex } from './schema';

/**
 * The key that an activation came by (null: the main key), whether it takes no slot, and its registrable domain, by which
 * staging sites follow their production site. The service may run meanwhile.
 */

const PIECE = 1_000;
const INDEXES = [
  ['license_id', 'site'],
  ['key_id', 'free'],
];

export const config = { transaction: false };

export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  await addColumns(knex, 'activations', {
    key_id: `${t.ref} NULL`,
    free: `${t.flag} NOT NULL DEFAULT 0`,
    site: `${t.text(255)} NULL`,
  });
  for (const columns of INDEXES) await addIndex(knex, 'activations', columns);
  await fillSites(knex);
}

/** For activations by domain without one. Can be run again at any time. */
export async function fillSites(knex: Knex): Promise<void> {
  const activations = table(knex, 'activations');
  const join = (name: 'licenses' | 'plans', alias: string) =>
    `${orderedJoin(knex)} ${table(knex, name)} ${alias}${forceIndex(knex, name)}`;
  for (let after = 0; ;) {
    // The server would rather join and sort all activations for each piece.
    const rows = await rawRows<ActivationRow>(
      knex,
      `SELECT a.id, a.identifier, p.activation_type FROM ${activations} a${forceIndex(knex, 'activations')}
         ${join('licenses', 'l')} ON l.id = a.license_id ${join('plans', 'p')} ON p.id = l.plan_id
        WHERE a.id > ? AND a.site IS NULL ORDER BY a.id LIMIT ${PIECE}`,
      [after],
    );
    const sites = rows.flatMap(({ id, identifier, activation_type: type }): [number, string][] => {
      const site = siteOf(type, identifier);
      return site === null ? [] : [[id, site]];
    });
    if (sites.length > 0)
      await inTransaction(knex, (trx) =>
        trx.raw(
          `UPDATE ${activations} SET site = CASE id ${'WHEN ? THEN ? '.repeat(sites.length)}END
            WHERE id IN (${placeholders(sites.length)})`,
          [...sites.flat(), ...sites.map(([id]) => id)],
        ),
      );
    if (rows.length < PIECE) return;
    after = rows.at(-1)?.id ?? after;
  }
}

interface ActivationRow {
  id: number;
  identifier: string;
  activation_type: string;
}

export async function down(knex: Knex): Promise<void> {
  for (const columns of INDEXES) await dropIndex(knex, 'activations', columns);
  await dropColumns(knex, 'activations', ['key_id', 'free', 'site']);
}
