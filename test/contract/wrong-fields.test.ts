import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { bodyError } from '../../src/http/faults';
import { generateKey } from '../../src/licensing/core/keys';
import {
  ONE_BACKEND,
  giveLicense,
  givePlan,
  PREFIX,
  rows,
  startTestService,
  type TestService,
} from '../support/service';

interface Answer {
  status: number;
  body: { data?: object; error?: { code: string; message: string } };
}

const answerOf = ({ status, body }: request.Response): Answer => ({ status, body: body as Answer['body'] });

/** Tests malformed bodies: the answer blames the right side, and names the field by the name it was sent under. */

describe('a refusal names the field as it was sent', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
  });
  afterAll(() => service.stop());

  const BELL = String.fromCharCode(7);
  it.each([
    [{ dlid: '' }, '"dlid" must not be empty.'],
    [{ dlid: ` "${BELL}' ` }, '"dlid" must not contain control characters.'],
    [{ dlid: 7 }, '"dlid" must be a string.'],
    [{ dlid: 'A\uFFFDB' }, '"dlid" was damaged on its way: the body must be in UTF-8.'],
    [{ license_key: ' ' }, '"license_key" must not be empty.'],
    [{ license_key: '', dlid: '' }, '"license_key" must not be empty.'],
    [{ license_key: null }, '"license_key" (or "dlid") is required.'],
    [{}, '"license_key" (or "dlid") is required.'],
  ])('%j: %s', async (body, message) => {
    const response = await request(service.url).post(`${PREFIX}/licenses/validate`).send(body);
    expect(answerOf(response)).toMatchObject({
      status: 400,
      body: { error: { code: 'INVALID_REQUEST', message } },
    });
  });

  it.each(['/updates/abc', '/updates/', '/updates/4.0'])('%s: where the product ID belongs', async (path) => {
    const { body } = answerOf(await request(service.url).get(PREFIX + path));
    expect(body.error).toEqual({
      code: 'INVALID_REQUEST',
      message: 'The address must end in the product ID, an integer, as /updates/42 does.',
    });
  });
});

describe.each(ONE_BACKEND)('a licence key in a field that is not its own, on %s', (_name, backend) => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService(await backend());
  });
  afterAll(() => service.stop());

  const post = (verb: string, body: object) =>
    request(service.url).post(`${PREFIX}/licenses/${verb}`).send(body).then(answerOf);

  describe.each(['domain', 'device', 'seat', 'instance'] as const)('of a plan that counts by %s', (type) => {
    it.each([
      ['its own', (key: string) => key],
      ['its own in lower case', (key: string) => key.toLowerCase()],
      ['pasted with its name', (key: string) => `dlid=${key}`],
      ['in a sentence', (key: string) => `Key: "${key}"`],
      ['broken by a mail', (key: string) => key.replace('-', '-\u00ad').replace(/(.{3})$/, '\u200b$1')],
      ['another one', () => generateKey()],
    ])('is no identifier: %s', async (_what, spell) => {
      const { id, key } = await giveLicense(service.db, await givePlan(service.db, { type }));
      const identifier = spell(key);
      for (const verb of ['activate', 'deactivate']) {
        const { status, body } = await post(verb, { license_key: key, identifier });
        expect([status, body.error]).toMatchObject([400, { code: 'INVALID_REQUEST' }]);
        expect(JSON.stringify(body)).toContain('identifier');
        expect(JSON.stringify(body).toUpperCase()).not.toContain(key);
      }
      const { status, body } = await post('validate', { license_key: key, identifier });
      expect([status, body.data]).toMatchObject([200, { valid: true, identifier_activated: false }]);
      const stored = (await rows<{ license_id: number }>(service.db, 'activations')).filter(
        ({ license_id }) => license_id === id,
      );
      expect(stored).toEqual([]);
    });
  });

  it('is no label, and nothing is stored', async () => {
    const { id, key } = await giveLicense(service.db, await givePlan(service.db));
    for (const name of [key, `Main site, ${key.toLowerCase()}`, `Main site: ${key.replace('-', '- ')}`]) {
      const { status, body } = await post('activate', { dlid: key, identifier: 'example.com', name });
      expect([status, body]).toEqual([
        400,
        { error: { code: 'INVALID_REQUEST', message: '"name" must not contain a license key.' } },
      ]);
    }
    const [license] = (await rows<{ id: number }>(service.db, 'licenses')).filter((row) => row.id === id);
    expect(license).toMatchObject({ activations_used: 0 });
  });

  it.each(['device', 'seat', 'instance'] as const)(
    'of another system is accepted neither as a %s nor as a label',
    async (type) => {
      const key = `Shop_${randomUUID().slice(0, 18)}`;
      await giveLicense(service.db, await givePlan(service.db, { type }), { key });
      for (const fields of [{ identifier: key }, { identifier: ` "${key}"` }, { identifier: 'x', name: key }])
        expect((await post('activate', { license_key: key, ...fields })).status).toBe(400);
      expect((await post('validate', { license_key: key, identifier: key })).body.data).toMatchObject({
        identifier_activated: false,
      });
      const stored = [...(await rows(service.db, 'activations')), ...(await rows(service.db, 'events'))];
      expect(JSON.stringify(stored)).not.toContain(key);
    },
  );

  it('that is part of a longer device id, or of a site’s query, does no harm', async () => {
    const onDevice = await giveLicense(service.db, await givePlan(service.db, { type: 'device' }));
    const device = `${onDevice.key}-0042`;
    const onDomain = await giveLicense(service.db, await givePlan(service.db));
    const site = `https://example.com/?dlid=${onDomain.key}`;
    for (const [{ key }, identifier] of [
      [onDevice, device],
      [onDomain, site],
    ] as const)
      expect((await post('activate', { license_key: key, identifier })).status).toBe(200);
    const stored = await rows<{ identifier: string }>(service.db, 'activations');
    expect(stored.map(({ identifier }) => identifier)).toEqual([device, 'example.com']);
  });
});

