import type { NextPayment } from '../../../licensing/core/states';
import { KEY_LENGTH, type CustomerSentences } from '../sentences';
import { capitalized } from '../../case';
import { german, thing } from './words';

/** The sentences of the customer's page, in German. Joomla's messages stay in English, as Joomla writes them. */
export const sentences: CustomerSentences = {
  kind: (type) => thing(type).many,
  standing: {
    ACTIVE: ({ until, nextPayment }) => `Ihre Lizenz ${valid(until, nextPayment)}. Updates funktionieren.`,
    FULL: ({ until, nextPayment, limit, activationType }) => {
      return limit === 1
        ? `Ihre Lizenz ${valid(until, nextPayment)}. Updates funktionieren. ${theOnly(activationType)} ist belegt.`
        : `Alle ${german.number(limit)} ${thing(activationType).many} sind belegt. Updates funktionieren, aber ${aNew(activationType)} wird abgelehnt, bis ein Platz frei wird.`;
    },
    EXPIRED: ({ endedAt }) =>
      endedAt === null
        ? 'Ihre Lizenz ist abgelaufen.'
        : `Ihre Lizenz ist am ${german.day(endedAt)} abgelaufen.`,
    SUSPENDED: () => 'Ihre Lizenz ist ausgesetzt. Bitte fragen Sie den Anbieter.',
    WITHDRAWN: () => 'Diese Lizenz wurde vom Anbieter entzogen.',
  },
  meaning: {
    ACTIVE: null,
    FULL: ({ limit, activationType }) =>
      limit === 1 ? `Bevor ${aNew(activationType)} hinzukommt, muss der Platz frei werden.` : null,
    EXPIRED: () =>
      'Deshalb meldet Joomla beim Update „Error connecting to the server: 403“. An Ihrer Website hat sich nichts geändert. Nach der Verlängerung funktionieren Updates sofort wieder, mit demselben Schlüssel.',
    SUSPENDED: () =>
      'Bis der Anbieter sie wieder freigibt, meldet Joomla beim Update „Error connecting to the server: 403“. An Ihrer Website hat sich nichts geändert.',
    WITHDRAWN: () =>
      'Joomla meldet beim Update „Error connecting to the server: 403“. Die Erweiterung bleibt auf Ihrer Website installiert.',
  },
  keyEnded: ({ endedAt }) =>
    `Dieser Schlüssel gilt seit dem ${german.day(endedAt)} nicht mehr. Bitte verwenden Sie den neuen, oder fragen Sie, von wem Sie diesen Schlüssel haben.`,
  endsIn: ({ days }) => inDays(days),
  keyEnds: ({ endsAt }) =>
    `Dieser Schlüssel gilt bis ${german.day(endsAt)}. Bitte wechseln Sie vorher zum neuen Schlüssel.`,
  unknownKey: ({ length }) =>
    length === KEY_LENGTH
      ? 'Keine Lizenz hat diesen Schlüssel. Bitte kopieren Sie ihn noch einmal vollständig.'
      : `Keine Lizenz hat diesen Schlüssel. Bitte kopieren Sie ihn noch einmal vollständig: Dieser hat ${length} Zeichen.`,
  used: ({ limit, used }) =>
    limit === 0
      ? `${german.number(used)} belegt, unbegrenzt`
      : `${german.number(used)} von ${german.number(limit)} belegt`,
  whyNot: {
    LICENSE_EXPIRED: 'Nach Verlängerung',
    LICENSE_INACTIVE: 'Nicht mit dieser Lizenz',
    PRODUCT_MISMATCH: 'Nicht Teil dieser Lizenz',
    DOWNLOAD_NOT_FOUND: 'Wird nicht mehr angeboten',
    FILE_NOT_FOUND: 'Im Moment nicht verfügbar',
    LICENSE_NOT_FOUND: 'Nicht mit diesem Schlüssel',
    ACTIVATION_NOT_FOUND: 'Nicht mit diesem Schlüssel',
    ACTIVATION_HELD: 'Nicht verfügbar',
    ACTIVATION_LIMIT_REACHED: 'Nicht mit diesem Schlüssel',
    INVALID_REQUEST: 'Nicht verfügbar',
  },
  coversUntil: ({ endedAt }) =>
    `Ihre Lizenz umfasst alle Versionen, die bis ${german.day(endedAt)} erschienen sind.`,
  attention: {
    ENDS_SOON: ({ product, endsAt, days }) => {
      if (endsAt === null) return `${product} läuft bald ab.`;
      return `${product} läuft ${inDays(days)} ab, am ${german.day(endsAt)}. Bis dahin ändert sich nichts.`;
    },
    ENDED: ({ product, endsAt }) =>
      `${product} ist${endsAt === null ? '' : ` am ${german.day(endsAt)}`} abgelaufen. Updates werden abgelehnt, bis die Lizenz verlängert ist.`,
    FULL: ({ product, limit, activationType }) => {
      return limit === 1
        ? `${product}: ${theOnly(activationType)} dieser Lizenz ist belegt.`
        : `${product}: Alle ${german.number(limit)} ${thing(activationType).many} sind belegt.`;
    },
  },
  removalsLeft: ({ allowed, left, nextAt, activationType }) => {
    const { many, one } = thing(activationType);
    if (allowed === 0) return `${many} kann nur der Anbieter entfernen.`;
    if (nextAt === null)
      return `Sie können innerhalb von 30 Tagen ${german.number(left)} ${left === 1 ? one : many} entfernen.`;
    return left === 0
      ? `Ab ${german.day(nextAt)} können Sie wieder ${thing(activationType).many} entfernen.`
      : `Sie können bis ${german.day(nextAt)} noch ${german.number(left)} ${left === 1 ? one : many} entfernen.`;
  },
  noMovesLeft: ({ allowed, nextAt, activationType }) => {
    const { many, one } = thing(activationType);
    return allowed === 0 || nextAt === null
      ? `${many} kann nur der Anbieter entfernen. Bitte fragen Sie ihn.`
      : `Sie haben innerhalb von 30 Tagen ${german.number(allowed)} ${allowed === 1 ? one : many} entfernt. Ab ${german.day(nextAt)} ist es wieder möglich, oder Sie fragen den Anbieter.`;
  },
  siteHeld: ({ heldUntil, activationType }) =>
    `Für ${thing(activationType).one} gibt es eine Datei, mit der die Lizenz bis ${german.day(heldUntil)} ohne Netz gilt. Das Entfernen ist nach diesem Tag möglich, oder vorher durch den Anbieter.`,
  siteRemoved: ({ site }) => `${site} ist entfernt. Um sie wieder zu nutzen, aktivieren Sie die Lizenz dort.`,
  keyChanged: ({ oldEndsAt }) =>
    oldEndsAt === null
      ? 'Das ist der neue Schlüssel. Der alte gilt nicht mehr: Jede Website braucht für das nächste Update den neuen.'
      : `Das ist der neue Schlüssel. Der alte gilt bis ${german.day(oldEndsAt)}: Jede Website braucht vorher den neuen.`,
  keyNotKept:
    'Dieser Schlüssel wurde nicht gespeichert und kann nicht angezeigt werden. Sie können ihn durch einen neuen ersetzen.',
  runs: ({ endsAt, hasEnded }) => `${hasEnded ? 'abgelaufen am' : 'gültig bis'} ${german.day(endsAt)}`,
  mailButtons: { my_url: 'Meine Lizenzen', renew_url: 'Verlängern', billing_url: 'Bezahlen', link: 'Öffnen' },
  thanks: { title: 'Ihre Lizenz', key: 'Lizenzschlüssel' },
};

/** Returns the beginning of a sentence. */
function theOnly(activationType: string): string {
  const { der, one } = thing(activationType);
  return `${capitalized(der)} einzige ${one}`;
}

function aNew(activationType: string): string {
  const { ein, er, one } = thing(activationType);
  return `${ein} neu${er} ${one}`;
}

function valid(until: Date | null, nextPayment: NextPayment): string {
  if (until === null) return 'gilt unbefristet';
  const day = german.day(until);
  if (nextPayment === 'awaited') return `ist bis ${day} bezahlt, und ihre Verlängerung wird erwartet`;
  return nextPayment === 'by_itself'
    ? `ist bis ${day} bezahlt und verlängert sich von selbst`
    : `ist gültig bis ${day}`;
}

function inDays(days: number): string {
  return `in ${days} ${days === 1 ? 'Tag' : 'Tagen'}`;
}
