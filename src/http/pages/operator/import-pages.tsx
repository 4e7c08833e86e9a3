import type { Plan, Product } from '../../../licensing/catalogue';
import { CSV_FIELDS } from '../../../transfer/csv-licenses';
import type { FormState } from '../form-state';
import {
  ButtonLink,
  FileField,
  Form,
  FormErrors,
  Select,
  Submit,
  TextField,
  UploadProgress,
} from '../kit/fields';
import { FormPage } from '../kit/form-page';
import { TitledPage } from '../kit/operator-page';
import { Facts, Inside, Panel } from '../kit/panel';
import { Table } from '../kit/table';
import { useView } from '../view';
import type { Preview, Rejected, SentTable } from './import-table';

/** The pages of an import: the file, its columns with what an import would do, and what it did. */

const MAX_SHOWN = 100;
/** of one kind of fault */
const MAX_LINES = 10;
const CSV_TYPES = '.csv,.tsv,.txt,text/csv';

/** @param rows the most a table may have */
export function UploadPage({ form, rows }: { form: FormState; rows: number }) {
  const { t, format } = useView();
  const texts = t.system.imports;
  return (
    <FormPage
      title={texts.title}
      nav="system"
      crumbs={[[t.system.title, '/system']]}
      sub={`${texts.about} ${texts.before}`}
      path="/imports"
      form={form}
      upload
      submit={texts.read}
      busy={texts.reading}
    >
      <FileField
        form={form}
        name="file"
        label={texts.file}
        hint={texts.fileHint(format.number(rows))}
        accept={CSV_TYPES}
        required
      />
      <UploadProgress />
    </FormPage>
  );
}

interface CheckProps {
  form: FormState;
  table: SentTable;
  products: Product[];
  plans: Plan[];
  /** what the dry run was made of */
  checked: string;
  /** undefined: there is something to correct first */
  preview: Preview | undefined;
}

export function CheckPage({ form, table, products, plans, checked, preview }: CheckProps) {
  const { t, format } = useView();
  const texts = t.system.imports;
  const { number } = format;
  const counts = preview?.report;
  return (
    <TitledPage
      title={texts.title}
      nav="system"
      crumbs={[[t.system.title, '/system']]}
      sub={counts && texts.summary(counts.new, number(counts.new), counts.bad, number(counts.bad))}
    >
      <Form path="/imports" form={form} upload>
        <FormErrors form={form} />
        {table.kept === undefined ? null : <input type="hidden" name="table" value={table.kept} />}
        <input type="hidden" name="checked" value={checked} />
        <div class="stack">
          <Panel id="columns" title={texts.checkTitle} inside>
            <p>{texts.checkAbout}</p>
            <div class="cols cols-2">
              <div>
                {CSV_FIELDS.slice(0, 5).map((field) => (
                  <ColumnField {...{ form, field, columns: table.columns }} />
                ))}
              </div>
              <div>
                {CSV_FIELDS.slice(5).map((field) => (
                  <ColumnField {...{ form, field, columns: table.columns }} />
                ))}
                <Others {...{ form, products, plans }} />
              </div>
            </div>
            <TextField form={form} name="more" label={texts.more} hint={texts.moreHint} />
            {table.kept === undefined ? (
              <FileField
                form={form}
                name="file"
                label={texts.file}
                hint={texts.again}
                accept={CSV_TYPES}
                required
              />
            ) : null}
            <UploadProgress />
            <Submit name="do" value="check" busy={texts.checking} kind={preview ? 'quiet' : 'primary'}>
              {texts.check}
            </Submit>
          </Panel>
          {preview === undefined ? null : <Result preview={preview} />}
        </div>
      </Form>
    </TitledPage>
  );
}

function ColumnField({ form, field, columns }: { form: FormState; field: string; columns: string[] }) {
  const texts = useView().t.system.imports;
  return (
    <Select
      form={form}
      name={field}
      label={texts.fields[field] ?? field}
      required={field === 'key'}
      options={[
        { value: '', label: texts.notThere },
        ...columns.map((name) => ({ value: name, label: name })),
      ]}
    />
  );
}

/** What holds for rows that name no product or plan. */
function Others({ form, products, plans }: { form: FormState; products: Product[]; plans: Plan[] }) {
  const texts = useView().t.system.imports;
  const none = { value: '', label: texts.noOther };
  const nameOf = new Map(products.map(({ id, name }) => [id, name]));
  return (
    <>
      <Select
        form={form}
        name="product_id"
        label={texts.otherProduct}
        options={[none, ...products.map(({ id, name }) => ({ value: id, label: name }))]}
      />
      <Select
        form={form}
        name="plan_id"
        label={texts.otherPlan}
        options={[
          none,
          ...plans.map(({ id, name, productId }) => ({
            value: id,
            label: `${nameOf.get(productId) ?? ''} · ${name}`,
          })),
        ]}
      />
    </>
  );
}

