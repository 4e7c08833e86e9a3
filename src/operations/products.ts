import { Type } from '@sinclair/typebox';
import { fieldsOf } from '../base/json';
import { addProduct, editProduct, readProduct, removeProduct } from '../licensing/catalogue';
import { listProductPage, PRODUCT_SORTS } from '../licensing/lists';
import { planJson, PlanSchema, productJson, ProductSchema } from '../licensing/schemas/catalogue';
import { regenerateAfterCommit } from './kit/regenerate-xml';
import { get, list, patch, post, remove } from './kit/operation';
import { pageOf, readId } from './kit/request-params';
import { strictObject, Id, IdGiven, Label, Paging, sortBy, Text } from './kit/schemas';

const { id: _id, created_at: _createdAt, ...given } = Type.Partial(ProductSchema).properties;

export const productOperations = {
  listProducts: list(
    '/products',
    {
      summary: 'List products',
      forShops: true,
      query: strictObject({
        sort: sortBy(
          PRODUCT_SORTS,
          'Sorts by id, name or number of licences, which was counted at most a minute ago. Default: by id.',
        ),
        ...Paging,
      }),
      data: ProductSchema,
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
      body: strictObject({
        ...given,
        name: Label,
        id: Type.Optional(
          Type.Integer({ ...IdGiven, description: 'An id of your choice. Default: the next free one.' }),
        ),
      }),
      data: ProductSchema,
      status: 201,
    },
    async ({ db, body, now }) => ({ data: productJson(await addProduct(db, fieldsOf(body), now)) }),
  ),
  getProduct: get(
    '/products/{id}',
    {
      summary: 'Read a product with its plans and published versions',
      forShops: true,
      data: strictObject(
        {
          ...ProductSchema.properties,
          included_in: Type.Array(Id, { description: 'Products whose licences also cover this one.' }),
          plans: Type.Array(PlanSchema),
          published_versions: Type.Array(Text, { description: 'Highest first.' }),
        },
        { title: 'ProductDetails' },
      ),
    },
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
      body: strictObject(given),
      data: ProductSchema,
      afterCommit: regenerateAfterCommit('ProductWithXml', 'id'),
    },
    async (call) => ({
      data: productJson(await editProduct(call.db, readId(call, 'id', 'product'), fieldsOf(call.body))),
    }),
  ),
  removeProduct: remove(
    '/products/{id}',
    { summary: 'Remove a product that was added by mistake, and has no plans and no versions' },
    async (call) => productJson(await removeProduct(call.db, readId(call, 'id', 'product'))),
  ),
};
