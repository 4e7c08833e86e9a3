import cluster, { type Worker } from 'node:cluster';
import { AggregatorRegistry } from 'prom-client';
import type { Logger } from 'pino';
import type { Config } from './config';
import { createClusterLimits } from './http/rate-limit';
import { untilNoneComes } from './http/server';
import { prepare, requireDatabase, startSupervision, startWorker, type Running } from './service';

/** Several processes on one address: a primary that watches, and workers that answer. */

/** A worker that lived shorter than this did not end by chance. */
const SHORT_LIFE_MS = 10_000;
/** Before a worker is replaced; doubled for each in a row that did not live long. */
const PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
/** Longer than a worker's own limit for its drain. */
const STOP_LIMIT_MS = 12_000;
/** A worker that does not take a connection within this time has other troubles. */
const HANDOVER_LIMIT_MS = 1_000;

/**
 * Starts the workers and waits until all of them listen; from then on replaces those that die, ever more slowly
 * while they die young.
 *
 * @throws Error when a worker cannot start; what stood in its way it has logged itself
 */
export async function startWorkers(config: Config, log: Logger): Promise<Running> {
  let started = false;
  let stopping = false;
  let shortLives = 0;
  const timers = new Set<NodeJS.Timeout>();

  await requireDatabase(config);
  await prepare(config, 'LICENSING_LISTEN');
  if (config.redisUrls.length === 0) createClusterLimits();
  const registry = new AggregatorRegistry();

  const replace = (worker: Worker, lived: number, code: number | null, signal: string | null) => {
    if (!started || stopping) return;
    shortLives = lived < SHORT_LIFE_MS ? shortLives + 1 : 0;
    const pause = Math.min(PAUSE_MS * 2 ** shortLives, LONGEST_PAUSE_MS);
    log.error(
      { worker: worker.process.pid, code, signal, lived_seconds: Math.round(lived / 1000), pause_ms: pause },
      'a worker ended and is replaced',
    );
    const timer = setTimeout(() => {
      timers.delete(timer);
      fork(replace);
    }, pause);
    timers.add(timer);
  };

  const stop = async (): Promise<void> => {
    stopping = true;
    for (const timer of timers) clearTimeout(timer);
    await closeDoor();
    await Promise.all(runningWorkers().map(stopWorker));
  };

  try {
    const [port] = await Promise.all(
      Array.from({ length: config.workers }, () => firstStart(() => fork(replace))),
    );
    const supervision = await startSupervision(config, log, () => registry.clusterMetrics());
    started = true;
    // One that ended between its own start and the last one's was not replaced.
    for (let missing = config.workers - runningWorkers().length; missing > 0; missing--) fork(replace);
    return {
      address: addressText(config, port),
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
  const api = await startWorker(config, log);
  new AggregatorRegistry();
  AggregatorRegistry.setRegistries(api.metrics.registry);
  return api;
}

function runningWorkers(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
}

type OnEnd = (worker: Worker, lived: number, code: number | null, signal: string | null) => void;

function fork(onEnd: OnEnd): Worker {
  const started = performance.now();
  const worker = cluster.fork();
  // A message to a worker that died this moment is an error of no one's.
  worker.on('error', () => undefined);
  followConnections(worker);
  worker.once('exit', (code, signal) => onEnd(worker, performance.now() - started, code, signal));
  return worker;
}

/** A connection that was handed to a worker, which has not said yet that it takes it. */
interface Handover {
  /** the listening socket it came by, as Node's cluster names it */
  key: string;
  seq: number;
  connection: { close(): void };
}

const onTheWay = new Map<Worker, Handover>();
let handovers = 0;
let door: string | undefined;

/**
 * Node hands each connection to a worker and waits for its word that it took it. When the worker dies in between, Node
 * keeps the connection open for ever and its client waits in vain; so we keep the last one handed over, and close it.
 */
function followConnections(worker: Worker): void {
  const { process } = worker;
  const send = process.send.bind(process) as (...args: unknown[]) => boolean;
  process.send = (message: unknown, handle?: unknown, ...rest: unknown[]): boolean => {
    if (handle) {
      const { key, seq } = message as Handover;
      onTheWay.set(worker, { key, seq, connection: handle as Handover['connection'] });
      handovers++;
      door = key;
    }
    return send(message, handle, ...rest);
  };
  process.on('internalMessage', ({ ack }: { ack?: number }) => {
    if (onTheWay.get(worker)?.seq === ack) onTheWay.delete(worker);
  });
  process.once('exit', () => {
    // One that was taken is closed here already; a second time does nothing.
    onTheWay.get(worker)?.connection.close();
    onTheWay.delete(worker);
  });
}

/**
 * Closes the listening socket, which is the primary's, while all workers still take what it handed them. Left to Node
 * it is closed with the last worker's, and a connection that is handed over at that moment is lost: nginx does not
 * repeat the POST on it.
 */
async function closeDoor(): Promise<void> {
  const workers = runningWorkers();
  let known = handovers;
  const hasCome = () => {
    const since = handovers > known;
    known = handovers;
    // As long as a worker has nothing to take, no connection waits for one.
    return since || (workers.length > 0 && workers.every((worker) => onTheWay.has(worker)));
  };
  await untilNoneComes(hasCome, HANDOVER_LIMIT_MS);
  // What each of them would say of itself.
  for (const { process } of workers)
    process.emit('internalMessage' as 'message', { cmd: 'NODE_CLUSTER', act: 'close', key: door }, undefined);
  await untilNoneComes(() => onTheWay.size > 0, HANDOVER_LIMIT_MS);
}

/** @returns the port it listens on */
function firstStart(start: () => Worker): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const worker = start();
    worker.once('listening', ({ port }: { port?: number }) => resolve(port));
    worker.once('exit', () => reject(new Error('a worker could not start; its reason stands above')));
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

function addressText({ listen }: Config, port: number | undefined): string {
  if ('path' in listen) return `unix:${listen.path}`;
  const host = listen.host.includes(':') ? `[${listen.host}]` : listen.host;
  return `http://${host}:${port ?? listen.port}`;
}
