import type { Child } from 'hono/jsx';
import { CSV_FIELDS } from '../../../transfer/moving/any-csv';
import type { ImportRun } from '../../../transfer/moving/list';
import type { MappedPlan } from '../../../transfer/moving/plan-map';
import { TOO_SHORT, type MoveReport, type Sample } from '../../../transfer/moving/report';
import type { MoveCounts } from '../../../transfer/moving/run';
import type { MovingSource, ReadColumn } from '../../../transfer/moving/source';
import { importMessageOf, type SkipCode, type KeptCode } from '../../../transfer/moving/import-messages';
import { SOURCES } from '../../../transfer/moving/sources';
import type { importOperations } from '../../../operations/imports';
import { actorInWords } from '../../../support/sentences';
import type { DataOf } from '../submit';
import type { FormState } from '../form-state';
import {
  ButtonLink,
  Checkbox,
  FileField,
  Form,
  FormErrors,
  Options,
  Select,
  Submit,
  TextField,
  UploadProgress,
  type Option,
} from '../kit/fields';
import { TitledPage } from '../kit/operator-page';
import { DescriptionList, PanelBody, Panel } from '../kit/panel';
import { Status } from '../kit/status';
import { Pagination, Table } from '../kit/table';
import { useView } from '../view';
import {
  columnField,
  isSelectableColumn,
  SKIP_PLAN,
  newPlanFields,
  NEW_PLAN,
  MORE_COLUMNS,
  planField,
  sourceName,
  sourceTitle,
  type PlanCombination,
  type MoveInResult,
  type SentMove,
} from './move-in-sent';

/**
 * The pages of an import from another system: the first form, the dry run, the result, and the rows that an undo left.
 */

const CSV_TYPES = '.csv,.tsv,.txt,text/csv';

/** Questions that the first form asks about a file that was read. */
export interface MoveInQuestions {
  /** the files that the form contains, by the names of their fields */
  files?: Record<string, string | undefined> | undefined;
  /** the table prefixes of the sites in the database */
  prefixes?: readonly string[] | undefined;
  /** the facts of the refusal `which-dates`, for the question whether dates begin with the day or the month */
  dates?: readonly string[] | undefined;
  /** a field, and the columns that may contain it */
  columns?: readonly string[] | undefined;
}

interface MoveInProps {
  form: FormState;
  asked: MoveInQuestions;
  runs: ImportRun[];
  paging: { after: string | undefined; next: string | null; limit: number };
}

export function MoveInPage({ form, asked, runs, paging: { after, next, limit } }: MoveInProps) {
  const { t, to } = useView();
  const { files = {}, prefixes = [], dates, columns = [] } = asked;
  const [field, ...names] = columns;
  // Keep the columns that were chosen before, unless another file may have other columns.
  const chosen =
    field === undefined && dates === undefined
      ? []
      : CSV_FIELDS.filter((one) => one !== field && form.value(columnField(one)) !== undefined);
  const texts = t.moveIn;
  return (
    <TitledPage title={texts.title} nav="system" crumbs={[[t.system.title, '/system']]} sub={texts.about}>
      <div class="stack">
        <Panel id="form" kind="narrow" inside>
          <Form path="/move-in" form={form} upload>
            <FormErrors form={form} />
            {Object.entries(files).map(([name, kept]) =>
              kept === undefined ? null : <input type="hidden" name={name} value={kept} />,
            )}
            <Select
              name="from"
              label={texts.from}
              hint={texts.fromHint}
              required
              options={[
                { value: '', label: texts.choose },
                ...SOURCES.map(({ name, title, reads }) => ({
                  value: name,
                  label: name === 'csv' ? texts.anyCsv : `${title} (${texts.reads[reads]})`,
                })),
              ]}
            />
            {prefixes.length === 0 ? null : (
              <Select
                name="site_prefix"
                label={texts.site}
                required
                options={[
                  { value: '', label: texts.choose },
                  ...prefixes.map((value) => ({ value, label: value })),
                ]}
              />
            )}
            {field === undefined ? null : (
              <ColumnField field={field as (typeof CSV_FIELDS)[number]} columns={names} />
            )}
            {chosen.map((one) => (
              <input type="hidden" name={columnField(one)} value={form.value(columnField(one))} />
            ))}
            {dates === undefined ? null : <DatesField facts={dates} />}
            <FileField
              name="file"
              label={texts.file}
              hint={files.table === undefined ? texts.fileHint : texts.kept}
              accept={CSV_TYPES}
            />
            <FileField name="users" label={texts.users} hint={texts.usersHint} accept={CSV_TYPES} />
            <UploadProgress />
            <p class="acts">
              <Submit busy={texts.reading} label={texts.read} />
            </p>
          </Form>
        </Panel>
        <Panel id="runs" title={texts.runs}>
          <PanelBody>
            <a href={to('/move-in/check')}>{texts.fare.go}</a>
          </PanelBody>
          <Runs runs={runs} />
          <Pagination path="/move-in" query={{ after }} next={next} limit={limit} />
        </Panel>
      </div>
    </TitledPage>
  );
}

