import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { isSubscribed, licenseData, webhookRow, type WebhookType } from '../licensing/webhook-events';
import type { Db } from '../store/database';
import { reasonCode } from '../store/errors';
import { holdLease, lockLease, releaseLease, type Lease } from '../store/leases';
import { listLicenseEnds, type LicenseEnd } from '../store/license-ends';
import { findLicensesByIds, lockLicenses } from '../store/licenses';
import { findQueuedOnce, insertOutboxRowOnce } from '../store/outbox';
import { inTransaction } from '../store/transaction';
import { listSubscribers, setWebhook, findWebhook, type WebhookRow } from '../store/webhooks';

/** With the lease's 25 s, within a minute (docs/webhooks.md), also when the holder was killed. */
const EVERY_MS = 10_000;
const DAY_MS = 24 * 60 * 60 * 1000;
const STEPS = [
  { type: 'license.expired', daysBefore: 0 },
  { type: 'license.expiring', daysBefore: 14 },
] as const satisfies { type: WebhookType; daysBefore: number }[];
/** A change may set an end within seconds, commit after that end was looked for, or come from a clock that is slow. */
const OVERLAP_MS = 2 * 60 * 1000;
/** What ended while every instance was down is told of for so long. */
const BACKLOG_MS = 7 * DAY_MS;
const AT_ONCE = 100;

/**
 * Tells receivers that licences have ended, or end in 14 days, although no row changes then. One instance does it for all.
 * @returns call it to stop
 */
export function startEndsWatch(db: Db, log: Logger, now: () => Date): () => Promise<void> {
  const lease: Lease = { name: 'webhook-ends', holder: randomBytes(16).toString('hex') };
  let isStopping = false;
  let failures = 0;
  let running: Promise<void> | undefined;

  async function watch(): Promise<void> {
    const subscribers = (await listSubscribers(db)).filter((one) =>
      STEPS.some(({ type }) => isSubscribed(one, type)),
    );
    if (subscribers.length === 0 || isStopping || !(await holdLease(db, lease, now()))) return;
    for (const { id } of subscribers) {
      const webhook = await findWebhook(db, id);
      if (webhook !== undefined) await announceEnds(db, webhook, { lease, now, goesOn: () => !isStopping });
    }
  }

  function run(): void {
    running ??= watch()
      .then(
        () => void (failures = 0),
        (error: unknown) => {
          if (failures++ === 0)
            log.warn({ reason: reasonCode(error) }, 'webhooks about licences that end are late');
        },
      )
      .finally(() => (running = undefined));
  }
  run();
  const timer = setInterval(run, EVERY_MS).unref();
  return async () => {
    isStopping = true;
    clearInterval(timer);
    await running;
    await releaseLease(db, lease).catch(() => undefined);
  };
}

interface Watch {
  lease: Lease;
  now: () => Date;
  goesOn: () => boolean;
}

/** Queues what is due for a receiver, once for a licence, its end and step. Interrupted, it begins where it last ended. */
export async function announceEnds(
  db: Db,
  webhook: WebhookRow,
  { lease, now, goesOn }: Watch,
): Promise<void> {
  const at = now();
  const since = Math.max(webhook.sweptAt.getTime() - OVERLAP_MS, at.getTime() - BACKLOG_MS);
  for (const { type, daysBefore } of STEPS) {
    if (!isSubscribed({ events: webhook.events.split(' ') }, type)) continue;
    const shift = daysBefore * DAY_MS;
    const within = { after: new Date(since + shift), upTo: new Date(at.getTime() + shift) };
    for (let ends: LicenseEnd[] = []; ;) {
      ends = await listLicenseEnds(db, within, ends.at(-1), AT_ONCE);
      if (!goesOn() || !(await queue(ends, type, daysBefore))) return;
      if (ends.length < AT_ONCE) break;
    }
  }
  await setWebhook(db, webhook.id, { sweptAt: at }, { sweptAt: webhook.sweptAt });

  /** @returns false: another instance does it by now */
  async function queue(ends: LicenseEnd[], type: WebhookType, daysBefore: number): Promise<boolean> {
    const nameOf = ({ id, expiresAt }: LicenseEnd) =>
      `end:${webhook.id}:${id}:${daysBefore}:${expiresAt.getTime() / 1000}`;
    const queued = await findQueuedOnce(db, ends.map(nameOf));
    const open = ends.filter((end) => !queued.has(nameOf(end)));
    if (open.length === 0) return true;
    return inTransaction(db, async (trx) => {
      if (!(await lockLease(trx, lease, now()))) return false;
      const ids = open.map(({ id }) => id);
      // Or a change of this moment could be told of first, with a later revision.
      await lockLicenses(trx, ids);
      const licenses = new Map((await findLicensesByIds(trx, ids)).map((one) => [one.id, one]));
      for (const end of open) {
        const license = licenses.get(end.id);
        // It may have been renewed or suspended meanwhile.
        const isSame =
          license?.status === 'active' && license.expiresAt?.getTime() === end.expiresAt.getTime();
        if (!isSame) continue;
        const data = { license: licenseData(license, at) };
        await insertOutboxRowOnce(trx, webhookRow(webhook.id, type, data, at, nameOf(end)));
      }
      return true;
    });
  }
}
