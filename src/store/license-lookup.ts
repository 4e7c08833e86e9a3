import { table, type Db } from './database';
import { forceIndex, isOneOf, licenseIndex, orderedJoin, placeholders, rawRows } from './statements';
import type { AfterExpiry } from './catalogue';
import type { LicenseTerms } from './licenses';
import { fromSqlTime } from './time';

/** What requests are judged by: a licence, the key, and the wanted identifiers that are activated, at one moment. */
export interface Terms {
  license: LicenseTerms;
  key: KeyTerms;
  /** by identifier */
  activations: Map<string, FoundActivation>;
}

/** A text as an identifier of each activation type; undefined where it is not valid for that type. */
export type SpelledIdentifier = Record<string, string | undefined>;

/** The key that a request came by. One that was replaced counts as the key in its place. */
export interface KeyTerms {
  /** null: the main key, also of the activations that came by it */
  id: number | null;
  /** the same with the main key's id */
  rowId: number;
  /** the id of the key that was sent, also if it was replaced */
  sentId: number;
  endsAt: Date | null;
  /** its own, which is never unlimited; undefined: the licence's */
  limit: { slots: number; used: number } | undefined;
}

/** All but the identifier is undefined unless details were requested. */
export interface FoundActivation {
  name?: string | null | undefined;
  /** null: the main key */
  keyId?: number | null | undefined;
  free?: boolean | undefined;
  site?: string | null | undefined;
  heldUntil?: Date | null | undefined;
}

interface TermsRow {
  id: number;
  key_digest: string;
  /** null: the key is another, whose terms were not read */
  main_key_id: number | null;
  key_id?: number;
  sent_key_id?: number;
  key_ends_at?: string | null;
  key_limit?: number | null;
  key_used?: number;
  status: string;
  activation_limit: number;
  activations_used: number;
  expires_at: string | null;
  plan_id: number;
  plan_name: string;
  activation_type: string;
  after_expiry: AfterExpiry;
  free_staging: number;
  product_id: number;
  product_name: string;
  identifier: string | null;
  activation_name?: string | null;
  activation_key_id?: number | null;
  free?: number;
  site?: string | null;
  held_until?: string | null;
}

/**
 * Finds licences and wanted identifiers by digest in one statement: a second one could see an activation that the first
 * one's counter lacks. Without details, activations come from the index alone. The join order is fixed, because the
 * server's statistics may date from when the tables were empty.
 *
 * @param anyKey reads the terms of other keys than main keys; by default, licences found by such a key are read again
 */
