import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { setLimit } from '../../src/licensing/amend';
import { issueLicenses } from '../../src/licensing/issue';
import { table, type Db } from '../../src/store/engine/database';
import { addWebhook } from '../../src/webhooks/receivers';
import { eventually } from '../support/processes';
import { createMariaDbDatabase, givePlan } from '../support/service';
import { openMigrated, startServiceProcess, type ServiceProcess } from '../support/service-process';
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver';

/**
 * Instances that deliver webhooks are killed repeatedly: every event arrives, and those of a licence in order. 100,000
 * of them: WEBHOOK_EVENTS=100000.
 */

const EVENTS = Number(process.env.WEBHOOK_EVENTS ?? 2_000);
const LICENSES = Math.max(1, Math.round(EVENTS / 25));
const INSTANCES = 3;
const SECRET = Buffer.alloc(32, 7);
const NETWORKS = ['127.0.0.1'];

let db: Db;
let settings: Record<string, string>;
let receiver: WebhookReceiver;
let instances: ServiceProcess[] = [];

beforeAll(async () => {
  settings = {
    LICENSING_DATABASE_URL: await createMariaDbDatabase(),
    LICENSING_KEY_SECRET: SECRET.toString('base64'),
    LICENSING_WEBHOOK_NETWORKS: NETWORKS.join(),
  };
  db = await openMigrated(settings);
  receiver = await startReceiver();
  const fields = { url: receiver.url, events: ['license.*'], description: null };
  const context = { actor: 'operator:test', now: new Date() };
  const added = await addWebhook(db, fields, context, { keySecret: SECRET, webhookNetworks: NETWORKS });
  receiver.secret = added.secret;
  instances = await Promise.all(Array.from({ length: INSTANCES }, () => startServiceProcess(settings)));
});

afterAll(async () => {
  await Promise.all(instances.map((instance) => instance.stop('SIGKILL')));
  await receiver.stop();
  await db.destroy();
});

test(
  `${EVENTS} events arrive, each licence's in order, while instances are killed`,
  async () => {
    /** accepted revisions of each licence in the order of arrival */
    const accepted = new Map<number, number[]>();
    const refused = new Set<string>();
    receiver.answer = (response, { id, data }) => {
      receiver.received.length = 0;
      const { id: license, revision } = data.license!;
      // Refuse some once, so that later ones have to wait.
      if (randomInt(200) === 0 && !refused.has(id)) {
        refused.add(id);
        response.writeHead(500).end();
        return;
      }
      accepted.set(license, [...(accepted.get(license) ?? []), revision]);
      response.writeHead(204).end();
    };

    const planId = await givePlan(db);
    const context = () => ({ actor: 'operator:test', now: new Date() });
    const request = {
      ...{ planId, customer: undefined, reference: undefined, expiresAt: undefined },
      ...{ activationLimit: undefined, key: undefined, count: LICENSES },
    };
    const issued = await issueLicenses(db, request, 'operator:test', undefined, new Date());
    const ids = issued.map(({ license }) => license.id);
    const revisions = new Map(ids.map((id) => [id, 1]));
    let made = LICENSES;
    const change = async () => {
      while (made < EVENTS) {
        made++;
        const id = ids[randomInt(ids.length)] as number;
        const { revision } = await setLimit(db, id, randomInt(1, 1_000), context());
        revisions.set(id, Math.max(revision, revisions.get(id) ?? 0));
      }
    };

    const done = new AbortController();
    let kills = 0;
    const killing = (async () => {
      while (!done.signal.aborted) {
        await sleep(randomInt(500, 2_500));
        const victim = randomInt(INSTANCES);
        await instances[victim]!.stop('SIGKILL');
        kills++;
        instances[victim] = await startServiceProcess(settings);
      }
    })();
    await Promise.all([change(), change(), change(), change()]);
    const missing = () =>
      [...revisions].reduce((sum, [id, latest]) => sum + latest - new Set(accepted.get(id)).size, 0);
    // Half of the others are delivered during further kills.
    const half = missing() / 2;
    await eventually(() => expect(missing()).toBeLessThanOrEqual(half), 60_000 + EVENTS * 10);
    done.abort();
    await killing;
    // Wait until the claims of the last killed instances end.
    await eventually(() => expect(missing()).toBe(0), 120_000 + EVENTS * 10);
    await eventually(async () => {
      const waiting = await db(table(db, 'outbox')).whereNotNull('next_attempt_at').first<object>();
      expect(waiting).toBeUndefined();
    }, 60_000);

    const orders = [...accepted.values()];
    const late = orders.filter((order) => order.some((revision, i) => revision < (order[i - 1] ?? 0)));
    expect(late).toEqual([]);
    expect(receiver.forged).toBe(0);
    expect(kills).toBeGreaterThan(0);
    const twice = orders.flat().length - EVENTS;
    console.log(`${EVENTS} events, ${kills} kills, ${refused.size} refused once, ${twice} arrived twice`);
  },
  180_000 + EVENTS * 20,
);
