import { endOfDay } from '../base/days';
import { listPlans } from '../store/catalogue';
import type { Db } from '../store/engine/database';
import type { LicenseFilter, LicenseSearchText } from '../store/licenses/license-lists';
import { numberWord, wordsOf } from '../store/search-words';
import { bundlesOf, readCatalogue } from './bundles';
import { storedCustomer } from './customer-email';
import { addDuration, requireDuration, subtractDuration } from './durations';
import { requirePlan, requireProduct } from './find-or-refuse';
import { spellings } from './core/identifiers';
import { asHint } from './core/keys';
import { OperatorError } from './operator-error';
import { STORED_STATUSES } from './core/states';
import { parseMoment } from './timestamps';

/** Which licences are listed; all that is said must hold. */
export interface LicenseQuery {
  /** of this product */
  productId?: number | undefined;
  /** whose licences cover this product: its own, and those of products that include it */
  covers?: number | undefined;
  planId?: number | undefined;
  /** a live status */
  status?: string | undefined;
  customer?: string | undefined;
  reference?: string | undefined;
  hint?: string | undefined;
  /** active ones that do not renew themselves and expire within this duration, until the end of its last day (UTC) */
  expiring?: string | undefined;
  /** with a refused request within this duration */
  refused?: string | undefined;
  /** issued here, not imported, at this time or later */
  issuedSince?: string | undefined;
  /** suspended by this event of their order */
  suspendedBy?: string | undefined;
  /** the name of the token that issued them */
  issuedBy?: string | undefined;
  /** beginnings of words, a reference or its number, an id, the end of a key or an activated identifier */
  q?: string | undefined;
  /** one of SORTS */
  sort?: string | undefined;
}

/** What licences can be sorted by, each served by an index; with `-` downwards. */
export const SORTS = ['id', '-id', 'customer', '-customer', 'expires_at', '-expires_at'] as const;

/** @throws OperatorError, naming the field of the query */
export async function toLicenseFilter(db: Db, query: LicenseQuery, now: Date): Promise<LicenseFilter> {
  const { status, customer, reference, hint, expiring, refused, issuedSince, suspendedBy, issuedBy } = query;
  if (status !== undefined && !STATUSES.includes(status))
    throw new OperatorError(`It must be one of ${STATUSES.join(', ')}.`, {
      code: 'INVALID_REQUEST',
      field: 'status',
    });
  return {
    planIds: await plansOf(db, query),
    status: status ?? (suspendedBy === undefined ? undefined : 'suspended'),
    customer: customer === undefined ? undefined : storedCustomer(customer),
    reference,
    hint: hint === undefined ? undefined : (asHint(hint) ?? hint),
    expiringBefore:
      expiring === undefined
        ? undefined
        : endOfDay(addDuration(now, requireDuration(expiring, 'expiring'), 'expiring')),
    refusedSince:
      refused === undefined ? undefined : subtractDuration(now, requireDuration(refused, 'refused')),
    issuedSince:
      issuedSince === undefined ? undefined : parseMoment(issuedSince, 'first', 'utc', 'issued_since'),
    suspendedBy,
    issuedBy,
    search: query.q === undefined ? undefined : readSearch(query.q),
  };
}

const STATUSES = [...STORED_STATUSES, 'expired'];

/** The plans that these parts of a filter leave; undefined: any. @throws OperatorError when one of them names nothing */
export async function plansOf(
  db: Db,
  { productId, covers, planId }: Pick<LicenseQuery, 'productId' | 'covers' | 'planId'>,
): Promise<number[] | undefined> {
  if (productId !== undefined) await named('product_id', requireProduct(db, productId));
  if (covers !== undefined) await named('covers', requireProduct(db, covers));
  const plan = planId === undefined ? undefined : await named('plan_id', requirePlan(db, planId));
  if (productId === undefined && covers === undefined) return plan && [plan.id];
  const covering = covers === undefined ? undefined : bundlesOf(await readCatalogue(db), covers);
  const isCovering = (id: number) => id === covers || covering?.some((bundle) => bundle.id === id);
  return (await listPlans(db, productId))
    .filter((one) => (covers === undefined || isCovering(one.productId)) && (plan?.id ?? one.id) === one.id)
    .map(({ id }) => id);
}

/** Whatever a filter names must be there: an operator's typo must not look like an empty list. */
async function named<T>(field: string, found: Promise<T>): Promise<T> {
  return found.catch((error: unknown) => {
    if (!(error instanceof OperatorError)) throw error;
    throw new OperatorError(error.message, { code: 'INVALID_REQUEST', field });
  });
}

/** Returns all that a typed text may name; undefined for an empty text. */
export function readSearch(typed: string): LicenseSearchText | undefined {
  const text = typed.trim();
  if (text === '') return undefined;
  // Of an e-mail address a domain would be its provider's.
  const { domain, ...others } = spellings(text);
  const identifiers = Object.values({ ...others, domain: text.includes('@') ? undefined : domain });
  return {
    // Begin with the longest word, which is probably the rarest.
    words: wordsOf(text).sort((a, b) => b.length - a.length),
    number: numberWord(`:${text}`),
    reference: text,
    id: /^\d{1,15}$/.test(text) ? Number(text) : undefined,
    hint: asHint(text),
    identifiers: [...new Set(identifiers)].filter((one) => one !== undefined),
  };
}
