import { describeStored, describeWait, type NoMailReason } from '../failures';
import { uncapitalized } from '../../case';
import { thing } from '../../customers/en/words';
import type { LiveStatus, NextPayment } from '../../../licensing/core/states';
import type {
  EndedKey,
  KeyName,
  MeantKey,
  Named,
  RequestFacts,
  SitePlace,
  StateFacts,
  Name,
} from '../../../support/finding-model';
import { isOfDownload, type SupportTexts } from '../support';
import { failures } from './failures';
import { settings } from './settings';
import { countOf } from '../../../base/count-of';

/** The texts for support, in English. */

const TRY_AGAIN = () => 'The customer can try again.';

export const support: SupportTexts = {
  slotsUsed,
  findings: {
    ACTIVE: ({ expires_at, activation_type, next_payment, payment_failed_at, ...facts }) =>
      `${license(facts)} is active ${until(expires_at, next_payment)}${failed(payment_failed_at)}, ${slotsUsed(facts.activations_used, facts.activation_limit)}, by ${activation_type}.`,
    EXPIRED: ({ expires_at, payment_failed_at, still_downloads, security_updates, all_returned, ...facts }) =>
      `${license(facts)} expired${on(expires_at)}${failed(payment_failed_at)}${refusals(facts)}.${still_downloads ? ` By its plan it still downloads what was published before that${security_updates ? ', and the security releases of the branches that it had' : ''}.` : ''}${all_returned ? ' All payments were refunded or charged back, so it downloads nothing and gets no mail.' : ''}`,
    SUSPENDED: (facts) =>
      `${license(facts)} was suspended${stopped(facts)}${refusals(facts)}.${alsoExpired(facts)}`,
    REVOKED: (facts) => ended('revoked', facts),
    CANCELLED: (facts) => ended('cancelled', facts),
    COVERS: ({ product_id, includes }) =>
      `It also covers what product ${product_id} includes: ${names(includes)}.`,
    SLOTS_FULL: ({ license_id, activation_limit, activations_used }) =>
      `${allSlots(activation_limit, `licence ${license_id}`)} in use (${activations_used}). What is activated keeps working; nothing more can be activated.`,
    FREE_SITES: ({ sites, more }) =>
      sites.map(freeSites).join(' ') + (more ? ' There are more free sites.' : ''),
    NOTHING_PUBLISHED: ({ product_id, product, includes }) =>
      `Product ${product_id} (${product}) has no published version${includes.length > 0 ? ', nor has what it includes' : ''}: no customer can download anything.`,
    OFFER_WITHDRAWN: ({ version, latest }) =>
      `Version ${version} was withdrawn. A site that was offered it says "Invalid extension update" until it checks for updates again${latest === null ? '' : `; the latest is ${latest}`}.`,
    MAIL_NOT_DELIVERED: ({ given_up, queued_at, attempts, reason, status }) =>
      `The mail of ${day(queued_at)} with its key ${given_up ? 'was not delivered' : 'has not been accepted yet and is tried again'}${attempts === 0 ? '' : `, after ${attempts === 1 ? 'one attempt' : `${attempts} attempts`}`}: ${notMailed(status === null ? reason : `${reason} ${status}`)}.`,
    SITES_RUN: ({ sites }) =>
      `Installed, as reported by the sites: ${sites.map(({ site, version, told_at }) => `${version} on ${site} (${day(told_at)})`).join(', ')}.`,
    VALIDATED: ({ last_check_at, last_check_ip, check_count }) =>
      `Its key was last validated at ${last_check_at} from ${last_check_ip ?? 'an unknown address'}, ${check_count === 1 ? 'once' : `${check_count} times`} in all: that client has the right key.`,
    KEY_REPLACED: (facts) => askedKey(facts),
    KEY_ENDED: (facts) => askedKey(facts),
    KEY_MISTYPED: (facts) => askedKey(facts),
    KEY_ENDS: ({ successor, ends_at, license_id, ...facts }) =>
      successor
        ? `${thisKey(facts)} ends on ${day(ends_at)}; another took its place${endsIn(successor)}.`
        : `${thisKey(facts)} is ${keyName(facts)} of licence ${license_id}, and ends on ${day(ends_at)}.`,
    KEY_SHARED: ({ key_hint, networks, days, slots }) =>
      `The key${key_hint === null ? '' : ` that ends in ${key_hint}`} is probably shared: it was used in ${networks} networks within ${days} days, and has ${slots === 1 ? 'one slot' : `${slots} slots`}.`,
    KEY_SLOTS_FULL: ({ activation_limit, activations_used, ...key }) =>
      `${allSlots(activation_limit, keyName(key))} in use (${activations_used}). By this key nothing more can be activated.`,
    KEY_SLOTS: ({ activation_limit, activations_used, ...key }) =>
      `Used slots of ${keyName(key)}: ${activations_used} of ${activation_limit}.`,
    // The sentence does not repeat the search text, which may be a key.
    UNKNOWN_KEY: () =>
      'No licence has this id, key or end of a key. It is also not the e-mail of a customer, the reference of an order, or a site that was activated or recently refused.',
    NEAR_EMAIL: ({ license_id, customer, matched }) =>
      `No customer has exactly this e-mail. Licence ${license_id} has it ${NAMES[matched]}: ${customer}.`,
    SEVERAL_LICENSES: ({ matched, more }) => {
      const count = matched.flatMap(({ license_ids }) => license_ids).length;
      const have = matched.some(({ by }) => ['beginning', 'near', 'provider'].includes(by))
        ? 'come near this'
        : 'have this';
      const groups = matched.map(({ by, license_ids }) => `${license_ids.join(', ')} ${NAMES[by]}`);
      return `${more ? `More than ${count} licences ${have}; the first` : `${count} licences ${have}`}: ${groups.join('; ')}.`;
    },
    ALSO_A_REFERENCE: ({ license_id, reference }) =>
      `An order has the number ${reference} as well: that of licence ${license_id}.`,
    ORDER: ({ shop, order, issued, renewed, event, event_at }) => {
      const did = [
        ...(issued.length > 0 ? [`issued ${licences(issued)}`] : []),
        ...(renewed.length > 0 ? [`renewed ${licences(renewed)}`] : []),
      ];
      return `Order ${order} of shop ${shop} ${did.join(' and ')}. Its latest event is "${event}" of ${day(event_at)}.`;
    },
    ORDER_MAIL: ({ shop, order, state, to, at, reason }) => {
      const keys = `The keys of order ${order} of shop ${shop}`;
      if (state === 'sent') return `${keys} were mailed to ${to ?? '-'} on ${at ?? '-'}.`;
      if (state === 'failed') return `${keys} could not be mailed to ${to ?? '-'}: ${notMailed(reason)}.`;
      if (state === 'queued')
        return `${keys} are on their way to ${to ?? '-'}${reason === null ? '' : `; the last attempt failed: ${notMailed(reason)}`}.`;
      return `${keys} were not mailed: ${failures.keysNotMailed[reason as NoMailReason]}.`;
    },
    ORDER_WAITS: ({ shop, order, line, waits_for, sku, renews }) =>
      `Order ${order} of shop ${shop} waits at line ${line}: ${describeWait(failures, waits_for, (waits_for === 'unknown_order' ? renews : sku) ?? '')}.`,
    ORDER_LINE_UNUSABLE: ({ shop, order, line, problem }) =>
      `Line ${line} of order ${order} of shop ${shop} cannot be processed: ${describeWait(failures, problem)}.`,
    ORDER_TOO_LARGE: ({ shop, order }) =>
      `Order ${order} of shop ${shop} waits: it names more than 100 lines.`,
    ORDER_FAILED: ({ shop, order, reason, failed_at, retry_at }) =>
      `Order ${order} of shop ${shop} could not be processed since ${failed_at ?? '-'} (${reason}). It is tried again at ${retry_at ?? '-'}.`,
    ORDER_ISSUED_NOTHING: ({ shop, order, event, reason }) =>
      `Order ${order} of shop ${shop} has no licence: ${NOT_ISSUED[reason] ?? `its latest event is "${event}"`}.`,
    IN_ACCESS_LOG: ({ last_at, access }, tell) =>
      `This is not activated on a licence, but is in the access log, last on ${last_at}: ${tell(access.code, access.facts)}`,
    ONLY_NEARBY: ({ license_id, log_days }) =>
      `No download and no refusal with the key of licence ${license_id} is recorded (records are kept for ${countOf(log_days, 'day')}). What follows came with a key that resembles it, or from a network where it is used.`,
    NOTHING_RECORDED: ({ about, license_id, ip, log_days }) => {
      const what = {
        license: `licence ${license_id ?? ''}`,
        key: 'this key',
        hint: 'a key with this end',
        ip: ip ?? '',
      };
      return `No download and no refusal of ${what[about]} is recorded (records are kept for ${countOf(log_days, 'day')}). If an update failed, its request did not come as far as this service, or it failed after the download.`;
    },
    CHECKED: ({ request }) =>
      `A check by ${who(request)} found that version ${request.version ?? '?'} may be downloaded${request.license_id === null ? '' : ` with licence ${request.license_id}`}.`,
    GRANTED: ({ request }) => `${granted(request)}.`,
    GRANTED_REPEATEDLY: ({ request, count }) =>
      `${granted(request)}, ${count} times. Joomla asks once for each click on Update: either several sites share that address, or the package arrived and was not installed.`,
  },
  refused: (request, because) =>
    `${attempt(request)}${request.other_key ? ' with another key' : ''} was ${request.endpoint === 'check' ? 'answered with no' : 'refused'} to ${who(request)}: ${because}.`,
  causes: {
    RATE_LIMITED: () => OVER_LIMIT,
    RATE_LIMITED_PROXY: ({ loopback }) =>
      `${OVER_LIMIT}. The address is ${loopback ? "this machine's own" : 'inside your own network'}. Either the site or program that asked is ${loopback ? 'on this machine' : 'in that network'} too, or nginx, or a CDN before it, does not tell the service the customers' addresses, so that all of them share one limit`,
    BAD_IDENTIFIER: ({ activation_type: type }) =>
      `that is not a valid ${type}, and the plan counts ${type}s`,
    MALFORMED: () =>
      'the key or the identifier is missing, a field has a value that is not allowed, or the body cannot be read',
    BAD_PRODUCT_ID: () => 'the download address has no product id at its end',
    NO_KEY: ({ request: { joomla_version } }) =>
      `no key was sent with it${joomla_version === null ? '' : '. Joomla leaves the key out when downloadurl has a "#", when the request was redirected (for example from http to https), and when the extension has no Download Key field'}`,
    KEY_REPLACED: (facts) => keyCause(facts),
    KEY_ENDED: (facts) => keyCause(facts),
    KEY_MISTYPED: (facts) => keyCause(facts),
    UNKNOWN_KEY: ({ request: { key_hint } }) =>
      `the key is unknown${key_hint === null ? ', and not of the form of this service\'s keys, so that nothing of it is recorded (Joomla cuts a key off at "&" and "#")' : ''}`,
    EXPIRED: ({ was, still, expires_at, older_versions, request: { version } }) => {
      if (!still) return `${usedToBe(was)}, and is expired now`;
      const expired = expires_at ? `the licence expired on ${day(expires_at)}` : 'the licence has expired';
      return older_versions
        ? `${expired}, and ${version ? `version ${version}` : 'every version'} was published after that. It still downloads what was published before`
        : expired;
    },
    SUSPENDED: ({ was, still }) =>
      still ? 'the licence is suspended' : `${usedToBe(was)}, and is suspended now`,
    REVOKED: ({ was, still }) =>
      still ? 'the licence is revoked, which is final' : `${usedToBe(was)}, and is revoked now`,
    CANCELLED: ({ was, still }) =>
      still ? 'the licence is cancelled, which is final' : `${usedToBe(was)}, and is cancelled now`,
    ACTIVE_AGAIN: ({ was }) => `${usedToBe(was)}; it is active again now`,
    COVERED_SINCE: ({ product }) => {
      const asked = `product ${product.id} (${product.name})`;
      return `the licence did not cover ${asked}; it covers it now`;
    },
    WRONG_PRODUCT: ({ product, includes, asked, request: { product_id } }) =>
      `the licence is for product ${product.id} (${product.name})${includes.length > 0 ? `, which includes ${names(includes)}` : ''}, and the request was for ${asked ? `product ${asked.id} (${asked.name})` : `product ${product_id ?? '?'}`}`,
    OTHER_KEY: ({ activation_type, activated_by, ...key }) =>
      `${activation_type === 'domain' ? 'this site' : 'it'} was activated with another key (${activated_by === null ? 'the main key' : `key ${activated_by}`}), and ${keyName(key)} frees only slots that were taken with it`,
    SLOTS_FULL: ({ license_status, activation_limit, key, place }) =>
      license_status === 'active'
        ? `${uncapitalized(allSlots(activation_limit))} in use${key ? `; used slots of ${keyName(key)}: ${key.activations_used} of ${key.activation_limit}` : ''}${why(place)}`
        : `all slots were in use; the licence is ${license_status} now`,
    KEY_SLOTS_FULL: ({ license: all, place, activation_limit, activations_used, ...key }) =>
      `${uncapitalized(allSlots(activation_limit, keyName(key)))} in use (${activations_used}), while the licence uses ${all.activations_used}${all.activation_limit === 0 ? ', without a limit' : ` of ${all.activation_limit}`}${why(place)}`,
    SLOT_FREE: ({ free_site, request }) =>
      `${slotThen(request)}; ${free_site ? 'this site takes no slot now' : 'a slot is free now'}`,
    HELD: () => 'a file for use without network holds it, or a staging site that would go with it',
    NOT_ACTIVATED: ({ license_status, request }) => {
      if (license_status !== 'active') return `${slotThen(request)}; the licence is ${license_status} now`;
      return slotThen(request) + (request.endpoint === 'deactivate' ? ', so there was no slot to free' : '');
    },
    ACTIVATED_SINCE: ({ request }) => `${slotThen(request)}; ${request.identifier ?? 'it'} is activated now`,
    NOTHING_PUBLISHED: ({ includes }) =>
      `the product has no published version${includes.length > 0 ? `; the licence also covers ${names(includes)}, each by its own product id` : ''}`,
    PUBLISHED_SINCE: ({ version, request }) =>
      request.version === version
        ? `version ${version} was not published; it is published now`
        : `the product had no published version; version ${version} is published now`,
    VERSION_NOT_PUBLISHED: ({ latest, draft, request: { version } }) =>
      draft
        ? `version ${version ?? '?'} is a draft; ${others(latest)}`
        : `version ${version ?? '?'} was not published; ${others(latest)}`,
    VERSION_WITHDRAWN: ({ latest, withdrawn_then, request: { version } }) =>
      `version ${version ?? '?'} was ${withdrawn_then ? 'withdrawn' : 'not published, and is withdrawn now'}; ${others(latest)}`,
    PACKAGE_MISSING: () =>
      "the package's file was missing from the packages folder, or the service may not read it",
    OMITTED: () =>
      'this address had many different requests refused in a minute, and only the first of them are recorded one by one',
    REFUSED: ({ request: { outcome } }) => `the service answered ${outcome}`,
  },
  advice: {
    RATE_LIMITED: ({ request: { endpoint } }) =>
      `Wait a minute, then try again. If many customers share this address, raise “${isOfDownload(endpoint) ? settings.names.download_rate_limit : settings.names.rate_limit}” under Settings.`,
    BAD_IDENTIFIER: ({ activation_type }) =>
      `The customer's software must send a ${activation_type}. Tell its developer.`,
    MALFORMED: () => "The customer's software does not send what the API asks for. Tell its developer.",
    BAD_PRODUCT_ID: () =>
      'downloadurl in the update XML is wrong (mostly a "?" is missing before what follows the id).',
    NO_KEY: ({ request: { joomla_version } }) =>
      joomla_version === null
        ? 'The address needs the key at its end, after "?dlid=".'
        : 'Check the update XML. The extension needs <dlid prefix="dlid=" suffix=""/> in its manifest.',
    KEY_MISTYPED: ({ license_status, key_ended, request }) =>
      license_status !== 'active' || key_ended || request?.other_key
        ? null
        : 'The customer should paste the whole key again, in Joomla under System > Update > Update Sites, into Download Key.',
    UNKNOWN_KEY: () =>
      'Ask the customer for the whole key or for their e-mail. There is no end of a key that has fewer than 16 characters.',
    WRONG_PRODUCT: ({ request: { endpoint } }) =>
      isOfDownload(endpoint)
        ? "The customer pasted the key at another extension's update site, or downloadurl in the update XML names the wrong product."
        : "The customer entered another extension's key, or the extension sends the wrong product_id.",
    ORDER_TOO_LARGE: () => 'If that is right, confirm it: “Confirm and process” on the page of the order.',
    ORDER_LINE_UNUSABLE: () =>
      'Assign it to a licence, issue a licence for it, or ignore it: the page “Unmatched payments” has all three.',
    COVERED_SINCE: TRY_AGAIN,
    ACTIVE_AGAIN: TRY_AGAIN,
    SLOT_FREE: TRY_AGAIN,
    PUBLISHED_SINCE: TRY_AGAIN,
    NOT_ACTIVATED: ({ license_status, request: { endpoint } }) =>
      license_status !== 'active' || endpoint === 'deactivate'
        ? null
        : "The customer's software must activate it first.",
    VERSION_NOT_PUBLISHED: ({ draft }) =>
      draft ? null : 'The update XML names a version that cannot be downloaded.',
    VERSION_WITHDRAWN: () => 'A site lists it until it checks for updates again.',
    NOTHING_RECORDED: () => 'Ask the customer what Joomla said, and look for it in the list below.',
    GRANTED_REPEATEDLY: () =>
      'Ask the customer what Joomla said, and look at CHECKSUM, NO_PACKAGE and OUT_OF_MEMORY below.',
  },
  now: {
    updates: ({ version }) => `Updates work: version ${version ?? '?'} is sent.`,
    newSite: ({ activation_limit, activations_used, activation_type }) =>
      `New ${thing(activation_type).many} can be added: ${
        activation_limit === 0
          ? 'the number of slots is unlimited'
          : `${activation_limit - activations_used} of ${activation_limit} ${activation_limit === 1 ? 'slot' : 'slots'} ${activation_limit - activations_used === 1 ? 'is' : 'are'} free`
      }.`,
    updatesRefused: (because) => `Updates are refused: ${because}.`,
    newSiteRefused: (because, { activation_type }) =>
      `New ${thing(activation_type).many} are refused: ${because}.`,
    because: {
      LICENSE_NOT_FOUND: () => 'the key has ended',
      LICENSE_INACTIVE: ({ license_status }) => `the licence is ${license_status}`,
      LICENSE_EXPIRED: ({ expires_at }) => `the licence expired${on(expires_at)}`,
      ACTIVATION_LIMIT_REACHED: ({ activation_limit }) =>
        `${uncapitalized(allSlots(activation_limit))} in use`,
      DOWNLOAD_NOT_FOUND: () => 'the product has no published version',
      FILE_NOT_FOUND: () => 'the file of the package is missing or cannot be read',
    },
  },
  untraced: ({ says, means, todo }) => `Joomla shows: ${says}. ${means} ${todo}`,
  validate:
    'Validate calls are not recorded one by one. The service keeps the time of the latest call and the number of calls of each licence.',
};

