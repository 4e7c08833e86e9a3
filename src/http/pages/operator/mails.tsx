import { capitalized } from '../../../texts/case';
import { describeStored } from '../../../texts/operators/failures';
import { listAllMails, reportJson, type Mail } from '../../../mail/queue';
import { mailOperations } from '../../../operations/mails';
import { readId } from '../../../operations/kit/request-params';
import { act } from '../act';
import { csvNameOf, csvOf } from '../csv';
import { FailedMailActs } from './failed-mails';
import { ButtonLink } from '../kit/fields';
import { Icon, type IconName } from '../kit/icons';
import { ListPage } from '../kit/list-page';
import { Panel } from '../kit/panel';
import { done, type PageResponse, type OperatorCall, type Route } from '../page';

/** The latest mails, and those that were given up. A licence's own stand on its page. */

export const mailRoutes: Route<OperatorCall>[] = [
  { path: '/mails', get: showMails },
  { path: '/mails.csv', get: downloadMails, hasDeadline: false },
  { path: '/mails/:id/again', post: sendAgain },
  { path: '/mails/:id/dismiss', post: dismiss },
];

const LIMIT = 100;
const CSV_LIMIT = 10_000;

/** The shape of a state, and whose status has its colour. */
const MARKS: Record<Mail['state'], { icon: IconName; status: string }> = {
  sent: { icon: 'yes', status: 'active' },
  queued: { icon: 'clock', status: 'expired' },
  failed: { icon: 'no', status: 'revoked' },
};

function State({ state, word = state }: { state: Mail['state']; word?: string | undefined }) {
  const { icon, status } = MARKS[state];
  return (
    <span class={`st st-${status}`}>
      <Icon name={icon} />
      {word}
    </span>
  );
}

async function showMails({ db, query, settings, view }: OperatorCall): Promise<PageResponse> {
  const { t, to, format } = view;
  const { mails: texts, title } = t.system;
  const { mailTypes, mailStates } = t.license.facts;
  const { columns } = texts;
  const failed = query.get('state') === 'failed';
  const mails = await listAllMails(db, { failed, limit: LIMIT });
  return {
    page: (
      <ListPage
        title={texts.title}
        nav="system"
        crumbs={[[title, '/system']]}
        actions={
          <ButtonLink
            path="/mails.csv"
            query={{ state: failed ? 'failed' : undefined }}
            label={t.common.csv}
          />
        }
        above={
          <>
            {settings.mailing === undefined ? <p class="alert alert-warning">{texts.off}</p> : null}
            <ul class="quick" aria-label={texts.quick}>
              {[false, true].map((one) => (
                <li>
                  <a
                    href={to('/mails', one ? { state: 'failed' } : {})}
                    {...(one === failed ? { 'aria-current': 'true' } : {})}
                  >
                    {one ? texts.failed : texts.all}
                  </a>
                </li>
              ))}
            </ul>
          </>
        }
        caption={texts.caption(format.number(mails.length))}
        rows={mails}
        empty={<p class="mb-0">{failed ? texts.noneFailed : texts.none}</p>}
        columns={[
          {
            title: columns.state,
            cell: ({ mail, isNobodys }) =>
              isNobodys ? (
                t.failures.mail.NOBODYS
              ) : (
                <State state={mail.state} word={mailStates[mail.state]} />
              ),
          },
          { title: columns.type, kind: 'name', cell: ({ mail }) => mailTypes[mail.type] ?? mail.type },
          {
            title: columns.recipient,
            kind: 'long',
            cell: ({ recipient }) => recipient ?? t.common.none,
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
          {
            title: columns.sent,
            kind: 'time',
            cell: ({ mail }) => (mail.sentAt === null ? t.common.none : format.moment(mail.sentAt)),
          },
          { title: columns.attempts, kind: 'number', cell: ({ attempts }) => format.number(attempts) },
          {
            title: columns.error,
            kind: 'long',
            cell: ({ error }) =>
              error === null ? t.common.none : `${capitalized(describeStored(t.failures.mail, error))}.`,
          },
          failed && {
            title: '',
            kind: 'act',
            cell: (one) => <FailedMailActs report={one} back="/mails?state=failed" />,
          },
        ]}
        below={
          <Panel id="more" kind="mt-3" inside>
            <p class="mb-0">{texts.help}</p>
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

/** The page whose button it was. */
function backOf(sent: URLSearchParams): string {
  const back = sent.get('back') ?? '';
  return /^\/(?:licenses|orders|customers)\/\w+$/.test(back) ? back : '/mails?state=failed';
}

async function sendAgain(call: OperatorCall, sent: URLSearchParams): Promise<PageResponse> {
  const path = { id: String(readId(call, 'id', 'mail')) };
  await act(call, sent, mailOperations.sendMailAgain, { path });
  return done(backOf(sent), 'mailAgain');
}

async function dismiss(call: OperatorCall, sent: URLSearchParams): Promise<PageResponse> {
  const path = { id: String(readId(call, 'id', 'mail')) };
  await act(call, sent, mailOperations.dismissMail, { path });
  return done(backOf(sent), 'mailDismissed');
}
