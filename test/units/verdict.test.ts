import { expect, test } from '@jest/globals';
import type { LicenseMatch } from '../../src/licensing/core/lookup';
import {
  licenseAsSeenByKey,
  refusalWithKey,
  coversRelease,
  entitledUntil,
  isRefusal,
  judgeActivation,
  judgeDeactivation,
  judgeDownload,
  judgeFile,
  judgeNewSite,
  judgeOverride,
  judgeRelease,
  judgeValidation,
  type Refusal,
} from '../../src/licensing/core/verdict';
import type { Release } from '../../src/store/releases';

/** Tests the guards of docs/contract.md in their order: if two reasons hold, the first one is reported. */

const NOW = new Date('2026-03-01T12:00:00Z');
const BEFORE = new Date('2026-02-28T12:00:00Z');
const AFTER = new Date('2026-03-02T12:00:00Z');

/** The differences from an active licence with one of three slots used, its key and its request. */
interface Differences {
  /** The key is unknown. */
  unknown?: true;
  status?: string;
  endsAt?: Date;
  used?: number;
  limit?: number;
  type?: string;
  graceDays?: number;
  afterExpiry?: 'nothing' | 'last_release';
  freeStaging?: boolean;
  /** The end of the key. */
  keyEndsAt?: Date;
  keyLimit?: { slots: number; used: number };
  keyId?: number;
  /** `undefined` if the identifier is not valid for the plan. */
  identifier?: string | undefined;
  activation?: LicenseMatch['activation'];
  covered?: boolean;
  cost?: LicenseMatch['cost'];
  heldUntil?: Date;
}

function match(different: Differences = {}): LicenseMatch | undefined {
  if (different.unknown) return undefined;
  const { status = 'active', endsAt = null, limit = 3, used = 1, type = 'domain', keyId = null } = different;
  const { afterExpiry = 'nothing', freeStaging = false, keyEndsAt = null, keyLimit } = different;
  return {
    license: {
      id: 7,
      status,
      activationLimit: limit,
      activationsUsed: used,
      expiresAt: endsAt,
      ...{ graceDays: different.graceDays ?? 0, renewsItself: false, allReturned: false },
      plan: { id: 1, name: 'Pro', activationType: type, afterExpiry, freeStaging },
      product: { id: 42, name: 'Gallery' },
    },
    key: { id: keyId, rowId: keyId ?? 10, sentId: 12, endsAt: keyEndsAt, limit: keyLimit },
    identifier: 'identifier' in different ? different.identifier : 'a.com',
    activation: different.activation,
    covered: different.covered,
    cost: different.cost,
    heldUntil: different.heldUntil,
  };
}

const code = (outcome: object | undefined) =>
  outcome === undefined ? 'yes' : isRefusal(outcome) ? outcome.refused : outcome;

const ACTIVE = { name: null, keyId: null, free: false, site: 'a.com', heldUntil: null };
const FULL = { used: 3 };
const FREE = { free: true, freed: 0, freedOfKey: 0 };

