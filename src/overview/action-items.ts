import { dayOf } from '../base/days';
import type { XmlLocation } from '../joomla/update-xml/location';
import { readUpdateXmlState } from '../joomla/regenerate-update-xml';
import { listCatalogue } from '../licensing/catalogue';
import type { RefusingCode } from '../support/finding-model';
import { OPERATORS, type OperatorLanguage } from '../texts/operators/languages';
import { subtractDuration } from '../licensing/durations';
import { listRequestPage } from '../licensing/lists';
import { listSpreadingKeys } from '../licensing/spreading';
import { liveStatus } from '../licensing/core/states';
import { findOffered } from '../licensing/updates';
import { lastSeenAt } from '../store/access-log';
import type { Db } from '../store/engine/database';
import { listLicensePositions } from '../store/licenses/license-lists';
import { countWaitingOrders, countWithoutAddress, findFailed } from '../store/orders/orders';
import { countUnmatched } from '../store/orders/unmatched';
import { listRefusedLicenses, type RefusedLicense } from '../store/refusals';
import { ALL_PRODUCTS, listRefusedCounts, listSums } from '../store/sums';
import { isoDayBefore, type OverviewQuery } from './overview';

/** The action items of the overview: what waits for the seller, and why requests were refused. */

export type ActionItem =
  | { type: 'not_offered'; productId: number; product: string; version: string; sentence: string }
  | {
      type: 'refused';
      /** the number of different licences */
      count: number;
      /** whether `count` is a lower bound */
      more: boolean;
      /** the reason with the most licences first */
      byCode: RefusedNow[];
      sentence: string;
    }
  /** `orders`: waiting orders; `failed`: orders that are retried */
  | { type: CountedItem; count: number; sentence: string };

type CountedItem =
  | 'without_address'
  | 'disputed'
  | 'spreading'
  | 'mails'
  | 'webhooks'
  | 'unmatched'
  | 'orders'
  | 'failed';

/** A reason why licences are refused now, with the number of licences. */
export interface RefusedNow {
  code: RefusingCode;
  count: number;
  /** "12 have expired" */
  sentence: string;
}

interface NeedsOptions {
  home: XmlLocation;
  /** see `countDisputed` */
  disputed: number;
  /** mails that could not be delivered */
  failedMails: number;
  /** webhook receivers that were stopped */
  stoppedWebhooks: number;
  /** see LICENSING_SPREAD_FACTOR */
  spreadFactor: number;
  language: OperatorLanguage;
  now: Date;
}

const REFUSED_WITHIN = '7d';
/** The maximum of licences: some 20 ms to read, because the overview should answer within 100 ms. */
const MAX_REFUSED = 2_000;
const MAX_WITHOUT_ADDRESS = 1_000;
const MAX_DISPUTED = 100;
/** The filter of the list to which the action item leads. */
const DISPUTED = { status: 'suspended', suspendedBy: 'charged_back' };

/** Lists the action items; an empty list means that nothing needs the seller. */
export async function listActionItems(
  db: Db,
  { home, disputed, failedMails, stoppedWebhooks, spreadFactor, language, now }: NeedsOptions,
): Promise<ActionItem[]> {
  const refused = await findRefused(db, language, now);
  const spreading = (await listSpreadingKeys(db, spreadFactor, now)).length;
  const needs = (type: CountedItem, found: number, most?: number) => counted(language, type, found, most);
  return [
    // Customers who paid and received nothing come first.
    ...(await needsOfOrders(db, undefined, language)),
    ...needs('disputed', disputed, MAX_DISPUTED),
    ...(await findNotOffered(db, home, language)),
    ...(refused ? [refused] : []),
    ...needs('spreading', spreading),
    ...needs('mails', failedMails),
    ...needs('webhooks', stoppedWebhooks),
  ];
}

/**
 * Counts the licences that a disputed payment suspends, up to one more than are shown. Without disputes, it reads the
 * history of every suspended licence: 600 ms at 50,000.
 */
export async function countDisputed(db: Db, now: Date): Promise<number> {
  const page = { order: 'newest', after: undefined, limit: MAX_DISPUTED + 1 } as const;
  return (await listLicensePositions(db, DISPUTED, page, now)).length;
}

/** Returns the action items of all orders, or of one shop's, whose page shows them too. */
export async function needsOfOrders(
  db: Db,
  shop: string | undefined,
  language: OperatorLanguage,
): Promise<ActionItem[]> {
  const ofShop = <Row extends { shop: string }>(rows: Row[]) =>
    rows.filter((row) => shop === undefined || row.shop === shop);
  const unmatched = ofShop(await countUnmatched(db)).reduce((sum, { count }) => sum + count, 0);
  const waiting = ofShop(await countWaitingOrders(db)).reduce((sum, { orders }) => sum + orders, 0);
  const failed = await findFailed(db, 0, shop);
  const withoutAddress = await countWithoutAddress(db, MAX_WITHOUT_ADDRESS + 1, shop);
  return [
    ...counted(language, 'failed', failed.count),
    ...counted(language, 'orders', waiting),
    ...counted(language, 'without_address', withoutAddress, MAX_WITHOUT_ADDRESS),
    ...counted(language, 'unmatched', unmatched),
  ];
}

