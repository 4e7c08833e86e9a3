import { expect, test } from '@jest/globals';
import {
  bundlesWith,
  findIncludesFault,
  includedProducts,
  includesNone,
  normalizeIncludes,
  updateSites,
  firstBundleListing,
  namesOf,
  updateSiteNames,
  withIncludes,
  type Catalogue,
  type Includes,
} from '../../src/licensing/bundles';
import type { Product } from '../../src/store/catalogue';

/** Tests which products cover which others (docs/contract.md, 11). */

const product = (id: number, more: Partial<Product> = {}) =>
  ({ id, name: `P${id}`, element: `pkg_p${id}`, includesAll: false, ...more }) as Product;

/** The products of a shop: a club with everything, a pack of two, and three extensions, one of them not for Joomla. */
const CLUB = 1;
const PACK = 2;
const [GALLERY, FORMS, APP] = [42, 43, 44];
const INCLUDES: [Product, Includes][] = [
  [product(CLUB, { element: null }), 'all'],
  [product(PACK), [GALLERY, FORMS]],
  [product(GALLERY), []],
  [product(FORMS), []],
  [product(APP, { element: null }), []],
];
const SHOP: Catalogue = new Map(INCLUDES.map(([one, includes]) => [one.id, { ...one, includes }]));
const ids = (products: { id: number }[]) => products.map(({ id }) => id);

test.each<[string, id: number, included: number[]]>([
  ['a club has all that include none', CLUB, [GALLERY, FORMS, APP]],
  ['a pack has its list', PACK, [GALLERY, FORMS]],
  ['an extension has none', GALLERY, []],
  ['a product that does not exist', 99, []],
])('included: %s', (_, id, included) => {
  expect(ids(includedProducts(SHOP, id))).toEqual(included);
});

test.each<[string, id: number, bundles: number[]]>([
  ['listed and in the club', GALLERY, [CLUB, PACK]],
  ['only in the club', APP, [CLUB]],
  ['a bundle is in none', PACK, []],
])('bundles of a product: %s', (_, id, bundles) => {
  expect(ids(bundlesWith(SHOP, id))).toEqual(bundles);
});

test('only a list counts as listing', () => {
  expect([GALLERY, APP, CLUB].map((id) => firstBundleListing(SHOP, id))).toEqual([
    PACK,
    undefined,
    undefined,
  ]);
});

test.each<[string, id: number, catalogue: Catalogue, entries: number[]]>([
  ['a club without an extension of its own', CLUB, SHOP, [GALLERY, FORMS]],
  ['a pack with one', PACK, SHOP, [PACK, GALLERY, FORMS]],
  ['an extension', FORMS, SHOP, [FORMS]],
  ['not for Joomla: itself all the same', APP, SHOP, [APP]],
  [
    'a club of what is not for Joomla: all of that',
    CLUB,
    new Map([...SHOP].filter(([id]) => id === CLUB || id === APP)),
    [APP],
  ],
  ['a product that does not exist', 99, SHOP, []],
])('entries in Joomla: %s', (_, id, catalogue, entries) => {
  expect(ids(updateSites(catalogue, id))).toEqual(entries);
});

test.each<[string, id: number, Includes, reason: string | undefined, field?: string]>([
  ['nothing', PACK, [], undefined],
  ['a list', PACK, [GALLERY, APP], undefined],
  ['everything', PACK, 'all', undefined],
  ['itself', PACK, [PACK], 'INVALID_REQUEST'],
  ['itself, which comes before one that does not exist', PACK, [99, PACK], 'INVALID_REQUEST'],
  ['one that does not exist', PACK, [GALLERY, 99], 'no-product'],
  ['one that does not exist comes before a bundle', PACK, [CLUB, 99], 'no-product'],
  ['a club', PACK, [CLUB], 'includes-others'],
  ['a bundle, into a listed product', GALLERY, [PACK], 'includes-others'],
  ['a listed product may not include', GALLERY, [APP], 'is-included'],
  ['nor everything', GALLERY, 'all', 'is-included'],
  ['a product that only clubs have may', APP, [GALLERY], undefined],
])('may include: %s', (_, id, includes, reason) => {
  const fault = findIncludesFault(SHOP, id, includes);
  expect(fault && ((fault.facts as { reason?: string } | undefined)?.reason ?? fault.code)).toBe(reason);
});

test.each<[Includes, Includes]>([
  ['all', 'all'],
  [
    [43, 5, 43, 42],
    [5, 42, 43],
  ],
  [[], []],
])('%j in order', (includes, expected) => {
  expect(normalizeIncludes(includes)).toEqual(expected);
  expect(includesNone({ includes })).toBe(expected.length === 0);
});

test.each<[string, Product, Includes]>([
  ['a list, of its own rows', product(PACK), [GALLERY]],
  ['everything', product(PACK, { includesAll: true }), 'all'],
  ['none', product(FORMS), []],
])('as stored: %s', (_, one, includes) => {
  const rows = [
    { productId: PACK, includedId: GALLERY },
    { productId: CLUB, includedId: APP },
  ];
  expect(withIncludes(one, rows).includes).toEqual(includes);
});

test('names for people, at most 20 of them in a mail', () => {
  const many = Array.from({ length: 21 }, (_, i) => ({ name: `P${i}` }));
  expect(updateSiteNames(many.slice(0, 2))).toBe('P0, P1');
  expect(updateSiteNames(many.slice(0, 20))).not.toContain('...');
  expect(updateSiteNames(many)).toMatch(/^P0, .*, P19, \.\.\.$/);
  expect(namesOf([product(GALLERY), product(FORMS)])).toBe('P42 (42), P43 (43)');
});
