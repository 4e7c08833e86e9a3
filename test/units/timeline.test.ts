import { expect, test } from '@jest/globals';
import { termEndsOf, phasesOf, type TimelineEvent } from '../../src/figures/timeline';

/** Tests the ends of licences, their outcomes and states, for histories that a seller could describe in a sentence. */

const at = (day: string) => new Date(`${day}T12:00:00Z`);
const text = (day: string) => `${day}T12:00:00Z`;

type Said = [day: string, action: string, after: object, before?: object];

function history(...said: Said[]): TimelineEvent[] {
  return said.map(([day, action, after, before], i) => ({
    ...{ id: i + 1, at: at(day), action },
    before: (before ?? null) as TimelineEvent['before'],
    after: after as TimelineEvent['after'],
  }));
}

const issued = (day: string, end: string | null, more: object = {}): Said => [
  ...([day, 'issue'] as const),
  { status: 'active', plan_id: 7, expires_at: end && text(end), ...more },
];
const renewed = (day: string, end: string | null, more: object = {}): Said => [
  ...([day, 'renew'] as const),
  { status: 'active', expires_at: end && text(end), ...more },
];
const took = (day: string, end: string): Said => [
  ...([day, 'set-end'] as const),
  { status: 'active', expires_at: text(end) },
];

const CASES: [story: string, said: Said[], ends: [day: string, outcome: string, planId?: number][]][] = [
  ['was sold for a year', [issued('2026-01-10', '2027-01-10')], [['2027-01-10', 'open']]],
  ['was sold for life', [issued('2026-01-10', null)], []],
  [
    'was renewed a month before its end',
    [issued('2025-01-10', '2026-01-10'), renewed('2025-12-10', '2027-01-10')],
    [
      ['2026-01-10', 'in_time'],
      ['2027-01-10', 'open'],
    ],
  ],
  [
    'was renewed at the very second of its end, when it works no more',
    [issued('2025-01-10', '2026-01-10'), renewed('2026-01-10', '2027-01-10')],
    [
      ['2026-01-10', 'late'],
      ['2027-01-10', 'open'],
    ],
  ],
  [
    'was renewed 30 days after its end',
    [issued('2025-01-10', '2026-01-10'), renewed('2026-02-09', '2027-02-09')],
    [
      ['2026-01-10', 'late'],
      ['2027-02-09', 'open'],
    ],
  ],
  [
    'was renewed 31 days after its end, which was lost by then',
    [issued('2025-01-10', '2026-01-10'), renewed('2026-02-10', '2027-02-10')],
    [
      ['2026-01-10', 'open'],
      ['2027-02-10', 'open'],
    ],
  ],
  [
    'was paid by its subscription within the grace',
    [
      issued('2025-01-10', '2026-01-13', { grace_days: 3, renews_itself: true }),
      renewed('2026-01-11', '2027-01-13', { grace_days: 3 }),
    ],
    [
      ['2026-01-10', 'in_time'],
      ['2027-01-10', 'renewing'],
    ],
  ],
  [
    'lost its subscription, which takes the grace and not the paid end',
    [
      issued('2025-01-10', '2026-01-13', { grace_days: 3, renews_itself: true }),
      [
        ...(['2025-06-01', 'set-end'] as const),
        { status: 'active', expires_at: text('2026-01-10'), renews_itself: false },
      ],
    ],
    [['2026-01-10', 'open']],
  ],
  [
    'was renewed, and the money went back',
    [
      issued('2025-01-10', '2026-01-10'),
      renewed('2025-12-10', '2027-01-10'),
      took('2025-12-20', '2026-01-10'),
    ],
    [['2026-01-10', 'open']],
  ],
  [
    'was renewed again after that',
    [
      issued('2025-01-10', '2026-01-10'),
      renewed('2025-12-10', '2027-01-10'),
      took('2025-12-20', '2026-01-10'),
      renewed('2026-01-20', '2027-01-20'),
    ],
    [
      ['2026-01-10', 'late'],
      ['2027-01-20', 'open'],
    ],
  ],
  [
    'was renewed twice, and the later renewal went back',
    [
      issued('2025-01-10', '2026-01-10'),
      renewed('2025-12-10', '2027-01-10'),
      renewed('2025-12-11', '2028-01-10'),
      took('2026-06-01', '2027-01-10'),
    ],
    [
      ['2026-01-10', 'in_time'],
      ['2027-01-10', 'open'],
    ],
  ],
  [
    'was given less by hand than it had',
    [issued('2025-01-10', '2026-01-10'), took('2025-02-01', '2025-07-10')],
    [['2025-07-10', 'open']],
  ],
  [
    'became one for life',
    [issued('2025-01-10', '2026-01-10'), renewed('2025-12-10', null)],
    [['2026-01-10', 'in_time']],
  ],
  [
    'was suspended over its end',
    [
      issued('2025-01-10', '2026-01-10'),
      ['2025-12-01', 'suspend', { status: 'suspended' }],
      ['2026-02-01', 'reinstate', { status: 'expired' }],
    ],
    [],
  ],
  [
    'was suspended for a while',
    [
      issued('2025-01-10', '2026-01-10'),
      ['2025-05-01', 'suspend', { status: 'suspended' }],
      ['2025-06-01', 'reinstate', { status: 'active' }],
    ],
    [['2026-01-10', 'open']],
  ],
  [
    'was revoked after it had ended',
    [issued('2025-01-10', '2026-01-10'), ['2026-03-01', 'revoke', { status: 'revoked' }]],
    [['2026-01-10', 'open']],
  ],
  [
    'changed its plan before its end, and again after it',
    [
      issued('2025-01-10', '2026-01-10'),
      ['2025-07-01', 'change-plan', { plan_id: 8 }, { plan_id: 7 }],
      ['2026-01-12', 'change-plan', { plan_id: 9 }, { plan_id: 8 }],
    ],
    [['2026-01-10', 'open', 8]],
  ],
  [
    'came by an import when it had ended',
    [['2026-03-01', 'import', { status: 'active', plan_id: 7, expires_at: text('2026-01-10') }]],
    [],
  ],
  [
    'came so, and was renewed here',
    [
      ['2026-03-01', 'import', { status: 'active', plan_id: 7, expires_at: text('2026-01-10') }],
      renewed('2026-03-02', '2027-03-02'),
    ],
    [['2027-03-02', 'open']],
  ],
  [
    'has a history that begins in the midst',
    [
      [
        ...(['2026-01-20', 'renew'] as const),
        { status: 'active', expires_at: text('2027-01-10') },
        { status: 'expired', expires_at: text('2026-01-10'), plan_id: 7 },
      ],
    ],
    [['2027-01-10', 'open']],
  ],
  [
    'keeps its grace when an import names the end alone',
    [
      issued('2025-01-10', '2026-01-13', { grace_days: 3 }),
      [
        ...(['2025-02-01', 'import'] as const),
        { expires_at: text('2026-02-13') },
        { expires_at: text('2026-01-13') },
      ],
    ],
    [
      ['2026-01-10', 'in_time'],
      ['2026-02-10', 'open'],
    ],
  ],
];

