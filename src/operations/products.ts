import { Type } from '@sinclair/typebox';
import {
  addProduct,
  editProduct,
  readProduct,
  removeProduct,
  type ProductFields,
} from '../licensing/catalogue';
import { requireElement, requireHttpsUrl, requireLabel } from '../licensing/fields';
import { listProductPage, PRODUCT_SORTS } from '../licensing/lists';
import { planJson, productJson } from '../licensing/views';
import { follow } from './kit/follow';
import { get, list, patch, post, remove } from './kit/operation';
import { pageOf, readId } from './kit/reading';
import { exactly, IdGiven, orNull, Paging, sortBy, Text, TextOrNull } from './kit/schemas';
import { Product, ProductDetails } from './kit/things';

const Includes = Type.Union([Type.Array(IdGiven), Type.Literal('all')], {
  description: 'Ids of products that its licences cover too, or `all`.',
});

const fields = {
  element: Type.Optional(
    orNull(Type.String({ description: "Joomla's name of the extension, such as pkg_example." })),
  ),
  includes: Type.Optional(Includes),
  renew_url: Type.Optional(TextOrNull),
  support_url: Type.Optional(TextOrNull),
  reminders: Type.Optional(
    Type.Boolean({ description: 'Mails 30 and 7 days before the end and at it; off by default.' }),
  ),
};

interface Given {
  name?: string;
  element?: string | null;
  includes?: number[] | 'all';
  renew_url?: string | null;
  support_url?: string | null;
  reminders?: boolean;
}

function readFields({ name, element, includes, renew_url, support_url, reminders }: Given): ProductFields {
  return {
    name: name === undefined ? undefined : requireLabel(name, 'name'),
    element: element ? requireElement(element, 'element') : element,
    includes,
    renewUrl: renew_url ? requireHttpsUrl(renew_url, 'renew_url') : renew_url,
    supportUrl: support_url ? requireHttpsUrl(support_url, 'support_url') : support_url,
    reminders,
  };
}

export const productOperations = {
  listProducts: list(
    '/products',
    {
      summary: 'List products',
      forShops: true,
      query: exactly({
        sort: sortBy(
          PRODUCT_SORTS,
          'By id, name or how many licences they have, as counted at most a minute ago. Without it by id.',
        ),
        ...Paging,
      }),
      data: Product,
    },
    async ({ db, query }) => {
      const { items, next } = await listProductPage(db, pageOf(query), query.sort);
      return { data: items.map(productJson), next };
    },
  ),
  addProduct: post(
    '/products',
    {
      summary: 'Add a product',
      body: exactly({
        name: Text,
        id: Type.Optional(
          Type.Integer({ ...IdGiven, description: 'Of your choice; else the next free one.' }),
        ),
        ...fields,
      }),
      data: Product,
      status: 201,
    },
    async ({ db, body, now }) => {
      const { id, name } = body;
      const added = await addProduct(db, { ...readFields(body), id, name: requireLabel(name, 'name') }, now);
      return { data: productJson(added) };
    },
  ),
  getProduct: get(
    '/products/{id}',
    { summary: 'Read a product with its plans and published versions', forShops: true, data: ProductDetails },
    async (call) => {
      const { product, bundles, plans, versions } = await readProduct(call.db, readId(call, 'id', 'product'));
      return {
        data: {
          ...productJson(product),
          included_in: bundles.map(({ id }) => id),
          plans: plans.map(planJson),
          published_versions: versions,
        },
      };
    },
  ),
  updateProduct: patch(
    '/products/{id}',
    {
      summary: 'Change a product',
      body: exactly({ name: Type.Optional(Text), ...fields }),
      data: Product,
      afterCommit: follow('ProductWithXml', 'id'),
    },
    async (call) => {
      const edited = await editProduct(call.db, readId(call, 'id', 'product'), readFields(call.body));
      return { data: productJson(edited) };
    },
  ),
  removeProduct: remove(
    '/products/{id}',
    { summary: 'Remove a product that was added by mistake: one without plans and versions' },
    async (call) => productJson(await removeProduct(call.db, readId(call, 'id', 'product'))),
  ),
};
