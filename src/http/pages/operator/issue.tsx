import { listProducts, plansOf, type Plan, type Product } from '../../../licensing/catalogue';
import { listMails, type Mail } from '../../../mail/queue';
import { actWithStatus, attempt, filled, type DataOf } from '../act';
import { formState, type FormState } from '../form-state';
import { Checkbox, Form, FormErrors, Select, Submit, TextField } from '../kit/fields';
import { CopyText } from '../kit/copy';
import { OperatorPage } from '../kit/operator-page';
import { Head, Inside, Panel } from '../kit/panel';
import { Table } from '../kit/table';
import type { Answer, OperatorCall, Route } from '../page';
import type { Texts } from '../../../texts/operators/texts';
import { useView } from '../view';
import { enterKeyOf } from './catalogue';
import { licenseOperations } from '../../../operations/licenses';

/** Selling by hand. The answer to the form shows the key; sending the form again gives the same licence. */

export const issueRoutes: Route<OperatorCall>[] = [
  {
    path: '/licenses/new',
    goesOn: true,
    scope: 'write',
    get: (call) => showForm(call, formState()),
    post: (call, sent) =>
      attempt(
        call,
        sent,
        () => issue(call, sent),
        (form) => showForm(call, form),
      ),
  },
];

/** A licence that was issued, as it is answered. */
export type Issued = Exclude<DataOf<typeof licenseOperations.issueLicense>, readonly unknown[]>;

async function issue(call: OperatorCall, sent: URLSearchParams): Promise<Answer> {
  const body = {
    ...filled(sent, 'plan_id', 'customer', 'reference', 'expires_at', 'activation_limit', 'key'),
    ...(sent.get('lifetime') === '1' ? { lifetime: true } : {}),
    ...(sent.get('send') === '1' ? { send: true } : {}),
    ...(sent.get('count')?.trim() === '1' ? {} : filled(sent, 'count')),
  };
  const { status, data } = await actWithStatus(call, sent, licenseOperations.issueLicense, { body });
  const licenses = [data].flat();
  const [first] = licenses;
  const mails = first === undefined ? [] : await listMails(call.db, first.id);
  return {
    page: (
      <IssuedPage
        licenses={licenses}
        isNew={status === 201}
        isKept={call.settings.keySecret !== undefined}
        mail={mails.find(({ type }) => type === 'license_key')}
        enterKey={first === undefined ? '' : await enterKeyOf(call, first.product_id)}
      />
    ),
  };
}

async function showForm({ db, query, settings }: OperatorCall, form: FormState): Promise<Answer> {
  const [plans, products] = [await plansOf(db, undefined), await listProducts(db)];
  return {
    page: (
      <IssueForm
        {...{ form, plans, products }}
        planId={query.get('plan_id') ?? undefined}
        maySend={settings.mailing !== undefined && settings.keySecret !== undefined}
      />
    ),
  };
}

function IssueForm({
  form,
  plans,
  products,
  planId,
  maySend,
}: {
  form: FormState;
  plans: Plan[];
  products: Product[];
  planId: string | undefined;
  /** mail is set up, and keys are kept */
  maySend: boolean;
}) {
  const { t, to } = useView();
  const texts = t.licenses.issuePage;
  const nameOf = new Map(products.map(({ id, name }) => [id, name]));
  return (
    <OperatorPage title={texts.title} nav="licenses" crumbs={[[t.licenses.title, '/licenses']]}>
      <Head title={texts.title} />
      {plans.length === 0 ? (
        <Panel id="none">
          <Inside>
            <p>{texts.noPlan}</p>
            <a class="btn btn-primary" href={to('/start')}>
              {texts.makePlan}
            </a>
          </Inside>
        </Panel>
      ) : (
        <Panel id="issue" kind="narrow">
          <Inside>
            <Form path="/licenses/new" form={form}>
              <FormErrors form={form} />
              <Select
                form={form}
                name="plan_id"
                label={texts.plan}
                required
                value={planId ?? ''}
                options={plans.map((plan) => ({
                  value: plan.id,
                  label: `${nameOf.get(plan.productId) ?? ''} · ${plan.name} (${grantsOf(plan)})`,
                }))}
              />
              <TextField
                form={form}
                name="customer"
                type="email"
                label={texts.customer}
                hint={texts.customerHint}
              />
              <TextField form={form} name="reference" label={texts.order} hint={texts.orderHint} />
              {maySend ? <Checkbox form={form} name="send" label={texts.send} hint={texts.sendHint} /> : null}
              <details class="fold mb-3" open={form.failure !== undefined}>
                <summary>{texts.more}</summary>
                <div class="in">
                  <TextField
                    form={form}
                    name="expires_at"
                    type="date"
                    label={texts.expires}
                    hint={texts.expiresHint}
                  />
                  <Checkbox form={form} name="lifetime" label={texts.lifetime} />
                  <TextField
                    form={form}
                    name="activation_limit"
                    inputmode="numeric"
                    label={texts.slots}
                    hint={texts.slotsHint}
                  />
                  <TextField form={form} name="key" label={texts.key} hint={texts.keyHint} />
                  <TextField
                    form={form}
                    name="count"
                    inputmode="numeric"
                    label={texts.count}
                    hint={texts.countHint}
                  />
                </div>
              </details>
              <Submit busy={texts.busy}>{texts.submit}</Submit>
            </Form>
          </Inside>
        </Panel>
      )}
    </OperatorPage>
  );
}

