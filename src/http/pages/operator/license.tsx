import { inBothForms } from '../../../licensing/core/identifiers';
import { readLicenseMonths } from '../../../figures/kept-figures';
import { findLastSeen } from '../../../support/last-seen';
import { actorInWords, reasonInWords } from '../../../support/sentences';
import { customerDigest } from '../../../licensing/customer-email';
import { readMetadata } from '../../../licensing/metadata';
import { plansOf } from '../../../licensing/catalogue';
import type { License } from '../../../licensing/licenses';
import { findStop, viewKeySites, viewLicense, type LicenseView } from '../../../licensing/license-view';
import { listReportedSitesOf } from '../../../licensing/spreading';
import { allowedTransitions, liveStatus, nextPayment, paidUntil } from '../../../licensing/core/states';
import { findProfile } from '../../../mail/customer-profile';
import { listFailedMails } from '../../../mail/failed-mails';
import { readOrderMail, type OrderMail } from '../../../orders/key-mails';
import { findOrdersOfLicenses, type LicenseOrder } from '../../../orders/views';
import { findCustomer } from '../../../privacy/customer-list';
import { submitOperation, type DataOf } from '../submit';
import { formState } from '../form-state';
import { ButtonLink, Form } from '../kit/fields';
import { MoreMenu } from '../kit/more-menu';
import { OperatorPage } from '../kit/operator-page';
import { DescriptionList, PageHeader, PanelBody, Panel } from '../kit/panel';
import { Status } from '../kit/status';
import type { PageResponse, OperatorCall, Route } from '../page';
import { useView, type View } from '../view';
import { loadOptional } from '../load-optional';
import { planDuration } from './catalogue';
import { EventItem } from './history';
import { licenseActionRoutes } from './license-actions';
import { UsePanel } from './license-use';
import { canSendKey, licenseOf, licenseName, pathOf } from './license-call';
import { licenseFinalRoutes } from './license-final';
import { KeyPanel, KEY_SITES, licenseKeyRoutes } from './license-keys';
import { keyChangeRoutes } from './license-key-changes';
import { licenseSiteRoutes, SitePanel } from './license-sites';
import { FailedMails } from './failed-mails';
import { AddressNeeded, MailFact } from './order-mail';
import { readWhy, SharedKey, WhyPanels } from './license-why';
import { mailOperations } from '../../../operations/mails';

/** The page of one licence: whether it works, and if not, why. Then its facts, keys, sites and history. */

export const licenseRoutes: Route<OperatorCall>[] = [
  { path: '/licenses/:id', get: showLicense },
  ...licenseActionRoutes,
  ...licenseFinalRoutes,
  ...licenseKeyRoutes,
  ...keyChangeRoutes,
  ...licenseSiteRoutes,
];

const KEYS = 20;
const SITES = 20;
const EVENTS = 5;
const MAILS = 4;
const TELEMETRY = 3;

type SentMail = DataOf<typeof mailOperations.listLicenseMails>[number];

/** Data that the page can do without. Each part is omitted if it does not load within the timeout. */
type Extras = Awaited<ReturnType<typeof readExtras>>;

async function readExtras(call: OperatorCall, license: License) {
  const { customer, id } = license;
  const { db, at } = call;
  // The shops' orders that issued or renewed the licence, oldest first
  const orders = (await loadOptional(call, () => findOrdersOfLicenses(db, [id]))) ?? [];
  return {
    orders,
    /** undefined if the licence has no customer, or if it was not loaded within the timeout */
    customer:
      customer === null
        ? undefined
        : await loadOptional(call, () => findCustomer(call.db, customer, call.at)),
    /** the seller's note about the customer */
    note: customer === null ? undefined : (await loadOptional(call, () => findProfile(db, customer)))?.note,
    mails: (await loadOptional(call, () => mailsOf(call, id))) ?? [],
    /** the event that suspended, revoked or cancelled it */
    stopped: await loadOptional(call, () => findStop(db, license)),
    /** the last twelve months; undefined if they were not loaded within the timeout */
    months: await loadOptional(call, () => readLicenseMonths(db, id, at)),
    seen: await loadOptional(call, () => findLastSeen(db, license)),
    /** failed mails of the licence, and those with the keys of its orders */
    failedMails: await loadOptional(call, () =>
      listFailedMails(db, { licenseIds: [id], orderIds: orders.map((order) => order.id) }),
    ),
    /** the latest telemetry of its sites */
    telemetry: (await loadOptional(call, () => listReportedSitesOf(db, [id], TELEMETRY))) ?? [],
    /** the order that issued it, and the latest mail of that order with this licence's key */
    orderMail: await loadOptional(call, () => mailOfOrder(call, id, orders)),
  };
}

