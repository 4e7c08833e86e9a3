import { Type } from '@sinclair/typebox';
import { formatTimestamp } from '../base/days';
import { requireProduct } from '../licensing/find-or-throw';
import { listSpreadingPage, SPREADING_SORTS, type Spreading } from '../licensing/spreading';
import { OUTDATED_SITE_SORTS, readProductSites, type OutdatedSite } from '../licensing/reported-sites';
import { get, list } from './kit/operation';
import { pageOf, readId } from './kit/request-params';
import { strictObject, Id, nullable, PageQuery, sortBy, Text, TextOrNull, Time } from './kit/schemas';

const Count = Type.Integer({ minimum: 0 });

const told = {
  site: Type.String({ description: 'A domain, as the site named itself. Nothing proves it.' }),
  version: Type.String({ description: 'The version that it said is installed.' }),
  version_at: { ...Time, description: 'When it first said so.' },
  at: { ...Time, description: 'When it last told anything.' },
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
      Type.String({ description: 'The version that sites are offered; during a rollout the one before.' }),
    ),
    share: nullable(
      Type.Number({
        description: 'The part of the counted sites, 0 to 1, that said they have it, or a later one.',
      }),
    ),
    half_days: nullable(
      Type.Number({
        description:
          'Days from its publication until half of the sites that are counted now had it; null: they have not.',
      }),
    ),
    counted: Type.Integer({
      minimum: 0,
      description: 'Sites that told anything in 180 days, each once for a licence.',
    }),
    versions: Type.Array(strictObject({ version: Text, sites: Count }), {
      description: 'The 100 most frequent ones, the most frequent first.',
    }),
    sites: Type.Array(
      strictObject({
        ...told,
        license_id: Id,
        customer: TextOrNull,
        may_update: Type.Boolean(),
        code: nullable(Type.String({ description: 'Why it may not: the code that its download would get.' })),
      }),
      { description: 'Those with an older version.' },
    ),
    next: nullable(Type.String({ description: 'For `after`; null at the end.' })),
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
    networks: Type.Integer({ minimum: 0, description: 'That downloaded by it in the last 30 days.' }),
    most: Type.Integer({
      minimum: 0,
      description: 'What a key with these slots may have: LICENSING_SPREAD_FACTOR times its slots, and 10.',
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
      summary: "Which versions of a product customers' sites run",
      description:
        'As the plugin for Joomla tells with each download and check, also a refused one. The list is of those with an older version, a page at a time.',
      query: strictObject({
        sort: sortBy(
          OUTDATED_SITE_SORTS,
          'By the latest time that they told anything. Without it the latest first.',
        ),
        ...PageQuery,
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
      summary: 'Keys in many hands',
      description:
        'Keys that more networks downloaded by in 30 days than their slots explain. Nothing is refused by it.',
      query: strictObject({
        sort: sortBy(
          SPREADING_SORTS,
          'By the latest download, the number of networks or the customer. Without it the latest first.',
        ),
        ...PageQuery,
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
