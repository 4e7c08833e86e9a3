import { lockLicenses } from '../store/licenses';
import type { OrderEvent, OrderLine } from '../store/orders';
import { foldLine, type LineEvent, type OrderEventName } from './fold';
import { adoptRenewed, issueLine } from './line-licenses';
import { settleLicense } from './settle-license';
import { type Plans, resolveUpgrades } from './sold';
import {
  type Action,
  type Change,
  concerning,
  isWaiting,
  none,
  type Outcome,
  type Waits,
  whyIgnored,
  type Work,
} from './work';

/**
 * Brings a line's licences from what the events said before to what they say now. Only the difference that new events
 * make is applied, so what a seller changed by hand in between stays.
 */

interface Settled {
  /** of the new event */
  outcome: Outcome;
  waits: Waits | undefined;
  /** upgrades that wait */
  waitingUpgrades: Set<string>;
}

/**
 * @param prior the events before, @param latest the new one, if there is one
 * @returns what the new event did to the line, and what the line waits for
 */
export async function settleLine(
  work: Work,
  line: OrderLine,
  prior: OrderEvent[],
  latest: OrderEvent | undefined,
): Promise<Settled> {
  const before = prior.flatMap((event) => concerning(event, line));
  const after = latest === undefined ? before : [...before, ...concerning(latest, line)];
  let licenses = work.licenses.filter(({ lineId }) => lineId === line.id);
  const nothing = (outcome: Outcome): Settled => ({ outcome, waits: undefined, waitingUpgrades: new Set() });
  const changes: Change[] = [];
  let isNew = false;
  if (licenses.length === 0) {
    const { state, by } = foldLine(after, new Set());
    if (state !== 'active') return nothing(none(whyIgnored(latest) ?? by ?? 'not_paid'));
    if (work.order.isTest && work.shop.testPlanId === null) return nothing(none('test'));
    const made = await (line.renewsJson === null ? issueLine(work, line, after) : adoptRenewed(work, line));
    if ('action' in made) return nothing(made);
    if (isWaiting(made))
      return {
        outcome: outcomeOf(latest, 'waiting', made.waitsFor),
        waits: made,
        waitingUpgrades: new Set(after.filter(isUpgrade).map(({ identity }) => identity)),
      };
    if (line.renewsJson === null) changes.push('issued');
    isNew = true;
    licenses = work.licenses.filter(({ lineId }) => lineId === line.id);
  }
  const waitingUpgrades = new Set<string>();
  let waits: Waits | undefined;
  let reason: string | undefined;
  const locked = await lockLicenses(
    work.trx,
    licenses.map(({ licenseId }) => licenseId),
  );
  for (const license of licenses) {
    const stored = locked.get(license.licenseId);
    // Only a row that was deleted by hand is missing.
    if (stored === undefined) continue;
    const plans = JSON.parse(license.plansJson) as Plans;
    const resolved = await resolveUpgrades(
      work,
      license,
      plans,
      [...prior, ...(latest ? [latest] : [])],
      line,
    );
    for (const [identity, wait] of resolved.waiting) {
      waitingUpgrades.add(identity);
      waits ??= wait;
    }
    const change = await settleLicense(
      work,
      { license, stored, was: plans, is: resolved.plans, isNew },
      { before, after, latest },
    );
    changes.push(...change.changes);
    reason ??= change.reason;
  }
  if (latest !== undefined && waitingUpgrades.has(latest.identity) && waits !== undefined)
    return { outcome: { action: 'waiting', reason: waits.waitsFor }, waits, waitingUpgrades };
  const action = chosenAction(changes, latest?.event as OrderEventName | undefined);
  return { outcome: outcomeOf(latest, action, reason), waits, waitingUpgrades };
}

function outcomeOf(latest: OrderEvent | undefined, action: Action, reason: string | undefined): Outcome {
  const ignored = whyIgnored(latest);
  if (ignored !== undefined) return none(ignored);
  return action === 'none' ? none(reason ?? 'no_change') : { action, reason: reason ?? null };
}

function isUpgrade({ effect }: Pick<LineEvent, 'effect'>): boolean {
  return effect === 'change_plan';
}

/** An event may change several things; the answer names the one it was sent for. */
function chosenAction(changes: Change[], event: OrderEventName | undefined): Action {
  const first: Change[] = event === 'renewed' ? ['renewed'] : [];
  if (event === 'chargeback_reversed') first.push('issued', 'reinstated');
  const order: Change[] = [
    ...first,
    'issued',
    'cancelled',
    'suspended',
    'plan_changed',
    'renewed',
    'reinstated',
  ];
  return order.find((change) => changes.includes(change)) ?? 'none';
}