const OVER_LIMIT =
  'this address sent more requests than the limit allows (only the first refusal of each time window is recorded)';

const NAMES: Record<Name, string> = {
  customer: 'as their customer',
  reference: 'as their reference',
  order: 'as their order',
  hint: 'as the end of their key',
  identifier: 'as what is activated',
  access: 'only in the access log',
  beginning: "as the beginning of their customer's e-mail",
  near: "as their customer's e-mail but for one slip",
  provider: "as the name in their customer's e-mail, at another provider",
};

const NOT_ISSUED: Record<string, string> = {
  test: 'it is a test, and the shop has no plan for tests',
  not_paid: 'no payment of it is known here',
  refunded: 'it was refunded',
  charged_back: 'its payment was charged back',
  cancelled: 'it was cancelled',
  rule: 'by the rules of the shop its events do nothing',
};

/** @param reason such as `ADDRESS_REFUSED 550` */
function slotsUsed(used: number, limit: number): string {
  return limit === 0
    ? `${countOf(used, 'slot')} used, no limit`
    : `${used} of ${countOf(limit, 'slot')} used`;
}

function notMailed(reason: string | null): string {
  return describeStored(failures.mail, reason ?? '');
}

function licences(ids: number[]): string {
  return `${ids.length === 1 ? 'licence' : 'licences'} ${ids.join(', ')}`;
}

