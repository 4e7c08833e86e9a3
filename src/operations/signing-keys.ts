import { Type } from '@sinclair/typebox';
import {
  addSigningKey,
  listSigningKeyPage,
  retireSigningKey,
  type SigningKeyInUse,
} from '../licensing/signing-keys';
import { signingKeyJson } from '../licensing/views';
import { list, post } from './kit/operation';
import { pageOf } from './kit/request-params';
import { strictObject, Id, Paging, Time, TimeOrNull, textEnum } from './kit/schemas';

const SigningKey = strictObject(
  {
    id: Id,
    kid: Type.String({ description: "The key's name, which is in the header of everything that it signs." }),
    state: textEnum(['current', 'next', 'retired']),
    x: Type.String({
      description: 'The public key (Ed25519), as in a JWK.',
      pattern: '^[A-Za-z0-9_-]{43}$',
    }),
    created_at: Time,
    retired_at: TimeOrNull,
  },
  { title: 'SigningKey' },
);

function toThing(key: SigningKeyInUse) {
  return { id: key.id, ...signingKeyJson(key) };
}

export const signingKeyOperations = {
  listSigningKeys: list(
    '/signing-keys',
    {
      summary: 'List the keys that sign answers, oldest first',
      query: strictObject(Paging),
      data: SigningKey,
    },
    async ({ db, query }) => {
      const { items, next } = await listSigningKeyPage(db, pageOf(query));
      return { data: items.map(toThing), next };
    },
  ),
  addSigningKey: post(
    '/signing-keys',
    {
      summary: 'Make a key; the first signs at once, a further one once the current one is retired',
      body: strictObject({}),
      data: SigningKey,
      status: 201,
    },
    async ({ db, settings, context }) => ({
      data: toThing(await addSigningKey(db, settings.keySecret, context)),
    }),
  ),
  retireSigningKey: post(
    '/signing-keys/{kid}/retire',
    {
      summary: 'Stop signing with a key',
      description:
        'Tokens that it has signed stay valid, unless the key is compromised. The last key cannot be retired.',
      body: strictObject({
        compromised: Type.Optional(
          Type.Boolean({
            description: 'Someone else may have the key: it is removed from keys.json at once.',
          }),
        ),
      }),
      data: SigningKey,
    },
    async ({ db, path, body, context }) => ({
      data: toThing(await retireSigningKey(db, path.kid ?? '', body, context)),
    }),
  ),
};
