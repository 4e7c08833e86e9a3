import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { extname, join, relative, sep } from 'node:path';
import { parseArgs } from 'node:util';
import ts from 'typescript';

/**
 * Fails if the program is larger than budget.json allows. It counts the lines of TypeScript and TSX under src that
 * contain code, and the bytes of everything else that is shipped. It formats no files: `npm run check` runs oxfmt
 * first. TypeScript's parser finds the code, because strings, regular expressions and JSX may contain "//".
 *
 *   node scripts/budget.mjs [--print | --begin TITLE] [ROOT]
 *
 *   --print   also prints every figure
 *   --begin   writes budget.json for a new work, which may not add anything
 */

const {
  values: { print, begin },
  positionals: [root = join(import.meta.dirname, '..')],
} = parseArgs({ allowPositionals: true, options: { print: { type: 'boolean' }, begin: { type: 'string' } } });
const file = join(root, 'budget.json');

const now = measure();
if (begin !== undefined) {
  const allowance = { src: total(now.lines), bytes: total(now.bytes) };
  writeFileSync(file, `${JSON.stringify({ title: begin, allowance, recorded: now }, null, 2)}\n`);
}
const budget = JSON.parse(readFileSync(file, 'utf8'));
if (print) {
  for (const [unit, rows] of Object.entries(now)) {
    console.log(`\n${unit.padEnd(24)} ${'now'.padStart(9)} ${'recorded'.padStart(9)}`);
    const before = budget.recorded[unit];
    for (const name of Object.keys({ ...before, ...rows })) printRow(name, rows[name], before[name]);
    printRow('total', total(rows), total(before));
  }
  console.log('\nnot limited, in bytes');
  for (const name of ['docs', 'test']) printRow(name, total(bytesOf(name)));
}
const faults = [...Object.entries(budget.allowance).flatMap(overstepped), ...changedSince(budget.title)];
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exitCode = 1;

/** Returns the figures of `recorded` in budget.json. */
function measure() {
  const lines = {};
  for (const path of filesOf('src').filter(isTypeScript)) {
    const [, folder, below] = path.split(sep);
    const row = below === undefined ? '(files)' : folder;
    lines[row] = (lines[row] ?? 0) + linesOfCode(readFileSync(join(root, path), 'utf8'), path);
  }
  // The folders of `dist` are built from folders of the same names.
  const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const shipped = files.map((path) => path.replace('dist/', '').replace('/*.zip', ''));
  const limited = [...shipped, 'scripts/release/start'].filter((top) => top !== 'docs');
  return { lines: sorted(lines), bytes: sorted(Object.assign({}, ...limited.map(bytesOf))) };
}

function isTypeScript(path) {
  return /\.tsx?$/.test(path);
}

/** Returns the bytes of a folder, by the folder and the kind of file. TypeScript under src is counted in lines. */
function bytesOf(top) {
  const bytes = {};
  for (const path of filesOf(top)) {
    if (top === 'src' && isTypeScript(path)) continue;
    const row = `${top} ${extname(path)}`.trim();
    bytes[row] = (bytes[row] ?? 0) + statSync(join(root, path)).size;
  }
  return bytes;
}

function filesOf(top) {
  if (!existsSync(join(root, top))) return [];
  return readdirSync(join(root, top), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

/** Counts the lines that are neither empty nor only a comment. */
function linesOfCode(text, path) {
  const options = {
    languageVersion: ts.ScriptTarget.Latest,
    jsDocParsingMode: ts.JSDocParsingMode.ParseNone,
  };
  const source = ts.createSourceFile(path, text, options);
  let code = text;
  const replace = (node, by) => {
    const start = ts.isJsxText(node) ? node.pos : node.getStart(source);
    code = code.slice(0, start) + text.slice(start, node.end).replace(/\S/g, by) + code.slice(node.end);
  };
  const visit = (node) => {
    if (isLiteral(node)) replace(node, 'x');
    // Remove a comment among the children of an element: {/* … */}
    else if (ts.isJsxExpression(node) && node.expression === undefined) replace(node, ' ');
    else ts.forEachChild(node, visit);
  };
  visit(source);
  const withoutComments = code.replace(/\/\*[^]*?\*\/|\/\/.*/g, (comment) => comment.replace(/\S/g, ' '));
  return withoutComments.split('\n').filter((line) => line.trim() !== '').length;
}

function isLiteral(node) {
  return (
    ts.isLiteralExpression(node) ||
    ts.isTemplateHead(node) ||
    ts.isTemplateMiddleOrTemplateTail(node) ||
    ts.isJsxText(node)
  );
}

function sorted(rows) {
  return Object.fromEntries(Object.entries(rows).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function total(rows) {
  return Object.values(rows).reduce((sum, figure) => sum + figure, 0);
}

function printRow(name, ...figures) {
  console.log(name.padEnd(24), ...figures.map((figure = 0) => String(figure).padStart(9)));
}

/** Reports a total above its allowance, and the rows that differ from the recorded figures. */
function overstepped([name, allowed]) {
  const unit = name === 'bytes' ? 'bytes' : 'lines';
  const [rows, before] = [now, budget.recorded].map((figures) => limitedRows(name, figures[unit]));
  const more = total(rows) - allowed;
  if (more <= 0) return [];
  const changes = Object.keys({ ...before, ...rows })
    .map((row) => [row, (rows[row] ?? 0) - (before[row] ?? 0)])
    .filter(([, change]) => change !== 0)
    .sort(([, a], [, b]) => b - a)
    .map(([row, change]) => `  ${change > 0 ? '+' : ''}${change} ${row}`);
  return [
    `${name}: ${total(rows)} ${unit} are ${more} more than budget.json allows for "${budget.title}".`,
    'Against the recorded figures:',
    ...changes,
    'Remove some, or change budget.json in a commit whose title begins with "Budget:" and whose body has the reason.',
  ].join('\n');
}

/** Returns the rows of an allowance. @param name `bytes`, `src`, `src/FOLDER`, or `other folders` of src without one */
function limitedRows(name, rows) {
  const hasOwn = (row) => `src/${row}` in budget.allowance;
  const isLimited = ([row]) =>
    name === 'bytes' || name === 'src' || name === `src/${row}` || (name === 'other folders' && !hasOwn(row));
  return Object.fromEntries(Object.entries(rows).filter(isLimited));
}

/** Reports each commit that changed the budget of the present work without "Budget:" in its title, or without a reason. */
function changedSince(title) {
  const git = (...args) =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  let commits;
  try {
    if (git('rev-parse', '--is-shallow-repository') === 'true') throw new Error('shallow');
    commits = git('log', '--format=%H', '--', 'budget.json').split('\n').filter(Boolean);
  } catch {
    console.log('No commits to compare budget.json with: its history is not checked.');
    return [];
  }
  const workOf = (commit) => JSON.parse(git('show', `${commit}:./budget.json`)).title;
  const other = commits.findIndex((commit) => workOf(commit) !== title);
  // Skip the first commit of the work, which wrote the allowance.
  return (other < 0 ? commits : commits.slice(0, other))
    .slice(0, -1)
    .filter((commit) => !/^Budget: .+\n\n./.test(git('log', '-1', '--format=%B', commit)))
    .map(
      (commit) =>
        `The commit ${commit} changes budget.json: its title must begin with "Budget:", and its body have the reason.`,
    );
}
