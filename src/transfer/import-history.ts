import type { Row } from '../store/export';
import { findEventRows, findRows } from '../store/import';
import { recordDownloads } from '../store/licenses/license-downloads';
import { recordRefusals } from '../store/refusals';
import { rowToFields, type RowOf } from '../store/engine/row-fields';
import { lastSeenAt, type LoggedAccess } from '../store/access-log';
import { insertNew, localKeyId, localLicenseId, DRY_RUN_ID, tally, type ImportJob } from './import-job';
import type { Numbered } from './record-reader';
import { fromRow, toRow, type RecordOf } from './records';

/** Imports events. They have no key, so equal events are counted, and inserted up to the file's count. */
export async function importEvents(job: ImportJob, records: Numbered<'event'>[]): Promise<void> {
  await importCounted(job, 'event', records, {
    keyIds: ({ value }) => [value.before, value.after].flatMap((one) => keyIdsOf(one).map(([, id]) => id)),
    toRow: ({ line, value }) => ({
      ...toRow('event', {
        ...value,
        before: withPlanHere(job, withKeysHere(job, value.before)),
        after: withPlanHere(job, withOrderHere(job, withKeysHere(job, value.after))),
      }),
      license_id: localLicenseId(job, line, value.license_id),
    }),
    find: (rows) => {
      const ids = [...new Set(rows.map((row) => row.license_id as number))].filter((id) => id !== DRY_RUN_ID);
      return findEventRows(job.trx, ids, [...new Set(rows.map((row) => row.at as string))]);
    },
  });
}

type Json = RecordOf<'event'>['before'];

/** Returns the fields of an event that contain a key's id. */
function keyIdsOf(json: Json): [field: string, id: number][] {
  return ['key_id', 'main_key_id'].flatMap((field): [string, number][] => {
    const id = json?.[field];
    return typeof id === 'number' ? [[field, id]] : [];
  });
}

function withKeysHere(job: ImportJob, json: Json): Json {
  const named = keyIdsOf(json).map(([field, id]) => [field, job.keys.get(id) ?? id] as const);
  return named.length === 0 ? json : { ...json, ...Object.fromEntries(named) };
}

/** Replaces the id of the shop's order that caused an event with its id here. */
function withOrderHere(job: ImportJob, json: Json): Json {
  const here = typeof json?.order === 'number' ? job.orders.get(json.order) : undefined;
  return here === undefined ? json : { ...json, order: here };
}

/** Replaces a plan's id with its id here, by which the ends of its licences are counted. */
function withPlanHere(job: ImportJob, json: Json): Json {
  const here = typeof json?.plan_id === 'number' ? job.plans.get(json.plan_id)?.id : undefined;
  return here === undefined ? json : { ...json, plan_id: here };
}

/** Imports access records, which are counted like events. */
export async function importAccesses(job: ImportJob, records: Numbered<'access'>[]): Promise<void> {
  await importCounted(job, 'access', records, {
    keyIds: ({ value }) => (value.key_id === null ? [] : [value.key_id]),
    toRow: ({ line, value }) => ({
      ...toRow('access', value),
      license_id: value.license_id === null ? null : localLicenseId(job, line, value.license_id),
      key_id: value.key_id === null ? null : localKeyId(job, line, value.key_id),
    }),
    find: (rows) => findRows(job.trx, 'access_log', 'at', [...new Set(rows.map((row) => row.at as string))]),
    async added(rows) {
      const accesses = rows
        .map((row) => rowToFields(row as unknown as RowOf<LoggedAccess>))
        .map((one) => ({ ...one, at: lastSeenAt(one) }));
      await recordRefusals(job.trx, accesses);
      await recordDownloads(job.trx, accesses);
    },
  });
}

interface Counting<T extends 'event' | 'access'> {
  /** Returns the ids in the file of the keys that a record contains */
  keyIds: (record: Numbered<T>) => number[];
  toRow: (record: Numbered<T>) => Row;
  /** Finds the rows that may be equal to these */
  find: (rows: Row[]) => Promise<Row[]>;
  /** Receives the rows that were inserted */
  added?: (rows: Row[]) => Promise<void>;
}

async function importCounted<T extends 'event' | 'access'>(
  job: ImportJob,
  type: T,
  records: Numbered<T>[],
  { keyIds, toRow: toRowHere, find, added: afterwards }: Counting<T>,
): Promise<void> {
  const count = async (entries: { record: Numbered<T>; row: Row }[]) => {
    const found = job.empty[type] ? [] : await find(entries.map(({ row }) => row));
    const here = new Map<string, number>();
    for (const row of found) {
      const content = contentOf(toRow(type, fromRow(type, row)));
      here.set(content, (here.get(content) ?? 0) + 1);
    }
    const added = entries.filter(({ row }) => {
      const content = contentOf(row);
      const left = here.get(content) ?? 0;
      here.set(content, left - 1);
      return left <= 0;
    });
    tally(job, type, 'same', entries.length - added.length);
    const rows = new Map(added.map(({ record, row }) => [record, row]));
    await insertNew(job, type, [...rows.keys()], (record) => rows.get(record) as Row);
    if (job.writes) await afterwards?.([...rows.values()]);
  };
  const read = () => records.map((record) => ({ record, row: toRowHere(record) }));
  const entries = read();
  // New keys of existing licences are inserted last. Equal records are counted together, so the whole batch waits for them.
  const waits = records.some((record) => keyIds(record).some((id) => job.keys.get(id) === DRY_RUN_ID));
  if (waits && job.writes) job.last.push(() => count(read()));
  else await count(entries);
}

/** Returns a row's content without the columns that change when a later equal record is counted on the row. */
function contentOf({ id: _id, times: _times, last_at: _lastAt, after_json: _after, ...row }: Row): string {
  return JSON.stringify(row);
}
