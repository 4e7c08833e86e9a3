import { listAt, parseObject, requireText, textAt, timeAt, valueAt } from '../adapters/json';
import { PADDLE_EVENTS } from '../adapters/paddle';
import { entriesOf, PER_PAGE } from './ask';
import type { ShopList } from './shop-list';

/**
 * Paddle's events of the last 90 days (https://developer.paddle.com/api-reference/events/list-events), by their ids,
 * which ascend with time. The API cannot filter them by time or type.
 */
export const paddleList: ShopList = {
  key: /^pdl_(?:live_|sdbx_)?apikey_\w{10,}$/,
  keyNeeds:
    'A Paddle API key begins with "pdl_live_apikey_" or "pdl_sdbx_apikey_". Make one that may read notifications and customers, and nothing else.',
  days: 90,
  origin: (key) =>
    key.startsWith('pdl_sdbx_') ? 'https://sandbox-api.paddle.com' : 'https://api.paddle.com',
  headers: (key) => ({ authorization: `Bearer ${key}`, 'paddle-version': '1' }),

  path(_window, cursor) {
    const after = cursor === undefined ? {} : { after: cursor };
    return `/events?${new URLSearchParams({ per_page: String(PER_PAGE), order_by: 'id[DESC]', ...after }).toString()}`;
  },

  read({ body }, { since }) {
    const answer = parseObject(body);
    const events = entriesOf(listAt(answer, 'data'));
    const last = events.at(-1);
    const hasMore =
      valueAt(answer, 'meta', 'pagination', 'has_more') === true &&
      last !== undefined &&
      (timeAt(last, 'occurred_at') ?? since) >= since;
    return {
      deliveries: events
        .filter((event) => PADDLE_EVENTS.has(textAt(event, 'event_type') ?? ''))
        .filter((event) => (timeAt(event, 'occurred_at') ?? since) >= since)
        .map((event) => ({ body: Buffer.from(JSON.stringify(event)), header: () => undefined })),
      next: hasMore ? requireText(last, 'event_id') : undefined,
    };
  },
};
