import { table, type Db } from '../engine/database';
import { forceIndex, likePattern, orderedJoin, placeholders } from '../engine/statements';
import { toSqlTime } from '../engine/time';

/**
 * The filters of lists of licences as SQL: conditions on a licence, and the pieces of indexes that find its rows. Indexes
 * and join orders are named, because statistics may be stale.
 */

export interface LicenseFilter {
  /** any of these plans */
  planIds?: number[] | undefined;
  /** a live status */
  status?: string | undefined;
  customer?: string | undefined;
  reference?: string | undefined;
  hint?: string | undefined;
  /** active licences without automatic renewal that expire no later than this */
  expiringBefore?: Date | undefined;
  /** licences with a refused request since this time */
  refusedSince?: Date | undefined;
  /** licences that were issued, not imported, since this time */
  issuedSince?: Date | undefined;
  /** licences whose latest suspension names this event of their order as its reason (`eventReason` in orders/draft.ts) */
  suspendedBy?: string | undefined;
  /** the name of the token that issued them */
  issuedBy?: string | undefined;
  search?: LicenseSearchText | undefined;
}

/** A search text in all its possible meanings. */
export interface LicenseSearchText {
  /** beginnings of the licence's words, all of which it must have (search-words.ts) */
  words: string[];
  /** the word of another system's number */
  number: string | undefined;
  reference: string;
  id: number | undefined;
  hint: string | undefined;
  identifiers: string[];
  /** the licences that the text finds by other means than words, if they are few */
  others?: number[];
}

/** By id, or, for licences that expire, by their end. */
export type LicenseListOrder = 'newest' | 'oldest' | 'soonest';

export type Binding = string | number;

export interface Condition {
  sql: string;
  bindings: Binding[];
}

export type FilterPart = keyof LicenseFilter;

/** A range of an index. */
export interface Piece {
  /** tables with their indexes; licences have the alias `l` */
  from: string;
  /** the first of these tables, which decides the order of the piece */
  driver: string;
  /** the licence's id in the driver */
  id: string;
  /** the conditions that the index serves */
  range: Condition[];
  /** further conditions that are checked row by row, in addition to the rest of the filter */
  rest: Condition[];
  /** the parts of the filter that these conditions cover */
  says: FilterPart[];
  /** whether a licence may be in it several times */
  repeats?: boolean;
  /** the tables without licences, for a page that needs only ids */
  bare?: string;
  /** the piece with the licences without an end, if this one excludes them */
  withoutEnd?: Piece;
}

/** The number of pieces in one statement; SQLite allows 500. */
export const PIECE_BATCH_SIZE = 16;

/** Returns each part of a filter as conditions on a licence. */
export function checksOf(db: Db, filter: LicenseFilter, now: Date): Map<FilterPart, Condition[]> {
  const checks = new Map<FilterPart, Condition[]>();
  const { planIds, status, customer, reference, hint, expiringBefore, refusedSince, issuedBy, search } =
    filter;
  const { issuedSince, suspendedBy } = filter;
  if (planIds !== undefined)
    checks.set('planIds', [{ sql: `l.plan_id IN (${placeholders(planIds.length)})`, bindings: planIds }]);
  if (customer !== undefined) checks.set('customer', [equal('customer', customer)]);
  if (reference !== undefined) checks.set('reference', [equal('reference', reference)]);
  if (issuedBy !== undefined) checks.set('issuedBy', [equal('issued_by', issuedBy)]);
  if (hint !== undefined) checks.set('hint', [hasHint(db, hint)]);
  if (refusedSince !== undefined)
    // As a value: MariaDB would turn EXISTS into a join, in an order of its own.
    checks.set('refusedSince', [
      {
        sql: `(SELECT r.at FROM ${table(db, 'license_refusals')} r WHERE r.license_id = l.id) >= ?`,
        bindings: [toSqlTime(refusedSince)],
      },
    ]);
  const events = `${table(db, 'events')} e${forceIndex(db, 'events', 'license_id', 'at')}`;
  if (issuedSince !== undefined)
    checks.set('issuedSince', [
      {
        sql: `l.created_at >= ? AND (SELECT COUNT(*) FROM ${events} WHERE e.license_id = l.id AND e.action = 'issue') > 0`,
        bindings: [toSqlTime(issuedSince)],
      },
    ]);
  if (suspendedBy !== undefined)
    checks.set('suspendedBy', [
      {
        sql: `l.status = 'suspended' AND (SELECT e.after_json FROM ${events} WHERE e.license_id = l.id AND e.action = 'suspend'
                 ORDER BY e.at DESC, e.id DESC LIMIT 1) LIKE ? ESCAPE '!'`,
        bindings: [likePattern(`: ${suspendedBy}"`)],
      },
    ]);
  if (search !== undefined) checks.set('search', [isFound(db, search)]);
  if (expiringBefore !== undefined)
    checks.set('expiringBefore', [equal('status', 'active'), ...expiring(now, expiringBefore)]);
  if (status !== undefined) {
    checks.set('status', [any(standings(filter, now).map((conditions) => all(conditions)))]);
  }
  return checks;
}

