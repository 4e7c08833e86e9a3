import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import request from 'supertest';
import {
  ACTIVATION_TYPES,
  normalizeIdentifier,
  type ActivationType,
} from '../../src/licensing/core/identifiers';
import { MAX_IDENTIFIER_LENGTH } from '../../src/licensing/core/columns';
import { runs } from '../support/extent';
import {
  ONE_BACKEND,
  giveLicense,
  givePlan,
  PREFIX,
  rows,
  startTestService,
  type TestLicense,
  type TestService,
} from '../support/service';

const TEXTS = runs(2_000, 20_000);

interface Vector {
  type: ActivationType;
  sent: string;
  /** `undefined` if the identifier is refused. */
  countsAs: string | undefined;
}

/** The pages whose examples are tested: the documentation, and a longer list. */
const PAGES = ['../../docs/identifiers.md', 'identifiers.md'].map((page) =>
  readFileSync(join(__dirname, page), 'utf8'),
);
const vectors = PAGES.flatMap(readVectors);

function readVectors(markdown: string): Vector[] {
  const row =
    /^\| (domain|seat|device|instance) +\| (?:`([^`]+)`|\(empty\)) +\| (?:`([^`]+)`|refused) +\| .*\|$/gm;
  return [...markdown.matchAll(row)].map(([, type, sent = '', countsAs]) => ({
    type: type as ActivationType,
    sent: unescape(sent),
    countsAs: countsAs === undefined ? undefined : unescape(countsAs),
  }));
}

function unescape(text: string): string {
  return JSON.parse(`"${text.replaceAll('"', '\\"')}"`) as string;
}

function vectorsOf(type: ActivationType): Vector[] {
  return vectors.filter((vector) => vector.type === type);
}

describe('the documented examples', () => {
  it('are all read: every line of the tables is an example, and each type has accepted and refused ones', () => {
    for (const page of PAGES) {
      const table = page.slice(page.indexOf('## Examples')).match(/^\|.*\|$/gm) ?? [];
      expect(readVectors(page)).toHaveLength(table.length - 2);
    }
    for (const type of ACTIVATION_TYPES) {
      expect(vectorsOf(type).some(({ countsAs }) => countsAs !== undefined)).toBe(true);
      expect(vectorsOf(type).some(({ countsAs }) => countsAs === undefined)).toBe(true);
    }
  });

  it.each(vectors.map(({ type, sent, countsAs }) => [type, JSON.stringify(sent), countsAs, sent] as const))(
    '%s %s counts as %s',
    (type, _shown, countsAs, sent) => {
      expect(normalizeIdentifier(type, sent)).toBe(countsAs);
    },
  );
});

describe('an identifier', () => {
  const type = fc.constantFrom(...ACTIVATION_TYPES);
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 300 }),
    fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)) }),
    fc
      .array(
        fc.oneof(
          { weight: 3, arbitrary: fc.constantFrom(...pieces()) },
          { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 4 }) },
        ),
        { maxLength: 12 },
      )
      .map((parts) => parts.join('')),
    fc.webUrl({ withQueryParameters: true, withFragments: true }),
    fc.ipV4(),
    fc.ipV6(),
    fc.domain(),
  );

  it('has one spelling or none, whatever the text is', () => {
    fc.assert(
      fc.property(type, text, (t, sent) => {
        expect(['string', 'undefined']).toContain(typeof normalizeIdentifier(t, sent));
      }),
      { numRuns: TEXTS },
    );
  });

  it('stays the same when it is normalized again, except for a domain with a second leading "www."', () => {
    let spelled = 0;
    fc.assert(
      fc.property(type, text, (t, sent) => {
        const once = normalizeIdentifier(t, sent);
        // Each normalization removes one leading "www.", so a second one is part of the name.
        if (once === undefined || (t === 'domain' && once.startsWith('www.'))) return;
        spelled++;
        expect(normalizeIdentifier(t, once)).toBe(once);
      }),
      { numRuns: TEXTS },
    );
    expect(spelled).toBeGreaterThan(TEXTS / 4);
  });

  it('of type domain is a host: labels of letters, digits, hyphens and underscores, or an address', () => {
    let accepted = 0;
    fc.assert(
      fc.property(text, (sent) => {
        const host = normalizeIdentifier('domain', sent);
        if (host === undefined) return;
        accepted++;
        expect(host).toMatch(/^[a-z0-9_-]+(\.[a-z0-9_-]+)*$|^[0-9a-f:]+$/);
      }),
      { numRuns: TEXTS },
    );
    expect(accepted).toBeGreaterThan(TEXTS / 20);
  });

  it('of type domain is the same with a scheme before it', () => {
    const letters = fc.string({
      unit: fc.constantFrom('a', 'n', 'w', 'x', '0', '1', '-', '_'),
      minLength: 1,
      maxLength: 4,
    });
    const label = fc.oneof(letters, fc.constantFrom('www', 'xn--nxasmq6b', 'xn--a', '0x1', 'com'));
    const host = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join('.'));
    let accepted = 0;
    fc.assert(
      fc.property(host, (sent) => {
        const plain = normalizeIdentifier('domain', sent);
        if (plain !== undefined) accepted++;
        expect(normalizeIdentifier('domain', `https://${sent}`)).toBe(plain);
      }),
      { numRuns: TEXTS },
    );
    expect(accepted).toBeGreaterThan(TEXTS / 2);
  });

  it('is never blank or longer than 255 characters, even if lower case or ASCII makes it longer', () => {
    fc.assert(
      fc.property(
        type,
        fc.oneof(
          fc.string({ unit: fc.constantFrom('a', 'İ', 'ü', '.', '😀'), minLength: 200, maxLength: 600 }),
          text,
        ),
        (t, sent) => {
          const length = Array.from(normalizeIdentifier(t, sent) ?? 'none').length;
          expect(length).toBeGreaterThan(0);
          expect(length).toBeLessThanOrEqual(MAX_IDENTIFIER_LENGTH);
        },
      ),
      { numRuns: TEXTS / 4 },
    );
  });

  it('may have 255 characters, counted in code points, and no more', () => {
    expect(normalizeIdentifier('device', '😀'.repeat(255))).toBe('😀'.repeat(255));
    expect(normalizeIdentifier('device', 'x'.repeat(256))).toBeUndefined();
    // In lower case, it is two characters.
    expect(normalizeIdentifier('seat', 'İ'.repeat(128))).toBeUndefined();
    expect(normalizeIdentifier('domain', `${'a.'.repeat(127)}b`)).toBe(`${'a.'.repeat(127)}b`);
    expect(normalizeIdentifier('domain', `${'a.'.repeat(127)}bc`)).toBeUndefined();
  });
});

