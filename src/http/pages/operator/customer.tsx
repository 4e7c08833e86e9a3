import { listProducts } from '../../../licensing/catalogue';
import { readOneCustomer, resolveCustomer } from '../../../privacy/customer-list';
import { countErasure, type ErasureCounts } from '../../../privacy/erase-customer';
import { exportCustomer } from '../../../privacy/export-customer';
import { SECTION_NAMES, type Section } from '../../../privacy/stored-data';
import { findProfile, type CustomerProfile } from '../../../store/customer-profiles';
import { findEmail } from '../../../licensing/customer-email';
import { customerDigest, isCustomerDigest } from '../../../store/customer-digest';
import { tellRequests, type ToldRequest } from '../../../support/requests';
import { ManageError } from '../../../operations/failures';
import { act, attempt, unlessGone } from '../act';
import { formState, type FormState } from '../form-state';
import { Checkbox, Form, FormErrors, Select, Submit, TextField } from '../kit/fields';
import { FinalAction } from '../kit/final-action';
import { OperatorPage } from '../kit/operator-page';
import { Head, Inside, Panel } from '../kit/panel';
import { Paging, Table } from '../kit/table';
import { done, type Answer, type OperatorCall, type Route } from '../page';
import { useView } from '../view';
import { LicenseTable } from './licenses';
import { RequestTable, type ProductNames } from './request-table';
import { customerOperations } from '../../../operations/customers';

/** One customer: what is stored, as a page and as a file, and how to erase it. */

const LIMIT = 50;

export const customerRoutes: Route<OperatorCall>[] = [
  { path: '/customers/:id', get: showCustomer },
  // Looks through whole tables.
  { path: '/customers/:id/export', get: download, hasDeadline: false },
  {
    path: '/customers/:id/edit',
    scope: 'write',
    isSecret: true,
    hasDeadline: false,
    get: (call) => showEdit(call, formState()),
    post: (call, sent) =>
      attempt(
        call,
        sent,
        () => edit(call, sent),
        (form) => showEdit(call, form),
      ),
  },
  {
    path: '/customers/:id/erase',
    scope: 'write',
    isSecret: true,
    hasDeadline: false,
    get: (call) => askToErase(call, formState()),
    post: erase,
  },
];

/** The address. @throws ManageError for anything but the id of a customer: an address must not stand in the path */
async function addressOf({ db, path: { id = '' } }: OperatorCall): Promise<string> {
  if (!isCustomerDigest(id)) throw new ManageError('NOT_FOUND', '');
  return resolveCustomer(db, id);
}

type Customer = Awaited<ReturnType<typeof readOneCustomer>>;

async function showCustomer(call: OperatorCall): Promise<Answer> {
  const { db, at, query, view } = call;
  const after = /^\d{1,15}$/.test(query.get('after') ?? '') ? Number(query.get('after')) : undefined;
  const customer = await readOneCustomer(db, await addressOf(call), { after, limit: LIMIT }, at);
  const { language, format } = view;
  const requests = await tellRequests(db, customer.accesses, { language, now: at, zone: format.zone });
  const products: ProductNames = new Map((await listProducts(db)).map(({ id, name }) => [id, name]));
  return { page: <CustomerPage {...{ customer, requests, products }} after={after} /> };
}

async function download(call: OperatorCall): Promise<Answer> {
  const parts: string[] = [];
  // Not as it is read: a slow client would keep the transaction open.
  await exportCustomer(call.db, await addressOf(call), call.at, (text) => {
    parts.push(text);
    return Promise.resolve();
  });
  const name = `${call.view.t.customers.one.exportName}-${(call.path.id ?? '').slice(0, 12)}.json`;
  return { file: name, type: 'application/json', content: parts.join('') };
}

async function showEdit(call: OperatorCall, form: FormState): Promise<Answer> {
  const customer = await addressOf(call);
  const profile = await findProfile(call.db, customer);
  return { page: <Edit id={call.path.id ?? ''} {...{ customer, profile, form }} /> };
}

async function edit(call: OperatorCall, sent: URLSearchParams): Promise<Answer> {
  const typed = (name: string) => sent.get(name)?.trim() ?? '';
  const { id } = await act(call, sent, customerOperations.updateCustomer, {
    path: { customer: call.path.id ?? '' },
    body: {
      email: typed('email'),
      name: typed('name') || null,
      language: (typed('language') as 'en' | 'de' | '') || null,
      join: sent.get('join') === '1',
    },
  });
  return done(`/customers/${id}`, 'customerChanged');
}

