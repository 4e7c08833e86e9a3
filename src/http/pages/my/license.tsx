import { supportMonth } from '../../../licensing/durations';
import type { MyKey, MyLicense } from '../../../selfservice/by-mail';
import { ChangeList } from '../kit/changes';
import { PanelBody } from '../kit/panel';
import { Status } from '../kit/status';
import { Table } from '../kit/table';
import { useView } from '../view';
import { tellStanding } from '../../../texts/customers/sentences';
import { SupportLink, DownloadButton, Meter, RenewLink, UpgradeLink } from './parts';
import { SiteTable } from './site-table';

/**
 * The panel of one licence: its state, keys and newest sites.
 * @param isOnly true if the verdict above the licences is about one, and has the button to renew or enlarge it
 */
export function LicensePanel({ license, isOnly }: { license: MyLicense; isOnly: boolean }) {
  const { t, to, format } = useView();
  const { my } = t;
  const { id, keys, sites, slots, removals, activationType, attention, standing } = license;
  const title = licenseTitle(license);
  const { sentences } = t;
  const isLive = standing.code === 'ACTIVE' || standing.code === 'FULL';
  const hasNoRemoval = isLive && sites.total > 0 && removals.left === 0;
  const [only] = keys.length === 1 ? keys : [];
  const path = `/my/licenses/${id}`;
  return (
    <section class="panel" aria-labelledby={`h-l${id} s-l${id}`}>
      <header>
        <div>
          <h2 id={`h-l${id}`}>{title}</h2>
          <Sub license={license} />
        </div>
        <StatusUntil license={license} />
      </header>
      <PanelBody>
        {standing.code === 'SUSPENDED' || standing.code === 'WITHDRAWN' ? (
          <p>{tellStanding(sentences, standing, activationType).sentence}</p>
        ) : null}
        <p>
          <strong>{sentences.kind(activationType)}:</strong> {sentences.used({ ...slots, activationType })}
        </p>
        <Meter {...slots} />
        {isLive && sites.total > 0 ? (
          <p class="muted small">{sentences.removalsLeft({ ...removals, activationType })}</p>
        ) : null}
        {license.downloads
          .filter(({ security }) => security)
          .map(({ product, version, advice = '' }) => (
            <>
              <p class="small strong">
                {(standing.code === 'EXPIRED' ? my.securityFreeOf : my.securityOf)(product, version)}
              </p>
              <ChangeList changelog={advice} words={my.changes} />
            </>
          ))}
        {license.supported.map(({ product, until }) => (
          <p class="muted small">
            {license.supported.length > 1 ? `${product}: ` : ''}
            {my.supportUntil(supportMonth(until, format))}
          </p>
        ))}
        <div class="acts">
          {license.downloads.map(({ productId, product, version }) => (
            <DownloadButton
              licenseId={id}
              productId={productId}
              version={version}
              isPrimary={license.downloads.length === 1 && attention === null}
            >
              {license.downloads.length > 1 ? my.downloadOf(product, version) : my.downloadVersion(version)}
            </DownloadButton>
          ))}
          {only === undefined ? null : <KeyButtons license={license} of={only} />}
          {!isOnly && (attention === 'ENDED' || attention === 'ENDS_SOON') ? (
            <RenewLink url={license.renewUrl} kind="btn btn-sm" />
          ) : null}
          <UpgradeLink url={isOnly && attention === 'FULL' ? null : license.upgradeUrl} kind="btn btn-sm" />
          {isLive && attention !== 'FULL' && !hasNoRemoval ? null : (
            <SupportLink url={license.supportUrl} kind="btn btn-sm" />
          )}
        </div>
      </PanelBody>
      {keys.length > 1 ? (
        <div>
          <Keys license={license} />
        </div>
      ) : null}
      <SiteTable
        caption={my.sites.caption}
        sites={sites.newest}
        licenseId={id}
        mayRemove={removals.left > 0}
        empty={isLive ? my.sites.none : my.sites.noneNow}
      />
      {sites.total > sites.newest.length ? (
        <footer>
          <a class="btn btn-sm" href={to(`${path}/sites`)}>
            {my.sites.showAll(format.number(sites.total))}
            <span class="visually-hidden"> {title}</span>
          </a>
          <a class="btn btn-sm" href={to(`${path}/sites.csv`)}>
            {t.kit.csv}
            <span class="visually-hidden"> {title}</span>
          </a>
        </footer>
      ) : null}
    </section>
  );
}

