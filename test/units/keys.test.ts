import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createConnection, type Connection } from 'mysql2/promise';
import request from 'supertest';
import { issueLicenses } from '../../src/licensing/issue';
import {
  canonicalKey,
  foldedDigest,
  foldKey,
  generateKey,
  isNativeKey,
  keyDigest,
  keyHint,
  keyDigests,
} from '../../src/licensing/core/keys';
import { lookUp } from '../../src/licensing/core/lookup';
import { isSealedWith, openSealedKey, sealKey, SealError } from '../../src/licensing/sealing';
import { resolveKey } from '../../src/store/licenses/license-keys';
import { runs } from '../support/extent';
import {
  ONE_BACKEND,
  giveLicense,
  givePlan,
  PREFIX,
  rows,
  startTestService,
  storedLicense,
} from '../support/service';

const KEY = 'A1B2C3D4-E5F6A7B8-C9D0E1F2-A3B4C5D6';
/** A key from another shop. */
const IMPORTED = 'Shop-2024-abcd-EFGH';

/** The pages with examples: the documentation, and more of them next to this file. */
const PAGES = ['../../docs/key-spellings.md', 'key-spellings.md'].map((name) =>
  readFileSync(join(__dirname, name), 'utf8'),
);
const tableBelow = (heading: string): string[][] =>
  PAGES.flatMap((page) => readTable(page.slice(page.indexOf(heading)).split(/^## /m)[1] ?? ''));

/** Returns the cells of a table without its heading. A cell's text is written as in JSON. */
function readTable(section: string): string[][] {
  const lines = section.match(/^\|.*\|$/gm) ?? [];
  return lines.slice(2).map((line) => line.slice(1, -1).split('|').map(readCell));
}

function readCell(cell: string): string {
  const [, text] = /^ ?`(.*)` *$/.exec(cell) ?? [];
  return text === undefined ? cell.trim() : (JSON.parse(`"${text.replaceAll('"', '\\"')}"`) as string);
}

describe('the one spelling of a key', () => {
  const examples = tableBelow('## Examples').map(([pasted = '', countsAs = '', why = '']) => ({
    why,
    pasted,
    countsAs: countsAs === 'the key' ? KEY : countsAs,
  }));

  it('is shown by many examples', () => {
    expect(examples.length).toBeGreaterThan(150);
    expect(new Set(examples.map(({ pasted }) => pasted)).size).toBe(examples.length);
    expect(examples.filter(({ countsAs }) => countsAs !== KEY).length).toBeGreaterThan(40);
  });

  it.each(examples)('$why: $pasted', ({ pasted, countsAs }) => {
    expect(canonicalKey(pasted)).toBe(countsAs);
    expect(canonicalKey(countsAs)).toBe(countsAs);
  });

  it.each([
    ['empty', '', ''],
    ['of blanks', ' \t\u00a0\u200b', ''],
    ['of quotes', '""', ''],
    ['of a parameter without a value', 'dlid=', ''],
  ])('%s', (_how, written, canonical) => {
    expect(canonicalKey(written)).toBe(canonical);
  });

  it.each(tableBelow('## Imported keys'))('imported: %s, pasted %s: %s', (imported, pasted, isSame) => {
    const [one, other] = [canonicalKey(imported), canonicalKey(pasted)];
    const fold = (key: string) => foldKey(key) ?? key;
    expect(fold(one) === fold(other)).toBe(isSame === 'yes');
    expect(foldedDigest(one) === foldedDigest(other)).toBe(isSame === 'yes');
    expect(foldedDigest(one)).not.toBe(keyDigest(one));
  });

  it('is found in any text around it, or no key is found, but never a key that the text does not contain', () => {
    const around = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 40 }),
      fc.string({
        unit: fc.constantFrom(...'0123456789abcdefABCDEF-–  \n:.=&<>xé'.split('')),
        maxLength: 40,
      }),
    );
    const written = fc.constantFrom(
      KEY,
      KEY.toLowerCase(),
      KEY.replaceAll('-', ''),
      KEY.replaceAll('-', ' '),
    );
    fc.assert(
      fc.property(around, written, around, (before, key, after) => {
        const text = before + key + after;
        const found = canonicalKey(text);
        // Random groups may form another key, even with a part of the original one.
        const digits = text
          .normalize('NFKC')
          .replace(/[^\p{L}\p{N}]/gu, '')
          .toUpperCase();
        if (isNativeKey(found)) expect(digits).toContain(found.replaceAll('-', ''));
      }),
      { numRuns: runs(4_000, 20_000) },
    );
  });

  it('is found in any sentence around it', () => {
    const word = fc.string({
      unit: fc.constantFrom(...'ghijklmnopqrstuvwxyzäöüß,.!?'.split('')),
      maxLength: 9,
    });
    const words = fc.array(word, { maxLength: 9 }).map((some) => some.join(' '));
    fc.assert(
      fc.property(words, words, (before, after) => {
        expect(canonicalKey(`${before} ${KEY} ${after}`)).toBe(KEY);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ' ',
    '-',
    '"',
    'a',
    'a-',
    '1:',
    'dlid=',
    'aaaaaaaa ',
    'aaaaaaaa-',
    '\uFDFA',
    'a\u0301',
    `${KEY},`,
  ])('is read in one pass, whatever is repeated: %j', (part) => {
    // A regular expression that tries again from each character would take minutes.
    for (const length of [9_990, 64_000]) {
      const found = canonicalKey(`${part.repeat(length / part.length)}!`);
      expect(found === KEY).toBe(part.startsWith(KEY) && length < 10_000);
    }
  });

  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc
      .array(
        fc.constantFrom(
          ...[
            'dlid=',
            'DLID=',
            '"',
            "'",
            '_',
            '„',
            '“',
            '«',
            ' ',
            '\t',
            '\u200b',
            '\u00ad',
            '\ufeff',
            '-',
            'x',
          ],
          ...[KEY, KEY.toLowerCase(), IMPORTED, 'd', 'lid=', 'dl', 'id=', '%20', '+', '\ud800'],
        ),
        { maxLength: 10 },
      )
      .map((parts) => parts.join('')),
  );

  it('is a spelling of itself', () => {
    fc.assert(
      fc.property(text, (written) => {
        const once = canonicalKey(written);
        expect(canonicalKey(once)).toBe(once);
      }),
      { numRuns: runs(4_000, 20_000) },
    );
  });

  it('is the same with anything around it that is pasted with it', () => {
    const junk = fc
      .array(fc.constantFrom('"', "'", '_', '“', '»', ' ', '\t', '\n', '\u200b', '\ufeff'), { maxLength: 5 })
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(
        junk,
        fc.constantFrom('', 'dlid=', 'Dlid='),
        junk,
        fc.constantFrom(KEY, IMPORTED),
        junk,
        (a, b, c, key, d) => {
          expect(canonicalKey(a + b + c + key + d)).toBe(key);
        },
      ),
      { numRuns: runs(1_000, 5_000) },
    );
  });
});

describe('a generated key', () => {
  it('has 128 bits in four groups, and is never the same', () => {
    const keys = Array.from({ length: 10_000 }, generateKey);
    for (const key of keys) expect(key).toMatch(/^[0-9A-F]{8}(-[0-9A-F]{8}){3}$/);
    expect(new Set(keys).size).toBe(keys.length);
    // All digits are equally frequent: 20,000 of each are expected, with a standard deviation of 137.
    const digits = keys.join('').replaceAll('-', '');
    for (const digit of '0123456789ABCDEF')
      expect(Math.abs(digits.split(digit).length - 1 - 20_000)).toBeLessThan(1_200);
  });

  it('is its own canonical form, and recognized by its shape', () => {
    for (let i = 0; i < 1000; i++) {
      const key = generateKey();
      expect(canonicalKey(key)).toBe(key);
      expect(isNativeKey(key)).toBe(true);
    }
    expect(isNativeKey(IMPORTED)).toBe(false);
    expect(isNativeKey(`${KEY}\n`)).toBe(false);
  });
});

describe("a key's hint", () => {
  it.each([
    ['the last group of a key of ours', KEY, 'A3B4C5D6'],
    ['the last 4 of another of 16 or more', 'abcdefghijklmnop', 'mnop'],
    ['the last 4 of another of 19', IMPORTED, 'EFGH'],
    ['nothing of one of 15', 'abcdefghijklmno', null],
    ['nothing of a short one', 'abc', null],
    ['whole characters', `${'x'.repeat(15)}😀`, 'xxx😀'],
    ['characters, not their halves', '😀'.repeat(8), null],
  ])('is %s', (_what, key, hint) => {
    expect(keyHint(key)).toBe(hint);
  });
});

describe("a key's digest", () => {
  let connection: Connection;
  beforeAll(async () => {
    connection = await createConnection({
      socketPath: process.env.TEST_MARIADB_SOCKET!,
      user: 'root',
      charset: 'utf8mb4',
    });
  });
  afterAll(() => connection.end());

  it("is MariaDB's SHA2(key, 256), so that an operator's own SQL can compute it", async () => {
    const keys = [
      KEY,
      IMPORTED,
      'Schlüssel-1',
      '😀'.repeat(20),
      'A%ZZ%',
      'A"B\\C',
      "A'B",
      generateKey(),
      'x'.repeat(995),
    ];
    for (const key of keys) {
      const [found] = await connection.query('SELECT SHA2(?, 256) AS digest', [key]);
      expect(found).toEqual([{ digest: keyDigest(key) }]);
    }
  });
});

describe('a sealed key', () => {
  const secret = randomBytes(32);
  const digest = keyDigest(KEY);

  it.each([KEY, IMPORTED, 'Schlüssel-😀', 'x'.repeat(300)])('opens again: %s', (key) => {
    const sealed = sealKey(key, keyDigest(key), secret);
    expect(openSealedKey(sealed, keyDigest(key), secret)).toBe(key);
    expect(isSealedWith(sealed, secret)).toBe(true);
    expect(sealed).not.toContain(key);
    expect(Buffer.from(sealed, 'base64').includes(key)).toBe(false);
  });

  it('differs each time', () => {
    const sealed = Array.from({ length: 100 }, () => sealKey(KEY, digest, secret));
    expect(new Set(sealed).size).toBe(100);
  });

  it('does not open with another secret, and says that the secret is another one', () => {
    const sealed = sealKey(KEY, digest, secret);
    const other = randomBytes(32);
    expect(isSealedWith(sealed, other)).toBe(false);
    expect(() => openSealedKey(sealed, digest, other)).toThrow(SealError);
    expect(() => openSealedKey(sealed, digest, other)).toThrow(/another LICENSING_KEY_SECRET/);
  });

  it('does not open on another licence', () => {
    const sealed = sealKey(KEY, digest, secret);
    expect(() => openSealedKey(sealed, keyDigest(generateKey()), secret)).toThrow(
      new SealError('The stored key is damaged, or belongs to another licence.'),
    );
  });

  it('does not open if any one bit has changed', () => {
    const bytes = Buffer.from(sealKey(KEY, digest, secret), 'base64');
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const damaged = Buffer.from(bytes);
      damaged[bit >> 3]! ^= 1 << (bit & 7);
      expect(() => openSealedKey(damaged.toString('base64'), digest, secret)).toThrow(SealError);
    }
  });

  it('does not open if it was truncated anywhere', () => {
    const bytes = Buffer.from(sealKey(KEY, digest, secret), 'base64');
    for (let length = 0; length < bytes.length; length++)
      expect(() => openSealedKey(bytes.subarray(0, length).toString('base64'), digest, secret)).toThrow(
        SealError,
      );
  });

  it('is the only text that opens', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(() => openSealedKey(text, digest, secret)).toThrow(SealError);
      }),
    );
  });
});

