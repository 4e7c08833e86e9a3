import { expect, test } from '@jest/globals';
import type { LicenseMatch } from '../../src/licensing/core/lookup';
import {
  affectedSites,
  judgeSlotRequests,
  unchangedResult,
  type MatchedRequest,
  type SlotResult,
  type SlotChanges,
  type SlotCommand,
} from '../../src/licensing/core/slot-changes';
import type { Refusal } from '../../src/licensing/core/verdict';
import { siteOf } from '../../src/licensing/core/staging-sites';
import type { Activation } from '../../src/store/licenses/activations';

/** Tests how a batch of claims changes the slots of licences, without a database. */

const DAY = 86_400_000;
const NOW = new Date('2026-03-01T12:00:00Z');
const inDays = (days: number) => new Date(NOW.getTime() + days * DAY);

/** An activated site, of licence 1 by default. */
interface Stored {
  license?: number;
  name?: string;
  key?: number;
  free?: boolean;
  heldUntil?: Date;
}

interface World {
  /** The number of slots; 0 if unlimited, 3 by default. */
  limit?: number;
  freeStaging?: boolean;
  status?: string;
  /** The number of used slots that the licence counts, if it is wrong. */
  used?: number;
  /** The slots of keys with a limit of their own, by key id. */
  keys?: Record<number, number>;
  stored?: Record<string, Stored>;
}

interface Asked {
  license?: number;
  key?: number;
  name?: string;
  evenHeld?: boolean;
  /** The days for which a licence file is valid. */
  days?: number;
  /** The time of the claim, in days from now. */
  at?: number;
}

type Asking = [verb: SlotCommand | 'unknown key', site: string, more?: Asked];

function rowsOf({ stored = {}, freeStaging = false }: World): Activation[] {
  return Object.entries(stored).map(([identifier, { license = 1, name, key, free = false, heldUntil }]) => ({
    licenseId: license,
    identifier,
    name: name ?? null,
    ip: null,
    keyId: key ?? null,
    free: freeStaging && free,
    site: siteOf('domain', identifier),
    activatedAt: NOW,
    heldUntil: heldUntil ?? null,
  }));
}

function find(world: World, rows: Activation[], [verb, site, asked = {}]: Asking): MatchedRequest {
  const { limit = 3, freeStaging = false, status = 'active', used, keys = {} } = world;
  const { license: id = 1, key, at = 0, ...more } = asked;
  const own = rows.filter(({ licenseId }) => licenseId === id);
  const slots = key === undefined ? undefined : keys[key];
  const count = (some: Activation[]) => some.filter(({ free }) => !free).length;
  const found: LicenseMatch = {
    license: {
      id,
      status,
      activationLimit: limit,
      activationsUsed: used ?? count(own),
      expiresAt: null,
      ...{ graceDays: 0, renewsItself: false, allReturned: false },
      plan: { id: 1, name: 'Pro', activationType: 'domain', afterExpiry: 'nothing', freeStaging },
      product: { id: 42, name: 'Gallery' },
    },
    key: {
      id: key ?? null,
      rowId: key ?? 10,
      sentId: key ?? 10,
      endsAt: null,
      limit:
        slots === undefined ? undefined : { slots, used: count(own.filter(({ keyId }) => keyId === key)) },
    },
    identifier: site === '' ? undefined : site,
    activation: own.find(({ identifier }) => identifier === site),
  };
  const isKnown = verb !== 'unknown key';
  const claim = { keyDigest: '', identifier: site, actor: 'customer:192.0.2.1', now: inDays(at), ...more };
  return { claim: { ...claim, verb: isKnown ? verb : 'activate' }, found: isKnown ? found : undefined };
}

/** Writes an answer as `2 used`, `2 used before` if the site was activated already, or the refusal's code. */
function told(answer: SlotResult | Refusal): string {
  if ('refused' in answer) return answer.refused;
  const file = answer.file && `, file to ${answer.file.endsAt.toISOString().slice(0, 10)}`;
  return `${answer.activationsUsed} used${answer.repeated ? ' before' : ''}${file ?? ''}`;
}

