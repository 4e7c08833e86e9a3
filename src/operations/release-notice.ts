import { Type } from '@sinclair/typebox';
import { formatTimestampOrNull } from '../base/days';
import { NOTICE_AUDIENCES, previewNotice, queueNotice, startNotice } from '../mail/security-release';
import { findReleaseById, type Release } from '../packages/releases';
import { notFound } from './kit/failures';
import { get, post, type AfterCommit, type OperationCall } from './kit/operation';
import { readId } from './kit/request-params';
import { enumOf, strictObject, Text, TimeOrNull } from './kit/schemas';

const MAILS = Type.Integer({ minimum: 0, description: 'The number of mails, one per customer.' });

const Audience = strictObject({
  audience: Type.Optional(
    enumOf(NOTICE_AUDIENCES, {
      description:
        '`entitled`: customers with a licence that may have the version. `everybody`: also the others, whose mail says that their licence does not cover it. Default: `entitled`.',
    }),
  ),
});

/** Queues the mails in separate transactions, because one would lock the rows of every licence. */
const QUEUE: AfterCommit<{ mails: typeof MAILS }> = {
  title: 'SentNotice',
  adds: { mails: MAILS },
  async perform(call) {
    const { db, now, settings, onProgress } = call;
    const mails = await queueNotice(db, readId(call, 'id', 'release'), {
      language: settings.letterhead.language,
      now,
      onProgress,
    });
    return { mails };
  },
};

async function requireRelease(call: Pick<OperationCall, 'db' | 'path'>): Promise<Release> {
  const release = await findReleaseById(call.db, readId(call, 'id', 'release'));
  if (release === undefined) throw notFound('release');
  return release;
}

export const releaseNoticeOperations = {
  previewReleaseNotice: get(
    '/releases/{id}/notify',
    {
      summary: 'Preview the mails about a security release',
      description:
        'A mail goes to each customer with a licence that may have the version, if a site of that licence reported an older version or no site reported any, and if the customer was not notified of a release with the same fix. Once they are sent, `mails` is the number that was sent. With `everybody`, it is always the number of customers without a mail so far, and the text is that for the customers whose licence does not cover the version.',
      query: Audience,
      data: strictObject(
        { mails: MAILS, subject: Text, text: Text, notified_at: TimeOrNull },
        { title: 'NoticePreview' },
      ),
      hasDeadline: false,
    },
    async (call) => {
      const { letterhead } = call.settings;
      const { audience = 'entitled' } = call.query;
      const release = await requireRelease(call);
      const preview = await previewNotice(call.db, release, audience, letterhead, call.now);
      const { mails, subject, text, notifiedAt } = preview;
      return { data: { mails, subject, text, notified_at: formatTimestampOrNull(notifiedAt) } };
    },
  ),
  sendReleaseNotice: post(
    '/releases/{id}/notify',
    {
      summary: 'Notify customers of a security release by mail, each audience once',
      description:
        'At most 300 mails a minute are sent, each in the language of its customer. `everybody` may follow `entitled`, and mails the others. 409 if the audience was already notified, if the version is not a published security release, or if mail is not set up.',
      body: Audience,
      data: strictObject({}, { title: 'Notice' }),
      hasDeadline: false,
      afterCommit: QUEUE,
    },
    async (call) => {
      const { db, now, settings, context } = call;
      await startNotice(db, await requireRelease(call), {
        audience: call.body.audience,
        actor: context.actor,
        mailing: settings.mailing,
        now,
      });
      return { data: {} };
    },
  ),
};
