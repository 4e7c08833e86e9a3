import { importError } from '../refusals';
import { SharedKeys } from './shared-keys';
import { SourceTable, isIdOfKey, SkippedRow, type SourceRow, type TableRules } from './table';
import type {
  MovingSource,
  OpenSource,
  SourceContext,
  SourceItem,
  SourceLicense,
  SourceName,
  SourcePlan,
} from './source';

/** Sources that read another system's own export: one table, read twice. */

interface FileSource<F extends string> {
  name: SourceName;
  title: string;
  /** true if the source takes a second table with the customers' addresses */
  readsUsers?: true;
  rules: Omit<TableRules<F>, 'title' | 'asked'>;
  /** Creates the reader of one opening, which keeps what it collects from the rows */
  begin(context: SourceContext): Promise<RowReader<F>>;
}

/** The maximum number of plans, because the seller maps all of them on one page. */
const MAX_PLANS = 500;
/** The maximum length of a plan's key in characters. */
const MAX_PLAN = 400;

type FilePlan = Pick<SourcePlan, 'key' | 'name' | 'product' | 'here'>;

/** The interpretation of one file's rows. */
export interface RowReader<F extends string> {
  /** Returns the source's id, or `referenceFromKey`; rows with the same id are one licence. @throws SkippedRow */
  id(row: SourceRow<F>, table: SourceTable<F>): string;
  /**
   * Returns the row's customer. In a table without ids (`referenceFromKey`), another customer's rows are another licence
   */
  customer?(row: SourceRow<F>): string;
  /** Returns the row's order, empty if unknown. A row that `isEnded` ends only rows of its own order */
  order?(row: SourceRow<F>): string;
  /** Returns the row's plan. @throws SkippedRow */
  plan(row: SourceRow<F>, table: SourceTable<F>): FilePlan;
  /** Reports whether the row is refunded or revoked; it then wins over other rows of its id, or of its `order` */
  isEnded(row: SourceRow<F>): boolean;
  /** Reports whether another row of the id describes the licence better, such as its first sale */
  isLesser?(row: SourceRow<F>): boolean;
  /** Collects facts from a row; called for each row before any row is read */
  note?(row: SourceRow<F>, id: string, table: SourceTable<F>): void;
  /** Returns remarks about the whole table */
  remarks?(table: SourceTable<F>): SourceItem[];
  /** Reads a row's licence and its remarks. @throws SkippedRow */
  read(
    row: SourceRow<F>,
    id: string,
    table: SourceTable<F>,
  ): Iterable<SourceItem | Omit<SourceLicense, 'id' | 'row' | 'plan'>>;
}

export function fileSource<F extends string>(source: FileSource<F>): MovingSource {
  const { name, title, readsUsers = false } = source;
  return { name, title, readsUsers, reads: 'file', open: (context) => openFile(source, context) };
}

export async function openFile<F extends string>(
  { name, title, rules, begin }: Pick<FileSource<F>, 'name' | 'title' | 'rules' | 'begin'>,
  context: SourceContext,
): Promise<OpenSource & { table: SourceTable<F> }> {
  const reader = await begin(context);
  const keys = new SharedKeys(context.now);
  const plans = new Map<string, SourcePlan>();
  // By id, the line of the chosen row, with its rank as the last digit. Numbers save memory, because a table has many rows.
  const chosen = new Map<string, number>();
  const table = await SourceTable.open(
    context.file,
    { ...rules, title, asked: context.dates },
    (row, opened) => {
      const found = orLeftOut(() => ({
        id: reader.id(row, opened),
        plan: filePlan(reader, row, opened),
        isEnded: reader.isEnded(row),
      }));
      if (found instanceof SkippedRow) return;
      const { id, plan, isEnded } = found;
      if (!plans.has(plan.key)) plans.set(plan.key, planOf(plan));
      if (plans.size > MAX_PLANS) throw importError('many-plans', [String(MAX_PLANS)], { field: 'file' });
      reader.note?.(row, id, opened);
      if (reader.customer && isIdOfKey(id)) {
        keys.note(id, reader.customer(row));
        return;
      }
      const rank = isEnded ? 2 : reader.isLesser?.(row) ? 0 : 1;
      const before = chosen.get(id);
      if (before === undefined || rank > before % 10) chosen.set(id, row.line * 10 + rank);
    },
  );
  if (context.ranBefore) await keys.findHere(context.db, name);
  const withIds: RowReader<F> = {
    ...reader,
    id(row) {
      const id = reader.id(row, table);
      return reader.customer && isIdOfKey(id) ? keys.idOf(id, reader.customer(row)) : id;
    },
  };
  if (!keys.isEmpty) {
    await addShared(reader, withIds, table, keys);
    for (const [id, line] of keys.lines()) chosen.set(id, line * 10);
  }
  return { table, plans: [...plans.values()], items: () => itemsOf(withIds, table, chosen) };
}