async function showLicense(call: OperatorCall): Promise<PageResponse> {
  const { db, settings, view } = call;
  const { t } = view;
  const { id } = await licenseOf(call);
  const shown = await viewLicense(db, id, { keys: KEYS, sites: SITES, events: EVENTS });
  const { license, product } = shown;
  const why = await readWhy(call, shown);
  const plans = new Map((await plansOf(db, undefined)).map((plan) => [plan.id, plan.name]));
  const extras = await readExtras(call, license);
  const person = extras.customer?.name;
  const name = person ?? licenseName(license, t);
  return {
    page: (
      <OperatorPage title={name} nav="licenses" crumbs={[[t.licenses.title, '/licenses']]}>
        <PageHeader
          title={name}
          sub={
            <>
              <Status status={liveStatus(license, view.now)} />
              <span>
                {product.name}, {license.plan.name}
              </span>
              {person ? <span>{license.customer}</span> : null}
              <span>{t.license.number(String(license.id))}</span>
            </>
          }
          actions={<Actions license={license} canSendKey={canSendKey(call, license)} />}
        />
        {extras.orderMail === undefined ? null : (
          <AddressNeeded
            id={extras.orderMail.order.id}
            mail={extras.orderMail.mail}
            isNeeded={license.status === 'active'}
          />
        )}
        <FailedMails mails={extras.failedMails} back={pathOf(license)} />
        <SharedKey license={license} why={why} />
        <div class="cols cols-side">
          <WhyPanels license={license} why={why} />
          <UsePanel months={extras.months} seen={extras.seen} />
          <aside class="panel" aria-label={t.license.title}>
            <div class="in">
              <LicenseFacts shown={shown} extras={extras} />
            </div>
          </aside>
          <SitePanel shown={shown} />
          <KeyPanel
            shown={shown}
            canShow={settings.keySecret !== undefined}
            sites={await viewKeySites(db, license, [shown.mainKey, ...shown.otherKeys.items], KEY_SITES + 1)}
          />
          <HistoryPanel shown={shown} plans={plans} />
        </div>
      </OperatorPage>
    ),
  };
}

async function mailOfOrder(
  { db, settings }: OperatorCall,
  id: number,
  orders: LicenseOrder[],
): Promise<{ order: LicenseOrder; mail: OrderMail } | undefined> {
  const order = orders.find(({ role }) => role === 'issued');
  return order && { order, mail: await readOrderMail(db, order, settings.mailing !== undefined, id) };
}

function mailsOf(call: OperatorCall, id: number) {
  const query = new URLSearchParams({ limit: String(MAILS) });
  return submitOperation(call, new URLSearchParams(), mailOperations.listLicenseMails, {
    path: { id },
    query,
  });
}

