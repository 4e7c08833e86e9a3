import type { licenses as en } from '../en/licenses';
import type { Translated } from '../../translated';
import { counted } from '../../case';
import { many } from './common';

/** The list of licences, and manual sales. In German. */
export const licenses: Translated<typeof en> = {
  title: 'Lizenzen',
  issue: 'Lizenz ausstellen',
  quick: 'Häufige Filter',
  quickAll: 'Alle',
  quickActive: 'Aktiv',
  quickEnding: 'Enden in 30 Tagen',
  quickExpired: 'Abgelaufen',
  quickSuspended: 'Ausgesetzt',
  quickRefused: 'Diese Woche abgelehnt',
  filters: 'Lizenzen filtern',
  q: 'Name, E-Mail, Bestellung, Website oder Ende des Schlüssels',
  product: 'Produkt',
  plan: 'Tarif',
  status: 'Status',
  ends: 'Gültig bis',
  anyTime: 'Beliebig',
  within: (days) => `In ${days} Tagen`,
  filteredBy: (name, value) => `${name}: ${value}`,
  names: {
    customer: 'Kunde',
    reference: 'Bestellung',
    hint: 'Schlüssel endet auf',
    refused: 'Abgelehnt im Zeitraum',
    covers: 'Deckt ab',
    issued_since: 'Verkauft seit',
    suspended_by: 'Grund der Aussetzung',
  },
  orders: {
    '-id': 'Neueste zuerst',
    id: 'Älteste zuerst',
    customer: 'Kunden A bis Z',
    '-customer': 'Kunden Z bis A',
    expires_at: 'Nächster Ablauf zuerst',
    '-expires_at': 'Spätester Ablauf zuerst',
  },
  shownOf: (count, total) => `${count} von ${total} gezeigt.`,
  bulk: {
    select: (license) => `${license} auswählen`,
    label: 'Was mit den ausgewählten Lizenzen geschehen soll',
    selected: 'ausgewählt',
    all: (count) => `alle ${count} dieser Seite`,
    found: (count) => `alle ${count} dieser Liste`,
    suspend: 'Aussetzen…',
    mail: 'Schlüssel senden…',
    export: 'Exportieren',
    back: 'Zurück zu den Lizenzen',
    csvName: 'ausgewaehlte-lizenzen.csv',
    caption: (count, all) =>
      count === all ? `Ihre Auswahl. ${count} gezeigt.` : `Ihre Auswahl. ${count} von ${all} gezeigt.`,
    what: 'Was geschieht',
    suspendTitle: (count, written) =>
      count === 1 ? '1 Lizenz aussetzen?' : `${written} Lizenzen aussetzen?`,
    mailTitle: (count, written) => (count === 1 ? '1 Schlüssel senden?' : `${written} Schlüssel senden?`),
    willSuspend: (count, written) =>
      count === 1
        ? '1 Lizenz wird ausgesetzt: Updates, Downloads und neue Websites werden abgelehnt, bis Sie sie freigeben.'
        : `${written} Lizenzen werden ausgesetzt: Updates, Downloads und neue Websites werden abgelehnt, bis Sie sie freigeben.`,
    willMail: (count, written) =>
      count === 1
        ? '1 Kunde bekommt eine Mail mit dem Schlüssel.'
        : `${written} Mails mit einem Schlüssel gehen an Kunden.`,
    noMail: 'Kunden bekommen darüber keine Mail.',
    suspended: (count, written) =>
      count === 1
        ? '1 ist bereits ausgesetzt und bleibt es.'
        : `${written} sind bereits ausgesetzt und bleiben es.`,
    final: (count, written) =>
      count === 1
        ? '1 ist entzogen oder storniert und bleibt es.'
        : `${written} sind entzogen oder storniert und bleiben es.`,
    unmailable: (count, written) =>
      count === 1
        ? '1 bekommt keine Mail: ohne Adresse, oder der Schlüssel ist nicht aufbewahrt.'
        : `${written} bekommen keine Mail: ohne Adresse, oder der Schlüssel ist nicht aufbewahrt.`,
    suspends: 'Wird ausgesetzt',
    mails: 'Bekommt eine Mail',
    stays: 'Bleibt',
    suspendSubmit: 'Aussetzen',
    mailSubmit: 'Senden',
    suspendedTitle: (count, written) =>
      count === 1 ? '1 Lizenz wurde ausgesetzt' : `${written} Lizenzen wurden ausgesetzt`,
    mailedTitle: (count, written) =>
      count === 1 ? '1 Schlüssel ist unterwegs' : `${written} Schlüssel sind unterwegs`,
    left: 'Unverändert',
    leftAbout:
      'Diese Lizenzen haben sich geändert, nachdem Sie sie ausgewählt hatten, deshalb geschah nichts mit ihnen. Sehen Sie sie an, und wählen Sie sie noch einmal aus.',
    leftCaption: (count, all) =>
      count === all
        ? `Inzwischen geändert. ${count} gezeigt.`
        : `Inzwischen geändert. ${count} von ${all} gezeigt.`,
    soFar: (count, all) => `${count} von ${all} erledigt`,
    goesOn: (count) => `Noch offen: ${count}. Folgen die nächsten nicht von selbst, fahren Sie bitte fort.`,
    goOn: 'Fortfahren',
    goingOn: 'Es geht weiter...',
    stopHere: 'Hier aufhören',
    allDone: 'Keine der ausgewählten Lizenzen hatte sich inzwischen geändert.',
  },
  columns: {
    status: 'Status',
    customer: 'Kunde',
    plan: 'Produkt · Tarif',
    slots: 'Plätze',
    ends: 'Gültig bis',
    hint: 'Schlüssel endet auf',
    order: 'Bestellung',
    id: 'ID',
  },
  slots: (used, limit) => `${used} / ${limit}`,
  noCustomer: 'keine E-Mail',
  noMatch: 'Keine Lizenz passt.',
  none: 'Noch keine Lizenz. Stellen Sie sich selbst eine aus und probieren Sie sie, oder ziehen Sie Ihre Lizenzen um.',
  noneIssue: 'Lizenz ausstellen',
  noneImport: 'Umziehen',
  csvName: 'lizenzen.csv',
  issuePage: {
    title: 'Lizenz ausstellen',
    noPlan:
      'Es gibt noch keinen Tarif. Ein Tarif sagt, wie viele Websites eine Lizenz hat und wie lange sie läuft.',
    makePlan: 'Das erste Produkt und den ersten Tarif anlegen',
    plan: 'Tarif',
    grants: (slots, what, duration) => `${many(slots)} ${what}, ${duration}`,
    customer: 'E-Mail des Kunden',
    customerHint:
      'Ohne sie wird die Lizenz nur über Bestellung oder ID gefunden, und keine Mail kann gesendet werden.',
    order: 'Bestellung',
    orderHint: 'Die Nummer in Ihrem Shop. Dieselbe Bestellung ergibt wieder dieselbe Lizenz.',
    send: 'Den Schlüssel dem Kunden mailen',
    sendHint: 'Mit dem ersten Download, und wo der Schlüssel in Joomla hingehört.',
    more: 'Ende, Plätze, eigener Schlüssel, mehrere',
    expires: 'Gültig bis',
    expiresHint: 'Dieser ganze Tag, UTC. Leer: wie der Tarif sagt.',
    lifetime: 'Unbefristet',
    slots: 'Plätze',
    slotsHint: 'Leer: wie der Tarif sagt. 0: unbegrenzt.',
    key: 'Eigener Schlüssel',
    keyHint: 'Nur für Schlüssel, die anderswo verkauft wurden. Leer: ein neuer wird gemacht.',
    count: 'Wie viele',
    countHint: 'Mehrere Lizenzen auf einmal, ohne Bestellung und eigenen Schlüssel.',
    submit: 'Ausstellen',
    busy: 'Wird ausgestellt...',
    doneTitle: 'Die Lizenz ist ausgestellt',
    doneAgain: 'Diese Bestellung hat ihre Lizenz schon',
    doneMany: (count) => `${counted(count, 'Lizenz ist', 'Lizenzen sind')} ausgestellt`,
    key1: 'Lizenzschlüssel',
    notKept:
      'Kopieren Sie den Schlüssel jetzt. Er kann nicht noch einmal gezeigt werden, weil dieser Dienst keine Schlüssel aufbewahrt. Der Doktor sagt, wie sich das ändern lässt.',
    kept: 'Der Schlüssel kann auf der Seite der Lizenz wieder angezeigt werden.',
    notShown:
      'Der Schlüssel wurde nicht aufbewahrt und kann nicht gezeigt werden. Ist er verloren, machen Sie auf der Seite der Lizenz einen neuen.',
    forCustomer: 'Text für den Kunden',
    ended: (day) =>
      `Die Lizenz endete am ${day}: Updates und neue Websites werden abgelehnt, bis sie verlängert ist.`,
    mailQueued: (customer) => `Die Mail mit dem Schlüssel ist unterwegs an ${customer}.`,
    mailSent: (customer) => `Die Mail mit dem Schlüssel ging an ${customer}.`,
    mailFailed: (customer) => `Die Mail mit dem Schlüssel konnte ${customer} nicht zugestellt werden.`,
    noMail: 'Es ging keine Mail. Geben Sie dem Kunden den Schlüssel selbst.',
    letter: (product, key, enterKey) =>
      `Guten Tag,\n\nvielen Dank für den Kauf von ${product}. Das ist Ihr Lizenzschlüssel:\n\n${key}\n\n${enterKey} Von da an gehen die Updates.\n\nFreundliche Grüße`,
    letterEnded: (product, key, day) =>
      `Guten Tag,\n\ndas ist Ihr Lizenzschlüssel für ${product}:\n\n${key}\n\nDie Lizenz endete am ${day}. Nach einer Verlängerung gehen Updates mit diesem Schlüssel.\n\nFreundliche Grüße`,
    toLicense: 'Die Lizenz öffnen',
    another: 'Noch eine ausstellen',
    table: 'Die ausgestellten Lizenzen, in der Reihenfolge ihrer IDs.',
  },
};
