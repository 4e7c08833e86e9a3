import { expect, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { giveToken, manageClient } from '../support/manage';
import { note } from '../support/faults';
import {
  bySignature,
  byToken,
  chance,
  giveModelPlans,
  judgeSale,
  makeSale,
  tellAll,
} from '../support/order-model';
import { freePort } from '../support/processes';
import { DATABASE_KINDS, newPlace } from '../support/service';
import { openMigrated, startServiceProcess } from '../support/service-process';

/** Orders, sent in any order, some events twice, while the service is killed repeatedly. */

const KILLS = 8;
const SHOP = 'model';

/** The senders. A receiver accepts 600 messages a minute. */
const WAYS = [
  ['a token', 1_000],
  ['signed messages', 200],
] as const;
const CASES = DATABASE_KINDS.flatMap((kind) => WAYS.map(([way, orders]) => ({ kind, way, orders })));
const SECRET = `whsec_${Buffer.alloc(24, 3).toString('base64')}`;

test.each(CASES)(
  '$orders orders by $way end as their events say, on $kind',
  async ({ kind, way, orders }) => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    const settings = {
      ...(await newPlace(kind)),
      LICENSING_KEY_SECRET: Buffer.alloc(32, 7).toString('base64'),
      LICENSING_MANAGE_RATE_LIMIT: '1000000',
    };
    const db = await openMigrated(settings);
    const plans = await giveModelPlans(db);
    const { token } = await giveToken(db, 'issue', 'shop', { now: new Date() });
    const { token: admin } = await giveToken(db, 'write', 'admin', { now: new Date() });
    // An SQLite file serves one process.
    const instances = await Promise.all(
      Array.from({ length: kind === 'SQLite' ? 1 : 2 }, async () => {
        const listen = { LICENSING_LISTEN: `127.0.0.1:${await freePort()}` };
        return { listen, process: await startServiceProcess({ ...settings, ...listen }) };
      }),
    );
    const isByToken = way === 'a token';
    if (!isByToken)
      await manageClient(instances[0]!.process.url, admin).ok(
        'POST /shops',
        { name: SHOP, kind: 'standard', secret: SECRET },
        201,
      );
    const tellers = instances.map(({ process: { url } }) =>
      isByToken ? byToken(manageClient(url, token)) : bySignature(url, SECRET),
    );
    const first = new Date(Math.floor(Date.now() / 1_000) * 1_000 - 60_000);
    const of = { shop: SHOP, plans, first };
    const sale = makeSale(chance(seed), { ...of, orders });
    const telling = new AbortController();
    const killing = (async () => {
      let killed = 0;
      for (; killed < KILLS && !telling.signal.aborted; killed++) {
        await sleep(1_000 + Math.random() * 1_000);
        const instance = instances[killed % instances.length]!;
        await instance.process.stop('SIGKILL');
        instance.process = await startServiceProcess({ ...settings, ...instance.listen });
      }
      return killed;
    })();
    try {
      const told = await tellAll(sale.messages, () => tellers, 12);
      telling.abort();
      const killed = await killing;
      expect(killed).toBeGreaterThan(2);
      expect(told.lost).toBeGreaterThan(0);
      // Run waiting orders of a killed process now; otherwise they would run within a minute.
      await manageClient(instances[0]!.process.url, admin).ok(`POST /shops/${SHOP}/run`);
      const states = await judgeSale(db, sale, of);
      note({ seed, killed, ...told, ...states });
    } catch (error) {
      note({ seed });
      throw error;
    } finally {
      telling.abort();
      await killing.catch(() => undefined);
      await Promise.all(instances.map(({ process }) => process.stop('SIGKILL')));
      await db.destroy();
    }
  },
  600_000,
);
