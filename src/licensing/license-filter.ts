import { listPlans } from '../store/catalogue';
import type { Db } from '../store/database';
import type { LicenseFilter, LicenseSearchText } from '../store/license-lists';
import { bundlesOf, readCatalogue } from './bundles';
import { storedCustomer } from './customer-email';
import { addDuration, requireDuration, subtractDuration } from './durations';
import { requireProduct } from './find-or-refuse';
import { spellings } from './identifiers';
import { asHint } from './keys';
import { OperatorError } from './operator-error';
import { STORED_STATUSES } from './states';
import { endOfDay } from './timestamps';

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
  /** active ones that expire within this duration, until the end of its last day (UTC) */
  expiring?: string | undefined;
  /** with a refused request within this duration */
  refused?: string | undefined;
  /** the name of the token that issued them */
  issuedBy?: string | undefined;
  /** the beginning of an e-mail, a reference, an id, the end of a key or an activated identifier */
  q?: string | undefined;
}

/** @throws OperatorError, naming the field of the query */
export async function toLicenseFilter(db: Db, query: LicenseQuery, now: Date): Promise<LicenseFilter> {
  const { status, customer, reference, hint, expiring, refused, issuedBy } = query;
  if (status !== undefined && !STATUSES.includes(status))
    throw new OperatorError(`It must be one of ${STATUSES.join(', ')}.`, {
      code: 'INVALID_REQUEST',
      field: 'status',
    });
  const text = query.q?.trim() ?? '';
  return {
    planIds: await plansOf(db, query),
    status,
    customer: customer === undefined ? undefined : storedCustomer(customer),
    reference,
    hint: hint === undefined ? undefined : (asHint(hint) ?? hint),
    expiringBefore:
      expiring === undefined ? undefined : endOfDay(addDuration(now, requireDuration(expiring, 'expiring'))),
    refusedSince:
      refused === undefined ? undefined : subtractDuration(now, requireDuration(refused, 'refused')),
    issuedBy,
    search: text === '' ? undefined : toSearchText(text),
  };
}

const STATUSES = [...STORED_STATUSES, 'expired'];

/** undefined: any plan */
async function plansOf(db: Db, { productId, covers, planId }: LicenseQuery): Promise<number[] | undefined> {
  const given = planId === undefined ? undefined : [planId];
  if (productId === undefined && covers === undefined) return given;
  const covering = covers === undefined ? undefined : await productsCovering(db, covers);
  const plans = await listPlans(db, productId);
  return plans
    .filter((plan) => covering?.has(plan.productId) ?? true)
    .map(({ id }) => id)
    .filter((id) => given?.includes(id) ?? true);
}

async function productsCovering(db: Db, productId: number): Promise<Set<number>> {
  await requireProduct(db, productId);
  return new Set([productId, ...bundlesOf(await readCatalogue(db), productId).map(({ id }) => id)]);
}

function toSearchText(text: string): LicenseSearchText {
  // Of an e-mail address a domain would be its provider's.
  const { domain, ...others } = spellings(text);
  const identifiers = Object.values({ ...others, domain: text.includes('@') ? undefined : domain });
  return {
    beginning: text.toLowerCase(),
    reference: text,
    id: /^\d{1,15}$/.test(text) ? Number(text) : undefined,
    hint: asHint(text),
    identifiers: [...new Set(identifiers)].filter((one) => one !== undefined),
  };
}
