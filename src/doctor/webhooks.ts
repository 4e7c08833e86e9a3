import { formatTimestamp } from '../base/days';
import {
  countWaitingFor,
  isAutoDisabled,
  listWebhooks,
  MAX_COUNTED,
  receiverName,
} from '../webhooks/receivers';
import { canOpenSecrets } from '../webhooks/signing';
import { ok, problem, warning, type Check, type CheckFinding } from './finding';

/** Checks that the receivers of webhooks are notified of changes. */
export const checkWebhooks: Check = async ({ config, db, now }) => {
  const webhooks = await listWebhooks(db);
  if (webhooks.length === 0) return [];
  const { keySecret } = config;
  if (keySecret === undefined) return [problem('WEBHOOKS', (t) => t.webhooksShut)];
  const findings: CheckFinding[] = [];
  for (const webhook of webhooks) {
    const name = `Webhook ${webhook.id} (${receiverName(webhook)})`;
    if (!canOpenSecrets(webhook, keySecret, now()))
      findings.push(problem('WEBHOOK_SECRET', (t) => t.webhookSecret(name, webhook.id)));
    if (!isAutoDisabled(webhook) || webhook.disabledAt === null) continue;
    const waiting = await countWaitingFor(db, webhook.id);
    const isGone = webhook.disabledReason === 'gone';
    const isMore = waiting === MAX_COUNTED;
    const since = formatTimestamp(webhook.disabledAt);
    findings.push(
      warning('WEBHOOK_STOPPED', (t) => t.webhookStopped(name, webhook.id, since, isGone, waiting, isMore)),
    );
  }
  return findings.length > 0 ? findings : [ok('WEBHOOKS', (t) => t.webhooks(webhooks.length))];
};
