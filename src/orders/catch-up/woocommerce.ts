import { InvalidRequestError } from '../../base/errors';
import { timeAtUtc } from '../adapters/woocommerce';
import { entriesOf } from './ask';
import type { ShopList } from './shop-list';

/**
 * Orders and subscriptions in their present state, sorted by change, latest first: WooCommerce keeps no list of events
 * (https://woocommerce.github.io/woocommerce-rest-api-docs/#list-all-orders, `modified_after` since WooCommerce 5.8).
 * Subscriptions need WooCommerce Subscriptions; versions before 3.1 have them below `wc/v1`.
 */
export const woocommerceList: ShopList = {
  key: /^ck_[0-9a-f]{40}:cs_[0-9a-f]{40}$/,
  keyNeeds:
    'It is the consumer key, a colon and the consumer secret: "ck_...:cs_...". Make a key with the permission "Read" at WooCommerce > Settings > Advanced > REST API.',
  isOnSite: true,
  origin: (_key, siteUrl) => siteUrl ?? '',
  headers: (key) => ({ authorization: `Basic ${Buffer.from(key).toString('base64')}` }),

  path({ since }, cursor) {
    const { path, page } = placeOf(cursor);
    const query = new URLSearchParams({
      per_page: String(PER_PAGE),
      page: String(page),
      orderby: 'modified',
      order: 'desc',
      modified_after: since.toISOString().slice(0, 19),
      dates_are_gmt: 'true',
    });
    // Omit the parameters that version 1 does not know. It sorts by date, and `read` skips older entries.
    if (path === V1) for (const name of ['orderby', 'modified_after', 'dates_are_gmt']) query.delete(name);
    return `/wp-json/${path}?${query.toString()}`;
  },

  read({ body, header }, { since }, cursor) {
    const { list, page } = placeOf(cursor);
    const objects = entriesOf(parseList(body));
    const topic = list === 'orders' ? 'order.updated' : 'subscription.updated';
    const pages = Number(header('x-wp-totalpages') ?? (objects.length < PER_PAGE ? page : page + 1));
    return {
      deliveries: objects
        .filter((object) => (timeAtUtc(object, 'date_modified_gmt') ?? new Date(0)) >= since)
        .map((object) => ({
          body: Buffer.from(JSON.stringify(object)),
          header: (name) => (name === 'x-wc-webhook-topic' ? topic : undefined),
        })),
      next:
        objects.length > 0 && page < pages
          ? `${list}:${page + 1}`
          : list === 'orders'
            ? 'subscriptions:1'
            : undefined,
    };
  },

  missing(cursor) {
    const { list } = placeOf(cursor);
    if (list === 'subscriptions') return { next: 'subscriptions-v1:1' };
    return list === 'subscriptions-v1' ? { next: undefined } : undefined;
  },
};

const PER_PAGE = 50;
const V1 = 'wc/v1/subscriptions';
const PATHS = { orders: 'wc/v3/orders', subscriptions: 'wc/v3/subscriptions', 'subscriptions-v1': V1 };

function placeOf(cursor = 'orders:1'): { list: keyof typeof PATHS; path: string; page: number } {
  const [name = '', page] = cursor.split(':');
  const list = name as keyof typeof PATHS;
  return { list, path: PATHS[list], page: Number(page) };
}

function parseList(body: Buffer): unknown[] {
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch {
    value = undefined;
  }
  if (!Array.isArray(value)) throw new InvalidRequestError('The answer is not a list.');
  return value as unknown[];
}
