import {
  compareVersions,
  isPrerelease,
  stabilityOf,
  STABILITIES,
  type Stability,
} from '../../licensing/versions';
import { releaseForShare, reaching } from '../../licensing/updates';
import type { Db } from '../../store/engine/database';
import { listPublished, FULL_ROLLOUT, type PublishedVersion, type Release } from '../../store/releases';
import { coversPlatform, overlapsPlatform } from '../target-platform';
import {
  DATABASES,
  readSavedOptions,
  type DatabaseMinimums,
  type SavedOptions,
  type Requirements,
  type UpdateXmlSettings,
} from './saved-options';
import type { UpdateXmlInput } from './settings';

export interface PlannedUpdate extends Requirements {
  release: Release;
  tag: Stability;
  /** set for a withdrawn version if lower versions may be offered */
  downgradeAllowed?: true;
}

/** Versions that are left out because the higher version `withdrawn` was withdrawn, highest first. */
export interface BlockedVersions {
  versions: string[];
  withdrawn: string;
}

/**
 * Plans the versions in an update XML, the data to store about all considered versions, and the versions held back.
 * @param share leaves out versions that are rolled out to fewer addresses, in percent
 */
export function planUpdates(
  releases: Release[],
  settings: UpdateXmlSettings,
  remembered: SavedOptions,
  { tag, allowDowngrade }: Pick<UpdateXmlInput, 'tag' | 'allowDowngrade'>,
  share = FULL_ROLLOUT,
): { updates: PlannedUpdate[]; considered: PlannedUpdate[]; heldBack: BlockedVersions | undefined } {
  const published = releases.filter(({ state }) => state === 'published');
  const withdrawn = releases.filter(
    ({ state, version }) => state === 'withdrawn' && remembered.versions?.[version] !== undefined,
  );
  const suitable = updatesThatMatter(published, withdrawn, settings, remembered, { tag, share });
  const gone = withdrawn
    .map((release) => withdrawnUpdate(release, settings, remembered, allowDowngrade))
    // A site that lists the withdrawn version installs the higher one instead.
    .filter((one) => !suitable.some((update) => isAbove(update, one) && covers(update, one)));
  const standing = gone.filter(({ downgradeAllowed }) => !downgradeAllowed);
  // This may leave no version, so that the last withdrawn one is no longer offered.
  const updates = suitable.filter((update) => !standing.some((one) => holdsBack(one, update)));
  return {
    updates,
    considered: [...suitable, ...gone],
    heldBack: describeHeldBack(suitable, updates, standing),
  };
}

/**
 * Returns the published versions that some sites need, highest first: the latest release, a newer pre-release, and
 * older versions for a Joomla, PHP or database that newer ones do not support. `withdrawn` were offered before.
 */
function updatesThatMatter(
  releases: Release[],
  withdrawn: Release[],
  settings: UpdateXmlSettings,
  { versions = {} }: SavedOptions,
  { tag, share }: { tag: Stability | undefined; share: number },
): PlannedUpdate[] {
  const proper = [...releases, ...withdrawn].filter(({ version }) => !isPrerelease(version));
  const planned: PlannedUpdate[] = [];
  for (const release of reaching(releases, share)) {
    const { version } = release;
    const known = versions[version];
    // New settings apply to the newest version. Older versions keep the settings with which they were written.
    const current = proper.every((other) => compareVersions(version, other.version) >= 0);
    const { targetPlatform, phpMinimum, supportedDatabases } = current ? settings : (known ?? settings);
    const update: PlannedUpdate = {
      release,
      tag: (release === releases[0] ? tag : undefined) ?? known?.tag ?? stabilityOf(version),
      targetPlatform,
      phpMinimum,
      supportedDatabases,
    };
    if (!planned.some((newer) => covers(newer, update))) planned.push(update);
  }
  return planned;
}

function withdrawnUpdate(
  release: Release,
  { targetPlatform, phpMinimum, supportedDatabases }: UpdateXmlSettings,
  { versions = {} }: SavedOptions,
  allowDowngrade = false,
): PlannedUpdate {
  const { version } = release;
  return {
    release,
    targetPlatform,
    phpMinimum,
    supportedDatabases,
    tag: stabilityOf(version),
    ...versions[version],
    ...(allowDowngrade ? { downgradeAllowed: true } : {}),
  };
}

/**
 * Reports whether a withdrawn version prevents the offer of a lower one. A site that still lists the withdrawn version
 * would install the lower one without comparing it with the installed one (UpdateModel::update). A pre-release does not
 * hold a release back, because too few sites list it.
 */
function holdsBack(withdrawn: PlannedUpdate, update: PlannedUpdate): boolean {
  return (
    isAbove(withdrawn, update) &&
    STABILITIES.indexOf(withdrawn.tag) >= STABILITIES.indexOf(update.tag) &&
    overlapsPlatform(withdrawn.targetPlatform, update.targetPlatform)
  );
}

function describeHeldBack(
  suitable: PlannedUpdate[],
  updates: PlannedUpdate[],
  [highest]: PlannedUpdate[],
): BlockedVersions | undefined {
  const heldBack = suitable.filter((update) => !updates.includes(update));
  if (highest === undefined || heldBack.length === 0) return undefined;
  return {
    versions: heldBack.map(({ release }) => release.version),
    withdrawn: highest.release.version,
  };
}

function isAbove(one: PlannedUpdate, other: PlannedUpdate): boolean {
  return compareVersions(one.release.version, other.release.version) > 0;
}

/** Reports whether every site that may have the older version may also have the newer one. */
function covers(newer: PlannedUpdate, older: PlannedUpdate): boolean {
  return (
    STABILITIES.indexOf(newer.tag) >= STABILITIES.indexOf(older.tag) &&
    coversPlatform(newer.targetPlatform, older.targetPlatform) &&
    compareVersions(newer.phpMinimum, older.phpMinimum) <= 0 &&
    coversDatabases(newer.supportedDatabases, older.supportedDatabases)
  );
}

function coversDatabases(newer: DatabaseMinimums, older: DatabaseMinimums): boolean {
  if (Object.keys(newer).length === 0) return true;
  return (
    Object.keys(older).length > 0 &&
    DATABASES.every((name) => {
      const [needed, before] = [newer[name], older[name]];
      return before === undefined || (needed !== undefined && compareVersions(needed, before) <= 0);
    })
  );
}

/** Returns the version that sites are offered by a product's update XML; undefined if there is none. */
export async function findOfferedVersion(db: Db, productId: number): Promise<string | undefined> {
  return releaseForShare(await listOffered(db, productId))?.version;
}

/** Lists a product's published versions that every site may be offered and that are not held back, highest first. */
export async function listOfferedVersions(db: Db, productId: number): Promise<string[]> {
  return (await listOffered(db, productId)).map(({ version }) => version);
}

async function listOffered(db: Db, productId: number): Promise<PublishedVersion[]> {
  const published = reaching(await listPublished(db, productId), FULL_ROLLOUT);
  const { versions = {} } = await readSavedOptions(db, productId);
  const notOffered = Object.keys(versions).filter((version) => {
    const { notOffered: isOut, downgradeAllowed } = versions[version] ?? {};
    return isOut && !downgradeAllowed;
  });
  return published.filter(({ version }) => isNotOffered(version, notOffered));
}

/** Reports whether an update XML contains neither a version nor a higher one. A pre-release does not replace a release. */
export function isNotOffered(version: string, offered: string[]): boolean {
  return !offered.some(
    (other) =>
      compareVersions(other, version) >= 0 &&
      (other === version || isPrerelease(version) || !isPrerelease(other)),
  );
}
