/** The blocks of nginx's configuration with their places in the text. Knows the syntax of ngx_conf_file.c, no directive. */

export interface Directive {
  name: string;
  /** without quotes */
  args: string[];
  /** where its name begins */
  start: number;
  block: Block | undefined;
}

export interface Block {
  /** right after its "{" */
  open: number;
  /** of its "}" */
  close: number;
  directives: Directive[];
}

/** The text is not nginx's. `line` counts from 1. */
export class NginxSyntaxError extends Error {
  constructor(
    text: string,
    at: number,
    readonly line = text.slice(0, at).split('\n').length,
  ) {
    super(`line ${line}`);
  }
}

interface Reader {
  readonly text: string;
  at: number;
}

/** @throws NginxSyntaxError */
export function parseNginx(text: string): Directive[] {
  const reader = { text, at: 0 };
  const directives = readDirectives(reader);
  if (reader.at < text.length) throw new NginxSyntaxError(text, reader.at);
  return directives;
}

/** Up to the "}" that closes the block, or the text's end. */
function readDirectives(reader: Reader): Directive[] {
  const directives: Directive[] = [];
  for (;;) {
    skipBlanks(reader);
    const next = reader.text[reader.at];
    if (next === undefined || next === '}') return directives;
    directives.push(readDirective(reader));
  }
}

function readDirective(reader: Reader): Directive {
  const start = reader.at;
  const words: string[] = [];
  for (;;) {
    skipBlanks(reader);
    const next = reader.text[reader.at];
    if (next === undefined || next === '}') throw new NginxSyntaxError(reader.text, start);
    if (next !== ';' && next !== '{') {
      words.push(readWord(reader));
      continue;
    }
    const [name, ...args] = words;
    if (name === undefined) throw new NginxSyntaxError(reader.text, reader.at);
    reader.at++;
    return { name, args, start, block: next === ';' ? undefined : readBlock(reader, name) };
  }
}

function readBlock(reader: Reader, name: string): Block {
  const open = reader.at;
  const directives = name.endsWith('_by_lua_block') ? skipLua(reader) : readDirectives(reader);
  if (reader.text[reader.at] !== '}') throw new NginxSyntaxError(reader.text, open);
  return { open, close: reader.at++, directives };
}

function readWord(reader: Reader): string {
  const quote = reader.text[reader.at];
  if (quote === '"' || quote === "'") return readQuoted(reader, quote);
  // "${name}" is a variable, and its brace opens no block.
  return take(reader, /(?:\\[^]|\$\{|[^\s;{\\])+/y) ?? take(reader, /[^]/y) ?? '';
}

function readQuoted(reader: Reader, quote: string): string {
  const start = reader.at;
  const found = take(reader, quote === '"' ? /"(?:\\[^]|[^"\\])*"/y : /'(?:\\[^]|[^'\\])*'/y);
  if (found === undefined) throw new NginxSyntaxError(reader.text, start);
  return found.slice(1, -1).replace(/\\(["'\\])/g, '$1');
}

/** Lua's braces are balanced outside its strings and comments. Long brackets (`[[ ]]`) are not looked into. */
function skipLua(reader: Reader): Directive[] {
  for (let depth = 0; ;) {
    const part = take(
      reader,
      /--\[\[[^]*?\]\]|--[^\n]*|\[\[[^]*?\]\]|"(?:\\[^]|[^"\\])*"|'(?:\\[^]|[^'\\])*'|[^]/y,
    );
    if (part === undefined) return [];
    if (part === '{') depth++;
    if (part === '}' && depth-- === 0) {
      reader.at--;
      return [];
    }
  }
}

function skipBlanks(reader: Reader): void {
  take(reader, /(?:[ \t\r\n]+|#[^\n]*)+/y);
}

function take(reader: Reader, pattern: RegExp): string | undefined {
  pattern.lastIndex = reader.at;
  const found = pattern.exec(reader.text)?.[0];
  if (found !== undefined) reader.at += found.length;
  return found;
}
