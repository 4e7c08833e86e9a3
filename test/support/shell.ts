import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { operator } from './operator';
import type { Ended } from './service-process';

/** A shell with the operator's command. */
export interface Shell {
  /** Runs a program until it ends. */
  run(program: string, ...args: string[]): Promise<Ended>;
  stop(): Promise<void>;
}

/**
 * Starts a shell for the commands of a guide. Its `licensing`, a program in `bin`, runs in this process: it takes a
 * tenth of the CPU of a separate process, and a guide has up to 60 of them.
 *
 * @param cwd the programs' working directory
 */
export async function startShell(bin: string, env: NodeJS.ProcessEnv, cwd = bin): Promise<Shell> {
  const at = join(bin, 'licensing');
  let count = 0;
  const server = createServer((req, res) => {
    void buffer(req).then(async (body) => {
      const [folder = '', length, ...rest] = body.toString().split('\0');
      const args = rest.splice(0, Number(length));
      const variables: NodeJS.ProcessEnv = {};
      for (let line = rest.shift(); line; line = rest.shift())
        variables[line.slice(0, line.indexOf('='))] = line.slice(line.indexOf('=') + 1);
      const ended = operator({}).run(args, { env: variables, stdin: rest.join('\0'), cwd: folder });
      const { code, stdout, stderr } = await ended;
      const output = `${at}.${count++}`;
      writeFileSync(`${output}.out`, stdout);
      writeFileSync(`${output}.err`, stderr);
      res.end(`${code} ${output}`);
    });
  });
  await new Promise<void>((resolve) => server.listen(`${at}.sock`, resolve));
  const question = `printf '%s\\0' "$PWD" $# "$@"; env -0; printf '\\0'; cat`;
  const ask = `curl -sS --unix-socket ${at}.sock --data-binary @- http://licensing/`;
  const answer = 'cat "$2.out"\ncat "$2.err" >&2\nexit "$1"';
  writeFileSync(at, `#!/bin/sh\nset -- $({ ${question}; } | ${ask})\n${answer}\n`, { mode: 0o755 });
  const options = { cwd, env: { ...env, PATH: `${bin}:${process.env.PATH}` } };
  return {
    run: (program, ...args) =>
      new Promise((resolve) => {
        const child = execFile(program, args, options, (_error, stdout, stderr) =>
          resolve({ code: child.exitCode, stdout, stderr }),
        );
        child.stdin!.end();
      }),
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
