import { chunksOf, inChunks } from '../../base/chunks';
import { isSqlite, table, type Db } from '../engine/database';
import { forceIndex, rawRows } from '../engine/statements';
import { toSqlTime } from '../engine/time';
import {
  type LicenseFilter,
  type LicenseListOrder,
  type Binding,
  type Condition,
  type FilterPart,
  type Piece,
  checksOf,
  equal,
  all,
  isAmong,
  runsOf,
  BY_END,
  waysOf,
  rangesOf,
  otherPieces,
  piece,
  PIECE_BATCH_SIZE,
} from './license-filters';

/**
 * Pages of licences by filters, fast with a million licences. A filter that few licences match returns their ids; any
 * other filter is read in the order of an index. Indexes and join orders are named, because statistics may be stale.
 */

/** The position at which a page ends. */
interface LicensePosition {
  id: number;
  /** as stored; only in the order `soonest` */
  expiresAt: string | null;
}

interface Page {
  order: LicenseListOrder;
  after: LicensePosition | undefined;
  limit: number;
}

/** The bounds that decide how a page is read; tests set them lower. */
interface Bounds {
  /** the maximum of licences matching a part of the filter that are checked one by one */
  few: number;
  /** the maximum of index entries that are sorted for a page */
  sortable: number;
  /** the range of ids from the start of a page that is searched before anything is sorted */
  window: number;
}

const BOUNDS: Bounds = { few: 2_000, sortable: 200_000, window: 10_000 };
const HEAD_BATCH_SIZE = 100;

/** Lists the ids of a page, in its order. An active licence past its end is expired at `now`. */
export async function listLicensePositions(
  db: Db,
  given: LicenseFilter,
  page: Page,
  now: Date,
  bounds = BOUNDS,
): Promise<LicensePosition[]> {
  if (isEmpty(given)) return [];
  const filter = await withOthers(db, given, bounds.few);
  const checks = checksOf(db, filter, now);
  const runs = runsOf(db, filter, page.order, now);
  if (runs.every((run) => run.rest.length === 0 && remaining(run, checks).length === 0))
    return merge(db, runs, checks, page);
  const ways = waysOf(db, filter, now);
  const few = await findFew(db, ways, bounds.few);
  if (few !== undefined) return pick(db, few, [...checks.values()].flat(), page);
  if (page.order === 'soonest') {
    // If few enough match, they are sorted, because the licences that expire first may all fail the rest of the filter.
    for (const pieces of ways)
      if (!says(pieces, 'expiringBefore') && (await areAtMost(db, pieces, bounds.sortable / 4)))
        return merge(db, pieces, checks, page);
    return merge(db, runs, checks, page);
  }
  const searched = await findSearchable(db, ways, bounds);
  if (searched !== undefined) return merge(db, searched, checks, page);
  // There are nearly always enough near the page's start.
  const start = page.after?.id ?? (await findOutermost(db, page.order));
  const readNear = (window: number) =>
    merge(db, runs, checks, page, start + (page.order === 'newest' ? -window : window));
  const together = await findTogether(db, ways, checks, page.limit, bounds, readNear);
  if (together !== undefined) return pick(db, together.ids, together.checks, page);
  const near = await readNear(bounds.window);
  if (near.length >= page.limit) return near;
  for (const pieces of ways)
    if (ways.length === 1 || (await areAtMost(db, pieces, bounds.sortable)))
      return merge(db, pieces, checks, page, await findBound(db, pieces, checks, page, bounds.few));
  return merge(db, runs, checks, page);
}

/**
 * Returns an id that the page's last licence is not beyond, so that fewer are sorted: usually the licences that ended
 * last are the newest among the ended ones. @returns undefined if none is known
 */
async function findBound(
  db: Db,
  pieces: Piece[],
  checks: Map<FilterPart, Condition[]>,
  { order, after, limit }: Page,
  few: number,
): Promise<number | undefined> {
  if (!says(pieces, 'status') || pieces.some((one) => remaining(one, checks).length > 0)) return undefined;
  const down = order === 'newest' ? ' DESC' : '';
  const ids: number[] = [];
  for (const { from, range } of pieces) {
    const where = all([...range, ...(after === undefined ? [] : [beyond(order, 'l.id', after, false)])]);
    const sql = `SELECT l.id FROM ${from} WHERE ${where.sql} ORDER BY l.expires_at${down} LIMIT ${few}`;
    ids.push(...(await rawRows<{ id: number }>(db, sql, where.bindings)).map(({ id }) => id));
  }
  return ids.sort((a, b) => (order === 'newest' ? b - a : a - b))[limit - 1];
}

