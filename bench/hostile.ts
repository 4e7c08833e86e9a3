import { setTimeout as sleep } from 'node:timers/promises';
import { brotliCompressSync } from 'node:zlib';
import { createSession } from '../src/access/sessions';
import { API_PATH } from '../src/licensing/api';
import type { Settings } from '../src/settings/config';
import { addShop } from '../src/orders/shops';
import { customerDigest } from '../src/store/customer-digest';
import { table } from '../src/store/engine/database';
import { openMigrated } from '../test/support/service-process';
import type { Side } from './measure';
import type { Server } from './stage';

/** Expensive requests at an even rate, each from another network, so that the limit of a network does not matter. */

const SECRET = Buffer.alloc(32, 7);
const PER_SECOND = 20;
const AGENCY = 'agency@example.org';
const AGENCY_LICENCES = 1_000;
/** The number of sessions, high enough that none reaches its limit. */
const SESSIONS = 8;

export const HOSTILE_SETTINGS: Settings = {
  LICENSING_KEY_SECRET: SECRET.toString('base64'),
  LICENSING_PUBLIC_URL: 'https://shop.example',
};

export interface Hostile {
  /** returns a side that sends the requests while `side` runs */
  beside: (side: Side, service: Server) => Side;
  /** returns how many requests were sent, by kind and status */
  sent: () => string[];
}

interface Request {
  name: string;
  path: string;
  body?: Buffer | string;
  headers?: Record<string, string>;
}

/** Prepares the requests. @param url the address of a data set, in which a customer receives 1,000 licences */
export async function openHostile(url: string): Promise<Hostile> {
  const db = await openMigrated({ LICENSING_DATABASE_URL: url });
  const now = new Date();
  await addShop(
    db,
    'ds24',
    { kind: 'digistore24', secret: 'a passphrase of the seller' },
    { actor: 'operator:bench', now, keySecret: SECRET },
  );
  await db(table(db, 'licenses'))
    .where('id', '<=', AGENCY_LICENCES)
    .update({ customer: AGENCY, customer_digest: customerDigest(AGENCY) });
  const cookies: string[] = [];
  while (cookies.length < SESSIONS)
    cookies.push((await createSession(db, { kind: 'customer', by: 'mail', email: AGENCY }, now)).cookie);
  await db.destroy();

  const requests: Request[] = [
    {
      name: 'compressed form',
      path: '/pages/my',
      body: brotliCompressSync(`key=${'+A'.repeat(1_040_000)}`),
      headers: { 'Content-Encoding': 'br' },
    },
    { name: 'form of 1 MB', path: '/pages/sign-in', body: `token=${'+A'.repeat(500_000)}` },
    { name: 'form of 16 KiB', path: '/pages/my', body: `key=${'+A'.repeat(8 * 1024 - 2)}` },
    { name: 'message of 64 KiB', path: '/hooks/ds24', body: `sha_sign=${'+'.repeat(64 * 1024 - 9)}` },
    { name: 'page of 1,000 licences', path: '/pages/my/mail' },
  ];
  const sent = new Map<string, number>();

  async function send({ url: service }: Server, i: number): Promise<void> {
    const { name, path, body, headers } = requests[i % requests.length] as Request;
    const answer = await fetch(`${service}${API_PATH}${path}`, {
      ...(body === undefined ? {} : { method: 'POST', body }),
      redirect: 'manual',
      headers: {
        'X-Forwarded-For': `10.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}`,
        'Content-Type': 'application/x-www-form-urlencoded',
        Origin: service,
        ...(body === undefined ? { Cookie: `licensing_my=${cookies[i % SESSIONS] ?? ''}` } : {}),
        ...headers,
      },
    });
    await answer.arrayBuffer();
    const what = `${name}: ${answer.status}`;
    sent.set(what, (sent.get(what) ?? 0) + 1);
  }

  let next = 0;
  return {
    beside: (side, service) => ({
      name: `${side.name} beside ${PER_SECOND} hostile requests a second`,
      async run(seconds) {
        const under = { isOver: false };
        const hostile = (async () => {
          const sending: Promise<void>[] = [];
          const started = performance.now();
          for (let i = 0; !under.isOver; i++) {
            sending.push(send(service, next++));
            await sleep(Math.max(0, started + ((i + 1) * 1000) / PER_SECOND - performance.now()));
          }
          await Promise.all(sending);
        })();
        const sample = await side.run(seconds);
        under.isOver = true;
        await hostile;
        return sample;
      },
    }),
    sent: () => [...sent].map(([what, times]) => `${what} (${times})`).sort(),
  };
}
