import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { endProcess, startProcess } from './processes';

/** PHP that answers each line of JSON on its standard input by one on its standard output: a start of it takes 0.1 s. */
export interface PhpProcess {
  /** @throws with what PHP said when it fails */
  ask<T>(input: object): Promise<T>;
  stop(): Promise<void>;
}

/** @param args options of PHP */
export function startPhp(script: string, args: string[] = []): PhpProcess {
  const child = startProcess('php', [...args, '-d', 'display_errors=stderr', script], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  const said = text(child.stderr!);
  // A process that failed reads no more.
  child.stdin!.on('error', () => undefined);
  return {
    async ask<T>(input: object) {
      child.stdin!.write(`${JSON.stringify(input)}\n`);
      const line = await lines.next();
      if (line.done) throw new Error(`PHP failed: ${await said}`);
      return JSON.parse(line.value) as T;
    },
    async stop() {
      await endProcess(child);
      const fault = await said;
      if (fault !== '') throw new Error(`PHP said: ${fault}`);
    },
  };
}
