import type Router from '@koa/router';
import type { Authenticate, Credentials } from '../../access/authenticate';
import { callerKey, type Caller } from '../../access/caller';
import type { Db } from '../../store/database';
import { sendJson } from '../answers';
import type { Context, Middleware, State } from '../context';
import { inTime } from '../faults';
import type { Limiter } from '../rate-limit';
import { readJsonBody } from './body';
import { ManageError, toFailure, type Failure } from './failures';
import { performOnce, type Written } from './idempotency';
import type { Call, Operation, UploadTerms } from './operation';
import { OPERATIONS } from './operations';
import { bodyReader, queryReader, type Reader } from './read-input';
import type { ManageSettings } from './settings';
import { receiveUpload, type Upload } from './upload';

export interface ManageDependencies {
  db: Db;
  now: () => Date;
  authenticate: Authenticate;
  limiter: Limiter;
  settings: ManageSettings;
}

interface Endpoint extends Operation {
  readQuery: (query: URLSearchParams) => object;
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
function endpoint(
  methods: Map<string, Endpoint>,
  path: string,
  dependencies: ManageDependencies,
): Middleware {
  return async (ctx) => {
    ctx.state.endpoint = 'manage';
    ctx.state.route = path;
    const given: Given = { query: {}, body: {} };
    try {
      const caller = await authenticate(ctx, dependencies);
      const operation = methods.get(ctx.method === 'HEAD' ? 'get' : ctx.method.toLowerCase());
      if (operation === undefined) throw noOperation(ctx, methods);
      requireScope(caller, operation);
      // Before the deadline, which is for the work.
      const sent = operation.upload === undefined && hasJson(operation) ? await readJsonBody(ctx) : undefined;
      const work = answer(ctx, operation, caller, given, sent, dependencies);
      send(ctx, await (operation.hasDeadline ? inTime(work) : work));
    } catch (error) {
      const failure = toFailure(error, { ...given.query, ...given.body });
      if (failure === undefined) throw error;
      sendFailure(ctx, failure);
    }
  };
}

/** What a request says; for refusals that name a field. */
interface Given {
  query: object;
  body: object;
}

/** Reads the request and performs it: once, where it has an Idempotency-Key. */
async function answer(
  ctx: Context,
  operation: Endpoint,
  caller: Caller,
  given: Given,
  sent: object | undefined,
  dependencies: ManageDependencies,
): Promise<Written> {
  const { db, now, settings } = dependencies;
  const key = operation.method === 'post' ? idempotencyKeyOf(ctx) : undefined;
  const readInput = () => {
    given.query = operation.readQuery(new URLSearchParams(ctx.querystring));
    if (sent !== undefined) given.body = operation.readBody(sent);
  };
  // With a key, this refusal is kept as well. An upload is not read before its query is known to be right.
  const keepsRefusal = key !== undefined && sent !== undefined;
  if (!keepsRefusal) readInput();
  const at = now();
  const call = {
    ...{ caller, now: at, ctx, settings, context: { actor: caller.actor, now: at } },
    path: ctx.params as Record<string, string>,
  };
  const handle = (handleOn: Db) => {
    if (keepsRefusal) readInput();
    return run(operation, { ...call, ...given, db: handleOn });
  };
  const upload = operation.upload && receiver(ctx, operation, operation.upload, given, dependencies);
  try {
    let written: Written;
    if (key === undefined) {
      await upload?.receive();
      written = await handle(db);
    } else {
      const address = `${ctx.path}\n${ctx.querystring}`;
      const once = { credential: caller.credential, key, address };
      const refusal = (error: unknown) => refusalOf(error, given);
      const readBody = () => upload?.receive() ?? Promise.resolve(asText(sent));
      written = await performOnce(db, now, once, { readBody, isRead: !upload }, handle, refusal);
    }
    return await withAfterCommit(operation, { ...call, ...given, db }, written);
  } finally {
    await upload?.discard();
  }
}

function asText(sent: object | undefined): string {
  try {
    return JSON.stringify(sent ?? {});
  } catch {
    throw new ManageError('INVALID_REQUEST', 'The body is nested too deeply.');
  }
}

/** A body that comes with a GET has no meaning (RFC 9110, 9.3.1). */
function hasJson({ method }: Operation): boolean {
  return method !== 'get';
}

/** Reads an upload into the call. `receive` returns what tells it from another. */
function receiver(
  ctx: Context,
  { readQuery }: Endpoint,
  { types, rules: rulesOf }: UploadTerms,
  given: Given,
  { settings, authenticate: who }: ManageDependencies,
) {
  const rules = rulesOf(settings);
  let received: Upload<unknown> | undefined;
  return {
    async receive(): Promise<string> {
      received = await receiveUpload(ctx, types, rules);
      // An upload takes its time, in which a token may be revoked.
      if ('refused' in (await who(credentialsOf(ctx)))) throw unauthorized(ctx);
      const query = new URLSearchParams(ctx.querystring);
      for (const [name, value] of Object.entries(received.fields)) query.append(name, value);
      given.query = readQuery(query);
      given.body = { file: received.file };
      return JSON.stringify([
        received.fields,
        received.file === undefined ? null : rules.digest(received.file),
      ]);
    },
    async discard(): Promise<void> {
      if (received?.file !== undefined) await rules.discard(received.file);
    },
  };
}

/** What has to follow the change, each time it is answered. */
async function withAfterCommit({ afterCommit }: Operation, call: Call, written: Written): Promise<Written> {
  const { body } = written;
  if (afterCommit === undefined || body === undefined || !('data' in body)) return written;
  const data = body.data as object;
  return { ...written, body: { ...body, data: { ...data, ...(await afterCommit.perform(call, data)) } } };
}

function refusalOf(error: unknown, { query, body }: Given): Written | undefined {
  const failure = toFailure(error, { ...query, ...body });
  return failure && { status: failure.status, body: { error: failure.error } };
}

/** @throws ManageError for a wrong credential, or too many requests */
async function authenticate(
  ctx: Context,
  { authenticate: who, limiter }: ManageDependencies,
): Promise<Caller> {
  const caller = await who(credentialsOf(ctx));
  // A valid token is never refused for the failures of others, so those are counted apart.
  const { allowed, retryAfter } =
    'refused' in caller
      ? await limiter('manage_failures', ctx.state.client.limitKey)
      : await limiter('manage', callerKey(caller));
  if (!allowed) throw new ManageError('RATE_LIMITED', 'Too many requests.', { retryAfter });
  if (!('refused' in caller)) return caller;
  if (caller.refused === 'FORBIDDEN')
    throw new ManageError('FORBIDDEN', 'The groups of this account may not manage licences.');
  throw unauthorized(ctx);
}

function credentialsOf(ctx: Context): Credentials {
  const header = (name: string) => ctx.get(name) || undefined;
  return { authorization: header('Authorization'), joomlaToken: header('X-Joomla-Token') };
}

function unauthorized(ctx: Context): ManageError {
  ctx.set('WWW-Authenticate', 'Bearer');
  return new ManageError('UNAUTHORIZED', 'A valid token is needed: "Authorization: Bearer ...".');
}

function noOperation(ctx: Context, methods: Map<string, Endpoint>): ManageError {
  if (methods.size === 0) return new ManageError('NOT_FOUND', 'There is nothing at this address.');
  const allowed = [...methods.keys()].flatMap((method) =>
    method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()],
  );
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

function sendFailure(ctx: Context, { status, error, retryAfter }: Failure): void {
  ctx.state.code = error.code;
  if (retryAfter !== undefined) ctx.set('Retry-After', String(retryAfter));
  sendJson(ctx, status, { error });
}

function send(ctx: Context, { status, body }: Written): void {
  if (body !== undefined && 'error' in body)
    ctx.state.code = (body as { error: { code: string } }).error.code;
  if (body === undefined) ctx.status = status;
  else sendJson(ctx, status, body);
}