function Actions({ license, canSendKey }: { license: License; canSendKey: boolean }) {
  const { t, to, now, mayWrite } = useView();
  const texts = t.license;
  if (!mayWrite) return null;
  const allowed = allowedTransitions(liveStatus(license, now));
  const link = (rest: string, title: string) => <a href={to(pathOf(license, rest))}>{title}</a>;
  const button = (rest: string, title: string) => (
    <Form path={pathOf(license, rest)} form={formState()}>
      <button type="submit">{title}</button>
    </Form>
  );
  return (
    <>
      {allowed.includes('renew') ? <ButtonLink path={pathOf(license, '/renew')} label={texts.renew} /> : null}
      {canSendKey ? <ButtonLink path={pathOf(license, '/send-key')} label={texts.sendKey} /> : null}
      <a class="btn lg" href={to(pathOf(license, '/plan'))}>
        {texts.changePlan}
      </a>
      <MoreMenu ofPage label={texts.more}>
        <ul>
          <li class="only-narrow">{link('/plan', texts.changePlan)}</li>
          <li>{link('/slots', texts.changeSlots)}</li>
          <li>{link('/customer', texts.changeCustomer)}</li>
          <li>{link('/note', texts.changeNote)}</li>
          {allowed.includes('suspend') ? <li>{link('/suspend', texts.suspend)}</li> : null}
          {allowed.includes('reinstate') ? <li>{button('/reinstate', texts.reinstate)}</li> : null}
          {allowed.includes('cancel') ? <li class="cut">{link('/cancel', texts.cancel)}</li> : null}
          {allowed.includes('revoke') ? <li class="final">{link('/revoke', texts.revoke)}</li> : null}
        </ul>
      </MoreMenu>
    </>
  );
}

function LicenseFacts({ shown, extras }: { shown: LicenseView; extras: Extras }) {
  const view = useView();
  const { t, to, format } = view;
  const { license, plan, product, otherKeys } = shown;
  const { customer, reference, keyHint, createdAt, lastCheckAt, checkCount } = license;
  const { facts } = t.license;
  const note = Object.entries(readMetadata(license.metadata));
  return (
    <DescriptionList
      facts={[
        stoppedFact(view, extras.stopped),
        endFact(license),
        [facts.slots, <Slots license={license} />],
        [
          facts.hint,
          <>
            <span class="mono">{keyHint ?? t.common.none}</span>
            {otherKeys.items.length === 0 ? null : (
              <>
                , <a href="#h-keys">{facts.moreKeys}</a>
              </>
            )}
          </>,
        ],
        [
          facts.customer,
          customer === null ? (
            t.licenses.noCustomer
          ) : (
            <>
              <a href={to(`/customers/${customerDigest(customer)}`)}>{extras.customer?.name ?? customer}</a>
              {extras.customer === undefined ? null : (
                <Subtext>
                  {facts.licenses(extras.customer.licenses, format.number(extras.customer.licenses))}
                </Subtext>
              )}
              {extras.note ? <span class="sub kept">{extras.note}</span> : null}
            </>
          ),
        ],
        [facts.product, <a href={to(`/products/${product.id}`)}>{product.name}</a>],
        [
          facts.plan,
          <>
            {plan.name}, {planDuration(view, plan.duration)}
          </>,
        ],
        extras.orders.length > 0
          ? [facts.order, <Orders orders={extras.orders} />]
          : reference === null
            ? undefined
            : [facts.order, reference],
        extras.orderMail === undefined
          ? undefined
          : [
              t.orders.one.mail,
              <MailFact id={extras.orderMail.order.id} mail={extras.orderMail.mail} back={pathOf(license)} />,
            ],
        [facts.issued, format.localDay(createdAt)],
        [
          facts.validated,
          lastCheckAt === null ? (
            facts.never
          ) : (
            <>
              {format.moment(lastCheckAt)}
              <Subtext>{facts.times(checkCount, format.number(checkCount))}</Subtext>
            </>
          ),
        ],
        extras.telemetry.length === 0
          ? undefined
          : [
              facts.installed,
              extras.telemetry.map(({ site, version, at }) => (
                <div>
                  {facts.runs(version, inBothForms(site, 'domain'))} <Subtext>{format.localDay(at)}</Subtext>
                </div>
              )),
            ],
        note.length === 0
          ? undefined
          : [
              facts.note,
              note.map(([name, text]) => (
                <div>
                  <span class="muted">{name}</span> {text}
                </div>
              )),
            ],
        extras.mails.length === 0 ? undefined : [facts.mails, <Mails mails={extras.mails} />],
      ]}
    />
  );
}