/** Reports whether no licence can match. */
function isEmpty({ planIds, expiringBefore, status = 'active' }: LicenseFilter): boolean {
  return planIds?.length === 0 || (expiringBefore !== undefined && status !== 'active');
}

function says(pieces: Piece[], part: FilterPart): boolean {
  return pieces.every((one) => one.says.includes(part));
}

/** A sort by a column that an index has in order. Licences with the same value are sorted by id, in the same direction. */
export interface LicenseSort {
  column: 'customer' | 'expires_at';
  isDown: boolean;
}

export interface SortedPosition {
  id: number;
  /** as stored; null: no value */
  value: string | null;
}

interface SortedPage {
  sort: LicenseSort;
  after: SortedPosition | undefined;
  limit: number;
}

/** Lists the ids of a page, sorted by a column. Licences without a value are last in ascending order, else first. */
export async function listSortedPositions(
  db: Db,
  given: LicenseFilter,
  page: SortedPage,
  now: Date,
  bounds = BOUNDS,
): Promise<SortedPosition[]> {
  if (isEmpty(given)) return [];
  const filter = await withOthers(db, given, bounds.few);
  const checks = checksOf(db, filter, now);
  const ranges = rangesOf(db, filter, now);
  const ways = [
    ...waysOf(db, filter, now),
    ...(ranges.length > PIECE_BATCH_SIZE && ranges.length <= MAX_RANGES ? [ranges] : []),
  ];
  const few = await findFew(db, ways, bounds.few);
  if (few !== undefined) return pickSorted(db, few, [...checks.values()].flat(), page);
  const runs = runsInOrder(db, filter, page.sort, now);
  if (runs.every((run) => remaining(run, checks).length === 0)) return readParts(db, runs, checks, page);
  const searched = await findSearchable(db, ways, bounds);
  if (searched !== undefined) return readParts(db, searched, checks, page);
  // There are nearly always enough near the page's start.
  const readNear = (window: number) => readParts(db, runs, checks, page, window / 2);
  const together = await findTogether(db, ways, checks, page.limit, bounds, readNear);
  if (together !== undefined && together.ids.length <= bounds.sortable / 10)
    return pickSorted(db, together.ids, together.checks, page);
  const near = await readNear(bounds.window);
  if (near.length >= page.limit) return near;
  for (const way of ways)
    if (await areAtMost(db, way, bounds.sortable)) return readParts(db, way, checks, page);
  return readParts(db, runs, checks, page);
}

/** The maximum number of ranges of plans and states that are read one after the other. */
const MAX_RANGES = 200;

interface SortedPart {
  /** whether it is the part without a value in the column */
  isNull: boolean;
  after: SortedPosition | undefined;
}

/** Returns the parts of the order that follow a position. */
function partsBehind({ sort: { isDown }, after }: SortedPage): SortedPart[] {
  const parts = isDown ? [true, false] : [false, true];
  if (after === undefined) return parts.map((isNull) => ({ isNull, after }));
  const first = after.value === null;
  return parts
    .slice(parts.indexOf(first))
    .map((isNull) => ({ isNull, after: isNull === first ? after : undefined }));
}

/** Reads the parts in order. @param window reads only this many entries of the first part; undefined: all parts */
async function readParts(
  db: Db,
  pieces: Piece[],
  checks: Map<FilterPart, Condition[]>,
  page: SortedPage,
  window?: number,
): Promise<SortedPosition[]> {
  const found: SortedPosition[] = [];
  for (const part of partsBehind(page)) {
    if (found.length >= page.limit) break;
    const limit = page.limit - found.length;
    // A licence without an end has not ended, except for one that was imported as expired.
    const isRare = part.isNull && pieces.every((one) => one.withoutEnd !== undefined);
    const run = isRare ? pieces.flatMap((one) => one.withoutEnd ?? []) : pieces;
    const wanted = { ...page, ...part, limit };
    found.push(...(await readSorted(db, run, checks, isRare ? wanted : { ...wanted, window })));
    if (window !== undefined && !isRare) break;
  }
  return found;
}

