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
  Paging,
  Text,
  TextOrNull,
  Time,
  TimeOrNull,
  textEnum,
} from './kit/schemas';

const UnmatchedEvent = strictObject(
  {
    id: Id,
    shop: Text,
    event: Type.String({
      description: "The event of an order, or the sender's name for the type of message.",
    }),
    reason: Type.String({
      description:
        '`not_paid`: no payment of the order is known. `no_line`: the order has no such line. `unknown_payment`: the payment that it names is not known. `untold`: it does not name what it pays for. `other_activation_type`: its licence cannot be changed to what was bought. `no_article`, `bad_quantity`, `bad_article`, `unreadable`: a line of a paid order is not usable.',
    }),
    order_id: nullable(Id),
    message_id: nullable(Id),
    names: nullable(
      Type.String({
        description:
          "The shop's number of the order. For a message without one, what it names instead, such as a payment.",
      }),
    ),
    customer: nullable(Type.String({ description: 'The customer who paid, if the shop named one.' })),
    state: textEnum(UNMATCHED_STATES),
    at: Time,
    acted_by: TextOrNull,
    acted_at: TimeOrNull,
    license_id: nullable(
      Type.Integer({ ...Id, description: 'The licence that it was assigned to, or that was issued for it.' }),
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

const OTHERWISE = '409 if something else was done with it. The same call again returns the same answer.';

export const unmatchedOperations = {
  listUnmatched: list(
    '/unmatched',
    {
      summary: 'List unmatched events, newest first',
      description:
        "A shop's event about money is unmatched if its order, line or payment is not known: a renewal, a change or a refund. It is kept until that arrives or someone settles it.",
      query: strictObject({
        shop: Type.Optional(Text),
        state: Type.Optional(enumOf(UNMATCHED_STATES, { default: 'open' })),
        ...Paging,
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
      summary: 'Assign it to a licence',
      description: `Its order or subscription renews that licence from now on, and its events run. ${OTHERWISE}`,
      body: strictObject({ license_id: Id }),
      data: UnmatchedEvent,
    },
    (call) => settle(call, { type: 'assign', licenseId: call.body.license_id }),
  ),
  issueUnmatched: post(
    '/unmatched/{id}/issue',
    {
      summary: 'Issue a licence for it',
      description: `The licence belongs to the customer who paid, and its key is mailed by the rule of the shop. 409 for a refund. ${OTHERWISE}`,
      body: strictObject({ plan_id: IdGiven }),
      data: UnmatchedEvent,
    },
    (call) => settle(call, { type: 'issue', planId: call.body.plan_id }),
  ),
  leaveUnmatched: post(
    '/unmatched/{id}/leave',
    {
      summary: 'Settle it without a change',
      description: `It is no longer listed as open. ${OTHERWISE}`,
      body: strictObject({}),
      data: UnmatchedEvent,
    },
    (call) => settle(call, { type: 'leave' }),
  ),
};
