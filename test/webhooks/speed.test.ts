import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { issueLicenses } from '../../src/licensing/issue';
import type { Db } from '../../src/store/database';
import { addWebhook, removeWebhook } from '../../src/webhooks/receivers';
import { eventually } from '../support/processes';
import { createMariaDbDatabase, givePlan } from '../support/service';
import { openMigrated, startServiceProcess, type ServiceProcess } from '../support/service-process';
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver';

/** What a receiver waits for when two instances send to ten others that hang, flood and fail. */

const EVENTS = 200;
const SECRET = Buffer.alloc(32, 7);
const NETWORKS = ['127.0.0.1'];

let db: Db;
let planId: number;
let instances: ServiceProcess[] = [];
const receivers: WebhookReceiver[] = [];

beforeAll(async () => {
  const settings = {
    LICENSING_DATABASE_URL: await createMariaDbDatabase(),
    LICENSING_KEY_SECRET: SECRET.toString('base64'),
    LICENSING_WEBHOOK_NETWORKS: NETWORKS.join(),
  };
  db = await openMigrated(settings);
  planId = await givePlan(db);
  instances = await Promise.all([startServiceProcess(settings), startServiceProcess(settings)]);
}, 60_000);

afterAll(async () => {
  await Promise.all(instances.map((instance) => instance.stop('SIGKILL')));
  await Promise.all(receivers.map((receiver) => receiver.stop()));
  await db.destroy();
}, 60_000);

async function add(answer: WebhookReceiver['answer']): Promise<{ receiver: WebhookReceiver; id: number }> {
  const receiver = await startReceiver();
  receiver.answer = answer;
  receivers.push(receiver);
  const fields = { url: receiver.url, events: ['license.*'], description: null };
  const context = { actor: 'operator:test', now: new Date() };
  const { webhook } = await addWebhook(db, fields, context, { keySecret: SECRET, webhookNetworks: NETWORKS });
  return { receiver, id: webhook.id };
}

/** @returns the milliseconds from the commit of so many events to the last one's arrival at a receiver */
async function measure(receiver: WebhookReceiver): Promise<number> {
  receiver.received.length = 0;
  const request = {
    ...{ planId, customer: undefined, reference: undefined, expiresAt: undefined },
    ...{ activationLimit: undefined, key: undefined, count: EVENTS },
  };
  await issueLicenses(db, request, 'operator:test', undefined, new Date());
  const began = performance.now();
  const arrived = () => new Set(receiver.received.map(({ id }) => id)).size;
  await eventually(() => expect(arrived()).toBe(EVENTS), 120_000);
  return Math.max(...receiver.received.map(({ at }) => at)) - began;
}

test('ten receivers that hang, flood and fail hardly delay what is sent to another', async () => {
  const good = await add(undefined);
  const alone = await measure(good.receiver);
  await removeWebhook(db, good.id);
  for (let i = 0; i < 10; i++)
    await add((response) => {
      if (i % 3 === 0) return;
      if (i % 3 === 2) return void response.writeHead(500).end('no');
      response.writeHead(200);
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
      };
      response.on('drain', more).on('error', () => undefined);
      more();
    });
  const { receiver } = await add(undefined);
  const beside = await measure(receiver);
  // About twice as long; beside one slow queue for all it took thirty times as long.
  expect(beside).toBeLessThan(5_000 + 4 * alone);
}, 180_000);
