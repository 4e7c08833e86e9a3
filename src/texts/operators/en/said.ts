import { counted } from '../../case';

/** The message after each action, by its name. The action writes the values, in the page's language. */
export const said = {
  answerSent: (to) => `The mail to ${to} is on its way.`,
  customerChanged: () => 'The customer is changed.',
  customerErased: () => 'The customer’s data are erased. The licences go on working without a name.',
  draftInstead: (version) =>
    `You signed in over an hour ago, so ${version} is kept as a draft. Publish it here after signing in again.`,
  draftKept: (version) => `${version} is kept as a draft. Customers do not see it.`,
  foundEndedKey: () => 'The key you searched for was a key of this licence. It has ended.',
  foundOtherKey: () => 'The key you searched for is a further key of this licence.',
  licenseCancelled: () => 'The licence is cancelled.',
  licenseCustomer: (customer) => `The customer is ${customer} now.`,
  licenseKeyChanged: (hint) => `The key ${hint} is changed.`,
  licenseKeyEnded: (hint) => `The key ${hint} has ended.`,
  customerNoted: () => 'The note is saved.',
  licensesNone: () => 'No licence was selected, so nothing was done.',
  licensesTooMany: (most: string) =>
    `This list has more than ${most} licences, so nothing was done. Filter it first.`,
  licenseKeySent: (customer) => `The key is on its way to ${customer}.`,
  licenseNote: () => 'The note is saved.',
  licensePlan: (plan, slots) =>
    `The plan is ${plan} now, with ${counted(slots, 'slot', 'slots')}. The end stayed.`,
  licenseReinstated: () => 'The licence is active again. “Suspend” under “More” stops it.',
  licenseRenewed: (end) => `Renewed. The licence ends on ${end}.`,
  licenseRenewedForLife: () => 'Renewed. The licence has no end any more. “Renew” gives it one.',
  licenseRevoked: () => 'The licence is revoked.',
  licenseSiteAdded: (name, used) => `${name} is added. ${used} used.`,
  licenseSiteRemoved: (name, free, followers) =>
    `${name} is removed${followers === '' ? '' : `, and with it ${followers}`}. ${free === 'free' ? 'It took no slot, so none is free now.' : 'Its slot is free.'} You can add it again below.`,
  licenseSlots: (slots) => `The licence has ${counted(slots, 'slot', 'slots')} now.`,
  licenseSuspended: () => 'The licence is suspended. “Reinstate” makes it active again.',
  mailAgain: () => 'The mail is on its way again.',
  mailDismissed: () => 'The mail is dismissed.',
  operatorLinkAsked: () =>
    'If this address is an operator’s, a mail is on its way. Its link works once, within ten minutes.',
  operatorAdded: (email: string) => `${email} may have a link mailed now.`,
  operatorRemoved: (email: string) => `${email} is not an operator any more.`,
  orderCustomer: (customer) => `The order’s customer is ${customer} now.`,
  orderCustomerSent: (customer) => `The customer is ${customer} now, and the key is on its way there.`,
  orderMapped: (sku, plan, done, others) =>
    `“${sku}” means ${plan} now.${done === '0' ? '' : ` Orders that have run: ${done}.`}${others === '' ? '' : ` Not done: ${others}.`}`,
  ordersRan: (done, others) =>
    `Orders that have run: ${done}.${others === '' ? '' : ` Not done: ${others}.`}`,
  planAdded: (plan) => `The plan ${plan} is there. Licences can be issued on it.`,
  planRemoved: (plan) => `The plan ${plan} is removed.`,
  productAdded: (product) => `The product ${product} is there. Add a plan, then the first version.`,
  productRemoved: (product) => `The product ${product} is removed.`,
  releasePublished: (version, xml, offered, percent) => {
    if (xml === 'stale')
      return `${version} is published, but Joomla is not offered it yet: put the update XML in its place, as this page says.`;
    if (xml === 'not_set')
      return `${version} is published. Joomla is not offered it: see below what is missing.`;
    if (percent !== '100')
      return `${version} is published, and offered to ${percent} % of the addresses. The others are offered ${offered || 'nothing'}.`;
    return offered === version
      ? `${version} is published. Joomla offers ${version} from now on.`
      : `${version} is published. Joomla goes on offering ${offered || 'nothing'}.`;
  },
  releaseRolledOut: (version, percent, xml) => {
    const to = percent === '100' ? 'everybody' : `${percent} % of the addresses`;
    if (xml === 'stale')
      return `${version} is for ${to}, but the update XML could not be written: see this page.`;
    return `${version} is offered to ${to} now.`;
  },
  releaseNotified: (version, mails) =>
    `The customers are told of ${version}. Mails that are on their way: ${mails}.`,
  releaseWithdrawn: (version, xml, offered) => {
    if (xml === 'stale')
      return `${version} is withdrawn, but Joomla still offers what it did: put the update XML in its place, as this page says.`;
    if (xml === 'not_set') return `${version} is withdrawn.`;
    return `${version} is withdrawn. Joomla offers ${offered || 'nothing'} now.`;
  },
  saved: () => 'Saved.',
  testMailSent: (to, answer) => `The test mail to ${to} was taken. The server said: ${answer}`,
  textReset: () => 'The mail has the text of this program again.',
  signingKeyAdded: (kid: string) => `Signing key ${kid} is there. Build it into your software.`,
  signingKeyRetired: (kid: string) => `Signing key ${kid} is retired.`,
  receiverAdded: (shop) => `Shop ${shop} is there. It takes messages once it has its secret.`,
  shopAdded: (shop) => `Shop ${shop} is there. Map its articles, then let it post an order.`,
  shopCaughtUp: (messages) =>
    messages === '0'
      ? 'Its list has nothing that had not come.'
      : `Caught up. Messages that had not come: ${messages}.`,
  shopCatchUpGoesOn: (messages) =>
    `Messages that had not come, so far: ${messages}. Its list is long: the next run goes on there.`,
  shopCatchUpFailed: () =>
    'Its list could not be read to its end. The reason stands beside. What was taken stays.',
  shopRemoved: (shop) => `Shop ${shop} is removed. Its orders and licences stay.`,
  skuUnmapped: (sku) => `“${sku}” means nothing any more. Orders that name it wait.`,
  webhookDisabled: () => 'It is switched off. What happens now waits for it.',
  webhookEnabled: () => 'It is on. What waits for it is being sent.',
  webhookRemoved: (name: string) => `${name} is removed.`,
  webhookReplayed: (id: string) => `Delivery ${id} is being sent. Reload the page to see the answer.`,
  webhookTested: () => 'A test is on its way. Reload the page to see the answer.',
  unmatchedAssigned: (license: string) => `It belongs to licence ${license} now, and has run.`,
  unmatchedIssued: () => 'This licence is issued for the payment.',
  unmatchedLeft: () => 'It is left as it is.',
  tokenRevoked: (name: string) => `Token ${name} no longer works.`,
  xmlNotWritten: () => 'The update XML could not be written. Download it, and put it in its place.',
  xmlWritten: () => 'The update XML is written.',
} satisfies Record<string, (...values: string[]) => string>;
