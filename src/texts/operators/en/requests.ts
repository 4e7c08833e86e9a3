import { counted } from '../../case';

/** Lists of recorded requests, and a licence's history. */
export const requests = {
  title: 'Requests',
  ofLicense: (id: string) => `Requests of licence ${id}`,
  historyOf: (id: string) => `History of licence ${id}`,
  crumb: (id: string) => `Licence ${id}`,
  about: (days: string) =>
    `Downloads and refusals of the last ${days === '1' ? 'day' : `${days} days`}. Equal requests within an hour are one line.`,
  filters: 'Filter requests',
  outcome: 'Result',
  outcomes: { refused: 'Refused', granted: 'Accepted', checked: 'Asked' } as Record<string, string>,
  product: 'Product',
  hint: 'Key ends in',
  ip: 'IP address',
  since: 'Since',
  caption: (count: string) => `Newest first. ${count} shown.`,
  columns: {
    result: 'Result',
    when: 'When',
    what: 'What happened',
    ip: 'From',
    license: 'Licence',
  },
  oneCaption: (count: string) => `The latest requests, newest first. ${count} shown.`,
  times: (count: string) => `${count} times.`,
  joomla: (version: string) => `Joomla ${version}`,
  saysItIs: (site: string) => `says it is ${site}`,
  installed: (version: string) => `${version} installed`,
  license: (id: string) => `licence ${id}`,
  unknownProduct: (id: string) => `product ${id}`,
  noMatch: 'No request matches.',
  none: 'No request is recorded yet. Downloads and refusals will appear here, each with its reason.',
  noneOfLicense: (days: string) =>
    `No download and no refusal of this licence is recorded (records are kept for ${counted(days, 'day', 'days')}).`,
  csvName: 'requests.csv',
  csvOfLicense: (id: string) => `licence-${id}-requests.csv`,
  chart: {
    title: 'Refusals a day by reason',
    says: (refused: string, days: string) =>
      `${counted(refused, 'request was', 'requests were')} refused in the last ${days} days. Days are UTC.`,
    none: (days: string) => `No request was refused in the last ${days} days.`,
    others: 'Other reasons',
    caption: 'Refused requests by day and reason',
    day: 'Day',
  },
  history: {
    caption: (count: string) => `Newest first. ${count} shown.`,
    columns: { when: 'When', what: 'What', by: 'By' },
    none: 'Nothing has been changed yet.',
    csvName: (id: string) => `licence-${id}-history.csv`,
  },
};