const SLIPS: Record<MeantKey['slip'], (id: number, whose: string) => string> = {
  'one-character': (id, whose) => `${whose} differs from licence ${id}'s in one character`,
  transposed: (id, whose) => `${whose} is licence ${id}'s with two neighbouring characters swapped`,
  missing: (id, whose) => `${whose} is licence ${id}'s with one character left out`,
  extra: (id, whose) => `${whose} is licence ${id}'s with one character too many`,
  confused: (id, whose) =>
    `${whose} is licence ${id}'s with a letter for a digit that looks like it (O for 0, I or l for 1) or the other way round`,
  spelling: (id, whose) =>
    `${whose} is licence ${id}'s in another spelling (case, or hyphens in other places)`,
  elsewhere: (id) => `it ends like licence ${id}'s, and then the mistake is in a part before its end`,
  shape: (id) =>
    `it ends like licence ${id}'s, but is not a whole key: before its end a character is missing, or one too many, or not one of 0-9 and A-F`,
  replaced: (id) => `it ends like the key that licence ${id} had before it got a new one`,
  ended: (id) => `it ends like a key of licence ${id} that has ended`,
};

const COMPARED: Record<MeantKey['compared'], string> = {
  key: 'it',
  end: 'its end',
  last_group: 'its last group',
  end_asked_about: 'this end',
  key_asked_about: 'the key asked about',
};

