import type { KeyUse } from '../../../licensing/license-keys';
import type { License } from '../../../licensing/licenses';
import { licenseKeyOperations } from '../../../operations/license-keys';
import { submitOperation, nonEmptyFields, refusalOf } from '../submit';
import { formRoute } from '../form-route';
import type { FormState } from '../form-state';
import { Checkbox, RadioGroup, TextField } from '../kit/fields';
import { FormPage } from '../kit/form-page';
import { redirectWithFlash, type PageResponse, type OperatorCall, type Route } from '../page';
import { useView } from '../view';
import { keyInstruction } from './catalogue';
import { licenseSubtitle, licenseFormProps, licenseOf, pathOf, ReasonTextField } from './license-call';
import { hintOf, keyOf, showKey, type KeyOfLicense } from './license-keys';

/** Adds, changes, replaces (rotates) and ends keys of a licence. */

export const keyChangeRoutes: Route<OperatorCall>[] = [
  formRoute('/licenses/:id/keys/add', { find: licenseOf, show: showAdd, work: add }),
  formRoute('/licenses/:id/keys/:key/change', { find: keyOf, show: showChange, work: change }),
  formRoute('/licenses/:id/keys/:key/new', { find: keyOf, show: askReplace, work: replace }),
  formRoute('/licenses/:id/keys/:key/end', { find: keyOf, show: askEnd, work: end }),
];

function showAdd({ view }: OperatorCall, form: FormState, license: License): PageResponse {
  const { add: title } = view.t.license.keys;
  return {
    page: (
      <FormPage {...licenseFormProps(view, license, '/keys/add')} title={title} form={form} submit={title}>
        <Terms />
      </FormPage>
    ),
  };
}

async function add(call: OperatorCall, sent: URLSearchParams, license: License): Promise<PageResponse> {
  const { license_key } = await submitOperation(call, sent, licenseKeyOperations.addLicenseKey, {
    path: { id: license.id },
    body: nonEmptyFields(sent, 'label', 'activation_limit', 'ends_at'),
  });
  return showNewKey(call, license, license_key, []);
}

/** Shows a new key. */
async function showNewKey(
  call: OperatorCall,
  license: License,
  licenseKey: string,
  notes: string[],
): Promise<PageResponse> {
  const { keys } = call.view.t.license;
  const enterKey = await keyInstruction(call, license.product.id);
  const { kept, notKept } = call.view.t.licenses.issuePage;
  return showKey(call, license, licenseKey, {
    title: keys.madeTitle,
    notes: [...notes, call.settings.keySecret === undefined ? notKept : kept],
    letter: keys.letter(license.product.name, licenseKey, enterKey),
  });
}

/** Returns the value of the date field for a key's end. */
const dayOf = ({ key: { endsAt } }: KeyUse) => endsAt?.toISOString().slice(0, 10) ?? '';

function showChange(
  { query, view }: OperatorCall,
  form: FormState,
  { license, use }: KeyOfLicense,
): PageResponse {
  const texts = view.t.license.keys;
  const { key, isMain } = use;
  const label = key.label ?? '';
  return {
    page: (
      <FormPage
        {...licenseFormProps(view, license, `/keys/${key.id}/change`)}
        title={texts.changeTitle(hintOf(view, use))}
        form={form}
        about={isMain ? texts.mainHint : undefined}
        submit={view.t.common.save}
      >
        {isMain ? (
          <TextField name="label" label={texts.label} hint={texts.labelHint} value={label} />
        ) : (
          <Terms label={label} slots={query.get('slots') ?? key.activationLimit ?? ''} endsAt={dayOf(use)} />
        )}
      </FormPage>
    ),
  };
}

async function change(
  call: OperatorCall,
  sent: URLSearchParams,
  { license, use }: KeyOfLicense,
): Promise<PageResponse> {
  const given = (name: string) => sent.get(name)?.trim() || null;
  const endsAt = given('ends_at');
  await submitOperation(call, sent, licenseKeyOperations.updateLicenseKey, {
    path: { id: license.id, key_id: use.key.id },
    body: {
      label: given('label'),
      ...(use.isMain ? {} : { activation_limit: given('activation_limit') }),
      // Leave an unchanged end out, because the field would move its time to the end of the day.
      ...(use.isMain || (endsAt ?? '') === dayOf(use) ? {} : { ends_at: endsAt }),
    },
  });
  return redirectWithFlash(pathOf(license), 'licenseKeyChanged', hintOf(call.view, use));
}

