import { existsSync, readFileSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { OperatorError } from '../licensing/operator-error';
import { readText, writeText } from './files';
import { lastLines, runLine } from './machine';
import { withInsertions, withoutInsertions, type SiteEdits } from './site';

/** Changes of the web server's own files, which are copied, edited, checked by the server, and restored if it refuses. */

/** The changes that the journal records. */
export interface ConnectedSite {
  /** the command that lets the web server check its files, such as `nginx -t` */
  test: string[];
  /** texts that were inserted into files */
  inserted: { path: string; texts: string[]; copy: string }[];
  /** new files */
  files: { path: string; text: string }[];
}

/** @throws OperatorError if the web server refuses its present files, before anything is changed */
export async function requireValidConfig(test: string[]): Promise<void> {
  const { code, stderr } = await runLine(test);
  if (code !== 0)
    throw new OperatorError(
      `"${test.join(' ')}" refuses the present files of the web server. Nothing was changed. Fix this first:\n${lastLines(stderr)}`,
    );
}

/**
 * @param copies a folder that the web server does not include, for copies of the original files
 * @param onPlan receives the planned changes before they are made, so that they can be undone after an interruption
 * @throws OperatorError; then the files are restored
 */
export async function connectSite(
  edits: SiteEdits,
  test: string[],
  copies: string,
  onPlan: (site: ConnectedSite) => Promise<void> = () => Promise.resolve(),
): Promise<ConnectedSite> {
  await requireValidConfig(test);
  await mkdir(copies, { recursive: true, mode: 0o700 });
  const paths = [...new Set(edits.insertions.map(({ path }) => path))];
  const before = paths.map((path) => ({ path, text: readFileSync(path, 'utf8') }));
  const inserted: ConnectedSite['inserted'] = [];
  for (const { path, text } of before) {
    const copy = freeName(join(copies, path.slice(1).replaceAll('/', '!')));
    await writeText(copy, text, { mode: 0o600 });
    const own = edits.insertions.filter((one) => one.path === path);
    inserted.push({ path, texts: own.map((one) => one.text), copy });
  }
  const site = { test, inserted, files: edits.files };
  await onPlan(site);
  const putBack = async () => {
    for (const { path, text } of before) await writeText(path, text);
    for (const { path } of edits.files) await rm(path, { force: true });
  };
  try {
    for (const { path, text } of before) {
      const own = edits.insertions.filter((one) => one.path === path);
      await writeText(path, withInsertions(text, own));
    }
    for (const { path, text } of edits.files) await writeText(path, text, { mode: 0o644 });
  } catch (error) {
    await putBack();
    throw error;
  }
  const { code, stderr } = await runLine(test);
  if (code !== 0) {
    await putBack();
    throw new OperatorError(
      `"${test.join(' ')}" refused the site's file with its new lines, so the former file was restored:\n${lastLines(stderr)}`,
    );
  }
  return site;
}

/** Removes the lines again. Other changes since then stay. @returns remarks about changed parts, which were left alone */
export async function disconnectSite({ test, inserted, files }: ConnectedSite): Promise<string[]> {
  const remarks: string[] = [];
  const before: { path: string; text: string }[] = [];
  for (const { path, texts } of inserted) {
    const text = readText(path);
    const left = text === undefined ? undefined : withoutInsertions(text, texts);
    if (text === undefined || left === undefined) {
      if (text?.includes('licensing'))
        remarks.push(`${path} was changed since then: remove its lines about licensing by hand.`);
      continue;
    }
    before.push({ path, text });
    await writeText(path, left);
  }
  for (const { path, text } of files) {
    if (readText(path) === text) {
      before.push({ path, text });
      await rm(path);
    } else if (existsSync(path)) remarks.push(`${path} was changed since then, so it stays.`);
  }
  // A web server that was uninstalled cannot refuse anything.
  const { code, stderr } = await runLine(test).catch(() => ({ code: 0, stderr: '' }));
  if (code !== 0) {
    for (const { path, text } of before) await writeText(path, text);
    throw new OperatorError(
      `"${test.join(' ')}" refuses the web server's files without these lines, so the lines were restored:\n${lastLines(stderr)}`,
    );
  }
  return remarks;
}

/** Describes the planned changes. */
export function describeEdits({ insertions, files }: SiteEdits): string[] {
  return [
    ...insertions.map(({ path, text }) => `${path}: the line "${text.trim()}"`),
    ...files.map(({ path, text }) => `${path}, a new file with the line "${text.trim()}"`),
  ];
}

function freeName(path: string): string {
  for (let number = 0; ; number++) {
    const name = number === 0 ? path : `${path}.${number}`;
    if (!existsSync(name)) return name;
  }
}
