import { MESSAGE_RESULTS } from '../../orders/inbox';
import { strictObject, Id, enumOf, nullable, TextOrNull } from '../../operations/kit/schemas';
import { jsonAnswer, manageFailure, manageFailures, textContent } from './answers';
import type { Components, Json } from './components';

/** The addresses of inbound webhooks, to which shops send signed messages, in the OpenAPI document. */

const TAG = "Shops' messages";

export const HOOK_TAGS = [TAG];

const Received = strictObject(
  {
    data: strictObject(
      {
        result: enumOf(MESSAGE_RESULTS),
        reason: TextOrNull,
        order_id: nullable(Id),
        state: nullable(enumOf(['done', 'waiting', 'failed'])),
      },
      { title: 'ReceivedMessage' },
    ),
  },
  {},
);

export function hookPaths(components: Components): Record<string, Json> {
  const done = jsonAnswer(
    components,
    'The message is stored, whatever it contains, and its order has been processed.',
    Received,
  );
  const { 'WWW-Authenticate': _, ...headers } = manageFailure(components, 401).headers as Json;
  return {
    '/hooks/{name}': {
      post: {
        tags: [TAG],
        operationId: 'receiveMessage',
        summary: 'Take a signed message of a shop or payment service',
        description:
          'Signed by the sender, in the form of its kind. The same message again changes nothing. Digistore24 gets a text.',
        security: [],
        parameters: [
          {
            name: 'name',
            in: 'path',
            required: true,
            description: 'The name of the receiver.',
            schema: { type: 'string' },
          },
        ],
        requestBody: {
          required: true,
          content: {
            'application/json': { schema: { type: 'object' } },
            'application/x-www-form-urlencoded': { schema: { type: 'object' } },
          },
        },
        responses: {
          200: { ...done, content: { ...(done.content as Json), ...textContent() } },
          401: {
            ...manageFailure(components, 401),
            description: 'The signature is missing, wrong or too old.',
            headers,
          },
          405: manageFailure(components, 405),
          ...manageFailures(components, [400, 404, 413, 415, 429, 500, 503]),
        },
      },
    },
  };
}
