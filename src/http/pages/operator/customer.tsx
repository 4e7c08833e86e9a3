import { inBothForms } from '../../../licensing/core/identifiers';
import { listCatalogue, plansOf } from '../../../licensing/catalogue';
import { readOneCustomer, resolveCustomer } from '../../../privacy/customer-list';
import { countErasure } from '../../../privacy/erase-customer';
import { exportCustomer } from '../../../privacy/export-customer';
import { SECTION_NAMES, type Section } from '../../../privacy/stored-data';
import { findProfile } from '../../../mail/customer-profile';
import { customerDigest, findEmail, isCustomerDigest } from '../../../licensing/customer-email';
import { describeRequests } from '../../../support/requests';
import { invalid, notFound } from '../../../operations/kit/failures';
import { submitOperation } from '../submit';
import { formRoute } from '../form-route';
import type { FormState } from '../form-state';
import { ButtonLink, Checkbox, Select, TextArea, TextField } from '../kit/fields';
import { FormPage } from '../kit/form-page';
import type { CustomerLanguage } from '../../../texts/customers/languages';
import { OperatorPage } from '../kit/operator-page';
import { MoreMenu } from '../kit/more-menu';
import { DescriptionList, PageHeader, Panel } from '../kit/panel';
import { Pagination, Table } from '../kit/table';
import { redirectWithFlash, type PageResponse, type OperatorCall, type Route } from '../page';
import { useView } from '../view';
import { loadOptional } from '../load-optional';
import { listFailedMails } from '../../../mail/failed-mails';
import type { Amounts } from '../../../orders/views';
import { AmountsCell } from './orders';
import { CustomerHistory } from './customer-history';
import { FailedMails } from './failed-mails';
import { LicenseTable } from './licenses';
import type { ProductNames } from './request-table';
import { customerOperations } from '../../../operations/customers';

/** The page of one customer: the stored data, its export as a file, and its erasure. */

const LIMIT = 50;

export const customerRoutes: Route<OperatorCall>[] = [
  { path: '/customers/:id', get: showCustomer },
  // Set no deadline, because the export scans whole tables.
  { path: '/customers/:id/export', get: download, hasDeadline: false },
  formRoute('/customers/:id/edit', {
    isSecret: true,
    hasDeadline: false,
    find: addressOf,
    show: showEdit,
    work: edit,
  }),
  formRoute('/customers/:id/note', {
    needsNoRecentSignIn: true,
    find: addressOf,
    show: showNote,
    work: saveNote,
    explain: ({ view }, { error }) =>
      error.field === 'note' ? view.t.customers.notePage.refused : undefined,
  }),
  formRoute('/customers/:id/erase', {
    isSecret: true,
    hasDeadline: false,
    find: addressOf,
    show: askToErase,
    work: erase,
    explain: ({ view }, { error }) =>
      error.field === 'confirm' ? view.t.customers.erasePage.wrong : undefined,
    whenDeleted: '/customers',
  }),
];

/**
 * Returns the customer's e-mail address.
 * @throws OperationError if the path has no customer's id; paths must not contain addresses
 */
async function addressOf({ db, path: { id = '' } }: OperatorCall): Promise<string> {
  if (!isCustomerDigest(id)) throw notFound('customer');
  return resolveCustomer(db, id);
}

type Customer = Awaited<ReturnType<typeof readOneCustomer>>;

