import { keepsOrigin, isSealedWith } from '../licensing/sealing';
import { customerDigest } from '../store/customer-digest';
import { withOrderRows, type Row } from '../store/export';
import { refreshWordsOfCustomers } from '../store/search-words';
import { findRows, insertCountedInChunks, insertInChunks } from '../store/import';
import {
  changeRow,
  conflict,
  hasChanges,
  insertNew,
  localLicenseId,
  DRY_RUN_ID,
  tally,
  type ImportJob,
} from './import-job';
import { keepRemark } from './lines';
import { atLine, type Numbered } from './record-reader';
import { fromRow, toRow, type OrderLicenseRecord, type RecordOf } from './records';

/** Imports shops. They are matched by name. Settings come from the file; a secret here is kept unless the file has one. */
export async function importShops(job: ImportJob, records: Numbered<'shop'>[]): Promise<void> {
  const { secret, withoutSealedKeys } = job.options;
  const names = records.map(({ value }) => value.name);
  const here = new Map((await findRows(job.trx, 'shops', 'name', names)).map((row) => [row.name, row]));
  const added: Numbered<'shop'>[] = [];
  for (const record of records) {
    const { line, value } = record;
    if (withoutSealedKeys) Object.assign(value, { secret_sealed: null, api_key_sealed: null });
    const sealed = [value.secret_sealed, value.api_key_sealed].filter((one) => one !== null);
    if (secret !== undefined && !sealed.every((one) => isSealedWith(one, secret)))
      throw atLine(
        line,
        'the secret of this shop is sealed with another LICENSING_KEY_SECRET than the one set here',
        { reason: 'sealed-elsewhere' },
      );
    if (value.test_plan_id !== null) value.test_plan_id = planHere(job, value.test_plan_id);
    const row = here.get(value.name);
    const match = row && fromRow('shop', row);
    const isKeyHere = [null, match?.api_key_sealed].includes(value.api_key_sealed);
    if (!isKeyHere && job.options.isOnSite(value.kind)) leaveKeyOut(job, record);
    if (match === undefined) {
      added.push(record);
      continue;
    }
    const staysHere = value.kind === match.kind && keepsOrigin(value.site_url, match.site_url);
    if ((isKeyHere || value.api_key_sealed === null) && match.api_key_sealed !== null && !staysHere)
      throw atLine(
        line,
        `the API key that the shop ${value.name} has here belongs to another site or kind. Remove it first: licensing shop edit ${value.name} --api-key-file none`,
        { reason: 'secret-elsewhere' },
      );
    const there = toRow('shop', {
      ...value,
      secret_sealed: value.secret_sealed ?? match.secret_sealed,
      api_key_sealed: value.api_key_sealed ?? match.api_key_sealed,
      // Keep the catch-up times of this installation.
      caught_up_until: match.caught_up_until,
      caught_up_at: match.caught_up_at,
    });
    const changes = differing(toRow('shop', match), there);
    if (hasChanges(changes)) await changeRow(job, 'shop', match.id, changes);
    else tally(job, 'shop', 'same');
  }
  await insertNew(job, 'shop', added);
}

/** Leaves out an API key. It is not sealed together with its site, so a file could send it to another site. */
function leaveKeyOut({ report }: ImportJob, { line, value }: Numbered<'shop'>): void {
  value.api_key_sealed = null;
  report.leftOutCount++;
  keepRemark(
    report.leftOut,
    line,
    `the API key of the shop ${value.name}, because a file may name another site. Give it again: licensing shop edit ${value.name} --api-key-file FILE`,
  );
}

/** Returns the columns that differ in the file, except id and time. */
function differing(here: Row, there: Row): Row {
  return Object.fromEntries(
    Object.entries(there).filter(
      ([column, value]) => !['id', 'created_at'].includes(column) && here[column] !== value,
    ),
  );
}

