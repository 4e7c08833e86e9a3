import { Type, type Static } from '@sinclair/typebox';
import { OperatorError } from '../licensing/operator-error';
import { parseMoment } from '../licensing/timestamps';
import { ORDER_EVENTS } from '../orders/order-events';
import { MAX_AMOUNT, MAX_LINES, MAX_SLOTS_QUANTITY, type OrderMessage } from '../orders/message';
import { orderNotFoundError, type ProcessedOrder as Processed } from '../orders/process';
import { recordOrder } from '../orders/record';
import { confirmOrder } from '../orders/retry';
import { orderMailJson, readOrderMail, sendOrderKeys } from '../orders/key-mails';
import { setOrderCustomer } from '../privacy/order-customer';
import { PLUGIN_KINDS } from '../orders/shop-kinds';
import {
  listOrderPage,
  ORDER_SORTS,
  orderJson,
  readOrder,
  recordedJson,
  shownOrderJson,
  type OrderDetails,
} from '../orders/views';
import { get, list, patch, post, type OperationCall } from './kit/operation';
import { bodyReader } from './kit/read-input';
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
  TimeInput,
  TimeOrNull,
  textEnum,
  sortBy,
} from './kit/schemas';
import { STATUSES } from './kit/response-schemas';

const LineGiven = strictObject(
  {
    line: Type.String({ description: "The line's name within the order." }),
    plan_id: Type.Optional(IdGiven),
    sku: Type.Optional(
      Type.String({ description: "The shop's own article number, which its map contains." }),
    ),
    quantity: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_SLOTS_QUANTITY,
        default: 1,
        description: 'At most 100, or more for an article whose quantity sets the slots.',
      }),
    ),
    paid_until: Type.Optional(TimeInput),
    renews: Type.Optional(
      Type.Union([Id, Text], {
        description:
          'What the line renews: an earlier order or `order:line` of the same shop, or the id of a licence. With `upgraded`, what this new order changes.',
      }),
    ),
  },
  { title: 'OrderLineGiven' },
);

/** An order's event in the message of a shop or an inbound webhook. */
const OrderGiven = strictObject({
  shop: Type.String({ description: '1 to 40 characters of a-z, 0-9, _ and -.', examples: ['hikashop'] }),
  order: Type.String({ description: "The shop's number of the order.", examples: ['1001'] }),
  event: enumOf(ORDER_EVENTS),
  at: Type.String({
    description: 'When it happened; at most five minutes ahead.',
    examples: ['2026-11-23T10:00:00Z'],
  }),
  event_id: Type.Optional(
    Type.String({ description: 'Unique within the order. Without it, `event` and `at` identify the event.' }),
  ),
  kind: Type.Optional(
    enumOf(PLUGIN_KINDS, {
      description:
        'The plugin that posts the order and mails the keys itself. It sets the kind of a shop that was not added before.',
    }),
  ),
  test: Type.Optional(
    Type.Boolean({ description: 'A test order. It issues nothing, unless the shop has a plan for tests.' }),
  ),
  partial: Type.Optional(
    Type.Boolean({ description: 'With `refunded`: only a part of the money was refunded.' }),
  ),
  payment: Type.Optional(
    Type.String({
      description:
        "The shop's name of the payment that the event is about. A refund of a payment takes back what that payment gave.",
      examples: ['pay_77'],
    }),
  ),
  amount: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: MAX_AMOUNT,
      description:
        'The amount of the payment, refund or chargeback, in minor units of `currency`, such as cents.',
      examples: [4900],
    }),
  ),
  currency: Type.Optional(
    Type.String({
      pattern: '^[A-Z]{3}$',
      description: 'The code in ISO 4217; required with `amount`.',
      examples: ['EUR'],
    }),
  ),
  renews_itself: Type.Optional(
    Type.Boolean({
      description:
        'A subscription that renews automatically, until `renewal_stopped` or `subscription_ended`.',
    }),
  ),
  customer: Type.Optional(
    strictObject({
      email: Type.String({ description: 'An e-mail address.' }),
      name: Type.Optional(Text),
      language: Type.Optional(
        Type.String({ description: '`en` or `de`. Other languages are ignored.', examples: ['de'] }),
      ),
    }),
  ),
  lines: Type.Optional(
    Type.Array(LineGiven, {
      minItems: 1,
      maxItems: MAX_LINES,
      description: 'Required with `paid` and `upgraded`. Default for other events: all lines of the order.',
    }),
  ),
});