describe('what is wrong with a body', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
  });
  afterAll(() => service.stop());

  const validate = (body: object) =>
    request(service.url).post(`${PREFIX}/licenses/validate`).send(body).then(answerOf);

  it.each([
    [{ license_key: 'A\u0007B' }, 'license_key'],
    [{ dlid: 'A\u0007B' }, 'dlid'],
    [{ license_key: ' ', dlid: 'A\u0007B' }, 'dlid'],
    [{ license_key: 'A\u0007B', dlid: 'good' }, 'license_key'],
    [{ license_key: 'good', dlid: 7 }, 'dlid'],
  ])('is reported with the name of the field: %j', async (body, field) => {
    const { status, body: answer } = await validate(body);
    expect(status).toBe(400);
    expect(answer.error?.message).toMatch(new RegExp(`^"${field}" must`));
  });

  it('is found in a time that grows with its length, and not with the square of it', async () => {
    const time = async (length: number) => {
      const times: number[] = [];
      for (let i = 0; i < 5; i++) {
        // Blanks and quotes at both ends, and a long run of quotes in the middle.
        const edge = ` '`.repeat(length / 20);
        const key = `${edge}x${"'".repeat(length * 0.8)}x${edge}`;
        const started = performance.now();
        expect((await validate({ license_key: key })).status).toBe(403);
        times.push(performance.now() - started);
      }
      return Math.min(...times);
    };
    await time(6_000);
    const [short, long] = [await time(6_000), await time(60_000)];
    // The text is ten times as long; in quadratic time it would take a hundred times as long.
    expect(long / short).toBeLessThan(30);
  });

  it('is the fault of the client or of its compression; any other failure is the service’s', () => {
    const blame = (error: Error) => {
      try {
        return bodyError(error, { req: Readable.from([]) } as never);
      } catch (thrown) {
        return (thrown as Error).message;
      }
    };
    const refused = 'The body cannot be read.';
    expect(blame(Object.assign(new Error('charset'), { status: 415 }))).toBe(refused);
    expect(blame(Object.assign(new Error('length'), { status: 400 }))).toBe(refused);
    for (const code of ['Z_DATA_ERROR', 'Z_BUF_ERROR', 'ERR__ERROR_FORMAT_PADDING_1'])
      expect(blame(Object.assign(new Error('incorrect header check'), { code }))).toBe(refused);
    expect(blame(Object.assign(new Error('encoding set'), { status: 500 }))).toBe('encoding set');
    expect(blame(Object.assign(new Error('no memory'), { code: 'Z_MEM_ERROR' }))).toBe('no memory');
    expect(blame(Object.assign(new Error('disk'), { code: 'EIO' }))).toBe('disk');
    // The client is gone, so the refusal needs no text.
    expect(blame(Object.assign(new Error('the connection broke'), { code: 'ECONNRESET' }))).toBe('');
  });
});
