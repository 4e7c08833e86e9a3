import { InvalidArgumentError } from 'commander';
import { publish } from '../joomla/publish';
import { listCatalogue } from '../licensing/catalogue';
import { OperatorError } from '../licensing/operator-error';
import { readUpdateXmlOptions, setUpdateXmlOptions } from '../joomla/update-xml/options';
import {
  platformOf,
  readArsReleases,
  type ArsRelease,
  type ArsReleases,
} from '../transfer/moving/ars-releases';
import type { Session } from './command';
import { formatTable } from './tables';

/** `import --from ars --releases`: publishes each version separately, like "release publish". */

/** Reads `1=42,2=43`: our product by category. */
export function readReleaseMap(text: string): Map<string, number> {
  const parts = text.split(',').map((part) => /^\s*(\d{1,10})\s*=\s*([1-9]\d{0,9})\s*$/.exec(part));
  if (parts.includes(null))
    throw new InvalidArgumentError('Write CATEGORY=PRODUCT, with commas between: 1=42.');
  return new Map(parts.map((part) => [part?.[1] as string, Number(part?.[2])]));
}

interface Outcome {
  product_id: number;
  version: string;
  published: boolean;
  /** the reason for not publishing; null if it is published, or would be */
  reason: string | null;
}

export async function runReleases(
  { db, config, now, output }: Session,
  map: Map<string, number>,
  { dryRun, sitePrefix }: { dryRun: boolean; sitePrefix: string | undefined },
): Promise<void> {
  const root = config.joomlaRoot;
  if (root === undefined)
    throw new OperatorError('The packages are in the folder of the site: set LICENSING_JOOMLA_ROOT.');
  const found = await readArsReleases(db, await listCatalogue(db), { map, root, sitePrefix });
  const platforms = await setPlatforms();
  const outcomes: Outcome[] = [];
  for (const release of found.releases) {
    const reason = dryRun ? null : await publishOne(release);
    outcomes.push({
      product_id: release.productId,
      version: release.version,
      published: !dryRun && reason === null,
      reason,
    });
    output.progress(`${outcomes.length} of ${found.releases.length} versions`);
  }
  output.print(
    {
      dry_run: dryRun,
      releases: outcomes,
      left_out: found.leftOut,
      environments: Object.fromEntries(found.environments),
      target_platforms: Object.fromEntries(platforms),
    },
    () => describe(found, outcomes, platforms, dryRun),
  );

  /** Sets platforms before the versions, whose update XML includes them. @returns the new platforms by product */
  async function setPlatforms(): Promise<Map<number, string>> {
    const set = new Map<number, string>();
    for (const [product, titles] of found.environments) {
      const platform = platformOf(titles);
      if (platform === null || (await readUpdateXmlOptions(db, product)).target_platform !== null) continue;
      if (!dryRun) await setUpdateXmlOptions(db, product, { target_platform: platform });
      set.set(product, platform);
    }
    return set;
  }

  /** Publishes a version. @returns the reason of a refusal */
  async function publishOne({
    productId,
    version,
    file,
    changelog,
    date,
  }: ArsRelease): Promise<string | null> {
    const request = { productId, version, file, changelog, date, draft: false };
    try {
      // Skip the checks of new versions, because customers already use these versions.
      const places = { packagesDir: config.packagesDir, home: config };
      await publish(db, places, { ...request, newUpdateServer: true, unchecked: true }, now);
      return null;
    } catch (error) {
      if (error instanceof OperatorError) return error.message;
      throw error;
    }
  }
}

function describe(
  { leftOut, environments }: ArsReleases,
  outcomes: Outcome[],
  platforms: Map<number, string>,
  dryRun: boolean,
): string {
  return [
    formatTable(
      ['PRODUCT', 'VERSION', ''],
      outcomes.map(({ product_id, version, published, reason }) => [
        ...[product_id, version],
        published ? 'published' : (reason ?? 'would be published'),
      ]),
    ),
    ...(leftOut.length === 0
      ? []
      : [
          'Left out:',
          ...leftOut.map(
            ({ category, version, reason }) =>
              `  category ${category}${version === null ? '' : `, ${version}`}: ${reason}`,
          ),
        ]),
    ...[...environments]
      .filter(([, titles]) => titles.length > 0)
      .map(([product, titles]) => {
        const platform = platforms.get(product);
        const here =
          platform === undefined
            ? 'Its target platform here stays unchanged'
            : `Its target platform ${dryRun ? 'would be' : 'is now'} ${platform}`;
        return `In the former system, product ${product} was for ${titles.join(', ')}. ${here}.`;
      }),
    dryRun
      ? 'Nothing was changed: this was a dry run.'
      : 'Now write the update XML of each product: licensing update-xml write --product ID',
  ].join('\n');
}