/** Returns a time as a day, unless it is a day already, as pages write it (`pageFacts`). */
function day(time: string): string {
  return time.includes('T') ? time.slice(0, 10) : time;
}

function until(time: string | null, next: NextPayment): string {
  if (next === 'awaited' && time !== null) return `and paid until ${day(time)}, renewal awaited`;
  if (next === 'by_itself')
    return `and ${time === null ? 'paid without an end' : `paid until ${day(time)}`}, and renews automatically`;
  return time === null ? 'without an end' : `until ${day(time)}`;
}

function failed(time: string | null): string {
  return time === null ? '' : `, a payment failed${on(time)}`;
}

function on(time: string | null): string {
  return time === null ? '' : ` on ${day(time)}`;
}

function license({
  license_id,
  product,
  plan,
}: {
  license_id: number;
  product: string;
  plan: string;
}): string {
  return `Licence ${license_id} (${product}, ${plan})`;
}

function refusals({
  refused_since: count,
  refused_more,
}: Pick<StateFacts['SUSPENDED'], 'refused_since' | 'refused_more'>): string {
  return count === 0
    ? ''
    : `, ${refused_more ? 'at least ' : ''}${count} ${count === 1 ? 'download' : 'downloads'} refused since`;
}

function stopped({ stopped_at, actor, reason }: StateFacts['SUSPENDED']): string {
  return stopped_at === null
    ? ''
    : ` on ${day(stopped_at)} by ${actor ?? ''}${reason === null ? '' : ` ("${reason}")`}`;
}

