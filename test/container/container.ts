import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import request from 'supertest';
import { buildImage, stopContainer, type Image } from '../support/container';
import { makePackage } from '../support/packages';
import { eventually, freePort, hasEnded } from '../support/processes';
import { createMariaDbDatabase, PREFIX } from '../support/service';

/** Tests the image of a release (`npm run test:container`): from the first start to a download, and after a stop. */

const DOMAIN = 'licences.example.com';

let image: Image;
let env: Record<string, string>;
let url: string;
let running: ChildProcess | undefined;
let said = '';

beforeAll(async () => {
  image = buildImage();
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  env = {
    LICENSING_PUBLIC_URL: `https://${DOMAIN}`,
    // Without a daemon, the container uses this machine's network.
    LICENSING_LISTEN: `127.0.0.1:${port}`,
    LICENSING_ADMIN_LISTEN: `127.0.0.1:${await freePort()}`,
  };
}, 600_000);

afterAll(async () => {
  await stop();
  image.remove();
});

async function start(more: Record<string, string> = {}): Promise<void> {
  await stop();
  said = '';
  const child = image.start(['container-start'], { ...env, ...more });
  running = child;
  for (const stream of [child.stdout!, child.stderr!])
    stream.on('data', (text: Buffer) => (said += text.toString()));
  await eventually(() => {
    if (hasEnded(child)) throw new Error(`It ended: ${said}`);
    expect(said).toContain('"listening"');
  }, 60_000);
}

/** Stops the container's first process, as `docker stop` does. The exit code proves nothing, because buildah sets it. */
async function stop(): Promise<void> {
  const child = running;
  running = undefined;
  if (child === undefined || hasEnded(child)) return;
  // Wait for `close` instead of `exit`, because the last output is read by then.
  const ended = once(child, 'close');
  stopContainer(child);
  await ended;
}

const licensing = (...args: string[]) => image.run(['licensing', ...args], env);
const json = (...args: string[]): unknown => JSON.parse(licensing(...args, '--json'));

test('the image says what it is, and runs as a user of its own', () => {
  expect(image.labels()).toMatchObject({
    'org.opencontainers.image.version': expect.stringMatching(/^\d+\.\d+\.\d+$/),
  });
  expect(image.run(['id', '-u'], env)).toBe('10001\n');
  expect(() => image.run(['sh', '-c', 'command -v curl'], env)).toThrow();
  expect(() => image.run(['sh', '-c', ': > /opt/licensing-gateway/new'], env)).toThrow();
});

test('the first start makes secret, tables and a link, which signs in', async () => {
  await start();
  const [, link] = new RegExp(`https://${DOMAIN}(${PREFIX}/pages/enter/\\S+)`).exec(said) ?? [];
  const behindTls = { Host: DOMAIN, 'X-Forwarded-Proto': 'https' };
  // Scanners of mails open links too, so only a button signs in.
  expect((await request(url).get(link!).set(behindTls)).status).toBe(200);
  const { headers } = await request(url)
    .post(link!)
    .set({ ...behindTls, Origin: `https://${DOMAIN}` });
  expect(headers['set-cookie']).toEqual(
    expect.arrayContaining([expect.stringMatching(/^licensing=.*; Secure/)]),
  );
  const files = image.run(['ls', '-ln', '--almost-all', '/data'], env);
  expect(files).toMatch(/^-rw------- .* 10001 +10001 .* \.env$/m);
  expect(image.run(['cat', '/data/.env'], env)).toMatch(/^LICENSING_KEY_SECRET=\S{40,}$/m);
  expect(json('migrate', '--status')).toMatchObject({ pending: [] });
}, 120_000);

test('health is 0 while it runs', () => {
  expect(licensing('health')).toContain('ok');
});

test('a sale, an activation and a download survive a stop and a start', async () => {
  licensing('product', 'add', '--name', 'Gallery', '--id', '42');
  licensing(
    ...'plan add --product 42 --name Single --activation-type domain --activation-limit 1'.split(' '),
  );
  const { license_key: key } = json(...'license issue --plan 1 --customer jane@example.com'.split(' ')) as {
    license_key: string;
  };
  image.run(['sh', '-c', 'cat > /data/gallery.zip'], env, (await makePackage()).bytes);
  licensing(...'release publish --product 42 --version 1.0.0 --file /data/gallery.zip'.split(' '));
  const activate = () =>
    request(url).post(`${PREFIX}/licenses/activate`).send({ license_key: key, identifier: 'example.com' });
  expect((await activate()).status).toBe(200);
  const download = () => request(url).get(`${PREFIX}/downloads/42`).query({ dlid: key });
  expect((await download()).status).toBe(200);

  await stop();
  expect(said).toContain('"msg":"stopped"');
  expect(() => licensing('health')).toThrow();
  await start();
  expect(said).not.toContain('/pages/enter/');
  expect((await download()).status).toBe(200);
  await stop();
  expect(said).toContain('"msg":"stopped"');
}, 180_000);

test('on a database server, with its address in a file', async () => {
  const database = await createMariaDbDatabase();
  image.run(
    ['sh', '-c', 'rm -r /data/.env /data/licensing.sqlite*; umask 077; cat > /data/url'],
    env,
    Buffer.from(database),
  );
  await start({ LICENSING_DATABASE_URL_FILE: '/data/url' });
  expect(said).toContain('/pages/enter/');
  expect(image.run(['cat', '/data/.env'], env)).not.toContain(database);
  await stop();
  expect(said).toContain('"msg":"stopped"');
}, 120_000);

test('the copied file for Compose has nothing left to fill in', () => {
  for (const file of ['compose.yaml', 'Containerfile'])
    expect(readFileSync(join(__dirname, '../../release', file), 'utf8')).not.toMatch(/@[A-Z]+@/);
});
