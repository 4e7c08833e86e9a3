import { chunksOf } from '../../base/chunks';
import { removePlan, removeProduct } from '../../licensing/catalogue';
import { OperatorError } from '../../licensing/operator-error';
import { forgetTimelines } from '../../figures/renewal-sums';
import { unnameCustomers } from '../../store/customer-profiles';
import type { Db, Transaction } from '../../store/engine/database';
import { lockRows } from '../../store/import';
import {
  deleteImported,
  findImported,
  findRunsOfCustomers,
  reassignImported,
  listChangedByRun,
  listImported,
  listImports,
  lockImport,
  setImport,
  type ImportedKind,
  type ImportRun,
} from '../../store/imports';
import { deleteLicenses, findLicensesByIds, lockLicenses } from '../../store/licenses/licenses';
import { findUsedLicenses, listKeyDigests } from '../../store/licenses/license-use';
import { inReadCommitted } from '../../store/engine/transaction';
import { importError } from '../refusals';
import { parseBaseline, shortKey, type ImportBaseline } from './import-baseline';
import type { KeptCode } from './import-messages';

type Removed = Exclude<ImportedKind, 'customer'>;

/** The result of an undone import: what was removed, what was left, and why. */
export interface UndoResult {
  id: number;
  removed: Record<Removed, number>;
  left: { kind: Removed; id: number; code: KeptCode }[];
}

/** The maximum number of licences in a statement. */
const BATCH_SIZE = 500;

/**
 * Undoes an import: removes what it made, unless it was used since. This is the only case in which licences are
 * deleted. A check of a key is not a use. A product or plan that something else needs is kept, as is what a later run
 * has changed. A licence with a key from another run's licence is kept too. It then belongs to that run, whose undo
 * removes it.
 * @throws OperatorError when the import does not exist, or was already undone
 */
export function undoImport(db: Db, id: number, { now }: { now: Date }): Promise<UndoResult> {
  return inReadCommitted(db, (trx) => undo(trx, id, now));
}

async function undo(trx: Transaction, id: number, now: Date): Promise<UndoResult> {
  const runs = await lockRuns(trx);
  const found = runs.find((run) => run.id === id);
  if (found === undefined) throw importError('no-import', [String(id)], { as: 'NOT_FOUND' });
  if (found.undoneAt !== null) throw importError('undone-before', [String(id)], { as: 'CONFLICT' });
  /** the other runs that were not undone */
  const others = runs.flatMap((run) => (run.id !== id && run.undoneAt === null ? [run.id] : []));
  const later = others.filter((run) => run > id);
  // Lock customers before licences, as orders do.
  const named = new Map<number, string>();
  await eachOf(trx, id, 'customer', async (ids) => {
    for (const row of await lockRows(trx, 'customers', 'id', ids))
      named.set(row.id as number, row.address as string);
  });
  const undone: UndoResult = { id, removed: { license: 0, product: 0, plan: 0 }, left: [] };
  const changed = await changedOfEarlier(trx, id);
  const { unused, stays, heirs } = await sortLicenses(trx, id, later);
  for (const some of chunksOf(unused)) {
    await forgetTimelines(trx, some);
    await deleteLicenses(trx, some);
    await deleteImported(trx, 'license', some);
  }
  undone.removed.license = unused.length;
  for (const [license, code] of stays) undone.left.push({ kind: 'license', id: license, code });
  for (const run of others)
    for (const some of chunksOf([...stays.keys()].filter((one) => heirs.get(one) === run)))
      await reassignImported(trx, 'license', some, run);
  await unname(trx, named);
  const heir = later[0] ?? others.at(-1);
  await removeThings(trx, undone, heir, 'plan', (plan) => removePlan(trx, plan));
  await removeThings(trx, undone, heir, 'product', (product) => removeProduct(trx, product));
  for (const license of changed) undone.left.push({ kind: 'license', id: license, code: 'earlier-run' });
  await setImport(trx, id, { undoneAt: now });
  return undone;
}

/** Locks all runs and returns them in their order, so that none changes until the end. */
async function lockRuns(trx: Transaction): Promise<ImportRun[]> {
  const ids = (await listImports(trx, {})).map(({ id }) => id).sort((a, b) => a - b);
  const runs: ImportRun[] = [];
  for (const id of ids) {
    const run = await lockImport(trx, id);
    if (run !== undefined) runs.push(run);
  }
  return runs;
}

/** Returns the licences that earlier runs made and this run changed. They stay as they are now. */
async function changedOfEarlier(trx: Transaction, id: number): Promise<number[]> {
  const changed: number[] = [];
  for (;;) {
    const ids = await listChangedByRun(trx, id, { after: changed.at(-1) ?? 0, limit: BATCH_SIZE });
    changed.push(...ids);
    if (ids.length < BATCH_SIZE) return changed;
  }
}

interface Sorted {
  unused: number[];
  stays: Map<number, KeptCode>;
  /** the run for which a licence stays; undoing that run removes the licence */
  heirs: Map<number, number>;
}

