import { join } from 'node:path';
import type { Knex } from 'knex';
import { packageRoot, readConfig } from '../src/config';
import { addPlan, addProduct } from '../src/licensing/catalogue';
import type { ActivationType } from '../src/licensing/identifiers';
import { issueLicenses } from '../src/licensing/issue';
import { changeState } from '../src/licensing/lifecycle';
import { publishRelease } from '../src/packages/releases';
import type { LiveStatus, Transition } from '../src/licensing/states';
import { findProduct, listPlans, listProducts } from '../src/store/catalogue';
import type { Db } from '../src/store/database';
import { findRelease } from '../src/store/releases';

/** Product 42 with a published package, a plan of each activation type, and a licence in each state. */

const PRODUCT = { id: 42, name: 'Example Shop', element: 'pkg_example' };
const VERSION = '1.1.0';
const ACTOR = 'operator:demo';

interface DemoLicense {
  /** public, so for demonstrations only */
  key: string;
  plan: ActivationType;
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

const PLANS: Record<ActivationType, string> = {
  domain: 'Sites',
  device: 'Devices',
  seat: 'Seats',
  instance: 'Instances',
};

/** The action that brings an active licence into each state; undefined: none, or its end date. */
const TRANSITIONS = {
  active: undefined,
  expired: undefined,
  suspended: 'suspend',
  revoked: 'revoke',
  cancelled: 'cancel',
} as const satisfies Record<LiveStatus, Transition | undefined>;

/** Fills an empty database with the demonstration. Running it again completes an interrupted run. */
export async function seedDemo(db: Db, packagesDir: string, now: Date): Promise<void> {
  await refuseOtherData(db);
  if (!(await findProduct(db, PRODUCT.id))) await addProduct(db, PRODUCT, now);
  const plans = new Map((await listPlans(db, PRODUCT.id)).map((plan) => [plan.name, plan.id]));
  for (const [activationType, name] of Object.entries(PLANS) as [ActivationType, string][])
    if (!plans.has(name)) {
      const plan = { productId: PRODUCT.id, name, activationType, activationLimit: 3, duration: null };
      plans.set(name, (await addPlan(db, plan, now)).id);
    }
  for (const { key, plan, state } of demoLicenses) {
    const [issued] = await issueLicenses(
      db,
      {
        planId: plans.get(PLANS[plan]) as number,
        customer: 'customer@example.com',
        reference: `demo-${key.slice(-1)}`,
        expiresAt: state === 'expired' ? new Date('2026-01-01T00:00:00Z') : null,
        activationLimit: undefined,
        key,
        count: 1,
      },
      ACTOR,
      undefined,
      now,
    );
    const transition = TRANSITIONS[state];
    if (issued && transition && issued.license.status === 'active')
      await changeState(db, issued.license.id, transition, { actor: ACTOR, now });
  }
  if (!(await findRelease(db, PRODUCT.id, VERSION)))
    await publishRelease(
      db,
      packagesDir,
      {
        productId: PRODUCT.id,
        version: VERSION,
        file: join(packageRoot, `seeds/pkg_example-${VERSION}.zip`),
        changelog: 'Faster start.\nFixes the order of the menu.',
        draft: false,
        date: undefined,
      },
      now,
    );
}

async function refuseOtherData(db: Db): Promise<void> {
  const others = (await listProducts(db)).filter(
    ({ id, name }) => id !== PRODUCT.id || name !== PRODUCT.name,
  );
  if (others.length > 0)
    throw new Error(
      'The demo data has keys that everybody knows. It goes into an empty database only; this one has products.',
    );
}

/** For `npx knex seed:run`. */
export async function seed(knex: Knex): Promise<void> {
  await seedDemo(knex, readConfig().packagesDir, new Date());
}
