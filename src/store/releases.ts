import { table, type Db } from './database';
import { fromSqlTime, toSqlTime } from './time';

/** In the order a version goes through. */
export const RELEASE_STATES = ['draft', 'published', 'withdrawn'] as const;
export type ReleaseState = (typeof RELEASE_STATES)[number];

export interface Release {
  id: number;
  productId: number;
  version: string;
  /** see licensing/versions.ts */
  versionOrder: string;
  state: ReleaseState;
  changelog: string;
  publishedAt: Date | null;
  /** the file name of the download */
  fileName: string;
  /** bytes */
  fileSize: number;
  sha256: string;
  sha384: string;
  sha512: string;
  createdAt: Date;
}

interface ReleaseRow {
  id: number;
  product_id: number;
  version: string;
  version_order: string;
  state: ReleaseState;
  changelog: string;
  published_at: string | null;
  file_name: string;
  file_size: number;
  sha256: string;
  sha384: string;
  sha512: string;
  created_at: string;
}

export async function findRelease(db: Db, productId: number, version: string): Promise<Release | undefined> {
  const row = (await db(table(db, 'releases')).where({ product_id: productId, version }).first()) as
    ReleaseRow | undefined;
  return row && toRelease(row);
}

/** A product's published versions, highest first. */
export async function listPublishedVersions(db: Db, productId: number): Promise<string[]> {
  return db(table(db, 'releases'))
    .where({ product_id: productId, state: 'published' })
    .orderBy('version_order', 'desc')
    .pluck<string[]>('version');
}

/** All of a product's releases, highest version first. */
export async function listReleases(db: Db, productId: number): Promise<Release[]> {
  const rows = (await db(table(db, 'releases'))
    .where({ product_id: productId })
    .orderBy('version_order', 'desc')) as ReleaseRow[];
  return rows.map(toRelease);
}

const STATES_WITH_PACKAGE: ReleaseState[] = ['published', 'draft'];

/** Whether a version in this state needs its package. A withdrawn one may have lost it. */
export function needsPackage(state: ReleaseState): boolean {
  return STATES_WITH_PACKAGE.includes(state);
}

/** All versions that need their package. */
export async function listPackages(db: Db): Promise<Release[]> {
  const rows = (await db(table(db, 'releases'))
    .whereIn('state', STATES_WITH_PACKAGE)
    .orderBy('id')) as ReleaseRow[];
  return rows.map(toRelease);
}

/** @throws a duplicate (`isDuplicate`) when the version exists already */
export async function insertRelease(db: Db, release: Omit<Release, 'id'>): Promise<void> {
  await db(table(db, 'releases')).insert({
    product_id: release.productId,
    version: release.version,
    version_order: release.versionOrder,
    state: release.state,
    changelog: release.changelog,
    published_at: release.publishedAt && toSqlTime(release.publishedAt),
    file_name: release.fileName,
    file_size: release.fileSize,
    sha256: release.sha256,
    sha384: release.sha384,
    sha512: release.sha512,
    created_at: toSqlTime(release.createdAt),
  });
}

export type ReleaseChanges = Partial<
  Pick<
    Release,
    'state' | 'changelog' | 'publishedAt' | 'fileName' | 'fileSize' | 'sha256' | 'sha384' | 'sha512'
  >
>;

/**
 * Changes a release if its state is still the one the caller saw.
 *
 * @returns false when somebody else changed it meanwhile; nothing was changed
 */
export async function setRelease(
  db: Db,
  id: number,
  seen: ReleaseState,
  changes: ReleaseChanges,
): Promise<boolean> {
  const changed = await db(table(db, 'releases'))
    .where({ id, state: seen })
    .update({
      state: changes.state,
      changelog: changes.changelog,
      published_at: changes.publishedAt && toSqlTime(changes.publishedAt),
      file_name: changes.fileName,
      file_size: changes.fileSize,
      sha256: changes.sha256,
      sha384: changes.sha384,
      sha512: changes.sha512,
    });
  return changed === 1;
}

function toRelease(row: ReleaseRow): Release {
  return {
    id: row.id,
    productId: row.product_id,
    version: row.version,
    versionOrder: row.version_order,
    state: row.state,
    changelog: row.changelog,
    publishedAt: row.published_at === null ? null : fromSqlTime(row.published_at),
    fileName: row.file_name,
    fileSize: row.file_size,
    sha256: row.sha256,
    sha384: row.sha384,
    sha512: row.sha512,
    createdAt: fromSqlTime(row.created_at),
  };
}
