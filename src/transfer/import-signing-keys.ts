import { formatTimestamp } from '../base/days';
import { isSealedWith } from '../licensing/sealing';
import type { Row } from '../store/export';
import { deleteRow, findRows } from '../store/import';
import { changeRow, conflict, hasChanges, insertNew, tally, type ImportJob } from './import-job';
import { atLine, type Numbered } from './record-reader';
import { fromRow, toRow, type RecordOf } from './records';

type KeyRecord = RecordOf<'signing_key'>;

/**
 * Imports signing keys. They are matched by their kid. If two keys have the same kid, the file's key replaces a key
 * here that has never signed: `init` made it before the former installation was imported. The older key signs, so that
 * customers' software continues to accept signatures.
 */
export async function importSigningKeys(job: ImportJob, records: Numbered<'signing_key'>[]): Promise<void> {
  for (const { line, value } of records) checkKey(job, line, value);
  const kids = records.map(({ value }) => value.kid);
  const here = new Map(
    (await findRows(job.trx, 'signing_keys', 'kid', kids)).map((row) => [
      row.kid as string,
      fromRow('signing_key', row),
    ]),
  );
  const added: Numbered<'signing_key'>[] = [];
  for (const record of records) {
    const { line, value } = record;
    const match = here.get(value.kid);
    if (match?.x === value.x) await mergeKey(job, match, value);
    else if (match !== undefined && match.token_days > 0)
      conflict(
        job,
        'signing_key',
        line,
        `signing key ${value.kid} here is a different key, and has already signed`,
      );
    else {
      if (match !== undefined && job.writes) await deleteRow(job.trx, 'signing_keys', match.id);
      added.push(record);
    }
  }
  await insertNew(job, 'signing_key', added);
}

function checkKey(job: ImportJob, line: number, value: KeyRecord): void {
  if (job.signingKeys.has(value.kid)) throw atLine(line, `signing key ${value.kid} appears twice`);
  job.signingKeys.add(value.kid);
  const { secret, withoutSealedKeys, now, actor } = job.options;
  if (withoutSealedKeys) {
    value.sealed = null;
    // The key can no longer sign, but its earlier signatures remain valid.
    if (value.retired_at === null)
      Object.assign(value, { retired_at: formatTimestamp(now), retired_by: actor });
  } else if (value.sealed !== null && secret !== undefined && !isSealedWith(value.sealed, secret))
    throw atLine(line, 'this signing key is sealed with another LICENSING_KEY_SECRET than the one set here', {
      reason: 'sealed-elsewhere',
    });
}

/** Merges a key that exists in both places. If it is retired or compromised in one of them, the merged key is too. */
async function mergeKey(job: ImportJob, here: KeyRecord, there: KeyRecord): Promise<void> {
  const merged: KeyRecord = {
    ...here,
    sealed: here.sealed ?? there.sealed,
    token_days: Math.max(here.token_days, there.token_days),
    ...(here.retired_at === null && { retired_at: there.retired_at, retired_by: there.retired_by }),
    compromised: here.compromised || there.compromised,
  };
  const [before, after] = [toRow('signing_key', here), toRow('signing_key', merged)];
  const changes: Row = Object.fromEntries(
    Object.entries(after).filter(([column, value]) => value !== before[column]),
  );
  if (hasChanges(changes)) await changeRow(job, 'signing_key', here.id, changes);
  else tally(job, 'signing_key', 'same');
}
