import { listCatalogue, plansOf, type Plan } from '../../../licensing/catalogue';
import type { License } from '../../../licensing/licenses';
import { paidUntil } from '../../../licensing/core/states';
import { extendedUntil } from '../../../licensing/lifecycle';
import { MAX_METADATA_NAMES, readMetadata } from '../../../licensing/metadata';
import { invalid, notFound, type ErrorResponse } from '../../../operations/kit/failures';
import { licenseOperations } from '../../../operations/licenses';
import { mailOperations } from '../../../operations/mails';
import { submitOperation, nonEmptyFields, type BodyOf, type FormInput } from '../submit';
import { formRoute } from '../form-route';
import type { FormState } from '../form-state';
import { Checkbox, RadioGroup, Select, TextField, type Option } from '../kit/fields';
import { FormPage } from '../kit/form-page';
import { redirectWithFlash, type PageResponse, type OperatorCall, type Route } from '../page';
import { planEntitlement, slotLimit } from './catalogue';
import { canSendKey, licenseFormProps, licenseOf, pathOf, ReasonTextField } from './license-call';

/** Actions that change a licence and can be reversed. */

const find = licenseOf;

export const licenseActionRoutes: Route<OperatorCall>[] = [
  formRoute('/licenses/:id/renew', {
    find,
    show: showRenew,
    work: renew,
    explain: explainRenewal,
    needsNoRecentSignIn: true,
  }),
  formRoute('/licenses/:id/plan', { find, show: showPlan, work: changePlan }),
  formRoute('/licenses/:id/slots', { find, show: showSlots, work: changeSlots }),
  formRoute('/licenses/:id/customer', { find, show: showCustomer, work: changeCustomer }),
  formRoute('/licenses/:id/note', { find, show: showNote, work: saveNote, needsNoRecentSignIn: true }),
  stateRoute('suspend', licenseOperations.suspendLicense, 'licenseSuspended'),
  stateRoute('reinstate', licenseOperations.reinstateLicense, 'licenseReinstated'),
  formRoute('/licenses/:id/send-key', {
    find: mailableOf,
    show: showSend,
    work: sendKey,
    needsNoRecentSignIn: true,
  }),
];

/** Changes fields of the licence, and returns it. */
function amend(
  call: OperatorCall,
  sent: URLSearchParams,
  { id }: License,
  body: FormInput<BodyOf<typeof licenseOperations.updateLicense>>,
) {
  return submitOperation(call, sent, licenseOperations.updateLicense, { path: { id }, body });
}

function stateRoute(
  change: 'suspend' | 'reinstate',
  operation: typeof licenseOperations.suspendLicense,
  said: 'licenseSuspended' | 'licenseReinstated',
): Route<OperatorCall> {
  return formRoute(`/licenses/:id/${change}`, {
    find,
    needsNoRecentSignIn: true,
    show({ view }, form, license) {
      const texts = view.t.license[`${change}Page`];
      const hint = change === 'suspend' ? view.t.license.reasonSuspend : undefined;
      return {
        page: (
          <FormPage
            {...licenseFormProps(view, license, `/${change}`)}
            title={texts.title}
            form={form}
            about={texts.about}
            submit={texts.submit}
          >
            <ReasonTextField hint={hint} />
          </FormPage>
        ),
      };
    },
    async work(call, sent, license) {
      await submitOperation(call, sent, operation, {
        path: { id: license.id },
        body: nonEmptyFields(sent, 'reason'),
      });
      return redirectWithFlash(pathOf(license), said);
    },
  });
}