/** Returns the time, the reason and the actor of a suspension, revocation or cancellation. */
function stoppedFact({ t, format }: View, stopped: Extras['stopped']) {
  if (stopped === undefined) return undefined;
  const { reason } = stopped.after ?? {};
  const { suspend, revoke, cancel } = t.license.facts.stopped;
  const titles: Partial<Record<string, string>> = { suspend, revoke, cancel };
  return [
    titles[stopped.action] ?? '',
    <>
      {format.localDay(stopped.at)}
      {typeof reason === 'string' ? <div>{reasonInWords(reason, t)}</div> : null}
      <Subtext>{actorInWords(stopped.actor, t)}</Subtext>
    </>,
  ] as const;
}

const MAX_ORDERS = 5;

/** The orders of the licence: the first one and the latest ones. */
function Orders({ orders }: { orders: LicenseOrder[] }) {
  const { to } = useView();
  const shown = orders.length > MAX_ORDERS ? [orders[0], ...orders.slice(1 - MAX_ORDERS)] : orders;
  return (
    <>
      {shown.map((order) =>
        order === undefined ? null : (
          <div>
            <a href={to(`/orders/${order.id}`)}>{order.number}</a> <span class="muted">{order.shop}</span>
          </div>
        ),
      )}
    </>
  );
}

function endFact(license: License): readonly [string, ReturnType<typeof Subtext>] {
  const { t, format, now } = useView();
  const { facts } = t.license;
  const expiresAt = paidUntil(license);
  const next = nextPayment(license, now);
  if (expiresAt !== null && next !== null)
    return [
      facts.paidUntil,
      <>
        <strong>{format.day(expiresAt)}</strong>
        <Subtext>{facts.nextPayment[next]}</Subtext>
      </>,
    ];
  if (expiresAt === null) return [facts.ends, <>{t.common.noEnd}</>];
  return [
    expiresAt <= now ? facts.ended : facts.ends,
    <>
      <strong>{format.day(expiresAt)}</strong>
      <Subtext>{format.distance(expiresAt)}</Subtext>
    </>,
  ];
}

function Slots({ license: { activationsUsed, activationLimit } }: { license: License }) {
  const { t, format } = useView();
  const used = format.number(activationsUsed);
  if (activationLimit === 0) return <>{t.license.facts.slotsOf(used, t.common.unlimited)}</>;
  const share = Math.min(100, Math.round((activationsUsed / activationLimit) * 100));
  return (
    <>
      {t.license.facts.slotsOf(used, format.number(activationLimit))}
      <svg class="meter" aria-hidden="true" focusable="false">
        <rect class="bg" width="100%" height="6" rx="3" />
        <rect
          class={share === 100 && activationLimit > 1 ? 'full' : 'b'}
          width={`${share}%`}
          height="6"
          rx="3"
        />
      </svg>
    </>
  );
}

function Mails({ mails }: { mails: SentMail[] }) {
  const { t, format } = useView();
  const { mailTypes, mailStates } = t.license.facts;
  return (
    <>
      {mails.map(({ type, state, created_at }) => (
        <div>
          {mailTypes[type] ?? type}, {format.localDay(new Date(created_at))}{' '}
          <span class="muted">{mailStates[state] ?? state}</span>
        </div>
      ))}
    </>
  );
}

function Subtext({ children }: { children: string }) {
  return <span class="sub">{children}</span>;
}

function HistoryPanel({ shown, plans }: { shown: LicenseView; plans: Map<number, string> }) {
  const { t, to } = useView();
  const { license, events } = shown;
  const { activationType } = license.plan;
  const texts = t.history;
  return (
    <Panel
      id="history"
      title={texts.title}
      aside={
        <>
          <a href={to(pathOf(license, '/history'))}>{t.license.history.all}</a> ·{' '}
          <a href={to(pathOf(license, '/requests'))}>{t.license.history.requests}</a>
        </>
      }
    >
      {events.length === 0 ? <PanelBody>{texts.none}</PanelBody> : null}
      <ol class="tl">
        {events.map((event) => (
          <EventItem event={event} words={{ activationType, plans }} />
        ))}
      </ol>
    </Panel>
  );
}
