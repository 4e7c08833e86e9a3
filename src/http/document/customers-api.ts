import { Type, type TProperties, type TSchema } from '@sinclair/typebox';
import { API_TEXTS, KEY_REQUIRED, PRODUCT_ID_REQUIRED } from '../../licensing/api';
import { ACTIVATION_TYPES } from '../../licensing/core/identifiers';
import { MAX_IDENTIFIER_LENGTH, MAX_LABEL_LENGTH } from '../../licensing/core/columns';
import {
  strictObject,
  enumOf,
  nullable,
  Text,
  TextOrNull,
  Time,
  TimeOrNull,
} from '../../operations/kit/schemas';
import { STATUSES } from '../../operations/kit/response-schemas';
import { customerFailure, HEADERS, jsonAnswer, serverRefusal, type DocumentedCode } from './answers';
import type { Components, Json } from './components';
import { PAGE_FILES } from './page-files';

/**
 * The customers' API in the OpenAPI document. Requests are validated by hand (requests.ts), because what they accept is
 * exact to the byte. The tests compare every answer with these schemas.
 */

const KEY = 'A1B2C3D4-E5F6A7B8-C9D0E1F2-A3B4C5D6';

const textField = (description: string, options: object = {}) =>
  Type.Optional(nullable(Type.String({ description, ...options })));

const keyFields = {
  license_key: textField('The licence key.', { examples: [KEY] }),
  dlid: textField('Another name for `license_key`, used where that is absent or empty.'),
};
const identifier = {
  description: 'The site, device, person or instance, in any spelling.',
  maxLength: MAX_IDENTIFIER_LENGTH,
  examples: ['example.com'],
};
const productId = Type.Optional(
  Type.Unsafe<number | string | null>({
    type: ['integer', 'string', 'null'],
    pattern: '^-?[0-9]+$',
    description: 'The product of this software. The answer then shows whether the licence covers it.',
  }),
);

const JWS = { pattern: '^[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]{86}$' };

const activationFields = {
  ...keyFields,
  identifier: Type.String({ ...identifier, pattern: '\\S' }),
};

const signedFields = {
  signed: Type.Optional(
    Type.Unsafe<boolean | string | null>({
      type: ['boolean', 'string', 'null'],
      enum: [true, false, 'true', 'false', null],
      description: 'Adds a signed token to the answer. Forms send the value as text.',
    }),
  ),
  nonce: textField('With `signed`, the token repeats it.', { maxLength: 128 }),
};

const token = Type.Optional(
  nullable(
    Type.String({
      ...JWS,
      description: 'The answer as a signed JWS, only if `signed` was sent. null: there is no signing key.',
    }),
  ),
);

const licenseFields = {
  license_key: Text,
  product: Text,
  plan: Text,
  activation_type: enumOf(ACTIVATION_TYPES),
  activation_limit: Type.Integer({ minimum: 0, description: '0: unlimited.' }),
  activations_used: Type.Integer({ minimum: 0 }),
  expires_at: nullable(Type.String({ ...Time, description: 'null: never.' })),
};

const dataOf = (title: string, properties: TProperties) =>
  strictObject({ data: strictObject(properties, { title }) });

const Activated = dataOf('ActivatedLicense', {
  status: Type.Literal('active'),
  ...licenseFields,
  identifier: Type.String({ description: 'The identifier in the form that is stored.' }),
  token,
});

const Validated = dataOf('ValidatedLicense', {
  valid: Type.Boolean({ description: 'The licence is active, and covers `product_id` if that was sent.' }),
  status: enumOf(STATUSES),
  ...licenseFields,
  identifier_activated: Type.Boolean({ description: 'Also true if no identifier was sent.' }),
  product_covered: Type.Optional(Type.Boolean({ description: 'Present only if `product_id` was sent.' })),
  token,
});

const Deactivated = dataOf('DeactivatedLicense', {
  status: Type.Literal('deactivated'),
  license_key: Text,
  identifier: Text,
  activations_used: Type.Integer({ minimum: 0 }),
});

const LicenseFile = dataOf('LicenseFile', {
  token: Type.String({ ...JWS, description: 'A signed JWS with `typ` `license-file+jwt`.' }),
  expires_at: Type.String({
    ...Time,
    description: 'The file is valid until then, and the activation cannot be deactivated before then.',
  }),
});

