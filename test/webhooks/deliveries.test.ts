/* oxlint-disable typescript/no-unsafe-assignment -- answers are JSON of any form */
import { readFileSync } from 'node:fs';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createAddressRules } from '../../src/webhooks/addresses';
import { ATTEMPT_LIMIT_MS, createPost, type PostResult } from '../../src/webhooks/post';
import { scheduleRetry, RETRY_DELAYS_MS } from '../../src/webhooks/retry-schedule';
import { table } from '../../src/store/engine/database';
import { createAuthority } from '../support/certificates';
import { startManaged, type Managed, type Thing } from '../support/manage';
import { eventually, freePort } from '../support/processes';
import { DATABASE_KINDS, givePlan, newPlace, rows } from '../support/service';
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver';

/** Deliveries to receivers that fail in every way: when a delivery is retried, in which order, and what disables a receiver. */

const NETWORKS = ['127.0.0.0/8', '::1'];
const never = new AbortController().signal;

describe('one attempt', () => {
  let receiver: WebhookReceiver;
  const post = createPost(createAddressRules(NETWORKS));
  beforeAll(async () => {
    receiver = await startReceiver();
  });
  afterAll(() => receiver.stop());
  const attempt = (url = receiver.url) => post(url, {}, '{}', never);

  test.each([
    [200, undefined],
    [204, undefined],
    [299, undefined],
    [301, 'STATUS'],
    [302, 'STATUS'],
    [307, 'STATUS'],
    [400, 'STATUS'],
    [410, 'STATUS'],
    [429, 'STATUS'],
    [500, 'STATUS'],
    [503, 'STATUS'],
  ])('status %i', async (status, failure) => {
    receiver.received.length = 0;
    receiver.answer = (response) => response.writeHead(status, { Location: receiver.url }).end('said');
    expect(await attempt()).toMatchObject({ status, failure });
    // Redirects are not followed.
    expect(receiver.received).toHaveLength(1);
  });

  test('only the beginning of a long answer is read, and a body that breaks off does not matter', async () => {
    let written = 0;
    receiver.answer = (response) => {
      response.writeHead(200);
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(65_536))) written += 65_536;
      };
      response.on('drain', more);
      more();
    };
    const posted = await attempt();
    expect(posted).toMatchObject({ status: 200, failure: undefined, answer: 'x'.repeat(1_024) });
    expect(written).toBeLessThan(32_000_000);
    receiver.answer = (response) => {
      response.writeHead(202, { 'Content-Length': 100 }).write('half');
      setImmediate(() => response.destroy());
    };
    expect(await attempt()).toMatchObject({ status: 202, failure: undefined });
    receiver.answer = (response) => void response.writeHead(200).write('half of it');
    expect(await attempt()).toMatchObject({ status: 200, failure: undefined, answer: 'half of it' });
  });

  test('a closed connection, a closed port, an answer that is not HTTP, and endless headers each fail with a code', async () => {
    receiver.answer = (response) => response.destroy();
    expect(await attempt()).toMatchObject({ failure: 'NOT_CONNECTED', status: undefined });
    expect(await attempt(`http://127.0.0.1:${await freePort()}/`)).toMatchObject({
      failure: 'NOT_CONNECTED',
    });
    for (const said of [
      '220 mail.example ESMTP\r\n',
      `HTTP/1.1 200 OK\r\n${'X-More: y\r\n'.repeat(9_000)}`,
    ]) {
      const server = createTcpServer((socket) => socket.on('error', () => undefined).write(said));
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as AddressInfo;
      expect(await attempt(`http://127.0.0.1:${port}/`)).toMatchObject({ failure: 'INVALID_ANSWER' });
      server.close();
    }
  });

  test('Retry-After in seconds and as a date', async () => {
    const asked = async (text: string) => {
      receiver.answer = (response) => response.writeHead(503, { 'Retry-After': text }).end();
      return (await attempt()).retryAfter;
    };
    expect(await asked('120')).toBe(120_000);
    const date = await asked(new Date(Date.now() + 60_000).toUTCString());
    expect(date).toBeGreaterThan(50_000);
    expect(date).toBeLessThan(61_000);
    for (const text of ['soon', '-5', 'Thu, 01 Jan 1970 00:00:00 GMT'])
      expect(await asked(text)).toBeUndefined();
  });

  test('over TLS, a certificate that is invalid or for another name is refused', async () => {
    const [own, foreign] = [createAuthority(), createAuthority()];
    const ca = readFileSync(own.ca, 'utf8');
    const trusting = createPost(createAddressRules(NETWORKS), ca);
    const answers: PostResult[] = [];
    for (const certificate of [
      own.issue('DNS:localhost'),
      own.issue('DNS:shop.example'),
      foreign.issue('DNS:localhost'),
    ]) {
      const secure = await startReceiver(certificate);
      answers.push(await trusting(secure.url, {}, '{}', never));
      await secure.stop();
    }
    expect(answers.map(({ failure }) => failure)).toEqual([undefined, 'TLS', 'TLS']);
  });
});

