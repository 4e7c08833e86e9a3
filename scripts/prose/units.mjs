/** Reads the prose of a file: comments, Markdown, texts of mails and string literals, as sentences with their lines. */

import { extname } from 'node:path';
import ts from 'typescript';

/**
 * Comments of a program: `{ text, lines, doc, trailing, next }`, where `lines` are [line number, text] without the marks.
 * A scanner, not a parser: it knows strings, templates, and regular expressions by the character before them.
 */
function comments(source, { hash = false, jsx = false } = {}) {
  const found = [];
  const stack = [];
  let i = 0;
  let line = 1;
  let before = '';
  let word = '';
  let lineHasCode = false;
  const regexAfter = jsx ? '(,=:[!&|?;+-*%~^{' : '(,=:[!&|?;+-*%~^{}<>';
  const next = () => {
    if (source[i] === '\n') {
      line++;
      lineHasCode = false;
    }
    i++;
  };
  const quoted = (quote) => {
    next();
    while (i < source.length && source[i] !== quote && source[i] !== '\n') {
      if (source[i] === '\\') next();
      next();
    }
    if (source[i] === quote) next();
    before = quote;
  };
  const template = () => {
    while (i < source.length) {
      if (source[i] === '\\') {
        next();
        next();
      } else if (source[i] === '`') {
        next();
        before = '`';
        return;
      } else if (source[i] === '$' && source[i + 1] === '{') {
        next();
        next();
        stack.push(0);
        before = '{';
        return;
      } else next();
    }
  };
  while (i < source.length) {
    const c = source[i];
    const two = source.slice(i, i + 2);
    if ((two === '//' && before !== ':') || (hash && c === '#' && source[i + 1] !== '[')) {
      const start = line;
      const from = i;
      while (i < source.length && source[i] !== '\n') i++;
      found.push({ kind: 'line', start, trailing: lineHasCode, raw: source.slice(from, i), end: i });
      continue;
    }
    if (two === '/*') {
      const start = line;
      const from = i;
      const trailing = lineHasCode;
      while (i < source.length && source.slice(i, i + 2) !== '*/') next();
      i += 2;
      found.push({
        kind: source.startsWith('/**', from) ? 'doc' : 'block',
        start,
        trailing,
        raw: source.slice(from, i),
        end: i,
      });
      continue;
    }
    if (/\s/.test(c)) {
      next();
      continue;
    }
    lineHasCode = true;
    if (c === '"' || c === "'") {
      quoted(c);
      continue;
    }
    if (c === '`') {
      next();
      template();
      continue;
    }
    if (
      c === '/' &&
      (regexAfter.includes(before) ||
        before === '' ||
        /^(?:return|typeof|case|in|of|do|else|throw|void|new|delete)$/.test(word))
    ) {
      let inClass = false;
      next();
      while (i < source.length && source[i] !== '\n' && (inClass || source[i] !== '/')) {
        if (source[i] === '\\') next();
        else if (source[i] === '[') inClass = true;
        else if (source[i] === ']') inClass = false;
        next();
      }
      next();
      before = '/';
      word = '';
      continue;
    }
    if (stack.length > 0 && c === '{') stack[stack.length - 1]++;
    if (stack.length > 0 && c === '}' && stack[stack.length - 1]-- === 0) {
      stack.pop();
      next();
      template();
      continue;
    }
    if (/[A-Za-z_$]/.test(c)) {
      const from = i;
      while (i < source.length && /[\w$]/.test(source[i])) i++;
      word = source.slice(from, i);
      before = 'a';
      continue;
    }
    word = '';
    before = c;
    next();
  }
  return merged(found, source);
}

