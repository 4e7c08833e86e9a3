import { Type } from '@sinclair/typebox';
import { formatTimestamp } from '../base/days';
import { readCursor, isCursorId, toPage } from '../licensing/cursors';
import { requireCatchable, requireSince } from '../orders/catch-up/require';
import { catchUp } from '../orders/catch-up/run';
import { CATCH_UP_STATES } from '../orders/catch-up/standing';
import { MESSAGE_RESULTS } from '../orders/inbox';
import { runWaiting } from '../orders/retry';
import { effectsOf, RULES } from '../orders/rules';
import {
  addShop,
  editShop,
  listShops,
  listSkus,
  mapSku,
  removeShop,
  requireShop,
  shopJson,
  SKU_QUANTITIES,
  skuJson,
  unmapSku,
} from '../orders/shops';
import { MAX_GRACE_DAYS, SHOP_KINDS, SHOP_MAILS, type ShopKind, type ShopMail } from '../orders/shop-kinds';
import { countWaitingOrders, listMessages, messageJson } from '../orders/views';
import { failures } from '../texts/operators/en/failures';
import { describeStored } from '../texts/operators/failures';
import { faultOfMessage } from './kit/failures';
import { get, list, patch, post, remove, type OperationCall } from './kit/operation';
import { ProcessedOrder, processedJson, readOrderBody } from './orders';
import { pageOf } from './kit/request-params';
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
  textEnum,
} from './kit/schemas';

const EFFECTS = [...new Set(RULES.flatMap(effectsOf))];

const Rules = strictObject(Object.fromEntries(RULES.map((rule) => [rule, textEnum(effectsOf(rule))])), {
  title: 'ShopRules',
});

const shopFields = {
  id: Id,
  name: Text,
  kind: textEnum(SHOP_KINDS),
  verifies: Type.Boolean({
    description: "Whether it has its sender's secret. Without it, a receiver refuses every message.",
  }),
  test: Type.Boolean(),
  test_plan_id: nullable(Id),
  token: nullable(
    Type.String({ description: 'The name of the tokens with the scope `issue` that its orders belong to.' }),
  ),
  rules: Rules,
  mail: textEnum(SHOP_MAILS),
  has_api_key: Type.Boolean({ description: "Whether it has a key to read its sender's list." }),
  site_url: TextOrNull,
  catch_up: nullable(
    strictObject(
      {
        state: textEnum(CATCH_UP_STATES),
        at: nullable(Time),
        until: nullable(Time),
        tried_at: nullable(Time),
        failure: TextOrNull,
      },
      {
        title: 'CatchUp',
        description:
          'The time of the last complete run (`at`), the time up to which all messages were taken (`until`), and the reason why the last run ended early. `cannot`: its sender keeps no list. null: it posts its orders itself.',
      },
    ),
  ),
  grace: nullable(
    Type.Integer({
      minimum: 0,
      description: 'The grace period in days; null: the one in LICENSING_GRACE_DAYS.',
    }),
  ),
  billing_url: TextOrNull,
  created_at: Time,
};

const Shop = strictObject(shopFields, { title: 'Shop' });

const ListedShop = strictObject(
  { ...shopFields, waiting: Type.Integer({ minimum: 0, description: 'The number of waiting orders.' }) },
  { title: 'ListedShop' },
);