async function askToErase(call: OperatorCall, form: FormState): Promise<Answer> {
  const customer = await addressOf(call);
  const counts = await countErasure(call.db, customer);
  return { page: <Erase id={call.path.id ?? ''} {...{ customer, counts, form }} /> };
}

function erase(call: OperatorCall, sent: URLSearchParams): Promise<Answer> {
  return unlessGone('/customers', async () => {
    if (findEmail(sent.get('confirm') ?? '') !== (await addressOf(call))) {
      const failure = { field: 'confirm', sentence: call.view.t.customers.erasePage.wrong };
      return { ...(await askToErase(call, formState(sent, failure))), status: 400 };
    }
    await act(call, sent, customerOperations.removeCustomer, { path: { customer: call.path.id ?? '' } });
    return done('/customers', 'customerErased');
  });
}

function CustomerPage({
  customer: { id, customer, name, language, licenses, keys, seats, stored, next },
  requests,
  products,
  after,
}: {
  customer: Customer;
  requests: ToldRequest[];
  products: ProductNames;
  after: number | undefined;
}) {
  const { t, to, format, operator } = useView();
  const texts = t.customers.one;
  const path = `/customers/${id}`;
  return (
    <OperatorPage title={customer} nav="customers" crumbs={[[t.customers.title, '/customers']]}>
      <Head
        title={customer}
        sub={[name, language && t.customers.languages[language]].filter(Boolean).join(' · ')}
        actions={
          <>
            {operator?.scope === 'write' ? (
              <a class="btn btn-quiet" href={to(`${path}/edit`)}>
                {texts.edit}
              </a>
            ) : null}
            <a class="btn btn-quiet" href={to(`${path}/export`)}>
              {texts.export}
            </a>
            {operator?.scope === 'write' ? (
              <a class="btn btn-quiet" href={to(`${path}/erase`)}>
                {texts.erase}
              </a>
            ) : null}
          </>
        }
      />
      <div class="stack">
        <Panel id="licenses" title={texts.licenses}>
          <LicenseTable
            licenses={licenses}
            caption={texts.licensesCaption(format.number(licenses.length))}
            empty={texts.noLicense}
          />
          <Paging
            path={path}
            query={{ after: after === undefined ? undefined : String(after) }}
            next={next === null ? null : String(next)}
            limit={LIMIT}
          />
        </Panel>
        <KeysPanel licenses={licenses} keys={keys} />
        {seats.length === 0 ? null : (
          <Panel id="seats" title={texts.seats}>
            <Table
              caption={texts.seatsCaption}
              rows={seats}
              empty={null}
              columns={[
                { title: texts.seatColumns.identifier, kind: 'name', cell: ({ identifier }) => identifier },
                { title: texts.seatColumns.label, cell: ({ name }) => name ?? t.common.none },
                {
                  title: texts.seatColumns.since,
                  cell: ({ activated_at }) => format.localDay(new Date(activated_at)),
                },
                {
                  title: texts.seatColumns.license,
                  kind: 'number',
                  cell: ({ license_id }) => <a href={to(`/licenses/${license_id}`)}>{String(license_id)}</a>,
                },
              ]}
            />
          </Panel>
        )}
        <Panel id="requests" title={texts.requests}>
          <RequestTable
            requests={requests}
            products={products}
            caption={t.requests.oneCaption(format.number(requests.length))}
            empty={texts.noRequest}
          />
        </Panel>
        {stored === null
          ? null
          : SECTION_NAMES.map((name) => <Stored name={name} rows={stored.sections[name]} />)}
        <p class="in">{texts.elsewhere}</p>
      </div>
    </OperatorPage>
  );
}

/** The keys of the licences above, by their ends. */
function KeysPanel({ licenses, keys }: Pick<Customer, 'licenses' | 'keys'>) {
  const { t, to, format } = useView();
  const texts = t.customers.one;
  const rows = licenses.flatMap(({ id }, i) => (keys[i] ?? []).map((key) => ({ id, key })));
  if (rows.length === 0) return null;
  return (
    <Panel id="keys" title={texts.keys}>
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
          { title: texts.seatColumns.since, cell: ({ key }) => format.localDay(key.createdAt) },
        ]}
      />
    </Panel>
  );
}

