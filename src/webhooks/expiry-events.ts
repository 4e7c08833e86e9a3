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
import { startScheduler, type Job, type Turn } from '../runner/jobs';
import type { Stop } from '../runner/loop';
import type { Db } from '../store/engine/database';
import { lockLease } from '../store/leases';
import { listLicenseEnds, type LicenseEnd } from '../store/licenses/license-ends';
import { findLicensesByIds, lockLicenses } from '../store/licenses/licenses';
import { findByDedupKeys, insertOutboxRowIfNew } from '../store/outbox';
import { inTransaction } from '../store/engine/transaction';
import {
  findWebhook,
  listSubscribers,
  setWebhook,
  type Subscriber,
  type WebhookRow,
} from '../store/webhooks';

/** The interval. With the lease's 25 s, it is within a minute (docs/webhooks.md), even if the lease's holder was killed. */
const EVERY_MS = 10_000;
const STEPS = [
  { type: 'license.expired', daysBefore: 0 },
  { type: 'license.expiring', daysBefore: 14 },
] as const satisfies { type: WebhookType; daysBefore: number }[];
/** The overlap of searches: a change may set an end within seconds, commit after the search, or come from a slow clock. */
const OVERLAP_MS = 2 * 60 * 1000;
/** The time for which ends are still reported after all instances were down. */
const BACKLOG_MS = 7 * DAY_MS;
const BATCH_SIZE = 100;

/**
 * Queues webhooks for licences that have ended, or will end in 14 days, although no row changes then. A lease lets one
 * instance do this for all. @returns a function that stops it
 */
export function startExpiryWatcher(db: Db, log: Logger, now: () => Date): Stop {
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
  return startScheduler(db, { lease: 'webhook-ends', everyMs: EVERY_MS, jobs: [ends], failure }, log, now);
}

/** Queues the due webhooks of a receiver, once for each licence, end and step. It continues where it last stopped. */
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
      ends = await listLicenseEnds(db, within, ends.at(-1), BATCH_SIZE);
      if (!(await pause(0)) || !(await queue(ends, type, daysBefore))) return;
      if (ends.length < BATCH_SIZE) break;
    }
  }
  await setWebhook(db, webhook.id, { sweptAt: at }, { sweptAt: webhook.sweptAt });

  /** Queues webhooks. @returns false if another instance has the lease now */
  async function queue(ends: LicenseEnd[], type: WebhookType, daysBefore: number): Promise<boolean> {
    const nameOf = ({ id, expiresAt }: LicenseEnd) =>
      `end:${webhook.id}:${id}:${daysBefore}:${expiresAt.getTime() / 1000}`;
    const queued = await findByDedupKeys(db, ends.map(nameOf));
    const open = ends.filter((end) => !queued.has(nameOf(end)));
    if (open.length === 0) return true;
    return inTransaction(db, async (trx) => {
      if (!(await lockLease(trx, lease, now()))) return false;
      const ids = open.map(({ id }) => id);
      // Lock the licences; otherwise a change at this moment could be queued first, with a later revision.
      await lockLicenses(trx, ids);
      const licenses = new Map((await findLicensesByIds(trx, ids)).map((one) => [one.id, one]));
      for (const end of open) {
        const license = licenses.get(end.id);
        // Skip a licence that was renewed or suspended in the meantime.
        const isSame =
          license?.status === 'active' && license.expiresAt?.getTime() === end.expiresAt.getTime();
        if (!isSame) continue;
        const data = { license: licenseData(license, at), ...renewsOf(license) };
        await insertOutboxRowIfNew(trx, webhookRow(webhook.id, type, data, at, nameOf(end)));
      }
      return true;
    });
  }
}
