import { table, type Db } from './engine/database';
import { fieldsToRow, rowToFields, type RowOf } from './engine/row-fields';
import { rawRows } from './engine/statements';

export const RELEASE_STATES = ['draft', 'published', 'withdrawn'] as const;
export type ReleaseState = (typeof RELEASE_STATES)[number];

/** The percentage at which every address is offered the version. */
export const FULL_ROLLOUT = 100;

export interface Release {
  id: number;
  productId: number;
  version: string;
  /** see licensing/versions.ts */
  versionOrder: string;
  state: ReleaseState;
  changelog: string;
  /** staged rollout: the share of addresses that are offered it, 1 to 100 percent */
  rollout: number;
  /** whether it closes a security hole */
  security: boolean;
  /** when the customers were notified of it by mail; null: not notified */
  notifiedAt: Date | null;
  publishedAt: Date | null;
  /** the file name of the download */
  fileName: string;
  /** bytes */
  fileSize: number;
  sha256: string;
  sha384: string;
  sha512: string;
  createdAt: Date;
  /** advice for the users of a security release, in Markdown */
  advisory: string | null;
  /** the names of the vulnerabilities that it closes */
  cve: string[];
  /** the id of the release whose fix it brings to another branch */
  sameFixAs: number | null;
}

/** Finds a version in any state, without the query builder, because every batch of downloads needs it. */
export async function findRelease(db: Db, productId: number, version: string): Promise<Release | undefined> {
  const [row] = await rawRows<RowOf<Release>>(
    db,
    `SELECT * FROM ${table(db, 'releases')} WHERE product_id = ? AND version = ?`,
    [productId, version],
  );
  return row && rowToFields(row);
}

export async function findReleaseById(db: Db, id: number): Promise<Release | undefined> {
  const row = await db(table(db, 'releases')).where({ id }).first();
  return row && rowToFields(row);
}

/** A published version, and the share of addresses that are offered it. */
export type PublishedVersion = Pick<Release, 'version' | 'rollout' | 'security' | 'publishedAt'>;

/** Lists a product's published versions, highest first. */
export async function listPublished(db: Db, productId: number): Promise<PublishedVersion[]> {
  const rows = await db(table(db, 'releases'))
    .where({ product_id: productId, state: 'published' })
    .orderBy('version_order', 'desc')
    .select('version', 'rollout', 'security', 'published_at');
  return rows.map(rowToFields);
}

/** Lists the versions of a product that are or were published. */
export async function listEverPublished(
  db: Db,
  productId: number,
): Promise<Pick<Release, 'version' | 'publishedAt'>[]> {
  const rows = await db(table(db, 'releases'))
    .where({ product_id: productId })
    .whereNotNull('published_at')
    .select('version', 'published_at');
  return rows.map(rowToFields);
}

/** Lists the same versions as `listPublished`, without their rollouts. */
export async function listPublishedVersions(db: Db, productId: number): Promise<string[]> {
  return (await listPublished(db, productId)).map(({ version }) => version);
}

/** Finds a product's highest published security release. */
export async function findSecurityRelease(db: Db, productId: number): Promise<Release | undefined> {
  const row = await db(table(db, 'releases'))
    .where({ product_id: productId, state: 'published', security: 1 })
    .orderBy('version_order', 'desc')
    .first();
  return row && rowToFields(row);
}

/** The facts of a release that links it with releases that bring the same fix to other branches. */
export type FixLink = Pick<
  Release,
  'id' | 'version' | 'state' | 'security' | 'sameFixAs' | 'notifiedAt' | 'publishedAt'
>;

/** Lists the links between all releases of a product, highest version first. */
export async function listFixLinks(db: Db, productId: number): Promise<FixLink[]> {
  const rows = await db(table(db, 'releases'))
    .where({ product_id: productId })
    .orderBy('version_order', 'desc')
    .select('id', 'version', 'state', 'security', 'same_fix_as', 'notified_at', 'published_at');
  return rows.map(rowToFields);
}

/** Lists a product's releases, highest version first. */
export async function listReleases(db: Db, productId: number): Promise<Release[]> {
  const found = db(table(db, 'releases')).where({ product_id: productId });
  return (await found.orderBy('version_order', 'desc')).map(rowToFields);
}

