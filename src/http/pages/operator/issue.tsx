import { listCatalogue, plansOf } from '../../../licensing/catalogue';
import { listMails, type Mail } from '../../../mail/queue';
import { licenseOperations } from '../../../operations/licenses';
import { submitWithStatus, nonEmptyFields, type DataOf } from '../submit';
import { formRoute } from '../form-route';
import type { FormState } from '../form-state';
import { CopyText } from '../kit/copy';
import { ButtonLink, Checkbox, Select, TextField } from '../kit/fields';
import { FormPage } from '../kit/form-page';
import { OperatorPage, TitledPage } from '../kit/operator-page';
import { PageHeader, PanelBody, Panel } from '../kit/panel';
import { Table } from '../kit/table';
import type { PageResponse, OperatorCall, Route } from '../page';
import { useView, type View } from '../view';
import { keyInstruction, planEntitlement } from './catalogue';

/**
 * Issues a licence manually. The response shows the key. Sending the form again returns the same licence (idempotency).
 */

export const issueRoutes: Route<OperatorCall>[] = [
  formRoute('/licenses/new', { needsNoRecentSignIn: true, show: showForm, work: issue }),
];

/** An issued licence, as the operation returns it. */
export type Issued = Exclude<DataOf<typeof licenseOperations.issueLicense>, readonly unknown[]>;

async function showForm({ db, query, settings, view }: OperatorCall, form: FormState): Promise<PageResponse> {
  const { t } = view;
  const texts = t.licenses.issuePage;
  const [plans, products] = [await plansOf(db, undefined), await listCatalogue(db)];
  const names = new Map(products.map(({ id, name }) => [id, name]));
  const frame = {
    title: texts.title,
    nav: 'licenses',
    crumbs: [[t.licenses.title, '/licenses']] as [string, string][],
  } as const;
  if (plans.length === 0)
    return {
      page: (
        <OperatorPage {...frame}>
          <PageHeader title={texts.title} />
          <Panel id="none" inside>
            <p>{texts.noPlan}</p>
            <ButtonLink kind="primary" path="/start" label={texts.makePlan} />
          </Panel>
        </OperatorPage>
      ),
    };
  // A key can be mailed only if mail is set up and keys are stored.
  const maySend = settings.mailing !== undefined && settings.keySecret !== undefined;
  return {
    page: (
      <FormPage {...frame} path="/licenses/new" form={form} submit={texts.submit} busy={texts.busy}>
        <Select
          name="plan_id"
          label={texts.plan}
          required
          value={query.get('plan_id') ?? ''}
          options={plans.map((plan) => ({
            value: plan.id,
            label: `${names.get(plan.productId) ?? ''} · ${plan.name} (${planEntitlement(view, plan)})`,
          }))}
        />
        <TextField name="customer" type="email" label={texts.customer} hint={texts.customerHint} />
        <TextField name="reference" label={texts.order} hint={texts.orderHint} />
        {maySend ? <Checkbox name="send" label={texts.send} hint={texts.sendHint} /> : null}
        <details class="fold" open={form.failure !== undefined}>
          <summary>{texts.more}</summary>
          <div class="in">
            <TextField name="expires_at" type="date" label={texts.expires} hint={texts.expiresHint} />
            <Checkbox name="lifetime" label={texts.lifetime} />
            <TextField
              name="activation_limit"
              inputmode="numeric"
              label={texts.slots}
              hint={texts.slotsHint}
            />
            <TextField name="key" label={texts.key} hint={texts.keyHint} />
            <TextField name="count" inputmode="numeric" label={texts.count} hint={texts.countHint} />
          </div>
        </details>
      </FormPage>
    ),
  };
}

