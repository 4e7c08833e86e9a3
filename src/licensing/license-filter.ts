import { endOfDay } from '../base/days';
import { listPlans } from '../store/catalogue';
import type { Db } from '../store/engine/database';
import type { LicenseFilter, LicenseSearchText } from '../store/licenses/license-filters';
import { numberWord, wordsOf } from '../store/search-words';
import { bundlesWith, readCatalogue } from './bundles';
import { storedCustomer } from './customer-email';
import { addDuration, requireDuration, subtractDuration } from './durations';
import { requirePlan, requireProduct } from './find-or-throw';
import { normalizedForms } from './core/identifiers';
import { parseKeyHint } from './core/keys';
import { OperatorError } from './operator-error';
import { STORED_STATUSES } from './core/states';
import { parseMoment } from './timestamps';

/** A filter of a list of licences. All its conditions must hold. */
export interface LicenseQuery {
  /** licences of this product */
  productId?: number | undefined;
  /** licences that cover this product: its own, and those of products that include it */
  covers?: number | undefined;
  planId?: number | undefined;
  /** a live status */
  status?: string | undefined;
  customer?: string | undefined;
  reference?: string | undefined;
  hint?: string | undefined;
  /** active licences without automatic renewal that expire within this duration, until the end of its last day (UTC) */
  expiring?: string | undefined;
  /** licences with a refused request within this duration */
  refused?: string | undefined;
  /** licences issued here, not imported, at this time or later */
  issuedSince?: string | undefined;
  /** licences suspended by this event of their order */
  suspendedBy?: string | undefined;
  /** the name of the token that issued them */
  issuedBy?: string | undefined;
  /** beginnings of words, a reference or its number, an id, the end of a key, or an activated identifier */
  q?: string | undefined;
  /** one of SORTS */
  sort?: string | undefined;
}

/** The columns that sort licences, each with an index; `-` sorts descending. */
export const SORTS = ['id', '-id', 'customer', '-customer', 'expires_at', '-expires_at'] as const;

/** @throws OperatorError that names the field of the query */
export async function toLicenseFilter(db: Db, query: LicenseQuery, now: Date): Promise<LicenseFilter> {
  const { status, customer, reference, hint, expiring, refused, issuedSince, suspendedBy, issuedBy } = query;
  if (status !== undefined && !STATUSES.includes(status))
    throw new OperatorError(`It must be one of ${STATUSES.join(', ')}.`, {
      code: 'INVALID_REQUEST',
      field: 'status',
    });
  return {
    planIds: await matchingPlans(db, query),
    status: status ?? (suspendedBy === undefined ? undefined : 'suspended'),
    customer: customer === undefined ? undefined : storedCustomer(customer),
    reference,
    hint: hint === undefined ? undefined : (parseKeyHint(hint) ?? hint),
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

/** Returns the plans that match these conditions; undefined: any. @throws OperatorError if a named record does not exist */
export async function matchingPlans(
  db: Db,
  { productId, covers, planId }: Pick<LicenseQuery, 'productId' | 'covers' | 'planId'>,
): Promise<number[] | undefined> {
  if (productId !== undefined) await named('product_id', requireProduct(db, productId));
  if (covers !== undefined) await named('covers', requireProduct(db, covers));
  const plan = planId === undefined ? undefined : await named('plan_id', requirePlan(db, planId));
  if (productId === undefined && covers === undefined) return plan && [plan.id];
  const covering = covers === undefined ? undefined : bundlesWith(await readCatalogue(db), covers);
  const isCovering = (id: number) => id === covers || covering?.some((bundle) => bundle.id === id);
  return (await listPlans(db, productId))
    .filter((one) => (covers === undefined || isCovering(one.productId)) && (plan?.id ?? one.id) === one.id)
    .map(({ id }) => id);
}

/** Refuses a filter that names a missing record: an operator's typo must not look like an empty list. */
async function named<T>(field: string, found: Promise<T>): Promise<T> {
  return found.catch((error: unknown) => {
    if (!(error instanceof OperatorError)) throw error;
    throw new OperatorError(error.message, { code: 'INVALID_REQUEST', field });
  });
}

/** Returns all possible meanings of a typed text; undefined for an empty text. */
export function readSearch(typed: string): LicenseSearchText | undefined {
  const text = typed.trim();
  if (text === '') return undefined;
  // The domain of an e-mail address would be its provider's.
  const { domain, ...others } = normalizedForms(text);
  const identifiers = Object.values({ ...others, domain: text.includes('@') ? undefined : domain });
  return {
    // The longest word comes first, because it is probably the rarest.
    words: wordsOf(text).sort((a, b) => b.length - a.length),
    number: numberWord(`:${text}`),
    reference: text,
    id: /^\d{1,15}$/.test(text) ? Number(text) : undefined,
    hint: parseKeyHint(text),
    identifiers: [...new Set(identifiers)].filter((one) => one !== undefined),
  };
}
