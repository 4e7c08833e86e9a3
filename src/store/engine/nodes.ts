import { setTimeout as sleep } from 'node:timers/promises';
import { CodedError } from '../../base/errors';
import { sendStatement, type Connection } from './connections';
import { isTimeout, reasonCode } from './errors';
import type { ServerLocation } from './tls';

/**
 * Failover between several database servers: every instance uses the first server of the list that is writable. A
 * service watches all of them with health checks; a command chooses one when it connects.
 */
export interface Nodes {
  /** Connects to the node in use. @throws the nodes' common error, or NO_WRITABLE_NODE */
  connect(open: (location: ServerLocation) => Promise<Connection>): Promise<Connection>;
  /** Reports whether a connection is to the node in use. Other connections leave the pool. */
  isInUse(connection: Connection): boolean;
  /** returns the latest results of a service's health checks */
  standing(): ClusterStatus;
  stop(): void;
}

export interface ClusterStatus {
  nodes: { name: string; inUse: boolean; ready: boolean; clusterSize: number | undefined }[];
  /** the number of switches to another node since the start */
  switches: number;
}

/** The state that a server reports about itself. */
export interface NodeState {
  /** the reason that it is not writable, such as `is read-only`; undefined if it is writable */
  obstacle: string | undefined;
  isReadOnly: boolean;
  /** the number of connected nodes including itself; undefined if it is not a Galera node */
  clusterSize: number | undefined;
  /** the value of innodb_flush_log_at_trx_commit */
  flushes: string | undefined;
}

export interface NodeSwitch {
  from: string;
  to: string;
  /** the problem of the former node; undefined if an earlier node in the list is ready again */
  obstacle: string | undefined;
}

interface NodesRules {
  /** opens a connection for health checks, with a short statement timeout */
  openProbe: (location: ServerLocation) => Promise<Connection>;
  /** undefined if the nodes are not watched */
  onSwitch?: ((change: NodeSwitch) => void) | undefined;
  returning?: FailbackDelay;
}

/** The time in ms for which an earlier node must be ready before it is used again, and the maximum random delay after that. */
export interface FailbackDelay {
  after: number;
  spread: number;
}

const PROBE_EVERY_MS = 1_000;
/** Wait, because a restarted node may fail again, and all instances at once would meet its cold caches. */
const RETURNING: FailbackDelay = { after: 30_000, spread: 10_000 };

interface Node {
  location: ServerLocation;
  name: string;
  /** from the latest health check; undefined if it has no obstacle */
  obstacle: string | undefined;
  /** the time, by performance.now(), since which it is writable; undefined if it is not */
  readySince: number | undefined;
  /** from the latest health check, as in NodeState */
  clusterSize: number | undefined;
  /** the number of consecutive timeouts */
  misses: number;
  probe?: Connection | undefined;
}

