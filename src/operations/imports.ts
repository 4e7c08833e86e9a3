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
  Paging,
  Text,
  TextOrNull,
  Time,
  TimeOrNull,
  textEnum,
} from './kit/schemas';
import { requireRecentSignIn } from './kit/sign-in-again';
import { smallUpload } from './kit/upload';

const MAX_BYTES = 32 * 1024 * 1024;

const Fields = strictObject({
  dry_run: Type.Optional(QueryFlag),
  from: Type.Optional(
    Type.String({
      description: `The former system: ${SOURCES.map(({ name }) => name).join(', ')}. csv, the default, is any table. For systems whose tables are in the site's database, send no body.`,
    }),
  ),
  plans: Type.Optional(
    Type.String({
      description:
        'The plan here for each plan of that system, as FORMER=HERE, separated by commas. `-` leaves a plan out, `3+8=9` gives plan 9 to a customer who has both 3 and 8, and `new` makes a plan, also as `new:LIMIT:PERIOD:"NAME"` (`new:2:1y:"Pro, 2 sites"`; limit 0: any number; period `lifetime`: no end). Default: as in the latest run.',
    }),
  ),
  make_plans: Type.Optional({
    ...QueryFlag,
    description:
      'Makes products and plans for all plans that `plans` does not name, as with `new`. They get the names in the former system, and the limit and period that most of their licences have.',
  }),
  dates: Type.Optional(
    enumOf(DATE_FORMS, { description: 'How dates are written in a file; required if two forms fit.' }),
  ),
  confirm_columns: Type.Optional({
    ...QueryFlag,
    description:
      'Confirms the columns that a dry run has shown, for a system whose tables are not known for certain.',
  }),
  site_prefix: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9_]{1,32}$',
      description: "The prefix of the site's tables, such as jos_, if several sites are in the database.",
    }),
  ),
  map: Type.Optional(
    Type.String({
      description: `For csv: the column of each field, if its name does not show it, as field=Column,... The fields: ${CSV_FIELDS.join(', ')}, and metadata.NAME. "field=" means that the table has no such column.`,
    }),
  ),
  ignore: Type.Optional(
    Type.String({ description: 'For csv: the names of columns to leave out, separated by commas.' }),
  ),
  product: Type.Optional(Type.String({ description: 'For csv: id or name, for rows without one.' })),
  plan: Type.Optional(Type.String({ description: 'For csv: id or name, for rows without one.' })),
  skip_bad_rows: Type.Optional({
    ...QueryFlag,
    description:
      'For csv: leaves out rows that do not fit, and imports the others. Otherwise, the import is refused if one row does not fit.',
  }),
});

const Count = Type.Integer({ minimum: 0 });
const Rows = Type.Array(Type.Integer(), {
  description: 'The first lines of the file, or the first ids in that system.',
});
const Facts = Type.Array(Text, { description: 'The names and values in the sentence.' });
const Hints = Type.Array(TextOrNull, {
  description:
    'The ends of the keys; null: a new key; an empty text: a key that is kept, but is too short to show its end.',
});

const Moved = strictObject(
  {
    id: nullable({ ...Id, description: 'The id of the run; null: a dry run.' }),
    dry_run: Type.Boolean(),
    source: Text,
    plans: Type.Array(
      strictObject({
        key: Type.String({ description: 'The name of the plan in `plans`.' }),
        name: Text,
        product: Text,
        licenses: Count,
        left_out: Type.Boolean(),
        target: nullable(
          strictObject({
            plan_id: nullable({ ...Id, description: 'null: the plan would be made.' }),
            plan: Text,
            product: Text,
            new: Type.Boolean(),
            activation_limit: Count,
            duration: nullable({ ...Text, description: 'null: no end.' }),
          }),
        ),
      }),
      {
        description:
          'The plans of that system. If one has no `target` and is not left out, `plans` must name it.',
      },
    ),
    counts: Type.Array(strictObject({ product: Text, plan: Text, state: Text, licenses: Count })),
    new: Count,
    changed: Count,
    same: Type.Integer({
      minimum: 0,
      description: 'Licences that are here already, and unchanged in that system.',
    }),
    kept: Type.Integer({
      minimum: 0,
      description: 'Licences with changes that were made here since the last run, which stay.',
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
        customers: Type.Array(Text, { description: 'The first customers to check, for some kinds.' }),
      }),
      { description: 'Changes that the import makes to licences, by kind.' },
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
      { description: 'Ten licences, before and after the import.' },
    ),
    columns: nullable(
      Type.Array(Text, {
        description:
          'The columns that were found, for a system whose tables are not known for certain, until you confirm them.',
      }),
    ),
    read_as: nullable(
      Type.Array(strictObject({ column: Text, field: TextOrNull }), {
        description: 'For csv: the field that each column was read as; null: it is left out.',
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
      strictObject({ kind: textEnum(['license', 'product', 'plan']), id: Id, code: Text, reason: Text }),
      {
        description: 'What was used or changed since the import, and stays.',
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
  if (foreign !== undefined) throw invalid(foreign, `"${foreign}" is allowed only with from=csv.`);
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

/** The rules for a table in the body. */
export const CSV_UPLOAD = smallUpload(MAX_BYTES);

export const importOperations = {
  importLicenses: post(
    '/imports',
    {
      noRecentSignInWith: 'a dry run',
      summary: 'Move in from another system, or from any CSV file',
      description:
        'Imports all licences of the former system. The same call again takes what is new or has changed there. The body is the file, or a form with the part `file`. The other fields are in the query or in the form.',
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
      summary: 'List the moves from other systems, newest first',
      query: strictObject(Paging),
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
      summary: 'Undo a move',
      description:
        'Removes everything that the run made, except what was used or changed since, and reports what stays. A check of a key does not count as use. 409 if the run was undone before.',
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
