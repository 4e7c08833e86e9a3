import { Type, type TSchema } from '@sinclair/typebox';
import { strictObject, enumOf, Text, Time } from '../../operations/kit/schemas';
import type { Components, Json } from './components';

/** The answers in the OpenAPI document. */

const header = (description: string, schema: object, required = true): Json => ({
  description,
  required,
  schema,
});

const SHARED = {
  'X-Request-Id': header('Names the request in the logs of the service.', {
    type: 'string',
    pattern: '^[A-Za-z0-9._-]{1,64}$',
  }),
  'X-Content-Type-Options': header(
    'The content has the type of `Content-Type`. Browsers must not guess another.',
    { const: 'nosniff' },
  ),
  'Cache-Control': header('The answer must not be stored.', { const: 'no-store' }),
  'Retry-After': header('Seconds to wait before the next attempt.', { type: 'integer', minimum: 1 }),
  Allow: header('The methods that this address allows.', { type: 'string', examples: ['GET, HEAD'] }),
  'WWW-Authenticate': header('The way to sign in.', { const: 'Bearer' }),
};

/** Headers of many answers, as components of the document. */
export const HEADER_COMPONENTS: Json = SHARED;

const shared = (name: keyof typeof SHARED): Json => ({ [name]: { $ref: `#/components/headers/${name}` } });

export const HEADERS = {
  requestId: shared('X-Request-Id'),
  notSniffed: shared('X-Content-Type-Options'),
  notStored: shared('Cache-Control'),
  retryAfter: shared('Retry-After'),
  allow: shared('Allow'),
  authenticate: shared('WWW-Authenticate'),
  optional: (name: string, description: string, schema: object = { type: 'string' }): Json => ({
    [name]: header(description, schema, false),
  }),
  required: (name: string, description: string, schema: object): Json => ({
    [name]: header(description, schema),
  }),
};

const PLAIN = { ...HEADERS.requestId, ...HEADERS.notStored, ...HEADERS.notSniffed };

/** Describes an answer with JSON. */
export function jsonAnswer(
  components: Components,
  description: string,
  schema: TSchema,
  { headers = {}, examples }: { headers?: object | undefined; examples?: Json } = {},
): Json {
  return {
    description,
    headers: { ...PLAIN, ...headers },
    content: { 'application/json': { schema: components.schema(schema), ...(examples && { examples }) } },
  };
}

/** Describes an answer with a text for people. */
export function textContent(texts?: readonly string[]): Json {
  return { 'text/plain': { schema: { type: 'string', ...(texts && { enum: texts }) } } };
}

/** The answers of both APIs when the service fails. */
const FAULTS: Record<number, { code: string; description: string; headers?: Json }> = {
  500: { code: 'INTERNAL_ERROR', description: 'A fault in the service; its log has the request by its id.' },
  503: {
    code: 'SERVICE_UNAVAILABLE',
    description: 'The database or the service cannot answer at the moment.',
    headers: HEADERS.retryAfter,
  },
};

interface Refusing {
  description: string;
  codes: readonly string[];
  headers?: Json | undefined;
}

const MANAGE_REFUSALS: Record<number, Refusing> = {
  400: {
    description: 'A field is wrong, missing or unknown; `field` names it.',
    codes: ['INVALID_REQUEST'],
  },
  401: {
    description: 'The token is missing, wrong, expired or revoked, or the session has ended.',
    codes: ['UNAUTHORIZED'],
    headers: HEADERS.authenticate,
  },
  403: {
    description:
      'This token or session is not allowed to do that. SIGN_IN_AGAIN: the session is allowed to, once its owner has signed in again.',
    codes: ['FORBIDDEN', 'SIGN_IN_AGAIN'],
  },
  404: { description: 'There is nothing at this address.', codes: ['NOT_FOUND'] },
  405: {
    description: 'This address does not answer that method.',
    codes: ['METHOD_NOT_ALLOWED'],
    headers: HEADERS.allow,
  },
  409: {
    description:
      "The record's state does not allow it, the record already exists, it is still in use, or the first request with this Idempotency-Key is still running.",
    codes: ['CONFLICT'],
    headers: HEADERS.optional('Retry-After', 'Seconds to wait before the next attempt, where that helps.', {
      type: 'integer',
    }),
  },
  413: { description: 'The body is too large.', codes: ['PAYLOAD_TOO_LARGE'] },
  415: { description: 'The body is of another type, or compressed.', codes: ['UNSUPPORTED_MEDIA_TYPE'] },
  422: {
    description: 'This Idempotency-Key was used for another request.',
    codes: ['IDEMPOTENCY_MISMATCH'],
  },
  429: {
    description: 'Too many requests in this minute.',
    codes: ['RATE_LIMITED'],
    headers: HEADERS.retryAfter,
  },
  507: { description: "The server's disk is full; nothing was stored.", codes: ['INSUFFICIENT_STORAGE'] },
};

