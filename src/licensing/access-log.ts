import { MINUTE_MS } from '../base/days';
import { countRepeats, findAccessId, insertAccesses, OMITTED, type Access } from '../store/access-log';
import { MAX_IDENTIFIER_LENGTH, MAX_REFUSED_TEXT_LENGTH, MAX_USER_AGENT_LENGTH } from './core/columns';
import type { Db } from '../store/engine/database';
import { isUnavailable } from '../store/engine/errors';
import type { LicenseTerms } from '../store/licenses/licenses';
import { recordRefusals } from '../store/refusals';
import { normalizeIdentifier } from './core/identifiers';
import { isAlmostNativeKey, keyHint, redactKeys, redactKey } from './core/keys';
import { createTtlMap } from './core/ttl-map';
import { isVersion } from './versions';

/** An access as a handler reports it; only the hint of its key is stored. */
export interface ReportedAccess {
  at: Date;
  endpoint: Access['endpoint'];
  outcome: string;
  key?: string | undefined;
  /** the end of the licence's key if the key itself is not known */
  keyHint?: string | null | undefined;
  license?: LicenseTerms | undefined;
  /** the id of the licence's key that the request used */
  keyId?: number | undefined;
  productId?: number | undefined;
  version?: string | undefined;
  identifier?: string | undefined;
  ip: string;
  /** the network that rate limits count as one client: `networkOfClient` */
  client: string;
  userAgent: string;
  /** as the client sent it: the site that it reports, and the version installed there */
  site?: string | undefined;
  installedVersion?: string | undefined;
}

export interface AccessLog {
  /** Queues an entry and returns at once: writing never slows or fails a request. */
  record(entry: ReportedAccess): void;
  /** Writes the queue; for the end of the process. */
  flush(): Promise<void>;
  /** entries lost since the start: the database was unavailable until the queue was full, or it refused them */
  dropped(): number;
}

/** The delay of a write: entries share a statement, and support still sees an access at once. */
const WRITE_AFTER_MS = 200;
const RETRY_AFTER_MS = 1_000;
const MAX_ROWS = 500;
/** The maximum number of queued entries: about 10 MB, and ten minutes of 30 entries a second. */
const MAX_WAITING = 20_000;

/** Equal accesses of a client share a row for this long after the first, but not beyond its day, for the daily sums. */
const WINDOW_MS = 60 * 60 * 1000;
const DAY_MS = 24 * WINDOW_MS;
/** The maximum number of rows, and of clients, that a process remembers; about 10 MB. */
const MAX_REMEMBERED = 20_000;
/** The maximum number of new rows of a client in a minute; further accesses are stored without their texts (`bare`). */
const MAX_ROWS_A_MINUTE = 20;

/** A row, written or queued: its first access, and the number of equal ones. */
interface Row {
  at: Date;
  access: Access;
  times: number;
  lastAt: Date;
  /** the part of `times` that is in the database */
  written: number;
  /** looked up when the row is first repeated */
  id: number | undefined;
}

/**
 * @param onError called for entries that are lost because they could not be written
 * @param announce called with written accesses, at least once; if it fails, no entry is lost
 */
export function createAccessLog(
  db: Db,
  onError: (error: unknown, lost: number) => void,
  announce: (accesses: Access[]) => Promise<void> = () => Promise.resolve(),
): AccessLog {
  const rows = createTtlMap<Row>(MAX_REMEMBERED, WINDOW_MS);
  const budgets = createTtlMap<{ at: Date; rows: number }>(MAX_REMEMBERED, MINUTE_MS);
  /** rows not yet fully in the database */
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
        // Record and announce the accesses before they are inserted, because both may be repeated.
        const accesses = batch.map(({ access, lastAt }) =>
          lastAt === access.at ? access : { ...access, at: lastAt },
        );
        await recordRefusals(db, accesses);
        await announce(accesses).catch((error: unknown) => {
          if (isUnavailable(error)) throw error;
        });
        // Accesses that arrive during the statement are left for the next one.
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

  /** Counts an access on the row of an equal one, or on a new row. Returns false if the queue is full. */
  function keep(client: string, access: Access, isBare = false): boolean {
    const { at } = access;
    const key = nameOf(client, access);
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
      if (lost > 0) onError(new Error('The database was not available at shutdown.'), lost);
    },
    dropped: () => dropped,
  };
}

