import { expect, test } from '@jest/globals';
import { addPlan, addProduct, PLAN_DEFAULTS } from '../../src/licensing/catalogue';
import { startManaged } from '../support/manage';
import { byToken, chance, tellAll } from '../support/order-model';
import { runs } from '../support/extent';
import { DATABASE_KINDS, newPlace, rows } from '../support/service';
import { ARTICLES, GRACE_DAYS, makeYear, messagesOf, shuffled } from '../support/subscription-model';

/** Years of subscriptions, told in any order, some events twice, by several at once: every licence ends as the model says. */

const SUBSCRIPTIONS = runs(5, 25);
const FIRST = new Date('2026-01-01T00:00:00Z');
/** After all that is told, and while what goes on is still paid. */
const NOW = new Date('2027-04-01T00:00:00Z');
const SHOP = 'years';

test.each(DATABASE_KINDS)(
  `${SUBSCRIPTIONS} subscriptions of a year, on %s`,
  async (kind) => {
    const service = await startManaged({ ...(await newPlace(kind)) }, NOW);
    try {
      const { id: productId } = await addProduct(service.db, { name: 'Years', element: null }, FIRST);
      await service.write.ok(
        'POST /shops',
        { name: SHOP, mail: 'none', billing_url: 'https://shop.example/pay' },
        201,
      );
      const plans = new Map<string, number>();
      for (const [sku, { days, slots: activationLimit }] of Object.entries(ARTICLES)) {
        const terms = { activationType: 'domain', duration: `${days}d`, activationLimit } as const;
        const { id } = await addPlan(service.db, { ...PLAN_DEFAULTS, ...terms, productId, name: sku }, FIRST);
        plans.set(sku, id);
        await service.write.ok(`POST /shops/${SHOP}/map`, { sku, plan_id: id, quantity: 'slots' }, 201);
      }
      const random = chance(20_261_127);
      const years = Array.from({ length: SUBSCRIPTIONS }, (_, i) => ({
        order: `Y-${i}`,
        ...makeYear(random),
      }));
      const messages = years.flatMap(({ order, events }) =>
        messagesOf(events, { shop: SHOP, order, first: FIRST }),
      );
      const told = shuffled([...messages, ...messages.filter(() => random() < 0.3)], random);
      await tellAll(told, () => [byToken(service.issue)], 4);
      const licenses = new Map(
        (await rows<Stored>(service.db, 'licenses')).map((license) => [license.reference, license]),
      );
      expect(licenses.size).toBe(SUBSCRIPTIONS);
      for (const { order, events, expected } of years) {
        const license = licenses.get(`${SHOP}:${order}:1`)!;
        const end = Date.parse(`${license.expires_at.replace(' ', 'T')}Z`);
        const hasEnded = end <= NOW.getTime();
        const grace = expected.renewsItself ? GRACE_DAYS : 0;
        const is = {
          paid: (end - FIRST.getTime()) / 1_000 - license.grace_days * 86_400,
          ...{ grace: license.grace_days, renewsItself: license.renews_itself === 1 },
          ...{ plan: license.plan_id, slots: license.activation_limit },
          // What has ended is not suspended, so its state depends on what was told first.
          state: hasEnded ? 'ended' : license.status,
        };
        expect({ order, events, ...is }).toEqual({
          ...{ order, events, paid: expected.paid, grace, renewsItself: expected.renewsItself },
          plan: plans.get(expected.sku),
          slots: ARTICLES[expected.sku].slots * expected.seats,
          state: hasEnded ? 'ended' : expected.state,
        });
      }
      expect(await rows(service.db, 'order_events')).toHaveLength(messages.length);
    } finally {
      await service.stop();
    }
  },
  300_000,
);

interface Stored {
  reference: string;
  status: string;
  expires_at: string;
  grace_days: number;
  renews_itself: number;
  plan_id: number;
  activation_limit: number;
}
