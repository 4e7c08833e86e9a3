import {
  describeState,
  identifierName,
  isRead,
  step,
  type Call,
  type History,
  type State,
} from './license-history';

/**
 * Searches for an order of a licence's calls, each between its start and its end, in which all answers match the model.
 *
 * This is Wing and Gong's search in the just-in-time form of Lowe's "Testing for linearizability" (2017), with his
 * cache of visited configurations. It processes starts and ends in order, and keeps every configuration (a state, and
 * the pending calls placed to reach it) that explains all answers so far. A call is placed only when an answer requires
 * it. The first answer that leaves no configuration is unexplained.
 */
export type Verdict =
  | { explained: true }
  | { explained: false; call: Call; states: State[] }
  | { explained: undefined; why: string };

interface Configuration {
  state: State;
  /** the clients whose pending call is placed, as bits: calls that may write */
  writes: number;
  /** the clients whose pending read is placed, as bits */
  reads: number;
  /** the calls of unknown outcome that took effect, as bits of their index */
  unknown: number;
}

const MAX_UNKNOWN = 30;
const DEFAULT_TIMEOUT_MS = 10_000;

/** Searches for a valid order of calls. @param patience the ms after which the search gives up, undecided */
export function explain({ limit, calls }: History, patience = DEFAULT_TIMEOUT_MS): Verdict {
  const until = performance.now() + patience;
  const events = calls.flatMap((call) => [
    { at: call.startedAt, call, isEnd: false },
    ...(call.known ? [{ at: call.endedAt, call, isEnd: true }] : []),
  ]);
  // At equal times starts come before ends, so that the calls overlap.
  events.sort((a, b) => a.at - b.at || Number(a.isEnd) - Number(b.isEnd));

  const underWay = new Map<number, Call>();
  const unknown: Call[] = [];
  let configurations: Configuration[] = [{ state: 0, writes: 0, reads: 0, unknown: 0 }];
  for (const { call, isEnd } of events) {
    if (!isEnd) {
      if (call.known) underWay.set(call.client, call);
      // Ignore a read without an answer.
      else if (!isRead(call)) unknown.push(call);
      if (unknown.length > MAX_UNKNOWN)
        return { explained: undefined, why: `more than ${MAX_UNKNOWN} unknown outcomes` };
      continue;
    }
    const next = place(call, configurations);
    if (next === undefined) return { explained: undefined, why: `not decided within ${patience} ms` };
    if (next.length === 0)
      return { explained: false, call, states: [...new Set(configurations.map(({ state }) => state))] };
    underWay.delete(call.client);
    configurations = next;
  }
  return { explained: true };

  /** Places the call after any other calls. @returns the configurations; undefined if the time is up */
  function place(call: Call, from: Configuration[]): Configuration[] | undefined {
    const bit = 1 << call.client;
    const reads = isRead(call);
    const placed = createMemory();
    const visited = createMemory();
    const open = [...from];
    for (let turns = 1; open.length > 0; turns++) {
      if (turns % 1_000 === 0 && performance.now() > until) return undefined;
      const here = open.pop()!;
      if ((here.writes | here.reads) & bit) {
        placed.add({ ...here, writes: here.writes & ~bit, reads: here.reads & ~bit });
        continue;
      }
      const after = step(limit, here.state, call);
      if (after.answer === call.answer) {
        placed.add(move(here, after.state));
        // Placing a read now excludes nothing later. A write may have to follow another call's.
        if (reads) continue;
      }
      for (const other of underWay.values()) {
        const otherBit = 1 << other.client;
        if (other === call || here.writes & otherBit || isRead(other)) continue;
        const { state, answer } = step(limit, here.state, other);
        if (answer === other.answer) visit({ ...move(here, state), writes: here.writes | otherBit });
      }
      for (const [i, other] of unknown.entries()) {
        if (here.unknown & (1 << i) || hasEarlierTwin(i, here.unknown)) continue;
        const { state } = step(limit, here.state, other);
        if (state !== here.state) visit({ ...move(here, state), unknown: here.unknown | (1 << i) });
      }
    }
    return placed.all();

    function visit(configuration: Configuration): void {
      if (visited.add(configuration)) open.push(configuration);
    }
  }

  /** Leaves a state after placing every pending read that fits it there, which can only help. */
  function move(from: Configuration, state: State): Configuration {
    if (state === from.state) return { ...from };
    let { reads } = from;
    for (const call of underWay.values())
      if (
        !(reads & (1 << call.client)) &&
        isRead(call) &&
        step(limit, from.state, call).answer === call.answer
      )
        reads |= 1 << call.client;
    return { ...from, state, reads };
  }

  /** Reports whether an equal unknown call exists that must take effect first. */
  function hasEarlierTwin(index: number, used: number): boolean {
    const { kind, identifier } = unknown[index]!;
    return unknown
      .slice(0, index)
      .some((twin, i) => !(used & (1 << i)) && twin.kind === kind && twin.identifier === identifier);
  }
}

/**
 * Drops a configuration if another covers it: with the same state and writes, the other has placed at least the same
 * reads and used no unknown call that this one has left.
 */
function createMemory() {
  const buckets = new Map<number, Configuration[]>();
  return {
    /** Adds a configuration. @returns false if a stored one covers it */
    add(added: Configuration): boolean {
      const key = added.state * 2 ** 30 + added.writes;
      const bucket = buckets.get(key) ?? [];
      if (bucket.some((known) => standsFor(known, added))) return false;
      buckets.set(key, [...bucket.filter((known) => !standsFor(added, known)), added]);
      return true;
    },
    all: () => [...buckets.values()].flat(),
  };
}

function standsFor(one: Configuration, other: Configuration): boolean {
  return (one.unknown & ~other.unknown) === 0 && (other.reads & ~one.reads) === 0;
}

const SHOWN_BEFORE = 12;
const SHOWN_STATES = 6;

/** Formats a table of the calls around the unexplained call, which is marked. */
export function describeViolation({ limit, calls }: History, call: Call, states: State[]): string {
  const around = calls.filter(
    ({ startedAt, endedAt }) => startedAt <= call.endedAt && endedAt >= call.startedAt,
  );
  const before = calls
    .filter(({ endedAt }) => endedAt < call.startedAt)
    .sort((a, b) => a.endedAt - b.endedAt)
    .slice(-SHOWN_BEFORE);
  const unknown = calls.filter(
    (one) =>
      !one.known &&
      !isRead(one) &&
      one.startedAt <= call.endedAt &&
      !around.includes(one) &&
      !before.includes(one),
  );
  const rows = [...unknown, ...before, ...around]
    .sort((a, b) => a.startedAt - b.startedAt)
    .map((one) => [
      one === call ? '>' : '',
      one.startedAt.toFixed(2),
      one.endedAt.toFixed(2),
      String(one.client),
      `${one.kind}${one.identifier === undefined ? '' : ` ${identifierName(one.identifier)}`}`,
      one.known ? one.answer : `${one.answer} (unknown outcome)`,
    ]);
  const table = [['', 'start (ms)', 'end (ms)', 'client', 'call', 'answer'], ...rows];
  const widths = table[0]!.map((_, column) => Math.max(...table.map((row) => row[column]!.length)));
  const shown = states.slice(0, SHOWN_STATES).map(describeState);
  if (states.length > shown.length) shown.push(`${states.length - shown.length} more`);
  return [
    `limit ${limit || 'none'}: no order of the calls explains the one marked ">".`,
    `The state by the answers before it: ${shown.join(' or ')}`,
    ...table.map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    ),
  ].join('\n');
}
