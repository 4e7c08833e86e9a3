import { table, type Db, type Transaction } from './engine/database';
import { rowToFields, type RowOf } from './engine/row-fields';
import {
  forceIndex,
  insertRows,
  licenseIndex,
  orderedJoin,
  placeholders,
  rawRows,
  tableBy,
} from './engine/statements';
import { toSqlTime } from './engine/time';

/** The actions on a licence, as its history (the audit log) and exports name them. */
export type EventAction =
  | 'issue'
  | 'import'
  | 'suspend'
  | 'reinstate'
  | 'revoke'
  | 'cancel'
  | 'renew'
  | 'set-end'
  | 'set-limit'
  | 'change-plan'
  | 'set-customer'
  | 'set-metadata'
  | 'erase-customer'
  | 'add-key'
  | 'edit-key'
  | 'end-key'
  | 'rekey'
  | 'reveal'
  | 'answer'
  | 'notify'
  | 'activate'
  | 'rename-activation'
  | 'free-activation'
  | 'hold-activation'
  | 'deactivate'
  | 'repair'
  | 'payment-failed';

export interface LicenseEvent {
  licenseId: number;
  at: Date;
  /** `operator:<login name>` or `customer:<address>` */
  actor: string;
  action: EventAction;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
}

export interface RecordedEvent extends LicenseEvent {
  id: number;
  /** the number of changes that the row stands for (licensing/client-history.ts) */
  times: number;
  /** time of the latest change; null: only one change */
  lastAt: Date | null;
}

/** Inserts events. In this transaction, the caller raises the revision by one for each (store/licenses/licenses.ts). */
export async function insertEvents(
  trx: Transaction,
  events: (LicenseEvent & Partial<Pick<RecordedEvent, 'times' | 'lastAt'>>)[],
): Promise<void> {
  await insertRows(
    trx,
    'events',
    events.map((event) => ({
      license_id: event.licenseId,
      at: toSqlTime(event.at),
      actor: event.actor,
      action: event.action,
      before_json: event.before && JSON.stringify(event.before),
      after_json: event.after && JSON.stringify(event.after),
      times: event.times ?? 1,
      last_at: event.lastAt ? toSqlTime(event.lastAt) : null,
    })),
  );
}

/** Finds events of one kind by the time of their first change, newest first. */
export async function findEventsAt(
  trx: Transaction,
  { licenseId, at, actor, action }: Pick<LicenseEvent, 'licenseId' | 'at' | 'actor' | 'action'>,
): Promise<RecordedEvent[]> {
  const rows = await trx(tableBy(trx, 'events', ...licenseIndex('events')))
    .where({ license_id: licenseId, at: toSqlTime(at), actor, action })
    .orderBy('id', 'desc');
  return rows.map(toEvent);
}

/** Adds further changes to an event; its `after` becomes that of the latest. */
export async function repeatEvent(
  trx: Transaction,
  id: number,
  { times, lastAt, after }: Pick<RecordedEvent, 'times' | 'lastAt' | 'after'>,
): Promise<void> {
  await trx(table(trx, 'events'))
    .where({ id })
    .increment('times', times)
    .increment('unsummed', times)
    .update({ last_at: lastAt && toSqlTime(lastAt), after_json: after && JSON.stringify(after) });
}

/** The position after which a list sorted by time continues. */
export interface TimePlace {
  at: string;
  id: number;
}

/** Lists a licence's events, newest first: by time, then id, as in the index, so that only the needed part is read. */
export async function listLatestEvents(
  db: Db,
  licenseId: number,
  { after, limit }: { after?: TimePlace | undefined; limit: number },
): Promise<RecordedEvent[]> {
  const query = db(tableBy(db, 'events', ...licenseIndex('events')))
    .where({ license_id: licenseId })
    .orderBy([
      { column: 'at', order: 'desc' },
      { column: 'id', order: 'desc' },
    ])
    .limit(limit);
  if (after !== undefined)
    query.where('at', '<=', after.at).whereRaw('(at < ? OR id < ?)', [after.at, after.id]);
  return (await query).map(toEvent);
}

