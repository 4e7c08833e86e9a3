import type { TSchema } from '@sinclair/typebox';
import type { Operation } from '../../operations/kit/operation';
import { OPERATION_GROUPS } from '../../operations/operations';
import { HEADER_COMPONENTS, HEADERS, jsonAnswer, manageFailure, manageFailures } from './answers';
import { createComponents, type Components, type Json } from './components';
import { OPERATOR_COOKIE } from '../session-cookies';
import { CUSTOMER_TAGS, customerPaths, otherAnswers } from './customers-api';
import { HOOK_TAGS, hookPaths } from './hooks-api';

/** Builds the OpenAPI 3.1 document of both APIs. The operator's part uses the schemas that validate its requests. */

const INTRODUCTION = `The customers' API, which licensed software and Joomla's updater call, and the operator's API, below \`/manage\`.

The operator's API needs a token. Send \`Authorization: Bearer lgw_...\` with a token from \`licensing token add\`, or an API token of the Joomla site there or in \`X-Joomla-Token\`.

A list has pages: send \`next\` of one page as \`after\` to get the next page. A POST with an \`Idempotency-Key\` is done once, and gets the same answer for 24 hours. The operator's API refuses unknown fields, and the customers' API ignores them.

Every GET also answers HEAD. \`x-other-answers\` has the answers to requests that match no operation of this document.`;

const BEARER = { token: [] };
const JOOMLA = { joomlaToken: [] };
const SESSION = { session: [] };

/** Builds the document. @throws Error if operations contradict each other, as by two schemas with one title */
export function buildDocument(version: string): Json {
  const components = createComponents();
  const paths: Record<string, Json> = { ...customerPaths(components), ...hookPaths(components) };
  for (const [tag, operations] of Object.entries(OPERATION_GROUPS))
    for (const [operationId, operation] of Object.entries(operations)) {
      const path = `/manage${operation.path}`;
      paths[path] = { ...paths[path], [operation.method]: describe(operation, operationId, tag, components) };
    }
  const others = {
    ...otherAnswers(components),
    manage: {
      ...manageFailures(components, [401, 403, 404, 429, 500, 503]),
      405: manageFailure(components, 405),
    },
  };
  return {
    openapi: '3.1.0',
    info: { title: 'licensing-gateway', version, description: INTRODUCTION },
    servers: [
      { url: '.', description: 'Where this document is served.' },
      {
        url: 'https://{site}/api/index.php/v1/licensing',
        variables: { site: { default: 'shop.example', description: "The Joomla site's host, and folder." } },
      },
    ],
    tags: [...CUSTOMER_TAGS, ...HOOK_TAGS, ...Object.keys(OPERATION_GROUPS)].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description: 'A token of the service, or of the Joomla site.',
        },
        joomlaToken: {
          type: 'apiKey',
          in: 'header',
          name: 'X-Joomla-Token',
          description: 'An API token of the Joomla site.',
        },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: OPERATOR_COOKIE,
          description:
            "A session of the operator's pages. Calls other than GET and HEAD must come from those pages: their `Origin` is checked.",
        },
      },
      headers: HEADER_COMPONENTS,
      ...components.all(),
    },
    'x-other-answers': others,
  };
}

function describe(operation: Operation, operationId: string, tag: string, components: Components): Json {
  const { summary, description, method } = operation;
  const parameters = [
    ...pathParameters(operation.path),
    ...queryParameters(operation.query, components),
    ...(method === 'post' ? [IDEMPOTENCY_KEY] : []),
  ];
  const requestBody = bodyOf(operation, components);
  return {
    tags: [tag],
    operationId,
    summary,
    description: [description, scopesOf(operation), againOf(operation)].filter(Boolean).join('\n\n'),
    security: [BEARER, JOOMLA, SESSION],
    ...(parameters.length > 0 && { parameters }),
    ...(requestBody && { requestBody }),
    responses: {
      ...successes(operation, components),
      ...manageFailures(components, failuresOf(operation)),
    },
  };
}

/** Describes, for a document's reader, whether a session must sign in again. */
function againOf({ needsRecentSignIn, noRecentSignInWith: goesOnWith }: Operation): string | undefined {
  if (!needsRecentSignIn && goesOnWith === undefined) return undefined;
  const except = goesOnWith === undefined ? '' : `, except with ${goesOnWith}`;
  return `A session needs a sign-in within the last hour${except}. Otherwise the answer is 403 \`SIGN_IN_AGAIN\`.`;
}

/** Describes the scopes that may call an operation. */
function scopesOf({ scope, forShops }: Operation): string {
  const scopes = [...(scope === 'read' ? ['`read`'] : []), ...(forShops ? ['`issue`'] : []), '`write`'];
  return `Scope: ${scopes.join(', ').replace(/, ([^,]*)$/, ' or $1')}.`;
}

/** Path parameters that are texts; all others are ids. */
const NAMED = new Set(['customer', 'kid', 'name', 'sku']);
const ID = { type: 'integer', minimum: 1 };