/** Reads the rows that share a key, now that the forms of their dates are known. An unreadable row does not count. */
async function addShared<F extends string>(
  reader: RowReader<F>,
  withIds: RowReader<F>,
  table: SourceTable<F>,
  keys: SharedKeys,
): Promise<void> {
  for await (const { line, row } of table.rows()) {
    if (row === undefined) continue;
    orLeftOut(() => {
      if (!keys.isShared(reader.id(row, table))) return;
      const id = withIds.id(row, table);
      filePlan(reader, row, table);
      const license = [...reader.read(row, id, table)].find((item) => 'keys' in item);
      if (license === undefined) return;
      const { status, startsAt, expiresAt } = license;
      const candidate = { line, status, startsAt, expiresAt, isEnded: reader.isEnded(row) };
      keys.add(id, reader.order?.(row) ?? '', candidate);
    });
  }
}

async function* itemsOf<F extends string>(
  reader: RowReader<F>,
  table: SourceTable<F>,
  chosen: ReadonlyMap<string, number>,
): AsyncGenerator<SourceItem, void> {
  yield* reader.remarks?.(table) ?? [];
  for await (const { line, row } of table.rows())
    if (row === undefined) yield { row: line, leftOut: 'cells' };
    else {
      const items = orLeftOut(() => {
        const [id, { key: plan }] = [reader.id(row, table), filePlan(reader, row, table)];
        const best = chosen.get(id);
        const isOther = best !== undefined && Math.floor(best / 10) !== line;
        const isShared = reader.customer !== undefined && isIdOfKey(id);
        if (isOther && !isShared) throw new SkippedRow('other-row');
        const read = [...reader.read(row, id, table)];
        // Report an unreadable row instead, because it might have been the right one.
        if (isOther) throw new SkippedRow('other-row');
        return read.map((item): SourceItem => ('keys' in item ? { ...item, id, row: line, plan } : item));
      });
      if (items instanceof SkippedRow) yield { row: line, leftOut: items.reason };
      else yield* items;
    }
}

function filePlan<F extends string>(
  reader: RowReader<F>,
  row: SourceRow<F>,
  table: SourceTable<F>,
): FilePlan {
  const plan = reader.plan(row, table);
  if (plan.key.length > MAX_PLAN) throw new SkippedRow('long-plan', String(MAX_PLAN));
  return plan;
}

function orLeftOut<T>(read: () => T): T | SkippedRow {
  try {
    return read();
  } catch (error) {
    if (error instanceof SkippedRow) return error;
    throw error;
  }
}

function planOf(plan: FilePlan): SourcePlan {
  return { ...plan, covers: [plan.product], duration: undefined, limit: undefined };
}

/** Returns a licence with one key, as in all of these exports. */
export function oneKey(
  key: string,
  more: Partial<Omit<SourceLicense, 'id' | 'row' | 'plan' | 'keys'>> & Pick<SourceLicense, 'status'>,
): Omit<SourceLicense, 'id' | 'row' | 'plan'> {
  return {
    customer: null,
    customerName: null,
    startsAt: undefined,
    expiresAt: null,
    limit: undefined,
    sites: [],
    metadata: {},
    ...more,
    keys: [{ key, limit: undefined, sites: [] }],
  };
}
