import type { TSchema } from '@sinclair/typebox';
import { API_PATH } from '../../api';
import { version } from '../../version';
import type { Operation } from '../manage/operation';
import { OPERATION_GROUPS } from '../manage/operations';
import { CUSTOMER_PATHS } from './customers-api';

/** The OpenAPI 3.1 document of both APIs, made from the schemas that requests are read with. */

type Json = Record<string, unknown>;

const INTRODUCTION = `The customers' API, which licensed software and Joomla's updater call, and the operator's API, below \`/manage\`.

The operator's API takes a token: \`Authorization: Bearer lgw_...\`, made by \`licensing token add\`, or an API token of the Joomla site. Lists are read page by page: \`next\` is the \`after\` of the next one. A POST with an \`Idempotency-Key\` is done once, and answered the same for 24 hours.`;

export function buildDocument(): Json {
  const components = new Map<string, Json>();
  const paths: Record<string, Json> = { ...CUSTOMER_PATHS(components) };
  for (const [tag, operations] of Object.entries(OPERATION_GROUPS))
    for (const operation of operations) {
      const path = `/manage${operation.path}`;
      paths[path] = { ...paths[path], [operation.method]: describe(operation, tag, components) };
    }
  return {
    openapi: '3.1.0',
    info: { title: 'licensing-gateway', version, description: INTRODUCTION },
    servers: [{ url: API_PATH }],
    tags: [...CUSTOMER_TAGS, ...Object.keys(OPERATION_GROUPS)].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer' },
        joomlaToken: { type: 'apiKey', in: 'header', name: 'X-Joomla-Token' },
      },
      schemas: Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1))),
    },
  };
}

const CUSTOMER_TAGS = ["Customers' software"];
