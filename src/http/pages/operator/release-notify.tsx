import { plansKeepingBack } from '../../../licensing/bundles';
import { previewNotice, type NoticeAudience } from '../../../mail/security-release';
import { releaseNoticeOperations } from '../../../operations/release-notice';
import { findReleaseById, type Release } from '../../../packages/releases';
import { OperationError, type ErrorResponse } from '../../../operations/kit/failures';
import { readId } from '../../../operations/kit/request-params';
import { submitOperation } from '../submit';
import { formRoute } from '../form-route';
import type { FormState } from '../form-state';
import { ButtonLink } from '../kit/fields';
import { FormPage } from '../kit/form-page';
import { allowMailStyles, MailPreview } from '../kit/mail-frame';
import { NoteLine } from '../kit/note';
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
    body: { audience: audienceOf(sent.get('audience')) },
  });
  return redirectWithFlash(
    `/releases?product_id=${productId}`,
    'releaseNotified',
    version,
    call.view.format.number(mails),
  );
}

const audienceOf = (given?: string | null): NoticeAudience => (given === 'everybody' ? given : 'entitled');

function explainNotice(
  { view: { t } }: OperatorCall,
  { facts }: ErrorResponse,
  _sent: URLSearchParams,
  { version }: Release,
): string | undefined {
  return facts?.reason === 'is-notified' ? t.releases.notifyPage.already(version) : undefined;
}

async function askNotify(call: OperatorCall, form: FormState, release: Release): Promise<PageResponse> {
  const { view, db, at } = call;
  const { letterhead, mailing } = call.settings;
  const { t, format } = view;
  const { notifyPage: texts, title: list } = t.releases;
  const { id, version, productId } = release;
  const audience = audienceOf(form.value('audience') ?? call.query.get('audience'));
  const isForAll = audience === 'everybody';
  const preview = await previewNotice(db, release, audience, letterhead, at);
  const { mails, notifiedAt } = preview;
  allowMailStyles(call.ctx, preview.html);
  const back = `/releases?product_id=${productId}`;
  const isOff = mailing === undefined;
  const plans = isForAll ? await plansKeepingBack(db, productId) : [];
  return {
    page: (
      <FormPage
        title={texts.title(version)}
        nav="releases"
        crumbs={[[list, back]]}
        path={`/releases/${id}/notify`}
        form={form}
        above={
          plans.length === 0 ? null : (
            <NoteLine kind="warn">
              {texts.law}{' '}
              {plans.map(({ id: plan, name }) => (
                <ButtonLink path={`/plans/${plan}`} label={texts.giveFree(`${name} (${plan})`)} />
              ))}
            </NoteLine>
          )
        }
        points={
          notifiedAt === null
            ? [
                texts.count(mails, format.number(mails)),
                (isForAll ? texts.whomAll : texts.whom)(version),
                isForAll ? texts.onceAll : texts.once,
                isOff ? texts.off : texts.pace,
              ]
            : isForAll
              ? [texts.toldAll(format.moment(notifiedAt))]
              : [texts.told(format.moment(notifiedAt), format.number(mails))]
        }
        submit={
          notifiedAt !== null || isOff || mails === 0 ? undefined : texts.submit(mails, format.number(mails))
        }
        busy={texts.busy}
        acts={
          <>
            {isForAll ? null : (
              <ButtonLink
                path={`/releases/${id}/notify`}
                query={{ audience: 'everybody' }}
                label={texts.everybody}
              />
            )}
            <ButtonLink path={`/releases/${id}/exposure`} label={t.told.exposure.link} />
          </>
        }
        back={back}
        below={<MailPreview mail={preview} title={isForAll ? texts.previewAll : texts.preview} />}
      >
        <input type="hidden" name="audience" value={audience} />
      </FormPage>
    ),
  };
}
