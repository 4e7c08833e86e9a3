import { dayOf } from '../../src/base/days';
import { refreshFigures } from '../../src/figures/kept-figures';
import { lastMonths } from '../../src/figures/renewals';
import { recountAfterImport, aggregateNewRows } from '../../src/figures/statistics';
import { SPREAD_DAYS, REPORTED_SITE_DAYS } from '../../src/licensing/spreading';
import { pruneAccesses } from '../../src/store/access-log';
import type { Db, Transaction } from '../../src/store/engine/database';
import { acquireOrRenewLease, releaseLease } from '../../src/store/leases';
import { findShop } from '../../src/store/orders/shops';
import { pruneLicenseMonths, pruneRefused } from '../../src/store/sums';
import { pruneReportedSites } from '../../src/store/reported-sites';
import { inTransaction } from '../../src/store/engine/transaction';
import { addPlans } from './catalogue';
import { createChance } from './chance';
import { createDiary } from './diary';
import { planRequests, writeChecks, writeRequests } from './requests';
import { OPENED_DAYS, planSales, sellAll } from './sales';
import {
  openShop,
  planAgency,
  planRefusals,
  planSpreadingKey,
  planStrayOrders,
  planSupport,
  planVersions,
  planWebhooks,
} from './scenes';
import { settleDeliveries, settleMails } from './sent';
import { later, type Shop } from './shop';

/** The seed of the random numbers. Another number creates another shop. */
const SEED = 42;
/** The default of LICENSING_LOG_DAYS. */
const LOG_DAYS = 90;

/**
 * Adds two years of a shop's business to the well-known data (`seedDemo`), in one transaction: sales, renewals,
 * versions, sites, requests, orders and mails. The rules of the service create them, each at its own time before `now`.
 * The same `now` creates the same shop, except for random values of the rules: the keys of orders, secrets and tokens.
 *
 * Does nothing if the database already has it.
 */
export async function giveYear(
  db: Db,
  { packagesDir, keySecret }: { packagesDir: string; keySecret: Buffer | undefined },
  now: Date,
): Promise<void> {
  if (await findShop(db, 'webshop')) return;
  await inTransaction(db, async (trx) => {
    const shop: Shop = {
      ...{ db: trx, now, keySecret, sold: [], accesses: [] },
      chance: createChance(SEED),
      diary: createDiary(trx, now, (sales) => sellAll(shop, sales)),
      plans: await addPlans(trx, later(now, -OPENED_DAYS)),
      mailing: { language: 'en' },
    };
    await openShop(shop);
    planVersions(shop, packagesDir);
    planWebhooks(shop);
    planSales(shop);
    planAgency(shop);
    planStrayOrders(shop);
    planSupport(shop);
    planSpreadingKey(shop);
    planRefusals(shop);
    await shop.diary.live();
    planRequests(shop);
    await writeRequests(shop);
    await writeChecks(shop);
    await settleMails(shop);
    await settleDeliveries(shop);
    await keepHouse(trx, now);
  });
}

/** Sums up figures like the running service, so that the first page has them. */
async function keepHouse(trx: Transaction, now: Date): Promise<void> {
  // Take a separate lease, because a service on this database may hold that of housekeeping: both must not count twice.
  const lease = { name: 'demo', holder: 'demo' };
  const clock = () => now;
  if (!(await acquireOrRenewLease(trx, lease, now)) || !(await aggregateNewRows(trx, lease, clock)))
    throw new Error('Another program keeps the figures of this database.');
  await releaseLease(trx, lease);
  await recountAfterImport(trx, now);
  await refreshFigures(trx, undefined, clock);
  const logged = later(now, -LOG_DAYS);
  const told = { sites: later(now, -REPORTED_SITE_DAYS), networks: later(now, -SPREAD_DAYS) };
  for (const pruneSome of [
    (rows: number) => pruneAccesses(trx, logged, rows),
    (rows: number) => pruneRefused(trx, dayOf(logged), rows),
    (rows: number) => pruneLicenseMonths(trx, lastMonths(now)[0] as string, rows),
    (rows: number) => pruneReportedSites(trx, told, rows),
  ])
    while ((await pruneSome(PRUNED_AT_ONCE)) === PRUNED_AT_ONCE);
}

const PRUNED_AT_ONCE = 200;
