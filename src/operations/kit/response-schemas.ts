import { Type } from '@sinclair/typebox';
import { ACTIVATION_TYPES } from '../../licensing/core/identifiers';
import { MAIL_TYPES } from '../../mail/queue';
import { STORED_STATUSES } from '../../licensing/core/states';
import { strictObject, Id, Limit, nullable, Text, TextOrNull, Time, TimeOrNull, textEnum } from './schemas';

/** The resources of the API in the form of their views (licensing/views.ts). */

export const STATUSES = [...STORED_STATUSES, 'expired'] as const;

export const Metadata = Type.Record(Type.String(), Type.String(), { title: 'Metadata' });

export const licenseFields = {
  id: Id,
  key_hint: nullable(Type.String({ description: 'The end of the key.' })),
  status: textEnum(STATUSES),
  product_id: Id,
  product: Text,
  plan_id: Id,
  plan: Text,
  activation_type: textEnum(ACTIVATION_TYPES),
  activation_limit: Limit,
  activations_used: Type.Integer({ minimum: 0 }),
  customer: TextOrNull,
  reference: TextOrNull,
  metadata: Metadata,
  expires_at: nullable(
    Type.String({
      ...Time,
      description: 'The time at which it stops working, including the grace period; null: it never expires.',
    }),
  ),
  paid_until: nullable(
    Type.String({
      ...Time,
      description: 'Its end without the grace period, in which the renewal of a subscription is awaited.',
    }),
  ),
  renews_itself: Type.Boolean({ description: 'A subscription renews it automatically.' }),
  last_check_at: TimeOrNull,
  last_check_ip: TextOrNull,
  check_count: Type.Integer({ minimum: 0 }),
  created_at: Time,
  revision: Type.Integer({ minimum: 0, description: 'Raised by every change.' }),
};

export const License = strictObject(licenseFields, { title: 'License' });

const keyFields = {
  id: Id,
  key_hint: TextOrNull,
  label: TextOrNull,
  activation_limit: nullable(Type.Integer({ minimum: 1, description: 'null: the limit of the licence.' })),
  ends_at: nullable(Type.String({ ...Time, description: 'null: it ends with the licence.' })),
  created_at: Time,
};

export const Key = strictObject(keyFields, { title: 'Key' });

export const Activation = strictObject(
  {
    id: Id,
    identifier: Text,
    name: TextOrNull,
    ip: TextOrNull,
    key_id: Id,
    free: Type.Boolean({ description: 'It takes no slot.' }),
    activated_at: Time,
    held_until: nullable(
      Type.String({
        ...Time,
        description: 'The time until which an offline file holds the slot. null: no such file was made.',
      }),
    ),
  },
  { title: 'Activation' },
);

export const LicenseDetails = strictObject(
  { ...licenseFields, keys: Type.Array(Key), activations: Type.Array(Activation) },
  { title: 'LicenseDetails' },
);

/** A licence with its whole key, which no other answer contains. */
export const IssuedLicense = strictObject(
  {
    ...licenseFields,
    license_key: nullable(
      Type.String({
        description: 'Shown only now. null: the licence already existed, and its key is not stored.',
      }),
    ),
  },
  { title: 'IssuedLicense' },
);

export const AddedKey = strictObject({ ...keyFields, license_key: Text }, { title: 'AddedKey' });

export const Mail = strictObject(
  {
    id: Id,
    type: textEnum(MAIL_TYPES),
    state: textEnum(['queued', 'sent', 'failed']),
    created_at: Time,
    sent_at: TimeOrNull,
  },
  { title: 'Mail' },
);

const anyRecord = nullable(Type.Object({}, { additionalProperties: true }));

export const LicenseEvent = strictObject(
  {
    id: Id,
    at: Time,
    actor: Text,
    action: Text,
    before: anyRecord,
    after: anyRecord,
    times: Type.Integer({ minimum: 1 }),
    last_at: TimeOrNull,
  },
  { title: 'Event' },
);

export const Access = strictObject(
  {
    id: Id,
    at: Time,
    times: Type.Integer({
      minimum: 1,
      description: 'How often the request was made: equal requests share an entry.',
    }),
    last_at: TimeOrNull,
    license_id: nullable(Id),
    endpoint: Text,
    outcome: Type.String({ description: '`ok`, or the code of the refusal.' }),
    product_id: nullable(Type.Integer()),
    version: TextOrNull,
    key_hint: nullable(Type.String({ description: 'The end of the key that was sent.' })),
    identifier: TextOrNull,
    ip: TextOrNull,
    user_agent: TextOrNull,
    site: nullable(Type.String({ description: 'The site that the request named. It is not verified.' })),
    installed_version: nullable(
      Type.String({ description: 'The installed version that the request named.' }),
    ),
  },
  { title: 'Request' },
);

export const UpdateXmlState = strictObject(
  { state: textEnum(['written', 'stale', 'not_set']), url: TextOrNull },
  { title: 'UpdateXmlState' },
);

export const Release = strictObject(
  {
    id: Id,
    product_id: Id,
    version: Text,
    state: textEnum(['draft', 'published', 'withdrawn']),
    changelog: Text,
    rollout: Type.Integer({
      minimum: 1,
      maximum: 100,
      description: 'The share of addresses that are offered it, in percent.',
    }),
    security: Type.Boolean({ description: 'It closes a security hole.' }),
    advisory: { ...TextOrNull, description: 'Advice for its users, in Markdown.' },
    cve: Type.Array(Text, { description: 'The names of the vulnerabilities that it closes.' }),
    same_fix_as: {
      ...nullable(Id),
      description: 'The id of the release whose fix it brings to another branch.',
    },
    notified_at: {
      ...TimeOrNull,
      description: 'The time at which its customers were notified by mail; null: they were not.',
    },
    published_at: TimeOrNull,
    file_name: Text,
    file_size: Type.Integer({ minimum: 0, description: 'bytes' }),
    sha256: Text,
    sha384: Text,
    sha512: Text,
    created_at: Time,
  },
  { title: 'Release' },
);
