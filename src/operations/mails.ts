import { Type } from '@sinclair/typebox';
import { dismissMail, sendMailAgain } from '../mail/failed-mails';
import { listAllMails, listMailPage, mailJson, reportJson, sendKey } from '../mail/queue';
import { get, list, post } from './kit/operation';
import { pageOf, readId, requireLicense } from './kit/request-params';
import { strictObject, Id, enumOf, nullable, Paging, TextOrNull } from './kit/schemas';
import { Mail } from './kit/response-schemas';

const MOST = 500;

const MailReport = strictObject(
  {
    ...Mail.properties,
    license_id: nullable(Id),
    order_id: nullable(Id),
    recipient: TextOrNull,
    attempts: Type.Integer({ minimum: 0 }),
    error: nullable(
      Type.String({
        description: 'The reason why the latest attempt failed, such as `ADDRESS_REFUSED 550`.',
      }),
    ),
  },
  { title: 'MailReport' },
);

export const mailOperations = {
  listLicenseMails: list(
    '/licenses/{id}/mails',
    {
      summary: 'List the mails about a licence',
      description: 'Newest first.',
      query: strictObject(Paging),
      data: Mail,
    },
    async (call) => {
      const { id } = await requireLicense(call);
      const { items, next } = await listMailPage(call.db, id, pageOf(call.query));
      return { data: items.map(mailJson), next };
    },
  ),
  listMails: get(
    '/mails',
    {
      summary: 'List the latest mails of all licences',
      description: 'Newest first.',
      query: strictObject({
        state: Type.Optional(
          enumOf(['failed'], {
            description:
              'Only mails that failed and will be tried again, and mails that were given up and neither sent again nor dismissed.',
          }),
        ),
        limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MOST, default: 100 })),
      }),
      data: Type.Array(MailReport),
    },
    async ({ db, query: { state, limit = 100 } }) => ({
      data: (await listAllMails(db, { failed: state === 'failed', limit })).map(reportJson),
    }),
  ),
  sendMailAgain: post(
    '/mails/{id}/again',
    {
      needsNoRecentSignIn: true,
      summary: 'Resend a mail that was given up',
      description:
        'It goes to the present address of its order or licence. 409 if it was not given up, mail is not set up, there is no address, or it is a link or an answer.',
      body: strictObject({}),
      data: Mail,
      status: 201,
    },
    async (call) => {
      const { db, now, settings } = call;
      const { mailing } = settings;
      return { data: mailJson(await sendMailAgain(db, readId(call, 'id', 'mail'), { mailing, now })) };
    },
  ),
  dismissMail: post(
    '/mails/{id}/dismiss',
    {
      needsNoRecentSignIn: true,
      summary: 'Remove a mail that was given up from the lists of things that need your attention',
      body: strictObject({}),
      data: MailReport,
    },
    async (call) => ({
      data: reportJson(await dismissMail(call.db, readId(call, 'id', 'mail'), call.now)),
    }),
  ),
  sendLicenseMail: post(
    '/licenses/{id}/mails',
    {
      needsNoRecentSignIn: true,
      summary: 'Mail the key to the customer, even if it was mailed before',
      description:
        'The mail is queued, and tried for two days. 409 if mail is not set up, there is no customer, the licence is revoked or cancelled, or the key cannot be revealed.',
      body: strictObject({}),
      data: Mail,
      status: 201,
    },
    async (call) => {
      const license = await requireLicense(call);
      const { keySecret: secret, mailing } = call.settings;
      return { data: mailJson(await sendKey(call.db, license, { mailing, secret, now: call.now })) };
    },
  ),
};
