import { counted } from '../../case';

/** The renewal rate, the due ends, and the licences that were not renewed. */
export const renewals = {
  title: 'Renewals',
  product: 'Product',
  plan: 'Plan',
  filters: 'Filter renewals',
  planOf: (product: string, plan: string) => `${product} · ${plan}`,
  notRenewedButton: 'Not renewed',
  /** @param share in per cent; undefined if there are too few for a rate */
  rate: (ended: string, renewed: string, from: string, to: string, share?: string) =>
    `Licences that ended from ${from} to ${to}: ${ended}. Renewed: ${renewed}${share === undefined ? '' : ` (${share} %)`}.`,
  noneFinal:
    'No month with an end is final yet: a licence that ended in the last 30 days may still be renewed.',
  none: 'No licence has ended in the last twelve months, and none ends in the next twelve. A licence ends when its plan says how long it runs, or when you give it an end.',
  noneLink: 'See what the plans say',
  months: {
    title: 'Renewed, by the month of the end',
    about: 'Twelve months',
    month: 'Month',
    ended: 'Ended',
    inTime: 'In time',
    late: 'Within 30 days',
    lost: 'Lost',
    notFinal: 'not final',
    says: 'Licences by the month of their end: renewed before they stopped working, within 30 days after, or lost. A month is final when its last day is 30 days ago. Until then it has a *, and lost means: not renewed yet. The ends of today count from tomorrow on.',
    caption: 'Renewals by month, the oldest first.',
    empty: 'The licences that end will appear here by month, with those that were renewed.',
  },
  plans: {
    title: 'By plan',
    caption: 'The same twelve months by plan, the most ends first.',
  },
  money: {
    title: 'Paid and refunded',
    since: (day: string) => `complete since ${day}`,
    note: 'As shops reported it, by UTC month. These are the shops’ figures, without taxes. They do not replace accounting.',
    paid: 'Paid',
    refunded: 'Refunded',
    caption: 'What was paid and refunded, by month and currency. Currencies are never added.',
  },
  due: {
    title: 'Due',
    about: 'From today on',
    caption: 'Licences that end, the soonest first.',
    within: 'In',
    days: (count: string) => `${count} days`,
    without: 'Without a subscription',
    with: 'With a subscription',
    note: 'A subscription pays on by itself. Those without one get reminders, where the product mails them.',
  },
  states: {
    title: 'Licences by state',
    about: '24 months',
    says: (active: string, before: string, month: string) =>
      `At the end of each month, and now. Active now: ${active}; at the end of ${month}: ${before}.`,
    withdrawn: 'Suspended, revoked, cancelled',
    month: 'Month',
    now: (month: string) => `${month}, now`,
    caption: 'Licences by state and month, the oldest first',
    empty: 'Your licences will appear here by state, month by month.',
  },
  calendar: {
    title: 'On which days do licences end?',
    about: 'The next twelve months',
    says: (count: string, days: string) =>
      `Licences that end: ${count}. Days on which they do: ${days}. Those with a subscription count too.`,
    none: 'No licence ends in the next twelve months.',
    day: 'Day',
    licenses: 'Licences',
    caption: 'Ends by day, the soonest first',
  },
  notRenewed: {
    title: 'Not renewed',
    filters: 'Filter licences that were not renewed',
    about: 'Licences that ended and were not renewed. Those who still try to update come first.',
    month: 'Ended in',
    anyMonth: 'Any month',
    caption: (count: string) =>
      `Refused since their end first, the latest first; then the latest end first. ${count} shown.`,
    columns: {
      customer: 'Customer',
      plan: 'Product · plan',
      since: 'Customer since',
      ended: 'Ended',
      download: 'Last download',
      refused: 'Refused since the end',
      latest: 'Last tried',
    },
    another: 'has another licence that works',
    noMatch: 'No licence matches.',
    none: 'Every licence that ended was renewed.',
    noneLink: 'See what is due',
    write: (count: number, written: string) =>
      count === 1 ? 'Write to them: 1 address' : `Write to them: ${written} addresses`,
    addresses: 'Addresses',
    writeHint:
      'Each once, of those shown, without customers who have another licence that works. Paste them into the field “Bcc”.',
    logNote: (days: string) => `Downloads and refusals are known for ${counted(days, 'day', 'days')}.`,
    csvName: 'not-renewed.csv',
  },
};
