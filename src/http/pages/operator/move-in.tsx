import { notFound } from '../../../operations/kit/failures';
import { CSV_UPLOAD, importOperations } from '../../../operations/imports';
import { readId } from '../../../operations/kit/request-params';
import { CSV_FIELDS } from '../../../transfer/moving/any-csv';
import { findImport, listMoves, type ImportRun } from '../../../transfer/moving/list';
import type { MoveReport } from '../../../transfer/moving/report';
import { writePlanMap, type PlanMap } from '../../../transfer/moving/plan-map';
import { SOURCES } from '../../../transfer/moving/sources';
import { receiveUpload } from '../../api/upload';
import { submitOperation, refusalOf } from '../submit';
import { formRoute } from '../form-route';
import { formState, SIGN_IN_AGAIN, toFormFailure, type FormFailure, type FormState } from '../form-state';
import { FormPage } from '../kit/form-page';
import type { PageResponse, OperatorCall, Route } from '../page';
import { moveInCheckRoute } from './move-in-check';
import { MovedPage, MoveInPage, PreviewPage, UndonePage, type MoveInQuestions } from './move-in-pages';
import {
  columnField,
  planCombinations,
  moveInDigest,
  csvColumns,
  isSelectableColumn,
  SKIP_PLAN,
  newPlanFields,
  NEW_PLAN,
  planField,
  previewMove,
  moveInQuery,
  readSent,
  sourceTitle,
  type SentMove,
} from './move-in-sent';
import { planOptions } from './shop-map';

/** The import of another system's licences: the dry run with its plans, the import, and the undo. */

export const moveInRoutes: Route<OperatorCall>[] = [
  {
    path: '/move-in',
    needsNoRecentSignIn: true,
    scope: 'write',
    upload: true,
    get: (call) => show(call),
    post: receive,
  },
  moveInCheckRoute,
  // Redirect old bookmarks of the former page for tables.
  { path: '/imports', scope: 'write', get: () => ({ to: '/move-in?from=csv' }) },
  formRoute('/move-in/:id/undo', {
    isSecret: true,
    hasDeadline: false,
    find: runOf,
    show: askUndo,
    work: undo,
  }),
];

const LIMIT = 50;
async function show(
  call: OperatorCall,
  form: FormState = formState(new URLSearchParams({ from: call.query.get('from') ?? '' })),
  asked: MoveInQuestions = {},
): Promise<Extract<PageResponse, { page: unknown }>> {
  const after = call.query.get('after') ?? undefined;
  const { items, next } = await listMoves(call.db, { after, limit: LIMIT });
  const paging = { after, next, limit: LIMIT };
  return { page: <MoveInPage form={form} asked={asked} runs={items} paging={paging} /> };
}

async function receive(call: OperatorCall): Promise<PageResponse> {
  let sent: SentMove;
  try {
    const upload = await receiveUpload(call.ctx, ['text/csv'], CSV_UPLOAD, ['users']);
    const source = SOURCES.find(({ name }) => name === upload.fields.from);
    if (source === undefined) return await refuse(call, upload.fields, { field: 'from', status: 400 });
    sent = readSent(source, upload.fields, { file: upload.file, users: upload.others.users });
  } catch (error) {
    return refuse(call, {}, { ...refusalFor(call, error) });
  }
  const { badField: field } = sent;
  if (field !== undefined)
    return preview(call, sent, { status: 400, failure: toFormFailure(call.view.t, { field, status: 400 }) });
  const isImport = sent.fields.get('do') === 'import' && sent.fields.get('checked') === moveInDigest(sent);
  if (!isImport) return preview(call, sent);
  try {
    const moved = await submitOperation(call, sent.fields, importOperations.importLicenses, {
      query: moveInQuery(sent),
      received: {
        fields: {},
        file: sent.table.bytes,
        others: sent.users.bytes === undefined ? {} : { users: sent.users.bytes },
      },
    });
    return { page: <MovedPage source={sent.source} moved={moved} /> };
  } catch (error) {
    const { status, failure } = refusalFor(call, error);
    return preview(call, sent, { status, failure });
  }
}

