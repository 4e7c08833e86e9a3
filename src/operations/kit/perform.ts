import type { Caller } from '../../access/caller';
import { withIdempotency, type StoredResponse } from '../../access/idempotency';
import { isRecentSignIn } from '../../access/sessions';
import type { Db } from '../../licensing/licensing';
import { OperationError, toErrorResponse, type ErrorResponse } from './failures';
import type { OperationResult, OperationCall, Operation, UploadTerms } from './operation';
import type { ManageSettings } from '../settings';
import { signInAgainError } from './sign-in-again';
import type { Upload, UploadRules } from './upload';

/** Performs an operation for a request of the API, a page or the command, with idempotency. */

const MISMATCH = 'This Idempotency-Key was already used for another request. Use a new key for each request.';
const RUNNING = 'The first request with this Idempotency-Key is still being processed.';

export interface OperationRequest {
  caller: Caller;
  /** the parameters of the path by name */
  path: Record<string, string>;
  query: URLSearchParams;
  /** reads the body, which is not an upload; undefined without a body */
  readSent: ((operation: Operation) => object) | undefined;
  /** reads an upload; if it throws, nothing of the upload remains */
  receive: <F>(types: string[], rules: UploadRules<F>, others?: string[]) => Promise<Upload<F>>;
  /** the language of the reader of the answer */
  language: OperationCall['language'];
  /** aborted when the caller no longer waits for the answer */
  gone: AbortSignal;
  /** returns a text that distinguishes the body from others, for a repeated request */
  sentText: () => string;
  /** the idempotency key; undefined if the work may be repeated */
  once: { key: string; address: string } | undefined;
  /** Checks the caller again after an upload, during which it may lose its permission. @throws OperationError */
  checkAgain: () => Promise<unknown>;
  onProgress?: OperationCall['onProgress'];
  followXml?: OperationCall['followXml'];
  /** receives a refusal that is stored and returned instead of thrown */
  onRefused?: (failure: ErrorResponse) => void;
}

/** The values of a request, for refusals that name a field. */
export interface OperationInput {
  query: object;
  body: object;
}

export interface OperationDeps {
  db: Db;
  now: () => Date;
  settings: ManageSettings;
}

/** Performs an operation after the check of rights. @param given filled during reading @throws see `toErrorResponse` */
export async function perform(
  operation: Operation,
  request: OperationRequest,
  given: OperationInput,
  { db, now, settings }: OperationDeps,
): Promise<StoredResponse> {
  const { caller, path, once, readSent, language, gone, onProgress, followXml } = request;
  const readInput = () => {
    given.query = operation.readQuery(request.query);
    if (readSent !== undefined) given.body = readSent(operation);
  };
  // With an idempotency key, store this refusal too. An upload is read only after its query was found to be valid.
  const keepsRefusal = once !== undefined && readSent !== undefined;
  if (!keepsRefusal) readInput();
  const at = now();
  const context = { actor: caller.actor, now: at };
  const call = { caller, path, now: at, language, gone, onProgress, followXml, settings, context };
  const handle = (handleOn: Db) => {
    if (keepsRefusal) readInput();
    return answer(operation, { ...call, ...given, db: handleOn });
  };
  await operation.upload?.before?.({ ...call, ...given, db });
  const upload = operation.upload && receiver(operation, operation.upload, request, given, settings);
  try {
    let written: StoredResponse;
    if (once === undefined) {
      await upload?.receive();
      written = await handle(db);
    } else {
      const body = {
        readBody: () => upload?.receive() ?? Promise.resolve(request.sentText()),
        isRead: upload === undefined,
      };
      const refusal = (error: unknown) => {
        const failure = toErrorResponse(error, { ...given.query, ...given.body });
        if (failure !== undefined) request.onRefused?.(failure);
        return failure && { status: failure.status, body: { error: failure.error } };
      };
      const asked = { credential: caller.credential, ...once };
      const done = await withIdempotency(db, now, asked, body, handle, refusal);
      if (done === 'mismatch') throw new OperationError('IDEMPOTENCY_MISMATCH', MISMATCH);
      if (done === 'running') throw new OperationError('CONFLICT', RUNNING, { retryAfter: 1 });
      written = done;
    }
    return await withAfterCommit(operation, { ...call, ...given, db }, written);
  } finally {
    await upload?.discard();
  }
}

/** Checks permissions. @throws OperationError if the scope is too small, or a session must sign in again */
export function requirePermission(
  { scope, session }: Caller,
  { scope: needed, forShops, needsRecentSignIn }: Operation,
  now: Date,
): void {
  const may = scope === 'write' || (scope === 'issue' ? forShops : needed === 'read');
  if (!may)
    throw new OperationError(
      'FORBIDDEN',
      scope === 'issue'
        ? 'A token with the scope "issue" may not do this.'
        : 'A token or session with the scope "read" may only read.',
    );
  if (needsRecentSignIn && session !== undefined && !isRecentSignIn(session, now)) throw signInAgainError();
}

/** Returns a function that reads an upload into the call, with a text that distinguishes it from others. */
function receiver(
  { readQuery }: Operation,
  { types, others = {}, rules: rulesOf }: UploadTerms,
  { query: asked, receive, checkAgain }: OperationRequest,
  given: OperationInput,
  settings: ManageSettings,
) {
  const rules = rulesOf(settings);
  let received: Upload<unknown> | undefined;
  return {
    async receive(): Promise<string> {
      received = await receive(types, rules, Object.keys(others));
      await checkAgain();
      const query = new URLSearchParams(asked);
      for (const [name, value] of Object.entries(received.fields)) query.append(name, value);
      given.query = readQuery(query);
      given.body = { ...received.others, file: received.file };
      return JSON.stringify([
        received.fields,
        received.file === undefined ? null : rules.digest(received.file),
        ...Object.entries(received.others).map(([name, file]) => [name, rules.digest(file)]),
      ]);
    },
    async discard(): Promise<void> {
      const { file, others: beside = {} } = received ?? {};
      for (const one of [file, ...Object.values(beside)]) if (one !== undefined) await rules.discard(one);
    },
  };
}

/** Performs the work after the commit, for each answer. */
async function withAfterCommit(
  { afterCommit }: Operation,
  call: OperationCall,
  written: StoredResponse,
): Promise<StoredResponse> {
  const { body } = written;
  if (afterCommit === undefined || body === undefined || !('data' in body)) return written;
  const data = body.data as object;
  return { ...written, body: { ...body, data: { ...data, ...(await afterCommit.perform(call, data)) } } };
}

async function answer(operation: Operation, call: OperationCall): Promise<StoredResponse> {
  const { data, next = null, status = operation.status }: OperationResult = await operation.run(call);
  if (data === undefined) return { status, body: undefined };
  return { status, body: operation.isList ? { data, next } : { data } };
}
