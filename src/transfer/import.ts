import { OperatorError } from '../licensing/operator-error';
import type { Db, Transaction } from '../store/engine/database';
import { isDuplicate } from '../store/engine/errors';
import { recountMoney } from '../store/orders/money';
import { refreshWords } from '../store/search-words';
import { importBundles, importPlans, importProducts, importReleases, importSboms } from './import-catalogue';
import { importAccesses, importEvents } from './import-history';
import { startJob, type ImportOptions, type ImportReport, type ImportJob } from './import-job';
import { importActivations, importLicenses } from './import-licenses';
import { importSigningKeys } from './import-signing-keys';
import { importCustomers, importOrders, importShopLinks, importShops, importSkus } from './import-orders';
import { importSettings } from './import-settings';
import { describeRemarks } from './lines';
import { readRecords, type AnyBatch } from './record-reader';
import { inReadCommitted, inSnapshot } from '../store/engine/transaction';

/**
 * Imports an export file in one transaction (docs/import.md). @returns the changes, or in a `dryRun` the possible
 * changes and conflicts @throws OperatorError when the file or a record is refused; nothing has changed then
 */
export function importRecords(
  db: Db,
  source: AsyncIterable<Buffer>,
  options: ImportOptions,
): Promise<ImportReport> {
  const work = async (trx: Transaction) => {
    const job = await startJob(trx, options);
    for await (const batch of readRecords(source)) {
      if (batch.type !== 'product') await importBundles(job);
      await importBatch(job, batch);
      const { new: added, same, changed, conflicting } = job.report.records[batch.type];
      options.onProgress?.(batch.type, added + same + changed + conflicting);
    }
    await importBundles(job);
    if (job.writes) for (const work of job.last) await explainDuplicates(work, 'The file');
    if (job.writes && job.report.records.order.new > 0) await recountMoney(trx);
    if (job.writes) await refreshWords(trx, [...job.licenses.values()]);
    if (job.report.conflicting > 0 && !options.dryRun) throw refusal(job.report);
    return job.report;
  };
  return options.dryRun ? inSnapshot(db, work) : inReadCommitted(db, work, { isOnce: !options.readsAgain });
}

function refusal({ conflicts, conflicting }: ImportReport): OperatorError {
  return new OperatorError(
    `Nothing was imported: ${conflicting === 1 ? 'one record of the file conflicts' : `${conflicting} records of the file conflict`} with this database.\n${describeRemarks(conflicts, conflicting)}`,
    { code: 'CONFLICT' },
  );
}

function importBatch(job: ImportJob, batch: AnyBatch): Promise<void> {
  const [first, last] = [batch.records[0]?.line ?? 0, batch.records.at(-1)?.line ?? 0];
  return explainDuplicates(() => importRecordsOf(job, batch), `Lines ${first} to ${last}`);
}

async function importRecordsOf(job: ImportJob, batch: AnyBatch): Promise<void> {
  switch (batch.type) {
    case 'product':
      return importProducts(job, batch.records);
    case 'plan':
      return importPlans(job, batch.records);
    case 'release':
      return importReleases(job, batch.records);
    case 'sbom':
      return importSboms(job, batch.records);
    case 'license':
      return importLicenses(job, batch.records);
    case 'shop':
      return importShops(job, batch.records);
    case 'sku':
      return importSkus(job, batch.records);
    case 'order':
      return importOrders(job, batch.records);
    case 'shop_link':
      return importShopLinks(job, batch.records);
    case 'customer':
      return importCustomers(job, batch.records);
    case 'activation':
      return importActivations(job, batch.records);
    case 'event':
      return importEvents(job, batch.records);
    case 'access':
      return importAccesses(job, batch.records);
    case 'signing_key':
      return importSigningKeys(job, batch.records);
    case 'setting':
      return importSettings(job, batch.records);
  }
}

async function explainDuplicates(work: () => Promise<void>, where: string): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!isDuplicate(error)) throw error;
    throw new OperatorError(
      `${where}: an id or another unique value appears twice, or another process wrote one meanwhile. Nothing was imported. If the service is in use, try again.`,
    );
  }
}
