import type { KeyUse } from '../../../licensing/license-keys';
import type { License } from '../../../licensing/licenses';
import { act, attempt, filled, refusalOf } from '../act';
import { formState, type FormState } from '../form-state';
import { Checkbox, Choices, TextField } from '../kit/fields';
import { FormPage as FinalPage } from '../kit/form-page';
import { done, type Answer, type OperatorCall, type Route } from '../page';
import { useView } from '../view';
import { enterKeyOf } from './catalogue';
import { aboutOf, crumbsOf, pathOf } from './license-call';
import { FormPage, formRoute, Reason } from './license-form';
import { keyOf, KeyPage, useHint } from './license-keys';
import { licenseKeyOperations } from '../../../operations/license-keys';

/** Adding, changing, replacing and ending a licence's keys. */

export const keyChangeRoutes: Route<OperatorCall>[] = [
  formRoute('/keys/add', (_call, license, form) => ({ page: <AddPage {...{ license, form }} /> }), add),
  keyRoute('change', showChange, change),
  keyRoute('new', (_call, one, form) => ({ page: <NewPage {...one} form={form} /> }), replace),
  keyRoute('end', (_call, one, form) => ({ page: <EndPage {...one} form={form} /> }), end),
];

interface One {
  license: License;
  use: KeyUse;
}

function keyRoute(
  action: string,
  show: (call: OperatorCall, one: One, form: FormState) => Answer,
  work: (call: OperatorCall, sent: URLSearchParams, one: One) => Promise<Answer>,
): Route<OperatorCall> {
  return {
    path: `/licenses/:id/keys/:key/${action}`,
    scope: 'write',
    get: async (call) => show(call, await keyOf(call), formState()),
    async post(call, sent) {
      const one = await keyOf(call);
      return attempt(
        call,
        sent,
        () => work(call, sent, one),
        (form) => show(call, one, form),
      );
    },
  };
}

const hintOf = ({ view: { t } }: OperatorCall, { key }: KeyUse) => key.keyHint ?? t.license.keys.noHint;

async function add(call: OperatorCall, sent: URLSearchParams, license: License): Promise<Answer> {
  const { license_key } = await act(call, sent, licenseKeyOperations.addLicenseKey, {
    path: { id: license.id },
    body: filled(sent, 'label', 'activation_limit', 'ends_at'),
  });
  return keyMade(call, license, license_key, []);
}

/** The page with a key that is shown for the first time. */
async function keyMade(
  call: OperatorCall,
  license: License,
  licenseKey: string,
  notes: string[],
): Promise<Answer> {
  const { keys } = call.view.t.license;
  const enterKey = await enterKeyOf(call, license.product.id);
  const { kept, notKept } = call.view.t.licenses.issuePage;
  return {
    page: (
      <KeyPage
        {...{ license, licenseKey }}
        title={keys.madeTitle}
        notes={[...notes, call.settings.keySecret === undefined ? notKept : kept]}
        letter={keys.letter(license.product.name, licenseKey, enterKey)}
      />
    ),
  };
}

/** The day that a key's date field shows. */
const dayOf = ({ key: { endsAt } }: KeyUse) => endsAt?.toISOString().slice(0, 10) ?? '';

function showChange({ query }: OperatorCall, one: One, form: FormState): Answer {
  const { activationLimit } = one.use.key;
  const slots = query.get('slots') ?? (activationLimit === null ? '' : String(activationLimit));
  return { page: <ChangePage {...one} form={form} slots={slots} /> };
}

async function change(call: OperatorCall, sent: URLSearchParams, { license, use }: One): Promise<Answer> {
  const given = (name: string) => sent.get(name)?.trim() || null;
  const endsAt = given('ends_at');
  await act(call, sent, licenseKeyOperations.updateLicenseKey, {
    path: { id: license.id, key_id: use.key.id },
    body: {
      label: given('label'),
      ...(use.isMain ? {} : { activation_limit: given('activation_limit') }),
      // A time within the day would become the day's end.
      ...(use.isMain || (endsAt ?? '') === dayOf(use) ? {} : { ends_at: endsAt }),
    },
  });
  return done(pathOf(license), 'licenseKeyChanged', hintOf(call, use));
}

/** How long the old key still works, where it does not stop at once. */
const OVERLAP = '14d';