/** The field that asks for the order of day and month. @param facts the facts of the refusal `which-dates` */
function DatesField({ facts }: { facts: readonly string[] }) {
  const { t, format } = useView();
  const texts = t.moveIn;
  const [column = '', day = '', asDay = '', month = '', asMonth = ''] = facts;
  const dayOf = (iso: string) => format.longDay(new Date(`${iso}T12:00:00Z`));
  return (
    <Select
      name="dates"
      label={texts.dates(column)}
      required
      options={[
        { value: '', label: texts.choose },
        { value: 'dmy', label: texts.dayFirst(day, dayOf(asDay)) },
        { value: 'mdy', label: texts.monthFirst(month, dayOf(asMonth)) },
      ]}
    />
  );
}

function ColumnField({ field, columns }: { field: (typeof CSV_FIELDS)[number]; columns: readonly string[] }) {
  const texts = useView().t.moveIn;
  return (
    <Select
      name={columnField(field)}
      label={texts.fields[field]}
      required={field === 'key'}
      options={[
        { value: '', label: texts.notThere },
        ...columns.map((name) => ({ value: name, label: name })),
      ]}
    />
  );
}

/** Shows a field for each column of a table, in two columns. */
function TableColumns({ form, readAs }: { form: FormState; readAs: ReadColumn[] }) {
  const { t } = useView();
  const texts = t.moveIn;
  const columns = readAs.map(({ column }) => column).filter(isSelectableColumn);
  // Leave out a field whose column has a comma in its name. It keeps its column.
  const fields = CSV_FIELDS.filter((field) => form.value(columnField(field)) !== undefined);
  const half = Math.ceil(fields.length / 2);
  return (
    <Panel id="columns" title={texts.readAsTitle} inside>
      <div class="cols cols-2">
        {[fields.slice(0, half), fields.slice(half)].map((some) => (
          <div>
            {some.map((field) => (
              <ColumnField field={field} columns={columns} />
            ))}
          </div>
        ))}
      </div>
      <TextField name={MORE_COLUMNS} label={texts.more} hint={texts.moreHint} />
    </Panel>
  );
}

