import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isRead, step, type Call, type History, type Kind } from '../support/license-history';
import { describeViolation, explain } from '../support/linearizable';

/** The checker of whole histories: the mistakes that it must find, and its agreement with an exhaustive search. */

/** Reads a history. A line is "START-END CALL: ANSWER", each of a separate client. "?" is an unknown outcome. */
function history(limit: number, lines: string[]): History {
  const calls = lines.map((line, client): Call => {
    const [, start, end, kind, name, answer] = /^(\d+)-(\d+) (\w+)(?: (\w))?: (.*)$/.exec(line)!;
    return {
      client,
      kind: kind as Kind,
      identifier: name === undefined ? undefined : name.charCodeAt(0) - 97,
      startedAt: Number(start),
      endedAt: Number(end),
      answer: answer!,
      known: answer !== '?',
    };
  });
  return { limit, calls };
}

/** Returns the line with the unexplained answer; undefined if all are explained. */
function unexplained(limit: number, lines: string[]): string | undefined {
  const verdict = explain(history(limit, lines));
  return verdict.explained === false ? lines[verdict.call.client] : undefined;
}

describe('an order is found', () => {
  const ACTIVATED_AT_ONCE = [
    '1-9 activate a: activated a.example, 2 of 2',
    '2-8 activate b: activated b.example, 1 of 2',
    '3-7 activate c: 403 ACTIVATION_LIMIT_REACHED, 2 of 2',
    '20-21 stored: active [a.example b.example], counter 2',
  ];
  const CASES: [string, number, string[]][] = [
    ['no calls', 1, []],
    ['another order than that of the starts', 2, ACTIVATED_AT_ONCE],
    [
      'no limit',
      0,
      ['1-2 activate a: activated a.example, 1 of 0', '3-4 activate b: activated b.example, 2 of 0'],
    ],
    [
      'activated again: a success that takes no slot',
      1,
      ['1-2 activate a: activated a.example, 1 of 1', '3-4 activate a: activated a.example, 1 of 1'],
    ],
    [
      'an activation that timed out and took effect later',
      1,
      [
        '1-2 activate a: ?',
        '3-4 validate a: valid, active, not activated, 0 of 1',
        '5-6 activate b: 403 ACTIVATION_LIMIT_REACHED, 1 of 1',
        '7-8 stored: active [a.example], counter 1',
      ],
    ],
    [
      'one that never did',
      1,
      [
        '1-2 activate a: ?',
        '5-6 activate b: activated b.example, 1 of 1',
        '7-8 stored: active [b.example], counter 1',
      ],
    ],
    [
      'suspended for a moment',
      1,
      [
        '1-2 activate a: activated a.example, 1 of 1',
        '3-4 suspend: done',
        '5-9 activate a: 403 LICENSE_INACTIVE',
        '5-9 activate a: activated a.example, 1 of 1',
        '6-8 reinstate: done',
        '6-8 validate a: not valid, suspended, activated, 1 of 1',
        '6-8 deactivate a: deactivated a.example, 0 used',
        '10-11 stored: active [], counter 0',
      ],
    ],
  ];
  test.each(CASES)('%s', (_, limit, lines) => {
    expect(explain(history(limit, lines))).toEqual({ explained: true });
  });
});

describe('planted mistakes are found', () => {
  const BOTH = ['1-2 activate a: activated a.example, 1 of 2', '3-4 activate b: activated b.example, 2 of 2'];
  const CASES: [string, number, string[]][] = [
    [
      'a counter that was read apart from the identifier, validate',
      2,
      [
        ...BOTH,
        '5-9 deactivate b: deactivated b.example, 1 used',
        '6-8 validate b: valid, active, not activated, 2 of 2',
      ],
    ],
    [
      'a counter that was read apart from the identifier, activate',
      1,
      [
        '1-2 activate a: activated a.example, 1 of 1',
        '3-9 deactivate a: deactivated a.example, 0 used',
        '4-8 activate a: 403 ACTIVATION_LIMIT_REACHED, 1 of 1',
      ],
    ],
    ['a limit overrun by one', 2, [...BOTH, '5-6 activate c: activated c.example, 3 of 2']],
    [
      'a limit overrun by one, as stored',
      1,
      ['1-3 activate a: activated a.example, 1 of 1', '5-6 stored: active [a.example b.example], counter 2'],
    ],
    ['a lost activation', 2, [...BOTH, '5-6 validate a: valid, active, not activated, 1 of 2']],
    ['a lost activation, as stored', 2, [...BOTH, '5-6 stored: active [b.example], counter 1']],
    [
      'a doubled activation',
      2,
      ['1-2 activate a: activated a.example, 1 of 2', '3-4 activate a: activated a.example, 2 of 2'],
    ],
    [
      'a doubled activation, as stored',
      2,
      ['1-2 activate a: activated a.example, 1 of 2', '3-4 stored: active [a.example], counter 2'],
    ],
    ['an answer that is none of the contract', 2, ['1-2 activate a: 500 INTERNAL_ERROR']],
    [
      'an unknown outcome that would have to be carried out twice',
      2,
      [
        '1-2 activate a: ?',
        '3-4 deactivate a: deactivated a.example, 0 used',
        '5-6 validate a: valid, active, activated, 1 of 2',
      ],
    ],
  ];
  test.each(CASES)('%s', (_, limit, lines) => {
    expect(unexplained(limit, lines)).toBe(lines.at(-1));
  });

  test('an unknown outcome before its call', () => {
    const seen = '1-2 validate a: valid, active, activated, 1 of 2';
    expect(unexplained(2, [seen, '3-4 activate a: ?'])).toBe(seen);
  });
});