const KeySet = strictObject(
  {
    keys: Type.Array(
      strictObject({
        kty: Type.Literal('OKP'),
        crv: Type.Literal('Ed25519'),
        x: Type.String({ pattern: '^[A-Za-z0-9_-]{43}$' }),
        kid: Text,
        alg: Type.Literal('EdDSA'),
        use: Type.Literal('sig'),
      }),
    ),
  },
  { title: 'KeySet' },
);

const Update = Type.Union(
  [
    strictObject({ update_available: Type.Literal(false) }),
    strictObject({
      update_available: Type.Literal(true),
      name: Type.String({ description: "The product's name." }),
      version: Text,
      download_url: Type.String({ description: 'A path. Append the key to it as `?dlid=`.' }),
      changelog: Text,
      date: Time,
      file_size: Type.Integer({ minimum: 0, description: 'bytes' }),
    }),
  ],
  { title: 'Update' },
);

const Check = dataOf('DownloadCheck', {
  allowed: Type.Boolean(),
  code: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    enum: [
      'LICENSE_NOT_FOUND',
      'LICENSE_INACTIVE',
      'LICENSE_EXPIRED',
      'PRODUCT_MISMATCH',
      'ACTIVATION_NOT_FOUND',
      'DOWNLOAD_NOT_FOUND',
      'FILE_NOT_FOUND',
      null,
    ],
    description: 'The reason for the refusal. null: the download is allowed.',
  }),
  message: Text,
  expires_at: TimeOrNull,
  version: nullable(
    Type.String({
      description:
        'The requested version; otherwise the version that the download sends, or the latest version.',
    }),
  ),
  entitled_version: nullable(
    Type.String({ description: 'The latest version that this licence may download.' }),
  ),
  renew_url: TextOrNull,
  support_url: TextOrNull,
  latest: nullable(
    Type.String({
      description: "The product's latest version, whether or not this licence may download it.",
    }),
  ),
  upgrade_url: Type.Optional(
    Type.String({
      description:
        'The address where the customer gets a larger licence. Present only if the licence does not cover the product or has no free slot, and its plan has such an address.',
    }),
  ),
  security: Type.Optional(
    Type.Literal(true, { description: 'Present only if the latest version closes a security hole.' }),
  ),
  entitled_security: Type.Optional(
    Type.Literal(true, {
      description:
        'Present only if the licence has ended, and gets `entitled_version` because that version closes a security hole.',
    }),
  ),
});

const TAG = "Customers' software";
const DOCUMENT_TAG = 'Document';

export const CUSTOMER_TAGS = [TAG, DOCUMENT_TAG];

interface Call {
  operationId: string;
  summary: string;
  description?: string;
}

function operation(call: Call, rest: Json): Json {
  return { tags: [TAG], ...call, security: [], ...rest };
}

/** Failures that any call can have. */
const COMMON: Record<number, DocumentedCode> = {
  405: 'METHOD_NOT_ALLOWED',
  429: 'RATE_LIMITED',
  500: 'INTERNAL_ERROR',
  503: 'SERVICE_UNAVAILABLE',
};

type Codes = Record<number, DocumentedCode[]>;

function failures(components: Components, codes: Codes): Json {
  const own = Object.entries(codes).map(([status, list]) => [
    status,
    customerFailure(components, Number(status), list),
  ]);
  const common = Object.entries(COMMON).map(([status, code]) => [
    status,
    components.response(`Customer${status}`, () => customerFailure(components, Number(status), [code])),
  ]);
  return Object.fromEntries([...own, ...common]) as Json;
}

/** Describes activate, validate, deactivate and token: a JSON object or a form, in which unknown fields are ignored. */
function licenseCall(
  components: Components,
  call: Call,
  body: TProperties,
  data: TSchema,
  codes: Codes,
  examples: { request: Json; answer: Json },
): Json {
  const schema = components.schema({
    ...Type.Object(body),
    anyOf: [{ required: ['license_key'] }, { required: ['dlid'] }],
  });
  return {
    post: operation(call, {
      requestBody: {
        required: true,
        content: {
          'application/json': { schema, example: examples.request },
          'application/x-www-form-urlencoded': { schema },
        },
      },
      responses: {
        200: jsonAnswer(components, 'Done.', data, {
          examples: { answer: { value: { data: examples.answer } } },
        }),
        ...failures(components, { ...codes, 415: ['UNSUPPORTED_MEDIA_TYPE'] }),
      },
    }),
  };
}

