import type { TSchema } from '@sinclair/typebox';
import { copyConfig, packageRoot, type Config } from '../settings/config';
import { runInProcessChecks } from '../doctor/examine';
import { OperatorError } from '../licensing/operator-error';
import { letterheadOf } from '../mail/compose';
import { mailingOf } from '../mail/queue';
import { OperationError } from '../operations/kit/failures';
import type { OperationCall, Operation } from '../operations/kit/operation';
import { perform, type OperationInput } from '../operations/kit/perform';
import { serviceGainsNoRights } from '../process/units';
import type { ManageSettings } from '../operations/settings';
import { EXPLICIT_NULL, oneOf, usageError, wholeNumber } from './arguments';
import type { Session } from './command';
import type { Db } from '../licensing/licensing';
import { optionOf } from './hints';
import { ownFiles } from './output-file';

export type { BodyOf, DataOf } from '../operations/kit/operation';

/** Commands change and list data through the operations of the API. */

/** The input of an operation. Undefined fields are left out. */
interface Wanted<Query, Body> {
  /** the parameters in the operation's path */
  path?: Record<string, string | number>;
  query?: { [Name in keyof Query]?: Query[Name] | undefined };
  body?: { [Name in keyof Body]?: Body[Name] | typeof EXPLICIT_NULL | undefined };
  onProgress?: OperationCall['onProgress'];
  followXml?: OperationCall['followXml'];
  /** the address of the shop's API (ManageSettings) */
  shopApiUrl?: string | undefined;
}

/** Performs an operation for the operator in the shell. @returns its `data` @throws CommanderError, OperatorError */
export async function operate<Query, Body, Data>(
  session: Session,
  operation: Operation<Query, Body, Data>,
  wanted: Wanted<Query, Body> = {},
): Promise<Data> {
  return (await operateWithStatus(session, operation, wanted)).data;
}

/** Like `operate`, but also returns the answer's status: 200 instead of 201 if the thing already existed. */
export async function operateWithStatus<Query, Body, Data>(
  session: Session,
  operation: Operation<Query, Body, Data>,
  wanted: Wanted<Query, Body> = {},
): Promise<{ status: number; data: Data }> {
  const { status, body } = await request(session, operation, wanted);
  return { status, data: (body as { data: Data } | undefined)?.data as Data };
}

/** The maximum page size in the schemas of lists. */
const PAGE = 500;

/** Lists all items, or the first `most` of them. */
export async function operateAll<Query, Item>(
  session: Session,
  operation: Operation<Query, never, Item[]>,
  wanted: Wanted<Query, never> = {},
  most = Infinity,
): Promise<Item[]> {
  const all: Item[] = [];
  for (let after: string | null | undefined; after !== null && all.length < most;) {
    const query = { ...wanted.query, limit: Math.min(PAGE, most - all.length), after } as object;
    const { items, next } = await operatePage(session, operation, { ...wanted, query });
    all.push(...items);
    after = next;
  }
  return all;
}

/** Lists a page of items. */
export async function operatePage<Query, Item>(
  session: Session,
  operation: Operation<Query, never, Item[]>,
  wanted: Wanted<Query, never>,
): Promise<{ items: Item[]; next: string | null }> {
  const { body } = await request(session, operation, wanted);
  const { data, next } = body as { data: Item[]; next: string | null };
  return { items: data, next };
}

