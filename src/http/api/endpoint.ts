import type Router from '@koa/router';
import type { Authenticate, Credentials, AuthRefusal } from '../../access/authenticate';
import { callerKey, type Caller } from '../../access/caller';
import type { StoredResponse } from '../../access/idempotency';
import type { Db } from '../../licensing/licensing';
import { sendJson } from '../answers';
import type { Context, Middleware, RequestState } from '../context';
import { clientGone, withDeadline } from '../faults';
import { OPERATOR_LANGUAGES, type OperatorLanguage } from '../../texts/operators/languages';
import type { Limiter } from '../limits/rate-limit';
import { isSameOrigin } from '../same-origin';
import { readSessionCookie } from '../session-cookies';
import { TICKET_HEADER } from '../ticket-header';
import { readJsonBody } from './body';
import { receiveUpload } from './upload';
import { OperationError, toErrorResponse, type ErrorResponse } from '../../operations/kit/failures';
import type { FileAnswer, Operation } from '../../operations/kit/operation';
import { OPERATIONS } from '../../operations/operations';
import {
  perform,
  requirePermission,
  type OperationInput,
  type OperationRequest,
} from '../../operations/kit/perform';
import type { ManageSettings } from '../../operations/settings';

interface ManageDependencies {
  db: Db;
  now: () => Date;
  authenticate: Authenticate;
  limiter: Limiter;
  settings: ManageSettings;
}

/** Adds the operator's API to the router, below `/manage`. */
export function mountOperatorApi(router: Router<RequestState>, dependencies: ManageDependencies): void {
  const paths = new Map<string, Map<string, Operation>>();
  for (const operation of OPERATIONS) {
    const { method, path } = operation;
    const methods = paths.get(path) ?? new Map<string, Operation>();
    methods.set(method, operation);
    paths.set(path, methods);
  }
  for (const [path, methods] of paths)
    router.all(`/manage${path.replace(/\{(\w+)\}/g, ':$1')}`, endpoint(methods, path, dependencies));
  router.all('/manage{/*rest}', endpoint(new Map(), '*', dependencies));
}

/** Returns the handler of a path, with the steps of a request in their order. */
function endpoint(
  methods: Map<string, Operation>,
  path: string,
  dependencies: ManageDependencies,
): Middleware {
  return async (ctx) => {
    ctx.state.endpoint = 'manage';
    ctx.state.route = path;
    const given: OperationInput = { query: {}, body: {} };
    try {
      const caller = await authenticate(ctx, path, dependencies);
      const operation = methods.get(ctx.method === 'HEAD' ? 'get' : ctx.method.toLowerCase());
      if (operation === undefined) throw noOperation(ctx, methods);
      requirePermission(caller, operation, dependencies.now());
      // Read the body before the deadline starts, because the deadline limits only the work.
      const sent = operation.upload === undefined && hasJson(operation) ? await readJsonBody(ctx) : undefined;
      const key = operation.method === 'post' ? idempotencyKeyOf(ctx) : undefined;
      const request = {
        caller,
        path: ctx.params as Record<string, string>,
        query: new URLSearchParams(ctx.querystring),
        readSent: sent && (() => operation.readBody(sent)),
        sentText: () => asText(sent),
        ...requestOf(ctx),
        once: key === undefined ? undefined : { key, address: `${ctx.path}\n${ctx.querystring}` },
        checkAgain: async () => {
          if ('refused' in (await dependencies.authenticate(credentialsOf(ctx)))) throw unauthorized(ctx);
        },
      };
      const work = perform(operation, request, given, dependencies);
      const written = await (operation.hasDeadline ? withDeadline(ctx, work) : work);
      if (operation.sendsFile === undefined) send(ctx, written);
      else sendFile(ctx, operation.sendsFile, (written.body as { data: FileAnswer }).data);
    } catch (error) {
      const failure = toErrorResponse(error, { ...given.query, ...given.body });
      if (failure === undefined) throw error;
      sendErrorResponse(ctx, failure);
    }
  };
}

/** Returns the parts of the request that an operation may use in addition to its values. */
export function requestOf(ctx: Context): Pick<OperationRequest, 'receive' | 'language' | 'gone'> {
  return {
    receive: (types, rules, others) => receiveUpload(ctx, types, rules, others),
    language: acceptedLanguage(ctx),
    gone: clientGone(ctx),
  };
}

function acceptedLanguage(ctx: Context): OperatorLanguage {
  const accepted = ctx.acceptsLanguages(OPERATOR_LANGUAGES);
  return OPERATOR_LANGUAGES.find((one) => one === accepted) ?? 'en';
}