function alsoExpired({ expired_at }: StateFacts['SUSPENDED']): string {
  return expired_at === null ? '' : ` It also expired on ${day(expired_at)}.`;
}

function ended(status: 'revoked' | 'cancelled', facts: StateFacts['REVOKED']): string {
  return `${license(facts)} was ${status}${stopped(facts)}, which is final${refusals(facts)}.${alsoExpired(facts)}`;
}

function names(products: Named[]): string {
  return products.map(({ id, name }) => `${name} (${id})`).join(', ');
}

/** Returns the beginning of a sentence. */
function allSlots(limit: number, of?: string): string {
  const whose = of === undefined ? '' : ` of ${of}`;
  return limit === 1 ? `The one slot${whose} is` : `All ${limit} slots${whose} are`;
}

function keyName({ key_id, label }: KeyName): string {
  return `key ${key_id}${label === null ? '' : ` ("${label}")`}`;
}

function thisKey({ named_by }: { named_by: 'key' | 'hint' }): string {
  return named_by === 'key' ? 'This key' : 'The key with this end';
}

function endsIn({ key_hint }: { key_hint: string | null }): string {
  return key_hint === null ? '' : `, which ends in ${key_hint}`;
}

function endOf({ ended_at, successor, is_known }: EndedKey): string {
  if (!is_known) return 'has ended';
  const when = `ended${on(ended_at)}`;
  return successor === null
    ? `${when}, and no other took its place`
    : `${when}; another took its place${endsIn(successor)}${successor.ended ? ', and has ended too' : ''}`;
}

