import { Type } from '@sinclair/typebox';
import { fieldsOf } from '../base/json';
import { addPlan, editPlanAndLicenses, removePlan } from '../licensing/catalogue';
import { ACTIVATION_TYPES } from '../licensing/core/identifiers';
import { requirePlan } from '../licensing/find-or-throw';
import { listPlanPage } from '../licensing/lists';
import { planJson, PlanSchema } from '../licensing/schemas/catalogue';
import { regenerateAfterPlan } from './kit/regenerate-xml';
import { get, list, patch, post, remove } from './kit/operation';
import { pageOf, readId } from './kit/request-params';
import { strictObject, IdGiven, enumOf, Paging } from './kit/schemas';

const { id: _id, product_id, created_at: _createdAt, ...terms } = PlanSchema.properties;
const activation_type = enumOf(ACTIVATION_TYPES, { description: 'What takes a slot.' });
const { name, activation_type: _activationType, activation_limit, ...options } = terms;

const Follows = Type.Integer({ minimum: 0, description: 'The number of licences that got the new limit.' });
const Skipped = Type.Integer({
  minimum: 0,
  description: 'The number of licences that someone else gave another limit or plan in the meantime.',
});

export const planOperations = {
  listPlans: list(
    '/plans',
    {
      summary: 'List plans',
      forShops: true,
      query: strictObject({ product_id: Type.Optional(IdGiven), ...Paging }),
      data: PlanSchema,
    },
    async ({ db, query }) => {
      const { items, next } = await listPlanPage(db, query.product_id, pageOf(query));
      return { data: items.map(planJson), next };
    },
  ),
  addPlan: post(
    '/plans',
    {
      summary: 'Add a plan to a product',
      body: strictObject({
        product_id,
        name,
        activation_type,
        activation_limit,
        ...Type.Partial(Type.Object(options)).properties,
      }),
      data: PlanSchema,
      status: 201,
      afterCommit: regenerateAfterPlan('Plan'),
    },
    async ({ db, body, now }) => ({
      data: planJson(await addPlan(db, { duration: null, ...fieldsOf(body) }, now)),
    }),
  ),
  getPlan: get('/plans/{id}', { summary: 'Read a plan', forShops: true, data: PlanSchema }, async (call) => ({
    data: planJson(await requirePlan(call.db, readId(call, 'id', 'plan'))),
  })),
  updatePlan: patch(
    '/plans/{id}',
    {
      summary: 'Change a plan',
      description:
        'Licences keep their end. If licences have the old limit, `licenses` must state whether they get the new one.',
      body: strictObject({
        ...Type.Partial(Type.Object({ ...terms, activation_type })).properties,
        licenses: Type.Optional(enumOf(['follow', 'keep'])),
      }),
      data: strictObject(
        { ...PlanSchema.properties, licenses_changed: Follows, licenses_skipped: Skipped },
        { title: 'EditedPlan' },
      ),
      // Each licence that follows the plan needs its own transaction.
      hasDeadline: false,
      afterCommit: regenerateAfterPlan('EditedPlan'),
    },
    async (call) => {
      const { db, context, onProgress } = call;
      const { licenses, ...changes } = call.body;
      const decide = () => Promise.resolve(licenses);
      const id = readId(call, 'id', 'plan');
      const edited = await editPlanAndLicenses(db, id, fieldsOf(changes), decide, context, onProgress);
      const { plan, changed, skipped } = edited;
      return { data: { ...planJson(plan), licenses_changed: changed, licenses_skipped: skipped } };
    },
  ),
  removePlan: remove(
    '/plans/{id}',
    { summary: 'Remove a plan that was added by mistake, and that no licence is on' },
    async (call) => planJson(await removePlan(call.db, readId(call, 'id', 'plan'))),
  ),
};
