import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { operatorRoutes } from '../../src/http/pages/operator/routes';
import { OPERATIONS } from '../../src/operations/operations';
import { IS_WHOLE } from '../support/extent';
import {
  createMariaDbDatabase,
  giveLicense,
  givePlan,
  startTestService,
  type TestService,
} from '../support/service';
import { pagesClient, type PagesClient } from './support/session';

/** Filters in a page's address can be any text: no page and no file may fail because of one. */

/** The fields of every list's query in the API, and the filters that only pages have. */
const FILTERS = [
  ...new Set([
    ...OPERATIONS.flatMap(({ query }) =>
      Object.keys((query as { properties?: object } | undefined)?.properties ?? {}),
    ),
    ...['order', 'month', 'days', 'version', 'site', 'after'],
  ]),
];
/** A list gets one of these values per filter, and its file the other. `npm run test:faults` tries both. */
const VALUES = ['1e999', 'x'];
const valuesOf = (path: string, filter: number) =>
  IS_WHOLE ? VALUES : [VALUES[(filter + Number(path.endsWith('.csv'))) % 2]!];
/** Each list with its file, and the pages of figures. */
const LISTS = operatorRoutes
  .map(({ path }) => path)
  .filter((path) => path.endsWith('.csv') || operatorRoutes.some((one) => one.path === `${path}.csv`))
  .concat('/', '/renewals');

let service: TestService;
let pages: PagesClient;
let ids: Record<string, string>;

beforeAll(async () => {
  service = await startTestService({
    LICENSING_DATABASE_URL: await createMariaDbDatabase(),
    LICENSING_MANAGE_RATE_LIMIT: '1000000',
  });
  const { id } = await giveLicense(service.db, await givePlan(service.db), { customer: 'a@example.com' });
  pages = await pagesClient(service);
  ids = { license: String(id) };
});
afterAll(() => service.stop());

describe('an invalid filter', () => {
  it('is tried for the lists and filters of the API', () => {
    expect(LISTS).toEqual(expect.arrayContaining(['/licenses', '/licenses.csv', '/requests', '/renewals']));
    expect(FILTERS).toEqual(expect.arrayContaining(['product_id', 'plan_id', 'status', 'sort', 'since']));
  });

  it.each(LISTS)('does not fail %s, and cuts no file', async (path) => {
    const address = path.replace(/:\w+/, path.startsWith('/products') ? '42' : ids.license!);
    const faults: unknown[] = [];
    for (const [i, name] of FILTERS.entries())
      for (const value of valuesOf(path, i)) {
        const query = `${address}?${name}=${value}`;
        // A file that breaks off rejects.
        const status = await pages.get(query).then(
          (answer) => answer.status,
          (error: unknown) => String(error),
        );
        if (typeof status === 'string' || status >= 500) faults.push([query, status]);
      }
    expect(faults).toEqual([]);
  });

  it('is refused before a file begins', async () => {
    for (const query of ['sort=x', 'status=x', 'product_id=1e999']) {
      const { status, headers } = await pages.get(`/licenses.csv?${query}`);
      expect([query, status, headers.get('content-disposition')]).toEqual([query, 400, null]);
    }
    expect((await pages.get('/licenses.csv?status=active')).status).toBe(200);
  });
});
