import { table, type Db, type Transaction } from './database';
import { insertRows } from './statements';
import { fromSqlTime, toSqlTime } from './time';

/** One change of a licence: who, when, what, and the changed fields before and after. */
export interface LicenseEvent {
  licenseId: number;
  at: Date;
  /** `operator:<login name>` or `customer:<address>` */
  actor: string;
  action: string;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
}

interface EventRow {
  license_id: number;
  at: string;
  actor: string;
  action: string;
  before_json: string | null;
  after_json: string | null;
}

export async function insertEvents(trx: Transaction, events: LicenseEvent[]): Promise<void> {
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
    })),
  );
}

/** A licence's history, oldest first. */
export async function listEvents(db: Db, licenseId: number): Promise<LicenseEvent[]> {
  const rows = (await db(table(db, 'events')).where({ license_id: licenseId }).orderBy('id')) as EventRow[];
  return rows.map(toEvent);
}

/**
 * Changes of some kinds, the newest first: of one licence, or those before which a field had some value.
 */
export async function findEvents(
  db: Db,
  actions: string[],
  by: { licenseId: number } | { field: string; before: string },
  limit: number,
): Promise<LicenseEvent[]> {
  const query = db(table(db, 'events')).whereIn('action', actions).orderBy('id', 'desc').limit(limit);
  if ('licenseId' in by)
    return ((await query.where({ license_id: by.licenseId })) as EventRow[]).map(toEvent);
  const json = JSON.stringify({ [by.field]: by.before }).slice(1, -1);
  query.whereRaw(`before_json LIKE ? ESCAPE '!'`, [`%${json.replace(/[!%_]/g, '!$&')}%`]);
  // SQLite's LIKE does not mind the case.
  return ((await query) as EventRow[]).map(toEvent).filter(({ before }) => before?.[by.field] === by.before);
}

function toEvent(row: EventRow): LicenseEvent {
  return {
    licenseId: row.license_id,
    at: fromSqlTime(row.at),
    actor: row.actor,
    action: row.action,
    before: parse(row.before_json),
    after: parse(row.after_json),
  };
}

function parse(json: string | null): Record<string, unknown> | null {
  return json === null ? null : (JSON.parse(json) as Record<string, unknown>);
}
