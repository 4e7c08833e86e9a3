import type { Readable } from 'node:stream';
import type { Static, TNever, TObject, TProperties, TSchema, TUndefined } from '@sinclair/typebox';
import type { Caller, Scope } from '../../access/caller';
import type { UpdateXmlState } from '../../joomla/follow-xml';
import type { ChangeContext } from '../../licensing/lifecycle';
import type { OperatorLanguage } from '../../texts/operators/languages';
import type { Db } from '../../licensing/licensing';
import { bodyReader, formReader, queryReader, type Reader } from './read-input';
import type { ManageSettings } from '../settings';
import type { UploadRules } from './upload';

/**
 * What a seller can do, each a value that is declared once: reading, types and `openapi.json` come from its schemas. The API
 * mounts it, the pages and the command call it. It calls one function of the domain and maps the result.
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
  /** of who reads the answer */
  language: OperatorLanguage;
  /** aborted when nobody waits for the answer any more */
  gone: AbortSignal;
  /** told how much is done of what takes long */
  onProgress?: ((done: number, total?: number) => void) | undefined;
  /** lets a product's update XML follow the change, for a door that says more of it than its state or writes it elsewhere */
  followXml?: ((productId: number) => Promise<UpdateXmlState>) | undefined;
}

export interface Answer<Data = unknown> {
  /** the operation's own unless given */
  status?: number;
  data: Data;
  /** of a list: the cursor of the next page; null: there is none */
  next?: string | null;
}

/** A file that an operation answers with; its type is declared. */
export interface FileAnswer {
  name: string;
  /** bytes */
  size: number;
  bytes: Readable;
}

interface Terms<Adds extends TProperties> {
  summary: string;
  description?: string;
  /** `read` may not call an operation for `write`; by default GET is for `read`, the others for `write` */
  scope?: Exclude<Scope, 'issue'>;
  /** a shop's token (`issue`) may call it too */
  forShops?: boolean;
  /** a session may call it although its sign-in is more than an hour ago */
  goesOn?: true;
  /** the same, but with this alone, as a part of a sentence; else it asks by itself (`requireRecentSignIn`) */
  goesOnWith?: string;
  /** the body is a file, or a form with it; the fields of `query` may stand in the form too. The call's body is `{ file }` */
  upload?: UploadTerms;
  /** the type of a file that is its answer */
  sendsFile?: string;
  /** by default 200, or 204 without data */
  status?: number;
  /** another status with the same form of answer, and when it is given */
  otherStatus?: { status: number; when: string };
  /** false: it may take longer than a request's deadline */
  hasDeadline?: boolean;
  afterCommit?: AfterCommit<Adds>;
}

export interface UploadTerms {
  /** of the file alone */
  types: string[];
  /** parts of the form that are files beside it, and what they are; the call's body has them by their names */
  others?: Record<string, string>;
  rules: (settings: ManageSettings) => UploadRules<unknown>;
  /** refuses a call for what its address says, before the file is sent */
  before?: (call: Call) => Promise<void>;
}

/** What has to follow a change once it is committed, each time it is answered. */
export interface AfterCommit<Adds extends TProperties = TProperties> {
  /** of the data with what it adds */
  title: string;
  adds: Adds;
  perform: (call: Call, data: object) => Promise<Static<TObject<Adds>>>;
}

/** What is said of an operation besides its method, path and work: the fields of its query, of its JSON body, and its data. */
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
  /** below `P/manage`, such as `/licenses/{id}` */
  path: string;
  summary: string;
  description: string | undefined;
  scope: Exclude<Scope, 'issue'>;
  forShops: boolean;
  /** a browser must have signed in within the hour */
  asksAgain: boolean;
  goesOnWith: string | undefined;
  query: TSchema | undefined;
  body: TSchema | undefined;
  /** @throws ManageError that names the wrong field; as the two below */
  readQuery: (query: URLSearchParams) => object;
  /** reads JSON */
  readBody: Reader;
  /** reads a form of the pages, whose fields are texts, as the same body */
  readForm: Reader;
  upload: UploadTerms | undefined;
  sendsFile: string | undefined;
  status: number;
  otherStatus: { status: number; when: string } | undefined;
  hasDeadline: boolean;
  afterCommit: AfterCommit | undefined;
  isList: boolean;
  /** of `data` in the answer, or of each of a list; undefined: no content */
  data: TSchema | undefined;
  run(call: Call<Query, Body>): Promise<Answer<Data>>;
}

/** The body that an operation takes. */
export type BodyOf<One> = One extends Operation<never, infer Body> ? Body : never;

/** What an operation answers. */
export type DataOf<One> = One extends Operation<never, never, infer Data> ? Data : never;

/** What an operation without a schema of its own answers, and takes. */
type Nothing = TUndefined;

/** Of the data and what follows the commit. */
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
    run: (call: Call<Static<Q>, Static<B>>) => Promise<Answer<Static<D>>>,
  ): Operation<Static<Q>, Static<B>, Answered<D, Adds>> =>
    declare(method, path, declared, run as (call: Call) => Promise<Answer<never>>);

export const get = one('get');
export const post = one('post');
export const put = one('put');
export const patch = one('patch');

/** A DELETE, which the API answers without content. The command shows what was removed. */
export function remove<Removed, Q extends TSchema = TNever>(
  path: string,
  declared: Declared<Q, TNever, Nothing, TProperties>,
  run: (call: Call<Static<Q>>) => Promise<Removed>,
): Operation<Static<Q>, never, Removed> {
  return declare('delete', path, declared, async (call: Call<Static<Q>>) => ({ data: await run(call) }));
}

/** A GET whose answer is a file of this type. */
export function file<Q extends TSchema = TNever>(
  path: string,
  type: string,
  declared: Declared<Q, TNever, Nothing, TProperties>,
  run: (call: Call<Static<Q>>) => Promise<FileAnswer>,
): Operation<Static<Q>, never, FileAnswer> {
  const terms = { ...declared, sendsFile: type, hasDeadline: false };
  return declare('get', path, terms, async (call: Call<Static<Q>>) => ({ data: await run(call) }));
}

/** A GET whose answer is a list. */
export function list<D extends TSchema, Q extends TSchema = TNever>(
  path: string,
  declared: Declared<Q, TNever, D, TProperties>,
  run: (call: Call<Static<Q>>) => Promise<{ data: Static<D>[]; next: string | null }>,
): Operation<Static<Q>, never, Static<D>[]> {
  return declare('get', path, declared, run, true);
}

function declare<Query, Body, Data>(
  method: Method,
  path: string,
  { goesOn, goesOnWith, ...declared }: Declared<TSchema, TSchema, TSchema, TProperties>,
  run: (call: Call<Query, Body>) => Promise<Answer<Data>>,
  isList = false,
): Operation<Query, Body, Data> {
  const scope = declared.scope ?? (method === 'get' ? 'read' : 'write');
  const { query, body, data } = declared;
  return {
    description: undefined,
    forShops: false,
    asksAgain: method !== 'get' && scope === 'write' && goesOnWith === undefined && goesOn !== true,
    goesOnWith,
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
