import { capitalized } from '../../../texts/case';
import { describeWait } from '../../../texts/operators/failures';
import { customerDigest } from '../../../licensing/customer-email';
import { plansOf } from '../../../licensing/catalogue';
import { liveStatus, nextPayment } from '../../../licensing/core/states';
import { readFailedPaymentMail } from '../../../orders/failed-payments';
import { readOrderMail } from '../../../orders/key-mails';
import { readLineStandings, type LineStanding } from '../../../orders/views';
import { listFailedMails } from '../../../mail/failed-mails';
import type { LineOutcome, ReadEvent } from '../../../orders/order-events';
import { orderNotFoundError } from '../../../orders/process';
import { readEvents } from '../../../orders/refunds';
import {
  awaitedSku,
  foreignRefunds,
  moneyOf,
  type Amounts,
  readOrder,
  type OrderDetails,
} from '../../../orders/views';
import { readId } from '../../../operations/kit/request-params';
import { submitOperation } from '../submit';
import { formRoute } from '../form-route';
import { formState, type FormState } from '../form-state';
import { Form, Submit, TextField } from '../kit/fields';
import { FormPage } from '../kit/form-page';
import { LineIcon } from '../kit/icons';
import { NoteLine } from '../kit/note';
import { TitledPage } from '../kit/operator-page';
import { DescriptionList, Panel } from '../kit/panel';
import { Status } from '../kit/status';
import { Table } from '../kit/table';
import { TimelineItem } from '../kit/timeline';
import { redirectWithFlash, type PageResponse, type OperatorCall, type Route } from '../page';
import { useView, type View } from '../view';
import { loadOptional } from '../load-optional';
import { FailedMails } from './failed-mails';
import { AddressNeeded, MailFact } from './order-mail';
import { OrderBadges } from './orders';
import { orderOperations } from '../../../operations/orders';

/** The page of one order: what blocks it, its lines with their licences, and its events with their effects. */

export const orderRoutes: Route<OperatorCall>[] = [
  { path: '/orders/:id', get: showOrder },
  { path: '/orders/:id/mails', post: sendKeys },
  { path: '/orders/:id/confirm', post: confirm },
  formRoute('/orders/:id/customer', { find: orderOf, show: showCustomer, work: setCustomer }),
];

function noOrderHere(): never {
  throw orderNotFoundError();
}

async function showOrder(call: OperatorCall): Promise<PageResponse> {
  const { db } = call;
  const { t, to, format, mayWrite } = call.view;
  const found = await readOrder(db, readId(call));
  if (found === undefined) return noOrderHere();
  const plans = new Map((await plansOf(db, undefined)).map(({ id, name }) => [id, name]));
  const mail = await readOrderMail(db, found.order, call.settings.mailing !== undefined);
  const failed = await readFailedPaymentMail(db, found.order);
  const failedMails = await loadOptional(call, () => listFailedMails(db, { orderIds: [found.order.id] }));
  const standings = await readLineStandings(db, found);
  const { order, lines, events, amounts } = found;
  const texts = t.orders.one;
  return {
    page: (
      <TitledPage
        title={texts.title(order.number)}
        nav="orders"
        crumbs={[[t.orders.title, '/orders']]}
        sub={
          <>
            <OrderBadges order={order} />
            <span>{order.shop}</span>
          </>
        }
      >
        <OrderProblem order={order} />
        <AddressNeeded
          id={order.id}
          mail={mail}
          isNeeded={lines.some(({ licenses }) => licenses.some(({ status }) => status === 'active'))}
        />
        <FailedMails mails={failedMails} back={`/orders/${order.id}`} />
        <BlockedLines order={order} lines={lines} events={events} />
        {foreignRefunds(events).map(({ refund, payment }) => (
          <NoteLine>
            {texts.foreignRefund(
              format.money(refund.amount, refund.currency),
              format.money(payment.amount, payment.currency),
            )}
          </NoteLine>
        ))}
        <div class="cols cols-side">
          <Lines lines={lines} plans={plans} standings={standings} />
          <aside>
            <Panel id="facts" title={texts.facts} inside>
              <DescriptionList
                facts={[
                  [
                    texts.customer,
                    order.customer === null ? (
                      t.common.none
                    ) : (
                      <>
                        <a href={to(`/customers/${customerDigest(order.customer)}`)}>{order.customer}</a>
                        {order.customerName === null ? null : <span class="sub">{order.customerName}</span>}
                        {mayWrite ? (
                          <a class="sub" href={to(`/orders/${order.id}/customer`)}>
                            {texts.setCustomer}
                          </a>
                        ) : null}
                      </>
                    ),
                  ],
                  [texts.mail, <MailFact id={order.id} mail={mail} />],
                  failed === undefined
                    ? undefined
                    : [
                        texts.failedMail,
                        texts.mailed[failed.state](
                          order.customer ?? t.common.none,
                          failed.at === null ? '' : format.moment(failed.at),
                        ),
                      ],
                  ...amountFacts(call.view, amounts),
                  [texts.owner, order.owner ?? order.shop],
                  [texts.posted, format.moment(order.createdAt)],
                  [t.orders.columns.id, String(order.id)],
                ]}
              />
            </Panel>
          </aside>
          <Events events={readEvents(events)} />
        </div>
      </TitledPage>
    ),
  };
}

