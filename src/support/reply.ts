import { liveStatus, nextPayment, paidUntil } from '../licensing/core/states';
import type { License } from '../store/licenses/licenses';
import type { FindingCode } from './finding-model';
import { CUSTOMERS, type CustomerLanguage } from '../texts/customers/languages';
import { STOPPING_EVENTS, type ReplyCase, type ReplyFacts } from '../texts/customers/reply';
import { readOrderReason } from '../texts/order-reason';
import type { HistoryEntry } from './request-history';
import type { GroupedFindings } from './grouped-findings';

/** The mail that answers a refused customer, without a command, an IP address or a whole key. The functions are pure. */

interface ReplyOptions {
  language: CustomerLanguage;
  now: Date;
  /** the licence asked about, or the licence that a mistyped key was meant for; undefined: none was identified */
  license: License | undefined;
  /** addresses of the licence's product */
  product?: { renewUrl: string | null; supportUrl: string | null } | undefined;
  /** the address from the licence's plan */
  upgradeUrl?: string | null | undefined;
  /** the update sites that Joomla lists for the licence (`updateSites`); by default the name of its product */
  entries?: string | undefined;
  /** the customer's page; undefined: none */
  myUrl?: string | undefined;
  /** whether the search text was an e-mail address without a match */
  isAddress?: boolean;
  /** the signature; undefined or empty: no signature */
  shopName?: string | undefined;
  /** the end of the key asked about; undefined: the main key's */
  keyHint?: string | null | undefined;
}

export interface Reply {
  case: ReplyCase;
  subject: string;
  /** plain text, with an empty line between paragraphs */
  body: string;
}

/** @param happened the entries of the answer's requests, newest first (`whatHappened`) */
export function writeReply(answer: GroupedFindings, happened: HistoryEntry[], options: ReplyOptions): Reply {
  const { language, license, product, shopName, now, myUrl } = options;
  const { greeting, closing, subject, ask, page, cases } = CUSTOMERS[language].reply;
  const replyCase = options.isAddress ? 'unknown_address' : caseOf(answer, happened, license, now);
  const stopReason = readOrderReason(answer.stop?.facts.reason ?? null);
  const facts: ReplyFacts = {
    product: license?.product.name ?? null,
    entries: options.entries ?? license?.product.name ?? null,
    hint:
      (replyCase === 'key_ended' ? answer.successor?.key_hint : options.keyHint) ?? license?.keyHint ?? null,
    // The end of another customer's key, or of an unassigned key, would not help the customer.
    seenHint: replyCase === 'mistyped' ? (happened.find(({ near }) => near)?.near?.seen ?? null) : null,
    endedOn: license ? paidUntil(license) : null,
    nextPayment: license ? nextPayment(license, now) : null,
    stoppedOn: stoppedOn(answer),
    stoppedBy: STOPPING_EVENTS.find((event) => event === stopReason?.event) ?? null,
    slots: slotsOf(answer, license),
    activationType: license?.plan.activationType ?? 'domain',
    version: happened.find(({ kind }) => kind === 'refused')?.client.version ?? null,
    worksSince: happened.find(({ worksAgain }) => worksAgain)?.worksAgain ?? null,
    renewUrl: product?.renewUrl ?? null,
    upgradeUrl: options.upgradeUrl ?? null,
  };
  const paragraphs = [
    greeting,
    ...cases[replyCase](facts),
    ...(myUrl === undefined ? [] : [page(myUrl)]),
    ...(product?.supportUrl ? [ask(product.supportUrl)] : []),
    shopName ? `${closing}\n${shopName}` : closing,
  ];
  return {
    case: replyCase,
    subject: subject(facts.product),
    body: paragraphs.join('\n\n'),
  };
}

function caseOf(
  { now, meant }: GroupedFindings,
  happened: HistoryEntry[],
  license: License | undefined,
  at: Date,
): ReplyCase {
  const [latest] = happened;
  if (now === null)
    return license === undefined && meant === undefined && latest?.kind === 'refused'
      ? (CASES_WITHOUT_LICENSE[latest.code] ?? 'unknown_key')
      : caseOfUnknown(meant);
  if (!now.updates.allowed) {
    switch (now.updates.code) {
      case 'DOWNLOAD_NOT_FOUND':
        return 'not_published';
      case 'FILE_NOT_FOUND':
        return 'package_missing';
      default:
        break;
    }
    const status = license ? liveStatus(license, at) : 'active';
    return status === 'active' ? 'key_ended' : status;
  }
  if (now.new_site.code === 'LICENSE_EXPIRED') return 'older_versions';
  // The customer's latest refusal matters more than full slots.
  const met = latest?.kind === 'refused' && !latest.worksAgain ? CASES[latest.code] : undefined;
  if (met !== undefined) return met;
  if (!now.new_site.allowed) return 'full';
  return happened.some(({ kind }) => kind === 'refused') ? 'works_again' : 'fine';
}

/** The refusals of a licence that is valid, by their causes. */
const CASES: Partial<Record<FindingCode, ReplyCase>> = {
  KEY_MISTYPED: 'mistyped',
  KEY_REPLACED: 'key_ended',
  KEY_ENDED: 'key_ended',
  WRONG_PRODUCT: 'wrong_product',
  RATE_LIMITED: 'too_many_requests',
  VERSION_NOT_PUBLISHED: 'version_gone',
  VERSION_WITHDRAWN: 'version_gone',
};

/** The refusals of an IP address without a known licence. */
const CASES_WITHOUT_LICENSE: Partial<Record<FindingCode, ReplyCase>> = {
  NO_KEY: 'no_key',
  RATE_LIMITED: 'too_many_requests',
  OMITTED: 'too_many_requests',
};

function caseOfUnknown(meant: GroupedFindings['meant']): ReplyCase {
  if (meant === undefined) return 'unknown_key';
  // The end of a key is only a guess and may belong to another customer's licence, so the mail just states "not known".
  if (meant.code !== 'KEY_MISTYPED') return 'key_ended';
  return meant.facts.certain === false ? 'unknown_key' : 'mistyped';
}

/** Returns the slots of the licence, or those of the key if only its own limit is reached. */
export function slotsOf({ fullKey }: GroupedFindings, license: License | undefined): number {
  const { activationLimit = 0, activationsUsed = 0 } = license ?? {};
  if (fullKey === undefined || (activationLimit !== 0 && activationsUsed >= activationLimit))
    return activationLimit;
  return fullKey.activation_limit;
}

function stoppedOn({ stop }: GroupedFindings): Date | null {
  return stop?.facts.stopped_at ? new Date(stop.facts.stopped_at) : null;
}
