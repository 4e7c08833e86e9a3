import { table, type Db } from './database';
import { forceIndex, isOneOf, licenseIndex, orderedJoin, placeholders, rawRows } from './statements';
import type { AfterExpiry } from './catalogue';
import type { LicenseTerms } from './licenses';
import { fromSqlTime } from './time';

/** What requests are judged by: a licence and the wanted identifiers that are activated, at one moment. */
export interface Terms {
  license: LicenseTerms;
  /** by identifier */
  activations: Map<string, LabelledActivation>;
}

/** A text as an identifier of each activation type; undefined where it is not valid for that type. */
export type SpelledIdentifier = Record<string, string | undefined>;

export interface LabelledActivation {
  /** its label; null: none; undefined: labels were not requested */
  name: string | null | undefined;
}

interface TermsRow {
  id: number;
  key_digest: string;
  status: string;
  activation_limit: number;
  activations_used: number;
  expires_at: string | null;
  plan_id: number;
  plan_name: string;
  activation_type: string;
  after_expiry: AfterExpiry;
  product_id: number;
  product_name: string;
  identifier: string | null;
  activation_name?: string | null;
}

/**
 * Finds licences and wanted identifiers by digest in one statement: a second one could see an activation that the first
 * one's counter lacks. Without labels, activations come from the index alone. The join order is fixed, because the
 * server's statistics may date from when the tables were empty.
 */
export async function findTerms(
  db: Db,
  wanted: Map<string, SpelledIdentifier[]>,
  { labels }: { labels: boolean },
): Promise<Map<string, Terms>> {
  // In the order of the SQL text: the condition's bindings before the digests of its SELECT.
  const bindings: (string | null)[] = [];
  const select = (digests: string[], isWantedIdentifier: string): string => {
    bindings.push(...digests);
    return `SELECT l.id, l.key_digest, l.status, l.activation_limit, l.activations_used, l.expires_at,
            l.plan_id, p.name AS plan_name, p.activation_type, p.after_expiry, p.product_id, r.name AS product_name,
            a.identifier${labels ? ', a.name AS activation_name' : ''}
       FROM ${table(db, 'licenses')} l${forceIndex(db, 'licenses', 'key_digest')}
       ${orderedJoin(db)} ${table(db, 'plans')} p${forceIndex(db, 'plans')} ON p.id = l.plan_id
       ${orderedJoin(db)} ${table(db, 'products')} r${forceIndex(db, 'products')} ON r.id = p.product_id
       LEFT JOIN ${table(db, 'activations')} a${forceIndex(db, 'activations', ...licenseIndex('activations'))}
              ON a.license_id = l.id AND a.identifier ${isWantedIdentifier}
      WHERE l.key_digest ${isOneOf(digests.length)}`;
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
  for (const row of rows) {
    const known = terms.get(row.key_digest) ?? { license: toLicenseTerms(row), activations: new Map() };
    terms.set(row.key_digest, known);
    if (row.identifier !== null) known.activations.set(row.identifier, { name: row.activation_name });
  }
  return terms;
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
  return `CASE l.key_digest ${cases.join(' ')} END`;
}

function toLicenseTerms(row: TermsRow): LicenseTerms {
  return {
    id: row.id,
    keyDigest: row.key_digest,
    status: row.status,
    activationLimit: row.activation_limit,
    activationsUsed: row.activations_used,
    expiresAt: row.expires_at === null ? null : fromSqlTime(row.expires_at),
    plan: {
      id: row.plan_id,
      name: row.plan_name,
      activationType: row.activation_type,
      afterExpiry: row.after_expiry,
    },
    product: { id: row.product_id, name: row.product_name },
  };
}
