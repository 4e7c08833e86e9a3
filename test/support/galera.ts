import { userInfo } from 'node:os';
import type { Connection } from 'mysql2/promise';
import { freePort } from './processes';
import { startMariaDb, type MariaDb } from './servers';

/** Real Galera clusters on this machine, each node on ports of its own. */

const PROVIDER = '/usr/lib/galera/libgalera_smm.so';

export interface GaleraNode extends MariaDb {
  /** Starts it as on a new host: it fetches all data from another node. */
  startEmpty(): Promise<void>;
  /** Starts it as the first of a new cluster: after all have been down. */
  bootstrap(): Promise<void>;
  /** where it stands: `[uuid, seqno]`; only while it is stopped */
  position(): { uuid: string; seqno: number };
}

/** @param provider options for wsrep_provider_options, such as `evs.suspect_timeout=PT2S` */
export async function startGalera(count = 3, provider = ''): Promise<GaleraNode[]> {
  const places: Place[] = [];
  for (let i = 1; i <= count; i++)
    places.push({ name: `node${i}`, group: await freePort(), ist: await freePort(), sst: await freePort() });
  const nodes: GaleraNode[] = [];
  // One after the other: each gets its data from one that has it.
  for (const place of places) nodes.push(await startNode(place, places, provider, nodes.length === 0));
  return nodes;
}

interface Place {
  name: string;
  group: number;
  ist: number;
  sst: number;
}

async function startNode(
  { name, group, ist, sst }: Place,
  all: Place[],
  provider: string,
  isFirst: boolean,
): Promise<GaleraNode> {
  const first = isFirst ? ['--wsrep-new-cluster'] : [];
  const node: MariaDb = await startMariaDb(
    [
      '--wsrep-on=ON',
      `--wsrep-provider=${PROVIDER}`,
      `--wsrep-cluster-address=gcomm://${all.map((one) => `127.0.0.1:${one.group}`).join(',')}`,
      `--wsrep-node-name=${name}`,
      '--wsrep-node-address=127.0.0.1',
      '--wsrep-sst-method=rsync',
      `--wsrep-sst-receive-address=127.0.0.1:${sst}`,
      `--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:${group};ist.recv_addr=127.0.0.1:${ist};${provider};gcache.size=32M`,
      '--binlog-format=ROW',
      '--innodb-autoinc-lock-mode=2',
    ],
    // Under root, rsync's daemon would become another user, who may not write there.
    { first, ready: requireSynced, user: userInfo().uid === 0 ? 'mysql' : undefined },
  );
  const start = node.start.bind(node);
  const position = () => {
    const [, uuid, seqno] =
      /Recovered position: ([^:]+):(-?\d+)/.exec(node.runOnce(['--wsrep-recover'])) ?? [];
    if (uuid === undefined) throw new Error(`${name} does not say where it stands.`);
    return { uuid, seqno: Number(seqno) };
  };
  /** As Debian's unit does: without its position, a killed node would fetch all data. */
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

/** The node's wsrep status, by name. */
export async function statusOf(connection: Connection): Promise<Record<string, string>> {
  const [rows] = await connection.query("SHOW GLOBAL STATUS LIKE 'wsrep_%'");
  return Object.fromEntries(
    (rows as { Variable_name: string; Value: string }[]).map((row) => [row.Variable_name, row.Value]),
  );
}
