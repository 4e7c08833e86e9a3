import { findRows } from '../store/import';
import { settingRevision } from '../store/settings';
import { changeRow, insertNew, tally, type ImportJob } from './import-job';
import { keepRemark } from './lines';
import type { Numbered } from './record-reader';
import { fromRow } from './records';

/** Imports settings. They are matched by name, and the file's values win. Reports those that a seller could not set here. */
export async function importSettings(job: ImportJob, all: Numbered<'setting'>[]): Promise<void> {
  const { report, options } = job;
  const records = all.filter(({ line, value: { name, value } }) => {
    const fault = options.settingFault(name, value);
    if (fault === undefined) return true;
    report.leftOutCount++;
    keepRemark(report.leftOut, line, `${name}: ${fault}`);
    return false;
  });
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
