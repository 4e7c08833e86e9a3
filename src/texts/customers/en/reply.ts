import { joomlaError, type ReplyFacts, type ReplyTexts, type StoppingEvent } from '../reply';
import { english, thing } from './words';

export const reply: ReplyTexts = {
  greeting: 'Hello,',
  closing: 'Kind regards',
  subject: (product) => (product === null ? 'Your licence key' : `Your licence for ${product}`),
  page: (url) => `Your licences, their sites and keys are on your page:\n${url}`,
  ask: (supportUrl) => `If you have questions:\n${supportUrl}`,
  cases: {
    fine: (facts) => [
      `${valid(facts)}, and updates work.`,
      'If Joomla still shows an error, please send me its exact words and the time of the attempt.',
    ],
    works_again: (facts) => [
      `${valid(facts)}. An update was refused earlier; the cause no longer exists${facts.worksSince ? `, and an update has succeeded since` : ''}.`,
      'Please try again in Joomla, under System > Update > Extensions. You do not need to change anything first.',
    ],
    expired: (facts) => [
      `${your(facts)} ended${on(facts.endedOn)}. Since then Joomla answers an update with "${joomlaError(403)}". The sites themselves have not changed.`,
      facts.renewUrl
        ? `After the renewal the update works at once, with the same key:\n${facts.renewUrl}`
        : 'After a renewal the update works at once, with the same key. If you want to renew, just answer this mail.',
    ],
    older_versions: (facts) => [
      `${your(facts)} ended${on(facts.endedOn)}. You can still download every version published until then. A newer version is refused, and Joomla shows "${joomlaError(403)}".`,
      facts.renewUrl
        ? `After the renewal you get the newest version at once, with the same key:\n${facts.renewUrl}`
        : 'After a renewal you get the newest version at once, with the same key. If you want to renew, just answer this mail.',
    ],
    suspended: (facts) => [
      `${your(facts)} has been paused${facts.stoppedOn ? ` since ${english.longDay(facts.stoppedOn)}` : ''}${facts.stoppedBy === null ? '' : `, because ${BECAUSE[facts.stoppedBy]}`}. Until it is active again, Joomla answers an update with "${joomlaError(403)}". The sites themselves have not changed.`,
      facts.stoppedBy === null || facts.stoppedBy === 'charged_back'
        ? 'Please answer this mail, so that we can settle what is open. Afterwards the update works at once, with the same key.'
        : NEW_ORDER,
    ],
    revoked: (facts) => [
      `${your(facts)} was withdrawn${on(facts.stoppedOn)}. Joomla answers an update with "${joomlaError(403)}". The installed extension does not change.`,
      'If you think this is a mistake, please answer this mail.',
    ],
    cancelled: (facts) => [
      `${your(facts)} was cancelled${on(facts.stoppedOn)}. Joomla answers an update with "${joomlaError(403)}". The installed extension does not change.`,
      NEW_ORDER,
    ],
    full: (facts) => [
      `${your(facts)} is valid and updates work, but ${all(facts)} in use. A new one is refused until another is removed. Everything in use keeps working.`,
      `Please tell me which ${thing(facts.activationType).one} may be removed. Its place is free at once.${facts.upgradeUrl ? '' : ' If you need more places, I can tell you what a larger licence costs.'}`,
      ...larger(facts, 'A larger licence has more places, and keeps the key:'),
    ],
    not_published: (facts) => [
      `${your(facts)} is in order. At the moment there is no version to download, so Joomla answers an update with "${joomlaError(404)}". This is our mistake, not yours.`,
      'We are putting it right. Please try again later; nothing has to be changed on your site.',
    ],
    package_missing: (facts) => [
      `${your(facts)} is in order. The file of the update cannot be sent at the moment, so Joomla answers with "${joomlaError(404)}". This is our mistake, not yours.`,
      'We are putting it right. Please try again later; nothing has to be changed on your site.',
    ],
    key_ended: (facts) => [
      `The key that your site sends${forProduct(facts)} is no longer valid, so Joomla answers an update with "${joomlaError(403)}". Your licence itself is not affected.`,
      `${facts.hint ? `The key that is valid now ends in ${facts.hint}. ` : ''}${PASTE} If you do not have the new key, please answer this mail.`,
    ],
    mistyped: (facts) => [
      `The key that your site sends${forProduct(facts)} has a typing mistake, so Joomla answers an update with "${joomlaError(403)}".${ends(facts)}`,
      `${PASTE} Afterwards the update works at once.`,
    ],
    unknown_key: (facts) => [
      `The key that your site sends${forProduct(facts)} is not known to us, so Joomla answers an update with "${joomlaError(403)}".`,
      `${PASTE} If that does not help, please answer with the e-mail address that you bought with.`,
    ],
    wrong_product: (facts) => [
      `${your(facts)} is valid, but its key is entered for another extension in Joomla. For that extension, Joomla answers an update with "${joomlaError(403)}".`,
      `In Joomla, under System > Update > Update Sites, every extension has a Download Key of its own. Please enter this key only for ${facts.entries ?? 'the extension that it was bought for'}.`,
      ...larger(facts, 'A licence that covers the other extension too, with the same key:'),
    ],
    no_key: (facts) => [
      `${facts.product === null ? 'Your' : `${your(facts)} is valid, but your`} site sent no key with its request, so Joomla answers the update with "${joomlaError(400)}".`,
      PASTE,
    ],
    too_many_requests: (facts) => [
      `${facts.product === null ? '' : `${your(facts)} is valid. `}Your server sent too many requests in a short time, so Joomla answered with "${joomlaError(429)}".`,
      'Please wait a minute and try again. You do not need to change anything.',
    ],
    unknown_address: () => [
      'Nothing was bought here with the e-mail address that you write from.',
      'Please answer with the address that you bought with, or with the order number or the end of your key. Then I can look it up.',
    ],
    version_gone: (facts) => [
      `${your(facts)} is valid, but ${facts.version === null ? 'this version' : `version ${facts.version}`} cannot be downloaded (any longer), so Joomla answers with "${joomlaError(404)}".`,
      'In Joomla, under System > Update > Extensions, please select Check for Updates. Then Joomla offers the right version.',
    ],
  },
};

