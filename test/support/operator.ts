import { once } from 'node:events';
import type { Settings } from '../../src/settings/config';
import { runInProcess } from './command';
import { startProcess } from './processes';
import { entry } from './program';
import { processEnvironment, type Ended } from './service-process';

export interface RunOptions {
  /** its standard input; empty by default */
  stdin?: string;
  /** variables in addition to the settings */
  env?: NodeJS.ProcessEnv;
  /** true for the released program in its own process; always with `command`, and if Node reads `env` at its start */
  ownProcess?: boolean;
  /** the working directory, for one command at a time */
  cwd?: string;
  /** the command of another build */
  command?: string;
}

export interface Operator {
  /** Runs the command until it ends. */
  run: (args: string[], options?: RunOptions) => Promise<Ended>;
  /** Runs the command with --json, expects success, and returns its output. */
  json: <T = Record<string, unknown>>(args: string[], options?: RunOptions) => Promise<T>;
}

/** Returns an operator with these settings in the environment. */
export function operator(settings: Settings): Operator {
  async function run(
    args: string[],
    { stdin, env, ownProcess, cwd, command }: RunOptions = {},
  ): Promise<Ended> {
    const environment = processEnvironment(settings, env);
    const isNodes = (name: string) => ['NODE_OPTIONS', 'TZ', 'TMPDIR'].includes(name);
    if (!ownProcess && command === undefined && !Object.keys(environment).some(isNodes))
      return runInProcess(args, environment, stdin, cwd);
    const child = startProcess(process.execPath, [command ?? entry('cli', environment), ...args], {
      env: environment,
      stdio: ['pipe', 'pipe', 'pipe'],
      ...(cwd === undefined ? {} : { cwd }),
    });
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const)
      child[name]!.setEncoding('utf8').on('data', (text: string) => (output[name] += text));
    // Ignore the error of a command that ends without reading its input.
    child.stdin!.on('error', () => undefined).end(stdin);
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, ...output };
  }
  return {
    run,
    async json<T>(args: string[], options?: RunOptions) {
      const { code, stdout, stderr } = await run([...args, '--json'], options);
      if (code !== 0) throw new Error(`licensing ${args.join(' ')} failed (${code}): ${stderr}`);
      return JSON.parse(stdout) as T;
    },
  };
}

/** Adds a plan with the command; `options` extend the required ones. */
export async function addPlan(
  { json }: Operator,
  product: string,
  name: string,
  type: string,
  limit: string,
  ...options: string[]
): Promise<void> {
  await json([
    ...['plan', 'add', '--product', product, '--name', name],
    ...['--activation-type', type, '--activation-limit', limit, ...options],
  ]);
}