/** What a plan grants, such as `5 sites, 1 year`. */
export function grantsOf({ activationType, activationLimit, duration }: Plan): string {
  const { t, format } = useView();
  const { common } = t;
  const what = (activationLimit === 1 ? common.site : common.sites)(activationType);
  const slots = activationLimit === 0 ? common.unlimited : format.number(activationLimit);
  return t.licenses.issuePage.grants(
    `${slots} ${what}`,
    duration === null ? common.lifetime : format.duration(duration),
  );
}

/** Whether the key went to the customer. */
function mailSentence(
  texts: Texts['licenses']['issuePage'],
  mail: Mail | undefined,
  customer: string | null,
): string {
  if (mail === undefined || customer === null) return texts.noMail;
  const sentences = { queued: texts.mailQueued, sent: texts.mailSent, failed: texts.mailFailed };
  return sentences[mail.state](customer);
}

function IssuedPage({
  licenses,
  isNew,
  isKept,
  mail,
  enterKey,
}: {
  licenses: Issued[];
  /** false: the order had its licence already */
  isNew: boolean;
  isKept: boolean;
  /** the last one with the first licence's key */
  mail: Mail | undefined;
  enterKey: string;
}) {
  const { t, to, format } = useView();
  const texts = t.licenses.issuePage;
  const [first] = licenses;
  if (first === undefined)
    return (
      <OperatorPage title={texts.title} nav="licenses">
        {null}
      </OperatorPage>
    );
  const isOne = licenses.length === 1;
  const title = !isOne
    ? texts.doneMany(format.number(licenses.length))
    : isNew
      ? texts.doneTitle
      : texts.doneAgain;
  const key = first.license_key;
  const endedOn =
    first.status === 'expired' && first.expires_at !== null
      ? format.day(new Date(first.expires_at))
      : undefined;
  const about = key === null ? texts.notShown : isKept ? texts.kept : texts.notKept;
  return (
    <OperatorPage title={title} nav="licenses" crumbs={[[t.licenses.title, '/licenses']]}>
      <Head title={title} sub={isOne ? (first.customer ?? undefined) : undefined} />
      {isOne ? (
        <div class="stack">
          <Panel id="key" title={texts.key1}>
            <Inside>
              {key === null ? null : <CopyText id="license-key" label={texts.key1} text={key} />}
              <p class="small muted mb-0 mt-2">{about}</p>
              {endedOn === undefined ? null : <p class="mb-0 mt-2">{texts.ended(endedOn)}</p>}
              <p class="mb-0 mt-2">{mailSentence(texts, mail, first.customer)}</p>
            </Inside>
          </Panel>
          {key === null ? null : (
            <Panel id="letter" title={texts.forCustomer}>
              <Inside>
                <CopyText
                  id="letter-text"
                  label={texts.forCustomer}
                  text={
                    endedOn === undefined
                      ? texts.letter(first.product, key, enterKey)
                      : texts.letterEnded(first.product, key, endedOn)
                  }
                  rows={12}
                />
              </Inside>
            </Panel>
          )}
        </div>
      ) : (
        <Panel id="many" title={texts.key1}>
          <Inside>
            <p class="small muted">{about}</p>
            {endedOn === undefined ? null : <p class="mb-0">{texts.ended(endedOn)}</p>}
          </Inside>
          <Table
            caption={texts.table}
            rows={licenses}
            empty={null}
            columns={[
              { title: t.licenses.columns.id, cell: ({ id }) => <a href={to(`/licenses/${id}`)}>{id}</a> },
              { title: texts.key1, kind: 'mono', cell: ({ license_key }) => license_key ?? t.common.none },
            ]}
          />
        </Panel>
      )}
      <p class="acts mt-3">
        {isOne ? (
          <a class="btn btn-quiet" href={to(`/licenses/${first.id}`)}>
            {texts.toLicense}
          </a>
        ) : null}
        <a class="btn btn-quiet" href={to('/licenses/new')}>
          {texts.another}
        </a>
      </p>
    </OperatorPage>
  );
}
