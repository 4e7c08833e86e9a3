import { countWaiting, findSilentShops, listUnmapped, listUnmatchedRenewals } from '../store/orders';
import { quantity } from '../licensing/quantity';
import { mailingOf } from '../mail/queue';
import { mailOf } from '../orders/shop-kinds';
import { listReceiverShops, listShops } from '../store/shops';
import { countMessages } from '../store/shop-messages';
import { opensSecret } from '../orders/shops';
import { problem, warning, type Check, type Finding } from './finding';

const DAY_MS = 24 * 60 * 60 * 1000;
/** Articles that are named. */
const MOST_NAMED = 5;

/** Tells of orders that wait, and of shops that were set up and have never posted. */
export const checkOrders: Check = async ({ db, now, config }): Promise<Finding[]> => {
  const findings: Finding[] = [];
  const mailing = (await listShops(db)).filter((shop) => mailOf(shop) === 'key').map(({ name }) => name);
  if (mailing.length > 0 && mailingOf(config) === undefined) findings.push(mailOffFinding(mailing));
  const waiting = await countWaiting(db);
  if (waiting.length > 0) {
    const count = waiting.reduce((sum, { orders }) => sum + orders, 0);
    const unmapped = await listUnmapped(db, MOST_NAMED);
    const named = unmapped.map(({ shop, sku }) => `"${sku}" of ${shop}`).join(', ');
    findings.push(
      warning(
        'ORDERS_WAIT',
        `${quantity(count, 'order waits', 'orders wait')}, of ${waiting.map(({ shop }) => shop).join(', ')}.${named === '' ? '' : ` Not mapped: ${named}.`}`,
        {
          why: 'Customers paid, and have no licence.',
          remedy:
            '"licensing order list --waiting" says what each waits for, and "licensing shop map SHOP SKU --plan ID" maps an article.',
        },
      ),
    );
  }
  const silent = await findSilentShops(db, new Date(now().getTime() - DAY_MS));
  if (silent.length > 0)
    findings.push(
      warning('SHOPS_SILENT', `No order has come yet from: ${silent.join(', ')}.`, {
        why: 'Each was set up more than a day ago. Its orders may not reach this service.',
        remedy: 'Place a test order (docs/shop.md), or remove the shop: licensing shop remove NAME',
      }),
    );
  const renewed = await listUnmatchedRenewals(db, weekAgo(now()));
  if (renewed.length > 0) findings.push(renewalsFinding(renewed));
  for (const { shop, result, messages } of await countMessages(db, ['unmatched', 'refused'], weekAgo(now())))
    findings.push(messagesFinding(shop, result, messages));
  return findings;
};

function mailOffFinding(shops: string[]): Finding {
  return warning(
    'KEYS_NOT_MAILED',
    `Mail is not set up, and the orders of ${shops.slice(0, MOST_NAMED).join(', ')} are to be mailed their keys.`,
    {
      why: 'Who pays there gets no key.',
      remedy:
        'Set mail up (docs/mail.md). If the shop hands the keys out itself: licensing shop edit NAME --mail none',
    },
  );
}

function weekAgo(now: Date): Date {
  return new Date(now.getTime() - 7 * DAY_MS);
}

function renewalsFinding(orders: { shop: string; number: string }[]): Finding {
  const named = orders.slice(0, MOST_NAMED).map(({ shop, number }) => `${number} of ${shop}`);
  const others = orders.length - named.length;
  return warning(
    'RENEWALS_UNMATCHED',
    `${quantity(orders.length, 'order was', 'orders were')} renewed in the last week, and nothing is known of what: ${named.join(', ')}${others > 0 ? ` and ${others} others` : ''}.`,
    {
      why: 'The first payment is from before the shop was set up, or the subscription was changed to another article. No licence was prolonged.',
      remedy:
        'Say which licence each renews (docs/shop.md, "Subscriptions from before"). What came meanwhile counts then.',
    },
  );
}

function messagesFinding(shop: string, result: string, count: number): Finding {
  const messages = `${quantity(count, 'message', 'messages')} of ${shop} in the last week`;
  const remedy = `"licensing shop messages ${shop} --result ${result}" lists them.`;
  return result === 'unmatched'
    ? warning('MESSAGES_UNMATCHED', `Nothing is known of what ${messages} named.`, {
        why: 'A refund or charge-back may be of an order from before the receiver was added: its licence stays as it is.',
        remedy: `${remedy} Suspend a licence by hand, or let it be if the payment was for something else.`,
      })
    : warning('MESSAGES_REFUSED', `${messages} could not be stored.`, {
        why: 'What they tell has not happened to any licence.',
        remedy: `${remedy} The reason says what is wrong with each.`,
      });
}

/** Tells of receivers whose secret cannot be opened. */
export const checkReceivers: Check = async ({ db, config: { keySecret } }): Promise<Finding[]> => {
  const shut = (await listReceiverShops(db)).filter((shop) => !opensSecret(shop, keySecret));
  if (shut.length === 0) return [];
  const names = shut.map(({ name }) => name).join(', ');
  return [
    problem('RECEIVER_SECRET', `The secret of these receivers cannot be opened: ${names}.`, {
      why: 'LICENSING_KEY_SECRET is not set, or is another than the one that sealed them. Their messages are refused.',
      remedy:
        'Set the one they were added with, or give each its secret again: licensing shop edit NAME --secret-file FILE',
    }),
  ];
};
