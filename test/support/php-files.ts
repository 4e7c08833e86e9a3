import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Engine } from 'php-parser';

/** Returns the errors that this machine's PHP reports in files. */
export function phpFaults(files: string[]): string[] {
  return files.flatMap((file) => {
    const { status, stdout, stderr } = spawnSync('php', ['-l', file], { encoding: 'utf8' });
    return status === 0 ? [] : [`${file}: ${stdout}${stderr}`];
  });
}

/** Functions, types and spellings that PHP 7.2 lacks, although the parser accepts them for this version. */
const LATER = [
  /\b(?:array_is_list|array_key_(?:first|last)|array_(?:find|any|all)|fdiv|get_debug_type|hrtime|is_countable)\b/g,
  /\b(?:mb_str_split|str_(?:contains|starts_with|ends_with)|JSON_THROW_ON_ERROR|WeakMap|WeakReference)\b/g,
  /\b(?:Stringable|ValueError|JsonException)\b/g,
  /\(\s*(?:(?:public|protected|private)\s)[^)]*\$/g,
  /[(,:]\s*\??\\?\w+(?:\|\\?\w+)+\s*[${;]/g,
  /:\s*\??(?:static|mixed|never)\b|[(,]\s*mixed\s+\$/g,
  /\$\w+::class\b/g,
  /\b\d+_\d/g,
  /^\s*#\[/gm,
  /\[\s*&\s*\$\w+[^\]]*\]\s*=[^=>]/g,
];

/** Returns the parts of files that PHP 7.2 cannot read, or does not have. */
export function php72Faults(files: string[]): string[] {
  const parser = new Engine({
    parser: { version: '7.2', suppressErrors: false },
    ast: { withPositions: true },
  });
  return files.flatMap((file) => {
    const text = readFileSync(file, 'utf8');
    const code = text.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');
    const faults = LATER.flatMap((later) => [...code.matchAll(later)].map(([found]) => `${file}: ${found}`));
    try {
      parser.parseCode(text, file);
    } catch (error) {
      faults.push(`${file}: ${(error as Error).message}`);
    }
    return faults;
  });
}