/** The overlap of a key rotation, in which the old key still works. */
const OVERLAP = '14d';

function askReplace(
  { view, query, settings }: OperatorCall,
  form: FormState,
  { license, use }: KeyOfLicense,
): PageResponse {
  const texts = view.t.license.keys;
  const { customer } = license;
  const mayMail = use.isMain && customer !== null && settings.mailing !== undefined;
  // A link about a shared key selects the overlap, so that the form can be sent unchanged (key-sharing.tsx).
  const isSpreading = query.get('overlap') === OVERLAP;
  return {
    page: (
      <FormPage
        {...licenseFormProps(view, license, `/keys/${use.key.id}/new`)}
        danger
        title={texts.newTitle(hintOf(view, use))}
        form={form}
        points={[texts.newSlots(use.used, view.format.number(use.used)), ...(mayMail ? [] : [texts.newMail])]}
        submit={texts.newButton}
        back={[texts.keepKey, pathOf(license)]}
      >
        <RadioGroup
          name="overlap"
          label={texts.newWhen}
          value={isSpreading ? OVERLAP : 'none'}
          options={[
            { value: 'none', label: texts.atOnce },
            { value: OVERLAP, label: texts.overlap },
          ]}
        />
        {mayMail ? <Checkbox name="mail" label={texts.mailNew(customer)} checked={isSpreading} /> : null}
        <ReasonTextField />
      </FormPage>
    ),
  };
}

async function replace(
  call: OperatorCall,
  sent: URLSearchParams,
  { license, use }: KeyOfLicense,
): Promise<PageResponse> {
  const { keys } = call.view.t.license;
  const isOverlap = sent.get('overlap') === OVERLAP;
  const { license_key } = await submitOperation(call, sent, licenseKeyOperations.rekeyLicense, {
    path: { id: license.id },
    body: {
      // Send the id even for the main key. A repeated form must name the same key, although by then another key is the
      // main one.
      key_id: use.key.id,
      ...(isOverlap ? { overlap: OVERLAP } : {}),
      ...(sent.get('mail') === '1' ? { mail: true } : {}),
      ...nonEmptyFields(sent, 'reason'),
    },
  });
  return showNewKey(call, license, license_key, [isOverlap ? keys.oldWorks : keys.oldStopped]);
}

function askEnd({ view }: OperatorCall, form: FormState, { license, use }: KeyOfLicense): PageResponse {
  const texts = view.t.license.keys;
  return {
    page: (
      <FormPage
        {...licenseFormProps(view, license, `/keys/${use.key.id}/end`)}
        danger
        title={texts.endTitle(hintOf(view, use))}
        sub={[licenseSubtitle(license, view.t), use.key.label].filter(Boolean).join(' · ')}
        form={form}
        points={[texts.endNow, texts.endSites(use.used, view.format.number(use.used)), texts.endOthers]}
        submit={texts.endButton}
        back={[texts.keepKey, pathOf(license)]}
      >
        {use.used === 0 ? null : <Checkbox name="free" label={texts.endFree} />}
      </FormPage>
    ),
  };
}

async function end(
  call: OperatorCall,
  sent: URLSearchParams,
  { license, use }: KeyOfLicense,
): Promise<PageResponse> {
  const path = { id: license.id, key_id: use.key.id };
  const query = new URLSearchParams(sent.get('free') === '1' ? { free: '1' } : {});
  try {
    await submitOperation(call, sent, licenseKeyOperations.removeLicenseKey, { path, query });
  } catch (error) {
    // After a double click, the first click has already ended the key.
    if (refusalOf(error, sent)?.status !== 404) throw error;
  }
  return redirectWithFlash(pathOf(license), 'licenseKeyEnded', hintOf(call.view, use));
}

/** The form fields of a key: its label, and its own limit and end. */
function Terms({
  label = '',
  slots = '',
  endsAt = '',
}: {
  label?: string;
  slots?: string | number;
  endsAt?: string;
}) {
  const texts = useView().t.license.keys;
  return (
    <>
      <TextField name="label" label={texts.label} hint={texts.labelHint} value={label} />
      <TextField
        name="activation_limit"
        inputmode="numeric"
        label={texts.limit}
        hint={texts.limitHint}
        value={slots}
      />
      <TextField name="ends_at" type="date" label={texts.endsAt} hint={texts.endsHint} value={endsAt} />
    </>
  );
}
