import type { Readable } from 'node:stream';
import type { Static, TNever, TObject, TProperties, TSchema, TUndefined } from '@sinclair/typebox';
import type { Caller, Scope } from '../../access/caller';
import type { UpdateXmlState } from '../../joomla/regenerate-update-xml';
import type { ChangeContext } from '../../licensing/lifecycle';
import type { OperatorLanguage } from '../../texts/operators/languages';
import type { Db } from '../../licensing/licensing';
import { bodyReader, formReader, queryReader, type Reader } from './read-input';
import type { ManageSettings } from '../settings';
import type { UploadRules } from './upload';

/**
 * Declares operations. An operation is something that a seller can do, declared once: reading, types and `openapi.json`
 * follow from its schemas. The API mounts it, the pages and the command call it. It calls one domain function.
 */

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

export interface OperationCall<Query = unknown, Body = unknown> {
  /** the connection; with an `Idempotency-Key`, the transaction that also stores the answer */
  db: Db;
  caller: Caller;
  now: Date;
  /** the caller's name in the history and the time, for changes */
  context: ChangeContext;
  /** the parameters of the path by name */
  path: Record<string, string>;
  query: Query;
  body: Body;
  settings: ManageSettings;
  /** the language of the reader of the answer */
  language: OperatorLanguage;
  /** aborted when the caller no longer waits for the answer */
  gone: AbortSignal;
  /** receives the progress of a long operation */
  onProgress?: ((done: number, total?: number) => void) | undefined;
  /** updates a product's update XML after the change, for a caller that reports more about it or writes it elsewhere */
  followXml?: ((productId: number) => Promise<UpdateXmlState>) | undefined;
}

export interface OperationResult<Data = unknown> {
  /** the operation's own status by default */
  status?: number;
  data: Data;
  /** the cursor of a list's next page; null if this is the last one */
  next?: string | null;
}

/** A file that an operation answers with. The operation declares its type. */
export interface FileAnswer {
  name: string;
  /** the size in bytes; undefined if it is not known before all is read */
  size?: number;
  bytes: Readable | Buffer;
}

interface Terms<Adds extends TProperties> {
  summary: string;
  description?: string;
  /** the scope that is required; by default `read` for GET, and `write` for the others */
  scope?: Exclude<Scope, 'issue'>;
  /** true if a shop's token (`issue`) may also call it */
  forShops?: boolean;
  /** true if a session may call it although its sign-in is more than an hour ago */
  needsNoRecentSignIn?: true;
  /**
   * like `needsNoRecentSignIn`, but only with this part of a sentence; otherwise the operation asks (`requireRecentSignIn`)
   */
  noRecentSignInWith?: string;
  /** for a body that is a file, or a form with a file and the fields of `query`; the call's body is `{ file }` */
  upload?: UploadTerms;
  /** the type of the answer if it is a file */
  sendsFile?: string;
  /** by default 200, or 204 without data */
  status?: number;
  /** another status with the same form of answer, and its condition */
  otherStatus?: { status: number; when: string };
  /** false if it may take longer than a request's deadline */
  hasDeadline?: boolean;
  afterCommit?: AfterCommit<Adds>;
}

export interface UploadTerms {
  /** the types of a body that is only the file */
  types: string[];
  /** further parts of the form that are files, with descriptions; the call's body has them by name */
  others?: Record<string, string>;
  rules: (settings: ManageSettings) => UploadRules<unknown>;
  /** refuses a call because of its address, before the file is sent */
  before?: (call: OperationCall) => Promise<void>;
}

/** The work that follows the commit of a change, even if a stored answer is repeated. */
export interface AfterCommit<Adds extends TProperties = TProperties> {
  /** the title of the data together with the additions */
  title: string;
  adds: Adds;
  perform: (call: OperationCall, data: object) => Promise<Static<TObject<Adds>>>;
}

/** The declaration of an operation: the fields of its query, of its JSON body and of its data. */
interface Declared<
  Q extends TSchema,
  B extends TSchema,
  D extends TSchema,
  Adds extends TProperties,
> extends Terms<Adds> {
  query?: Q;
  body?: B;
  data?: D;
}

