import { removePlan, removeProduct } from '../../licensing/catalogue';
import { OperatorError } from '../../licensing/operator-error';
import { forgetTimelines } from '../../licensing/renewal-sums';
import type { Db, Transaction } from '../../store/database';
import { deleteImported, listImported, lockImport, setImport, type ImportedKind } from '../../store/imports';
import { deleteLicenses, lockLicenses } from '../../store/licenses';
import { findUsedLicenses } from '../../store/license-use';
import { inReadCommitted } from '../../store/transaction';

/** What an undone import left, and why. */
export interface Undone {
  id: number;
  removed: Record<ImportedKind, number>;
  left: { kind: ImportedKind; id: number; reason: string }[];
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
  if (found === undefined)
    throw new OperatorError(`There is no import ${id}.`, {
      code: 'NOT_FOUND',
      facts: { reason: 'no-import' },
    });
  if (found.undoneAt !== null)
    throw new OperatorError(`Import ${id} was undone before.`, { code: 'CONFLICT' });
  const undone: Undone = { id, removed: { license: 0, product: 0, plan: 0 }, left: [] };
  for (let after = 0; ;) {
    const ids = await listImported(trx, id, 'license', { after, limit: AT_ONCE });
    if (ids.length === 0) break;
    after = ids.at(-1) as number;
    // Before anything is read of them: nobody uses them from here on.
    const locked = [...(await lockLicenses(trx, ids)).keys()];
    const used = await findUsedLicenses(trx, locked);
    const unused = locked.filter((one) => !used.has(one));
    await forgetTimelines(trx, unused);
    await deleteLicenses(trx, unused);
    await deleteImported(trx, 'license', unused);
    undone.removed.license += unused.length;
    for (const [license, reason] of used) undone.left.push({ kind: 'license', id: license, reason });
  }
  await removeThings(trx, undone, 'plan', (plan) => removePlan(trx, plan));
  await removeThings(trx, undone, 'product', (product) => removeProduct(trx, product));
  await setImport(trx, id, { undoneAt: now });
  return undone;
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
      undone.left.push({ kind, id, reason: error.message });
    }
}