/** Locks a run's licences, and decides which of them are removed. */
async function sortLicenses(trx: Transaction, importId: number, later: number[]): Promise<Sorted> {
  const all = new Set<number>();
  const stays = new Map<number, KeptCode>();
  const heirs = new Map<number, number>();
  const moved: { license: number; giver: number }[] = [];
  await eachOf(trx, importId, 'license', async (ids) => {
    // Lock the licences before reading, so that no request uses them from here on.
    const locked = [...(await lockLicenses(trx, ids)).keys()];
    const imported = await findImported(trx, 'license', locked);
    const brought = new Map(locked.map((one) => [one, parseBaseline(imported.get(one)?.broughtJson)]));
    for (const [one, code] of await findUsedLicenses(trx, locked)) stays.set(one, code);
    moved.push(...(await movedKeys(trx, brought)));
    for (const one of locked) {
      all.add(one);
      const { run } = brought.get(one) ?? {};
      if (run === undefined || !later.includes(run)) continue;
      heirs.set(one, run);
      if (!stays.has(one)) stays.set(one, 'later-run');
    }
  });
  await keepOlderKeys(trx, moved, { all, stays, heirs });
  return { unused: [...all].filter((one) => !stays.has(one)), stays, heirs };
}

/** Returns the licences with keys that moved from other licences, and the first licence of each key. */
async function movedKeys(
  trx: Transaction,
  brought: Map<number, ImportBaseline>,
): Promise<{ license: number; giver: number }[]> {
  const ids = [...brought.keys()].filter((one) => brought.get(one)?.moved !== undefined);
  return (await listKeyDigests(trx, ids)).flatMap(({ licenseId: license, keyDigest }) => {
    const giver = brought.get(license)?.moved?.[shortKey(keyDigest)];
    return giver === undefined || giver === license ? [] : [{ license, giver }];
  });
}

/** Keeps a licence with a moved key while the key's first licence stays, because its sites send this key. */
async function keepOlderKeys(
  trx: Transaction,
  moved: { license: number; giver: number }[],
  { all, stays, heirs }: Omit<Sorted, 'unused'> & { all: ReadonlySet<number> },
): Promise<void> {
  const others = new Set<number>();
  const runs = new Map<number, number>();
  for (const some of chunksOf(moved.map(({ giver }) => giver).filter((giver) => !all.has(giver)))) {
    for (const { id } of await findLicensesByIds(trx, some)) others.add(id);
    for (const [giver, { importId }] of await findImported(trx, 'license', some)) runs.set(giver, importId);
  }
  for (let before = -1; before !== stays.size;) {
    before = stays.size;
    for (const { license, giver } of moved)
      if (!stays.has(license) && (others.has(giver) || stays.has(giver))) stays.set(license, 'older-key');
  }
  for (const { license, giver } of moved) {
    const run = runs.get(giver);
    if (run !== undefined && !heirs.has(license)) heirs.set(license, run);
  }
}

/** Removes the names that the run gave, except of customers with a licence of another move. @param named addresses by id */
async function unname(trx: Transaction, named: Map<number, string>): Promise<void> {
  for (const some of chunksOf([...named])) {
    const runs = await findRunsOfCustomers(
      trx,
      some.map(([, address]) => address),
    );
    const nameless = some.flatMap(([customer, address]) => (runs.has(address) ? [] : [customer]));
    await unnameCustomers(trx, nameless);
    await deleteImported(trx, 'customer', nameless);
    for (const run of new Set(runs.values()))
      await reassignImported(
        trx,
        'customer',
        some.flatMap(([customer, address]) => (runs.get(address) === run ? [customer] : [])),
        run,
      );
  }
}

/** Passes the ids of one kind that a run made to `work`, some at a time. */
async function eachOf(
  trx: Transaction,
  importId: number,
  kind: ImportedKind,
  work: (ids: number[]) => Promise<void>,
): Promise<void> {
  for (let after = 0; ;) {
    const ids = await listImported(trx, importId, kind, { after, limit: BATCH_SIZE });
    if (ids.length === 0) return;
    after = ids.at(-1) as number;
    await work(ids);
  }
}

async function removeThings(
  trx: Transaction,
  undone: UndoResult,
  heir: number | undefined,
  kind: 'plan' | 'product',
  remove: (id: number) => Promise<unknown>,
): Promise<void> {
  for (const id of await listImported(trx, undone.id, kind, { after: 0, limit: 10_000 }))
    try {
      await remove(id);
      await deleteImported(trx, kind, [id]);
      undone.removed[kind]++;
    } catch (error) {
      // The plan or product has already been removed.
      if (error instanceof OperatorError && error.code === 'NOT_FOUND') continue;
      if (!(error instanceof OperatorError)) throw error;
      undone.left.push({ kind, id, code: whyItStays(error) });
      if (heir !== undefined) await reassignImported(trx, kind, [id], heir);
    }
}

function whyItStays({ facts }: OperatorError): KeptCode {
  if (facts?.reason === 'plan-in-shop') return 'in-shop';
  return facts?.reason === 'is-included' ? 'included' : 'in-use';
}
