import { listMailPage, mailJson, sendKey } from '../mail/queue';
import { list, post } from './kit/operation';
import { pageOf, requireLicense } from './kit/reading';
import { exactly, Paging } from './kit/schemas';
import { Mail } from './kit/things';

export const mailOperations = {
  listLicenseMails: list(
    '/licenses/{id}/mails',
    {
      summary: 'List the mails about a licence',
      description: 'The newest first.',
      query: exactly(Paging),
      data: Mail,
    },
    async (call) => {
      const { id } = await requireLicense(call);
      const { items, next } = await listMailPage(call.db, id, pageOf(call.query));
      return { data: items.map(mailJson), next };
    },
  ),
  sendLicenseMail: post(
    '/licenses/{id}/mails',
    {
      goesOn: true,
      summary: 'Mail the key to the customer, again too',
      description:
        '409 when mail is not set up, there is no customer, the licence is revoked or cancelled, or the key cannot be revealed. The mail is queued, and tried for two days.',
      body: exactly({}),
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
