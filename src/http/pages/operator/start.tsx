import { firstSteps, readGoods, type FirstSteps, type Gap } from '../../../overview/first-steps';
import { readUpdateXmlState } from '../../../joomla/regenerate-update-xml';
import { readNewProduct } from '../../../joomla/publish';
import { invalid } from '../../../operations/kit/failures';
import type { UploadTerms } from '../../../operations/kit/operation';
import { requirePermission } from '../../../operations/kit/perform';
import { refuseThePackage, releaseOperations } from '../../../operations/releases';
import type { UploadRules } from '../../../operations/kit/upload';
import { pathOfStaged, removeStaged, type StagedPackage } from '../../../packages/package-files';
import { releasesOf } from '../../../packages/releases';
import { requestOf } from '../../api/endpoint';
import { submitOperation, nonEmptyFields, type DataOf } from '../submit';
import { formRoute } from '../form-route';
import type { Issued } from './issue';
import { formState, type FormState } from '../form-state';
import { TitledPage } from '../kit/operator-page';
import { PanelBody, Panel } from '../kit/panel';
import { CopyText } from '../kit/copy';
import { redirectWithFlash, type PageResponse, type OperatorCall, type Route } from '../page';
import { useView } from '../view';
import { gapsOf } from './overview';
import { explainPlan, planBody } from './plans';
import { GapLine } from './overview-needs';
import { explainPackage, redirectToDraft, uploadPackage, withRemarks } from './release-new';
import { PackageForm, PlanForm, ProductForm, ReleaseForm, OnboardingStep } from './start-steps';
import { JoomlaPanel, LicencePanel } from './start-joomla';
import { licenseOperations } from '../../../operations/licenses';
import { planOperations } from '../../../operations/plans';
import { productOperations } from '../../../operations/products';

/** The first steps (onboarding): a product, a plan and a release, and then a licence for the seller. */

export const startRoutes: Route<OperatorCall>[] = [
  { path: '/start', get: (call) => showStart(call) },
  step('package', beginWithPackage, { upload: true, explain: explainPackage }),
  step('product', addProduct),
  step('plan', addPlan, { explain: explainPlan }),
  step('release', addRelease, { upload: true, needsNoRecentSignIn: true, explain: explainPackage }),
  step('license', issue, { needsNoRecentSignIn: true }),
];

export type StepName = 'package' | 'product' | 'plan' | 'release' | 'license';
/** A refused form, which is shown again. */
export interface RefusedStep {
  step: StepName;
  form: FormState;
}

/**
 * Returns the route of a step's form. GET of its address, after a reload or a sign-in, redirects to the first steps.
 */
function step(
  name: StepName,
  work: (call: OperatorCall, sent: URLSearchParams) => Promise<PageResponse>,
  more: {
    needsNoRecentSignIn?: true;
    upload?: true;
    explain?: typeof explainPackage | typeof explainPlan;
  } = {},
): Route<OperatorCall> {
  return formRoute(`/start/${name}`, {
    scope: undefined,
    get: () => ({ to: '/start' }),
    show: (call, form) => showStart(call, { step: name, form }),
    work,
    ...more,
  });
}

/** Adds the product that a package's manifest describes, and stores the package as the draft of its first release. */
async function beginWithPackage(call: OperatorCall, sent: URLSearchParams): Promise<PageResponse> {
  const { ctx, caller, at, settings } = call;
  const { uploadRelease } = releaseOperations;
  requirePermission(caller, productOperations.addProduct, at);
  const { types, rules } = uploadRelease.upload as UploadTerms;
  const received = await requestOf(ctx).receive(types, rules(settings) as UploadRules<StagedPackage>);
  const { file } = received;
  if (file === undefined) throw invalid('file', '');
  let product: DataOf<typeof productOperations.addProduct>;
  try {
    const body = await readNewProduct(await pathOfStaged(settings.packagesDir, file)).catch(refuseThePackage);
    product = await submitOperation(call, sent, productOperations.addProduct, { body });
  } catch (error) {
    await removeStaged(file);
    throw error;
  }
  const amend = (fields: Record<string, string>) => ({ ...fields, draft: '1' });
  const draft = await submitOperation(call, sent, releaseOperations.uploadRelease, {
    path: { id: product.id },
    received,
    amend,
  });
  return withRemarks(redirectWithFlash('/start', 'saved'), draft);
}

async function addProduct(call: OperatorCall, sent: URLSearchParams): Promise<PageResponse> {
  await submitOperation(call, sent, productOperations.addProduct, {
    body: { ...nonEmptyFields(sent, 'element'), name: sent.get('name') ?? '' },
  });
  return redirectWithFlash('/start', 'saved');
}

async function addPlan(call: OperatorCall, sent: URLSearchParams): Promise<PageResponse> {
  const { product } = await stepsOf(call);
  const body = { ...planBody(call, sent, undefined), product_id: product?.id };
  await submitOperation(call, sent, planOperations.addPlan, { body });
  return redirectWithFlash('/start', 'saved');
}

async function addRelease(call: OperatorCall, sent: URLSearchParams): Promise<PageResponse> {
  const { product } = await stepsOf(call);
  if (product === undefined) return { to: '/start' };
  const { data, isKept } = await uploadPackage(call, sent, product.id);
  return isKept ? redirectToDraft(data) : withRemarks(redirectWithFlash('/start', 'saved'), data);
}

