import { HOUR_MS, MINUTE_MS } from '../base/days';
import type { Delivery } from '../store/deliveries';
import type { WebhookRow } from '../store/webhooks';
import type { PostResult } from './post';
import type { DisabledReason } from './receivers';

const SECOND_MS = 1_000;
/** The retry schedule: the backoff after each failure (docs/webhooks.md). After one more failure the receiver is disabled. */
export const RETRY_DELAYS_MS = [
  5 * SECOND_MS,
  ...[5, 30].map((minutes) => minutes * MINUTE_MS),
  ...[2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR_MS),
];
/** The random part of each pause, so that deliveries that failed together are not retried together. */
const JITTER = 0.2;
/** The longest delay that a receiver can ask for. */
const MAX_RETRY_AFTER_MS = 24 * HOUR_MS;

const GONE = 410;

/** Returns the next attempt of a delivery that the receiver did not accept, and whether the receiver is disabled. */
export function scheduleRetry(
  { enabledAt }: Pick<WebhookRow, 'enabledAt'>,
  {
    type,
    failures: before,
    attemptedBefore,
    failedAt,
  }: Pick<Delivery, 'type' | 'failures' | 'attemptedBefore'> & Partial<Pick<Delivery, 'failedAt'>>,
  { status, retryAfter = 0 }: Pick<PostResult, 'status' | 'retryAfter'>,
  now: Date,
  random = Math.random(),
): { outcome: Partial<Delivery>; disabled?: DisabledReason } {
  if (type === 'webhook.test')
    return { outcome: { kind: 'webhook', nextAttemptAt: null, failedAt: now, failures: before + 1 } };
  // Begin again if the receiver was enabled since. Times are whole seconds: the last attempt may be of the same one.
  const isOver = Boolean(failedAt) || (attemptedBefore ?? enabledAt) < enabledAt;
  const failures = 1 + (isOver ? 0 : before);
  const outcome = { kind: 'webhook' as const, failures, failedAt: null };
  const pause = RETRY_DELAYS_MS[failures - 1];
  if (status === GONE) return { outcome: { ...outcome, nextAttemptAt: now }, disabled: 'gone' };
  if (pause === undefined)
    return { outcome: { ...outcome, nextAttemptAt: now, failedAt: now }, disabled: 'failing' };
  const jittered = pause * (1 - JITTER + 2 * JITTER * random);
  const wait = Math.max(jittered, Math.min(retryAfter, MAX_RETRY_AFTER_MS));
  return { outcome: { ...outcome, nextAttemptAt: new Date(now.getTime() + wait) } };
}