async function showRenew(
  { db, view }: OperatorCall,
  form: FormState,
  license: License,
): Promise<PageResponse> {
  const { t, format, now } = view;
  const texts = t.license.renewPage;
  const { expiresAt } = license;
  const paid = paidUntil(license);
  const plan = (await plansOf(db, license.product.id)).find(({ id }) => id === license.plan.id);
  const duration = plan?.duration ?? null;
  const byPlan: (Option & { hint: string })[] =
    duration === null || expiresAt === null
      ? []
      : [
          {
            value: 'plan',
            label: texts.byPlan(format.duration(duration)),
            hint: texts.newEnd(format.day(extendedUntil(license, duration, now))),
          },
        ];
  const options = [
    ...byPlan,
    ...(expiresAt === null ? [] : [{ value: 'time', label: texts.byTime }]),
    { value: 'day', label: texts.byDay },
    ...(expiresAt === null ? [] : [{ value: 'life', label: texts.forLife }]),
  ];
  const end =
    expiresAt === null || paid === null
      ? texts.lifetimeNow
      : (paid > now ? texts.now : expiresAt > now ? texts.nowAwaited : texts.nowEnded)(format.day(paid));
  return {
    page: (
      <FormPage
        {...licenseFormProps(view, license, '/renew')}
        title={texts.title}
        form={form}
        about={license.status === 'suspended' ? `${end} ${texts.suspended}` : end}
        submit={texts.submit}
        busy={texts.busy}
      >
        <RadioGroup name="how" label={texts.how} options={options} value={String(options[0]?.value)} />
        {expiresAt === null ? null : <TextField name="for" label={texts.time} hint={texts.timeHint} />}
        <TextField name="until" type="date" label={texts.until} hint={texts.untilHint} />
        <ReasonTextField />
      </FormPage>
    ),
  };
}

async function renew(call: OperatorCall, sent: URLSearchParams, license: License): Promise<PageResponse> {
  const chosen = sent.get('how') ?? '';
  const ignored = [['time', 'for'] as const, ['day', 'until'] as const].find(
    ([way, field]) => way !== chosen && sent.get(field)?.trim(),
  );
  if (ignored !== undefined) throw invalid(ignored[1], call.view.t.license.renewPage.ignored[ignored[0]]);
  // Send an empty field too, which is refused. A missing field would mean the plan's duration.
  const how: Record<string, Record<string, unknown>> = {
    time: { for: sent.get('for')?.trim() ?? '' },
    day: { until: sent.get('until')?.trim() ?? '' },
    life: { lifetime: true },
  };
  const { paid_until } = await submitOperation(call, sent, licenseOperations.renewLicense, {
    path: { id: license.id },
    body: { ...how[chosen], ...nonEmptyFields(sent, 'reason') },
  });
  if (typeof paid_until !== 'string') return redirectWithFlash(pathOf(license), 'licenseRenewedForLife');
  return redirectWithFlash(pathOf(license), 'licenseRenewed', call.view.format.day(new Date(paid_until)));
}

/** Returns a sentence that names the choice to which a filled field belongs. */
function explainRenewal({ view: { t } }: OperatorCall, { error }: ErrorResponse): string | undefined {
  return Object.values(t.license.renewPage.ignored).find((sentence) => sentence === error.message);
}

async function showPlan(
  { db, view }: OperatorCall,
  form: FormState,
  license: License,
): Promise<PageResponse> {
  const texts = view.t.license.planPage;
  const plans = await plansOf(db, undefined);
  const current = plans.find(({ id }) => id === license.plan.id);
  const others = plans.filter((plan) => plan !== current);
  const isOnly = others.length === 0;
  const products = new Map((await listCatalogue(db)).map(({ id, name }) => [id, name]));
  const isOwn = ({ productId }: Plan) => productId === license.product.id;
  const isAsked = form.failure?.reason === 'other-product';
  const inWords = (plan: Plan) => `${plan.name} (${planEntitlement(view, plan)})`;
  return {
    page: (
      <FormPage
        {...licenseFormProps(view, license, '/plan')}
        title={texts.title}
        form={form}
        about={isOnly ? texts.one : texts.now(current ? inWords(current) : license.plan.name)}
        submit={isOnly ? undefined : texts.submit}
      >
        {isOnly ? null : (
          <Select
            name="plan_id"
            label={texts.plan}
            required
            options={[
              { value: '', label: texts.choose },
              ...others.filter(isOwn).map((plan) => ({ value: plan.id, label: inWords(plan) })),
              ...others
                .filter((plan) => !isOwn(plan))
                .map((plan) => ({
                  value: plan.id,
                  label: `${products.get(plan.productId) ?? plan.productId} · ${inWords(plan)}`,
                })),
            ]}
          />
        )}
        {isAsked ? <Checkbox name="other_product" label={texts.otherProduct} /> : null}
      </FormPage>
    ),
  };
}

async function changePlan(
  call: OperatorCall,
  sent: URLSearchParams,
  license: License,
): Promise<PageResponse> {
  const { plan, activation_limit } = await amend(call, sent, license, {
    plan_id: sent.get('plan_id') ?? '',
    other_product: sent.get('other_product') === '1',
  });
  return redirectWithFlash(pathOf(license), 'licensePlan', plan, slotLimit(call.view, activation_limit));
}

