import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { temporaryFolder } from '../support/processes';

/** Tests scripts/budget.mjs, which counts a small program here. */

const SCRIPT = join(__dirname, '../../scripts/budget.mjs');

function program(files: Record<string, string>): string {
  const root = temporaryFolder();
  write(root, { 'package.json': '{ "files": ["dist/src", "mails"] }', ...files });
  return root;
}

function write(root: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

function run(root: string, ...options: string[]): { status: number | null; said: string } {
  const { status, stdout, stderr } = spawnSync('node', [SCRIPT, ...options, root], { encoding: 'utf8' });
  return { status, said: stdout + stderr };
}

function recorded(root: string): unknown {
  return (JSON.parse(readFileSync(join(root, 'budget.json'), 'utf8')) as { recorded: unknown }).recorded;
}

test('comments and blank lines do not count, but code that only looks like a comment does', () => {
  const root = program({
    'src/texts/a.ts': [
      "const address = 'https://shop.example'; // 1",
      '',
      '// not counted',
      '/** not counted',
      ' * not counted */',
      'const template = `',
      '// 3: a line of the template',
      '',
      '${address /* 4 */}`;',
      'const pattern = /[/*]\\//; /* 5 */',
      'export { pattern,',
      '  // not counted',
      '  template }; // 7',
    ].join('\n'),
    'src/texts/deep/b.tsx': [
      'export const Page = () => (',
      '  <p title="/*">',
      '    {/* not counted,',
      '        nor this */}',
      '    // 3: text',
      '    /* 4: text */',
      '  </p>',
      ');',
    ].join('\n'),
    'src/main.ts': 'export {};\n',
    'src/texts/page.js': '// 9 bytes',
    'mails/de.txt': 'Hallo',
    'docs/guide.md': 'not limited',
  });
  expect(run(root, '--begin', 'A work').status).toBe(0);
  expect(recorded(root)).toEqual({
    lines: { '(files)': 1, texts: 13 },
    bytes: { 'mails .txt': 5, 'src .js': 10 },
  });
});

test('a program above the allowance fails the check, which says where it grew', () => {
  const root = program({
    'src/http/a.ts': 'f();\ng();\n',
    'src/cli/b.ts': 'f();\n',
    'mails/de.txt': 'Hallo',
  });
  run(root, '--begin', 'A work');
  write(root, { 'src/http/a.ts': '\nf();\n', 'src/cli/b.ts': 'f();\n\ng();\n// h();\n' });
  expect(run(root).status).toBe(0);
  write(root, { 'src/cli/b.ts': 'f();\ng();\nh();\n', 'mails/de.txt': 'Hallo.' });
  const { status, said } = run(root);
  expect(status).toBe(1);
  expect(said).toContain('src: 4 lines are 1 more than budget.json allows for "A work".');
  expect(said).toContain('  +2 cli\n  -1 http\n');
  expect(said).toContain('bytes: 6 bytes are 1 more than');
});

test('one folder and all others may have an allowance each', () => {
  const root = program({ 'src/orders/a.ts': 'f();\n', 'src/http/b.ts': 'f();\n', 'src/cli/c.ts': 'f();\n' });
  run(root, '--begin', 'A work');
  const budget = JSON.parse(readFileSync(join(root, 'budget.json'), 'utf8')) as object;
  const allowance = { 'src/orders': 2, 'other folders': 1 };
  write(root, { 'budget.json': JSON.stringify({ ...budget, allowance }) });
  const { said } = run(root);
  expect(said).toContain('other folders: 2 lines are 1 more');
  expect(said).not.toContain('src/orders');
});

test('a later commit of the same work that changes the budget has to say so in its title', () => {
  const root = program({ 'src/a.ts': 'f();\n' });
  const git = (...args: string[]) => {
    const author = ['-c', 'user.name=Jane', '-c', 'user.email=jane@example.com'];
    const { status, stderr } = spawnSync('git', [...author, ...args], { cwd: root, encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  };
  const commit = (title: string, work: string, allowed: number) => {
    const budget = JSON.parse(readFileSync(join(root, 'budget.json'), 'utf8')) as object;
    const changed = { ...budget, title: work, allowance: { src: allowed } };
    write(root, { 'budget.json': JSON.stringify(changed) });
    git('add', '.');
    git('commit', '-qm', title);
  };
  expect(run(root, '--begin', 'A work').said).toContain('its history is not checked');
  git('init', '-q');
  commit('Begin a work', 'A work', 1);
  commit('Allow more', 'A work', 2);
  expect(run(root)).toMatchObject({
    status: 1,
    said: expect.stringMatching(/^The commit \w+ changes budget.json/),
  });
  commit('Begin another work', 'Another work', 1);
  commit('Budget: allow two lines', 'Another work', 2);
  expect(run(root).status).toBe(1);
  git('commit', '-q', '--amend', '-m', 'Budget: allow two lines', '-m', 'A reason');
  expect(run(root)).toEqual({ status: 0, said: '' });
});