/** Returns the index of the column. For ends, the filter's live state limits it to a range. */
function runsInOrder(
  db: Db,
  { status, expiringBefore }: LicenseFilter,
  { column }: LicenseSort,
  now: Date,
): Piece[] {
  const at = toSqlTime(now);
  const whole = piece(db, [column], [ALWAYS], []);
  if (column !== 'expires_at') return [whole];
  const bounded = (sql: string, ...bindings: Binding[]) => [{ ...whole, range: [{ sql, bindings }] }];
  if (expiringBefore !== undefined)
    return bounded('l.expires_at > ? AND l.expires_at <= ?', at, toSqlTime(expiringBefore));
  if (status === 'active') return bounded('(l.expires_at > ? OR l.expires_at IS NULL)', at);
  // A licence stored as expired has ended, even if it was imported without an end.
  if (status === 'expired')
    return bounded('l.expires_at <= ?', at).map((one) => ({
      ...one,
      withoutEnd: piece(db, BY_END, [equal('status', 'expired')], []),
    }));
  return [whole];
}

async function readSorted(
  db: Db,
  pieces: Piece[],
  checks: Map<FilterPart, Condition[]>,
  { sort, after, limit, isNull, window }: SortedPage & SortedPart & { window?: number | undefined },
): Promise<SortedPosition[]> {
  const column = `l.${sort.column}`;
  const way = sort.isDown ? ' DESC' : '';
  const segment: Condition = { sql: `${column} IS ${isNull ? '' : 'NOT '}NULL`, bindings: [] };
  const rows: SortedPosition[] = [];
  for (const one of pieces) {
    const checked = [...one.rest, ...remaining(one, checks)];
    const ranged = [...one.range, segment, ...(after === undefined ? [] : [behind(sort, one.id, after)])];
    const by = isNull ? `${one.id}${way}` : `${column}${way}, ${one.id}${way}`;
    const select = (conditions: Condition[], part: string) => {
      const { sql, bindings } = all(conditions);
      const from = `${one.from} WHERE ${sql} ORDER BY ${by} ${part}`;
      return rawRows<SortedPosition>(db, `SELECT ${one.id} AS id, ${column} AS value FROM ${from}`, bindings);
    };
    const [edge] = window === undefined ? [] : await select(ranged, `LIMIT 1 OFFSET ${window}`);
    const until = edge === undefined ? [] : [behind(sort, one.id, edge, true)];
    rows.push(
      ...(await eachOnce(limit, one.repeats, (most) =>
        select([...ranged, ...until, ...checked], `LIMIT ${most}`),
      )),
    );
  }
  return distinct(rows).sort(comparingBy(sort)).slice(0, limit);
}

function distinct<T extends { id: number }>(rows: T[]): T[] {
  return [...new Map(rows.map((one) => [one.id, one])).values()];
}

/** The factor for the rows of one licence: few of its words have the same beginning. */
const REPEATS = 4;

/**
 * Reads rows until `limit` licences are found, because a licence may have several rows. DISTINCT would first make a
 * table of all rows.
 */
async function eachOnce<T extends { id: number }>(
  limit: number,
  repeats: boolean | undefined,
  readFirst: (most: number) => Promise<T[]>,
): Promise<T[]> {
  for (let most = repeats ? limit * REPEATS : limit; ; most *= REPEATS) {
    const rows = await readFirst(most);
    const once = distinct(rows);
    if (!repeats || once.length >= limit || rows.length < most) return once;
  }
}

/** Returns the condition for rows after a position, or with `isUntil` up to it. */
function behind(
  { column, isDown }: LicenseSort,
  id: string,
  { id: place, value }: SortedPosition,
  isUntil = false,
): Condition {
  const further = isDown === isUntil ? '>' : '<';
  const beyond = `${id} ${further}${isUntil ? '=' : ''} ?`;
  if (value === null) return { sql: beyond, bindings: [place] };
  const name = `l.${column}`;
  return {
    sql: `(${name} ${further}= ? AND (${name} ${further} ? OR ${beyond}))`,
    bindings: [value, value, place],
  };
}

/** Returns a comparison like that of the databases, byte by byte. */
function comparingBy({ isDown }: LicenseSort): (a: SortedPosition, b: SortedPosition) => number {
  const sign = isDown ? -1 : 1;
  return (a, b) => {
    if (a.value === null || b.value === null)
      return sign * (a.value === b.value ? a.id - b.id : a.value === null ? 1 : -1);
    return sign * (Buffer.compare(Buffer.from(a.value), Buffer.from(b.value)) || a.id - b.id);
  };
}

