import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type Router from '@koa/router';
import type { Child } from 'hono/jsx';
import { callerKey } from '../../access/caller';
import { secretDigest } from '../../access/random-secret';
import { isFresh, readSession, type CustomerSession } from '../../access/sessions';
import { readPerson } from '../../licensing/customer-profile';
import { sendText } from '../answers';
import type { Context, Middleware, State } from '../context';
import type { Limiter } from '../rate-limit';
import { ClientGoneError, inTime } from '../faults';
import { ManageError } from '../../operations/failures';
import { pagesBase } from '../prefix';
import { parseForm } from '../../licensing/forms';
import { LargeBodyError, readBytes } from '../read-body';
import { isSameOrigin } from '../same-origin';
import { readSessionCookie } from '../session-cookies';
import { createTurns, type TakeTurn } from '../turns';
import { refusalOf } from './act';
import { askedLanguageOf, keepSaid, languageOf, takeSaid, themeOf } from './browser-choices';
import { csvFile } from './csv';
import { ErrorPage, troubleOf } from './error-page';
import { createFormat } from './format';
import { setPageHeaders } from './headers';
import { readCustomer } from './my/customer';
import { myRoutes } from './my/routes';
import { operatorRoutes } from './operator/routes';
import { askToSignInAgain, signedInLately, signInAddress } from './sign-in/again';
import { signInRoutes } from './sign-in/routes';
import {
  scopeOf,
  type Answer,
  type CustomerCall,
  type OperatorCall,
  type PageCall,
  type PagesDependencies,
  type Route,
} from './page';
import { TEXTS, type LanguageCode } from './texts/texts';
import { ViewProvider, type Query, type View } from './view';

/** The pages, for the operator and for customers: the steps of every request, and who may see what. */

/** Adds all pages to the router, below `/pages`. */
export function mountPages(router: Router<State>, dependencies: PagesDependencies): void {
  const takeTurn = createTurns(MOST_WAITING);
  const mount = <Call extends PageCall>(
    routes: Route<Call>[],
    enter: (call: PageCall, route: Route<Call>) => Promise<Call | Answer>,
    confirm?: Confirm<Call>,
  ) => {
    for (const route of routes) {
      const paths = route.path === '/' ? ['/pages{/}'] : [`/pages${route.path}`];
      for (const path of paths)
        router.all(path, handler(route, enter, { ...dependencies, takeTurn }, confirm));
    }
  };
  mount(signInRoutes, enterOpen);
  mount(myRoutes.open, enterOpen);
  mount(myRoutes.signedIn, enterAsCustomer);
  mount(operatorRoutes, enterAsOperator, { recent: signedInLately, ask: askToSignInAgain });
  mount([NOWHERE], enterOpen);
}

/** What an operator's form asks for besides a session: a sign-in within the hour. */
interface Confirm<Call extends PageCall> {
  recent: (call: Call, route: Route<Call>, sent: URLSearchParams) => Promise<Call | Answer>;
  /** the form again, beside a sign-in */
  ask: (sent: URLSearchParams) => Answer;
}

const NOWHERE: Route<PageCall> = {
  path: '{/*rest}',
  get: () => {
    throw new ManageError('NOT_FOUND', '');
  },
};

/** Requests of a customer's session that wait for the one before: a click more than a person makes. */
const MOST_WAITING = 4;
/** Bytes. The largest form of a customer, with an address, has some hundred; an operator's has a changelog. */
const FORM_LIMIT = 16 * 1024;
const OPERATOR_FORM_LIMIT = 2 * 1024 * 1024;

