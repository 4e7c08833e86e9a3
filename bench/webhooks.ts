import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { addToken } from '../src/access/tokens';
import type { Settings } from '../src/settings/config';
import { addWebhook } from '../src/webhooks/receivers';
import { eventually } from '../test/support/processes';
import { openMigrated } from '../test/support/service-process';
import type { Side } from './measure';
import { SMALL, type Server } from './stage';

/** Webhooks: receivers on a data set, changes of its licences at an even rate, and the delay of each webhook. */

const SECRET = Buffer.alloc(32, 7);
const NETWORKS = ['127.0.0.1'];
/** The pause for 10,000 changes an hour */
const PAUSE_MS = 360;
const TIMEOUT_MS = 60_000;

export const WEBHOOK_SETTINGS: Settings = {
  LICENSING_KEY_SECRET: SECRET.toString('base64'),
  LICENSING_WEBHOOK_NETWORKS: NETWORKS.join(),
  LICENSING_MANAGE_RATE_LIMIT: '1000000',
};

export interface Hooked {
  /** changes licences of the service while `side` runs */
  changing: (side: Side, service: Server) => Side;
  /** returns the ms from before each request for a change until each good receiver had it; waits for the last ones */
  lags: () => Promise<number[]>;
  /** returns the number of changes that were answered with 503, which the lags exclude */
  refused: () => number;
  stop: () => void;
}

/** Opens receivers. @param url a data set's address @param good receivers that answer @param hanging the others */
export async function openWebhooks(url: string, good: number, hanging: number): Promise<Hooked> {
  const db = await openMigrated({ LICENSING_DATABASE_URL: url });
  const now = new Date();
  const context = { actor: 'operator:bench', now };
  const { token } = await addToken(db, { name: 'bench', scope: 'write', expiresAt: null }, context);
  let refused = 0;
  const asked = new Map<string, number>();
  const arrived = new Map<string, number[]>();
  const servers: HttpServer[] = [];
  for (let i = 0; i < good + hanging; i++) {
    const server = createServer((request, response) => {
      let text = '';
      request.setEncoding('utf8').on('data', (part: string) => (text += part));
      request.on('end', () => {
        if (i >= good) return;
        const { license } = (JSON.parse(text) as { data: { license: { id: number; revision: number } } })
          .data;
        const name = `${license.id} ${license.revision}`;
        arrived.set(name, [...(arrived.get(name) ?? []), performance.now()]);
        response.writeHead(204).end();
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    servers.push(server);
    const fields = {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
      ...{ events: ['license.*'], description: null },
    };
    await addWebhook(db, fields, context, { keySecret: SECRET, webhookNetworks: NETWORKS });
  }
  await db.destroy();

  async function change({ url: service }: Server): Promise<void> {
    const id = randomInt(1, SMALL + 1);
    const began = performance.now();
    const response = await fetch(`${service}/api/index.php/v1/licensing/manage/licenses/${id}`, {
      method: 'PATCH',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ activation_limit: randomInt(1, 1_000) }),
    });
    if (response.status === 503) {
      refused++;
      return;
    }
    if (response.status !== 200) throw new Error(`A change was answered with ${response.status}.`);
    const { data } = (await response.json()) as { data: { revision: number } };
    asked.set(`${id} ${data.revision}`, began);
  }

  return {
    changing: (side, service) => ({
      ...side,
      async run(seconds) {
        const changes: Promise<void>[] = [];
        const timer = setInterval(() => changes.push(change(service)), PAUSE_MS);
        const sample = await side.run(seconds).finally(() => clearInterval(timer));
        await Promise.all(changes);
        return sample;
      },
    }),
    async lags() {
      const missing = () => [...asked.keys()].filter((name) => (arrived.get(name)?.length ?? 0) < good);
      await eventually(() => {
        if (missing().length > 0) throw new Error(`${missing().length} changes did not arrive everywhere.`);
      }, TIMEOUT_MS);
      return [...asked].flatMap(([name, began]) => (arrived.get(name) ?? []).map((at) => at - began));
    },
    refused: () => refused,
    stop() {
      for (const server of servers) {
        server.closeAllConnections();
        server.close();
      }
    },
  };
}