/** Returns the page's part of some ids, sorted by a column. */
async function pickSorted(
  db: Db,
  ids: number[],
  checks: Condition[],
  { sort, after, limit }: SortedPage,
): Promise<SortedPosition[]> {
  const found = await inChunks(ids, (chunk) => {
    const where = all([isAmong(chunk), ...checks]);
    return rawRows<SortedPosition>(
      db,
      `SELECT l.id, l.${sort.column} AS value FROM ${table(db, 'licenses')} l${forceIndex(db, 'licenses')} WHERE ${where.sql}`,
      where.bindings,
    );
  });
  const compare = comparingBy(sort);
  return found
    .filter((one) => after === undefined || compare(one, after) > 0)
    .sort(compare)
    .slice(0, limit);
}

/** Counts the matching licences if a part of the filter leaves few; undefined if there are many. */
export async function countFewLicenses(
  db: Db,
  given: LicenseFilter,
  now: Date,
  bounds = BOUNDS,
): Promise<number | undefined> {
  if (isEmpty(given)) return 0;
  const filter = await withOthers(db, given, bounds.few);
  const few = await findFew(db, waysOf(db, filter, now), bounds.few);
  if (few === undefined) return undefined;
  const checks = [...checksOf(db, filter, now).values()].flat();
  const sort = { column: 'customer', isDown: false } as const;
  return (await pickSorted(db, few, checks, { sort, after: undefined, limit: few.length })).length;
}

/** Looks up the few licences that a search finds by other means than words, so that not every row needs these look-ups. */
async function withOthers(db: Db, filter: LicenseFilter, few: number): Promise<LicenseFilter> {
  const { search } = filter;
  if (search === undefined || search.words.length === 0) return filter;
  const others = await findFew(db, [otherPieces(db, search)], few);
  return others === undefined ? filter : { ...filter, search: { ...search, others } };
}

/** Finds a way of a search with few rows: sorting them is faster than searching for matches near the page's start. */
async function findSearchable(db: Db, ways: Piece[][], { sortable }: Bounds): Promise<Piece[] | undefined> {
  for (const pieces of ways)
    if (says(pieces, 'search') && (await areAtMost(db, pieces, sortable / 10))) return pieces;
  return undefined;
}

/** The share of the window that shows whether the whole window has enough for a page. */
const SAMPLE = 0.1;

/**
 * Finds the licences with several common words that are seldom together, with the conditions that remain. It reads the ids
 * of each word and compares them here: two words of 50,000 licences take 50 ms, and a look-up of each licence 150.
 * @param readNear reads a window at the page's start
 * @returns undefined if the window has enough for a page, or each word has too many licences
 */
async function findTogether(
  db: Db,
  ways: Piece[][],
  checks: Map<FilterPart, Condition[]>,
  limit: number,
  { sortable, window }: Bounds,
  readNear: (window: number) => Promise<unknown[]>,
): Promise<{ ids: number[]; checks: Condition[] } | undefined> {
  const words = ways.filter((pieces) => says(pieces, 'search'));
  if (words.length < 2 || (await readNear(window * SAMPLE)).length >= limit * SAMPLE) return undefined;
  const lists: Set<number>[] = [];
  for (const pieces of words) {
    const ids = await readIds(db, pieces, sortable / 2);
    if (ids !== undefined) lists.push(new Set(ids));
  }
  const [first, ...others] = lists;
  if (first === undefined) return undefined;
  return {
    ids: [...first].filter((id) => others.every((ids) => ids.has(id))),
    checks: [...checks].flatMap(([part, own]) =>
      part === 'search' && lists.length === words.length ? [] : own,
    ),
  };
}

/** Returns the ids of pieces as one text, because rows take longer; undefined if there are more than `most`. */
async function readIds(db: Db, pieces: Piece[], most: number): Promise<number[] | undefined> {
  const array = isSqlite(db) ? 'JSON_GROUP_ARRAY' : 'JSON_ARRAYAGG';
  const ids: number[] = [];
  for (const { driver, id, range } of pieces) {
    const where = all(range);
    const [found] = await rawRows<{ ids: unknown; n: number }>(
      db,
      `SELECT ${array}(id) AS ids, COUNT(*) AS n
         FROM (SELECT ${id} AS id FROM ${driver} WHERE ${where.sql} LIMIT ${most + 1}) found`,
      where.bindings,
    );
    const { ids: text, n } = found as { ids: unknown; n: number };
    // MariaDB cuts a text that is longer than group_concat_max_len.
    if (n > most || (typeof text === 'string' && !text.endsWith(']'))) return undefined;
    // MySQL's driver returns an array.
    for (const one of (typeof text === 'string' ? JSON.parse(text) : (text ?? [])) as number[]) ids.push(one);
  }
  return ids;
}

