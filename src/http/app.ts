import Router from '@koa/router';
import Koa from 'koa';
import { koaBody } from 'koa-body';
import type { Logger } from 'pino';
import type { Licensing } from '../licensing/licensing';
import { sendFailure } from './answers';
import { BODY_OPTIONS } from './body-options';
import type { createAddressReader } from './client-address';
import type { Context, Endpoint, Handler, Middleware, RequestState } from './context';
import { downloadEndpoint, downloadHandler, type DownloadSettings } from './downloads';
import { sendFault, bodyError, createAnswerLog, DEADLINE_MS, withDeadline, logSendFault } from './faults';
import { frontPage } from './front-page';
import { activateHandler, deactivateHandler, logUnparsed, tokenHandler, validateHandler } from './licenses';
import { API_PATH } from '../licensing/api';
import { refusedHost } from './pages-host';
import { limitDownloads } from './limits/limit-downloads';
import { createOperatorRouter, type OperatorRouterDeps } from './operator-router';
import type { LimitResult, Limiter } from './limits/rate-limit';
import { refuseEncoded } from './read-body';
import { assignRequestId } from './request-id';
import { InvalidRequestError } from '../base/errors';
import { readPath, readProductId } from './requests';
import { updatesHandler } from './updates';

interface AppDependencies extends Omit<OperatorRouterDeps, 'isTrusted'> {
  clientAddress: ReturnType<typeof createAddressReader>;
  downloads: DownloadSettings;
  /** the only host name for the operator's API and pages; undefined allows all names */
  pagesHost?: string | undefined;
  timeoutFactor?: number;
  log: Logger;
  /** called after each answer, for metrics */
  onAnswered?: (ctx: Context, seconds: number) => void;
}

/** Creates the Koa application: all routes, and the steps that every request passes through. */
export function createApp({
  licensing,
  limiter,
  clientAddress,
  downloads,
  pagesHost,
  timeoutFactor = 1,
  log,
  onAnswered = () => undefined,
  ...others
}: AppDependencies): Koa {
  const app = new Koa<RequestState>();
  app.on('error', logSendFault(log));
  const deadlineMs = DEADLINE_MS * timeoutFactor;
  const logAnswer = createAnswerLog(log);
  const router = new Router<RequestState>({ prefix: API_PATH, sensitive: true });
  let parseBody: Middleware | undefined;
  const readBody: Middleware = async (ctx, next) => {
    refuseEncoded(ctx);
    parseBody ??= koaBody({ ...BODY_OPTIONS, onError: bodyError }) as Middleware;
    await parseBody(ctx, next);
  };

  app.use(async (ctx, next) => {
    const started = performance.now();
    ctx.state = {
      requestId: assignRequestId(ctx, clientAddress.isTrusted(ctx.req)),
      client: clientAddress.read(ctx.req),
      deadlineMs,
      endpoint: undefined,
      code: undefined,
      answered: false,
      fault: undefined,
    };
    try {
      if (readPath(ctx) === undefined) throw new InvalidRequestError('The address cannot be read.');
      await next();
    } catch (error) {
      sendFault(ctx, error);
      if (error instanceof InvalidRequestError) logUnparsed(ctx, licensing);
    }
    ctx.state.answered = true;
    logAnswer(ctx);
    onAnswered(ctx, (performance.now() - started) / 1000);
  });
  if (pagesHost !== undefined)
    app.use((ctx, next) => {
      if (!refusedHost(ctx, { pagesHost, isTrusted: clientAddress.isTrusted })) return next();
      sendFailure(ctx, 'NOT_FOUND');
      return undefined;
    });
  app.use(router.routes() as unknown as Koa.Middleware<RequestState>);
  // Create these routes at the first request for them. Answering only customers' software needs half of the program.
  let operatorRoutes: ((ctx: Context, next: Koa.Next) => Promise<void>) | undefined;
  app.use((ctx, next) => {
    if (!ctx.path.startsWith(`${API_PATH}/`)) return next();
    const { isTrusted } = clientAddress;
    operatorRoutes ??= createOperatorRouter({
      licensing,
      limiter,
      isTrusted,
      ...others,
    }).routes() as NonNullable<typeof operatorRoutes>;
    return operatorRoutes(ctx, next);
  });
  app.use((ctx) => sendFailure(ctx, 'NOT_FOUND'));

  const endpoint = createEndpoints(limiter, licensing);
  const post = { methods: ['POST'], readBody };
  const get = { methods: ['GET', 'HEAD'] };
  router.all('/licenses/activate', endpoint('activate', post, activateHandler(licensing)));
  router.all('/licenses/deactivate', endpoint('deactivate', post, deactivateHandler(licensing)));
  router.all('/licenses/validate', endpoint('validate', post, validateHandler(licensing)));
  const canSign = () => licensing.signer.canSign();
  router.all('/licenses/token', endpoint('token', { ...post, exists: canSign }, tokenHandler(licensing)));
  router.all('/updates{/:product_id}', endpoint('updates', get, updatesHandler(licensing)));
  router.all(
    '/downloads{/:product_id}',
    endpoint(
      downloadEndpoint,
      { ...get, limited: limitDownloads(limiter, (ctx, over) => refuseOverLimit(ctx, over, licensing)) },
      downloadHandler(licensing, downloads),
    ),
  );
  router.get('/', frontPage);
  return app;
}

interface Rules {
  methods: string[];
  readBody?: Middleware;
  /** reports whether the address exists at present; if it resolves to false, the answer is 404 */
  exists?: () => Promise<boolean>;
  /** counts the request and runs `work` within the limit; by default the bucket of the API applies */
  limited?: (ctx: Context, work: () => Promise<void>) => Promise<void>;
}

/** Returns a function that builds endpoints from few functions: a middleware layer costs as much as most steps. */
function createEndpoints(limiter: Limiter, licensing: Licensing) {
  return (
    name: Endpoint | ((ctx: Context) => Endpoint),
    { methods, readBody, exists, limited }: Rules,
    handler: Handler,
  ): Middleware => {
    const work = async (ctx: Context): Promise<void> => {
      if (!methods.includes(ctx.method)) {
        ctx.set('Allow', methods.join(', '));
        sendFailure(ctx, 'METHOD_NOT_ALLOWED');
        return;
      }
      if (exists && !(await withDeadline(ctx, exists()))) {
        sendFailure(ctx, 'NOT_FOUND');
        return;
      }
      if (readBody) await readBody(ctx, done);
      await withDeadline(ctx, handler(ctx));
    };
    return async (ctx) => {
      ctx.state.endpoint = typeof name === 'string' ? name : name(ctx);
      if (limited) return limited(ctx, () => work(ctx));
      const allowance = await limiter('api', ctx.state.client.limitKey);
      return allowance.allowed ? work(ctx) : refuseOverLimit(ctx, allowance, licensing);
    };
  };
}

const done = (): Promise<void> => Promise.resolve();

/** Refuses a request over the rate limit, and logs only a client's first refusal in each window. */
function refuseOverLimit(
  ctx: Context,
  { retryAfter, first }: LimitResult,
  { accessLog, now }: Licensing,
): void {
  if (first)
    accessLog.record({
      at: now(),
      endpoint: ctx.state.endpoint as Endpoint,
      outcome: 'RATE_LIMITED',
      productId: readProductId(ctx),
      ip: ctx.state.client.ip,
      client: ctx.state.client.limitKey,
      userAgent: ctx.get('User-Agent'),
    });
  sendFailure(ctx, 'RATE_LIMITED', { retryAfter });
}
