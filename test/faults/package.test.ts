import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import request from 'supertest';
import { operator } from '../support/operator';
import { endProcess, eventually, freePort, startProcess, temporaryFolder } from '../support/processes';
import { PREFIX } from '../support/service';

/** The content of `npm pack`, and of `npm ci --omit=dev`: everything that is needed to run, and nothing else. */

const ROOT = join(__dirname, '../..');

let folder: string;
let tarball: string;
let paths: string[];

beforeAll(() => {
  folder = temporaryFolder();
  const [packed] = JSON.parse(
    npm(ROOT, 'pack', '--json', '--ignore-scripts', '--pack-destination', folder),
  ) as [{ filename: string; files: { path: string }[] }];
  tarball = join(folder, packed.filename);
  paths = packed.files.map(({ path }) => path);
});

function npm(cwd: string, ...args: string[]): string {
  return execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}

test('the tarball holds what is needed to run and to set it up, and nothing else', () => {
  const sources = ['src', 'migrations', 'seeds'].flatMap((name) =>
    readdirSync(join(ROOT, name), { recursive: true, encoding: 'utf8' })
      .filter((path) => /(?<!\.d)\.tsx?$/.test(path))
      .map((path) => `dist/${name}/${path.replace(/\.tsx?$/, '.js')}`),
  );
  const beside = ['bin', 'deploy', 'docs', 'examples', 'mails', 'nginx', 'php'].flatMap((name) =>
    readdirSync(join(ROOT, name), { recursive: true, encoding: 'utf8' })
      .map((path) => `${name}/${path}`)
      .filter((path) => statSync(join(ROOT, path)).isFile()),
  );
  const [page, pages] = ['dist/docs-page', 'dist/pages'].map((folder) =>
    readdirSync(join(ROOT, folder)).map((name) => `${folder}/${name}`),
  ) as [string[], string[]];
  expect(page).toHaveLength(7);
  expect(pages).toHaveLength(12);
  const packages = ['example-1.1.0', 'forms-1.0.0', 'gallery-1.0.0'].map((name) => `seeds/pkg_${name}.zip`);
  expect([...paths].sort()).toEqual(
    [...sources, ...beside, ...page, ...pages, ...packages, 'package.json', 'README.md'].sort(),
  );
});

test('installed from the tarball in an empty folder it runs', async () => {
  const empty = join(folder, 'empty');
  cpSync(tarball, join(empty, 'licensing-gateway.tgz'));
  writeFileSync(join(empty, 'package.json'), '{"private":true}');
  npm(empty, 'install', '--omit=dev', '--no-audit', '--no-fund', './licensing-gateway.tgz');
  expect(existsSync(join(empty, 'node_modules/.bin/licensing'))).toBe(true);
  await runs(join(empty, 'node_modules/licensing-gateway'));
}, 180_000);

test('after "npm ci --omit=dev" a build runs without anything that only development needs', async () => {
  const checkout = join(folder, 'checkout');
  for (const name of ['package.json', 'package-lock.json', '.npmrc', 'dist'])
    cpSync(join(ROOT, name), join(checkout, name), { recursive: true });
  npm(checkout, 'ci', '--omit=dev');
  const { devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    devDependencies: Record<string, string>;
  };
  // Packages of types belong to the packages that they describe.
  const tools = Object.keys(devDependencies).filter((name) => !name.startsWith('@types/'));
  expect(tools).toEqual(expect.arrayContaining(['jest', 'typescript']));
  for (const name of tools)
    expect([name, existsSync(join(checkout, 'node_modules', name))]).toEqual([name, false]);
  await runs(checkout);
}, 180_000);

/** Sets the package up by its command, starts it as in production, and calls it. */
async function runs(root: string): Promise<void> {
  const data = temporaryFolder();
  const port = await freePort();
  const settings = {
    LICENSING_DATABASE_URL: `sqlite:${join(data, 'data.sqlite')}`,
    LICENSING_PACKAGES_DIR: join(data, 'packages'),
    LICENSING_LISTEN: `127.0.0.1:${port}`,
  };
  const { run, json } = operator(settings);
  const by = { command: join(root, 'dist/src/cli.js') };
  expect(await run(['migrate'], by)).toMatchObject({ code: 0 });
  await json(['product', 'add', '--name', 'Example', '--id', '42'], by);
  const plan = ['--name', 'One', '--activation-type', 'domain', '--activation-limit', '1'];
  await json(['plan', 'add', '--product', '42', ...plan], by);
  const package_ = join(ROOT, 'seeds/pkg_example-1.1.0.zip');
  await json(['release', 'publish', '--product', '42', '--version', '1.1.0', '--file', package_], by);
  const { license_key } = await json<{ license_key: string }>(['license', 'issue', '--plan', '1'], by);
  const service = startProcess(process.execPath, ['dist/src/main.js'], {
    cwd: root,
    env: {
      PATH: process.env.PATH,
      NODE_ENV: 'production',
      LICENSING_ENV_FILE: '/dev/null',
      LICENSING_ADMIN_LISTEN: '127.0.0.1:0',
      ...settings,
    },
  });
  const api = request(`http://127.0.0.1:${port}${PREFIX}`);
  await eventually(() =>
    api.post('/licenses/activate').send({ license_key, identifier: 'example.com' }).expect(200),
  );
  const validated = await api
    .post('/licenses/validate')
    .send({ license_key, identifier: 'example.com' })
    .expect(200);
  expect(validated.body).toMatchObject({
    data: { valid: true, identifier_activated: true, activations_used: 1 },
  });
  await api.get(`/downloads/42?dlid=${license_key}`).expect(200).expect('Content-Type', 'application/zip');
  await api.get('/openapi.json').expect(200);
  for (const file of ['', '/swagger-ui-bundle.js']) await api.get(`/docs${file}`).expect(200);
  await endProcess(service);
  expect(service.exitCode).toBe(0);
}
