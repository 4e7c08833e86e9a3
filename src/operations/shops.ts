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
  PageQuery,
  Text,
  TextOrNull,
  Time,
  enumAsText,
} from './kit/schemas';

const EFFECTS = [...new Set(RULES.flatMap(effectsOf))];

const Rules = strictObject(Object.fromEntries(RULES.map((rule) => [rule, enumAsText(effectsOf(rule))])), {
  title: 'ShopRules',
});

const shopFields = {
  id: Id,
  name: Text,
  kind: enumAsText(SHOP_KINDS),
  verifies: Type.Boolean({
    description: 'Whether it has what its sender signs with. Until then a receiver refuses every message.',
  }),
  test: Type.Boolean(),
  test_plan_id: nullable(Id),
  token: nullable(
    Type.String({ description: 'The name of the tokens of the scope `issue` that its orders belong to.' }),
  ),
  rules: Rules,
  mail: enumAsText(SHOP_MAILS),
  has_api_key: Type.Boolean({ description: "Whether it has a key that reads its sender's list." }),
  site_url: TextOrNull,
  catch_up: nullable(
    strictObject(
      {
        state: enumAsText(CATCH_UP_STATES),
        at: nullable(Time),
        until: nullable(Time),
        tried_at: nullable(Time),
        failure: TextOrNull,
      },
      {
        title: 'CatchUp',
        description:
          'When it was last caught up (`at`), up to when all was taken (`until`), and why the last run ended early. `cannot`: its sender keeps no list. null: it posts its orders itself.',
      },
    ),
  ),
  grace: nullable(Type.Integer({ minimum: 0, description: 'Days; null: as LICENSING_GRACE_DAYS says.' })),
  billing_url: TextOrNull,
  created_at: Time,
};

const Shop = strictObject(shopFields, { title: 'Shop' });

const ListedShop = strictObject(
  { ...shopFields, waiting: Type.Integer({ minimum: 0, description: 'Orders that wait.' }) },
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
        'What the sender of a receiver signs with. It may come later: most senders show it for an address. It is kept sealed and never shown.',
    }),
  ),
  mail: Type.Optional(
    enumOf(SHOP_MAILS, {
      description:
        '`key`: customers are mailed the keys of their orders. `none` is the default of kinds that hand out keys themselves.',
    }),
  ),
  grace: Type.Optional(
    nullable(
      Type.Integer({
        minimum: 0,
        maximum: MAX_GRACE_DAYS,
        description:
          'For so many days after its paid end, the licence of a subscription goes on while its renewal is awaited. null: as LICENSING_GRACE_DAYS says.',
      }),
    ),
  ),
  billing_url: Type.Optional(
    nullable(
      Type.String({
        description:
          'An https address where customers change how they pay. They are mailed it when a payment failed; null: they are not.',
      }),
    ),
  ),
  test: Type.Optional(Type.Boolean({ description: 'What it sends is for testing.' })),
  api_key: Type.Optional(
    nullable(
      Type.String({
        description:
          "Reads the sender's list of what it told, to catch up: of `stripe`, `paddle` and `woocommerce`, where it is `ck_...:cs_...`. It may only read. It is kept sealed and never shown. null removes it.",
      }),
    ),
  ),
  site_url: Type.Optional(
    nullable(
      Type.String({ description: "A `woocommerce` shop's own site (https), to catch up. null removes it." }),
    ),
  ),
  test_plan_id: Type.Optional(
    nullable(Type.Integer({ ...IdGiven, description: 'What test orders issue; null: nothing.' })),
  ),
  token: Type.Optional(
    Type.String({
      description:
        'Gives the shop and its orders to the tokens of the scope `issue` with this name. Without it, the first that posts has them.',
    }),
  ),
  rules: Type.Optional(
    Type.Record(Type.String(), enumOf(EFFECTS), {
      description: 'What an event does, such as {"refunded":"cancel"}; the others stay.',
    }),
  ),
};

const Sku = strictObject(
  { id: Id, sku: Text, plan_id: Id, quantity: enumAsText(SKU_QUANTITIES), created_at: Time },
  { title: 'ShopSku' },
);

const Message = strictObject(
  {
    id: Id,
    type: Type.String({ description: "The sender's name of what it tells." }),
    result: enumAsText(MESSAGE_RESULTS),
    reason: TextOrNull,
    order_id: nullable(Id),
    received_at: Time,
  },
  { title: 'ShopMessage' },
);

const Count = Type.Integer({ minimum: 0 });

const ran = {
  done: Type.Integer({ minimum: 0, description: 'Orders that waited and wait no more.' }),
  waiting: Type.Integer({ minimum: 0 }),
  failed: Type.Integer({
    minimum: 0,
    description: 'Orders that an unexpected error stopped. They are tried again.',
  }),
  orders: Type.Array(ProcessedOrder, { description: 'What became of each, the first 100.' }),
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
    { summary: 'List shops', scope: 'write', query: strictObject(PageQuery), data: ListedShop },
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
      summary: "List what a shop's articles mean",
      scope: 'write',
      query: strictObject(PageQuery),
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
      summary: 'Let an article mean a plan, besides those it means already',
      description: 'Orders that waited for it run at once. Several plans: several licences.',
      body: strictObject({
        sku: Text,
        plan_id: IdGiven,
        quantity: Type.Optional(
          enumOf(SKU_QUANTITIES, {
            default: 'licenses',
            description: "`slots`: one licence with the plan's limit times the quantity.",
          }),
        ),
      }),
      data: Sku,
      status: 201,
      otherStatus: { status: 200, when: 'the article meant this plan already' },
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
    { summary: 'Let an article mean nothing from now on' },
    async (call) => {
      const [shop, sku] = [shopName(call), call.path.sku ?? ''];
      await unmapSku(call.db, shop, sku);
      return { shop, sku };
    },
  ),
  listShopMessages: list(
    '/shops/{name}/messages',
    {
      summary: 'List the messages that a receiver took, the newest first',
      description:
        '`result` is `order` for an event of an order, `noted` for what changes none, `unmatched` while nothing is known of what it names, `queued` while a job works on it, and `unreadable` for what has no order in it (`refused`: by an earlier version).',
      scope: 'write',
      query: strictObject({ result: Type.Optional(enumOf(MESSAGE_RESULTS)), ...PageQuery }),
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
      summary: 'Take what a shop told while it was not heard',
      description:
        "Reads the sender's own list, and takes each entry as if it had come as a message. What was taken before changes nothing. A run ends after 100 pages or 40 seconds; with `done` false the next call goes on there. It also runs once a night.",
      body: strictObject({
        since: Type.Optional(
          Type.String({
            description:
              'How far back, such as `3d`. By default since the last run; at first since the shop was added.',
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
          caught_up: Type.Integer({ minimum: 0, description: 'Those that had not come.' }),
          refused: Type.Integer({ minimum: 0, description: 'Those that cannot be stored.' }),
          done: Type.Boolean(),
          failure: nullable(
            Type.String({
              description: 'Why the run ended early, such as `KEY_REFUSED 401`. What was taken stays.',
            }),
          ),
          message: nullable(Type.String({ description: 'The same in words.' })),
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
