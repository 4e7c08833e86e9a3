import { isPrerelease } from '../../licensing/versions';
import { findProduct } from '../../store/catalogue';
import type { Db } from '../../store/engine/database';
import { findRelease, type Release } from '../../store/releases';
import type { AskedDownload } from '../addresses';
import { isNotOffered, listOfferedVersions } from '../update-xml/plan-updates';
import type { XmlUpdate } from '../updater/xml-updates';
import { WRITE_AGAIN, type Report } from './report';

export type FindRelease = (productId: number, version: string) => Promise<Release | 'no-product' | undefined>;

/** Returns functions that read published versions from the database. */
export function readPublished(db: Db): {
  findRelease: FindRelease;
  /** a product's versions, highest first */
  listPublished: (productId: number) => Promise<string[]>;
} {
  return {
    findRelease: async (productId, version) =>
      (await findProduct(db, productId)) ? findRelease(db, productId, version) : 'no-product',
    listPublished: (productId) => listOfferedVersions(db, productId),
  };
}

/** Reports a highest version or release that is missing from the `offered` versions. `published` is highest first. */
export function lintMissingVersions(published: string[], offered: string[], report: Report): void {
  const highest = [published[0], published.find((version) => !isPrerelease(version))];
  for (const version of new Set(highest))
    if (version !== undefined && isNotOffered(version, offered))
      report(
        'warning',
        'left_out',
        `Version ${version} is published but missing from the update XML: Joomla offers it to no site.`,
        WRITE_AGAIN,
      );
}

/** Compares an update with the release that its address downloads. @returns that release, if it is published */
export async function lintAgainstRelease(
  update: XmlUpdate,
  { productId, version }: AskedDownload,
  findRelease: FindRelease,
  report: Report,
): Promise<Release | undefined> {
  const asked = version ?? update.text('version')?.trim() ?? '';
  const release = await findRelease(productId, asked);
  if (release === 'no-product')
    report('error', 'product', `There is no product ${productId}.`, WRITE_AGAIN, update);
  else if (release?.state !== 'published')
    report(
      'error',
      'not_published',
      `Version ${asked} is ${release === undefined ? 'unknown' : release.state === 'draft' ? 'a draft' : 'withdrawn'}: its download answers 404.`,
      release?.state === 'draft'
        ? `Publish it (licensing release publish --product ${productId} --version ${asked}), or take it out: ${WRITE_AGAIN}`
        : 'Write the update XML again with "licensing update-xml write", which leaves it out.',
      update,
    );
  else
    for (const name of ['sha256', 'sha384', 'sha512'] as const) {
      const text = update.text(name);
      if (text !== undefined && text.trim() !== '' && text.trim().toLowerCase() !== release[name])
        report('error', 'hash', `<${name}> differs from that of the published package.`, WRITE_AGAIN, update);
    }
  return release !== 'no-product' && release?.state === 'published' ? release : undefined;
}
