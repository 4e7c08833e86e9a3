import { plansCovering } from '../licensing/bundles';
import { coversRelease } from '../licensing/core/verdict';
import { findEmail } from '../licensing/customer-email';
import { requireProduct } from '../licensing/find-or-throw';
import { forEach } from '../base/for-each';
import { OperatorError } from '../licensing/operator-error';
import type { Branches } from '../licensing/core/branches';
import { readBranches } from '../licensing/updates';
import { compareVersions } from '../licensing/versions';
import { recordEvents } from '../licensing/webhook-events';
import type { Plan } from '../store/catalogue';
import { customerDigest } from '../store/customer-digest';
import type { Db } from '../store/engine/database';
import { lockLicenses, incrementRevisions } from '../store/licenses/licenses';
import { insertOutboxRows } from '../store/outbox';
import { findReleaseById, type Release } from '../store/releases';
import {
  advanceNotice,
  claimNotice,
  findNotice,
  findNoticeMails,
  insertNotice,
  latestNoticeDue,
  listNoticeLicenses,
  listReportedVersions,
  listUnfinishedNotices,
  noticeKey,
  type SecurityNotice,
} from '../store/security-notices';
import { inTransaction } from '../store/engine/transaction';
import type { CustomerLanguage } from '../texts/customers/languages';
import { securityValues, type Letterhead } from './compose';
import { mailOffError, queueRow, type MailDetails, type Mailing } from './queue';
import { renderMail, type MailContent } from './render';
import { readMailText } from './texts';

/**
 * Notifies customers of a security release, without duplicates: those who have a licence that covers the release, and
 * whose sites reported an older version or none (docs/releases.md, A security release). The mails are queued in
 * portions. The database stores the progress, so that another process continues after a crash.
 */

/** The number of licences in one transaction, which blocks their clients for about 0.1 s. */
const BATCH_SIZE = 100;
/** The number of licences that one query counts. It exceeds BATCH_SIZE, because counting locks no rows. */
const COUNT_BATCH_SIZE = 500;
/** The rate of these mails. It is 300 a minute, which a usual mail server accepts from one sender. */
export const NOTICES_A_SECOND = 5;
const APART_MS = 1_000 / NOTICES_A_SECOND;

type Place = Pick<SecurityNotice, 'planId' | 'licenseId'>;

const BEGINNING: Place = { planId: 0, licenseId: 0 };

/** A licence whose customer must be notified. */
interface Concerned {
  id: number;
  /** the customer's address */
  address: string;
}

/** Reads the next licences. @returns `next` is undefined after the last ones */
async function readPortion(
  db: Db,
  { release, plans, branches }: { release: Release; plans: Plan[]; branches: Branches },
  { planId, licenseId }: Place,
  limit: number,
  now: Date,
): Promise<{ concerned: Concerned[]; next: Place | undefined }> {
  const [plan, following] = plans.filter(({ id }) => id >= planId);
  if (plan === undefined) return { concerned: [], next: undefined };
  const licenses = await listNoticeLicenses(db, plan.id, plan.id === planId ? licenseId : 0, limit);
  const covering = licenses.filter((one) => coversRelease({ ...one, plan }, release, now, branches));
  const told = await listReportedVersions(
    db,
    release.productId,
    covering.map(({ id }) => id),
  );
  const isBehind = (version: string) => compareVersions(version, release.version) < 0;
  const concerned = covering.flatMap(({ id, customer }) => {
    const address = findEmail(customer);
    return address !== undefined && (told.get(id)?.some(isBehind) ?? true) ? [{ id, address }] : [];
  });
  const last = licenses.at(-1);
  if (last !== undefined && licenses.length === limit)
    return { concerned, next: { planId: plan.id, licenseId: last.id } };
  return { concerned, next: following && { planId: following.id, licenseId: 0 } };
}

/** Counts the customers who would be notified now. */
async function countConcerned(db: Db, release: Release, now: Date): Promise<number> {
  const plans = await plansCovering(db, release.productId);
  const branches = await readBranches(db, release.productId);
  const customers = new Set<string>();
  for (let place: Place | undefined = BEGINNING; place !== undefined;) {
    const portion = await readPortion(db, { release, plans, branches }, place, COUNT_BATCH_SIZE, now);
    for (const { address } of portion.concerned) customers.add(customerDigest(address));
    place = portion.next;
  }
  return customers.size;
}