async function issue(call: OperatorCall, sent: URLSearchParams): Promise<PageResponse> {
  const body = {
    ...nonEmptyFields(sent, 'plan_id', 'customer', 'reference', 'expires_at', 'activation_limit', 'key'),
    ...(sent.get('lifetime') === '1' ? { lifetime: true } : {}),
    ...(sent.get('send') === '1' ? { send: true } : {}),
    ...(sent.get('count')?.trim() === '1' ? {} : nonEmptyFields(sent, 'count')),
  };
  const { status, data } = await submitWithStatus(call, sent, licenseOperations.issueLicense, { body });
  const licenses = [data].flat() as [Issued, ...Issued[]];
  const [first] = licenses;
  const { t, format } = call.view;
  const texts = t.licenses.issuePage;
  const isOne = licenses.length === 1;
  // Status 200 means that the order already had this licence.
  const isNew = status === 201;
  const ofOne = isNew ? texts.doneTitle : texts.doneAgain;
  const title = isOne ? ofOne : texts.doneMany(format.number(licenses.length));
  const isKept = call.settings.keySecret !== undefined;
  const about = first.license_key === null ? texts.notShown : isKept ? texts.kept : texts.notKept;
  const mail = (await listMails(call.db, first.id)).find(({ type }) => type === 'license_key');
  const enterKey = await keyInstruction(call, first.product_id);
  return {
    page: (
      <TitledPage
        title={title}
        nav="licenses"
        crumbs={[[t.licenses.title, '/licenses']]}
        sub={isOne ? (first.customer ?? undefined) : undefined}
      >
        {isOne ? (
          <OneIssued license={first} about={about} mail={mail} enterKey={enterKey} />
        ) : (
          <ManyIssued licenses={licenses} about={about} />
        )}
        <p class="acts">
          {isOne ? <ButtonLink path={`/licenses/${first.id}`} label={texts.toLicense} /> : null}
          <ButtonLink path="/licenses/new" label={texts.another} />
        </p>
      </TitledPage>
    ),
  };
}

/** Returns the day on which a licence had already ended when it was issued; undefined if it is still valid. */
function alreadyEndedOn({ format }: View, { status, expires_at }: Issued): string | undefined {
  return status === 'expired' && expires_at !== null ? format.day(new Date(expires_at)) : undefined;
}

function OneIssued({
  license,
  about,
  mail,
  enterKey,
}: {
  license: Issued;
  about: string;
  /** the latest mail with the licence's key */
  mail: Mail | undefined;
  enterKey: string;
}) {
  const view = useView();
  const texts = view.t.licenses.issuePage;
  const { license_key: key, product, customer } = license;
  const ended = alreadyEndedOn(view, license);
  const mails = { queued: texts.mailQueued, sent: texts.mailSent, failed: texts.mailFailed };
  return (
    <div class="stack">
      <Panel id="key" title={texts.key1} inside>
        {key === null ? null : <CopyText id="license-key" label={texts.key1} text={key} />}
        <p class="small muted">{about}</p>
        {ended === undefined ? null : <p>{texts.ended(ended)}</p>}
        <p>{mail === undefined || customer === null ? texts.noMail : mails[mail.state](customer)}</p>
      </Panel>
      {key === null ? null : (
        <Panel id="letter" title={texts.forCustomer} inside>
          <CopyText
            id="letter-text"
            label={texts.forCustomer}
            text={
              ended === undefined
                ? texts.letter(product, key, enterKey)
                : texts.letterEnded(product, key, ended)
            }
            rows={12}
          />
        </Panel>
      )}
    </div>
  );
}

function ManyIssued({ licenses, about }: { licenses: [Issued, ...Issued[]]; about: string }) {
  const view = useView();
  const { t, to } = view;
  const texts = t.licenses.issuePage;
  const ended = alreadyEndedOn(view, licenses[0]);
  return (
    <Panel id="many" title={texts.key1}>
      <PanelBody>
        <p class="small muted">{about}</p>
        {ended === undefined ? null : <p>{texts.ended(ended)}</p>}
      </PanelBody>
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
  );
}
