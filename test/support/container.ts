import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './processes';

/** An image that Debian's buildah builds and runs, without a daemon or a registry. */

const RELEASE = join(__dirname, '../../release');
const CACHE = join(__dirname, '../../node_modules/.cache');

export interface Image {
  /** Runs a program in the only container, whose volumes remain. @param env the container's own environment */
  start(program: string[], env: Record<string, string>): ChildProcess;
  /** Runs a program. @param input standard input. @returns its standard output @throws Error unless it ends with 0 */
  run(program: string[], env: Record<string, string>, input?: Buffer): string;
  labels(): Record<string, string>;
  remove(): void;
}

/** Builds release/ with its Containerfile. */
export function buildImage(): Image {
  const storage = temporaryFolder('licensing-image');
  const global = ['--storage-driver=vfs', `--root=${storage}/root`, `--runroot=${storage}/run`];
  const buildah = (...args: string[]) =>
    execFileSync('buildah', [...global, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim();
  const scratch = buildah('from', 'scratch');
  buildah('add', '--quiet', scratch, debian(), '/');
  // Use the name in the Containerfile, because buildah first looks for it locally.
  buildah('commit', '--quiet', scratch, 'docker.io/library/debian:trixie-slim');
  buildah(
    'build',
    '--isolation=chroot',
    '--format=docker',
    '--file',
    join(RELEASE, 'Containerfile'),
    '--tag',
    'built',
    RELEASE,
  );
  const container = buildah('from', 'built');
  const command = (program: string[], env: Record<string, string>) => [
    ...global,
    ...['run', '--isolation=chroot'],
    ...Object.entries(env).map(([name, value]) => `--env=${name}=${value}`),
    ...[container, '--', ...program],
  ];
  return {
    start: (program, env) => spawn('buildah', command(program, env), { stdio: ['ignore', 'pipe', 'pipe'] }),
    run: (program, env, input = Buffer.alloc(0)) =>
      execFileSync('buildah', command(program, env), {
        encoding: 'utf8',
        input,
        stdio: ['pipe', 'pipe', 'pipe'],
      }),
    labels: () =>
      (
        JSON.parse(buildah('inspect', '--type=image', 'built')) as {
          Docker: { config: { Labels: Record<string, string> } };
        }
      ).Docker.config.Labels,
    remove: () => rmSync(storage, { recursive: true, force: true }),
  };
}

/** Creates a minimal Debian once. */
function debian(): string {
  const tree = join(CACHE, 'debian-trixie');
  if (existsSync(tree)) return tree;
  mkdirSync(CACHE, { recursive: true });
  const targets = ['indextargets', '--format', '$(REPO_URI)', 'Created-By: Packages', 'Origin: Debian'];
  const [mirror] = execFileSync('apt-get', targets, { encoding: 'utf8' }).split('\n');
  const half = `${tree}.half`;
  rmSync(half, { recursive: true, force: true });
  execFileSync('debootstrap', ['--variant=minbase', 'trixie', half, mirror!], { stdio: 'ignore' });
  renameSync(half, tree);
  return tree;
}

/** Asks the container's own process to end, like a daemon does: buildah forwards no signal. */
export function stopContainer(buildah: ChildProcess): void {
  let pid = buildah.pid as number;
  for (let child: number | undefined = pid; child !== undefined; child = childOf(pid)) pid = child;
  process.kill(pid, 'SIGTERM');
}

function childOf(pid: number): number | undefined {
  const tasks = readdirSync(`/proc/${pid}/task`);
  const children = tasks.flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' '),
  );
  const child = children.find((text) => text !== '');
  return child === undefined ? undefined : Number(child);
}
