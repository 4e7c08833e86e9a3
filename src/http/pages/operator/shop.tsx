import type { Child } from 'hono/jsx';
import type { Effect } from '../../../orders/fold';
import { plansOf } from '../../../licensing/catalogue';
import { readRefused, type Refused } from '../../../orders/refused-messages';
import { countUnmatched } from '../../../orders/unmatched-views';
import { effectsOf, readRules, RULES } from '../../../orders/rules';
import { isPosting, mailOf } from '../../../orders/shop-kinds';
import { listSkus, requireShop, type Shop, type ShopSku } from '../../../orders/shops';
import { countWaiting, listMessages, type ShopMessage } from '../../../orders/views';
import { act, attempt, filled, unlessGone } from '../act';
import { hookAddress } from '../address';
import { formState, type FormState } from '../form-state';
import { CopyText } from '../kit/copy';
import { Form, FormErrors, Select, Submit, TextField, type Option } from '../kit/fields';
import { FinalAction } from '../kit/final-action';
import { OperatorPage } from '../kit/operator-page';
import { Facts, Head, Inside, Panel } from '../kit/panel';
import { Table } from '../kit/table';
import { done, type Answer, type OperatorCall, type Route } from '../page';
import { useView } from '../view';
import { planOptions, shopOf } from './shop-map';
import { MailField, refusedText, TestFields, Tests, testsOf } from './shops';
import { shopOperations } from '../../../operations/shops';

/** One shop: what its articles mean, what its events do, its messages, and its tests. */

export const shopRoutes: Route<OperatorCall>[] = [
  { path: '/shops/:name', scope: 'write', get: showShop },
  {
    path: '/shops/:name/edit',
    scope: 'write',
    isSecret: true,
    get: (call) => showForm(call, formState()),
    post: async (call, sent) => {
      const { kind } = await requireShop(call.db, shopOf(call));
      return attempt(
        call,
        sent,
        () => edit(call, sent),
        (form) => showForm(call, form),
        ({ error: { field } }) => refusedText(call, field, kind, sent),
      );
    },
  },
  {
    path: '/shops/:name/secret',
    scope: 'write',
    isSecret: true,
    get: (call) => showSecret(call, formState()),
    post: giveSecret,
  },
  { path: '/shops/:name/run', goesOn: true, post: run, hasDeadline: false },
  { path: '/shops/:name/remove', scope: 'write', isSecret: true, get: askRemove, post: remove },
];

type Plans = ReadonlyMap<number, string>;

async function showShop(call: OperatorCall): Promise<Answer> {
  const { db } = call;
  const shop = await requireShop(db, shopOf(call));
  const plans = new Map((await plansOf(db, undefined)).map(({ id, name }) => [id, name]));
  const waiting = (await countWaiting(db)).find((one) => one.shop === shop.name)?.orders ?? 0;
  const unmatched = (await countUnmatched(db)).find((one) => one.shop === shop.name)?.count ?? 0;
  const skus = await listSkus(db, shop.name);
  const receives = isPosting(shop.kind) ? undefined : await readMessages(call, shop.name);
  const isMailOn = call.settings.mailing !== undefined;
  return { page: <ShopPage {...{ shop, plans, waiting, unmatched, skus, receives, isMailOn }} /> };
}

const MESSAGES_SHOWN = 20;

interface Receives {
  address: string;
  messages: ShopMessage[];
  refused: Refused;
}

async function readMessages(call: OperatorCall, shop: string): Promise<Receives> {
  return {
    address: hookAddress(call, shop),
    messages: await listMessages(call.db, { shop, limit: MESSAGES_SHOWN }),
    refused: await readRefused(call.db, shop, call.at),
  };
}

async function showForm(call: OperatorCall, form: FormState): Promise<Answer> {
  const shop = await requireShop(call.db, shopOf(call));
  return { page: <EditForm form={form} shop={shop} plans={await planOptions(call)} /> };
}

async function edit(call: OperatorCall, sent: URLSearchParams): Promise<Answer> {
  const name = shopOf(call);
  const rules = Object.fromEntries(
    RULES.flatMap((event) => (sent.has(event) ? [[event, sent.get(event)]] : [])),
  ) as Record<string, Effect>;
  await act(call, sent, shopOperations.updateShop, {
    path: { name },
    body: { ...filled(sent, 'secret', 'mail'), ...testsOf(sent), rules },
  });
  return done(`/shops/${name}`, 'saved');
}

