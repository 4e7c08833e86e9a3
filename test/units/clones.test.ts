import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { temporaryFolder } from '../support/processes';

/** Tests the project's configuration of jscpd on a small program. */

const ROOT = join(__dirname, '../..');

function findClones(files: Record<string, string>): { status: number | null; stdout: string } {
  const root = temporaryFolder();
  mkdirSync(join(root, 'src'));
  for (const name of ['.jscpd.json', '.jscpd-baseline.json']) cpSync(join(ROOT, name), join(root, name));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(root, 'src', name), text);
  return spawnSync(join(ROOT, 'node_modules/.bin/jscpd'), ['--no-colors'], { cwd: root, encoding: 'utf8' });
}

/** Returns lines of 7 tokens each. */
const lines = (count: number) =>
  Array.from({ length: count }, (_, i) => `call${i}('text', ${i});`).join('\n');

test('new code that exists twice fails the check, which names both places', () => {
  const { status, stdout } = findClones({
    'a.ts': `export const a = 1;\n\n// A comment\n${lines(9)}\n`,
    'b.ts': `import { b } from './b';\n${lines(9)}\nb();\n`,
  });
  expect(status).toBe(1);
  expect(stdout).toMatch(/Clone found.*\[NEW\]\n - a\.ts \[[34]:.*\n +b\.ts \[[12]:/);
});

test('the same imports, or fewer than 60 tokens, are not a clone', () => {
  const names = Array.from({ length: 60 }, (_, i) => `name${i}`).join(',\n  ');
  const imports = `import {\n  ${names},\n} from './names';\n`;
  const { status, stdout } = findClones({
    'a.ts': `${imports}a();\n${lines(7)}\nf();`,
    'b.ts': `${imports}b();\n${lines(7)}\nf(g());`,
  });
  expect({ status, clones: /Found (\d+) clones/.exec(stdout)?.[1] }).toEqual({ status: 0, clones: '0' });
});
