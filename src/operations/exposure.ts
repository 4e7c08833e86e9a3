import { Readable } from 'node:stream';
import { Type } from '@sinclair/typebox';
import { CodedError } from '../base/errors';
import { jsonOf } from '../base/json';
import {
  exposureRows,
  MAX_FIXED_VERSIONS,
  readExposure,
  readFixedVersions,
  type ExposureQuery,
} from '../figures/exposure';
import { requireProduct } from '../licensing/find-or-throw';
import { csvLine, type Cell } from './kit/csv';
import { file, get, type OperationCall } from './kit/operation';
import { readId } from './kit/request-params';
import { strictObject, Time, TimeOrNull } from './kit/schemas';

const counted = (description: string) => Type.Integer({ minimum: 0, description });
const byVersion = (description: string) =>
  Type.Record(Type.String(), Type.Integer({ minimum: 0 }), { description });

const Exposure = strictObject(
  {
    sites: byVersion('Sites that reported an affected version in the last 180 days, by version.'),
    downloads: byVersion('Licences that reported no site and whose last download is affected, by version.'),
    unknown: counted('Licences without a reported site and without a download.'),
    active: counted('Active licences, affected or not.'),
    expired_covered: counted('Expired licences that may have a fixed version.'),
    expired_not_covered: counted('Expired licences that may not.'),
    customers: counted('Customers of these licences.'),
    customers_without_address: counted(
      'Customers who cannot be notified. A licence without a customer counts as one.',
    ),
    notified: counted('Customers who were notified by mail.'),
    notified_first_at: TimeOrNull,
    notified_last_at: TimeOrNull,
    failed: counted('Customers whose mail failed.'),
    computed_at: { ...Time, description: 'The time of the count.' },
  },
  { title: 'Exposure' },
);

const query = strictObject({
  fixed_in: Type.Array(Type.String({ examples: ['2.4.2'] }), {
    minItems: 1,
    maxItems: MAX_FIXED_VERSIONS,
    description:
      'A version that has the fix. Give one for each branch of versions. A version that is not published yet counts as a security release of today.',
  }),
});

async function queryOf(call: OperationCall<{ fixed_in: string[] }>): Promise<ExposureQuery> {
  const { id } = await requireProduct(call.db, readId(call, 'id', 'product'));
  return { productId: id, fixedIn: readFixedVersions(call.query.fixed_in) };
}

/** Yields the lines of a file for programs. */
async function* linesOf(rows: AsyncIterable<Cell[]>): AsyncGenerator<string> {
  for await (const row of rows) yield csvLine(row, ',');
}

export const exposureOperations = {
  getExposure: get(
    '/products/{id}/exposure',
    {
      summary: 'Count the licences and sites that a security hole affects',
      description:
        'A version is affected if it is lower than the fixed version of its branch. In a branch without a fix, the highest fixed version counts. Suspended, revoked and cancelled licences do not count. The figures of more than 5,000 licences are stored, and are counted again each hour while they are asked for. The first call with these versions waits for them.',
      query,
      data: Exposure,
      hasDeadline: false,
    },
    async (call) => {
      const { db, now, gone } = call;
      const figures = await readExposure(db, await queryOf(call), { now, waits: true, gone });
      if (figures === undefined) throw new CodedError('CLIENT_GONE');
      return {
        data: jsonOf(
          figures,
          ...(['sites', 'downloads', 'unknown', 'active', 'expiredCovered', 'expiredNotCovered'] as const),
          ...(['customers', 'customersWithoutAddress', 'notified', 'notifiedFirstAt'] as const),
          ...(['notifiedLastAt', 'failed', 'computedAt'] as const),
        ),
      };
    },
  ),
  getExposureCsv: file(
    '/products/{id}/exposure.csv',
    'text/csv',
    {
      summary: 'List the licences that a security hole affects, as CSV',
      description:
        'A line for each affected licence, and for each whose version is unknown: `basis` is `site`, `download` or `unknown`. If a licence has several sites, the line has the lowest affected version.',
      query,
    },
    async (call) => {
      const { productId, fixedIn } = await queryOf(call);
      const rows = exposureRows(call.db, { productId, fixedIn }, call.now);
      return { name: `exposure-${productId}.csv`, bytes: Readable.from(linesOf(rows)) };
    },
  ),
};