/** A time that sorts unpublished releases last. */
export const UNPUBLISHED = '9999-12-31 23:59:59';

/** Lists a page of a product's releases by version, or by publication time and then version. */
export async function listReleasesSorted(
  db: Db,
  productId: number,
  {
    byTime,
    isDown,
    after,
    limit,
  }: {
    byTime: boolean;
    isDown: boolean;
    after?: { versionOrder: string; publishedAt?: string | undefined } | undefined;
    limit: number;
  },
): Promise<Release[]> {
  const [way, further] = isDown ? ['DESC', '<'] : ['ASC', '>'];
  const time = `COALESCE(published_at, '${UNPUBLISHED}')`;
  const query = db(table(db, 'releases'))
    .where({ product_id: productId })
    .orderByRaw(`${byTime ? `${time} ${way}, ` : ''}version_order ${way}`)
    .limit(limit);
  if (after?.publishedAt !== undefined)
    query.whereRaw(`(${time} ${further} ? OR (${time} = ? AND version_order ${further} ?))`, [
      after.publishedAt,
      after.publishedAt,
      after.versionOrder,
    ]);
  else if (after !== undefined) query.where('version_order', further, after.versionOrder);
  return (await query).map(rowToFields);
}

/** Lists the published releases of some products, highest version first. @param changelogs false: leaves them empty */
export async function listPublishedReleases(
  db: Db,
  productIds: number[],
  { changelogs }: { changelogs: boolean },
): Promise<Release[]> {
  if (productIds.length === 0) return [];
  const rows = await db(table(db, 'releases'))
    .whereIn('product_id', productIds)
    .where({ state: 'published' })
    .orderBy('version_order', 'desc')
    .select<RowOf<Release>[]>(...COLUMNS, changelogs ? 'changelog' : db.raw("'' AS changelog"));
  return rows.map(rowToFields);
}

/** All columns except the changelog, which may be long. */
const COLUMNS = [
  ...['id', 'product_id', 'version', 'version_order', 'state', 'rollout', 'published_at', 'file_name'],
  ...['file_size', 'sha256', 'sha384', 'sha512', 'created_at'],
  ...['security', 'notified_at', 'advisory', 'cve', 'same_fix_as'],
];

const STATES_WITH_PACKAGE: ReleaseState[] = ['published', 'draft'];

/** Reports whether a version in this state cannot be given without its package. */
export function needsPackage(state: ReleaseState): boolean {
  return STATES_WITH_PACKAGE.includes(state);
}

/**
 * Lists all versions whose package must exist. A security release keeps it after its withdrawal, because security updates
 * stay available for ten years (Regulation (EU) 2024/2847, Article 13(9)). Another withdrawn version may have lost it.
 */
export async function listPackages(db: Db): Promise<Release[]> {
  const rows = await db(table(db, 'releases'))
    .where((any) => any.whereIn('state', STATES_WITH_PACKAGE).orWhere({ security: 1 }))
    .orderBy('id');
  return rows.map(rowToFields);
}

/** A release to insert; by default, it is not a security release. */
type NewRelease = Omit<Release, 'id' | 'notifiedAt' | keyof ReleaseOptions> & Partial<ReleaseOptions>;
type ReleaseOptions = Pick<Release, 'rollout' | 'security' | 'advisory' | 'cve' | 'sameFixAs'>;

/** @throws a duplicate (`isDuplicate`) if the version already exists */
export async function insertRelease(db: Db, release: NewRelease): Promise<void> {
  await db(table(db, 'releases')).insert(fieldsToRow(release));
}

export type ReleaseChanges = Partial<
  Omit<Release, 'id' | 'productId' | 'version' | 'versionOrder' | 'createdAt'>
>;

/** Changes a release if its state is still `seen`. @returns false if the state was changed meanwhile */
export async function setRelease(
  db: Db,
  id: number,
  seen: ReleaseState,
  changes: ReleaseChanges,
): Promise<boolean> {
  const changed = await db(table(db, 'releases')).where({ id, state: seen }).update(fieldsToRow(changes));
  return changed === 1;
}