const settings = {
  kind: Type.Optional(
    enumOf(SHOP_KINDS, {
      description: '`api`: it posts orders with a token; the others send signed messages to `hooks/{name}`.',
    }),
  ),
  secret: Type.Optional(
    Type.String({
      description:
        "The secret that the sender of a receiver signs with. You may set it later, because most senders show it only after you enter the receiver's address. It is stored sealed and never shown.",
    }),
  ),
  mail: Type.Optional(
    enumOf(SHOP_MAILS, {
      description:
        '`key`: this service mails customers the keys of their orders. `none` is the default for kinds that deliver the keys themselves.',
    }),
  ),
  grace: Type.Optional(
    nullable(
      Type.Integer({
        minimum: 0,
        maximum: MAX_GRACE_DAYS,
        description:
          'The grace period of subscriptions: for how many days after its paid end a licence keeps working while its renewal is awaited. null: the value of LICENSING_GRACE_DAYS.',
      }),
    ),
  ),
  billing_url: Type.Optional(
    nullable(
      Type.String({
        description:
          'An https address where customers change their payment method. They get it by mail when a payment fails. null: no such mail is sent.',
      }),
    ),
  ),
  test: Type.Optional(Type.Boolean({ description: 'Everything that it sends is for testing.' })),
  api_key: Type.Optional(
    nullable(
      Type.String({
        description:
          "A read-only key for the sender's list of messages, to catch up: for `stripe`, `paddle` and `woocommerce` (`ck_...:cs_...`). It is stored sealed and never shown. null removes it.",
      }),
    ),
  ),
  site_url: Type.Optional(
    nullable(
      Type.String({ description: "A `woocommerce` shop's own site (https), to catch up. null removes it." }),
    ),
  ),
  test_plan_id: Type.Optional(
    nullable(
      Type.Integer({ ...IdGiven, description: 'The plan that test orders issue; null: they issue nothing.' }),
    ),
  ),
  token: Type.Optional(
    Type.String({
      description:
        'Assigns the shop and its orders to the tokens with the scope `issue` and this name. Without it, they belong to the first token that posts.',
    }),
  ),
  rules: Type.Optional(
    Type.Record(Type.String(), enumOf(EFFECTS), {
      description:
        'The effects of events, such as {"refunded":"cancel"}. Events that are not given keep theirs.',
    }),
  ),
};

const Sku = strictObject(
  { id: Id, sku: Text, plan_id: Id, quantity: textEnum(SKU_QUANTITIES), created_at: Time },
  { title: 'ShopSku' },
);

const Message = strictObject(
  {
    id: Id,
    type: Type.String({ description: "The sender's name for the type of message." }),
    result: textEnum(MESSAGE_RESULTS),
    reason: TextOrNull,
    order_id: nullable(Id),
    received_at: Time,
  },
  { title: 'ShopMessage' },
);

const Count = Type.Integer({ minimum: 0 });

const ran = {
  done: Type.Integer({ minimum: 0, description: 'Orders that waited and no longer wait.' }),
  waiting: Type.Integer({ minimum: 0 }),
  failed: Type.Integer({
    minimum: 0,
    description: 'Orders that an unexpected error stopped. They will be tried again.',
  }),
  orders: Type.Array(ProcessedOrder, { description: 'The first 100 orders, with the result of each.' }),
};

function shopName({ path }: Pick<OperationCall, 'path'>): string {
  return path.name ?? '';
}

interface SettingsGiven {
  kind?: ShopKind;
  secret?: string;
  test?: boolean;
  test_plan_id?: number | null;
  token?: string;
  rules?: Record<string, string>;
  mail?: ShopMail;
  api_key?: string | null;
  site_url?: string | null;
  grace?: number | null;
  billing_url?: string | null;
}

function readSettings({
  test_plan_id: testPlanId,
  api_key: apiKey,
  site_url: siteUrl,
  grace: graceDays,
  billing_url: billingUrl,
  ...others
}: SettingsGiven) {
  return { ...others, testPlanId, apiKey, siteUrl, graceDays, billingUrl };
}

const contextOf = ({ context, settings: { keySecret } }: OperationCall) => ({ ...context, keySecret });

async function run(call: OperationCall) {
  const { db, context, settings: of } = call;
  const { orders, ...counts } = await runWaiting(db, shopName(call), {
    ...context,
    secret: of.keySecret,
    mailing: of.mailing,
    graceDays: of.graceDays,
  });
  return { ...counts, orders: orders.map(processedJson) };
}

