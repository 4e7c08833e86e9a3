import type { Child } from 'hono/jsx';
import type { CatalogueProduct } from '../../../licensing/catalogue';
import type { Release } from '../../../packages/releases';
import type { ReadUpdateXml } from '../../../joomla/regenerate-update-xml';
import type { FormState } from '../form-state';
import {
  ButtonLink,
  FileField,
  Form,
  FormErrors,
  Submit,
  TextArea,
  TextField,
  UploadProgress,
} from '../kit/fields';
import { Icon } from '../kit/icons';
import { PlanFields } from './plans';
import { AllowanceBoxes, lacksManifestLines } from './release-new';
import { useView } from '../view';
import { ManifestLines } from './start-joomla';

/** The forms of the first steps (onboarding), with default values. */

/** A step. @param open the step whose form is open @param done the saved value @param path the page that changes it */
export function OnboardingStep({
  n,
  open,
  title,
  hint,
  done,
  path,
  children,
}: {
  n: number;
  open: number;
  title: string;
  hint?: string;
  done: string | undefined;
  path: string | undefined;
  children: Child;
}) {
  const { t, to, mayWrite } = useView();
  const texts = t.start;
  const isNow = done === undefined && n === open;
  return (
    <li
      {...(done === undefined ? {} : { class: 'done' })}
      {...(isNow ? { class: 'now', 'aria-current': 'step' } : {})}
    >
      <span class="n">{done === undefined ? String(n) : <Icon name="yes" />}</span>
      <div>
        <h2>
          {title} {done === undefined ? null : <span class="visually-hidden">{texts.done}</span>}
        </h2>
        {done === undefined ? (
          hint === undefined ? null : (
            <p class="small muted">{hint}</p>
          )
        ) : (
          <p class="small muted">
            {done} {mayWrite && path !== undefined ? <a href={to(path)}>{texts.change}</a> : null}
          </p>
        )}
        {isNow ? mayWrite ? children : <p class="small">{texts.readOnly}</p> : null}
      </div>
    </li>
  );
}

interface PackageFieldProps {
  /** the size limit in bytes */
  limit: number;
  texts: { file: string; fileHint: (limit: string) => string };
}

function PackageField({ limit, texts }: PackageFieldProps) {
  const { format } = useView();
  return (
    <FileField
      name="file"
      accept=".zip,application/zip"
      label={texts.file}
      hint={texts.fileHint(format.limit(limit))}
      required
    />
  );
}

/** The form that adds a product by its package. The package's manifest answers all questions of the form below. */
export function PackageForm({ form, limit }: { form: FormState; limit: number }) {
  const { t } = useView();
  const texts = t.start.product;
  return (
    <div>
      <Form path="/start/package" form={form} upload>
        <FormErrors form={form} />
        <PackageField limit={limit} texts={texts} />
        <Submit busy={t.start.saving} label={texts.begin} />
        <UploadProgress />
      </Form>
    </div>
  );
}

export function ProductForm({ form }: { form: FormState }) {
  const { t } = useView();
  const texts = t.start.product;
  return (
    <Form path="/start/product" form={form}>
      <p class="small muted">{texts.without}</p>
      <FormErrors form={form} />
      <TextField name="name" label={texts.name} hint={texts.nameHint} required />
      <TextField name="element" label={texts.element} hint={texts.elementHint} placeholder="pkg_example" />
      <Submit kind="quiet" busy={t.start.saving} label={texts.submit} />
    </Form>
  );
}

export function PlanForm({ form }: { form: FormState }) {
  const { t } = useView();
  return (
    <Form path="/start/plan" form={form}>
      <FormErrors form={form} />
      <PlanFields name={t.products.plans.usual} />
      <Submit busy={t.start.saving} label={t.start.plan.submit} />
    </Form>
  );
}

export function ReleaseForm({
  draft,
  form,
  product,
  xml,
  limit,
}: {
  /** the draft of a package that was uploaded before */
  draft: Release | undefined;
  form: FormState;
  product: CatalogueProduct | undefined;
  xml: ReadUpdateXml | undefined;
  /** the size limit of an upload in bytes */
  limit: number;
}) {
  const { t } = useView();
  const texts = t.start.release;
  return (
    <>
      {product && xml?.url ? (
        <details class="fold" open={lacksManifestLines(form)}>
          <summary>{texts.before}</summary>
          <div class="in">
            <ManifestLines product={product} url={xml.url} />
          </div>
        </details>
      ) : null}
      {draft === undefined ? null : (
        <>
          <p class="acts">
            <ButtonLink
              kind="primary"
              path={`/releases/${draft.id}/publish`}
              label={texts.publish(draft.version)}
            />
          </p>
          <p class="small muted">{texts.another}</p>
        </>
      )}
      <Form path="/start/release" form={form} upload>
        <FormErrors form={form} />
        <PackageField limit={limit} texts={texts} />
        {product?.element === null || form.error('version') !== undefined ? (
          <TextField name="version" label={texts.version} hint={texts.versionHint} required />
        ) : null}
        <TextArea name="changelog" label={texts.changelog} hint={texts.changelogHint} />
        <AllowanceBoxes form={form} />
        <Submit busy={texts.busy} label={texts.submit} />
        <UploadProgress />
      </Form>
    </>
  );
}
