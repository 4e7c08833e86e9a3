import { plansOf, type Plan } from '../../../licensing/catalogue';
import type { License } from '../../../licensing/licenses';
import { prolongedUntil } from '../../../licensing/lifecycle';
import { MAX_METADATA_NAMES, readMetadata } from '../../../licensing/metadata';
import { invalid, notFound, type Failure } from '../../../operations/failures';
import { act, filled, type BodyOf, type Fields } from '../act';
import type { FormState } from '../form-state';
import { Choices, Select, TextField, type Option } from '../kit/fields';
import { done, type Answer, type OperatorCall, type Route } from '../page';
import { useView } from '../view';
import { grantsOf } from './issue';
import { canSendKey, pathOf } from './license-call';
import { FormPage, formRoute, Reason } from './license-form';
import { licenseOperations } from '../../../operations/licenses';
import { mailOperations } from '../../../operations/mails';

/** What changes a licence and can be changed again. */

export const licenseActionRoutes: Route<OperatorCall>[] = [
  { ...formRoute('/renew', showRenew, renew, explainRenewal), goesOn: true },
  formRoute('/plan', showPlan, changePlan),
  formRoute('/slots', showSlots, changeSlots),
  formRoute(
    '/customer',
    (_call, license, form) => ({ page: <CustomerPage {...{ license, form }} /> }),
    async (call, sent, license) => {
      const { customer } = await amend(call, sent, license, { customer: sent.get('customer')?.trim() ?? '' });
      return done(pathOf(license), 'licenseCustomer', String(customer));
    },
  ),
  {
    ...formRoute(
      '/note',
      (_call, license, form) => ({ page: <NotePage {...{ license, form }} /> }),
      saveNote,
    ),
    goesOn: true,
  },
  {
    ...formRoute(
      '/suspend',
      (_call, license, form) => ({ page: <StatePage {...{ license, form }} change="suspend" /> }),
      (call, sent, license) => changeState(call, sent, license, 'suspend'),
    ),
    goesOn: true,
  },
  {
    ...formRoute(
      '/reinstate',
      (_call, license, form) => ({ page: <StatePage {...{ license, form }} change="reinstate" /> }),
      (call, sent, license) => changeState(call, sent, license, 'reinstate'),
    ),
    goesOn: true,
  },
  {
    ...formRoute(
      '/send-key',
      (call, license, form) => {
        if (!canSendKey(call, license)) throw notFound('mail');
        return { page: <SendPage {...{ license, form }} /> };
      },
      async (call, sent, license) => {
        if (!canSendKey(call, license)) throw notFound('mail');
        await act(call, sent, mailOperations.sendLicenseMail, { path: { id: license.id }, body: {} });
        return done(pathOf(license), 'licenseKeySent', license.customer ?? '');
      },
    ),
    goesOn: true,
  },
];

/** Changes fields of the licence. @returns the licence */
function amend(
  call: OperatorCall,
  sent: URLSearchParams,
  { id }: License,
  body: Fields<BodyOf<typeof licenseOperations.updateLicense>>,
) {
  return act(call, sent, licenseOperations.updateLicense, { path: { id }, body });
}

const STATE_CHANGES = {
  suspend: licenseOperations.suspendLicense,
  reinstate: licenseOperations.reinstateLicense,
} as const;

async function changeState(
  call: OperatorCall,
  sent: URLSearchParams,
  license: License,
  change: keyof typeof STATE_CHANGES,
): Promise<Answer> {
  await act(call, sent, STATE_CHANGES[change], { path: { id: license.id }, body: filled(sent, 'reason') });
  return done(pathOf(license), change === 'suspend' ? 'licenseSuspended' : 'licenseReinstated');
}

async function planOf({ db }: OperatorCall, { plan, product }: License): Promise<Plan | undefined> {
  return (await plansOf(db, product.id)).find(({ id }) => id === plan.id);
}

async function showRenew(call: OperatorCall, license: License, form: FormState): Promise<Answer> {
  const { duration = null } = (await planOf(call, license)) ?? {};
  return { page: <RenewPage {...{ license, duration, form }} /> };
}

