import { quantity } from '../licensing/quantity';
import { locationsOf, openProbe, type MysqlSettings } from '../store/mysql';
import { serverName, readNode, type NodeState } from '../store/nodes';
import { ok, reasonOf, warning, type Check, type Finding } from './finding';

/** With fewer, the rest of a cluster has no majority when one dies. */
const NODES_NEEDED = 3;

interface Seen {
  name: string;
  /** undefined: it did not answer, for the `reason` */
  state: NodeState | undefined;
  reason: string | undefined;
}

/** Checks every database server in the settings: which is used, whether the others could be, and what they lose in a crash. */
export const checkNodes: Check = async ({ config: { database } }) => {
  if (database.kind === 'sqlite') return [];
  const seen = await Promise.all(locationsOf(database).map((location) => look(database, location)));
  const inUse = seen.find(({ reason }) => reason === undefined);
  return [
    ...(seen.length > 1 ? [checkOthers(seen, inUse)] : []),
    ...(inUse?.state?.clusterSize === undefined ? [] : [checkCluster(inUse.state.clusterSize, seen.length)]),
    ...seen.flatMap(checkFlush),
  ];
};

async function look(settings: MysqlSettings, location: Parameters<typeof openProbe>[1]): Promise<Seen> {
  const name = serverName(location);
  try {
    const connection = await openProbe(settings, location);
    try {
      const state = await readNode(connection);
      return { name, state, reason: state.obstacle };
    } finally {
      connection.socket.destroy();
    }
  } catch (error) {
    return { name, state: undefined, reason: `cannot be used (${reasonOf(error)})` };
  }
}

function checkOthers(seen: Seen[], inUse: Seen | undefined): Finding {
  const states = seen.map(
    (one) => `${one.name} ${one === inUse ? 'is in use' : (one.reason ?? 'can be written to')}`,
  );
  const what = `Of ${quantity(seen.length, 'database server')}, ${states.join(', ')}.`;
  const german = seen.map(
    (one) =>
      `${one.name} ${one === inUse ? 'wird benutzt' : one.reason === undefined ? 'ist bereit' : one.state?.isReadOnly ? 'ist nur lesbar' : 'ist nicht benutzbar'}`,
  );
  const whatInGerman = `Von ${quantity(seen.length, 'Datenbankserver', 'Datenbankservern')}: ${german.join(', ')}.`;
  // A replica is read-only until it is promoted.
  if (seen.every(({ state, reason }) => reason === undefined || state?.isReadOnly))
    return ok('DATABASE_NODES', what, whatInGerman);
  return warning(
    'DATABASE_NODES',
    what,
    {
      why: 'If the one in use fails, fewer are left to go on with, or none.',
      remedy:
        'Start those that cannot be used, and look into their logs; docs/cluster.md says how a node comes back.',
    },
    {
      what: whatInGerman,
      said: seen
        .filter(({ reason, state }) => reason !== undefined && !state?.isReadOnly)
        .map(({ name, reason }) => `${name} ${reason ?? ''}`)
        .join(', '),
      why: 'Fällt der benutzte Server aus, bleiben weniger übrig oder keiner.',
      remedy:
        'Starten Sie die Server, die nicht benutzbar sind, und sehen Sie in ihre Protokolle; docs/cluster.md sagt, wie ein Knoten zurückkommt.',
    },
  );
}

function checkCluster(size: number, listed: number): Finding {
  const what = `The database is a Galera cluster of ${quantity(size, 'node')}.`;
  const german = `Die Datenbank ist ein Galera-Cluster aus ${quantity(size, 'Knoten', 'Knoten')}.`;
  if (size < NODES_NEEDED)
    return warning(
      'GALERA',
      what,
      {
        why: 'When one of them dies, the rest has no majority, and every request is answered 503.',
        remedy: `Start the missing nodes, or add some: a cluster needs ${NODES_NEEDED} (docs/cluster.md).`,
      },
      {
        what: german,
        why: 'Fällt einer aus, hat der Rest keine Mehrheit, und jede Anfrage wird mit 503 beantwortet.',
        remedy: `Starten Sie die fehlenden Knoten, oder fügen Sie welche hinzu: Ein Cluster braucht ${NODES_NEEDED} (docs/cluster.md).`,
      },
    );
  if (size > listed)
    return warning(
      'GALERA',
      `${what} LICENSING_DATABASE_URL names ${listed} of them.`,
      {
        why: 'The service cannot go on with a node that it does not know.',
        remedy:
          'List all nodes, in the same order for every instance: mysql://user:password@host1,host2,host3/database',
      },
      {
        what: `${german} LICENSING_DATABASE_URL nennt davon ${listed}.`,
        why: 'Der Dienst kann nicht mit einem Knoten weiterarbeiten, den er nicht kennt.',
        remedy:
          'Nennen Sie alle Knoten, für jede Instanz in derselben Reihenfolge: mysql://user:password@host1,host2,host3/database',
      },
    );
  return ok('GALERA', what, german);
}

function checkFlush({ name, state }: Seen): Finding[] {
  if (state === undefined || state.flushes === '1') return [];
  return [
    warning(
      'DATABASE_FLUSH',
      `${name} does not write every commit to its disk (innodb_flush_log_at_trx_commit = ${state.flushes}).`,
      {
        why: 'Licences and activations that were acknowledged are lost when its machine fails.',
        remedy: `As the database's administrator: SET GLOBAL innodb_flush_log_at_trx_commit = 1; and the same in its configuration.`,
      },
      {
        what: `${name} schreibt nicht jede Transaktion auf die Festplatte (innodb_flush_log_at_trx_commit = ${state.flushes}).`,
        why: 'Schon bestätigte Lizenzen und Aktivierungen gehen verloren, wenn sein Rechner ausfällt.',
        remedy:
          'Als Administrator der Datenbank: SET GLOBAL innodb_flush_log_at_trx_commit = 1; und dasselbe in seiner Konfiguration.',
      },
    ),
  ];
}
