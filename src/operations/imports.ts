import { createHash } from 'node:crypto';
import { Type, type Static } from '@sinclair/typebox';
import { countAfterImport } from '../licensing/statistics';
import { OperatorError } from '../licensing/operator-error';
import { CSV_FIELDS, readCsvMap } from '../transfer/csv-licenses';
import { importCsv } from '../transfer/import-csv';
import { invalid, ManageError } from './failures';
import { post, type Call } from './operation';
import { isSet } from './reading';
import { exactly, Flag, Text, TextOrNull } from './schemas';
import { requireRecentSignIn } from './sign-in-again';
import type { UploadRules } from './upload';

export const MAX_ROWS = 10_000;
const MAX_BYTES = 32 * 1024 * 1024;

const Fields = exactly({
  dry_run: Type.Optional(Flag),
  map: Type.Optional(
    Type.String({
      description: `Which column is what: field=Column,... The fields: ${CSV_FIELDS.join(', ')}.`,
    }),
  ),
  product: Type.Optional(Type.String({ description: 'Id or name, for rows that name none.' })),
  plan: Type.Optional(Type.String({ description: 'Id or name, for rows that name none.' })),
  skip_bad_rows: Type.Optional(Flag),
});

const Imported = exactly(
  {
    dry_run: Type.Boolean(),
    licenses: Type.Integer({
      minimum: 0,
      description: 'New ones; those that were here already count no more.',
    }),
    rejected: Type.Array(
      exactly({ row: Type.Integer({ description: 'Its line.' }), field: TextOrNull, message: Text }),
    ),
    twins: Type.Array(
      exactly({ row: Type.Integer({ description: 'Its line.' }), field: Type.Literal('key'), message: Text }),
      {
        description:
          'Rows whose key differs from another in case or hyphens alone. They are imported, and each key works only as it is written.',
      },
    ),
  },
  { title: 'Imported' },
);

async function importFile(call: Call<Static<typeof Fields>, { file?: Buffer }>) {
  const { db, query, body, settings, caller, now } = call;
  const { file } = body;
  if (file === undefined) throw invalid('file', 'The CSV file is missing: the part "file".');
  if (query.map === undefined)
    throw invalid('map', 'Which column is what? Such as key=License Key,plan=Plan.');
  const dryRun = isSet(query.dry_run);
  if (!dryRun) requireRecentSignIn(call);
  const rejected: Static<typeof Imported>['rejected'] = [];
  const twins: Static<typeof Imported>['twins'] = [];
  const report = await importCsv(db, oneChunk(file), {
    map: readCsvMap(query.map),
    ignore: [],
    delimiter: undefined,
    separator: undefined,
    product: query.product,
    plan: query.plan,
    skipBadRows: isSet(query.skip_bad_rows),
    dryRun,
    secret: settings.keySecret,
    actor: caller.actor,
    now,
    maxRows: MAX_ROWS,
    onFault: (row, { field, text }) => rejected.push({ row, field, message: text }),
    onTwin: (row, message) => twins.push({ row, field: 'key', message }),
  }).catch((error: unknown) => {
    throw explain(error);
  });
  if (!dryRun && report.new > 0) await countAfterImport(db, now);
  return { data: { dry_run: dryRun, licenses: report.new, rejected, twins } };
}

/** In the words of this API. */
function explain(error: unknown): unknown {
  if (!(error instanceof OperatorError)) return error;
  const { facts, message } = error;
  if (facts?.reason === 'too-many-rows')
    return new ManageError('PAYLOAD_TOO_LARGE', message, { field: 'file' });
  if (facts?.reason === 'bad-rows')
    return invalid('file', `${message} A dry run lists them; skip_bad_rows=1 imports the others.`);
  return invalid(error.field ?? 'file', message);
}

/** A whole file, for readers of streams. */
export async function* oneChunk(file: Buffer): AsyncIterable<Buffer> {
  yield await Promise.resolve(file);
}

async function collect(bytes: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of bytes) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** How a table is taken from the body. */
export const CSV_UPLOAD: UploadRules<Buffer> = {
  limit: MAX_BYTES,
  take: collect,
  digest: (file) => createHash('sha256').update(file).digest('hex'),
  discard: () => Promise.resolve(),
};

export const importOperations = {
  importLicenses: post(
    '/imports',
    {
      goesOnWith: 'a dry run',
      summary: 'Import licences from a CSV file',
      description: `At most ${MAX_ROWS} rows: all of them or none, but with \`skip_bad_rows\` those that fit. The body is the file, or a form with the part \`file\`; the other fields stand in the query or in the form.`,
      query: Fields,
      upload: {
        types: ['text/csv'],
        rules: () => CSV_UPLOAD,
      },
      data: Imported,
      hasDeadline: false,
    },
    importFile,
  ),
};
