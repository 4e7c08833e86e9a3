/** What an action says when it is done, by its name. Values are written by the action, in the page's language. */
export const said = {
  licenseCancelled: () => 'The licence is cancelled.',
  licenseCustomer: (customer) => `The customer is ${customer} now.`,
  licenseKeyChanged: (hint) => `The key ${hint} is changed.`,
  licenseKeyEnded: (hint) => `The key ${hint} has ended.`,
  licenseKeySent: (customer) => `The key is on its way to ${customer}.`,
  licenseNote: () => 'The note is saved.',
  licensePlan: (plan, slots) => `The plan is ${plan} now, with ${slots} slots. The end stayed.`,
  licenseReinstated: () => 'The licence is active again. “Suspend” under “More” stops it.',
  licenseRenewed: (end) => `Renewed. The licence ends on ${end}.`,
  licenseRenewedForLife: () => 'Renewed. The licence has no end any more. “Renew” gives it one.',
  licenseRevoked: () => 'The licence is revoked.',
  licenseSiteAdded: (name, used) => `${name} is added. ${used} used.`,
  licenseSiteRemoved: (name) => `${name} is removed, its slot is free. You can add it again below.`,
  licenseSlots: (slots) => `The licence has ${slots} slots now.`,
  licenseSuspended: () => 'The licence is suspended. “Reinstate” makes it active again.',
  signedOut: () => 'You are signed out.',
  linkAsked: () =>
    'If this address is an operator’s, a mail is on its way. Its link works once, within ten minutes.',
  saved: () => 'Saved.',
} satisfies Record<string, (...values: string[]) => string>;
