import type { Row } from '../store/export';
import { findEventRows, findRows } from '../store/import';
import { insertNew, licenseHere, NOT_WRITTEN, tally, type Job } from './import-job';
import type { Numbered } from './record-reader';
import { fromRow, toRow } from './records';

/** Events have no key. Equal events are counted, and missing ones are added up to the file's count. */
export async function importEvents(job: Job, records: Numbered<'event'>[]): Promise<void> {
  await importCounted(
    job,
    'event',
    records.map((record) => {
      const license_id = licenseHere(job, record.line, record.value.license_id);
      return { record, row: { ...toRow('event', record.value), license_id } };
    }),
    (rows) => {
      const ids = [...new Set(rows.map((row) => row.license_id as number))].filter(
        (id) => id !== NOT_WRITTEN,
      );
      return findEventRows(job.trx, ids, [...new Set(rows.map((row) => row.at as string))]);
    },
  );
}

/** Counted like events. */
export async function importAccesses(job: Job, records: Numbered<'access'>[]): Promise<void> {
  await importCounted(
    job,
    'access',
    records.map((record) => {
      const { license_id: id } = record.value;
      const license_id = id === null ? null : licenseHere(job, record.line, id);
      return { record, row: { ...toRow('access', record.value), license_id } };
    }),
    (rows) => findRows(job.trx, 'access_log', 'at', [...new Set(rows.map((row) => row.at as string))]),
  );
}

async function importCounted<T extends 'event' | 'access'>(
  job: Job,
  type: T,
  entries: { record: Numbered<T>; row: Row }[],
  find: (rows: Row[]) => Promise<Row[]>,
): Promise<void> {
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
}

/** Leaves out the columns that change when a later equal record is counted on the row. */
function contentOf({ id: _id, times: _times, last_at: _lastAt, after_json: _after, ...row }: Row): string {
  return JSON.stringify(row);
}
