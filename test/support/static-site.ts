import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Certificate } from './certificates';

export interface StaticSite {
  url: string;
  /** method, path and query of every request, in order */
  requests: string[];
  stop(): Promise<void>;
}

/** Starts an operator's own web server on loopback, with answers from the test. */
export async function startStaticSite(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<StaticSite> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method ?? ''} ${request.url ?? ''}`);
    answer(request, response);
  });
  return { requests, ...(await listen(server, 'http')) };
}

/** Serves the same site over TLS. */
export async function startTlsFront(
  site: string,
  { cert, key }: Certificate,
): Promise<Omit<StaticSite, 'requests'>> {
  const server = createTlsServer(
    { cert: readFileSync(cert), key: readFileSync(key) },
    (incoming, response) => {
      const { url = '', method, headers } = incoming;
      const onward = request(site + url, { method, headers }, (answer) => {
        response.writeHead(answer.statusCode!, answer.headers);
        answer.pipe(response);
      });
      incoming.pipe(onward);
    },
  );
  return listen(server, 'https');
}

async function listen(server: Server, scheme: string): Promise<Omit<StaticSite, 'requests'>> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
