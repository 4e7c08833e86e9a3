import { countOf } from '../base/count-of';
import { countActivations, findMiscounts, setActivationsUsed, type Miscount } from '../store/counters';
import { insertEvents } from '../store/events';
import { lockLicense } from '../store/licenses/licenses';
import { inTransaction } from '../store/engine/transaction';
import { ok, problem, type CommandCheck, type CheckContext } from './finding';

/** The maximum number of licences that are read at once, and that a finding counts. */
const PAGE = 100;

/** Compares each licence's counter with its number of activations with a slot. `repairAs` also corrects the counter. */
export const checkCounters: CommandCheck = async (patient) => {
  const { db, repairAs, progress } = patient;
  const miscounts = await findMiscounts(db, PAGE + 1);
  if (miscounts.length === 0)
    return [ok('COUNTERS', 'The used slots of every licence match its activations.')];
  const list = `${miscounts
    .slice(0, 10)
    .map(
      ({ licenseId, activationsUsed, activations }) =>
        `${licenseId} (counts ${activationsUsed}, has ${activations})`,
    )
    .join(', ')}${miscounts.length > 10 ? ', ...' : ''}`;
  const many =
    miscounts.length > PAGE
      ? `More than ${PAGE} licences count`
      : countOf(miscounts.length, 'licence counts', 'licences count');
  if (repairAs === undefined)
    return [
      problem('COUNTERS', `${many} a number of used slots that does not match the activations: ${list}.`, {
        why: 'Customers are refused a free slot, or get more slots than they bought. The cause is a table that was changed by hand, or restored without the other.',
        remedy: 'licensing doctor --repair',
      }),
    ];
  let repaired = 0;
  for (let page = miscounts; page.length > 0; page = await findMiscounts(db, PAGE)) {
    const before = repaired;
    for (const miscount of page) {
      if (await repair(patient, repairAs, miscount)) progress(`Counters: ${++repaired} repaired`);
    }
    // Stop without progress, because counters that cannot be repaired would be found again forever.
    if (repaired === before) break;
  }
  return [
    ok(
      'COUNTERS_REPAIRED',
      `${countOf(repaired, 'licence')} counted a number of used slots that did not match the activations, and ${repaired === 1 ? 'is' : 'are'} repaired now: ${list}.`,
    ),
  ];
};

/** Repairs a counter under the lock that activations take, so that neither misses the other's change. */
function repair({ db, now }: CheckContext, actor: string, { licenseId }: Miscount): Promise<boolean> {
  return inTransaction(db, async (trx) => {
    const license = await lockLicense(trx, licenseId);
    if (license === undefined) return false;
    const activations = await countActivations(trx, licenseId);
    if (activations === license.activationsUsed) return false;
    await setActivationsUsed(trx, licenseId, activations);
    await insertEvents(trx, [
      {
        licenseId,
        at: now(),
        actor,
        action: 'repair',
        before: { activations_used: license.activationsUsed },
        after: { activations_used: activations },
      },
    ]);
    return true;
  });
}
