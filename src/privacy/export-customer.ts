import { OperatorError } from '../licensing/operator-error';
import { formatTimestamp, formatTimestampOrNull } from '../licensing/timestamps';
import { orderDetailsJson, readOrder } from '../orders/views';
import type { FileKind, Sink } from '../packages/replace-file';
import type { Db } from '../store/database';
import { listDeliveriesOfLicenses } from '../store/deliveries';
import { readPages, withKeys } from '../store/export';
import { findRows } from '../store/import';
import type { License } from '../store/licenses';
import { listOutboxOf } from '../store/outbox';
import type { TextTable } from '../store/personal-data';
import { inSnapshot } from '../store/transaction';
import {
  fromRow,
  RECORD_TYPES,
  RECORDS,
  tableLayout,
  type KeyRecord,
  type RecordOf,
  type RecordType,
} from '../transfer/records';
import {
  customerLicenses,
  PAGE,
  readCustomerAddress,
  rowsNaming,
  type CustomerAddress,
} from './customer-address';

/** An export by `exportCustomer`, which a new export may overwrite, even one for another customer. */
export const CUSTOMER_FILE: FileKind = {
  name: "an earlier export of a customer's data",
  isOne: (beginning) => /^\{\n {2}"customer": ".*",\n {2}"exported_at": "/.test(beginning),
};

export interface CustomerCounts {
  licenses: number;
  mentions: number;
}

/** Writes everything stored about a customer as one JSON object (docs/export-format.md), from one snapshot. */
export function exportCustomer(db: Db, text: string, now: Date, sink: Sink): Promise<CustomerCounts> {
  return inSnapshot(db, async (trx) => {
    const customer = await readCustomerAddress(trx, text);
    const licenses: License[] = [];
    for await (const license of customerLicenses(trx, customer)) licenses.push(license);
    const own = new Set(licenses.map(({ id }) => id));
    if (licenses.length === 0 && !(await isMentioned(trx, customer)))
      throw new OperatorError('Nothing is stored about this address. No file was written.', {
        code: 'NOT_FOUND',
      });
    const head = { customer: customer.address, exported_at: formatTimestamp(now) };
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
    for (const [index, type] of MENTIONS.entries()) {
      await sink(`${index === 0 ? '' : ','}\n    "${type}": [`);
      mentions += await writeItems(sink, mentionItems(trx, type, customer, own));
      await sink(']');
    }
    await sink('},\n  "mails": [');
    await writeItems(sink, mailItems(trx, customer, own));
    await sink('],\n  "webhooks": [');
    await writeItems(sink, deliveryItems(trx, [...own]));
    await sink('],\n  "orders": [');
    await writeItems(sink, orderItems(trx, customer));
    await sink(']\n}\n');
    return { licenses: licenses.length, mentions };
  });
}

const LICENSE_PARTS = [
  ['activations', 'activation'],
  ['events', 'event'],
  ['accesses', 'access'],
] as const;

/** Mails about the customer's licences, and links that were asked for with the address. */
async function* mailItems(db: Db, customer: CustomerAddress, own: Set<number>): AsyncGenerator {
  for (const row of await listOutboxOf(db, { licenseIds: [...own], address: customer.address }))
    yield {
      ...{ id: row.id, type: row.type, license_id: row.licenseId, recipient: row.recipient },
      details: row.detailsJson === null ? null : (JSON.parse(row.detailsJson) as unknown),
      created_at: formatTimestamp(row.createdAt),
      sent_at: formatTimestampOrNull(row.sentAt),
    };
}

/** What receivers of webhooks are told of the customer's licences. */
async function* deliveryItems(db: Db, licenseIds: number[]): AsyncGenerator {
  for (let after = 0; ;) {
    const rows = await listDeliveriesOfLicenses(db, licenseIds, after, PAGE);
    for (const row of rows)
      yield {
        ...{ id: row.id, webhook_id: row.webhookId, type: row.type, license_id: row.licenseId },
        data: JSON.parse(row.detailsJson ?? '{}') as unknown,
        answer: row.answer,
        created_at: formatTimestamp(row.createdAt),
        sent_at: formatTimestampOrNull(row.sentAt),
      };
    if (rows.length < PAGE) return;
    after = rows.at(-1)?.id as number;
  }
}

/** Orders that name the customer, with their lines and events. */
async function* orderItems(db: Db, customer: CustomerAddress): AsyncGenerator {
  for await (const row of rowsNaming(db, 'orders', customer)) {
    const order = await readOrder(db, row.id as number);
    if (order !== undefined) yield orderDetailsJson(order);
  }
}

async function writeItems(sink: Sink, items: AsyncIterable<unknown>): Promise<number> {
  let count = 0;
  for await (const item of items) await sink(`${count++ === 0 ? '' : ','}\n      ${JSON.stringify(item)}`);
  return count;
}

async function licenseRecord(db: Db, license: License) {
  const rows = await withKeys(db, await findRows(db, 'licenses', 'id', [license.id]));
  const record = fromRow('license', rows[0] as (typeof rows)[0]);
  return {
    ...record,
    keys: record.keys.map(personalKey),
    product: license.product.name,
    plan: license.plan.name,
  };
}

/** Leaves out a key's digest and sealed form, which say nothing about a person. */
function personalKey({ key_digest: _digest, key_sealed: _sealed, ...key }: KeyRecord) {
  return key;
}

function withoutKeys({ keys: _keys, ...license }: RecordOf<'license'>) {
  return license;
}

async function* licenseItems(
  db: Db,
  type: 'activation' | 'event' | 'access',
  licenseId: number,
): AsyncGenerator {
  const layout = { ...tableLayout(type), order: ['id'] };
  for await (const rows of readPages(db, layout, PAGE, { license_id: licenseId }))
    for (const row of rows) yield fromRow(type, row);
}

/** Types of records, and keys, which are parts of licences. */
const MENTIONS = [...RECORD_TYPES.filter(isOfLicenses), 'key'] as const;

/** Orders that name somebody are exported as orders; shops and articles name nobody, a shop's link but the address. */
function isOfLicenses(type: RecordType): type is Exclude<RecordType, 'shop' | 'sku' | 'order' | 'shop_link'> {
  return type !== 'shop' && type !== 'sku' && type !== 'order' && type !== 'shop_link';
}

async function* mentionItems(
  db: Db,
  type: (typeof MENTIONS)[number],
  customer: CustomerAddress,
  own: Set<number>,
): AsyncGenerator {
  const table = type === 'key' ? 'license_keys' : RECORDS[type].table;
  for await (const row of rowsNaming(db, table as TextTable, customer)) {
    const licenseId = (type === 'license' ? row.id : row.license_id) as number;
    if (own.has(licenseId)) continue;
    if (type === 'key') yield { license_id: licenseId, ...personalKey(fromRow('key', row)) };
    else if (type === 'license') yield withoutKeys(fromRow('license', { ...row, keys: [] }));
    else yield fromRow(type, row);
  }
}

/** Checked before writing starts, because output cannot be taken back. */
async function isMentioned(db: Db, customer: CustomerAddress): Promise<boolean> {
  for (const type of MENTIONS)
    if (!(await mentionItems(db, type, customer, new Set()).next()).done) return true;
  return !(await rowsNaming(db, 'orders', customer).next()).done;
}
