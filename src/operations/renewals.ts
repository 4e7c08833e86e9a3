import { Type } from '@sinclair/typebox';
import { formatTimestampOrNull } from '../base/days';
import { jsonOf } from '../base/json';
import { listLapsed, type LapsedLicense } from '../figures/not-renewed';
import { readMoney } from '../figures/money';
import { readRenewals, type RenewalSum } from '../figures/renewals';
import { get, list } from './kit/operation';
import { pageOf } from './kit/request-params';
import { strictObject, Id, IdGiven, Paging, TextOrNull, Time, TimeOrNull } from './kit/schemas';

const Count = Type.Integer({ minimum: 0 });
const Month = Type.String({ pattern: '^\\d{4}-\\d\\d$', examples: ['2026-11'] });

const counted = {
  ended: Type.Integer({ minimum: 0, description: 'The number of licence ends.' }),
  in_time: Type.Integer({ minimum: 0, description: 'Renewed before the licence stopped working.' }),
  late: Type.Integer({ minimum: 0, description: 'Renewed within 30 days after the end.' }),
  lost: Type.Integer({ minimum: 0, description: 'Not renewed so far.' }),
};

const countedJson = ({ ended, inTime, late, lost }: RenewalSum) => ({
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
        final: Type.Boolean({
          description: 'The last day of the month is 30 days ago, so its figures no longer change.',
        }),
      }),
      {
        description:
          'Twelve months, by the month of the end, oldest first. The last is the present month, up to yesterday.',
      },
    ),
    final: strictObject(counted, { description: 'The sum of the final months.' }),
    plans: Type.Array(strictObject({ plan_id: Id, ...counted }), {
      description: 'The twelve months by plan, most ends first.',
    }),
    due: Type.Array(
      strictObject({
        days: Count,
        without_subscription: Count,
        with_subscription: Type.Integer({
          minimum: 0,
          description: 'Licences that a subscription renews automatically.',
        }),
      }),
      { description: 'Ends within the next 7, 30 and 90 days that are not renewed yet.' },
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
        description:
          'Licences at the end of each of 24 months, oldest first. The last entry is the present state.',
      },
    ),
    ends: Type.Array(
      strictObject({ day: Type.String({ format: 'date', examples: ['2026-11-27'] }), licenses: Count }),
      {
        description:
          'The days on which licences end within the next 366 days, without licences that are already renewed.',
      },
    ),
    money: strictObject(
      {
        since: {
          ...TimeOrNull,
          description: 'The time of the first amount that was received: earlier payments are missing.',
        },
        sums: Type.Array(
          strictObject({
            month: Month,
            currency: Type.String({ description: 'The code in ISO 4217.', examples: ['EUR'] }),
            paid: Type.Integer({ description: 'In minor units of the currency.' }),
            refunded: Type.Integer({
              description: 'Refunds and chargebacks, without those that were reversed.',
            }),
          }),
        ),
      },
      {
        description:
          "The amounts of all orders, as shops reported them, in twelve UTC months, oldest first. These are the shops' figures, without taxes, and do not replace accounting. They are not filtered by product or plan.",
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
    customer_since: {
      ...TimeOrNull,
      description: "The time of the customer's first licence, of any product.",
    },
    has_active: Type.Boolean({ description: 'The customer has another licence that works.' }),
    ended_at: { ...Time, description: 'The time until which it was paid.' },
    last_download_at: {
      ...TimeOrNull,
      description: 'The latest download, if the access log goes back that far.',
    },
    refused: Type.Integer({
      minimum: 0,
      description: 'Downloads that were refused since the end, to the extent that the access log goes back.',
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
      summary: 'Read how many licences that ended were renewed, what is due, and licences by state over time',
      description:
        'The figures are at most a minute old. docs/renewals.md defines what counts as an end and as renewed.',
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
      summary: 'List licences that ended and were not renewed',
      description:
        'Licences with a refused request since the end come first, latest request first. Then the others follow, latest end first.',
      query: strictObject({
        ...filters,
        month: Type.Optional({ ...Month, description: 'The month of the paid end, such as 2026-11.' }),
        ...Paging,
      }),
      data: NotRenewed,
    },
    async ({ db, query: { product_id: productId, plan_id: planId, month, ...query }, now }) => {
      const page = await listLapsed(db, { productId, planId, month }, pageOf(query), now);
      return { data: page.items.map(lapsedJson), next: page.next };
    },
  ),
};
