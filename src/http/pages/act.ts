import { setTimeout as sleep } from 'node:timers/promises';
import { ManageError, toFailure, type Failure } from '../../operations/kit/failures';
import type { Operation } from '../../operations/kit/operation';
import { perform, requireRight, type Given, type Request } from '../../operations/kit/perform';
import type { Upload, UploadRules } from '../../operations/kit/upload';
import { requestOf } from '../api/endpoint';
import { formState, toFormFailure, type FormState } from './form-state';
import type { Answer, OperatorCall, PageCall } from './page';

export type { BodyOf, DataOf } from '../../operations/kit/operation';

/** What the pages' forms do: operations, with what was typed. */

/** An operation's fields, as texts of the form or as values; undefined: not given. */
export type Fields<Body> = { [Name in keyof Body]?: Body[Name] | string | undefined };

interface Wanted<Body> {
  /** the parts of the operation's path */
  path?: Record<string, string | number>;
  query?: URLSearchParams;
  body?: Fields<Body>;
  /** an upload that the page has read; undefined: the operation reads the request's body */
  received?: Upload<unknown>;
  /** changes what an upload's form says */
  amend?: (fields: Record<string, string>) => Record<string, string>;
}

/**
 * Performs an operation: once for each form that is shown, so that a double click or a reload does not repeat it.
 * @returns `data` of its answer
 * @throws ManageError, and what the domain throws
 */
export async function act<Query, Body, Data>(
  call: OperatorCall,
  sent: URLSearchParams,
  operation: Operation<Query, Body, Data>,
  wanted: Wanted<Body> = {},
): Promise<Data> {
  return (await actWithStatus(call, sent, operation, wanted)).data;
}

/** The same, with the status of the answer: 200 instead of 201 where what is asked for was there already. */
export async function actWithStatus<Query, Body, Data>(
  call: OperatorCall,
  sent: URLSearchParams,
  operation: Operation<Query, Body, Data>,
  { path = {}, query = new URLSearchParams(), body, received, amend = (fields) => fields }: Wanted<Body> = {},
): Promise<{ status: number; data: Data }> {
  const { ctx, caller } = call;
  requireRight(caller, operation, call.at);
  const once = onceOf(sent, call.query);
  const given: Given = { query: {}, body: {} };
  let refused: Failure | undefined;
  const fields = Object.fromEntries(Object.entries(body ?? {}).filter(([, value]) => value !== undefined));
  const name = `${operation.method.toUpperCase()} ${operation.path}`;
  const address = JSON.stringify([name, path, String(query)]);
  const { receive, ...about } = requestOf(ctx);
  const request: Request = {
    ...about,
    caller,
    path: Object.fromEntries(Object.entries(path).map(([part, value]) => [part, String(value)])),
    query,
    // A copy, because reading turns its texts into values.
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
    onRefused: (failure: Failure) => void (refused = failure),
  };
  const work = () => perform(operation, request, given, call);
  const { status, body: answer } = await afterTheFirst(work).finally(() => {
    // The operation has read an upload's form, which shows these again when it is refused.
    if (operation.upload)
      for (const [field, value] of Object.entries(given.query)) sent.set(field, String(value));
  });
  if (refused !== undefined) throw new RefusedError(refused);
  if (answer !== undefined && 'error' in answer) {
    const { code, message, field } = (answer as { error: Failure['error'] }).error;
    throw new ManageError(code, message, { field });
  }
  return { status, data: (answer as { data: Data } | undefined)?.data as Data };
}

/** How long the second of two clicks waits for what the first one does: less than a request's deadline. */
const WAIT_MS = 3_000;
const LOOK_EVERY_MS = 100;

/** Waits while the same form, sent before, is still under way: its answer is this one's as well. */
async function afterTheFirst<T>(work: () => Promise<T>): Promise<T> {
  for (const end = performance.now() + WAIT_MS; ; await sleep(LOOK_EVERY_MS))
    try {
      return await work();
    } catch (error) {
      if (!isUnderWay(toFailure(error, {})) || performance.now() > end) throw error;
    }
}

/** Whether a form was refused only because it was sent before and is not done yet. */
function isUnderWay(refused: Failure | undefined): boolean {
  return refused?.error.code === 'CONFLICT' && refused.retryAfter !== undefined;
}

/** A refusal that was read already. */
class RefusedError extends Error {
  constructor(readonly failure: Failure) {
    super(failure.error.message);
  }
}

/** The refusal that an error means; undefined: a fault. */
export function refusalOf(error: unknown, sent: URLSearchParams): Failure | undefined {
  return error instanceof RefusedError ? error.failure : toFailure(error, Object.fromEntries(sent));
}

/**
 * Does what a form asks. A refusal shows the form again, with what was typed and what is wrong with it.
 * @param explain the page's own sentence for a refusal; undefined: the usual one
 */
export async function attempt(
  { view: { t }, query }: PageCall,
  sent: URLSearchParams,
  work: () => Promise<Answer>,
  show: (form: FormState) => Promise<Answer> | Answer,
  explain: (refused: Failure) => string | undefined = () => undefined,
): Promise<Answer> {
  try {
    return await work();
  } catch (error) {
    const refused = refusalOf(error, sent);
    if (refused === undefined || refused.status === 404 || refused.error.code === 'SIGN_IN_AGAIN')
      throw error;
    const failure = toFormFailure(t, { ...refused, field: refused.error.field });
    const form = isUnderWay(refused)
      ? // With its id, so that sending it once more does not do it twice.
        formState(sent, { field: undefined, sentence: t.common.errors.underWay }, onceOf(sent, query))
      : formState(sent, { ...failure, sentence: explain(refused) ?? failure.sentence });
    const shown = await show(form);
    return 'page' in shown ? { ...shown, status: refused.status } : shown;
  }
}

/** A form's one-time id: an upload has it in its address. */
function onceOf(sent: URLSearchParams, query: URLSearchParams): string | undefined {
  return sent.get('once') ?? query.get('once') ?? undefined;
}

/**
 * What a form that deletes does. Sent twice, the second finds nothing to delete and leads to where the first did.
 * @param to where that is
 */
export async function unlessGone(to: string, work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work();
  } catch (error) {
    if (toFailure(error, {})?.status !== 404) throw error;
    return { to };
  }
}

/** Fields of a form that are filled in, by name. */
export function filled(sent: URLSearchParams, ...names: string[]): Record<string, string> {
  const given = names.map((name) => [name, sent.get(name)?.trim() ?? ''] as const);
  return Object.fromEntries(given.filter(([, text]) => text !== ''));
}
