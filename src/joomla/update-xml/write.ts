import { dirname, join } from 'node:path';
import type { Stability } from '../../licensing/versions';
import { makeFolder, replaceFile, type OwnFile } from '../../packages/replace-file';
import { lockProduct, setProduct, setUpdateXmlSettings } from '../../store/catalogue';
import type { Db } from '../../store/database';
import { listReleases } from '../../store/releases';
import { inTransaction } from '../../store/transaction';
import { planUpdates, type HeldBack, type PlannedUpdate } from './offered';
import { addressOf, findLeftBehind, requirePlace, type XmlHome } from './place';
import { withGiven, type Remembered, type Requirements } from './remembered';
import { renderUpdateXml } from './render';
import { readSettings, type GivenSettings, type KnownProduct } from './settings';

interface WrittenUpdate extends Requirements {
  version: string;
  tag: Stability;
}

export interface WrittenXml {
  out: string;
  /** where customers' sites ask for it; null: not known */
  url: string | null;
  xml: string;
  updates: WrittenUpdate[];
  heldBack: HeldBack | undefined;
  /** the file written before, if it differs and still exists */
  leftBehind: string | undefined;
  /** the element, if it was assumed to be a package's because neither its prefix nor an option gives its type */
  assumedPackage: string | undefined;
}

/**
 * Writes a product's update XML and stores the given settings; an empty text clears one. A relative `out` starts at
 * `cwd`, and files of `own` are never overwritten.
 *
 * All of it happens under the lock of the product's row: of two writers at the same time, the later one reads the
 * releases after the earlier one has renamed its file, so the file that stays has the changes of both.
 * @throws OperatorError with nothing written or stored
 */
export function writeUpdateXml(
  db: Db,
  productId: number,
  given: GivenSettings,
  cwd: string,
  own: OwnFile[] = [],
  home?: XmlHome,
): Promise<WrittenXml> {
  return inTransaction(db, async (trx) => {
    await lockProduct(trx, productId);
    const planned = await planUpdateXml(trx, productId, given, cwd, home);
    const { product, out, url, xml, remember, remembered } = planned;
    if (planned.file !== undefined) await makeFolder(dirname(out));
    const place = await requirePlace(out, own);
    // The web server must be able to read it. The operator may restrict other readers, and nobody lets everybody write it.
    await replaceFile(place, (place.there?.mode ?? 0) & 0o775 || 0o644, (sink) => sink(xml));
    if (given.element !== undefined) await setProduct(trx, productId, { element: product.element });
    await setUpdateXmlSettings(trx, productId, JSON.stringify(remember));
    const before =
      remembered.out ?? (remembered.file && home ? join(home.xmlDir, remembered.file) : undefined);
    return {
      out,
      url,
      xml,
      leftBehind: await findLeftBehind(before, place),
      assumedPackage: planned.assumedPackage,
      heldBack: planned.heldBack,
      updates: planned.updates,
    };
  });
}

/** Refuses what `writeUpdateXml` would refuse, before anything else is done. */
export async function requireUpdateXmlSettings(
  db: Db,
  productId: number,
  given: GivenSettings,
  cwd: string,
  own: OwnFile[],
  home?: XmlHome,
): Promise<void> {
  const { settings } = await readSettings(db, productId, given, cwd, home);
  await requirePlace(settings.out, own);
}

interface PlannedXml extends Omit<WrittenXml, 'leftBehind'> {
  product: KnownProduct;
  /** the name in LICENSING_XML_DIR; undefined: the file lies elsewhere */
  file: string | undefined;
  remembered: Remembered;
  remember: Remembered;
}

/** What `writeUpdateXml` would write now. @throws OperatorError */
export async function planUpdateXml(
  db: Db,
  productId: number,
  given: GivenSettings,
  cwd: string,
  home: XmlHome | undefined,
): Promise<PlannedXml> {
  const known = await readSettings(db, productId, given, cwd, home);
  const { product, settings, remembered, file } = known;
  const releases = await listReleases(db, productId);
  const { updates, considered, heldBack } = planUpdates(releases, settings, remembered, given);
  const place = file === undefined ? { out: settings.out } : { file };
  return {
    product,
    out: settings.out,
    url: home === undefined ? null : addressOf(settings.out, settings.baseUrl, home),
    file,
    xml: renderUpdateXml(product, settings, updates),
    remembered,
    remember: toRemember(remembered, given, place, considered, updates),
    assumedPackage: known.isTypeAssumed ? product.element : undefined,
    heldBack,
    updates: updates.map(({ release, ...written }) => ({ version: release.version, ...written })),
  };
}

function toRemember(
  { versions: known = {}, ...before }: Remembered,
  { element: _element, tag: givenTag, allowDowngrade: _once, ...given }: GivenSettings,
  place: Pick<Remembered, 'out' | 'file'>,
  planned: PlannedUpdate[],
  offered: PlannedUpdate[],
): Remembered {
  const versions = planned.map((update, i) => {
    const { release, tag, targetPlatform, phpMinimum, supportedDatabases, downgradeAllowed } = update;
    const tagged = (i === 0 && givenTag !== undefined) || known[release.version]?.tag !== undefined;
    const written = {
      targetPlatform,
      phpMinimum,
      supportedDatabases,
      ...(tagged ? { tag } : {}),
      ...(offered.includes(update) ? {} : { notOffered: true as const }),
      ...(downgradeAllowed ? { downgradeAllowed } : {}),
    };
    return [release.version, written] as const;
  });
  return {
    ...withGiven(before, { ...given, out: '', file: '', ...place }),
    versions: Object.fromEntries(versions),
  };
}
