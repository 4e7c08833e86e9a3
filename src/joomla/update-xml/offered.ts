import {
  compareVersions,
  isPrerelease,
  stabilityOf,
  STABILITIES,
  type Stability,
} from '../../licensing/versions';
import { offeredTo, reaching } from '../../licensing/updates';
import type { Db } from '../../store/engine/database';
import { listPublished, WHOLE_ROLLOUT, type PublishedVersion, type Release } from '../../store/releases';
import { coversPlatform, overlapsPlatform } from '../target-platform';
import {
  DATABASES,
  findRemembered,
  type DatabaseMinimums,
  type Remembered,
  type Requirements,
  type Settings,
} from './remembered';
import type { GivenSettings } from './settings';

export interface PlannedUpdate extends Requirements {
  release: Release;
  tag: Stability;
  /** for a withdrawn version: lower versions may be offered */
  downgradeAllowed?: true;
}

/** Versions that are left out because the higher version `withdrawn` was withdrawn, the highest first. */
export interface HeldBack {
  versions: string[];
  withdrawn: string;
}

/**
 * What an update XML offers, what is stored of each version that was considered, and what is held back.
 *
 * @param share leaves out versions that are rolled out to fewer addresses, in percent
 */
export function planUpdates(
  releases: Release[],
  settings: Settings,
  remembered: Remembered,
  { tag, allowDowngrade }: Pick<GivenSettings, 'tag' | 'allowDowngrade'>,
  share = WHOLE_ROLLOUT,
): { updates: PlannedUpdate[]; considered: PlannedUpdate[]; heldBack: HeldBack | undefined } {
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
  // Even none, so that the last withdrawn version is no longer offered.
  const updates = suitable.filter((update) => !standing.some((one) => holdsBack(one, update)));
  return {
    updates,
    considered: [...suitable, ...gone],
    heldBack: describeHeldBack(suitable, updates, standing),
  };
}

/**
 * The published versions some site is offered, the highest first: the latest release, a newer pre-release, and older
 * versions for a Joomla, PHP or database that newer ones do not support. `withdrawn` were offered before.
 */
function updatesThatMatter(
  releases: Release[],
  withdrawn: Release[],
  settings: Settings,
  { versions = {} }: Remembered,
  { tag, share }: { tag: Stability | undefined; share: number },
): PlannedUpdate[] {
  const proper = [...releases, ...withdrawn].filter(({ version }) => !isPrerelease(version));
  const planned: PlannedUpdate[] = [];
  for (const release of reaching(releases, share)) {
    const { version } = release;
    const known = versions[version];
    // New settings apply to the newest version; older versions keep the settings they were written with.
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
  { targetPlatform, phpMinimum, supportedDatabases }: Settings,
  { versions = {} }: Remembered,
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
 * Whether a withdrawn version keeps a lower one from being offered. A site that still lists the withdrawn version
 * installs the one it then finds without comparing it with the installed one (UpdateModel::update). Too few sites list
 * a pre-release for it to hold a release back.
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
): HeldBack | undefined {
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

/** Whether every site that may have the older version may also have the newer one. */
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

/** The version that sites are offered by a product's update XML; undefined: none. */
export async function findOfferedVersion(db: Db, productId: number): Promise<string | undefined> {
  return offeredTo(await listOffered(db, productId))?.version;
}

/** A product's published versions that every site may be offered, and that are not held back, the highest first. */
export async function listOfferedVersions(db: Db, productId: number): Promise<string[]> {
  return (await listOffered(db, productId)).map(({ version }) => version);
}

async function listOffered(db: Db, productId: number): Promise<PublishedVersion[]> {
  const published = reaching(await listPublished(db, productId), WHOLE_ROLLOUT);
  const { versions = {} } = await findRemembered(db, productId);
  const notOffered = Object.keys(versions).filter((version) => {
    const { notOffered: isOut, downgradeAllowed } = versions[version] ?? {};
    return isOut && !downgradeAllowed;
  });
  return published.filter(({ version }) => isLeftOut(version, notOffered));
}

/** Whether an update XML has neither a version nor a higher one. A pre-release does not replace a release. */
export function isLeftOut(version: string, offered: string[]): boolean {
  return !offered.some(
    (other) =>
      compareVersions(other, version) >= 0 &&
      (other === version || isPrerelease(version) || !isPrerelease(other)),
  );
}