/** Shows what the import would do (dry run), without changing anything. */
async function preview(
  call: OperatorCall,
  sent: SentMove,
  refused?: { status: number; failure: FormFailure },
): Promise<PageResponse> {
  let report: MoveReport;
  try {
    report = await previewMove(call, sent);
  } catch (error) {
    return refuse(call, Object.fromEntries(sent.fields), refusalFor(call, error), sent);
  }
  const shown = new URLSearchParams(sent.fields);
  const plans = report.plans.filter(({ isTogether }) => !isTogether);
  const covers = planCombinations(report);
  plans.forEach(({ key, target, leftOut }, i) => {
    const was = sent.fields.get(planField(sent.keys.indexOf(key)));
    const ours = leftOut ? SKIP_PLAN : target === null ? (was === NEW_PLAN ? NEW_PLAN : '') : undefined;
    shown.set(planField(i), ours ?? (target?.isNew ? NEW_PLAN : String(target?.plan.id)));
    const { name, limit, duration } = newPlanFields(i);
    shown.set(name, target?.plan.name ?? '');
    shown.set(limit, String(target?.plan.activationLimit ?? ''));
    shown.set(duration, target?.plan.duration ?? '');
  });
  covers.forEach(({ planId }, i) =>
    shown.set(planField(plans.length + i), planId === null ? SKIP_PLAN : String(planId)),
  );
  for (const field of report.readAs === null ? [] : CSV_FIELDS) {
    const column = report.readAs?.find((one) => one.field === field)?.column ?? '';
    if (column === '' || isSelectableColumn(column)) shown.set(columnField(field), column);
  }
  shown.set('keys', JSON.stringify([...plans, ...covers].map(({ key }) => key)));
  const next = readSent(sent.source, Object.fromEntries(shown), {
    file: sent.table.bytes,
    users: sent.users.bytes,
  });
  // A question that this dry run asks for the first time has the answer that the dry run is based on.
  const isLookedAt =
    sent.keys.length === 0 ||
    writePlanMap(chosenOf(withoutNew(next.map, sent.keys))) === writePlanMap(chosenOf(sent.map));
  return {
    page: (
      <PreviewPage
        form={formState(shown, refused?.failure)}
        sent={next}
        report={report}
        plans={plans}
        covers={covers}
        options={await planOptions(call)}
        checked={isLookedAt && sent.badField === undefined ? moveInDigest(next) : ''}
      />
    ),
    ...(refused && { status: refused.status }),
  };
}

function withoutNew(map: PlanMap, before: string[]): PlanMap {
  return new Map([...map].filter(([key, id]) => id !== null || before.includes(key)));
}

/** Returns the map without the fields of new plans, which the report shows completely. */
function chosenOf(map: PlanMap): PlanMap {
  return new Map([...map].map(([key, target]) => [key, typeof target === 'object' && target ? {} : target]));
}

/** Shows the first form again, with the error. */
async function refuse(
  call: OperatorCall,
  fields: Record<string, string>,
  { status, failure, field, code, facts }: Refusal,
  sent?: SentMove,
): Promise<PageResponse> {
  const { t } = call.view;
  const said = failure ?? toFormFailure(t, { field, status });
  const form = formState(new URLSearchParams({ from: '', dates: '', file: '', users: '', ...fields }), said);
  const bytes = sent?.table.bytes;
  const asked: MoveInQuestions = {
    files: sent && { table: sent.table.kept, users_table: sent.users.kept },
    ...(code === 'several-sites' && { prefixes: facts }),
    ...(code === 'which-dates' && { dates: facts }),
    ...(code === 'no-key-column' && bytes && { columns: ['key', ...(await csvColumns(bytes))] }),
    ...(code === 'several-columns' && { columns: facts }),
  };
  return { ...(await show(call, form, asked)), status };
}

interface Refusal {
  status: number;
  failure?: FormFailure;
  field?: string;
  /** the code of a refused import; `facts` are those of its sentence */
  code?: string;
  facts?: readonly string[];
}

/** Converts an error to a refusal in the words of the form. @throws the error if it is not a refusal */
function refusalFor({ view: { t } }: OperatorCall, error: unknown): Refusal & { failure: FormFailure } {
  const refused = refusalOf(error, new URLSearchParams());
  if (refused === undefined) throw error;
  const { status } = refused;
  if (refused.error.code === 'SIGN_IN_AGAIN')
    return {
      status,
      failure: { field: undefined, sentence: t.signIn.again.table, reason: SIGN_IN_AGAIN },
    };
  const { field } = refused.error;
  const failure = toFormFailure(t, { ...refused, field });
  // The form has no field for the maps.
  const { facts } = refused;
  return {
    status,
    failure: { ...failure, field: ['plans', 'map'].includes(field ?? '') ? undefined : field },
    ...(facts?.reason === 'import-refused' && { code: facts.code, facts: facts.facts }),
  };
}

async function runOf(call: OperatorCall): Promise<ImportRun> {
  const run = await findImport(call.db, readId(call));
  if (run === undefined) throw notFound('import');
  return run;
}

function askUndo({ view: { t, format } }: OperatorCall, form: FormState, run: ImportRun): PageResponse {
  const texts = t.moveIn;
  const isUndone = run.undoneAt !== null;
  return {
    page: (
      <FormPage
        danger
        title={texts.undoTitle(sourceTitle(t, run.source))}
        sub={format.moment(run.at)}
        nav="system"
        crumbs={[[texts.title, '/move-in']]}
        path={`/move-in/${run.id}/undo`}
        form={form}
        points={isUndone ? [texts.wasUndone] : texts.undoPoints}
        submit={isUndone ? undefined : texts.undoSubmit}
        busy={texts.undoBusy}
        back={[texts.undoBack, '/move-in']}
      />
    ),
  };
}

async function undo(call: OperatorCall, sent: URLSearchParams, { id }: ImportRun): Promise<PageResponse> {
  const undone = await submitOperation(call, sent, importOperations.undoImport, { path: { id }, body: {} });
  return { page: <UndonePage undone={undone} /> };
}
