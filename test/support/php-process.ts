import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { endProcess, startProcess } from './processes';

/** A PHP process that answers each line of JSON with one line of JSON, because a start of PHP takes 0.1 s. */
export interface PhpProcess {
  /** Sends a line. @throws with PHP's output if it fails */
  ask<T>(input: object): Promise<T>;
  stop(): Promise<void>;
}

/** Starts PHP. @param args options of PHP */
export function startPhp(script: string, args: string[] = []): PhpProcess {
  const child = startProcess('php', [...args, '-d', 'display_errors=stderr', script], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  const said = text(child.stderr!);
  // Ignore errors, because a failed process no longer reads.
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
