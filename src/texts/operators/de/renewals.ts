import type { renewals as en } from '../en/renewals';
import type { Translated } from '../../translated';
import { counted } from '../../case';

export const renewals: Translated<typeof en> = {
  title: 'Verlängerungen',
  product: 'Produkt',
  plan: 'Tarif',
  filters: 'Verlängerungen filtern',
  planOf: (product, plan) => `${product} · ${plan}`,
  notRenewedButton: 'Nicht verlängert',
  rate: (ended, renewed, from, to, share) =>
    `Von ${from} bis ${to} abgelaufene Lizenzen: ${ended}. Davon verlängert: ${renewed}${share === undefined ? '' : ` (${share} %)`}.`,
  noneFinal:
    'Noch ist kein Monat endgültig: Eine Lizenz, die in den letzten 30 Tagen abgelaufen ist, kann noch verlängert werden.',
  none: 'In den letzten zwölf Monaten ist keine Lizenz abgelaufen, und in den nächsten zwölf läuft keine ab. Eine Lizenz läuft ab, wenn ihr Tarif eine Laufzeit hat oder Sie ihr ein Ende geben.',
  noneLink: 'Die Tarife ansehen',
  months: {
    title: 'Wie viele Lizenzen werden verlängert?',
    about: 'Zwölf Monate',
    month: 'Monat',
    ended: 'Abge\u00adlaufen',
    inTime: 'Recht\u00adzeitig',
    late: 'Binnen 30 Tagen',
    lost: 'Ver\u00adloren',
    notFinal: 'vorläufig',
    says: 'Lizenzen nach dem Monat ihres Ablaufs: rechtzeitig verlängert, binnen 30 Tagen danach verlängert oder verloren. Ein Monat ist 30 Tage nach seinem letzten Tag endgültig. Bis dahin hat er ein *, und „verloren“ heißt „noch nicht verlängert“. Lizenzen, die heute ablaufen, zählen ab morgen.',
    caption: 'Verlängerungen nach Monat, der älteste zuerst.',
    empty: 'Hier stehen künftig die ablaufenden Lizenzen nach Monat, mit den verlängerten.',
  },
  plans: {
    title: 'Nach Tarif',
    caption: 'Dieselben zwölf Monate nach Tarif, die meisten Abläufe zuerst.',
  },
  money: {
    title: 'Bezahlt und erstattet',
    since: (day: string) => `vollständig seit ${day}`,
    also: (amounts: string) => `und ${amounts}`,
    says: (paid, refunded) =>
      `In zwölf Monaten: bezahlt ${paid === '' ? 'nichts' : paid}${refunded === '' ? '' : `; erstattet ${refunded}`}.`,
    note: 'Wie die Shops es gemeldet haben, nach Monaten in UTC und ohne Steuern. Das ersetzt keine Buchhaltung.',
    paid: 'Bezahlt',
    refunded: 'Erstattet',
    caption: 'Zahlungen und Erstattungen nach Monat und Währung. Währungen werden nie addiert.',
  },
  due: {
    title: 'Welche Lizenzen laufen bald ab?',
    about: 'Ab heute',
    caption: 'Ablaufende Lizenzen, die nächsten zuerst.',
    within: 'In',
    days: (count) => `${count} Tagen`,
    without: 'Ohne Abonne\u00adment',
    with: 'Mit Abonne\u00adment',
    note: 'Ein Abonnement verlängert sich von selbst. Kunden ohne Abonnement bekommen Erinnerungen, wenn das Produkt sie verschickt.',
  },
  states: {
    title: 'Lizenzen nach Status',
    about: '24 Monate',
    says: (active, before, month) =>
      `Am Ende jedes Monats, und jetzt. Aktiv sind jetzt ${active}; Ende ${month} waren es ${before}.`,
    withdrawn: 'Ausgesetzt, entzogen, storniert',
    month: 'Monat',
    now: (month) => `${month}, jetzt`,
    caption: 'Lizenzen nach Status und Monat, der älteste zuerst',
    empty: 'Hier stehen künftig Ihre Lizenzen nach Status, Monat für Monat.',
  },
  calendar: {
    title: 'An welchen Tagen laufen Lizenzen ab?',
    about: 'Die nächsten zwölf Monate',
    says: (count, days) =>
      `Ablaufende Lizenzen: ${count}, an ${counted(days, 'Tag', 'Tagen')}. Lizenzen mit Abonnement zählen mit.`,
    none: 'In den nächsten zwölf Monaten läuft keine Lizenz ab.',
    day: 'Tag',
    licenses: 'Lizenzen',
    caption: 'Abläufe nach Tag, der nächste zuerst',
  },
  notRenewed: {
    title: 'Nicht verlängert',
    filters: 'Nicht verlängerte Lizenzen filtern',
    about:
      'Lizenzen, die abgelaufen sind und nicht verlängert wurden. Kunden, die noch zu aktualisieren versuchen, stehen oben.',
    month: 'Abgelaufen im',
    anyMonth: 'In jedem Monat',
    caption: (count) =>
      `Zuerst die jüngste Ablehnung seit dem Ablauf, dann der jüngste Ablauf. ${count} gezeigt.`,
    columns: {
      customer: 'Kunde',
      plan: 'Produkt · Tarif',
      since: 'Kunde seit',
      ended: 'Abgelaufen',
      download: 'Letzter Download',
      refused: 'Seither abgelehnt',
      latest: 'Zuletzt versucht',
    },
    another: 'hat eine andere gültige Lizenz',
    noMatch: 'Keine Lizenz gefunden.',
    none: 'Jede abgelaufene Lizenz wurde verlängert.',
    noneLink: 'Bald ablaufende Lizenzen ansehen',
    write: (count, written) => (count === 1 ? '1 Adresse anschreiben' : `${written} Adressen anschreiben`),
    addresses: 'Adressen',
    writeHint:
      'Die gezeigten Kunden, jeder einmal, ohne Kunden mit einer anderen gültigen Lizenz. Fügen Sie die Adressen in das Feld „Bcc“ ein.',
    logNote: (days) => `Downloads und Ablehnungen sind für ${counted(days, 'Tag', 'Tage')} bekannt.`,
    csvName: 'nicht-verlaengert.csv',
  },
};