export interface Operation<Query = unknown, Body = unknown, Data = unknown> {
  method: Method;
  /** the path below `P/manage`, such as `/licenses/{id}` */
  path: string;
  summary: string;
  description: string | undefined;
  scope: Exclude<Scope, 'issue'>;
  forShops: boolean;
  /** true if a browser's sign-in must be at most an hour old */
  needsRecentSignIn: boolean;
  noRecentSignInWith: string | undefined;
  query: TSchema | undefined;
  body: TSchema | undefined;
  /** reads the query, like the two readers below @throws OperationError with the wrong field */
  readQuery: (query: URLSearchParams) => object;
  /** reads a JSON body */
  readBody: Reader;
  /** reads the same body from a form of the pages, whose fields are texts */
  readForm: Reader;
  upload: UploadTerms | undefined;
  sendsFile: string | undefined;
  status: number;
  otherStatus: { status: number; when: string } | undefined;
  hasDeadline: boolean;
  afterCommit: AfterCommit | undefined;
  isList: boolean;
  /** the schema of `data` in the answer, or of a list's items; undefined if the answer has no content */
  data: TSchema | undefined;
  run(call: OperationCall<Query, Body>): Promise<OperationResult<Data>>;
}

/** The body of an operation. */
export type BodyOf<One> = One extends Operation<never, infer Body> ? Body : never;

/** The data in an operation's answer. */
export type DataOf<One> = One extends Operation<never, never, infer Data> ? Data : never;

/** The body and data of an operation without schemas. */
type Nothing = TUndefined;

/** The type of the data with the additions after the commit. */
type Answered<D extends TSchema, Adds extends TProperties> = [Adds] extends [never]
  ? Static<D>
  : Static<D> & Static<TObject<Adds>>;

const one =
  (method: Method) =>
  <
    Q extends TSchema = TNever,
    B extends TSchema = TNever,
    D extends TSchema = Nothing,
    Adds extends TProperties = never,
  >(
    path: string,
    declared: Declared<Q, B, D, Adds>,
    run: (call: OperationCall<Static<Q>, Static<B>>) => Promise<OperationResult<Static<D>>>,
  ): Operation<Static<Q>, Static<B>, Answered<D, Adds>> =>
    declare(method, path, declared, run as (call: OperationCall) => Promise<OperationResult<never>>);

export const get = one('get');
export const post = one('post');
export const put = one('put');
export const patch = one('patch');

/** Declares a DELETE, which the API answers without content. The command shows the deleted thing. */
export function remove<Removed, Q extends TSchema = TNever>(
  path: string,
  declared: Declared<Q, TNever, Nothing, TProperties>,
  run: (call: OperationCall<Static<Q>>) => Promise<Removed>,
): Operation<Static<Q>, never, Removed> {
  return declare('delete', path, declared, async (call: OperationCall<Static<Q>>) => ({
    data: await run(call),
  }));
}

/** Declares a GET whose answer is a file of this type. */
export function file<Q extends TSchema = TNever>(
  path: string,
  type: string,
  declared: Declared<Q, TNever, Nothing, TProperties>,
  run: (call: OperationCall<Static<Q>>) => Promise<FileAnswer>,
): Operation<Static<Q>, never, FileAnswer> {
  const terms = { ...declared, sendsFile: type, hasDeadline: false };
  return declare('get', path, terms, async (call: OperationCall<Static<Q>>) => ({ data: await run(call) }));
}

/** Declares a GET whose answer is a list. */
export function list<D extends TSchema, Q extends TSchema = TNever>(
  path: string,
  declared: Declared<Q, TNever, D, TProperties>,
  run: (call: OperationCall<Static<Q>>) => Promise<{ data: Static<D>[]; next: string | null }>,
): Operation<Static<Q>, never, Static<D>[]> {
  return declare('get', path, declared, run, true);
}

function declare<Query, Body, Data>(
  method: Method,
  path: string,
  { needsNoRecentSignIn, noRecentSignInWith, ...declared }: Declared<TSchema, TSchema, TSchema, TProperties>,
  run: (call: OperationCall<Query, Body>) => Promise<OperationResult<Data>>,
  isList = false,
): Operation<Query, Body, Data> {
  const scope = declared.scope ?? (method === 'get' ? 'read' : 'write');
  const { query, body, data } = declared;
  return {
    description: undefined,
    forShops: false,
    needsRecentSignIn:
      method !== 'get' &&
      scope === 'write' &&
      noRecentSignInWith === undefined &&
      needsNoRecentSignIn !== true,
    noRecentSignInWith,
    upload: undefined,
    sendsFile: undefined,
    status: data === undefined ? 204 : 200,
    otherStatus: undefined,
    hasDeadline: true,
    afterCommit: undefined,
    ...declared,
    method,
    path,
    scope,
    isList,
    query,
    body,
    data,
    readQuery: queryReader(query),
    readBody: bodyReader(body),
    readForm: formReader(body),
    run,
  };
}
