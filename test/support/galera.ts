import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import type { Connection } from 'mysql2/promise';
import { freePort } from './processes';
import { startMariaDb, type MariaDb } from './servers';

/** Real Galera clusters on this machine, each node with its own ports. */

export interface GaleraNode extends MariaDb {
  /** Starts the node as on a new host: it fetches all data from another node. */
  startEmpty(): Promise<void>;
  /** Starts the node as the first one of a new cluster, after all nodes were down. */
  bootstrap(): Promise<void>;
  /** returns the node's position: `[uuid, seqno]`; only while it is stopped */
  position(): { uuid: string; seqno: number };
}

export interface GaleraOptions {
  count?: number;
  /** true to leave out the time-outs of deploy/cluster/galera.cnf */
  isSlow?: boolean;
  /** a running server, which becomes the first node */
  single?: MariaDb;
}

export async function startGalera({ count = 3, isSlow = false, single }: GaleraOptions = {}): Promise<
  GaleraNode[]
> {
  const places: Place[] = [];
  for (let i = 1; i <= count; i++)
    places.push({ name: `node${i}`, group: await freePort(), ist: await freePort(), sst: await freePort() });
  const nodes: GaleraNode[] = [];
  // Start one node after the other, because each copies its data from a running one.
  for (const [i, place] of places.entries())
    nodes.push(
      await startNode(place, optionsOf(place, places, isSlow), i === 0, i === 0 ? single : undefined),
    );
  return nodes;
}

interface Place {
  name: string;
  group: number;
  ist: number;
  sst: number;
}

/** Returns the settings of deploy/cluster/galera.cnf for a node on this machine: the last one of a name counts. */
function optionsOf({ name, group, ist, sst }: Place, all: Place[], isSlow: boolean): string[] {
  const file = readFileSync(join(__dirname, '../../deploy/cluster/galera.cnf'), 'utf8');
  const shipped = [...file.matchAll(/^(\w+) = "?(.*?)"?$/gm)].map(
    ([, option, value]) => `--${option}=${value}`,
  );
  const [, quick = ''] = /"(evs.*?;)gcache/.exec(file) ?? [];
  return [
    ...shipped,
    '--bind-address=127.0.0.1',
    `--wsrep-cluster-address=gcomm://${all.map((one) => `127.0.0.1:${one.group}`).join(',')}`,
    `--wsrep-node-name=${name}`,
    '--wsrep-node-address=127.0.0.1',
    `--wsrep-sst-receive-address=127.0.0.1:${sst}`,
    `--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:${group};ist.recv_addr=127.0.0.1:${ist};${isSlow ? '' : quick}gcache.size=32M`,
  ];
}

/** The user of a node: under root, rsync's daemon would become another user, who may not write there. */
export const NODE_USER = userInfo().uid === 0 ? 'mysql' : undefined;

async function startNode(
  { name }: Place,
  options: string[],
  isFirst: boolean,
  single: MariaDb | undefined,
): Promise<GaleraNode> {
  const first = isFirst ? ['--wsrep-new-cluster'] : [];
  const node = single ?? (await startMariaDb(options, { first, ready: requireSynced, user: NODE_USER }));
  const own = single === undefined ? [] : options;
  const startServer = node.start.bind(node);
  const start = (more: string[] = []) => startServer([...own, ...more]);
  if (single !== undefined) {
    await single.stop('SIGTERM');
    await start(first);
  }
  const position = () => {
    const [, uuid, seqno] =
      /Recovered position: ([^:]+):(-?\d+)/.exec(node.runOnce([...own, '--wsrep-recover'])) ?? [];
    if (uuid === undefined) throw new Error(`${name} does not say where it stands.`);
    return { uuid, seqno: Number(seqno) };
  };
  /** Returns the position, like Debian's unit: without it, a killed node would fetch all data. */
  const recovered = () => {
    const { uuid, seqno } = position();
    return `--wsrep-start-position=${uuid}:${seqno}`;
  };
  return Object.assign(node, {
    position,
    startEmpty: () => {
      node.empty();
      return start();
    },
    start: (more: string[] = []) => start([recovered(), ...more]),
    bootstrap: () => start(['--wsrep-new-cluster', recovered()]),
  });
}

async function requireSynced(connection: Connection): Promise<void> {
  const state = await statusOf(connection);
  if (state.wsrep_ready !== 'ON' || state.wsrep_local_state_comment !== 'Synced')
    throw new Error(`The node is ${state.wsrep_local_state_comment}.`);
}

/** Returns the node's wsrep status by name. */
export async function statusOf(connection: Connection): Promise<Record<string, string>> {
  const [rows] = await connection.query("SHOW GLOBAL STATUS LIKE 'wsrep_%'");
  return Object.fromEntries(
    (rows as { Variable_name: string; Value: string }[]).map((row) => [row.Variable_name, row.Value]),
  );
}