/** Lists the rows that are written, and then the slots of each changed licence. */
function written({ removed, added, renamed, freed, held, taken, moved, counts }: SlotChanges): string[] {
  const of = (licenseId: number) => (licenseId === 1 ? '' : ` of ${licenseId}`);
  const slots = (how: string, by: Map<number, number>) =>
    [...by].map(([id, n]) => `${how} ${n}${of(id)}, ${counts.get(id)} events`);
  return [
    ...removed.map(({ identifier, licenseId }) => `- ${identifier}${of(licenseId)}`),
    ...added.map(
      ({ identifier, licenseId, free, keyId }) =>
        `+ ${identifier}${of(licenseId)}${free ? ' free' : ''}${keyId === null ? '' : ` by key ${keyId}`}`,
    ),
    ...renamed.map(({ identifier, name }) => `${identifier} named ${name}`),
    ...freed.map(({ identifier }) => `${identifier} becomes free`),
    ...held.map(
      ({ identifier, heldUntil }) => `${identifier} held to ${heldUntil?.toISOString().slice(0, 10)}`,
    ),
    ...slots('take', taken),
    ...slots('move', moved),
  ];
}

function judge(world: World, claims: Asking[]) {
  const rows = rowsOf(world);
  const found = claims.map((one) => find(world, rows, one));
  const sites = affectedSites(found);
  const free = new Map<number, number>();
  for (const row of rows) if (row.free) free.set(row.licenseId, (free.get(row.licenseId) ?? 0) + 1);
  return judgeSlotRequests(found, {
    neighbours: rows.filter((row) =>
      sites.some(({ licenseId, site }) => licenseId === row.licenseId && site === row.site),
    ),
    free,
  });
}

const A = 'a.com';
const B = 'b.com';
const FULL = { limit: 1, stored: { [A]: {} } };
const STAGED = { freeStaging: true, limit: 1 };
const HELD = { stored: { [A]: { heldUntil: inDays(10) } } };

