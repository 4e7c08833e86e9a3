import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { PATTERNS } from './prose/patterns.mjs';
import { sentencesOf, unitsOf } from './prose/units.mjs';

/**
 * Finds odd English in comments, docs, mails, help, error messages and the API's descriptions. `npm run check` runs it.
 *
 *   node scripts/prose-lint.mjs [--strict] [--only NAME,...] [--summary] [--list] [FILES...]
 *
 *   --strict   also reports matters of style
 *   --only     looks for these patterns only
 *   --summary  prints the number of hits by folder
 *   --list     prints the patterns with their advice
 *
 * Without FILES, it reads all files that git knows. It fails for a hit that scripts/prose-exceptions.json does not have. That
 * file has sentences that stay, each with its reason.
 */

const ROOT = join(import.meta.dirname, '..');
const MAX_EXCEPTIONS = 30;

/** German, third parties' files, texts that are tested for being odd, and what the lint itself quotes. */
const LEFT_OUT =
  /(?:^|\/)de(?:\/|\.(?:ts|txt)$)|_de\.|pt_BR|^scripts\/prose(?:\/|-lint)|^test\/.*\/fixtures\/|^(?:package-lock|docs\/openapi)\.json$/;
const READ =
  /^(?:src|test|scripts|php|migrations|seeds|bench|examples)\/.*\.(?:tsx?|mjs|cjs|js|php)$|\.md$|^mails\/en\.txt$|^[\w.]+\.(?:ts|mjs)$/;
const WITH_STRINGS = /^src\//;

const options = {
  strict: { type: 'boolean' },
  only: { type: 'string' },
  summary: { type: 'boolean' },
  list: { type: 'boolean' },
};
const { values, positionals } = parseArgs({ allowPositionals: true, options });

if (values.list) for (const { name, hint } of PATTERNS) console.log(`${name.padEnd(22)} ${hint}`);
else process.exitCode = run();

function run() {
  const only = values.only?.split(',');
  const patterns = PATTERNS.filter(({ name, strict }) => only?.includes(name) ?? (!strict || values.strict));
  if (patterns.length < (only?.length ?? 1)) throw new Error('Unknown pattern. --list prints all names.');
  const files = positionals.length > 0 ? positionals : filesOfGit();
  const exceptions = JSON.parse(readFileSync(join(ROOT, 'scripts/prose-exceptions.json'), 'utf8'));
  const isExcepted = (text) => exceptions.some(({ sentence }) => sentence === text);
  const hits = files.flatMap((file) => hitsOf(file, patterns)).filter(({ text }) => !isExcepted(text));
  if (values.summary) summarize(hits);
  else for (const { file, line, name, text } of hits) console.log(`${file}:${line}: ${name}: ${text}`);
  if (exceptions.length > MAX_EXCEPTIONS)
    console.error(`scripts/prose-exceptions.json has more than ${MAX_EXCEPTIONS} sentences.`);
  if (hits.length > 0 && !values.summary)
    console.error(
      `\n${hits.length} sentences have to be read twice. "node scripts/prose-lint.mjs --list" has the advice for each pattern.`,
    );
  return exceptions.length > MAX_EXCEPTIONS || (hits.length > 0 && !values.summary) ? 1 : 0;
}

function filesOfGit() {
  const listed = execFileSync('git', ['-C', ROOT, 'ls-files', '-z'], {
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
  return listed.split('\0').filter((file) => READ.test(file) && !LEFT_OUT.test(file));
}

/** @returns {{ file: string, line: number, name: string, text: string }[]} at most one of each pattern in a sentence */
function hitsOf(file, patterns) {
  const source = readFileSync(join(ROOT, file), 'utf8');
  const hits = [];
  for (const unit of unitsOf(file, source, WITH_STRINGS.test(file)))
    for (const sentence of sentencesOf(unit)) {
      const text = sentence.original.replaceAll(/\s+/g, ' ');
      for (const { name, index } of matchesOf(unit, sentence, patterns)) {
        hits.push({ file, line: sentence.lineOf(index), name, text });
      }
    }
  return hits;
}

function* matchesOf(unit, sentence, patterns) {
  let opened = false;
  for (const { name, re, test, at, kinds, ctx, filter, opening } of patterns) {
    if (opening && opened) continue;
    if (kinds !== undefined ? !kinds.includes(unit.kind) : unit.kind === 'heading') continue;
    if (ctx !== undefined && !unit.ctx[ctx]) continue;
    if (at === 'start' && !sentence.isFirst) continue;
    if (at === 'only' && !(sentence.isOnly && sentence.isFirst)) continue;
    const match =
      test === undefined
        ? re.exec(sentence.hidden)
        : test(sentence.hidden, sentence.original) && { 0: '', index: 0 };
    if (!match || filter?.(match[0]) === false) continue;
    opened ||= opening;
    yield { name, index: match.index };
  }
}

/** Prints the hits of each top folder, or folder of src. */
function summarize(hits) {
  const counts = new Map();
  for (const { file } of hits) {
    const folder = file
      .split('/')
      .slice(0, file.startsWith('src/') ? 2 : 1)
      .join('/');
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  for (const [folder, count] of [...counts].sort(([, one], [, other]) => other - one))
    console.log(String(count).padStart(5), folder);
  console.log(String(hits.length).padStart(5), 'in all');
}
