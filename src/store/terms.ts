import { placeholders, rawRows, table, type Db } from './database';
import type { LicenseTerms } from './licenses';
import { fromSqlTime } from './time';

/** What a request is judged by: a licence, and the activation it names, both as they were at one moment. */
export interface Terms {
  license: LicenseTerms;
  /** undefined when the identifier is not activated, or none was asked for */
  activation: { name: string | null } | undefined;
}

interface TermsRow {
  id: number;
  key_digest: string;
  key_hint: string | null;
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
  activation_name: string | null;
}

/**
 * What requests with these keys' digests are judged by, by digest; unknown ones are missing from the map. One
 * statement, because a second one is a tenth of a validate call; written out, with the columns that are needed and no
 * more.
 *
 * @param wanted by digest, the identifier to look for, as each activation type spells it
 */
export async function findTerms(
  db: Db,
  wanted: Map<string, Record<string, string | undefined> | undefined>,
): Promise<Map<string, Terms>> {
  const digests = [...wanted.keys()];
  const bindings: (string | null)[] = [];
  /** The licence's identifier, as an expression for the text its plan's type makes of it. */
  const identifier = digests.map((digest) => {
    const spelled = Object.entries(wanted.get(digest) ?? {});
    const [first = null, ...others] = new Set(spelled.map(([, text]) => text ?? null));
    bindings.push(digest);
    if (others.length === 0) {
      bindings.push(first);
      return 'WHEN ? THEN ?';
    }
    for (const [type, text] of spelled) bindings.push(type, text ?? null);
    return `WHEN ? THEN CASE p.activation_type ${'WHEN ? THEN ? '.repeat(spelled.length)}END`;
  });
  const rows = await rawRows<TermsRow>(
    db,
    `SELECT l.id, l.key_digest, l.key_hint, l.status, l.activation_limit, l.activations_used, l.expires_at,
            l.plan_id, p.name AS plan_name, p.activation_type, p.product_id, r.name AS product_name,
            a.license_id AS activated, a.name AS activation_name
       FROM ${table(db, 'licenses')} l
       JOIN ${table(db, 'plans')} p ON p.id = l.plan_id
       JOIN ${table(db, 'products')} r ON r.id = p.product_id
       LEFT JOIN ${table(db, 'activations')} a
         ON a.license_id = l.id AND a.identifier = CASE l.key_digest ${identifier.join(' ')} END
      WHERE l.key_digest IN (${placeholders(digests.length)})`,
    [...bindings, ...digests],
  );
  return new Map(rows.map((row) => [row.key_digest, toTerms(row)]));
}

function toTerms(row: TermsRow): Terms {
  return {
    license: {
      id: row.id,
      keyDigest: row.key_digest,
      keyHint: row.key_hint,
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
