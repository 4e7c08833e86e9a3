import type { Child } from 'hono/jsx';
import { updateSiteNames } from '../../../licensing/bundles';
import { readByKey, type KeyView } from '../../../selfservice/by-key';
import { tellStanding } from '../../../texts/customers/sentences';
import { daysUntil, endsSoon, isFine } from '../../../selfservice/standing';
import type { Entitlement } from '../../../texts/customers/standing';
import { CustomerPage } from '../kit/customer-page';
import { Submit } from '../kit/fields';
import type { IconName } from '../kit/icons';
import { NoteLine } from '../kit/note';
import { Panel, PanelBody } from '../kit/panel';
import type { PageResponse, CustomerCall } from '../page';
import { useView } from '../view';
import { clientOf } from './customer';
import { OtherKeyForm } from './entry';
import { SupportLink, RenewLink, SignOut, VerdictPanel, UpgradeLink, type VerdictKind } from './parts';
import { Versions } from './versions';

/**
 * The page of a key, with the licence's current entitlement. It shows no sites, e-mail, orders or requests, because
 * agencies pass keys on.
 */

export type KeyCall = CustomerCall & { session: Extract<CustomerCall['session'], { by: 'key' }> };

/** Shows a licence by its key. @param refused the reason for which the requested download is refused */
export async function showByKey(call: CustomerCall, refused?: string): Promise<PageResponse> {
  const { ctx, db, at, session, query, settings } = call as KeyCall;
  const { licenseId, keyDigest } = session;
  const { packagesDir } = settings.downloads;
  const allOf = Number(query.get('all') ?? 0);
  const { limitKey: network } = clientOf(ctx);
  const view = await readByKey(db, { licenseId, keyDigest, now: at, packagesDir, network, allOf });
  if (view === undefined) return { to: '/my?why=ended' };
  const hasMail = settings.queueMail !== undefined;
  const { t } = call.view;
  const { my, sentences } = t;
  if ('endedAt' in view)
    return {
      page: (
        <CustomerPage title={my.title} action={<SignOut />} stack>
          <VerdictPanel kind="warn" icon="clock" title={sentences.keyEnded({ endedAt: view.endedAt })} />
          {hasMail ? <AskForLink /> : null}
          <OtherKeyForm />
        </CustomerPage>
      ),
    };
  const { product, plan, keyHint, keyEndsAt, standing, activationType, products, supportUrl } = view;
  const { sentence, meaning } = tellStanding(sentences, standing, activationType);
  const [kind, icon] = isFine(standing) ? LOOKS.ACTIVE : LOOKS[standing.code];
  const note =
    standing.code === 'EXPIRED' && standing.stillDownloads && standing.endedAt !== null
      ? sentences.coversUntil({ endedAt: standing.endedAt })
      : undefined;
  return {
    page: (
      <CustomerPage
        title={my.title}
        action={<SignOut />}
        help={supportUrl}
        heading={product.name}
        stack
        sub={
          <span class="muted">
            {plan}
            {keyHint === null ? null : (
              <>
                {' '}
                · {my.keyEndsIn} <span class="mono">{keyHint}</span>
              </>
            )}
          </span>
        }
      >
        {refused === undefined ? null : (
          <NoteLine kind="bad" role="alert">
            {refused}
          </NoteLine>
        )}
        <VerdictPanel kind={kind} icon={icon} title={sentence}>
          {meaning === null ? null : <p>{meaning}</p>}
          {keyEndsAt === null ? null : <p>{sentences.keyEnds({ endsAt: keyEndsAt })}</p>}
          <VerdictActions view={view} />
        </VerdictPanel>
        <Figures view={view} />
        {products.length === 0 ? (
          <Panel id="versions" title={my.versions}>
            <div class="in empty">{my.noVersions}</div>
          </Panel>
        ) : (
          products.map((one) => (
            <Versions
              product={one}
              title={view.covers.length > 1 ? my.versionsOf(one.name) : my.versions}
              note={note}
              isEnded={standing.code === 'EXPIRED'}
              isWhole={allOf === one.id}
            />
          ))
        )}
        {hasMail ? <AskForLink /> : null}
        {standing.code === 'WITHDRAWN' ? null : <WhereItGoes entries={view.entries} />}
        <OtherKeyForm />
      </CustomerPage>
    ),
  };
}

