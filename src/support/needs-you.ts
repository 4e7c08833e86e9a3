import type { XmlHome } from '../joomla/update-xml/place';
import { readUpdateXmlState } from '../joomla/follow-xml';
import { listProducts } from '../licensing/catalogue';
import { formatNumber, type LanguageCode } from '../texts/dates';
import { subtractDuration } from '../licensing/durations';
import { listRequestPage } from '../licensing/lists';
import { liveStatus } from '../licensing/core/states';
import { dayOf, daysBetween } from '../licensing/timestamps';
import { latestRelease } from '../licensing/updates';
import { latestOf } from '../store/access-log';
import type { Db } from '../store/database';
import { countWaiting } from '../store/orders';
import { countUnmatched } from '../store/unmatched';
import { listRefusedLicenses, type RefusedLicense } from '../store/refusals';
import { ALL_PRODUCTS, countRefusedLicenses, listSums } from '../store/sums';

/** What the overview says: what waits for the seller, and what was refused why. */

export type Need =
  | { type: 'not_offered'; productId: number; product: string; version: string; sentence: string }
  | {
      type: 'refused';
      /** different licences */
      count: number;
      /** `count` is a lower bound */
      more: boolean;
      byCode: RefusedNow[];
      sentence: string;
    }
  | { type: 'mails' | 'webhooks' | 'unmatched'; count: number; sentence: string }
  /** orders that wait */
  | { type: 'orders'; count: number; sentence: string };

/** Licences by what refuses them now, the most first. */
export interface RefusedNow {
  code: 'EXPIRED' | 'SUSPENDED' | 'REVOKED' | 'CANCELLED' | 'SLOTS_FULL';
  count: number;
  /** "12 have expired" */
  sentence: string;
}

export interface NeedsOptions {
  home: XmlHome;
  /** mails that could not be delivered */
  failedMails: number;
  /** receivers of webhooks that were stopped */
  stoppedWebhooks: number;
  language: LanguageCode;
  now: Date;
}

const REFUSED_WITHIN = '7d';
/** Some 20 ms to read: the overview should answer within 100 ms. */
const MOST_REFUSED = 2_000;

/** Nothing needs the seller when it is empty. */
export async function needsYou(
  db: Db,
  { home, failedMails, stoppedWebhooks, language, now }: NeedsOptions,
): Promise<Need[]> {
  const texts = TEXTS[language];
  const refused = await findRefused(db, language, now);
  const unmatched = (await countUnmatched(db)).reduce((sum, { count }) => sum + count, 0);
  const waiting = (await countWaiting(db)).reduce((sum, { orders }) => sum + orders, 0);
  return [
    // Customers who paid and have nothing come first.
    ...(waiting > 0
      ? [
          {
            type: 'orders' as const,
            count: waiting,
            sentence: texts.orders(waiting, formatNumber(waiting, language)),
          },
        ]
      : []),
    ...counted('unmatched', unmatched),
    ...(await findNotOffered(db, home, language)),
    ...(refused ? [refused] : []),
    ...counted('mails', failedMails),
    ...counted('webhooks', stoppedWebhooks),
  ];

  function counted(type: 'mails' | 'webhooks' | 'unmatched', count: number): Need[] {
    return count === 0 ? [] : [{ type, count, sentence: texts[type](count, formatNumber(count, language)) }];
  }
}

/** Published, but the update XML lacks it. A product whose XML is not set up is not among them. */
async function findNotOffered(db: Db, home: XmlHome, language: LanguageCode): Promise<Need[]> {
  const needs: Need[] = [];
  for (const { id, name, element } of await listProducts(db)) {
    const release = element === null ? undefined : await latestRelease(db, id);
    if (release === undefined || (await readUpdateXmlState(db, home, id)).state !== 'stale') continue;
    const { version } = release;
    const sentence = TEXTS[language].notOffered(name, version);
    needs.push({ type: 'not_offered', productId: id, product: name, version, sentence });
  }
  return needs;
}