export function openNodes(
  locations: ServerLocation[],
  { openProbe, onSwitch, returning = RETURNING }: NodesRules,
): Nodes {
  const nodes = locations.map((location): Node => {
    const unseen = { obstacle: undefined, readySince: undefined, clusterSize: undefined, misses: 0 };
    return { location, name: serverName(location), ...unseen };
  });
  const first = nodes[0] as Node;
  let inUse: Node | undefined;
  let choosing: Promise<Node> | undefined;
  let isWatching = false;
  let switches = 0;
  /** the random delay before a return, so that the instances switch one after the other */
  let turn = 0;
  const stopping = new AbortController();
  const owners = new WeakMap<Connection, Node>();

  return {
    async connect(open) {
      const known = isWatching ? inUse : undefined;
      const node = known ?? (await (choosing ??= choose().finally(() => (choosing = undefined))));
      const connection = await open(node.location);
      owners.set(connection, node);
      return connection;
    },
    isInUse: (connection) => owners.get(connection) === inUse,
    standing: () => ({
      nodes: nodes.map((node) => ({
        name: node.name,
        inUse: node === inUse,
        ready: node.readySince !== undefined,
        clusterSize: node.clusterSize,
      })),
      switches,
    }),
    stop() {
      stopping.abort();
      for (const { probe } of nodes) probe?.socket.destroy();
    },
  };

  /** Chooses the first writable node, beginning with the one in use. */
  async function choose(): Promise<Node> {
    const order = [...new Set([inUse ?? first, ...nodes])];
    const errors = await Promise.all(order.map(look));
    if (!isWatching) order.forEach(closeProbe);
    const found = order.find(({ obstacle }) => obstacle === undefined);
    if (found !== undefined) {
      use(found);
      watchAll();
      return found;
    }
    if (new Set(errors.map(reasonCode)).size === 1 && errors[0] !== undefined) throw errors[0] as Error;
    const reasons = order.map(({ name, obstacle }) => `${name} ${obstacle}`);
    throw new CodedError('NO_WRITABLE_NODE', `none of the servers can be written to: ${reasons.join(', ')}`);
  }

  /** Checks a node's health. @returns the error of a failed check */
  async function look(node: Node): Promise<unknown> {
    try {
      if (node.probe?.state !== 'authenticated') node.probe = await openProbe(node.location);
      const { obstacle, clusterSize } = await readNode(node.probe);
      Object.assign(node, { obstacle, clusterSize, misses: 0 });
    } catch (error) {
      closeProbe(node);
      node.obstacle = `cannot be used (${reasonCode(error)})`;
      // Ignore the first timeout: after a pause of this process, the timeouts of all nodes have expired.
      if (isTimeout(error) && ++node.misses === 1) return error;
      node.readySince = node.clusterSize = undefined;
      return error;
    }
    if (node.obstacle !== undefined) node.readySince = undefined;
    else node.readySince ??= performance.now();
  }

  function watchAll(): void {
    if (onSwitch === undefined || isWatching) return;
    isWatching = true;
    for (const node of nodes) void watch(node);
  }

  async function watch(node: Node): Promise<void> {
    const { signal } = stopping;
    while (!signal.aborted) {
      await look(node);
      decide();
      // Check again at once after a first timeout.
      if (node.misses !== 1)
        await sleep(PROBE_EVERY_MS, undefined, { ref: false, signal }).catch(() => undefined);
    }
    closeProbe(node);
  }

  /** Switches to another node if necessary. If no node is writable, the one in use stays. */
  function decide(): void {
    const now = performance.now();
    const isReady = inUse?.readySince !== undefined;
    const next = nodes.find(
      ({ readySince }) =>
        readySince !== undefined && (!isReady || now - readySince >= returning.after + turn),
    );
    if (next === undefined || next === inUse) return;
    // A later node in the list has no precedence over the node in use.
    if (isReady && nodes.indexOf(next) > nodes.indexOf(inUse as Node)) return;
    use(next);
  }

  function use(node: Node): void {
    const from = inUse ?? first;
    inUse = node;
    if (node === from) return;
    switches++;
    turn = Math.random() * returning.spread;
    onSwitch?.({ from: from.name, to: node.name, obstacle: from.obstacle });
  }

  function closeProbe(node: Node): void {
    node.probe?.socket.destroy();
    node.probe = undefined;
  }
}

/** Returns a server's name, such as `10.0.0.11:3306`. */
export function serverName({ host, port, socketPath }: ServerLocation): string {
  return socketPath ?? `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Checks a server by two statements that it always answers, even as a Galera node without the other nodes. */
export async function readNode(connection: Connection): Promise<NodeState> {
  const variables = await show(connection, 'VARIABLES', [...READ_ONLY, FLUSHES, 'wsrep_on']);
  const isReadOnly = READ_ONLY.some((name) => !['OFF', undefined].includes(variables.get(name)));
  const isGalera = variables.get('wsrep_on') === 'ON';
  const status = isGalera
    ? await show(connection, 'STATUS', [
        'wsrep_cluster_status',
        'wsrep_ready',
        'wsrep_local_state',
        'wsrep_local_state_comment',
        'wsrep_cluster_size',
      ])
    : undefined;
  return {
    obstacle: isReadOnly ? 'is read-only' : status && describeObstacle(status),
    isReadOnly,
    clusterSize: status && Number(status.get('wsrep_cluster_size')),
    flushes: variables.get(FLUSHES),
  };
}

/** The variables that make a server read-only. MariaDB 12 has more values of read_only than ON. */
const READ_ONLY = ['read_only', 'super_read_only', 'innodb_read_only'];
const FLUSHES = 'innodb_flush_log_at_trx_commit';
const SYNCED = '4';

function describeObstacle(status: Map<string, string>): string | undefined {
  if (status.get('wsrep_cluster_status') !== 'Primary') return 'has lost the majority of its cluster';
  if (status.get('wsrep_local_state') !== SYNCED)
    return `is not in step with its cluster (${status.get('wsrep_local_state_comment')})`;
  return status.get('wsrep_ready') === 'ON' ? undefined : 'is not ready (wsrep_ready)';
}

async function show(
  connection: Connection,
  what: 'VARIABLES' | 'STATUS',
  names: string[],
): Promise<Map<string, string>> {
  const rows = await sendStatement<{ Variable_name: string; Value: string }[]>(
    connection,
    `SHOW GLOBAL ${what} WHERE Variable_name IN (${names.map(() => '?').join(', ')})`,
    names,
  );
  return new Map(rows.map(({ Variable_name: name, Value }) => [name, Value]));
}