async function orderOf(call: OperatorCall): Promise<OrderDetails['order']> {
  return (await readOrder(call.db, readId(call)))?.order ?? noOrderHere();
}

function showCustomer({ view }: OperatorCall, form: FormState, order: OrderDetails['order']): PageResponse {
  const { customerPage: texts, one } = view.t.orders;
  const path = `/orders/${order.id}`;
  return {
    page: (
      <FormPage
        title={order.customer === null ? texts.title : texts.change}
        nav="orders"
        crumbs={[
          [view.t.orders.title, '/orders'],
          [one.title(order.number), path],
        ]}
        path={`${path}/customer`}
        form={form}
        about={order.customer === null ? texts.sends : texts.asks}
        submit={texts.submit}
        back={path}
      >
        <TextField name="email" type="email" label={texts.email} value={order.customer ?? ''} required />
        <TextField name="name" label={texts.name} value={order.customerName ?? ''} />
      </FormPage>
    ),
  };
}

async function setCustomer(
  call: OperatorCall,
  sent: URLSearchParams,
  { id, customer: former }: OrderDetails['order'],
): Promise<PageResponse> {
  const email = sent.get('email')?.trim() ?? '';
  const name = sent.get('name')?.trim();
  const { customer, mail } = await submitOperation(call, sent, orderOperations.updateOrder, {
    path: { id: String(id) },
    body: { customer: { email, ...(name && { name }) } },
  });
  const isSent = former === null && mail.state === 'queued';
  return redirectWithFlash(`/orders/${id}`, isSent ? 'orderCustomerSent' : 'orderCustomer', customer ?? '');
}

/** Returns the paid and refunded amounts by currency. */
function amountFacts({ t, format }: View, amounts: Amounts[]): [string, string][] {
  const texts = t.orders.one;
  const of = (title: string, which: 'paid' | 'refunded'): [string, string][] => {
    const some = amounts.filter((one) => one[which] !== 0);
    return some.length === 0
      ? []
      : [[title, some.map((one) => format.money(one[which], one.currency)).join(', ')]];
  };
  return [...of(texts.paid, 'paid'), ...of(texts.refunded, 'refunded')];
}

/**
 * Returns the page that contained the button: the order's or a licence's. Accepts only known paths, to prevent an open
 * redirect.
 */
function backOf(text: string | null, id: string): string {
  return text !== null && /^\/licenses\/\d+$/.test(text) ? text : `/orders/${id}`;
}

async function sendKeys(call: OperatorCall, sent: URLSearchParams): Promise<PageResponse> {
  const id = String(readId(call));
  await submitOperation(call, sent, orderOperations.addOrderMail, { path: { id } });
  return redirectWithFlash(backOf(sent.get('back'), id), 'saved');
}

async function confirm(call: OperatorCall, sent: URLSearchParams): Promise<PageResponse> {
  const id = String(readId(call));
  await submitOperation(call, sent, orderOperations.confirmOrder, { path: { id }, body: {} });
  return redirectWithFlash(`/orders/${id}`, 'saved');
}

/** The reason for which an order failed, or the request to confirm an order with many lines. */
function OrderProblem({ order }: Pick<OrderDetails, 'order'>) {
  const { t, format, mayWrite } = useView();
  const { waiting: texts } = t.orders;
  const { id, state, failure, failedAt, retryAt } = order;
  if (failure === null) return null;
  const at = (time: Date | null) => (time === null ? '' : format.moment(time));
  return (
    <NoteLine>
      <p>{state === 'failed' ? texts.failed(failure, at(failedAt), at(retryAt)) : texts.tooMany}</p>
      {state === 'waiting' && mayWrite ? (
        <Form path={`/orders/${id}/confirm`} form={formState()}>
          <Submit label={texts.confirm} />
        </Form>
      ) : null}
    </NoteLine>
  );
}

