import { expect } from '@jest/globals';
import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  duration,
  findLosses,
  isHealthy,
  slowest,
  startLoad,
  tally,
  type Call,
  type Goods,
  type Load,
} from './load';
import { eventually } from './processes';
import type { Db } from '../../src/store/engine/database';

/** The checks under every fault: answers before and after it, no hanging call, no lost data. */

export interface Fault {
  /** the load's target: one instance, or several */
  url: string | string[];
  goods: Goods;
  db: Db;
  begin: () => unknown;
  /** the seconds between `begin` and `end` */
  lasts: number;
  end?: () => unknown;
  /** the maximum answer time in ms: the service's own deadline is 4 s, and this machine is shared */
  patience?: number;
  /** the seconds in which everything must recover */
  recovers?: number;
}

export interface Outcome {
  load: Load;
  /** calls answered before the fault */
  before: Call[];
  /** calls sent and answered during the fault */
  meanwhile: Call[];
  /** calls sent after the fault */
  after: Call[];
  /** returns the ms from the fault's start to the first matching answer; Infinity without one */
  until: (what: (call: Call) => boolean) => number;
  /** ms from the fault's start to the end of the longest time without a good answer that needs a write */
  outage: number;
  /** ms from the fault's end to the first successful answer */
  recovery: number;
}

/** The number of calls before, during and after a fault: one of each client. */
const ENOUGH = 24;

/** Applies load before and during a fault, and long enough afterwards to check the recovery. */
export async function underFault(fault: Fault): Promise<Outcome> {
  const { url, goods, db, begin, lasts, end = () => undefined, patience = 6_000, recovers = 5 } = fault;
  const load = startLoad(url, goods);
  /** Waits for these seconds, and on a busy machine until enough calls that were sent `since` are answered. */
  const pass = async (seconds: number, since: number) => {
    await sleep(seconds * 1_000);
    await eventually(() =>
      expect(load.calls.filter(({ sentAt }) => sentAt > since).length).toBeGreaterThan(ENOUGH),
    );
  };
  let began: number, begun: number, ending: number, ended: number;
  try {
    await pass(2, 0);
    began = load.now();
    await begin();
    begun = load.now();
    await pass(lasts, begun);
    ending = load.now();
    await end();
    ended = load.now();
    await pass(recovers + 2, ended + recovers * 1_000);
  } finally {
    await load.stop();
  }

  const { calls } = load;
  const before = calls.filter(({ answeredAt }) => answeredAt < began);
  const after = calls.filter(({ sentAt }) => sentAt > ended);
  const recovered = after.filter(({ sentAt }) => sentAt > ended + recovers * 1_000);
  expect(tally(unhealthy(before))).toEqual({});
  expect(calls.filter((call) => duration(call) > patience).map(duration)).toEqual([]);
  expect(tally(unhealthy(recovered))).toEqual({});
  expect(await findLosses(db, load.book)).toEqual([]);
  const first = (among: Call[]) => Math.min(...among.map(({ answeredAt }) => answeredAt));
  const outcome: Outcome = {
    load,
    before,
    meanwhile: calls.filter(({ sentAt, answeredAt }) => sentAt > begun && answeredAt < ending),
    after,
    until: (what) => first(calls.filter((call) => call.sentAt > began && what(call))) - began,
    outage: endOfLongestGap(calls, began) - began,
    recovery: first(calls.filter((call) => call.answeredAt > ended && isHealthy(call))) - ended,
  };
  note(figuresOf(outcome));
  return outcome;
}

function endOfLongestGap(calls: Call[], began: number): number {
  const answers = calls
    .filter((call) => call.answeredAt > began && call.status === 200 && call.kind !== 'download')
    .map(({ answeredAt }) => answeredAt)
    .sort((a, b) => a - b);
  const gaps = answers.map((end, i) => ({ end, length: end - (answers[i - 1] ?? began) }));
  return gaps.reduce((longest, gap) => (gap.length > longest.length ? gap : longest)).end;
}

/** Appends the figures of a test as a line of JSON to TEST_FAULTS_FIGURES=FILE, for docs/internals/reliability.md. */
export function note(figures: object): void {
  const file = process.env.TEST_FAULTS_FIGURES;
  if (file === undefined) return;
  appendFileSync(file, `${JSON.stringify({ test: expect.getState().currentTestName, ...figures })}\n`);
}

function figuresOf({ load, before, meanwhile, until, outage, recovery }: Outcome): object {
  return {
    ...countsOf(load.calls),
    first_refusal_ms: Math.round(until((call) => call.status !== undefined && !isHealthy(call))),
    outage_ms: Math.round(outage),
    recovery_ms: Math.round(recovery),
    p99_before_ms: Math.round(quantile(before, 0.99)),
    p99_meanwhile_ms: Math.round(quantile(meanwhile, 0.99)),
  };
}

export function countsOf(calls: Call[]): object {
  const failed = unhealthy(calls);
  return {
    calls: calls.length,
    refused: failed.filter(({ status }) => status !== undefined).length,
    unanswered: failed.filter(({ status }) => status === undefined).length,
    slowest_ms: Math.round(slowest(calls)),
  };
}

/** Returns the calls that a healthy service would have answered differently. */
export function unhealthy(calls: Call[]): Call[] {
  return calls.filter((call) => !isHealthy(call));
}

export function quantile(calls: Call[], share: number): number {
  const sorted = calls.map(duration).sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}
