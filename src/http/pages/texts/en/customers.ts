/** Customers, one of them, and erasing one's data. */
export const customers = {
  title: 'Customers',
  filters: 'Find customers',
  q: 'Beginning of the e-mail',
  caption: (count: string) => `By e-mail. ${count} shown.`,
  columns: { email: 'E-mail', licenses: 'Licences', nextEnd: 'Next end' },
  noMatch: 'No customer’s e-mail begins like this.',
  none: 'No customer yet. A customer is listed as soon as a licence has an e-mail.',
  issue: 'Issue a licence',
  csvName: 'customers.csv',
  one: {
    export: 'Export',
    erase: 'Erase the data',
    licenses: 'Licences',
    licensesCaption: (count: string) => `By ID. ${count} shown.`,
    noLicense: 'This customer has no licence of their own.',
    seats: 'Places on others’ licences',
    seatsCaption: 'By licence.',
    seatColumns: { identifier: 'Place', label: 'Label', since: 'Since', license: 'Licence' },
    requests: 'Requests',
    noRequest: 'No request with a licence of this customer is recorded.',
    exportName: 'customer',
  },
  erasePage: {
    title: (customer: string) => `Erase the data of ${customer}?`,
    licenses: (count: number, written: string) =>
      count === 0
        ? 'No licence is in this name.'
        : `${written} ${count === 1 ? 'licence goes' : 'licences go'} on working without a name. Slots and sites stay.`,
    rows: (requests: number, writtenRequests: string, changes: number, writtenChanges: string) =>
      `${writtenRequests} ${requests === 1 ? 'request' : 'requests'} and ${writtenChanges} ${changes === 1 ? 'change' : 'changes'} lose e-mail and IP.`,
    noMail: 'No mail can be sent any more.',
    backups: 'What backups and earlier exports contain is not erased.',
    final: 'This cannot be taken back.',
    exportFirst: 'Export first',
    confirm: 'Type the e-mail to confirm',
    wrong: 'This is not the e-mail of this customer. Nothing was erased.',
    again: 'If you signed in over an hour ago, this asks you to sign in again.',
    submit: 'Erase the data',
    busy: 'Erasing...',
    back: 'Keep the data',
  },
};
