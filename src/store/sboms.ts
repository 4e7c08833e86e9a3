import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { table, type Db, type Transaction } from './engine/database';
import { fieldsToRow, rowToFields, type RowOf } from './engine/row-fields';
import type { Release } from './releases';

/** `given`: the seller's own. `generated`: from the lock files in the package. */
export type SbomOrigin = 'given' | 'generated';

/** The software bill of materials of a release. */
export interface ReleaseSbom {
  id: number;
  releaseId: number;
  /** such as `CycloneDX 1.6` or `SPDX-2.3` */
  format: string;
  origin: SbomOrigin;
  /** the JSON, compressed, in base64 */
  packed: string;
  createdAt: Date;
}

export type SbomInfo = Pick<ReleaseSbom, 'format' | 'origin' | 'createdAt'>;

/** Packs a text: 5 MiB of JSON have less than 1 MB then, and at most 4 MB. */
export async function packText(text: string): Promise<string> {
  return (await promisify(gzip)(text)).toString('base64');
}

export async function unpackText(packed: string): Promise<string> {
  return (await promisify(gunzip)(Buffer.from(packed, 'base64'))).toString('utf8');
}

/** Finds the SBOM of a release without its content. */
export async function findSbomInfo(db: Db, releaseId: number): Promise<SbomInfo | undefined> {
  const row = await db(table(db, 'release_sboms'))
    .where({ release_id: releaseId })
    .first<RowOf<SbomInfo> | undefined>('format', 'origin', 'created_at');
  return row && rowToFields(row);
}

export async function findSbom(db: Db, releaseId: number): Promise<ReleaseSbom | undefined> {
  const row = await db(table(db, 'release_sboms')).where({ release_id: releaseId }).first();
  return row && rowToFields(row);
}

/** Stores the SBOM of a release, in place of an earlier one. Its product must be locked. */
export async function putSbom(
  trx: Transaction,
  sbom: Omit<ReleaseSbom, 'id'> & { id?: number },
): Promise<void> {
  const { releaseId, ...fields } = sbom;
  const of = { release_id: releaseId };
  // MySQL does not count a row that an update leaves unchanged.
  if (await findSbomInfo(trx, releaseId))
    await trx(table(trx, 'release_sboms')).where(of).update(fieldsToRow(fields));
  else await trx(table(trx, 'release_sboms')).insert(fieldsToRow(sbom));
}

/** Deletes the SBOM of a draft, whose package was replaced. A published or withdrawn version keeps its SBOM. */
export async function deleteDraftSbom(trx: Transaction, releaseId: number): Promise<void> {
  const draft = trx(table(trx, 'releases')).where({ id: releaseId, state: 'draft' }).select('id');
  await trx(table(trx, 'release_sboms')).whereIn('release_id', draft).delete();
}

/** Lists the published and withdrawn security releases that have no SBOM. */
export async function listWithoutSbom(db: Db): Promise<Pick<Release, 'productId' | 'version'>[]> {
  const rows = await db(table(db, 'releases'))
    .where({ security: 1 })
    .whereIn('state', ['published', 'withdrawn'])
    .whereNotIn('id', db(table(db, 'release_sboms')).select('release_id'))
    .orderBy('id')
    .select('product_id', 'version');
  return rows.map(rowToFields);
}
