import { listAt, parseObject, requireText, valueAt } from '../adapters/json';
import { STRIPE_EVENTS } from '../adapters/stripe';
import { entriesOf, PER_PAGE } from './ask';
import type { ShopList } from './shop-list';

/**
 * Stripe's events of the last 30 days (https://docs.stripe.com/api/events/list), newest first, each in the API version
 * that it was made with.
 */
export const stripeList: ShopList = {
  key: /^[rs]k_(?:live|test)_\w{10,}$/,
  keyNeeds:
    'A Stripe API key begins with "rk_" or "sk_". Make a restricted key that may read Events, Invoices and Checkout Sessions, and nothing else.',
  days: 30,
  origin: () => 'https://api.stripe.com',
  headers: (key) => ({ authorization: `Bearer ${key}`, 'stripe-version': '2025-03-31.basil' }),

  path({ since, until }, cursor) {
    const query = new URLSearchParams([
      ['limit', String(PER_PAGE)],
      ['created[gte]', seconds(since)],
      ['created[lte]', seconds(until)],
      ...STRIPE_EVENTS.map((type): [string, string] => ['types[]', type]),
      ...(cursor === undefined ? [] : [['starting_after', cursor] as [string, string]]),
    ]);
    return `/v1/events?${query.toString()}`;
  },

  read({ body }) {
    const answer = parseObject(body);
    const events = entriesOf(listAt(answer, 'data'));
    const last = events.at(-1);
    const hasMore = valueAt(answer, 'has_more') === true && last !== undefined;
    return {
      deliveries: events.map((event) => ({
        body: Buffer.from(JSON.stringify(event)),
        header: () => undefined,
      })),
      next: hasMore ? requireText(last, 'id') : undefined,
    };
  },
};

function seconds(at: Date): string {
  return String(Math.floor(at.getTime() / 1000));
}
