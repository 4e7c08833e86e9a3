import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { cp, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { OperatorError } from '../../licensing/operator-error';
import { writeText } from '../../setup/files';
import { lastLines, runLine, runOrThrow } from '../../setup/machine';
import { commandIn, CURRENT, commandLineOf, SETTINGS, TREES_DIR, versionOfTree } from './place';
import { copyTree, newTreePath, isLink, replaceLink } from './trees';

/** Places and packs the trees and packages of versions, for `upgrade` and its rollback. */

export interface NewTree {
  path: string;
  version: string;
  /** true if this upgrade created the tree, and so removes it after a failure */
  isCopy: boolean;
}

/**
 * Places a tree. @param given an archive or a built tree's folder @param live the running tree @throws OperatorError
 */
export async function installTree(given: string, live: string): Promise<NewTree> {
  const path = resolve(given);
  if (!existsSync(path))
    throw new OperatorError(`There is no ${path}.`, { code: 'INVALID_REQUEST', field: 'file' });
  if (!statSync(path).isDirectory()) return unpack(path);
  const tree = realpathSync(path);
  const version = requireTree(tree, path);
  if (tree === live)
    throw new OperatorError(`${path} is the version that runs now. Name the folder of the new version.`);
  // The tree is already next to the live one, as docs/upgrade.md builds it.
  if (dirname(tree) === TREES_DIR && !isLink(path)) return { path: tree, version, isCopy: false };
  const to = newTreePath(version);
  await copyTree(tree, to);
  return { path: to, version, isCopy: true };
}

function requireTree(tree: string, given: string): string {
  const version = versionOfTree(tree);
  if (version === undefined || !existsSync(commandIn(tree)))
    throw new OperatorError(
      `${given} does not contain a built version of this program: package.json and dist/src/cli.js must be at its top.`,
      { code: 'INVALID_REQUEST', field: 'file' },
    );
  return version;
}

/** Unpacks an archive on the file system of the trees, so that one rename moves it. */
async function unpack(archive: string): Promise<NewTree> {
  const folder = await mkdtemp(join(TREES_DIR, `.${basename(CURRENT)}-`));
  try {
    const line = [
      'tar',
      '--extract',
      '--no-same-owner',
      '--no-same-permissions',
      '--file',
      archive,
      '--directory',
      folder,
    ];
    const { code, stderr } = await runLine(line);
    const [top, ...more] = readdirSync(folder);
    if (code !== 0 || top === undefined || more.length > 0)
      throw new OperatorError(
        `${archive} cannot be unpacked as an archive of this program: ${lastLines(stderr, 1) || 'it does not have one folder at its top'}.`,
        { code: 'INVALID_REQUEST', field: 'file' },
      );
    const tree = join(folder, top);
    const version = requireTree(tree, archive);
    await runOrThrow(['chmod', '-R', 'go=rX', tree]);
    const to = newTreePath(version);
    await rename(tree, to);
    return { path: to, version, isCopy: true };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Checks that a tree was built for this machine and has its Node. @throws OperatorError */
export async function requireRunnable({ path, version }: NewTree): Promise<void> {
  const { code, stdout, stderr } = await runLine(commandLineOf(path, ['--version'])).catch(
    (error: unknown) => ({
      code: 1,
      stdout: '',
      stderr: (error as Error).message,
    }),
  );
  if (code !== 0 || stdout.trim() !== version)
    throw new OperatorError(
      `The new version does not run on this machine: ${lastLines(stderr) || stdout.trim()}`,
    );
}

/**
 * Moves the settings outside of the trees, so that they are not deleted with an old tree. Later changes then apply to
 * both versions.
 */
export async function moveSettingsToEtc(from: string, to: string): Promise<void> {
  const [before, after] = [join(from, '.env'), join(to, '.env')];
  if (lstatSync(before, { throwIfNoEntry: false }) === undefined) return;
  if (!isLink(before) && !existsSync(SETTINGS)) {
    await copyWithRights(before, SETTINGS);
    await replaceLink(before, SETTINGS);
  }
  await rm(after, { force: true });
  // Keep the tree's settings in the tree, because other settings exist at that path.
  if (isLink(before)) await replaceLink(after, readlinkSync(before));
  else await copyWithRights(before, after);
}

async function copyWithRights(from: string, to: string): Promise<void> {
  const { uid, gid, mode } = statSync(from);
  await writeText(to, readFileSync(from, 'utf8'), { mode: mode & 0o777, owner: [uid, gid] });
}

/**
 * Makes HOME a link to a tree. A running instance loads its files by the tree's own path, so it never finds those of
 * another version.
 */
export async function switchCurrentLink(tree: string): Promise<void> {
  if (existsSync(CURRENT) && !isLink(CURRENT)) {
    const moved = newTreePath(versionOfTree(CURRENT) ?? 'old');
    await rename(CURRENT, moved);
    await replaceLink(CURRENT, moved);
  }
  await replaceLink(CURRENT, tree);
}

/** Returns the path of the live tree after HOME has become a link. */
export function futurePath(live: string): string {
  return live === CURRENT ? newTreePath(versionOfTree(CURRENT) ?? 'old') : live;
}

export interface Package {
  name: string;
  version: string;
}

/** Reads a package. @throws OperatorError if it is not a .deb of this program */
export async function readPackage(file: string): Promise<Package> {
  const { code, stdout, stderr } = await runLine([
    'dpkg-deb',
    '--show',
    '--showformat',
    '${Package} ${Version}',
    file,
  ]);
  const [name = '', version = ''] = stdout.trim().split(' ');
  if (code !== 0 || version === '')
    throw new OperatorError(`${file} is not a package: ${lastLines(stderr, 1)}`, {
      code: 'INVALID_REQUEST',
      field: 'file',
    });
  return { name, version };
}

/**
 * Packs an installed package again for a rollback, because apt keeps no package that was installed from a file.
 * @returns the .deb, which belongs to root
 */
export async function repack(name: string, folder: string): Promise<string> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const root = await mkdtemp(join(folder, '.pack-'));
  try {
    const listed = (await runOrThrow(['dpkg-query', '--listfiles', name])).split('\n');
    const paths = listed.filter((path) => /^\/./.test(path) && lstatSync(path, { throwIfNoEntry: false }));
    const list = join(root, 'list');
    await writeFile(list, paths.map((path) => `${path.slice(1)}\n`).join(''));
    const tree = join(root, 'tree');
    await mkdir(join(tree, 'DEBIAN'), { recursive: true, mode: 0o755 });
    const copy =
      'tar --create --no-recursion --directory=/ --files-from="$1" | tar --extract --directory="$2"';
    await runOrThrow(['sh', '-c', copy, 'sh', list, tree]);
    const status = await runOrThrow(['dpkg-query', '--status', name]);
    const control = status.replace(/^Status:.*\n/m, '').replace(/^Conffiles:\n(?: .*\n)*/m, '');
    await writeFile(join(tree, 'DEBIAN/control'), control.replace(/\n*$/, '\n'));
    for (const part of ['preinst', 'postinst', 'prerm', 'postrm', 'conffiles', 'md5sums', 'triggers']) {
      const path = [`/var/lib/dpkg/info/${name}.${part}`].find((one) => existsSync(one));
      if (path !== undefined) await cp(path, join(tree, 'DEBIAN', part), { preserveTimestamps: true });
    }
    const version = /^Version: (.*)$/m.exec(status)?.[1] ?? '0';
    const deb = join(folder, `${name}_${version.replace(/[^\w.+~-]/g, '_')}.deb`);
    await runOrThrow(['dpkg-deb', '--build', '--root-owner-group', '-Zgzip', '-z1', tree, deb]);
    return deb;
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}