test('the schedule: ten attempts within about 76 hours, then the receiver is disabled', () => {
  const now = new Date('2026-11-24T12:00:00Z');
  const enabledAt = new Date('2026-11-01T00:00:00Z');
  const after = (failures: number, posted: Partial<PostResult> = {}, random = 0.5, attemptedBefore = now) => {
    const webhook = { enabledAt };
    const row = { type: 'license.issued', failures, attemptedBefore };
    const { outcome, disabled } = scheduleRetry(
      webhook,
      row,
      { status: 500, retryAfter: 0, ...posted },
      now,
      random,
    );
    return { wait: +outcome.nextAttemptAt! - +now, failures: outcome.failures, disabled };
  };
  const waits = Array.from({ length: 9 }, (_, failures) => after(failures).wait / 1000);
  expect(waits).toEqual([5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400]);
  expect(RETRY_DELAYS_MS.reduce((sum, one) => sum + one, 0) / 3_600_000).toBeCloseTo(75.58, 1);
  expect([after(0, {}, 0).wait, after(0, {}, 1).wait]).toEqual([4_000, 6_000]);
  expect(after(9)).toEqual({ wait: 0, failures: 10, disabled: 'failing' });
  expect(after(0, { status: 410 })).toMatchObject({ disabled: 'gone' });
  // Retry-After is a minimum, and at most one day.
  expect(after(0, { retryAfter: 60_000 }).wait).toBe(60_000);
  expect(after(1, { retryAfter: 60_000 }).wait).toBe(300_000);
  expect(after(0, { retryAfter: 1e12 }).wait).toBe(86_400_000);
  // A receiver's first attempt can be in the same second in which the receiver was enabled. The schedule continues.
  expect(after(1, {}, 0.5, enabledAt)).toMatchObject({ wait: 300_000, failures: 2 });
  // The receiver was enabled after the previous attempt, so the schedule starts again.
  expect(after(9, {}, 0.5, new Date('2026-10-31'))).toMatchObject({ wait: 5_000, failures: 1 });
  // The schedule also starts again if the receiver was enabled in the second in which the last attempt failed for good.
  const givenUp = { type: 'license.issued', failures: 10, attemptedBefore: enabledAt, failedAt: enabledAt };
  expect(scheduleRetry({ enabledAt }, givenUp, { status: 500, retryAfter: 0 }, now).outcome.failures).toBe(1);
});