async function requireAsked({ db, path, body, now }: OperationCall<unknown, { since?: string }>) {
  const shop = await requireCatchable(db, shopName({ path }));
  return { shop, since: body.since === undefined ? undefined : requireSince(shop, body.since, now) };
}

async function caughtUp(call: OperationCall<unknown, { since?: string }>) {
  const { db, settings: of, gone, onProgress } = call;
  const { shop, since } = await requireAsked(call);
  const done = await catchUp(db, shop, since, {
    now: () => call.now,
    secret: of.keySecret,
    mailing: of.mailing,
    graceDays: of.graceDays,
    readOrder: readOrderBody,
    faultOf: faultOfMessage,
    networks: of.webhookNetworks,
    apiUrl: of.shopApiUrl,
    cut: gone,
    onPage: onProgress,
  });
  return {
    since: formatTimestamp(done.since),
    until: formatTimestamp(done.until),
    pages: done.pages,
    messages: done.messages,
    caught_up: done.caughtUp,
    refused: done.refused,
    done: done.isDone,
    failure: done.failure,
    message: done.failure && describeStored(failures.catchUp, done.failure),
  };
}

export const shopOperations = {
  listShops: list(
    '/shops',
    { summary: 'List shops', scope: 'write', query: strictObject(Paging), data: ListedShop },
    async ({ db, query }) => {
      const { limit, after } = pageOf(query);
      const [place] = readCursor<[number]>(after, [isCursorId]) ?? [];
      const { items, next } = toPage(
        await listShops(db, { after: place, limit: limit + 1 }),
        limit,
        ({ id }) => [id],
      );
      const waiting = new Map((await countWaitingOrders(db)).map(({ shop, orders }) => [shop, orders]));
      return {
        data: items.map((shop) => ({ ...shopJson(shop), waiting: waiting.get(shop.name) ?? 0 })),
        next,
      };
    },
  ),
  addShop: post(
    '/shops',
    {
      summary: 'Add a shop',
      body: strictObject({
        name: Type.String({ description: '1 to 40 characters of a-z, 0-9, _ and -.' }),
        ...settings,
      }),
      data: Shop,
      status: 201,
    },
    async (call) => {
      const { name, ...others } = call.body;
      return { data: shopJson(await addShop(call.db, name, readSettings(others), contextOf(call))) };
    },
  ),
  getShop: get('/shops/{name}', { summary: 'Read a shop', scope: 'write', data: Shop }, async (call) => ({
    data: shopJson(await requireShop(call.db, shopName(call))),
  })),
  updateShop: patch(
    '/shops/{name}',
    {
      summary: 'Change a shop or its rules',
      body: strictObject(settings),
      data: Shop,
    },
    async (call) => ({
      data: shopJson(await editShop(call.db, shopName(call), readSettings(call.body), contextOf(call))),
    }),
  ),
  removeShop: remove(
    '/shops/{name}',
    {
      summary: 'Remove a shop with its rules and map. Its orders and licences stay',
    },
    async (call) => shopJson(await removeShop(call.db, shopName(call))),
  ),
  listShopMap: list(
    '/shops/{name}/map',
    {
      summary: "List the plans of a shop's articles",
      scope: 'write',
      query: strictObject(Paging),
      data: Sku,
    },
    async (call) => {
      const { limit, after } = pageOf(call.query);
      const { name } = await requireShop(call.db, shopName(call));
      const [place] = readCursor<[number]>(after, [isCursorId]) ?? [];
      const rows = await listSkus(call.db, name, { after: place, limit: limit + 1 });
      const { items, next } = toPage(rows, limit, ({ id }) => [id]);
      return { data: items.map(skuJson), next };
    },
  ),
  mapShopSku: post(
    '/shops/{name}/map',
    {
      summary: 'Map an article to a plan, in addition to the plans it is already mapped to',
      description:
        'Orders that waited for the article run at once. An article with several plans issues several licences.',
      body: strictObject({
        sku: Text,
        plan_id: IdGiven,
        quantity: Type.Optional(
          enumOf(SKU_QUANTITIES, {
            default: 'licenses',
            description: "`slots`: one licence, with the plan's limit times the quantity.",
          }),
        ),
      }),
      data: Sku,
      status: 201,
      otherStatus: { status: 200, when: 'the article was already mapped to this plan' },
      hasDeadline: false,
      afterCommit: {
        title: 'MappedSku',
        adds: { ran: strictObject(ran) },
        perform: async (call) => ({ ran: await run(call) }),
      },
    },
    async (call) => {
      const { sku, plan_id: planId, quantity = 'licenses' } = call.body;
      const { entry, isNew } = await mapSku(call.db, shopName(call), { sku, planId, quantity }, call);
      return { status: isNew ? 201 : 200, data: skuJson(entry) };
    },
  ),
  unmapShopSku: remove(
    '/shops/{name}/map/{sku}',
    { summary: 'Remove an article from the map' },
    async (call) => {
      const [shop, sku] = [shopName(call), call.path.sku ?? ''];
      await unmapSku(call.db, shop, sku);
      return { shop, sku };
    },
  ),
  listShopMessages: list(
    '/shops/{name}/messages',
    {
      summary: 'List the messages that a receiver got, newest first',
      description:
        '`result` is `order` for an event of an order, `noted` for a message that changes no order, `unmatched` while the order or payment that it names is not known, `queued` while it waits to be processed, and `unreadable` for a message without an order (`refused` in an earlier version).',
      scope: 'write',
      query: strictObject({ result: Type.Optional(enumOf(MESSAGE_RESULTS)), ...Paging }),
      data: Message,
    },
    async (call) => {
      const { limit, after } = pageOf(call.query);
      const { name: shop } = await requireShop(call.db, shopName(call));
      const [before] = readCursor<[number]>(after, [isCursorId]) ?? [];
      const rows = await listMessages(call.db, { shop, result: call.query.result, before, limit: limit + 1 });
      const { items, next } = toPage(rows, limit, ({ id }) => [id]);
      return { data: items.map(messageJson), next };
    },
  ),
  runShop: post(
    '/shops/{name}/run',
    {
      needsNoRecentSignIn: true,
      summary: 'Run the orders that wait',
      data: strictObject(ran, { title: 'Ran' }),
      hasDeadline: false,
    },
    async (call) => {
      await requireShop(call.db, shopName(call));
      return { data: await run(call) };
    },
  ),
  catchUpShop: post(
    '/shops/{name}/catch-up',
    {
      summary: "Catch up with a shop's messages that did not arrive",
      description:
        "Reads the sender's own list, and takes each entry as if it had arrived as a message. Messages that were taken before change nothing. A run ends after 100 pages or 40 seconds. If `done` is false, the next call continues from there. It also runs once a night.",
      body: strictObject({
        since: Type.Optional(
          Type.String({
            description:
              'How far back to read, such as `3d`. Default: since the last run or, for the first run, since the shop was added.',
          }),
        ),
      }),
      data: strictObject({ shop: Text }),
      hasDeadline: false,
      afterCommit: {
        title: 'CaughtUp',
        adds: {
          since: Time,
          until: Time,
          pages: Count,
          messages: Type.Integer({ minimum: 0, description: 'Messages that were listed.' }),
          caught_up: Type.Integer({ minimum: 0, description: 'Messages that had not arrived.' }),
          refused: Type.Integer({ minimum: 0, description: 'Messages that cannot be stored.' }),
          done: Type.Boolean(),
          failure: nullable(
            Type.String({
              description:
                'The reason why the run ended early, such as `KEY_REFUSED 401`. Messages that were taken stay.',
            }),
          ),
          message: nullable(Type.String({ description: 'The reason as a sentence.' })),
        },
        perform: (call) => caughtUp(call as OperationCall<unknown, { since?: string }>),
      },
    },
    async (call) => {
      const { shop } = await requireAsked(call);
      return { data: { shop: shop.name } };
    },
  ),
};
