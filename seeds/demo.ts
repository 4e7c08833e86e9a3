import { join } from 'node:path';
import type { Knex } from 'knex';
import { packageRoot, readConfig } from '../src/settings/config';
import { addPlan, addProduct } from '../src/licensing/catalogue';
import type { ActivationType } from '../src/licensing/core/identifiers';
import { issueLicenses } from '../src/licensing/issue';
import { keyDigest } from '../src/licensing/core/keys';
import { changeState } from '../src/licensing/lifecycle';
import { storedKey } from '../src/licensing/sealing';
import { publishRelease } from '../src/packages/releases';
import type { LiveStatus, Transition } from '../src/licensing/core/states';
import { findProduct, listPlans, listProducts } from '../src/store/catalogue';
import type { Db } from '../src/store/engine/database';
import { findKeyByDigest, insertKey } from '../src/store/licenses/license-keys';
import { findRelease } from '../src/store/releases';
import { inTransaction } from '../src/store/engine/transaction';
import { OPENED_DAYS } from './year/sales';
import { giveYear } from './year/year';

/**
 * The demo's data: product 42 with a published package, a plan of each activation type, and a licence in each state; a
 * club of three products; and an agency's licence with the key of a client.
 */

const PRODUCTS = [
  { id: 42, name: 'Example Shop', element: 'pkg_example' },
  { id: 43, name: 'Example Gallery', element: 'pkg_gallery' },
  { id: 45, name: 'Example Forms', element: 'pkg_forms' },
  { id: 44, name: 'Club membership', includes: [42, 43, 45] },
];

const RELEASES = [
  { productId: 42, version: '1.1.0', daysAgo: 12, changelog: 'Faster start.\nFixes the order of the menu.' },
  { productId: 43, version: '1.0.0', daysAgo: 40, changelog: 'add: albums within albums.' },
  { productId: 45, version: '1.0.0', daysAgo: 25, changelog: 'add: payment by form.' },
];

interface DemoPlan {
  productId: number;
  name: string;
  activationType: ActivationType;
  activationLimit: number;
  freeStaging?: boolean;
}

const PLANS = {
  domain: { productId: 42, name: 'Sites', activationType: 'domain', activationLimit: 3 },
  device: { productId: 42, name: 'Devices', activationType: 'device', activationLimit: 3 },
  seat: { productId: 42, name: 'Seats', activationType: 'seat', activationLimit: 3 },
  instance: { productId: 42, name: 'Instances', activationType: 'instance', activationLimit: 3 },
  club: { productId: 44, name: 'Club', activationType: 'domain', activationLimit: 5 },
  agency: {
    productId: 42,
    name: 'Agency',
    activationType: 'domain',
    activationLimit: 25,
    freeStaging: true,
  },
} as const satisfies Record<string, DemoPlan>;

interface DemoLicense {
  /** a public key, so for demonstrations only */
  key: string;
  plan: keyof typeof PLANS;
  state: LiveStatus;
}

export const demoLicenses: DemoLicense[] = [
  { key: 'DE300042-00000000-00000000-00000001', plan: 'domain', state: 'active' },
  { key: 'DE300042-00000000-00000000-00000002', plan: 'device', state: 'active' },
  { key: 'DE300042-00000000-00000000-00000003', plan: 'seat', state: 'active' },
  { key: 'DE300042-00000000-00000000-00000004', plan: 'instance', state: 'active' },
  { key: 'DE300042-00000000-00000000-00000005', plan: 'domain', state: 'expired' },
  { key: 'DE300042-00000000-00000000-00000006', plan: 'domain', state: 'suspended' },
  { key: 'DE300042-00000000-00000000-00000007', plan: 'domain', state: 'revoked' },
  { key: 'DE300042-00000000-00000000-00000008', plan: 'domain', state: 'cancelled' },
];

export const demoClub: DemoLicense = {
  key: 'DE300044-00000000-00000000-0000000B',
  plan: 'club',
  state: 'active',
};

export const demoAgency: DemoLicense = {
  key: 'DE300042-00000000-00000000-00000009',
  plan: 'agency',
  state: 'active',
};

/** A further key of the agency's licence. */
export const demoClient = { key: 'DE300042-00000000-00000000-0000000A', label: 'Bakery Smith', limit: 1 };

