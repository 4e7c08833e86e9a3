import { refuseForeignReference } from '../orders/whose';
import { ORDER_EVENTS } from '../orders/order-events';
import { Type } from '@sinclair/typebox';
import { amendLicense } from '../licensing/amend';
import { requireDuration } from '../licensing/durations';
import { requireLabel } from '../licensing/fields';
import { requirePlan } from '../licensing/find-or-throw';
import { issueLicenses, MAX_ISSUED, type IssueResult, type IssueRequest } from '../licensing/issue';
import { SORTS } from '../licensing/license-filter';
import { listLicensePage } from '../licensing/lists';
import { changeState, renew, type Renewal } from '../licensing/lifecycle';
import type { Transition } from '../licensing/core/states';
import { issueAndSend } from '../mail/queue';
import { readLicense, type License } from '../licensing/licenses';
import { activationJson, keyJson, licenseJson } from '../licensing/views';
import { invalid } from './kit/failures';
import { mailOwedKeys } from '../privacy/order-customer';
import { get, list, patch, post, type OperationCall } from './kit/operation';
import { pageOf, readEnd, readMetadataChanges, requireLicense, withReason } from './kit/request-params';
import {
  DurationInput,
  strictObject,
  IdGiven,
  Limit,
  enumOf,
  nullable,
  Paging,
  ReasonField,
  Text,
  TextOrNull,
  TimeInput,
  sortBy,
} from './kit/schemas';
import { requireRecentSignIn } from './kit/sign-in-again';
import { IssuedLicense, License as LicenseSchema, LicenseDetails, STATUSES } from './kit/response-schemas';

const Filters = {
  product_id: Type.Optional(IdGiven),
  covers: Type.Optional(
    Type.Integer({ ...IdGiven, description: 'Licences that cover this product, including by a bundle.' }),
  ),
  plan_id: Type.Optional(IdGiven),
  status: Type.Optional(enumOf(STATUSES)),
  customer: Type.Optional(Type.String({ description: 'An e-mail address.' })),
  reference: Type.Optional(Text),
  hint: Type.Optional(Type.String({ description: 'The end of the key.' })),
  expiring: Type.Optional(
    Type.String({
      ...DurationInput,
      description:
        'Active licences that end within this time, such as 30d, and do not renew automatically; soonest end first.',
    }),
  ),
  refused: Type.Optional(
    Type.String({
      ...DurationInput,
      description: 'Licences with a refused request within this time, such as 7d.',
    }),
  ),
  issued_since: Type.Optional(
    Type.String({
      ...TimeInput,
      description: 'Licences that were issued, not imported, at this time or later.',
    }),
  ),
  suspended_by: Type.Optional(
    enumOf(ORDER_EVENTS, {
      description: 'Licences that this event of their order suspended, such as charged_back.',
    }),
  ),
  q: Type.Optional(
    Type.String({
      description:
        "The beginnings of words of the customer's name or address, or of a key's label; an order or its number, an id, the end of a key, or an activated identifier.",
    }),
  ),
};

const MetadataGiven = Type.Record(Type.String(), TextOrNull, {
  description: 'Changes by name; null removes a name.',
});

const IssueBody = strictObject({
  plan_id: IdGiven,
  customer: Type.Optional(Type.String({ description: 'An e-mail address.' })),
  reference: Type.Optional(
    Type.String({ description: "The shop's order; the same order gives the same licence again." }),
  ),
  expires_at: Type.Optional(TimeInput),
  lifetime: Type.Optional(
    Type.Boolean({ description: "The licence never expires, whatever the plan's duration is." }),
  ),
  activation_limit: Type.Optional(Limit),
  count: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_ISSUED,
      description: 'How many to issue. `data` is then an array.',
    }),
  ),
  key: Type.Optional(Type.String({ description: 'A key of your own choice.' })),
  metadata: Type.Optional(MetadataGiven),
  send: Type.Optional(
    Type.Boolean({ description: 'Mails the key to the customer, but not again for a repeated `reference`.' }),
  ),
});

