import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Context } from './context';

interface MetricSources {
  version: string;
  pool: () => { used: number; free: number; waiting: number };
  /** undefined if there is only one database server */
  nodes:
    | (() => {
        nodes: { name: string; inUse: boolean; ready: boolean; clusterSize: number | undefined }[];
        switches: number;
      })
    | undefined;
  /** the number of transactions that were rolled back because another node of the cluster had changed the same rows */
  conflicts: () => number;
  /** undefined if Redis is not configured */
  redisIsAway: (() => boolean) | undefined;
  accessLogDropped: () => number;
  /** the bytes of each table on the disk */
  tableSizes: () => Promise<{ name: string; bytes: number }[]>;
  /** the catch-up of every shop whose messages are received */
  catchUps: () => Promise<
    { name: string; state: string; caughtUpAt: Date | null; catchUpFailure: string | null }[]
  >;
  /** undefined if this installation cannot have webhooks */
  webhooks:
    | {
        counts: () => { delivered: number; failed: number };
        backlog: () => Promise<{ lag: number; stopped: number }>;
      }
    | undefined;
}

interface Metrics {
  registry: Registry;
  observe: (ctx: Context, seconds: number) => void;
}

/** Bounds of answer times in seconds. An answer takes about 1 ms; a slow one waited for a lock or for the database. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** Creates the Prometheus metrics of one instance. */
export function createMetrics(sources: MetricSources): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const duration = new Histogram({
    name: 'licensing_request_duration_seconds',
    help: 'Time from the request to its answer',
    labelNames: ['endpoint'] as const,
    buckets: BUCKETS,
    registers,
  });
  /** The answers since the start, which are copied into the library's counters only when it collects. */
  const answers = new Map<string, { endpoint: string; status: number; code: string; count: number }>();
  new Counter({
    name: 'licensing_requests_total',
    help: 'Requests answered, by endpoint and HTTP status',
    labelNames: ['endpoint', 'status'] as const,
    registers,
    collect() {
      this.reset();
      for (const { endpoint, status, count } of answers.values()) this.inc({ endpoint, status }, count);
    },
  });
  new Counter({
    name: 'licensing_verdicts_total',
    help: 'Outcomes by endpoint: ok, or the code of the refusal or fault',
    labelNames: ['endpoint', 'code'] as const,
    registers,
    collect() {
      this.reset();
      for (const { endpoint, code, count } of answers.values()) this.inc({ endpoint, code }, count);
    },
  });
  new Counter({
    name: 'licensing_rate_limited_total',
    help: 'Requests refused because their client was over its limit',
    labelNames: ['endpoint'] as const,
    registers,
    collect() {
      this.reset();
      for (const { endpoint, code, count } of answers.values())
        if (code === 'RATE_LIMITED') this.inc({ endpoint }, count);
    },
  });
  new Gauge({
    name: 'licensing_database_connections',
    help: 'Connections of the pool in use and free, and requests waiting for one',
    labelNames: ['state'] as const,
    registers,
    collect() {
      for (const [state, count] of Object.entries(sources.pool())) this.set({ state }, count);
    },
  });
  if (sources.nodes) addNodeMetrics(sources.nodes, registry);
  new Counter({
    name: 'licensing_database_conflicts_total',
    help: 'Transactions that a Galera node rolled back because another had changed the same rows; tried again',
    registers,
    collect() {
      this.reset();
      this.inc(sources.conflicts());
    },
  });
  const { redisIsAway } = sources;
  if (redisIsAway)
    new Gauge({
      name: 'licensing_redis_up',
      help: '1 while limits are counted in Redis, 0 while this instance counts in memory',
      registers,
      collect() {
        this.set(redisIsAway() ? 0 : 1);
      },
    });
  new Gauge({
    name: 'licensing_access_log_dropped',
    help: 'Entries of the access log lost since the start',
    registers,
    collect() {
      this.set(sources.accessLogDropped());
    },
  });
  const sizes = asBefore([], sources.tableSizes);
  new Gauge({
    name: 'licensing_table_bytes',
    help: 'The size of each table on disk with its indexes, as read at the previous scrape',
    labelNames: ['table'] as const,
    aggregator: 'max',
    registers,
    collect() {
      for (const { name, bytes } of sizes()) this.set({ table: name }, bytes);
    },
  });
  addCatchUpMetrics(sources.catchUps, registry);
  const { webhooks } = sources;
  if (webhooks) addWebhookMetrics(webhooks, registry);
  new Gauge({
    name: 'licensing_build_info',
    help: 'The running version, always 1',
    labelNames: ['version', 'node'] as const,
    registers,
  }).set({ version: sources.version, node: process.version }, 1);

  return {
    registry,
    observe({ state, status }, seconds) {
      const { endpoint = 'none', code = 'ok' } = state;
      duration.observe({ endpoint }, seconds);
      const key = `${endpoint} ${status} ${code}`;
      const known = answers.get(key);
      if (known) known.count++;
      else answers.set(key, { endpoint, status, code, count: 1 });
    },
  };
}

