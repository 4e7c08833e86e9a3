import { capitalized } from '../../case';
import { thing } from '../../customers/en/words';

/** The history of a licence: what was done, and by whom. */

export const history = {
  title: 'History',
  columns: { when: 'When', what: 'What', by: 'By' },
  caption: 'Newest first.',
  none: 'Nothing has been changed yet.',
  /** the customer's Joomla or program, unlike a change on the customer's page */
  bySoftware: 'the customer’s software',
  byCustomer: 'the customer',
  byService: 'the service',
  issued: (order: string) => `Issued${order && `, ${order}`}`,
  imported: (order: string) => `Imported${order && `, ${order}`}`,
  importChanged: 'Changed by an import',
  suspended: 'Suspended',
  reinstated: 'Reinstated',
  revoked: 'Revoked',
  cancelled: 'Cancelled',
  renewed: (until: string, before: string) => `Renewed: ends ${until}, before ${before}`,
  endSet: (until: string, before: string) => `Ends ${until}, before ${before}`,
  renewsItself: (until: string) => `Renews automatically: paid until ${until}`,
  renewsNoMore: (until: string) => `No longer renews automatically: ends ${until}`,
  paymentFailed: (on: string, mailed: boolean) =>
    `A payment failed on ${on}${mailed ? ', and the customer gets a mail with the payment page' : ''}`,
  revived: (until: string) => `Renewed and active again: ends ${until}`,
  limit: (before: string, after: string) => `Slots ${before} → ${after}`,
  plan: (before: string, after: string) => `Plan ${before} → ${after}`,
  customer: (before: string, after: string) => `Customer ${before} → ${after}`,
  metadata: (names: string) => `Note changed: ${names}`,
  erased: 'Customer’s data erased',
  keyAdded: (hint: string, label: string) => `Key added: ends in ${hint}${label && `, for ${label}`}`,
  keyChanged: (hint: string, changes: string) => `Key ${hint} changed${changes && `: ${changes}`}`,
  keyLabel: (before: string, after: string) => `for ${before} → ${after}`,
  keySlots: (before: string, after: string) => `slots ${before} → ${after}`,
  keyEnds: (before: string, after: string) => `ends ${before} → ${after}`,
  withLicense: 'with the licence',
  keyEnded: (hint: string) => `Key ${hint} ended`,
  rekeyed: (after: string, before: string) => `New key ${after} replaces ${before}`,
  overlap: (until: string) => `the old one works until ${until}`,
  revealed: 'Key shown',
  answered: (to: string) => `Answer mailed${to && ` to ${to}`}`,
  notified: (version: string) => `Customer notified about the security release ${version}`,
  activated: (type: string, name: string) => `${capitalized(thing(type).one)} added${name && `: ${name}`}`,
  activatedFree: (type: string, name: string) =>
    `${capitalized(thing(type).one)} added, takes no slot${name && `: ${name}`}`,
  renamed: (type: string, name: string, before: string, after: string) =>
    `${capitalized(thing(type).one)} ${name} named ${after}, before ${before}`,
  freed: (type: string, name: string) =>
    `${capitalized(thing(type).one)} no longer takes a slot${name && `: ${name}`}`,
  held: (type: string, name: string, until: string) =>
    `File for use without network${name && `: ${name}`}, ${thing(type).one} held until ${until}`,
  deactivated: (type: string, name: string) =>
    `${capitalized(thing(type).one)} removed${name && `: ${name}`}`,
  repaired: (before: string, after: string) => `Used slots corrected ${before} → ${after}`,
  because: (sentence: string, reason: string) => `${sentence}: “${reason}”`,
  repeated: (sentence: string, times: string, until: string) => `${sentence} (${times} times until ${until})`,
};