export interface NoticePreview extends Pick<MailContent, 'subject' | 'text'> {
  /** the number of mails that would be sent, or that were queued */
  mails: number;
  /** null if the customers were not notified yet */
  notifiedAt: Date | null;
}

/**
 * Returns the text of the mails and their number, without changing anything.
 * @throws OperatorError (CONFLICT) if it is not a published security release
 */
export async function previewNotice(
  db: Db,
  release: Release,
  letterhead: Letterhead,
  now: Date,
): Promise<NoticePreview> {
  if (release.notifiedAt === null) requireSecurityRelease(release);
  const product = await requireProduct(db, release.productId);
  const text = readMailText(letterhead.texts, 'security_release', letterhead.language);
  const values = { ...securityValues(product, release, letterhead.publicUrl), shop: letterhead.shopName };
  const { subject, text: body } = renderMail(text, values, letterhead.language);
  const mails =
    release.notifiedAt === null
      ? await countConcerned(db, release, now)
      : ((await findNotice(db, release.id))?.mails ?? 0);
  return { mails, subject, text: body, notifiedAt: release.notifiedAt };
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
 * Claims the release, so that its customers are notified once. Call `queueNotice` after the commit.
 * @throws OperatorError (CONFLICT) if they were notified before, it is not a published security release, or mail is off
 */
export async function startNotice(
  db: Db,
  release: Release,
  { actor, mailing, now }: { actor: string; mailing: Mailing | undefined; now: Date },
): Promise<void> {
  const { id, version } = release;
  if (release.notifiedAt !== null) throw notifiedAlready(version);
  requireSecurityRelease(release);
  if (mailing === undefined) throw mailOffError('no customer can be notified');
  await inTransaction(db, async (trx) => {
    if (!(await claimNotice(trx, id, now))) throw notifiedAlready(version);
    // Queue behind the mails of another release, so that both together keep the rate.
    const dueAt = latest(now, await latestNoticeDue(trx));
    await insertNotice(trx, { releaseId: id, actor, dueAt });
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

/** Queues the mails of a claimed release, or the remaining ones. @returns the number of mails so far */
export async function queueNotice(
  db: Db,
  releaseId: number,
  { language, now, goesOn = () => Promise.resolve(true), onProgress }: QueueContext,
): Promise<number> {
  for (;;) {
    const notice = await findNotice(db, releaseId);
    if (notice?.doneAt !== null) return notice?.mails ?? 0;
    onProgress?.(notice.mails);
    await queuePortion(db, notice, language, now);
    if (!(await goesOn())) return notice.mails;
  }
}

async function queuePortion(
  db: Db,
  notice: SecurityNotice,
  language: CustomerLanguage,
  now: Date,
): Promise<void> {
  const { releaseId, actor, planId, licenseId } = notice;
  const release = await findReleaseById(db, releaseId);
  // Queue no more mails for a withdrawn release, which customers cannot get.
  const plans = release?.state === 'published' ? await plansCovering(db, release.productId) : [];
  const { concerned, next } =
    release === undefined
      ? { concerned: [], next: undefined }
      : await readPortion(
          db,
          { release, plans, branches: await readBranches(db, release.productId) },
          notice,
          BATCH_SIZE,
          now,
        );
  const first = new Map<string, Concerned>();
  for (const one of concerned) {
    const digest = customerDigest(one.address);
    if (!first.has(digest)) first.set(digest, one);
  }
  const mailed = await findNoticeMails(db, [releaseId], [...first.keys()]);
  const mails = [...first].filter(([digest]) => !mailed.has(digest));
  const from = latest(now, notice.dueAt).getTime();
  const place = {
    ...(next ?? { planId, licenseId }),
    mails: notice.mails + mails.length,
    // Round up, because the database stores whole seconds, and each second has five mails.
    dueAt: new Date(Math.ceil((from + mails.length * APART_MS) / 1_000) * 1_000),
    doneAt: next === undefined ? now : null,
  };
  await inTransaction(db, async (trx) => {
    if (!(await advanceNotice(trx, notice, place)) || concerned.length === 0) return;
    const ids = [
      ...(
        await lockLicenses(
          trx,
          concerned.map(({ id }) => id),
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
    const details: MailDetails = { release_id: releaseId };
    await insertOutboxRows(
      trx,
      mails.map(([digest, { id }], i) => ({
        ...queueRow('security_release', { now, language, dueAt: new Date(from + i * APART_MS) }),
        licenseId: id,
        details,
        once: noticeKey(releaseId, digest),
      })),
    );
  });
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
