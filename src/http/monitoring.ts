import type { RequestListener } from 'node:http';

export interface Readiness {
  ready: boolean;
  /** the state of each part: `ok`, or a description of the problem */
  checks: Record<string, string>;
}

interface MonitoringSources {
  readiness: () => Promise<Readiness>;
  /** returns the metrics in Prometheus' text format */
  metrics: () => Promise<string>;
}

const PROMETHEUS_TEXT = 'text/plain; version=0.0.4; charset=utf-8';

/** Answers health checks on a separate address: `/healthz` (liveness), `/readyz` (readiness), and `/metrics`. */
export function createMonitoringListener({ readiness, metrics }: MonitoringSources): RequestListener {
  return (request, response) => {
    const answer = (status: number, type: string, body: string) => {
      response.writeHead(status, { 'Content-Type': type, 'Cache-Control': 'no-store' });
      response.end(request.method === 'HEAD' ? undefined : body);
    };
    const json = (status: number, value: object) => answer(status, 'application/json', JSON.stringify(value));
    const route = async (): Promise<void> => {
      if (request.method !== 'GET' && request.method !== 'HEAD') return json(405, { error: 'GET only' });
      switch (request.url?.split('?')[0]) {
        case '/healthz':
          return json(200, { status: 'ok' });
        case '/readyz': {
          const state = await readiness();
          return json(state.ready ? 200 : 503, state);
        }
        case '/metrics':
          return answer(200, PROMETHEUS_TEXT, await metrics());
        default:
          return json(404, { error: 'Here are /healthz, /readyz and /metrics.' });
      }
    };
    route().catch(() => json(500, { error: 'The state could not be checked.' }));
  };
}