function showSlots({ query, view }: OperatorCall, form: FormState, license: License): PageResponse {
  const texts = view.t.license.slotsPage;
  return {
    page: (
      <FormPage
        {...licenseFormProps(view, license, '/slots')}
        title={texts.title}
        form={form}
        submit={texts.submit}
      >
        <TextField
          name="activation_limit"
          inputmode="numeric"
          label={texts.slots}
          hint={texts.hint(view.format.number(license.activationsUsed))}
          value={query.get('slots') ?? license.activationLimit}
          required
        />
      </FormPage>
    ),
  };
}

async function changeSlots(
  call: OperatorCall,
  sent: URLSearchParams,
  license: License,
): Promise<PageResponse> {
  const given = sent.get('activation_limit')?.trim() ?? '';
  const { activation_limit } = await amend(call, sent, license, { activation_limit: given });
  return redirectWithFlash(pathOf(license), 'licenseSlots', slotLimit(call.view, activation_limit));
}

function showCustomer({ view }: OperatorCall, form: FormState, license: License): PageResponse {
  const texts = view.t.license.customerPage;
  return {
    page: (
      <FormPage
        {...licenseFormProps(view, license, '/customer')}
        title={texts.title}
        form={form}
        submit={texts.submit}
      >
        <TextField
          name="customer"
          type="email"
          label={texts.customer}
          hint={texts.hint}
          value={license.customer ?? ''}
          required
        />
      </FormPage>
    ),
  };
}

async function changeCustomer(
  call: OperatorCall,
  sent: URLSearchParams,
  license: License,
): Promise<PageResponse> {
  const { customer, key_mailed: isSent } = await amend(call, sent, license, {
    customer: sent.get('customer')?.trim() ?? '',
  });
  return redirectWithFlash(
    pathOf(license),
    isSent ? 'orderCustomerSent' : 'licenseCustomer',
    String(customer),
  );
}

/** Empty rows for new names, in addition to the existing names. */
const NEW_NAMES = 3;

function showNote({ view }: OperatorCall, form: FormState, license: License): PageResponse {
  const texts = view.t.license.notePage;
  const known = Object.entries(readMetadata(license.metadata));
  const rows = Math.min(MAX_METADATA_NAMES, known.length + NEW_NAMES);
  return {
    page: (
      <FormPage
        {...licenseFormProps(view, license, '/note')}
        title={texts.title}
        form={form}
        about={texts.about}
        submit={texts.submit}
      >
        <table class="t">
          <caption>{texts.hint}</caption>
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
                    class="input"
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
                    class="input"
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
    ),
  };
}

async function saveNote(call: OperatorCall, sent: URLSearchParams, license: License): Promise<PageResponse> {
  const rows = Array.from({ length: MAX_METADATA_NAMES }, (_, i) => [
    sent.get(`name-${i}`)?.trim() ?? '',
    sent.get(`text-${i}`)?.trim() || null,
  ]);
  const metadata = Object.fromEntries(rows.filter(([name]) => name !== '')) as Record<string, string | null>;
  await amend(call, sent, license, { metadata });
  return redirectWithFlash(pathOf(license), 'licenseNote');
}

/** Returns the licence. @throws OperationError (404) also if the licence's key cannot be mailed */
async function mailableOf(call: OperatorCall): Promise<License> {
  const license = await licenseOf(call);
  if (!canSendKey(call, license)) throw notFound('mail');
  return license;
}

function showSend({ view }: OperatorCall, form: FormState, license: License): PageResponse {
  const texts = view.t.license.sendPage;
  return {
    page: (
      <FormPage
        {...licenseFormProps(view, license, '/send-key')}
        title={texts.title}
        form={form}
        about={texts.about(license.customer ?? view.t.licenses.noCustomer)}
        submit={texts.submit}
      />
    ),
  };
}

async function sendKey(call: OperatorCall, sent: URLSearchParams, license: License): Promise<PageResponse> {
  await submitOperation(call, sent, mailOperations.sendLicenseMail, { path: { id: license.id }, body: {} });
  return redirectWithFlash(pathOf(license), 'licenseKeySent', license.customer ?? '');
}