const BECAUSE: Record<StoppingEvent, string> = {
  refunded: 'its payment was refunded',
  charged_back: 'its payment was charged back',
  subscription_ended: 'its subscription has ended',
  cancelled: 'its order was cancelled',
};

const NEW_ORDER = 'A new order gets a new key. If you think this is a mistake, please answer this mail.';

const PASTE =
  'In Joomla, please open System > Update > Update Sites, select the extension and paste the whole key again into Download Key, without a space before or after it.';

function larger({ upgradeUrl }: ReplyFacts, says: string): string[] {
  return upgradeUrl === null ? [] : [`${says}\n${upgradeUrl}`];
}

function on(date: Date | null): string {
  return date === null ? '' : ` on ${english.longDay(date)}`;
}

/** Returns the beginning of a sentence. */
function valid(facts: ReplyFacts): string {
  const { endedOn, nextPayment } = facts;
  if (endedOn === null) return `${your(facts)} is valid`;
  const until = english.longDay(endedOn);
  if (nextPayment === 'awaited') return `${your(facts)} is paid until ${until}, its renewal is expected`;
  return nextPayment === 'by_itself'
    ? `${your(facts)} is paid until ${until} and renews automatically`
    : `${your(facts)} is valid until ${until}`;
}

function your({ product, hint }: ReplyFacts): string {
  return `Your licence${product === null ? '' : ` for ${product}`}${hint === null ? '' : ` (key ending in ${hint})`}`;
}

function forProduct({ product }: ReplyFacts): string {
  return product === null ? '' : ` for ${product}`;
}

function ends({ hint, seenHint }: ReplyFacts): string {
  return hint === null || seenHint === null || hint === seenHint
    ? ''
    : ` It ends in ${seenHint}, and yours ends in ${hint}.`;
}

function all({ slots, activationType }: ReplyFacts): string {
  const { one: site, many } = thing(activationType);
  return slots === 1 ? `its only ${site} is` : `all ${english.number(slots)} ${many} are`;
}
