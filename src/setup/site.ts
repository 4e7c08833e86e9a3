import { OperatorError } from '../licensing/operator-error';

/** The site whose web server must forward requests to the service. */
export interface ServerSite {
  host: string;
  https: boolean;
  port: number;
}

/** The changes of the web server's files. */
export interface SiteEdits {
  /** the insertions into each file, by its path with links resolved */
  insertions: Insertion[];
  /** new files */
  files: { path: string; text: string }[];
  /** instructions with their lines for the tool that writes the site's file, which no other program can change */
  byHand: string[];
}

export interface Insertion {
  path: string;
  at: number;
  text: string;
}

export function noEdits(): SiteEdits {
  return { insertions: [], files: [], byHand: [] };
}

/** @param url such as `https://shop.example/joomla` */
export function serverSiteOf(url: URL): ServerSite {
  const https = url.protocol === 'https:';
  return { host: url.hostname.toLowerCase(), https, port: Number(url.port) || (https ? 443 : 80) };
}

/** Reports whether a hosting panel or a management tool writes the file: it states so at the top of its files. */
export function isManagedByTool(text: string): boolean {
  const comments = text
    .slice(0, 4_000)
    .split('\n')
    .filter((line) => /^\s*#/.test(line))
    .slice(0, 20)
    .join(' ')
    .replace(/[\s#]+/g, ' ');
  return /do not (?:edit|modify|change)|(?:generated|created) automatically|automatically generated|will be (?:lost|overwritten)|\b(?:ansible|puppet|chef) managed|managed by (?:ansible|puppet|chef|salt)/i.test(
    comments,
  );
}

/** Cuts insertions that still exist; the rest of the file may have changed since. @returns undefined if one is missing */
export function withoutInsertions(text: string, inserted: string[]): string | undefined {
  let left = text;
  for (const one of inserted) {
    const at = left.indexOf(one);
    if (at < 0) return undefined;
    left = left.slice(0, at) + left.slice(at + one.length);
  }
  return left;
}

export function withInsertions(text: string, insertions: Pick<Insertion, 'at' | 'text'>[]): string {
  return [...insertions]
    .sort((a, b) => b.at - a.at)
    .reduce((all, { at, text: more }) => all.slice(0, at) + more + all.slice(at), text);
}

/** Inserts a separate line right after a block's opening, or after the comment on the opening's line. */
export function insertAfter(text: string, open: number, line: string): Pick<Insertion, 'at' | 'text'> {
  const rest = /[^\n]*/y;
  rest.lastIndex = open;
  const [left = ''] = rest.exec(text) ?? [];
  const indent = /\n([ \t]*)[^\s}#<]/.exec(text.slice(open))?.[1] ?? '    ';
  const isAlone = /^\s*(?:#.*)?$/.test(left);
  return isAlone
    ? { at: open + left.replace(/\r$/, '').length, text: `\n${indent}${line}` }
    : { at: open, text: `\n${indent}${line}\n` };
}

export function cannotBeRead(path: string, fault: string): OperatorError {
  return new OperatorError(
    `${path} cannot be understood: ${fault}. The web server's files were not changed.`,
  );
}
