import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pack } from '../../src/joomla/plugin-files';
import { addPlan, editProduct, type AfterExpiry } from '../../src/licensing/catalogue';
import { publishRelease, withdrawRelease } from '../../src/packages/releases';
import type { Db } from '../../src/store/engine/database';

/** The catalogue of the year's shop in addition to the well-known plans, and the versions of its extensions. */

export const SHOP_ID = 42;
export const GALLERY_ID = 43;
export const CLUB_ID = 44;
export const FORMS_ID = 45;

const ELEMENTS: Record<number, string> = {
  [SHOP_ID]: 'example',
  [GALLERY_ID]: 'gallery',
  [FORMS_ID]: 'forms',
};
const NAMES: Record<number, string> = {
  [SHOP_ID]: 'Example Shop',
  [GALLERY_ID]: 'Example Gallery',
  [FORMS_ID]: 'Example Forms',
};

interface YearPlan {
  productId: number;
  name: string;
  activationLimit: number;
  /** the shop's article */
  sku: string;
  /** its relative frequency among purchases */
  weight: number;
  freeStaging?: boolean;
  afterExpiry?: AfterExpiry;
}

const yearPlan = (productId: number, name: string, activationLimit: number, weight: number): YearPlan => ({
  ...{ productId, name, activationLimit, weight },
  sku: `${ELEMENTS[productId] ?? 'club'}-${activationLimit}`,
});

export type YearPlanName =
  | 'shopOne'
  | 'shopFive'
  | 'shopAgency'
  | 'galleryOne'
  | 'galleryTen'
  | 'formsOne'
  | 'club';

export const YEAR_PLANS: Record<YearPlanName, YearPlan> = {
  shopOne: yearPlan(SHOP_ID, 'One site, a year', 1, 30),
  shopFive: yearPlan(SHOP_ID, 'Five sites, a year', 5, 14),
  shopAgency: { ...yearPlan(SHOP_ID, 'Agency, a year', 60, 3), freeStaging: true },
  galleryOne: yearPlan(GALLERY_ID, 'One site, a year', 1, 18),
  galleryTen: yearPlan(GALLERY_ID, 'Ten sites, a year', 10, 7),
  formsOne: { ...yearPlan(FORMS_ID, 'One site, a year', 1, 16), afterExpiry: 'last_release' },
  club: yearPlan(CLUB_ID, 'Club, a year', 10, 12),
};

export interface Version {
  productId: number;
  version: string;
  /** days before now */
  daysAgo: number;
  changelog: string;
  security?: boolean;
  /** the rollout in percent */
  rollout?: number;
  draft?: boolean;
  withdrawnDaysAgo?: number;
  /** true if the well-known data publishes it with its own package */
  isShipped?: boolean;
}

const of =
  (productId: number) =>
  (version: string, daysAgo: number, changelog: string[], more: Partial<Version> = {}): Version => ({
    ...{ productId, version, daysAgo, changelog: changelog.join('\n') },
    ...more,
  });
const shop = of(SHOP_ID);
const gallery = of(GALLERY_ID);
const forms = of(FORMS_ID);

/** The versions, the oldest of each product first. */
export const VERSIONS: Version[] = [
  shop('0.8.2', 760, ['add: orders as CSV.', 'fix: VAT of gift vouchers.']),
  shop('0.9.0', 361, ['add: vouchers.', 'change: the basket is one page.']),
  shop('0.9.1', 339, ['fix: rounding of discounts.']),
  shop('0.9.2', 298, ['fix: the order mail in German.', 'fix: a notice on PHP 8.4.']),
  shop('0.9.3', 243, ['add: pick up in the shop.', 'fix: sorting by price.']),
  shop('1.0.0', 181, ['add: Joomla 6.', 'change: PHP 8.1 or later.', 'remove: the old importer.']),
  shop('1.0.1', 163, ['fix: the menu on phones.']),
  shop('1.0.2', 118, ['add: invoices as PDF.'], { withdrawnDaysAgo: 116 }),
  shop('1.0.3', 115, ['add: invoices as PDF.', 'fix: invoices without a number.']),
  shop('1.0.4', 61, ['security: orders of other customers could be read by their number.'], {
    security: true,
  }),
  shop('1.1.0', 12, [], { isShipped: true }),
  shop('1.2.0-beta1', 3, ['add: subscriptions. For testers.']),
  gallery('0.7.0', 755, ['add: albums.']),
  gallery('0.8.0', 322, ['add: zoom on phones.', 'fix: order of pictures.']),
  gallery('0.9.0', 214, ['add: WebP.', 'change: half as many queries.']),
  gallery('0.9.1', 197, ['fix: pictures of 20 MB and more.']),
  gallery('0.9.2', 96, ['fix: no flicker on load.']),
  gallery('1.0.0', 40, [], { isShipped: true }),
  gallery('1.1.0', 2, ['add: a grid that fills the page.', 'fix: captions in full screen.'], { rollout: 25 }),
  forms('0.5.0', 750, ['add: uploads.']),
  forms('0.6.0', 285, ['add: several pages.']),
  forms('0.6.1', 276, ['security: uploads are checked by their content.'], { security: true }),
  forms('0.7.0', 148, ['add: fields that depend on others.', 'add: messages in French.']),
  forms('1.0.0', 25, [], { isShipped: true }),
  forms('1.1.0', 1, ['add: signatures.'], { draft: true }),
];

