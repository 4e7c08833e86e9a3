import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createConnection, type Connection } from 'mysql2/promise';
import request from 'supertest';
import { issueLicenses } from '../../src/licensing/issue';
import { canonicalKey, generateKey, hasOwnShape, keyDigest, keyHint } from '../../src/licensing/core/keys';
import { isSealedWith, openSealedKey, sealKey, SealError } from '../../src/licensing/sealing';
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
/** One that another shop made. */
const IMPORTED = 'Shop-2024-abcd-EFGH';

describe('the one spelling of a key', () => {
  it.each([
    ['as it was issued', KEY, KEY],
    // joomla-client.md's table of what customers put into the Download Key field
    ['in lower case', KEY.toLowerCase(), KEY],
    ['in mixed case', 'a1B2c3D4-E5f6A7b8-C9d0E1f2-a3B4c5D6', KEY],
    ['after a trailing tab, which Joomla sends as an underscore', `${KEY}_`, KEY],
    ['with a trailing tab', `${KEY}\t`, KEY],
    ['with a no-break space', `${KEY}\u00a0`, KEY],
    ['with a zero-width space inside', 'A1B2C3D4-\u200bE5F6A7B8-C9D0E1F2-A3B4C5D6', KEY],
    ['with its parameter', `dlid=${KEY}`, KEY],
    ['with its parameter twice', `dlid=dlid=${KEY}`, KEY],
    ['with its parameter in upper case', `DLID=${KEY}`, KEY],
    ['"A%ZZ%" of another shop', 'A%ZZ%', 'A%ZZ%'],
    ['"A+B" of another shop', 'A+B', 'A+B'],
    ['"A"B" of another shop', 'A"B', 'A"B'],
    // docs/contract.md, 3.2
    ['with blanks at both ends', `  ${KEY}\r\n`, KEY],
    ['with blanks inside', 'A1B2C3D4 - E5F6A7B8 - C9D0E1F2 - A3B4C5D6', KEY],
    ['with line breaks inside', 'A1B2C3D4-E5F6A7B8-\nC9D0E1F2-A3B4C5D6', KEY],
    ['with an ideographic space', `\u3000${KEY}`, KEY],
    ['with a byte order mark', `\ufeff${KEY}`, KEY],
    ['with a joiner, a soft hyphen and a direction mark', `\u2060\u00ad\u200e${KEY}\u200f`, KEY],
    ['in double quotes', `"${KEY}"`, KEY],
    ['in single quotes', `'${KEY}'`, KEY],
    ['in back-ticks', `\`${KEY}\``, KEY],
    ['in typographic quotes', `“${KEY}”`, KEY],
    ['in German quotes', `„${KEY}“`, KEY],
    ['in guillemets', `« ${KEY} »`, KEY],
    ['in underscores', `__${KEY}__`, KEY],
    ['in quotes with its parameter', `"dlid=${KEY}"`, KEY],
    ['with its parameter and in quotes', `dlid="${KEY}"`, KEY],
    ['in all of that', ` _"dlid= '${KEY.toLowerCase()}\u200b' "_ `, KEY],
    ['imported, which keeps its case', IMPORTED, IMPORTED],
    ['imported, in other case, which is another key', IMPORTED.toLowerCase(), IMPORTED.toLowerCase()],
    ['imported, with blanks and quotes', ` "${IMPORTED}" `, IMPORTED],
    ['imported, with its parameter', `dlid=${IMPORTED}`, IMPORTED],
    ['imported, with an underscore and a quote inside', 'ab_cd"ef', 'ab_cd"ef'],
    ['imported, with dlid= inside', 'ab-dlid=cd', 'ab-dlid=cd'],
    ['imported and not of ASCII', 'Schlüssel-1', 'Schlüssel-1'],
    ['of 32 hex digits without groups, which is not our shape', 'a1b2c3d4'.repeat(4), 'a1b2c3d4'.repeat(4)],
    [
      'of five groups, which is not our shape',
      `${KEY.toLowerCase()}-abcdef01`,
      `${KEY.toLowerCase()}-abcdef01`,
    ],
    ['of full-width digits, which is not our shape', KEY.replace('1', '１'), KEY.replace('1', '１')],
    ['empty', '', ''],
    ['of blanks', ' \t\u00a0\u200b', ''],
    ['of quotes', '""', ''],
    ['of a parameter without a value', 'dlid=', ''],
  ])('%s', (_how, written, canonical) => {
    expect(canonicalKey(written)).toBe(canonical);
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
      { numRuns: 20_000 },
    );
  });

  it('is the same with anything around it that is pasted along', () => {
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
      { numRuns: 5_000 },
    );
  });
});

