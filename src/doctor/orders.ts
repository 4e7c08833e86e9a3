import { DAY_MS, formatTimestampOrNull } from '../base/days';
import {
  countWaitingOrders,
  countWithoutAddress,
  findFailed,
  findShopsWithoutBilling,
  findSilentShops,
  type Order,
} from '../store/orders/orders';
import { mailingOf } from '../mail/queue';
import { listUnmappedArticles } from '../orders/views';
import { mailOf } from '../orders/shop-kinds';
import { listReceiverShops, listShops } from '../store/orders/shops';
import { countUnmatched } from '../store/orders/unmatched';
import { canOpenSecret } from '../orders/shops';
import { countUnreadable, readRefusedMessages } from '../orders/refused-messages';
import type { Db } from '../store/engine/database';
import type { FailedOrder } from '../texts/operators/doctor';
import { problem, warning, type Check, type CheckFinding } from './finding';

/** The maximum number of articles in a finding. */
const MAX_NAMED = 5;
const MAX_COUNTED = 1_000;

/** Reports orders that wait, and shops that were added but have never posted. */
export const checkOrders: Check = async ({ db, now, config }): Promise<CheckFinding[]> => {
  const findings: CheckFinding[] = [];
  const mailing = (await listShops(db)).filter((shop) => mailOf(shop) === 'key').map(({ name }) => name);
  if (mailing.length > 0 && mailingOf(config) === undefined) findings.push(mailOffFinding(mailing));
  const waiting = await countWaitingOrders(db);
  if (waiting.length > 0) {
    const count = waiting.reduce((sum, { orders }) => sum + orders, 0);
    const unmapped = await listUnmappedArticles(db, MAX_NAMED);
    const shops = waiting.map(({ shop }) => shop).join(', ');
    findings.push(warning('ORDERS_WAIT', (t) => t.ordersWait(count, shops, unmapped)));
  }
  const failed = await findFailed(db, MAX_NAMED);
  if (failed.count > 0)
    findings.push(problem('ORDERS_FAILED', (t) => t.ordersFailed(failed.count, failed.orders.map(asFailed))));
  const withoutAddress = await countWithoutAddress(db, MAX_COUNTED);
  if (withoutAddress > 0)
    findings.push(warning('ORDERS_WITHOUT_ADDRESS', (t) => t.ordersWithoutAddress(withoutAddress)));
  const silent = await findSilentShops(db, new Date(now().getTime() - DAY_MS));
  if (silent.length > 0) findings.push(warning('SHOPS_SILENT', (t) => t.shopsSilent(silent.join(', '))));
  const withoutBilling = await findShopsWithoutBilling(db);
  if (withoutBilling.length > 0)
    findings.push(warning('PAYMENTS_FAIL_UNTOLD', (t) => t.paymentsFailUntold(withoutBilling.join(', '))));
  for (const { shop, count } of await countUnmatched(db)) findings.push(unmatchedFinding(shop, count));
  for (const [shop, messages] of await countUnreadable(db, now()))
    findings.push(refusedFinding(shop, messages));
  return [...findings, ...(await refusedFindings(db, now()))];
};

/** Reports receivers that refuse messages because of their signature, and accept none. */
async function refusedFindings(db: Db, now: Date): Promise<CheckFinding[]> {
  const findings: CheckFinding[] = [];
  for (const shop of await listReceiverShops(db)) {
    const refused = await readRefusedMessages(db, shop.name, now);
    if (refused.isAlone && shop.secretSealed === null)
      findings.push(warning('RECEIVER_NO_SECRET', (t) => t.receiverNoSecret(shop.name, refused.times)));
    else if (refused.isAlone)
      findings.push(warning('RECEIVER_REFUSES', (t) => t.receiverRefuses(shop.name, refused.times)));
  }
  return findings;
}

function asFailed({ shop, number, failure, failedAt, retryAt }: Order): FailedOrder {
  return {
    shop,
    order: number,
    failure: failure ?? '',
    failedAt: formatTimestampOrNull(failedAt) ?? '',
    retryAt: formatTimestampOrNull(retryAt) ?? '',
  };
}

function mailOffFinding(shops: string[]): CheckFinding {
  return warning('KEYS_NOT_MAILED', (t) => t.keysNotMailed(shops.slice(0, MAX_NAMED).join(', ')));
}

/** Reports unmatched messages until an operator assigns them, however old they are. */
function unmatchedFinding(shop: string, count: number): CheckFinding {
  return warning('MESSAGES_UNMATCHED', (t) => t.messagesUnmatched(shop, count));
}

function refusedFinding(shop: string, count: number): CheckFinding {
  return warning('MESSAGES_REFUSED', (t) => t.messagesRefused(shop, count));
}

/** Reports receivers whose secret cannot be opened. */
export const checkReceivers: Check = async ({ db, config: { keySecret } }): Promise<CheckFinding[]> => {
  const shut = (await listReceiverShops(db)).filter(
    (shop) => shop.secretSealed !== null && !canOpenSecret(shop, keySecret),
  );
  if (shut.length === 0) return [];
  const names = shut.map(({ name }) => name).join(', ');
  return [problem('RECEIVER_SECRET', (t) => t.receiverSecret(names))];
};