const request = { license_key: KEY, identifier: 'https://www.example.com/shop' };
const described = {
  license_key: KEY,
  product: 'Example Shop',
  plan: 'Sites',
  activation_type: 'domain',
  activation_limit: 3,
  activations_used: 1,
  expires_at: '2027-06-30T23:59:59Z',
};

function licenseCalls(components: Components): Record<string, Json> {
  return {
    '/licenses/activate': licenseCall(
      components,
      {
        operationId: 'activate',
        summary: 'Take a slot of a licence',
        description: 'An identifier that is already activated gets the same answer and takes no second slot.',
      },
      {
        ...activationFields,
        name: textField('A name for people to read.', { maxLength: MAX_LABEL_LENGTH }),
        product_id: productId,
        ...signedFields,
      },
      Activated,
      {
        400: ['INVALID_REQUEST'],
        403: [
          'LICENSE_NOT_FOUND',
          'LICENSE_INACTIVE',
          'LICENSE_EXPIRED',
          'PRODUCT_MISMATCH',
          'ACTIVATION_LIMIT_REACHED',
        ],
      },
      { request, answer: { status: 'active', ...described, identifier: 'example.com' } },
    ),
    '/licenses/validate': licenseCall(
      components,
      {
        operationId: 'validate',
        summary: 'Check whether a licence is valid, and whether an identifier is activated',
        description: 'The answer for a known licence is always 200.',
      },
      {
        ...keyFields,
        identifier: textField(identifier.description, identifier),
        product_id: productId,
        ...signedFields,
      },
      Validated,
      { 400: ['INVALID_REQUEST'], 403: ['LICENSE_NOT_FOUND'] },
      { request, answer: { valid: true, status: 'active', ...described, identifier_activated: true } },
    ),
    '/licenses/deactivate': licenseCall(
      components,
      {
        operationId: 'deactivate',
        summary: 'Give a slot back',
        description: 'Works for every status of the licence.',
      },
      activationFields,
      Deactivated,
      {
        400: ['INVALID_REQUEST'],
        403: ['LICENSE_NOT_FOUND', 'ACTIVATION_HELD'],
        404: ['ACTIVATION_NOT_FOUND'],
      },
      {
        request,
        answer: {
          status: 'deactivated',
          license_key: KEY,
          identifier: 'example.com',
          activations_used: 0,
        },
      },
    ),
    '/licenses/token': licenseCall(
      components,
      {
        operationId: 'makeLicenseFile',
        summary: 'Get a licence file for a machine without network',
        description: 'The activation cannot be deactivated before the file ends.',
      },
      activationFields,
      LicenseFile,
      {
        400: ['INVALID_REQUEST'],
        403: ['LICENSE_NOT_FOUND', 'LICENSE_INACTIVE', 'LICENSE_EXPIRED'],
        404: ['ACTIVATION_NOT_FOUND', 'NOT_FOUND'],
      },
      {
        request,
        answer: {
          token: `eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiIxIn0.${'A'.repeat(86)}`,
          expires_at: '2026-12-25T12:00:00Z',
        },
      },
    ),
  };
}

const PRODUCT_ID = {
  name: 'product_id',
  in: 'path',
  required: true,
  schema: { type: 'integer' },
  example: 42,
};

const parameter = (name: string, description: string, schema: object = { type: 'string' }): Json => ({
  name,
  in: 'query',
  description,
  schema,
});

const ZIP = { 'application/zip': { schema: { type: 'string', format: 'binary' } } };

const PACKAGE_CACHE = 'private, no-store, no-transform';

/** The headers of an answer about a package. */
const aboutPackage = {
  ...HEADERS.requestId,
  ...HEADERS.notSniffed,
  ...HEADERS.required('Cache-Control', 'The package must not be stored or compressed again.', {
    enum: ['no-store', PACKAGE_CACHE],
  }),
  ...HEADERS.optional('Accept-Ranges', 'Range requests are possible.', { const: 'bytes' }),
};
const ofPackage = {
  ...aboutPackage,
  ...HEADERS.optional('Content-Disposition', 'The file name of the package.', {
    type: 'string',
    pattern: '^attachment; filename="[^";]+\\.zip"$',
  }),
  ...HEADERS.optional('ETag', 'SHA-256 of the package.', { type: 'string', pattern: '^"[0-9a-f]{64}"$' }),
};
const contentRange = HEADERS.required(
  'Content-Range',
  'The range of these bytes, and the size of the package.',
  {
    type: 'string',
    pattern: '^bytes (?:\\d+-\\d+|\\*)/\\d+$',
  },
);