async function showSecret(call: OperatorCall, form: FormState): Promise<Answer> {
  const shop = await requireShop(call.db, shopOf(call));
  if (isPosting(shop.kind)) return done(`/shops/${shop.name}`);
  return { page: <SecretForm form={form} shop={shop} address={hookAddress(call, shop.name)} /> };
}

async function giveSecret(call: OperatorCall, sent: URLSearchParams): Promise<Answer> {
  const { name, kind } = await requireShop(call.db, shopOf(call));
  return attempt(
    call,
    sent,
    async () => {
      const secret = sent.get('secret')?.trim() ?? '';
      await act(call, sent, shopOperations.updateShop, { path: { name }, body: { secret } });
      return done(`/shops/${name}`, 'saved');
    },
    (form) => showSecret(call, form),
    ({ error: { field } }) => refusedText(call, field, kind, sent),
  );
}

async function run(call: OperatorCall, sent: URLSearchParams): Promise<Answer> {
  const name = shopOf(call);
  const ran = await act(call, sent, shopOperations.runShop, { path: { name } });
  return done(`/shops/${name}`, 'ordersRan', String(ran.done), String(ran.waiting));
}

async function askRemove(call: OperatorCall): Promise<Answer> {
  const { name } = await requireShop(call.db, shopOf(call));
  return { page: <AskRemove shop={name} /> };
}

function remove(call: OperatorCall, sent: URLSearchParams): Promise<Answer> {
  return unlessGone('/shops', async () => {
    const name = shopOf(call);
    await act(call, sent, shopOperations.removeShop, { path: { name } });
    return done('/shops', 'shopRemoved', name);
  });
}

function ShopPage({
  shop,
  plans,
  waiting,
  unmatched,
  skus,
  receives,
  isMailOn,
}: {
  shop: Shop;
  plans: Plans;
  waiting: number;
  unmatched: number;
  skus: ShopSku[];
  /** undefined: it posts with a token */
  receives: Receives | undefined;
  isMailOn: boolean;
}) {
  const { t, to, format } = useView();
  const { shops: texts, columns } = t.orders;
  const { name } = shop;
  return (
    <OperatorPage
      title={name}
      nav="orders"
      crumbs={[
        [t.orders.title, '/orders'],
        [texts.title, '/shops'],
      ]}
    >
      <Head
        title={name}
        actions={
          <>
            <a class="btn btn-primary" href={to(`/shops/${name}/map`)}>
              {t.orders.map.add}
            </a>
            <a class="btn btn-quiet" href={to(`/shops/${name}/edit`)}>
              {texts.edit}
            </a>
            <a class="btn btn-quiet" href={to(`/shops/${name}/remove`)}>
              {texts.remove}
            </a>
          </>
        }
      />
      {mailOf(shop) === 'key' && !isMailOn ? (
        <div class="alert alert-warning">
          <p class="mb-0">{texts.mailOff}</p>
        </div>
      ) : null}
      <div class="cols cols-side">
        <SkuPanel shop={name} skus={skus} plans={plans} />
        <aside class="stack">
          <Panel id="facts" title={texts.facts}>
            <Inside>
              <Facts
                facts={[
                  [texts.columns.kind, texts.kinds[shop.kind] ?? shop.kind],
                  [
                    texts.columns.waiting,
                    waiting === 0 ? (
                      format.number(0)
                    ) : (
                      <>
                        <a
                          class="btn btn-quiet btn-sm"
                          href={to('/orders', { shop: name, state: 'waiting' })}
                        >
                          {t.orders.waiting.count(waiting, format.number(waiting))}
                        </a>{' '}
                        <Form path={`/shops/${name}/run`} form={formState()}>
                          <Submit kind="quiet" small busy={texts.runBusy}>
                            {texts.run}
                          </Submit>
                        </Form>
                      </>
                    ),
                  ],
                  ...(unmatched === 0
                    ? []
                    : [
                        [
                          t.orders.unmatched.title,
                          <a class="btn btn-quiet btn-sm" href={to('/unmatched', { shop: name })}>
                            {t.orders.unmatched.count(unmatched, format.number(unmatched))}
                          </a>,
                        ] as [string, Child],
                      ]),
                  [texts.mail, texts.mails[mailOf(shop)]],
                  [texts.columns.tests, <Tests shop={shop} plans={plans} />],
                  [columns.order, <a href={to('/orders', { shop: name })}>{texts.orders}</a>],
                ]}
              />
            </Inside>
          </Panel>
          {receives ? (
            <Panel id="address" title={texts.address}>
              <Inside>
                <CopyText id="address-text" label={texts.address} text={receives.address} />
                <Refusals shop={shop} refused={receives.refused} />
              </Inside>
            </Panel>
          ) : null}
        </aside>
        {receives ? <MessagesPanel messages={receives.messages} /> : null}
        <RulesPanel shop={shop} />
      </div>
    </OperatorPage>
  );
}

