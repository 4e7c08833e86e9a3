import { dayOf } from '../base/days';
import type { Transaction } from '../store/engine/database';
import { addEndSums, addStateSums, listSummedEvents, type EndSum, type StateSum } from '../store/renewals';
import type { UnsummedEvent } from '../store/sums';
import { termEndsOf, phasesOf, TIMELINE_ACTIONS, type TimelineEvent } from './timeline';

/**
 * Keeps the sums of ends and of states (docs/renewals.md). They are the totals of all histories: an event changes them
 * by the totals of its licence's history with the event, minus those without it.
 */

/** @param taken events that this transaction takes for the sums */
export async function sumTimelines(trx: Transaction, taken: UnsummedEvent[]): Promise<void> {
  const news = taken.filter(({ action }) => (TIMELINE_ACTIONS as readonly string[]).includes(action));
  if (news.length === 0) return;
  const ids = new Set(news.map(({ id }) => id));
  const sums = new Sums();
  for (const events of await historiesOf(trx, [...new Set(news.map(({ licenseId }) => licenseId))])) {
    sums.add(events, 1);
    sums.add(
      events.filter(({ id }) => !ids.has(id)),
      -1,
    );
  }
  await sums.write(trx);
}

/** Subtracts the histories of licences from the sums. The caller deletes them in the same transaction. */
export async function forgetTimelines(trx: Transaction, licenseIds: number[]): Promise<void> {
  const sums = new Sums();
  for (const events of await historiesOf(trx, licenseIds, { isLocked: true })) sums.add(events, -1);
  await sums.write(trx);
}

async function historiesOf(
  trx: Transaction,
  licenseIds: number[],
  options?: { isLocked?: boolean },
): Promise<TimelineEvent[][]> {
  const histories = new Map<number, TimelineEvent[]>();
  for (const { licenseId, ...event } of await listSummedEvents(trx, licenseIds, TIMELINE_ACTIONS, options)) {
    const history = histories.get(licenseId);
    if (history === undefined) histories.set(licenseId, [event]);
    else history.push(event);
  }
  return [...histories.values()];
}

class Sums {
  private readonly ends = new Map<string, EndSum>();
  private readonly states = new Map<string, StateSum>();

  add(events: TimelineEvent[], sign: 1 | -1): void {
    for (const { at, planId, outcome } of termEndsOf(events))
      count(this.ends, { day: dayOf(at), planId, outcome }, sign);
    const phases = phasesOf(events);
    for (const [i, { at, planId, status }] of phases.entries()) {
      const month = dayOf(at).slice(0, 7);
      const before = phases[i - 1];
      count(this.states, { month, planId, status }, sign);
      if (before !== undefined)
        count(this.states, { month, planId: before.planId, status: before.status }, sign === 1 ? -1 : 1);
    }
  }

  /** Writes in the order of the keys, to avoid deadlocks. */
  async write(trx: Transaction): Promise<void> {
    await addEndSums(trx, changedOf(this.ends));
    await addStateSums(trx, changedOf(this.states));
  }
}

function count<Sum extends { licenses: number }>(
  sums: Map<string, Sum>,
  key: Omit<Sum, 'licenses'>,
  by: number,
): void {
  const name = Object.values(key).join(' ');
  const sum = sums.get(name);
  if (sum === undefined) sums.set(name, { ...key, licenses: by } as Sum);
  else sum.licenses += by;
}

function changedOf<Sum extends { licenses: number }>(sums: Map<string, Sum>): Sum[] {
  return [...sums]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, sum]) => (sum.licenses === 0 ? [] : [sum]));
}
