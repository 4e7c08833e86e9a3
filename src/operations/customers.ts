import { Type, type TSchema } from '@sinclair/typebox';
import { changeCustomer } from '../privacy/change-customer';
import { CUSTOMER_SORTS, deleteCustomer, listCustomerPage, readCustomerJson } from '../privacy/customer-list';
import type { Section } from '../privacy/stored-data';
import { notFound } from './kit/failures';
import { get, list, patch, remove, type OperationCall } from './kit/operation';
import { pageOf } from './kit/request-params';
import {
  strictObject,
  Id,
  enumOf,
  nullable,
  PageQuery,
  sortBy,
  Text,
  TextOrNull,
  Time,
  TimeOrNull,
} from './kit/schemas';
import { requireRecentSignIn } from './kit/sign-in-again';
import { Access, Activation, Key, LicenseEvent, licenseFields } from './kit/response-schemas';

const Summary = strictObject(
  {
    id: Type.String({ description: 'Hex digits of a digest of the address, which names nobody in a log.' }),
    customer: Text,
    name: TextOrNull,
    licenses: Type.Integer({ minimum: 1 }),
    next_end: TimeOrNull,
  },
  { title: 'Customer' },
);

const Seat = strictObject(
  {
    license_id: Id,
    identifier: Text,
    name: TextOrNull,
    ip: TextOrNull,
    key_id: nullable(Id),
    free: Type.Boolean(),
    site: TextOrNull,
    activated_at: Time,
    held_until: TimeOrNull,
  },
  { title: 'Seat' },
);

const record = Type.Object({}, { additionalProperties: true });
const records = (description: string) => Type.Array(record, { description });

/** The sections of an export, which docs/customers.md describes. */
const sections: Record<Section, TSchema> = {
  profile: records('Name and language, as orders and links told them and as they were chosen.'),
  told_sites: records("Versions that sites told with the licences' keys."),
  networks: records('Networks that downloaded by the keys in 30 days, as digests.'),
  orders: records('Orders of shops that name the customer, or issued the licences, with lines and events.'),
  messages: records('What receivers took about these orders, with what waits.'),
  links: records("Shops' own ids of the customer."),
  mails: records('Mails about the licences and to the address, without their texts.'),
  webhooks: records('What receivers of webhooks were told, with the body.'),
  receivers: records('Receivers of webhooks whose description names the address.'),
  sessions: records('Pages that were opened with a key or by a link.'),
  sign_in_links: records('Links that were mailed and not used.'),
  search_words: records('The words by which the search finds the licences.'),
  link_requests: records('When a link was asked for.'),
  operators: records('An operator with the same address.'),
};

const Language = enumOf(['en', 'de']);
const person = {
  name: TextOrNull,
  language: nullable({ ...Language, description: 'null: as LICENSING_MAIL_LANGUAGE says.' }),
};

const ChangedCustomer = strictObject(
  {
    id: Type.String({ description: 'Another one after a change of the address.' }),
    customer: Text,
    ...person,
    note: nullable(Type.String({ description: "The seller's own; nobody outside sees it." })),
    moved: strictObject(
      { licenses: Type.Integer({ minimum: 0 }), orders: Type.Integer({ minimum: 0 }) },
      { description: 'That have another address now.' },
    ),
  },
  { title: 'ChangedCustomer' },
);

const CustomerData = strictObject(
  {
    id: Text,
    customer: Text,
    former_addresses: Type.Array(Text, {
      description: 'Former addresses that no customer has now. The answer has what names them, too.',
    }),
    ...person,
    licenses: Type.Array(
      strictObject({
        ...licenseFields,
        keys: Type.Array(Key),
        activations: Type.Array(Activation),
        events: Type.Array(LicenseEvent, { description: 'The newest first.' }),
      }),
    ),
    seats: Type.Array(Seat, { description: "Activations on others' licences that name the customer." }),
    accesses: Type.Array(Access, { description: 'The newest first.' }),
    ...sections,
    mentions: Type.Record(Type.String(), Type.Array(record), {
      description: 'Records elsewhere that contain the address, by type.',
    }),
    shortened: Type.Array(Text, {
      description: 'Lists that are longer than shown; `licensing customer export` writes them whole.',
    }),
    next: nullable(Type.Integer({ description: 'The `after` of the next page of licences.' })),
  },
  { title: 'CustomerData' },
);

/** Returns the id or the address in the path. */
function customerOf({ path }: Pick<OperationCall, 'path'>): string {
  return path.customer ?? '';
}

export const customerOperations = {
  listCustomers: list(
    '/customers',
    {
      summary: 'List customers by their e-mail address',
      query: strictObject({
        q: Type.Optional(
          Type.String({ description: 'What `q` of `GET /licenses` finds: the customers of those licences.' }),
        ),
        sort: sortBy(CUSTOMER_SORTS, 'By address. Without it from A to Z.'),
        ...PageQuery,
      }),
      data: Summary,
    },
    async ({ db, query, now }) => {
      const { items, next } = await listCustomerPage(
        db,
        { q: query.q, sort: query.sort },
        pageOf(query),
        now,
      );
      return { data: items, next };
    },
  ),
  getCustomer: get(
    '/customers/{customer}',
    {
      summary: 'Read all that is stored about a customer',
      description:
        '`customer` is the id, which keeps the address out of logs, or the address. Looks through whole tables. Later pages have further licences, with what belongs to them.',
      hasDeadline: false,
      query: strictObject({ limit: PageQuery.limit, after: Type.Optional(Id) }),
      data: CustomerData,
    },
    async (call) => {
      const { limit = 50, after } = call.query;
      return { data: await readCustomerJson(call.db, customerOf(call), { limit, after }, call.now) };
    },
  ),
  updateCustomer: patch(
    '/customers/{customer}',
    {
      noRecentSignInWith: 'nothing but `note`',
      summary: "Change a customer's address, language, name or note",
      description:
        "A new address takes along licences, orders, the mails that wait, name and language, in one transaction; both addresses are mailed, and pages opened by a link to the old one end. 409 with the field `email` when the address is another customer's: with `join` both become one.",
      hasDeadline: false,
      body: strictObject({
        email: Type.Optional(Type.String({ description: 'The new address.' })),
        language: Type.Optional(
          nullable({ ...Language, description: 'null: as orders and links said last.' }),
        ),
        name: Type.Optional(nullable(Type.String({ description: 'null: as orders said last.' }))),
        note: Type.Optional(
          nullable(
            Type.String({
              description: "The seller's own, at most 1,000 characters; nobody outside sees it. null: none.",
            }),
          ),
        ),
        join: Type.Optional(Type.Boolean({ description: 'Makes two customers one.' })),
      }),
      data: ChangedCustomer,
    },
    async (call) => {
      const { mailing } = call.settings;
      if (Object.keys(call.body).some((field) => field !== 'note')) requireRecentSignIn(call);
      return {
        data: await changeCustomer(call.db, customerOf(call), call.body, { ...call.context, mailing }),
      };
    },
  ),
  removeCustomer: remove(
    '/customers/{customer}',
    {
      summary: "Erase a customer's address everywhere; licences and slots stay. There is no way back",
      hasDeadline: false,
    },
    async (call) => {
      if (customerOf(call) === '') throw notFound('customer');
      return deleteCustomer(call.db, customerOf(call), call.context, call.onProgress);
    },
  ),
};
