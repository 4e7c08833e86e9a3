import type { Knex } from 'knex';
import { siteOf } from '../src/licensing/staging-sites';
import { addColumns, addIndex, columnTypes, dropColumns, dropIndex, tableName } from './schema';

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
  const activations = tableName(knex, 'activations');
  for (let after = 0; ;) {
    const rows: ActivationRow[] = await knex({ a: activations })
      .join({ l: tableName(knex, 'licenses') }, 'l.id', 'a.license_id')
      .join({ p: tableName(knex, 'plans') }, 'p.id', 'l.plan_id')
      .where('a.id', '>', after)
      .orderBy('a.id')
      .limit(PIECE)
      .select('a.id', 'a.identifier', 'a.site', 'p.activation_type');
    const sites = rows.flatMap(({ id, identifier, site, activation_type: type }): [number, string][] => {
      const found = site === null ? siteOf(type, identifier) : null;
      return found === null ? [] : [[id, found]];
    });
    if (sites.length > 0)
      await knex.raw(
        `UPDATE ${activations} SET site = CASE id ${'WHEN ? THEN ? '.repeat(sites.length)}END
          WHERE id IN (${sites.map(() => '?').join(', ')})`,
        [...sites.flat(), ...sites.map(([id]) => id)],
      );
    if (rows.length < PIECE) return;
    after = rows.at(-1)?.id ?? after;
  }
}

interface ActivationRow {
  id: number;
  identifier: string;
  site: string | null;
  activation_type: string;
}

export async function down(knex: Knex): Promise<void> {
  for (const columns of INDEXES) await dropIndex(knex, 'activations', columns);
  await dropColumns(knex, 'activations', ['key_id', 'free', 'site']);
}
