import type { customers as en } from '../en/customers';
import type { Translated } from '../../translated';

export const customers: Translated<typeof en> = {
  title: 'Kunden',
  filters: 'Kunden suchen',
  q: 'Anfang der E-Mail',
  caption: (count) => `Nach E-Mail. ${count} gezeigt.`,
  columns: { email: 'E-Mail', licenses: 'Lizenzen', nextEnd: 'Nächstes Ende' },
  noMatch: 'Keine E-Mail eines Kunden beginnt so.',
  none: 'Noch kein Kunde. Ein Kunde steht hier, sobald eine Lizenz eine E-Mail hat.',
  issue: 'Eine Lizenz ausstellen',
  csvName: 'kunden.csv',
  one: {
    export: 'Exportieren',
    erase: 'Daten löschen',
    licenses: 'Lizenzen',
    licensesCaption: (count) => `Nach ID. ${count} gezeigt.`,
    noLicense: 'Dieser Kunde hat keine eigene Lizenz.',
    seats: 'Plätze auf Lizenzen anderer',
    seatsCaption: 'Nach Lizenz.',
    seatColumns: { identifier: 'Platz', label: 'Bezeichnung', since: 'Seit', license: 'Lizenz' },
    requests: 'Anfragen',
    noRequest: 'Mit einer Lizenz dieses Kunden ist keine Anfrage aufgezeichnet.',
    exportName: 'kunde',
    keys: 'Schlüssel',
    keysCaption: 'Nach Lizenz.',
    keyEnd: 'Ende des Schlüssels',
    sections: {
      orders: 'Bestellungen',
      messages: 'Nachrichten von Shops',
      links: 'Kennungen bei Shops',
      mails: 'Mails',
      webhooks: 'Webhooks',
      receivers: 'Empfänger von Webhooks',
      sessions: 'Sitzungen',
      sign_in_links: 'Unbenutzte Anmeldelinks',
      link_requests: 'Anfragen nach einem Link',
      operators: 'Betreiber',
    },
    storedCaption: 'Nach ID, höchstens 50. Der Export enthält alles.',
    storedColumns: { what: 'Was', all: 'Gespeichert', open: 'Alles anzeigen' },
    elsewhere:
      'Der Export enthält auch den Verlauf und alle anderen Stellen, an denen die E-Mail-Adresse vorkommt.',
  },
  erasePage: {
    title: (customer) => `Daten von ${customer} löschen?`,
    licenses: (count, written) =>
      count === 0
        ? 'Auf diesen Namen gibt es keine Lizenz.'
        : `${written} ${count === 1 ? 'Lizenz wirkt' : 'Lizenzen wirken'} ohne Namen weiter. Plätze und Websites bleiben.`,
    rows: (requests, writtenRequests, changes, writtenChanges) =>
      `${writtenRequests} ${requests === 1 ? 'Anfrage' : 'Anfragen'} und ${writtenChanges} ${changes === 1 ? 'Änderung' : 'Änderungen'} verlieren E-Mail und IP.`,
    noMail: 'Es kann keine Mail mehr gesendet werden.',
    backups: 'Was Sicherungen und frühere Exporte enthalten, wird nicht gelöscht.',
    final: 'Das lässt sich nicht zurücknehmen.',
    exportFirst: 'Zuerst exportieren',
    confirm: 'Geben Sie zur Bestätigung die E-Mail ein',
    wrong: 'Das ist nicht die E-Mail dieses Kunden. Nichts wurde gelöscht.',
    again: 'Liegt Ihre Anmeldung über eine Stunde zurück, melden Sie sich dafür neu an.',
    submit: 'Daten löschen',
    busy: 'Wird gelöscht...',
    back: 'Daten behalten',
  },
};
