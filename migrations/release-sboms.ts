import type { Knex } from 'knex';
import { columnTypes, createTable } from './tables';

/** The SBOMs of releases. A text is packed (store/sboms.ts), because servers often allow statements of only 4 MB. */
export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  await createTable(knex, 'release_sboms', {
    columns: {
      id: t.smallId,
      release_id: `${t.smallRef} NOT NULL`,
      format: `${t.ascii(32)} NOT NULL`,
      origin: `${t.ascii(16)} NOT NULL`,
      packed: `${t.longText} NOT NULL`,
      created_at: `${t.time} NOT NULL`,
    },
    unique: [['release_id']],
    // With the reference, no statement can delete a release that has an SBOM.
    references: { release_id: 'releases' },
  });
}