/** Whether a receiver has its secret, and what it refused without the right one. */
function Refusals({ shop, refused: { days, times, isAlone } }: { shop: Shop; refused: Refused }) {
  const { t, to, format } = useView();
  const { shops: texts } = t.orders;
  const lacks = shop.secretSealed === null;
  const count = format.number(times);
  return (
    <>
      {lacks ? <p>{texts.noSecret}</p> : null}
      {isAlone && !lacks ? <p>{texts.refusedAlone(times, count)}</p> : null}
      {days.length === 0 ? null : (
        <p class="sub">
          {texts.refusedByDay}{' '}
          {days.map(({ day, times: of }) => `${format.day(new Date(day))}: ${format.number(of)}`).join(', ')}
        </p>
      )}
      <p class="acts mb-0">
        <a
          class={lacks ? 'btn btn-primary btn-sm' : 'btn btn-quiet btn-sm'}
          href={to(`/shops/${shop.name}/secret`)}
        >
          {lacks ? texts.giveSecret : texts.changeSecret}
        </a>
      </p>
    </>
  );
}

function SecretForm({
  form,
  shop: { name, kind },
  address,
}: {
  form: FormState;
  shop: Shop;
  address: string;
}) {
  const { t, to } = useView();
  const { shops: texts } = t.orders;
  const title = texts.secretTitle(name);
  return (
    <OperatorPage
      title={title}
      nav="orders"
      crumbs={[
        [t.orders.title, '/orders'],
        [name, `/shops/${name}`],
      ]}
    >
      <Head title={title} sub={texts.secretAbout} />
      <Panel id="secret" kind="narrow">
        <Inside>
          <CopyText id="address-text" label={texts.address} text={address} />
          <Form path={`/shops/${name}/secret`} form={form}>
            <FormErrors form={form} />
            {/* For password managers: whose secret it is. */}
            <input hidden readonly value={name} autocomplete="username" />
            <TextField
              form={form}
              name="secret"
              type="password"
              label={texts.secret}
              hint={texts.secretNeeds[kind] ?? texts.secretHint}
              autocomplete="new-password"
              required
            />
            <p class="acts mb-0">
              <Submit>{t.common.save}</Submit>
              <a class="btn btn-quiet" href={to(`/shops/${name}`)}>
                {t.common.back}
              </a>
            </p>
          </Form>
        </Inside>
      </Panel>
    </OperatorPage>
  );
}

function SkuPanel({ shop, skus, plans }: { shop: string; skus: ShopSku[]; plans: Plans }) {
  const { t } = useView();
  const { shops: texts, map } = t.orders;
  const { mapColumns: columns } = texts;
  return (
    <Panel id="map" title={texts.map}>
      <Table
        caption={texts.mapCaption}
        rows={skus}
        empty={<p class="mb-0">{texts.mapNone}</p>}
        columns={[
          { title: columns.sku, kind: 'name', cell: ({ sku }) => sku },
          { title: columns.plan, cell: ({ planId }) => plans.get(planId) ?? String(planId) },
          { title: columns.quantity, cell: ({ quantity }) => map.quantities[quantity] ?? quantity },
          {
            title: '',
            kind: 'act',
            cell: ({ sku }) => (
              <Form path={`/shops/${shop}/unmap`} form={formState()} label={texts.unmapOne(sku)}>
                <input type="hidden" name="sku" value={sku} />
                <Submit kind="quiet" small>
                  {texts.unmap}
                </Submit>
              </Form>
            ),
          },
        ]}
      />
    </Panel>
  );
}

