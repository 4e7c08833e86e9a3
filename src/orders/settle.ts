import { findLicensesByIds, lockLicenses } from '../store/licenses/licenses';
import type { OrderEvent, OrderLicense, OrderLine } from '../store/orders/orders';
import { foldLine, type LineEvent, type Meanings, type OrderEventName, type LineFold } from './fold';
import { adoptRenewed, issueLine, issueMore, soldLine } from './line-licenses';
import { settleLicense } from './settle-license';
import { numbersOf, planOf, type Plans, resolveUpgrades, type Sold } from './sold';
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
    const sold = line.renewsJson === null ? await soldLine(work, line) : undefined;
    const { state, by } = foldLine(after, await meaningsAhead(work, line, sold, after));
    if (state !== 'active') return nothing(none(whyIgnored(latest) ?? by ?? 'not_paid'));
    if (work.order.isTest && work.shop.testPlanId === null) return nothing(none('test'));
    const made =
      sold === undefined
        ? await adoptRenewed(work, line)
        : isWaiting(sold)
          ? sold
          : await issueLine(work, line, after, sold);
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
  const numbers = numbersOf(licenses);
  const settled: { license: OrderLicense; plans: Plans; standing: LineFold }[] = [];
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
    const n = numbers.get(license.id) ?? 1;
    const change = await settleLicense(
      work,
      { license, line, n, stored, was: plans, is: resolved.plans, isNew },
      { before, after, latest },
    );
    changes.push(...change.changes);
    reason ??= change.reason;
    settled.push({ license, plans: resolved.plans, standing: change.standing });
  }
  const more = await settleCount(work, line, settled, latest);
  if (more === 'issued') changes.push('issued');
  else if (more === 'reduced') reason = 'reduced';
  else if (more !== undefined) waits ??= more;
  if (more !== undefined && typeof more === 'object')
    for (const { identity } of after.filter(isUpgrade)) waitingUpgrades.add(identity);
  if (latest !== undefined && waitingUpgrades.has(latest.identity) && waits !== undefined)
    return { outcome: { action: 'waiting', reason: waits.waitsFor }, waits, waitingUpgrades };
  const action = chosenAction(changes, latest?.event as OrderEventName | undefined);
  return { outcome: outcomeOf(latest, action, reason), waits, waitingUpgrades };
}

/** What a line's events need to be folded before it has licences: an upgrade may be resolved later. */
async function meaningsAhead(
  work: Work,
  line: OrderLine,
  sold: Sold[] | Waits | undefined,
  events: LineEvent[],
): Promise<Meanings> {
  const [first] = sold === undefined || isWaiting(sold) ? [] : sold;
  const plan = first && (await planOf(work, first.plan));
  const base = { duration: plan?.duration ?? null, count: 1 };
  const upgrades = new Map(events.filter(isUpgrade).map(({ identity }) => [identity, base]));
  return { base, upgrades, renews: line.renewsJson !== null, n: 1 };
}

/**
 * Issues the licences that an upgrade has given the line more.
 * @returns `reduced`: the new event gives fewer, and those above stay by the rules of the shop
 */
async function settleCount(
  work: Work,
  line: OrderLine,
  settled: { license: OrderLicense; plans: Plans; standing: LineFold }[],
  latest: OrderEvent | undefined,
): Promise<'issued' | 'reduced' | Waits | undefined> {
  let did: 'issued' | 'reduced' | undefined;
  for (const { license, plans, standing } of settled) {
    const isFirst = settled.find((one) => one.plans.base.plan === plans.base.plan)?.license.id === license.id;
    const wanted = standing.upgrade && plans.upgrades[standing.upgrade.identity]?.count;
    if (!isFirst || wanted === undefined || standing.state !== 'active') continue;
    const alike = work.licenses.filter(
      ({ lineId, state, plansJson }) =>
        lineId === line.id &&
        state !== 'cancelled' &&
        (JSON.parse(plansJson) as Plans).base.plan === plans.base.plan,
    );
    const isOfLatest = standing.upgrade?.identity === latest?.identity;
    if (alike.length > wanted && isOfLatest && did === undefined) did = 'reduced';
    if (alike.length >= wanted) continue;
    const [like] = await findLicensesByIds(work.trx, [license.licenseId]);
    if (like === undefined) continue;
    const { plan, activationLimit: limit } = like;
    const made = await issueMore(work, line, wanted - alike.length, {
      planId: plan.id,
      limit,
      plans,
      end: like,
    });
    if (isWaiting(made)) return made;
    did = 'issued';
  }
  return did;
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
  if (event === 'chargeback_reversed' || event === 'refund_failed') first.push('issued', 'reinstated');
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
