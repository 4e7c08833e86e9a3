import { Type } from '@sinclair/typebox';
import { formatTimestampOrNull } from '../base/days';
import { previewNotice, queueNotice, startNotice } from '../mail/security-release';
import { findReleaseById, type Release } from '../packages/releases';
import { notFound } from './kit/failures';
import { get, post, type AfterCommit, type OperationCall } from './kit/operation';
import { readId } from './kit/request-params';
import { strictObject, Text, TimeOrNull } from './kit/schemas';

const MAILS = Type.Integer({ minimum: 0, description: 'The number of mails, one per customer.' });

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
        'A mail goes to each customer with a licence that may have the version, if a site of that licence reported an older version or no site reported any. Once they are sent, `mails` is the number that was sent.',
      data: strictObject(
        { mails: MAILS, subject: Text, text: Text, notified_at: TimeOrNull },
        { title: 'NoticePreview' },
      ),
      hasDeadline: false,
    },
    async (call) => {
      const { db, now, settings } = call;
      const release = await requireRelease(call);
      const { mails, subject, text, notifiedAt } = await previewNotice(db, release, settings.letterhead, now);
      return { data: { mails, subject, text, notified_at: formatTimestampOrNull(notifiedAt) } };
    },
  ),
  sendReleaseNotice: post(
    '/releases/{id}/notify',
    {
      summary: 'Notify customers of a security release by mail, once',
      description:
        'At most 300 mails a minute are sent, each in the language of its customer. 409 if the customers were already notified, if the version is not a published security release, or if mail is not set up.',
      data: strictObject({}, { title: 'Notice' }),
      hasDeadline: false,
      afterCommit: QUEUE,
    },
    async (call) => {
      const { db, now, settings, context } = call;
      await startNotice(db, await requireRelease(call), {
        actor: context.actor,
        mailing: settings.mailing,
        now,
      });
      return { data: {} };
    },
  ),
};