const readOrderGiven = bodyReader(OrderGiven);

/** Reads an order's event in this API's form from another source. @throws OperationError, OperatorError */
export function readOrderBody(body: object): OrderMessage {
  return readOrderMessage(readOrderGiven(body) as Static<typeof OrderGiven>);
}

/** Converts an order's event. @throws OperatorError with the field of a wrong time */
function readOrderMessage(body: Static<typeof OrderGiven>): OrderMessage {
  const { event_id: eventId, renews_itself: renewsItself, at, lines, amount, currency, ...others } = body;
  if ((amount === undefined) !== (currency === undefined))
    throw new OperatorError('"amount" and "currency" belong together.', {
      code: 'INVALID_REQUEST',
      field: amount === undefined ? 'amount' : 'currency',
    });
  return {
    ...others,
    // A refund without a stated part covers everything, regardless of the money.
    partial: others.partial ?? (others.event === 'refunded' ? false : undefined),
    money: amount === undefined || currency === undefined ? undefined : { amount, currency },
    eventId,
    renewsItself,
    at: parseMoment(at, 'first', 'refused', 'at'),
    lines: lines?.map(({ plan_id: planId, paid_until: until, ...line }, i) => ({
      ...line,
      planId,
      paidUntil:
        until === undefined ? undefined : parseMoment(until, 'last', 'refused', `lines.${i}.paid_until`),
    })),
  };
}

export const ORDER_ACTIONS = [
  'issued',
  'renewed',
  'plan_changed',
  'suspended',
  'reinstated',
  'cancelled',
  'none',
  'waiting',
] as const;

const STATES = ['done', 'waiting', 'failed'] as const;
const state = textEnum(STATES);
const outcome = {
  line: Text,
  action: textEnum(ORDER_ACTIONS),
  reason: nullable(Type.String({ description: 'The reason why nothing was done, or why the line waits.' })),
};
const standing = { status: textEnum(STATUSES), expires_at: TimeOrNull };
const orderFields = { id: Id, shop: Text, order: Text, state };

const RecordedOrder = strictObject(
  {
    ...orderFields,
    lines: Type.Array(
      strictObject({
        ...outcome,
        licenses: Type.Array(
          strictObject({
            id: Id,
            license_key: nullable(
              Type.String({ description: 'The whole key for `paid`, if it can be revealed.' }),
            ),
            ...standing,
          }),
        ),
      }),
    ),
  },
  { title: 'RecordedOrder' },
);

const lineFields = {
  line: Text,
  sku: TextOrNull,
  plan_id: nullable(Id),
  quantity: Type.Integer({ minimum: 1 }),
  renews: Type.Union([Id, TextOrNull]),
  waits_for: nullable(Type.String({ description: 'The reason why the line waits; null: it does not wait.' })),
  licenses: Type.Array(strictObject({ id: Id, ...standing })),
};

const Amount = nullable(
  Type.Integer({ minimum: 0, description: 'In minor units of the currency; null: not given.' }),
);
const Currency = Type.String({ description: 'The code in ISO 4217.', examples: ['EUR'] });
const Amounts = Type.Array(
  strictObject({
    currency: Currency,
    paid: Type.Integer({ description: 'In minor units of the currency.' }),
    refunded: Type.Integer({ description: 'Refunds and chargebacks, without those that were reversed.' }),
  }),
  { description: "The shop's figures by currency. Currencies are never added." },
);

