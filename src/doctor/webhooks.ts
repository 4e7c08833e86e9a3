import { formatTimestamp } from '../licensing/timestamps';
import { countWaitingFor, isStopped, listWebhooks, MOST_COUNTED, receiverName } from '../webhooks/receivers';
import { opensSecrets } from '../webhooks/signing';
import { ok, problem, warning, type Check, type Finding } from './finding';

/** Checks that receivers of webhooks are told of changes. */
export const checkWebhooks: Check = async ({ config, db, now }) => {
  const webhooks = await listWebhooks(db);
  if (webhooks.length === 0) return [];
  const { keySecret } = config;
  if (keySecret === undefined)
    return [
      problem(
        'WEBHOOKS',
        'LICENSING_KEY_SECRET is not set, and there are webhooks: none is sent.',
        {
          why: 'Their secrets are sealed with it. What they are to be told waits.',
          remedy: 'Bring the secret back from the backup of .env.',
        },
        {
          what: 'LICENSING_KEY_SECRET ist nicht gesetzt, und es gibt Webhooks: Keiner wird gesendet.',
          why: 'Ihre Geheimnisse sind damit versiegelt. Was ihnen zu melden ist, wartet.',
          remedy: 'Holen Sie LICENSING_KEY_SECRET aus der Sicherung von .env zurück.',
        },
      ),
    ];
  const findings: Finding[] = [];
  for (const webhook of webhooks) {
    const name = `Webhook ${webhook.id} (${receiverName(webhook)})`;
    if (!opensSecrets(webhook, keySecret, now()))
      findings.push(
        problem(
          'WEBHOOK_SECRET',
          `${name}: its secret cannot be opened.`,
          {
            why: 'It was sealed with another LICENSING_KEY_SECRET, so nothing can be signed.',
            remedy: `Set the LICENSING_KEY_SECRET it was added with, or: licensing webhook rotate ${webhook.id}`,
          },
          {
            what: `${name}: Das Geheimnis lässt sich nicht öffnen.`,
            why: 'Es wurde mit einem anderen LICENSING_KEY_SECRET versiegelt, also lässt sich nichts signieren.',
            remedy: `Setzen Sie das LICENSING_KEY_SECRET, mit dem er hinzugefügt wurde, oder: licensing webhook rotate ${webhook.id}`,
          },
        ),
      );
    if (!isStopped(webhook) || webhook.disabledAt === null) continue;
    const waiting = await countWaitingFor(db, webhook.id);
    const isGone = webhook.disabledReason === 'gone';
    const isMore = waiting === MOST_COUNTED;
    const since = formatTimestamp(webhook.disabledAt);
    findings.push(
      warning(
        'WEBHOOK_STOPPED',
        `${name} was stopped on ${since}: ${isGone ? 'it answered 410 Gone' : 'it failed for days'}.`,
        {
          why: `It is told of nothing. Waiting deliveries: ${waiting}${isMore ? ' or more' : ''}.`,
          remedy: `"licensing webhook deliveries ${webhook.id} --waiting" shows the answers; then: licensing webhook enable ${webhook.id}`,
        },
        {
          what: `${name} wurde am ${since} angehalten: ${isGone ? 'Der Empfänger hat mit 410 (Gone) geantwortet' : 'Er scheiterte tagelang'}.`,
          why: `Ihm wird nichts gemeldet. Wartende Zustellungen: ${waiting}${isMore ? ' oder mehr' : ''}.`,
          remedy: `„licensing webhook deliveries ${webhook.id} --waiting“ zeigt die Antworten; dann: licensing webhook enable ${webhook.id}`,
        },
      ),
    );
  }
  return findings.length > 0
    ? findings
    : [
        ok(
          'WEBHOOKS',
          `Webhooks go to ${webhooks.length} receivers.`,
          `Webhooks gehen an ${webhooks.length} Empfänger.`,
        ),
      ];
};