const MANAGE_CODES = [
  ...Object.values(MANAGE_REFUSALS).flatMap(({ codes }) => codes),
  ...Object.values(FAULTS).map(({ code }) => code),
];

/** The body of a refusal of the operator's API. */
const ManageError = strictObject(
  {
    error: strictObject({
      code: enumOf(MANAGE_CODES),
      message: Type.String({ description: 'For people.' }),
      field: Type.Optional(Type.String({ description: 'The field that is wrong.' })),
    }),
  },
  { title: 'Error' },
);

/** Returns the schema of a refusal with one of these codes. */
function withCode(error: TSchema, codes: readonly string[]): TSchema {
  const code = codes.length === 1 ? { const: codes[0] } : { enum: codes };
  return Type.Unsafe({
    allOf: [error, { properties: { error: { properties: { code } } } }],
  });
}

/** Describes the failures of the operator's API with these statuses. */
export function manageFailures(components: Components, statuses: number[]): Json {
  return Object.fromEntries(
    statuses.map((status) => [
      status,
      components.response(`Manage${status}`, () => manageFailure(components, status)),
    ]),
  );
}

export function manageFailure(components: Components, status: number): Json {
  const { description, codes, headers } = MANAGE_REFUSALS[status] ?? faultOf(status);
  return jsonAnswer(components, description, withCode(ManageError, codes), { headers });
}

function faultOf(status: number): Refusing {
  const { code, description, headers } = FAULTS[status] as (typeof FAULTS)[number];
  return { description, codes: [code], headers };
}

/** The codes of the customers' API by status. */
const CODES = {
  400: ['INVALID_REQUEST'],
  403: [
    'LICENSE_NOT_FOUND',
    'LICENSE_INACTIVE',
    'LICENSE_EXPIRED',
    'ACTIVATION_LIMIT_REACHED',
    'ACTIVATION_NOT_FOUND',
    'ACTIVATION_HELD',
    'PRODUCT_MISMATCH',
  ],
  404: ['ACTIVATION_NOT_FOUND', 'DOWNLOAD_NOT_FOUND', 'FILE_NOT_FOUND', 'NOT_FOUND'],
  405: ['METHOD_NOT_ALLOWED'],
  415: ['UNSUPPORTED_MEDIA_TYPE'],
  429: ['RATE_LIMITED'],
  500: ['INTERNAL_ERROR'],
  503: ['SERVICE_UNAVAILABLE'],
} as const;

export type DocumentedCode = (typeof CODES)[keyof typeof CODES][number];

const Refusal = strictObject(
  {
    error: strictObject({
      code: enumOf([...new Set(Object.values(CODES).flat())]),
      message: Text,
      activation_limit: Type.Optional(
        Type.Integer({ minimum: 0, description: 'Only with ACTIVATION_LIMIT_REACHED.' }),
      ),
      activations_used: Type.Optional(
        Type.Integer({ minimum: 0, description: 'Only with ACTIVATION_LIMIT_REACHED.' }),
      ),
      held_until: Type.Optional(Type.String({ ...Time, description: 'Only with ACTIVATION_HELD.' })),
    }),
  },
  { title: 'Refusal' },
);

const CUSTOMER_FAILURES: Record<number, { description: string; headers?: Json | undefined }> = {
  400: { description: 'A field is missing or wrong; `message` names it.' },
  403: { description: 'The licence does not allow it.' },
  404: { description: 'No such licence, activation, version or file exists.' },
  405: { description: 'This address does not answer that method.', headers: HEADERS.allow },
  415: { description: 'The body is compressed.' },
  429: { description: 'This client sent too many requests.', headers: HEADERS.retryAfter },
  500: FAULTS[500] as { description: string },
  503: FAULTS[503] as { description: string; headers: Json },
};

/** Describes a failure of the customers' API. @param texts for a download, which fails as text unless asked for JSON */
export function customerFailure(
  components: Components,
  status: number,
  codes: readonly DocumentedCode[],
  texts?: readonly string[],
): Json {
  const { description, headers } = CUSTOMER_FAILURES[status] as (typeof CUSTOMER_FAILURES)[number];
  const answer = jsonAnswer(components, description, withCode(Refusal, codes), { headers });
  return texts === undefined
    ? answer
    : { ...answer, content: { ...(answer.content as Json), ...textContent(texts) } };
}

/** Describes the server's own answer to a request that is malformed, too slow or too large. */
export function serverRefusal(description: string, text: string): Json {
  return {
    description,
    headers: { ...HEADERS.notStored, ...HEADERS.notSniffed },
    content: textContent([text]),
  };
}
