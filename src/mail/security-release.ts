import { plansCovering } from '../licensing/bundles';
import { coversRelease, hasNothingPaid } from '../licensing/core/verdict';
import { findEmail } from '../licensing/customer-email';
import { requireProduct } from '../licensing/find-or-throw';
import { forEach } from '../base/for-each';
import { OperatorError } from '../licensing/operator-error';
import type { Branches } from '../licensing/core/branches';
import { lacksFix, withSameFix } from '../licensing/same-fix';
import { readBranches } from '../licensing/updates';
import { compareVersions } from '../licensing/versions';
import { recordEvents } from '../licensing/webhook-events';
import type { Plan } from '../store/catalogue';
import { customerDigest } from '../store/customer-digest';
import type { Db } from '../store/engine/database';
import { isDuplicate } from '../store/engine/errors';
import { lockLicenses, incrementRevisions } from '../store/licenses/licenses';
import { insertOutboxRows } from '../store/outbox';
import { findReleaseById, listFixLinks, type Release } from '../store/releases';
import {
  advanceNotice,
  claimNotice,
  extendNotice,
  findNotice,
  findNoticeMails,
  insertNotice,
  latestNoticeDue,
  listNoticeLicenses,
  listReportedVersions,
  listUnfinishedNotices,
  NOTICE_AUDIENCES,
  noticeKey,
  type NoticeAudience,
  type NoticeMail,
  type SecurityNotice,
} from '../store/security-notices';
import { inTransaction } from '../store/engine/transaction';
import type { CustomerLanguage } from '../texts/customers/languages';
import { securityValues, type Letterhead } from './compose';
import { mailOffError, queueRow, type MailDetails, type Mailing } from './queue';
import { renderMail, type MailContent } from './render';
import { readMailText } from './texts';

/**
 * Notifies customers of a security release, without duplicates (docs/releases.md, A security release). They have a licence
 * that covers the release or, with the audience `everybody`, an ended one that was paid. Their sites reported a version
 * without the fix, or none. The mails are queued in portions. The database stores the progress, so that another process
 * continues after a crash.
 */

export { NOTICE_AUDIENCES, type NoticeAudience };

/** The number of licences in one transaction, which blocks their clients for about 0.1 s. */
const BATCH_SIZE = 100;
/** The number of licences that one query counts. It exceeds BATCH_SIZE, because counting locks no rows. */
const COUNT_BATCH_SIZE = 500;
/** The rate of these mails. It is 300 a minute, which a usual mail server accepts from one sender. */
export const NOTICES_A_SECOND = 5;
const APART_MS = 1_000 / NOTICES_A_SECOND;

type Place = Pick<SecurityNotice, 'audience' | 'planId' | 'licenseId'>;

const beginningOf = (audience: NoticeAudience): Place => ({ audience, planId: 0, licenseId: 0 });

/** A licence whose customer must be notified. */
interface Concerned {
  id: number;
  /** the customer's */
  digest: string;
  /** whether the licence covers the release */
  isCovered: boolean;
}

/** A release, with the facts that decide whom it concerns. */
interface Subject {
  release: Release;
  plans: Plan[];
  branches: Branches;
  /** the ids of the releases with the same fix, including its own */
  linked: number[];
  /** the published versions of these releases */
  fixedIn: string[];
  /** whether customers were notified of one of these releases */
  wasNotified: boolean;
}

async function readSubject(db: Db, release: Release): Promise<Subject> {
  const { id, productId, version } = release;
  const linked = withSameFix(await listFixLinks(db, productId), id);
  const fixes = linked.filter(({ state, security }) => state === 'published' && security);
  return {
    release,
    plans: await plansCovering(db, productId),
    branches: await readBranches(db, productId),
    linked: linked.map((one) => one.id),
    fixedIn: [version, ...fixes.map((one) => one.version)],
    wasNotified: linked.some(({ notifiedAt }) => notifiedAt !== null),
  };
}

/** Reads the next licences. @returns `next` is undefined after the last ones */
async function readPortion(
  db: Db,
  { release, plans, branches, fixedIn }: Subject,
  { audience, planId, licenseId }: Place,
  limit: number,
  now: Date,
): Promise<{ concerned: Concerned[]; next: Place | undefined }> {
  const [plan, following] = plans.filter(({ id }) => id >= planId);
  if (plan === undefined) return { concerned: [], next: undefined };
  const licenses = await listNoticeLicenses(db, plan.id, plan.id === planId ? licenseId : 0, limit);
  const reached = licenses
    .map((one) => ({ ...one, isCovered: coversRelease({ ...one, plan }, release, now, branches) }))
    .filter((one) => one.isCovered || (audience === 'everybody' && !hasNothingPaid(one, now)));
  const told = await listReportedVersions(
    db,
    release.productId,
    reached.map(({ id }) => id),
  );
  const isBehind = (version: string) =>
    compareVersions(version, release.version) < 0 && lacksFix(version, fixedIn, branches.rule);
  const concerned = reached.flatMap(({ id, customer, isCovered }) => {
    const address = findEmail(customer);
    return address !== undefined && (told.get(id)?.some(isBehind) ?? true)
      ? [{ id, digest: customerDigest(address), isCovered }]
      : [];
  });
  const last = licenses.at(-1);
  if (last !== undefined && licenses.length === limit)
    return { concerned, next: { audience, planId: plan.id, licenseId: last.id } };
  return { concerned, next: following && { audience, planId: following.id, licenseId: 0 } };
}