async function findRefused(db: Db, language: LanguageCode, now: Date): Promise<Need | undefined> {
  const since = subtractDuration(now, REFUSED_WITHIN);
  const refused = await listRefusedLicenses(db, since, MOST_REFUSED + 1);
  const counts = new Map<RefusedNow['code'], number>();
  for (const license of refused.slice(0, MOST_REFUSED)) {
    const code = refusedNow(license, now);
    if (code !== undefined) counts.set(code, (counts.get(code) ?? 0) + 1);
  }
  if (counts.size === 0) return undefined;
  const texts = TEXTS[language];
  const count = [...counts.values()].reduce((sum, one) => sum + one, 0);
  const more = refused.length > MOST_REFUSED;
  return {
    type: 'refused',
    count,
    more,
    byCode: [...counts]
      .sort(([, a], [, b]) => b - a)
      .map(([code, n]) => ({ code, count: n, sentence: texts.byCode[code](n, formatNumber(n, language)) })),
    sentence: texts.refused(count, formatNumber(count, language), more),
  };
}

/** What refuses a licence's updates, or when updates work new sites; undefined: nothing. */
function refusedNow(license: RefusedLicense, now: Date): RefusedNow['code'] | undefined {
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
  /** the code that customers got */
  code: string;
  reason: string;
  /** different licences; 0: none of the requests named one */
  licenses: number;
  requests: number;
  /** null: the access log has it no more */
  last: Date | null;
}

/**
 * By code, from one UTC day to another, both included; the most requests first. At most a minute behind.
 * @param productId undefined: of all products
 */
export async function refusalsByReason(
  db: Db,
  from: Date,
  to: Date,
  language: LanguageCode,
  productId?: number,
): Promise<RefusalReason[]> {
  const product = productId ?? ALL_PRODUCTS;
  const requests = new Map<string, number>();
  for (const { kind, name, times } of await listSums(db, product, dayOf(from), dayOf(to)))
    if (kind === 'refused') requests.set(name, (requests.get(name) ?? 0) + times);
  const licenses =
    requests.size === 0
      ? new Map<string, number>()
      : await countRefusedLicenses(db, product, daysBetween(from, to));
  const found: RefusalReason[] = [];
  for (const [code, times] of requests) {
    const { items } = await listRequestPage(db, { outcome: code, productId }, { limit: 1, after: undefined });
    const [latest] = items;
    found.push({
      code,
      reason: refusalReason(code, language),
      licenses: licenses.get(code) ?? 0,
      requests: times,
      last: latest ? latestOf(latest) : null,
    });
  }
  return found.sort((a, b) => b.requests - a.requests);
}

/** The refusals that customers can get, by their codes. */
export const REFUSAL_CODES = [
  'LICENSE_NOT_FOUND',
  'LICENSE_EXPIRED',
  'LICENSE_INACTIVE',
  'ACTIVATION_LIMIT_REACHED',
  'ACTIVATION_NOT_FOUND',
  'ACTIVATION_HELD',
  'PRODUCT_MISMATCH',
  'DOWNLOAD_NOT_FOUND',
  'FILE_NOT_FOUND',
  'INVALID_REQUEST',
  'RATE_LIMITED',
  'OMITTED',
] as const;

/** What a code that customers get means, in a few words. */
export function refusalReason(code: string, language: LanguageCode): string {
  const { reasons } = TEXTS[language];
  return (reasons as Partial<Record<string, string>>)[code] ?? reasons.OTHER;
}

