import { capitalized } from '../../../texts/case';
import { describeStored } from '../../../texts/operators/failures';
import { listAllMails, reportJson, type Mail } from '../../../mail/queue';
import { mailOperations } from '../../../operations/mails';
import { readId } from '../../../operations/kit/request-params';
import { submitOperation } from '../submit';
import { csvNameOf, csvOf } from '../csv';
import { FailedMailActs } from './failed-mails';
import { ButtonLink } from '../kit/fields';
import { SavedViews } from '../kit/filters';
import type { IconName } from '../kit/icons';
import { ListPage } from '../kit/list-page';
import { NoteLine } from '../kit/note';
import { Panel } from '../kit/panel';
import { Tag, type TagKind } from '../kit/status';
import { redirectWithFlash, type PageResponse, type OperatorCall, type Route } from '../page';

/** The lists of the latest mails and of the failed ones. A licence's page shows its own mails. */

export const mailRoutes: Route<OperatorCall>[] = [
  { path: '/mails', get: showMails },
  { path: '/mails.csv', get: downloadMails, hasDeadline: false },
  { path: '/mails/:id/again', post: sendAgain },
  { path: '/mails/:id/dismiss', post: dismiss },
];

const LIMIT = 100;
const CSV_LIMIT = 10_000;

const LOOKS: Record<Mail['state'], [TagKind, IconName]> = {
  sent: ['ok', 'yes'],
  queued: ['off', 'clock'],
  failed: ['bad', 'no'],
};

function State({ state, word = state }: { state: Mail['state']; word?: string | undefined }) {
  const [kind, icon] = LOOKS[state];
  return (
    <Tag kind={kind} icon={icon}>
      {word}
    </Tag>
  );
}

async function showMails({ db, query, settings, view }: OperatorCall): Promise<PageResponse> {
  const { t, to, format } = view;
  const { mails: texts } = t.system;
  const { mailTypes, mailStates } = t.license.facts;
  const { columns } = texts;
  const failed = query.get('state') === 'failed';
  const mails = await listAllMails(db, { failed, limit: LIMIT });
  return {
    page: (
      <ListPage
        title={texts.title}
        nav="mails"
        actions={
          <ButtonLink
            path="/mails.csv"
            query={{ state: failed ? 'failed' : undefined }}
            label={t.common.csv}
          />
        }
        above={
          <>
            {settings.mailing === undefined ? <NoteLine>{texts.off}</NoteLine> : null}
            <SavedViews
              label={texts.quick}
              views={[false, true].map((one) => ({
                title: one ? texts.failed : texts.all,
                path: '/mails',
                query: one ? { state: 'failed' } : {},
                isCurrent: one === failed,
              }))}
            />
          </>
        }
        caption={texts.caption(format.number(mails.length))}
        rows={mails}
        empty={<p>{failed ? texts.noneFailed : texts.none}</p>}
        columns={[
          {
            title: columns.type,
            kind: 'name',
            cell: ({ mail, recipient }) => (
              <>
                {mailTypes[mail.type] ?? mail.type}
                <span class="sub">{recipient ?? t.common.none}</span>
              </>
            ),
          },
          {
            title: columns.state,
            phone: 'beside',
            cell: ({ mail, isNobodys, error }) => (
              <>
                {isNobodys ? (
                  t.failures.mail.NOBODYS
                ) : (
                  <State state={mail.state} word={mailStates[mail.state]} />
                )}
                {error === null ? null : (
                  <span class="sub">{`${capitalized(describeStored(t.failures.mail, error))}.`}</span>
                )}
              </>
            ),
          },
          {
            title: columns.license,
            cell: ({ licenseId, orderId }) =>
              orderId !== null ? (
                <a href={to(`/orders/${orderId}`)}>{texts.order(String(orderId))}</a>
              ) : licenseId === null ? (
                t.common.none
              ) : (
                <a href={to(`/licenses/${licenseId}`)}>{texts.license(String(licenseId))}</a>
              ),
          },
          { title: columns.queued, kind: 'time', cell: ({ mail }) => format.moment(mail.createdAt) },
          !failed && {
            title: columns.sent,
            kind: 'time',
            cell: ({ mail }) => (mail.sentAt === null ? t.common.none : format.moment(mail.sentAt)),
          },
          {
            title: columns.attempts,
            kind: 'number',
            phone: 'wide',
            cell: ({ attempts }) => format.number(attempts),
          },
          failed && {
            title: '',
            kind: 'act',
            cell: (one) => <FailedMailActs report={one} back="/mails?state=failed" />,
          },
        ]}
        below={
          <Panel id="more" inside>
            <p>{texts.help}</p>
          </Panel>
        }
      />
    ),
  };
}

async function downloadMails({ db, query, view }: OperatorCall): Promise<PageResponse> {
  const failed = query.get('state') === 'failed';
  const rows = csvOf(await listAllMails(db, { failed, limit: CSV_LIMIT }), reportJson);
  return { csv: csvNameOf(view.t.system.mails.title), rows };
}

/** Returns the page that contained the button. Accepts only known paths, to prevent an open redirect. */
function backOf(sent: URLSearchParams): string {
  const back = sent.get('back') ?? '';
  return /^\/(?:licenses|orders|customers)\/\w+$/.test(back) ? back : '/mails?state=failed';
}

async function sendAgain(call: OperatorCall, sent: URLSearchParams): Promise<PageResponse> {
  const path = { id: String(readId(call, 'id', 'mail')) };
  await submitOperation(call, sent, mailOperations.sendMailAgain, { path });
  return redirectWithFlash(backOf(sent), 'mailAgain');
}

async function dismiss(call: OperatorCall, sent: URLSearchParams): Promise<PageResponse> {
  const path = { id: String(readId(call, 'id', 'mail')) };
  await submitOperation(call, sent, mailOperations.dismissMail, { path });
  return redirectWithFlash(backOf(sent), 'mailDismissed');
}