async function renew(call: OperatorCall, sent: URLSearchParams, license: License): Promise<Answer> {
  const chosen = sent.get('how') ?? '';
  const ignored = [['time', 'for'] as const, ['day', 'until'] as const].find(
    ([way, field]) => way !== chosen && sent.get(field)?.trim(),
  );
  if (ignored !== undefined) throw invalid(ignored[1], call.view.t.license.renewPage.ignored[ignored[0]]);
  // An empty field is refused; left out, it would mean the plan's duration.
  const how: Record<string, Record<string, unknown>> = {
    time: { for: sent.get('for')?.trim() ?? '' },
    day: { until: sent.get('until')?.trim() ?? '' },
    life: { lifetime: true },
  };
  const { expires_at } = await act(call, sent, licenseOperations.renewLicense, {
    path: { id: license.id },
    body: { ...how[chosen], ...filled(sent, 'reason') },
  });
  if (typeof expires_at !== 'string') return done(pathOf(license), 'licenseRenewedForLife');
  return done(pathOf(license), 'licenseRenewed', call.view.format.day(new Date(expires_at)));
}

/** Says which choice a filled field belongs to. */
function explainRenewal({ view: { t } }: OperatorCall, { error }: Failure): string | undefined {
  return Object.values(t.license.renewPage.ignored).find((sentence) => sentence === error.message);
}

function RenewPage({
  license,
  duration,
  form,
}: {
  license: License;
  duration: string | null;
  form: FormState;
}) {
  const { t, format, now } = useView();
  const texts = t.license.renewPage;
  const { expiresAt } = license;
  const byPlan: (Option & { hint: string })[] =
    duration === null || expiresAt === null
      ? []
      : [
          {
            value: 'plan',
            label: texts.byPlan(format.duration(duration)),
            hint: texts.newEnd(format.day(prolongedUntil(expiresAt, duration, now))),
          },
        ];
  const options = [
    ...byPlan,
    ...(expiresAt === null ? [] : [{ value: 'time', label: texts.byTime }]),
    { value: 'day', label: texts.byDay },
    ...(expiresAt === null ? [] : [{ value: 'life', label: texts.forLife }]),
  ];
  const end =
    expiresAt === null
      ? texts.lifetimeNow
      : (expiresAt > now ? texts.now : texts.nowEnded)(format.day(expiresAt));
  const about = license.status === 'suspended' ? `${end} ${texts.suspended}` : end;
  return (
    <FormPage
      {...{ license, form, about }}
      rest="/renew"
      title={texts.title}
      submit={texts.submit}
      busy={texts.busy}
    >
      <Choices form={form} name="how" label={texts.how} options={options} value={String(options[0]?.value)} />
      {expiresAt === null ? null : (
        <TextField form={form} name="for" label={texts.time} hint={texts.timeHint} />
      )}
      <TextField form={form} name="until" type="date" label={texts.until} hint={texts.untilHint} />
      <Reason form={form} />
    </FormPage>
  );
}

async function showPlan({ db }: OperatorCall, license: License, form: FormState): Promise<Answer> {
  const plans = await plansOf(db, license.product.id);
  return { page: <PlanPage {...{ license, plans, form }} /> };
}

async function changePlan(call: OperatorCall, sent: URLSearchParams, license: License): Promise<Answer> {
  const { plan, activation_limit } = await amend(call, sent, license, { plan_id: sent.get('plan_id') ?? '' });
  return done(pathOf(license), 'licensePlan', plan, slotsInWords(call, activation_limit));
}

function slotsInWords({ view: { t, format } }: OperatorCall, slots: number): string {
  return slots === 0 ? t.common.unlimited : format.number(slots);
}

function PlanPage({ license, plans, form }: { license: License; plans: Plan[]; form: FormState }) {
  const { t } = useView();
  const texts = t.license.planPage;
  const current = plans.find(({ id }) => id === license.plan.id);
  const others = plans.filter((plan) => plan !== current);
  const isOnly = others.length === 0;
  const inWords = (plan: Plan) => `${plan.name} (${grantsOf(plan)})`;
  return (
    <FormPage
      {...{ license, form }}
      rest="/plan"
      title={texts.title}
      about={isOnly ? texts.one : texts.now(current ? inWords(current) : license.plan.name)}
      submit={isOnly ? undefined : texts.submit}
    >
      {isOnly ? null : (
        <Select
          form={form}
          name="plan_id"
          label={texts.plan}
          required
          options={[
            { value: '', label: texts.choose },
            ...others.map((plan) => ({ value: plan.id, label: inWords(plan) })),
          ]}
        />
      )}
    </FormPage>
  );
}