test.each<[string, World, Asking[], answers: string[], changes: string[]]>([
  ['a new site takes a slot', {}, [['activate', A]], ['1 used'], ['+ a.com', 'take 1, 1 events']],
  [
    'a site twice takes one slot',
    {},
    [
      ['activate', A],
      ['activate', A],
    ],
    ['1 used', '1 used before'],
    ['+ a.com', 'take 1, 1 events'],
  ],
  ['a stored site takes none', FULL, [['activate', A]], ['1 used before'], []],
  ['above the limit', FULL, [['activate', B]], ['ACTIVATION_LIMIT_REACHED'], []],
  [
    'the last slot goes to the first who asks',
    { limit: 1 },
    [
      ['activate', A],
      ['activate', B],
    ],
    ['1 used', 'ACTIVATION_LIMIT_REACHED'],
    ['+ a.com', 'take 1, 1 events'],
  ],
  [
    'a slot given back is free for the next claim',
    FULL,
    [
      ['deactivate', A],
      ['activate', B],
    ],
    ['0 used before', '1 used'],
    ['- a.com', '+ b.com', 'move 0, 2 events'],
  ],
  [
    'given back and taken again: the row is made anew',
    FULL,
    [
      ['deactivate', A],
      ['activate', A],
    ],
    ['0 used before', '1 used'],
    ['- a.com', '+ a.com', 'move 0, 2 events'],
  ],
  [
    'taken and given back: no row, but its history',
    {},
    [
      ['activate', A],
      ['deactivate', A],
    ],
    ['1 used', '0 used before'],
    ['move 0, 2 events'],
  ],
  ['unlimited', { limit: 0 }, [['activate', A]], ['1 used'], ['+ a.com', 'take 1, 1 events']],
  [
    'licences are counted apart',
    { limit: 1 },
    [
      ['activate', A],
      ['activate', A, { license: 2 }],
    ],
    ['1 used', '1 used'],
    ['+ a.com', '+ a.com of 2', 'take 1, 1 events', 'take 1 of 2, 1 events'],
  ],
  ['an unknown key', {}, [['unknown key', A]], ['LICENSE_NOT_FOUND'], []],
  ['no valid identifier', {}, [['activate', '']], ['INVALID_REQUEST'], []],
  ['a site that is not activated', {}, [['deactivate', A]], ['ACTIVATION_NOT_FOUND'], []],
  [
    'the second who gives a site back',
    FULL,
    [
      ['deactivate', A],
      ['deactivate', A],
    ],
    ['0 used before', 'ACTIVATION_NOT_FOUND'],
    ['- a.com', 'move -1, 1 events'],
  ],
  [
    'a counter that is too low stays at 0',
    { ...FULL, used: 0 },
    [['deactivate', A]],
    ['0 used before'],
    ['- a.com', 'move 0, 1 events'],
  ],

  // labels
  [
    'the same name',
    { stored: { [A]: { name: 'Shop' } } },
    [['activate', A, { name: 'Shop' }]],
    ['1 used before'],
    [],
  ],
  [
    'another name',
    { stored: { [A]: { name: 'Shop' } } },
    [['activate', A, { name: 'Club' }]],
    ['1 used before'],
    ['a.com named Club', 'move 0, 1 events'],
  ],
  [
    'renamed and named back',
    { stored: { [A]: { name: 'Shop' } } },
    [
      ['activate', A, { name: 'Club' }],
      ['activate', A, { name: 'Shop' }],
    ],
    ['1 used before', '1 used before'],
    ['move 0, 2 events'],
  ],

  // the operator
  ['the operator is above the limit', FULL, [['override', B]], ['2 used'], ['+ b.com', 'move 1, 1 events']],
  [
    'the operator is above every state',
    { status: 'suspended' },
    [['override', A]],
    ['1 used'],
    ['+ a.com', 'move 1, 1 events'],
  ],
  [
    'a batch with the operator in it has no bound in SQL',
    {},
    [
      ['activate', A],
      ['override', B],
    ],
    ['1 used', '2 used'],
    ['+ a.com', '+ b.com', 'move 2, 2 events'],
  ],
  ['a suspended licence', { status: 'suspended' }, [['activate', A]], ['LICENSE_INACTIVE'], []],

  // keys with a limit of their own
  [
    'a key takes of its own slots, and of the licence',
    { keys: { 11: 1 } },
    [['activate', A, { key: 11 }]],
    ['1 used'],
    ['+ a.com by key 11', 'take 1, 1 events'],
  ],
  [
    'a key is full before its licence',
    { keys: { 11: 1 } },
    [
      ['activate', A, { key: 11 }],
      ['activate', B, { key: 11 }],
      ['activate', B],
    ],
    ['1 used', 'ACTIVATION_LIMIT_REACHED', '2 used'],
    ['+ a.com by key 11', '+ b.com', 'take 2, 2 events'],
  ],
  [
    'a licence is full before its key',
    { limit: 1, keys: { 11: 5 }, stored: { [A]: {} } },
    [['activate', B, { key: 11 }]],
    ['ACTIVATION_LIMIT_REACHED'],
    [],
  ],
  [
    'a key gives back only what came by it',
    { keys: { 11: 2, 12: 2 }, stored: { [A]: { key: 12 } } },
    [['deactivate', A, { key: 11 }]],
    ['ACTIVATION_NOT_FOUND'],
    [],
  ],
  [
    'the main key gives a slot back to the key it came by',
    { keys: { 11: 1 }, stored: { [A]: { key: 11 } } },
    [
      ['deactivate', A],
      ['activate', B, { key: 11 }],
    ],
    ['0 used before', '1 used'],
    ['- a.com', '+ b.com by key 11', 'move 0, 2 events'],
  ],

  // free staging
  [
    'a staging site of an activated site takes no slot',
    { ...STAGED, stored: { [A]: {} } },
    [['activate', `dev.${A}`]],
    ['1 used'],
    ['+ dev.a.com free', 'move 0, 1 events'],
  ],
  [
    'a staging site by itself takes one',
    STAGED,
    [['activate', `dev.${A}`]],
    ['1 used'],
    ['+ dev.a.com', 'take 1, 1 events'],
  ],
  [
    'where every site takes a slot',
    { limit: 1, stored: { [A]: {} } },
    [['activate', `dev.${A}`]],
    ['ACTIVATION_LIMIT_REACHED'],
    [],
  ],
  [
    'a local site takes none',
    STAGED,
    [['activate', 'localhost']],
    ['0 used'],
    ['+ localhost free', 'move 0, 1 events'],
  ],
  [
    'the production site frees its staging sites first',
    { ...STAGED, stored: { [`dev.${A}`]: {} } },
    [['activate', A]],
    ['1 used'],
    ['+ a.com', 'dev.a.com becomes free', 'move 0, 2 events'],
  ],
  [
    'with its key full, too',
    { ...STAGED, keys: { 11: 1 }, stored: { [`dev.${A}`]: { key: 11 } } },
    [['activate', A, { key: 11 }]],
    ['1 used'],
    ['+ a.com by key 11', 'dev.a.com becomes free', 'move 0, 2 events'],
  ],
  [
    'a slot of another key does not help a full one',
    { ...STAGED, limit: 5, keys: { 11: 1, 12: 1 }, stored: { [B]: { key: 11 }, [`dev.${A}`]: { key: 12 } } },
    [['activate', A, { key: 11 }]],
    ['ACTIVATION_LIMIT_REACHED'],
    [],
  ],
  [
    'the last production site takes its staging sites with it',
    { ...STAGED, stored: { [A]: {}, [`dev.${A}`]: { free: true } } },
    [['deactivate', A]],
    ['0 used before'],
    ['- a.com', '- dev.a.com', 'move -1, 2 events'],
  ],
  [
    'while another production site carries them, they stay',
    { ...STAGED, limit: 2, stored: { [A]: {}, [`shop.${A}`]: {}, [`dev.${A}`]: { free: true } } },
    [['deactivate', A]],
    ['1 used before'],
    ['- a.com', 'move -1, 1 events'],
  ],
  [
    'a free site goes by itself',
    { ...STAGED, stored: { [A]: {}, [`dev.${A}`]: { free: true } } },
    [['deactivate', `dev.${A}`]],
    ['1 used before'],
    ['- dev.a.com', 'move 0, 1 events'],
  ],
  [
    'a site that becomes free counts as one of the five',
    {
      ...STAGED,
      stored: {
        [`dev.${A}`]: {},
        ...Object.fromEntries([1, 2, 3, 4].map((n) => [`x${n}.test`, { free: true }])),
      },
    },
    [
      ['activate', A],
      ['activate', 'localhost'],
    ],
    ['1 used', 'ACTIVATION_LIMIT_REACHED'],
    ['+ a.com', 'dev.a.com becomes free', 'move 0, 2 events'],
  ],
  [
    'five sites for each slot are free, the sixth takes one',
    {
      ...STAGED,
      stored: { [A]: {}, ...Object.fromEntries([1, 2, 3, 4].map((n) => [`dev${n}.${A}`, { free: true }])) },
    },
    [
      ['activate', `dev5.${A}`],
      ['activate', `dev6.${A}`],
    ],
    ['1 used', 'ACTIVATION_LIMIT_REACHED'],
    ['+ dev5.a.com free', 'move 0, 1 events'],
  ],

  // held for a file
  [
    'a hold',
    FULL,
    [['hold', A, { days: 30 }]],
    ['1 used before, file to 2026-03-31'],
    ['a.com held to 2026-03-31', 'move 0, 1 events'],
  ],
  ['a hold only grows', HELD, [['hold', A, { days: 5 }]], ['1 used before, file to 2026-03-06'], []],
  [
    'a longer one',
    HELD,
    [['hold', A, { days: 20 }]],
    ['1 used before, file to 2026-03-21'],
    ['a.com held to 2026-03-21', 'move 0, 1 events'],
  ],
  [
    'a file of the same minute is made again',
    HELD,
    [['hold', A, { days: 10, at: 30 / 86_400 }]],
    ['1 used before, file to 2026-03-11'],
    [],
  ],
  [
    'of the next minute, anew',
    HELD,
    [['hold', A, { days: 10, at: 90 / 86_400 }]],
    ['1 used before, file to 2026-03-11'],
    ['a.com held to 2026-03-11', 'move 0, 1 events'],
  ],
  ['no file for a site that is not activated', {}, [['hold', A, { days: 30 }]], ['ACTIVATION_NOT_FOUND'], []],
  ['what is held stays', HELD, [['deactivate', A]], ['ACTIVATION_HELD'], []],
  [
    'until its end',
    HELD,
    [['deactivate', A, { at: 10 }]],
    ['0 used before'],
    ['- a.com', 'move -1, 1 events'],
  ],
  [
    'but for the operator',
    HELD,
    [['deactivate', A, { evenHeld: true }]],
    ['0 used before'],
    ['- a.com', 'move -1, 1 events'],
  ],
  [
    'a held staging site holds the site that carries it',
    { ...STAGED, stored: { [A]: {}, [`dev.${A}`]: { free: true, heldUntil: inDays(10) } } },
    [['deactivate', A]],
    ['ACTIVATION_HELD'],
    [],
  ],
  [
    'held in the same batch',
    FULL,
    [
      ['hold', A, { days: 30 }],
      ['deactivate', A],
    ],
    ['1 used before, file to 2026-03-31', 'ACTIVATION_HELD'],
    ['a.com held to 2026-03-31', 'move 0, 1 events'],
  ],
])('%s', (_, world, claims, answers, changes) => {
  const judged = judge(world, claims);
  expect(judged.answers.map(told)).toEqual(answers);
  expect(written(judged.changes)).toEqual(changes);
});

