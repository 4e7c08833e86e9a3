import type { CustomerSentences } from '../sentences';
import { daysUntil } from '../../../selfservice/standing';

/** What the customer's page says, in English. Joomla's messages stay as Joomla writes them. */
export const ENGLISH: CustomerSentences = {
  day,
  kind: (type) => kindOf(type).title,
  standing: {
    ACTIVE: ({ until }) =>
      until === null
        ? 'Your licence is valid without an end. Updates work.'
        : `Your licence is valid until ${day(until)}. Updates work.`,
    FULL: ({ until, limit, activationType }) => {
      const { one, many } = kindOf(activationType);
      return limit === 1
        ? `Your licence is valid ${until === null ? 'without an end' : `until ${day(until)}`}. Updates work, and its one ${one} is in use.`
        : `All ${count(limit)} ${many} are used. Updates work; a new ${one} is refused until one is removed.`;
    },
    EXPIRED: ({ endedAt }) =>
      endedAt === null ? 'Your licence has ended.' : `Your licence ended on ${day(endedAt)}.`,
    SUSPENDED: () => 'Your licence is paused. Please ask the seller.',
    WITHDRAWN: () => 'This licence was withdrawn by the seller.',
  },
  meaning: {
    ACTIVE: null,
    FULL: ({ limit, activationType }) => {
      const { one } = kindOf(activationType);
      return limit === 1 ? `To use another ${one}, remove the one in use first.` : null;
    },
    EXPIRED: () =>
      'That is why Joomla says “Error connecting to the server: 403” when you update. Nothing on your site has changed. After the renewal the update works at once, with the same key.',
    SUSPENDED: () =>
      'Until the seller releases it, Joomla says “Error connecting to the server: 403” when you update. Nothing on your site has changed.',
    WITHDRAWN: () =>
      'Joomla says “Error connecting to the server: 403” when you update. What is installed on your site stays.',
  },
  keyEnded: ({ endedAt }) =>
    `This key stopped working on ${day(endedAt)}. Please use the new one, or ask whoever gave you this key.`,
  endsIn: ({ endsAt, now }) => inDays(daysUntil(endsAt, now)),
  keyEnds: ({ endsAt }) => `This key works until ${day(endsAt)}. Please change to the new one before then.`,
  unknownKey: ({ length }) =>
    length === KEY_LENGTH
      ? 'No licence has this key. Please copy it again as a whole.'
      : `No licence has this key. Please copy it again as a whole: this one has ${length} ${length === 1 ? 'character' : 'characters'}.`,
  used: ({ limit, used }) =>
    limit === 0 ? `${count(used)} used, unlimited` : `${count(used)} of ${count(limit)} used`,
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
  coversUntil: ({ endedAt }) => `Your licence covers what appeared until ${day(endedAt)}.`,
  attention: {
    ENDS_SOON: ({ product, endsAt, now }) => {
      if (endsAt === null) return `${product} ends soon.`;
      return `${product} ends ${inDays(daysUntil(endsAt, now))}, on ${day(endsAt)}. Until then nothing changes.`;
    },
    ENDED: ({ product, endsAt }) =>
      `${product} ended${endsAt === null ? '' : ` on ${day(endsAt)}`}. Updates are refused until it is renewed.`,
    FULL: ({ product, limit, activationType }) => {
      const { one, many } = kindOf(activationType);
      return limit === 1
        ? `${product}: your one ${one} is used.`
        : `${product}: all ${count(limit)} ${many} are used.`;
    },
  },
  removalsLeft: ({ allowed, left, nextAt, activationType }) => {
    const { one, many } = kindOf(activationType);
    if (allowed === 0) return `Only the seller can remove a ${one}.`;
    if (nextAt === null) return `You can remove ${count(left)} ${left === 1 ? one : many} within 30 days.`;
    return left === 0
      ? `You can remove the next ${one} on ${day(nextAt)}.`
      : `You can remove ${count(left)} more until ${day(nextAt)}.`;
  },
  noMovesLeft: ({ allowed, nextAt, activationType }) => {
    const { one, many } = kindOf(activationType);
    return allowed === 0 || nextAt === null
      ? `Only the seller can remove a ${one}. Please ask the seller.`
      : `You have removed ${count(allowed)} ${allowed === 1 ? one : many} within 30 days. You can remove the next on ${day(nextAt)}, or ask the seller.`;
  },
  siteHeld: ({ heldUntil, activationType }) =>
    `This ${kindOf(activationType).one} has a file with which it works without network until ${day(heldUntil)}. It can be removed after that day, or earlier by the seller.`,
  siteRemoved: ({ site }) => `${site} is removed. To use it again, activate it there.`,
  keyChanged: ({ oldEndsAt }) =>
    oldEndsAt === null
      ? 'This is the new key. The old one no longer works: every site needs the new key for its next update.'
      : `This is the new key. The old one works until ${day(oldEndsAt)}: every site needs the new key before then.`,
  keyNotKept: 'This key was not kept, so it cannot be shown. A new key can take its place.',
};

interface Kind {
  title: string;
  one: string;
  many: string;
}

const KINDS: Partial<Record<string, Kind>> = {
  domain: { title: 'Sites', one: 'site', many: 'sites' },
  device: { title: 'Devices', one: 'device', many: 'devices' },
  seat: { title: 'Seats', one: 'seat', many: 'seats' },
  instance: { title: 'Instances', one: 'instance', many: 'instances' },
};

/** The length of a key that this service makes. */
const KEY_LENGTH = 35;

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

function kindOf(type: string): Kind {
  return KINDS[type] ?? { title: 'Slots', one: 'slot', many: 'slots' };
}

function inDays(days: number): string {
  return `in ${days} ${days === 1 ? 'day' : 'days'}`;
}

function day(time: Date): string {
  return `${time.getUTCDate()} ${MONTHS[time.getUTCMonth()] ?? ''} ${time.getUTCFullYear()}`;
}

function count(number: number): string {
  return number.toLocaleString('en-GB');
}
