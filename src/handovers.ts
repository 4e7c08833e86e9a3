import type { Worker } from 'node:cluster';
import { untilNoneComes } from './http/server';

/** A worker that does not take a connection within this time has other troubles. */
const HANDOVER_LIMIT_MS = 1_000;

/** The connections that a primary hands to its workers: none gets lost when a worker dies, or when all stop. */
export interface Handovers {
  /**
   * Follows what a new worker is handed. Node hands each connection to a worker and waits for its word that it took it.
   * When the worker dies in between, Node keeps the connection open for ever and its client waits in vain; so we keep
   * the last one handed over, and close it.
   */
  follow(worker: Worker): void;
  /**
   * Closes the listening socket, which is the primary's, while all workers still take what it handed them. Left to Node
   * it is closed with the last worker's, and a connection that is handed over at that moment is lost: nginx does not
   * repeat the POST on it.
   */
  closeDoor(workers: Worker[]): Promise<void>;
}

/** A connection that was handed to a worker, which has not said yet that it takes it. */
interface Handover {
  /** the listening socket it came by, as Node's cluster names it */
  key: string;
  seq: number;
  connection: { close(): void };
}

export function createHandovers(): Handovers {
  const onTheWay = new Map<Worker, Handover>();
  let count = 0;
  let door: string | undefined;

  return {
    follow(worker) {
      const { process } = worker;
      const send = process.send.bind(process) as (...args: unknown[]) => boolean;
      process.send = (message: unknown, handle?: unknown, ...rest: unknown[]): boolean => {
        if (handle) {
          const { key, seq } = message as Handover;
          onTheWay.set(worker, { key, seq, connection: handle as Handover['connection'] });
          count++;
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
    },

    async closeDoor(workers) {
      let known = count;
      const hasCome = () => {
        const since = count > known;
        known = count;
        // As long as a worker has nothing to take, no connection waits for one.
        return since || (workers.length > 0 && workers.every((worker) => onTheWay.has(worker)));
      };
      await untilNoneComes(hasCome, HANDOVER_LIMIT_MS);
      // What each of them would say of itself.
      const closed = { cmd: 'NODE_CLUSTER', act: 'close', key: door };
      for (const { process } of workers) process.emit('internalMessage' as 'message', closed, undefined);
      await untilNoneComes(() => onTheWay.size > 0, HANDOVER_LIMIT_MS);
    },
  };
}
