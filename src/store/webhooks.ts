import { databaseIdentity, table, type Db } from './engine/database';
import { fieldsToRow, rowToFields } from './engine/row-fields';
import { afterCommit } from './engine/transaction';

/** A webhook receiver, as stored. */
export interface WebhookRow {
  id: number;
  url: string;
  /** types and patterns such as `license.*`, with spaces between them */
  events: string;
  description: string | null;
  secretSealed: string;
  /** null: the secret was never rotated */
  previousSealed: string | null;
  /** until then the previous secret signs too */
  previousEndsAt: Date | null;
  enabledAt: Date;
  /** null: enabled */
  disabledAt: Date | null;
  /** `operator`, `failing` or `gone`; null: enabled */
  disabledReason: string | null;
  /** licences that ended up to this time have been processed */
  sweptAt: Date;
  createdBy: string;
  createdAt: Date;
}

export async function insertWebhook(db: Db, row: Omit<WebhookRow, 'id'>): Promise<number> {
  const [id] = await db(table(db, 'webhooks')).insert(fieldsToRow(row));
  forgetOnCommit(db);
  return id as number;
}

export async function findWebhook(db: Db, id: number): Promise<WebhookRow | undefined> {
  const row = await db(table(db, 'webhooks')).where({ id }).first();
  return row && rowToFields(row);
}

/** Lists receivers by id. */
export async function listWebhooks(
  db: Db,
  { after = 0, limit }: { after?: number | undefined; limit?: number | undefined } = {},
): Promise<WebhookRow[]> {
  const query = db(table(db, 'webhooks')).where('id', '>', after).orderBy('id');
  if (limit !== undefined) query.limit(limit);
  return (await query).map(rowToFields);
}

/** Changes a receiver. @param seen columns that must be unchanged @returns false if no such row exists now */
export async function setWebhook(
  db: Db,
  id: number,
  changes: Partial<Omit<WebhookRow, 'id'>>,
  seen: Partial<Omit<WebhookRow, 'id'>> = {},
): Promise<boolean> {
  const rows = db(table(db, 'webhooks')).where({ id });
  for (const [column, value] of Object.entries(fieldsToRow(seen)))
    if (value === null) rows.whereNull(column);
    else rows.where(column, value);
  const isChanged = (await rows.update(fieldsToRow(changes))) === 1;
  forgetOnCommit(db);
  return isChanged;
}

/** @returns false if the receiver does not exist */
export async function deleteWebhook(db: Db, id: number): Promise<boolean> {
  const isDeleted = (await db(table(db, 'webhooks')).where({ id }).delete()) === 1;
  forgetOnCommit(db);
  return isDeleted;
}

/** A receiver and the events that it subscribes to. */
export interface Subscriber {
  id: number;
  events: string[];
  /** while it is disabled, its deliveries wait */
  isEnabled: boolean;
}

/** The time for which a change by another process may go unnoticed. */
export const SUBSCRIBER_CACHE_MS = 2_000;

const remembered = new WeakMap<object, { subscribers: Subscriber[]; until: number }>();

/**
 * Lists the receivers, cached for two seconds, because the transaction of each change asks for them. A running service
 * asks beforehand (`isFresh`), so that its transactions find them in memory.
 */
export async function listSubscribers(db: Db, { isFresh = false } = {}): Promise<Subscriber[]> {
  const known = remembered.get(databaseIdentity(db));
  if (known !== undefined && !isFresh && performance.now() < known.until) return known.subscribers;
  const until = performance.now() + SUBSCRIBER_CACHE_MS;
  const subscribers = (await listWebhooks(db)).map(({ id, events, disabledAt }) => {
    return { id, events: events.split(' '), isEnabled: disabledAt === null };
  });
  remembered.set(databaseIdentity(db), { subscribers, until });
  return subscribers;
}

/** Clears the cache now and on commit, so that this process sees its own change at once. */
function forgetOnCommit(db: Db): void {
  const forget = () => void remembered.delete(databaseIdentity(db));
  forget();
  afterCommit(db, forget);
}