/** Finds the times of events by one actor with one action since a time, with their `before`, newest first, by licence id. */
export async function findEventsSince(
  db: Db,
  licenseIds: number[],
  { actor, action, since }: Pick<LicenseEvent, 'actor' | 'action'> & { since: Date },
): Promise<Map<number, Pick<RecordedEvent, 'at' | 'before'>[]>> {
  const found = new Map<number, Pick<RecordedEvent, 'at' | 'before'>[]>();
  if (licenseIds.length === 0) return found;
  const rows = await db(tableBy(db, 'events', ...licenseIndex('events')))
    .whereIn('license_id', licenseIds)
    .where('at', '>', toSqlTime(since))
    .where({ actor, action })
    .orderBy([
      { column: 'at', order: 'desc' },
      { column: 'id', order: 'desc' },
    ]);
  for (const { licenseId, at, before } of rows.map(toEvent))
    found.set(licenseId, [...(found.get(licenseId) ?? []), { at, before }]);
  return found;
}

/** Returns the position of one of a licence's events in its list. */
export async function findEventPlace(db: Db, licenseId: number, id: number): Promise<TimePlace | undefined> {
  const [at] = await db(table(db, 'events')).where({ id, license_id: licenseId }).pluck('at');
  return at === undefined ? undefined : { at, id };
}

/** The number of latest changes of a licence that are searched for data that is only displayed. */
const LATEST_CHANGES = 2_000;

/**
 * Finds events with certain actions, newest first: among the latest changes of one licence, or among all with
 * `isWhole`, if a decision depends on them. With `field`, it reads all events for a certain value before the change.
 */
export async function findEvents(
  db: Db,
  actions: EventAction[],
  by: { licenseId: number; isWhole?: true } | { field: string; before: string },
  limit: number,
): Promise<RecordedEvent[]> {
  if ('licenseId' in by) {
    // The ids are read first, because whole rows would make a large temporary table.
    const rows = await rawRows<RowOf<StoredEvent>>(
      db,
      `SELECT e.* FROM (
         SELECT id, action FROM ${table(db, 'events')}${forceIndex(db, 'events', ...licenseIndex('events'))}
          WHERE license_id = ? ${by.isWhole ? '' : `ORDER BY at DESC, id DESC LIMIT ${LATEST_CHANGES}`}) latest
         ${orderedJoin(db)} ${table(db, 'events')} e${forceIndex(db, 'events')} ON e.id = latest.id
        WHERE latest.action IN (${placeholders(actions.length)}) ORDER BY latest.id DESC LIMIT ${limit}`,
      [by.licenseId, ...actions],
    );
    return rows.map(toEvent);
  }
  const json = JSON.stringify({ [by.field]: by.before }).slice(1, -1);
  const rows = await db(table(db, 'events'))
    .whereIn('action', actions)
    .whereRaw(`before_json LIKE ? ESCAPE '!'`, [`%${json.replace(/[!%_]/g, '!$&')}%`])
    .orderBy('id', 'desc')
    .limit(limit);
  // SQLite's LIKE ignores case.
  return rows.map(toEvent).filter(({ before }) => before?.[by.field] === by.before);
}

function toEvent(row: RowOf<StoredEvent>): RecordedEvent {
  const { beforeJson, afterJson, ...event } = rowToFields(row);
  return { ...event, before: parseEventJson(beforeJson), after: parseEventJson(afterJson) };
}

export type StoredEvent = Omit<RecordedEvent, 'before' | 'after'> & {
  beforeJson: string | null;
  afterJson: string | null;
};

export function parseEventJson(json: string | null): Record<string, unknown> | null {
  return json === null ? null : (JSON.parse(json) as Record<string, unknown>);
}