export function equal(column: string, value: Binding): Condition {
  return { sql: `l.${column} = ?`, bindings: [value] };
}

export function all(conditions: Condition[], operator = 'AND'): Condition {
  return {
    sql: `(${conditions.map(({ sql }) => sql).join(` ${operator} `)})`,
    bindings: conditions.flatMap(({ bindings }) => bindings),
  };
}

function any(conditions: Condition[]): Condition {
  return all(conditions, 'OR');
}

/** Returns the condition for an end in a period. Automatic renewals do not end; other ends have no grace period. */
function expiring(now: Date, before: Date): Condition[] {
  return [
    {
      sql: 'l.expires_at > ? AND l.expires_at <= ? AND l.renews_itself = 0',
      bindings: [toSqlTime(now), toSqlTime(before)],
    },
  ];
}

/** Returns the stored states that the filter's live status stands for, each with its condition on the end. */
function standings({ status, expiringBefore }: LicenseFilter, now: Date): [Condition, ...Condition[]][] {
  const at = toSqlTime(now);
  if (expiringBefore !== undefined) return [[equal('status', 'active'), ...expiring(now, expiringBefore)]];
  if (status === 'expired')
    return [
      [equal('status', 'expired')],
      [equal('status', 'active'), { sql: 'l.expires_at <= ?', bindings: [at] }],
    ];
  if (status === 'active')
    return [
      [equal('status', 'active'), { sql: '(l.expires_at IS NULL OR l.expires_at > ?)', bindings: [at] }],
    ];
  return status === undefined ? [] : [[equal('status', status)]];
}

function hasHint(db: Db, hint: string): Condition {
  const keys = `${table(db, 'license_keys')} k${forceIndex(db, 'license_keys', 'license_id')}`;
  return {
    sql: `(SELECT COUNT(*) FROM ${keys} WHERE k.license_id = l.id AND k.key_hint = ?) > 0`,
    bindings: [hint],
  };
}

/** Returns a range, because SQLite has no index for LIKE with an escape. No word sorts after the last code point. */
function begins(alias: string, beginning: string): Condition {
  const bindings = [beginning, `${beginning}\u{10ffff}`];
  return { sql: `(${alias}.word >= ? AND ${alias}.word < ?)`, bindings };
}

function hasWord(db: Db, { sql, bindings }: Condition): Condition {
  const words = `${table(db, 'search_words')} w${forceIndex(db, 'search_words')}`;
  return { sql: `(SELECT COUNT(*) FROM ${words} WHERE w.license_id = l.id AND ${sql}) > 0`, bindings };
}

function isNumber(alias: string, number: string): Condition {
  return { sql: `${alias}.word = ?`, bindings: [number] };
}

export function isAmong(ids: number[]): Condition {
  return { sql: `l.id IN (${placeholders(ids.length)})`, bindings: ids };
}

