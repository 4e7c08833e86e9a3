import { Type } from '@sinclair/typebox';
import { PLAN, PRODUCT, type Plan } from '../../store/columns/catalogue';
import { strictObject, jsonBy, SmallId } from '../../store/columns/kinds';
import type { CatalogueProduct } from '../bundles';

/** Products and plans as the API answers with them. A schema with a title becomes a component of `openapi.json`. */

export * from '../../store/columns/kinds';

const { id, name, element, ...others } = PRODUCT;
const Includes = Type.Union([Type.Array(SmallId), Type.Literal('all')], {
  description: 'Ids of products that its licences also cover, or `all`.',
});
export const ProductSchema = strictObject(
  { id, name, element, includes: Includes, ...others },
  { title: 'Product' },
);
export const productJson = (product: CatalogueProduct) => jsonBy(ProductSchema, product);

export const PlanSchema = strictObject(PLAN, { title: 'Plan' });
export const planJson = (plan: Plan) => jsonBy(PlanSchema, plan);
