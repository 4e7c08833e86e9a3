import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { temporaryFolder } from '../support/processes';

const ROOT = join(__dirname, '../..');

/** The places that break a rule, each with the work that ends it. */
const { maxFiles, large, cycles, spreads, sameNames } = JSON.parse(
  readFileSync(join(ROOT, 'scripts/house.json'), 'utf8'),
) as {
  maxFiles: number;
  large: Record<string, string>;
  cycles: Record<string, string>;
  spreads: Record<string, string>;
  sameNames: Record<string, string>;
};

const FILES = execFileSync('git', ['ls-files', '-co', '--exclude-standard', 'src'], {
  cwd: ROOT,
  encoding: 'utf8',
})
  .split('\n')
  .filter((name) => /\.tsx?$/.test(name));

test('a folder of src has at most 40 files, except those that are listed', () => {
  const counts = new Map<string, number>();
  for (const file of FILES) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
  const found = [...counts].filter(([, count]) => count > maxFiles).map(([folder]) => folder);
  expect(found.sort()).toEqual(Object.keys(large).sort());
});

test('no folder of src is deeper than the lint looks', () => {
  // `DEPTHS` in oxlint.config.mjs reaches three folders deep in a folder of src.
  expect(FILES.filter((file) => dirname(file).split('/').length > 5)).toEqual([]);
});

test('the lists of exceptions do not grow', () => {
  expect(Object.keys(large).length).toBeLessThanOrEqual(2);
  expect(Object.keys(cycles).length).toBeLessThanOrEqual(13);
  expect(Object.keys(spreads).length).toBeLessThanOrEqual(13);
  expect(Object.keys(sameNames).length).toBeLessThanOrEqual(13);
  expect(Object.keys(cycles).filter((file) => !file.startsWith('src/orders/'))).toEqual([]);
});

test('an exported name of src has at most 24 characters, and one meaning unless it is listed with a reason', () => {
  const EXPORT = /^export (?:abstract )?(?:async )?(?:function\*?|const|type|interface|class) (\w+)/gm;
  const files = new Map<string, Set<string>>();
  for (const file of FILES)
    for (const [, name] of readFileSync(join(ROOT, file), 'utf8').matchAll(EXPORT))
      // A text in two languages is one thing.
      files.set(name!, (files.get(name!) ?? new Set()).add(file.replace(/\/(?:en|de)\//, '/')));
  const several = [...files].filter(([, { size }]) => size > 1).map(([name]) => name);
  expect(several.sort()).toEqual(Object.keys(sameNames).sort());
  expect([...files.keys()].filter(({ length }) => length > 24)).toEqual([]);
});

describe('the lint', () => {
  let folder: string;
  beforeEach(() => {
    folder = temporaryFolder('house');
    mkdirSync(join(folder, 'scripts'));
    for (const name of ['oxlint.config.mjs', 'scripts/house.json', 'tsconfig.json', 'package.json'])
      cpSync(join(ROOT, name), join(folder, name));
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  });

  /** Returns the output of the lint for these files of src. */
  function lint(files: Record<string, string>): string {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
    const { stdout } = spawnSync(
      process.execPath,
      [join(ROOT, 'node_modules/oxlint/bin/oxlint'), '-c', 'oxlint.config.mjs', 'src'],
      {
        cwd: folder,
        encoding: 'utf8',
      },
    );
    return stdout;
  }

  const STORE = { 'src/store/tokens.ts': 'export const findToken = 1;\n' };

  test('refuses an import of the store three folders deep in the pages', () => {
    const page = 'src/http/pages/operator/deep/page.ts';
    const text = "import { findToken } from '../../../../store/tokens';\n\nexport const page = findToken;\n";
    expect(lint({ ...STORE, [page]: text })).toContain('src/http may import from');
  });

  test('refuses an import upwards, and an import of the other rules in the hot path', () => {
    const upward = "import { page } from '../http/page';\n\nexport const rule = page;\n";
    const printed = lint({
      'src/http/page.ts': 'export const page = 1;\n',
      'src/licensing/rule.ts': upward,
      'src/licensing/core/verdict.ts': "import { rule } from '../rule';\n\nexport const verdict = rule;\n",
    });
    expect(printed).toContain('src/licensing may import from');
    expect(printed).toContain('src/licensing/core may import from');
  });

  test('has a rule for every folder of src below the composition', () => {
    const folders = readdirSync(join(ROOT, 'src'), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)
      // The folder of texts has rules of its own.
      .filter((name) => name !== 'app' && name !== 'texts');
    const text = "import { start } from '../app/service';\n\nexport const probe = start;\n";
    const printed = lint({
      'src/app/service.ts': 'export const start = 1;\n',
      ...Object.fromEntries(folders.map((folder) => [`src/${folder}/probe.ts`, text])),
    });
    expect(folders.filter((folder) => !printed.includes(`src/${folder} may import from`))).toEqual([]);
  });

  test('refuses two files that import each other', () => {
    const printed = lint({
      'src/mail/a.ts': "import { b } from './b';\n\nexport const a = (): number => b();\n",
      'src/mail/b.ts': "import { a } from './a';\n\nexport const b = (): number => a();\n",
    });
    expect(printed).toContain('no-cycle');
  });

  test('allows a subject to read its table', () => {
    const text = "import { findToken } from '../store/tokens';\n\nexport const token = findToken;\n";
    expect(lint({ ...STORE, 'src/access/tokens.ts': text })).toContain('Found 0 warnings and 0 errors');
  });
});
