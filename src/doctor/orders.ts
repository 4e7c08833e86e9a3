import { countWaiting, findShopsWithoutBilling, findSilentShops, listUnmapped } from '../store/orders';
import { quantity } from '../licensing/quantity';
import { mailingOf } from '../mail/queue';
import { mailOf } from '../orders/shop-kinds';
import { listReceiverShops, listShops } from '../store/shops';
import { countMessages } from '../store/shop-messages';
import { countUnmatched } from '../store/unmatched';
import { opensSecret } from '../orders/shops';
import { readRefused } from '../orders/refused-messages';
import type { Db } from '../store/database';
import { problem, warning, type Check, type Finding } from './finding';

const DAY_MS = 24 * 60 * 60 * 1000;
/** Articles that are named. */
const MOST_NAMED = 5;

/** Tells of orders that wait, and of shops that were set up and have never posted. */
export const checkOrders: Check = async ({ db, now, config }): Promise<Finding[]> => {
  const findings: Finding[] = [];
  const mailing = (await listShops(db)).filter((shop) => mailOf(shop) === 'key').map(({ name }) => name);
  if (mailing.length > 0 && mailingOf(config) === undefined) findings.push(mailOffFinding(mailing));
  const waiting = await countWaiting(db);
  if (waiting.length > 0) {
    const count = waiting.reduce((sum, { orders }) => sum + orders, 0);
    const unmapped = await listUnmapped(db, MOST_NAMED);
    const named = unmapped.map(({ shop, sku }) => `"${sku}" of ${shop}`).join(', ');
    findings.push(
      warning(
        'ORDERS_WAIT',
        `${quantity(count, 'order waits', 'orders wait')}, of ${waiting.map(({ shop }) => shop).join(', ')}.${named === '' ? '' : ` Not mapped: ${named}.`}`,
        {
          why: 'Customers paid, and have no licence.',
          remedy:
            '"licensing order list --waiting" says what each waits for, and "licensing shop map SHOP SKU --plan ID" maps an article.',
        },
        {
          what: `${quantity(count, 'Bestellung wartet', 'Bestellungen warten')}, von ${waiting.map(({ shop }) => shop).join(', ')}.${unmapped.length === 0 ? '' : ` Nicht zugeordnet: ${unmapped.map(({ shop, sku }) => `„${sku}“ von ${shop}`).join(', ')}.`}`,
          why: 'Kunden haben bezahlt und haben keine Lizenz.',
          remedy:
            '„licensing order list --waiting“ sagt, worauf jede wartet, und „licensing shop map SHOP SKU --plan ID“ ordnet einen Artikel zu.',
        },
      ),
    );
  }
  const silent = await findSilentShops(db, new Date(now().getTime() - DAY_MS));
  if (silent.length > 0)
    findings.push(
      warning(
        'SHOPS_SILENT',
        `No order has come yet from: ${silent.join(', ')}.`,
        {
          why: 'Each was set up more than a day ago. Its orders may not reach this service.',
          remedy: 'Place a test order (docs/shop.md), or remove the shop: licensing shop remove NAME',
        },
        {
          what: `Noch keine Bestellung kam von: ${silent.join(', ')}.`,
          why: 'Jeder davon wurde vor über einem Tag eingerichtet. Seine Bestellungen erreichen diesen Dienst vielleicht nicht.',
          remedy:
            'Geben Sie eine Testbestellung auf (docs/shop.md), oder entfernen Sie den Shop: licensing shop remove NAME',
        },
      ),
    );
  const withoutBilling = await findShopsWithoutBilling(db);
  if (withoutBilling.length > 0) findings.push(noBillingFinding(withoutBilling));
  for (const { shop, count } of await countUnmatched(db)) findings.push(unmatchedFinding(shop, count));
  for (const { shop, messages } of await countMessages(db, ['refused'], weekAgo(now())))
    findings.push(refusedFinding(shop, messages));
  return [...findings, ...(await refusedFindings(db, now()))];
};

/** Tells of receivers that refuse messages for their signature and take none. */
async function refusedFindings(db: Db, now: Date): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const shop of await listReceiverShops(db)) {
    const refused = await readRefused(db, shop.name, now);
    if (refused.isAlone && shop.secretSealed === null)
      findings.push(
        warning(
          'RECEIVER_NO_SECRET',
          `${quantity(refused.times, 'message', 'messages')} of ${shop.name} came, and it has no secret to verify them with.`,
          {
            why: 'Every message is refused. Most senders repeat one for some days.',
            remedy: `Give it the secret that the sender shows for this address: licensing shop edit ${shop.name} --secret-file FILE`,
          },
          {
            what: `${quantity(refused.times, 'Nachricht kam', 'Nachrichten kamen')} von ${shop.name}, und das Geheimnis fehlt, um sie zu prüfen.`,
            why: 'Jede Nachricht wird abgelehnt. Die meisten Absender wiederholen sie einige Tage lang.',
            remedy: `Geben Sie ihm das Geheimnis, das der Absender für diese Adresse zeigt: licensing shop edit ${shop.name} --secret-file FILE`,
          },
        ),
      );
    else if (refused.isAlone)
      findings.push(
        warning(
          'RECEIVER_REFUSES',
          `${shop.name}: ${quantity(refused.times, 'message was', 'messages were')} refused for their signature, none was taken: is it the secret of another address?`,
          {
            why: 'What they tell of payments and refunds has not happened to any licence.',
            remedy: `Compare it with the secret that the sender shows for this address: licensing shop edit ${shop.name} --secret-file FILE`,
          },
          {
            what: `${shop.name}: ${quantity(refused.times, 'Nachricht wurde', 'Nachrichten wurden')} wegen der Signatur abgelehnt, keine wurde angenommen: Gehört das Geheimnis zu einer anderen Adresse?`,
            why: 'Was sie von Zahlungen und Erstattungen melden, ist bei keiner Lizenz geschehen.',
            remedy: `Vergleichen Sie es mit dem Geheimnis, das der Absender für diese Adresse zeigt: licensing shop edit ${shop.name} --secret-file FILE`,
          },
        ),
      );
  }
  return findings;
}