async function replace(call: OperatorCall, sent: URLSearchParams, { license, use }: One): Promise<Answer> {
  const { keys } = call.view.t.license;
  const isOverlap = sent.get('overlap') === OVERLAP;
  const { license_key } = await act(call, sent, licenseKeyOperations.rekeyLicense, {
    path: { id: license.id },
    body: {
      // Also of the main key: sent again, the same form must say the same, and by then another is the main key.
      key_id: use.key.id,
      ...(isOverlap ? { overlap: OVERLAP } : {}),
      ...filled(sent, 'reason'),
    },
  });
  return keyMade(call, license, license_key, [isOverlap ? keys.oldWorks : keys.oldStopped]);
}

async function end(call: OperatorCall, sent: URLSearchParams, { license, use }: One): Promise<Answer> {
  const path = { id: license.id, key_id: use.key.id };
  const query = new URLSearchParams(sent.get('free') === '1' ? { free: '1' } : {});
  try {
    await act(call, sent, licenseKeyOperations.removeLicenseKey, { path, query });
  } catch (error) {
    // The second of two clicks finds it ended.
    if (refusalOf(error, sent)?.status !== 404) throw error;
  }
  return done(pathOf(license), 'licenseKeyEnded', hintOf(call, use));
}

function Terms({
  form,
  label = '',
  slots = '',
  endsAt = '',
}: {
  form: FormState;
  label?: string;
  slots?: string;
  endsAt?: string;
}) {
  const texts = useView().t.license.keys;
  return (
    <>
      <TextField form={form} name="label" label={texts.label} hint={texts.labelHint} value={label} />
      <TextField
        form={form}
        name="activation_limit"
        inputmode="numeric"
        label={texts.limit}
        hint={texts.limitHint}
        value={slots}
      />
      <TextField
        form={form}
        name="ends_at"
        type="date"
        label={texts.endsAt}
        hint={texts.endsHint}
        value={endsAt}
      />
    </>
  );
}

function AddPage({ license, form }: { license: License; form: FormState }) {
  const { t } = useView();
  const { add: title } = t.license.keys;
  return (
    <FormPage {...{ license, form, title }} rest="/keys/add" submit={title}>
      <Terms form={form} />
    </FormPage>
  );
}

function ChangePage({ license, use, form, slots }: One & { form: FormState; slots: string }) {
  const { t } = useView();
  const texts = t.license.keys;
  const label = use.key.label ?? '';
  return (
    <FormPage
      {...{ license, form }}
      rest={`/keys/${use.key.id}/change`}
      title={texts.changeTitle(useHint(use))}
      {...(use.isMain ? { about: texts.mainHint } : {})}
      submit={t.common.save}
    >
      {use.isMain ? (
        <TextField form={form} name="label" label={texts.label} hint={texts.labelHint} value={label} />
      ) : (
        <Terms form={form} label={label} slots={slots} endsAt={dayOf(use)} />
      )}
    </FormPage>
  );
}

function NewPage({ license, use, form }: One & { form: FormState }) {
  const { t, format } = useView();
  const texts = t.license.keys;
  return (
    <FinalPage
      danger
      title={texts.newTitle(useHint(use))}
      sub={aboutOf(license, t)}
      nav="licenses"
      crumbs={crumbsOf(license, t)}
      path={pathOf(license, `/keys/${use.key.id}/new`)}
      form={form}
      points={[texts.newSlots(use.used, format.number(use.used)), texts.newMail]}
      submit={texts.newButton}
      back={[texts.keepKey, pathOf(license)]}
    >
      <Choices
        form={form}
        name="overlap"
        label={texts.newWhen}
        value="none"
        options={[
          { value: 'none', label: texts.atOnce },
          { value: OVERLAP, label: texts.overlap },
        ]}
      />
      <Reason form={form} />
    </FinalPage>
  );
}

function EndPage({ license, use, form }: One & { form: FormState }) {
  const { t, format } = useView();
  const texts = t.license.keys;
  return (
    <FinalPage
      danger
      title={texts.endTitle(useHint(use))}
      sub={[aboutOf(license, t), use.key.label].filter(Boolean).join(' · ')}
      nav="licenses"
      crumbs={crumbsOf(license, t)}
      path={pathOf(license, `/keys/${use.key.id}/end`)}
      form={form}
      points={[texts.endNow, texts.endSites(use.used, format.number(use.used)), texts.endOthers]}
      submit={texts.endButton}
      back={[texts.keepKey, pathOf(license)]}
    >
      {use.used === 0 ? null : <Checkbox form={form} name="free" label={texts.endFree} />}
    </FinalPage>
  );
}