function showSlots({ query }: OperatorCall, license: License, form: FormState): Answer {
  const wanted = query.get('slots') ?? String(license.activationLimit);
  return { page: <SlotsPage {...{ license, form, wanted }} /> };
}

async function changeSlots(call: OperatorCall, sent: URLSearchParams, license: License): Promise<Answer> {
  const given = sent.get('activation_limit')?.trim() ?? '';
  const { activation_limit } = await amend(call, sent, license, { activation_limit: given });
  return done(pathOf(license), 'licenseSlots', slotsInWords(call, activation_limit));
}

function SlotsPage({ license, form, wanted }: { license: License; form: FormState; wanted: string }) {
  const { t, format } = useView();
  const texts = t.license.slotsPage;
  return (
    <FormPage {...{ license, form }} rest="/slots" title={texts.title} submit={texts.submit}>
      <TextField
        form={form}
        name="activation_limit"
        inputmode="numeric"
        label={texts.slots}
        hint={texts.hint(format.number(license.activationsUsed))}
        value={wanted}
        required
      />
    </FormPage>
  );
}

function CustomerPage({ license, form }: { license: License; form: FormState }) {
  const { t } = useView();
  const texts = t.license.customerPage;
  return (
    <FormPage {...{ license, form }} rest="/customer" title={texts.title} submit={texts.submit}>
      <TextField
        form={form}
        name="customer"
        type="email"
        label={texts.customer}
        hint={texts.hint}
        value={license.customer ?? ''}
        required
      />
    </FormPage>
  );
}

/** Rows for new names, besides those that there are. */
const NEW_NAMES = 3;

async function saveNote(call: OperatorCall, sent: URLSearchParams, license: License): Promise<Answer> {
  const rows = Array.from({ length: MAX_METADATA_NAMES }, (_, i) => [
    sent.get(`name-${i}`)?.trim() ?? '',
    sent.get(`text-${i}`)?.trim() || null,
  ]);
  const metadata = Object.fromEntries(rows.filter(([name]) => name !== '')) as Record<string, string | null>;
  await amend(call, sent, license, { metadata });
  return done(pathOf(license), 'licenseNote');
}

function NotePage({ license, form }: { license: License; form: FormState }) {
  const { t } = useView();
  const texts = t.license.notePage;
  const known = Object.entries(readMetadata(license.metadata));
  const rows = Math.min(MAX_METADATA_NAMES, known.length + NEW_NAMES);
  return (
    <FormPage
      {...{ license, form }}
      rest="/note"
      title={texts.title}
      about={texts.about}
      submit={texts.submit}
    >
      <table class="t mb-3">
        <caption class="px-0">{texts.hint}</caption>
        <thead>
          <tr>
            <th scope="col">{texts.name}</th>
            <th scope="col">{texts.text}</th>
          </tr>
        </thead>
        <tbody>
          {Array.from({ length: rows }, (_, i) => (
            <tr>
              <td>
                <input
                  class="form-control form-control-sm"
                  name={`name-${i}`}
                  aria-label={`${texts.name} ${i + 1}`}
                  value={form.value(`name-${i}`) ?? known[i]?.[0] ?? ''}
                  readonly={i < known.length}
                  maxlength={40}
                  autocomplete="off"
                />
              </td>
              <td>
                <input
                  class="form-control form-control-sm"
                  name={`text-${i}`}
                  aria-label={`${texts.text} ${i + 1}`}
                  value={form.value(`text-${i}`) ?? known[i]?.[1] ?? ''}
                  maxlength={500}
                  autocomplete="off"
                />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </FormPage>
  );
}

function StatePage({
  license,
  form,
  change,
}: {
  license: License;
  form: FormState;
  change: 'suspend' | 'reinstate';
}) {
  const { t } = useView();
  const texts = t.license[`${change}Page`];
  return (
    <FormPage
      {...{ license, form }}
      rest={`/${change}`}
      title={texts.title}
      about={texts.about}
      submit={texts.submit}
    >
      <Reason form={form} {...(change === 'suspend' ? { hint: t.license.reasonSuspend } : {})} />
    </FormPage>
  );
}

function SendPage({ license, form }: { license: License; form: FormState }) {
  const { t } = useView();
  const texts = t.license.sendPage;
  return (
    <FormPage
      {...{ license, form }}
      rest="/send-key"
      title={texts.title}
      about={texts.about(license.customer ?? t.licenses.noCustomer)}
      submit={texts.submit}
    />
  );
}