test.each<[string, Differences, expected: string]>([
  ['a new site', {}, 'yes'],
  ['an unknown key', { unknown: true }, 'LICENSE_NOT_FOUND'],
  [
    'a key that ends now, of a suspended licence',
    { keyEndsAt: NOW, status: 'suspended' },
    'LICENSE_NOT_FOUND',
  ],
  ['a key that ends later', { keyEndsAt: AFTER }, 'yes'],
  ['suspended, and past its end', { status: 'suspended', endsAt: BEFORE }, 'LICENSE_INACTIVE'],
  ['revoked', { status: 'revoked' }, 'LICENSE_INACTIVE'],
  ['cancelled', { status: 'cancelled' }, 'LICENSE_INACTIVE'],
  ['at its end, with another product', { endsAt: NOW, covered: false }, 'LICENSE_EXPIRED'],
  ['stored as expired', { status: 'expired' }, 'LICENSE_EXPIRED'],
  ['before its end', { endsAt: AFTER }, 'yes'],
  ['another product, no identifier', { covered: false, identifier: undefined }, 'PRODUCT_MISMATCH'],
  ['another product, all slots used', { covered: false, ...FULL }, 'PRODUCT_MISMATCH'],
  ['another product, but it is activated', { covered: false, activation: ACTIVE }, 'PRODUCT_MISMATCH'],
  ['a product that it covers', { covered: true }, 'yes'],
  ['no valid identifier, all slots used', { identifier: undefined, ...FULL }, 'INVALID_REQUEST'],
  ['all slots used', FULL, 'ACTIVATION_LIMIT_REACHED'],
  ['all slots used, but it is activated', { ...FULL, activation: ACTIVE }, 'yes'],
  ['above the limit', { used: 5 }, 'ACTIVATION_LIMIT_REACHED'],
  ['unlimited', { used: 5, limit: 0 }, 'yes'],
  ['all slots of the key used', { keyLimit: { slots: 1, used: 1 } }, 'ACTIVATION_LIMIT_REACHED'],
  [
    'all slots of the key used, unlimited',
    { limit: 0, keyLimit: { slots: 1, used: 1 } },
    'ACTIVATION_LIMIT_REACHED',
  ],
  [
    'slots of the key free, none of the licence',
    { ...FULL, keyLimit: { slots: 9, used: 1 } },
    'ACTIVATION_LIMIT_REACHED',
  ],
  ['free staging: only the ledger can tell', { ...FULL, freeStaging: true }, 'yes'],
  ['free staging, it takes no slot', { ...FULL, freeStaging: true, cost: FREE }, 'yes'],
  [
    'free staging, it takes one',
    { ...FULL, freeStaging: true, cost: { ...FREE, free: false } },
    'ACTIVATION_LIMIT_REACHED',
  ],
  [
    'free staging, it takes one and frees one',
    { ...FULL, freeStaging: true, cost: { free: false, freed: 1, freedOfKey: 0 } },
    'yes',
  ],
  [
    'it frees one of another key',
    { keyLimit: { slots: 1, used: 1 }, freeStaging: true, cost: { free: false, freed: 1, freedOfKey: 0 } },
    'ACTIVATION_LIMIT_REACHED',
  ],
  [
    'it frees one of its key',
    { keyLimit: { slots: 1, used: 1 }, freeStaging: true, cost: { free: false, freed: 1, freedOfKey: 1 } },
    'yes',
  ],
])('activate: %s', (_, different, expected) => {
  expect(code(judgeActivation(match(different), NOW))).toBe(expected);
});

test.each<[string, Differences, Refusal['slots']]>([
  [
    'of the licence',
    { ...FULL, keyLimit: { slots: 9, used: 9 } },
    { activationLimit: 3, activationsUsed: 3 },
  ],
  ['of the key', { keyLimit: { slots: 2, used: 2 } }, { activationLimit: 2, activationsUsed: 2 }],
])('a refusal reports the slots %s', (_, different, slots) => {
  expect(judgeActivation(match(different), NOW)).toMatchObject({ slots });
});

test.each<[string, Differences, expected: string]>([
  ['a slot is free', { activation: ACTIVE, identifier: undefined }, 'yes'],
  [
    'none is free, though staging is',
    { ...FULL, activation: ACTIVE, freeStaging: true },
    'ACTIVATION_LIMIT_REACHED',
  ],
  ['expired', { endsAt: BEFORE }, 'LICENSE_EXPIRED'],
])('one more site: %s', (_, different, expected) => {
  expect(code(judgeNewSite(match(different), NOW))).toBe(expected);
});

test.each<[string, Differences, expected: string]>([
  ['in every state, above the limit', { ...FULL, status: 'revoked', endsAt: BEFORE, covered: false }, 'yes'],
  ['a key that ended', { keyEndsAt: BEFORE }, 'yes'],
  ['an unknown key', { unknown: true }, 'LICENSE_NOT_FOUND'],
  ['no valid identifier', { identifier: undefined }, 'INVALID_REQUEST'],
])('by the operator: %s', (_, different, expected) => {
  expect(code(judgeOverride(match(different)))).toBe(expected);
});

test.each<[string, Differences, expected: string]>([
  ['an activated site', { activation: ACTIVE }, 'yes'],
  ['in every state', { activation: ACTIVE, status: 'suspended', endsAt: BEFORE }, 'yes'],
  ['an unknown key', { unknown: true }, 'LICENSE_NOT_FOUND'],
  ['a key that ended', { activation: ACTIVE, keyEndsAt: BEFORE }, 'LICENSE_NOT_FOUND'],
  ['no valid identifier', { identifier: undefined }, 'INVALID_REQUEST'],
  ['a site that is not activated', {}, 'ACTIVATION_NOT_FOUND'],
  ['held', { activation: ACTIVE, heldUntil: AFTER }, 'ACTIVATION_HELD'],
  ['held until now', { activation: ACTIVE, heldUntil: NOW }, 'yes'],
  [
    'a site of another key, by a key with a limit',
    { keyId: 11, keyLimit: { slots: 2, used: 1 }, activation: { ...ACTIVE, keyId: 12 } },
    'ACTIVATION_NOT_FOUND',
  ],
  [
    'a site of the main key, by a key with a limit',
    { keyId: 11, keyLimit: { slots: 2, used: 1 }, activation: ACTIVE },
    'ACTIVATION_NOT_FOUND',
  ],
  [
    'its own site, by a key with a limit',
    { keyId: 11, keyLimit: { slots: 2, used: 1 }, activation: { ...ACTIVE, keyId: 11 } },
    'yes',
  ],
  [
    'a site of another key, by a key without a limit',
    { keyId: 11, activation: { ...ACTIVE, keyId: 12 } },
    'yes',
  ],
])('deactivate: %s', (_, different, expected) => {
  expect(code(judgeDeactivation(match(different), NOW))).toBe(expected);
});