export function licenseTitle({ product, plan }: { product: { name: string }; plan: string }): string {
  return `${product.name} · ${plan}`;
}

function Sub({ license: { id, keys, reference } }: { license: MyLicense }) {
  const { t, format } = useView();
  const [main] = keys;
  return (
    <div class="small muted" id={`s-l${id}`}>
      {keys.length === 1 && main?.keyHint ? (
        <>
          {t.my.keyEndsIn} <span class="mono">{main.keyHint}</span>
        </>
      ) : (
        t.my.keyCount(format.number(keys.length))
      )}
      {reference === null ? null : ` · ${reference}`}
    </div>
  );
}

function StatusUntil({ license: { status, expiresAt, nextPayment } }: { license: MyLicense }) {
  const { t, format } = useView();
  const { my } = t;
  if (status === 'active')
    return (
      <Status
        status={status}
        says={
          expiresAt === null
            ? my.activeForLife
            : nextPayment === null
              ? my.activeUntil(format.day(expiresAt))
              : `${my.paidUntil} ${format.day(expiresAt)}, ${my.nextPayment[nextPayment]}`
        }
      />
    );
  if (status === 'expired' && expiresAt !== null)
    return <Status status={status} says={my.endedOn(format.day(expiresAt))} />;
  return <Status status={status} />;
}

function Keys({ license }: { license: MyLicense }) {
  const { t, format } = useView();
  const { keys: texts } = t.my;
  return (
    <Table
      caption={texts.caption}
      rows={license.keys}
      empty=""
      columns={[
        { title: texts.hint, kind: 'mono', cell: ({ keyHint }) => keyHint ?? t.kit.none },
        {
          title: texts.for,
          cell: ({ isMain, label, endsAt }) => (
            <>
              {isMain ? texts.main : (label ?? texts.noLabel)}
              {endsAt === null ? null : <span class="sub">{texts.endsOn(format.day(endsAt))}</span>}
            </>
          ),
        },
        {
          title: texts.slots,
          cell: ({ used, limit }) =>
            limit === null
              ? format.number(used)
              : texts.slotsOf(format.number(used), limit === 0 ? '∞' : format.number(limit)),
        },
        { title: '', kind: 'act', cell: (key) => <KeyButtons license={license} of={key} isRow /> },
      ]}
    />
  );
}

/** The buttons to show or replace a key. Showing it is a POST, which the licence's history records. */
function KeyButtons({
  license,
  of: { id, keyHint, canBeShown, canBeReplaced },
  isRow = false,
}: {
  license: MyLicense;
  of: MyKey;
  isRow?: boolean;
}) {
  const { t, to } = useView();
  const { keys } = t.my;
  const path = `/my/licenses/${license.id}/keys/${id}`;
  const hint = keyHint ?? String(id);
  return (
    <>
      {canBeShown ? (
        <form method="post" action={to(`${path}/show`)}>
          <button class="btn btn-sm" type="submit" {...(isRow ? { 'aria-label': keys.showThe(hint) } : {})}>
            {isRow ? (
              keys.show
            ) : (
              <>
                {keys.showKey}
                <span class="visually-hidden"> {hint}</span>
              </>
            )}
          </button>
        </form>
      ) : null}{' '}
      {canBeReplaced && license.standing.code !== 'WITHDRAWN' ? (
        <a
          class="btn btn-sm"
          href={to(`${path}/new`)}
          {...(isRow ? { 'aria-label': keys.newFor(hint) } : {})}
        >
          {keys.new}
        </a>
      ) : null}
    </>
  );
}
