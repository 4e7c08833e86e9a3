import { inBothForms } from '../../../licensing/core/identifiers';
import { allowedTransitions, liveStatus, paidUntil } from '../../../licensing/core/states';
import { viewLicense } from '../../../licensing/license-view';
import type { License } from '../../../licensing/licenses';
import { licenseOperations } from '../../../operations/licenses';
import { submitOperation, nonEmptyFields } from '../submit';
import { formRoute } from '../form-route';
import type { FormState } from '../form-state';
import { FormPage } from '../kit/form-page';
import { redirectWithFlash, type PageResponse, type OperatorCall, type Route } from '../page';
import { licenseSubtitle, licenseFormProps, licenseOf, pathOf, ReasonTextField } from './license-call';

/** Actions that end a licence permanently: for abuse, or after a refund. */

type Final = 'revoke' | 'cancel';

export const licenseFinalRoutes: Route<OperatorCall>[] = (['revoke', 'cancel'] as const).map((change) =>
  formRoute(`/licenses/:id/${change}`, {
    find: licenseOf,
    show: (call, form, license) => ask(call, form, license, change),
    async work(call, sent, license) {
      const operation =
        change === 'revoke' ? licenseOperations.revokeLicense : licenseOperations.cancelLicense;
      await submitOperation(call, sent, operation, {
        path: { id: license.id },
        body: nonEmptyFields(sent, 'reason'),
      });
      return redirectWithFlash(pathOf(license), change === 'revoke' ? 'licenseRevoked' : 'licenseCancelled');
    },
  }),
);

async function ask(
  call: OperatorCall,
  form: FormState,
  found: License,
  change: Final,
): Promise<PageResponse> {
  // Do not ask about a licence that has already ended.
  if (!form.wasSent && !allowedTransitions(liveStatus(found, call.at)).includes(change))
    return redirectWithFlash(pathOf(found));
  const { t, to, format, now } = call.view;
  const { license, sites, freeSites } = await viewLicense(call.db, found.id, {
    keys: 1,
    sites: 1,
    events: 1,
  });
  const { id, expiresAt, reference, activationsUsed, plan } = license;
  const texts = t.license.final;
  const isRevoke = change === 'revoke';
  const count = activationsUsed + freeSites;
  const [first] = sites.items;
  const paid = paidUntil(license);
  const ends =
    expiresAt === null || paid === null
      ? texts.forLife
      : (expiresAt > now ? texts.endsOn : texts.endedOn)(format.day(paid));
  const canPause = allowedTransitions(liveStatus(license, now)).includes('suspend');
  const [before, other, link, after] = isRevoke
    ? [texts.refund, '/cancel', texts.refundLink, texts.refundHint]
    : [texts.abuse, '/revoke', texts.abuseLink, texts.abuseHint];
  return {
    page: (
      <FormPage
        {...licenseFormProps(call.view, license, `/${change}`)}
        danger
        title={(isRevoke ? texts.revokeTitle : texts.cancelTitle)(String(id))}
        sub={`${licenseSubtitle(license, t)} · ${ends}`}
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
              ? texts.oneSite(inBothForms(first.identifier, plan.activationType))
              : texts.sites(format.number(count), t.common.sites(plan.activationType)),
          texts.noMail,
          ...(isRevoke ? [] : [reference === null ? texts.noOrder : texts.order(reference)]),
          <>
            {before}
            <a href={to(pathOf(license, other))}>{link}</a>
            {after}
          </>,
        ]}
        submit={isRevoke ? texts.revoke : texts.cancel}
        busy={isRevoke ? texts.revoking : texts.cancelling}
        back={[texts.keep, pathOf(license)]}
      >
        <ReasonTextField hint={isRevoke ? t.license.reasonRevoke : t.license.reasonCancel} />
      </FormPage>
    ),
  };
}
