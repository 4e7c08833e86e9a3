import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import { php72Faults } from '../support/php-files';
import { temporaryFolder } from '../support/processes';

/** Runs scripts/set-licence.mjs on a copy, as the owner will run it after the decision about licences (docs/licence.md). */

const ROOT = join(__dirname, '../..');
const SCRIPT = join(ROOT, 'scripts/set-licence.mjs');
const CHOSEN = {
  owner: 'Müller & Söhne',
  program: 'AGPL-3.0-or-later',
  joomla: 'GPL-2.0-or-later',
  examples: '0BSD',
};

let copy: string;
const read = (path: string) => readFileSync(join(copy, path), 'utf8');
const argsOf = (chosen: Partial<typeof CHOSEN>) => [
  ...[SCRIPT, '--root', copy],
  ...Object.entries(chosen).flatMap(([name, value]) => [`--${name}`, value]),
];
const filesOf = (folder: string, end: string) =>
  readdirSync(join(copy, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => `${folder}/${name}`)
    .filter((path) => path.endsWith(end) && !path.startsWith('examples/webhooks'));

beforeAll(() => {
  copy = temporaryFolder();
  for (const path of ['php', 'examples', 'package.json', 'package-lock.json'])
    cpSync(join(ROOT, path), join(copy, path), { recursive: true });
  execFileSync(process.execPath, argsOf(CHOSEN));
});

test.each([
  ['php', 'GPL-2.0-or-later'],
  ['examples', '0BSD'],
])('each PHP file and manifest of %s names its licence, and PHP 7.2 still reads the files', (folder, id) => {
  const php = filesOf(folder, '.php');
  const head = `<?php\n\n// SPDX-FileCopyrightText: Müller & Söhne\n// SPDX-License-Identifier: ${id}\n\n`;
  expect(php.length).toBeGreaterThan(5);
  expect(php.filter((path) => !read(path).startsWith(head))).toEqual([]);
  expect(php72Faults(php.map((path) => join(copy, path)))).toEqual([]);
  const manifests = filesOf(folder, '.xml').filter((path) => read(path).includes('<extension '));
  const elements = `<copyright>Müller &amp; Söhne</copyright>\n    <license>${id}</license>\n`;
  expect(manifests.length).toBeGreaterThan(4);
  expect(manifests.filter((path) => !read(path).includes(elements))).toEqual([]);
});

test('the program has its own licence, and a second run replaces all of them', () => {
  expect(JSON.parse(read('package.json'))).toMatchObject({ license: 'AGPL-3.0-or-later' });
  const first = filesOf('php', '').filter((path) => /\.(?:php|xml)$/.test(path));
  const before = first.map(read);
  execFileSync(process.execPath, argsOf({ ...CHOSEN, joomla: 'MIT' }));
  expect(first.map(read)).toEqual(before.map((text) => text.replace('GPL-2.0-or-later', 'MIT')));
  execFileSync(process.execPath, argsOf(CHOSEN));
  expect(first.map(read)).toEqual(before);
});

test.each([
  [{ ...CHOSEN, joomla: 'GPL-2.0-only' }, /compatible with Joomla/],
  [{ owner: 'A', program: 'MIT' }, /Missing: --joomla, --examples/],
])('an answer that does not fit is refused before anything is written', (chosen, says) => {
  const before = read('php/client/Client.php');
  const { status, stderr } = spawnSync(process.execPath, argsOf(chosen), { encoding: 'utf8' });
  expect({ status, stderr }).toMatchObject({ status: 2, stderr: expect.stringMatching(says) });
  expect(read('php/client/Client.php')).toBe(before);
});
