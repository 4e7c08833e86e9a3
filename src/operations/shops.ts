import { Type } from '@sinclair/typebox';
import { readCursor, isCursorId, toPage } from '../licensing/cursors';
import { MESSAGE_RESULTS } from '../orders/receive';
import { runWaiting } from '../orders/record';
import { effectsOf, RULES } from '../orders/rules';
import {
  addShop,
  editShop,
  listShops,
  listSkus,
  mapSku,
  removeShop,
  requireShop,
  SHOP_KINDS,
  shopJson,
  type ShopKind,
  SKU_QUANTITIES,
  skuJson,
  unmapSku,
} from '../orders/shops';
import { MAX_GRACE_DAYS, SHOP_MAILS, type ShopMail } from '../orders/shop-kinds';
import { countWaiting, listMessages, messageJson } from '../orders/views';
import { get, list, patch, post, remove, type Call } from './operation';
import { pageOf } from './reading';
import { exactly, Id, IdGiven, oneOf, orNull, Paging, Text, TextOrNull, Time, wordOf } from './schemas';

const EFFECTS = [...new Set(RULES.flatMap(effectsOf))];

const Rules = exactly(Object.fromEntries(RULES.map((rule) => [rule, wordOf(effectsOf(rule))])), {
  title: 'ShopRules',
});

const shopFields = {
  id: Id,
  name: Text,
  kind: wordOf(SHOP_KINDS),
  verifies: Type.Boolean({
    description: 'Whether it has what its sender signs with. Until then a receiver refuses every message.',
  }),
  test: Type.Boolean(),
  test_plan_id: orNull(Id),
  token: orNull(
    Type.String({ description: 'The name of the tokens of the scope `issue` that its orders belong to.' }),
  ),
  rules: Rules,
  mail: wordOf(SHOP_MAILS),
  grace: orNull(Type.Integer({ minimum: 0, description: 'Days; null: as LICENSING_GRACE_DAYS says.' })),
  billing_url: TextOrNull,
  created_at: Time,
};

const Shop = exactly(shopFields, { title: 'Shop' });

const ListedShop = exactly(
  { ...shopFields, waiting: Type.Integer({ minimum: 0, description: 'Orders that wait.' }) },
  { title: 'ListedShop' },
);

const settings = {
  kind: Type.Optional(
    oneOf(SHOP_KINDS, {
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
    oneOf(SHOP_MAILS, {
      description:
        '`key`: customers are mailed the keys of their orders. `none` is the default of kinds that hand out keys themselves.',
    }),
  ),
  grace: Type.Optional(
    orNull(
      Type.Integer({
        minimum: 0,
        maximum: MAX_GRACE_DAYS,
        description:
          'For so many days after its paid end, the licence of a subscription goes on while its renewal is awaited. null: as LICENSING_GRACE_DAYS says.',
      }),
    ),
  ),
  billing_url: Type.Optional(
    orNull(
      Type.String({
        description:
          'An https address where customers change how they pay. They are mailed it when a payment failed; null: they are not.',
      }),
    ),
  ),
  test: Type.Optional(Type.Boolean({ description: 'What it sends is for testing.' })),
  test_plan_id: Type.Optional(
    orNull(Type.Integer({ ...IdGiven, description: 'What test orders issue; null: nothing.' })),
  ),
  token: Type.Optional(
    Type.String({
      description:
        'Gives the shop and its orders to the tokens of the scope `issue` with this name. Without it, the first that posts has them.',
    }),
  ),
  rules: Type.Optional(
    Type.Record(Type.String(), oneOf(EFFECTS), {
      description: 'What an event does, such as {"refunded":"cancel"}; the others stay.',
    }),
  ),
};

const Sku = exactly(
  { id: Id, sku: Text, plan_id: Id, quantity: wordOf(SKU_QUANTITIES), created_at: Time },
  { title: 'ShopSku' },
);

const Message = exactly(
  {
    id: Id,
    type: Type.String({ description: "The sender's name of what it tells." }),
    result: wordOf(MESSAGE_RESULTS),
    reason: TextOrNull,
    order_id: orNull(Id),
    received_at: Time,
  },
  { title: 'ShopMessage' },
);

const ran = {
  done: Type.Integer({ minimum: 0, description: 'Orders that waited and wait no more.' }),
  waiting: Type.Integer({ minimum: 0 }),
};

function shopName({ path }: Pick<Call, 'path'>): string {
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
  grace?: number | null;
  billing_url?: string | null;
}

function readSettings({
  test_plan_id: testPlanId,
  grace: graceDays,
  billing_url: billingUrl,
  ...others
}: SettingsGiven) {
  return { ...others, testPlanId, graceDays, billingUrl };
}

const contextOf = ({ context, settings: { keySecret } }: Call) => ({ ...context, keySecret });

function run(call: Call) {
  const { db, context, settings: of } = call;
  return runWaiting(db, shopName(call), {
    ...context,
    secret: of.keySecret,
    mailing: of.mailing,
    graceDays: of.graceDays,
  });
}

export const shopOperations = {
  listShops: list(
    '/shops',
    { summary: 'List shops', scope: 'write', query: exactly(Paging), data: ListedShop },
    async ({ db, query }) => {
      const { limit, after } = pageOf(query);
      const [place] = readCursor<[number]>(after, [isCursorId]) ?? [];
      const { items, next } = toPage(
        await listShops(db, { after: place, limit: limit + 1 }),
        limit,
        ({ id }) => [id],
      );
      const waiting = new Map((await countWaiting(db)).map(({ shop, orders }) => [shop, orders]));
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
      body: exactly({ name: Type.String({ description: '1 to 40 of a-z, 0-9, _ and -.' }), ...settings }),
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
      body: exactly(settings),
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
    { summary: "List what a shop's articles mean", scope: 'write', query: exactly(Paging), data: Sku },
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
      body: exactly({
        sku: Text,
        plan_id: IdGiven,
        quantity: Type.Optional(
          oneOf(SKU_QUANTITIES, {
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
        adds: { ran: exactly(ran) },
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
        '`result` is `order` for an event of an order, `noted` for what changes none, `unmatched` while nothing is known of what it names, and `refused` for what cannot be stored.',
      scope: 'write',
      query: exactly({ result: Type.Optional(oneOf(MESSAGE_RESULTS)), ...Paging }),
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
      goesOn: true,
      summary: 'Run the orders that wait',
      data: exactly(ran, { title: 'Ran' }),
      hasDeadline: false,
    },
    async (call) => {
      await requireShop(call.db, shopName(call));
      return { data: await run(call) };
    },
  ),
};
