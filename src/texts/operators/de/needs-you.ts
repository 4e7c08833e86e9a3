import type { needsYou as en } from '../en/needs-you';
import type { Translated } from '../../translated';

/** The action items, and why requests were refused. In German. */
export const needsYou: Translated<typeof en> = {
  notOffered: (product, version) =>
    `${product} ${version} ist veröffentlicht, wird den Websites der Kunden aber nicht angeboten.`,
  refused: (count, written, more) =>
    `${more ? 'Mehr als ' : ''}${written} ${count === 1 ? 'Lizenz bekommt' : 'Lizenzen bekommen'} zurzeit keine Updates oder keine neuen Websites.`,
  byCode: {
    EXPIRED: (count, written) => `${written} ${count === 1 ? 'ist' : 'sind'} abgelaufen`,
    SUSPENDED: (count, written) => `${written} ${count === 1 ? 'ist' : 'sind'} ausgesetzt`,
    REVOKED: (count, written) => `${written} ${count === 1 ? 'ist' : 'sind'} entzogen`,
    CANCELLED: (count, written) => `${written} ${count === 1 ? 'ist' : 'sind'} storniert`,
    SLOTS_FULL: (count, written) => `${written} ${count === 1 ? 'hat' : 'haben'} keinen freien Platz`,
  },
  failed: (count, written) =>
    `${written} ${count === 1 ? 'Bestellung konnte' : 'Bestellungen konnten'} nicht verarbeitet werden. Der Dienst versucht es weiter.`,
  orders: (count, written) =>
    `${written} ${count === 1 ? 'Bestellung ist bezahlt, hat' : 'Bestellungen sind bezahlt, haben'} aber noch keine Lizenz.`,
  without_address: (count, written) =>
    `${written} bezahlte ${count === 1 ? 'Bestellung hat' : 'Bestellungen haben'} keine E-Mail-Adresse. Der Schlüssel wurde nicht gesendet.`,
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
    `${written} ${count === 1 ? 'Webhook ist' : 'Webhooks sind'} abgeschaltet: Die Gegenstelle nimmt nichts an.`,
  reasons: {
    LICENSE_NOT_FOUND: 'Schlüssel unbekannt oder vertippt',
    LICENSE_EXPIRED: 'Lizenz abgelaufen',
    LICENSE_INACTIVE: 'Lizenz ausgesetzt, entzogen oder storniert',
    ACTIVATION_LIMIT_REACHED: 'Kein freier Platz',
    ACTIVATION_NOT_FOUND: 'Website ist nicht aktiviert',
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
