import Router from '@koa/router';
import Koa from 'koa';
import { HttpMethodEnum, koaBody } from 'koa-body';
import type { Logger } from 'pino';
import type { Licensing } from '../licensing/licensing';
import { sendFailure } from './answers';
import type { createClientAddressReader } from './client-address';
import type { Context, Endpoint, Middleware, State } from './context';
import { answerDownloadsAsText, downloadHandler, type DownloadSettings } from './downloads';
import { answerFaults, bodyError, inTime, logSendFault } from './faults';
import { activateHandler, deactivateHandler, validateHandler } from './licenses';
import { PREFIX } from './prefix';
import { limitRate, type Bucket, type Limiter } from './rate-limit';
import { assignRequestId } from './request-id';
import { updatesHandler } from './updates';

export interface AppDependencies {
  licensing: Licensing;
  limiter: Limiter;
  clientAddress: ReturnType<typeof createClientAddressReader>;
  downloads: DownloadSettings;
  log: Logger;
  /** sees every request after it was answered; for metrics */
  onAnswered?: (ctx: Context, seconds: number) => void;
}

/** The whole API: what happens to every request, in order, and every route. */
export function createApp({
  licensing,
  limiter,
  clientAddress,
  downloads,
  log,
  onAnswered = () => undefined,
}: AppDependencies): Koa {
  const app = new Koa<State>();
  app.on('error', logSendFault(log));
  const router = new Router<State>({ prefix: PREFIX, sensitive: true });
  const body = koaBody({
    json: true,
    urlencoded: true,
    text: false,
    multipart: false,
    jsonLimit: '64kb',
    formLimit: '64kb',
    queryString: { duplicates: 'last' },
    parsedMethods: [HttpMethodEnum.POST],
    onError: bodyError,
  }) as Middleware;

  app.use(async (ctx, next) => {
    const started = performance.now();
    ctx.state.answerAs = 'json';
    ctx.state.answered = false;
    ctx.state.client = clientAddress.read(ctx.req);
    assignRequestId(ctx, clientAddress.isTrusted(ctx.req));
    await next();
    onAnswered(ctx, (performance.now() - started) / 1000);
  });
  app.use(answerFaults(log));
  app.use(router.routes() as unknown as Koa.Middleware<State>);
  app.use((ctx) => sendFailure(ctx, 'NOT_FOUND'));

  const limit = (bucket: Bucket) => limitRate(limiter, bucket, (ctx) => recordRateLimited(ctx, licensing));
  const api = limit('api');

  // Every request to an endpoint counts against its limit, those with a wrong method or body too.
  router.all(
    '/licenses/activate',
    named('activate'),
    api,
    only('POST'),
    body,
    inTime(activateHandler(licensing)),
  );
  router.all(
    '/licenses/deactivate',
    named('deactivate'),
    api,
    only('POST'),
    body,
    inTime(deactivateHandler(licensing)),
  );
  router.all(
    '/licenses/validate',
    named('validate'),
    api,
    only('POST'),
    body,
    inTime(validateHandler(licensing)),
  );
  router.all(
    '/updates{/:product_id}',
    named('updates'),
    api,
    only('GET', 'HEAD'),
    inTime(updatesHandler(licensing, PREFIX)),
  );
  router.all(
    '/downloads{/:product_id}',
    named('download'),
    answerDownloadsAsText,
    limit('download'),
    only('GET', 'HEAD'),
    inTime(downloadHandler(licensing, downloads)),
  );
  return app;
}

function named(endpoint: Endpoint): Middleware {
  return (ctx, next) => {
    ctx.state.endpoint = endpoint;
    return next();
  };
}

function only(...methods: string[]): Middleware {
  return (ctx, next) => {
    if (methods.includes(ctx.method)) return next();
    ctx.set('Allow', methods.join(', '));
    sendFailure(ctx, 'METHOD_NOT_ALLOWED');
    return undefined;
  };
}

function recordRateLimited(ctx: Context, { accessLog, now }: Licensing): void {
  accessLog.record({
    at: now(),
    endpoint: ctx.state.endpoint as Endpoint,
    outcome: 'RATE_LIMITED',
    ip: ctx.state.client.ip,
    userAgent: ctx.get('User-Agent'),
  });
}