/** Joins `//` lines that follow each other, and strips the marks. */
function merged(found, source) {
  const all = [];
  for (const one of found) {
    const rest = source.slice(one.end);
    const lines =
      one.kind === 'line'
        ? [[one.start, one.raw.replace(/^(?:\/\/+|#+) ?/, '')]]
        : one.raw
            .replace(/^\/\*+!?/, '')
            .replace(/\*\/$/, '')
            .split('\n')
            .map((text, n) => [one.start + n, text.replace(/^\s*\*? ?/, '').replace(/\r$/, '')]);
    const last = all.at(-1);
    if (
      one.kind === 'line' &&
      last?.kind === 'line' &&
      !one.trailing &&
      !last.trailing &&
      last.lines.at(-1)[0] === one.start - 1
    ) {
      last.lines.push(...lines);
      last.rest = rest;
    } else all.push({ kind: one.kind, trailing: one.trailing, lines, rest });
  }
  return all.map(({ rest, ...one }) => ({
    ...one,
    next: one.trailing ? '' : (/\S[^\n]*/.exec(rest.slice(0, 400))?.[0] ?? ''),
  }));
}

/** A quotation of more words is prose, in quotes or in backticks. */
const MAX_QUOTED_WORDS = 5;

const NOT_PROSE =
  /^\s*(?:eslint|@ts-|prettier|istanbul|c8 |v8 |#region|#endregion|@license|@preserve|Copyright|SPDX|<reference|sourceMapping|biome|tslint|jshint|global |globals |@__PURE__|#__PURE__|phpcs|phpstan|deno-)/;
/** A sign without which a line cannot be code. */
const SIGN_OF_CODE = /[=(){};]|^\w+: .*,$/;
/** The end of a sentence, or the backtick of a quotation, which code in comments does not have. */
const SIGN_OF_PROSE = /[.?!]$|`/;

/**
 * Reports whether a line of a comment is a command of a shell, a statement of PHP, or parses as a statement, a member or
 * the beginning or end of a block. A line of prose that only ends with a semicolon does not parse.
 */
function isCode(text) {
  const line = text.trim();
  if (/^\$(?: |\w+ *(?:=|->))/.test(line) || /^[<>|+=*-]{2,}$/.test(line)) return true;
  if (!SIGN_OF_CODE.test(line) || SIGN_OF_PROSE.test(line)) return false;
  return [line, `({${line}})`, `${line}}`, `{${line}`].some(
    (code) => ts.createSourceFile('a.ts', code, ts.ScriptTarget.Latest).parseDiagnostics.length === 0,
  );
}

/** Comments as units: the text before the tags, and each tag's text. */
function unitsOfComments(file, source) {
  const php = /\.php$/.test(file);
  const units = [];
  for (const { kind, lines, next, trailing } of comments(source, {
    hash: php || /\.(?:sh|yml|yaml|py)$/.test(file),
    jsx: /\.[jt]sx$/.test(file),
  })) {
    if (lines.some(([, text]) => NOT_PROSE.test(text))) continue;
    const ctx = {
      function:
        kind === 'doc' &&
        /^(?:export\s+)?(?:default\s+)?(?:async\s+)?(?:abstract\s+)?(?:public |private |protected |static )*function\b/.test(
          next,
        ),
      doc: kind === 'doc' && !trailing,
    };
    let unit = { kind: 'comment', ctx, lines: [] };
    const all = [unit];
    let fence = false;
    let isExample = false;
    for (const [line, original] of lines) {
      if (/^\s*(?:```|~~~)/.test(original)) {
        fence = !fence;
        continue;
      }
      if (fence) continue;
      let text = original;
      let column = 0;
      for (;;) {
        const tag = /(?<=^|\s)@(\w+)\b/.exec(text);
        if (tag === null) break;
        if (!isExample) unit.lines.push([line, text.slice(0, tag.index)]);
        isExample =
          /^(?:example|see|link|type|typedef|template|since|deprecated|module|name|memberof|class|extends|default|author|version|package|license|var|internal|category|experimental|legacy|global|alias|stability)$/.test(
            tag[1],
          );
        unit = { kind: 'tag', tag: tag[1], ctx: {}, lines: [] };
        all.push(unit);
        column += tag.index + tag[0].length;
        text = text.slice(tag.index + tag[0].length);
        if (/^(?:param|arg|argument|property|prop)$/.test(tag[1]))
          text = text.replace(/^\s*(?:\{[^}]*\})?\s*(?:\[[^\]]*\]|[\w.$]+)(?:\s*-\s+|\s*,?\s*)/, '');
        else text = text.replace(/^\s*\{[^}]*\}\s*/, '').replace(/^\s*-\s+/, '');
      }
      if (!isExample && !isCode(text)) unit.lines.push([line, text]);
    }
    // A paragraph of a comment is a unit of its own, and so is an item of a list.
    for (const one of all) {
      let current;
      for (const [line, text] of one.lines) {
        if (/^\s*$/.test(text)) {
          current = undefined;
          continue;
        }
        const item = /^\s*(?:[-*]|\d+\.)\s+/.exec(text);
        if (current === undefined || item !== null) {
          const isFirst = !units.some((u) => u.of === one);
          current = {
            of: one,
            file,
            kind: isFirst ? one.kind : 'prose',
            ctx: isFirst ? one.ctx : {},
            lines: [],
          };
          units.push(current);
        }
        current.lines.push([line, item === null ? text : text.slice(item[0].length)]);
      }
    }
  }
  return units;
}

