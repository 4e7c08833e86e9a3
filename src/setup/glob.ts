import { readdirSync, statSync } from 'node:fs';
import { join, sep } from 'node:path';

/** Lists the existing files of a pattern with `*`, `?` and `[...]`, sorted as by glob(3), which nginx and Apache use. */
export function filesOf(pattern: string): string[] {
  const [, ...parts] = pattern.split(sep);
  return parts
    .reduce((found, part) => found.flatMap((folder) => below(folder, part)), [sep as string])
    .filter(isFile)
    .sort();
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    // It does not exist, or its path continues below a file.
    return false;
  }
}

export function isPattern(path: string): boolean {
  return /[*?[]/.test(path);
}

function below(folder: string, part: string): string[] {
  if (!isPattern(part)) return [join(folder, part)];
  const matcher = new RegExp(
    `^${part
      .replace(/\[!/g, '[^')
      .replace(/[.+^${}()|\\](?![^[]*\])/g, '\\$&')
      .replaceAll('*', '.*')
      .replaceAll('?', '.')}$`,
  );
  try {
    return readdirSync(folder)
      .filter((name) => matcher.test(name) && (!name.startsWith('.') || part.startsWith('.')))
      .map((name) => join(folder, name));
  } catch {
    return [];
  }
}