test.each(CASES)('the ends of a licence that %s', (_story, said, ends) => {
  const found = termEndsOf(history(...said).reverse());
  expect(found).toEqual(ends.map(([day, outcome, planId = 7]) => ({ at: at(day), outcome, planId })));
});

test('the states of a licence that ended, was renewed, changed its plan and was revoked', () => {
  const events = history(
    issued('2025-01-10', '2026-01-10'),
    renewed('2026-02-10', '2027-02-10'),
    ['2026-03-10', 'change-plan', { plan_id: 8 }, { plan_id: 7 }],
    ['2026-04-10', 'suspend', { status: 'suspended' }],
    ['2027-05-10', 'reinstate', { status: 'expired' }],
    ['2027-06-10', 'revoke', { status: 'revoked' }],
  );
  expect(phasesOf(events).map((one) => [one.at, one.planId, one.status])).toEqual([
    [at('2025-01-10'), 7, 'active'],
    [at('2026-01-10'), 7, 'expired'],
    [at('2026-02-10'), 7, 'active'],
    [at('2026-03-10'), 8, 'active'],
    [at('2026-04-10'), 8, 'suspended'],
    [at('2027-05-10'), 8, 'expired'],
    [at('2027-06-10'), 8, 'revoked'],
  ]);
  // The end is known before it comes.
  expect(phasesOf(events.slice(0, 1)).at(-1)).toEqual({ at: at('2026-01-10'), planId: 7, status: 'expired' });
});