describe.each(DATABASE_KINDS)('on %s', (kind) => {
  let service: Managed;
  let receiver: WebhookReceiver;
  let other: WebhookReceiver;
  let planId: number;
  let id: number;
  beforeAll(async () => {
    [receiver, other] = [await startReceiver(), await startReceiver()];
    service = await startManaged(
      {
        ...(await newPlace(kind)),
        LICENSING_WEBHOOK_NETWORKS: NETWORKS.join(),
        LICENSING_LOG_LEVEL: 'debug',
      },
      new Date(),
    );
    planId = await givePlan(service.db);
  });
  beforeEach(async () => {
    for (const one of [receiver, other]) Object.assign(one, { answer: undefined });
    for (const { id: old } of await service.write.all('/webhooks'))
      await service.write.ok(`DELETE /webhooks/${old}`, undefined, 204);
    await service.db(table(service.db, 'outbox')).delete();
    receiver.received.length = other.received.length = 0;
    // The library that verifies signatures compares timestamps with its own clock.
    service.clock.now = new Date();
    const added = await service.write.ok('POST /webhooks', { url: receiver.url, events: ['license.*'] }, 201);
    id = added.id as number;
    receiver.secret = added.secret as string;
  });
  afterAll(async () => {
    expect([receiver.forged, other.forged]).toEqual([0, 0]);
    await service.stop();
    await receiver.stop();
    await other.stop();
  });

  // Created through the service, because another process notices a new receiver only within two seconds.
  const give = async () =>
    (await service.write.ok('POST /licenses', { plan_id: planId }, 201)) as { id: number };
  const setLimit = (licenseId: number, limit: number) =>
    service.write.ok(`PATCH /licenses/${licenseId}`, { activation_limit: limit });
  const deliveries = () => service.write.all(`/webhooks/${id}/deliveries`);
  const settled = (check: (deliveries: Thing[]) => void) =>
    eventually(async () => {
      const all = await deliveries();
      check(all);
      return all;
    });
  const passTime = (ms: number) => {
    service.clock.now = new Date(service.clock.now.getTime() + ms);
  };
  const suspended = (licenseId: number) => service.write.ok(`POST /licenses/${licenseId}/suspend`);
  const states = (all: Thing[]) => all.map(({ state }) => state as string);

  test('a failed delivery is sent again with the same webhook-id, and delays only later ones of its licence', async () => {
    const [first, second] = [await give(), await give()];
    await settled((all) => expect(states(all)).toEqual(['delivered', 'delivered']));
    receiver.received.length = 0;
    receiver.answer = (response, { data }) =>
      response.writeHead(data.license!.id === first.id ? 500 : 200).end('x');
    await suspended(first.id);
    await settled((all) => expect(all[0]).toMatchObject({ error: 'STATUS 500', attempts: 1, answer: 'x' }));
    for (const limit of [7, 8, 9]) await setLimit(first.id, limit);
    await suspended(second.id);
    await settled((all) => expect(states(all).filter((state) => state === 'waiting')).toHaveLength(4));
    await eventually(() =>
      expect(receiver.received.map(({ data }) => data.license!.id)).toEqual([first.id, second.id]),
    );
    receiver.answer = undefined;
    passTime(7_000);
    await settled((all) => expect(new Set(states(all))).toEqual(new Set(['delivered'])));
    const ofFirst = receiver.received.filter(({ data }) => data.license!.id === first.id);
    expect(ofFirst.map(({ data }) => data.license!.revision)).toEqual([2, 2, 3, 4, 5]);
    expect(new Set(ofFirst.map(({ id: webhookId }) => webhookId)).size).toBe(4);
    expect(ofFirst[0]!.id).toBe(ofFirst[1]!.id);
    expect(ofFirst[0]!.text).toBe(ofFirst[1]!.text);
  });

  test('a challenge of a CDN is not a delivery, even with 202', async () => {
    receiver.answer = (response) => response.writeHead(202, { 'x-amzn-waf-action': 'challenge' }).end();
    await give();
    await settled((all) => expect(all[0]).toMatchObject({ error: 'CHALLENGED 202', state: 'waiting' }));
    receiver.answer = undefined;
    passTime(7_000);
    await settled((all) => expect(new Set(states(all))).toEqual(new Set(['delivered'])));
  });

  test('a receiver that hangs for every event does not delay the others', async () => {
    receiver.answer = () => undefined;
    const added = await service.write.ok(
      'POST /webhooks',
      { url: other.url, events: ['license.issued'] },
      201,
    );
    other.secret = added.secret as string;
    for (let i = 0; i < 20; i++) await give();
    await eventually(() => expect(other.received).toHaveLength(20));
    await eventually(() => expect(receiver.received.length).toBeGreaterThanOrEqual(8));
    // At most eight attempts run at a time: the ninth starts only after the first has timed out.
    const [first, ninth] = [receiver.received[0]!, receiver.received[8]];
    expect((ninth?.at ?? Infinity) - first.at).toBeGreaterThan(0.9 * ATTEMPT_LIMIT_MS);
    await service.write.ok(`DELETE /webhooks/${id}`, undefined, 204);
    receiver.answer = undefined;
  });

  test('410 disables at once; waiting deliveries are kept, and sent in order when the receiver is enabled again', async () => {
    const license = await give();
    await settled((all) => expect(states(all)).toEqual(['delivered']));
    receiver.answer = (response) => response.writeHead(410).end();
    await setLimit(license.id, 7);
    await setLimit(license.id, 8);
    await eventually(async () =>
      expect(await service.write.ok(`GET /webhooks/${id}`)).toMatchObject({
        enabled: false,
        disabled_reason: 'gone',
      }),
    );
    // Events of a disabled receiver wait too.
    await setLimit(license.id, 9);
    expect(states(await deliveries())).toEqual(['waiting', 'waiting', 'waiting', 'delivered']);
    const waiting = await service.write.all(`/webhooks/${id}/deliveries?state=waiting`);
    expect(waiting).toHaveLength(3);
    receiver.received.length = 0;
    receiver.answer = undefined;
    passTime(3_600_000);
    await service.write.ok(`PATCH /webhooks/${id}`, { enabled: true });
    await settled((all) => expect(new Set(states(all))).toEqual(new Set(['delivered'])));
    expect(receiver.received.map(({ data }) => data.license!.revision)).toEqual([2, 3, 4]);
  });

  test('a delivery that waits for its next attempt is sent at once when the receiver is enabled or its address changes', async () => {
    const license = await give();
    await settled((all) => expect(states(all)).toEqual(['delivered']));
    const putOff = async (change: object) => {
      await service.write.ok(`PATCH /webhooks/${id}`, { enabled: false });
      await setLimit(license.id, 7 + receiver.received.length);
      await service
        .db(table(service.db, 'outbox'))
        .whereNotNull('next_attempt_at')
        .update({ next_attempt_at: '2099-01-01 00:00:00', failures: 5 });
      await service.write.ok(`PATCH /webhooks/${id}`, change);
    };
    await putOff({ enabled: true });
    await eventually(() => expect(receiver.received).toHaveLength(2));
    other.secret = receiver.secret;
    await putOff({ enabled: true, url: other.url });
    await eventually(() => expect(other.received).toHaveLength(1));
    await settled((all) => expect(new Set(states(all))).toEqual(new Set(['delivered'])));
  });

  test('the first delivery of a lane is found, although later ones of the lane were due earlier', async () => {
    const license = await give();
    await settled((all) => expect(states(all)).toEqual(['delivered']));
    await service.write.ok(`PATCH /webhooks/${id}`, { enabled: false });
    for (let limit = 10; limit < 50; limit++) await setLimit(license.id, limit);
    const [first] = await service.db(table(service.db, 'outbox')).where({ revision: 2 });
    const waiting = () => service.db(table(service.db, 'outbox')).whereNotNull('next_attempt_at');
    await waiting()
      .whereNot({ id: (first as { id: number }).id })
      .update({ next_attempt_at: '2020-01-01 00:00:00' });
    receiver.received.length = 0;
    await service.write.ok(`PATCH /webhooks/${id}`, { enabled: true });
    await eventually(() => expect(receiver.received).toHaveLength(40));
    const revisions = receiver.received.map(({ data }) => data.license!.revision);
    expect(revisions).toEqual([...revisions].sort((a, b) => a - b));
    await settled((all) => expect(states(all)).not.toContain('waiting'));
  });

  test('a test and a replay reach a disabled receiver; a test that fails is not tried again', async () => {
    await give();
    const [sent] = await settled((all) => expect(states(all)).toEqual(['delivered']));
    await service.write.ok(`PATCH /webhooks/${id}`, { enabled: false });
    await service.write.ok(`POST /webhooks/${id}/deliveries/${sent!.id}/replay`);
    await eventually(() => expect(receiver.received).toHaveLength(2));
    expect(receiver.received[1]).toMatchObject({ id: sent!.webhook_id, type: 'license.issued' });
    await service.write.ok(`POST /webhooks/${id}/test`, {}, 201);
    await eventually(() =>
      expect(receiver.received.at(-1)).toMatchObject({ type: 'webhook.test', data: {} }),
    );
    receiver.answer = (response) => response.writeHead(500).end();
    await service.write.ok(`POST /webhooks/${id}/test`, {}, 201);
    await settled((all) => expect(all[0]).toMatchObject({ state: 'failed', error: 'STATUS 500' }));
    await service.write.refused(`POST /webhooks/${id}/deliveries/999999/replay`, {}, 'NOT_FOUND');
  });

  test('both secrets sign for 24 hours after a rotation; at a second one the oldest ends', async () => {
    const signatures = async () => {
      const before = receiver.received.length;
      await service.write.ok(`POST /webhooks/${id}/test`, {}, 201);
      await eventually(() => expect(receiver.received).toHaveLength(before + 1));
      return receiver.received.at(-1)!.headers['webhook-signature']!.split(' ').length;
    };
    const first = receiver.secret!;
    const { secret: second } = await service.write.ok(`POST /webhooks/${id}/rotate`);
    expect(await signatures()).toBe(2);
    receiver.secret = second as string;
    expect(await signatures()).toBe(2);
    const { secret: third } = await service.write.ok(`POST /webhooks/${id}/rotate`);
    receiver.secret = third as string;
    expect(await signatures()).toBe(2);
    expect(receiver.forged).toBe(0);
    receiver.secret = first;
    expect(await signatures()).toBe(2);
    expect(receiver.forged).toBe(1);
    receiver.forged = 0;
    receiver.secret = third as string;
    await settled((all) => expect(states(all)).not.toContain('waiting'));
    passTime(25 * 3_600_000);
    expect(await signatures()).toBe(1);
    service.clock.now = new Date();
    const stored = JSON.stringify(await rows(service.db, 'webhooks'));
    for (const secret of [first, second, third]) expect(stored).not.toContain(secret);
    expect(service.logLines.join()).not.toContain('whsec_');
  });

  test('a search does not read the whole queue behind one failing delivery', async () => {
    const license = await give();
    await settled((all) => expect(states(all)).toEqual(['delivered']));
    receiver.answer = (response, { data }) =>
      response.writeHead(data.license!.id === license.id ? 500 : 200).end();
    for (let limit = 10; limit < 110; limit++) await setLimit(license.id, limit);
    await settled((all) => expect(states(all).filter((state) => state === 'waiting')).toHaveLength(100));
    const due = () =>
      service
        .db(table(service.db, 'outbox'))
        .where({ webhook_id: id })
        .where('next_attempt_at', '<=', service.clock.now.toISOString().slice(0, 19).replace('T', ' '));
    await eventually(async () => expect(await due()).toHaveLength(0));
    const { id: quick } = await give();
    await eventually(() => expect(receiver.received.at(-1)!.data.license!.id).toBe(quick));
  });
});