function asText(sent: object | undefined): string {
  try {
    return JSON.stringify(sent ?? {});
  } catch {
    throw new OperationError('INVALID_REQUEST', 'The body is nested too deeply.');
  }
}

/** Reports whether a body is read. The body of a GET has no meaning (RFC 9110, 9.3.1). */
function hasJson({ method }: Operation): boolean {
  return method !== 'get';
}

/** Identifies the caller. @throws OperationError for a wrong credential, another site's page, or too many requests */
async function authenticate(
  ctx: Context,
  path: string,
  { authenticate: who, limiter }: ManageDependencies,
): Promise<Caller> {
  const caller = await callerOf(ctx, path, who);
  // Count failures separately, so that a valid token is never refused because of other callers' failures.
  const { allowed, retryAfter } =
    'refused' in caller
      ? await limiter('manage_failures', ctx.state.client.limitKey)
      : await limiter('manage', callerKey(caller));
  if (!allowed) throw new OperationError('RATE_LIMITED', 'Too many requests.', { retryAfter });
  if (!('refused' in caller)) {
    const isRead = ctx.method === 'GET' || ctx.method === 'HEAD';
    // Prevent CSRF: a page of another site can make the browser send the session cookie.
    if (caller.session !== undefined && !isRead && !isSameOrigin(ctx))
      throw new OperationError(
        'FORBIDDEN',
        "With a session, calls that change something must come from the service's own pages.",
      );
    return caller;
  }
  if (caller.refused === 'FORBIDDEN')
    throw new OperationError('FORBIDDEN', 'The groups of this account may not manage licences.');
  throw unauthorized(ctx);
}

/** Identifies the caller by a ticket of the component in Joomla, valid for one call only, or by other credentials. */
async function callerOf(ctx: Context, path: string, who: Authenticate): Promise<Caller | AuthRefusal> {
  const ticket = ctx.get(TICKET_HEADER);
  if (ticket === '') return who(credentialsOf(ctx));
  if (path !== '/overview' || ctx.method !== 'GET') return { refused: 'UNAUTHORIZED' };
  const caller = await who.door.look(ticket);
  if ('refused' in caller) return { refused: caller.refused === 'GROUP' ? 'FORBIDDEN' : 'UNAUTHORIZED' };
  return caller;
}

function credentialsOf(ctx: Context): Credentials {
  const header = (name: string) => ctx.get(name) || undefined;
  return {
    authorization: header('Authorization'),
    joomlaToken: header('X-Joomla-Token'),
    session: readSessionCookie(ctx, 'operator'),
  };
}

function unauthorized(ctx: Context): OperationError {
  ctx.set('WWW-Authenticate', 'Bearer');
  return new OperationError('UNAUTHORIZED', 'A valid token is needed: "Authorization: Bearer ...".');
}

function noOperation(ctx: Context, methods: Map<string, Operation>): OperationError {
  if (methods.size === 0) return new OperationError('NOT_FOUND', 'There is nothing at this address.');
  const allowed = [...methods.keys()].flatMap((method) =>
    method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()],
  );
  ctx.set('Allow', allowed.join(', '));
  return new OperationError('METHOD_NOT_ALLOWED', 'This address does not answer that method.');
}

/** Reads the Idempotency-Key header. @throws OperationError */
function idempotencyKeyOf(ctx: Context): string | undefined {
  const key = ctx.headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key === 'string' && /^[\x20-\x7e]{1,255}$/.test(key)) return key;
  throw new OperationError('INVALID_REQUEST', 'Idempotency-Key must be 1 to 255 printable ASCII characters.');
}

/** Answers a refusal in the form of the operator's API. */
export function sendErrorResponse(ctx: Context, { status, error, retryAfter }: ErrorResponse): void {
  ctx.state.code = error.code;
  if (retryAfter !== undefined) ctx.set('Retry-After', String(retryAfter));
  sendJson(ctx, status, { error });
}

function send(ctx: Context, { status, body }: StoredResponse): void {
  if (body !== undefined && 'error' in body)
    ctx.state.code = (body as { error: { code: string } }).error.code;
  if (body === undefined || status === 204) ctx.status = status;
  else sendJson(ctx, status, body);
}

/** Sends a file without X-Accel-Redirect, because the caller may reach the service without nginx. */
function sendFile(ctx: Context, type: string, { name, size, bytes }: FileAnswer): void {
  ctx.set({
    'Content-Type': type,
    ...(size !== undefined && { 'Content-Length': String(size) }),
    'Content-Disposition': `attachment; filename="${name}"`,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  });
  ctx.body = bytes;
}
