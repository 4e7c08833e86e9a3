import { table, type Db } from '../engine/database';
import {
  forceIndex,
  inListSql,
  licenseIndex,
  orderedJoin,
  placeholders,
  rawRows,
} from '../engine/statements';
import type { AfterExpiry } from '../catalogue';
import type { LicenseTerms } from './licenses';
import { fromSqlTime } from '../engine/time';

/** The data that decides a request: a licence, the key, and the wanted identifiers that are activated, read at one moment. */
export interface Terms {
  license: LicenseTerms;
  key: KeyTerms;
  /** keyed by identifier */
  activations: Map<string, ActivationTerms>;
}

/** A text as an identifier of each activation type; undefined if it is not valid for that type. */
export type SpelledIdentifier = Record<string, string | undefined>;

/** The key of a request. A replaced key counts as the key that replaced it. */
export interface KeyTerms {
  /** null: the main key; activations with the main key also have null */
  id: number | null;
  /** the id of this key, even if it is the main key */
  rowId: number;
  /** the id of the key that was sent, even if it was replaced */
  sentId: number;
  endsAt: Date | null;
  /** the key's own limit, which is never unlimited; undefined: the licence's limit applies */
  limit: { slots: number; used: number } | undefined;
}

/** An activation; all fields except the identifier are undefined unless details were requested. */
export interface ActivationTerms {
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
  /** only in rows that were found by it; absent if no query needs it */
  folded_digest?: string | null;
  /** null: a different key, whose terms were not read */
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
  grace_days: number;
  renews_itself: number;
  all_returned: number;
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

/** The spellings of the wanted identifiers, by digest of a key. */
type Wanted = ReadonlyMap<string, SpelledIdentifier[]>;

/** The folded digests of keys of other systems, by the digest of the key as typed. */
export type Folded = ReadonlyMap<string, string>;

/**
 * Finds licences and wanted identifiers by digest in one statement: a second one could see an activation that the first
 * one's counter does not include. Nearly all requests use main keys, which have no terms of their own; licences of
 * other keys are read again with these terms. A key of another system is also found by its folded digest, if that means
 * one key.
 *
 * @param details reads all columns of the activations; otherwise only the index is read
 * @returns the terms by the wanted digests
 */
export async function findTerms(
  db: Db,
  wanted: Wanted,
  { details, folded = new Map() }: { details: boolean; folded?: Folded },
): Promise<Map<string, Terms>> {
  const rows = await readTerms(db, wanted, { details, keyTerms: false, folded });
  const meant = folded.size === 0 ? undefined : resolveKeyDigests(folded, rows);
  const terms = toTerms(rows);
  const byOtherKeys = new Set(rows.flatMap((row) => (row.main_key_id === null ? row.key_digest : [])));
  if (byOtherKeys.size > 0) {
    const others = new Map([...byOtherKeys].map((digest) => [digest, [...(wanted.get(digest) ?? [])]]));
    for (const [written, digest] of meant ?? []) others.get(digest)?.push(...(wanted.get(written) ?? []));
    for (const [digest, ofOther] of toTerms(await readTerms(db, others, { details, keyTerms: true })))
      terms.set(digest, ofOther);
  }
  if (meant === undefined) return terms;
  return new Map(
    [...wanted.keys()].flatMap((written) => {
      const found = terms.get(meant.get(written) ?? written);
      return found ? [[written, found] as const] : [];
    }),
  );
}

/** Finds the stored digest of each key that was typed in another spelling. An exact match wins. */
export function resolveKeyDigests(
  folded: Folded,
  rows: Pick<TermsRow, 'key_digest' | 'folded_digest'>[],
): Map<string, string> {
  const exact = new Set<string>();
  const keys = new Map<string, Set<string>>();
  for (const { key_digest: digest, folded_digest: fold } of rows)
    if (!fold) exact.add(digest);
    else keys.set(fold, (keys.get(fold) ?? new Set()).add(digest));
  const meant = new Map<string, string>();
  for (const [written, fold] of folded) {
    const [only, ...twins] = exact.has(written) ? [] : (keys.get(fold) ?? []);
    if (only !== undefined && twins.length === 0) meant.set(written, only);
  }
  return meant;
}

/** SQL text with the values of its question marks. */
interface Sql {
  text: string;
  bindings: (string | null)[];
}

function joinSql(parts: Sql[], separator: string): Sql {
  const [only] = parts;
  if (only !== undefined && parts.length === 1) return only;
  return {
    text: parts.map(({ text }) => text).join(separator),
    bindings: parts.flatMap(({ bindings }) => bindings),
  };
}

/** Reads a row for each wanted identifier that is activated, and one row for a licence without any. */
function readTerms(
  db: Db,
  wanted: Wanted,
  { folded = new Map(), ...read }: { details: boolean; keyTerms: boolean; folded?: Folded },
): Promise<TermsRow[]> {
  const tellsFolded = folded.size > 0;
  const selects = selectsBy(db, 'key_digest', wanted, { ...read, tellsFolded });
  if (tellsFolded) {
    const wantedByFolded = new Map<string, SpelledIdentifier[]>();
    for (const [digest, fold] of folded)
      wantedByFolded.set(fold, [...(wantedByFolded.get(fold) ?? []), ...(wanted.get(digest) ?? [])]);
    selects.push(...selectsBy(db, 'folded_digest', wantedByFolded, { ...read, tellsFolded }));
  }
  const { text, bindings } = joinSql(selects, ' UNION ALL ');
  const isOfOneKind = [...wanted.values()].every((spelled) => spelled.length <= 1);
  return rawRows(db, text, bindings, { prepared: wanted.size === 1 && isOfOneKind });
}

type DigestColumn = 'key_digest' | 'folded_digest';

interface Reading {
  details: boolean;
  keyTerms: boolean;
  /** whether the rows show by which digest they were found */
  tellsFolded: boolean;
}

function selectsBy(db: Db, column: DigestColumn, wanted: Wanted, reading: Reading): Sql[] {
  const all = [...wanted];
  const withOneAtMost = all.filter(([, spelled]) => spelled.length <= 1);
  const selects = all
    .filter(([, spelled]) => spelled.length > 1)
    .map(([digest, spelled]) => selectTerms(db, column, [digest], isAnySpelling(spelled), reading));
  if (withOneAtMost.length > 0) {
    const digests = withOneAtMost.map(([digest]) => digest);
    selects.unshift(selectTerms(db, column, digests, isIdentifierOf(column, withOneAtMost), reading));
  }
  return selects;
}

/** Returns the SELECT, with a fixed join order: the server's statistics may date from the time of empty tables. */
function selectTerms(
  db: Db,
  column: DigestColumn,
  digests: string[],
  isWanted: Sql,
  { details, keyTerms, tellsFolded }: Reading,
): Sql {
  const index = column === 'key_digest' ? [] : [column];
  const found = column === 'key_digest' ? 'NULL AS folded_digest' : 'k.folded_digest';
  const activations = table(db, 'activations');
  const keyColumns = keyTerms
    ? `l.main_key_id, COALESCE(k.replaced_by, k.id) AS key_id, k.id AS sent_key_id, k.ends_at AS key_ends_at,
            k.activation_limit AS key_limit,
            (SELECT COUNT(*) FROM ${activations} u${forceIndex(db, 'activations', 'key_id', 'free')}
              WHERE u.key_id = COALESCE(k.replaced_by, k.id) AND u.free = 0) AS key_used`
    : 'CASE WHEN k.id = l.main_key_id THEN k.id END AS main_key_id';
  return {
    text: `SELECT k.key_digest, ${tellsFolded ? `${found}, ` : ''}${keyColumns},
            l.id, l.status, l.activation_limit, l.activations_used, l.expires_at, l.grace_days, l.renews_itself, l.all_returned,
            l.plan_id, p.name AS plan_name, p.activation_type, p.after_expiry, p.free_staging, p.product_id, r.name AS product_name,
            a.identifier${details ? ', a.name AS activation_name, a.key_id AS activation_key_id, a.free, a.site, a.held_until' : ''}
       FROM ${table(db, 'license_keys')} k${forceIndex(db, 'license_keys', ...index)}
       ${orderedJoin(db)} ${table(db, 'licenses')} l${forceIndex(db, 'licenses')} ON l.id = k.license_id
       ${orderedJoin(db)} ${table(db, 'plans')} p${forceIndex(db, 'plans')} ON p.id = l.plan_id
       ${orderedJoin(db)} ${table(db, 'products')} r${forceIndex(db, 'products')} ON r.id = p.product_id
       LEFT JOIN ${activations} a${forceIndex(db, 'activations', ...licenseIndex('activations'))}
              ON a.license_id = l.id AND a.identifier ${isWanted.text}
      WHERE k.${column} ${inListSql(digests.length)}`,
    bindings: [...isWanted.bindings, ...digests],
  };
}

/** Returns a condition for every spelling while the plan's activation type is unknown; the caller picks one. */
function isAnySpelling(spelled: SpelledIdentifier[]): Sql {
  const all = spelled.flatMap((one) => Object.values(one)).filter((text) => text !== undefined);
  const bindings = [...new Set(all)];
  return { text: bindings.length === 0 ? 'IS NULL' : `IN (${placeholders(bindings.length)})`, bindings };
}

/** Picks the wanted identifier by digest and plan type. A single digest or spelling needs no CASE. */
function isIdentifierOf(column: DigestColumn, wanted: [digest: string, spelled: SpelledIdentifier[]][]): Sql {
  if (wanted.length === 1) {
    const { text, bindings } = byPlanType(wanted[0]?.[1][0] ?? {});
    return { text: `= ${text}`, bindings };
  }
  // Downloads name no identifier, and half of the statement's values would be nulls.
  if (wanted.every(([, spelled]) => spelled.length === 0)) return { text: 'IS NULL', bindings: [] };
  let cases = '';
  const bindings: Sql['bindings'] = [];
  for (const [digest, [spelled = {}]] of wanted) {
    const choice = byPlanType(spelled);
    cases += ` WHEN ? THEN ${choice.text}`;
    bindings.push(digest, ...choice.bindings);
  }
  return { text: `= CASE k.${column}${cases} END`, bindings };
}

function byPlanType(spelled: SpelledIdentifier): Sql {
  const texts = Object.values(spelled);
  const [first] = texts;
  if (texts.every((text) => text === first)) return { text: '?', bindings: [first ?? null] };
  return {
    text: `CASE p.activation_type ${'WHEN ? THEN ? '.repeat(texts.length)}END`,
    bindings: Object.entries(spelled).flatMap(([type, text]) => [type, text ?? null]),
  };
}

function toTerms(rows: TermsRow[]): Map<string, Terms> {
  const terms = new Map<string, Terms>();
  for (const row of rows) {
    const { key_digest: digest, main_key_id: mainKeyId, identifier } = row;
    if (mainKeyId === null) continue;
    const known = terms.get(digest) ?? {
      license: toLicenseTerms(row),
      key: toKeyTerms(row, mainKeyId),
      activations: new Map<string, ActivationTerms>(),
    };
    terms.set(digest, known);
    if (identifier !== null) known.activations.set(identifier, toActivationTerms(row));
  }
  return terms;
}

function toLicenseTerms(row: TermsRow): LicenseTerms {
  return {
    id: row.id,
    status: row.status,
    activationLimit: row.activation_limit,
    activationsUsed: row.activations_used,
    expiresAt: row.expires_at === null ? null : fromSqlTime(row.expires_at),
    graceDays: row.grace_days,
    renewsItself: row.renews_itself !== 0,
    allReturned: row.all_returned !== 0,
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

function toActivationTerms({
  activation_name: name,
  activation_key_id: keyId,
  free,
  site,
  held_until: held,
}: TermsRow): ActivationTerms {
  if (free === undefined) return {};
  return { name, keyId, free: free !== 0, site, heldUntil: held ? fromSqlTime(held) : null };
}