function meantFor({
  license_id: id,
  license_status,
  slip,
  certain,
  compared,
  also,
  key_ended,
}: MeantKey): string {
  const possible = certain ? '' : `it may be meant for licence ${id}: `;
  const others = also.length === 0 ? '' : ` (also possible: ${also.join(', ')})`;
  const useless = license_status === 'active' ? '' : `; licence ${id} is ${license_status} now`;
  return `the key is unknown; ${possible}${SLIPS[slip](id, COMPARED[compared])}${others}${key_ended ? ', and that key has ended' : ''}${useless}`;
}

function askedKey(facts: StateFacts['KEY_ENDED']): string {
  return 'slip' in facts
    ? `No licence has ${facts.named_by === 'key' ? 'this key' : 'a key with this end'}: ${meantFor(facts)}.`
    : `${thisKey(facts)} ${endOf(facts)}.`;
}

function keyCause(facts: (EndedKey | MeantKey) & { request: RequestFacts }): string {
  if ('slip' in facts) return meantFor(facts);
  const { license_status, request } = facts;
  const full = request.outcome === 'ACTIVATION_LIMIT_REACHED' ? `${slotThen(request)}; ` : '';
  return `${full}the key ${endOf(facts)}${license_status === 'active' ? '' : `; the licence is ${license_status} now`}`;
}

