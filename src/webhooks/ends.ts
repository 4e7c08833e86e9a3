import type { Logger } from 'pino';
import { DAY_MS } from '../base/days';
import { forEach } from '../base/for-each';
import {
  isSubscribed,
  licenseData,
  renewsOf,
  webhookRow,
  type WebhookType,
} from '../licensing/webhook-events';
import { startJobs, type Job, type Turn } from '../runner/jobs';
import type { Stop } from '../runner/loop';
import type { Db } from '../store/engine/database';
import { lockLease } from '../store/leases';
import { listLicenseEnds, type LicenseEnd } from '../store/licenses/license-ends';
import { findLicensesByIds, lockLicenses } from '../store/licenses/licenses';
import { findQueuedOnce, insertOutboxRowOnce } from '../store/outbox';
import { inTransaction } from '../store/engine/transaction';
import {
  findWebhook,
  listSubscribers,
  setWebhook,
  type Subscriber,
  type WebhookRow,
} from '../store/webhooks';

/** With the lease's 25 s, within a minute (docs/webhooks.md), also when the holder was killed. */
const EVERY_MS = 10_000;
const STEPS = [
  { type: 'license.expired', daysBefore: 0 },
  { type: 'license.expiring', daysBefore: 14 },
] as const satisfies { type: WebhookType; daysBefore: number }[];
/** A change may set an end in a few seconds, commit after the search for that end, or come from a slow clock. */
const OVERLAP_MS = 2 * 60 * 1000;
/** Ends are told of for so long after a time in which every instance was down. */
const BACKLOG_MS = 7 * DAY_MS;
const AT_ONCE = 100;

/**
 * Tells receivers that licences have ended, or end in 14 days, although no row changes then. One instance does it for all.
 * @returns call it to stop
 */
export function startEndsWatch(db: Db, log: Logger, now: () => Date): Stop {
  const isListening = (one: Subscriber) => STEPS.some(({ type }) => isSubscribed(one, type));
  const ends: Job = {
    name: 'ends',
    isDue: async () => (await listSubscribers(db)).some(isListening),
    async run(turn) {
      await forEach((await listSubscribers(db)).filter(isListening), async ({ id }) => {
        const webhook = await findWebhook(db, id);
        if (webhook !== undefined) await announceEnds(db, webhook, turn, now);
      });
    },
  };
  const failure = 'webhooks about licences that end are late';
  return startJobs(db, { lease: 'webhook-ends', everyMs: EVERY_MS, jobs: [ends], failure }, log, now);
}

/** Queues what is due for a receiver, once for a licence, its end and step. After an interruption it begins where it last ended. */
async function announceEnds(
  db: Db,
  webhook: WebhookRow,
  { lease, pause }: Turn,
  now: () => Date,
): Promise<void> {
  const at = now();
  const since = Math.max(webhook.sweptAt.getTime() - OVERLAP_MS, at.getTime() - BACKLOG_MS);
  for (const { type, daysBefore } of STEPS) {
    if (!isSubscribed({ events: webhook.events.split(' ') }, type)) continue;
    const shift = daysBefore * DAY_MS;
    const within = { after: new Date(since + shift), upTo: new Date(at.getTime() + shift) };
    for (let ends: LicenseEnd[] = []; ;) {
      ends = await listLicenseEnds(db, within, ends.at(-1), AT_ONCE);
      if (!(await pause(0)) || !(await queue(ends, type, daysBefore))) return;
      if (ends.length < AT_ONCE) break;
    }
  }
  await setWebhook(db, webhook.id, { sweptAt: at }, { sweptAt: webhook.sweptAt });

  /** @returns false: another instance has the lease by now */
  async function queue(ends: LicenseEnd[], type: WebhookType, daysBefore: number): Promise<boolean> {
    const nameOf = ({ id, expiresAt }: LicenseEnd) =>
      `end:${webhook.id}:${id}:${daysBefore}:${expiresAt.getTime() / 1000}`;
    const queued = await findQueuedOnce(db, ends.map(nameOf));
    const open = ends.filter((end) => !queued.has(nameOf(end)));
    if (open.length === 0) return true;
    return inTransaction(db, async (trx) => {
      if (!(await lockLease(trx, lease, now()))) return false;
      const ids = open.map(({ id }) => id);
      // Otherwise a change at this moment could be told of first, with a later revision.
      await lockLicenses(trx, ids);
      const licenses = new Map((await findLicensesByIds(trx, ids)).map((one) => [one.id, one]));
      for (const end of open) {
        const license = licenses.get(end.id);
        // It may have been renewed or suspended meanwhile.
        const isSame =
          license?.status === 'active' && license.expiresAt?.getTime() === end.expiresAt.getTime();
        if (!isSame) continue;
        const data = { license: licenseData(license, at), ...renewsOf(license) };
        await insertOutboxRowOnce(trx, webhookRow(webhook.id, type, data, at, nameOf(end)));
      }
      return true;
    });
  }
}
