import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/processes';
import { expectNoSecrets, startManaged, type Managed } from '../support/manage';
import { sealKey } from '../../src/licensing/sealing';
import { table } from '../../src/store/database';
import { BACKENDS, PREFIX, rows, startTestService } from '../support/service';
import { sendHook, signDigistore24, signStandard, signStripe } from '../support/shop-senders';

/** What all receivers have in common: who is let in, how much, and that nothing is told of the secret. */

const SECRET = 'whsec_everything_is_signed_with_this';
const NOW = new Date('2026-11-24T12:00:00Z');
const UNUSED = { id: 'evt_1', type: 'ping', created: NOW.getTime() / 1000 };

describe.each(BACKENDS)('receivers, on %s', (_, settings) => {
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

  it('takes what is signed, and nothing that is changed, unsigned or old', async () => {
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
    // One of several is right while the sender changes its secret.
    const two = signStripe(UNUSED, SECRET, NOW).headers['Stripe-Signature'] as string;
    const headers = {
      ...right.headers,
      'Stripe-Signature': two.replace(',v1=', `,v1=${'0'.repeat(64)},v1=`),
    };
    expect((await send('stripe', { ...right, headers })).status).toBe(200);
  });

  it('verifies before it parses, and says what is wrong with a body that is signed', async () => {
    const unparsable = { ...signStripe(UNUSED, SECRET, NOW), body: '{' };
    expect(await refusal(send('stripe', unparsable))).toEqual([401, 'UNAUTHORIZED']);
    const bad = signStripe([], SECRET, NOW);
    expect(await refusal(send('stripe', bad))).toEqual([400, 'INVALID_REQUEST']);
    const untyped = () => refusal(send('stripe', signStripe({ id: 'evt_2' }, SECRET, NOW)));
    expect([await untyped(), await untyped()]).toEqual(Array(2).fill([400, 'INVALID_REQUEST']));
    const kept = await service.write.ok('GET /shops/stripe/messages?result=refused');
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

  it('is known to another instance within two seconds, with a new secret too', async () => {
    if (given.LICENSING_DATABASE_URL?.startsWith('sqlite:') !== false) return;
    const other = await startTestService(given, NOW);
    try {
      expect((await sendHook(other.url, 'later', signStripe(UNUSED, SECRET, NOW))).status).toBe(404);
      await service.write.ok('POST /shops', { name: 'later', kind: 'stripe', secret: SECRET }, 201);
      const answers = async (secret: string) => {
        // Fewer than there may be wrong ones in a minute.
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
    // Those that are right are not refused for the others.
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
  it('asks the sender to try again, and the doctor says so', async () => {
    const service = await startManaged({}, NOW);
    try {
      await service.write.ok('POST /shops', { name: 'ds24', kind: 'digistore24', secret: SECRET }, 201);
      const [shop] = await rows<{ secret_sealed: string }>(service.db, 'shops');
      const elsewhere = sealKey(SECRET, 'shop ds24', randomBytes(32));
      expect(shop?.secret_sealed).toHaveLength(elsewhere.length);
      await service.db(table(service.db, 'shops')).update({ secret_sealed: elsewhere });
      const message = signDigistore24({ event: 'connection_test' }, SECRET);
      const answer = await sendHook(service.url, 'ds24', message);
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
      expect(JSON.stringify(await service.write.ok('GET /doctor'))).toContain('RECEIVER_SECRET');
    } finally {
      await service.stop();
    }
  });
});
