import { expect, test } from '@jest/globals';
import {
  matchOf,
  productsToCompare,
  spellingsOf,
  wantedBy,
  type LookupQuery,
} from '../../src/licensing/core/lookup';
import { resolveKeyDigests, type Terms } from '../../src/store/licenses/license-lookup';

/** Tests what the database is asked for a batch of queries, and which licence each query gets from the rows. */

const KEY = '0A1B2C3D-4E5F6A7B-8C9D0E1F-2A3B4C5D';
const all = (text: string) => ({ domain: text, seat: text, device: text, instance: text });

test.each<[string, Partial<LookupQuery>, expected: object | undefined]>([
  ['none', {}, undefined],
  ['a canonical host name', { identifier: 'example.com' }, all('example.com')],
  [
    'each type has its own spelling',
    { identifier: 'https://WWW.Example.com/shop' },
    {
      domain: 'example.com',
      seat: 'https://www.example.com/shop',
      device: 'https://WWW.Example.com/shop',
      instance: 'https://WWW.Example.com/shop',
    },
  ],
  [
    'no domain',
    { identifier: 'Office PC' },
    { domain: undefined, seat: 'office pc', device: 'Office PC', instance: 'Office PC' },
  ],
  ['as it is stored', { identifier: 'www.www.example.com', isStored: true }, all('www.www.example.com')],
  ['the key, pasted as the identifier', { identifier: ` "${KEY}"`, key: KEY }, undefined],
  ['the key, even as it is stored', { identifier: KEY, key: KEY, isStored: true }, undefined],
  [
    'a key in the identifier',
    { identifier: KEY },
    { domain: undefined, seat: undefined, device: undefined, instance: undefined },
  ],
])('spellings: %s', (_, query, expected) => {
  expect(spellingsOf({ keyDigest: 'd', ...query })).toEqual(expected);
});

test.each<[string, [digest: string, identifier?: string][], expected: Record<string, string[]>]>([
  ['a key by itself', [['d']], { d: [] }],
  ['an identifier', [['d', 'a.com']], { d: ['a.com'] }],
  [
    'the same one twice',
    [
      ['d', 'a.com'],
      ['d', 'a.com'],
    ],
    { d: ['a.com'] },
  ],
  [
    'two of a key',
    [
      ['d', 'a.com'],
      ['e', 'c.com'],
      ['d', 'b.com'],
    ],
    { d: ['a.com', 'b.com'], e: ['c.com'] },
  ],
  ['with and without one', [['d'], ['d', 'a.com']], { d: ['a.com'] }],
])('wanted: %s', (_, asked, expected) => {
  const queries = asked.map(([keyDigest, identifier]) => ({ keyDigest, identifier }));
  const wanted = wantedBy(queries, queries.map(spellingsOf));
  expect(
    Object.fromEntries([...wanted].map(([digest, some]) => [digest, some.map(({ domain }) => domain)])),
  ).toEqual(expected);
});

const CLUB = 1;
const GALLERY = 42;
const FORMS = 43;

const terms = (activationType = 'domain', product = CLUB): Terms => ({
  license: {
    id: 7,
    status: 'active',
    activationLimit: 3,
    activationsUsed: 1,
    expiresAt: null,
    ...{ graceDays: 0, renewsItself: false, allReturned: false },
    plan: { id: 1, name: 'Pro', activationType, afterExpiry: 'nothing', freeStaging: false },
    product: { id: product, name: 'Club' },
  },
  key: { id: null, rowId: 10, sentId: 10, endsAt: null, limit: undefined },
  activations: new Map([
    ['example.com', { name: 'Shop' }],
    ['EXAMPLE.com', { name: 'PC' }],
  ]),
});

test.each<[string, type: string, identifier: string | undefined, expected: (string | undefined)[]]>([
  ['a domain', 'domain', 'EXAMPLE.com', ['example.com', 'Shop']],
  ['a device keeps its letters', 'device', 'EXAMPLE.com', ['EXAMPLE.com', 'PC']],
  ['one that is not activated', 'domain', 'other.com', ['other.com', undefined]],
  ['not valid for the plan', 'domain', 'Office PC', [undefined, undefined]],
  ['none', 'domain', undefined, [undefined, undefined]],
])('match: %s', (_, type, identifier, [normalized, name]) => {
  const query = { keyDigest: 'd', identifier };
  expect(matchOf(query, spellingsOf(query), terms(type))).toMatchObject({
    identifier: normalized,
    activation: name === undefined ? undefined : { name },
  });
});

test('an unknown key', () => {
  expect(matchOf({ keyDigest: 'd' }, undefined, undefined)).toBeUndefined();
});

test.each<
  [string, asked: number | undefined, included: Record<number, number[]> | undefined, boolean | undefined]
>([
  ['no product is asked for', undefined, undefined, undefined],
  ['its own', CLUB, undefined, true],
  ['another one', FORMS, undefined, false],
  ['one that it includes', GALLERY, { [CLUB]: [GALLERY] }, true],
  ['one that it does not include', FORMS, { [CLUB]: [GALLERY] }, false],
  ['one that another bundle includes', FORMS, { [CLUB]: [GALLERY], 2: [FORMS] }, false],
])('covered: %s', (_, productId, included, expected) => {
  const sets = new Map(Object.entries(included ?? {}).map(([id, ids]) => [Number(id), new Set(ids)]));
  expect(matchOf({ keyDigest: 'd', productId }, undefined, terms(), sets)?.covered).toBe(expected);
});

test.each<[string, [digest: string, productId?: number][], own: number[], asked: number[]]>([
  ['none', [['club']], [], []],
  ['its own', [['club', CLUB]], [], []],
  ['another one', [['club', FORMS]], [CLUB], [FORMS]],
  ['of an unknown key', [['nobody', FORMS]], [], []],
  [
    'each once',
    [
      ['club', FORMS],
      ['club', GALLERY],
      ['gallery', FORMS],
      ['club', FORMS],
    ],
    [CLUB, GALLERY],
    [FORMS, GALLERY],
  ],
])('the products that are compared: %s', (_, queries, own, asked) => {
  const found = new Map([
    ['club', terms()],
    ['gallery', terms('domain', GALLERY)],
  ]);
  expect(
    productsToCompare(
      queries.map(([keyDigest, productId]) => ({ keyDigest, productId })),
      found,
    ),
  ).toEqual({ own, asked });
});

/** Rows of: situation, keys found as written, stored keys with the digest of their folded form, expected key. */
test.each<
  [string, exact: string[], folded: [stored: string, fold: string][], expected: Record<string, string>]
>([
  ['none', [], [], {}],
  ['one in other case', [], [['stored', 'fold']], { written: 'stored' }],
  [
    'the same one twice, with two sites',
    [],
    [
      ['stored', 'fold'],
      ['stored', 'fold'],
    ],
    { written: 'stored' },
  ],
  [
    'twins',
    [],
    [
      ['stored', 'fold'],
      ['twin', 'fold'],
    ],
    {},
  ],
  [
    'the one that is written so',
    ['written'],
    [
      ['written', 'fold'],
      ['twin', 'fold'],
    ],
    {},
  ],
  ['of another fold', [], [['stored', 'other']], {}],
])('the key that a text means: %s', (_, exact, folded, expected) => {
  const rows = [
    ...exact.map((digest) => ({ key_digest: digest, folded_digest: null })),
    ...folded.map(([digest, fold]) => ({ key_digest: digest, folded_digest: fold })),
  ];
  expect(Object.fromEntries(resolveKeyDigests(new Map([['written', 'fold']]), rows))).toEqual(expected);
});
