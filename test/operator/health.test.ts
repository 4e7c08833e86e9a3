import { createServer, type RequestListener, type Server } from 'node:http';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { operator } from '../support/operator';
import { IS_WHOLE } from '../support/extent';
import { temporaryFolder } from '../support/processes';
import { openMigrated, startServiceProcess } from '../support/service-process';

/** `licensing health`, as called by a container's HEALTHCHECK and by supervisors. */

let server: Server | undefined;
afterEach(() => {
  server?.close();
  server?.closeAllConnections();
});

function health(listen: string, ...args: string[]) {
  const settings = { LICENSING_ENV_FILE: '/dev/null', LICENSING_DATABASE_URL: 'sqlite:/nowhere/a.sqlite' };
  return operator({}).run(['health', ...args], { env: { ...settings, LICENSING_ADMIN_LISTEN: listen } });
}

async function listenWith(listener: RequestListener): Promise<string> {
  const path = join(temporaryFolder(), 'admin.sock');
  server = createServer(listener);
  await new Promise<void>((resolve) => server?.listen(path, resolve));
  return `unix:${path}`;
}

test('is 0 next to a service that is ready, and says what it looked at', async () => {
  const settings = { LICENSING_DATABASE_URL: `sqlite:${join(temporaryFolder(), 'data.sqlite')}` };
  await (await openMigrated(settings)).destroy();
  const service = await startServiceProcess(settings);
  try {
    const { admin: address } = service.log().find(({ msg }) => msg === 'listening')!;
    const admin = (address as string).replace('http://', '');
    const { code, stdout } = await health(admin);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^database: ok\npackages: ok\n/),
    });
    expect(JSON.parse((await health(admin, '--json')).stdout)).toMatchObject({
      ready: true,
      checks: { database: 'ok' },
    });
  } finally {
    await service.stop();
  }
});

test.each<[string, RequestListener, string]>([
  [
    'a service that is not ready',
    (_request, response) =>
      response.writeHead(503).end('{"ready":false,"checks":{"database":"cannot be used (ECONNREFUSED)"}}'),
    'The service is not ready.',
  ],
  ['something else', (_request, response) => response.end('<html>'), 'is another program'],
  ['a service that hangs', () => undefined, 'does not answer within 4 s'],
])('is 1 for %s, within 5 seconds', async (_name, listener, words) => {
  const listen = await listenWith(listener);
  const begun = performance.now();
  const { code, stderr } = await health(listen);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(words) });
  if (IS_WHOLE) expect(performance.now() - begun).toBeLessThan(5_000);
});

test('is 1 if nothing listens, and 2 if it is called wrongly', async () => {
  const { code, stderr } = await health(`unix:${join(temporaryFolder(), 'none.sock')}`);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('does not answer (ENOENT)') });
  expect((await health('127.0.0.1:1', '--what')).code).toBe(2);
});
