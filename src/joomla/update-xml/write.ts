import { dirname, join } from 'node:path';
import { bundlesWith, readCatalogue } from '../../licensing/bundles';
import { rolloutsOf, sharesOf } from '../../licensing/updates';
import { compareVersions, stabilityOf, type Stability } from '../../licensing/versions';
import { makeFolder, type ProtectedFile } from '../../packages/replace-file';
import { asCaller } from '../../process/rights';
import { listPlans, lockProduct, setProduct, setUpdateXmlSettings } from '../../store/catalogue';
import type { Db } from '../../store/engine/database';
import { listReleases, FULL_ROLLOUT, type Release } from '../../store/releases';
import { inTransaction } from '../../store/engine/transaction';
import { renderChangelog, changelogBeside } from '../changelog';
import { ROLLOUT_BUCKETS, removeBucketFiles, writeXmlFiles, type XmlFiles } from './files';
import { planUpdates, type BlockedVersions, type PlannedUpdate } from './plan-updates';
import { addressOf, findOrphanedFile, requireTarget, type XmlLocation } from './location';
import { mergeOptions, type SavedOptions, type Requirements, type UpdateXmlSettings } from './saved-options';
import { renderUpdateXml } from './render';
import { readSettings, type UpdateXmlInput, type KnownProduct } from './settings';

interface WrittenUpdate extends Requirements {
  version: string;
  tag: Stability;
}

export interface WrittenXml {
  out: string;
  /** the URL that customers' sites read; null if unknown */
  url: string | null;
  xml: string;
  updates: WrittenUpdate[];
  /** the versions that only a share of the addresses is offered, highest first */
  rollouts: { version: string; percent: number }[];
  heldBack: BlockedVersions | undefined;
  /** the file that was written before, if it differs and still exists */
  leftBehind: string | undefined;
  /** the element, if it was taken for a package's because neither its prefix nor an option has the type */
  assumedPackage: string | undefined;
}

/**
 * Writes a product's update XML, the update feed of Joomla, and stores the new settings; an empty text clears one. A
 * relative `out` begins at `cwd`, and files of `own` are never overwritten.
 *
 * It holds the lock of the product's row. If two writers run at the same time, the second reads the releases after the
 * first has renamed its file, so the remaining file has the changes of both.
 * @throws OperatorError, after which nothing is written or stored
 */
export function writeUpdateXml(
  db: Db,
  productId: number,
  given: UpdateXmlInput,
  cwd: string,
  own: ProtectedFile[] = [],
  home?: XmlLocation,
): Promise<WrittenXml> {
  return inTransaction(db, async (trx) => {
    await lockProduct(trx, productId);
    const planned = await planUpdateXml(trx, productId, given, cwd, home);
    const { product, out, url, xml, remember, remembered } = planned;
    const place = await asNamed(given, async () => {
      if (planned.file !== undefined) await makeFolder(dirname(out));
      const found = await requireTarget(out, own);
      await writeXmlFiles(planned.files, own);
      return found;
    });
    if (given.element !== undefined) await setProduct(trx, productId, { element: product.element });
    await setUpdateXmlSettings(trx, productId, JSON.stringify(remember));
    const before =
      remembered.out ?? (remembered.file && home ? join(home.xmlDir, remembered.file) : undefined);
    // If root wrote it for an earlier `--out`, only root can find and remove it.
    const leftBehind = await asNamed(given, async () => {
      const left = await findOrphanedFile(before, place);
      if (left !== undefined) await removeBucketFiles(left);
      return left;
    });
    return {
      out,
      url,
      xml,
      leftBehind,
      assumedPackage: planned.assumedPackage,
      heldBack: planned.heldBack,
      updates: planned.updates,
      rollouts: planned.rollouts,
    };
  });
}

/** Refuses settings that `writeUpdateXml` would refuse, before anything else is done. */
export async function requireUpdateXmlSettings(
  db: Db,
  productId: number,
  given: UpdateXmlInput,
  cwd: string,
  own: ProtectedFile[],
  home?: XmlLocation,
): Promise<void> {
  const { settings } = await readSettings(db, productId, given, cwd, home);
  await asNamed(given, () => requireTarget(settings.out, own));
}

/** Runs work as root only for a file that root names now. The service writes a file that was named earlier. */
function asNamed<T>({ out }: UpdateXmlInput, work: () => Promise<T>): Promise<T> {
  return out ? asCaller(work) : work();
}

interface PlannedXml extends Omit<WrittenXml, 'leftBehind'> {
  product: KnownProduct;
  /** the name in LICENSING_XML_DIR; undefined if the file is elsewhere */
  file: string | undefined;
  files: XmlFiles;
  remembered: SavedOptions;
  remember: SavedOptions;
}