async function issue({ db, body, caller, now, settings }: OperationCall<unknown, typeof IssueBody.static>) {
  const { count, reference, key, send = false, lifetime = false, expires_at } = body;
  if (send && count !== undefined) throw invalid('send', 'It cannot be combined with "count".');
  if (lifetime && expires_at !== undefined)
    throw invalid('lifetime', 'It cannot be combined with "expires_at".');
  for (const [field, value] of Object.entries({ reference, key }))
    if (count !== undefined && value !== undefined)
      throw invalid(field, 'It is for a single licence, and cannot be combined with "count".');
  const request: IssueRequest = {
    planId: body.plan_id,
    customer: body.customer,
    reference: reference === undefined ? undefined : requireLabel(reference, 'reference'),
    expiresAt: lifetime ? null : (readEnd(expires_at, 'expires_at') ?? undefined),
    activationLimit: body.activation_limit,
    metadata: readMetadataChanges(body.metadata),
    key,
    count: count ?? 1,
    issuedBy: caller.tokenId === null ? undefined : caller.name,
    ownOnly: caller.scope === 'issue',
  };
  if (request.ownOnly && request.reference !== undefined)
    await refuseForeignReference(db, request.reference, caller.name);
  const { keySecret: secret, mailing } = settings;
  const issued = send
    ? await issueAndSend(db, request, { actor: caller.actor, secret, mailing, now })
    : await issueLicenses(db, request, caller.actor, secret, now);
  const data = issued.map((one) => issuedView(one, now));
  const isRepeated = issued.some(({ isNew }) => !isNew);
  return { status: isRepeated ? 200 : 201, data: count === undefined ? (data[0] as (typeof data)[0]) : data };
}

function issuedView({ license, key }: IssueResult, now: Date) {
  return { ...licenseJson(license, now), license_key: key ?? null };
}

/** Declares the operation that ends, stops or reinstates a licence. */
const stateChange = (
  transition: Exclude<Transition, 'renew'>,
  terms: { summary: string; forShops?: true; needsNoRecentSignIn?: true },
) =>
  post(
    `/licenses/{id}/${transition}`,
    { ...terms, body: strictObject(ReasonField), data: LicenseSchema },
    async (call) => {
      const { id } = await requireLicense(call);
      const changed = await changeState(call.db, id, transition, withReason(call));
      return { data: licenseJson(changed, call.now) };
    },
  );

const RenewBody = strictObject({
  for: Type.Optional(DurationInput),
  until: Type.Optional(TimeInput),
  lifetime: Type.Optional(Type.Boolean()),
  ...ReasonField,
});

async function renewalOf(
  { db, body }: OperationCall<unknown, typeof RenewBody.static>,
  { plan }: License,
): Promise<Renewal> {
  const { for: time, until, lifetime = false } = body;
  const given = Object.entries({ for: time, until, lifetime: lifetime || undefined }).filter(
    ([, value]) => value !== undefined,
  );
  if (given.length > 1) throw invalid(given[1]?.[0] ?? '', 'Give one of "for", "until" and "lifetime".');
  if (lifetime) return { until: null };
  if (until !== undefined) return { until: readEnd(until, 'until') as Date };
  if (time !== undefined) return { for: requireDuration(time, 'for') };
  const { duration } = await requirePlan(db, plan.id);
  if (duration === null)
    throw invalid('for', `Plan ${plan.id} has no duration: give "for", "until" or "lifetime".`);
  return { for: duration };
}