/** Markdown as units: paragraphs, items of lists, cells of tables; without code, headings apart. */
function unitsOfMarkdown(file, source) {
  const units = [];
  let current;
  let fence;
  let isComment = false;
  let inList = false;
  const lines = source.split('\n');
  for (const [n, raw] of lines.entries()) {
    const text = raw.replace(/\r$/, '');
    const mark = /^\s*(?:>\s*)?(```+|~~~+)/.exec(text)?.[1];
    if (fence !== undefined) {
      if (mark?.startsWith(fence)) fence = undefined;
      continue;
    }
    if (mark !== undefined) {
      fence = mark;
      current = undefined;
      continue;
    }
    if (isComment) {
      isComment = !text.includes('-->');
      continue;
    }
    if (/^\s*<!--/.test(text)) {
      isComment = !text.includes('-->');
      current = undefined;
      continue;
    }
    if (
      /^\s*$/.test(text) ||
      /^\s*\[[^\]]+\]:\s/.test(text) ||
      /^\s*(?:---+|===+|\*\*\*+)\s*$/.test(text) ||
      (n === 0 && text === '---')
    ) {
      current = undefined;
      continue;
    }
    if (/^\s{0,3}#{1,6}\s/.test(text)) {
      inList = false;
      current = undefined;
      units.push({ file, kind: 'heading', ctx: {}, lines: [[n + 1, text.replace(/^\s*#+\s*/, '')]] });
      continue;
    }
    if (/^\s*\|/.test(text)) {
      current = undefined;
      if (/^\s*\|[\s:|-]+\|?\s*$/.test(text)) continue;
      for (const cell of text.split(/(?<!\\)\|/).map((c) => c.trim()))
        if (cell !== '') units.push({ file, kind: 'cell', ctx: {}, lines: [[n + 1, cell]] });
      continue;
    }
    const item = /^\s*(?:[-*+]|\d+[.)])\s+/.exec(text);
    if (item !== null) {
      inList = true;
      current = { file, kind: 'prose', ctx: {}, lines: [[n + 1, text.slice(item[0].length)]] };
      units.push(current);
      continue;
    }
    if (current === undefined && /^(?: {4,}|\t)/.test(text) && !inList) continue;
    if (!/^\s/.test(text) && current === undefined) inList = false;
    if (current === undefined) {
      current = { file, kind: 'prose', ctx: {}, lines: [] };
      units.push(current);
    }
    current.lines.push([n + 1, text.replace(/^\s*>\s?/, '')]);
  }
  return units;
}

/** Hides a quotation, unless it is long enough to be a sentence. */
function hideShort(quotation) {
  const inside = quotation.slice(1, -1);
  const isShort = inside.trim().split(/\s+/).length <= MAX_QUOTED_WORDS;
  return isShort ? '`' + 'x'.repeat(inside.length) + '`' : ` ${inside} `;
}

/** Hides code, addresses and marks by text of the same length. */
function masked(text) {
  const same = (m) => 'x'.repeat(m.length);
  return text
    .replace(/`[^`]*`/g, hideShort)
    .replace(/\{@\w+ [^}]*\}/g, same)
    .replace(/\]\([^)\s]*(?:\s"[^"]*")?\)/g, (m) => ' '.repeat(m.length))
    .replace(/\]\[[^\]]*\]/g, (m) => ' '.repeat(m.length))
    .replace(/https?:\/\/[^\s)>]+/g, same)
    .replace(/<\/?[a-z][^<>]*>/gi, (m) => ' '.repeat(m.length))
    .replace(/"[^"\n]{1,160}"/g, hideShort)
    .replace(/[*[\]]|(?<=^|\s)_|_(?=[\s.,;:)]|$)/g, ' ');
}