/** Returns one text for equal accesses of a client on a day. No field contains U+0000 (`cut`). */
function nameOf(client: string, { at, ip: _ip, ...access }: Access): string {
  return [client, Math.floor(at.getTime() / DAY_MS), ...Object.values(access)].join('\0');
}

const isNew = (row: Row): boolean => row.written === 0;

/** Finds the ids of rows to count on. A row that was lost or pruned is inserted again. */
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

/** @param times the counts of the rows when they were sent to the database */
function unwritten(batch: Row[], times: number[]): number {
  return batch.reduce((sum, { written }, i) => sum + (times[i] as number) - written, 0);
}

/** Removes so much that rows are shared. It has no code: without the texts, most explanations of it would be wrong. */
function bare(access: Access): Access {
  const { at, endpoint, outcome, ip } = access;
  const untold = { identifier: null, userAgent: null, site: null, installedVersion: null };
  if (outcome === 'ok') return { ...access, ...untold };
  const nothing = { licenseId: null, keyId: null, keyHint: null, productId: null, version: null };
  return { ...nothing, ...untold, at, endpoint, outcome: outcome === 'RATE_LIMITED' ? outcome : OMITTED, ip };
}

/** The length of a site's address with its path. */
const MAX_TOLD_LENGTH = 1_000;

function toAccess({ key, license, ...entry }: ReportedAccess): Access {
  // Some clients send the key as the version, the site or the User-Agent.
  const redacted = (sent: string) => redactKeys(key === undefined ? sent : redactKey(sent, key));
  const text = (sent: string | undefined, length: number) =>
    sent ? cut(redacted(sent), refused(length)) : null;
  const refused = (length: number) => (entry.outcome === 'ok' ? length : MAX_REFUSED_TEXT_LENGTH);
  // Accepts only a whole, well-formed site or version. A text with a key is refused: its start may look like a site.
  const told = (sent: string | undefined, read: (text: string) => string | undefined): string | null => {
    if (sent === undefined || sent.length > MAX_TOLD_LENGTH) return null;
    if (redacted(sent) !== sent) return null;
    const value = read(sent.trim());
    return value === undefined || value.length > refused(value.length) ? null : value;
  };
  return {
    at: entry.at,
    endpoint: entry.endpoint,
    outcome: entry.outcome,
    licenseId: license?.id ?? null,
    keyId: entry.keyId ?? null,
    keyHint: hintOf(key, license !== undefined) ?? entry.keyHint ?? null,
    productId: entry.productId ?? null,
    version: text(entry.version, 64),
    identifier: text(entry.identifier, MAX_IDENTIFIER_LENGTH),
    ip: entry.ip,
    userAgent: text(entry.userAgent, MAX_USER_AGENT_LENGTH),
    site: told(entry.site, (site) => normalizeIdentifier('domain', site)),
    installedVersion: told(entry.installedVersion, (version) => (isVersion(version) ? version : undefined)),
  };
}

/** Returns no hint of an unknown key unless it nearly has our format: browsers put passwords into key fields. */
function hintOf(key: string | undefined, isKnown: boolean): string | null {
  if (key === undefined || !(isKnown || isAlmostNativeKey(key))) return null;
  return keyHint(key);
}

/** Cuts a client's text to what its column and an import accept; nothing else checks it. */
function cut(text: string, length: number): string {
  const storable = text.toWellFormed().replaceAll('\0', '\uFFFD');
  // Nearly every text is short enough in UTF-16 units, which are never fewer than its characters.
  if (storable.length <= length) return storable;
  return Array.from(storable.slice(0, 2 * length))
    .slice(0, length)
    .join('');
}
