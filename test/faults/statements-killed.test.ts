import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { RowDataPacket } from 'mysql2';
import { table } from '../../src/store/engine/database';
import { addWebhook } from '../../src/webhooks/receivers';
import { underFault } from '../support/faults';
import { isUnavailable, openStand, tally, type Stand } from '../support/load';
import { eventually } from '../support/processes';
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver';

/** Any statement may be killed at any moment: MariaDB 10.11 crashed if one with a table on disk was killed. */

const SECONDS = 60;
const SECRET = Buffer.alloc(32, 7);

let stand: Stand;
let receiver: WebhookReceiver;

beforeAll(async () => {
  stand = await openStand({
    LICENSING_KEY_SECRET: SECRET.toString('base64'),
    LICENSING_WEBHOOK_NETWORKS: '127.0.0.0/8',
  });
  receiver = await startReceiver();
  const fields = { url: receiver.url, events: ['*'], description: null };
  const context = { actor: 'operator:test', now: new Date() };
  const settings = { keySecret: SECRET, webhookNetworks: ['127.0.0.0/8'] };
  receiver.secret = (await addWebhook(stand.db, fields, context, settings)).secret;
});

afterAll(async () => {
  await receiver.stop();
  await stand.close();
});

/** Kills random statements, and sometimes a connection. @returns a function that ends it, and returns the number */
async function startKilling({
  mariadb,
}: Stand): Promise<() => Promise<{ statements: number; lost: number }>> {
  const killer = await mariadb.connect();
  const killed = { statements: 0, lost: 0 };
  const ending = new AbortController();
  const killing = (async () => {
    while (!ending.signal.aborted) {
      const [all] = await killer.query<RowDataPacket[]>('SHOW FULL PROCESSLIST');
      const others = all.filter(
        ({ User, Id, Info }) =>
          User === 'root' && Id !== killer.threadId && !String(Info).includes('PROCESSLIST'),
      );
      const busy = others.filter(({ Command, Info }) => Command !== 'Sleep' && Info !== null);
      const ends = Math.random() < 0.02;
      const among = ends ? others : busy;
      const victim = among[Math.floor(Math.random() * among.length)] as { Id: number } | undefined;
      if (victim !== undefined) {
        // It may have ended meanwhile.
        await killer.query(`KILL ${ends ? '' : 'QUERY '}${victim.Id}`).catch(() => undefined);
        killed[ends ? 'lost' : 'statements']++;
      }
      await sleep(Math.random() * 20);
    }
  })();
  return async () => {
    // The machine decides how many it hits in a second.
    await eventually(() => {
      expect(killed.statements).toBeGreaterThan(100);
      expect(killed.lost).toBeGreaterThan(5);
    }, 60_000);
    ending.abort();
    await killing;
    await killer.end();
    return killed;
  };
}

test('statements and connections are killed for a minute: nothing is lost, the server lives, all goes on', async () => {
  const { db, mariadb } = stand;
  const service = await stand.start();
  let stop: Awaited<ReturnType<typeof startKilling>> | undefined;
  let killed: object = {};
  const { meanwhile } = await underFault({
    url: service.url,
    goods: await stand.newGoods(),
    db,
    begin: async () => (stop = await startKilling(stand)),
    lasts: SECONDS,
    async end() {
      killed = await stop!();
    },
  });
  expect(mariadb.process.exitCode).toBeNull();
  expect(mariadb.log()).not.toMatch(/got signal/);
  // Calls that were hit are asked to retry; the others are answered.
  expect(
    tally(meanwhile.filter((call) => call.status !== 200 && !isUnavailable(call) && call.status! >= 500)),
  ).toEqual({});
  expect(meanwhile.filter(({ status }) => status === 200).length).toBeGreaterThan(meanwhile.length / 2);
  // Everything that was queued for the receiver arrives, once the claims of killed attempts have ended.
  await eventually(async () => {
    const waiting = db(table(db, 'outbox')).whereNotNull('next_attempt_at').limit(1);
    expect(await waiting).toEqual([]);
  }, 120_000);
  expect(receiver.forged).toBe(0);
  const queued = await db(table(db, 'outbox')).where({ kind: 'webhook' }).pluck<string[]>('message_id');
  const arrived = new Set(receiver.received.map(({ id }) => id));
  expect(queued.filter((id) => !arrived.has(`msg_${id}`))).toEqual([]);
  console.log({ ...killed, delivered: queued.length, calls: meanwhile.length });
}, 400_000);