async function showCustomer(call: OperatorCall): Promise<PageResponse> {
  const { db, at, query, view } = call;
  const after = /^\d{1,15}$/.test(query.get('after') ?? '') ? Number(query.get('after')) : undefined;
  const shown = await readOneCustomer(db, await addressOf(call), { after, limit: LIMIT }, at);
  const { id, customer, name, licenses, keys, seats, stored, next } = shown;
  const { t, to, format, mayWrite } = view;
  const requests = await describeRequests(db, shown.accesses, {
    language: view.operatorLanguage,
    now: at,
    zone: format.zone,
  });
  const products: ProductNames = new Map((await listCatalogue(db)).map(({ id, name }) => [id, name]));
  const texts = t.customers.one;
  const path = `/customers/${id}`;
  const note = (await findProfile(db, customer))?.note ?? null;
  const licenseIds = licenses.map((license) => license.id);
  const failedMails = await loadOptional(call, () => listFailedMails(db, { address: customer, licenseIds }));
  const isComplete = next === null && after === undefined;
  return {
    page: (
      <OperatorPage title={name ?? customer} nav="customers" crumbs={[[t.customers.title, '/customers']]}>
        <PageHeader
          title={name ?? customer}
          face={name ?? customer}
          sub={name === null ? undefined : customer}
          actions={
            <>
              {mayWrite ? (
                <>
                  <ButtonLink path="/answer" query={{ customer: id }} label={texts.write} />
                  <ButtonLink path={`${path}/edit`} label={texts.edit} />
                </>
              ) : null}
              <MoreMenu ofPage label={`${t.common.actions}: ${customer}`}>
                {mayWrite && note === null ? <a href={to(`${path}/note`)}>{texts.addNote}</a> : null}
                <a href={to(`${path}/export`)}>{texts.export}</a>
                {mayWrite ? (
                  <div class="cut">
                    <a href={to(`${path}/erase`)}>{texts.erase}</a>
                  </div>
                ) : null}
              </MoreMenu>
            </>
          }
        />
        <FailedMails mails={failedMails} back={path} />
        <div class="cols cols-side">
          <Panel
            id="licenses"
            title={texts.licenses}
            aside={mayWrite ? <a href={to('/licenses/new')}>{t.licenses.issue}</a> : undefined}
          >
            <LicenseTable
              licenses={licenses}
              isOfOne
              caption={texts.licensesCaption(format.number(licenses.length))}
              empty={texts.noLicense}
            />
            <Pagination
              path={path}
              query={{ after: after === undefined ? undefined : String(after) }}
              next={next === null ? null : String(next)}
              limit={LIMIT}
            />
          </Panel>
          {note === null ? null : (
            <Panel
              id="note"
              title={texts.note}
              aside={mayWrite ? <a href={to(`${path}/note`)}>{texts.editNote}</a> : undefined}
              inside
            >
              <p class="kept">{note}</p>
            </Panel>
          )}
          <CustomerHistory
            shown={shown}
            requests={requests}
            products={products}
            plans={new Map((await plansOf(db, undefined)).map((plan) => [plan.id, plan.name]))}
            isWhole={query.get('history') === 'all'}
          />
          {seats.length === 0 ? null : (
            <Panel id="seats" title={texts.seats}>
              <Table
                caption={texts.seatsCaption}
                rows={seats}
                empty={null}
                columns={[
                  {
                    title: texts.seatColumns.identifier,
                    kind: 'name',
                    cell: ({ identifier }) => identifier,
                  },
                  { title: texts.seatColumns.label, cell: ({ name }) => name ?? t.common.none },
                  {
                    title: texts.seatColumns.since,
                    kind: 'time',
                    cell: ({ activated_at }) => format.localDay(new Date(activated_at)),
                  },
                  {
                    title: texts.seatColumns.license,
                    kind: 'number',
                    cell: ({ license_id }) => (
                      <a href={to(`/licenses/${license_id}`)}>{String(license_id)}</a>
                    ),
                  },
                ]}
              />
            </Panel>
          )}
          <Panel id="stored" title={texts.stored} footer={texts.elsewhere}>
            <Keys licenses={licenses} keys={keys} />
            {stored === null
              ? null
              : SECTION_NAMES.map((name) => <Stored name={name} rows={stored.sections[name]} />)}
          </Panel>
          {isComplete ? (
            <aside class="panel" aria-label={t.customers.title}>
              <div class="in">
                <CustomerFacts shown={shown} />
              </div>
            </aside>
          ) : null}
        </div>
      </OperatorPage>
    ),
  };
}

/** Shows the sum that a customer has spent, the slots, the language, and the day of the first purchase. */
function CustomerFacts({ shown: { licenses, stored, language } }: { shown: Customer }) {
  const { t, format } = useView();
  const texts = t.customers.one;
  const orders = (stored?.sections.orders ?? []) as { created_at: string; amounts: Amounts[] }[];
  const sums = new Map<string, Amounts>();
  for (const { currency, paid, refunded } of orders.flatMap(({ amounts }) => amounts)) {
    const sum = sums.get(currency) ?? { currency, paid: 0, refunded: 0 };
    sums.set(currency, { currency, paid: sum.paid + paid, refunded: sum.refunded + refunded });
  }
  const days = orders.map(({ created_at }) => new Date(created_at));
  const times = [...days, ...licenses.map(({ createdAt }) => createdAt)].sort(
    (a, b) => a.getTime() - b.getTime(),
  );
  const [first] = times;
  const latest = days.sort((a, b) => a.getTime() - b.getTime()).at(-1);
  const used = licenses.reduce((sum, { activationsUsed }) => sum + activationsUsed, 0);
  const { number, localDay } = format;
  return (
    <DescriptionList
      facts={[
        latest === undefined || stored?.shortened.includes('orders')
          ? undefined
          : [
              texts.spent,
              <>
                <strong>
                  <AmountsCell amounts={[...sums.values()]} />
                </strong>
                <span class="sub">
                  {texts.orders(orders.length, number(orders.length), localDay(latest))}
                </span>
              </>,
            ],
        [
          t.license.facts.slots,
          <>
            {number(used)}
            <span class="sub">{texts.onLicenses(licenses.length, number(licenses.length))}</span>
          </>,
        ],
        language === null ? undefined : [t.customers.editPage.language, t.customers.languages[language]],
        first === undefined ? undefined : [texts.since, localDay(first)],
      ]}
    />
  );
}

