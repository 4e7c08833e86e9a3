import { countRepeats, findAccessId, insertAccesses, OMITTED, type Access } from '../store/access-log';
import { MAX_IDENTIFIER_LENGTH, MAX_REFUSED_TEXT_LENGTH, MAX_USER_AGENT_LENGTH } from '../store/columns';
import type { Db } from '../store/database';
import { isUnavailable } from '../store/errors';
import type { LicenseTerms } from '../store/licenses';
import { canonicalKey, hasAboutOwnShape, keyHint, LEAST_KEY, redactKeys } from './keys';
import { createMemory } from './memory';

/** What a handler knows of an access; the key itself goes no further than its hint. */
export interface AccessEntry {
  at: Date;
  endpoint: Access['endpoint'];
  outcome: string;
  key?: string | undefined;
  license?: LicenseTerms | undefined;
  productId?: number | undefined;
  version?: string | undefined;
  identifier?: string | undefined;
  ip: string;
  /** whom limits count: `networkOfClient` */
  client: string;
  userAgent: string;
}

export interface AccessLog {
  /** Takes an entry and returns at once: writing never slows or fails a request. */
  record(entry: AccessEntry): void;
  /** Writes what is waiting; for the end of the process. */
  flush(): Promise<void>;
  /** entries lost since the start: the database was away for longer than the buffer lasts, or refused them */
  dropped(): number;
}

/** Long enough to share a statement, short enough for support to look at once. */
const WRITE_AFTER_MS = 200;
const RETRY_AFTER_MS = 1_000;
const MAX_ROWS = 500;
/** About 10 MB; ten minutes of 30 entries a second. */
const MAX_WAITING = 20_000;

/** Equal accesses of a client are one row for this long after the first. */
const WINDOW_MS = 60 * 60 * 1000;
/** Rows and clients that are remembered for that; about 10 MB. */
const MAX_REMEMBERED = 20_000;
/** New rows that a client may cause in a minute; what comes then is kept without its texts (`bare`). */
const MAX_ROWS_A_MINUTE = 20;
const MINUTE_MS = 60 * 1000;

/** A row that was written or waits to be: its first access, and how many equal ones there were. */
interface Row {
  at: Date;
  access: Access;
  times: number;
  lastAt: Date;
  /** how many of them the database has */
  written: number;
  /** known once the row was counted on */
  id: number | undefined;
}

/**
 * @param onError told of entries that could not be written and are lost
 */
export function createAccessLog(db: Db, onError: (error: unknown, lost: number) => void): AccessLog {
  const rows = createMemory<Row>(MAX_REMEMBERED, WINDOW_MS);
  const budgets = createMemory<{ at: Date; rows: number }>(MAX_REMEMBERED, MINUTE_MS);
  /** rows of which the database does not have everything */
  const waiting = new Set<Row>();
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> | undefined;
  let dropped = 0;

  function schedule(ms: number): void {
    timer ??= setTimeout(() => {
      timer = undefined;
      void write();
    }, ms).unref();
  }

  function write(): Promise<void> {
    writing ??= writeAll().finally(() => (writing = undefined));
    return writing;
  }

  async function writeAll(): Promise<void> {
    while (waiting.size > 0) {
      const added = [...waiting].filter(isNew);
      const batch = (added.length > 0 ? added : [...waiting]).slice(0, MAX_ROWS);
      let times = batch.map((row) => row.times);
      try {
        if (added.length === 0) await findIds(db, batch);
        if (added.length === 0 && batch.some(isNew)) continue;
        // An access that comes during the statement is one for the next.
        times = batch.map((row) => row.times);
        if (added.length > 0) await insertAccesses(db, batch.map(toInsert));
        else await countRepeats(db, batch.map(toRepeats));
      } catch (error) {
        if (isUnavailable(error)) {
          schedule(RETRY_AFTER_MS);
          return;
        }
        const lost = unwritten(batch, times);
        dropped += lost;
        onError(error, lost);
      }
      for (const [i, row] of batch.entries()) {
        row.written = times[i] as number;
        if (row.written === row.times) waiting.delete(row);
      }
    }
  }

  /** Counts an access on the row of an equal one, or gives it one; false when there is no room for it. */
  function keep(client: string, access: Access, isBare = false): boolean {
    const { at } = access;
    const key = JSON.stringify([client, { ...access, at: undefined, ip: undefined }]);
    let row = rows.get(key, at);
    if (row === undefined) {
      const budget = budgets.get(client, at) ?? budgets.set(client, { at, rows: 0 });
      if (!isBare && budget.rows++ >= MAX_ROWS_A_MINUTE) return keep(client, bare(access), true);
      if (waiting.size >= MAX_WAITING) return false;
      row = rows.set(key, { at, access, times: 0, lastAt: at, written: 0, id: undefined });
    }
    row.times++;
    if (at > row.lastAt) row.lastAt = at;
    waiting.add(row);
    return true;
  }

  return {
    record(entry) {
      if (keep(entry.client, toAccess(entry))) schedule(WRITE_AFTER_MS);
      else dropped++;
    },
    async flush() {
      await writing;
      await write();
      clearTimeout(timer);
      const rest = [...waiting];
      const lost = unwritten(
        rest,
        rest.map((row) => row.times),
      );
      if (lost > 0) onError(new Error('The database was away at the end.'), lost);
    },
    dropped: () => dropped,
  };
}

