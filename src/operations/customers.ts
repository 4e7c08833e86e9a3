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
  Paging,
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
    id: Type.String({
      description: 'Hex digits of a digest of the address, which does not reveal the customer in a log.',
    }),
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
  profile: records('The name and language, from orders and links or as they were set.'),
  told_sites: records("Versions that sites reported with the licences' keys."),
  downloads: records('The last granted download of each licence and product.'),
  networks: records('Networks that downloaded with the keys in 30 days, as digests.'),
  orders: records('Orders of shops that name the customer, or issued the licences, with lines and events.'),
  messages: records('Messages about these orders that receivers got, including waiting ones.'),
  links: records("Shops' own ids of the customer."),
  mails: records('Mails about the licences and to the address, without their texts.'),
  webhooks: records('Webhooks that were sent, with their bodies.'),
  receivers: records('Receivers of webhooks whose description names the address.'),
  sessions: records("Sessions on the customers' pages that a key or a link opened."),
  sign_in_links: records('Links that were mailed and are not used yet.'),
  search_words: records('The words with which the search finds the licences.'),
  link_requests: records('The times at which a link was requested.'),
  operators: records('An operator with the same address.'),
};

const Language = enumOf(['en', 'de']);
const person = {
  name: TextOrNull,
  language: nullable({ ...Language, description: 'null: the language in LICENSING_MAIL_LANGUAGE.' }),
};

const ChangedCustomer = strictObject(
  {
    id: Type.String({ description: 'The id changes with the address.' }),
    customer: Text,
    ...person,
    note: nullable(Type.String({ description: "The seller's own note, which customers do not see." })),
    moved: strictObject(
      { licenses: Type.Integer({ minimum: 0 }), orders: Type.Integer({ minimum: 0 }) },
      { description: 'The number that moved to the new address.' },
    ),
  },
  { title: 'ChangedCustomer' },
);

const CustomerData = strictObject(
  {
    id: Text,
    customer: Text,
    former_addresses: Type.Array(Text, {
      description:
        'Former addresses that no customer has now. The answer includes the records that name them.',
    }),
    ...person,
    licenses: Type.Array(
      strictObject({
        ...licenseFields,
        keys: Type.Array(Key),
        activations: Type.Array(Activation),
        events: Type.Array(LicenseEvent, { description: 'Newest first.' }),
      }),
    ),
    seats: Type.Array(Seat, {
      description: 'Activations on licences of other customers that name this customer.',
    }),
    accesses: Type.Array(Access, { description: 'Newest first.' }),
    ...sections,
    mentions: Type.Record(Type.String(), Type.Array(record), {
      description: 'Other records that contain the address, by type.',
    }),
    shortened: Type.Array(Text, {
      description:
        'The lists that are not complete here; `licensing customer export` writes them completely.',
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
          Type.String({
            description:
              'Search text, as `q` of `GET /licenses`: finds the customers of the licences that match.',
          }),
        ),
        sort: sortBy(CUSTOMER_SORTS, 'Sorts by address. Default: A to Z.'),
        ...Paging,
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
      summary: 'Read everything that is stored about a customer',
      description:
        '`customer` is the address, or the id, which keeps the address out of logs. This call scans whole tables. Each further page has more licences with their data.',
      hasDeadline: false,
      query: strictObject({ limit: Paging.limit, after: Type.Optional(Id) }),
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
        'With a new address, the licences, orders, waiting mails, name and language move to it in one transaction. Both addresses get a mail, and sessions that a link to the old address opened end. 409 with the field `email` if the address belongs to another customer: `join` merges both.',
      hasDeadline: false,
      body: strictObject({
        email: Type.Optional(Type.String({ description: 'The new address.' })),
        language: Type.Optional(
          nullable({ ...Language, description: 'null: the language that the latest order or link gave.' }),
        ),
        name: Type.Optional(
          nullable(Type.String({ description: 'null: the name that the latest order gave.' })),
        ),
        note: Type.Optional(
          nullable(
            Type.String({
              description:
                "The seller's own note of at most 1,000 characters, which customers do not see. null removes it.",
            }),
          ),
        ),
        join: Type.Optional(Type.Boolean({ description: 'Merges both customers.' })),
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
      summary: "Erase a customer's address everywhere; licences and slots stay. This cannot be undone",
      hasDeadline: false,
    },
    async (call) => {
      if (customerOf(call) === '') throw notFound('customer');
      return deleteCustomer(call.db, customerOf(call), call.context, call.onProgress);
    },
  ),
};
