import { expect } from '@jest/globals';
import type { Settings } from '../../src/settings/config';
import { startManaged, type Managed, type Thing } from './manage';
import type { OwnSettings } from './service';
import { sendHook, type Signed } from './shop-senders';

/** A receiver of a kind, with one plan for a month, to which its articles are mapped. */
export interface HookShop {
  service: Managed;
  plan: number;
  /** sends a message, and returns its outcome */
  take(signed: Signed): Promise<Thing>;
  order(number: string): Promise<Thing>;
  /** returns the licence of the order's first line */
  license(number: string): Promise<Thing | undefined>;
}

/** Settings without a grace period: licences end with the paid time (else test/manage/subscriptions.test.ts). */
export const WITHOUT_GRACE = { LICENSING_GRACE_DAYS: '0' };

export async function startHookShop(
  settings: Settings,
  kind: string,
  secret: string,
  skus: string[],
  now: Date,
  own: OwnSettings = {},
): Promise<HookShop> {
  const service = await startManaged({ ...settings, ...WITHOUT_GRACE }, now, own);
  const { write } = service;
  const product = await write.ok('POST /products', { name: 'Gallery Pro' }, 201);
  const terms = { activation_type: 'domain', activation_limit: 3, duration: '1m' };
  const made = await write.ok(
    'POST /plans',
    { product_id: product.id as number, name: 'Month', ...terms },
    201,
  );
  const plan = made.id as number;
  await write.ok('POST /shops', { name: kind, kind, secret }, 201);
  for (const sku of skus) await write.ok(`POST /shops/${kind}/map`, { sku, plan_id: plan }, 201);
  const order = async (number: string) => {
    const found = await write.ok(`GET /orders?shop=${kind}&order=${encodeURIComponent(number)}`);
    const [{ id } = {}] = found as unknown as Thing[];
    return id === undefined ? {} : write.ok(`GET /orders/${String(id)}`);
  };
  return {
    service,
    plan,
    order,
    async take(signed) {
      const { status, text } = await sendHook(service.url, kind, signed);
      expect([status, text]).toEqual([200, text]);
      return (JSON.parse(text) as { data: Thing }).data;
    },
    async license(number) {
      const { lines = [] } = (await order(number)) as { lines?: { licenses: Thing[] }[] };
      const license = lines[0]?.licenses[0];
      return license && write.ok(`GET /licenses/${String(license.id)}`);
    },
  };
}
