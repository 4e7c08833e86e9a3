import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { transformSync } from 'esbuild';
import { temporaryFolder } from '../support/processes';
import { processEnvironment, startProgram } from '../support/service-process';

/** The entry points with a Node that is too old. `npm run test:node -- 18` does the same with a real one. */

const ROOT = join(__dirname, '../..');
const BUILD = join(ROOT, 'dist/src');
const ENTRY_POINTS = ['main', 'cli', 'demo'];

test.each<[string, string]>([
  ...[...ENTRY_POINTS, 'process/node-version'].map((name): [string, string] => [
    `dist/src/${name}.js`,
    'es2019',
  ]),
  // This file also runs on Node 10.
  ['deploy/hosting/app.js', 'es2018'],
])('an old Node can parse %s: it has no syntax newer than %s', (path, target) => {
  const source = readFileSync(join(ROOT, path), 'utf8');
  // esbuild rewrites any syntax that the target lacks.
  expect(transformSync(source, { target }).code).toBe(transformSync(source, { target: 'esnext' }).code);
});

test.each(ENTRY_POINTS)('%s.js refuses it with a reason before it loads anything else', async (name) => {
  const old = join(temporaryFolder(), 'old.js');
  writeFileSync(
    old,
    `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.18.3' } });
     process.on('exit', () => console.log(JSON.stringify(Object.keys(require.cache))));`,
  );
  const entry = join(BUILD, `${name}.js`);
  // No other module may be loaded, not even the tests' recorder.
  const env = processEnvironment({}, { NODE_OPTIONS: '' });
  const { ended } = startProgram(process.execPath, ['-r', old, entry, 'init'], env);
  const { code, stdout, stderr } = await ended;
  expect({ code, loaded: JSON.parse(stdout) as unknown }).toEqual({
    code: 1,
    loaded: [old, entry, join(BUILD, 'process/node-version.js')],
  });
  const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    engines: { node: string };
  };
  expect(stderr).toContain(`needs Node ${engines.node.replace('>=', '')} or later, and this is Node 20.18.3`);
});