function Runs({ runs }: { runs: ImportRun[] }) {
  const { t, to, format } = useView();
  const texts = t.moveIn;
  const columns = texts.runColumns;
  const counts = ({ countsJson }: ImportRun) => JSON.parse(countsJson) as MoveCounts;
  const count = (title: string, of: (all: MoveCounts) => number) => ({
    title,
    kind: 'number' as const,
    cell: (run: ImportRun) => format.number(of(counts(run))),
  });
  return (
    <Table
      caption={texts.runsOrder}
      rows={runs}
      empty={<p>{texts.noRuns}</p>}
      columns={[
        {
          title: columns.from,
          kind: 'name',
          cell: ({ source, undoneAt }) => (
            <>
              {sourceName(t, source)}
              {undoneAt === null ? null : <span class="sub">{texts.undone(format.moment(undoneAt))}</span>}
            </>
          ),
        },
        { title: columns.at, kind: 'time', cell: ({ at }) => format.moment(at) },
        { title: columns.actor, kind: 'long', cell: ({ actor }) => actorInWords(actor, t) },
        count(columns.added, ({ new: added }) => added),
        count(columns.changed, ({ changed }) => changed),
        count(columns.kept, ({ kept }) => kept),
        count(columns.leftOut, ({ leftOut }) => leftOut),
        {
          title: '',
          kind: 'act',
          cell: ({ id, source, undoneAt }) =>
            undoneAt === null ? (
              <a href={to(`/move-in/${id}/undo`)} aria-label={texts.undoOne(sourceTitle(t, source))}>
                {texts.undo}
              </a>
            ) : null,
        },
      ]}
    />
  );
}

interface PreviewProps {
  form: FormState;
  sent: SentMove;
  report: MoveReport;
  /** the plans of the source system, without combined ones */
  plans: MappedPlan[];
  covers: PlanCombination[];
  /** the plans of this service */
  options: Option[];
  /**
   * the digest of the import that the dry run showed; empty if a plan was just selected automatically and not yet seen
   */
  checked: string;
}

export function PreviewPage({ form, sent, report, plans, covers, options, checked }: PreviewProps) {
  const { t, to, format } = useView();
  const texts = t.moveIn;
  const { source, table, users } = sent;
  const files = [
    { name: 'file', kept: 'table', label: texts.file, sent: table },
    { name: 'users', kept: 'users_table', label: texts.users, sent: users },
  ];
  const { number } = format;
  const { new: added, changed, columns } = report;
  const isUnsaid = report.plans.some(
    ({ licenses, leftOut, target }) => licenses > 0 && !leftOut && target === null,
  );
  return (
    <TitledPage
      title={texts.checkTitle(sourceTitle(t, source.name))}
      nav="system"
      crumbs={[
        [t.system.title, '/system'],
        [texts.title, '/move-in'],
      ]}
      sub={texts.summary(added, number(added))}
    >
      <Form path="/move-in" form={form} upload>
        <FormErrors form={form} />
        <input type="hidden" name="from" value={source.name} />
        <input type="hidden" name="keys" value={form.value('keys') ?? '[]'} />
        <input type="hidden" name="checked" value={checked} />
        <input type="hidden" name="dates" value={form.value('dates') ?? ''} />
        <input type="hidden" name="site_prefix" value={form.value('site_prefix') ?? ''} />
        {files.map(({ kept, sent: file }) =>
          file.kept === undefined ? null : <input type="hidden" name={kept} value={file.kept} />,
        )}
        <div class="stack">
          {report.readAs === null ? null : <TableColumns form={form} readAs={report.readAs} />}
          <Panel id="plans" title={texts.plansTitle}>
            <PanelBody>{texts.plansAbout}</PanelBody>
            <PlanTable form={form} plans={plans} options={options} />
            {covers.length === 0 ? null : (
              <>
                <PanelBody>
                  <h3>{texts.coversTitle}</h3>
                  {texts.coversAbout} <a href={to('/products')}>{texts.toProducts}</a>
                </PanelBody>
                <CombinationTable form={form} covers={covers} first={plans.length} options={options} />
              </>
            )}
            <div class="in">
              {files.map(({ name, label, sent: file }) =>
                file.bytes !== undefined && file.kept === undefined ? (
                  <FileField name={name} label={label} hint={texts.again} accept={CSV_TYPES} required />
                ) : null,
              )}
              {columns === null && !sent.isConfirmed ? null : (
                <Columns title={source.title} columns={columns ?? []} />
              )}
              <UploadProgress />
              <p class="acts">
                <Submit
                  name="do"
                  value="check"
                  busy={texts.checking}
                  kind={isUnsaid ? 'primary' : 'quiet'}
                  label={texts.check}
                />
              </p>
            </div>
          </Panel>
          <Panel id="counts" title={texts.countsTitle}>
            <PanelBody>
              <DescriptionList
                facts={(
                  [
                    [texts.facts.added, added],
                    [texts.facts.changed, changed],
                    [texts.facts.same, report.same],
                    [texts.facts.kept, report.kept],
                  ] as const
                ).map(([term, count]) => [term, number(count)])}
              />
            </PanelBody>
            <Counts report={report} />
          </Panel>
          <Remarks
            id="warnings"
            title={texts.warningsTitle}
            remarks={report.warnings.map((one) => ({ ...one, what: importMessageOf(t.moved.warnings, one) }))}
          />
          <Remarks
            id="left-out"
            title={texts.leftOutTitle}
            remarks={report.leftOut.map((one) => ({
              ...one,
              what: importMessageOf(t.moved.leftOut, one),
              customers: [],
            }))}
          />
          <Samples samples={report.samples} />
          <p>
            {isUnsaid || checked === ''
              ? texts.unsaid
              : columns !== null
                ? texts.unconfirmed
                : added + changed === 0
                  ? texts.nothing
                  : texts.canUndo}
          </p>
          {isUnsaid || columns !== null || checked === '' || added + changed === 0 ? null : (
            <p class="acts">
              <Submit
                name="do"
                value="import"
                busy={texts.busy}
                label={texts.submit(added + changed, number(added + changed))}
              />
            </p>
          )}
        </div>
      </Form>
    </TitledPage>
  );
}

