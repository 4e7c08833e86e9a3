import { counted } from '../../case';

/** The message after each action, by its name. The action writes the values, in the page's language. */
export const said = {
  answerSent: (to) => `The mail to ${to} is on its way.`,
  customerChanged: () => 'The customer is changed.',
  customerErased: () => 'The customer’s data are erased. The licences continue to work without a name.',
  draftInstead: (version) =>
    `You signed in over an hour ago, so ${version} is kept as a draft. Publish it here after signing in again.`,
  draftKept: (version) => `${version} is kept as a draft. Customers do not see it.`,
  foundEndedKey: () => 'The key you searched for was a key of this licence. It has ended.',
  foundOtherKey: () => 'The key you searched for is another key of this licence.',
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
    `The plan is ${plan} now, with ${counted(slots, 'slot', 'slots')}. The end is unchanged.`,
  licenseReinstated: () => 'The licence is active again. “Suspend” under “More” stops it.',
  licenseRenewed: (end) => `Renewed. The licence ends on ${end}.`,
  licenseRenewedForLife: () => 'Renewed. The licence never expires. “Renew” sets an end again.',
  licenseRevoked: () => 'The licence is revoked.',
  licenseSiteAdded: (name, used) => `${name} is added. ${used} used.`,
  licenseSiteRemoved: (name, free, followers) =>
    `${name} is removed${followers === '' ? '' : `, and with it ${followers}`}. ${free === 'free' ? 'No slot becomes free by this.' : 'Its slot is free.'} You can add it again below.`,
  licenseSlots: (slots) => `The licence has ${counted(slots, 'slot', 'slots')} now.`,
  licenseSuspended: () => 'The licence is suspended. “Reinstate” makes it active again.',
  mailAgain: () => 'The mail is on its way again.',
  mailDismissed: () => 'The mail is dismissed.',
  operatorLinkAsked: () =>
    'If this address is an operator’s, a mail is on its way. Its link works once, within ten minutes.',
  operatorAdded: (email: string) => `${email} can now request a sign-in link by mail.`,
  operatorRemoved: (email: string) => `${email} is no longer an operator.`,
  orderCustomer: (customer) => `The order’s customer is ${customer} now.`,
  orderCustomerSent: (customer) => `The customer is ${customer} now, and the key is on its way there.`,
  orderMapped: (sku, plan, done, others) =>
    `“${sku}” has the plan ${plan} now.${done === '0' ? '' : ` Orders processed: ${done}.`}${others === '' ? '' : ` Not done: ${others}.`}`,
  ordersRan: (done, others) => `Orders processed: ${done}.${others === '' ? '' : ` Not done: ${others}.`}`,
  planAdded: (plan) => `The plan ${plan} is added. You can issue licences on it.`,
  planRemoved: (plan) => `The plan ${plan} is removed.`,
  productAdded: (product) => `The product ${product} is added. Add a plan, then the first version.`,
  productRemoved: (product) => `The product ${product} is removed.`,
  releasePublished: (version, xml, offered, percent) => {
    if (xml === 'stale')
      return `${version} is published, but Joomla is not offered it yet: place the update XML as shown on this page.`;
    if (xml === 'not_set')
      return `${version} is published. Joomla is not offered it: see below what is missing.`;
    if (percent !== '100')
      return `${version} is published. ${percent} % of the sites get it, and the others get ${offered || 'nothing'}.`;
    return offered === version
      ? `${version} is published. Customers get ${version} from now on.`
      : `${version} is published. Joomla still offers ${offered || 'nothing'}.`;
  },
  releaseRolledOut: (version, percent, xml) => {
    const to = percent === '100' ? 'All sites get' : `${percent} % of the sites get`;
    if (xml === 'stale') return `${to} ${version} as soon as the update XML can be written: see this page.`;
    return `${to} ${version} now.`;
  },
  releaseNotified: (version, mails) =>
    `The customers are notified about ${version}. Mails on their way: ${mails}.`,
  releaseWithdrawn: (version, xml, offered) => {
    if (xml === 'stale')
      return `${version} is withdrawn, but Joomla still offers what it did: place the update XML as shown on this page.`;
    if (xml === 'not_set') return `${version} is withdrawn.`;
    return `${version} is withdrawn. Joomla offers ${offered || 'nothing'} now.`;
  },
  saved: () => 'Saved.',
  testMailSent: (to, answer) => `The mail server accepted the test mail to ${to}. It said: ${answer}`,
  textReset: () => 'The mail has the standard text again.',
  signingKeyAdded: (kid: string) => `Signing key ${kid} is added. Build it into your software.`,
  signingKeyRetired: (kid: string) => `Signing key ${kid} is retired.`,
  receiverAdded: (shop) => `Shop ${shop} is added. It accepts messages once it has its secret.`,
  shopAdded: (shop) => `Shop ${shop} is added. Assign plans to its articles, then let it send an order.`,
  shopCaughtUp: (messages) =>
    messages === '0' ? 'No message was missed.' : `Caught up. Missed messages: ${messages}.`,
  shopCatchUpGoesOn: (messages) =>
    `Missed messages so far: ${messages}. The list is long, and the next run continues there.`,
  shopCatchUpFailed: () =>
    'The list could not be read to its end. The reason is shown on this page. Messages that were taken stay.',
  shopRemoved: (shop) => `Shop ${shop} is removed. Its orders and licences stay.`,
  skuUnmapped: (sku) => `“${sku}” no longer has a plan. Orders with it wait.`,
  webhookDisabled: () => 'It is switched off. New events wait.',
  webhookEnabled: () => 'It is on. The waiting events are being sent.',
  webhookRemoved: (name: string) => `${name} is removed.`,
  webhookReplayed: (id: string) => `Delivery ${id} is being sent. Reload the page to see the answer.`,
  webhookTested: () => 'A test is on its way. Reload the page to see the answer.',
  unmatchedAssigned: (license: string) => `It is assigned to licence ${license} and processed.`,
  unmatchedIssued: () => 'This licence is issued for the payment.',
  unmatchedLeft: () => 'It is ignored.',
  tokenRevoked: (name: string) => `Token ${name} no longer works.`,
  xmlNotWritten: () =>
    'The update XML could not be written. Download it, and place it as shown on this page.',
  xmlWritten: () => 'The update XML is written.',
} satisfies Record<string, (...values: string[]) => string>;