const english = {
  notOffered: (product: string, version: string) =>
    `${product} ${version} is published, but customers’ sites are not offered it.`,
  refused: (count: number, written: string, more: boolean) =>
    `${more ? 'More than ' : ''}${written} ${count === 1 ? 'licence that was refused in the last 7 days would' : 'licences that were refused in the last 7 days would'} be refused now.`,
  byCode: {
    EXPIRED: (count, written) => `${written} ${count === 1 ? 'has' : 'have'} expired`,
    SUSPENDED: (count, written) => `${written} ${count === 1 ? 'is' : 'are'} suspended`,
    REVOKED: (count, written) => `${written} ${count === 1 ? 'is' : 'are'} revoked`,
    CANCELLED: (count, written) => `${written} ${count === 1 ? 'is' : 'are'} cancelled`,
    SLOTS_FULL: (count, written) => `${written} ${count === 1 ? 'has' : 'have'} no free slot`,
  } satisfies Record<RefusedNow['code'], (count: number, written: string) => string>,
  orders: (count: number, written: string) =>
    `${written} ${count === 1 ? 'order waits' : 'orders wait'}: paid, and no licence yet.`,
  unmatched: (count: number, written: string) =>
    `${written} ${count === 1 ? 'message of a shop is' : 'messages of shops are'} about money, and belong${count === 1 ? 's' : ''} to nothing that is known here.`,
  mails: (count: number, written: string) =>
    `${written} ${count === 1 ? 'mail was' : 'mails were'} not delivered.`,
  webhooks: (count: number, written: string) =>
    `${written} ${count === 1 ? 'receiver of webhooks was' : 'receivers of webhooks were'} stopped.`,
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
  } satisfies Record<(typeof REFUSAL_CODES)[number] | 'OTHER', string>,
};

const german: typeof english = {
  notOffered: (product, version) =>
    `${product} ${version} ist veröffentlicht, wird den Websites der Kunden aber nicht angeboten.`,
  refused: (count, written, more) =>
    `${more ? 'Mehr als ' : ''}${written} ${count === 1 ? 'Lizenz, die in den letzten 7 Tagen abgelehnt wurde, würde' : 'Lizenzen, die in den letzten 7 Tagen abgelehnt wurden, würden'} auch jetzt abgelehnt.`,
  byCode: {
    EXPIRED: (count, written) => `${written} ${count === 1 ? 'ist' : 'sind'} abgelaufen`,
    SUSPENDED: (count, written) => `${written} ${count === 1 ? 'ist' : 'sind'} ausgesetzt`,
    REVOKED: (count, written) => `${written} ${count === 1 ? 'ist' : 'sind'} entzogen`,
    CANCELLED: (count, written) => `${written} ${count === 1 ? 'ist' : 'sind'} storniert`,
    SLOTS_FULL: (count, written) => `${written} ${count === 1 ? 'hat' : 'haben'} keinen freien Platz`,
  },
  orders: (count, written) =>
    `${written} ${count === 1 ? 'Bestellung wartet' : 'Bestellungen warten'}: bezahlt, und noch keine Lizenz.`,
  unmatched: (count, written) =>
    `${written} ${count === 1 ? 'Meldung eines Shops betrifft' : 'Meldungen von Shops betreffen'} Geld und ${count === 1 ? 'gehört' : 'gehören'} zu nichts, was hier bekannt ist.`,
  mails: (count, written) => `${written} ${count === 1 ? 'Mail wurde' : 'Mails wurden'} nicht zugestellt.`,
  webhooks: (count, written) =>
    `${written} ${count === 1 ? 'Empfänger von Webhooks wurde' : 'Empfänger von Webhooks wurden'} angehalten.`,
  reasons: {
    LICENSE_NOT_FOUND: 'Schlüssel unbekannt oder vertippt',
    LICENSE_EXPIRED: 'Lizenz abgelaufen',
    LICENSE_INACTIVE: 'Lizenz ausgesetzt, entzogen oder storniert',
    ACTIVATION_LIMIT_REACHED: 'Kein freier Platz',
    ACTIVATION_NOT_FOUND: 'Website ist nicht belegt',
    ACTIVATION_HELD: 'Website läuft ohne Netz',
    PRODUCT_MISMATCH: 'Schlüssel eines anderen Produkts',
    DOWNLOAD_NOT_FOUND: 'Version ist nicht veröffentlicht',
    FILE_NOT_FOUND: 'Paket fehlt',
    INVALID_REQUEST: 'Kein Schlüssel oder fehlerhafte Anfrage',
    RATE_LIMITED: 'Zu viele Anfragen',
    OMITTED: 'Viele verschiedene Ablehnungen von einer Adresse',
    OTHER: 'Anderer Grund',
  },
};

const TEXTS: Record<LanguageCode, typeof english> = { en: english, de: german };
