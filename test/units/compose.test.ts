import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { isSetting, SECRET_FILES } from '../../src/settings/names';

/** Tests deploy/container/compose.yaml, which otherwise only a daemon reads: the service has to know every variable in it. */

const text = readFileSync(join(__dirname, '../../deploy/container/compose.yaml'), 'utf8');
const [, block = ''] = /^ {2}licensing:\n[^]*?^ {4}environment:\n((?: {6}.*\n)+)/m.exec(text) ?? [];
const given = [...block.matchAll(/^ {6}(\w+): (.*)$/gm)].map(([, name = '', value = '']) => ({
  name,
  value,
}));

test('every variable of the service is one of its settings, and the file .env may set it', () => {
  expect(given.length).toBeGreaterThan(5);
  for (const { name, value } of given) {
    expect({ name, isSetting: isSetting(name) }).toEqual({ name, isSetting: true });
    if (name !== 'LICENSING_TRUSTED_PROXIES') expect(value).toContain(`\${${name}:-`);
  }
});

test('every secret can come from a file', () => {
  expect(given.map(({ name }) => name)).toEqual(expect.arrayContaining(SECRET_FILES.map(({ file }) => file)));
});
