import { Type } from '@sinclair/typebox';
import { SCOPES } from '../access/caller';
import { addToken, listTokenPage, revokeToken } from '../access/tokens';
import { tokenJson } from '../licensing/views';
import { list, post, remove } from './kit/operation';
import { pageOf, readEnd, readId } from './kit/request-params';
import {
  strictObject,
  Id,
  enumOf,
  nullable,
  Paging,
  Text,
  Time,
  TimeInput,
  TimeOrNull,
  textEnum,
} from './kit/schemas';

const fields = {
  id: Id,
  name: Text,
  scope: textEnum(SCOPES),
  created_at: Time,
  expires_at: TimeOrNull,
  last_used_at: TimeOrNull,
};

export const tokenOperations = {
  listTokens: list(
    '/tokens',
    {
      summary: 'List tokens, without the tokens themselves',
      scope: 'write',
      query: strictObject(Paging),
      data: strictObject(fields, { title: 'Token' }),
    },
    async ({ db, query }) => {
      const { items, next } = await listTokenPage(db, pageOf(query));
      return { data: items.map(tokenJson), next };
    },
  ),
  addToken: post(
    '/tokens',
    {
      summary: 'Make a token, which is shown only now',
      body: strictObject({
        name: Text,
        scope: enumOf(SCOPES),
        expires_at: Type.Optional(nullable(TimeInput)),
      }),
      data: strictObject({ ...fields, token: Text }, { title: 'AddedToken' }),
      status: 201,
    },
    async ({ db, body, caller, now }) => {
      const { name, scope } = body;
      const expiresAt = readEnd(body.expires_at, 'expires_at') ?? null;
      const { actor, joomlaUserId, byDoor } = caller;
      const context = { actor, now, joomlaUserId, byDoor };
      const { token, stored } = await addToken(db, { name, scope, expiresAt }, context);
      return { data: { ...tokenJson(stored), token } };
    },
  ),
  removeToken: remove('/tokens/{id}', { summary: 'Revoke a token, at once' }, async (call) =>
    tokenJson(await revokeToken(call.db, readId(call, 'id', 'token'), call.context)),
  ),
};