function isFound(db: Db, search: LicenseSearchText): Condition {
  const { words, number, reference, id, hint, identifiers, others } = search;
  const activations = `${table(db, 'activations')} a${forceIndex(db, 'activations', 'license_id', 'identifier')}`;
  const named = words.length === 0 ? [] : [all(words.map((word) => hasWord(db, begins('w', word))))];
  if (others !== undefined) return any([...named, ...(others.length === 0 ? [] : [isAmong(others)])]);
  return any([
    ...named,
    ...(number === undefined ? [] : [hasWord(db, isNumber('w', number))]),
    equal('reference', reference),
    ...(id === undefined ? [] : [equal('id', id)]),
    ...(hint === undefined ? [] : [hasHint(db, hint)]),
    ...identifiers.map((identifier) => ({
      sql: `(SELECT COUNT(*) FROM ${activations} WHERE a.license_id = l.id AND a.identifier = ?) > 0`,
      bindings: [identifier],
    })),
  ]);
}

/** Returns indexes in the page's order: a piece for each plan and stored status. */
export function runsOf(db: Db, filter: LicenseFilter, order: LicenseListOrder, now: Date): Piece[] {
  if (order === 'soonest') return rangesOf(db, filter, now);
  const { customer, issuedBy, refusedSince, planIds } = filter;
  const states = standings(filter, now);
  if (customer !== undefined) return [byColumn(db, 'customer', customer, 'customer')];
  if (planIds === undefined && states.length === 0) {
    if (issuedBy !== undefined) return [byColumn(db, 'issued_by', issuedBy, 'issuedBy')];
    if (refusedSince !== undefined) return [refused(db, refusedSince)];
    return [piece(db, [], [], [])];
  }
  return eachPlan(planIds).flatMap(({ index, plan }) =>
    states.length === 0
      ? [piece(db, ['plan_id'], plan, ['planIds'])]
      : states.map(([status, ...ends]) => ({
          ...piece(db, [...index, 'status', 'id', 'expires_at'], [...plan, status], STANDING),
          rest: ends,
        })),
  );
}

/** The columns of the index by which ranges of ends are read. */
export const BY_END = ['status', 'expires_at', 'renews_itself'];

const STANDING: FilterPart[] = ['planIds', 'status', 'expiringBefore'];

/** Returns the ways to read the filter: for each part, ranges of indexes with all licences that match this part. */
export function waysOf(db: Db, filter: LicenseFilter, now: Date): Piece[][] {
  const { customer, reference, hint, search, refusedSince, issuedSince, issuedBy } = filter;
  const ways: Piece[][] = [];
  if (reference !== undefined) ways.push([byColumn(db, 'reference', reference, 'reference')]);
  if (customer !== undefined) ways.push([byColumn(db, 'customer', customer, 'customer')]);
  if (hint !== undefined) ways.push([byOther(db, 'license_keys', ['key_hint'], hint, 'hint')]);
  if (search !== undefined) ways.push(...searchWays(db, search));
  if (refusedSince !== undefined) ways.push([refused(db, refusedSince, 'at')]);
  if (issuedSince !== undefined)
    ways.push([
      piece(db, ['created_at'], [{ sql: 'l.created_at >= ?', bindings: [toSqlTime(issuedSince)] }], []),
    ]);
  if (issuedBy !== undefined) ways.push([byColumn(db, 'issued_by', issuedBy, 'issuedBy')]);
  const ranges = rangesOf(db, filter, now);
  if (ranges.length > 0 && ranges.length <= PIECE_BATCH_SIZE) ways.push(ranges);
  return ways;
}

/** Returns ranges of the plans and states, sorted by the end. */
export function rangesOf(db: Db, filter: LicenseFilter, now: Date): Piece[] {
  const states = standings(filter, now);
  if (states.length === 0 && filter.planIds === undefined) return [];
  return eachPlan(filter.planIds).flatMap(({ index, plan }) =>
    states.length === 0
      ? [piece(db, ['plan_id'], plan, ['planIds'])]
      : states.map((conditions) => piece(db, [...index, ...BY_END], [...plan, ...conditions], STANDING)),
  );
}

