import type { RefusingCode } from '../../../support/finding-model';

/** The action items, and why requests were refused (overview/action-items.ts). */
export const needsYou = {
  notOffered: (product: string, version: string) =>
    `${product} ${version} is published, but customers’ sites are not offered it.`,
  refused: (count: number, written: string, more: boolean) =>
    `${more ? 'More than ' : ''}${written} ${count === 1 ? 'licence gets' : 'licences get'} no updates or no new sites at present.`,
  byCode: {
    EXPIRED: (count, written) => `${written} ${count === 1 ? 'has' : 'have'} expired`,
    SUSPENDED: (count, written) => `${written} ${count === 1 ? 'is' : 'are'} suspended`,
    REVOKED: (count, written) => `${written} ${count === 1 ? 'is' : 'are'} revoked`,
    CANCELLED: (count, written) => `${written} ${count === 1 ? 'is' : 'are'} cancelled`,
    SLOTS_FULL: (count, written) => `${written} ${count === 1 ? 'has' : 'have'} no free slot`,
  } satisfies Record<RefusingCode, (count: number, written: string) => string>,
  failed: (count: number, written: string) =>
    `${written} ${count === 1 ? 'order' : 'orders'} could not be processed. The service tries again.`,
  orders: (count: number, written: string) =>
    `${written} ${count === 1 ? 'order is' : 'orders are'} paid and ${count === 1 ? 'has' : 'have'} no licence yet.`,
  without_address: (count: number, written: string) =>
    `${written} paid ${count === 1 ? 'order has' : 'orders have'} no e-mail address, so no key was sent.`,
  unmatched: (count: number, written: string) =>
    `${written} ${count === 1 ? 'payment matches' : 'payments match'} no order.`,
  disputed: (count: number, written: string) =>
    count === 1
      ? '1 licence is suspended, because its payment was charged back.'
      : `${written} licences are suspended, because their payments were charged back.`,
  spreading: (count: number, written: string) =>
    `${written} ${count === 1 ? 'key is' : 'keys are'} probably shared.`,
  mails: (count: number, written: string) =>
    `${written} ${count === 1 ? 'mail was' : 'mails were'} not delivered.`,
  webhooks: (count: number, written: string) =>
    `${written} ${count === 1 ? 'webhook is' : 'webhooks are'} switched off: the other side accepts nothing.`,
  reasons: {
    LICENSE_NOT_FOUND: 'Unknown or mistyped key',
    LICENSE_EXPIRED: 'Licence expired',
    LICENSE_INACTIVE: 'Licence suspended, revoked or cancelled',
    ACTIVATION_LIMIT_REACHED: 'No free slot',
    ACTIVATION_NOT_FOUND: 'Site is not activated',
    ACTIVATION_HELD: 'Site is used without network',
    PRODUCT_MISMATCH: 'Key of another product',
    DOWNLOAD_NOT_FOUND: 'Version is not published',
    FILE_NOT_FOUND: 'Package is missing',
    INVALID_REQUEST: 'No key, or a faulty request',
    RATE_LIMITED: 'Too many requests',
    OMITTED: 'Many different refusals from one address',
    OTHER: 'Another reason',
  },
};