async function issue(call: OperatorCall, sent: URLSearchParams): Promise<PageResponse> {
  const { plan } = await stepsOf(call);
  if (plan === undefined) return { to: '/start' };
  const data = await submitOperation(call, sent, licenseOperations.issueLicense, {
    body: { ...nonEmptyFields(sent, 'customer'), plan_id: plan.id },
  });
  const [licence] = [data].flat() as [Issued];
  return showKey(call, licence);
}

function showKey({ view: { t, to } }: OperatorCall, { id, license_key: key, product }: Issued): PageResponse {
  const texts = t.start.key;
  return {
    page: (
      <TitledPage title={texts.title} nav="overview">
        <div class="narrow">
          <div class="stack">
            <Panel id="key" title={texts.key} inside>
              {key === null ? (
                <p>{t.licenses.issuePage.notShown}</p>
              ) : (
                <CopyText id="license-key" label={texts.key} text={key} />
              )}
            </Panel>
            <Panel id="paste" title={texts.paste} inside>
              <ol>
                {[texts.install(product), texts.choose(product), texts.enter, texts.check].map((one) => (
                  <li>{one}</li>
                ))}
              </ol>
            </Panel>
          </div>
          <p class="acts">
            <a class="btn btn-primary" href={to('/')}>
              {texts.toOverview}
            </a>
            <a class="btn" href={to(`/licenses/${id}`)}>
              {texts.toLicense}
            </a>
          </p>
        </div>
      </TitledPage>
    ),
  };
}

/** Lists the gaps that remain after the first steps. */
function GapPanel({ gaps }: { gaps: Gap[] }) {
  const { t, to } = useView();
  const { gaps: texts } = t.start;
  return (
    <Panel id="gaps" title={texts.title}>
      <ul class="todo">
        {gaps.map((gap) => (
          <GapLine gap={gap} />
        ))}
      </ul>
      <PanelBody>
        <a href={to('/')}>{t.start.key.toOverview}</a>
      </PanelBody>
    </Panel>
  );
}

async function stepsOf({ db }: OperatorCall): Promise<FirstSteps> {
  return firstSteps(await readGoods(db));
}

export async function showStart(call: OperatorCall, sent?: RefusedStep): Promise<PageResponse> {
  const { db, settings } = call;
  const { t, to, format, mayWrite } = call.view;
  const texts = t.start;
  const goods = await readGoods(db);
  const { product, plan, release } = firstSteps(goods);
  const xml = product && (await readUpdateXmlState(db, settings.updateXml, product.id));
  const draft = product && (await releasesOf(db, product.id)).find(({ state }) => state === 'draft');
  const isDone = product !== undefined && plan !== undefined && release !== undefined;
  const gaps = isDone ? await gapsOf(call, goods) : [];
  const formOf = (name: StepName) => (sent?.step === name ? sent.form : formState());
  const open = product === undefined ? 1 : plan === undefined ? 2 : 3;
  return {
    page: (
      <TitledPage
        title={!isDone ? texts.title : gaps.length > 0 ? texts.gaps.pageTitle : texts.doneTitle}
        nav="overview"
        sub={<span class="muted">{isDone ? texts.doneSub : texts.sub}</span>}
      >
        <div class="narrow">
          <Panel id="steps">
            <ol class="steps" aria-label={texts.steps}>
              <OnboardingStep
                n={1}
                open={open}
                title={product === undefined ? texts.product.title : texts.product.doneTitle(product.name)}
                done={product && texts.product.doneSub(String(product.id), product.element ?? '')}
                path={product && `/products/${product.id}`}
              >
                <PackageForm form={formOf('package')} limit={settings.uploadLimit} />
                <ProductForm form={formOf('product')} />
              </OnboardingStep>
              <OnboardingStep
                n={2}
                open={open}
                title={plan === undefined ? texts.plan.title : texts.plan.doneTitle(plan.name)}
                hint={texts.plan.hint}
                done={
                  plan &&
                  texts.plan.doneSub(
                    plan.activationLimit,
                    format.number(plan.activationLimit),
                    plan.duration === null ? t.common.lifetime : format.duration(plan.duration),
                  )
                }
                path={plan && `/products/${plan.productId}`}
              >
                <PlanForm form={formOf('plan')} />
              </OnboardingStep>
              <OnboardingStep
                n={3}
                open={open}
                title={release === undefined ? texts.release.title : texts.release.doneTitle(release.version)}
                hint={texts.release.hint}
                done={
                  release && texts.release.doneSub(format.localDay(release.publishedAt ?? release.createdAt))
                }
                path={release && `/releases?product_id=${release.productId}`}
              >
                <ReleaseForm
                  draft={draft}
                  form={formOf('release')}
                  product={product}
                  xml={xml}
                  limit={settings.uploadLimit}
                />
              </OnboardingStep>
            </ol>
          </Panel>
          {gaps.length > 0 ? <GapPanel gaps={gaps} /> : null}
          {isDone && xml !== undefined ? (
            <div class="stack">
              <JoomlaPanel product={product} xml={xml} />
              {mayWrite ? <LicencePanel form={formOf('license')} /> : null}
            </div>
          ) : null}
          <p class="small muted">
            {texts.import} <a href={to('/move-in')}>{texts.importLink}</a> {texts.importRest}
          </p>
        </div>
      </TitledPage>
    ),
  };
}