const LOOKS: Record<Entitlement['code'], [kind: VerdictKind, icon: IconName]> = {
  ACTIVE: ['ok', 'yes'],
  FULL: ['warn', 'info'],
  EXPIRED: ['warn', 'clock'],
  SUSPENDED: ['off', 'pause'],
  WITHDRAWN: ['bad', 'slash'],
};

/** The links to renew, upgrade or contact the seller. Only the seller can explain a suspended or withdrawn licence. */
function VerdictActions({
  view: { standing, renewUrl, supportUrl, upgradeUrl, expiresAt, nextPayment },
}: {
  view: KeyView;
}) {
  const mayRenew =
    standing.code === 'EXPIRED' ||
    ((standing.code === 'ACTIVE' || standing.code === 'FULL') && expiresAt !== null && nextPayment === null);
  const needsHelp = !isFine(standing);
  if (!(mayRenew && renewUrl !== null) && !(needsHelp && supportUrl !== null) && upgradeUrl === null)
    return null;
  return (
    <p class="acts">
      {mayRenew ? (
        <RenewLink url={renewUrl} kind={standing.code === 'EXPIRED' ? 'btn btn-primary' : 'btn'} />
      ) : null}
      <UpgradeLink
        url={upgradeUrl}
        kind={standing.code === 'FULL' && needsHelp ? 'btn btn-primary' : 'btn'}
      />
      {needsHelp ? <SupportLink url={supportUrl} kind="btn" /> : null}
    </p>
  );
}

function Figures({ view }: { view: KeyView }) {
  const { t, format, now } = useView();
  const { my } = t;
  const { status, standing, expiresAt, nextPayment, slots, activationType, covers } = view;
  const { sentences } = t;
  const end = (
    expiresAt === null
      ? [my.valid, my.forLife]
      : [
          status === 'expired' ? my.ended : nextPayment === null ? my.until : my.paidUntil,
          <>
            {format.day(expiresAt)}
            {nextPayment === null ? null : <span class="muted small"> {my.nextPayment[nextPayment]}</span>}
            {endsSoon(standing, now) ? (
              <span class="muted small"> {sentences.endsIn({ days: daysUntil(expiresAt, now) })}</span>
            ) : null}
          </>,
        ]
  ) as [string, Child];
  const figures: (readonly [string, Child])[] = [
    // Omit the end of a withdrawn licence, which would otherwise look valid.
    ...(standing.code === 'WITHDRAWN' ? [] : [end]),
    [sentences.kind(activationType), sentences.used({ ...slots, activationType })],
    ...(covers.length > 1 ? [[my.covers, covers.map(({ name }) => name).join(', ')] as const] : []),
  ];
  return (
    <section class="panel" aria-label={my.figures}>
      <PanelBody>
        <dl class="facts facts-row">
          {figures.map(([term, value]) => (
            <div>
              <dt>{term}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      </PanelBody>
    </section>
  );
}

function AskForLink() {
  const { t, to } = useView();
  const { link } = t.my;
  return (
    <Panel id="link" title={link.titleByKey} inside>
      <p class="small">{link.hintByKey}</p>
      <form method="post" action={to('/my/link')}>
        <Submit kind="quiet" busy={link.busy} label={link.send} />
      </form>
    </Panel>
  );
}

function WhereItGoes({ entries }: { entries: { name: string }[] }) {
  const { joomla } = useView().t.my;
  const names = updateSiteNames(entries);
  return (
    <Panel id="joomla" title={joomla.title}>
      <div class="in small">
        <ol>
          <li>
            {joomla.open} <strong>{joomla.updateSites}</strong>.
          </li>
          <li>{entries.length > 1 ? joomla.pasteEach(names) : joomla.paste(names)}</li>
          <li>
            {joomla.save} <strong>{joomla.extensions}</strong>.
          </li>
        </ol>
      </div>
    </Panel>
  );
}
