import type { NextPayment } from '../../../licensing/core/states';
import { KEY_LENGTH, type CustomerSentences } from '../sentences';
import { capitalized } from '../../case';
import { english, thing } from './words';

/** The sentences of the customer's page, in English. Joomla's messages stay as Joomla writes them. */
export const sentences: CustomerSentences = {
  kind: (type) => capitalized(thing(type).many),
  standing: {
    ACTIVE: ({ until, nextPayment }) => `Your licence is ${valid(until, nextPayment)}. Updates work.`,
    FULL: ({ until, nextPayment, limit, activationType }) => {
      const { one, many } = thing(activationType);
      return limit === 1
        ? `Your licence is ${valid(until, nextPayment)}. Updates work. The only ${one} is in use.`
        : `All ${english.number(limit)} ${many} are used. Updates work, but a new ${one} is refused until one is removed.`;
    },
    EXPIRED: ({ endedAt }) =>
      endedAt === null ? 'Your licence has ended.' : `Your licence ended on ${english.day(endedAt)}.`,
    SUSPENDED: () => 'Your licence is paused. Please ask the seller.',
    WITHDRAWN: () => 'This licence was withdrawn by the seller.',
  },
  meaning: {
    ACTIVE: null,
    FULL: ({ limit, activationType }) => {
      const { one } = thing(activationType);
      return limit === 1 ? `To use another ${one}, remove the one in use first.` : null;
    },
    EXPIRED: () =>
      'That is why Joomla says “Error connecting to the server: 403” when you update. Nothing on your site has changed. After the renewal the update works at once, with the same key.',
    SUSPENDED: () =>
      'Until the seller releases it, Joomla says “Error connecting to the server: 403” when you update. Nothing on your site has changed.',
    WITHDRAWN: () =>
      'Joomla says “Error connecting to the server: 403” when you update. The installed extension stays on your site.',
  },
  keyEnded: ({ endedAt }) =>
    `This key stopped working on ${english.day(endedAt)}. Please use the new one, or ask the person who gave you this key.`,
  endsIn: ({ days }) => inDays(days),
  keyEnds: ({ endsAt }) =>
    `This key works until ${english.day(endsAt)}. Please change to the new one before then.`,
  unknownKey: ({ length }) =>
    length === KEY_LENGTH
      ? 'No licence has this key. Please copy it again as a whole.'
      : `No licence has this key. Please copy it again as a whole: this one has ${length} ${length === 1 ? 'character' : 'characters'}.`,
  used: ({ limit, used }) =>
    limit === 0
      ? `${english.number(used)} used, no limit`
      : `${english.number(used)} of ${english.number(limit)} used`,
  whyNot: {
    LICENSE_EXPIRED: 'After renewal',
    LICENSE_INACTIVE: 'Not with this licence',
    PRODUCT_MISMATCH: 'Not part of this licence',
    DOWNLOAD_NOT_FOUND: 'No longer offered',
    FILE_NOT_FOUND: 'Not available at the moment',
    LICENSE_NOT_FOUND: 'Not with this key',
    ACTIVATION_NOT_FOUND: 'Not with this key',
    ACTIVATION_HELD: 'Not available',
    ACTIVATION_LIMIT_REACHED: 'Not with this key',
    INVALID_REQUEST: 'Not available',
  },
  coversUntil: ({ endedAt }) => `Your licence covers all versions published until ${english.day(endedAt)}.`,
  attention: {
    ENDS_SOON: ({ product, endsAt, days }) => {
      if (endsAt === null) return `${product} ends soon.`;
      return `${product} ends ${inDays(days)}, on ${english.day(endsAt)}. Until then nothing changes.`;
    },
    ENDED: ({ product, endsAt }) =>
      `${product} ended${endsAt === null ? '' : ` on ${english.day(endsAt)}`}. Updates are refused until it is renewed.`,
    FULL: ({ product, limit, activationType }) => {
      const { one, many } = thing(activationType);
      return limit === 1
        ? `${product}: your only ${one} is used.`
        : `${product}: all ${english.number(limit)} ${many} are used.`;
    },
  },
  removalsLeft: ({ allowed, left, nextAt, activationType }) => {
    const { one, many } = thing(activationType);
    if (allowed === 0) return `Only the seller can remove a ${one}.`;
    if (nextAt === null)
      return `You can remove ${english.number(left)} ${left === 1 ? one : many} within 30 days.`;
    return left === 0
      ? `You can remove the next ${one} on ${english.day(nextAt)}.`
      : `You can remove ${english.number(left)} more until ${english.day(nextAt)}.`;
  },
  noMovesLeft: ({ allowed, nextAt, activationType }) => {
    const { one, many } = thing(activationType);
    return allowed === 0 || nextAt === null
      ? `Only the seller can remove a ${one}. Please ask the seller.`
      : `You have removed ${english.number(allowed)} ${allowed === 1 ? one : many} within 30 days. You can remove the next on ${english.day(nextAt)}, or ask the seller.`;
  },
  siteHeld: ({ heldUntil, activationType }) =>
    `This ${thing(activationType).one} has a file with which it works without network until ${english.day(heldUntil)}. It can be removed after that day, or earlier by the seller.`,
  siteRemoved: ({ site }) => `${site} is removed. To use it again, activate it there.`,
  keyChanged: ({ oldEndsAt }) =>
    oldEndsAt === null
      ? 'This is the new key. The old one no longer works: every site needs the new key for its next update.'
      : `This is the new key. The old one works until ${english.day(oldEndsAt)}: every site needs the new key before then.`,
  keyNotKept: 'This key was not stored, so it cannot be shown. You can replace it with a new one.',
  runs: ({ endsAt, hasEnded }) => `${hasEnded ? 'ended on' : 'valid until'} ${english.day(endsAt)}`,
  mailButtons: { my_url: 'My licences', renew_url: 'Renew', billing_url: 'Pay', link: 'Open' },
  thanks: { title: 'Your license', key: 'License key' },
};

function valid(until: Date | null, nextPayment: NextPayment): string {
  if (until === null) return 'valid and never expires';
  const day = english.day(until);
  if (nextPayment === 'awaited') return `paid until ${day}, and its renewal is expected`;
  return nextPayment === 'by_itself' ? `paid until ${day}, and renews automatically` : `valid until ${day}`;
}

function inDays(days: number): string {
  return `in ${days} ${days === 1 ? 'day' : 'days'}`;
}
