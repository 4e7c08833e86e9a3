import type Router from '@koa/router';
import type { Authenticate } from '../../access/authenticate';
import { callerKey, type Caller } from '../../access/caller';
import type { Db } from '../../store/database';
import { sendJson } from '../answers';
import type { Context, Middleware, State } from '../context';
import { inTime } from '../faults';
import type { Limiter } from '../rate-limit';
import { readJsonBody } from './body';
import { ManageError, toFailure, type Failure } from './failures';
import { performOnce, type Written } from './idempotency';
import type { Call, Operation } from './operation';
import { OPERATIONS } from './operations';
import { bodyReader, queryReader, type Reader } from './read-input';
import type { ManageSettings } from './settings';

export interface ManageDependencies {
  db: Db;
  now: () => Date;
  authenticate: Authenticate;
  limiter: Limiter;
  settings: ManageSettings;
}

interface Endpoint extends Operation {
  readQuery: (query: string) => object;
  readBody: Reader;
}

/** Adds the operator's API to the router, below `/manage`. */
export function mountManage(router: Router<State>, dependencies: ManageDependencies): void {
  const paths = new Map<string, Map<string, Endpoint>>();
  for (const operation of OPERATIONS) {
    const { method, path, query, body } = operation;
    const methods = paths.get(path) ?? new Map<string, Endpoint>();
    methods.set(method, { ...operation, readQuery: queryReader(query), readBody: bodyReader(body) });
    paths.set(path, methods);
  }
  for (const [path, methods] of paths)
    router.all(`/manage${path.replace(/\{(\w+)\}/g, ':$1')}`, endpoint(methods, path, dependencies));
  router.all('/manage{/*rest}', endpoint(new Map(), '*', dependencies));
}

/** The steps of a request, in order. */
function endpoint(methods: Map<string, Endpoint>, path: string, dependencies: ManageDependencies): Middleware {
  return async (ctx) => {
    ctx.state.endpoint = 'manage';
    ctx.state.route = path;
    let given: object = {};
    const answer = async (): Promise<Written> => {
      const caller = await authenticate(ctx, dependencies);
      const operation = methods.get(ctx.method === 'HEAD' ? 'get' : ctx.method.toLowerCase());
      if (operation === undefined) throw noOperation(ctx, methods);
      requireScope(caller, operation);
      const query = operation.readQuery(ctx.querystring);
      const body = operation.upload === undefined ? await readJsonBody(ctx, operation) : {};
      given = { ...query, ...body };
      const now = dependencies.now();
      const call: Call = {
        ...{ caller, now, ctx, query },
        body: operation.upload === undefined ? operation.readBody(body) : {},
        db: dependencies.db,
        context: { actor: caller.actor, now },
        path: ctx.params as Record<string, string>,
        settings: dependencies.settings,
      };
      const work = perform(operation, call, dependencies);
      return operation.hasDeadline ? inTime(work) : work;
    };
    const written = await answer().catch((error: unknown) => refusalOf(ctx, error, given));
    if (written !== undefined) send(ctx, written);
  };
}

/** @throws ManageError for a wrong credential, or too many requests */
async function authenticate(ctx: Context, { authenticate: who, limiter }: ManageDependencies): Promise<Caller> {
  const header = (name: string) => ctx.get(name) || undefined;
  const caller = await who({ authorization: header('Authorization'), joomlaToken: header('X-Joomla-Token') });
  // A valid token is never refused for the failures of others, so those are counted apart.
  const { allowed, retryAfter } =
    'refused' in caller
      ? await limiter('manage_failures', ctx.state.client.limitKey)
      : await limiter('manage', callerKey(caller));
  if (!allowed) throw new ManageError('RATE_LIMITED', 'Too many requests.', { retryAfter });
  if (!('refused' in caller)) return caller;
  if (caller.refused === 'FORBIDDEN')
    throw new ManageError('FORBIDDEN', 'The groups of this account may not manage licences.');
  ctx.set('WWW-Authenticate', 'Bearer');
  throw new ManageError('UNAUTHORIZED', 'A valid token is needed: "Authorization: Bearer ...".');
}

function noOperation(ctx: Context, methods: Map<string, Endpoint>): ManageError {
  if (methods.size === 0) return new ManageError('NOT_FOUND', 'There is nothing at this address.');
  const allowed = [...methods.keys()].flatMap((method) => (method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()]));
  ctx.set('Allow', allowed.join(', '));
  return new ManageError('METHOD_NOT_ALLOWED', 'This address does not answer that method.');
}

function requireScope({ scope }: Caller, { scope: needed, forShops }: Operation): void {
  const may = scope === 'write' || (scope === 'issue' ? forShops : needed === 'read');
  if (!may)
    throw new ManageError(
      'FORBIDDEN',
      scope === 'issue'
        ? 'A token of the scope "issue" may not do this.'
        : 'A token of the scope "read" may only read.',
    );
}

async function perform(operation: Endpoint, call: Call, { db, now }: ManageDependencies): Promise<Written> {
  const written = await performOrRepeat(operation, call, db, now);
  const { afterCommit } = operation;
  const { body } = written;
  if (afterCommit === undefined || body === undefined || !('data' in body)) return written;
  const data = body.data as object;
  return { ...written, body: { ...body, data: { ...data, ...(await afterCommit(call, data)) } } };
}

async function performOrRepeat(
  operation: Endpoint,
  call: Call,
  db: Db,
  now: () => Date,
): Promise<Written> {
  const { ctx, caller, query, body } = call;
  const key = operation.method === 'post' ? idempotencyKeyOf(ctx) : undefined;
  if (key === undefined) return run(operation, call);
  return performOnce(
    db,
    now,
    {
      credential: caller.credential,
      key,
      address: `${ctx.path}\n${JSON.stringify(query)}`,
      body: JSON.stringify(body),
    },
    undefined,
    (trx) => run(operation, { ...call, db: trx }),
    (error) => {
      const failure = toFailure(error, { ...(query as object), ...(body as object) });
      return failure && { status: failure.status, body: { error: failure.error } };
    },
  );
}

async function run({ handle, status, isList }: Operation, call: Call): Promise<Written> {
  const answer = await handle(call);
  const { data, next = null } = answer;
  const body = data === undefined ? undefined : isList ? { data, next } : { data };
  return { status: answer.status ?? status, body };
}

/** @throws ManageError */
function idempotencyKeyOf(ctx: Context): string | undefined {
  const key = ctx.headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key === 'string' && /^[\x20-\x7e]{1,255}$/.test(key)) return key;
  throw new ManageError('INVALID_REQUEST', 'Idempotency-Key must be 1 to 255 printable ASCII characters.');
}

/** Answers a refusal. @throws any other error */
function refusalOf(ctx: Context, error: unknown, given: object): undefined {
  const failure = toFailure(error, given);
  if (failure === undefined) throw error;
  sendFailure(ctx, failure);
}

function sendFailure(ctx: Context, { status, error, retryAfter }: Failure): void {
  ctx.state.code = error.code;
  if (retryAfter !== undefined) ctx.set('Retry-After', String(retryAfter));
  sendJson(ctx, status, { error });
}

function send(ctx: Context, { status, body }: Written): void {
  if (body !== undefined && 'error' in body) ctx.state.code = (body as { error: { code: string } }).error.code;
  if (body === undefined) ctx.status = status;
  else sendJson(ctx, status, body);
}
