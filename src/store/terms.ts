import { table, type Db } from './database';
import { isOneOf, rawRows } from './statements';
import type { LicenseTerms } from './licenses';
import { fromSqlTime } from './time';

/** What a request is judged by: a licence, and the activation it names, both as they were at one moment. */
export interface Terms {
  license: LicenseTerms;
  /** undefined when the identifier is not activated, or none was asked for */
  activation: LabelledActivation | undefined;
}

export interface LabelledActivation {
  /** its label, null when it has none; undefined when labels were not asked for */
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
  product_id: number;
  product_name: string;
  activated: number | null;
  activation_name?: string | null;
}

/**
 * What requests with these keys' digests are judged by, by digest; unknown ones are missing from the map. One
 * statement, because a second one is a tenth of a validate call; written out, with the columns that are needed and no
 * more: without labels, an activation is read from its index alone.
 *
 * @param wanted by digest, the identifier to look for, as each activation type spells it
 */
export async function findTerms(
  db: Db,
  wanted: Map<string, Record<string, string | undefined> | undefined>,
  { labels }: { labels: boolean },
): Promise<Map<string, Terms>> {
  const digests = [...wanted.keys()];
  const bindings: (string | null)[] = [];
  const identifier = byDigest(digests, bindings, (digest) => {
    const spelled = wanted.get(digest) ?? {};
    const texts = Object.values(spelled);
    const [first] = texts;
    if (texts.every((text) => text === first)) {
      bindings.push(first ?? null);
      return '?';
    }
    for (const [type, text] of Object.entries(spelled)) bindings.push(type, text ?? null);
    return `CASE p.activation_type ${'WHEN ? THEN ? '.repeat(texts.length)}END`;
  });
  const rows = await rawRows<TermsRow>(
    db,
    `SELECT l.id, l.key_digest, l.status, l.activation_limit, l.activations_used, l.expires_at,
            l.plan_id, p.name AS plan_name, p.activation_type, p.product_id, r.name AS product_name,
            a.license_id AS activated${labels ? ', a.name AS activation_name' : ''}
       FROM ${table(db, 'licenses')} l
       JOIN ${table(db, 'plans')} p ON p.id = l.plan_id
       JOIN ${table(db, 'products')} r ON r.id = p.product_id
       LEFT JOIN ${table(db, 'activations')} a ON a.license_id = l.id AND a.identifier = ${identifier}
      WHERE l.key_digest ${isOneOf(digests.length)}`,
    [...bindings, ...digests],
    { prepared: digests.length === 1 },
  );
  return new Map(rows.map((row) => [row.key_digest, toTerms(row)]));
}

/** An expression for a value of each licence, by its key's digest; the value of one alone needs no question. */
function byDigest(digests: string[], bindings: (string | null)[], value: (digest: string) => string): string {
  const [only = ''] = digests;
  if (digests.length === 1) return value(only);
  const cases = digests.map((digest) => {
    bindings.push(digest);
    return `WHEN ? THEN ${value(digest)}`;
  });
  return `CASE l.key_digest ${cases.join(' ')} END`;
}

function toTerms(row: TermsRow): Terms {
  return {
    license: {
      id: row.id,
      keyDigest: row.key_digest,
      status: row.status,
      activationLimit: row.activation_limit,
      activationsUsed: row.activations_used,
      expiresAt: row.expires_at === null ? null : fromSqlTime(row.expires_at),
      plan: { id: row.plan_id, name: row.plan_name, activationType: row.activation_type },
      product: { id: row.product_id, name: row.product_name },
    },
    activation: row.activated === null ? undefined : { name: row.activation_name },
  };
}
