import type { requests as en } from '../en/requests';
import type { Translated } from '../../translated';
import { counted } from '../../case';

export const requests: Translated<typeof en> = {
  title: 'Anfragen',
  ofLicense: (id) => `Anfragen der Lizenz ${id}`,
  historyOf: (id) => `Verlauf der Lizenz ${id}`,
  crumb: (id) => `Lizenz ${id}`,
  about: (days) =>
    `Downloads und Ablehnungen ${days === '1' ? 'des letzten Tages' : `der letzten ${days} Tage`}. Gleiche Anfragen binnen einer Stunde sind eine Zeile.`,
  filters: 'Anfragen filtern',
  outcome: 'Ergebnis',
  outcomes: { refused: 'Abgelehnt', granted: 'Angenommen', checked: 'Gefragt' },
  product: 'Produkt',
  hint: 'Schlüssel endet auf',
  ip: 'IP-Adresse',
  since: 'Seit',
  caption: (count) => `Neueste zuerst. ${count} gezeigt.`,
  columns: {
    result: 'Ergebnis',
    when: 'Wann',
    what: 'Was geschah',
    ip: 'Von',
    license: 'Lizenz',
  },
  oneCaption: (count) => `Die letzten Anfragen, neueste zuerst. ${count} gezeigt.`,
  times: (count) => `${count}-mal.`,
  joomla: (version) => `Joomla ${version}`,
  saysItIs: (site) => `nach eigener Angabe ${site}`,
  installed: (version) => `installiert: ${version}`,
  license: (id) => `Lizenz ${id}`,
  unknownProduct: (id) => `Produkt ${id}`,
  noMatch: 'Keine Anfrage passt.',
  none: 'Noch ist keine Anfrage aufgezeichnet. Hier stehen künftig Downloads und Ablehnungen mit ihrem Grund.',
  noneOfLicense: (days) =>
    `Von dieser Lizenz ist kein Download und keine Ablehnung aufgezeichnet (Aufzeichnungen bleiben ${counted(days, 'Tag', 'Tage')}).`,
  csvName: 'anfragen.csv',
  csvOfLicense: (id) => `lizenz-${id}-anfragen.csv`,
  chart: {
    title: 'Ablehnungen je Tag nach Grund',
    says: (refused, days) =>
      `${counted(refused, 'Anfrage wurde', 'Anfragen wurden')} in den letzten ${days} Tagen abgelehnt. Die Tage sind in UTC.`,
    none: (days) => `In den letzten ${days} Tagen wurde keine Anfrage abgelehnt.`,
    others: 'Andere Gründe',
    caption: 'Abgelehnte Anfragen nach Tag und Grund',
    day: 'Tag',
  },
  history: {
    caption: (count) => `Neueste zuerst. ${count} gezeigt.`,
    columns: { when: 'Wann', what: 'Was', by: 'Durch' },
    none: 'Bisher wurde nichts geändert.',
    csvName: (id) => `lizenz-${id}-verlauf.csv`,
  },
};
