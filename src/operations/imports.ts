import { createHash } from 'node:crypto';
import { Type, type Static } from '@sinclair/typebox';
import { recountAfterImport } from '../figures/statistics';
import { CSV_FIELDS, readCsvMap } from '../transfer/moving/any-csv';
import { listMoves } from '../transfer/moving/list';
import { moveLicensesIn } from '../transfer/moving/run';
import { DATE_FORMS } from '../transfer/moving/source';
import { requireSource, SOURCES } from '../transfer/moving/sources';
import { undoImport as undoMove } from '../transfer/moving/undo';
import { importJson, moveJson, undoResultJson } from '../transfer/moving/views';
import { invalid } from './kit/failures';
import { list, post, type OperationCall } from './kit/operation';
import { isSet, pageOf, readId } from './kit/request-params';
import {
  strictObject,
  QueryFlag,
  Id,
  enumOf,
  nullable,
  PageQuery,
  Text,
  TextOrNull,
  Time,
  TimeOrNull,
  enumAsText,
} from './kit/schemas';
import { requireRecentSignIn } from './kit/sign-in-again';
import type { UploadRules } from './kit/upload';

const MAX_BYTES = 32 * 1024 * 1024;

const Fields = strictObject({
  dry_run: Type.Optional(QueryFlag),
  from: Type.Optional(
    Type.String({
      description: `The former system: ${SOURCES.map(({ name }) => name).join(', ')}. csv is any table, as without it. Those that read the site's tables take no body.`,
    }),
  ),
  plans: Type.Optional(
    Type.String({
      description:
        'What becomes of the plans of that system: THEIRS=OURS, with commas between; `-` leaves one out, `3+8=9` says which of our plans covers two of theirs, `new` makes one, also as `new:LIMIT:PERIOD:"NAME"` (`new:2:1y:"Pro, 2 sites"`; limit 0: any number; period `lifetime`: for life). As in the latest run unless given.',
    }),
  ),
  make_plans: Type.Optional({
    ...QueryFlag,
    description:
      'Makes products and plans by their names there, where `plans` says nothing: as with `new`, with the limit and the period that most of their licences have.',
  }),
  dates: Type.Optional(
    enumOf(DATE_FORMS, { description: 'How dates are written in a file; asked for where two forms fit.' }),
  ),
  confirm_columns: Type.Optional({
    ...QueryFlag,
    description:
      'The columns that a dry run has shown are right, of a system whose tables are not known for certain.',
  }),
  site_prefix: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9_]{1,32}$',
      description: "Of the site's tables, such as jos_, where several sites are in the database.",
    }),
  ),
  map: Type.Optional(
    Type.String({
      description: `Of csv: which column is what, where its name does not say it: field=Column,... The fields: ${CSV_FIELDS.join(', ')}, and metadata.NAME. "field=" says that the table has none.`,
    }),
  ),
  ignore: Type.Optional(
    Type.String({ description: 'Of csv: columns to leave out, with commas between their names.' }),
  ),
  product: Type.Optional(Type.String({ description: 'Of csv: id or name, for rows that name none.' })),
  plan: Type.Optional(Type.String({ description: 'Of csv: id or name, for rows that name none.' })),
  skip_bad_rows: Type.Optional({
    ...QueryFlag,
    description: 'Of csv: imports the other rows. Otherwise one row that does not fit refuses the import.',
  }),
});

const Count = Type.Integer({ minimum: 0 });
const Rows = Type.Array(Type.Integer(), { description: 'The first lines or ids there.' });
const Facts = Type.Array(Text, { description: 'What the sentence names.' });
const Hints = Type.Array(TextOrNull, {
  description:
    'The ends of the keys; null: a new key; an empty text: a key that is kept, and too short to show its end.',
});

const Moved = strictObject(
  {
    id: nullable({ ...Id, description: 'Of the run; null: a dry run.' }),
    dry_run: Type.Boolean(),
    source: Text,
    plans: Type.Array(
      strictObject({
        key: Type.String({ description: 'As `plans` names it.' }),
        name: Text,
        product: Text,
        licenses: Count,
        left_out: Type.Boolean(),
        target: nullable(
          strictObject({
            plan_id: nullable({ ...Id, description: 'null: a plan that would be made.' }),
            plan: Text,
            product: Text,
            new: Type.Boolean(),
            activation_limit: Count,
            duration: nullable({ ...Text, description: 'null: for life.' }),
          }),
        ),
      }),
      { description: 'Of that system; without `target` and not left out: somebody has to say it.' },
    ),
    counts: Type.Array(strictObject({ product: Text, plan: Text, state: Text, licenses: Count })),
    new: Count,
    changed: Count,
    same: Type.Integer({ minimum: 0, description: 'Here already, as they are there.' }),
    kept: Type.Integer({
      minimum: 0,
      description: 'With something that was changed here since the last run, which stays.',
    }),
    kept_licenses: Type.Array(strictObject({ license: Id, reference: Text, fields: Type.Array(Text) })),
    left_out: Type.Array(strictObject({ code: Text, facts: Facts, reason: Text, count: Count, rows: Rows })),
    warnings: Type.Array(
      strictObject({
        code: Text,
        facts: Facts,
        message: Text,
        count: Count,
        rows: Rows,
        customers: Type.Array(Text, { description: 'The first ones to look at, of some kinds.' }),
      }),
      { description: 'What changes its meaning, by kind.' },
    ),
    samples: Type.Array(
      strictObject({
        before: strictObject({
          id: Text,
          plan: Text,
          customer: TextOrNull,
          status: Text,
          starts_at: TimeOrNull,
          expires_at: TimeOrNull,
          key_hints: Hints,
          sites: Type.Array(Text),
        }),
        after: strictObject({
          reference: Text,
          product: Text,
          plan: Text,
          customer: TextOrNull,
          status: Text,
          expires_at: TimeOrNull,
          activation_limit: Count,
          key_hints: Hints,
          sites: Type.Array(Text),
        }),
      }),
      { description: 'Ten licences there and here.' },
    ),
    columns: nullable(
      Type.Array(Text, {
        description:
          'Those that were found, of a system whose tables are not known for certain, until somebody confirms them.',
      }),
    ),
    read_as: nullable(
      Type.Array(strictObject({ column: Text, field: TextOrNull }), {
        description: 'Of csv: what each column was read as; null: it is left out.',
      }),
    ),
    made: strictObject({ products: Count, plans: Count }),
  },
  { title: 'MovedIn' },
);