export async function findTerms(
  db: Db,
  wanted: Map<string, SpelledIdentifier[]>,
  { details, anyKey = false }: { details: boolean; anyKey?: boolean },
): Promise<Map<string, Terms>> {
  const activations = table(db, 'activations');
  // Nearly all requests come by main keys, which have no terms of their own to read.
  const keyColumns = anyKey
    ? `l.main_key_id, COALESCE(k.replaced_by, k.id) AS key_id, k.id AS sent_key_id, k.ends_at AS key_ends_at,
            k.activation_limit AS key_limit,
            (SELECT COUNT(*) FROM ${activations} u${forceIndex(db, 'activations', 'key_id', 'free')}
              WHERE u.key_id = COALESCE(k.replaced_by, k.id) AND u.free = 0) AS key_used`
    : 'CASE WHEN k.id = l.main_key_id THEN k.id END AS main_key_id';
  // In the order of the SQL text: the condition's bindings before the digests of its SELECT.
  const bindings: (string | null)[] = [];
  const select = (digests: string[], isWantedIdentifier: string): string => {
    bindings.push(...digests);
    return `SELECT k.key_digest, ${keyColumns},
            l.id, l.status, l.activation_limit, l.activations_used, l.expires_at,
            l.plan_id, p.name AS plan_name, p.activation_type, p.after_expiry, p.free_staging, p.product_id, r.name AS product_name,
            a.identifier${details ? ', a.name AS activation_name, a.key_id AS activation_key_id, a.free, a.site, a.held_until' : ''}
       FROM ${table(db, 'license_keys')} k${forceIndex(db, 'license_keys')}
       ${orderedJoin(db)} ${table(db, 'licenses')} l${forceIndex(db, 'licenses')} ON l.id = k.license_id
       ${orderedJoin(db)} ${table(db, 'plans')} p${forceIndex(db, 'plans')} ON p.id = l.plan_id
       ${orderedJoin(db)} ${table(db, 'products')} r${forceIndex(db, 'products')} ON r.id = p.product_id
       LEFT JOIN ${activations} a${forceIndex(db, 'activations', ...licenseIndex('activations'))}
              ON a.license_id = l.id AND a.identifier ${isWantedIdentifier}
      WHERE k.key_digest ${isOneOf(digests.length)}`;
  };
  const digests = [...wanted.keys()];
  const selects: string[] = [];
  const withOneAtMost = digests.filter((digest) => (wanted.get(digest) ?? []).length <= 1);
  if (withOneAtMost.length > 0)
    selects.push(select(withOneAtMost, `= ${identifierByDigest(withOneAtMost, wanted, bindings)}`));
  // The plan's activation type is still unknown: look for every spelling; the caller picks one.
  for (const digest of digests) {
    const spelled = wanted.get(digest) ?? [];
    if (spelled.length <= 1) continue;
    const texts = [...new Set(spelled.flatMap((one) => Object.values(one)))].filter(
      (text) => text !== undefined,
    );
    bindings.push(...texts);
    selects.push(select([digest], texts.length === 0 ? 'IS NULL' : `IN (${placeholders(texts.length)})`));
  }
  const prepared = digests.length === 1 && withOneAtMost.length === 1;
  const rows = await rawRows<TermsRow>(db, selects.join(' UNION ALL '), bindings, { prepared });
  const terms = new Map<string, Terms>();
  const byOtherKeys = new Map<string, SpelledIdentifier[]>();
  for (const row of rows) {
    const digest = row.key_digest;
    if (row.main_key_id === null) {
      byOtherKeys.set(digest, wanted.get(digest) ?? []);
      continue;
    }
    const known = terms.get(digest) ?? {
      license: toLicenseTerms(row),
      key: toKeyTerms(row, row.main_key_id),
      activations: new Map<string, FoundActivation>(),
    };
    terms.set(digest, known);
    if (row.identifier !== null) known.activations.set(row.identifier, toFoundActivation(row));
  }
  if (byOtherKeys.size === 0) return terms;
  return new Map([...terms, ...(await findTerms(db, byOtherKeys, { details, anyKey: true }))]);
}

/** Picks the wanted identifier by digest and plan type. A single digest or spelling needs no CASE. */
function identifierByDigest(
  digests: string[],
  wanted: Map<string, SpelledIdentifier[]>,
  bindings: (string | null)[],
): string {
  const byType = (digest: string): string => {
    const [spelled = {}] = wanted.get(digest) ?? [];
    const texts = Object.values(spelled);
    const [first] = texts;
    if (texts.every((text) => text === first)) {
      bindings.push(first ?? null);
      return '?';
    }
    for (const [type, text] of Object.entries(spelled)) bindings.push(type, text ?? null);
    return `CASE p.activation_type ${'WHEN ? THEN ? '.repeat(texts.length)}END`;
  };
  const [only = ''] = digests;
  if (digests.length === 1) return byType(only);
  const cases = digests.map((digest) => {
    bindings.push(digest);
    return `WHEN ? THEN ${byType(digest)}`;
  });
  return `CASE k.key_digest ${cases.join(' ')} END`;
}

function toLicenseTerms(row: TermsRow): LicenseTerms {
  return {
    id: row.id,
    status: row.status,
    activationLimit: row.activation_limit,
    activationsUsed: row.activations_used,
    expiresAt: row.expires_at === null ? null : fromSqlTime(row.expires_at),
    plan: {
      id: row.plan_id,
      name: row.plan_name,
      activationType: row.activation_type,
      afterExpiry: row.after_expiry,
      freeStaging: row.free_staging !== 0,
    },
    product: { id: row.product_id, name: row.product_name },
  };
}

function toKeyTerms(row: TermsRow, mainKeyId: number): KeyTerms {
  const {
    key_id: rowId = mainKeyId,
    sent_key_id: sentId = rowId,
    key_limit: slots,
    key_used: used = 0,
  } = row;
  return {
    id: rowId === mainKeyId ? null : rowId,
    rowId,
    sentId,
    endsAt: row.key_ends_at ? fromSqlTime(row.key_ends_at) : null,
    limit: typeof slots === 'number' ? { slots, used } : undefined,
  };
}

function toFoundActivation({
  activation_name: name,
  activation_key_id: keyId,
  free,
  site,
  held_until: held,
}: TermsRow): FoundActivation {
  if (free === undefined) return {};
  return { name, keyId, free: free !== 0, site, heldUntil: held ? fromSqlTime(held) : null };
}
