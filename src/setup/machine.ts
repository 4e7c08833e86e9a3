import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { environment } from '../settings/config';
import { OperatorError } from '../licensing/operator-error';

/** Runs programs of the machine. */

export interface ProgramResult {
  /** null: a signal ended it */
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  env?: NodeJS.ProcessEnv;
  /** text for its standard input */
  input?: string;
  /** files for its standard input and output */
  from?: string;
  into?: string;
  /** a file's descriptor, which the program receives as 3 */
  pass?: number | undefined;
}

/** Returns an environment for programs: in English, with the system's folders in PATH, which root lacks after "su". */
function ofPrograms(): NodeJS.ProcessEnv {
  const own = environment();
  const folders = [own.PATH, '/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];
  return { ...own, PATH: folders.filter(Boolean).join(':'), LC_ALL: 'C.UTF-8' };
}

/**
 * Runs a program. Ctrl-C and a closed terminal do not reach it: this process decides whether it stops.
 * @param line the program and its arguments
 * @throws OperatorError if the program is not on this machine
 */
export async function runLine(
  line: string[],
  { env = ofPrograms(), input, from, into, pass }: RunOptions = {},
): Promise<ProgramResult> {
  const [program = '', ...args] = line;
  const source = from === undefined ? undefined : openSync(from, 'r');
  const sink = into === undefined ? undefined : openSync(into, 'w');
  const child = spawn(program, args, {
    env,
    // Even if this process's own working directory was deleted.
    cwd: '/',
    detached: true,
    stdio: [
      source ?? (input === undefined ? 'ignore' : 'pipe'),
      sink ?? 'pipe',
      'pipe',
      ...(pass === undefined ? [] : [pass]),
    ],
  });
  // The child has its own descriptors.
  for (const fd of [source, sink]) if (fd !== undefined) closeSync(fd);
  const [stdout, stderr] = [child.stdout, child.stderr].map((stream) => {
    const chunks: Buffer[] = [];
    stream?.on('data', (chunk: Buffer) => chunks.push(chunk));
    return chunks;
  });
  child.stdin?.on('error', () => undefined).end(input);
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    const text = (chunks: Buffer[] = []) => Buffer.concat(chunks).toString('utf8');
    return { code, stdout: text(stdout), stderr: text(stderr) };
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw new OperatorError(
      code === 'ENOENT'
        ? `The program ${program} is not on this machine.`
        : `The program ${program} cannot be run (${code}).`,
    );
  }
}

/** Returns the standard output of a program. @throws OperatorError with its standard error, if it does not end with 0 */
export async function runOrThrow(line: string[], options?: RunOptions): Promise<string> {
  const { code, stdout, stderr } = await runLine(line, options);
  if (code !== 0)
    throw new OperatorError(
      `"${line.join(' ')}" failed: ${lastLines(stderr || stdout) || `it ended with ${code ?? 'a signal'}`}`,
    );
  return stdout;
}

/** Reports whether a program ends with 0; false if it does not exist. */
export async function exitsWithZero(line: string[], options?: RunOptions): Promise<boolean> {
  return runLine(line, options).then(
    ({ code }) => code === 0,
    () => false,
  );
}

export function lastLines(text: string, count = 5): string {
  return text.trim().split('\n').slice(-count).join('\n');
}

/** Returns a line that runs as another user, with the groups that systemd sets: the user's own and `group`. */
export function asUser(user: string, group: string, line: string[]): string[] {
  return ['setpriv', `--reuid=${user}`, `--regid=${group}`, '--init-groups', '--', ...line];
}