export const licenseOperations = {
  listLicenses: list(
    '/licenses',
    {
      summary: 'List licences, newest first',
      description: 'A token with the scope `issue` sees only licences that it issued.',
      forShops: true,
      query: strictObject({
        ...Filters,
        sort: sortBy(
          SORTS,
          'Sorts by id, customer or end. Default: newest first, or with `expiring` soonest end first. In ascending order, licences without a customer or an end come last.',
        ),
        ...Paging,
      }),
      data: LicenseSchema,
    },
    async ({ db, query, caller, now }) => {
      const { limit, after, product_id, plan_id, issued_since, suspended_by, ...filters } = query;
      const filter = {
        ...filters,
        productId: product_id,
        planId: plan_id,
        issuedSince: issued_since,
        suspendedBy: suspended_by,
        issuedBy: caller.scope === 'issue' ? caller.name : undefined,
      };
      const { items, next } = await listLicensePage(db, filter, pageOf({ limit, after }), now);
      return { data: items.map((one) => licenseJson(one, now)), next };
    },
  ),
  issueLicense: post(
    '/licenses',
    {
      needsNoRecentSignIn: true,
      summary: 'Issue a licence',
      forShops: true,
      body: IssueBody,
      data: Type.Union([IssuedLicense, Type.Array(IssuedLicense)]),
      status: 201,
      otherStatus: { status: 200, when: 'the order has this licence already' },
    },
    issue,
  ),
  getLicense: get(
    '/licenses/{id}',
    { summary: 'Read a licence with its keys and activations', forShops: true, data: LicenseDetails },
    async (call) => {
      const { id } = await requireLicense(call);
      const { license, keys, activations } = await readLicense(call.db, id);
      return {
        data: {
          ...licenseJson(license, call.now),
          keys: keys.map(({ key }) => keyJson(key)),
          activations: activations.map((one) => activationJson(one, license)),
        },
      };
    },
  ),
  updateLicense: patch(
    '/licenses/{id}',
    {
      noRecentSignInWith: 'nothing but `metadata`',
      summary: 'Change a licence',
      description:
        'A new plan changes the limit; keys, activations and end stay. If the order of the licence had no address, a new customer also becomes the customer of the order, and the keys are mailed by the rule of its shop (`key_mailed`). 409 with the field `plan_id` if the plan belongs to another product: with `other_product`, the licence moves to it.',
      body: strictObject({
        activation_limit: Type.Optional(Limit),
        customer: Type.Optional(Text),
        plan_id: Type.Optional(IdGiven),
        other_product: Type.Optional(
          Type.Boolean({ description: 'Allows a plan of another product in `plan_id`.' }),
        ),
        expires_at: Type.Optional(
          nullable(Type.String({ ...TimeInput, description: 'null: it never expires.' })),
        ),
        metadata: Type.Optional(MetadataGiven),
      }),
      data: strictObject(
        {
          ...LicenseSchema.properties,
          key_mailed: Type.Boolean({
            description: 'The keys of its order are mailed, because the order had no address before.',
          }),
        },
        { title: 'ChangedLicense' },
      ),
    },
    async (call) => {
      const { db, body, context, now, settings } = call;
      if (Object.keys(body).some((field) => field !== 'metadata')) requireRecentSignIn(call);
      const until = readEnd(body.expires_at, 'expires_at');
      const metadata = readMetadataChanges(body.metadata);
      const { plan_id: planId, activation_limit: limit, customer, other_product: otherProduct } = body;
      const changed = await amendLicense(
        db,
        await requireLicense(call),
        { planId, limit, customer, until, metadata },
        { ...context, otherProduct },
      );
      const { keySecret: secret, mailing, graceDays } = settings;
      const record = { ...context, secret, mailing, graceDays };
      const mailed = customer !== undefined && (await mailOwedKeys(db, changed.id, customer, record));
      return { data: { ...licenseJson(changed, now), key_mailed: mailed } };
    },
  ),
  suspendLicense: stateChange('suspend', {
    summary: 'Suspend a licence',
    forShops: true,
    needsNoRecentSignIn: true,
  }),
  reinstateLicense: stateChange('reinstate', {
    summary: 'Make a suspended licence active again',
    forShops: true,
    needsNoRecentSignIn: true,
  }),
  revokeLicense: stateChange('revoke', {
    summary: 'End a licence for good, because of abuse or a chargeback',
  }),
  cancelLicense: stateChange('cancel', {
    summary: 'End a licence for good, for example after a refund',
    forShops: true,
  }),
  renewLicense: post(
    '/licenses/{id}/renew',
    {
      needsNoRecentSignIn: true,
      summary: 'Extend a licence, or set its end',
      description:
        "Without `for`, `until` or `lifetime`, the licence is extended by the plan's duration, from its end or from now if it has expired. A suspended licence becomes active again.",
      forShops: true,
      body: RenewBody,
      data: LicenseSchema,
    },
    async (call) => {
      const license = await requireLicense(call);
      const changed = await renew(call.db, license.id, await renewalOf(call, license), withReason(call));
      return { data: licenseJson(changed, call.now) };
    },
  ),
};
