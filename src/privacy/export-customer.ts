import { formatTimestamp } from '../base/days';
import { OperatorError } from '../licensing/operator-error';
import type { FileKind, Sink } from '../packages/replace-file';
import type { Db } from '../store/engine/database';
import type { License } from '../store/licenses/licenses';
import { inSnapshot } from '../store/engine/transaction';
import { customerLicenses, readCustomerAddress } from './customer-address';
import {
  LICENSE_PARTS,
  licenseItems,
  licenseRecord,
  RECORDS_WITH_MENTIONS,
  mentionItems,
  SECTION_NAMES,
  SECTIONS,
  type DataSubject,
} from './stored-data';

/** The file of an export by `exportCustomer`. A new export may overwrite it, even for another customer. */
export const CUSTOMER_FILE: FileKind = {
  name: "an earlier export of a customer's data",
  isOne: (beginning) => /^\{\n {2}"customer": ".*",\n {2}"exported_at": "/.test(beginning),
};

interface CustomerCounts {
  licenses: number;
  mentions: number;
}

/** The GDPR export: writes all data about a customer as one JSON object (docs/export-format.md), from one snapshot. */
export function exportCustomer(db: Db, text: string, now: Date, sink: Sink): Promise<CustomerCounts> {
  return inSnapshot(db, async (trx) => {
    const customer = await readCustomerAddress(trx, text);
    const licenses: License[] = [];
    for await (const license of customerLicenses(trx, customer)) licenses.push(license);
    const whose: DataSubject = { customer, licenseIds: licenses.map(({ id }) => id), searches: true };
    if (licenses.length === 0 && !(await isStored(trx, whose)))
      throw new OperatorError('Nothing is stored about this address. No file was written.', {
        code: 'NOT_FOUND',
      });
    const head = {
      customer: customer.address,
      exported_at: formatTimestamp(now),
      former_addresses: customer.addresses.slice(1),
    };
    await sink(`${JSON.stringify(head, null, 2).slice(0, -2)},\n  "licenses": [`);
    for (const [index, license] of licenses.entries()) {
      await sink(
        `${index === 0 ? '' : ','}\n    ${JSON.stringify(await licenseRecord(trx, license)).slice(0, -1)}`,
      );
      for (const [name, type] of LICENSE_PARTS) {
        await sink(`,\n     "${name}": [`);
        await writeItems(sink, licenseItems(trx, type, license.id));
        await sink(']');
      }
      await sink('}');
    }
    await sink('],\n  "mentions": {');
    let mentions = 0;
    for (const [index, type] of RECORDS_WITH_MENTIONS.entries()) {
      await sink(`${index === 0 ? '' : ','}\n    "${type}": [`);
      mentions += await writeItems(sink, mentionItems(trx, type, whose));
      await sink(']');
    }
    await sink('}');
    for (const name of SECTION_NAMES) {
      await sink(`,\n  "${name}": [`);
      await writeItems(sink, SECTIONS[name](trx, whose));
      await sink(']');
    }
    await sink('\n}\n');
    return { licenses: licenses.length, mentions };
  });
}

async function writeItems(sink: Sink, items: AsyncIterable<unknown>): Promise<number> {
  let count = 0;
  for await (const item of items) await sink(`${count++ === 0 ? '' : ','}\n      ${JSON.stringify(item)}`);
  return count;
}

/** Reports whether there is anything to export. This is checked first, because written output cannot be taken back. */
async function isStored(db: Db, whose: DataSubject): Promise<boolean> {
  for (const type of RECORDS_WITH_MENTIONS)
    if (!(await mentionItems(db, type, whose).next()).done) return true;
  for (const name of SECTION_NAMES) if (!(await SECTIONS[name](db, whose).next()).done) return true;
  return false;
}
