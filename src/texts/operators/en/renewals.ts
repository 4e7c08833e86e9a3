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
  noneFinal: 'No month is final yet: a licence that ended in the last 30 days may still be renewed.',
  none: 'No licence has ended in the last twelve months, and none ends in the next twelve. A licence ends if its plan has a duration, or if you give it an end.',
  noneLink: 'See the plans',
  months: {
    title: 'How many licences are renewed?',
    about: 'Twelve months',
    month: 'Month',
    ended: 'Ended',
    inTime: 'In time',
    late: 'Within 30 days',
    lost: 'Lost',
    notFinal: 'not final',
    says: 'Licences by the month of their end: renewed before they stopped working, renewed within 30 days after, or lost. A month is final 30 days after its last day. Until then it has a *, and “lost” means “not renewed yet”. Licences that end today count from tomorrow.',
    caption: 'Renewals by month, oldest first.',
    empty: 'The licences that end will appear here by month, with those that were renewed.',
  },
  plans: {
    title: 'By plan',
    caption: 'The same twelve months by plan, most ends first.',
  },
  money: {
    title: 'Paid and refunded',
    since: (day: string) => `complete since ${day}`,
    also: (amounts: string) => `and ${amounts}`,
    says: (paid: string, refunded: string) =>
      `In twelve months: paid ${paid === '' ? 'nothing' : paid}${refunded === '' ? '' : `; refunded ${refunded}`}.`,
    note: 'As the shops reported it, by month in UTC and without taxes. It does not replace accounting.',
    paid: 'Paid',
    refunded: 'Refunded',
    caption: 'Payments and refunds by month and currency. Currencies are never added.',
  },
  due: {
    title: 'Which licences end soon?',
    about: 'From today',
    caption: 'Licences that end, soonest first.',
    within: 'In',
    days: (count: string) => `${count} days`,
    without: 'Without a subscription',
    with: 'With a subscription',
    note: 'A subscription renews automatically. Customers without a subscription get reminders if the product sends them.',
  },
  states: {
    title: 'Licences by state',
    about: '24 months',
    says: (active: string, before: string, month: string) =>
      `At the end of each month, and now. Active now: ${active}; at the end of ${month}: ${before}.`,
    withdrawn: 'Suspended, revoked, cancelled',
    month: 'Month',
    now: (month: string) => `${month}, now`,
    caption: 'Licences by state and month, oldest first',
    empty: 'Your licences will appear here by state, month by month.',
  },
  calendar: {
    title: 'On which days do licences end?',
    about: 'The next twelve months',
    says: (count: string, days: string) =>
      `Licences that end: ${count}, on ${counted(days, 'day', 'days')}. Licences with a subscription are included.`,
    none: 'No licence ends in the next twelve months.',
    day: 'Day',
    licenses: 'Licences',
    caption: 'Ends by day, soonest first',
  },
  notRenewed: {
    title: 'Not renewed',
    filters: 'Filter licences that were not renewed',
    about: 'Licences that ended and were not renewed. Customers who still try to update come first.',
    month: 'Ended in',
    anyMonth: 'Any month',
    caption: (count: string) => `Latest refusal since the end first, then latest end first. ${count} shown.`,
    columns: {
      customer: 'Customer',
      plan: 'Product · plan',
      since: 'Customer since',
      ended: 'Ended',
      download: 'Last download',
      refused: 'Refused since the end',
      latest: 'Last tried',
    },
    another: 'has another valid licence',
    noMatch: 'No licence matches.',
    none: 'Every licence that ended was renewed.',
    noneLink: 'See which licences end soon',
    write: (count: number, written: string) =>
      count === 1 ? 'Write to 1 address' : `Write to ${written} addresses`,
    addresses: 'Addresses',
    writeHint:
      'The shown customers without duplicates, and without those who have another valid licence. Paste the addresses into the field “Bcc”.',
    logNote: (days: string) => `Downloads and refusals are known for ${counted(days, 'day', 'days')}.`,
    csvName: 'not-renewed.csv',
  },
};
