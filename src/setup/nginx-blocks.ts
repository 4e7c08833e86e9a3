/** Parses nginx's configuration into blocks with their positions. It knows the syntax of ngx_conf_file.c, but no directive. */

export interface Directive {
  name: string;
  /** without quotes */
  args: string[];
  /** the position of its name */
  start: number;
  block: Block | undefined;
}

export interface Block {
  /** the position right after its "{" */
  open: number;
  /** the position of its "}" */
  close: number;
  directives: Directive[];
}

/** An error of a text that is not in nginx's syntax. `line` counts from 1. */
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

/** Reads up to the "}" that closes the block, or to the end of the text. */
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
  // "${name}" is a variable, and its brace does not open a block.
  return take(reader, /(?:\\[^]|\$\{|[^\s;{\\])+/y) ?? take(reader, /[^]/y) ?? '';
}

function readQuoted(reader: Reader, quote: string): string {
  const start = reader.at;
  const found = take(reader, quote === '"' ? /"(?:\\[^]|[^"\\])*"/y : /'(?:\\[^]|[^'\\])*'/y);
  if (found === undefined) throw new NginxSyntaxError(reader.text, start);
  return found.slice(1, -1).replace(/\\(["'\\])/g, '$1');
}

/** Skips Lua, whose braces are balanced outside strings and comments. The content of long brackets (`[[ ]]`) is ignored. */
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