test.each<[string, World, Asking[], events: object[]]>([
  [
    'a site and its removal',
    { stored: { [B]: { name: 'Shop' } } },
    [
      ['activate', A, { name: 'Club' }],
      ['deactivate', B],
    ],
    [
      {
        action: 'activate',
        before: { activations_used: 1 },
        after: { activations_used: 2, identifier: A, name: 'Club' },
      },
      {
        action: 'deactivate',
        before: { activations_used: 2, identifier: B, name: 'Shop' },
        after: { activations_used: 1 },
      },
    ],
  ],
  [
    'by a key, freeing a staging site',
    { ...STAGED, keys: { 11: 2 }, stored: { [`dev.${A}`]: {} } },
    [['activate', A, { key: 11 }]],
    [
      {
        action: 'free-activation',
        before: { activations_used: 1, identifier: `dev.${A}` },
        after: { activations_used: 0, identifier: `dev.${A}` },
      },
      {
        action: 'activate',
        before: { activations_used: 0 },
        after: { activations_used: 1, identifier: A, name: null, key_id: 11 },
      },
    ],
  ],
  [
    'by the operator, without a slot',
    STAGED,
    [['override', 'localhost']],
    [
      {
        action: 'activate',
        before: { activations_used: 0 },
        after: { activations_used: 0, identifier: 'localhost', name: null, free: true, override: true },
      },
    ],
  ],
  [
    'a free site goes with its carrier',
    { ...STAGED, stored: { [A]: {}, [`dev.${A}`]: { free: true } } },
    [['deactivate', A]],
    [
      {
        action: 'deactivate',
        before: { activations_used: 1, identifier: A, name: null },
        after: { activations_used: 0 },
      },
      {
        action: 'deactivate',
        before: { activations_used: 0, identifier: `dev.${A}`, name: null, free: true },
        after: { activations_used: 0 },
      },
    ],
  ],
  [
    'a name and a hold',
    { stored: { [A]: { name: 'Shop' } } },
    [
      ['activate', A, { name: 'Club' }],
      ['hold', A, { days: 1 }],
    ],
    [
      {
        action: 'rename-activation',
        before: { identifier: A, name: 'Shop' },
        after: { identifier: A, name: 'Club' },
      },
      {
        action: 'hold-activation',
        before: { identifier: A, held_until: null },
        after: { identifier: A, held_until: '2026-03-02T12:00:00Z' },
      },
    ],
  ],
])('the history of %s', (_, world, claims, events) => {
  const of = { licenseId: 1, at: NOW, actor: 'customer:192.0.2.1' };
  expect(judge(world, claims).changes.events).toEqual(events.map((event) => ({ ...of, ...event })));
});

