import { isRecentSignIn } from '../../../access/sessions';
import { readUpdateXmlState } from '../../../joomla/regenerate-update-xml';
import { readProduct } from '../../../licensing/catalogue';
import type { ErrorResponse } from '../../../operations/kit/failures';
import { readId } from '../../../operations/kit/request-params';
import { submitOperation, type DataOf } from '../submit';
import { formRoute } from '../form-route';
import type { FormState } from '../form-state';
import { Checkbox, RadioGroup, FileField, TextArea, TextField, UploadProgress } from '../kit/fields';
import { FormPage } from '../kit/form-page';
import { redirectWithFlash, type PageResponse, type OperatorCall, type Redirect, type Route } from '../page';
import { useView } from '../view';
import { AdviceFields, otherVersions } from './release-advice';
import { explainRollout, RolloutField, rolloutShares } from './release-rollout';
import { explainSbom, SBOM_ACCEPT } from './release-sbom';
import { ManifestPanel, readOffer } from './update-xml';
import { chosenProduct, versionInUpdateXml } from './catalogue';
import { releaseOperations } from '../../../operations/releases';

/** The form for a new release, which uploads its package. */

export const releaseNewRoutes: Route<OperatorCall>[] = [
  {
    path: '/releases/new',
    scope: 'write',
    async get(call) {
      const { product } = await chosenProduct(call);
      return { to: product === undefined ? '/products/new' : `/products/${product.id}/releases/new` };
    },
  },
  formRoute('/products/:id/releases/new', {
    needsNoRecentSignIn: true,
    upload: true,
    show: showForm,
    work: publish,
    explain: explainPackage,
  }),
];

async function publish(call: OperatorCall, sent: URLSearchParams): Promise<PageResponse> {
  const id = readId(call);
  const { data, isKept } = await uploadPackage(call, sent, id);
  return isKept ? redirectToDraft(data) : redirectToReleases(call, id, data);
}

type Uploaded = DataOf<typeof releaseOperations.uploadRelease>;

/**
 * Stores a package. If the last sign-in is more than an hour ago, it stores a draft, which can be published after a new
 * sign-in (step-up authentication). A form with a file cannot wait for the sign-in, because a browser does not send the
 * file again.
 */
export async function uploadPackage(
  call: OperatorCall,
  sent: URLSearchParams,
  id: number,
): Promise<{ data: Uploaded; isKept: boolean }> {
  let isKept = false;
  const amend = (fields: Record<string, string>) => {
    isKept = fields.draft !== '1' && !isRecentSignIn(call.session, call.at);
    // A draft is not offered, so its rollout is chosen when it is published.
    const { same_fix_as, ...others } = fields;
    const given = same_fix_as === '' ? others : fields;
    return isKept || fields.draft === '1' ? { ...given, draft: '1', rollout: '100' } : given;
  };
  const data = await submitOperation(call, sent, releaseOperations.uploadRelease, { path: { id }, amend });
  return { data, isKept };
}

/** Redirects to the page that publishes such a draft. */
export function redirectToDraft(data: Uploaded): PageResponse {
  return withRemarks(redirectWithFlash(`/releases/${data.id}/publish`, 'draftInstead', data.version), data);
}

/** Adds the remarks about a package to the flash message of the next page. */
export function withRemarks(answer: Redirect, { remarks }: Pick<Uploaded, 'remarks'>): PageResponse {
  if (answer.flash) answer.flash.remarks = remarks.map(({ code, facts }) => [code, ...facts]);
  return answer;
}

/** Redirects with a flash message that states the version that Joomla offers now. */
export async function redirectToReleases(
  call: OperatorCall,
  productId: number,
  data: Uploaded,
): Promise<PageResponse> {
  const { version, state, rollout, update_xml } = data;
  const to = `/releases?product_id=${productId}`;
  if (state === 'draft') return withRemarks(redirectWithFlash(to, 'draftKept', version), data);
  const offered = await versionInUpdateXml(call, productId);
  const { rollouts } = await readUpdateXmlState(call.db, call.settings.updateXml, productId);
  // A newer version may already be published, so that this one is in no rollout.
  const share = rollouts.some((one) => one.version === version) ? rollout : 100;
  return withRemarks(
    redirectWithFlash(to, 'releasePublished', version, update_xml.state, offered, String(share)),
    data,
  );
}

