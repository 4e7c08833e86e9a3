import { Type } from '@sinclair/typebox';
import type { UnmatchedAct } from '../orders/decide-unmatched';
import { settleUnmatched } from '../orders/settle-unmatched';
import { listUnmatchedPage, UNMATCHED_STATES, unmatchedJson, viewUnmatched } from '../orders/unmatched-views';
import { list, post, type OperationCall } from './kit/operation';
import { pageOf, readId } from './kit/request-params';
import {
  strictObject,
  Id,
  IdGiven,
  enumOf,
  nullable,
  PageQuery,
  Text,
  TextOrNull,
  Time,
  TimeOrNull,
  enumAsText,
} from './kit/schemas';

const UnmatchedEvent = strictObject(
  {
    id: Id,
    shop: Text,
    event: Type.String({ description: "The event of an order, or the sender's name of a message." }),
    reason: Type.String({
      description:
        '`not_paid`: no payment of the order is known; `no_line`: the order has no such line; `unknown_payment`: nothing is known of what it names; `untold`: it does not say what it pays for; `other_activation_type`: its licence cannot become what was bought; `no_article`, `bad_quantity`, `bad_article`, `unreadable`: a line of a paid order cannot be taken as it came.',
    }),
    order_id: nullable(Id),
    message_id: nullable(Id),
    names: nullable(
      Type.String({
        description: "The shop's number of the order; of a message, else, what it names, such as a payment.",
      }),
    ),
    customer: nullable(Type.String({ description: 'Who paid, as far as the shop told.' })),
    state: enumAsText(UNMATCHED_STATES),
    at: Time,
    acted_by: TextOrNull,
    acted_at: TimeOrNull,
    license_id: nullable(
      Type.Integer({ ...Id, description: 'What it was assigned to, or what was issued for it.' }),
    ),
  },
  { title: 'Unmatched' },
);

const contextOf = ({ caller, now, settings: { keySecret, mailing, graceDays } }: OperationCall) => ({
  actor: caller.actor,
  now,
  secret: keySecret,
  mailing,
  graceDays,
});

async function settle(call: OperationCall, act: UnmatchedAct) {
  const { db } = call;
  const id = readId(call, 'id', 'unmatched event');
  return {
    data: unmatchedJson(await viewUnmatched(db, await settleUnmatched(db, id, act, contextOf(call)))),
  };
}

const OTHERWISE = '409 when something else was done with it. The same call again answers the same.';

export const unmatchedOperations = {
  listUnmatched: list(
    '/unmatched',
    {
      summary: 'List what shops told of money that belongs to nothing known, the newest first',
      description:
        'A renewal, change or refund that found no order, no line or no payment is kept until it finds it or somebody acts.',
      query: strictObject({
        shop: Type.Optional(Text),
        state: Type.Optional(enumOf(UNMATCHED_STATES, { default: 'open' })),
        ...PageQuery,
      }),
      data: UnmatchedEvent,
    },
    async ({ db, query }) => {
      const { shop, state } = query;
      const { items, next } = await listUnmatchedPage(db, { shop, state }, pageOf(query));
      return { data: items.map(unmatchedJson), next };
    },
  ),
  assignUnmatched: post(
    '/unmatched/{id}/assign',
    {
      summary: 'Say which licence it is about',
      description: `Its order or subscription renews that licence from now on, and what was told of it runs. ${OTHERWISE}`,
      body: strictObject({ license_id: Id }),
      data: UnmatchedEvent,
    },
    (call) => settle(call, { type: 'assign', licenseId: call.body.license_id }),
  ),
  issueUnmatched: post(
    '/unmatched/{id}/issue',
    {
      summary: 'Issue a licence for it',
      description: `The licence belongs to who paid, and its key is mailed as that of any order of the shop. 409 for a refund. ${OTHERWISE}`,
      body: strictObject({ plan_id: IdGiven }),
      data: UnmatchedEvent,
    },
    (call) => settle(call, { type: 'issue', planId: call.body.plan_id }),
  ),
  leaveUnmatched: post(
    '/unmatched/{id}/leave',
    {
      summary: 'Settle it without a change',
      description: `It is counted no more. ${OTHERWISE}`,
      body: strictObject({}),
      data: UnmatchedEvent,
    },
    (call) => settle(call, { type: 'leave' }),
  ),
};