function Result({ preview: { report, rejected } }: { preview: Preview }) {
  const { t, format } = useView();
  const texts = t.system.imports;
  const { number } = format;
  const { new: added, same, bad, overLimit, notSentWhole, twins, twinRows, unmappedColumns } = report;
  const linesOf = useLines();
  const twinLines = twinRows.flatMap(({ lines }) => lines).sort((a, b) => a - b);
  const about = (term: string, count: number, text = number(count)) =>
    count === 0 ? undefined : ([term, text] as const);
  return (
    <Panel id="result" title={texts.resultTitle}>
      <Inside>
        <Facts
          facts={[
            [texts.facts.added, number(added)],
            about(texts.facts.same, same),
            about(texts.facts.bad, bad),
            about(texts.facts.overLimit, overLimit, texts.overLimit(number(overLimit))),
            about(texts.facts.notSent, notSentWhole, texts.notSent(number(notSentWhole))),
            about(texts.facts.twins, twins, texts.twins(linesOf(twinLines, twins))),
            about(texts.facts.leftOut, unmappedColumns.length, unmappedColumns.join(', ')),
          ]}
        />
        {added === 0 ? (
          <p class="mb-0 mt-3">{texts.nothing}</p>
        ) : (
          <p class="acts mb-0 mt-3">
            <Submit name="do" value={bad === 0 ? 'import' : 'import-others'} busy={texts.busy}>
              {bad === 0
                ? texts.submit(added, number(added))
                : texts.submitOthers(added, number(added), bad, number(bad))}
            </Submit>
          </p>
        )}
      </Inside>
      <RejectedTable rejected={rejected} />
    </Panel>
  );
}

/** The first lines of so many in words. */
function useLines() {
  const { t, format } = useView();
  return (lines: number[], count = lines.length) => {
    const shown = lines.slice(0, MAX_LINES);
    const more = count - shown.length;
    return t.system.imports.lines(
      count,
      shown.map(format.number).join(', '),
      more > 0 ? format.number(more) : '',
    );
  };
}

interface Fault {
  field: string | null;
  message: string;
  rows: number[];
}

/** One for all rows with the same fault, in the order of their first rows. */
function faultsOf(rejected: Rejected[]): Fault[] {
  const faults = new Map<string, Fault>();
  for (const { row, field, message } of rejected) {
    const kind = `${field ?? ''} ${message}`;
    const fault = faults.get(kind);
    if (fault === undefined) faults.set(kind, { field, message, rows: [row] });
    else fault.rows.push(row);
  }
  return [...faults.values()];
}

function RejectedTable({ rejected }: { rejected: Rejected[] }) {
  const { t, format } = useView();
  const texts = t.system.imports;
  const { columns } = texts;
  const linesOf = useLines();
  if (rejected.length === 0) return null;
  const faults = faultsOf(rejected);
  return (
    <>
      <Table
        caption={texts.rejected}
        rows={faults.slice(0, MAX_SHOWN)}
        empty={null}
        columns={[
          { title: columns.line, cell: ({ rows }) => linesOf(rows) },
          {
            title: columns.field,
            cell: ({ field }) => (field === null ? t.common.none : (texts.fields[field] ?? field)),
          },
          // By the service, as the command says it
          { title: columns.wrong, kind: 'long', cell: ({ message }) => <span lang="en">{message}</span> },
        ]}
      />
      {faults.length > MAX_SHOWN ? (
        <Inside>{texts.moreRejected(format.number(faults.length - MAX_SHOWN))}</Inside>
      ) : null}
    </>
  );
}

export function DonePage({ licenses, rejected }: { licenses: number; rejected: Rejected[] }) {
  const { t, format } = useView();
  const texts = t.system.imports;
  const rows = new Set(rejected.map(({ row }) => row)).size;
  const title = texts.doneTitle(licenses, format.number(licenses));
  return (
    <TitledPage title={title} nav="system" crumbs={[[texts.title, '/imports']]}>
      <Panel id="done">
        <Inside>{texts.leftOut(rows, format.number(rows))}</Inside>
        <RejectedTable rejected={rejected} />
      </Panel>
      <p class="acts mt-3">
        <ButtonLink kind="primary" path="/licenses">
          {texts.toList}
        </ButtonLink>
        <ButtonLink path="/imports">{texts.another}</ButtonLink>
      </p>
    </TitledPage>
  );
}
