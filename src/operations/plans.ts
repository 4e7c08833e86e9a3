import { Type } from '@sinclair/typebox';
import { addPlan, editPlanAndLicenses, removePlan } from '../licensing/catalogue';
import { requireDuration } from '../licensing/durations';
import { requireHttpsUrl, requireLabel } from '../licensing/fields';
import { requirePlan } from '../licensing/find-or-refuse';
import { ACTIVATION_TYPES } from '../licensing/core/identifiers';
import { listPlanPage } from '../licensing/lists';
import { planJson, readPlanOptions, type PlanOptionsJson } from '../licensing/views';
import { followPlan } from './kit/follow';
import { get, list, patch, post, remove } from './kit/operation';
import { pageOf, readId } from './kit/reading';
import {
  DurationGiven,
  exactly,
  IdGiven,
  Limit,
  oneOf,
  orNull,
  Paging,
  planOptions,
  Text,
} from './kit/schemas';
import { Plan, planFields } from './kit/things';

const options = {
  duration: Type.Optional(
    orNull(Type.String({ ...DurationGiven, description: 'Such as 1y; null: for life.' })),
  ),
  ...Type.Partial(Type.Object(planOptions)).properties,
};

interface Options extends Partial<PlanOptionsJson> {
  name?: string;
  duration?: string | null;
}

function readOptions({ name, duration, upgrade_url: upgradeUrl, ...others }: Options) {
  return {
    ...(name !== undefined && { name: requireLabel(name, 'name') }),
    ...(duration !== undefined && { duration: duration === null ? null : requireDuration(duration) }),
    ...readPlanOptions(others),
    ...(upgradeUrl !== undefined && {
      upgradeUrl: upgradeUrl === null ? null : requireHttpsUrl(upgradeUrl, 'upgrade_url'),
    }),
  };
}

const EditedPlan = exactly(
  {
    ...planFields,
    licenses_changed: Type.Integer({ minimum: 0, description: 'Licences that follow the new limit.' }),
    licenses_skipped: Type.Integer({
      minimum: 0,
      description: 'Licences that somebody else gave another limit or plan meanwhile.',
    }),
  },
  { title: 'EditedPlan' },
);

export const planOperations = {
  listPlans: list(
    '/plans',
    {
      summary: 'List plans',
      forShops: true,
      query: exactly({ product_id: Type.Optional(IdGiven), ...Paging }),
      data: Plan,
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
      body: exactly({
        product_id: IdGiven,
        name: Text,
        activation_type: oneOf(ACTIVATION_TYPES, { description: 'What a slot is taken by.' }),
        activation_limit: Limit,
        ...options,
      }),
      data: Plan,
      status: 201,
      afterCommit: followPlan('Plan'),
    },
    async ({ db, body, now }) => {
      const plan = {
        productId: body.product_id,
        name: requireLabel(body.name, 'name'),
        activationType: body.activation_type,
        activationLimit: body.activation_limit,
        duration: null,
        ...readOptions(body),
      };
      return { data: planJson(await addPlan(db, plan, now)) };
    },
  ),
  getPlan: get('/plans/{id}', { summary: 'Read a plan', forShops: true, data: Plan }, async (call) => ({
    data: planJson(await requirePlan(call.db, readId(call, 'id', 'plan'))),
  })),
  updatePlan: patch(
    '/plans/{id}',
    {
      summary: 'Change a plan',
      description:
        'Licences keep their end. When licences have the old limit, `licenses` must say whether they follow the new one.',
      body: exactly({
        name: Type.Optional(Text),
        activation_type: Type.Optional(oneOf(ACTIVATION_TYPES)),
        activation_limit: Type.Optional(Limit),
        ...options,
        licenses: Type.Optional(oneOf(['follow', 'keep'])),
      }),
      data: EditedPlan,
      // One transaction for each licence that follows.
      hasDeadline: false,
      afterCommit: followPlan('EditedPlan'),
    },
    async (call) => {
      const { db, body, context, onProgress } = call;
      const { activation_type: activationType, activation_limit: activationLimit, licenses } = body;
      const changes = {
        ...readOptions(body),
        ...(activationType !== undefined && { activationType }),
        ...(activationLimit !== undefined && { activationLimit }),
      };
      const decide = () => Promise.resolve(licenses);
      const id = readId(call, 'id', 'plan');
      const edited = await editPlanAndLicenses(db, id, changes, decide, context, onProgress);
      const { plan, changed, skipped } = edited;
      return { data: { ...planJson(plan), licenses_changed: changed, licenses_skipped: skipped } };
    },
  ),
  removePlan: remove(
    '/plans/{id}',
    { summary: 'Remove a plan that was added by mistake: one that no licence is on' },
    async (call) => planJson(await removePlan(call.db, readId(call, 'id', 'plan'))),
  ),
};