const fields = {
  ...orderFields,
  amounts: Amounts,
  test: Type.Boolean(),
  customer: TextOrNull,
  customer_name: TextOrNull,
  language: nullable(Type.String({ description: "The customer's language, as the shop gave it." })),
  created_at: Time,
  failure: nullable(
    Type.String({
      description:
        'The reason why processing failed; it will be tried again. `too_many`: the order has more than 100 lines, and waits until it is confirmed.',
    }),
  ),
  failed_at: TimeOrNull,
  retry_at: TimeOrNull,
  confirmed_at: TimeOrNull,
  lines: Type.Array(strictObject(lineFields)),
};

const OrderMail = strictObject(
  {
    state: textEnum(['queued', 'sent', 'failed', 'none']),
    to: TextOrNull,
    at: nullable(
      Type.String({
        ...Time,
        description: 'The time at which it was sent or given up or, before that, queued.',
      }),
    ),
    reason: nullable(
      Type.String({
        description:
          'The reason why there is no mail (`test`, `nothing_issued`, `off`, `no_address`, `mail_off`, `not_sent`), or why it was refused, such as `ADDRESS_REFUSED 550`.',
      }),
    ),
  },
  { title: 'OrderMail', description: "The latest mail with the order's keys." },
);

const Details = strictObject(
  {
    ...fields,
    lines: Type.Array(
      strictObject({
        ...lineFields,
        paid_until: nullable(
          Type.String({
            ...Time,
            description:
              'The paid-through date of the first licence; null: nothing is paid, or it never expires.',
          }),
        ),
        renews_itself: Type.Boolean({ description: 'A subscription renews it automatically.' }),
      }),
    ),
    mail: OrderMail,
    events: Type.Array(
      strictObject(
        {
          id: Id,
          event: textEnum(ORDER_EVENTS),
          event_id: TextOrNull,
          at: Time,
          received_at: Time,
          actor: Text,
          partial: Type.Boolean(),
          payment: nullable(Type.String({ description: "The shop's name of the payment that it is about." })),
          amount: Amount,
          currency: nullable(Currency),
          renews_itself: nullable(Type.Boolean({ description: 'null: not given.' })),
          test: Type.Boolean(),
          lines: Type.Union([Type.Array(Type.Object({}, { additionalProperties: true })), Type.Null()], {
            description: 'The lines as they were posted; null: all lines of the order.',
          }),
          outcomes: Type.Array(strictObject(outcome)),
        },
        { title: 'OrderEvent' },
      ),
    ),
  },
  { title: 'OrderDetails' },
);

export const ProcessedOrder = strictObject(
  {
    ...orderFields,
    reason: nullable(Type.String({ description: 'The reason why it waits or failed; null: it is done.' })),
  },
  { title: 'ProcessedOrder' },
);

export function processedJson({ id, shop, number: order, state: became, reason }: Processed) {
  return { id, shop, order, state: became, reason };
}

/** Returns the order in the path. @throws OperationError (404) if it is missing or has another owner */
async function requireOrder(call: OperationCall): Promise<OrderDetails> {
  const { db, caller } = call;
  const found = await readOrder(db, readId(call, 'id', 'order'));
  if (found === undefined || (caller.scope === 'issue' && found.order.owner !== caller.name))
    throw orderNotFoundError();
  return found;
}

/** Returns the owner of the caller's orders. */
function ownerOf({ caller }: Pick<OperationCall, 'caller'>) {
  return { owner: caller.tokenId === null ? null : caller.name, ownOnly: caller.scope === 'issue' };
}

