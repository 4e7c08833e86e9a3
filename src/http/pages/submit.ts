import { setTimeout as sleep } from 'node:timers/promises';
import { OperationError, toErrorResponse, type ErrorResponse } from '../../operations/kit/failures';
import type { Operation } from '../../operations/kit/operation';
import {
  perform,
  requirePermission,
  type OperationInput,
  type OperationRequest,
} from '../../operations/kit/perform';
import type { Upload, UploadRules } from '../../operations/kit/upload';
import { requestOf } from '../api/endpoint';
import { formState, toFormFailure, type FormState } from './form-state';
import type { PageResponse, OperatorCall, PageCall } from './page';

export type { BodyOf, DataOf } from '../../operations/kit/operation';

/** Runs operations for the pages' forms, with the submitted fields. */

/** An operation's fields, as texts of the form or as values; undefined if a field was not sent. */
export type FormInput<Body> = { [Name in keyof Body]?: Body[Name] | string | undefined };

interface OperationArgs<Body> {
  /** the parameters in the operation's path */
  path?: Record<string, string | number>;
  query?: URLSearchParams;
  body?: FormInput<Body>;
  /** an upload that the page has already read; if undefined, the operation reads the request's body */
  received?: Upload<unknown>;
  /** changes the fields of an upload's form */
  amend?: (fields: Record<string, string>) => Record<string, string>;
}

/**
 * Performs an operation (idempotency): once for each form shown, so that a double click or a reload changes nothing.
 * @returns the `data` of its answer
 * @throws OperationError, and errors of the domain
 */
export async function submitOperation<Query, Body, Data>(
  call: OperatorCall,
  sent: URLSearchParams,
  operation: Operation<Query, Body, Data>,
  wanted: OperationArgs<Body> = {},
): Promise<Data> {
  return (await submitWithStatus(call, sent, operation, wanted)).data;
}

/** Like `submitOperation`, but also returns the answer's status: 200 instead of 201 if the thing already existed. */
export async function submitWithStatus<Query, Body, Data>(
  call: OperatorCall,
  sent: URLSearchParams,
  operation: Operation<Query, Body, Data>,
  {
    path = {},
    query = new URLSearchParams(),
    body,
    received,
    amend = (fields) => fields,
  }: OperationArgs<Body> = {},
): Promise<{ status: number; data: Data }> {
  const { ctx, caller } = call;
  requirePermission(caller, operation, call.at);
  const once = formIdempotencyKey(sent, call.query);
  const given: OperationInput = { query: {}, body: {} };
  let refused: ErrorResponse | undefined;
  const fields = Object.fromEntries(Object.entries(body ?? {}).filter(([, value]) => value !== undefined));
  const name = `${operation.method.toUpperCase()} ${operation.path}`;
  const address = JSON.stringify([name, path, String(query)]);
  const { receive, ...about } = requestOf(ctx);
  const request: OperationRequest = {
    ...about,
    caller,
    path: Object.fromEntries(Object.entries(path).map(([part, value]) => [part, String(value)])),
    query,
    // Copy the fields, because reading converts their texts to values.
    readSent: operation.upload ? undefined : () => operation.readForm({ ...fields }),
    async receive<F>(types: string[], rules: UploadRules<F>, others?: string[]) {
      const upload = (received as Upload<F> | undefined) ?? (await receive(types, rules, others));
      return { ...upload, fields: amend(upload.fields) };
    },
    sentText: () => JSON.stringify(fields),
    once:
      once === undefined || once === '' || operation.method !== 'post'
        ? undefined
        : { key: `pages ${once} ${name}`, address },
    checkAgain: () => Promise.resolve(),
    onRefused: (failure: ErrorResponse) => void (refused = failure),
  };
  const work = () => perform(operation, request, given, call);
  const { status, body: answer } = await waitForFirst(work).finally(() => {
    // Keep the fields of an upload's form, which the operation has read: a refused form shows them again.
    if (operation.upload)
      for (const [field, value] of Object.entries(given.query)) sent.set(field, String(value));
  });
  if (refused !== undefined) throw new RefusedError(refused);
  if (answer !== undefined && 'error' in answer) {
    const { code, message, field } = (answer as { error: ErrorResponse['error'] }).error;
    throw new OperationError(code, message, { field });
  }
  return { status, data: (answer as { data: Data } | undefined)?.data as Data };
}