function eachPlan(planIds: number[] | undefined): { index: string[]; plan: Condition[] }[] {
  return (
    planIds?.map((id) => ({ index: ['plan_id'], plan: [equal('plan_id', id)] })) ?? [{ index: [], plan: [] }]
  );
}

/** Returns a way for each word: licences with it, and those found by other means. A licence may be in it twice. */
function searchWays(db: Db, search: LicenseSearchText): Piece[][] {
  const { words, others: ids } = search;
  const others =
    ids === undefined
      ? otherPieces(db, search)
      : ids.length === 0
        ? []
        : [piece(db, [], [isAmong(ids)], ['search'])];
  if (words.length === 0) return [others];
  return words.map((word) => {
    const further = words.filter((other) => other !== word);
    return [byWord(db, begins('o', word), further), ...others];
  });
}

/** Returns the licences that the text finds by other means than words, with an index for each meaning. */
export function otherPieces(
  db: Db,
  { number, reference, id, hint, identifiers }: LicenseSearchText,
): Piece[] {
  return [
    ...(number === undefined ? [] : [byWord(db, isNumber('o', number), [])]),
    byColumn(db, 'reference', reference, 'search'),
    ...(id === undefined ? [] : [piece(db, [], [equal('id', id)], ['search'])]),
    ...(hint === undefined ? [] : [byOther(db, 'license_keys', ['key_hint'], hint, 'search')]),
    ...identifiers.map((identifier) =>
      byOther(db, 'activations', ['identifier', 'license_id'], identifier, 'search'),
    ),
  ];
}

/** @param further beginnings of other words of the licence */
function byWord(db: Db, range: Condition, further: string[]): Piece {
  const driver = `${table(db, 'search_words')} o${forceIndex(db, 'search_words', 'word', 'license_id')}`;
  const own = table(db, 'search_words');
  const others = further.map(
    (_, n) =>
      `${orderedJoin(db)} ${own} w${n}${forceIndex(db, 'search_words')} ON w${n}.license_id = o.license_id`,
  );
  const bare = [driver, ...others].join(' ');
  return {
    ...joined(db, driver, bare),
    bare,
    range: [range],
    rest: further.map((word, n) => begins(`w${n}`, word)),
    says: ['search'],
    repeats: true,
  };
}

export function piece(db: Db, index: string[], range: Condition[], says: FilterPart[]): Piece {
  const from = `${table(db, 'licenses')} l${forceIndex(db, 'licenses', ...index)}`;
  return { from, driver: from, id: 'l.id', range, rest: [], says };
}

function byColumn(db: Db, column: string, value: string, part: FilterPart): Piece {
  return piece(db, [column], [equal(column, value)], [part]);
}

/** Returns licences by the rows `o` of another table. */
function byOther(
  db: Db,
  name: 'license_keys' | 'activations',
  index: [column: string, ...others: string[]],
  value: string,
  part: FilterPart,
): Piece {
  const driver = `${table(db, name)} o${forceIndex(db, name, ...index)}`;
  return {
    ...joined(db, driver),
    range: [{ sql: `o.${index[0]} = ?`, bindings: [value] }],
    rest: [],
    says: [part],
    // Several keys of a licence may have the same hint.
    repeats: name === 'license_keys',
  };
}

/** @param index none: in the order of licences */
function refused(db: Db, since: Date, ...index: ['at'] | []): Piece {
  const driver = `${table(db, 'license_refusals')} o${forceIndex(db, 'license_refusals', ...index)}`;
  const range = [{ sql: 'o.at >= ?', bindings: [toSqlTime(since)] }];
  const [served, rest] = index.length > 0 ? [range, []] : [[], range];
  return { ...joined(db, driver), range: served, rest, says: ['refusedSince'] };
}

function joined(db: Db, driver: string, bare = driver): Pick<Piece, 'from' | 'driver' | 'id'> {
  const licenses = `${table(db, 'licenses')} l${forceIndex(db, 'licenses')}`;
  return {
    from: `${bare} ${orderedJoin(db)} ${licenses} ON l.id = o.license_id`,
    driver,
    id: 'o.license_id',
  };
}