function MessagesPanel({ messages }: { messages: ShopMessage[] }) {
  const { t, to, format } = useView();
  const { shops: texts, columns } = t.orders;
  const { messageColumns: titles, results, notes } = texts;
  return (
    <Panel id="messages" title={texts.messages}>
      <Table
        caption={texts.messagesCaption}
        rows={messages}
        empty={<p class="mb-0">{texts.messagesNone}</p>}
        columns={[
          { title: titles.at, cell: ({ receivedAt }) => format.moment(receivedAt) },
          { title: titles.type, kind: 'name', cell: ({ type }) => type },
          {
            title: titles.became,
            cell: ({ result, reason }) => (
              <>
                {results[result] ?? result}
                {reason === null ? null : <span class="sub">{notes[reason] ?? reason}</span>}
              </>
            ),
          },
          {
            title: columns.order,
            cell: ({ orderId }) =>
              orderId === null ? null : <a href={to(`/orders/${orderId}`)}>{orderId}</a>,
          },
        ]}
      />
    </Panel>
  );
}

function RulesPanel({ shop }: { shop: Shop }) {
  const { orders } = useView().t;
  const { shops: texts, events, effects } = orders;
  const rules = readRules(shop);
  return (
    <Panel id="rules" title={texts.rules}>
      <Table
        caption={texts.rulesCaption}
        rows={[...RULES]}
        empty={null}
        columns={[
          { title: texts.ruleColumns.event, kind: 'name', cell: (event) => events[event] },
          { title: texts.ruleColumns.effect, cell: (event) => effects[rules[event]] },
        ]}
      />
    </Panel>
  );
}

function EditForm({ form, shop, plans }: { form: FormState; shop: Shop; plans: Option[] }) {
  const { t, to } = useView();
  const { shops: texts, events, effects } = t.orders;
  const { name } = shop;
  const rules = readRules(shop);
  const title = texts.editTitle(name);
  return (
    <OperatorPage
      title={title}
      nav="orders"
      crumbs={[
        [t.orders.title, '/orders'],
        [name, `/shops/${name}`],
      ]}
    >
      <Head title={title} sub={texts.rulesCaption} />
      <Panel id="edit" kind="narrow">
        <Inside>
          <FormErrors form={form} />
          <Form path={`/shops/${name}/edit`} form={form}>
            {RULES.map((event) => (
              <Select
                form={form}
                name={event}
                label={events[event] ?? event}
                value={rules[event]}
                options={effectsOf(event).map((effect) => ({
                  value: effect,
                  label: effects[effect] ?? effect,
                }))}
                required
              />
            ))}
            {isPosting(shop.kind) ? null : (
              <>
                {/* For password managers: whose secret it is. */}
                <input hidden readonly value={name} autocomplete="username" />
                <TextField
                  form={form}
                  name="secret"
                  type="password"
                  label={texts.secret}
                  hint={texts.secretStays}
                  autocomplete="new-password"
                />
              </>
            )}
            <MailField form={form} value={mailOf(shop)} />
            <TestFields form={form} plans={plans} shop={shop} />
            <p class="acts mb-0">
              <Submit>{t.common.save}</Submit>
              <a class="btn btn-quiet" href={to(`/shops/${name}`)}>
                {t.common.back}
              </a>
            </p>
          </Form>
        </Inside>
      </Panel>
    </OperatorPage>
  );
}

function AskRemove({ shop }: { shop: string }) {
  const { orders } = useView().t;
  const { shops: texts } = orders;
  return (
    <FinalAction
      title={texts.removeTitle(shop)}
      nav="orders"
      crumbs={[
        [orders.title, '/orders'],
        [shop, `/shops/${shop}`],
      ]}
      path={`/shops/${shop}/remove`}
      form={formState()}
      consequences={[texts.removeGoes, texts.removeStays]}
      submit={texts.removeSubmit}
      back={[texts.removeBack, `/shops/${shop}`]}
    />
  );
}
