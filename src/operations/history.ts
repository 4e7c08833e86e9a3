import { Type } from '@sinclair/typebox';
import { listRequestPage, listEventPage } from '../licensing/lists';
import { parseMoment } from '../licensing/timestamps';
import { accessJson, eventJson } from '../licensing/views';
import { list } from './kit/operation';
import { pageOf, requireLicense } from './kit/request-params';
import { strictObject, IdGiven, Paging, Text, TimeInput } from './kit/schemas';
import { Access, LicenseEvent } from './kit/response-schemas';

const NEWEST_FIRST = 'Newest first.';

export const historyOperations = {
  listLicenseEvents: list(
    '/licenses/{id}/events',
    {
      summary: 'List the changes of a licence',
      description: NEWEST_FIRST,
      forShops: true,
      query: strictObject(Paging),
      data: LicenseEvent,
    },
    async (call) => {
      const { items, next } = await listEventPage(
        call.db,
        (await requireLicense(call)).id,
        pageOf(call.query),
      );
      return { data: items.map(eventJson), next };
    },
  ),
  listLicenseRequests: list(
    '/licenses/{id}/requests',
    {
      summary: "List the access log's entries of a licence",
      description: NEWEST_FIRST,
      forShops: true,
      query: strictObject(Paging),
      data: Access,
    },
    async (call) => {
      const { id } = await requireLicense(call);
      const { items, next } = await listRequestPage(call.db, { licenseId: id }, pageOf(call.query));
      return { data: items.map(accessJson), next };
    },
  ),
  listRequests: list(
    '/requests',
    {
      summary: "List the access log's entries: downloads and refused requests",
      description: NEWEST_FIRST,
      query: strictObject({
        outcome: Type.Optional(Type.String({ description: '`ok`, or the code of a refusal.' })),
        product_id: Type.Optional(IdGiven),
        hint: Type.Optional(Type.String({ description: 'The end of a key.' })),
        ip: Type.Optional(Text),
        since: Type.Optional(TimeInput),
        ...Paging,
      }),
      data: Access,
    },
    async ({ db, query: { limit, after, since, product_id: productId, ...filter } }) => {
      const from = since === undefined ? undefined : parseMoment(since, 'first', 'refused', 'since');
      const { items, next } = await listRequestPage(
        db,
        { ...filter, productId, since: from },
        pageOf({ limit, after }),
      );
      return { data: items.map(accessJson), next };
    },
  ),
};
