import { findRows } from '../store/import';
import { settingRevision } from '../store/settings';
import { changeRow, insertNew, tally, type Job } from './import-job';
import type { Numbered } from './record-reader';
import { fromRow } from './records';

/** Settings are matched by name, and come from the file. The mail server is in no file, and stays as it is. */
export async function importSettings(job: Job, records: Numbered<'setting'>[]): Promise<void> {
  const names = records.map(({ value }) => value.name);
  const here = new Map((await findRows(job.trx, 'settings', 'name', names)).map((row) => [row.name, row]));
  const added: Numbered<'setting'>[] = [];
  for (const record of records) {
    const { name, value } = record.value;
    const row = here.get(name);
    if (row === undefined) added.push(record);
    else if (row.value === value) tally(job, 'setting', 'same');
    else {
      const changes = { value, value_sealed: null, revision: settingRevision(value) };
      await changeRow(job, 'setting', fromRow('setting', row).id, changes);
    }
  }
  await insertNew(job, 'setting', added, (record) => ({ revision: settingRevision(record.value.value) }));
}