/** Returns what `writeUpdateXml` would write now. @throws OperatorError */
export async function planUpdateXml(
  db: Db,
  productId: number,
  given: UpdateXmlInput,
  cwd: string,
  home: XmlLocation | undefined,
): Promise<PlannedXml> {
  const known = await readSettings(db, productId, given, cwd, home);
  const { product, settings, remembered, file } = known;
  const releases = await listReleases(db, productId);
  const published = releases.filter(({ state }) => state === 'published');
  const isHome = home?.xmlDir === dirname(settings.out);
  // In other folders, no web server is known to look for the files of buckets.
  const shares = isHome ? sharesOf(published) : [FULL_ROLLOUT];
  const plans = shares.map((share) => ({
    share,
    ...planUpdates(releases, settings, remembered, given, share),
  }));
  const whole = plans.at(-1) as (typeof plans)[number];
  const url = home === undefined ? null : addressOf(settings.out, settings.baseUrl, home);
  const changelogUrl = url === null ? undefined : changelogBeside(url);
  const render = (updates: PlannedUpdate[]) => renderUpdateXml(product, settings, updates, changelogUrl);
  const xml = render(whole.updates);
  const needsUpTo = isHome && (await isSoldWithLastRelease(db, productId));
  const place = file === undefined ? { out: settings.out } : { file };
  const isStaged = new Set(rolloutsOf(published));
  // The API only offers the newest version; the file also offers older ones, for sites that cannot run it.
  const offersTo = (below: number) =>
    below === FULL_ROLLOUT ? [] : (plans.find(({ share }) => share === below)?.updates ?? []);
  const considered = plans.flatMap((plan) => plan.considered);
  const offered = plans.flatMap((plan) => plan.updates);
  return {
    product,
    out: settings.out,
    url,
    file,
    xml,
    files: {
      out: settings.out,
      xml,
      changelog: renderChangelog({ element: product.element, type: settings.type }, published),
      buckets: bucketsOf(
        plans.slice(0, -1).map(({ share, updates }) => ({ share, xml: render(updates) })),
        xml,
      ),
      upTo: new Map(
        needsUpTo
          ? published
              .slice(1)
              .map((release) => [release.version, render([alone(release, settings, remembered)])])
          : [],
      ),
    },
    remembered,
    remember: toRemember(remembered, given, place, considered, offered),
    assumedPackage: known.isTypeAssumed ? product.element : undefined,
    heldBack: whole.heldBack,
    updates: whole.updates.map(({ release, ...written }) => ({ version: release.version, ...written })),
    rollouts: published
      .filter((one) => isStaged.has(one) || offersTo(one.rollout).some(({ release }) => release === one))
      .map(({ version, rollout }) => ({ version, percent: rollout })),
  };
}

/** Returns each bucket's XML. Each share has the lowest buckets, so those of a smaller share are in all larger ones. */
function bucketsOf(shares: { share: number; xml: string }[], whole: string): Map<number, string> {
  const buckets = new Map<number, string>();
  let from = 0;
  for (const { share, xml } of shares) {
    const to = Math.ceil((share * ROLLOUT_BUCKETS) / FULL_ROLLOUT);
    for (let bucket = from; bucket < to; bucket++) if (xml !== whole) buckets.set(bucket, xml);
    from = to;
  }
  return buckets;
}

/** Returns a version as it was offered when it was the newest. */
function alone(
  release: Release,
  settings: UpdateXmlSettings,
  { versions = {} }: SavedOptions,
): PlannedUpdate {
  const { targetPlatform, phpMinimum, supportedDatabases, tag } = {
    ...settings,
    ...versions[release.version],
  };
  return {
    release,
    targetPlatform,
    phpMinimum,
    supportedDatabases,
    tag: tag ?? stabilityOf(release.version),
  };
}

/** Reports whether a licence for the product, or for a bundle with it, still covers a version after its end. */
async function isSoldWithLastRelease(db: Db, productId: number): Promise<boolean> {
  const selling = new Set([
    productId,
    ...bundlesWith(await readCatalogue(db), productId).map(({ id }) => id),
  ]);
  return (await listPlans(db)).some(
    ({ productId: id, afterExpiry }) => afterExpiry !== 'nothing' && selling.has(id),
  );
}

function toRemember(
  { versions: known = {}, ...before }: SavedOptions,
  { element: _element, tag: givenTag, allowDowngrade: _once, ...given }: UpdateXmlInput,
  place: Pick<SavedOptions, 'out' | 'file'>,
  planned: PlannedUpdate[],
  offered: PlannedUpdate[],
): SavedOptions {
  // The first plan has every version; a version is in several plans while it is rolled out.
  const once = [...new Map(planned.toReversed().map((update) => [update.release.version, update])).values()];
  const inOrder = once.sort((a, b) => compareVersions(b.release.version, a.release.version));
  const isOffered = ({ release }: PlannedUpdate) => offered.some((one) => one.release.id === release.id);
  const versions = inOrder.map((update) => {
    const { release, tag, targetPlatform, phpMinimum, supportedDatabases, downgradeAllowed } = update;
    const isHighest = release.id === planned[0]?.release.id;
    const tagged = (isHighest && givenTag !== undefined) || known[release.version]?.tag !== undefined;
    const written = {
      targetPlatform,
      phpMinimum,
      supportedDatabases,
      ...(tagged ? { tag } : {}),
      ...(isOffered(update) ? {} : { notOffered: true as const }),
      ...(downgradeAllowed ? { downgradeAllowed } : {}),
    };
    return [release.version, written] as const;
  });
  return {
    ...mergeOptions(before, { ...given, out: '', file: '', ...place }),
    versions: Object.fromEntries(versions),
  };
}