/** What else is stored, in the fields of the export: each row is when it was, what it is, and all of it. */
function Stored({ name, rows }: { name: Section; rows: object[] }) {
  const { t, to, format } = useView();
  const texts = t.customers.one;
  if (rows.length === 0) return null;
  const recorded = rows as StoredRow[];
  return (
    <Panel id={name} title={texts.sections[name]}>
      <Table
        caption={texts.storedCaption}
        rows={recorded}
        empty={null}
        columns={[
          {
            title: texts.storedColumns.what,
            kind: 'name',
            cell: (row) => {
              const label = [row.shop, row.order ?? row.type ?? row.email ?? row.description].filter(Boolean);
              const shown = label.length === 0 ? texts.sections[name] : label.join(' ');
              return name === 'orders' ? <a href={to(`/orders/${row.id}`)}>{shown}</a> : shown;
            },
          },
          {
            title: texts.seatColumns.since,
            cell: (row) => {
              const at = row.created_at ?? row.received_at ?? row.requested_at;
              return at === undefined ? t.common.none : format.localDay(new Date(at));
            },
          },
          {
            title: texts.storedColumns.all,
            kind: 'text',
            cell: (row) => (
              <details class="fold">
                <summary>{texts.storedColumns.open}</summary>
                <pre>
                  <code>{JSON.stringify(row, null, 2)}</code>
                </pre>
              </details>
            ),
          },
        ]}
      />
    </Panel>
  );
}

/** The fields that say in a line what a record is. */
interface StoredRow {
  id?: number;
  shop?: string;
  order?: string;
  type?: string;
  email?: string;
  description?: string | null;
  created_at?: string;
  received_at?: string;
  requested_at?: string;
}

function Edit({
  id,
  customer,
  profile,
  form,
}: {
  id: string;
  customer: string;
  profile: CustomerProfile | undefined;
  form: FormState;
}) {
  const { t, to } = useView();
  const texts = t.customers.editPage;
  const path = `/customers/${id}`;
  const other = findEmail(form.value('email') ?? '');
  const asks = form.failure?.reason === 'customer-exists' && other !== undefined;
  const languages = Object.entries(t.customers.languages).map(([value, label]) => ({ value, label }));
  return (
    <OperatorPage
      title={texts.title(customer)}
      nav="customers"
      crumbs={[
        [t.customers.title, '/customers'],
        [customer, path],
      ]}
    >
      <Head title={texts.title(customer)} />
      <Panel id="form">
        <Inside>
          <Form path={`${path}/edit`} form={form}>
            <FormErrors form={form} />
            <TextField
              {...{ form, name: 'email', type: 'email', label: texts.email, hint: texts.emailHint }}
              value={customer}
              required
            />
            {asks ? (
              <>
                <p>
                  <a href={to(`/customers/${customerDigest(other)}`)}>{texts.other}</a>
                </p>
                <Checkbox form={form} name="join" label={texts.join} />
              </>
            ) : null}
            <TextField
              {...{ form, name: 'name', label: texts.name, hint: texts.nameHint }}
              value={profile?.chosenName ?? ''}
            />
            <Select
              {...{ form, name: 'language', label: texts.language, hint: texts.languageHint }}
              options={[{ value: '', label: texts.languageTold }, ...languages]}
              value={profile?.chosenLanguage ?? ''}
            />
            <Submit>{texts.submit}</Submit>{' '}
            <a class="btn btn-quiet" href={to(path)}>
              {texts.back}
            </a>
          </Form>
        </Inside>
      </Panel>
    </OperatorPage>
  );
}

function Erase({
  id,
  customer,
  counts: { licenses, requests, changes },
  form,
}: {
  id: string;
  customer: string;
  counts: ErasureCounts;
  form: FormState;
}) {
  const { t, to, format } = useView();
  const texts = t.customers.erasePage;
  const path = `/customers/${id}`;
  const written = (count: number) => format.number(count);
  return (
    <FinalAction
      title={texts.title(customer)}
      nav="customers"
      crumbs={[
        [t.customers.title, '/customers'],
        [customer, path],
      ]}
      path={`${path}/erase`}
      form={form}
      consequences={[
        texts.licenses(licenses, written(licenses)),
        texts.rows(requests, written(requests), changes, written(changes)),
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
      <TextField form={form} name="confirm" type="email" label={texts.confirm} hint={texts.again} required />
    </FinalAction>
  );
}