/** The steps of a request, in order: who asks and whether within the limits, and only then the form. */
function handler<Call extends PageCall>(
  route: Route<Call>,
  enter: (call: PageCall, route: Route<Call>) => Promise<Call | Answer>,
  { takeTurn, ...dependencies }: PagesDependencies & { takeTurn: TakeTurn },
  /** of operators' pages */
  confirm: Confirm<Call> | undefined,
): Middleware {
  return async (ctx) => {
    ctx.state.endpoint = 'pages';
    ctx.state.route = route.path;
    setPageHeaders(ctx);
    const isCustomer = /^\/my(?:\/|$)/.test(pathBelow(ctx.path));
    const isPost = ctx.method === 'POST';
    let endTurn = noTurn;
    let call: PageCall;
    try {
      // Before anything of a page is made: a refusal shall cost far less than a page.
      if (confirm === undefined) await countView(ctx, dependencies.limiter);
      if (isCustomer) endTurn = await turnOfSession(ctx, dependencies.limiter, takeTurn);
      call = callOf(ctx, dependencies);
    } catch (error) {
      endTurn();
      refuseView(ctx, error);
      return;
    }
    let sent: URLSearchParams | undefined;
    try {
      const handle = isPost ? route.post : route.get;
      if (handle === undefined || !['GET', 'HEAD', 'POST'].includes(ctx.method))
        throw notFoundOrMethod(ctx, route);
      if (isPost && !isSameOrigin(ctx)) throw new ManageError('FORBIDDEN', 'Another origin.');
      const entered = await enter(call, route);
      if (!('ctx' in entered)) {
        await send(call, entered);
        return;
      }
      const form =
        isPost && !route.upload ? await readForm(ctx, confirm ? OPERATOR_FORM_LIMIT : FORM_LIMIT) : NO_FORM;
      sent = form;
      const confirmed = isPost && confirm ? await confirm.recent(entered, route, form) : entered;
      if (!('ctx' in confirmed)) {
        await send(call, confirmed);
        return;
      }
      const work = Promise.resolve(handle(confirmed, form));
      const answer = await (route.hasDeadline === false || route.upload ? work : inTime(work));
      if ('csv' in answer) {
        // Its rows are read while it is sent.
        ctx.res.once('close', endTurn);
        endTurn = noTurn;
      }
      await send(confirmed, answer);
    } catch (error) {
      if (error instanceof ClientGoneError) throw error;
      if (error instanceof OverLimitError) {
        refuseView(ctx, error);
        return;
      }
      const failure = refusalOf(error, sent ?? NO_FORM);
      const trouble = troubleOf(failure, error);
      if (failure === undefined) ctx.state.fault = error;
      ctx.state.code = trouble.code;
      if (confirm && failure?.error.code === 'SIGN_IN_AGAIN') {
        await send(call, confirm.ask(sent ?? NO_FORM));
        return;
      }
      if (failure?.retryAfter !== undefined) ctx.set('Retry-After', String(failure.retryAfter));
      const isLost = trouble.status === 503 && confirm && isPost && !route.upload;
      if (isLost) sent ??= await keepForm(call);
      const page = { trouble, isCustomer, requestId: ctx.state.requestId };
      await send(call, {
        page: <ErrorPage {...page} sent={confirm && sent?.has('once') ? sent : undefined} />,
        status: trouble.status,
      });
    } finally {
      endTurn();
    }
  };
}

const noTurn = (): void => undefined;
const NO_FORM = new URLSearchParams();

/** Too many views; `retryAfter` is in seconds. */
class OverLimitError extends Error {
  constructor(readonly retryAfter: number) {
    super();
  }
}

/** What is open to everybody counts by network before anything else is done. @throws OverLimitError */
async function countView(ctx: Context, limiter: Limiter): Promise<void> {
  const { allowed, retryAfter } = await limiter('pages', ctx.state.client.limitKey);
  if (!allowed) throw new OverLimitError(retryAfter);
}

/**
 * Counts a request of a customer's session, and waits until the one before is done. By the cookie: the database is not asked.
 * @returns ends the turn
 * @throws OverLimitError, ClientGoneError
 */