function PlanTable({ form, plans, options }: { form: FormState; plans: MappedPlan[]; options: Option[] }) {
  const { t, format } = useView();
  const texts = t.moveIn;
  const { theirs, licenses, ours } = texts.planColumns;
  const choices = [
    { value: '', label: texts.choose },
    ...options,
    { value: NEW_PLAN, label: texts.make },
    { value: SKIP_PLAN, label: texts.leaveOut },
  ];
  return (
    <Table
      caption={texts.plansOrder}
      rows={plans.map((plan, index) => ({ ...plan, index }))}
      empty={<p>{texts.noPlans}</p>}
      columns={[
        {
          title: theirs,
          kind: 'name',
          cell: ({ key, name }) => (
            <>
              {name}
              {key === name ? null : <span class="sub">{key}</span>}
            </>
          ),
        },
        { title: licenses, kind: 'number', cell: ({ licenses: count }) => format.number(count) },
        {
          title: ours,
          cell: ({ index, name, target }) => (
            <section class="stack">
              <select class="select" name={planField(index)} aria-label={texts.ourPlan(name)}>
                <Options options={choices} chosen={form.value(planField(index)) ?? ''} />
              </select>
              {target?.isNew ? <NewPlanFields index={index} /> : null}
            </section>
          ),
        },
      ]}
    />
  );
}

/** The fields of a new plan. Their values are those of most of its licences. */
function NewPlanFields({ index }: { index: number }) {
  const texts = useView().t.moveIn;
  const { name, limit, duration } = newPlanFields(index);
  return (
    <>
      <TextField name={name} label={texts.made.name} required />
      <TextField
        name={limit}
        label={texts.made.limit}
        hint={texts.made.limitHint}
        inputmode="numeric"
        required
      />
      <TextField name={duration} label={texts.made.duration} hint={texts.made.durationHint} />
    </>
  );
}

