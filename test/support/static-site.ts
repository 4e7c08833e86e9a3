import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface StaticSite {
  url: string;
  /** method, path and query of every request, in order */
  requests: string[];
  stop(): Promise<void>;
}

/** An operator's own web server, on loopback, that answers as the test says. */
export async function startStaticSite(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<StaticSite> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method ?? ''} ${request.url ?? ''}`);
    answer(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
