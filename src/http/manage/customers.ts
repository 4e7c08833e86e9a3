import { Type } from '@sinclair/typebox';
import { isCursorText, readCursor, toPage } from '../../licensing/cursors';
import { deleteCustomer, listCustomers, readCustomerJson } from '../../privacy/customer-list';
import { notFound } from './failures';
import { get, list, remove, type Call } from './operation';
import { pageOf } from './reading';
import { exactly, Id, orNull, Paging, Text, TextOrNull, Time, TimeOrNull } from './schemas';
import { Access, Activation, licenseFields } from './things';

const Summary = exactly(
  {
    id: Type.String({ description: 'Hex digits of a digest of the address, which names nobody in a log.' }),
    customer: Text,
    licenses: Type.Integer({ minimum: 1 }),
    next_end: TimeOrNull,
  },
  { title: 'Customer' },
);

const Seat = exactly(
  {
    license_id: Id,
    identifier: Text,
    name: TextOrNull,
    ip: TextOrNull,
    key_id: orNull(Id),
    free: Type.Boolean(),
    site: TextOrNull,
    activated_at: Time,
    held_until: TimeOrNull,
  },
  { title: 'Seat' },
);

const CustomerData = exactly(
  {
    id: Text,
    customer: Text,
    licenses: Type.Array(exactly({ ...licenseFields, activations: Type.Array(Activation) })),
    seats: Type.Array(Seat, { description: "Activations on others' licences that name the customer." }),
    accesses: Type.Array(Access),
    next: orNull(Type.Integer({ description: 'The `after` of the next page of licences.' })),
  },
  { title: 'CustomerData' },
);

/** The id or the address in the path. */
function customerOf({ path }: Pick<Call, 'path'>): string {
  return path.customer ?? '';
}

export const customerOperations = [
  list(
    '/customers',
    {
      summary: 'List customers by their e-mail address',
      query: exactly({
        q: Type.Optional(Type.String({ description: 'The beginning of an address.' })),
        ...Paging,
      }),
      data: Summary,
    },
    async ({ db, query, now }) => {
      const { limit, after } = pageOf(query);
      const [address] = readCursor<[string]>(after, [isCursorText]) ?? [];
      const filter = { after: address, limit: limit + 1, beginning: query.q };
      const { items, next } = toPage(await listCustomers(db, filter, now), limit, ({ customer }) => [
        customer,
      ]);
      return { data: items, next };
    },
  ),
  get(
    '/customers/{customer}',
    {
      summary: 'Read what is stored about a customer',
      description: '`customer` is the id, which keeps the address out of logs, or the address.',
      query: exactly({ limit: Paging.limit, after: Type.Optional(Id) }),
      data: CustomerData,
    },
    async (call) => {
      const { limit = 50, after } = call.query;
      return { data: await readCustomerJson(call.db, customerOf(call), { limit, after }, call.now) };
    },
  ),
  remove(
    '/customers/{customer}',
    {
      summary: "Erase a customer's address everywhere; licences and slots stay. There is no way back",
      hasDeadline: false,
    },
    async (call) => {
      if (customerOf(call) === '') throw notFound('customer');
      await deleteCustomer(call.db, customerOf(call), call.context);
    },
  ),
];