describe('a key of our own', () => {
  it('has 128 bits in four groups, and is never the same', () => {
    const keys = Array.from({ length: 10_000 }, generateKey);
    for (const key of keys) expect(key).toMatch(/^[0-9A-F]{8}(-[0-9A-F]{8}){3}$/);
    expect(new Set(keys).size).toBe(keys.length);
    // every digit is as frequent as every other: 20,000 of each are expected, with a standard deviation of 137
    const digits = keys.join('').replaceAll('-', '');
    for (const digit of '0123456789ABCDEF')
      expect(Math.abs(digits.split(digit).length - 1 - 20_000)).toBeLessThan(1_200);
  });

  it('is its own one spelling, and known by its shape', () => {
    for (let i = 0; i < 1000; i++) {
      const key = generateKey();
      expect(canonicalKey(key)).toBe(key);
      expect(hasOwnShape(key)).toBe(true);
    }
    expect(hasOwnShape(IMPORTED)).toBe(false);
    expect(hasOwnShape(`${KEY}\n`)).toBe(false);
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

  it("is MariaDB's SHA2(key, 256), so that an operator's own SQL can say so", async () => {
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

  it('does not open with another secret, and says that it is another', () => {
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

  it('does not open with any one bit changed, whichever it is', () => {
    const bytes = Buffer.from(sealKey(KEY, digest, secret), 'base64');
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const damaged = Buffer.from(bytes);
      damaged[bit >> 3]! ^= 1 << (bit & 7);
      expect(() => openSealedKey(damaged.toString('base64'), digest, secret)).toThrow(SealError);
    }
  });

  it('does not open when it was cut off, whatever is left', () => {
    const bytes = Buffer.from(sealKey(KEY, digest, secret), 'base64');
    for (let length = 0; length < bytes.length; length++)
      expect(() => openSealedKey(bytes.subarray(0, length).toString('base64'), digest, secret)).toThrow(
        SealError,
      );
  });

  it('is not opened by what is no sealed key at all', () => {
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

  it('holds its key sealed also when it is as long as a key can be, and no longer one is issued', async () => {
    const secret = randomBytes(32);
    const [issued] = await context.issue('é'.repeat(175), secret);
    const { keySealed, keyDigest: digest } = issued!.license;
    expect(openSealedKey(keySealed!, digest, secret)).toBe('é'.repeat(175));
    await expect(context.issue('x'.repeat(351))).rejects.toThrow('The key is longer than 350 bytes.');
  });

  it('with an imported key is found with that case and no other', async () => {
    await context.issue(' "Imported-Key-One" ');
    expect(await validate({ license_key: 'Imported-Key-One' })).toBe(200);
    expect(await validate({ license_key: 'dlid=Imported-Key-One_' })).toBe(200);
    expect(await validate({ license_key: 'imported-key-one' })).toBe(403);
    expect(await validate({ license_key: 'Imported-Key-Öne' })).toBe(403);
  });

  it('is issued with no key that another has, in any spelling', async () => {
    const { key } = await giveLicense(context.service.db, context.planId);
    const before = await rows(context.service.db, 'licenses');
    await expect(context.issue(`dlid=${key.toLowerCase()}_`)).rejects.toThrow(
      'A licence with this key exists already.',
    );
    expect(await rows(context.service.db, 'licenses')).toEqual(before);
  });

  it.each([
    ['empty', ''],
    ['blank', ' "" '],
    ['with a control character', 'abc\u0000def'],
    ['with one of the second set', 'abc\u0085def'],
    ['with half of a surrogate pair', 'abc\ud800'],
  ])('is issued with no key that no client could send: %s', async (_what, key) => {
    const before = await rows(context.service.db, 'licenses');
    await expect(context.issue(key)).rejects.toThrow(
      'The key is empty or has characters that cannot be typed.',
    );
    expect(await rows(context.service.db, 'licenses')).toEqual(before);
    expect(await validate({ license_key: key })).toBe(400);
  });
});
