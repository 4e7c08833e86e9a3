import { expect, test } from '@jest/globals';
import { runs } from '../support/extent';
import { startHookShop } from '../support/hook-shop';
import { chance } from '../support/order-model';
import { newPlace, ONE_KIND } from '../support/service';
import { sendHook } from '../support/shop-senders';
import { startShopLists } from '../support/shop-lists';
import { GRACE_DAYS, givePlans, judgeYears, makeYear, shuffled } from '../support/subscription-model';
import { SENDERS } from '../support/subscription-senders';

/**
 * Tests years of subscriptions. A fifth of the messages are lost, and the others come shuffled and some of them twice. The
 * shop's own list has the rest, so every licence must end as the model says.
 */

const SUBSCRIPTIONS = runs(2, 15);
const ADDED = new Date('2025-12-31T12:00:00Z');
const FIRST = new Date('2026-01-01T00:00:00Z');
const DAY = 86_400;
/** The time between two runs of catching up, in seconds. */
const AWAY = 9 * DAY;
const LOST = 0.2;
const KEY_SECRET = { LICENSING_KEY_SECRET: Buffer.alloc(32, 7).toString('base64') };

const CASES = SENDERS.flatMap((sender) =>
  ONE_KIND.map((database) => ({ sender, kind: sender.kind, database })),
);

test.each(CASES)(
  `$kind is caught up with ${SUBSCRIPTIONS} subscriptions of a year, on $database`,
  async ({ sender, kind, database }) => {
    const random = chance(20_261_127);
    const lists = await startShopLists();
    const settings = { ...(await newPlace(database)), ...KEY_SECRET };
    const shop = await startHookShop(settings, kind, sender.secret, [], ADDED, { shopApiUrl: lists.url });
    const { clock, write, db } = shop.service;
    try {
      await write.ok(`PATCH /shops/${kind}`, { ...sender.access, mail: 'none', grace: GRACE_DAYS });
      const plans = await givePlans(db, write, { shop: kind, skuOf: sender.skuOf, first: FIRST });
      const years = Array.from({ length: SUBSCRIPTIONS }, (_, n) => ({
        n,
        ...makeYear(random, sender.dialect),
      }));
      const said = years.flatMap((year) => sender.speak(year.n, year, FIRST));
      let lost = 0;
      let caughtUp = 0;
      for (let end = AWAY; said.some(({ at }) => at >= end - AWAY); end += AWAY) {
        const now = new Date(FIRST.getTime() + end * 1_000);
        clock.now = now;
        const told = said.filter(({ at }) => at >= end - AWAY && at < end);
        const heard = told.filter(() => random() >= LOST);
        lost += told.length - heard.length;
        for (const one of shuffled([...heard, ...heard.filter(() => random() < 0.2)], random))
          // A message that a busy machine refuses is lost as well.
          expect([200, 503]).toContain(
            (await sendHook(shop.service.url, kind, sender.sign(one, now))).status,
          );
        for (const one of told.sort((a, b) => a.at - b.at)) sender.keep(lists, one);
        const ran = await write.ok(`POST /shops/${kind}/catch-up`, {});
        expect(ran).toMatchObject({ done: true, failure: null, refused: 0 });
        caughtUp += Number(ran.caught_up);
      }
      // A shop whose list has only the present state of an order reports two changes as one.
      expect([lost > said.length / 10, caughtUp > lost / 2]).toEqual([true, true]);
      const referenceOf = ({ n }: { n: number }) => sender.referenceOf(n);
      const mayMiss = kind === 'woocommerce';
      await judgeYears(db, years, { referenceOf, plans, first: FIRST, now: clock.now, mayMiss });
      expect(await write.ok('GET /unmatched')).toEqual([]);
    } finally {
      await shop.service.stop();
      await lists.stop();
    }
  },
);
