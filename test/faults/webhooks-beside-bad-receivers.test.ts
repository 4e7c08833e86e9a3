import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { issueLicenses } from '../../src/licensing/issue';
import type { Db } from '../../src/store/engine/database';
import { addWebhook } from '../../src/webhooks/receivers';
import { eventually } from '../support/processes';
import { createMariaDbDatabase, givePlan } from '../support/service';
import { openMigrated, startServiceProcess, type ServiceProcess } from '../support/service-process';
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver';

/** The delay of a receiver while two instances send to ten others that hang, flood and fail. */

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
});

afterAll(async () => {
  await Promise.all(instances.map((instance) => instance.stop('SIGKILL')));
  await Promise.all(receivers.map((receiver) => receiver.stop()));
  await db.destroy();
});

async function add(answer: WebhookReceiver['answer']): Promise<WebhookReceiver> {
  const receiver = await startReceiver();
  receiver.answer = answer;
  receivers.push(receiver);
  const fields = { url: receiver.url, events: ['license.*'], description: null };
  const context = { actor: 'operator:test', now: new Date() };
  await addWebhook(db, fields, context, { keySecret: SECRET, webhookNetworks: NETWORKS });
  return receiver;
}

/** Waits until this number of events has arrived at a receiver. */
async function deliver(receiver: WebhookReceiver): Promise<void> {
  const request = {
    ...{ planId, customer: undefined, reference: undefined, expiresAt: undefined },
    ...{ activationLimit: undefined, key: undefined, count: EVENTS },
  };
  await issueLicenses(db, request, 'operator:test', undefined, new Date());
  const arrived = () => new Set(receiver.received.map(({ id }) => id)).size;
  await eventually(() => expect(arrived()).toBe(EVENTS), 120_000);
}

test('ten receivers that hang, flood and fail do not hold up what is sent to another', async () => {
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
  // When the search for due deliveries shared its connections with the claims, only 84 of 200 had arrived by the end.
  await deliver(await add(undefined));
}, 180_000);