/** Returns the reference of a demo licence. */
export const referenceOf = ({ key, plan }: DemoLicense) =>
  `demo-${plan === 'club' || plan === 'agency' ? plan : key.slice(-1)}`;

/** The action that brings an active licence into each state; undefined if its end date does, or none is needed. */
const TRANSITIONS = {
  active: undefined,
  expired: undefined,
  suspended: 'suspend',
  revoked: 'revoke',
  cancelled: 'cancel',
} as const satisfies Record<LiveStatus, Transition | undefined>;

const ACTOR = 'operator:demo';

function daysBefore(at: Date, days: number): Date {
  return new Date(at.getTime() - days * 24 * 60 * 60 * 1000);
}

/** Fills an empty database with the well-known data. Another run completes an interrupted one. */
export async function seedDemo(
  db: Db,
  { packagesDir, keySecret }: { packagesDir: string; keySecret: Buffer | undefined },
  today: Date,
): Promise<void> {
  await refuseOtherData(db);
  const now = daysBefore(today, OPENED_DAYS + 5);
  for (const product of PRODUCTS)
    if (!(await findProduct(db, product.id))) await addProduct(db, product, now);
  for (const plan of Object.values(PLANS))
    if ((await findPlanId(db, plan)) === undefined) await addPlan(db, { ...plan, duration: null }, now);
  for (const license of [...demoLicenses, demoClub]) await giveLicense(db, license, keySecret, now);
  await giveClientKey(db, await giveLicense(db, demoAgency, keySecret, now), keySecret, now);
  for (const { productId, version, changelog, daysAgo } of RELEASES)
    if (!(await findRelease(db, productId, version))) {
      const element = PRODUCTS.find(({ id }) => id === productId)?.element ?? '';
      const file = join(packageRoot, `seeds/${element}-${version}.zip`);
      const release = { productId, version, file, changelog, draft: false, date: undefined };
      await publishRelease(db, packagesDir, release, daysBefore(today, daysAgo));
    }
}

async function findPlanId(db: Db, { productId, name }: DemoPlan): Promise<number | undefined> {
  return (await listPlans(db, productId)).find((plan) => plan.name === name)?.id;
}

/** Creates a demo licence. @returns its id */
async function giveLicense(
  db: Db,
  license: DemoLicense,
  keySecret: Buffer | undefined,
  now: Date,
): Promise<number> {
  const { key, plan, state } = license;
  const [issued] = await issueLicenses(
    db,
    {
      planId: (await findPlanId(db, PLANS[plan])) as number,
      customer: `${plan === 'agency' ? 'agency' : 'customer'}@example.com`,
      reference: referenceOf(license),
      expiresAt: state === 'expired' ? new Date('2026-01-01T00:00:00Z') : null,
      activationLimit: undefined,
      key,
      count: 1,
    },
    ACTOR,
    keySecret,
    now,
  );
  const { id, status } = (issued as { license: { id: number; status: string } }).license;
  const transition = TRANSITIONS[state];
  if (transition && status === 'active') await changeState(db, id, transition, { actor: ACTOR, now });
  return id;
}

/** Adds the client's key without `addKey`, which would generate an unknown key. */
async function giveClientKey(
  db: Db,
  licenseId: number,
  keySecret: Buffer | undefined,
  createdAt: Date,
): Promise<void> {
  const { key, label, limit: activationLimit } = demoClient;
  if (await findKeyByDigest(db, keyDigest(key))) return;
  const terms = { licenseId, label, activationLimit, endsAt: null, createdAt };
  await inTransaction(db, (trx) => insertKey(trx, { ...storedKey(key, keySecret), ...terms }));
}

async function refuseOtherData(db: Db): Promise<void> {
  const others = (await listProducts(db)).filter(
    ({ id, name }) => !PRODUCTS.some((product) => product.id === id && product.name === name),
  );
  if (others.length > 0)
    throw new Error(
      'The demo data has keys that everybody knows. It goes into an empty database only; this one has products.',
    );
}

/** Seeds the database for `npx knex seed:run`. */
export async function seed(knex: Knex): Promise<void> {
  const [config, now] = [readConfig(), new Date()];
  await seedDemo(knex, config, now);
  await giveYear(knex, config, now);
}
