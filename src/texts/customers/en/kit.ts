import { capitalizedEach } from '../../case';
import { states } from './words';

/** What stands on pages of customers and operators. */
export const kit = {
  skip: 'Skip to content',
  find: 'Find',
  signOut: 'Sign out',
  theme: 'Theme',
  themes: { auto: 'System', light: 'Light', dark: 'Dark' },
  times: (zone: string) => `Times: ${zone}. A licence ends at the end of its day, UTC.`,
  none: '–',
  yes: 'Yes',
  no: 'No',
  csv: 'CSV',
  clearFilters: 'Clear the filters',
  first: 'First',
  next: (count: string) => `Next ${count}`,
  morePages: 'More pages',
  actions: 'Actions',
  select: 'Select',
  copy: 'Copy',
  copied: 'Copied.',
  copyFailed: 'Press Ctrl+C.',
  busy: 'One moment...',
  optional: 'optional',
  status: capitalizedEach(states),
  /** what an action says when it is done */
  said: {
    linkAsked: () => 'If this address has licences, a mail is on its way. Use the address you bought with.',
    mySiteRemoved: (sentence: string) => sentence,
    signedOut: () => 'You are signed out.',
  },
  errors: {
    title: 'This could not be done.',
    notFound: 'There is nothing here',
    notFoundHint: 'The address may be old, or mistyped.',
    forbidden: 'This is not allowed',
    foreign: 'This form was sent from another place. Open the page again and send it from there.',
    tooMany: 'Too many requests. Please wait a minute.',
    tooLarge: 'This is too large.',
    tooLargeHint: 'Go back, shorten what you typed or choose a smaller file, and send it again.',
    compressed: 'What was sent is compressed, which is not read here.',
    away: 'The database does not answer.',
    fault: 'Something went wrong here.',
    faultHint: (id: string) => `The service's log has the details under ${id}.`,
    again: 'Try again',
  },
};