function addNodeMetrics(standing: NonNullable<MetricSources['nodes']>, registry: Registry): void {
  const registers = [registry];
  for (const [name, help, value] of [
    ['licensing_database_node_used', '1 for the database server in use, 0 for the others', 'inUse'],
    ['licensing_database_node_ready', '1 for a database server that can be written to', 'ready'],
  ] as const)
    new Gauge({
      name,
      help,
      labelNames: ['node'] as const,
      registers,
      collect() {
        for (const node of standing().nodes) this.set({ node: node.name }, node[value] ? 1 : 0);
      },
    });
  new Gauge({
    name: 'licensing_database_cluster_size',
    help: 'Nodes of the Galera cluster that a database server is connected with, itself included',
    labelNames: ['node'] as const,
    registers,
    collect() {
      // Remove the size of a server that does not answer.
      this.reset();
      for (const { name, clusterSize } of standing().nodes)
        if (clusterSize !== undefined) this.set({ node: name }, clusterSize);
    },
  });
  new Counter({
    name: 'licensing_database_switches_total',
    help: 'Switches to another database server',
    registers,
    collect() {
      this.reset();
      this.inc(standing().switches);
    },
  });
}

function addCatchUpMetrics(catchUps: MetricSources['catchUps'], registry: Registry): void {
  const registers = [registry];
  const shops = asBefore([], catchUps);
  for (const [name, help, valueOf] of [
    [
      'licensing_shop_caught_up_timestamp_seconds',
      'Time when a shop was last caught up, 0 for never, as read at the previous scrape',
      ({ caughtUpAt }) => (caughtUpAt?.getTime() ?? 0) / 1000,
    ],
    [
      'licensing_shop_catch_up_failed',
      '1 while the last run to catch a shop up failed, as read at the previous scrape',
      ({ catchUpFailure }) => (catchUpFailure === null ? 0 : 1),
    ],
    [
      'licensing_shop_catch_up_possible',
      '0 for a shop that cannot be caught up, for example without an API key, as read at the previous scrape',
      ({ state }) => (state === 'ready' ? 1 : 0),
    ],
  ] as [string, string, (shop: ReturnType<typeof shops>[number]) => number][])
    new Gauge({
      name,
      help,
      labelNames: ['shop'] as const,
      aggregator: 'max',
      registers,
      collect() {
        this.reset();
        for (const shop of shops()) this.set({ shop: shop.name }, valueOf(shop));
      },
    });
}

function addWebhookMetrics(
  { counts, backlog }: NonNullable<MetricSources['webhooks']>,
  registry: Registry,
): void {
  const registers = [registry];
  new Counter({
    name: 'licensing_webhook_attempts_total',
    help: 'Attempts of this instance to deliver webhooks',
    labelNames: ['outcome'] as const,
    registers,
    collect() {
      this.reset();
      for (const [outcome, count] of Object.entries(counts())) this.inc({ outcome }, count);
    },
  });
  const waiting = asBefore({ lag: 0, stopped: 0 }, backlog);
  new Gauge({
    name: 'licensing_webhook_lag_seconds',
    help: 'How long the oldest delivery that is due has been due, as read at the previous scrape',
    aggregator: 'max',
    registers,
    collect() {
      this.set(waiting().lag);
    },
  });
  new Gauge({
    name: 'licensing_webhooks_stopped',
    help: 'Webhooks that were disabled because their receivers failed, as read at the previous scrape',
    aggregator: 'max',
    registers,
    collect() {
      this.set(waiting().stopped);
    },
  });
}

/**
 * Returns a function that gives the values read at the previous scrape, and starts the next read without awaiting it: a
 * database that does not answer must not block the metrics.
 */
function asBefore<T>(known: T, read: () => Promise<T>): () => T {
  let reading: Promise<void> | undefined;
  return () => {
    reading ??= read()
      .then((now) => void (known = now))
      .catch(() => undefined)
      .finally(() => (reading = undefined));
    return known;
  };
}
