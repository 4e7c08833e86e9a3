import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { countsOf, note, unhealthy } from '../support/faults';
import { findLosses, openStand, startLoad, tally, type Stand } from '../support/load';
import { startNginx } from '../support/nginx';
import { freePort } from '../support/processes';

let stand: Stand;

beforeAll(async () => {
  stand = await openStand();
}, 60_000);

afterAll(() => stand.close(), 60_000);

describe.each(['1', '2'])('with %s worker(s)', (count) => {
  const settings = { LICENSING_WORKERS: count };

  test('SIGTERM under load: what was sent is answered, and the exit code is 0', async () => {
    const service = await stand.start(settings);
    const load = startLoad(service.url, await stand.newGoods(), { pause: 5 });
    await sleep(2_000);
    const stopping = load.now();
    const code = await service.stop('SIGTERM');
    const stopped = load.now();
    await load.stop();

    expect(code).toBe(0);
    expect(stopped - stopping).toBeLessThan(8_000);
    // Whoever comes after the door was closed finds it closed, and nobody is thrown out.
    const refused = load.calls.filter(
      ({ failure, sentAt }) => failure === 'ECONNREFUSED' && sentAt >= stopping - 100,
    );
    expect(tally(unhealthy(load.calls).filter((call) => !refused.includes(call)))).toEqual({});
    expect(load.calls.length - refused.length).toBeGreaterThan(100);
    expect(await findLosses(stand.db, load.book)).toEqual([]);
    note({ ...countsOf(load.calls), stopped_ms: Math.round(stopped - stopping) });
  }, 60_000);

  test('two instances behind nginx are restarted in turns under load: no request is refused or cut', async () => {
    const ports = [await freePort(), await freePort()];
    const listens = ports.map((port) => ({ ...settings, LICENSING_LISTEN: `127.0.0.1:${port}` }));
    const instances = await Promise.all(listens.map((listen) => stand.start(listen)));
    const nginx = await startNginx({
      upstream: `127.0.0.1:${ports[0]!}`,
      packagesDir: stand.packagesDir,
      edit: (text) => text.replace('#server 127.0.0.1:3090 ', `server 127.0.0.1:${ports[1]!} `),
    });
    try {
      const load = startLoad(nginx.url, await stand.newGoods(), { pause: 10 });
      await sleep(1_500);
      for (let round = 0; round < 2; round++)
        for (const i of [0, 1]) {
          expect(await instances[i]!.stop('SIGTERM')).toBe(0);
          instances[i] = await stand.start(listens[i]);
          await sleep(500);
        }
      await load.stop();

      expect(tally(unhealthy(load.calls))).toEqual({});
      expect(load.calls.length).toBeGreaterThan(500);
      expect(await findLosses(stand.db, load.book)).toEqual([]);
      note(countsOf(load.calls));
    } finally {
      await nginx.stop();
    }
  }, 120_000);
});
