import { needsOfOrders, type ActionItem } from '../../../overview/action-items';
import type { Effect } from '../../../orders/order-events';
import { plansOf } from '../../../licensing/catalogue';
import { countUnreadable, readRefusedMessages, type RefusedMessages } from '../../../orders/refused-messages';
import { effectsOf, readRules, RULES } from '../../../orders/rules';
import { isPosting, mailOf } from '../../../orders/shop-kinds';
import { listSkus, requireShop, type Shop, type ShopSku } from '../../../orders/shops';
import { listMessages, type ShopMessage } from '../../../orders/views';
import type { ErrorResponse } from '../../../operations/kit/failures';
import { submitOperation, nonEmptyFields } from '../submit';
import { hookAddress } from '../address';
import { formRoute } from '../form-route';
import { formState, type FormState } from '../form-state';
import { CopyText } from '../kit/copy';
import { ButtonLink, Form, FormErrors, Select, Submit, TextField } from '../kit/fields';
import { FormPage } from '../kit/form-page';
import { MoreMenu } from '../kit/more-menu';
import { NoteLine } from '../kit/note';
import { OperatorPage } from '../kit/operator-page';
import { DescriptionList, PageHeader, PanelBody, Panel } from '../kit/panel';
import { Table } from '../kit/table';
import { redirectWithFlash, type PageResponse, type OperatorCall, type Route } from '../page';
import { useView } from '../view';
import { reasonText } from './reason';
import { ActionItemLine } from './overview-needs';
import { unprocessedOrders, planOptions, shopOf } from './shop-map';
import { ApiAccessFields, CatchUpPanel } from './shop-catch-up';
import { ShopPluginPanel } from './shop-plugin';
import {
  MailField,
  shopFieldError,
  SubscriptionFields,
  readSubscriptionFields,
  TestFields,
  TestSummary,
  readTestFields,
} from './shops';
import { shopOperations } from '../../../operations/shops';

/** The page of one shop: its mapped articles, the effects of its events, its messages, and its tests. */

export const shopRoutes: Route<OperatorCall>[] = [
  { path: '/shops/:name', scope: 'write', get: showShop },
  formRoute('/shops/:name/edit', { isSecret: true, find: findShop, show: showForm, work: edit, explain }),
  formRoute('/shops/:name/secret', {
    isSecret: true,
    find: findShop,
    show: showSecret,
    work: giveSecret,
    explain,
  }),
  { path: '/shops/:name/run', needsNoRecentSignIn: true, post: run, hasDeadline: false },
  { path: '/shops/:name/catch-up', post: catchUp, hasDeadline: false },
  formRoute('/shops/:name/remove', {
    isSecret: true,
    find: findShop,
    show: askRemove,
    work: remove,
    whenDeleted: '/shops',
  }),
];

function findShop(call: OperatorCall): Promise<Shop> {
  return requireShop(call.db, shopOf(call));
}

function explain(call: OperatorCall, refused: ErrorResponse, sent: URLSearchParams, { kind }: Shop) {
  return shopFieldError(call, refused, kind, sent);
}

type Plans = ReadonlyMap<number, string>;

async function showShop(call: OperatorCall): Promise<PageResponse> {
  const { db } = call;
  const shop = await requireShop(db, shopOf(call));
  const plans = new Map((await plansOf(db, undefined)).map(({ id, name }) => [id, name]));
  const needs = await needsOfOrders(db, shop.name, call.view.operatorLanguage);
  const skus = await listSkus(db, shop.name);
  const receives = isPosting(shop.kind) ? undefined : await readMessages(call, shop.name);
  const isMailOn = call.settings.mailing !== undefined;
  const { graceDays } = call.settings;
  return {
    page: (
      <ShopPage
        shop={shop}
        plans={plans}
        needs={needs}
        skus={skus}
        receives={receives}
        isMailOn={isMailOn}
        graceDays={graceDays}
      />
    ),
  };
}