async function download(call: OperatorCall): Promise<PageResponse> {
  const parts: string[] = [];
  // Read everything before the response begins, because a slow client would keep the transaction open.
  await exportCustomer(call.db, await addressOf(call), call.at, (text) => {
    parts.push(text);
    return Promise.resolve();
  });
  const name = `${call.view.t.customers.one.exportName}-${(call.path.id ?? '').slice(0, 12)}.json`;
  return { file: name, type: 'application/json', content: parts.join('') };
}

async function askToErase(call: OperatorCall, form: FormState, customer: string): Promise<PageResponse> {
  const { t, to, format } = call.view;
  const { licenses, requests, changes } = await countErasure(call.db, customer);
  const texts = t.customers.erasePage;
  const path = `/customers/${call.path.id ?? ''}`;
  const { number } = format;
  return {
    page: (
      <FormPage
        danger
        title={texts.title(customer)}
        nav="customers"
        crumbs={[
          [t.customers.title, '/customers'],
          [customer, path],
        ]}
        path={`${path}/erase`}
        form={form}
        points={[
          texts.licenses(licenses, number(licenses)),
          texts.rows(requests, number(requests), changes, number(changes)),
          texts.noMail,
          texts.backups,
          <>
            {texts.final} <a href={to(`${path}/export`)}>{texts.exportFirst}</a>.
          </>,
        ]}
        submit={texts.submit}
        busy={texts.busy}
        back={[texts.back, path]}
      >
        <TextField name="confirm" type="email" label={texts.confirm} hint={texts.again} required />
      </FormPage>
    ),
  };
}

async function erase(call: OperatorCall, sent: URLSearchParams, customer: string): Promise<PageResponse> {
  if (findEmail(sent.get('confirm') ?? '') !== customer)
    throw invalid('confirm', 'The address is another one.');
  await submitOperation(call, sent, customerOperations.removeCustomer, {
    path: { customer: call.path.id ?? '' },
  });
  return redirectWithFlash('/customers', 'customerErased');
}

async function showEdit(call: OperatorCall, form: FormState, customer: string): Promise<PageResponse> {
  const { t, to } = call.view;
  const profile = await findProfile(call.db, customer);
  const texts = t.customers.editPage;
  const path = `/customers/${call.path.id ?? ''}`;
  const other = findEmail(form.value('email') ?? '');
  const languages = Object.entries(t.customers.languages).map(([value, label]) => ({ value, label }));
  return {
    page: (
      <FormPage
        title={texts.title(customer)}
        nav="customers"
        crumbs={[
          [t.customers.title, '/customers'],
          [customer, path],
        ]}
        path={`${path}/edit`}
        form={form}
        submit={texts.submit}
        back={[texts.back, path]}
      >
        <TextField
          name="email"
          type="email"
          label={texts.email}
          hint={texts.emailHint}
          value={customer}
          required
        />
        {form.failure?.reason === 'customer-exists' && other !== undefined ? (
          <>
            <p>
              <a href={to(`/customers/${customerDigest(other)}`)}>{texts.other}</a>
            </p>
            <Checkbox name="join" label={texts.join} />
          </>
        ) : null}
        <TextField name="name" label={texts.name} hint={texts.nameHint} value={profile?.chosenName ?? ''} />
        <Select
          name="language"
          label={texts.language}
          hint={texts.languageHint}
          options={[{ value: '', label: texts.languageTold }, ...languages]}
          value={profile?.chosenLanguage ?? ''}
        />
      </FormPage>
    ),
  };
}

async function showNote(call: OperatorCall, form: FormState, customer: string): Promise<PageResponse> {
  const { t } = call.view;
  const texts = t.customers.notePage;
  const path = `/customers/${call.path.id ?? ''}`;
  return {
    page: (
      <FormPage
        title={texts.title(customer)}
        nav="customers"
        crumbs={[
          [t.customers.title, '/customers'],
          [customer, path],
        ]}
        path={`${path}/note`}
        form={form}
        submit={texts.submit}
        back={path}
      >
        <TextArea
          name="note"
          label={texts.note}
          hint={texts.hint}
          value={(await findProfile(call.db, customer))?.note ?? ''}
        />
      </FormPage>
    ),
  };
}

