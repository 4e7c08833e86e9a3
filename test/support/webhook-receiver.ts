import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import type { Certificate } from './certificates';

/** A receiver of webhooks on loopback, which accepts what the public library verifies, and misbehaves if asked. */

export interface Received {
  id: string;
  headers: Record<string, string>;
  type: string;
  timestamp: string;
  data: ReceivedData;
  /** the received body */
  text: string;
  /** the time by performance.now() */
  at: number;
}

export interface ReceivedData {
  license?: { id: number; revision: number; status: string; customer: string | null } & Record<
    string,
    unknown
  >;
  activation?: { identifier: string; name: string | null };
  release?: { id: number; product_id: number; version: string };
  customer?: { id: string };
  renews?: boolean;
  actor?: string;
  reason?: string;
}

export interface WebhookReceiver {
  url: string;
  port: number;
  received: Received[];
  /** answers a request; undefined answers 204 */
  answer: ((response: ServerResponse, received: Received) => void) | undefined;
  /** the secret for verification by npm's `standardwebhooks`; undefined verifies nothing */
  secret: string | undefined;
  /** the number of requests with a wrong signature */
  forged: number;
  stop(): Promise<void>;
}

export async function startReceiver(certificate?: Certificate): Promise<WebhookReceiver> {
  const handle = (request: IncomingMessage, response: ServerResponse) => void take(request, response);
  const server = certificate
    ? createTlsServer({ cert: readFileSync(certificate.cert), key: readFileSync(certificate.key) }, handle)
    : createServer(handle);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const receiver: WebhookReceiver = {
    url: certificate ? `https://localhost:${port}/hook` : `http://127.0.0.1:${port}/hook`,
    ...{ port, received: [], answer: undefined, secret: undefined, forged: 0 },
    async stop() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const part of request.setEncoding('utf8')) text += part as string;
    const headers = request.headers as Record<string, string>;
    if (receiver.secret !== undefined)
      try {
        new Webhook(receiver.secret).verify(text, headers);
      } catch (error) {
        // Ignore this error, because tests move the clock.
        if (!/timestamp/i.test((error as Error).message)) receiver.forged++;
      }
    const body = JSON.parse(text) as Pick<Received, 'type' | 'timestamp' | 'data'>;
    const received = { ...body, id: headers['webhook-id'] as string, headers, text, at: performance.now() };
    receiver.received.push(received);
    if (receiver.answer) receiver.answer(response, received);
    else response.writeHead(204).end();
  }
  return receiver;
}