/** Counts the customers who would be notified now. */
async function countMails(db: Db, release: Release, audience: NoticeAudience, now: Date): Promise<number> {
  const subject = await readSubject(db, release);
  const customers = new Set<string>();
  for (let place: Place | undefined = beginningOf(audience); place !== undefined;) {
    const portion = await readPortion(db, subject, place, COUNT_BATCH_SIZE, now);
    const digests = new Set(portion.concerned.map(({ digest }) => digest));
    const mailed = subject.wasNotified
      ? await findNoticeMails(db, subject.linked, [...digests])
      : new Map<string, NoticeMail>();
    for (const digest of digests) if (!mailed.has(digest)) customers.add(digest);
    place = portion.next;
  }
  return customers.size;
}

export interface NoticePreview extends MailContent {
  /** the number of mails that would be sent, or that were queued */
  mails: number;
  /** null if the audience was not notified yet */
  notifiedAt: Date | null;
}

/**
 * Returns the text of the mails and their number, without changing anything. For `everybody`, the number is always that of
 * customers without a mail so far.
 * @throws OperatorError (CONFLICT) if it is not a published security release
 */
export async function previewNotice(
  db: Db,
  release: Release,
  audience: NoticeAudience,
  letterhead: Letterhead,
  now: Date,
): Promise<NoticePreview> {
  const isForAll = audience === 'everybody';
  const notice = release.notifiedAt === null ? undefined : await findNotice(db, release.id);
  const notifiedAt = isForAll ? (notice?.everybodyAt ?? null) : release.notifiedAt;
  if (notifiedAt === null) requireSecurityRelease(release);
  const product = await requireProduct(db, release.productId);
  const text = readMailText(
    letterhead.texts,
    isForAll ? 'security_notice' : 'security_release',
    letterhead.language,
  );
  const values = {
    ...securityValues(product, release, letterhead.publicUrl),
    renew_url: product.renewUrl ?? undefined,
    shop: letterhead.shopName,
  };
  const mail = renderMail(text, values, letterhead.language);
  const mails =
    isForAll || notifiedAt === null ? await countMails(db, release, audience, now) : (notice?.mails ?? 0);
  return { ...mail, mails, notifiedAt };
}

function requireSecurityRelease({ version, state, security }: Release): void {
  if (state !== 'published')
    throw new OperatorError(`Version ${version} is not published, so customers cannot get it.`, {
      code: 'CONFLICT',
    });
  if (!security)
    throw new OperatorError(`Version ${version} is not marked as a security release.`, {
      code: 'CONFLICT',
      facts: { reason: 'not-security' },
    });
}

/**
 * Claims the release, so that each audience is notified once. `everybody` may follow `entitled`. Call `queueNotice` after
 * the commit.
 * @throws OperatorError (CONFLICT) if it was notified before, it is not a published security release, or mail is off
 */
export async function startNotice(
  db: Db,
  release: Release,
  {
    audience = 'entitled',
    actor,
    mailing,
    now,
  }: { audience?: NoticeAudience | undefined; actor: string; mailing: Mailing | undefined; now: Date },
): Promise<void> {
  const { id: releaseId, version } = release;
  const isForAll = audience === 'everybody';
  if (release.notifiedAt !== null && !isForAll) throw notifiedAlready(version);
  requireSecurityRelease(release);
  if (mailing === undefined) throw mailOffError('no customer can be notified');
  const everybodyAt = isForAll ? now : null;
  await inTransaction(db, async (trx) => {
    const isFirst = await claimNotice(trx, releaseId, now);
    if (!isFirst && !isForAll) throw notifiedAlready(version);
    // Queue behind the mails of another release, so that both together keep the rate.
    const notice = { releaseId, actor, dueAt: latest(now, await latestNoticeDue(trx)), everybodyAt };
    // An imported release has no notice.
    if (isFirst || (await findNotice(trx, releaseId)) === undefined) await insertNotice(trx, notice);
    else if (!(await extendNotice(trx, notice))) throw notifiedAlready(version);
  });
}

function notifiedAlready(version: string): OperatorError {
  return new OperatorError(`The customers were already notified of version ${version}.`, {
    code: 'CONFLICT',
    facts: { reason: 'is-notified' },
  });
}

