import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { addSigningKey } from '../../src/licensing/signing-keys';
import { table } from '../../src/store/engine/database';
import {
  createMariaDbDatabase,
  giveLicense,
  givePlan,
  PREFIX,
  startTestService,
  type TestService,
} from '../support/service';

/**
 * Concurrent files, deactivations and activations never let two machines use one slot: a file or an activation counts.
 * On MariaDB through two instances.
 */

const ROUNDS = 10;
const SITES = ['a.example', 'b.example', 'c.example'];

describe.each([
  ['SQLite', 1],
  ['MariaDB', 2],
])('on %s', (kind, instances) => {
  const services: TestService[] = [];
  beforeAll(async () => {
    const secret = randomBytes(32);
    const settings = {
      LICENSING_KEY_SECRET: secret.toString('base64'),
      ...(kind === 'MariaDB' && { LICENSING_DATABASE_URL: await createMariaDbDatabase() }),
    };
    for (let i = 0; i < instances; i++) services.push(await startTestService(settings));
    await addSigningKey(services[0]!.db, secret, { actor: 'operator:test', now: new Date() });
  });
  afterAll(async () => {
    for (const service of services) await service.stop();
  });

  let calls = 0;
  async function call(path: string, body: object): Promise<number> {
    const { url } = services[calls++ % services.length]!;
    const answer = await fetch(`${url}${PREFIX}/licenses/${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
    return answer.status;
  }

  test('a slot runs one machine', async () => {
    const { db } = services[0]!;
    const planId = await givePlan(db, { limit: 1 });
    let [files, freed] = [0, 0];
    for (let round = 0; round < ROUNDS; round++) {
      const { id, key } = await giveLicense(db, planId);
      const [own, ...others] = SITES.map((identifier) => ({ license_key: key, identifier }));
      expect(await call('activate', own!)).toBe(200);
      const running = new Set<string>();
      const take = async (request: typeof own) => {
        if ((await call('token', request!)) === 200) running.add(request!.identifier);
      };
      // Let each of the first ones be the first in turn.
      const work = [
        () => take(own),
        () => call('deactivate', own!),
        ...others.map((other) => async () => {
          await call('activate', other);
          await take(other);
        }),
        () => call('deactivate', own!),
        () => take(own),
      ];
      const first = round % work.length;
      await Promise.all([...work.slice(first), ...work.slice(0, first)].map((start) => start()));
      const withFile = new Set(running);
      files += withFile.size;
      const stored = await db(table(db, 'activations')).where({ license_id: id });
      const activated = stored as { identifier: string; held_until: string | null }[];
      if (activated.every(({ identifier }) => identifier !== own!.identifier)) freed++;
      for (const { identifier } of activated) running.add(identifier);
      expect([...running].length).toBeLessThanOrEqual(1);
      expect(
        activated.filter(({ held_until }) => held_until !== null).map(({ identifier }) => identifier),
      ).toEqual([...withFile]);
      const license = (await db(table(db, 'licenses')).where({ id }).first()) as { activations_used: number };
      expect(license.activations_used).toBe(activated.length);
    }
    // Both outcomes must occur.
    expect([files > 0, freed > 0]).toEqual([true, true]);
  });

  test('files and their end at once: the latest end counts, and one event a minute', async () => {
    const { db } = services[0]!;
    const { id, key } = await giveLicense(db, await givePlan(db, { limit: 1 }));
    const request = { license_key: key, identifier: SITES[0]! };
    expect(await call('activate', request)).toBe(200);
    const answers = await Promise.all(Array.from({ length: 20 }, () => call('token', request)));
    expect(answers).toEqual(answers.map(() => 200));
    expect(await call('deactivate', request)).toBe(403);
    const events = await db(table(db, 'events')).where({ license_id: id, action: 'hold-activation' });
    expect(events.length).toBeGreaterThan(0);
    expect(events.length).toBeLessThanOrEqual(2);
  });
});
