import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import type { Thing } from './manage';

/**
 * The lists of Stripe, Paddle and WooCommerce on loopback, with small pages, as their documentation describes them
 * (test/hooks/fixtures/README.md).
 */
export interface ShopLists {
  url: string;
  stripe: Thing[];
  paddle: Thing[];
  orders: Thing[];
  /** undefined if the shop has no WooCommerce Subscriptions */
  subscriptions: Thing[] | undefined;
  /** the lines of Stripe's invoices by id */
  lines: Map<string, Thing[]>;
  /** replacements for the next answers, in order; undefined for the regular answer */
  faults: ({ status: number; headers?: Record<string, string>; body?: Thing } | undefined)[];
  /** the requested paths with their queries */
  asked: URL[];
  stop(): Promise<void>;
}

export const STRIPE_KEY = `rk_test_${'51Hc'.repeat(6)}`;
export const PADDLE_KEY = 'pdl_sdbx_apikey_01gtgztp8f4kek3yd4g1wrksa3_q6TGTJyvoIz7LDtXT65bX7_AQO';
export const WOO_KEY = `ck_${'0a'.repeat(20)}:cs_${'1b'.repeat(20)}`;

const PAGE = 2;

export async function startShopLists(): Promise<ShopLists> {
  const server = createServer((request, response) => answer(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const lists: ShopLists = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...{ stripe: [], paddle: [], orders: [], subscriptions: undefined, lines: new Map<string, Thing[]>() },
    ...{ faults: [], asked: [] },
    stop: async () => {
      server.close();
      await once(server, 'close');
    },
  };

  function answer({ url = '', headers }: IncomingMessage, response: ServerResponse): void {
    const at = new URL(url, lists.url);
    lists.asked.push(at);
    const send = (status: number, body: unknown, more: Record<string, string> = {}) =>
      response.writeHead(status, { 'content-type': 'application/json', ...more }).end(JSON.stringify(body));
    const fault = lists.faults.shift();
    if (fault !== undefined) return void send(fault.status, fault.body ?? { error: {} }, fault.headers);
    const { authorization } = headers;
    const query = at.searchParams;
    if (at.pathname.startsWith('/v1/')) {
      if (authorization !== `Bearer ${STRIPE_KEY}`) return void send(401, { error: {} });
      return void send(200, at.pathname === '/v1/events' ? stripeEvents(query) : stripeLines(at));
    }
    if (at.pathname === '/events') {
      if (authorization !== `Bearer ${PADDLE_KEY}`) return void send(403, { error: {} });
      return void send(200, paddleEvents(query));
    }
    if (authorization !== `Basic ${Buffer.from(WOO_KEY).toString('base64')}`) return void send(401, {});
    const objects = {
      '/wp-json/wc/v3/orders': lists.orders,
      '/wp-json/wc/v3/subscriptions': lists.subscriptions,
    }[at.pathname];
    if (objects === undefined) return void send(404, { code: 'rest_no_route' });
    const found = objects
      .filter((one) => String(one.date_modified_gmt) > (query.get('modified_after') ?? ''))
      .sort((a, b) => (String(a.date_modified_gmt) < String(b.date_modified_gmt) ? 1 : -1));
    const page = Number(query.get('page'));
    send(200, found.slice((page - 1) * PAGE, page * PAGE), {
      'x-wp-totalpages': String(Math.ceil(found.length / PAGE)),
    });
  }

  /** Returns a page of items after `cursor`. */
  const pageOf = (items: Thing[], idOf: (one: Thing) => unknown, cursor: string | null) => {
    const start = cursor === null ? 0 : items.findIndex((one) => idOf(one) === cursor) + 1;
    return { data: items.slice(start, start + PAGE), more: start + PAGE < items.length };
  };

  function stripeEvents(query: URLSearchParams) {
    const types = query.getAll('types[]');
    const events = lists.stripe
      .filter(({ type, created }) => {
        const [since, until] = [Number(query.get('created[gte]')), Number(query.get('created[lte]'))];
        return types.includes(String(type)) && Number(created) >= since && Number(created) <= until;
      })
      .sort((a, b) => Number(b.created) - Number(a.created));
    const { data, more } = pageOf(events, ({ id }) => id, query.get('starting_after'));
    return { object: 'list', url: '/v1/events', data, has_more: more };
  }

  function stripeLines({ pathname, searchParams }: URL) {
    const [, , , invoice = ''] = pathname.split('/');
    const { data, more } = pageOf(
      lists.lines.get(invoice) ?? [],
      ({ id }) => id,
      searchParams.get('starting_after'),
    );
    return { object: 'list', data, has_more: more };
  }

  function paddleEvents(query: URLSearchParams) {
    const sign = query.get('order_by') === 'id[DESC]' ? -1 : 1;
    const events = [...lists.paddle].sort((a, b) => (String(a.event_id) < String(b.event_id) ? -sign : sign));
    const { data, more } = pageOf(events, ({ event_id: id }) => id, query.get('after'));
    const next = `https://sandbox-api.paddle.com/events?after=${String(data.at(-1)?.event_id)}`;
    return { data, meta: { pagination: { per_page: PAGE, next, has_more: more, estimated_total: 9 } } };
  }

  return lists;
}