export function* sentencesOf(unit) {
  let text = '';
  const starts = [];
  for (const [line, part] of unit.lines) {
    starts.push([text.length, line]);
    text += part.trim() + ' ';
  }
  const lineAt = (offset) => starts.findLast(([start]) => start <= offset)?.[1] ?? starts[0]?.[1];
  const hidden = masked(text);
  const ends = [
    ...hidden.matchAll(
      /(?<!\b(?:e\.g|i\.e|etc|vs|cf|approx|resp|No|Nr|St|Mr|Dr|[A-Z]))[.!?]["'`)]*\s+(?=["'`(]*[A-Z`\d])/g,
    ),
  ].map((m) => m.index + m[0].length);
  let from = 0;
  const parts = [];
  for (const end of [...ends, hidden.length]) {
    const raw = hidden.slice(from, end);
    const lead = raw.length - raw.trimStart().length;
    if (raw.trim() !== '')
      parts.push({ offset: from + lead, hidden: raw.trim(), original: text.slice(from, end).trim() });
    from = end;
  }
  for (const [n, part] of parts.entries())
    yield {
      ...part,
      isFirst: n === 0,
      isOnly: parts.length === 1,
      lineOf: (index) => lineAt(part.offset + index),
    };
}

/** Returns the string literals, templates and JSX texts of TypeScript that have at least three words. */
function unitsOfStrings(file, source) {
  const units = [];
  const tree = ts.createSourceFile(
    file,
    source,
    ts.ScriptTarget.Latest,
    true,
    /x$/.test(file) ? ts.ScriptKind.TSX : ts.ScriptKind.TS,
  );
  const add = (node, text) => {
    if (text.trim().split(/\s+/).length < 3) return;
    const line = tree.getLineAndCharacterOfPosition(node.getStart()).line + 1;
    // A string of several lines is help or SQL: each of its paragraphs is a unit.
    for (const [n, part] of text.split('\n').entries())
      if (part.trim() !== '') units.push({ file, kind: 'string', ctx: {}, lines: [[line + n, part]] });
  };
  const visit = (node) => {
    if (ts.isImportDeclaration(node) || ts.isTaggedTemplateExpression(node)) return;
    if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node) || ts.isJsxText(node))
      add(node, node.text);
    else if (ts.isTemplateExpression(node)) {
      add(node, node.head.text + node.templateSpans.map((span) => '`x`' + span.literal.text).join(''));
      for (const span of node.templateSpans) visit(span.expression);
    } else ts.forEachChild(node, visit);
  };
  visit(tree);
  return units;
}

/** Returns the paragraphs of the texts of mails, where "## name" begins a mail. */
function unitsOfMails(file, source) {
  return source
    .split('\n')
    .map((text, n) => ({ file, kind: 'string', ctx: {}, lines: [[n + 1, text]] }))
    .filter(({ lines: [[, text]] }) => text.trim().split(/\s+/).length >= 3);
}

/**
 * Returns the units of a file: each has its `kind` (comment, tag, prose, cell, heading, string) and its lines as [number, text].
 *
 * @param withStrings also reads the string literals
 */
export function unitsOf(file, source, withStrings) {
  const kind = extname(file);
  if (kind === '.md') return unitsOfMarkdown(file, source);
  if (kind === '.txt') return unitsOfMails(file, source);
  const units = unitsOfComments(file, source);
  return withStrings && /^\.tsx?$/.test(kind) ? [...units, ...unitsOfStrings(file, source)] : units;
}