const ofDownload: Record<number, { codes: DocumentedCode[]; texts: string[] }> = {
  400: { codes: ['INVALID_REQUEST'], texts: [KEY_REQUIRED, PRODUCT_ID_REQUIRED] },
  ...Object.fromEntries(
    (
      [
        [
          403,
          [
            'LICENSE_NOT_FOUND',
            'LICENSE_INACTIVE',
            'LICENSE_EXPIRED',
            'PRODUCT_MISMATCH',
            'ACTIVATION_NOT_FOUND',
          ],
        ],
        [404, ['DOWNLOAD_NOT_FOUND', 'FILE_NOT_FOUND']],
        ...Object.entries(COMMON).map(([status, code]) => [Number(status), [code]] as const),
      ] as [number, DocumentedCode[]][]
    ).map(([status, codes]) => [status, { codes, texts: codes.map((code) => API_TEXTS[code]) }]),
  ),
};

/** The headers of a download by the plugin for customers' sites. The log keeps them as they were reported. */
const TOLD_HEADERS = [
  ['X-Licensing-Site', "The site's address, for the log. Nothing depends on it."],
  ['X-Licensing-Version', 'The version installed there, for the log.'],
].map(([name, description]) => ({ name, in: 'header', description, schema: { type: 'string' } }));

function download(components: Components): Json {
  const refusals = Object.entries(ofDownload).map(([status, { codes, texts }]) => [
    status,
    customerFailure(components, Number(status), codes, texts),
  ]);
  return operation(
    {
      operationId: 'download',
      summary: 'Download a package, or check whether the download is allowed',
      description:
        'A refusal is plain text for people, or JSON if `license_key` was sent without `dlid`. With `check=1`, the answer is the verdict as JSON, without the package.',
    },
    {
      parameters: [
        PRODUCT_ID,
        parameter('dlid', 'The licence key.'),
        parameter('license_key', 'The licence key. Takes precedence over `dlid`.'),
        parameter('version', 'Exactly this published version. Without it, the latest.'),
        parameter('identifier', 'If sent, it must be activated on the licence.'),
        parameter('check', '`1`: only the verdict.'),
        { name: 'Range', in: 'header', description: 'One range.', schema: { type: 'string' } },
        ...TOLD_HEADERS,
      ],
      responses: {
        200: {
          description: 'The package, or the verdict with `check=1`.',
          headers: ofPackage,
          content: { ...ZIP, 'application/json': { schema: components.schema(Check) } },
        },
        206: {
          description: 'A part of the package.',
          headers: { ...ofPackage, ...contentRange },
          content: ZIP,
        },
        304: { description: 'The package has the ETag of If-None-Match.', headers: ofPackage },
        ...(Object.fromEntries(refusals) as Json),
        412: { description: 'The package does not have the ETag of If-Match.', headers: aboutPackage },
        416: {
          description: 'The range is outside the package.',
          headers: { ...aboutPackage, ...contentRange },
        },
      },
    },
  );
}

const HTML = 'text/html';

