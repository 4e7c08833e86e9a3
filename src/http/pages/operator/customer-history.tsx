import { customerDigest } from '../../../licensing/customer-email';
import { NOTICE_TYPES } from '../../../mail/queue';
import type { readOneCustomer } from '../../../privacy/customer-list';
import type { DescribedRequest } from '../../../support/requests';
import { LineIcon } from '../kit/icons';
import { PanelBody, Panel } from '../kit/panel';
import { TimelineItem } from '../kit/timeline';
import { useView } from '../view';
import { EventItem } from './history';
import { EntryItem, type ProductNames } from './request-table';

/** The panel of a customer's history: orders, mails, requests and changes of licences, newest first. */

const LIMIT = 10;
/** Mails that a licence's history has too, with more about them. */
const IN_HISTORY: readonly string[] = ['answer', ...NOTICE_TYPES];
const BAD_EVENTS = ['payment_failed', 'charged_back', 'refund_failed'];

/** The fields of a stored order that its entries show. */
interface StoredOrder {
  id: number;
  shop: string;
  order: string;
  events: { event: string; at: string; amount: number | null; currency: string | null }[];
}

interface StoredMail {
  type: string;
  license_id: number | null;
  recipient: string | null;
  created_at: string;
  sent_at: string | null;
  failed_at: string | null;
}

export function CustomerHistory({
  shown: { customer, licenses, events, stored },
  requests,
  products,
  plans,
  isWhole,
}: {
  shown: Awaited<ReturnType<typeof readOneCustomer>>;
  requests: DescribedRequest[];
  products: ProductNames;
  /** names of plans by id */
  plans: ReadonlyMap<number, string>;
  /** shows all entries instead of the newest */
  isWhole: boolean;
}) {
  const { t, to, format } = useView();
  const texts = t.customers.one;
  const orders = (stored?.sections.orders ?? []) as StoredOrder[];
  const mails = (stored?.sections.mails ?? []) as StoredMail[];
  const entries = [
    ...licenses.flatMap(({ id, plan, product }, i) =>
      (events[i] ?? []).map((event) => ({
        at: event.at,
        item: (
          <EventItem event={event} words={{ activationType: plan.activationType, plans }}>
            <a href={to(`/licenses/${id}`)}>
              {product.name}, {plan.name}
            </a>{' '}
            ·{' '}
          </EventItem>
        ),
      })),
    ),
    ...orders.flatMap((order) =>
      order.events.map((event) => ({
        at: new Date(event.at),
        item: <OrderItem order={order} event={event} />,
      })),
    ),
    ...mails
      .filter(
        (mail) => mail.failed_at !== null || mail.license_id === null || !IN_HISTORY.includes(mail.type),
      )
      .map((mail) => ({ at: new Date(mail.created_at), item: <MailItem mail={mail} /> })),
    ...requests.map(({ access, told }) => ({
      at: told.at,
      item: <EntryItem entry={told} products={products} times={access.times} />,
    })),
  ].sort((a, b) => b.at.getTime() - a.at.getTime());
  const isCut = !isWhole && entries.length > LIMIT;
  return (
    <Panel
      id="history"
      title={t.search.happened}
      footer={
        isCut ? (
          <a href={`${to(`/customers/${customerDigest(customer)}`, { history: 'all' })}#h-history`}>
            {texts.allEntries(format.number(entries.length))}
          </a>
        ) : undefined
      }
    >
      {entries.length === 0 ? <PanelBody>{texts.noEntry}</PanelBody> : null}
      <ol class="tl">{(isCut ? entries.slice(0, LIMIT) : entries).map(({ item }) => item)}</ol>
    </Panel>
  );
}

function OrderItem({
  order: { id, shop, order },
  event: { event, at, amount, currency },
}: {
  order: StoredOrder;
  event: StoredOrder['events'][number];
}) {
  const { t, to, format } = useView();
  const money = amount === null || currency === null ? undefined : format.money(amount, currency);
  return (
    <TimelineItem
      kind={BAD_EVENTS.includes(event) ? 'bad' : 'ok'}
      icon={<LineIcon name="shopping-bag" />}
      when={<When at={at} />}
    >
      {[t.orders.events[event] ?? event, money].filter(Boolean).join(': ')}
      <small>
        <a href={to(`/orders/${id}`)}>{t.customers.one.order(order)}</a> · {shop}
      </small>
    </TimelineItem>
  );
}

function MailItem({ mail }: { mail: StoredMail }) {
  const { t } = useView();
  const { mailTypes, mailStates } = t.license.facts;
  const state = mail.failed_at !== null ? 'failed' : mail.sent_at === null ? 'queued' : 'sent';
  return (
    <TimelineItem
      kind={state === 'failed' ? 'warn' : 'off'}
      icon={<LineIcon name="mail" />}
      when={<When at={mail.created_at} />}
    >
      {t.customers.one.mail(mailStates[state] ?? state, mailTypes[mail.type] ?? mail.type)}
      {mail.recipient === null ? null : <small>{mail.recipient}</small>}
    </TimelineItem>
  );
}

function When({ at }: { at: string }) {
  return <time datetime={at}>{useView().format.moment(new Date(at))}</time>;
}