/** The reasons for which lines are blocked, each listed once, with a link to map an article. */
function BlockedLines({ order, lines, events }: Pick<OrderDetails, 'order' | 'lines' | 'events'>) {
  const { t, to, mayWrite } = useView();
  const whatFor = (line: Line) =>
    (line.waitsFor === 'unknown_order' ? renewsOf(line) : awaitedSku(order.shop, line, events)) ?? '';
  const waiting = new Map(
    lines.flatMap(({ line }) =>
      line.waitsFor === null ? [] : [[`${line.waitsFor} ${whatFor(line)}`, line]],
    ),
  );
  if (waiting.size === 0) return null;
  return (
    <NoteLine>
      {[...waiting.values()].map((line) => (
        <p>
          {`${capitalized(describeWait(t.failures, line.waitsFor ?? '', whatFor(line)))}.`}{' '}
          {line.waitsFor === 'not_mapped' && mayWrite ? (
            <a
              href={to(`/shops/${order.shop}/map`, { sku: whatFor(line), back: `/orders/${order.id}` })}
              aria-label={t.orders.waiting.mapOne(whatFor(line))}
            >
              {t.orders.waiting.map}
            </a>
          ) : null}
        </p>
      ))}
    </NoteLine>
  );
}

type Line = OrderDetails['lines'][number]['line'];

function outcomesOf({ outcomeJson }: ReadEvent): LineOutcome[] {
  return JSON.parse(outcomeJson ?? '[]') as LineOutcome[];
}

function renewsOf({ renewsJson }: Line): string {
  return renewsJson === null ? '' : String(JSON.parse(renewsJson) as string | number);
}

function Lines({
  lines,
  plans,
  standings,
}: {
  lines: OrderDetails['lines'];
  plans: ReadonlyMap<number, string>;
  /** the states of the lines, by line id */
  standings: ReadonlyMap<number, LineStanding>;
}) {
  const { t, to, format, now } = useView();
  const texts = t.orders.one;
  const { lineColumns: columns } = texts;
  return (
    <Panel id="lines" title={texts.lines}>
      <Table
        caption={texts.linesCaption}
        rows={lines}
        empty={<p>{texts.noLines}</p>}
        columns={[
          { title: columns.line, cell: ({ line }) => line.line },
          {
            title: columns.article,
            kind: 'name',
            cell: ({ line }) => (
              <>
                {line.sku ??
                  (line.planId === null ? '' : texts.plan(plans.get(line.planId) ?? String(line.planId)))}
                {line.renewsJson === null ? null : <span class="sub">{texts.renews(renewsOf(line))}</span>}
              </>
            ),
          },
          { title: columns.quantity, kind: 'number', cell: ({ line }) => format.number(line.quantity) },
          {
            title: columns.paidUntil,
            cell: ({ line, licenses }) => {
              const { paidUntil = null, renewsItself } = standings.get(line.id) ?? {};
              const isAwaited = licenses.some((license) => nextPayment(license, now) === 'awaited');
              const note = isAwaited ? texts.renewalAwaited : renewsItself ? texts.renewsItself : null;
              return (
                <>
                  {paidUntil === null ? t.common.none : format.day(paidUntil)}
                  {note === null ? null : <span class="sub">{note}</span>}
                </>
              );
            },
          },
          {
            title: columns.licenses,
            cell: ({ licenses }) =>
              licenses.length === 0
                ? t.common.none
                : licenses.map((license) => (
                    <div>
                      <a href={to(`/licenses/${license.id}`)}>{texts.license(String(license.id))}</a>{' '}
                      <Status status={liveStatus(license, now)} />
                    </div>
                  )),
          },
        ]}
      />
    </Panel>
  );
}

function Events({ events }: { events: ReadEvent[] }) {
  const { t, format } = useView();
  const { one: texts, events: names, actions } = t.orders;
  const reasons: Record<string, string> = t.orders.reasons;
  const moneyText = (event: ReadEvent) => {
    const money = moneyOf(event);
    return money === undefined ? '' : format.money(money.amount, money.currency);
  };
  const told = (line: string, action: string, reason: string | null) => {
    const what = actions[action] ?? action;
    return texts.of(
      line,
      reason === null ? what : `${what} (${reasons[reason] ?? describeWait(t.failures, reason)})`,
    );
  };
  return (
    <Panel id="events" title={texts.events} aside={texts.eventsCaption}>
      <ol class="tl">
        {events.map((event) => (
          <TimelineItem
            icon={<LineIcon name="shopping-bag" />}
            when={<time datetime={event.at.toISOString()}>{format.moment(event.at)}</time>}
          >
            <strong>{names[event.event] ?? event.event}</strong> {moneyText(event)}
            {outcomesOf(event).map(({ line, action, reason }) => (
              <div>{told(line, action, reason)}</div>
            ))}
            <small>
              {[
                event.partial && texts.part,
                event.isTest && t.orders.test,
                texts.received(format.moment(event.receivedAt)),
              ]
                .filter(Boolean)
                .join(' · ')}
            </small>
          </TimelineItem>
        ))}
      </ol>
    </Panel>
  );
}