/** Describes a public file that is revalidated by its ETag. */
function file(
  components: Components,
  call: Call,
  {
    types,
    headers = {},
    parameters,
    schema = { type: 'string' },
    maxAge,
  }: { types: string[]; headers?: Json; parameters?: Json[]; schema?: Json; maxAge?: number },
): Json {
  const all = {
    ...HEADERS.requestId,
    ...HEADERS.notSniffed,
    ...(maxAge === undefined
      ? HEADERS.required('Cache-Control', 'A stored copy must be checked by its ETag before each use.', {
          const: 'no-cache',
        })
      : HEADERS.required('Cache-Control', 'The answer may be stored.', {
          const: `public, max-age=${maxAge}`,
        })),
    ...HEADERS.required('ETag', 'The ETag of the content.', { type: 'string' }),
    ...HEADERS.required('Vary', 'The file is compressed if the client accepts that.', {
      const: 'Accept-Encoding',
    }),
    ...HEADERS.optional('Content-Encoding', 'The compression of the file.', { enum: ['br', 'gzip'] }),
    ...headers,
  };
  const content = Object.fromEntries(types.map((type) => [type, { schema }]));
  return {
    get: {
      tags: [DOCUMENT_TAG],
      ...call,
      security: [],
      ...(parameters && { parameters }),
      responses: {
        200: { description: 'The file.', headers: all, content },
        304: { description: 'The client already has it.', headers: all },
        ...(parameters && { 404: customerFailure(components, 404, ['NOT_FOUND']) }),
        405: components.response('Customer405', () =>
          customerFailure(components, 405, ['METHOD_NOT_ALLOWED']),
        ),
        ...(maxAge && {
          503: components.response('Customer503', () =>
            customerFailure(components, 503, ['SERVICE_UNAVAILABLE']),
          ),
        }),
      },
    },
  };
}

const ofPage = {
  ...HEADERS.required('Content-Security-Policy', 'The page must not load anything from other hosts.', {
    type: 'string',
  }),
  ...HEADERS.required('Referrer-Policy', 'Other sites do not learn the address.', { const: 'no-referrer' }),
};

function documentPaths(components: Components): Record<string, Json> {
  return {
    '/': {
      get: {
        tags: [DOCUMENT_TAG],
        operationId: 'readFrontPage',
        summary: 'A page for people who open the address of the service in a browser',
        description: 'Without `text/html` in `Accept`, the answer is 404.',
        security: [],
        responses: {
          200: {
            description: 'The page.',
            headers: {
              ...HEADERS.requestId,
              ...HEADERS.notStored,
              ...HEADERS.notSniffed,
              ...HEADERS.required('Vary', 'It is for browsers only.', { const: 'Accept' }),
              ...ofPage,
            },
            content: { [HTML]: { schema: { type: 'string' } } },
          },
          404: customerFailure(components, 404, ['NOT_FOUND']),
        },
      },
    },
    '/keys.json': file(
      components,
      {
        operationId: 'readSigningKeys',
        summary: 'The public keys of signed answers, as a JWK set. Software should pin them instead',
      },
      { types: ['application/json'], schema: components.schema(KeySet), maxAge: 3600 },
    ),
    '/openapi.json': file(
      components,
      { operationId: 'readDocument', summary: 'This document' },
      { types: ['application/json'] },
    ),
    '/docs': file(
      components,
      { operationId: 'readDocumentPage', summary: 'This document as a page, to read and to try' },
      { types: [HTML], headers: ofPage },
    ),
    '/docs/{file}': file(
      components,
      { operationId: 'readDocumentPageFile', summary: 'A script or style of the page' },
      {
        types: ['text/css', 'text/javascript'],
        parameters: [{ name: 'file', in: 'path', required: true, schema: { enum: PAGE_FILES } }],
      },
    ),
  };
}

/** Describes the paths of the customers' API, of the page at its address, and of this document. */
export function customerPaths(components: Components): Record<string, Json> {
  return {
    ...licenseCalls(components),
    '/updates/{product_id}': {
      get: operation(
        { operationId: 'checkUpdates', summary: 'Get the latest published version, without a key' },
        {
          parameters: [PRODUCT_ID],
          responses: {
            200: jsonAnswer(
              components,
              'The latest version, or the answer that there is none.',
              strictObject({ data: Update }),
            ),
            ...failures(components, { 400: ['INVALID_REQUEST'] }),
          },
        },
      ),
    },
    '/downloads/{product_id}': { get: download(components) },
    ...documentPaths(components),
  };
}

/** Describes the answers to requests that are not an operation of this document. */
export function otherAnswers(components: Components): Json {
  return {
    customers: {
      400: customerFailure(components, 400, ['INVALID_REQUEST']),
      404: customerFailure(components, 404, ['NOT_FOUND']),
    },
    server: {
      400: serverRefusal(
        'The request is not HTTP.',
        'The request has characters that are not allowed. Please check the license key.',
      ),
      408: serverRefusal('The request did not arrive in time.', 'The request took too long'),
      431: serverRefusal('The headers are larger than 16 KiB.', 'The request headers are too large'),
    },
  };
}
