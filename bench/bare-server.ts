import Router, { type RouterMiddleware } from '@koa/router';
import Koa from 'koa';
import { koaBody } from 'koa-body';
import type { AddressInfo } from 'node:net';
import { API_PATH } from '../src/licensing/api';
import { BODY_OPTIONS } from '../src/http/body-options';

/**
 * The baseline of all measurements: Koa, the router and koa-body with the service's options, the same paths and bodies,
 * and constant answers of the same shape.
 */

const VALIDATION = {
  valid: true,
  status: 'active',
  license_key: 'BE9C0000-00000000-00000000-00000001',
  product: 'Example Shop',
  plan: 'Developer',
  activation_type: 'domain',
  activation_limit: 1_000_000,
  activations_used: 3,
  expires_at: '2099-01-01T00:00:00Z',
  identifier_activated: true,
};

const UPDATE = {
  update_available: true,
  name: 'Example Shop',
  version: '2.1.0',
  download_url: '/api/index.php/v1/licensing/downloads/42',
  changelog: '- Faster\n- Safer',
  date: '2026-01-01T00:00:00Z',
  file_size: 2_000,
};

const router = new Router({ prefix: API_PATH, sensitive: true });
const body = koaBody(BODY_OPTIONS) as unknown;
router.post('/licenses/validate', body as RouterMiddleware, (ctx) => {
  ctx.body = { data: VALIDATION };
});
router.get('/updates{/:product_id}', (ctx) => {
  ctx.body = { data: UPDATE };
});

const app = new Koa();
app.use(router.routes() as unknown as Koa.Middleware);
const server = app.listen(0, '127.0.0.1', () =>
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
);
