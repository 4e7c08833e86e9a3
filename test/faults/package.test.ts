import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import request from 'supertest';
import { operator } from '../support/operator';
import { eventually, endProcess, freePort, startProcess, temporaryFolder } from '../support/processes';
import { PREFIX } from '../support/service';

/** What `npm pack` makes: all that is needed to run, and nothing else. */

const ROOT = join(__dirname, '../..');

test('the tarball holds what runs, and installed in an empty folder it does', async () => {
  const folder = temporaryFolder();
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  ) as [{ filename: string; files: { path: string }[] }];
  const paths = packed.files.map(({ path }) => path);
  expect(
    paths.filter(
      (path) =>
        !/^(dist\/(src|migrations|seeds)\/|nginx\/|deploy\/|docs\/|seeds\/.*\.zip$|package\.json$|README\.md$)/.test(
          path,
        ),
    ),
  ).toEqual([]);
  for (const needed of [
    'dist/src/main.js',
    'dist/src/cli.js',
    'dist/migrations/index.js',
    'nginx/licensing.conf',
  ])
    expect(paths).toContain(needed);

  writeFileSync(join(folder, 'package.json'), '{"private":true}');
  execFileSync('npm', ['install', '--omit=dev', '--no-audit', '--no-fund', join(folder, packed.filename)], {
    cwd: folder,
    stdio: 'ignore',
  });
  const installed = join(folder, 'node_modules/licensing-gateway/dist/src');
  const port = await freePort();
  const settings = {
    LICENSING_DATABASE_URL: `sqlite:${join(folder, 'data.sqlite')}`,
    LICENSING_PACKAGES_DIR: join(folder, 'packages'),
    LICENSING_LISTEN: `127.0.0.1:${port}`,
  };
  const { run, json } = operator(settings);
  const command = join(installed, 'cli.js');
  expect(await run(['migrate'], { command })).toMatchObject({ code: 0 });
  await json(['product', 'add', '--name', 'Example', '--id', '42'], { command });
  await json(
    [
      'plan',
      'add',
      '--product',
      '42',
      '--name',
      'One',
      '--activation-type',
      'domain',
      '--activation-limit',
      '1',
    ],
    { command },
  );
  const { license_key } = await json<{ license_key: string }>(['license', 'issue', '--plan', '1'], {
    command,
  });
  const service = startProcess(process.execPath, [join(installed, 'main.js')], {
    env: { PATH: process.env.PATH, LICENSING_ADMIN_LISTEN: '127.0.0.1:0', ...settings },
  });
  await eventually(() =>
    request(`http://127.0.0.1:${port}`).post(`${PREFIX}/licenses/validate`).send({ license_key }).expect(200),
  );
  await endProcess(service);
  expect(service.exitCode).toBe(0);
}, 180_000);
