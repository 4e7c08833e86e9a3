import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import Router from '@koa/router';
import Koa from 'koa';
import { API_PATH } from '../../../src/licensing/api';
import type { RequestState } from '../../../src/http/context';
import { mountAssets, type Assets } from '../../../src/http/pages/assets';

/** Small pages with the service's style, script and policy, to test only the scripts. */

export interface Request {
  method: string;
  path: string;
  body: string;
}

/** The contents of `<main>`, a redirect, or contents with a status. */
type Answer = string | { location: string } | { status: number; text: string };

export interface Fixture {
  /** The address of the site. */
  url: string;
  /** The address below which the pages are. */
  pages: string;
  address: Assets['asset'];
  requests: Request[];
  /** Sets the answer of the page at this path below `pages`. */
  answer: (path: string, answer: (request: Request) => Answer | Promise<Answer>) => void;
  stop: () => Promise<void>;
}

export const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

export async function startFixture(): Promise<Fixture> {
  const app = new Koa<RequestState>();
  // For Koa, a stopped upload is an error.
  app.silent = true;
  const router = new Router<RequestState>({ prefix: API_PATH, sensitive: true });
  const { asset: address } = mountAssets(router, join(__dirname, '../../../dist/pages'));
  const answers = new Map<string, (request: Request) => Answer | Promise<Answer>>();
  const requests: Request[] = [];
  const page = (main: string) => `<!doctype html>
<html lang="en" data-theme="auto">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Page</title>
<link rel="icon" href="data:,"><link rel="stylesheet" href="${API_PATH}/pages/${address('licensing.css')}">
<script src="${API_PATH}/pages/${address('licensing.js')}" defer></script></head>
<body><main id="main" tabindex="-1"><div class="wrap"><h1>Page</h1>${main}</div></main></body></html>`;

  app.use(router.routes() as unknown as Koa.Middleware<RequestState>);
  app.use(async (ctx) => {
    const answer = answers.get(ctx.path.slice(`${API_PATH}/pages/`.length));
    if (!answer) return;
    const request = {
      method: ctx.method,
      path: ctx.url.slice(API_PATH.length + 6),
      body: await read(ctx.req),
    };
    requests.push(request);
    const answered = await answer(request);
    ctx.set({ 'Content-Security-Policy': POLICY, 'Cache-Control': 'no-cache' });
    if (typeof answered === 'object' && 'location' in answered) {
      ctx.status = 303;
      ctx.set('Location', answered.location);
      return;
    }
    ctx.status = typeof answered === 'string' ? 200 : answered.status;
    ctx.type = 'text/html; charset=utf-8';
    ctx.body = page(typeof answered === 'string' ? answered : answered.text);
  });

  const server = createServer(app.callback() as never);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    pages: `${url}${API_PATH}/pages`,
    address,
    requests,
    answer: (path, answer) => answers.set(path, answer),
    stop: () => close(server),
  };
}

async function read(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString('latin1');
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}
