import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, test } from '@jest/globals';
import { temporaryFolder } from '../support/processes';

const ROOT = join(__dirname, '../..');

/** Returns the hits of the prose lint in a file with this source, as `line: pattern`. */
function hitsIn(source: string): string[] {
  const file = join(temporaryFolder(), 'a.ts');
  writeFileSync(file, source);
  const { stdout } = spawnSync(process.execPath, ['scripts/prose-lint.mjs', relative(ROOT, file)], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return [...stdout.matchAll(/a\.ts:(\d+: [\w-]+):/g)].map(([, hit]) => hit as string);
}

test.each([
  [
    'a line that ends with a semicolon',
    '// It goes on beyond the last page;\n// then it ends.',
    ['1: goes-on'],
  ],
  ['a line that is a name, a colon and a text', '// note: somebody else wrote it,', ['1: somebody']],
  ['an option of a command', '//   --all   also reports what somebody wrote', ['1: somebody']],
  ['a statement', '// The call:\n// somebody(whoever);\n// ends.', []],
  ['a member of an object', '// The option:\n// somebody: true,\n// ends.', []],
  ['a statement of PHP', '// The call:\n// $somebody->call($whoever);\n// ends.', []],
  ['a command', '// The command:\n// $ somebody --whoever\n// ends.', []],
  ['a field with "Whether"', '/** Whether it ended. */\nconst a = true;', ['1: whether-head']],
  ['a function with "Whether"', '/** Whether it ended. */\nfunction a() {}', ['1: function-fragment']],
])('the lint reads a comment with %s', (_, source, hits) => {
  expect(hitsIn(`${source}\n`)).toEqual(hits);
});
