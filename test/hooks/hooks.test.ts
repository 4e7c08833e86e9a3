import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/processes';
import { expectNoSecrets, startManaged, type Managed } from '../support/manage';
import { sealKey } from '../../src/licensing/sealing';
import { table } from '../../src/store/engine/database';
import { listRefusedDays } from '../../src/store/orders/shop-refusals';
import { ONE_BACKEND, PREFIX, rows, startTestService } from '../support/service';
import { sendHook, signDigistore24, signStandard, signStripe } from '../support/shop-senders';

/** Tests what all receivers have in common: whose messages they take, how many, and that they never reveal the secret. */

const SECRET = 'whsec_everything_is_signed_with_this';
const NOW = new Date('2026-11-24T12:00:00Z');
const UNUSED = { id: 'evt_1', type: 'ping', created: NOW.getTime() / 1000 };

describe.each(ONE_BACKEND)('receivers, on %s', (_, settings) => {
  let service: Managed;
  let given: Record<string, string>;
  beforeAll(async () => {
    given = { LICENSING_KEY_SECRET: randomBytes(32).toString('base64'), ...(await settings()) };
    service = await startManaged(given, NOW);
    await service.write.ok('POST /shops', { name: 'stripe', kind: 'stripe', secret: SECRET }, 201);
  });
  afterAll(async () => {
    expectNoSecrets(service);
    await service.stop();
  });

  const send = (name: string, signed: Parameters<typeof sendHook>[2]) => sendHook(service.url, name, signed);
  const refusal = async (answer: Promise<{ status: number; text: string }>): Promise<[number, string]> => {
    const { status, text } = await answer;
    return [status, (JSON.parse(text) as { error: { code: string } }).error.code];
  };

  it('never shows the secret', async () => {
    const shown = [
      await service.write.ok('GET /shops/stripe'),
      await service.write.ok('GET /shops'),
      await rows(service.db, 'shops'),
    ];
    expect(JSON.stringify(shown)).not.toContain(SECRET);
    expect(service.logLines.join('\n')).not.toContain(SECRET);
  });

  it('takes signed messages, and none that is changed, unsigned or old', async () => {
    const right = signStripe(UNUSED, SECRET, NOW);
    expect((await send('stripe', right)).status).toBe(200);
    const wrong = [
      { ...right, body: right.body.replace('ping', 'pong') },
      { ...right, headers: { 'Content-Type': 'application/json' } },
      { ...right, headers: { ...right.headers, 'Stripe-Signature': 'nonsense' } },
      signStripe(UNUSED, 'whsec_other', NOW),
      signStripe(UNUSED, SECRET, new Date(NOW.getTime() - 301_000)),
      signStripe(UNUSED, SECRET, new Date(NOW.getTime() + 301_000)),
    ];
    for (const one of wrong) expect(await refusal(send('stripe', one))).toEqual([401, 'UNAUTHORIZED']);
    // While the sender changes its secret, one of several signatures is right.
    const two = signStripe(UNUSED, SECRET, NOW).headers['Stripe-Signature'] as string;
    const headers = {
      ...right.headers,
      'Stripe-Signature': two.replace(',v1=', `,v1=${'0'.repeat(64)},v1=`),
    };
    expect((await send('stripe', { ...right, headers })).status).toBe(200);
  });

  it('verifies before it parses, and keeps signed messages that it cannot read', async () => {
    const unparsable = { ...signStripe(UNUSED, SECRET, NOW), body: '{' };
    expect(await refusal(send('stripe', unparsable))).toEqual([401, 'UNAUTHORIZED']);
    const bad = signStripe([], SECRET, NOW);
    const untyped = signStripe({ id: 'evt_2' }, SECRET, NOW);
    for (const signed of [bad, untyped, untyped]) {
      const { status, text } = await send('stripe', signed);
      expect([status, JSON.parse(text)]).toMatchObject([200, { data: { result: 'unreadable' } }]);
    }
    const kept = await service.write.ok('GET /shops/stripe/messages?result=unreadable');
    expect(kept).toMatchObject([
      { type: 'unreadable', reason: '"type" is missing.' },
      { type: 'unreadable', reason: 'The body is not a JSON object.' },
    ]);
  });

  it('notes messages that it does not use, whatever they are called and however they write a time', async () => {
    const unused = { result: 'noted', reason: 'unused', order_id: null, state: null };
    for (const type of ['constructor', '__proto__', 'toString', 'v1.billing.meter.no_meter_found']) {
      const thin = { id: `evt_${type}`, type, created: '2026-11-24T12:00:00.000Z' };
      const answer = await send('stripe', signStripe(thin, SECRET, NOW));
      expect([type, answer.status, JSON.parse(answer.text)]).toEqual([type, 200, { data: unused }]);
    }
  });

  it('needs another secret for another kind of sender', async () => {
    const secret = `whsec_${randomBytes(24).toString('base64')}`;
    await service.write.ok('POST /shops', { name: 'changes', kind: 'digistore24', secret: '§§§' }, 201);
    await service.write.refused('PATCH /shops/changes', { kind: 'standard' }, 'INVALID_REQUEST', 'secret');
    await service.write.ok('PATCH /shops/changes', { kind: 'standard', secret });
    await service.write.ok('PATCH /shops/changes', { kind: 'standard', test: true });
  });

  it('refuses a secret that cannot be one of its kind, and says what it looks like', async () => {
    const hex = '0123456789abcdef'.repeat(2);
    const good = randomBytes(24).toString('base64');
    for (const [kind, secret, message] of [
      ['stripe', 'sk_live_51Habc', 'an API key. The signing secret of a destination begins with "whsec_".'],
      ['stripe', 'we_1NabcDEF', 'an id.'],
      ['stripe', hex, 'a hexadecimal key.'],
      ['stripe', 'pdl_ntfset_01abc_DEF', 'the secret of another kind of sender.'],
      ['stripe', 'whsec_', 'not look like'],
      ['stripe', 'whsec_one two', 'not look like'],
      ['paddle', 'pdl_live_apikey_01abc', 'an API key. The secret key of a notification destination'],
      ['paddle', 'ntfset_01abc', 'an id.'],
      ['paddle', 'whsec_abc', 'the secret of another kind of sender.'],
      ['standard', 'anything', 'not look like'],
      ['standard', `whpk_${good}`, 'a public key.'],
      ['standard', good, 'not look like'],
      ['standard', `whsec_${good}§`, 'not look like'],
      ['standard', 'whsec_c2hvcnQ=', 'at least 24 bytes'],
    ] as const) {
      const answer = await service.write.send('POST /shops', { body: { name: 'wrong', kind, secret } });
      expect([secret, answer.status, answer.body]).toMatchObject([
        secret,
        400,
        { error: { code: 'INVALID_REQUEST', field: 'secret', message: expect.stringContaining(message) } },
      ]);
      if (secret.length > 20) expect(JSON.stringify(answer.body)).not.toContain(secret);
    }
  });

  it('drops the quotes and the version that a secret was copied with', async () => {
    const secret = `whsec_${randomBytes(24).toString('base64')}`;
    for (const [name, copied] of [
      ['quoted', `"${secret}"`],
      ['versioned', `v1,${secret}`],
      ['both', `'v1,${secret}'\n`],
    ] as const) {
      await service.write.ok('POST /shops', { name, kind: 'standard', secret: copied }, 201);
      const signed = () => signStandard({ type: 'ping' }, secret, NOW, randomUUID());
      await eventually(async () => expect((await send(name, signed())).status).toBe(200));
    }
    // A passphrase that the seller made up may have quotes.
    await service.write.ok('POST /shops', { name: 'phrase', kind: 'digistore24', secret: '"mine"' }, 201);
    const test = (phrase: string) => send('phrase', signDigistore24({ event: 'connection_test' }, phrase));
    await eventually(async () => expect((await test('"mine"')).status).toBe(200));
    expect((await test('mine')).status).toBe(401);
  });

  it('has its address before its secret, and counts refused messages until it has the right one', async () => {
    const findings = async () =>
      ((await service.write.ok('GET /doctor')) as unknown as { id: string; message: string }[]).filter(
        ({ id, message }) => id.startsWith('RECEIVER') && message.includes('first'),
      );
    const added = await service.write.ok('POST /shops', { name: 'first', kind: 'stripe' }, 201);
    expect(added).toMatchObject({ kind: 'stripe', verifies: false });
    expect(await findings()).toEqual([]);
    const message = () => send('first', signStripe(UNUSED, SECRET, NOW));
    await eventually(async () => expect((await message()).status).toBe(401));
    expect((await message()).text).toContain('has no secret yet');
    await eventually(async () => expect(await findings()).toMatchObject([{ id: 'RECEIVER_NO_SECRET' }]));

    await service.write.ok('PATCH /shops/first', { secret: 'whsec_of_another_address' });
    const refused = async () =>
      (await listRefusedDays(service.db, '2026-01-01', 'first')).map(({ day, times }) => [day, times]);
    const before = Number((await refused())[0]?.[1]);
    await eventually(async () => expect((await message()).text).not.toContain('no secret yet'));
    await eventually(async () => expect(Number((await refused())[0]?.[1])).toBeGreaterThan(before));
    expect(await refused()).toEqual([['2026-11-24', expect.any(Number)]]);
    const [finding] = await findings();
    expect(finding).toMatchObject({ id: 'RECEIVER_REFUSES' });
    expect(finding?.message).toMatch(
      /\d+ messages were refused for a wrong secret, none was accepted: is it the secret of another address\?/,
    );
    await service.write.ok('PATCH /shops/first', { secret: SECRET });
    await eventually(async () => expect((await message()).status).toBe(200));
    expect(await findings()).toEqual([]);
    await service.write.send('DELETE /shops/first');
    expect(await refused()).toEqual([]);
  });

  it('refuses other addresses, methods, types and sizes', async () => {
    const right = signStripe(UNUSED, SECRET, NOW);
    for (const name of ['unknown', 'STRIPE', '..%2fmanage', 'a'.repeat(100)])
      expect(await refusal(send(name, right))).toEqual([404, 'NOT_FOUND']);
    await service.write.ok('POST /shops', { name: 'posts' }, 201);
    expect(await refusal(send('posts', right))).toEqual([404, 'NOT_FOUND']);
    const got = await fetch(`${service.url}${PREFIX}/hooks/stripe`);
    expect([got.status, got.headers.get('allow')]).toEqual([405, 'POST']);
    const form = { ...right, headers: { ...right.headers, 'Content-Type': 'text/plain' } };
    expect(await refusal(send('stripe', form))).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
    const large = signStripe({ ...UNUSED, padding: 'x'.repeat(1024 * 1024) }, SECRET, NOW);
    expect(await refusal(send('stripe', large))).toEqual([413, 'PAYLOAD_TOO_LARGE']);
    const fitting = signStripe({ ...UNUSED, padding: 'x'.repeat(1000 * 1000) }, SECRET, NOW);
    expect((await send('stripe', fitting)).status).toBe(200);
  });

  it('is known to another instance within two seconds, and so is a new secret', async () => {
    if (given.LICENSING_DATABASE_URL?.startsWith('sqlite:') !== false) return;
    const other = await startTestService(given, NOW);
    try {
      expect((await sendHook(other.url, 'later', signStripe(UNUSED, SECRET, NOW))).status).toBe(404);
      await service.write.ok('POST /shops', { name: 'later', kind: 'stripe', secret: SECRET }, 201);
      const answers = async (secret: string) => {
        // Stay below the limit of wrong signatures in a minute.
        await sleep(200);
        return (await sendHook(other.url, 'later', signStripe(UNUSED, secret, NOW))).status;
      };
      await eventually(async () => expect(await answers(SECRET)).toBe(200));
      await service.write.ok('PATCH /shops/later', { secret: 'whsec_new' });
      await eventually(async () => expect(await answers('whsec_new')).toBe(200));
      expect(await answers(SECRET)).toBe(401);
    } finally {
      await other.stop();
    }
  });

  it('has limits for wrong signatures of a client, and for right ones of a receiver', async () => {
    const secret = `whsec_${randomBytes(24).toString('base64')}`;
    await service.write.ok('POST /shops', { name: 'busy', kind: 'standard', secret }, 201);
    const right = () => send('busy', signStandard({ type: 'ping' }, secret, NOW, randomUUID()));
    await eventually(async () => expect((await right()).status).toBe(200));
    const wrong = () => send('busy', signStripe(UNUSED, SECRET, NOW));
    const statuses: number[] = [];
    for (let i = 0; i < 70; i++) statuses.push((await wrong()).status);
    expect(new Set(statuses)).toEqual(new Set([401, 429]));
    // Right signatures are not refused because of the wrong ones.
    expect((await right()).status).toBe(200);
    const taken: number[] = [];
    while (taken.at(-1) !== 429 && taken.length < 2_000) {
      const batch = await Promise.all(Array.from({ length: 50 }, right));
      taken.push(...batch.map(({ status }) => status));
    }
    expect(taken.filter((status) => status === 200).length).toBeGreaterThan(500);
    expect((await right()).headers.get('retry-after')).toMatch(/^\d+$/);
  });
});

describe('a receiver whose secret cannot be opened', () => {
  it('asks the sender to retry, and the doctor reports it', async () => {
    const passphrase = 'typed at Digistore24';
    const service = await startManaged({}, NOW);
    try {
      await service.write.ok('POST /shops', { name: 'ds24', kind: 'digistore24', secret: passphrase }, 201);
      const [shop] = await rows<{ secret_sealed: string }>(service.db, 'shops');
      const elsewhere = sealKey(passphrase, 'shop ds24', randomBytes(32));
      expect(shop?.secret_sealed).toHaveLength(elsewhere.length);
      await service.db(table(service.db, 'shops')).update({ secret_sealed: elsewhere });
      const message = signDigistore24({ event: 'connection_test' }, passphrase);
      const answer = await sendHook(service.url, 'ds24', message);
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
      expect(JSON.stringify(await service.write.ok('GET /doctor'))).toContain('RECEIVER_SECRET');
    } finally {
      await service.stop();
    }
  });
});
