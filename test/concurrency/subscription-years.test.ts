import { expect, test } from '@jest/globals';
import { startManaged } from '../support/manage';
import { byToken, chance, tellAll } from '../support/order-model';
import { runs } from '../support/extent';
import { DATABASE_KINDS, newPlace, rows } from '../support/service';
import { givePlans, judgeYears, makeYear, messagesOf, shuffled } from '../support/subscription-model';

/** Years of subscriptions, sent in any order, some events twice, by several clients: all licences match the model. */

const SUBSCRIPTIONS = runs(2, 25);
const FIRST = new Date('2026-01-01T00:00:00Z');
/** A time after all events, at which the remaining subscriptions are still paid. */
const NOW = new Date('2027-04-01T00:00:00Z');
const SHOP = 'years';

test.each(DATABASE_KINDS)(`${SUBSCRIPTIONS} subscriptions of a year, on %s`, async (kind) => {
  const service = await startManaged({ ...(await newPlace(kind)) }, NOW);
  try {
    await service.write.ok(
      'POST /shops',
      { name: SHOP, mail: 'none', billing_url: 'https://shop.example/pay' },
      201,
    );
    const plans = await givePlans(service.db, service.write, { shop: SHOP, first: FIRST });
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
    const referenceOf = ({ order }: { order: string }) => `${SHOP}:${order}:1`;
    await judgeYears(service.db, years, { referenceOf, plans, first: FIRST, now: NOW });
    expect(await rows(service.db, 'order_events')).toHaveLength(messages.length);
  } finally {
    await service.stop();
  }
});