/** Imports the plans that shops' articles sell. They are matched by article and plan. */
export async function importSkus(job: ImportJob, records: Numbered<'sku'>[]): Promise<void> {
  const nameOf = ({ awaited, plan_id: plan }: Pick<RecordOf<'sku'>, 'awaited' | 'plan_id'>) =>
    `${awaited} ${plan}`;
  const found = job.empty.sku
    ? []
    : await findRows(job.trx, 'shop_skus', 'awaited', [
        ...new Set(records.map(({ value }) => value.awaited)),
      ]);
  const here = new Map(found.map((row) => fromRow('sku', row)).map((one) => [nameOf(one), one]));
  const added: Numbered<'sku'>[] = [];
  for (const record of records) {
    const { line, value } = record;
    if (!job.plans.has(value.plan_id)) throw atLine(line, `the file has no plan ${value.plan_id}`);
    value.plan_id = planHere(job, value.plan_id);
    const match = here.get(nameOf(value));
    if (match === undefined) added.push(record);
    else if (match.quantity === value.quantity) tally(job, 'sku', 'same');
    else await changeRow(job, 'sku', match.id, { quantity: value.quantity });
  }
  await insertNew(job, 'sku', added);
}

/** Returns the id here of a plan in the file. A plan that was removed since keeps its id. */
function planHere(job: ImportJob, id: number): number {
  return job.plans.get(id)?.id ?? id;
}

/**
 * Imports orders. They are matched by shop and number. An order's effect follows from all its events, so an order with
 * different events here and in the file is a conflict.
 */
export async function importOrders(job: ImportJob, records: Numbered<'order'>[]): Promise<void> {
  const digests = records.map(({ value }) => value.digest);
  const found = job.empty.order ? [] : await findRows(job.trx, 'orders', 'digest', digests);
  const here = new Map(
    (await withOrderRows(job.trx, found)).map((row) => [row.digest, fromRow('order', row)]),
  );
  const added: Numbered<'order'>[] = [];
  for (const record of records) {
    const { line, value } = record;
    checkOrder(job, record);
    const match = here.get(value.digest);
    job.orders.set(value.id, match?.id ?? (job.empty.order && job.writes ? value.id : DRY_RUN_ID));
    if (match === undefined) added.push(record);
    else if (identities(match) === identities(value)) tally(job, 'order', 'same');
    else
      conflict(
        job,
        'order',
        line,
        `order ${value.number} of shop ${value.shop} has other events here than in the file`,
      );
  }
  tally(job, 'order', 'new', added.length);
  if (job.writes && added.length > 0) await insertOrders(job, added);
}

function identities({ events }: RecordOf<'order'>): string {
  return events
    .map(({ identity }) => identity)
    .sort()
    .join();
}

function checkOrder(job: ImportJob, { line, value }: Numbered<'order'>): void {
  const lines = new Set(value.lines.map(({ id }) => id));
  for (const { license_id, line_id } of value.licenses) {
    localLicenseId(job, line, license_id);
    if (!lines.has(line_id)) throw atLine(line, `this order has no line with the id ${line_id}`);
  }
  for (const list of [value.lines, value.events, value.licenses])
    if (list.some(({ id }, i) => i > 0 && id <= (list[i - 1]?.id ?? 0)))
      throw atLine(line, "an order's lines, events and licences must each be sorted by id");
}

/** Inserts orders. Empty tables keep the file's ids; otherwise the database assigns new ones. */
async function insertOrders(job: ImportJob, added: Numbered<'order'>[]): Promise<void> {
  const { trx } = job;
  const keepsIds = job.empty.order;
  const own = ({ id, ...row }: Row): Row => (keepsIds ? { id: id as number, ...row } : row);
  const rows = added.map(({ value }) => ({
    ...own(toRow('order', value)),
    customer_digest: customerDigest(value.customer),
  }));
  if (keepsIds) await insertInChunks(trx, 'orders', rows);
  else
    for (const [i, id] of (await insertCountedInChunks(trx, 'orders', rows)).entries())
      job.orders.set((added[i] as Numbered<'order'>).value.id, id);
  const orderOf = ({ value }: Numbered<'order'>) => job.orders.get(value.id) as number;
  const lines = added.flatMap((record) =>
    record.value.lines.map((one) => ({
      id: one.id,
      row: {
        ...own(
          toRow('order_line', {
            ...one,
            plan_id: one.plan_id === null ? null : planHere(job, one.plan_id),
            renews: renewedHere(job, one.renews),
          }),
        ),
        order_id: orderOf(record),
      },
    })),
  );
  const lineIds = new Map(lines.map(({ id }) => [id, id]));
  const lineRows = lines.map(({ row }) => row);
  if (keepsIds) await insertAll(job, 'order_lines', lineRows);
  else if (lines.length > 0)
    for (const [i, id] of (await insertCountedInChunks(trx, 'order_lines', lineRows)).entries())
      lineIds.set((lines[i] as { id: number }).id, id);
  await insertAll(
    job,
    'order_events',
    added.flatMap((record) =>
      record.value.events.map((one) => ({
        ...own(
          toRow('order_event', { ...one, lines: one.lines?.map((line) => eventLineHere(job, line)) ?? null }),
        ),
        order_id: orderOf(record),
      })),
    ),
  );
  await insertAll(
    job,
    'order_licenses',
    added.flatMap((record) =>
      record.value.licenses.map((one) => ({
        ...own(
          toRow('order_license', {
            ...one,
            license_id: localLicenseId(job, record.line, one.license_id),
            line_id: lineIds.get(one.line_id) as number,
            plans: plansHere(job, one.plans),
          }),
        ),
        order_id: orderOf(record),
      })),
    ),
  );
}

