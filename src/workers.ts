import cluster, { type Worker } from 'node:cluster';
import { AggregatorRegistry } from 'prom-client';
import type { Logger } from 'pino';
import type { Config } from './config';
import { createHandovers, type Handovers } from './handovers';
import { createClusterLimits } from './http/rate-limit';
import { describeListen } from './http/server';
import { prepare, requireDatabase, startSupervision, startWorker, type Running } from './service';

/** Several processes on one address: a primary that watches, and workers that answer. */

/** A worker that lived shorter than this did not end by chance. */
const SHORT_LIFE_MS = 10_000;
/** Before a worker is replaced; doubled for each in a row that did not live long. */
const PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
/** Longer than a worker's own limit for its drain. */
const STOP_LIMIT_MS = 12_000;

/**
 * Starts the workers and waits until all of them listen; from then on replaces those that die or cannot be forked,
 * ever more slowly while they die young.
 *
 * @throws Error when a worker cannot start; what stood in its way it has logged itself, unless it was never forked
 */
export async function startWorkers(config: Config, log: Logger): Promise<Running> {
  let started = false;
  let stopping = false;
  let shortLives = 0;
  const handovers = createHandovers();
  const timers = new Set<NodeJS.Timeout>();

  await requireDatabase(config);
  await prepare(config, 'LICENSING_LISTEN');
  if (config.redisUrls.length === 0) createClusterLimits();
  const registry = new AggregatorRegistry();

  const replace = (end: End) => {
    if (!started || stopping) return;
    shortLives = 'lived' in end && end.lived >= SHORT_LIFE_MS ? 0 : shortLives + 1;
    const pause = Math.min(PAUSE_MS * 2 ** shortLives, LONGEST_PAUSE_MS);
    if ('lived' in end) {
      const { lived, ...how } = end;
      log.error(
        { ...how, lived_seconds: Math.round(lived / 1000), pause_ms: pause },
        'a worker ended and is replaced',
      );
    } else
      log.error(
        { reason: end.notForked, pause_ms: pause },
        'a worker could not be forked, which is tried again',
      );
    const timer = setTimeout(() => {
      timers.delete(timer);
      fork(handovers, replace);
    }, pause);
    timers.add(timer);
  };

  const stop = async (): Promise<void> => {
    stopping = true;
    for (const timer of timers) clearTimeout(timer);
    await handovers.closeDoor(runningWorkers());
    await Promise.all(runningWorkers().map(stopWorker));
  };

  try {
    const [port] = await Promise.all(
      Array.from({ length: config.workers }, () => firstStart(handovers, replace)),
    );
    const supervision = await startSupervision(config, log, () => registry.clusterMetrics());
    started = true;
    // One that ended between its own start and the last one's was not replaced.
    for (let missing = config.workers - runningWorkers().length; missing > 0; missing--)
      fork(handovers, replace);
    return {
      address: describeListen(config.listen, port),
      adminAddress: supervision.address,
      async stop() {
        supervision.announceStop();
        await stop();
        await supervision.stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A worker's whole life: it ends by a signal, or with its primary. */
export async function runWorker(config: Config, log: Logger): Promise<Running> {
  // A message to a primary that died this moment is an error of no one's, and would end what is being answered.
  cluster.worker?.on('error', () => undefined);
  const api = await startWorker(config, log);
  new AggregatorRegistry();
  AggregatorRegistry.setRegistries(api.metrics.registry);
  return api;
}

function runningWorkers(): Worker[] {
  // Node keeps one on its list that could not be forked.
  return Object.values(cluster.workers ?? {})
    .filter((worker) => worker !== undefined)
    .filter((worker) => !worker.isDead());
}

/** How a worker's process ended, after how many ms; or why there never was one. */
type End =
  { worker: number; lived: number; code: number | null; signal: string | null } | { notForked: string };

/** @param onEnd told once, also of a worker that could not be forked */
function fork(
  handovers: Handovers,
  onEnd: (end: End) => void,
  onListening: (port?: number) => void = () => undefined,
): void {
  const started = performance.now();
  let worker: Worker;
  try {
    worker = cluster.fork();
  } catch (error) {
    onEnd({ notForked: (error as Error).message });
    return;
  }
  const { pid } = worker.process;
  if (pid === undefined) {
    // Node tells of it by this event alone: there is no process to exit.
    worker.once('error', ({ message }) => onEnd({ notForked: message }));
  } else {
    handovers.follow(worker);
    worker.once('listening', ({ port }: { port?: number }) => onListening(port));
    worker.once('exit', (code, signal) =>
      onEnd({ worker: pid, lived: performance.now() - started, code, signal }),
    );
  }
  // A message to a worker that died this moment is an error of no one's.
  worker.on('error', () => undefined);
}

/** @returns the port it listens on */
function firstStart(handovers: Handovers, onEnd: (end: End) => void): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    fork(
      handovers,
      (end) => {
        onEnd(end);
        reject(
          new Error(
            'notForked' in end
              ? `a worker could not be forked (${end.notForked}). Look at this user's limits of processes, open files and memory, or lower LICENSING_WORKERS.`
              : 'a worker could not start; its reason stands above',
          ),
        );
      },
      resolve,
    );
  });
}

async function stopWorker(worker: Worker): Promise<void> {
  // It may have ended, and still be on the list for a moment.
  if (worker.isDead()) return;
  const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  worker.process.kill('SIGTERM');
  const late = setTimeout(() => worker.process.kill('SIGKILL'), STOP_LIMIT_MS);
  await ended;
  clearTimeout(late);
}
