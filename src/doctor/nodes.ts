import { locationsOf, openProbe } from '../store/engine/mysql';
import { serverName, readNode, type NodeState } from '../store/engine/nodes';
import { withConnection } from '../store/engine/statements';
import type { ServerLocation } from '../store/engine/tls';
import { ok, shortReason, warning, type Check, type CheckFinding } from './finding';

/** The minimum size of a cluster: with fewer nodes, the others have no majority when one fails. */
const NODES_NEEDED = 3;

interface Seen {
  name: string;
  /** undefined if the server did not answer; `reason` explains it */
  state: NodeState | undefined;
  reason: string | undefined;
}

/** Checks every database server in the settings: which is in use, whether the others can be, and what a crash loses. */
export const checkNodes: Check = async ({ config: { database }, db }) => {
  if (database.kind === 'sqlite') return [];
  const locations = locationsOf(database);
  // The user may have only one connection, which is open already.
  const read = locations.length === 1 ? () => withConnection(db, readNode) : probe;
  const seen = await Promise.all(locations.map((location) => look(location, () => read(database, location))));
  const inUse = seen.find(({ reason }) => reason === undefined);
  return [
    ...(seen.length > 1 ? [checkOthers(seen, inUse)] : []),
    ...(inUse?.state?.clusterSize === undefined ? [] : [checkCluster(inUse.state.clusterSize, seen.length)]),
    ...seen.flatMap(checkFlush),
  ];
};

async function probe(...at: Parameters<typeof openProbe>): Promise<NodeState> {
  const connection = await openProbe(...at);
  return readNode(connection).finally(() => connection.socket.destroy());
}

async function look(location: ServerLocation, read: () => Promise<NodeState>): Promise<Seen> {
  const name = serverName(location);
  try {
    const state = await read();
    return { name, state, reason: state.obstacle };
  } catch (error) {
    return { name, state: undefined, reason: `cannot be used (${shortReason(error)})` };
  }
}

function checkOthers(seen: Seen[], inUse: Seen | undefined): CheckFinding {
  const nodes = seen.map(({ name, reason, state }, i) => ({
    name,
    reason,
    isInUse: seen[i] === inUse,
    isReadOnly: state?.isReadOnly === true,
  }));
  // A replica is read-only until it is promoted.
  return nodes.every(({ reason, isReadOnly }) => reason === undefined || isReadOnly)
    ? ok('DATABASE_NODES', (t) => t.nodes(nodes))
    : warning('DATABASE_NODES', (t) => t.nodesMissing(nodes));
}

function checkCluster(size: number, listed: number): CheckFinding {
  if (size < NODES_NEEDED) return warning('GALERA', (t) => t.clusterSmall(size, NODES_NEEDED));
  if (size > listed) return warning('GALERA', (t) => t.clusterUnlisted(size, listed));
  return ok('GALERA', (t) => t.cluster(size));
}

function checkFlush({ name, state }: Seen): CheckFinding[] {
  const flushes = state?.flushes ?? '1';
  if (flushes === '1') return [];
  return [warning('DATABASE_FLUSH', (t) => t.databaseFlush(name, flushes))];
}
