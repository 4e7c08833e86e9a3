import { asWritten } from '../../../licensing/core/identifiers';
import { viewLicense, type LicenseView } from '../../../licensing/license-view';
import type { License } from '../../../licensing/licenses';
import { allowedTransitions, liveStatus } from '../../../licensing/core/states';
import { licenseOperations } from '../../../operations/licenses';
import { act, filled } from '../act';
import type { FormState } from '../form-state';
import { FormPage } from '../kit/form-page';
import { done, type Answer, type OperatorCall, type Route } from '../page';
import { useView } from '../view';
import { aboutOf, crumbsOf, pathOf } from './license-call';
import { formRoute, Reason } from './license-form';

/** What ends a licence for good: for abuse, or for a refund. */

type Final = 'revoke' | 'cancel';

export const licenseFinalRoutes: Route<OperatorCall>[] = (['revoke', 'cancel'] as const).map((change) =>
  formRoute(
    `/${change}`,
    (call, license, form) => ask(call, license, form, change),
    (call, sent, license) => end(call, sent, license, change),
  ),
);

async function ask(call: OperatorCall, license: License, form: FormState, change: Final): Promise<Answer> {
  // Where it has ended already there is nothing to ask.
  if (!form.wasSent && !allowedTransitions(liveStatus(license, call.at)).includes(change))
    return done(pathOf(license));
  const shown = await viewLicense(call.db, license.id, { keys: 1, sites: 1, events: 1 });
  return { page: <FinalPage {...{ shown, form, change }} /> };
}

async function end(
  call: OperatorCall,
  sent: URLSearchParams,
  license: License,
  change: Final,
): Promise<Answer> {
  const operation = change === 'revoke' ? licenseOperations.revokeLicense : licenseOperations.cancelLicense;
  await act(call, sent, operation, { path: { id: license.id }, body: filled(sent, 'reason') });
  return done(pathOf(license), change === 'revoke' ? 'licenseRevoked' : 'licenseCancelled');
}

function FinalPage({ shown, form, change }: { shown: LicenseView; form: FormState; change: Final }) {
  const { t, to, format, now } = useView();
  const { license, sites, freeSites } = shown;
  const { id, expiresAt, reference } = license;
  const texts = t.license.final;
  const isRevoke = change === 'revoke';
  const count = license.activationsUsed + freeSites;
  const [first] = sites.items;
  const ends =
    expiresAt === null
      ? texts.forLife
      : (expiresAt > now ? texts.endsOn : texts.endedOn)(format.day(expiresAt));
  const canPause = allowedTransitions(liveStatus(license, now)).includes('suspend');
  const other = isRevoke
    ? ([texts.refund, '/cancel', texts.refundLink, texts.refundHint] as const)
    : ([texts.abuse, '/revoke', texts.abuseLink, texts.abuseHint] as const);
  return (
    <FormPage
      danger
      title={(isRevoke ? texts.revokeTitle : texts.cancelTitle)(String(id))}
      sub={`${aboutOf(license, t)} · ${ends}`}
      nav="licenses"
      crumbs={crumbsOf(license, t)}
      path={pathOf(license, `/${change}`)}
      form={form}
      points={[
        <>
          <strong>{texts.noWayBack}</strong>{' '}
          {canPause ? (
            <>
              {texts.pause}
              <a href={to(pathOf(license, '/suspend'))}>{texts.pauseLink}</a>.
            </>
          ) : null}
        </>,
        texts.refused,
        first === undefined
          ? texts.noSites
          : count === 1
            ? texts.oneSite(asWritten(first.identifier))
            : texts.sites(format.number(count), t.common.sites[license.plan.activationType] ?? ''),
        texts.noMail,
        ...(isRevoke ? [] : [reference === null ? texts.noOrder : texts.order(reference)]),
        <>
          {other[0]}
          <a href={to(pathOf(license, other[1]))}>{other[2]}</a>
          {other[3]}
        </>,
      ]}
      submit={isRevoke ? texts.revoke : texts.cancel}
      busy={isRevoke ? texts.revoking : texts.cancelling}
      back={[texts.keep, pathOf(license)]}
    >
      <Reason form={form} hint={isRevoke ? t.license.reasonRevoke : t.license.reasonCancel} />
    </FormPage>
  );
}
