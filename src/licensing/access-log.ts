import { insertAccesses, type Access } from '../store/access-log';
import { MAX_IDENTIFIER_LENGTH, MAX_USER_AGENT_LENGTH } from '../store/columns';
import type { Db } from '../store/database';
import { isUnavailable } from '../store/errors';
import type { LicenseTerms } from '../store/licenses';
import { keyHint, LEAST_KEY, redactKeys } from './keys';

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

/**
 * @param onError told of entries that could not be written and are lost
 */
export function createAccessLog(db: Db, onError: (error: unknown, lost: number) => void): AccessLog {
  let waiting: Access[] = [];
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
    while (waiting.length > 0) {
      const batch = waiting.slice(0, MAX_ROWS);
      try {
        await insertAccesses(db, batch);
      } catch (error) {
        if (isUnavailable(error)) {
          schedule(RETRY_AFTER_MS);
          return;
        }
        dropped += batch.length;
        onError(error, batch.length);
      }
      waiting = waiting.slice(batch.length);
    }
  }

  return {
    record(entry) {
      if (waiting.length >= MAX_WAITING) dropped++;
      else {
        waiting.push(toAccess(entry));
        schedule(WRITE_AFTER_MS);
      }
    },
    async flush() {
      await writing;
      await write();
      clearTimeout(timer);
      if (waiting.length > 0) onError(new Error('The database was away at the end.'), waiting.length);
    },
    dropped: () => dropped,
  };
}

function toAccess({ key, license, ...entry }: AccessEntry): Access {
  const text = (sent: string | undefined, length: number) =>
    sent ? cut(redactKeys(withoutKey(sent, key)), length) : null;
  return {
    at: entry.at,
    endpoint: entry.endpoint,
    outcome: entry.outcome,
    licenseId: license?.id ?? null,
    keyHint: hintOf(key),
    productId: entry.productId ?? null,
    version: text(entry.version, 64),
    identifier: text(entry.identifier, MAX_IDENTIFIER_LENGTH),
    ip: entry.ip,
    userAgent: text(entry.userAgent, MAX_USER_AGENT_LENGTH),
  };
}

/** Of a key as it was sent, which may hold what no key does. */
function hintOf(key: string | undefined): string | null {
  const hint = key === undefined ? null : keyHint(key);
  return hint === null ? null : cut(hint, 16);
}

/** Some send the key where the version, the site or the program's name belongs. */
function withoutKey(text: string, key: string | undefined): string {
  return key !== undefined && key.length >= LEAST_KEY ? text.replaceAll(key, '[key]') : text;
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
