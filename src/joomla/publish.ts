import { requireProduct } from '../licensing/find-or-refuse';
import { OperatorError } from '../licensing/operator-error';
import { compareVersions, isVersion, remarkOnVersion } from '../licensing/versions';
import { publishRelease, type PublishRequest } from '../packages/releases';
import type { Db } from '../store/database';
import type { Product } from '../store/catalogue';
import type { Release } from '../store/releases';
import {
  describeMisses,
  findManifest,
  TOO_MUCH_XML,
  type NoManifest,
  type PackageManifest,
} from './manifest';

export interface Published {
  release: Release;
  /** anything unusual about the version and its date */
  remarks: string[];
  /** what customers will miss in the package's manifest; undefined: nothing */
  manifestRemark: string | undefined;
}

/**
 * Publishes a version like `publishRelease`, which accepts a package only if sites can be updated by it.
 *
 * @param onProgress receives the bytes copied so far
 * @throws OperatorError when refused; nothing has changed then
 */
export async function publish(
  db: Db,
  packagesDir: string,
  request: PublishRequest,
  now: Date,
  onProgress?: (bytes: number) => void,
): Promise<Published> {
  const { productId, version, date, draft } = request;
  const product = await requireProduct(db, productId);
  let manifestRemark: string | undefined;
  const release = await publishRelease(db, packagesDir, request, now, {
    ...(onProgress && { onProgress }),
    // Inspect the stored package: the named file may have changed since.
    inspect: async (path) => {
      manifestRemark = await checkManifest(path, version, product);
    },
  });
  const remarks = [
    remarkOnVersion(version),
    date !== undefined && date > now && !draft
      ? 'the date lies in the future; the version is offered from now on all the same.'
      : undefined,
  ].filter((remark) => remark !== undefined);
  return { release, remarks, manifestRemark };
}

/**
 * Refuses a package that no site could be updated by, because a published package never changes. Joomla stores the
 * manifest's version as the installed version, so a different published version would be offered forever.
 *
 * @returns a remark on what the manifest lacks
 * @throws OperatorError when the manifest is of another product or version
 */
async function checkManifest(file: string, version: string, product: Product): Promise<string | undefined> {
  const manifest = await findManifest(file);
  if (product.element !== null) requireElement(manifest, product.id, product.element);
  if (typeof manifest === 'string') return undefined;
  const { path, version: inside } = manifest;
  if (!isVersion(inside) || compareVersions(inside, version) !== 0)
    throw new OperatorError(
      `The manifest in the package (${path}) says version "${inside}", and not "${version}". Joomla would take ` +
        'the first for installed and go on offering the second. Nothing was published.',
      { facts: { reason: 'manifest-version', version: isVersion(inside) ? inside : undefined } },
    );
  const misses = product.element === null ? [] : describeMisses(manifest);
  return misses.length === 0 ? undefined : `the manifest in the package (${path}) ${misses.join('. It ')}.`;
}

/** Only a product for Joomla has an element. A site finds the installed extension by it, ignoring case. */
function requireElement(manifest: PackageManifest | NoManifest, product: number, element: string): void {
  if (manifest === 'too-much-xml')
    throw new OperatorError(`The package cannot be examined: ${TOO_MUCH_XML}. Nothing was published.`, {
      facts: { reason: 'too-much-xml', product },
    });
  if (typeof manifest === 'string')
    throw new OperatorError(
      `The package has no Joomla manifest (an XML file with <extension>) at its top, and product ${product} is for Joomla: its element is "${element}". Nothing was published.`,
      { facts: { reason: 'no-manifest', product } },
    );
  if (manifest.element !== undefined && manifest.element.toLowerCase() !== element.toLowerCase())
    throw new OperatorError(
      `The manifest in the package (${manifest.path}) is that of "${manifest.element}", and the element of product ${product} is "${element}": Joomla would not update the one by the other. Nothing was published.`,
      { facts: { reason: 'other-element', product, element, inPackage: manifest.element } },
    );
}