const DAY_MS = 24 * 60 * 60 * 1000;

export async function addPlans(db: Db, at: Date): Promise<Record<YearPlanName, number>> {
  for (const id of [SHOP_ID, GALLERY_ID, CLUB_ID, FORMS_ID])
    await editProduct(db, id, {
      renewUrl: 'https://acme.example/renew',
      supportUrl: 'https://acme.example/support',
      reminders: true,
    });
  const ids: Partial<Record<YearPlanName, number>> = {};
  for (const [name, { sku: _, weight: __, ...plan }] of Object.entries(YEAR_PLANS)) {
    const added = await addPlan(db, { ...plan, activationType: 'domain', duration: '1y' }, at);
    ids[name as YearPlanName] = added.id;
  }
  return ids as Record<YearPlanName, number>;
}

/** Publishes a version with a small package of its own. */
export async function publishVersion(
  db: Db,
  packagesDir: string,
  version: Version,
  now: Date,
): Promise<void> {
  const { productId, daysAgo, changelog, rollout, security = false, draft = false } = version;
  const folder = await mkdtemp(join(tmpdir(), 'licensing-demo-'));
  try {
    const file = join(folder, 'package.zip');
    await writeFile(file, await packageOf(version));
    const at = new Date(now.getTime() - daysAgo * DAY_MS);
    const request = { productId, version: version.version, file, changelog, security, draft, rollout };
    await publishRelease(db, packagesDir, { ...request, date: undefined }, at);
  } finally {
    await rm(folder, { recursive: true });
  }
}

export function withdrawVersion(db: Db, { productId, version }: Version, at: Date) {
  return withdrawRelease(db, productId, version, at);
}

/** Creates a package that installs a text file, like those in the folder seeds. */
async function packageOf({ productId, version }: Version): Promise<Buffer> {
  const element = ELEMENTS[productId] as string;
  const name = NAMES[productId] as string;
  const inner = await pack([
    [
      `files_${element}.xml`,
      Buffer.from(`<?xml version="1.0" encoding="utf-8"?>
<extension type="file" method="upgrade">
  <name>files_${element}</name>
  <version>${version}</version>
  <fileset>
    <files target="media/${element}">
      <filename>readme.txt</filename>
    </files>
  </fileset>
</extension>
`),
    ],
    [
      'readme.txt',
      Buffer.from(`${name} ${version}, installed by the example package of licensing-gateway.\n`),
    ],
  ]);
  const manifest = `<?xml version="1.0" encoding="utf-8"?>
<extension type="package" method="upgrade">
  <name>${name}</name>
  <packagename>${element}</packagename>
  <version>${version}</version>
  <description>An example package of licensing-gateway.</description>
  <files>
    <file type="file" id="files_${element}">files_${element}.zip</file>
  </files>
  <updateservers>
    <server type="extension" name="${name}">https://shop.example/updates/pkg_${element}.xml</server>
  </updateservers>
  <dlid prefix="dlid=" suffix=""/>
</extension>
`;
  return pack([
    [`pkg_${element}.xml`, Buffer.from(manifest)],
    [`files_${element}.zip`, inner],
  ]);
}
