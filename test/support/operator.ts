import { once } from 'node:events';
import { join } from 'node:path';
import type { Settings } from '../../src/config';
import { startProcess } from './processes';
import { processEnvironment, type Ended } from './service-process';

const COMMAND = join(__dirname, '../../dist/src/cli.js');

export interface RunOptions {
  /** its standard input; empty by default */
  stdin?: string;
  /** the working directory */
  cwd?: string;
  /** in addition to the settings */
  env?: NodeJS.ProcessEnv;
  /** another build's command */
  command?: string;
}

export interface Operator {
  /** Runs the built command to its end. */
  run: (args: string[], options?: RunOptions) => Promise<Ended>;
  /** Runs it with --json, expects success, and returns what it printed. */
  json: <T = Record<string, unknown>>(args: string[], options?: RunOptions) => Promise<T>;
}

/** An operator with these settings in the environment. */
export function operator(settings: Settings): Operator {
  async function run(
    args: string[],
    { stdin, cwd, env, command = COMMAND }: RunOptions = {},
  ): Promise<Ended> {
    const child = startProcess(process.execPath, [command, ...args], {
      env: processEnvironment(settings, env),
      stdio: ['pipe', 'pipe', 'pipe'],
      ...(cwd === undefined ? {} : { cwd }),
    });
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const)
      child[name]!.setEncoding('utf8').on('data', (text: string) => (output[name] += text));
    // A command that does not read its input ends before the input is written.
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