async function insertAll(
  { trx }: ImportJob,
  name: 'order_lines' | 'order_events' | 'order_licenses',
  rows: Row[],
): Promise<void> {
  if (rows.length > 0) await insertInChunks(trx, name, rows);
}

function renewedHere<T>(job: ImportJob, renews: T): T | number {
  return typeof renews === 'number' ? (job.licenses.get(renews) ?? renews) : renews;
}

/** Replaces the ids in a line of an event with the ids here. */
function eventLineHere(job: ImportJob, line: Record<string, unknown>): Record<string, unknown> {
  return {
    ...line,
    ...(typeof line.plan_id === 'number' && { plan_id: planHere(job, line.plan_id) }),
    ...(typeof line.renews === 'number' && { renews: renewedHere(job, line.renews) }),
  };
}

/** Replaces the plan ids of a sold licence with the ids here: its first plan, its former plan, and those of its upgrades. */
function plansHere(job: ImportJob, { base, had, upgrades, ...others }: OrderLicenseRecord['plans']) {
  const sold = (one: unknown): unknown => {
    const plan = (one as { plan?: unknown } | null)?.plan;
    return typeof plan === 'number' ? { ...(one as object), plan: planHere(job, plan) } : one;
  };
  const known = Object.entries((upgrades as object | undefined) ?? {}) as [string, unknown][];
  return {
    base: sold(base),
    ...(had !== undefined && { had: sold(had) }),
    upgrades: Object.fromEntries(known.map(([identity, one]) => [identity, sold(one)])),
    ...others,
  };
}

/** Imports shop links. They are matched by digest. An existing link keeps its target, but an address follows the file. */
export async function importShopLinks(job: ImportJob, records: Numbered<'shop_link'>[]): Promise<void> {
  const digests = records.map(({ value }) => value.digest);
  const found = job.empty.shop_link ? [] : await findRows(job.trx, 'shop_links', 'digest', digests);
  const here = new Map(found.map((row) => [row.digest, fromRow('shop_link', row)]));
  const added: Numbered<'shop_link'>[] = [];
  for (const record of records) {
    const { digest, kind, target } = record.value;
    const match = here.get(digest);
    if (match === undefined) added.push(record);
    else if (kind !== 'customer' || match.target === target) tally(job, 'shop_link', 'same');
    else await changeRow(job, 'shop_link', match.id, { target });
  }
  await insertNew(job, 'shop_link', added);
}

/** Imports customers. They are matched by address, and their data comes from the file. */
export async function importCustomers(job: ImportJob, records: Numbered<'customer'>[]): Promise<void> {
  const digests = records.map(({ value }) => value.digest);
  const found = job.empty.customer ? [] : await findRows(job.trx, 'customers', 'digest', digests);
  const here = new Map(found.map((row) => [row.digest, row]));
  const added: Numbered<'customer'>[] = [];
  for (const record of records) {
    const row = here.get(record.value.digest);
    if (row === undefined) {
      added.push(record);
      continue;
    }
    const changes = differing(row, toRow('customer', record.value));
    if (hasChanges(changes)) await changeRow(job, 'customer', row.id as number, changes);
    else tally(job, 'customer', 'same');
  }
  await insertNew(job, 'customer', added);
  // The words of the file's own licences are written at the end of the import.
  if (job.writes && !job.empty.license)
    job.last.push(() =>
      refreshWordsOfCustomers(
        job.trx,
        records.map(({ value }) => value.digest),
      ),
    );
}
