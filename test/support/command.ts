import { AsyncLocalStorage } from 'node:async_hooks';
import { Readable, Writable } from 'node:stream';
import { run } from '../../src/cli';
import type { Ended } from './service-process';

/** Runs the operator's command in the test's own process: starting Node and loading the build takes 0.4 s each time. */

interface Surroundings {
  env: NodeJS.ProcessEnv;
  stdin: Readable;
  stdout: Captured;
  stderr: Captured;
}

class Captured extends Writable {
  private readonly chunks: Buffer[] = [];

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.chunks.push(chunk);
    done();
  }

  text(): string {
    return Buffer.concat(this.chunks).toString();
  }
}

const runs = new AsyncLocalStorage<Surroundings>();
let running = 0;

// Give each of several concurrent commands its own environment and streams.
for (const name of ['env', 'stdin', 'stdout', 'stderr'] as const) {
  const outside = Object.getOwnPropertyDescriptor(process, name)!;
  Object.defineProperty(process, name, {
    configurable: true,
    enumerable: true,
    get: (): unknown => runs.getStore()?.[name] ?? (outside.get ? outside.get() : outside.value),
  });
}

/**
 * Runs `licensing ARGS` with this environment and standard input until it ends.
 *
 * @param cwd the working directory, which applies to this whole process meanwhile
 */
export async function runInProcess(
  args: string[],
  env: NodeJS.ProcessEnv,
  stdin = '',
  cwd?: string,
): Promise<Ended> {
  const before = process.cwd();
  const surroundings = {
    // Leave out undefined variables, which a new process would not have.
    env: Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined)),
    stdin: Readable.from([Buffer.from(stdin)]),
    stdout: new Captured(),
    stderr: new Captured(),
  };
  const { stdout, stderr } = surroundings;
  running++;
  try {
    if (cwd !== undefined) process.chdir(cwd);
    const code = await runs.run(surroundings, () => run(['node', 'licensing', ...args]));
    return { code, stdout: stdout.text(), stderr: stderr.text() };
  } finally {
    if (cwd !== undefined) process.chdir(before);
    // Disable it when no command runs, because it slows every promise of this process.
    if (--running === 0) runs.disable();
  }
}
