import { removePlan, removeProduct } from '../../licensing/catalogue';
import { OperatorError } from '../../licensing/operator-error';
import { forgetTimelines } from '../../licensing/renewal-sums';
import { refusal } from '../refusals';
import { unnameCustomers } from '../../store/customer-profiles';
import type { Db, Transaction } from '../../store/database';
import { lockRows } from '../../store/import';
import { deleteImported, listImported, lockImport, setImport, type ImportedKind } from '../../store/imports';
import { deleteLicenses, lockLicenses } from '../../store/licenses';
import { findUsedLicenses } from '../../store/license-use';
import { inReadCommitted } from '../../store/transaction';
import type { StaysCode } from './sayings';

type Removed = Exclude<ImportedKind, 'customer'>;

/** What an undone import left, and why: by a code, or null with a refusal's sentence. */
export interface Undone {
  id: number;
  removed: Record<Removed, number>;
  left: { kind: Removed; id: number; code: StaysCode | null; reason: string }[];
}

/** Licences in one statement. */
const AT_ONCE = 500;

/**
 * Takes an import back: removes what it made and nobody has used since, the one case in which licences are deleted. A check
 * of a key is no use. What was used stays, as does a product or plan that something else needs.
 * @throws OperatorError when there is no such import, or it was undone before
 */
export function undoImport(db: Db, id: number, { now }: { now: Date }): Promise<Undone> {
  return inReadCommitted(db, (trx) => undo(trx, id, now));
}

async function undo(trx: Transaction, id: number, now: Date): Promise<Undone> {
  const found = await lockImport(trx, id);
  if (found === undefined) throw refusal('no-import', [String(id)], { as: 'NOT_FOUND' });
  if (found.undoneAt !== null) throw refusal('undone-before', [String(id)], { as: 'CONFLICT' });
  // Before licences, as orders lock them.
  const named = new Map<number, string>();
  await eachOf(trx, id, 'customer', async (ids) => {
    for (const row of await lockRows(trx, 'customers', 'id', ids))
      named.set(row.id as number, row.address as string);
  });
  const stay = new Set<string | null>();
  const undone: Undone = { id, removed: { license: 0, product: 0, plan: 0 }, left: [] };
  await eachOf(trx, id, 'license', async (ids) => {
    // Before anything is read of them: nobody uses them from here on.
    const locked = await lockLicenses(trx, ids);
    const used = await findUsedLicenses(trx, [...locked.keys()]);
    const unused = [...locked.keys()].filter((one) => !used.has(one));
    await forgetTimelines(trx, unused);
    await deleteLicenses(trx, unused);
    await deleteImported(trx, 'license', unused);
    undone.removed.license += unused.length;
    for (const [license, code] of used) {
      undone.left.push({ kind: 'license', id: license, code, reason: code });
      stay.add(locked.get(license)?.customer ?? null);
    }
  });
  const nameless = [...named].filter(([, address]) => !stay.has(address)).map(([customer]) => customer);
  for (let i = 0; i < nameless.length; i += AT_ONCE) {
    const some = nameless.slice(i, i + AT_ONCE);
    await unnameCustomers(trx, some);
    await deleteImported(trx, 'customer', some);
  }
  await removeThings(trx, undone, 'plan', (plan) => removePlan(trx, plan));
  await removeThings(trx, undone, 'product', (product) => removeProduct(trx, product));
  await setImport(trx, id, { undoneAt: now });
  return undone;
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
      undone.left.push({ kind, id, code: null, reason: error.message });
    }
}
