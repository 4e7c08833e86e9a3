import { Type } from '@sinclair/typebox';
import { revealKey } from '../licensing/amend';
import { requireDuration } from '../licensing/durations';
import { MAX_UINT32 } from '../licensing/core/columns';
import { requireLabel } from '../licensing/fields';
import { addKey, editKey, endKey, rekey } from '../licensing/license-keys';
import { listKeyPage } from '../licensing/lists';
import { OperatorError } from '../licensing/operator-error';
import { addedKeyJson, keyJson } from '../licensing/views';
import { rekeyAndSend } from '../mail/queue';
import { notFound } from './kit/failures';
import { list, patch, post, remove } from './kit/operation';
import { isSet, pageOf, readEnd, readId, requireLicense, withReason } from './kit/request-params';
import {
  DurationInput,
  strictObject,
  QueryFlag,
  Id,
  nullable,
  Paging,
  ReasonField,
  TextOrNull,
  TimeInput,
} from './kit/schemas';
import { AddedKey, Key } from './kit/response-schemas';

const Terms = strictObject({
  label: Type.Optional(TextOrNull),
  activation_limit: Type.Optional(
    nullable(
      Type.Integer({ minimum: 1, maximum: MAX_UINT32, description: 'null: the limit of the licence.' }),
    ),
  ),
  ends_at: Type.Optional(
    nullable(Type.String({ ...TimeInput, description: 'null: it ends with the licence.' })),
  ),
});

function readTerms({ label, activation_limit, ends_at }: typeof Terms.static) {
  return {
    label: typeof label === 'string' ? requireLabel(label, 'label') : label,
    activationLimit: activation_limit,
    endsAt: readEnd(ends_at, 'ends_at'),
  };
}

/** Converts the refusal of an ended key to 404, because for a DELETE the key no longer exists. */
function endedBefore(error: unknown): never {
  if (!(error instanceof OperatorError && error.facts?.reason === 'key-ended')) throw error;
  throw new OperatorError(error.message, { code: 'NOT_FOUND', facts: error.facts });
}

const key_id = Type.Optional(Type.Integer({ ...Id, description: 'Default: the main key.' }));

export const licenseKeyOperations = {
  listLicenseKeys: list(
    '/licenses/{id}/keys',
    {
      summary: "List a licence's keys, including ended ones",
      query: strictObject(Paging),
      data: Key,
    },
    async (call) => {
      const { items, next } = await listKeyPage(call.db, (await requireLicense(call)).id, pageOf(call.query));
      return { data: items.map(keyJson), next };
    },
  ),
  addLicenseKey: post(
    '/licenses/{id}/keys',
    { summary: 'Add a key, which is shown only now', body: Terms, data: AddedKey, status: 201 },
    async (call) => {
      const { id } = await requireLicense(call);
      const added = await addKey(call.db, id, readTerms(call.body), call.settings.keySecret, call.context);
      return { data: addedKeyJson(added) };
    },
  ),
  updateLicenseKey: patch(
    '/licenses/{id}/keys/{key_id}',
    { summary: "Change a key's label, limit or end", body: Terms, data: Key },
    async (call) => {
      const { id } = await requireLicense(call);
      const edited = await editKey(
        call.db,
        id,
        readId(call, 'key_id', 'key'),
        readTerms(call.body),
        call.context,
      );
      return { data: keyJson(edited) };
    },
  ),
  removeLicenseKey: remove(
    '/licenses/{id}/keys/{key_id}',
    {
      summary: 'End a key now; with `free`, its sites also lose their slots',
      query: strictObject({
        free: Type.Optional(QueryFlag),
      }),
    },
    async (call) => {
      const { id } = await requireLicense(call);
      const free = isSet(call.query.free);
      const keyId = readId(call, 'key_id', 'key');
      const { key, wasOpen, freed } = await endKey(call.db, id, keyId, { free }, call.context).catch(
        endedBefore,
      );
      if (!wasOpen && freed.length === 0) throw notFound('key');
      return { ...keyJson(key), freed };
    },
  ),
  rekeyLicense: post(
    '/licenses/{id}/rekey',
    {
      summary: 'Replace a key; the new one is shown only now',
      body: strictObject({
        key_id,
        overlap: Type.Optional(
          Type.String({ ...DurationInput, description: 'How long the old key still works.' }),
        ),
        mail: Type.Optional(
          Type.Boolean({
            description: 'Mails the new key to the customer. 409 if the replaced key is not the main key.',
          }),
        ),
        ...ReasonField,
      }),
      data: AddedKey,
    },
    async (call) => {
      const { id } = await requireLicense(call);
      const { key_id: keyId, overlap, mail } = call.body;
      const { keySecret: secret, mailing } = call.settings;
      const rekeying = {
        keyId,
        overlap: overlap === undefined ? undefined : requireDuration(overlap, 'overlap'),
      };
      const added =
        mail === true
          ? rekeyAndSend(call.db, id, rekeying, { secret, mailing }, withReason(call))
          : rekey(call.db, id, rekeying, secret, withReason(call));
      return { data: addedKeyJson(await added) };
    },
  ),
  revealLicense: post(
    '/licenses/{id}/reveal',
    {
      summary: 'Show a key that is stored',
      body: strictObject({ key_id, ...ReasonField }),
      data: AddedKey,
    },
    async (call) => {
      const { id } = await requireLicense(call);
      const { keySecret: secret } = call.settings;
      return { data: addedKeyJson(await revealKey(call.db, id, call.body.key_id, secret, withReason(call))) };
    },
  ),
};