test('the calls around a violation are printed, with the states that the answers before it allow', () => {
  const seen = history(2, [
    '1-2 activate a: activated a.example, 1 of 2',
    '3-4 activate b: activated b.example, 2 of 2',
    '5-9 deactivate b: deactivated b.example, 1 used',
    '6-8 validate b: valid, active, not activated, 2 of 2',
    '10-12 activate c: activated c.example, 2 of 2',
  ]);
  const verdict = explain(seen);
  if (verdict.explained !== false) throw new Error('Nothing was found.');
  expect(describeViolation(seen, verdict.call, verdict.states)).toBe(
    [
      'limit 2: no order of the calls explains the one marked ">".',
      'The state by the answers before it: active [a.example b.example]',
      '   start (ms)  end (ms)  client  call                  answer',
      '   1.00        2.00      0       activate a.example    activated a.example, 1 of 2',
      '   3.00        4.00      1       activate b.example    activated b.example, 2 of 2',
      '   5.00        9.00      2       deactivate b.example  deactivated b.example, 1 used',
      '>  6.00        8.00      3       validate b.example    valid, active, not activated, 2 of 2',
    ].join('\n'),
  );
});

test('a search that takes too long, or has too many unknown outcomes, says that it is undecided', () => {
  const doubts = Array.from({ length: 31 }, (_, i) => `${i}-${i} activate a: ?`);
  expect(explain(history(3, doubts))).toMatchObject({ explained: undefined });
  // Any of them may have happened, in any order, and all together are one too few.
  const lines = Array.from({ length: 20 }, (_, i) => `1-90 activate ${String.fromCharCode(97 + i)}: ?`);
  const many = history(0, [...lines, '2-95 validate a: valid, active, not activated, 21 of 0']);
  expect(explain(many, 20)).toMatchObject({ explained: undefined });
});

test('it agrees with the search of every order', () => {
  const KINDS: Kind[] = ['activate', 'activate', 'deactivate', 'validate', 'suspend', 'reinstate'];
  const call = fc.record({
    kind: fc.constantFrom(...KINDS),
    identifier: fc.nat({ max: 2 }),
    start: fc.nat({ max: 20 }),
    before: fc.nat({ max: 6 }),
    after: fc.nat({ max: 6 }),
    /** an unknown outcome: never carried out, or late */
    unknown: fc.option(fc.record({ late: fc.nat({ max: 20 }), happens: fc.boolean() }), { freq: 4 }),
  });
  const wrong = fc.record({ index: fc.nat(), answerOf: fc.nat(), shown: fc.boolean() });
  let violations = 0;
  fc.assert(
    fc.property(fc.nat({ max: 3 }), fc.array(call, { maxLength: 7 }), wrong, (limit, drawn, mistake) => {
      const calls = drawn.map(({ kind, identifier, start, before, after, unknown }, client) => ({
        client,
        kind,
        identifier: kind === 'suspend' || kind === 'reinstate' ? undefined : identifier,
        startedAt: start,
        endedAt: start + before + after,
        answer: '',
        known: unknown === null,
        happens: unknown === null ? start + before : unknown.happens ? start + unknown.late : Infinity,
      }));
      let state = 0;
      for (const one of [...calls].sort((a, b) => a.happens - b.happens)) {
        if (one.happens === Infinity) continue;
        const after = step(limit, state, one);
        ({ state } = after);
        one.answer = after.answer;
      }
      const seen: History = { limit, calls };
      expect(explain(seen)).toEqual({ explained: true });
      if (calls.length === 0) return;
      // The answer of another call or state is often wrong, but not always.
      const victim = calls[mistake.index % calls.length]!;
      victim.answer = mistake.shown
        ? calls[mistake.answerOf % calls.length]!.answer
        : step(limit, mistake.answerOf % 8, victim).answer;
      const { explained } = explain(seen);
      expect(explained).toBe(hasOrder(seen, 0, calls));
      if (!explained) violations++;
    }),
    { numRuns: 3_000 },
  );
  // About 330 of the random histories have violations.
  expect(violations).toBeGreaterThan(200);
});

/** Searches by trying every order, without a cache. */
function hasOrder(seen: History, state: number, left: Call[]): boolean {
  const known = left.filter((call) => call.known);
  if (known.length === 0) return true;
  const firstEnd = Math.min(...known.map(({ endedAt }) => endedAt));
  return left.some((call) => {
    if (call.startedAt > firstEnd) return false;
    const after = step(seen.limit, state, call);
    if (call.known && after.answer !== call.answer) return false;
    return hasOrder(
      seen,
      after.state,
      left.filter((other) => other !== call),
    );
  });
}

test('what counts as a read never changes anything', () => {
  for (const kind of ['activate', 'deactivate', 'validate', 'suspend', 'reinstate'] as const)
    for (const suspended of [0, 1 << 20])
      for (let bits = 0; bits < 8; bits++) {
        const state = bits | suspended;
        const call = { client: 0, kind, identifier: 1, startedAt: 1, endedAt: 2, known: true };
        const after = step(2, state, call);
        if (isRead({ ...call, answer: after.answer })) expect(after.state).toBe(state);
      }
});