test.each<[string, Differences, expected: string]>([
  ['an activated site', { activation: ACTIVE }, 'yes'],
  ['an unknown key', { unknown: true }, 'LICENSE_NOT_FOUND'],
  ['suspended', { activation: ACTIVE, status: 'suspended', endsAt: BEFORE }, 'LICENSE_INACTIVE'],
  ['expired', { endsAt: BEFORE }, 'LICENSE_EXPIRED'],
  ['no valid identifier', { identifier: undefined }, 'INVALID_REQUEST'],
  ['a site that is not activated', {}, 'ACTIVATION_NOT_FOUND'],
])('a file: %s', (_, different, expected) => {
  expect(code(judgeFile(match(different), NOW))).toBe(expected);
});

test.each<[string, Differences, given: boolean, expected: object]>([
  ['active', {}, false, { valid: true, status: 'active', identifierActivated: true }],
  ['an activated site', { activation: ACTIVE }, true, { valid: true, identifierActivated: true }],
  ['another site', {}, true, { valid: true, identifierActivated: false }],
  ['no valid identifier', { identifier: undefined }, true, { valid: true, identifierActivated: false }],
  ['expired', { endsAt: NOW }, false, { valid: false, status: 'expired' }],
  ['suspended', { status: 'suspended' }, false, { valid: false, status: 'suspended' }],
  [
    'suspended, and covered',
    { status: 'suspended', covered: true },
    false,
    { valid: false, status: 'suspended', covered: true },
  ],
  ['covered', { covered: true }, false, { valid: true, covered: true }],
  ['not covered', { covered: false }, false, { valid: false, status: 'active', covered: false }],
  ['a key with an end', { keyEndsAt: AFTER }, false, { keyEndsAt: AFTER }],
  ['a key that ended', { keyEndsAt: NOW }, false, { refused: 'LICENSE_NOT_FOUND' }],
  ['an unknown key', { unknown: true }, false, { refused: 'LICENSE_NOT_FOUND' }],
  [
    'a key with a limit',
    { keyLimit: { slots: 2, used: 1 } },
    false,
    { license: { activationLimit: 2, activationsUsed: 1 } },
  ],
])('validate: %s', (_, different, given, expected) => {
  expect(judgeValidation(match(different), given, NOW)).toMatchObject(expected);
});

test.each<[limit: number, keySlots: number, shown: number]>([
  [3, 2, 2],
  [3, 5, 3],
  [0, 5, 5],
])('of a licence with %i slots, a key with %i shows %i', (limit, slots, shown) => {
  const { activationLimit } = licenseAsSeenByKey(match({ limit, keyLimit: { slots, used: 1 } })!);
  expect(activationLimit).toBe(shown);
});

test.each<[string, Differences, given: boolean, expected: string]>([
  ['covered', { covered: true }, false, 'yes'],
  ['an unknown key', { unknown: true }, false, 'LICENSE_NOT_FOUND'],
  [
    'suspended and expired',
    { covered: true, status: 'suspended', endsAt: BEFORE },
    false,
    'LICENSE_INACTIVE',
  ],
  [
    'revoked, with the last release',
    { covered: true, status: 'revoked', endsAt: BEFORE, afterExpiry: 'last_release' },
    false,
    'LICENSE_INACTIVE',
  ],
  ['cancelled', { covered: true, status: 'cancelled' }, false, 'LICENSE_INACTIVE'],
  ['expired, another product', { covered: false, endsAt: BEFORE }, false, 'LICENSE_EXPIRED'],
  [
    'expired with the last release, another product',
    { covered: false, endsAt: BEFORE, afterExpiry: 'last_release' },
    true,
    'PRODUCT_MISMATCH',
  ],
  [
    'expired, with the last release',
    { covered: true, endsAt: BEFORE, afterExpiry: 'last_release' },
    false,
    'yes',
  ],
  ['another product, not activated', { covered: false }, true, 'PRODUCT_MISMATCH'],
  ['not activated', { covered: true }, true, 'ACTIVATION_NOT_FOUND'],
  ['activated', { covered: true, activation: ACTIVE }, true, 'yes'],
])('download: %s', (_, different, given, expected) => {
  expect(code(judgeDownload(match(different), { identifierGiven: given }, NOW))).toBe(expected);
});