async function request(
  session: Session,
  operation: Operation<never, never>,
  { path = {}, query = {}, body = {}, onProgress, followXml, shopApiUrl }: Wanted<unknown, unknown>,
) {
  const { db, config, now, name, actor } = session;
  const given: OperationInput = { query: {}, body: {} };
  const asked = {
    caller: { scope: 'write' as const, name, actor, tokenId: null, joomlaUserId: null, credential: '' },
    path: textsOf(path),
    query: new URLSearchParams(pairsOf(query)),
    readSent: operation.upload ? undefined : () => operation.readBody(defined(body)),
    receive: () => Promise.reject(new Error('No command uploads by an operation.')),
    language: 'en' as const,
    // A signal that never aborts, because Ctrl-C ends the process.
    gone: new AbortController().signal,
    sentText: () => '',
    once: undefined,
    checkAgain: () => Promise.resolve(),
    onProgress,
    followXml,
  };
  const settings = settingsOf(config, db, now);
  if (shopApiUrl !== undefined) settings.shopApiUrl = shopApiUrl;
  try {
    return await perform(operation, asked, given, { db, now: () => now, settings });
  } catch (error) {
    throw error instanceof OperationError ? inWordsOfCommand(session, operation, error) : error;
  }
}

function settingsOf(config: Config, db: Db, now: Date): ManageSettings {
  return Object.assign(copyConfig(config), {
    mailing: mailingOf(config),
    letterhead: letterheadOf(config),
    updateXml: config,
    ownFiles: ownFiles(config),
    programFolder: packageRoot,
    examine: () => runInProcessChecks(config, db, () => now),
    config,
    // Do nothing: the command ends, and the next one reads the settings again.
    refresh: () => Promise.resolve(),
    mailGainsNoRights: serviceGainsNoRights,
  });
}

function defined(fields: object): Record<string, unknown> {
  const given = Object.entries(fields as Record<string, unknown>).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, value === EXPLICIT_NULL ? null : value]));
}

function textsOf(fields: object): Record<string, string> {
  return Object.fromEntries(Object.entries(defined(fields)).map(([name, value]) => [name, String(value)]));
}

/** Returns the fields of a query. A list is a field for each of its values. */
function pairsOf(query: object): [string, string][] {
  return Object.entries(defined(query)).flatMap(([name, value]) =>
    [value].flat().map((one): [string, string] => [name, String(one)]),
  );
}

/** Replaces the names of fields with those of options. A wrong field is a usage error, any other failure a refusal. */
function inWordsOfCommand(
  { command }: Session,
  { query, body }: Operation<never, never>,
  { code, message, options: { field } }: OperationError,
): unknown {
  const names = [query, body].flatMap((schema) => Object.keys(propertiesOf(schema)));
  const text = names.reduce((said, name) => said.replaceAll(`"${name}"`, `--${optionOf(name)}`), message);
  if (code !== 'INVALID_REQUEST')
    return new OperatorError(text, {
      code: code === 'NOT_FOUND' || code === 'CONFLICT' ? code : 'REFUSED',
      field,
    });
  const option = field === undefined ? undefined : optionOf(field);
  return usageError(
    command,
    option === undefined || text.startsWith(`--${option}`) ? text : `--${option}: ${text}`,
    option,
  );
}

function propertiesOf(schema: TSchema | undefined): Record<string, TSchema> {
  return (schema as { properties?: Record<string, TSchema> } | undefined)?.properties ?? {};
}

/** Returns a reader for an option that fills an operation's field: one of its words, or a whole number. */
export function parseFieldValue<Body, Name extends keyof Body & string>(
  { body }: Operation<never, Body>,
  name: Name,
): (text: string) => NonNullable<Body[Name]> {
  const schema = propertiesOf(body)[name] as { enum?: string[]; minimum?: number; maximum?: number };
  const { enum: words, minimum: least = 0, maximum: most } = schema;
  const read = words === undefined ? (text: string) => wholeNumber(text, { least, most }) : oneOf(words);
  return read as (text: string) => NonNullable<Body[Name]>;
}

/** Returns an operation's fields from commander's options: `activation_limit` from `--activation-limit`. */
export function optionFields<Body>({ body }: Operation<never, Body>, options: object): Partial<Body> {
  const given = options as Record<string, unknown>;
  return Object.fromEntries(
    Object.keys(propertiesOf(body)).map((field) => {
      const option = optionOf(field).replace(/-[a-z]/g, ([, letter = '']) => letter.toUpperCase());
      return [field, given[option]];
    }),
  ) as Partial<Body>;
}
