import { counted } from '../../case';

/** The list of licences, and manual sales. */
export const licenses = {
  title: 'Licences',
  issue: 'Issue a licence',
  quick: 'Often used filters',
  quickAll: 'All',
  quickActive: 'Active',
  quickEnding: 'End in 30 days',
  quickExpired: 'Expired',
  quickSuspended: 'Suspended',
  quickRefused: 'Refused this week',
  filters: 'Filter licences',
  q: 'Name, e-mail, order, site or end of key',
  product: 'Product',
  plan: 'Plan',
  status: 'Status',
  ends: 'Ends',
  anyTime: 'Any time',
  within: (days: string) => `In ${days} days`,
  filteredBy: (name: string, value: string) => `${name}: ${value}`,
  names: {
    customer: 'Customer',
    reference: 'Order',
    hint: 'Key ends in',
    refused: 'Refused within',
    covers: 'Covers',
    issued_since: 'Sold since',
    suspended_by: 'Cause of the suspension',
  } as Record<string, string>,
  orders: {
    '-id': 'Newest first',
    id: 'Oldest first',
    customer: 'Customers A to Z',
    '-customer': 'Customers Z to A',
    expires_at: 'Soonest end first',
    '-expires_at': 'Latest end first',
  },
  shownOf: (count: string, total: string) => `${count} of ${total} shown.`,
  bulk: {
    select: (license: string) => `Select ${license}`,
    label: 'What to do with the selected licences',
    /** after the number */
    selected: 'selected',
    all: (count: string) => `all ${count} on this page`,
    found: (count: string) => `all ${count} of this list`,
    suspend: 'Suspend…',
    mail: 'Send the keys…',
    export: 'Export',
    back: 'Back to the licences',
    csvName: 'selected-licences.csv',
    caption: (count: string, all: string) =>
      count === all ? `What you selected. ${count} shown.` : `What you selected. ${count} of ${all} shown.`,
    what: 'What will happen',
    suspendTitle: (count: number, written: string) =>
      count === 1 ? 'Suspend 1 licence?' : `Suspend ${written} licences?`,
    mailTitle: (count: number, written: string) => (count === 1 ? 'Send 1 key?' : `Send ${written} keys?`),
    willSuspend: (count: number, written: string) =>
      count === 1
        ? '1 licence will be suspended: its updates, downloads and new sites are refused until you reinstate it.'
        : `${written} licences will be suspended: their updates, downloads and new sites are refused until you reinstate them.`,
    willMail: (count: number, written: string) =>
      count === 1
        ? '1 customer will get a mail with the key.'
        : `${written} mails with a key will be sent to customers.`,
    noMail: 'Customers get no mail about it.',
    suspended: (count: number, written: string) =>
      count === 1 ? '1 is suspended already and stays so.' : `${written} are suspended already and stay so.`,
    final: (count: number, written: string) =>
      count === 1
        ? '1 is revoked or cancelled and stays so.'
        : `${written} are revoked or cancelled and stay so.`,
    unmailable: (count: number, written: string) =>
      count === 1
        ? '1 gets no mail: it has no address, or its key is not kept.'
        : `${written} get no mail: they have no address, or their keys are not kept.`,
    suspends: 'Will be suspended',
    mails: 'Will get a mail',
    stays: 'Stays',
    suspendSubmit: 'Suspend them',
    mailSubmit: 'Send them',
    suspendedTitle: (count: number, written: string) =>
      count === 1 ? '1 licence was suspended' : `${written} licences were suspended`,
    mailedTitle: (count: number, written: string) =>
      count === 1 ? '1 key is on its way' : `${written} keys are on their way`,
    left: 'Left as they are',
    leftAbout:
      'These licences changed after you had selected them, so nothing was done with them. Look at them, and select them again.',
    leftCaption: (count: string, all: string) =>
      count === all ? `Changed meanwhile. ${count} shown.` : `Changed meanwhile. ${count} of ${all} shown.`,
    soFar: (count: string, all: string) => `${count} of ${all} done`,
    goesOn: (count: string) =>
      `${count} to go. If the next ones do not follow automatically, press “Continue”.`,
    goOn: 'Continue',
    goingOn: 'Continuing...',
    stopHere: 'Stop here',
    allDone: 'None of the selected licences had changed meanwhile.',
  },
  columns: {
    status: 'Status',
    customer: 'Customer',
    plan: 'Product · plan',
    slots: 'Slots',
    ends: 'Ends',
    hint: 'Key ends in',
    order: 'Order',
    id: 'ID',
  },
  noCustomer: 'no e-mail',
  noMatch: 'No licence matches.',
  none: 'No licence yet. Issue one to yourself to try it, or move your licences in.',
  noneIssue: 'Issue a licence',
  noneImport: 'Move in',
  csvName: 'licences.csv',
  issuePage: {
    title: 'Issue a licence',
    noPlan: 'No plan yet. A plan sets how many sites a licence has and how long it runs.',
    makePlan: 'Add the first product and plan',
    plan: 'Plan',
    grants: (slots: string, what: string, duration: string) => `${slots} ${what}, ${duration}`,
    customer: 'Customer’s e-mail',
    customerHint: 'Without it, you find the licence only by its order or number, and no mail can be sent.',
    order: 'Order',
    orderHint: 'The number in your shop. The same order gives the same licence again.',
    send: 'Mail the key to the customer',
    sendHint: 'With the first download and where to enter the key in Joomla.',
    more: 'End, slots, own key, several',
    expires: 'Ends on',
    expiresHint: 'Until the end of this day in UTC. Empty: as in the plan.',
    lifetime: 'For life',
    slots: 'Slots',
    slotsHint: 'Empty: as in the plan. 0: unlimited.',
    key: 'Own key',
    keyHint: 'Only for keys that were sold elsewhere. Empty: a new one is made.',
    count: 'Number of licences',
    countHint: 'Several licences at once, without order and own key.',
    submit: 'Issue',
    busy: 'Issuing...',
    doneTitle: 'The licence is issued',
    doneAgain: 'This order has its licence already',
    doneMany: (count: string) => `${counted(count, 'licence is', 'licences are')} issued`,
    key1: 'Licence key',
    notKept:
      'Copy the key now. It cannot be shown again, because this service keeps no keys. The doctor shows how to change that.',
    kept: 'The key can be shown again on the licence’s page.',
    notShown:
      'The key was not kept, so it cannot be shown. Make a new one on the licence’s page if it was lost.',
    forCustomer: 'Text for the customer',
    ended: (day: string) =>
      `The licence ended on ${day}: updates and new sites are refused until it is renewed.`,
    mailQueued: (customer: string) => `The mail with the key is on its way to ${customer}.`,
    mailSent: (customer: string) => `The mail with the key was sent to ${customer}.`,
    mailFailed: (customer: string) => `The mail with the key could not be delivered to ${customer}.`,
    noMail: 'No mail was sent. Give the customer the key yourself.',
    letter: (product: string, key: string, enterKey: string) =>
      `Hello,\n\nthank you for buying ${product}. This is your licence key:\n\n${key}\n\n${enterKey} Updates work from then on.\n\nKind regards`,
    letterEnded: (product: string, key: string, day: string) =>
      `Hello,\n\nthis is your licence key for ${product}:\n\n${key}\n\nThe licence ended on ${day}. After a renewal, updates work with this key.\n\nKind regards`,
    toLicense: 'Open the licence',
    another: 'Issue another one',
    table: 'The issued licences, by number.',
  },
};
