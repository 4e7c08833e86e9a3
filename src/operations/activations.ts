import { Type } from '@sinclair/typebox';
import { addActivation, findActivation, removeActivation } from '../licensing/activations';
import { requireIdentifierText, requireLabel } from '../licensing/fields';
import { listActivationPage } from '../licensing/lists';
import { activationJson } from '../licensing/views';
import { notFound } from './kit/failures';
import { list, post, remove, type OperationCall } from './kit/operation';
import { pageOf, readId, requireLicense } from './kit/request-params';
import { strictObject, Paging, Text } from './kit/schemas';
import { Activation } from './kit/response-schemas';

/** Returns the activation in the path, with its licence. */
async function requireActivation(call: Pick<OperationCall, 'db' | 'path' | 'caller'>) {
  const license = await requireLicense(call);
  const id = readId(call, 'activation_id', 'activation');
  const activation = await findActivation(call.db, license.id, { id });
  if (activation === undefined) throw notFound('activation');
  return { license, activation };
}

export const activationOperations = {
  listLicenseActivations: list(
    '/licenses/{id}/activations',
    {
      summary: 'List the activations of a licence',
      forShops: true,
      query: strictObject(Paging),
      data: Activation,
    },
    async (call) => {
      const license = await requireLicense(call);
      const { items, next } = await listActivationPage(call.db, license.id, pageOf(call.query));
      return { data: items.map((one) => activationJson(one, license)), next };
    },
  ),
  addLicenseActivation: post(
    '/licenses/{id}/activations',
    {
      needsNoRecentSignIn: true,
      summary:
        'Activate an identifier as an operator: even over the limit, and whatever the state of the licence',
      body: strictObject({
        identifier: Text,
        name: Type.Optional(Type.String({ description: 'A label that is shown next to the identifier.' })),
      }),
      data: Activation,
      status: 201,
      otherStatus: { status: 200, when: 'it is already activated' },
    },
    async (call) => {
      const { db, body, context } = call;
      const license = await requireLicense(call);
      const { identifier, repeated } = await addActivation(
        db,
        license,
        {
          identifier: requireIdentifierText(body.identifier, 'identifier'),
          name: body.name === undefined ? undefined : requireLabel(body.name, 'name'),
        },
        context,
      );
      const activation = await findActivation(db, license.id, { identifier });
      if (activation === undefined) throw notFound('activation');
      return { status: repeated ? 200 : 201, data: activationJson(activation, license) };
    },
  ),
  removeLicenseActivation: remove(
    '/licenses/{id}/activations/{activation_id}',
    { needsNoRecentSignIn: true, summary: 'Free the slot of an identifier' },
    async (call) => {
      const { license, activation } = await requireActivation(call);
      await removeActivation(call.db, license, activation.identifier, call.context);
      return activationJson(activation, license);
    },
  ),
};