/** @param most more are not counted */
function counted(
  language: OperatorLanguage,
  type: CountedItem,
  found: number,
  most = Infinity,
): ActionItem[] {
  const { needsYou: texts, language: written } = OPERATORS[language];
  const count = Math.min(found, most);
  const number = written.number(count) + (found > most ? '+' : '');
  return count === 0 ? [] : [{ type, count, sentence: texts[type](count, number) }];
}

/** Finds versions that are published but missing in the update XML, for products whose XML is set up. */
async function findNotOffered(db: Db, home: XmlLocation, language: OperatorLanguage): Promise<ActionItem[]> {
  const needs: ActionItem[] = [];
  for (const { id, name, element } of await listCatalogue(db)) {
    const forAll = element === null ? undefined : await findOffered(db, id);
    if (forAll === undefined) continue;
    const { state, offered } = await readUpdateXmlState(db, home, id);
    if (state !== 'stale') continue;
    // During a rollout, only the files for its share of the addresses may be missing.
    const isThere = offered?.includes(forAll.version) === true;
    const { version } = (isThere ? await findOffered(db, id, 1) : undefined) ?? forAll;
    const sentence = OPERATORS[language].needsYou.notOffered(name, version);
    needs.push({ type: 'not_offered', productId: id, product: name, version, sentence });
  }
  return needs;
}

async function findRefused(db: Db, language: OperatorLanguage, now: Date): Promise<ActionItem | undefined> {
  const since = subtractDuration(now, REFUSED_WITHIN);
  const refused = await listRefusedLicenses(db, since, MAX_REFUSED + 1);
  const counts = new Map<RefusingCode, number>();
  for (const license of refused.slice(0, MAX_REFUSED)) {
    const code = refusedNow(license, now);
    if (code !== undefined) counts.set(code, (counts.get(code) ?? 0) + 1);
  }
  if (counts.size === 0) return undefined;
  const { needsYou: texts, language: written } = OPERATORS[language];
  const count = [...counts.values()].reduce((sum, one) => sum + one, 0);
  const more = refused.length > MAX_REFUSED;
  return {
    type: 'refused',
    count,
    more,
    byCode: [...counts]
      .sort(([, a], [, b]) => b - a)
      .map(([code, n]) => ({ code, count: n, sentence: texts.byCode[code](n, written.number(n)) })),
    sentence: texts.refused(count, written.number(count), more),
  };
}

/** Returns the reason why a licence's updates are refused, or new sites if updates work; undefined if both work. */
function refusedNow(license: RefusedLicense, now: Date): RefusingCode | undefined {
  const { activationLimit, activationsUsed } = license;
  const status = liveStatus(license, now);
  if (status !== 'active') return STOPPED[status];
  return activationLimit !== 0 && activationsUsed >= activationLimit ? 'SLOTS_FULL' : undefined;
}

const STOPPED = {
  expired: 'EXPIRED',
  suspended: 'SUSPENDED',
  revoked: 'REVOKED',
  cancelled: 'CANCELLED',
} as const;

export interface RefusalReason {
  /** the code that customers received */
  code: string;
  reason: string;
  /** the number of different licences; 0: no request named one */
  licenses: number;
  requests: number;
  /** null: the access log no longer has it */
  last: Date | null;
}

/** Lists refusals by code, most requests first. Requests are at most a minute old, licences as of the latest count. */
export async function refusalsByReason(
  db: Db,
  { days, productId }: OverviewQuery,
  now: Date,
  language: OperatorLanguage,
): Promise<RefusalReason[]> {
  const product = productId ?? ALL_PRODUCTS;
  const requests = new Map<string, number>();
  for (const { kind, name, times } of await listSums(db, product, isoDayBefore(now, days - 1), dayOf(now)))
    if (kind === 'refused') requests.set(name, (requests.get(name) ?? 0) + times);
  const counted = await listRefusedCounts(db, product, days);
  const licenses = new Map(counted.map((one) => [one.code, one.licenses]));
  const found: RefusalReason[] = [];
  for (const [code, times] of requests) {
    const { items } = await listRequestPage(db, { outcome: code, productId }, { limit: 1, after: undefined });
    const [latest] = items;
    found.push({
      code,
      reason: refusalReason(code, language),
      licenses: licenses.get(code) ?? 0,
      requests: times,
      last: latest ? lastSeenAt(latest) : null,
    });
  }
  return found.sort((a, b) => b.requests - a.requests);
}

/** The refusals that customers can get, by their codes. */
export const REFUSAL_CODES = Object.keys(OPERATORS.en.needsYou.reasons).filter((code) => code !== 'OTHER');

/** Returns a short explanation of a code that customers receive. */
export function refusalReason(code: string, language: OperatorLanguage): string {
  const { reasons } = OPERATORS[language].needsYou;
  return (reasons as Partial<Record<string, string>>)[code] ?? reasons.OTHER;
}