/** The table of customers with several plans. @param first the number of the first row's field */
function CombinationTable({
  form,
  covers,
  first,
  options,
}: {
  form: FormState;
  covers: PlanCombination[];
  first: number;
  options: Option[];
}) {
  const { t, format } = useView();
  const texts = t.moveIn;
  const { theirs, customers, ours } = texts.coverColumns;
  return (
    <Table
      caption={texts.coversOrder}
      rows={covers.map((cover, i) => ({ ...cover, field: planField(first + i) }))}
      empty={null}
      columns={[
        {
          title: theirs,
          kind: 'name',
          cell: ({ name, addresses }) => (
            <>
              {name}
              {addresses.length === 0 ? null : <span class="sub">{addresses.join(', ')}</span>}
            </>
          ),
        },
        { title: customers, kind: 'number', cell: ({ customers: count }) => format.number(count) },
        {
          title: ours,
          cell: ({ field, name }) => (
            <select class="select" name={field} aria-label={texts.ourCover(name)}>
              <Options
                options={[{ value: SKIP_PLAN, label: texts.noCover }, ...options]}
                chosen={form.value(field) ?? SKIP_PLAN}
              />
            </select>
          ),
        },
      ]}
    />
  );
}

function Columns({ title, columns }: { title: string; columns: string[] }) {
  const texts = useView().t.moveIn;
  return (
    <>
      {columns.length === 0 ? null : (
        <>
          <h3>{texts.columnsTitle}</h3>
          <p>{texts.columnsAbout(title)}</p>
          <ul lang="en">
            {columns.map((one) => (
              <li>
                <code>{one}</code>
              </li>
            ))}
          </ul>
        </>
      )}
      <Checkbox name="confirm_columns" label={texts.confirm} />
    </>
  );
}

function Counts({ report: { counts } }: { report: Pick<MoveReport, 'counts'> }) {
  const { t, format } = useView();
  const texts = t.moveIn;
  const columns = texts.countColumns;
  return (
    <Table
      caption={texts.countsOrder}
      rows={counts}
      empty={<p>{texts.noCounts}</p>}
      columns={[
        { title: columns.product, kind: 'name', cell: ({ product }) => product },
        { title: columns.plan, cell: ({ plan }) => plan },
        { title: columns.state, cell: ({ state }) => <Status status={state} /> },
        { title: columns.licenses, kind: 'number', cell: ({ licenses }) => format.number(licenses) },
      ]}
    />
  );
}

interface RemarkRow {
  what: string;
  count: number;
  rows: number[];
  customers: string[];
}

function Remarks({ id, title, remarks }: { id: string; title: string; remarks: RemarkRow[] }) {
  const { t, format } = useView();
  const texts = t.moveIn;
  const columns = texts.remarkColumns;
  if (remarks.length === 0) return null;
  return (
    <Panel id={id} title={title}>
      <Table
        caption={texts.remarksOrder}
        rows={remarks}
        empty={null}
        columns={[
          {
            title: columns.what,
            kind: 'name',
            cell: ({ what, customers }) => (
              <>
                {what}
                {customers.length === 0 ? null : <span class="sub">{customers.join(', ')}</span>}
              </>
            ),
          },
          { title: columns.count, kind: 'number', cell: ({ count }) => format.number(count) },
          {
            title: columns.where,
            cell: ({ rows, count }) => {
              const more = count - rows.length;
              return texts.rows(rows.join(', '), more > 0 ? format.number(more) : '');
            },
          },
        ]}
      />
    </Panel>
  );
}