async function turnOfSession(ctx: Context, limiter: Limiter, takeTurn: TakeTurn): Promise<() => void> {
  const session = secretDigest(readSessionCookie(ctx, 'customer') ?? '');
  if (session === undefined) return noTurn;
  const { allowed, retryAfter } = await limiter('my_sessions', session);
  if (!allowed) throw new OverLimitError(retryAfter);
  const taking = takeTurn(session);
  const endTurn = await inTime(taking).catch(() => {
    void taking.then((end) => end?.());
    return undefined;
  });
  if (endTurn === undefined) throw new OverLimitError(1);
  if (!ctx.req.socket.destroyed) return endTurn;
  endTurn();
  throw new ClientGoneError();
}

/** In words alone: a page takes a hundred times as long. @throws any other error */
function refuseView(ctx: Context, error: unknown): void {
  if (!(error instanceof OverLimitError)) throw error;
  ctx.state.code = 'RATE_LIMITED';
  ctx.set('Retry-After', String(error.retryAfter));
  sendText(ctx, 429, TEXTS[languageOf(ctx)].common.errors.tooMany);
}

/** The form of an operator whom the database cannot name now, to be sent again; undefined: it is not read. */
async function keepForm(call: PageCall): Promise<URLSearchParams | undefined> {
  try {
    await countView(call.ctx, call.limiter);
    return await readForm(call.ctx, FORM_LIMIT);
  } catch (error) {
    if (error instanceof ClientGoneError) throw error;
    return undefined;
  }
}

function enterOpen(call: PageCall): Promise<PageCall> {
  return Promise.resolve(call);
}

/** A session's route, or where to sign in. */
async function enterAsOperator(call: PageCall, route: Route<OperatorCall>): Promise<OperatorCall | Answer> {
  const { ctx, db, at, authenticate, limiter, view } = call;
  const cookie = readSessionCookie(ctx, 'operator');
  const session =
    cookie === undefined
      ? undefined
      : await readSession(db, 'operator', cookie, at, authenticate.isAccountIn);
  const isGet = ctx.method !== 'POST';
  // Only what can be shown again is gone on with.
  const next = isGet || route.get !== undefined ? `${view.path}${isGet ? ctx.search : ''}` : '/';
  if (session === undefined || session === 'ended') {
    await countView(ctx, limiter);
    return { to: signInAddress(next, session === 'ended' ? 'ended' : undefined) };
  }
  const { caller } = session;
  const { allowed, retryAfter } = await limiter('manage', callerKey(caller));
  if (!allowed) throw new ManageError('RATE_LIMITED', '', { retryAfter });
  view.operator = { name: caller.name, scope: caller.scope };
  if (scopeOf(route, ctx.method) === 'write' && caller.scope !== 'write')
    throw new ManageError('FORBIDDEN', '');
  // A form that was sent is kept, and asks beside it.
  if (isGet && route.isSecret && !isFresh(session, at)) return { to: signInAddress(next, 'again') };
  return { ...call, session, caller };
}

async function enterAsCustomer(call: PageCall): Promise<CustomerCall | Answer> {
  const session = await readCustomer(call);
  if (session === undefined || session === 'ended')
    return { to: session === 'ended' ? '/my?why=ended' : '/my' };
  return { ...call, session, view: await inTheirLanguage(call, session) };
}

/** In the language of the customer whom the link in a mail brought, where the browser asks for none. */
async function inTheirLanguage(
  { ctx, db, view, settings, at }: PageCall,
  session: CustomerSession,
): Promise<View> {
  if (session.by !== 'mail' || askedLanguageOf(ctx) !== undefined) return view;
  const { language } = await readPerson(db, session.email);
  return language === null ? view : { ...view, ...spokenIn(language, settings.timeZone, at) };
}

function spokenIn(language: LanguageCode, zone: string, at: Date): Pick<View, 'language' | 't' | 'format'> {
  return { language, t: TEXTS[language], format: createFormat(language, zone, at) };
}

