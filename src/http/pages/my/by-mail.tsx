import { daysUntil } from '../../../selfservice/standing';
import { readByMail, type MyLicense } from '../../../selfservice/by-mail';
import { CustomerPage } from '../kit/customer-page';
import { NoteLine } from '../kit/note';
import { StatusIcon } from '../kit/status';
import { Pagination } from '../kit/table';
import type { PageResponse, CustomerCall } from '../page';
import { useView } from '../view';
import { mailSessionRoute, clientOf } from './customer';
import { Details, mailLanguageOf } from './details';
import { OtherKeyForm } from './entry';
import { LicensePanel } from './license';
import { RenewLink, SignOut, VerdictPanel, UpgradeLink } from './parts';
import { SiteSearchForm } from './sites';

/** The page that a mailed one-time link opens: all licences of an e-mail address. */

export const byMailRoute = mailSessionRoute('/my/mail', { get: (call) => showByMail(call) });

const LIMIT = 25;

/** Shows the licences. @param refused the reason for which the requested download is refused */
export async function showByMail(call: CustomerCall, refused?: string): Promise<PageResponse> {
  const { ctx, db, at, query, session, settings, view } = call;
  const { t, format } = view;
  const { my } = t;
  const { keySecret, downloads } = settings;
  const email = session.by === 'mail' ? session.email : '';
  const after = query.get('after') ?? undefined;
  const part = { from: offsetOf(after), limit: LIMIT };
  const { limitKey: network } = clientOf(ctx);
  const context = { now: at, packagesDir: downloads.packagesDir, network, keySecret };
  const { licenses, total, next, more } = await readByMail(db, email, part, context);
  const counts = my.summary(
    my.licenseCount(total.licenses, format.number(total.licenses)),
    my.siteCount(total.sites, format.number(total.sites)),
  );
  const chosen = licenses.find(({ id }) => String(id) === query.get('license'));
  const shown = chosen === undefined ? licenses : [chosen];
  const attention = chosen === undefined ? total.attention : chosen.attention === null ? 0 : 1;
  const help = licenses.find(({ supportUrl }) => supportUrl !== null)?.supportUrl;
  return {
    page: (
      <CustomerPage
        title={my.licenses}
        action={<SignOut />}
        help={help}
        stack
        sub={
          <span class="muted">
            {email} · {counts}
          </span>
        }
      >
        {refused === undefined ? null : (
          <NoteLine kind="bad" role="alert">
            {refused}
          </NoteLine>
        )}
        <LicenseNav licenses={licenses} chosen={chosen} after={after} />
        <ActionItems licenses={shown.filter((one) => one.attention !== null)} total={attention} />
        {total.sites === 0 || chosen !== undefined ? null : <SiteSearchForm />}
        {total.licenses === 0 ? <p>{my.noLicenses}</p> : null}
        {shown.map((license) => (
          <LicensePanel license={license} isOnly={attention === 1} />
        ))}
        <Pagination
          path="/my/mail"
          query={{ after }}
          next={next === null ? null : String(next)}
          limit={LIMIT}
        />
        {more && next === null ? <p>{my.moreLicenses}</p> : null}
        <Details email={email} language={await mailLanguageOf({ db, email, view })} help={help} />
        <p class="small muted">{my.closes}</p>
        <OtherKeyForm />
      </CustomerPage>
    ),
  };
}

/** The links to one licence each. The one to all of them is the first. */
function LicenseNav({
  licenses,
  chosen,
  after,
}: {
  licenses: MyLicense[];
  chosen: MyLicense | undefined;
  after: string | undefined;
}) {
  const { t, to } = useView();
  if (licenses.length < 2) return null;
  const current = (one: MyLicense | undefined) => (one === chosen ? { 'aria-current': 'page' as const } : {});
  return (
    <nav class="licnav" aria-label={t.my.licenses}>
      <a class="btn" href={to('/my/mail', { after })} {...current(undefined)}>
        {t.my.all}
      </a>
      {licenses.map((one) => (
        <a class="btn" href={to('/my/mail', { after, license: one.id })} {...current(one)}>
          <StatusIcon status={one.status} />
          <span>
            {one.product.name} <span class="sub">{nameIn(licenses, one)}</span>
          </span>
        </a>
      ))}
    </nav>
  );
}

/** Returns the plan of a licence, with the end of its key if another licence has the same. */
function nameIn(licenses: MyLicense[], { id, product, plan, keys: [main] }: MyLicense): string {
  const isSame = licenses.some((one) => one.id !== id && one.product.id === product.id && one.plan === plan);
  return isSame && main?.keyHint ? `${plan} · ${main.keyHint}` : plan;
}

/** Returns the offset of a page of the list (pagination); 0 if it is not a number. */
function offsetOf(after: string | undefined): number {
  return after !== undefined && /^\d{1,4}$/.test(after) ? Number(after) : 0;
}

/**
 * The action items at the top: licences that end soon, have ended or are full.
 * @param total their number on all pages
 */
function ActionItems({ licenses, total }: { licenses: MyLicense[]; total: number }) {
  const { t, format } = useView();
  const [first] = licenses;
  if (first === undefined) return null;
  const isUrgent = licenses.some(({ attention }) => attention !== 'FULL');
  const icon = isUrgent ? 'clock' : 'info';
  if (total === 1)
    return (
      <VerdictPanel kind="warn" icon={icon} title={<Sentence license={first} />}>
        <p class="acts">
          <Renewal license={first} kind="btn btn-primary" />
        </p>
      </VerdictPanel>
    );
  return (
    <VerdictPanel kind="warn" icon={icon} title={t.my.attention(format.number(total))}>
      <ul>
        {licenses.map((license) => (
          <li>
            <a href={`#h-l${license.id}`}>
              <Sentence license={license} />
            </a>{' '}
            <Renewal license={license} kind="nowrap" />
          </li>
        ))}
      </ul>
    </VerdictPanel>
  );
}

function Sentence({ license }: { license: MyLicense }) {
  const { t, now } = useView();
  const { attention, product, expiresAt, slots, activationType } = license;
  if (attention === null) return null;
  const facts = {
    product: product.name,
    endsAt: expiresAt,
    days: daysUntil(expiresAt ?? now, now),
    limit: slots.limit,
    activationType,
  };
  return <>{t.sentences.attention[attention](facts)}</>;
}

function Renewal({
  license: { attention, renewUrl, upgradeUrl },
  kind,
}: {
  license: MyLicense;
  /** classes of the link */
  kind: string;
}) {
  return attention === 'FULL' ? (
    <UpgradeLink url={upgradeUrl} kind={kind} />
  ) : (
    <RenewLink url={renewUrl} kind={kind} />
  );
}