/** Returns the reason for which a package was refused, with both values that differ. */
export function explainPackage(
  call: OperatorCall,
  failure: ErrorResponse,
  sent: URLSearchParams,
): string | undefined {
  const { t, format } = call.view;
  const { status, error, facts } = failure;
  const texts = t.releases.refused;
  if (facts?.reason === 'bad-sbom') return explainSbom(call, failure);
  if (status === 413) return texts.tooLarge(format.limit(call.settings.uploadLimit));
  switch (facts?.reason) {
    case 'manifest-version': {
      const typed = sent.get('version') ?? '';
      return facts.version === undefined ? texts.noVersion(typed) : texts.otherVersion(facts.version, typed);
    }
    case 'other-element':
      return texts.otherElement(facts.inPackage, facts.element);
    case 'other-update-server':
      return texts.otherServer;
    case 'foreign-server':
      return texts.foreignServer(facts.named, facts.url);
    case 'no-manifest':
      return texts.noManifest;
    case 'malformed-manifest':
      return texts.malformed(facts.path, facts.fault);
    case 'package-lacks':
      return texts.lacks(facts.lacks, facts.joomla);
    case 'without-lines':
      return texts.withoutLines;
    case 'no-zip':
      return texts.noZip[facts.fault];
    case 'is-published':
      return texts.published(facts.version);
    case 'is-withdrawn':
      return texts.withdrawn(facts.version);
    case 'equal-version':
      return texts.equal(facts.version);
    default:
      return error.field === 'file' && facts === undefined ? texts.noFile : explainRollout(call, failure);
  }
}

async function showForm(call: OperatorCall, form: FormState): Promise<PageResponse> {
  const { product } = await readProduct(call.db, readId(call));
  const offer = lacksManifestLines(form) ? await readOffer(call, product) : undefined;
  const { t, format } = call.view;
  const texts = t.releases.form;
  return {
    page: (
      <FormPage
        title={texts.title(product.name)}
        nav="releases"
        crumbs={[[t.releases.title, `/releases?product_id=${product.id}`]]}
        above={offer === undefined ? null : <ManifestPanel offer={offer} />}
        path={`/products/${product.id}/releases/new`}
        form={form}
        upload
        submit={
          // The text names the choice above it (style/45-fields.css).
          <>
            <span class="if-now">{texts.submit}</span>
            <span class="if-draft">{texts.submitDraft}</span>
          </>
        }
        busy={t.common.busy}
      >
        <FileField
          name="file"
          accept=".zip,application/zip"
          label={texts.file}
          hint={texts.fileHint(format.limit(call.settings.uploadLimit))}
          required
        />
        <TextField name="version" label={texts.version} hint={texts.versionHint} />
        <TextArea name="changelog" label={texts.changelog} hint={texts.changelogHint} />
        <RadioGroup
          name="draft"
          label={texts.then}
          value="0"
          options={[
            { value: '0', label: texts.now },
            { value: '1', label: texts.draft },
          ]}
        />
        <RolloutField shares={await rolloutShares(call, product.id)} />
        <Checkbox name="security" label={t.releases.security.field} hint={t.releases.security.fieldHint} />
        <AdviceFields others={await otherVersions(call, { productId: product.id })} />
        <FileField
          name="sbom"
          accept={SBOM_ACCEPT}
          label={t.releases.sbom.field}
          hint={`${t.releases.sbom.fieldHint} ${t.releases.sbom.fieldNew}`}
        />
        <AllowanceBoxes form={form} />
        <UploadProgress />
      </FormPage>
    ),
  };
}

/** Reports whether a form was refused because the package's manifest lacks lines. The page then shows these lines. */
export function lacksManifestLines({ failure }: FormState): boolean {
  return ['without-lines', 'foreign-server'].includes(failure?.reason ?? '');
}

/**
 * Boxes that allow a refused package. Each is shown only after its refusal.
 * @param value the submitted value of a box
 */
export function AllowanceBoxes({ form, value = '1' }: { form: FormState; value?: string }) {
  const { newServer, newServerHint, foreignServerHint, unchecked, uncheckedHint } = useView().t.releases.form;
  const wasRefusedFor = (name: string, ...reasons: string[]) =>
    reasons.includes(form.failure?.reason ?? '') || form.value(name) !== undefined;
  return (
    <>
      {wasRefusedFor('new_update_server', 'other-update-server', 'foreign-server') ? (
        <Checkbox
          name="new_update_server"
          value={value}
          label={newServer}
          hint={form.failure?.reason === 'foreign-server' ? foreignServerHint : newServerHint}
        />
      ) : null}
      {wasRefusedFor('unchecked', 'package-lacks', 'without-lines') ? (
        <Checkbox name="unchecked" value={value} label={unchecked} hint={uncheckedHint} />
      ) : null}
    </>
  );
}

/** Returns the ticked allowances of a package's form, as a JSON body. */
export function readAllowances(sent: URLSearchParams): Record<string, boolean> {
  return Object.fromEntries(
    ['new_update_server', 'unchecked'].flatMap((name) => (sent.get(name) === 'true' ? [[name, true]] : [])),
  );
}