/** The time that the second of two clicks waits for the first one's result: less than a request's deadline. */
const WAIT_MS = 3_000;
const LOOK_EVERY_MS = 100;

/** Waits while an earlier submission of the same form is in progress, and returns the same answer (double submit). */
async function waitForFirst<T>(work: () => Promise<T>): Promise<T> {
  for (const end = performance.now() + WAIT_MS; ; await sleep(LOOK_EVERY_MS))
    try {
      return await work();
    } catch (error) {
      if (!isUnderWay(toErrorResponse(error, {})) || performance.now() > end) throw error;
    }
}

/** Reports whether a form was refused only because an earlier submission is still in progress. */
function isUnderWay(refused: ErrorResponse | undefined): boolean {
  return refused?.error.code === 'CONFLICT' && refused.retryAfter !== undefined;
}

/** A failure that was already converted to a refusal. */
class RefusedError extends Error {
  constructor(readonly failure: ErrorResponse) {
    super(failure.error.message);
  }
}

/** Returns the refusal that an error represents; undefined if it is a fault. */
export function refusalOf(error: unknown, sent: URLSearchParams): ErrorResponse | undefined {
  return error instanceof RefusedError ? error.failure : toErrorResponse(error, Object.fromEntries(sent));
}

/**
 * Runs the work of a form. After a refusal, it shows the form again with the submitted values and the mistake.
 * @param explain returns the page's own sentence for a refusal; undefined for the usual one
 */
export async function showFormOnRefusal(
  { view: { t }, query }: PageCall,
  sent: URLSearchParams,
  work: () => Promise<PageResponse>,
  show: (form: FormState) => Promise<PageResponse> | PageResponse,
  explain: (refused: ErrorResponse) => string | undefined = () => undefined,
): Promise<PageResponse> {
  try {
    return await work();
  } catch (error) {
    const refused = refusalOf(error, sent);
    if (refused === undefined || refused.status === 404 || refused.error.code === 'SIGN_IN_AGAIN')
      throw error;
    const failure = toFormFailure(t, { ...refused, field: refused.error.field });
    const form = isUnderWay(refused)
      ? // Keep the form's id, so that sending it again does not repeat the work.
        formState(
          sent,
          { field: undefined, sentence: t.common.errors.underWay },
          formIdempotencyKey(sent, query),
        )
      : formState(sent, { ...failure, sentence: explain(refused) ?? failure.sentence });
    const shown = await show(form);
    return 'page' in shown ? { ...shown, status: refused.status } : shown;
  }
}

/** Returns a form's one-time id, which an upload has in its address. */
function formIdempotencyKey(sent: URLSearchParams, query: URLSearchParams): string | undefined {
  return sent.get('once') ?? query.get('once') ?? undefined;
}

/**
 * Runs the work of a form that deletes. A second submission finds nothing to delete, and leads to the same page.
 * @param to the path of that page
 */
export async function redirectIfDeleted(
  to: string,
  work: () => Promise<PageResponse>,
): Promise<PageResponse> {
  try {
    return await work();
  } catch (error) {
    if (toErrorResponse(error, {})?.status !== 404) throw error;
    return { to };
  }
}

/** Returns the named fields that are not blank. */
export function nonEmptyFields(sent: URLSearchParams, ...names: string[]): Record<string, string> {
  const given = names.map((name) => [name, sent.get(name)?.trim() ?? ''] as const);
  return Object.fromEntries(given.filter(([, text]) => text !== ''));
}
