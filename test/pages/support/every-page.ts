import { myRoutes } from '../../../src/http/pages/my/routes';
import { operatorRoutes } from '../../../src/http/pages/operator/routes';
import { signInRoutes } from '../../../src/http/pages/sign-in/routes';
import { table, type Db } from '../../../src/store/engine/database';
import { sendAgain } from '../../support/manage';
import { SHOP } from '../../support/sample-shop';
import { rows, type TestService } from '../../support/service';
import { customerClient, pagesClient, type PagesClient } from './session';

/** The addresses of all pages of the sample shop. They come from the routes, so that a later page is visited, too. */

export interface EveryPage {
  operator: string[];
  /** Pages that open with the link that is mailed to an address. */
  byMail: string[];
  /** Pages that open with a key. */
  byKey: string[];
  open: string[];
}

export async function everyPage(service: TestService): Promise<EveryPage> {
  const ids = await idsOf(service.db);
  const operator = await pagesClient(service);
  const nobody = await pagesClient(service, { scope: 'none' });
  const byMail = await customerClient(service, { email: SHOP.studio.email });
  const byKey = await customerClient(service, { key: SHOP.jane.key });
  const [mine, open] = [myRoutes.signedIn, [...myRoutes.open, ...signInRoutes]].map((routes) =>
    routes.filter(({ get }) => get).map(({ path }) => path),
  );
  return {
    operator: await shown(operator, [
      ...operatorRoutes.filter(({ get }) => get).flatMap(({ path }) => addressesOf(path, ids)),
      ...[
        '/licenses?q=none',
        '/licenses?status=expired',
        '/licenses?expiring=30d',
        '/?days=90',
        '/customers?q=none',
        '/nowhere',
      ],
      '/webhooks/1?state=waiting',
      ...[`/releases?product_id=${SHOP.forms}`, '/requests?outcome=LICENSE_EXPIRED'],
    ]),
    byMail: await shown(
      byMail,
      mine!.flatMap((path) => addressesOf(path, ids)),
    ),
    byKey: await shown(byKey, ['/my']),
    open: await shown(nobody, [
      ...open!.flatMap((path) => addressesOf(path, ids)),
      '/sign-in?why=ended&next=/licenses',
      '/my?why=ended',
    ]),
  };
}

type Ids = Record<string, (number | string)[]>;

async function idsOf(db: Db): Promise<Ids> {
  const licenses = await rows<{
    id: number;
    reference: string;
    main_key_id: number;
    customer_digest: string | null;
  }>(db, 'licenses');
  const of = (order: string) => licenses.find(({ reference }) => reference === order)!;
  const [jane, studio, post, office] = [SHOP.jane, SHOP.studio, SHOP.post, SHOP.office].map(({ order }) =>
    of(order),
  ) as [(typeof licenses)[0], (typeof licenses)[0], (typeof licenses)[0], (typeof licenses)[0]];
  const key = (
    await db(table(db, 'license_keys'))
      .where({ license_id: studio.id })
      .orderBy('id', 'desc')
      .first<{ id: number }>()
  ).id;
  const site = (await db(table(db, 'activations')).where({ license_id: studio.id }).first<{ id: number }>())
    .id;
  const releases = await rows<{ id: number }>(db, 'releases');
  const tokens = await rows<{ id: number }>(db, 'tokens');
  const shops = await rows<{ name: string }>(db, 'shops');
  const orders = await rows<{ id: number }>(db, 'orders');
  return {
    'licenses/:id': [jane.id, studio.id, post.id, office.id],
    '/licenses/:id/': [studio.id],
    key: [key],
    site: [site],
    customers: [studio.customer_digest ?? '', jane.customer_digest ?? ''],
    products: [SHOP.gallery],
    releases: [releases[3]!.id, releases[4]!.id],
    tokens: [tokens[0]?.id ?? 1],
    webhooks: [1],
    shops: shops.length === 0 ? [1] : shops.map(({ name }) => name),
    orders: orders.length === 0 ? [1] : orders.map(({ id }) => id),
    plans: [SHOP.plans.agency25],
  };
}

/** Returns the addresses of a route's path, one for each object whose page differs. */
function addressesOf(path: string, ids: Ids): string[] {
  const [first = ''] = path.replace(/^\/(?:my\/)?/, '').split('/');
  const own = path === '/licenses/:id' ? ids['licenses/:id'] : (ids[first] ?? ids['/licenses/:id/']);
  const given = path
    .replace(/:key\b/, String(ids.key![0]))
    .replace(/:(site|activation)\b/, String(ids.site![0]))
    .replace(/:plan\b/, String(ids.plans![0]))
    .replace(/:release\b/, String(ids.releases![0]))
    .replace(/:code\b/, 'A'.repeat(43))
    .replace(/:mail\b/, 'license_key')
    .replace(/:language\b/, 'de');
  if (!/:\w+/.test(given)) return [given];
  return (own ?? [1]).map((id) => given.replace(/:\w+/g, String(id)));
}

/** Returns the addresses that show a page, and not a file or a redirect. */
async function shown(client: PagesClient, addresses: string[]): Promise<string[]> {
  const found: string[] = [];
  for (const address of new Set(addresses)) {
    const { status, headers } = await sendAgain(() => client.get(address));
    if (status >= 500) throw new Error(`${address} answered ${status}.`);
    if (
      (headers.get('content-type') ?? '').startsWith('text/html') &&
      status !== 303 &&
      !(headers.get('content-disposition') ?? '').includes('attachment')
    )
      found.push(address);
  }
  return found;
}