function usedToBe(was: LiveStatus | null): string {
  return was === 'expired' ? 'the licence had expired' : `the licence was ${was ?? 'not active'}`;
}

function slotThen({ outcome, identifier }: RequestFacts): string {
  return outcome === 'ACTIVATION_LIMIT_REACHED'
    ? 'all slots were in use'
    : `${identifier ?? 'that'} was not activated`;
}

function why(place: SitePlace | null): string {
  if (place === null) return '';
  return 'site' in place
    ? `; it is a staging site, which takes no slot as soon as another site of ${place.site} has one`
    : `; it is a ${place.kind} site, but ${place.free_sites} sites take no slot already, the most for this licence`;
}

function freeSites({ site, free, holders }: StateFacts['FREE_SITES']['sites'][number]): string {
  const one = free.length === 1;
  const they = `${inWords(free, 'and')} ${one ? 'takes' : 'take'} no slot`;
  if (site === null)
    return `${they}: only ${one ? 'its' : 'their'} own machine or network reaches ${one ? 'it' : 'them'}.`;
  const carriers = holders.length > MANY ? '' : inWords(holders, 'or');
  return `${they} as long as ${carriers || `a site of ${site}`} has one.`;
}

/** The maximum of holders that are named. */
const MANY = 10;

function inWords(words: string[], word: 'and' | 'or'): string {
  const last = words.at(-1) ?? '';
  return words.length < 2 ? last : `${words.slice(0, -1).join(', ')} ${word} ${last}`;
}

function others(latest: string | null): string {
  return latest === null ? 'no other is published' : `the latest is ${latest}`;
}

function attempt({ endpoint, version, product_id, identifier, license_id }: RequestFacts): string {
  const of = license_id === null ? '' : ` with licence ${license_id}`;
  switch (endpoint) {
    case 'check':
    case 'download':
      return `A download${endpoint === 'check' ? ' check' : ''} ${product_id === null ? 'without a product id' : `of product ${product_id}`}${version === null ? '' : `, version ${version},`}${of}`;
    case 'activate':
    case 'deactivate':
      return `${endpoint === 'activate' ? 'Activating' : 'Deactivating'} ${identifier ?? '(no identifier)'}${of}`;
    case 'token':
      return `A file for use without network for ${identifier ?? '(no identifier)'}${of}`;
    case 'updates':
      return 'An update check';
    case 'validate':
      return 'A validate call';
  }
}

function granted({ version, license_id, ...request }: RequestFacts): string {
  return `Version ${version ?? '?'} was granted to ${who(request)}${license_id === null ? '' : ` with licence ${license_id}`}`;
}

function who({
  client,
  joomla_version,
  user_agent,
  ip,
  site,
  installed_version,
}: Pick<
  RequestFacts,
  'client' | 'joomla_version' | 'user_agent' | 'ip' | 'site' | 'installed_version'
>): string {
  const clients = {
    unnamed: 'a client without a name',
    trial: `a trial of your own (as Joomla ${joomla_version ?? '?'})`,
    joomla: `Joomla ${joomla_version ?? '?'}`,
    browser: 'a browser',
    other: `"${user_agent?.slice(0, 60) ?? ''}"`,
  };
  const told = site === null ? '' : `, which says it is ${site}`;
  const installed = installed_version === null ? '' : `, with version ${installed_version} installed`;
  return `${clients[client]} at ${ip ?? 'an unknown address'}${told}${installed}`;
}
