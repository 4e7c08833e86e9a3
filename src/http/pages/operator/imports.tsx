import { listProducts, plansOf } from '../../../licensing/catalogue';
import { OperatorError } from '../../../licensing/operator-error';
import { MAX_ROWS } from '../../../operations/imports';
import { act, refusalOf } from '../act';
import { formState, SIGN_IN_AGAIN, toFormFailure, type FormFailure } from '../form-state';
import type { Answer, OperatorCall, Route } from '../page';
import { digestOf, previewTable, queryOf, receiveTable, type Rejected, type SentTable } from './import-table';
import { CheckPage, DonePage, UploadPage } from './import-pages';
import { importOperations } from '../../../operations/imports';

/** Licences of another system: the table is read, its columns are checked, and then it is imported. */

export const importRoutes: Route<OperatorCall>[] = [
  {
    path: '/imports',
    goesOn: true,
    scope: 'write',
    upload: true,
    get: () => ({ page: <UploadPage form={formState()} rows={MAX_ROWS} /> }),
    post: receive,
  },
];

async function receive(call: OperatorCall): Promise<Answer> {
  const texts = call.view.t.system.imports;
  let table: SentTable | 'no-file';
  try {
    table = await receiveTable(call);
  } catch (error) {
    return refuseFile(failureOf(call, error), statusOf(error));
  }
  if (table === 'no-file') return refuseFile({ field: 'file', sentence: texts.noFile }, 400);
  if (table.columns.length === 0) return refuseFile({ field: 'file', sentence: texts.empty }, 400);
  const { fields } = table;
  const isChecked = fields.get('checked') === digestOf(table);
  if (!fields.get('do')?.startsWith('import') || !isChecked) return check(call, table);
  try {
    const data = await act(call, fields, importOperations.importLicenses, {
      query: queryOf(table, fields.get('do') === 'import-others'),
      received: { fields: {}, others: {}, file: table.bytes },
    });
    const { licenses, rejected } = data as { licenses: number; rejected: Rejected[] };
    return { page: <DonePage licenses={licenses} rejected={rejected} /> };
  } catch (error) {
    return { ...(await check(call, table, failureOf(call, error))), status: statusOf(error) };
  }
}

/** What is wrong with the file itself: it is chosen anew. */
function refuseFile(failure: FormFailure, status: number): Answer {
  return {
    page: <UploadPage form={formState(new URLSearchParams({ file: '' }), failure)} rows={MAX_ROWS} />,
    status,
  };
}

async function check(
  call: OperatorCall,
  table: SentTable,
  refused?: FormFailure,
): Promise<Extract<Answer, { page: unknown }>> {
  const [products, plans] = [await listProducts(call.db), await plansOf(call.db, undefined)];
  const shown = { table, products, plans, checked: digestOf(table) };
  try {
    const preview = await previewTable(call, table);
    return { page: <CheckPage {...{ ...shown, preview }} form={formState(table.fields, refused)} /> };
  } catch (error) {
    const form = formState(table.fields, failureOf(call, error));
    return {
      page: <CheckPage {...{ ...shown, form }} preview={undefined} />,
      status: table.isGuessed ? 200 : statusOf(error),
    };
  }
}

function statusOf(error: unknown): number {
  return refusalOf(error, new URLSearchParams())?.status ?? 500;
}

/** The form's fields for those of the operation */
const FIELDS: Record<string, string> = { map: 'more', product: 'product_id', plan: 'plan_id' };

/** In the words of the form. @throws what is no refusal */
function failureOf({ view: { t } }: OperatorCall, error: unknown): FormFailure {
  const refused = refusalOf(error, new URLSearchParams());
  if (refused === undefined) throw error;
  if (refused.error.code === 'SIGN_IN_AGAIN')
    return { field: undefined, sentence: t.signIn.again.table, reason: SIGN_IN_AGAIN };
  const texts = t.system.imports;
  const facts = error instanceof OperatorError ? error.facts : undefined;
  switch (facts?.reason) {
    case 'no-key-column':
      return { field: 'key', sentence: texts.noKey };
    case 'no-plan-column':
      return { field: 'plan_id', sentence: texts.noPlan };
    case 'overlooked-columns':
      return {
        field: undefined,
        sentence: texts.overlooked(facts.columns.map(({ name }) => name).join(', ')),
      };
    default: {
      const { field = 'file' } = refused.error;
      if (field === 'file' && refused.reason === undefined) return { field, sentence: texts.unreadable };
      return toFormFailure(t, { ...refused, field: FIELDS[field] ?? field });
    }
  }
}