function latest(now: Date, other: Date | null): Date {
  return other !== null && other > now ? other : now;
}

interface QueueContext {
  language: CustomerLanguage;
  now: Date;
  /** reports between portions whether to continue */
  goesOn?: () => Promise<boolean>;
  onProgress?: ((done: number) => void) | undefined;
}

/** Queues the mails of a claimed release, or the remaining ones. @returns the number of mails so far to its latest audience */
export async function queueNotice(
  db: Db,
  releaseId: number,
  { language, now, goesOn = () => Promise.resolve(true), onProgress }: QueueContext,
): Promise<number> {
  for (;;) {
    const notice = await findNotice(db, releaseId);
    const mails = notice === undefined ? 0 : notice.mails - notice.earlierMails;
    if (notice?.doneAt !== null) return mails;
    onProgress?.(mails);
    try {
      await queuePortion(db, notice, language, now);
    } catch (error) {
      // Meanwhile, one of these customers was mailed about another release with the same fix.
      if (!isDuplicate(error)) throw error;
    }
    if (!(await goesOn())) return mails;
  }
}

async function queuePortion(
  db: Db,
  notice: SecurityNotice,
  language: CustomerLanguage,
  now: Date,
): Promise<void> {
  const { releaseId, actor, audience, planId, licenseId } = notice;
  const release = await findReleaseById(db, releaseId);
  // Queue no more mails for a withdrawn release, which customers cannot get.
  const subject = release?.state === 'published' ? await readSubject(db, release) : undefined;
  const { concerned, next } =
    subject === undefined
      ? { concerned: [], next: undefined }
      : await readPortion(db, subject, notice, BATCH_SIZE, now);
  const customers = new Map<string, Concerned>();
  for (const one of concerned) {
    const first = customers.get(one.digest);
    if (first === undefined || (one.isCovered && !first.isCovered)) customers.set(one.digest, one);
  }
  const linked = subject?.linked ?? [releaseId];
  const mailed = await findNoticeMails(db, linked, [...customers.keys()]);
  const mails = [...customers].filter(([digest]) => !mailed.has(digest));
  // A customer who was mailed before, about another release or in another audience, is not notified again.
  const notified = concerned.filter(({ digest }) => isOfNotice(mailed.get(digest), notice));
  const from = latest(now, notice.dueAt).getTime();
  // The licences that cover the release come first, so that their customers get the mail about it.
  const rest = next ?? (audience === 'entitled' && notice.everybodyAt ? beginningOf('everybody') : undefined);
  const place = {
    ...(rest ?? { audience, planId, licenseId }),
    mails: notice.mails + mails.length,
    // Round up, because the database stores whole seconds, and each second has five mails.
    dueAt: new Date(Math.ceil((from + mails.length * APART_MS) / 1_000) * 1_000),
    doneAt: rest === undefined ? now : null,
  };
  await inTransaction(db, async (trx) => {
    if (!(await advanceNotice(trx, notice, place)) || notified.length === 0) return;
    const ids = [
      ...(
        await lockLicenses(
          trx,
          notified.map(({ id }) => id),
        )
      ).keys(),
    ];
    await incrementRevisions(trx, new Map(ids.map((id) => [id, 1])));
    await recordEvents(
      trx,
      ids.map((id) => ({
        licenseId: id,
        at: now,
        actor,
        action: 'notify',
        before: null,
        after: { product_id: release?.productId, version: release?.version },
      })),
    );
    const details: MailDetails = {
      release_id: releaseId,
      ...(audience === 'everybody' ? { audience } : {}),
    };
    await insertOutboxRows(
      trx,
      mails.map(([digest, { id, isCovered }], i) => ({
        ...queueRow(isCovered ? 'security_release' : 'security_notice', {
          now,
          language,
          dueAt: new Date(from + i * APART_MS),
        }),
        licenseId: id,
        details,
        // The lowest id stands for all linked releases, so that two of them cannot mail a customer at the same time.
        once: noticeKey(Math.min(...linked), digest),
      })),
    );
  });
}

/** Reports whether a mail belongs to the work on a notice, in any of its portions. @param mail undefined: not queued yet */
function isOfNotice(mail: NoticeMail | undefined, { releaseId, audience }: SecurityNotice): boolean {
  if (mail === undefined) return true;
  const details = JSON.parse(mail.detailsJson ?? '{}') as MailDetails;
  return details.release_id === releaseId && (details.audience ?? 'entitled') === audience;
}

/** Continues the notices that a stopped process began. */
export async function queueNotices(
  db: Db,
  context: QueueContext & { goesOn: () => Promise<boolean> },
): Promise<void> {
  await forEach(await listUnfinishedNotices(db), async (id) => {
    if (await context.goesOn()) await queueNotice(db, id, context);
  });
}
