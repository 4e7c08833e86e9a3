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
  handOverImported,
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
import { refusal } from '../refusals';
import { readBrought, shortKey, type Brought } from './brought';
import type { StaysCode } from './sayings';

type Removed = Exclude<ImportedKind, 'customer'>;

/** What an undone import left, and why. */
export interface Undone {
  id: number;
  removed: Record<Removed, number>;
  left: { kind: Removed; id: number; code: StaysCode }[];
}

/** Licences in one statement. */
const AT_ONCE = 500;

/**
 * Takes an import back: removes what it made and nobody has used since, the one case in which licences are deleted. A check
 * of a key is no use. What was used stays, as does a product or plan that something else needs. What a later run has
 * changed stays as well, and so does what has a key of another run's licence: it belongs to that run from now on, so that
 * taking that one back removes it.
 * @throws OperatorError when there is no such import, or it was undone before
 */
export function undoImport(db: Db, id: number, { now }: { now: Date }): Promise<Undone> {
  return inReadCommitted(db, (trx) => undo(trx, id, now));
}

async function undo(trx: Transaction, id: number, now: Date): Promise<Undone> {
  const runs = await lockRuns(trx);
  const found = runs.find((run) => run.id === id);
  if (found === undefined) throw refusal('no-import', [String(id)], { as: 'NOT_FOUND' });
  if (found.undoneAt !== null) throw refusal('undone-before', [String(id)], { as: 'CONFLICT' });
  /** those that nobody has taken back */
  const others = runs.flatMap((run) => (run.id !== id && run.undoneAt === null ? [run.id] : []));
  const later = others.filter((run) => run > id);
  // Before licences, as orders lock them.
  const named = new Map<number, string>();
  await eachOf(trx, id, 'customer', async (ids) => {
    for (const row of await lockRows(trx, 'customers', 'id', ids))
      named.set(row.id as number, row.address as string);
  });
  const undone: Undone = { id, removed: { license: 0, product: 0, plan: 0 }, left: [] };
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
      await handOverImported(trx, 'license', some, run);
  await unname(trx, named);
  const heir = later[0] ?? others.at(-1);
  await removeThings(trx, undone, heir, 'plan', (plan) => removePlan(trx, plan));
  await removeThings(trx, undone, heir, 'product', (product) => removeProduct(trx, product));
  for (const license of changed) undone.left.push({ kind: 'license', id: license, code: 'earlier-run' });
  await setImport(trx, id, { undoneAt: now });
  return undone;
}

/** All runs in the order in which they were, which stay as they are until the end. */
async function lockRuns(trx: Transaction): Promise<ImportRun[]> {
  const ids = (await listImports(trx, {})).map(({ id }) => id).sort((a, b) => a - b);
  const runs: ImportRun[] = [];
  for (const id of ids) {
    const run = await lockImport(trx, id);
    if (run !== undefined) runs.push(run);
  }
  return runs;
}

/** Licences that earlier runs made and this one changed: they stay as they are now. */
async function changedOfEarlier(trx: Transaction, id: number): Promise<number[]> {
  const changed: number[] = [];
  for (;;) {
    const ids = await listChangedByRun(trx, id, { after: changed.at(-1) ?? 0, limit: AT_ONCE });
    changed.push(...ids);
    if (ids.length < AT_ONCE) return changed;
  }
}

interface Sorted {
  unused: number[];
  stays: Map<number, StaysCode>;
  /** by licence, the run for whose sake it stays, which removes it when it is taken back */
  heirs: Map<number, number>;
}

/** Locks a run's licences, and tells which of them may go. */
async function sortLicenses(trx: Transaction, importId: number, later: number[]): Promise<Sorted> {
  const all = new Set<number>();
  const stays = new Map<number, StaysCode>();
  const heirs = new Map<number, number>();
  const moved: { license: number; giver: number }[] = [];
  await eachOf(trx, importId, 'license', async (ids) => {
    // Before anything is read of them: nobody uses them from here on.
    const locked = [...(await lockLicenses(trx, ids)).keys()];
    const imported = await findImported(trx, 'license', locked);
    const brought = new Map(locked.map((one) => [one, readBrought(imported.get(one)?.broughtJson)]));
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

/** The keys of licences that went over from others, with whom they were at first. */
async function movedKeys(
  trx: Transaction,
  brought: Map<number, Brought>,
): Promise<{ license: number; giver: number }[]> {
  const ids = [...brought.keys()].filter((one) => brought.get(one)?.moved !== undefined);
  return (await listKeyDigests(trx, ids)).flatMap(({ licenseId: license, keyDigest }) => {
    const giver = brought.get(license)?.moved?.[shortKey(keyDigest)];
    return giver === undefined || giver === license ? [] : [{ license, giver }];
  });
}

/** While a licence stays, so does the one that its key went over to: sites ask by it that got it for the first one. */
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

/** Takes the names back that the run gave, but for customers who still have a licence of a move. @param named by id */
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
      await handOverImported(
        trx,
        'customer',
        some.flatMap(([customer, address]) => (runs.get(address) === run ? [customer] : [])),
        run,
      );
  }
}

/** What a run made of a kind, some at a time by id. */
async function eachOf(
  trx: Transaction,
  importId: number,
  kind: ImportedKind,
  work: (ids: number[]) => Promise<void>,
): Promise<void> {
  for (let after = 0; ;) {
    const ids = await listImported(trx, importId, kind, { after, limit: AT_ONCE });
    if (ids.length === 0) return;
    after = ids.at(-1) as number;
    await work(ids);
  }
}

async function removeThings(
  trx: Transaction,
  undone: Undone,
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
      // Somebody has removed it already.
      if (error instanceof OperatorError && error.code === 'NOT_FOUND') continue;
      if (!(error instanceof OperatorError)) throw error;
      undone.left.push({ kind, id, code: whyItStays(error) });
      if (heir !== undefined) await handOverImported(trx, kind, [id], heir);
    }
}

function whyItStays({ facts }: OperatorError): StaysCode {
  if (facts?.reason === 'plan-in-shop') return 'in-shop';
  return facts?.reason === 'is-included' ? 'included' : 'in-use';
}