const Run = strictObject(
  {
    id: Id,
    source: Text,
    at: Time,
    actor: Text,
    new: Count,
    changed: Count,
    same: Count,
    kept: Count,
    left_out: Count,
    made: strictObject({ products: Count, plans: Count }),
    undone_at: TimeOrNull,
  },
  { title: 'ImportRun' },
);

const Undone = strictObject(
  {
    id: Id,
    removed: strictObject({ licenses: Count, products: Count, plans: Count }),
    left: Type.Array(
      strictObject({ kind: enumAsText(['license', 'product', 'plan']), id: Id, code: Text, reason: Text }),
      {
        description: 'What somebody has used or changed since, and stays.',
      },
    ),
  },
  { title: 'UndoneImport' },
);

type ImportCall = OperationCall<Static<typeof Fields>, { file?: Buffer; users?: Buffer }>;

async function importLicenses(call: ImportCall): Promise<{ data: Static<typeof Moved> }> {
  const { db, query, body, settings, caller, now, onProgress } = call;
  const { from = 'csv' } = query;
  const source = requireSource(from);
  const foreign = from === 'csv' ? undefined : CSV_ALONE.find((name) => query[name] !== undefined);
  if (foreign !== undefined) throw invalid(foreign, `"${foreign}" goes with from=csv only.`);
  const dryRun = isSet(query.dry_run);
  if (!dryRun) requireRecentSignIn(call);
  const report = await moveLicensesIn(db, {
    source,
    plans: query.plans,
    makePlans: isSet(query.make_plans),
    dryRun,
    // Treat an empty file as missing, because a request without a body has one.
    file:
      body.file && (body.file.length > 0 || source.reads !== 'tables') ? asSingleChunk(body.file) : undefined,
    users: body.users && body.users.length > 0 ? asSingleChunk(body.users) : undefined,
    readsAgain: false,
    dates: query.dates,
    confirmed: isSet(query.confirm_columns),
    sitePrefix: query.site_prefix,
    table: {
      map: query.map ? readCsvMap(query.map) : new Map(),
      ignore: query.ignore ? query.ignore.split(',').map((name) => name.trim()) : [],
      product: query.product,
      plan: query.plan,
    },
    refusesBadRows: from === 'csv' && !isSet(query.skip_bad_rows),
    secret: settings.keySecret,
    actor: caller.actor,
    now,
    onProgress: (done) => onProgress?.(done),
  });
  if (!dryRun) await recountAfterImport(db, now);
  return { data: moveJson(report) };
}

const CSV_ALONE = ['map', 'ignore', 'product', 'plan', 'skip_bad_rows'] as const;

/** Yields a whole file, for readers of streams. */
export async function* asSingleChunk(file: Buffer): AsyncIterable<Buffer> {
  yield await Promise.resolve(file);
}

async function collect(bytes: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of bytes) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** The rules for a table in the body. */
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
      noRecentSignInWith: 'a dry run',
      summary: 'Move in from another system, or from any CSV file',
      description:
        'All licences of the former system. The same call again takes what is new or has changed there. The body is the file, or a form with the part `file`. The other fields are in the query or in the form.',
      query: Fields,
      upload: {
        types: ['text/csv'],
        others: {
          users:
            'For exports without addresses (`lmfwc-csv`): a second table with the users or the orders of the shop.',
        },
        rules: () => CSV_UPLOAD,
      },
      data: Moved,
      hasDeadline: false,
    },
    importLicenses,
  ),
  listImports: list(
    '/imports',
    {
      summary: 'List the moves from other systems, the latest first',
      query: strictObject(PageQuery),
      data: Run,
    },
    async ({ db, query }) => {
      const { items, next } = await listMoves(db, pageOf(query));
      return { data: items.map(importJson), next };
    },
  ),
  undoImport: post(
    '/imports/{id}/undo',
    {
      summary: 'Take a move back',
      description:
        'Removes what the run made and nobody has used or changed since, and says what stays. A check of a key is no use. 409 when it was undone before.',
      body: strictObject({}),
      data: Undone,
      hasDeadline: false,
    },
    async (call) => {
      const { db, now } = call;
      const undone = await undoMove(db, readId(call, 'id', 'import'), { now });
      await recountAfterImport(db, now);
      return { data: undoResultJson(undone) };
    },
  ),
};