/** Returns the parts that hosts, and mistakes in them, are made of. */
function pieces(): string[] {
  const marks = ['.', '..', ':', '/', '//', '\\', '@', '?', '#', '%', '[', ']', '-', '_', '*', ' ', '\t'];
  const names = ['a', 'B', 'example', 'com', 'ü', 'ß', 'İ', 'xn--', 'xn--mnchen-3ya', 'www', 'WWW', '日本'];
  const numbers = [
    '0',
    '1',
    '127',
    '256',
    '0x7f',
    '１',
    '٣',
    ':80',
    ':8443',
    '::',
    '2001:db8::1',
    '127.0.0.1',
  ];
  return [
    ...marks,
    ...names,
    ...numbers,
    'www.',
    'http://',
    'https://',
    '\u00ad',
    '\u200b',
    '\u3002',
    '\uff0e',
  ];
}

describe.each(ONE_BACKEND)('over HTTP, on %s', (_name, settings) => {
  let service: TestService;
  const licenses = new Map<ActivationType, TestLicense>();

  beforeAll(async () => {
    service = await startTestService(await settings());
    for (const type of ACTIVATION_TYPES)
      licenses.set(type, await giveLicense(service.db, await givePlan(service.db, { type, limit: 0 })));
  });
  afterAll(() => service.stop());

  const post = (endpoint: string, body: object) =>
    request(service.url).post(`${PREFIX}/licenses/${endpoint}`).send(body);
  const stored = async (type: ActivationType) =>
    (await rows<{ license_id: number; identifier: string }>(service.db, 'activations'))
      .filter((row) => row.license_id === licenses.get(type)!.id)
      .map((row) => row.identifier);

  it.each(ACTIVATION_TYPES)('every example of type %s is stored as documented, or refused', async (type) => {
    const { key: license_key } = licenses.get(type)!;
    const seen = new Set<string>();
    for (const { sent: identifier, countsAs } of vectorsOf(type)) {
      const { status, body } = (await post('activate', { license_key, identifier })) as Answer;
      if (countsAs === undefined) {
        expect({ identifier, status, code: body.error?.code }).toEqual({
          identifier,
          status: 400,
          code: 'INVALID_REQUEST',
        });
      } else {
        seen.add(countsAs);
        expect({ identifier, status, ...body.data }).toMatchObject({
          status: 'active',
          identifier: countsAs,
          activations_used: seen.size,
        });
      }
    }
    expect(await stored(type)).toEqual([...seen]);
  });

  it.each(ACTIVATION_TYPES)('validate knows every example of type %s', async (type) => {
    const { key: license_key } = licenses.get(type)!;
    for (const { sent: identifier, countsAs } of vectorsOf(type)) {
      const { status, body } = (await post('validate', { license_key, identifier })) as Answer;
      const trimmed = identifier.trim();
      // A blank identifier counts as absent. Control characters are refused for every type.
      const expected = /\p{Cc}|\p{Cs}/u.test(trimmed)
        ? { status: 400, activated: undefined }
        : { status: 200, activated: countsAs !== undefined || trimmed === '' };
      expect({ identifier, status, activated: body.data?.identifier_activated }).toEqual({
        identifier,
        ...expected,
      });
    }
  });

  it('deactivating by another spelling frees the slot', async () => {
    const { key: license_key } = licenses.get('domain')!;
    await post('activate', { license_key, identifier: 'free.example.com' });
    const before = await stored('domain');
    const answer = await post('deactivate', { license_key, identifier: 'HTTPS://www.Free.example.com:1/x' });
    expect(answer.body).toMatchObject({
      data: { status: 'deactivated', identifier: 'free.example.com', activations_used: before.length - 1 },
    });
    expect(await stored('domain')).toEqual(before.filter((identifier) => identifier !== 'free.example.com'));
  });

  it('deactivate refuses a text that is not an identifier of the type', async () => {
    const { key: license_key } = licenses.get('domain')!;
    const before = await stored('domain');
    for (const { sent: identifier, countsAs } of vectorsOf('domain'))
      if (countsAs === undefined) {
        const { status } = await post('deactivate', { license_key, identifier });
        expect({ identifier, status }).toEqual({ identifier, status: 400 });
      }
    expect(await stored('domain')).toEqual(before);
  });
});

interface Answer {
  status: number;
  body: {
    data?: { identifier: string; activations_used: number; identifier_activated: boolean };
    error?: { code: string };
  };
}

it('an unknown type has no identifiers', () => {
  expect(normalizeIdentifier('planet', 'example.com')).toBeUndefined();
});
