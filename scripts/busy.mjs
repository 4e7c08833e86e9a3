import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';

/** Runs a command while every core is busy: `node scripts/busy.mjs COMMAND ARGUMENT...`. The loops end with this process. */

for (let core = 0; core < availableParallelism(); core++) new Worker('for (;;);', { eval: true });
const [command, ...args] = process.argv.slice(2);
const [code] = await once(spawn(command, args, { stdio: 'inherit' }), 'close');
process.exit(code ?? 1);