const MESSAGES_SHOWN = 20;

interface Receives {
  address: string;
  messages: ShopMessage[];
  refused: RefusedMessages;
  unreadable: number;
}

async function readMessages(call: OperatorCall, shop: string): Promise<Receives> {
  return {
    address: hookAddress(call, shop),
    messages: await listMessages(call.db, { shop, limit: MESSAGES_SHOWN }),
    refused: await readRefusedMessages(call.db, shop, call.at),
    unreadable: (await countUnreadable(call.db, call.at)).get(shop) ?? 0,
  };
}

async function showForm(call: OperatorCall, form: FormState, shop: Shop): Promise<PageResponse> {
  const { shops: texts, events, effects, title } = call.view.t.orders;
  const { name } = shop;
  const rules = readRules(shop);
  return {
    page: (
      <FormPage
        title={texts.editTitle(name)}
        sub={texts.rulesCaption}
        nav="orders"
        crumbs={[
          [title, '/orders'],
          [texts.title, '/shops'],
          [name, `/shops/${name}`],
        ]}
        path={`/shops/${name}/edit`}
        form={form}
        submit={call.view.t.common.save}
        back={`/shops/${name}`}
      >
        {RULES.map((event) => (
          <Select
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
              name="secret"
              type="password"
              label={texts.secret}
              hint={texts.secretStays}
              autocomplete="new-password"
            />
          </>
        )}
        <ApiAccessFields shop={shop} />
        <MailField value={mailOf(shop)} />
        <SubscriptionFields shop={shop} />
        <TestFields plans={await planOptions(call)} shop={shop} />
      </FormPage>
    ),
  };
}

async function edit(call: OperatorCall, sent: URLSearchParams, { name }: Shop): Promise<PageResponse> {
  const rules = Object.fromEntries(
    RULES.flatMap((event) => (sent.has(event) ? [[event, sent.get(event)]] : [])),
  ) as Record<string, Effect>;
  await submitOperation(call, sent, shopOperations.updateShop, {
    path: { name },
    body: {
      ...nonEmptyFields(sent, 'secret', 'mail', 'api_key'),
      ...(sent.has('site_url') && { site_url: sent.get('site_url')?.trim() || null }),
      ...readSubscriptionFields(sent),
      ...readTestFields(sent),
      rules,
    },
  });
  return redirectWithFlash(`/shops/${name}`, 'saved');
}

function showSecret(call: OperatorCall, form: FormState, { name, kind }: Shop): PageResponse {
  if (isPosting(kind)) return redirectWithFlash(`/shops/${name}`);
  const { t } = call.view;
  const { shops: texts } = t.orders;
  const title = texts.secretTitle(name);
  return {
    page: (
      <OperatorPage
        title={title}
        nav="orders"
        crumbs={[
          [t.orders.title, '/orders'],
          [texts.title, '/shops'],
          [name, `/shops/${name}`],
        ]}
      >
        <PageHeader title={title} sub={texts.secretAbout} />
        <Panel id="secret" kind="narrow">
          <PanelBody>
            <label class="label" for="address-text">
              {texts.address}
            </label>
            <div>
              <CopyText id="address-text" label={texts.address} text={hookAddress(call, name)} />
            </div>
            <Form path={`/shops/${name}/secret`} form={form}>
              <FormErrors form={form} />
              {/* For password managers: whose secret it is. */}
              <input hidden readonly value={name} autocomplete="username" />
              <TextField
                name="secret"
                type="password"
                label={texts.secret}
                hint={texts.secretNeeds[kind] ?? texts.secretHint}
                autocomplete="new-password"
                required
              />
              <p class="acts">
                <Submit label={t.common.save} />
                <ButtonLink path={`/shops/${name}`} label={t.common.back} />
              </p>
            </Form>
          </PanelBody>
        </Panel>
      </OperatorPage>
    ),
  };
}

async function giveSecret(call: OperatorCall, sent: URLSearchParams, { name }: Shop): Promise<PageResponse> {
  const secret = sent.get('secret')?.trim() ?? '';
  await submitOperation(call, sent, shopOperations.updateShop, { path: { name }, body: { secret } });
  return redirectWithFlash(`/shops/${name}`, 'saved');
}

async function run(call: OperatorCall, sent: URLSearchParams): Promise<PageResponse> {
  const name = shopOf(call);
  const ran = await submitOperation(call, sent, shopOperations.runShop, { path: { name } });
  return redirectWithFlash(`/shops/${name}`, 'ordersRan', String(ran.done), unprocessedOrders(call, ran));
}

async function catchUp(call: OperatorCall, sent: URLSearchParams): Promise<PageResponse> {
  const name = shopOf(call);
  const ran = await submitOperation(call, sent, shopOperations.catchUpShop, { path: { name } });
  const outcome =
    ran.failure === null ? (ran.done ? 'shopCaughtUp' : 'shopCatchUpGoesOn') : 'shopCatchUpFailed';
  return redirectWithFlash(`/shops/${name}`, outcome, String(ran.caught_up));
}

function askRemove({ view }: OperatorCall, form: FormState, { name }: Shop): PageResponse {
  const { shops: texts, title } = view.t.orders;
  return {
    page: (
      <FormPage
        danger
        title={texts.removeTitle(name)}
        nav="orders"
        crumbs={[
          [title, '/orders'],
          [texts.title, '/shops'],
          [name, `/shops/${name}`],
        ]}
        path={`/shops/${name}/remove`}
        form={form}
        points={[texts.removeGoes, texts.removeStays]}
        submit={texts.removeSubmit}
        back={[texts.removeBack, `/shops/${name}`]}
      />
    ),
  };
}

async function remove(call: OperatorCall, sent: URLSearchParams, { name }: Shop): Promise<PageResponse> {
  await submitOperation(call, sent, shopOperations.removeShop, { path: { name } });
  return redirectWithFlash('/shops', 'shopRemoved', name);
}

function ShopPage({
  shop,
  plans,
  needs,
  skus,
  receives,
  isMailOn,
  graceDays,
}: {
  shop: Shop;
  plans: Plans;
  needs: ActionItem[];
  skus: ShopSku[];
  /** undefined for a shop that posts with an API token */
  receives: Receives | undefined;
  isMailOn: boolean;
  /** the grace period in days, from LICENSING_GRACE_DAYS */
  graceDays: number;
}) {
  const { t, to, format } = useView();
  const { shops: texts, columns } = t.orders;
  const { name } = shop;
  const waiting = needs.flatMap((need) => (need.type === 'orders' ? need.count : []))[0] ?? 0;
  return (
    <OperatorPage
      title={name}
      nav="orders"
      crumbs={[
        [t.orders.title, '/orders'],
        [texts.title, '/shops'],
      ]}
    >
      <PageHeader
        title={name}
        actions={
          <>
            <ButtonLink kind="primary" path={`/shops/${name}/map`} label={t.orders.map.add} />
            <ButtonLink path={`/shops/${name}/edit`} label={texts.edit} />
            <MoreMenu ofPage label={`${t.common.actions}: ${name}`}>
              <div class="final">
                <a href={to(`/shops/${name}/remove`)}>{texts.remove}</a>
              </div>
            </MoreMenu>
          </>
        }
      />
      {mailOf(shop) === 'key' && !isMailOn ? (
        <NoteLine>
          <p>{texts.mailOff}</p>
        </NoteLine>
      ) : null}
      {needs.length === 0 ? null : (
        <Panel id="needs" title={t.overview.needs.title}>
          <ul class="todo">
            {needs.map((need) => (
              <ActionItemLine need={need} shop={name} />
            ))}
          </ul>
        </Panel>
      )}
      {/* Until the plugin has posted an order, its steps are first. */}
      {shop.owner === null ? <ShopPluginPanel shop={shop} /> : null}
      <div class="cols cols-side">
        <SkuPanel shop={name} skus={skus} plans={plans} />
        <aside class="stack">
          <Panel id="facts" title={texts.facts}>
            <PanelBody>
              <DescriptionList
                facts={[
                  [texts.columns.kind, texts.kinds[shop.kind] ?? shop.kind],
                  [
                    texts.columns.waiting,
                    waiting === 0 ? (
                      format.number(0)
                    ) : (
                      <>
                        {format.number(waiting)}{' '}
                        <Form path={`/shops/${name}/run`} form={formState()}>
                          <Submit kind="quiet" small busy={texts.runBusy} label={texts.run} />
                        </Form>
                      </>
                    ),
                  ],
                  [texts.mail, texts.mails[mailOf(shop)]],
                  [texts.grace, texts.graceOf(shop.graceDays ?? graceDays, shop.graceDays === null)],
                  [
                    texts.billingUrl,
                    shop.billingUrl === null ? (
                      texts.noBillingUrl
                    ) : (
                      <a href={shop.billingUrl}>{shop.billingUrl}</a>
                    ),
                  ],
                  [texts.columns.tests, <TestSummary shop={shop} plans={plans} />],
                  [columns.order, <a href={to('/orders', { shop: name })}>{texts.orders}</a>],
                ]}
              />
            </PanelBody>
          </Panel>
          {receives ? (
            <Panel id="address" title={texts.address}>
              <PanelBody>
                <CopyText id="address-text" label={texts.address} text={receives.address} />
                <Refusals shop={shop} refused={receives.refused} />
              </PanelBody>
            </Panel>
          ) : null}
        </aside>
        <CatchUpPanel shop={shop} />
        {receives ? <MessagesPanel {...receives} /> : null}
        {shop.owner === null ? null : <ShopPluginPanel shop={shop} />}
        <RulesPanel shop={shop} />
      </div>
    </OperatorPage>
  );
}

/** The state of a payment provider's secret, and the number of messages that were refused without the right secret. */
function Refusals({ shop, refused: { days, times, isAlone } }: { shop: Shop; refused: RefusedMessages }) {
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
      <p class="acts">
        <a class={lacks ? 'btn btn-primary btn-sm' : 'btn btn-sm'} href={to(`/shops/${shop.name}/secret`)}>
          {lacks ? texts.giveSecret : texts.changeSecret}
        </a>
      </p>
    </>
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
        empty={<p>{texts.mapNone}</p>}
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
                <Submit kind="quiet" small label={texts.unmap} />
              </Form>
            ),
          },
        ]}
      />
    </Panel>
  );
}

function MessagesPanel({ messages, unreadable }: Receives) {
  const { t, to, format } = useView();
  const { shops: texts, columns } = t.orders;
  const { messageColumns: titles, results, notes } = texts;
  return (
    <Panel id="messages" title={texts.messages}>
      {unreadable === 0 ? null : (
        <PanelBody>
          <p>{texts.unreadable(unreadable)}</p>
        </PanelBody>
      )}
      <Table
        caption={texts.messagesCaption}
        rows={messages}
        empty={<p>{texts.messagesNone}</p>}
        columns={[
          { title: titles.type, kind: 'name', cell: ({ type }) => type },
          {
            title: titles.became,
            phone: 'bare',
            cell: ({ result, reason }) => (
              <>
                {results[result] ?? result}
                {reason === null ? null : <span class="sub">{reasonText(notes, reason)}</span>}
              </>
            ),
          },
          {
            title: columns.order,
            cell: ({ orderId }) =>
              orderId === null ? null : <a href={to(`/orders/${orderId}`)}>{orderId}</a>,
          },
          { title: titles.at, kind: 'time', cell: ({ receivedAt }) => format.moment(receivedAt) },
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
