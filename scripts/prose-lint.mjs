import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { PATTERNS } from './prose/patterns.mjs';
import { sentencesOf, unitsOf } from './prose/units.mjs';

/**
 * Finds odd English in comments, docs, mails, help, error messages and the API's descriptions. `npm run check` runs it.
 *
 *   node scripts/prose-lint.mjs [--all] [--strict] [--only NAME,...] [--summary] [--list] [--accept] [FILES...]
 *
 *   --all      also reports the sentences that are known (scripts/prose-known.json)
 *   --strict   also reports matters of style
 *   --only     looks for these patterns only
 *   --summary  prints the number of hits by folder
 *   --list     prints the patterns with their advice
 *   --accept   removes the sentences that are gone from scripts/prose-known.json
 *
 * Without FILES, it reads all files that git knows. It fails for a hit that neither prose-known.json nor
 * prose-exceptions.json has. The first holds digests of the sentences that were there when the rule came: a changed sentence
 * has to be plain. The second has sentences that stay, each with its reason.
 */

const ROOT = join(import.meta.dirname, '..');
const KNOWN = join(ROOT, 'scripts/prose-known.json');
const MAX_EXCEPTIONS = 30;

/** German, third parties' files, texts that are tested for being odd, and what the lint itself quotes. */
const LEFT_OUT =
  /(?:^|\/)de(?:\/|\.(?:ts|txt)$)|_de\.|pt_BR|^scripts\/prose(?:\/|-lint)|^test\/.*\/fixtures\/|^(?:package-lock|docs\/openapi)\.json$/;
const READ =
  /^(?:src|test|scripts|php|migrations|seeds|bench|examples)\/.*\.(?:tsx?|mjs|cjs|js|php)$|\.md$|^mails\/en\.txt$|^[\w.]+\.(?:ts|mjs)$/;
const WITH_STRINGS = /^src\//;

const options = {
  all: { type: 'boolean' },
  strict: { type: 'boolean' },
  only: { type: 'string' },
  summary: { type: 'boolean' },
  list: { type: 'boolean' },
  accept: { type: 'boolean' },
};
const { values, positionals } = parseArgs({ allowPositionals: true, options });

if (values.list) for (const { name, hint } of PATTERNS) console.log(`${name.padEnd(22)} ${hint}`);
else process.exitCode = run();

function run() {
  const only = values.only?.split(',');
  const patterns = PATTERNS.filter(({ name, strict }) => only?.includes(name) ?? (!strict || values.strict));
  if (patterns.length < (only?.length ?? 1)) throw new Error('Unknown pattern. --list prints all names.');
  const files = positionals.length > 0 ? positionals : filesOfGit();
  const known = new Set(existsSync(KNOWN) ? JSON.parse(readFileSync(KNOWN, 'utf8')) : []);
  const exceptions = JSON.parse(readFileSync(join(ROOT, 'scripts/prose-exceptions.json'), 'utf8'));
  const isExcepted = (text) => exceptions.some(({ sentence }) => sentence === text);
  const hits = files.flatMap((file) => hitsOf(file, patterns)).filter(({ text }) => !isExcepted(text));
  const fresh = hits.filter(({ digest }) => !known.has(digest));
  if (values.accept) {
    // Only a smaller list is accepted, unless there is none yet.
    const kept = new Set(
      hits.map(({ digest }) => digest).filter((digest) => known.size === 0 || known.has(digest)),
    );
    writeFileSync(KNOWN, `${JSON.stringify([...kept].sort(), null, 2)}\n`);
    return 0;
  }
  const shown = values.all || values.summary ? hits : fresh;
  if (values.summary) summarize(shown);
  else for (const { file, line, name, text } of shown) console.log(`${file}:${line}: ${name}: ${text}`);
  if (exceptions.length > MAX_EXCEPTIONS)
    console.error(`scripts/prose-exceptions.json has more than ${MAX_EXCEPTIONS} sentences.`);
  if (fresh.length > 0 && !values.all && !values.summary)
    console.error(
      `\n${fresh.length} sentences have to be read twice. "node scripts/prose-lint.mjs --list" has the advice for each pattern.`,
    );
  return exceptions.length > MAX_EXCEPTIONS || (fresh.length > 0 && !values.all && !values.summary) ? 1 : 0;
}

function filesOfGit() {
  const listed = execFileSync('git', ['-C', ROOT, 'ls-files', '-z'], {
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
  return listed.split('\0').filter((file) => READ.test(file) && !LEFT_OUT.test(file));
}

/** @returns {{ file: string, line: number, name: string, text: string, digest: string }[]} at most one of each pattern in a sentence */
function hitsOf(file, patterns) {
  const source = readFileSync(join(ROOT, file), 'utf8');
  const hits = [];
  for (const unit of unitsOf(file, source, WITH_STRINGS.test(file)))
    for (const sentence of sentencesOf(unit)) {
      const text = sentence.original.replaceAll(/\s+/g, ' ');
      for (const { name, index } of matchesOf(unit, sentence, patterns)) {
        const digest = createHash('sha256').update(`${name} ${text}`).digest('hex').slice(0, 12);
        hits.push({ file, line: sentence.lineOf(index), name, text, digest });
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