test('a file of the same minute has the time of the first, so that its token is the same', () => {
  const [again] = judge(HELD, [['hold', A, { days: 10, at: 30 / 86_400 }]]).answers;
  expect(again).toMatchObject({ file: { madeAt: NOW, endsAt: inDays(10) } });
});

test.each<[string, Asking, World, answered: boolean]>([
  ['a site that is activated', ['activate', A], FULL, true],
  ['with its name', ['activate', A, { name: 'Shop' }], { stored: { [A]: { name: 'Shop' } } }, true],
  ['with another name', ['activate', A, { name: 'Club' }], { stored: { [A]: { name: 'Shop' } } }, false],
  ['a new site', ['activate', B], FULL, false],
  ['for the operator', ['override', A], FULL, true],
  ['a removal', ['deactivate', A], FULL, false],
  ['a hold', ['hold', A], FULL, false],
])('answered without a lock: %s', (_, asking, world, answered) => {
  const { claim, found } = find(world, rowsOf(world), asking);
  expect(unchangedResult(claim.verb, claim, found!) !== undefined).toBe(answered);
});

test.each<[string, Asking[], World, sites: string[]]>([
  ['a new site, where staging is free', [['activate', `dev.${A}`]], STAGED, [A]],
  ['where it is not', [['activate', `dev.${A}`]], {}, []],
  ['a site that is activated', [['activate', A]], { ...STAGED, stored: { [A]: {} } }, []],
  ['a removal', [['deactivate', A]], { stored: { [A]: {} } }, [A]],
  [
    'one of a batch that activates it before',
    [
      ['activate', A],
      ['deactivate', A],
    ],
    {},
    [A],
  ],
  ['a local site', [['activate', 'localhost']], STAGED, []],
])('the registrable domains that are read: %s', (_, asking, world, sites) => {
  const rows = rowsOf(world);
  const found = asking.map((one) => find(world, rows, one));
  expect(affectedSites(found).map(({ site }) => site)).toEqual(sites);
});