async function saveNote(call: OperatorCall, sent: URLSearchParams): Promise<PageResponse> {
  const { id } = await submitOperation(call, sent, customerOperations.updateCustomer, {
    path: { customer: call.path.id ?? '' },
    body: { note: sent.get('note')?.trim() || null },
  });
  return redirectWithFlash(`/customers/${id}`, 'customerNoted');
}

async function edit(call: OperatorCall, sent: URLSearchParams): Promise<PageResponse> {
  const typed = (name: string) => sent.get(name)?.trim() ?? '';
  const { id } = await submitOperation(call, sent, customerOperations.updateCustomer, {
    path: { customer: call.path.id ?? '' },
    body: {
      email: typed('email'),
      name: typed('name') || null,
      language: (typed('language') as CustomerLanguage | '') || null,
      join: sent.get('join') === '1',
    },
  });
  return redirectWithFlash(`/customers/${id}`, 'customerChanged');
}

/** The keys of the licences above, each identified by its last characters. */
function Keys({ licenses, keys }: Pick<Customer, 'licenses' | 'keys'>) {
  const { t, to, format } = useView();
  const texts = t.customers.one;
  const rows = licenses.flatMap(({ id }, i) => (keys[i] ?? []).map((key) => ({ id, key })));
  if (rows.length === 0) return null;
  return (
    <details class="fold">
      <summary>
        {texts.keys} <span class="count">{format.number(rows.length)}</span>
      </summary>
      <Table
        caption={texts.keysCaption}
        rows={rows}
        empty={null}
        columns={[
          {
            title: texts.seatColumns.license,
            kind: 'name',
            cell: ({ id }) => <a href={to(`/licenses/${id}`)}>{String(id)}</a>,
          },
          { title: texts.keyEnd, kind: 'mono', cell: ({ key }) => key.keyHint ?? t.common.none },
          { title: texts.seatColumns.label, cell: ({ key }) => key.label ?? t.common.none },
          { title: texts.seatColumns.since, kind: 'time', cell: ({ key }) => format.localDay(key.createdAt) },
        ]}
      />
    </details>
  );
}

/** Shows the other stored rows of a kind, with the fields of the export: the time, a name, and the whole row. */
function Stored({ name, rows }: { name: Section; rows: object[] }) {
  const { t, to, format } = useView();
  const texts = t.customers.one;
  if (rows.length === 0) return null;
  const recorded = rows as StoredRow[];
  const mailTypes: Partial<Record<string, string>> = t.license.facts.mailTypes;
  return (
    <details class="fold">
      <summary>
        {texts.sections[name]} <span class="count">{format.number(rows.length)}</span>
      </summary>
      <Table
        caption={texts.storedCaption}
        rows={recorded}
        empty={null}
        columns={[
          {
            title: texts.storedColumns.what,
            kind: 'name',
            cell: (row) => {
              const type = row.type && (mailTypes[row.type] ?? row.type);
              const of = row.order ?? type ?? row.email ?? row.description ?? row.version ?? row.network;
              const label = [row.shop ?? (row.site && inBothForms(row.site, 'domain')), of].filter(Boolean);
              const shown = label.length === 0 ? texts.sections[name] : label.join(' ');
              return name === 'orders' ? <a href={to(`/orders/${row.id}`)}>{shown}</a> : shown;
            },
          },
          {
            title: texts.seatColumns.since,
            cell: (row) => {
              const at = row.created_at ?? row.received_at ?? row.requested_at ?? row.version_at;
              return at === undefined ? t.common.none : format.localDay(new Date(at));
            },
          },
          name === 'orders' && {
            title: t.orders.columns.amount,
            kind: 'number',
            cell: ({ amounts = [] }) => <AmountsCell amounts={amounts} />,
          },
          {
            title: texts.storedColumns.all,
            kind: 'text',
            cell: (row) => (
              <details class="raw">
                <summary>{texts.storedColumns.open}</summary>
                <pre>
                  <code>{JSON.stringify(row, null, 2)}</code>
                </pre>
              </details>
            ),
          },
        ]}
      />
    </details>
  );
}

/** The fields that identify a record in one line. */
interface StoredRow {
  id?: number;
  shop?: string;
  order?: string;
  amounts?: Amounts[];
  type?: string;
  email?: string;
  description?: string | null;
  /** the address that a site reported */
  site?: string;
  version?: string;
  version_at?: string;
  /** the digest of a network */
  network?: string;
  created_at?: string;
  received_at?: string;
  requested_at?: string;
}