function callOf(ctx: Context, dependencies: PagesDependencies): PageCall {
  const { settings, now, asset, isTrusted } = dependencies;
  const at = now();
  const base = pagesBase(ctx, isTrusted);
  const to = (path: string, query: Query = {}) => {
    const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
    const search = String(
      new URLSearchParams(given.map(([name, value]) => [name, String(value)] as [string, string])),
    );
    return `${base}${path}${search === '' ? '' : `?${search}`}`;
  };
  const view: View = {
    ...{ to, now: at },
    ...spokenIn(languageOf(ctx), settings.timeZone, at),
    theme: themeOf(ctx),
    asset: (name) => `${base}/${asset(name)}`,
    path: pathBelow(ctx.path),
    operator: undefined,
    shopName: settings.shopName,
    logo: settings.shopLogo === undefined ? undefined : to('/my/logo'),
    said: undefined,
  };
  return {
    ...dependencies,
    ...{
      ctx,
      at,
      view,
      path: ctx.params as Record<string, string>,
      query: new URLSearchParams(ctx.querystring),
    },
  };
}

/** The path below `pages`. */
function pathBelow(path: string): string {
  return path.slice(path.indexOf('/pages') + '/pages'.length) || '/';
}

/** @throws ManageError for a form that is larger than `limit` bytes */
async function readForm(ctx: Context, limit: number): Promise<URLSearchParams> {
  const body = await readBytes(ctx, limit).catch((error: unknown) => {
    throw error instanceof LargeBodyError ? new ManageError('PAYLOAD_TOO_LARGE', '') : error;
  });
  if (!ctx.is('urlencoded')) return new URLSearchParams();
  // Of a field that is given twice, the last counts.
  return new URLSearchParams([...new Map(parseForm(body))]);
}

async function send(call: PageCall, answer: Answer): Promise<void> {
  const { ctx, view } = call;
  if ('sent' in answer) return;
  const base = view.to('');
  if ('to' in answer) {
    if (answer.said) keepSaid(ctx, answer.said, base);
    ctx.status = 303;
    ctx.set('Location', view.to(answer.to));
    return;
  }
  if ('csv' in answer || 'file' in answer) {
    const [name, type] = 'csv' in answer ? [answer.csv, 'text/csv'] : [answer.file, answer.type];
    ctx.attachment(name);
    ctx.set(
      'Content-Type',
      'file' in answer && Buffer.isBuffer(answer.content) ? type : `${type}; charset=utf-8`,
    );
    ctx.status = 200;
    ctx.body = 'csv' in answer ? Readable.from(csvFile(answer.rows)) : answer.content;
    return;
  }
  view.said = takeSaid(ctx, view.t, base);
  ctx.status = answer.status ?? 200;
  ctx.set('Content-Type', 'text/html; charset=utf-8');
  ctx.set('Vary', 'Accept-Encoding, Accept-Language, Cookie');
  ctx.body = await packed(ctx, `<!doctype html>${render(view, answer.page)}`);
}

const toGzip = promisify(gzip);

/**
 * Compresses what a browser may ask for again and again. Keys and tokens stand in answers to POST alone: beside what was
 * typed, their compressed length would tell of them (BREACH).
 */
async function packed(ctx: Context, html: string): Promise<string | Buffer> {
  if (ctx.method === 'POST' || ctx.acceptsEncodings('gzip', 'identity') !== 'gzip') return html;
  const body = await toGzip(html);
  ctx.set('Content-Encoding', 'gzip');
  return body;
}

function render(view: View, page: Child): string {
  const whole: { toString: () => string } = <ViewProvider value={view}>{page}</ViewProvider>;
  return whole.toString();
}

function notFoundOrMethod(ctx: Context, route: Route<never>): ManageError {
  const allowed = [...(route.get ? ['GET', 'HEAD'] : []), ...(route.post ? ['POST'] : [])];
  ctx.set('Allow', allowed.join(', '));
  return new ManageError('METHOD_NOT_ALLOWED', '');
}
