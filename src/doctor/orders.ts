import { countWaiting, findSilentShops, listUnmapped } from '../store/orders';
import { quantity } from '../licensing/quantity';
import { warning, type Check, type Finding } from './finding';

const DAY_MS = 24 * 60 * 60 * 1000;
/** Articles that are named. */
const MOST_NAMED = 5;

/** Tells of orders that wait, and of shops that were set up and have never posted. */
export const checkOrders: Check = async ({ db, now }): Promise<Finding[]> => {
  const findings: Finding[] = [];
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
  return findings;
};