function mailOffFinding(shops: string[]): Finding {
  return warning(
    'KEYS_NOT_MAILED',
    `Mail is not set up, and the orders of ${shops.slice(0, MOST_NAMED).join(', ')} are to be mailed their keys.`,
    {
      why: 'Who pays there gets no key.',
      remedy:
        'Set mail up (docs/mail.md). If the shop hands the keys out itself: licensing shop edit NAME --mail none',
    },
    {
      what: `Der Mailversand ist nicht eingerichtet, und für Bestellungen von ${shops.slice(0, MOST_NAMED).join(', ')} sollen die Schlüssel gemailt werden.`,
      why: 'Wer dort bezahlt, bekommt keinen Schlüssel.',
      remedy:
        'Richten Sie den Mailversand ein (docs/mail.md). Wenn der Shop die Schlüssel selbst ausgibt: licensing shop edit NAME --mail none',
    },
  );
}

function noBillingFinding(shops: string[]): Finding {
  return warning(
    'PAYMENTS_FAIL_UNTOLD',
    `Payments of subscriptions failed, and customers are not mailed where to pay: ${shops.join(', ')}.`,
    {
      why: 'Most of these subscriptions end although their customers want to keep them.',
      remedy: 'Say where customers change how they pay: licensing shop edit NAME --billing-url https://...',
    },
    {
      what: `Zahlungen von Abonnements sind fehlgeschlagen, und Kunden bekommen keine Mail, wo sie bezahlen können: ${shops.join(', ')}.`,
      why: 'Die meisten dieser Abonnements enden, obwohl die Kunden sie behalten wollen.',
      remedy:
        'Sagen Sie, wo Kunden ihre Zahlungsart ändern: licensing shop edit NAME --billing-url https://...',
    },
  );
}

function weekAgo(now: Date): Date {
  return new Date(now.getTime() - 7 * DAY_MS);
}

/** Until somebody acts, however long ago they came. */
function unmatchedFinding(shop: string, count: number): Finding {
  return warning(
    'MESSAGES_UNMATCHED',
    `${quantity(count, 'event', 'events')} of ${shop} ${count === 1 ? 'is' : 'are'} about money, and belong${count === 1 ? 's' : ''} to no order, line or payment that is known.`,
    {
      why: 'A renewal, a change or a refund may be of an order from before the shop was set up: its licence stays as it is.',
      remedy: `"licensing unmatched list --shop ${shop}" lists them. Then, for each: licensing unmatched assign ID --license ID, or issue, or leave (docs/shop.md).`,
    },
    {
      what: `${quantity(count, 'Ereignis', 'Ereignisse')} von ${shop} ${count === 1 ? 'betrifft' : 'betreffen'} Geld, und keine Bestellung, Position oder Zahlung dazu ist bekannt.`,
      why: 'Eine Verlängerung, ein Wechsel oder eine Erstattung kann zu einer Bestellung gehören, die älter ist als der Shop hier: Ihre Lizenz bleibt, wie sie ist.',
      remedy: `„licensing unmatched list --shop ${shop}“ zeigt sie. Dann für jedes: licensing unmatched assign ID --license ID, oder issue, oder leave (docs/shop.md).`,
    },
  );
}

function refusedFinding(shop: string, count: number): Finding {
  return warning(
    'MESSAGES_REFUSED',
    `${quantity(count, 'message', 'messages')} of ${shop} in the last week could not be stored.`,
    {
      why: 'What they tell has not happened to any licence.',
      remedy: `"licensing shop messages ${shop} --result refused" lists them. The reason says what is wrong with each.`,
    },
    {
      what: `${quantity(count, 'Nachricht', 'Nachrichten')} von ${shop} aus der letzten Woche ${count === 1 ? 'konnte' : 'konnten'} nicht gespeichert werden.`,
      why: 'Was sie melden, ist bei keiner Lizenz geschehen.',
      remedy: `„licensing shop messages ${shop} --result refused“ zeigt sie. Der Grund sagt, was an jeder nicht stimmt.`,
    },
  );
}

/** Tells of receivers whose secret cannot be opened. */
export const checkReceivers: Check = async ({ db, config: { keySecret } }): Promise<Finding[]> => {
  const shut = (await listReceiverShops(db)).filter(
    (shop) => shop.secretSealed !== null && !opensSecret(shop, keySecret),
  );
  if (shut.length === 0) return [];
  const names = shut.map(({ name }) => name).join(', ');
  return [
    problem(
      'RECEIVER_SECRET',
      `The secret of these receivers cannot be opened: ${names}.`,
      {
        why: 'LICENSING_KEY_SECRET is not set, or is another than the one that sealed them. Their messages are refused.',
        remedy:
          'Set the one they were added with, or give each its secret again: licensing shop edit NAME --secret-file FILE',
      },
      {
        what: `Das Geheimnis dieser Empfänger lässt sich nicht öffnen: ${names}.`,
        why: 'LICENSING_KEY_SECRET ist nicht gesetzt oder ein anderes als das, das sie versiegelt hat. Ihre Nachrichten werden abgelehnt.',
        remedy:
          'Setzen Sie das, mit dem sie hinzugefügt wurden, oder geben Sie jedem sein Geheimnis noch einmal: licensing shop edit NAME --secret-file FILE',
      },
    ),
  ];
};
