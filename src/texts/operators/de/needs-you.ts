import type { needsYou as en } from '../en/needs-you';
import type { Translated } from '../../translated';

/** The action items, and why requests were refused. In German. */
export const needsYou: Translated<typeof en> = {
  notOffered: (product, version) =>
    `${product} ${version} ist veröffentlicht, wird den Websites der Kunden aber nicht angeboten.`,
  refused: (count, written, more) =>
    `${more ? 'Mehr als ' : ''}${written} ${count === 1 ? 'Lizenz, die in den letzten 7 Tagen abgelehnt wurde, würde' : 'Lizenzen, die in den letzten 7 Tagen abgelehnt wurden, würden'} auch jetzt abgelehnt.`,
  byCode: {
    EXPIRED: (count, written) => `${written} ${count === 1 ? 'ist' : 'sind'} abgelaufen`,
    SUSPENDED: (count, written) => `${written} ${count === 1 ? 'ist' : 'sind'} ausgesetzt`,
    REVOKED: (count, written) => `${written} ${count === 1 ? 'ist' : 'sind'} entzogen`,
    CANCELLED: (count, written) => `${written} ${count === 1 ? 'ist' : 'sind'} storniert`,
    SLOTS_FULL: (count, written) => `${written} ${count === 1 ? 'hat' : 'haben'} keinen freien Platz`,
  },
  failed: (count, written) =>
    `${written} ${count === 1 ? 'Bestellung konnte nicht verarbeitet werden und wird' : 'Bestellungen konnten nicht verarbeitet werden und werden'} noch einmal versucht.`,
  orders: (count, written) =>
    `${written} ${count === 1 ? 'Bestellung wartet' : 'Bestellungen warten'}: bezahlt, und noch keine Lizenz.`,
  without_address: (count, written) =>
    `${written} bezahlte ${count === 1 ? 'Bestellung hat' : 'Bestellungen haben'} keine E-Mail-Adresse: Es ging kein Schlüssel hinaus.`,
  unmatched: (count, written) =>
    `${written} ${count === 1 ? 'Zahlung passt' : 'Zahlungen passen'} zu keiner Bestellung.`,
  disputed: (count, written) =>
    count === 1
      ? '1 Lizenz ist ausgesetzt, weil ihre Zahlung zurückgebucht wurde.'
      : `${written} Lizenzen sind ausgesetzt, weil ihre Zahlungen zurückgebucht wurden.`,
  spreading: (count, written) =>
    `${written} ${count === 1 ? 'Schlüssel wird' : 'Schlüssel werden'} vermutlich geteilt.`,
  mails: (count, written) => `${written} ${count === 1 ? 'Mail wurde' : 'Mails wurden'} nicht zugestellt.`,
  webhooks: (count, written) =>
    `${written} ${count === 1 ? 'Empfänger von Webhooks wurde' : 'Empfänger von Webhooks wurden'} angehalten.`,
  reasons: {
    LICENSE_NOT_FOUND: 'Schlüssel unbekannt oder vertippt',
    LICENSE_EXPIRED: 'Lizenz abgelaufen',
    LICENSE_INACTIVE: 'Lizenz ausgesetzt, entzogen oder storniert',
    ACTIVATION_LIMIT_REACHED: 'Kein freier Platz',
    ACTIVATION_NOT_FOUND: 'Website ist nicht belegt',
    ACTIVATION_HELD: 'Website läuft ohne Netz',
    PRODUCT_MISMATCH: 'Schlüssel eines anderen Produkts',
    DOWNLOAD_NOT_FOUND: 'Version ist nicht veröffentlicht',
    FILE_NOT_FOUND: 'Paket fehlt',
    INVALID_REQUEST: 'Kein Schlüssel oder fehlerhafte Anfrage',
    RATE_LIMITED: 'Zu viele Anfragen',
    OMITTED: 'Viele verschiedene Ablehnungen von einer Adresse',
    OTHER: 'Anderer Grund',
  },
};
