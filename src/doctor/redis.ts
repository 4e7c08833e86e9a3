import { randomBytes } from 'node:crypto';
import { Cluster, type Redis } from 'ioredis';
import { answeredInTime, openRedis } from '../http/redis';
import { findInstances } from '../process/instances';
import { ok, problem, reasonOf, warning, type Check, type Finding } from './finding';

const PATIENCE_MS = 3_000;
/** ioredis's cluster client tries several nodes and may never give up by itself. */
const DEADLINE_MS = 3 * PATIENCE_MS;

/** Checks that Redis can be reached and written to. Leaves at most a few keys that expire after ten seconds. */
export const checkRedis: Check = async ({ config }) => {
  const { redisUrls } = config;
  if (redisUrls.length === 0) return [checkWithoutRedis(findInstances())];
  const client = openRedis(
    redisUrls,
    {
      lazyConnect: true,
      connectTimeout: PATIENCE_MS,
      commandTimeout: PATIENCE_MS,
      retryStrategy: () => null,
      maxRetriesPerRequest: 0,
    },
    { lazyConnect: true, clusterRetryStrategy: () => null },
  );
  let last: unknown;
  client.on('error', (error: unknown) => (last = error));
  const why = 'Meanwhile every process counts requests by itself: limits are as many times too high.';
  const whyInGerman =
    'Solange zählt jeder Prozess die Anfragen für sich: Die Limits sind um so viele Male zu hoch.';
  try {
    try {
      await answeredInTime(client.connect(), DEADLINE_MS);
    } catch (error) {
      const reason = reasonOf(ofNode(last ?? error));
      return [
        /^(NOAUTH|WRONGPASS|NOPERM)/.test(reason)
          ? problem(
              'REDIS_PASSWORD',
              `Redis refuses this user: ${reason}.`,
              {
                why,
                remedy:
                  'Give the right user and password: LICENSING_REDIS_URL=redis://user:password@host:6379',
              },
              {
                what: 'Redis lehnt diesen Benutzer ab.',
                said: reason,
                why: whyInGerman,
                remedy:
                  'Geben Sie den richtigen Benutzer und das Passwort an: LICENSING_REDIS_URL=redis://user:password@host:6379',
              },
            )
          : problem(
              'REDIS_UNREACHABLE',
              `Redis cannot be used: ${reason}.`,
              {
                why,
                remedy: 'Check that it runs, and the host and port in LICENSING_REDIS_URL.',
              },
              {
                what: 'Redis ist nicht benutzbar.',
                said: reason,
                why: whyInGerman,
                remedy: 'Prüfen Sie, ob es läuft, und Host und Port in LICENSING_REDIS_URL.',
              },
            ),
      ];
    }
    const key = `licensing:doctor:${randomBytes(8).toString('hex')}`;
    try {
      await answeredInTime(tryToWrite(client, key), DEADLINE_MS);
    } catch (error) {
      return [
        problem(
          'REDIS_NOT_WRITABLE',
          `Redis answers but takes no writes: ${reasonOf(ofNode(error))}.`,
          {
            why,
            remedy:
              'A replica (READONLY): name the primary in LICENSING_REDIS_URL. Full (OOM): raise maxmemory. No right (NOPERM): allow this user the keys licensing:*.',
          },
          {
            what: 'Redis antwortet, lässt sich aber nicht beschreiben.',
            said: reasonOf(ofNode(error)),
            why: whyInGerman,
            remedy:
              'Ein Replikat (READONLY): Nennen Sie den Hauptserver in LICENSING_REDIS_URL. Voll (OOM): Erhöhen Sie maxmemory. Kein Recht (NOPERM): Erlauben Sie diesem Benutzer die Schlüssel licensing:*.',
          },
        ),
      ];
    }
    return [ok('REDIS', 'Redis answers and takes writes.', 'Redis antwortet und lässt sich beschreiben.')];
  } finally {
    client.disconnect();
  }
};

function checkWithoutRedis(instances: string[]): Finding {
  const count = instances.length;
  return count < 2
    ? ok(
        'REDIS',
        'Redis is not configured: the service counts requests in memory. Several instances would each count for themselves; ' +
          'the doctor sees only those that systemd started on this machine.',
        'Redis ist nicht eingerichtet: Der Dienst zählt die Anfragen im Speicher. Mehrere Instanzen würden jede für sich zählen; ' +
          'der Doktor sieht nur die, die systemd auf diesem Rechner gestartet hat.',
      )
    : warning(
        'REDIS',
        `Redis is not configured, and ${count} instances run on this machine (${instances.map((name) => `licensing@${name}`).join(', ')}).`,
        {
          why: `Each counts requests by itself, so a client may send up to ${count} times LICENSING_RATE_LIMIT. Instances on other hosts would add to that; they cannot be seen from here.`,
          remedy: 'Set LICENSING_REDIS_URL, and restart the instances.',
        },
        {
          what: `Redis ist nicht eingerichtet, und auf diesem Rechner laufen ${count} Instanzen (${instances.map((name) => `licensing@${name}`).join(', ')}).`,
          why: `Jede zählt die Anfragen für sich, also darf ein Client bis zu ${count}-mal LICENSING_RATE_LIMIT senden. Instanzen auf anderen Rechnern kämen dazu; von hier sind sie nicht zu sehen.`,
          remedy: 'Setzen Sie LICENSING_REDIS_URL, und starten Sie die Instanzen neu.',
        },
      );
}

/** Enough keys to reach every node of a cluster. */
const KEYS_IN_CLUSTER = 32;

async function tryToWrite(client: Redis | Cluster, name: string): Promise<void> {
  const count = client instanceof Cluster ? KEYS_IN_CLUSTER : 1;
  await Promise.all(
    Array.from({ length: count }, async (_, i) => {
      const key = `${name}:${i}`;
      await client.set(key, '1', 'EX', 10);
      if ((await client.get(key)) !== '1') throw new Error('what was written cannot be read');
      await client.del(key);
    }),
  );
}

/** The node's own error; the cluster client only reports that every node failed. */
function ofNode(error: unknown): unknown {
  return (error as { lastNodeError?: Error }).lastNodeError ?? error;
}
