import { Type } from '@sinclair/typebox';
import { formatTimestamp } from '../base/days';
import { requireProduct } from '../licensing/find-or-throw';
import { listSpreadingPage, SPREADING_SORTS, type Spreading } from '../licensing/spreading';
import { OUTDATED_SITE_SORTS, readProductSites, type OutdatedSite } from '../licensing/reported-sites';
import { get, list } from './kit/operation';
import { pageOf, readId } from './kit/request-params';
import { strictObject, Id, nullable, Paging, sortBy, Text, TextOrNull, Time } from './kit/schemas';

const Count = Type.Integer({ minimum: 0 });

const told = {
  site: Type.String({ description: 'The domain that the site reported. It is not verified.' }),
  version: Type.String({ description: 'The installed version that it reported.' }),
  version_at: { ...Time, description: 'The time at which it first reported this version.' },
  at: { ...Time, description: 'The time of its latest report.' },
};

const toldJson = ({ site, version, firstAt, at }: Spreading['sites'][number]) => ({
  site,
  version,
  version_at: formatTimestamp(firstAt),
  at: formatTimestamp(at),
});

const ProductSites = strictObject(
  {
    newest: nullable(
      Type.String({
        description: 'The version that sites are offered; during a rollout, the version before.',
      }),
    ),
    share: nullable(
      Type.Number({
        description: 'The share of the counted sites, 0 to 1, that reported this version or a later one.',
      }),
    ),
    half_days: nullable(
      Type.Number({
        description: 'Days from its publication until half of the counted sites had it; null: fewer have it.',
      }),
    ),
    counted: Type.Integer({
      minimum: 0,
      description: 'The number of sites that reported a version in 180 days, once per licence.',
    }),
    versions: Type.Array(strictObject({ version: Text, sites: Count }), {
      description: 'The 100 most frequent versions, most frequent first.',
    }),
    sites: Type.Array(
      strictObject({
        ...told,
        license_id: Id,
        customer: TextOrNull,
        may_update: Type.Boolean(),
        code: nullable(
          Type.String({
            description: 'The reason why it may not update: the code that its download would get.',
          }),
        ),
      }),
      { description: 'Sites with an older version.' },
    ),
    next: nullable(Type.String({ description: 'The cursor for `after`; null at the end.' })),
  },
  { title: 'ProductSites' },
);

const behindJson = ({ license, code, ...site }: OutdatedSite) => ({
  ...toldJson(site),
  license_id: license.id,
  customer: license.customer,
  may_update: code === null,
  code,
});

const SpreadingKey = strictObject(
  {
    license_id: Id,
    product_id: Id,
    key_id: Id,
    key_hint: TextOrNull,
    label: TextOrNull,
    customer: TextOrNull,
    slots: Count,
    networks: Type.Integer({
      minimum: 0,
      description: 'Networks that downloaded with this key in the last 30 days.',
    }),
    most: Type.Integer({
      minimum: 0,
      description:
        'The highest number of networks that a key with these slots explains: LICENSING_SPREAD_FACTOR times its slots, plus 10.',
    }),
    at: Time,
    sites: Type.Array(strictObject({ ...told, product_id: Id })),
  },
  { title: 'SpreadingKey' },
);

export const spreadingJson = ({ key, license, slots, networks, most, at, sites }: Spreading) => ({
  license_id: license.id,
  product_id: license.product.id,
  key_id: key.id,
  key_hint: key.keyHint,
  label: key.label,
  customer: license.customer,
  slots,
  networks,
  most,
  at: formatTimestamp(at),
  sites: sites.map((one) => ({ ...toldJson(one), product_id: one.productId })),
});

export const reportedSiteOperations = {
  listProductSites: get(
    '/products/{id}/sites',
    {
      summary: "Read which versions of a product customers' sites run",
      description:
        'The plugin for Joomla reports the version with each download and check, even if that is refused. The list has the sites with an older version, a page at a time.',
      query: strictObject({
        sort: sortBy(OUTDATED_SITE_SORTS, 'Sorts by the time of the latest report. Default: latest first.'),
        ...Paging,
      }),
      data: ProductSites,
    },
    async (call) => {
      const { id } = await requireProduct(call.db, readId(call, 'id', 'product'));
      const { newest, share, halfDays, counted, versions, behind } = await readProductSites(
        call.db,
        id,
        { ...pageOf(call.query), sort: call.query.sort },
        call.now,
      );
      return {
        data: {
          newest,
          share,
          half_days: halfDays,
          counted,
          versions,
          sites: behind.items.map(behindJson),
          next: behind.next,
        },
      };
    },
  ),
  listSpreading: list(
    '/spreading',
    {
      summary: 'List keys that may have been shared',
      description:
        'More networks used these keys for downloads in 30 days than their slots explain. The service does not refuse such keys.',
      query: strictObject({
        sort: sortBy(
          SPREADING_SORTS,
          'Sorts by the latest download, the number of networks or the customer. Default: latest download first.',
        ),
        ...Paging,
      }),
      data: SpreadingKey,
    },
    async ({ db, settings, query, now }) => {
      const { items, next } = await listSpreadingPage(
        db,
        settings.spreadFactor,
        pageOf(query),
        query.sort,
        now,
      );
      return { data: items.map(spreadingJson), next };
    },
  ),
};
