import { Type } from '@sinclair/typebox';
import { readStatistics } from '../figures/statistics';
import { get } from './kit/operation';
import { strictObject, IdGiven, Text } from './kit/schemas';

const Count = Type.Integer({ minimum: 0 });

const Statistics = strictObject(
  {
    licenses: Type.Record(Type.String(), Count, { description: 'By status.' }),
    expiring: Type.Array(strictObject({ month: Text, count: Count })),
    days: Type.Array(
      strictObject({
        day: Text,
        issued: Count,
        imported: Count,
        renewed: Count,
        activated: Count,
        downloads: Type.Record(Type.String(), Count, { description: 'By version.' }),
        refused: Type.Record(Type.String(), strictObject({ requests: Count, licenses: Count }), {
          description: 'By code.',
        }),
      }),
    ),
  },
  { title: 'Statistics' },
);

const Day = Type.Optional(
  Type.String({ description: 'A UTC day such as 2026-11-24.', examples: ['2026-11-24'] }),
);

export const statisticsOperations = {
  getStatistics: get(
    '/statistics',
    {
      summary: 'Read the licences by status and end, and what happened on each day',
      description: 'The figures are at most a minute old. Default: the last 30 days.',
      query: strictObject({ from: Day, to: Day, product_id: Type.Optional(IdGiven) }),
      data: Statistics,
    },
    async ({ db, query: { from, to, product_id: productId }, now }) => ({
      data: await readStatistics(db, { from, to, productId }, now),
    }),
  ),
};
