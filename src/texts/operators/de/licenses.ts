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
  quickEnding: 'Laufen in 30 Tagen ab',
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
        : `${written} Mails mit einem Schlüssel werden an Kunden gesendet.`,
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
        ? '1 bekommt keine Mail: Die Adresse fehlt, oder der Schlüssel ist nicht gespeichert.'
        : `${written} bekommen keine Mail: Die Adresse fehlt, oder der Schlüssel ist nicht gespeichert.`,
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
      'Diese Lizenzen haben sich geändert, nachdem Sie sie ausgewählt hatten, deshalb wurden sie ausgelassen. Sehen Sie sie an, und wählen Sie sie noch einmal aus.',
    leftCaption: (count, all) =>
      count === all
        ? `Inzwischen geändert. ${count} gezeigt.`
        : `Inzwischen geändert. ${count} von ${all} gezeigt.`,
    soFar: (count, all) => `${count} von ${all} erledigt`,
    goesOn: (count) =>
      `Noch offen: ${count}. Folgen die nächsten nicht von selbst, drücken Sie „Fortfahren“.`,
    goOn: 'Fortfahren',
    goingOn: 'Wird fortgesetzt...',
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
  noCustomer: 'keine E-Mail',
  noMatch: 'Keine Lizenz gefunden.',
  none: 'Noch keine Lizenz. Stellen Sie sich selbst eine zum Ausprobieren aus, oder ziehen Sie mit Ihren Lizenzen um.',
  noneIssue: 'Lizenz ausstellen',
  noneImport: 'Umziehen',
  csvName: 'lizenzen.csv',
  issuePage: {
    title: 'Lizenz ausstellen',
    noPlan:
      'Noch kein Tarif. Ein Tarif legt fest, wie viele Websites eine Lizenz hat und wie lange sie läuft.',
    makePlan: 'Das erste Produkt und den ersten Tarif anlegen',
    plan: 'Tarif',
    grants: (slots, what, duration) => `${many(slots)} ${what}, ${duration}`,
    customer: 'E-Mail des Kunden',
    customerHint:
      'Ohne sie finden Sie die Lizenz nur über Bestellung oder Nummer, und es kann keine Mail gesendet werden.',
    order: 'Bestellung',
    orderHint: 'Die Nummer in Ihrem Shop. Dieselbe Bestellung ergibt wieder dieselbe Lizenz.',
    send: 'Schlüssel per Mail an den Kunden senden',
    sendHint: 'Mit dem ersten Download und der Anleitung, wo der Schlüssel in Joomla einzutragen ist.',
    more: 'Ende, Plätze, eigener Schlüssel, mehrere',
    expires: 'Gültig bis',
    expiresHint: 'Bis zum Ende dieses Tages, in UTC. Leer: wie im Tarif.',
    lifetime: 'Unbefristet',
    slots: 'Plätze',
    slotsHint: 'Leer: wie im Tarif. 0: unbegrenzt.',
    key: 'Eigener Schlüssel',
    keyHint: 'Nur für Schlüssel, die anderswo verkauft wurden. Leer: Ein neuer wird erstellt.',
    count: 'Anzahl der Lizenzen',
    countHint: 'Mehrere Lizenzen auf einmal, ohne Bestellung und eigenen Schlüssel.',
    submit: 'Ausstellen',
    busy: 'Wird ausgestellt...',
    doneTitle: 'Die Lizenz ist ausgestellt',
    doneAgain: 'Diese Bestellung hat ihre Lizenz schon',
    doneMany: (count) => `${counted(count, 'Lizenz ist', 'Lizenzen sind')} ausgestellt`,
    key1: 'Lizenzschlüssel',
    notKept:
      'Kopieren Sie den Schlüssel jetzt. Er kann nicht noch einmal angezeigt werden, weil dieser Dienst keine Schlüssel aufbewahrt. Die Systemprüfung zeigt, wie sich das ändern lässt.',
    kept: 'Der Schlüssel kann auf der Seite der Lizenz wieder angezeigt werden.',
    notShown:
      'Der Schlüssel wurde nicht aufbewahrt und kann nicht angezeigt werden. Ist er verloren, erstellen Sie auf der Seite der Lizenz einen neuen.',
    forCustomer: 'Text für den Kunden',
    ended: (day) =>
      `Die Lizenz ist am ${day} abgelaufen: Updates und neue Websites werden abgelehnt, bis sie verlängert ist.`,
    mailQueued: (customer) => `Die Mail mit dem Schlüssel ist unterwegs an ${customer}.`,
    mailSent: (customer) => `Die Mail mit dem Schlüssel wurde an ${customer} gesendet.`,
    mailFailed: (customer) => `Die Mail mit dem Schlüssel konnte ${customer} nicht zugestellt werden.`,
    noMail: 'Es wurde keine Mail gesendet. Geben Sie dem Kunden den Schlüssel selbst.',
    letter: (product, key, enterKey) =>
      `Guten Tag,\n\nvielen Dank für den Kauf von ${product}. Das ist Ihr Lizenzschlüssel:\n\n${key}\n\n${enterKey} Danach funktionieren die Updates.\n\nFreundliche Grüße`,
    letterEnded: (product, key, day) =>
      `Guten Tag,\n\ndas ist Ihr Lizenzschlüssel für ${product}:\n\n${key}\n\nDie Lizenz ist am ${day} abgelaufen. Nach einer Verlängerung funktionieren Updates mit diesem Schlüssel.\n\nFreundliche Grüße`,
    toLicense: 'Die Lizenz öffnen',
    another: 'Noch eine ausstellen',
    table: 'Die ausgestellten Lizenzen, nach Nummer.',
  },
};