function Samples({ samples }: { samples: Sample[] }) {
  const { t, format } = useView();
  const texts = t.moveIn;
  const columns = texts.sampleColumns;
  if (samples.length === 0) return null;
  const end = (at: Date | null | undefined) =>
    at === undefined ? texts.byPlan : at === null ? texts.lifetime : texts.ends(format.day(at));
  const keys = (ends: (string | null)[]) =>
    ends.map((one) => (one === null ? texts.newKey : one === TOO_SHORT ? texts.shortKey : texts.key(one)));
  const lines = (first: Child, others: string[], sites: string[]) => (
    <>
      {first}
      <span class="sub">
        {[
          ...others,
          ...(sites.length === 0 ? [] : [texts.sites(sites.length, format.number(sites.length))]),
        ].join(' · ')}
      </span>
    </>
  );
  return (
    <Panel id="samples" title={texts.samplesTitle}>
      <Table
        caption={texts.samplesOrder}
        rows={samples}
        empty={null}
        columns={[
          {
            title: columns.customer,
            kind: 'name',
            cell: ({ before, after }) => (
              <>
                {after.customer ?? texts.noCustomer}
                <span class="sub">{before.id}</span>
              </>
            ),
          },
          {
            title: columns.before,
            cell: ({ before }) =>
              lines(
                <>
                  {before.plan} <span lang="en">({before.status})</span>
                </>,
                [end(before.expiresAt), ...keys(before.keys)],
                before.sites,
              ),
          },
          {
            title: columns.after,
            cell: ({ after }) =>
              lines(
                <>
                  {after.product} · {after.plan} <Status status={after.status} />
                </>,
                [end(after.expiresAt), ...keys(after.keys)],
                after.sites,
              ),
          },
        ]}
      />
    </Panel>
  );
}

export function MovedPage({ source, moved }: { source: MovingSource; moved: MoveInResult }) {
  const { t, format } = useView();
  const texts = t.moveIn;
  const { number } = format;
  return (
    <TitledPage
      title={texts.doneTitle(sourceTitle(t, source.name))}
      nav="system"
      crumbs={[[texts.title, '/move-in']]}
    >
      <div class="stack">
        <Panel id="done" inside>
          <DescriptionList
            facts={[
              [texts.facts.added, number(moved.new)],
              [texts.facts.changed, number(moved.changed)],
              [texts.facts.same, number(moved.same)],
              [texts.facts.kept, number(moved.kept)],
            ]}
          />
          <p>{texts.canUndo}</p>
        </Panel>
        <Remarks
          id="left-out"
          title={texts.leftOutTitle}
          remarks={moved.left_out.map(({ code, ...one }) => ({
            ...one,
            what: importMessageOf(t.moved.leftOut, { ...one, code: code as SkipCode }),
            customers: [],
          }))}
        />
      </div>
      <p class="acts">
        <ButtonLink kind="primary" path="/licenses" label={texts.toList} />
        <ButtonLink path="/move-in" label={texts.toMoves} />
        <ButtonLink path="/move-in/check" label={texts.fare.go} />
      </p>
    </TitledPage>
  );
}

/** The most rows that a page shows of those that an undo left. */
const MAX_LEFT = 1_000;

export function UndonePage({
  undone: { removed, left },
}: {
  undone: DataOf<typeof importOperations.undoImport>;
}) {
  const { t, format } = useView();
  const texts = t.moveIn;
  const columns = texts.leftColumns;
  const { number } = format;
  return (
    <TitledPage title={texts.undoneTitle} nav="system" crumbs={[[texts.title, '/move-in']]}>
      <div class="stack">
        <Panel id="done" inside>
          <DescriptionList
            facts={[
              [texts.removed.license, number(removed.licenses)],
              [texts.removed.plan, number(removed.plans)],
              [texts.removed.product, number(removed.products)],
            ]}
          />
        </Panel>
        <Panel id="left" title={texts.left}>
          {left.length > MAX_LEFT ? (
            <PanelBody>{texts.leftFirst(number(MAX_LEFT), number(left.length))}</PanelBody>
          ) : null}
          <Table
            caption={texts.leftOrder}
            rows={left.slice(0, MAX_LEFT)}
            empty={<p>{texts.noneLeft}</p>}
            columns={[
              { title: columns.what, cell: ({ kind }) => texts.kinds[kind as keyof typeof texts.kinds] },
              { title: columns.id, kind: 'number', cell: ({ id }) => String(id) },
              {
                title: columns.why,
                kind: 'text',
                cell: ({ code }) => t.moved.stays[code as KeptCode],
              },
            ]}
          />
        </Panel>
      </div>
      <p class="acts">
        <ButtonLink path="/move-in" label={texts.toMoves} />
      </p>
    </TitledPage>
  );
}
