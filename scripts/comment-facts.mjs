import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { unitsOf } from './prose/units.mjs';

/**
 * Lists the facts that comments named at another commit and no longer name: figures with their units, sections, RFCs,
 * decisions, settings, files and addresses. Run it after you have rewritten comments: a listed fact is in the code
 * itself, was wrong, or has to come back.
 *
 *   node scripts/comment-facts.mjs COMMIT [PATH...]
 */

const ROOT = join(import.meta.dirname, '..');
const FACTS = [
  /\b(?:RFC|section|decision|CVE-|MDEV-|chapter|bug|issue) ?#?\d[\d.-]*/gi,
  /\b(?:LICENSING|NODE|UV|PASSENGER|JOOMLA)_[A-Z_]+\b/g,
  /(?<![\w.])[\w-]+(?:\/[\w.-]+)*\.(?:tsx?|mjs|cjs|js|php|md|xml|json|conf|txt|css|zip)\b/g,
  /https?:\/\/[^\s)>`'"]+/g,
  /(?<![\w.#-])\d+(?:[.,:]\d+)*(?:[ -]?(?:%|ms|s|min|minutes?|hours?|days?|weeks?|months?|years?|bytes?|k?B|KB|MB|GB|KiB|MiB|GiB|bits?|requests?|rows?|licen[cs]es?)\b)?/g,
];

const { positionals } = parseArgs({ allowPositionals: true });
const [commit, ...paths] = positionals;
if (commit === undefined) throw new Error('Usage: node scripts/comment-facts.mjs COMMIT [PATH...]');

let count = 0;
const renamed = new Map();
for (const file of changedFiles()) {
  const now = renamed.get(file) ?? file;
  const after = existsSync(join(ROOT, now)) ? readFileSync(join(ROOT, now), 'utf8') : '';
  const kept = factsOf(now, after);
  for (const [fact, sentence] of factsOf(file, git('show', `${commit}:${file}`)))
    if (!kept.has(fact)) {
      count++;
      console.log(`${file}: ${fact}: ${sentence}`);
    }
}
console.log(`${count} facts are missing.`);

/** Returns the files that exist in the commit and differ now, by their former names. */
function changedFiles() {
  const lines = git('diff', '--name-status', '-M', commit, '--', ...paths)
    .split('\n')
    .filter(Boolean);
  return lines.flatMap((line) => {
    const [state, file, to] = line.split('\t');
    if (to !== undefined) renamed.set(file, to);
    return state !== 'A' && /\.(?:tsx?|mjs|cjs|js|php)$/.test(file) ? [file] : [];
  });
}

/** Returns each fact with the text that names it. @returns {Map<string, string>} */
function factsOf(file, source) {
  const facts = new Map();
  for (const { lines } of unitsOf(file, source, false)) {
    const text = lines.map(([, line]) => line.trim()).join(' ');
    for (const pattern of FACTS)
      for (const [fact] of text.matchAll(pattern)) facts.set(fact.toLowerCase().replace(/[.:,]$/, ''), text);
  }
  return facts;
}

function git(...args) {
  return execFileSync('git', ['-C', ROOT, ...args], { encoding: 'utf8', maxBuffer: 1 << 28 });
}
