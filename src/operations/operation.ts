import type { Static, TNever, TSchema } from '@sinclair/typebox';
import type { Caller, Scope } from '../access/caller';
import type { ChangeContext } from '../licensing/lifecycle';
import type { Db } from '../store/database';
import type { Context } from '../http/context';
import { bodyReader, formReader, queryReader, type Reader } from './read-input';
import type { ManageSettings } from './settings';
import { OPERATIONS_GO_ON, OPERATIONS_GO_ON_WITH } from './sign-in-again';
import type { UploadRules } from '../http/api/upload';

/**
 * An operation of the operator's API is declared once: reading, types and `openapi.json` come from its schemas. Its
 * handler calls one function of the domain and maps the result.
 */

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

export interface Call<Query = unknown, Body = unknown> {
  /** with an `Idempotency-Key`: the transaction that also stores the answer */
  db: Db;
  caller: Caller;
  now: Date;
  /** for changes: the caller's name in the history, and the time */
  context: ChangeContext;
  /** the parts of the path, by name */
  path: Record<string, string>;
  query: Query;
  body: Body;
  settings: ManageSettings;
  ctx: Context;
}

export interface Answer<Data = unknown> {
  /** the operation's own unless given */
  status?: number;
  data: Data;
  /** of a list: the cursor of the next page; null: there is none */
  next?: string | null;
}

interface Terms {
  summary: string;
  description?: string;
  /** `read` may not call an operation for `write`; by default GET is for `read`, the others for `write` */
  scope?: Exclude<Scope, 'issue'>;
  /** a shop's token (`issue`) may call it too */
  forShops?: boolean;
  /** the body is a file, or a form with it; the fields of `query` may stand in the form too. The call's body is `{ file }` */
  upload?: UploadTerms;
  /** the type of a file that the handler sends instead of data */
  sendsFile?: string;
  /** by default 200, or 204 without data */
  status?: number;
  /** another status with the same form of answer, and when it is given */
  otherStatus?: { status: number; when: string };
  /** false: it may take longer than a request's deadline */
  hasDeadline?: boolean;
  afterCommit?: AfterCommit;
}

export interface UploadTerms {
  /** of the file alone */
  types: string[];
  rules: (settings: ManageSettings) => UploadRules<unknown>;
}

/** What has to follow a change once it is committed, each time it is answered. */
export interface AfterCommit {
  /** of the data with what it adds */
  title: string;
  adds: Record<string, TSchema>;
  perform: (call: Call, data: object) => Promise<object>;
}

/** What is said of an operation besides its method, path and handler: the fields of its query, of its JSON body, and its data. */
interface Declared<Q extends TSchema, B extends TSchema, D extends TSchema> extends Terms {
  query?: Q;
  body?: B;
  data?: D;
}

export interface Operation {
  method: Method;
  /** below `P/manage`, such as `/licenses/{id}` */
  path: string;
  summary: string;
  description: string | undefined;
  scope: Exclude<Scope, 'issue'>;
  forShops: boolean;
  /** a browser must have signed in within the hour (`sign-in-again.ts`) */
  asksAgain: boolean;
  /** it asks but with this, as a part of a sentence */
  goesOnWith: string | undefined;
  query: TSchema | undefined;
  body: TSchema | undefined;
  /** @throws ManageError that names the wrong field; as the two below */
  readQuery: (query: URLSearchParams) => object;
  /** reads JSON */
  readBody: Reader;
  /** reads a form of the pages, whose fields are texts, as the same body */
  readForm: Reader;
  upload: Terms['upload'];
  sendsFile: Terms['sendsFile'];
  status: number;
  otherStatus: Terms['otherStatus'];
  hasDeadline: boolean;
  afterCommit: Terms['afterCommit'];
  isList: boolean;
  /** of `data` in the answer, or of each of a list; undefined: no content */
  data: TSchema | undefined;
  handle: (call: Call) => Promise<Answer>;
}

const one =
  (method: Method) =>
  <Q extends TSchema = TNever, B extends TSchema = TNever, D extends TSchema = TNever>(
    path: string,
    declared: Declared<Q, B, D>,
    handle: (call: Call<Static<Q>, Static<B>>) => Promise<Answer<Static<D>>>,
  ): Operation =>
    declare(method, path, false, declared, handle);

export const get = one('get');
export const post = one('post');
export const put = one('put');
export const patch = one('patch');

/** A DELETE, answered without content. */
export function remove<Q extends TSchema = TNever>(
  path: string,
  declared: Declared<Q, TNever, TNever>,
  handle: (call: Call<Static<Q>>) => Promise<unknown>,
): Operation {
  return declare('delete', path, false, declared, async (call) => {
    await handle(call);
    return { data: undefined };
  });
}

/** A GET whose answer is a file of this type, which the handler sends. */
export function file<Q extends TSchema = TNever>(
  path: string,
  type: string,
  declared: Declared<Q, TNever, TNever>,
  handle: (call: Call<Static<Q>>) => Promise<unknown>,
): Operation {
  const terms = { ...declared, sendsFile: type, hasDeadline: false };
  return declare('get', path, false, terms, async (call) => {
    await handle(call);
    return { data: undefined };
  });
}

/** A GET whose answer is a list. */
export function list<D extends TSchema, Q extends TSchema = TNever>(
  path: string,
  declared: Declared<Q, TNever, D>,
  handle: (call: Call<Static<Q>>) => Promise<{ data: Static<D>[]; next: string | null }>,
): Operation {
  return declare('get', path, true, declared, handle);
}

function declare(
  method: Method,
  path: string,
  isList: boolean,
  {
    data,
    query,
    body,
    upload,
    description,
    sendsFile,
    otherStatus,
    afterCommit,
    ...terms
  }: Declared<TSchema, TSchema, TSchema>,
  handle: Operation['handle'],
): Operation {
  const scope = terms.scope ?? (method === 'get' ? 'read' : 'write');
  const name = `${method.toUpperCase()} ${path}`;
  const goesOnWith = OPERATIONS_GO_ON_WITH.get(name);
  return {
    forShops: false,
    asksAgain:
      method !== 'get' && scope === 'write' && goesOnWith === undefined && !OPERATIONS_GO_ON.has(name),
    goesOnWith,
    status: data === undefined ? 204 : 200,
    hasDeadline: true,
    ...terms,
    ...{ scope, method, path, isList, query, body, upload, data, description, sendsFile, otherStatus },
    ...{ afterCommit, handle },
    readQuery: queryReader(query),
    readBody: bodyReader(body),
    readForm: formReader(body),
  };
}
