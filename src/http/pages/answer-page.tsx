import { OperationError } from '../../operations/kit/failures';
import type { Context, Middleware } from '../context';
import { isCoded } from '../../base/errors';
import { withDeadline } from '../faults';
import { isSameOrigin } from '../same-origin';
import type { AcquirePermit } from '../limits/keyed-semaphore';
import { refusalOf } from './submit';
import { createPageCall, pathBelow } from './call';
import { ErrorPage, errorPageProps } from './error-page';
import { setPageHeaders } from './headers';
import { limitPageViews, noPermit, sendTooManyRequests, sessionPermit } from './limits';
import type { PageResponse, PageCall, PagesDependencies, Route } from './page';
import { FORM_LIMIT, emptyForm, OPERATOR_FORM_LIMIT, readForm } from './read-form';
import { sendPageResponse } from './send';

/** The steps of a request for a page, and the answer when one of them refuses. */

/** The step-up authentication of an operator's form: a sign-in within the last hour. */
export interface StepUp<Call extends PageCall> {
  recent: (call: Call, route: Route<Call>, sent: URLSearchParams) => Promise<Call | PageResponse>;
  /** returns the form again, together with a sign-in */
  ask: (sent: URLSearchParams) => PageResponse;
}

/** Returns the handler of a route: it identifies the visitor and applies the limits before it reads the form. */
export function answerPage<Call extends PageCall>(
  route: Route<Call>,
  enter: (call: PageCall, route: Route<Call>) => Promise<Call | PageResponse>,
  { takeTurn, ...dependencies }: PagesDependencies & { takeTurn: AcquirePermit },
  /** only for operators' pages */
  confirm: StepUp<Call> | undefined,
): Middleware {
  return async (ctx) => {
    ctx.state.endpoint = 'pages';
    ctx.state.route = route.path;
    setPageHeaders(ctx);
    const isCustomer = /^\/my(?:\/|$)/.test(pathBelow(ctx.path));
    const isPost = ctx.method === 'POST';
    let endTurn = noPermit;
    let call: PageCall;
    try {
      // Count before building any part of a page, because a refusal must cost far less than a page.
      if (confirm === undefined) await limitPageViews(ctx, dependencies.limiter);
      if (isCustomer) endTurn = await sessionPermit(ctx, dependencies.limiter, takeTurn);
      call = createPageCall(ctx, dependencies);
    } catch (error) {
      endTurn();
      sendTooManyRequests(ctx, error);
      return;
    }
    let sent: URLSearchParams | undefined;
    try {
      const handle = isPost ? route.post : route.get;
      if (handle === undefined || !['GET', 'HEAD', 'POST'].includes(ctx.method))
        throw notFoundOrMethod(ctx, route);
      if (isPost && !route.handlesCsrfItself && !isSameOrigin(ctx))
        throw new OperationError('FORBIDDEN', 'Another origin.');
      const entered = await enter(call, route);
      if (!('ctx' in entered)) {
        await sendPageResponse(call, entered);
        return;
      }
      const form =
        isPost && !route.upload
          ? await readForm(ctx, confirm ? OPERATOR_FORM_LIMIT : FORM_LIMIT)
          : emptyForm();
      sent = form;
      const confirmed = isPost && confirm ? await confirm.recent(entered, route, form) : entered;
      if (!('ctx' in confirmed)) {
        await sendPageResponse(call, confirmed);
        return;
      }
      const work = Promise.resolve(handle(confirmed, form));
      const answer = await (route.hasDeadline === false || route.upload ? work : withDeadline(ctx, work));
      if ('csv' in answer) {
        // Keep the turn, because the rows are read while the file is sent.
        ctx.res.once('close', endTurn);
        endTurn = noPermit;
      }
      await sendPageResponse(confirmed, answer);
    } catch (error) {
      await refuse(call, error, { route, sent, confirm, isCustomer });
    } finally {
      endTurn();
    }
  };
}

/** Answers a request that failed: with plain text, with the form next to a sign-in, or with an error page. */
async function refuse<Call extends PageCall>(
  call: PageCall,
  error: unknown,
  {
    route,
    sent,
    confirm,
    isCustomer,
  }: {
    route: Route<Call>;
    /** undefined if the form was not read */
    sent: URLSearchParams | undefined;
    confirm: StepUp<Call> | undefined;
    isCustomer: boolean;
  },
): Promise<void> {
  const { ctx } = call;
  if (isCoded(error, 'CLIENT_GONE')) throw error;
  if (isCoded(error, 'OVER_LIMIT')) {
    sendTooManyRequests(ctx, error);
    return;
  }
  const failure = refusalOf(error, sent ?? emptyForm());
  const trouble = errorPageProps(failure, error);
  if (failure === undefined) ctx.state.fault = error;
  ctx.state.code = trouble.code;
  if (confirm && failure?.error.code === 'SIGN_IN_AGAIN') {
    await sendPageResponse(call, confirm.ask(sent ?? emptyForm()));
    return;
  }
  if (failure?.retryAfter !== undefined) ctx.set('Retry-After', String(failure.retryAfter));
  const isLost = trouble.status === 503 && confirm && ctx.method === 'POST' && !route.upload;
  const form = sent ?? (isLost ? await keepForm(call) : undefined);
  const page = { trouble, isCustomer, requestId: ctx.state.requestId };
  await sendPageResponse(call, {
    page: <ErrorPage {...page} sent={confirm && form?.has('once') ? form : undefined} />,
    status: trouble.status,
  });
}

/** Reads a form that the operator can send again, because the database cannot identify the operator now. */
async function keepForm(call: PageCall): Promise<URLSearchParams | undefined> {
  try {
    await limitPageViews(call.ctx, call.limiter);
    return await readForm(call.ctx, FORM_LIMIT);
  } catch (error) {
    if (isCoded(error, 'CLIENT_GONE')) throw error;
    return undefined;
  }
}

function notFoundOrMethod(ctx: Context, route: Route<never>): OperationError {
  const allowed = [...(route.get ? ['GET', 'HEAD'] : []), ...(route.post ? ['POST'] : [])];
  ctx.set('Allow', allowed.join(', '));
  return new OperationError('METHOD_NOT_ALLOWED', '');
}
