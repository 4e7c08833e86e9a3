import { previewNotice } from '../../../mail/security-release';
import { releaseNoticeOperations } from '../../../operations/release-notice';
import { findReleaseById, type Release } from '../../../packages/releases';
import { OperationError, type ErrorResponse } from '../../../operations/kit/failures';
import { readId } from '../../../operations/kit/request-params';
import { submitOperation } from '../submit';
import { formRoute } from '../form-route';
import type { FormState } from '../form-state';
import { ButtonLink } from '../kit/fields';
import { FormPage } from '../kit/form-page';
import { redirectWithFlash, type PageResponse, type OperatorCall, type Route } from '../page';

/** Notifies the customers of a security release, after a preview of the mail. */

export const releaseNotifyRoutes: Route<OperatorCall>[] = [
  formRoute('/releases/:id/notify', {
    hasDeadline: false,
    find: requireSecurityRelease,
    show: askNotify,
    work: notify,
    explain: explainNotice,
  }),
];

async function requireSecurityRelease(call: OperatorCall): Promise<Release> {
  const release = await findReleaseById(call.db, readId(call));
  if (release?.state !== 'published' || !release.security) throw new OperationError('NOT_FOUND', '');
  return release;
}

async function notify(call: OperatorCall, sent: URLSearchParams, release: Release): Promise<PageResponse> {
  const { id, productId, version } = release;
  const { mails } = await submitOperation(call, sent, releaseNoticeOperations.sendReleaseNotice, {
    path: { id },
  });
  return redirectWithFlash(
    `/releases?product_id=${productId}`,
    'releaseNotified',
    version,
    call.view.format.number(mails),
  );
}

function explainNotice(
  { view: { t } }: OperatorCall,
  { facts }: ErrorResponse,
  _sent: URLSearchParams,
  { version }: Release,
): string | undefined {
  return facts?.reason === 'is-notified' ? t.releases.notifyPage.already(version) : undefined;
}

async function askNotify(call: OperatorCall, form: FormState, release: Release): Promise<PageResponse> {
  const { view, db, settings, at } = call;
  const { t, format } = view;
  const { notifyPage: texts, title: list } = t.releases;
  const { id, version, productId } = release;
  const { mails, subject, text, notifiedAt } = await previewNotice(db, release, settings.letterhead, at);
  const back = `/releases?product_id=${productId}`;
  const isOff = settings.mailing === undefined;
  return {
    page: (
      <FormPage
        title={texts.title(version)}
        nav="releases"
        crumbs={[[list, back]]}
        path={`/releases/${id}/notify`}
        form={form}
        points={
          notifiedAt === null
            ? [
                texts.count(mails, format.number(mails)),
                texts.whom(version),
                texts.once,
                isOff ? texts.off : texts.pace,
              ]
            : [texts.told(format.moment(notifiedAt), format.number(mails))]
        }
        submit={
          notifiedAt !== null || isOff || mails === 0 ? undefined : texts.submit(mails, format.number(mails))
        }
        busy={texts.busy}
        acts={<ButtonLink path={`/releases/${id}/exposure`} label={t.told.exposure.link} />}
        back={back}
      >
        <h2>{texts.preview}</h2>
        <p class="strong">{subject}</p>
        <pre>
          <code>{text}</code>
        </pre>
      </FormPage>
    ),
  };
}