/** Returns the ids of the first way with few licences; undefined if each way has more. */
async function findFew(db: Db, ways: Piece[][], few: number): Promise<number[] | undefined> {
  for (const pieces of ways) {
    const ids: number[] = [];
    for (const { driver, id, range } of pieces) {
      const where = all(range);
      const sql = `SELECT ${id} AS id FROM ${driver} WHERE ${where.sql} LIMIT ${few + 1}`;
      ids.push(...(await rawRows<{ id: number }>(db, sql, where.bindings)).map((row) => row.id));
      if (ids.length > few) break;
    }
    if (ids.length <= few) return [...new Set(ids)];
  }
  return undefined;
}

/** Reports whether pieces have at most this many rows together. */
async function areAtMost(db: Db, pieces: Piece[], most: number): Promise<boolean> {
  let left = most;
  for (const { driver, range } of pieces) {
    const where = all(range);
    const [found] = await rawRows<{ n: number }>(
      db,
      `SELECT COUNT(*) AS n FROM (SELECT 1 FROM ${driver} WHERE ${where.sql} LIMIT ${left + 1}) counted`,
      where.bindings,
    );
    left -= found?.n ?? 0;
    if (left < 0) return false;
  }
  return true;
}

async function findOutermost(db: Db, order: LicenseListOrder): Promise<number> {
  const [found] = await read(db, [piece(db, [], [], [])], new Map(), { order, limit: 1 });
  return (found?.id ?? 0) + (order === 'newest' ? 1 : -1);
}

/** Returns the conditions of the filter that a piece does not cover. */
function remaining({ says }: Piece, checks: Map<FilterPart, Condition[]>): Condition[] {
  return [...checks].flatMap(([part, conditions]) => (says.includes(part) ? [] : conditions));
}

/** Returns the page's part of some ids. */
async function pick(
  db: Db,
  ids: number[],
  checks: Condition[],
  { order, after, limit }: Page,
): Promise<LicensePosition[]> {
  const found: LicensePosition[] = [];
  const isAhead = (id: number) =>
    order === 'soonest' || after === undefined || (order === 'newest' ? id < after.id : id > after.id);
  const ordered = ids.filter(isAhead).sort((a, b) => (order === 'newest' ? b - a : a - b));
  for (const chunk of chunksOf(ordered)) {
    if (order !== 'soonest' && found.length >= limit) break;
    found.push(
      ...(await read(db, [piece(db, [], [isAmong(chunk), ...checks], [])], new Map(), {
        order,
        after,
        limit,
      })),
    );
  }
  return found.sort(comparing(order)).slice(0, limit);
}

/**
 * Returns the page's part of pieces. If there are many pieces, those that begin nearest to the page's start are read
 * first, and those that begin after its end are not read.
 * @param until the last id to read
 */
async function merge(
  db: Db,
  pieces: Piece[],
  checks: Map<FilterPart, Condition[]>,
  { order, after, limit }: Page,
  until?: number,
): Promise<LicensePosition[]> {
  const compare = comparing(order);
  const span: Span = {
    order,
    after,
    until: until === undefined ? undefined : { id: until, expiresAt: null },
  };
  const isMany = pieces.length > PIECE_BATCH_SIZE;
  const waiting = isMany
    ? await findHeads(db, pieces, span)
    : pieces.map((one) => ({ piece: one, head: undefined }));
  let found: LicensePosition[] = [];
  for (let i = 0; i < waiting.length;) {
    const last = found[limit - 1];
    const head = waiting[i]?.head;
    if (last !== undefined && head !== undefined && compare(head, last) > 0) break;
    // The first batch of many is small, because its rows limit the reading of the other batches.
    const batch = waiting.slice(i, i + (isMany && i === 0 ? 2 : PIECE_BATCH_SIZE));
    const rows = await read(
      db,
      batch.map((one) => one.piece),
      checks,
      { ...span, until: last ?? span.until, limit },
    );
    found = distinct([...found, ...rows])
      .sort(compare)
      .slice(0, limit);
    i += batch.length;
  }
  return found;
}