const release = (more: Partial<Release> = {}) =>
  ({ state: 'published', publishedAt: BEFORE, ...more }) as Release;

test.each<[string, Differences, Release | undefined, expected: string]>([
  ['published', {}, release(), 'given'],
  ['none', {}, undefined, 'DOWNLOAD_NOT_FOUND'],
  ['a draft', {}, release({ state: 'draft' }), 'DOWNLOAD_NOT_FOUND'],
  ['withdrawn', {}, release({ state: 'withdrawn' }), 'DOWNLOAD_NOT_FOUND'],
  ['published at the end', { endsAt: BEFORE, afterExpiry: 'last_release' }, release(), 'given'],
  [
    'published after the end',
    { endsAt: BEFORE, afterExpiry: 'last_release' },
    release({ publishedAt: NOW }),
    'LICENSE_EXPIRED',
  ],
  [
    'published at a time that nobody knows',
    { endsAt: BEFORE, afterExpiry: 'last_release' },
    release({ publishedAt: null }),
    'LICENSE_EXPIRED',
  ],
  [
    'published after today, for a licence that runs',
    { endsAt: AFTER, afterExpiry: 'last_release' },
    release({ publishedAt: AFTER }),
    'given',
  ],
])('a release: %s', (_, different, asked, expected) => {
  const outcome = judgeRelease(match(different)!.license, asked, NOW);
  expect(isRefusal(outcome) ? outcome.refused : outcome === asked && 'given').toBe(expected);
});

test.each<[string, Differences, expected: Date | undefined]>([
  ['a plan that stops', { endsAt: BEFORE }, undefined],
  ['a licence that runs', { endsAt: AFTER, afterExpiry: 'last_release' }, undefined],
  ['an ended one', { endsAt: BEFORE, afterExpiry: 'last_release' }, BEFORE],
  [
    'one that ended with its grace',
    { endsAt: BEFORE, graceDays: 3, afterExpiry: 'last_release' },
    new Date(BEFORE.getTime() - 3 * 86_400_000),
  ],
  ['one in its grace', { endsAt: AFTER, graceDays: 14, afterExpiry: 'last_release' }, undefined],
  ['a suspended one', { endsAt: BEFORE, afterExpiry: 'last_release', status: 'suspended' }, undefined],
])('the releases that an ended licence downloads: %s', (_, different, expected) => {
  expect(entitledUntil(match(different)!.license, NOW)).toEqual(expected);
});

test.each<[Refusal['refused'], keyId: number]>([
  ['LICENSE_EXPIRED', 10],
  ['LICENSE_NOT_FOUND', 12],
])('the access log has the key of %s', (refused, keyId) => {
  expect(refusalWithKey({ refused }, match())).toEqual({ refused, keyId });
  expect(refusalWithKey({ refused }, undefined)).toEqual({ refused });
});

test.each(['domain', 'seat', 'device', 'instance'])('a refusal names the type of identifier: %s', (type) => {
  const { message } = judgeActivation(match({ type, identifier: undefined }), NOW)!;
  expect(message).toBe(`"identifier" is not a valid ${type} for this license.`);
});

test('a plan of an unknown type is a fault of the service, not of its customer', () => {
  expect(() => judgeActivation(match({ type: 'planet', identifier: undefined }), NOW)).toThrow(
    'Plan 1 has an unknown',
  );
});

test.each<[Differences, Date | null, boolean]>([
  [{}, BEFORE, true],
  [{}, null, true],
  [{ endsAt: AFTER }, BEFORE, true],
  [{ endsAt: BEFORE }, BEFORE, false],
  [{ endsAt: BEFORE, afterExpiry: 'last_release' }, BEFORE, true],
  [{ endsAt: BEFORE, afterExpiry: 'last_release' }, NOW, false],
  [{ endsAt: BEFORE, afterExpiry: 'last_release' }, null, false],
  [{ endsAt: AFTER, afterExpiry: 'last_release' }, NOW, true],
  [{ status: 'suspended', afterExpiry: 'last_release' }, BEFORE, false],
  [{ status: 'revoked' }, BEFORE, false],
  [{ status: 'cancelled' }, BEFORE, false],
])('a licence %j covers a release of %p: %p', (different, publishedAt, covers) => {
  const { license } = match(different) as LicenseMatch;
  expect(coversRelease(license, { version: '1.0', security: false, publishedAt }, NOW)).toBe(covers);
});
