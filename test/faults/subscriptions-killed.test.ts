import { expect, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { note } from '../support/faults';
import { giveToken, manageClient } from '../support/manage';
import { byToken, chance, tellAll } from '../support/order-model';
import { freePort } from '../support/processes';
import { DATABASE_KINDS, newPlace, rows } from '../support/service';
import { openMigrated, startServiceProcess } from '../support/service-process';
import { givePlans, judgeYears, makeYear, messagesOf, shuffled } from '../support/subscription-model';

/** Years of subscriptions, sent in any order, some events twice, while the service is killed repeatedly. */

const SUBSCRIPTIONS = 30;
const KILLS = 5;
const SHOP = 'years';

test.each(DATABASE_KINDS)(
  `${SUBSCRIPTIONS} subscriptions of a year end as the model says though the service is killed, on %s`,
  async (kind) => {
    const seed = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
    const random = chance(seed);
    const settings = {
      ...(await newPlace(kind)),
      LICENSING_KEY_SECRET: Buffer.alloc(32, 7).toString('base64'),
      LICENSING_MANAGE_RATE_LIMIT: '1000000',
      LICENSING_LISTEN: `127.0.0.1:${await freePort()}`,
    };
    const db = await openMigrated(settings);
    const { token } = await giveToken(db, 'issue', 'shop', { now: new Date() });
    const { token: admin } = await giveToken(db, 'write', 'admin', { now: new Date() });
    let service = await startServiceProcess(settings);
    const write = manageClient(service.url, admin);
    const telling = new AbortController();
    let killing: Promise<number> | undefined;
    try {
      await write.ok('POST /shops', { name: SHOP, mail: 'none' }, 201);
      const years = Array.from({ length: SUBSCRIPTIONS }, (_, i) => ({
        order: `Y-${i}`,
        ...makeYear(random),
      }));
      const last = Math.max(...years.flatMap(({ events }) => events.map(({ at }) => at)));
      const first = new Date((Math.floor(Date.now() / 1_000) - last - 3_600) * 1_000);
      const plans = await givePlans(db, write, { shop: SHOP, first });
      const messages = years.flatMap(({ order, events }) => messagesOf(events, { shop: SHOP, order, first }));
      const told = shuffled([...messages, ...messages.filter(() => random() < 0.3)], random);
      killing = (async () => {
        let killed = 0;
        for (; killed < KILLS && !telling.signal.aborted; killed++) {
          await sleep(500 + Math.random() * 1_000);
          await service.stop('SIGKILL');
          service = await startServiceProcess(settings);
        }
        return killed;
      })();
      const sent = await tellAll(told, () => [byToken(manageClient(service.url, token))], 8);
      telling.abort();
      const killed = await killing;
      note({ seed, killed, ...sent });
      expect(killed).toBeGreaterThan(1);
      expect(sent.lost).toBeGreaterThan(0);
      // Run waiting orders of a killed process now; otherwise they would run within a minute.
      await write.ok(`POST /shops/${SHOP}/run`);
      const referenceOf = ({ order }: { order: string }) => `${SHOP}:${order}:1`;
      await judgeYears(db, years, { referenceOf, plans, first, now: new Date(), mayMiss: true });
      expect(await rows(db, 'order_events')).toHaveLength(messages.length);
    } catch (error) {
      note({ seed });
      throw error;
    } finally {
      telling.abort();
      await killing?.catch(() => undefined);
      await service.stop('SIGKILL');
      await db.destroy();
    }
  },
  600_000,
);