/** Finds the pieces that have rows. Each has a position that none of its rows precedes; the pieces are sorted by it. */
async function findHeads(
  db: Db,
  pieces: Piece[],
  span: Span,
): Promise<{ piece: Piece; head: LicensePosition }[]> {
  const heads: { piece: Piece; head: LicensePosition }[] = [];
  for (const batch of chunksOf(pieces, HEAD_BATCH_SIZE)) {
    const bare = batch.map((one) => ({ ...one, rest: [] }));
    for (const { piece: n, ...head } of await read(db, bare, new Map(), { ...span, limit: 1 }))
      heads.push({ piece: batch[n] as Piece, head });
  }
  return heads.sort((a, b) => comparing(span.order)(a.head, b.head));
}

/** A part of an order, after `after` and up to and including `until`. */
interface Span {
  order: LicenseListOrder;
  after?: LicensePosition | undefined;
  until?: LicensePosition | undefined;
}

/** Reads the first rows of each piece, unsorted. */
async function read(
  db: Db,
  pieces: Piece[],
  checks: Map<FilterPart, Condition[]>,
  { order, after, until, limit }: Span & { limit: number },
): Promise<(LicensePosition & { piece: number })[]> {
  const selects = pieces.map((one, n) => {
    const further = remaining(one, checks);
    const where = all([
      ...one.range,
      ...one.rest,
      ...further,
      ...(after === undefined ? [] : [beyond(order, one.id, after, false)]),
      ...(until === undefined ? [] : [beyond(order, one.id, until, true)]),
      ALWAYS,
    ]);
    const by = order === 'soonest' ? 'l.expires_at, l.id' : `${one.id}${order === 'newest' ? ' DESC' : ''}`;
    const end = order === 'soonest' ? 'l.expires_at' : 'NULL';
    const from = order !== 'soonest' && further.length === 0 ? (one.bare ?? one.from) : one.from;
    const sql = `SELECT ${n} AS piece, ${one.id} AS id, ${end} AS expiresAt FROM ${from} WHERE ${where.sql} ORDER BY ${by}`;
    return { sql, bindings: where.bindings, repeats: one.repeats };
  });
  const readAll = (some: typeof selects, most: number) => {
    // SQLite allows no parentheses there, and without them ORDER BY would sort the whole union.
    const before = isSqlite(db) ? 'SELECT * FROM (' : '(';
    const sql = some.map((select) => `${before}${select.sql} LIMIT ${most})`).join(' UNION ALL ');
    const bindings = some.flatMap((select) => select.bindings);
    return rawRows<LicensePosition & { piece: number }>(db, sql, bindings);
  };
  const once = selects.filter(({ repeats }) => !repeats);
  const rows = once.length === 0 ? [] : await readAll(once, limit);
  // A piece with repeated licences may need more rows, so it has a statement of its own.
  for (const one of selects.filter(({ repeats }) => repeats))
    rows.push(...(await eachOnce(limit, true, (most) => readAll([one], most))));
  return rows;
}

const ALWAYS: Condition = { sql: '1 = 1', bindings: [] };

/** Returns the condition for rows after a position in an order, or with `isUntil` up to it. */
function beyond(order: LicenseListOrder, id: string, place: LicensePosition, isUntil: boolean): Condition {
  if (order === 'soonest' && place.expiresAt !== null) {
    const [edge, further] = isUntil ? ['<=', '<'] : ['>=', '>'];
    return {
      sql: `(l.expires_at ${edge} ? AND (l.expires_at ${further} ? OR ${id} ${further}${isUntil ? '=' : ''} ?))`,
      bindings: [place.expiresAt, place.expiresAt, place.id],
    };
  }
  const isDown = (order === 'newest') !== isUntil;
  return { sql: `${id} ${isDown ? '<' : '>'}${isUntil ? '=' : ''} ?`, bindings: [place.id] };
}

function comparing(order: LicenseListOrder): (a: LicensePosition, b: LicensePosition) => number {
  if (order === 'newest') return (a, b) => b.id - a.id;
  if (order === 'oldest') return (a, b) => a.id - b.id;
  return (a, b) => {
    const [end, other] = [a.expiresAt ?? '', b.expiresAt ?? ''];
    return end === other ? a.id - b.id : end < other ? -1 : 1;
  };
}