describe.each(ONE_BACKEND)('a stored licence, on %s', (_name, settings) => {
  const setup = async () => {
    const service = await startTestService(await settings());
    const planId = await givePlan(service.db);
    const issue = (key: string, secret?: Buffer) =>
      issueLicenses(
        service.db,
        {
          planId,
          customer: undefined,
          reference: undefined,
          expiresAt: undefined,
          activationLimit: undefined,
          key,
          count: 1,
        },
        'operator:test',
        secret,
        new Date(),
      );
    return { service, planId, issue };
  };
  let context: Awaited<ReturnType<typeof setup>>;
  beforeAll(async () => {
    context = await setup();
  });
  afterAll(() => context.service.stop());
  const validate = async (body: object) =>
    (await request(context.service.url).post(`${PREFIX}/licenses/validate`).send(body)).status;

  it('is found by every spelling of its key, in JSON and in a form, under both names', async () => {
    const { key } = await giveLicense(context.service.db, context.planId);
    const spellings = [
      key,
      key.toLowerCase(),
      ` ${key}\u00a0`,
      `dlid=${key}`,
      `"${key}"`,
      `${key}_`,
      `“dlid=${key}”`,
      `Key: ${key}.`,
      key.replaceAll('-', ''),
      key.replaceAll('-', ' '),
      `${key}${key}`,
      `<b>${key.replaceAll('-', '\u2013')}</b>`,
    ];
    for (const spelling of spellings) {
      expect([spelling, await validate({ license_key: spelling })]).toEqual([spelling, 200]);
      expect([spelling, await validate({ dlid: spelling })]).toEqual([spelling, 200]);
      const form = await request(context.service.url)
        .post(`${PREFIX}/licenses/validate`)
        .type('form')
        .send({ dlid: spelling });
      expect([spelling, form.status]).toEqual([spelling, 200]);
    }
  });

  it('holds the digest and the hint of its key, and the key nowhere', async () => {
    const { id, key } = await giveLicense(context.service.db, context.planId);
    const row = await storedLicense(context.service.db, id);
    expect(row).toMatchObject({ key_digest: keyDigest(key), key_hint: key.slice(-8), key_sealed: null });
    const everything = JSON.stringify([
      row,
      await rows(context.service.db, 'events'),
      await rows(context.service.db, 'access_log'),
    ]);
    expect(everything).not.toContain(key);
  });

  it('holds its key sealed under a secret', async () => {
    const secret = randomBytes(32);
    const [issued] = await context.issue('Sealed-Key-0123-wxyz', secret);
    const row = await storedLicense(context.service.db, issued!.license.id);
    expect(openSealedKey(row.key_sealed as string, row.key_digest as string, secret)).toBe(
      'Sealed-Key-0123-wxyz',
    );
    expect(row).toMatchObject({ key_digest: keyDigest('Sealed-Key-0123-wxyz'), key_hint: 'wxyz' });
  });

  it('holds even the longest possible key sealed, and no longer key is issued', async () => {
    const secret = randomBytes(32);
    const [issued] = await context.issue('é'.repeat(175), secret);
    const { keySealed, keyDigest: digest } = issued!.license;
    expect(openSealedKey(keySealed!, digest, secret)).toBe('é'.repeat(175));
    await expect(context.issue('x'.repeat(351))).rejects.toThrow('The key is longer than 350 bytes.');
  });

  it('with an imported key is found in any case', async () => {
    await context.issue(' "Imported-Key-One" ');
    for (const spelling of [
      'Imported-Key-One',
      'dlid=Imported-Key-One_',
      'imported-key-one',
      'IMPORTED\u2011KEY\u2013ONE',
      '4711:Imported-key-one',
    ])
      expect([spelling, await validate({ license_key: spelling })]).toEqual([spelling, 200]);
    expect(await validate({ license_key: 'Imported-Key-Öne' })).toBe(403);
    expect(await validate({ license_key: 'ImportedKeyOne' })).toBe(403);
  });

  it('with a key that differs from another only in case is found by its exact spelling, and by no other', async () => {
    const [one] = await context.issue('Twin-Key-Abc');
    const [other] = await context.issue('Twin-Key-aBC');
    const { db } = context.service;
    const lookedUp = async (key: string) =>
      (await lookUp(db, [{ key, keyDigest: keyDigest(key) }]))[0]?.license.id;
    expect(await lookedUp('Twin-Key-Abc')).toBe(one!.license.id);
    expect(await lookedUp('Twin-Key-aBC')).toBe(other!.license.id);
    expect(await lookedUp('twin-key-abc')).toBeUndefined();
    expect(await resolveKey(db, keyDigests('twin-key-abc'))).toBeUndefined();
    expect((await resolveKey(db, keyDigests('Twin-Key-aBC')))!.licenseId).toBe(other!.license.id);
    // One batch looks all of them up, each with a site of its own.
    const queries = ['Twin-Key-Abc', 'twin-key-abc', 'Twin-Key-aBC', 'UNKNOWN-KEY'].map((key) => ({
      ...{ key, keyDigest: keyDigest(key), identifier: `${key.toLowerCase()}.example` },
    }));
    const found = await lookUp(db, queries);
    expect(found.map((match) => match?.license.id)).toEqual([
      one!.license.id,
      undefined,
      other!.license.id,
      undefined,
    ]);
  });

  it('takes the same slot by its key in another case', async () => {
    const [issued] = await context.issue('Slots-Key-0001');
    const activate = async (license_key: string, identifier: string) => {
      const answer = await request(context.service.url)
        .post(`${PREFIX}/licenses/activate`)
        .send({ license_key, identifier });
      const { data } = answer.body as { data?: { activations_used: number } };
      return [answer.status, data?.activations_used];
    };
    expect(await activate('slots-key-0001', 'one.example')).toEqual([200, 1]);
    expect(await activate('Slots-Key-0001', 'one.example')).toEqual([200, 1]);
    expect(await activate('SLOTS-KEY-0001', 'slots-key-0001')).toEqual([400, undefined]);
    const [added] = (await rows(context.service.db, 'activations')).slice(-1);
    expect(added).toMatchObject({ license_id: issued!.license.id, identifier: 'one.example' });
  });

  it('is never issued with a key that another has in any spelling', async () => {
    const { key } = await giveLicense(context.service.db, context.planId);
    const before = await rows(context.service.db, 'licenses');
    await expect(context.issue(`dlid=${key.toLowerCase()}_`)).rejects.toThrow(
      'A licence with this key already exists.',
    );
    expect(await rows(context.service.db, 'licenses')).toEqual(before);
  });

  it.each([
    ['empty', ''],
    ['blank', ' "" '],
    ['with a control character', 'abc\u0000def'],
    ['with one of the second set', 'abc\u0085def'],
    ['with half of a surrogate pair', 'abc\ud800'],
  ])('is never issued with a key that clients cannot send: %s', async (_what, key) => {
    const before = await rows(context.service.db, 'licenses');
    await expect(context.issue(key)).rejects.toThrow(
      'The key is empty or has characters that cannot be typed.',
    );
    expect(await rows(context.service.db, 'licenses')).toEqual(before);
    expect(await validate({ license_key: key })).toBe(400);
  });
});
