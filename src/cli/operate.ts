import type { TSchema } from '@sinclair/typebox';
import { copyConfig, packageRoot, type Config } from '../settings/config';
import { examineFromWithin } from '../doctor/examine';
import { OperatorError } from '../licensing/operator-error';
import { letterheadOf } from '../mail/compose';
import { mailingOf } from '../mail/queue';
import { ManageError } from '../operations/kit/failures';
import type { Call, Operation } from '../operations/kit/operation';
import { perform, type Given } from '../operations/kit/perform';
import { serviceGainsNoRights } from '../process/units';
import type { ManageSettings } from '../operations/settings';
import { NOTHING, oneOf, usageError, wholeNumber } from './arguments';
import type { Session } from './command';
import type { Db } from '../licensing/licensing';
import { optionOf } from './hints';
import { ownFiles } from './output-file';

export type { BodyOf, DataOf } from '../operations/kit/operation';

/** What commands do, and list, goes through the operations of the API. */

/** Undefined fields are not given. */
interface Wanted<Query, Body> {
  /** the parts of the operation's path */
  path?: Record<string, string | number>;
  query?: { [Name in keyof Query]?: Query[Name] | undefined };
  body?: { [Name in keyof Body]?: Body[Name] | typeof NOTHING | undefined };
  onProgress?: Call['onProgress'];
  followXml?: Call['followXml'];
  /** see ManageSettings */
  shopApiUrl?: string | undefined;
}

/** Performs an operation as the operator at the shell. @returns `data` of its answer @throws CommanderError, OperatorError */
export async function operate<Query, Body, Data>(
  session: Session,
  operation: Operation<Query, Body, Data>,
  wanted: Wanted<Query, Body> = {},
): Promise<Data> {
  return (await operateWithStatus(session, operation, wanted)).data;
}

/** The same, with the status of the answer: 200 instead of 201 where what is asked for was there already. */
export async function operateWithStatus<Query, Body, Data>(
  session: Session,
  operation: Operation<Query, Body, Data>,
  wanted: Wanted<Query, Body> = {},
): Promise<{ status: number; data: Data }> {
  const { status, body } = await request(session, operation, wanted);
  return { status, data: (body as { data: Data } | undefined)?.data as Data };
}

/** The schemas of lists allow so many. */
const PAGE = 500;

/** Everything of a list, or the first `most` of it. */
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

/** A page of a list. */
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
  const given: Given = { query: {}, body: {} };
  const asked = {
    caller: { scope: 'write' as const, name, actor, tokenId: null, joomlaUserId: null, credential: '' },
    path: textsOf(path),
    query: new URLSearchParams(textsOf(query)),
    readSent: operation.upload ? undefined : () => operation.readBody(defined(body)),
    receive: () => Promise.reject(new Error('No command uploads by an operation.')),
    language: 'en' as const,
    // Ctrl-C ends the process itself.
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
    throw error instanceof ManageError ? inWordsOfCommand(session, operation, error) : error;
  }
}

function settingsOf(config: Config, db: Db, now: Date): ManageSettings {
  return Object.assign(copyConfig(config), {
    mailing: mailingOf(config),
    letterhead: letterheadOf(config),
    updateXml: config,
    ownFiles: ownFiles(config),
    programFolder: packageRoot,
    examine: () => examineFromWithin(config, db, () => now),
    config,
    // A command ends, and the next one reads them again.
    refresh: () => Promise.resolve(),
    mailGainsNoRights: serviceGainsNoRights,
  });
}

function defined(fields: object): Record<string, unknown> {
  const given = Object.entries(fields as Record<string, unknown>).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, value === NOTHING ? null : value]));
}

function textsOf(fields: object): Record<string, string> {
  return Object.fromEntries(Object.entries(defined(fields)).map(([name, value]) => [name, String(value)]));
}

/** Names the options instead of the fields. A wrong field is a usage error, anything else a refusal. */
function inWordsOfCommand(
  { command }: Session,
  { query, body }: Operation<never, never>,
  { code, message, options: { field } }: ManageError,
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

/** Reads an option or argument as the field of an operation that it fills: one of its words, or a whole number. */
export function valueOf<Body, Name extends keyof Body & string>(
  { body }: Operation<never, Body>,
  name: Name,
): (text: string) => NonNullable<Body[Name]> {
  const schema = propertiesOf(body)[name] as { enum?: string[]; minimum?: number; maximum?: number };
  const { enum: words, minimum: least = 0, maximum: most } = schema;
  const read = words === undefined ? (text: string) => wholeNumber(text, { least, most }) : oneOf(words);
  return read as (text: string) => NonNullable<Body[Name]>;
}

/** What commander's options say of an operation's fields: `--activation-limit` of `activation_limit`. */
export function fieldsOf<Body>({ body }: Operation<never, Body>, options: object): Partial<Body> {
  const given = options as Record<string, unknown>;
  return Object.fromEntries(
    Object.keys(propertiesOf(body)).map((field) => {
      const option = optionOf(field).replace(/-[a-z]/g, ([, letter = '']) => letter.toUpperCase());
      return [field, given[option]];
    }),
  ) as Partial<Body>;
}
