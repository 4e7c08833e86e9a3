import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';

/** Runs a command while all cores are busy: `node scripts/busy.mjs COMMAND ARGUMENT...`. The loops end with it. */

for (let core = 0; core < availableParallelism(); core++) new Worker('for (;;);', { eval: true });
const [command, ...args] = process.argv.slice(2);
const [code] = await once(spawn(command, args, { stdio: 'inherit' }), 'close');
process.exit(code ?? 1);
