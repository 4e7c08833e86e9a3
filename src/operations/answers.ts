import { Type } from '@sinclair/typebox';
import { myPageUrl } from '../licensing/api';
import { readPerson } from '../mail/customer-profile';
import { findEmail } from '../licensing/customer-email';
import { findLicense } from '../licensing/licenses';
import { enqueueReply } from '../mail/answers';
import { mailJson } from '../mail/queue';
import { readyAnswer } from '../support/ready-answer';
import { CUSTOMER_LANGUAGES } from '../texts/customers/languages';
import { invalid } from './kit/failures';
import { get, post } from './kit/operation';
import { requireLicense } from './kit/request-params';
import { strictObject, IdGiven, enumOf, Text, TextOrNull, textEnum } from './kit/schemas';
import { Mail } from './kit/response-schemas';

/** The number of latest requests that an answer considers. */
const LATEST = 50;

export const answerOperations = {
  getLicenseAnswer: get(
    '/licenses/{id}/answer',
    {
      summary: 'Compose an answer to the customer of a licence',
      description:
        "The answer fits the present state of the licence and recent events. It is in the customer's language, or in the requested one.",
      query: strictObject({ language: Type.Optional(enumOf(CUSTOMER_LANGUAGES)) }),
      data: strictObject(
        {
          case: Text,
          to: TextOrNull,
          language: textEnum(CUSTOMER_LANGUAGES),
          subject: Text,
          body: Text,
          may_send: Type.Boolean({ description: 'Whether mail is set up.' }),
        },
        { title: 'ReadyAnswer' },
      ),
    },
    async (call) => {
      const { db, settings, query, now, language } = call;
      const license = await requireLicense(call);
      const { packagesDir, logDays, mailing, config } = settings;
      const customerLanguage =
        query.language ?? (await readPerson(db, license.customer)).language ?? config.mailLanguage;
      const { shopName, publicUrl, timeZone: zone } = config;
      const reply = await readyAnswer(db, license, {
        language,
        packagesDir,
        logDays,
        now,
        limit: LATEST,
        customerLanguage,
        shopName,
        zone,
        myUrl: publicUrl && myPageUrl(publicUrl),
      });
      const { case: about, subject, body } = reply;
      const to = findEmail(license.customer ?? '') ?? null;
      return {
        data: { case: about, to, language: customerLanguage, subject, body, may_send: mailing !== undefined },
      };
    },
  ),
  sendAnswer: post(
    '/answers',
    {
      summary: 'Mail this text to a customer as an answer',
      description:
        'With a licence, the answer is recorded in its history and its mails, and goes to its customer unless `to` names another address. 409 if mail is not set up.',
      body: strictObject({
        license_id: Type.Optional(Type.Integer({ ...IdGiven, maximum: 2 ** 53 - 1 })),
        to: Type.Optional(Type.String({ description: 'An e-mail address.' })),
        language: Type.Optional(enumOf(CUSTOMER_LANGUAGES)),
        subject: Type.String({ maxLength: 200 }),
        body: Type.String({ maxLength: 20_000, description: 'Plain text.' }),
      }),
      data: Mail,
      status: 201,
    },
    async ({ db, body: sent, settings, caller, now }) => {
      const { license_id: licenseId, subject, body } = sent;
      const license = licenseId === undefined ? undefined : await findLicense(db, licenseId);
      if (licenseId !== undefined && license === undefined)
        throw invalid('license_id', 'There is no such licence.');
      const to = sent.to ?? license?.customer ?? '';
      if (to === '') throw invalid('to', 'Give an address: there is no customer.');
      const { mailing, keySecret: secret } = settings;
      const language = sent.language ?? mailing?.language ?? 'en';
      const mail = await enqueueReply(
        db,
        { to, subject, body, language },
        { license, mailing, secret, actor: caller.actor, now },
      );
      return { data: mailJson(mail) };
    },
  ),
};
