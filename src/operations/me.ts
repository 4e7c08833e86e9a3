import { SCOPES } from '../access/caller';
import { get } from './kit/operation';
import { strictObject, enumOf, Text } from './kit/schemas';

const Me = strictObject({ name: Text, scope: enumOf(SCOPES), actor: Text }, { title: 'Me' });

export const meOperations = {
  getMe: get(
    '/me',
    { summary: 'Read who the caller is, and what they may do', forShops: true, data: Me },
    ({ caller: { name, scope, actor } }) => Promise.resolve({ data: { name, scope, actor } }),
  ),
};