const isNew = (row: Row): boolean => row.written === 0;

/** Finds the rows to count on. One that is gone, lost or pruned, is written anew. */
async function findIds(db: Db, batch: Row[]): Promise<void> {
  for (const row of batch) {
    row.id ??= await findAccessId(db, row.access);
    if (row.id === undefined) [row.times, row.written] = [row.times - row.written, 0];
  }
}

function toInsert({ access, times, lastAt }: Row) {
  return { ...access, times, lastAt: times > 1 ? lastAt : null };
}

function toRepeats({ id, times, written, lastAt }: Row) {
  return { id: id as number, times: times - written, lastAt };
}

/** @param times those of the rows */
function unwritten(batch: Row[], times: number[]): number {
  return batch.reduce((sum, { written }, i) => sum + (times[i] as number) - written, 0);
}

/**
 * What is kept of an access of a client that has had too many different ones: so little that all of them are few rows.
 * Why they were refused is lost with the rest, because without a text most of the reasons would be wrong.
 */
function bare(access: Access): Access {
  const { at, endpoint, outcome, ip } = access;
  if (outcome === 'ok') return { ...access, identifier: null, userAgent: null };
  const nothing = { licenseId: null, keyHint: null, productId: null, version: null };
  return {
    ...{ at, endpoint, outcome: outcome === 'RATE_LIMITED' ? outcome : OMITTED, ip },
    ...{ ...nothing, identifier: null, userAgent: null },
  };
}

function toAccess({ key, license, ...entry }: AccessEntry): Access {
  const text = (sent: string | undefined, length: number) =>
    sent ? cut(redactKeys(withoutKey(sent, key)), refused(length)) : null;
  const refused = (length: number) => (entry.outcome === 'ok' ? length : MAX_REFUSED_TEXT_LENGTH);
  return {
    at: entry.at,
    endpoint: entry.endpoint,
    outcome: entry.outcome,
    licenseId: license?.id ?? null,
    keyHint: hintOf(key, license !== undefined),
    productId: entry.productId ?? null,
    version: text(entry.version, 64),
    identifier: text(entry.identifier, MAX_IDENTIFIER_LENGTH),
    ip: entry.ip,
    userAgent: text(entry.userAgent, MAX_USER_AGENT_LENGTH),
  };
}

/**
 * The end of a key. Of an unknown one that is not of our own shape, a slip apart, nothing is kept: browsers put
 * passwords into key fields.
 */
function hintOf(key: string | undefined, isKnown: boolean): string | null {
  if (key === undefined || !(isKnown || hasAboutOwnShape(key))) return null;
  return keyHint(key);
}

/** Some send the key where the version, the site or the program's name belongs. */
function withoutKey(text: string, key: string | undefined): string {
  if (key === undefined) return text;
  if (canonicalKey(text) === key) return '[key]';
  return key.length >= LEAST_KEY ? text.replaceAll(key, '[key]') : text;
}

/** To what its column holds, and an import takes back; what clients send here is not checked by anybody else. */
function cut(text: string, length: number): string {
  return Array.from(
    text
      .toWellFormed()
      .replaceAll('\0', '\uFFFD')
      .slice(0, 2 * length),
  )
    .slice(0, length)
    .join('');
}
