import { Type } from '@sinclair/typebox';
import { formatTimestampOrNull } from '../base/days';
import { jsonOf } from '../base/json';
import { listLapsed, type LapsedLicense } from '../figures/not-renewed';
import { readMoney } from '../figures/money';
import { readRenewals, type RenewalCounts } from '../figures/renewals';
import { get, list } from './kit/operation';
import { pageOf } from './kit/request-params';
import { strictObject, Id, IdGiven, PageQuery, TextOrNull, Time, TimeOrNull } from './kit/schemas';

const Count = Type.Integer({ minimum: 0 });
const Month = Type.String({ pattern: '^\\d{4}-\\d\\d$', examples: ['2026-11'] });

const counted = {
  ended: Type.Integer({ minimum: 0, description: 'Ends that fell.' }),
  in_time: Type.Integer({ minimum: 0, description: 'Renewed before the licence stopped working.' }),
  late: Type.Integer({ minimum: 0, description: 'Renewed within 30 days after the end.' }),
  lost: Type.Integer({ minimum: 0, description: 'Neither, so far.' }),
};

const countedJson = ({ ended, inTime, late, lost }: RenewalCounts) => ({
  ended,
  in_time: inTime,
  late,
  lost,
});

const filters = { product_id: Type.Optional(IdGiven), plan_id: Type.Optional(IdGiven) };

const Renewals = strictObject(
  {
    months: Type.Array(
      strictObject({
        month: Month,
        ...counted,
        final: Type.Boolean({ description: 'Its last day is 30 days ago: nothing of it changes any more.' }),
      }),
      {
        description:
          'Twelve by the month of the end, the oldest first; the last is this one, up to yesterday.',
      },
    ),
    final: strictObject(counted, { description: 'The final ones of these months together.' }),
    plans: Type.Array(strictObject({ plan_id: Id, ...counted }), {
      description: 'The twelve months by plan, the most ends first.',
    }),
    due: Type.Array(
      strictObject({
        days: Count,
        without_subscription: Count,
        with_subscription: Type.Integer({
          minimum: 0,
          description: 'Of which a subscription pays on by itself.',
        }),
      }),
      { description: 'Ends from today on, in 7, 30 and 90 days, that were not renewed yet.' },
    ),
    states: Type.Array(
      strictObject({
        month: Month,
        active: Count,
        expired: Count,
        suspended: Count,
        revoked: Count,
        cancelled: Count,
      }),
      {
        description: 'Licences at the end of each of 24 months, the oldest first; the last are those of now.',
      },
    ),
    ends: Type.Array(
      strictObject({ day: Type.String({ format: 'date', examples: ['2026-11-27'] }), licenses: Count }),
      {
        description: 'The days of the next 366 on which licences end, without those that were renewed since.',
      },
    ),
    money: strictObject(
      {
        since: {
          ...TimeOrNull,
          description: 'When the first amount was received: earlier payments are missing.',
        },
        sums: Type.Array(
          strictObject({
            month: Month,
            currency: Type.String({ description: 'By ISO 4217.', examples: ['EUR'] }),
            paid: Type.Integer({ description: 'In minor units of the currency.' }),
            refunded: Type.Integer({ description: 'Refunds and chargebacks, less those that were undone.' }),
          }),
        ),
      },
      {
        description:
          "What shops reported of all orders, in twelve UTC months, the oldest first. They are the shops' figures, without taxes, and do not replace accounting. A product or plan does not narrow it.",
      },
    ),
  },
  { title: 'Renewals' },
);

const NotRenewed = strictObject(
  {
    license_id: Id,
    product_id: Id,
    plan_id: Id,
    customer: TextOrNull,
    customer_since: { ...TimeOrNull, description: 'Since when the customer has a licence, whichever.' },
    has_active: Type.Boolean({ description: 'The customer has another licence that works.' }),
    ended_at: { ...Time, description: 'Until when it was paid.' },
    last_download_at: { ...TimeOrNull, description: 'As far as the access log goes back.' },
    refused: Type.Integer({
      minimum: 0,
      description: 'Downloads refused since the end, as far as the access log goes back.',
    }),
    refused_at: { ...TimeOrNull, description: 'The latest refused request of any kind since the end.' },
  },
  { title: 'NotRenewed' },
);

const lapsedJson = ({ license, ...one }: LapsedLicense) => ({
  license_id: license.id,
  product_id: license.product.id,
  plan_id: license.plan.id,
  customer: license.customer,
  ...jsonOf(one, 'customerSince', 'hasActive', 'endedAt', 'lastDownloadAt', 'refused', 'refusedAt'),
});

export const renewalOperations = {
  getRenewals: get(
    '/renewals',
    {
      summary: 'How many licences that ended were renewed, what is due, and licences by state over time',
      description: 'At most a minute old. docs/renewals.md defines what counts as an end and as renewed.',
      query: strictObject(filters),
      data: Renewals,
    },
    async ({ db, query: { product_id: productId, plan_id: planId }, now }) => {
      const { months, final, plans, due, states, ends } = await readRenewals(db, { productId, planId }, now);
      const money = await readMoney(db, now);
      return {
        data: {
          months: months.map(({ month, isFinal, ...one }) => ({
            month,
            ...countedJson(one),
            final: isFinal,
          })),
          final: countedJson(final),
          plans: plans.map(({ planId: id, ...one }) => ({ plan_id: id, ...countedJson(one) })),
          due: due.map(({ days, withoutSubscription, withSubscription }) => ({
            days,
            without_subscription: withoutSubscription,
            with_subscription: withSubscription,
          })),
          states: states.map(({ month, licenses }) => ({ month, ...licenses })),
          ends,
          money: { since: formatTimestampOrNull(money.since), sums: money.sums },
        },
      };
    },
  ),
  listNotRenewed: list(
    '/not-renewed',
    {
      summary: 'Licences that ended and were not renewed',
      description:
        'Those that were refused since their end come first, the latest first; then the others, the latest end first.',
      query: strictObject({
        ...filters,
        month: Type.Optional({ ...Month, description: 'In which the paid end fell, such as 2026-11.' }),
        ...PageQuery,
      }),
      data: NotRenewed,
    },
    async ({ db, query: { product_id: productId, plan_id: planId, month, ...query }, now }) => {
      const page = await listLapsed(db, { productId, planId, month }, pageOf(query), now);
      return { data: page.items.map(lapsedJson), next: page.next };
    },
  ),
};
