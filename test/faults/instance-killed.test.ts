import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { join } from 'node:path';
import { isHealthy, isUnavailable, openStand, tally, type Stand } from '../support/load';
import { underFault, unhealthy } from '../support/faults';
import { startNginx } from '../support/nginx';
import { sharedFolder } from '../support/processes';
import type { ServiceProcess } from '../support/service-process';
import type { TestWebServer } from '../support/web-server-process';

/** Two instances behind nginx, each on a Unix socket, of which one is killed. */

const CLIENTS = 24;
let stand: Stand;
let nginx: TestWebServer;
let sockets: string[];
let instances: ServiceProcess[];

beforeAll(async () => {
  stand = await openStand();
  const folder = sharedFolder();
  sockets = ['1', '2'].map((name) => `unix:${join(folder, `${name}.sock`)}`);
  instances = await Promise.all(sockets.map((socket) => stand.start({ LICENSING_LISTEN: socket })));
  nginx = await startNginx({ upstream: sockets, packagesDir: stand.packagesDir });
});

afterAll(async () => {
  await nginx.stop();
  await stand.close();
});

test('one of two instances is killed under load: nginx tries the other, until the first is back', async () => {
  const { load, meanwhile } = await underFault({
    url: nginx.url,
    goods: await stand.newGoods(),
    db: stand.db,
    begin: () => instances[0]!.stop('SIGKILL'),
    lasts: 3,
    end: async () => (instances[0] = await stand.start({ LICENSING_LISTEN: sockets[0]! })),
  });

  // Each client had one call in progress. nginx never repeats a POST, and refuses these with the service's texts.
  const lost = unhealthy(load.calls);
  expect(lost.length).toBeLessThanOrEqual(CLIENTS);
  expect(tally(lost.filter((call) => !isUnavailable(call)))).toEqual({});
  expect(meanwhile.filter(isHealthy).length).toBeGreaterThan(CLIENTS);
});