function pathParameters(path: string): Json[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    ...(path.startsWith('/licenses/{id}') && name === 'id'
      ? {
          description: 'The id of the licence, or `reference:` followed by its order reference.',
          schema: { type: 'string', examples: ['42', 'reference:ORDER-1001'] },
        }
      : { schema: NAMED.has(name) ? { type: 'string' } : ID }),
  }));
}

function queryParameters(query: TSchema | undefined, components: Components): Json[] {
  if (query === undefined) return [];
  const { properties = {}, required = [] } = query as { properties?: object; required?: string[] };
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...schema } = components.schema(property as object);
    return {
      name,
      in: 'query',
      ...(description !== undefined && { description }),
      ...(required.includes(name) && { required: true }),
      schema,
    };
  });
}

const IDEMPOTENCY_KEY: Json = {
  name: 'Idempotency-Key',
  in: 'header',
  description: 'Requests with the same key are carried out once, and get the same answer for 24 hours.',
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x20-\\x7e]+$' },
};

const BINARY = { type: 'string', format: 'binary' };

function bodyOf({ method, body, upload, query }: Operation, components: Components): Json | undefined {
  if (upload !== undefined) {
    const fields = query === undefined ? {} : components.schema(query);
    const form = {
      ...fields,
      type: 'object',
      properties: {
        ...(fields.properties as Json | undefined),
        file: BINARY,
        ...Object.fromEntries(
          Object.entries(upload.others ?? {}).map(([name, description]) => [
            name,
            { ...BINARY, description },
          ]),
        ),
      },
      required: [...((fields.required as string[] | undefined) ?? []), 'file'],
    };
    return {
      required: true,
      content: {
        ...Object.fromEntries(upload.types.map((type) => [type, { schema: BINARY }])),
        'multipart/form-data': { schema: form },
      },
    };
  }
  if (body === undefined) return undefined;
  const { required } = body as { required?: string[] };
  return {
    // A POST without a body counts as an empty object.
    required: method !== 'post' || (required?.length ?? 0) > 0,
    content: { 'application/json': { schema: components.schema(body) } },
  };
}

function successes(operation: Operation, components: Components): Json {
  const { status, otherStatus, data, afterCommit, isList, sendsFile } = operation;
  if (sendsFile !== undefined)
    return {
      200: {
        description: 'The file.',
        headers: {
          ...HEADERS.requestId,
          ...HEADERS.notStored,
          ...HEADERS.notSniffed,
          ...HEADERS.required('Content-Disposition', 'The name of the file.', { type: 'string' }),
        },
        content: { [sendsFile]: { schema: sendsFile === 'application/json' ? { type: 'object' } : BINARY } },
      },
    };
  if (data === undefined) return { 204: { description: 'Done.', headers: HEADERS.requestId } };
  const shown = afterCommit === undefined ? data : extended(data, afterCommit);
  const schema = {
    type: 'object',
    additionalProperties: false,
    properties: isList
      ? {
          data: { type: 'array', items: shown },
          next: {
            type: ['string', 'null'],
            description: 'Send it as `after` to get the next page. null: this is the last page.',
          },
        }
      : { data: shown },
    required: isList ? ['data', 'next'] : ['data'],
  } as unknown as TSchema;
  const answer = (description: string) => jsonAnswer(components, description, schema);
  return {
    [status]: answer(status === 201 ? 'Made.' : 'Done.'),
    ...(otherStatus && { [otherStatus.status]: answer(`When ${otherStatus.when}.`) }),
  };
}

/** Adds the fields that an operation returns only after its commit. */
function extended(data: TSchema, { title, adds }: NonNullable<Operation['afterCommit']>): TSchema {
  const { properties, required = [] } = data as unknown as { properties: Json; required?: string[] };
  return {
    ...data,
    title,
    properties: { ...properties, ...adds },
    required: [...required, ...Object.keys(adds)],
  };
}

function failuresOf({ method, path, body, upload }: Operation): number[] {
  const hasBody = body !== undefined || upload !== undefined;
  return [
    400,
    401,
    403,
    ...(path.includes('{') || method === 'delete' || BODY_NAMES_ORDERS.has(`${method} ${path}`) ? [404] : []),
    ...(method === 'get' && !CONFLICTING_GETS.has(path) ? [] : [409]),
    ...(hasBody ? [413, 415] : []),
    ...(method === 'post' ? [422] : []),
    ...[429, 500, 503],
    ...(STORES_PACKAGES.has(`${method} ${path}`) ? [507] : []),
  ];
}

/** GETs that answer 409, for example for a version that is not a published security release. */
const CONFLICTING_GETS = new Set(['/releases/{id}/notify', '/shops/{name}/plugin']);

const STORES_PACKAGES = new Set(['post /products/{id}/releases']);

/** Operations that answer 404 for an order or reference of another token, although the address exists. */
const BODY_NAMES_ORDERS = new Set(['post /orders', 'post /licenses']);