export const orderOperations = {
  listOrders: list(
    '/orders',
    {
      summary: 'List orders, newest first',
      description: 'A token with the scope `issue` sees only orders that it posted.',
      forShops: true,
      query: strictObject({
        shop: Type.Optional(Text),
        order: Type.Optional(Text),
        state: Type.Optional(enumOf(STATES)),
        without_address: Type.Optional(
          enumOf(['true'], {
            description:
              'Only orders without an e-mail address, of shops whose keys are mailed, with a licence that is in force. No key was sent for them.',
          }),
        ),
        sort: sortBy(ORDER_SORTS, 'Sorts by the time at which they were received. Default: newest first.'),
        ...Paging,
      }),
      data: strictObject(fields, { title: 'Order' }),
    },
    async ({ db, query, caller, now }) => {
      const { shop, order: number, state: wanted, sort, without_address: without } = query;
      const owner = caller.scope === 'issue' ? caller.name : undefined;
      const filter = { shop, number, state: wanted, owner, withoutAddress: without && (true as const) };
      const { items, next } = await listOrderPage(db, filter, pageOf(query), sort);
      return { data: items.map((one) => orderJson(one, now)), next };
    },
  ),
  recordOrder: post(
    '/orders',
    {
      summary: 'Report what happened to an order of a shop',
      description:
        'Issues, renews, suspends and so on, by the rules of the shop. Posting the same event again changes nothing, and returns the same answer with the present state of the licences. A token with the scope `issue` gets 404 for orders of a receiver, or of a shop that tokens with another name post for.',
      forShops: true,
      body: OrderGiven,
      data: RecordedOrder,
    },
    async (call) => {
      const { db, body, caller, now, settings } = call;
      const { keySecret: secret, mailing, graceDays, onFailed } = settings;
      const context = { actor: caller.actor, now, secret, mailing, graceDays, onFailed };
      return {
        data: recordedJson(await recordOrder(db, readOrderMessage(body), ownerOf(call), context), now),
      };
    },
  ),
  getOrder: get(
    '/orders/{id}',
    { summary: 'Read an order with its events', forShops: true, data: Details },
    async (call) => {
      const { db, now, settings } = call;
      const found = await requireOrder(call);
      const mail = await readOrderMail(db, found.order, settings.mailing !== undefined);
      return { data: await shownOrderJson(db, found, mail, now) };
    },
  ),
  updateOrder: patch(
    '/orders/{id}',
    {
      summary: "Set the address of an order's customer",
      description:
        'Also sets it for the licences that the order issued. If the order had no address, its keys are mailed by the rule of its shop (see `mail` in the answer). If it had another address, send the keys again with `POST /orders/{id}/mails`.',
      body: strictObject({
        customer: strictObject({
          email: Type.String({ description: 'An e-mail address.' }),
          name: Type.Optional(Text),
        }),
      }),
      data: Details,
    },
    async (call) => {
      const { db, body, caller, now, settings } = call;
      const { order } = await requireOrder(call);
      const { keySecret: secret, mailing, graceDays } = settings;
      await setOrderCustomer(db, order, body.customer, {
        actor: caller.actor,
        now,
        secret,
        mailing,
        graceDays,
      });
      const found = await requireOrder(call);
      const mail = await readOrderMail(db, found.order, mailing !== undefined);
      return { data: await shownOrderJson(db, found, mail, now) };
    },
  ),
  addOrderMail: post(
    '/orders/{id}/mails',
    {
      summary: "Mail the order's keys to its customer, even if they were mailed before",
      description:
        'The mail is queued, and tried for two days. 409 if mail is not set up, the order has no address or issued nothing, or a key cannot be revealed.',
      body: strictObject({}),
      data: OrderMail,
      status: 201,
    },
    async (call) => {
      const { db, now, settings } = call;
      const { order } = await requireOrder(call);
      const { keySecret: secret, mailing } = settings;
      return { data: orderMailJson(await sendOrderKeys(db, order, { secret, mailing, now })) };
    },
  ),
  confirmOrder: post(
    '/orders/{id}/confirm',
    {
      summary: 'Confirm an order with more than 100 lines, and run it',
      description: 'An order with more than 100 lines waits until it is confirmed.',
      body: strictObject({}),
      data: ProcessedOrder,
    },
    async (call) => {
      const { db, context, settings } = call;
      const { order } = await requireOrder(call);
      const { keySecret: secret, mailing, graceDays } = settings;
      const done = await confirmOrder(db, order.id, { ...context, secret, mailing, graceDays });
      return { data: processedJson(done) };
    },
  ),
};
