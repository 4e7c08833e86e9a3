import { readUpdateXmlState } from '../../../joomla/regenerate-update-xml';
import { releaseForShare, sharesOf } from '../../../licensing/updates';
import { requireProduct } from '../../../licensing/find-or-throw';
import { countRollout, type VersionCounts } from '../../../figures/statistics';
import { OperationError, type ErrorResponse } from '../../../operations/kit/failures';
import { readId } from '../../../operations/kit/request-params';
import { releaseOperations } from '../../../operations/releases';
import { findReleaseById, releasesOf, type Release } from '../../../packages/releases';
import { submitOperation } from '../submit';
import { formRoute } from '../form-route';
import { formState, type FormState } from '../form-state';
import { Form, FormErrors, Select, Submit } from '../kit/fields';
import { OperatorPage } from '../kit/operator-page';
import { PageHeader, PanelBody, Panel } from '../kit/panel';
import { Table } from '../kit/table';
import { redirectWithFlash, type PageResponse, type OperatorCall, type Route } from '../page';
import { useView } from '../view';
import { loadOptional } from '../load-optional';

/**
 * The rollout of a release: the share of addresses that are offered it. Raise it step by step, or withdraw the release
 * to stop.
 */

const ALL = '100';
/** The shares, in percent. */
const SHARES = ['10', '25', '50', ALL];

/**
 * Lists the shares that a rollout can have: only 100 % if the web server does not give Joomla different files by
 * address.
 */
export async function rolloutShares({ db, settings }: OperatorCall, productId: number): Promise<string[]> {
  const { element } = await requireProduct(db, productId);
  const { url } = await readUpdateXmlState(db, settings.updateXml, productId);
  const reach = url === null ? undefined : await settings.askForXml(url);
  const isStaged = element === null || (reach !== undefined && reach.state !== 'silent' && reach.isStaged);
  return isStaged ? SHARES : [ALL];
}

export const releaseRolloutRoutes: Route<OperatorCall>[] = [
  formRoute('/releases/:id/rollout', {
    hasDeadline: false,
    find: requirePublished,
    show: showRollout,
    work: rollOut,
    explain: explainRollout,
  }),
];

async function requirePublished(call: OperatorCall): Promise<Release> {
  const release = await findReleaseById(call.db, readId(call));
  if (release?.state !== 'published') throw new OperationError('NOT_FOUND', '');
  return release;
}

async function rollOut(call: OperatorCall, sent: URLSearchParams, release: Release): Promise<PageResponse> {
  const changed = await submitOperation(call, sent, releaseOperations.updateRelease, {
    path: { id: release.id },
    body: { rollout: sent.get('rollout') ?? release.rollout },
  });
  const { version, rollout, update_xml } = changed;
  return redirectWithFlash(
    `/releases?product_id=${release.productId}`,
    'releaseRolledOut',
    version,
    String(rollout),
    update_xml.state,
  );
}

/** Returns the reason for which the web server cannot offer a version to a share. */
export function explainRollout({ view: { t } }: OperatorCall, { facts }: ErrorResponse): string | undefined {
  const texts = t.releases.rollout.refused;
  switch (facts?.reason) {
    case 'rollout-no-address':
      return texts.noAddress;
    case 'rollout-silent':
      return texts.silent(facts.url);
    case 'rollout-apache':
      return texts.apache(facts.url);
    case 'rollout-nginx':
      return texts.nginx(facts.url);
    case 'rollout-replaced':
      return texts.newer(facts.version);
    default:
      return undefined;
  }
}

async function showRollout(call: OperatorCall, form: FormState, release: Release): Promise<PageResponse> {
  const { t } = call.view;
  const title = t.releases.rollout.title(release.version);
  return {
    page: (
      <OperatorPage
        title={title}
        nav="releases"
        crumbs={[[t.releases.title, `/releases?product_id=${release.productId}`]]}
      >
        <PageHeader title={title} />
        <RolloutPanel
          rollout={await readRolloutOf(call, release)}
          isReplaced={!(await isOffered(call, release))}
          form={form}
        />
      </OperatorPage>
    ),
  };
}

export interface Rollout {
  release: Release;
  /** the version that the other addresses are offered; undefined if they are offered nothing */
  before: string | undefined;
  /** downloads since the version was published, by version; undefined if not loaded within the timeout */
  counts: Map<string, VersionCounts> | undefined;
  /** the shares that the rollout can have */
  shares: string[];
}

/** Reads the rollout of a version. */
export async function readRollout(
  call: OperatorCall,
  productId: number,
  version: string | undefined,
): Promise<Rollout | undefined> {
  const staged = (await releasesOf(call.db, productId)).find((one) => one.version === version);
  return staged && readRolloutOf(call, staged);
}

/** Reports whether a published version is offered to any address. */
export async function isOffered({ db, settings }: OperatorCall, release: Release): Promise<boolean> {
  const { productId, version } = release;
  const published = (await releasesOf(db, productId)).filter(({ state }) => state === 'published');
  const { offered, rollouts } = await readUpdateXmlState(db, settings.updateXml, productId);
  const byApi = sharesOf(published).map((share) => releaseForShare(published, share)?.version);
  return [...byApi, ...(offered ?? []), ...rollouts.map((one) => one.version)].includes(version);
}

async function readRolloutOf(call: OperatorCall, release: Release): Promise<Rollout> {
  const { id, productId, version, publishedAt, createdAt } = release;
  const others = (await releasesOf(call.db, productId)).filter(
    (one) => one.state === 'published' && one.rollout === 100 && one.id !== id,
  );
  const before = releaseForShare(others)?.version;
  const versions = before === undefined ? [version] : [version, before];
  const counts = await loadOptional(call, (db) =>
    countRollout(db, productId, versions, publishedAt ?? createdAt),
  );
  return { release, before, counts, shares: await rolloutShares(call, productId) };
}

export function RolloutPanel({
  rollout,
  isReplaced = false,
  form = formState(),
}: {
  rollout: Rollout;
  isReplaced?: boolean;
  form?: FormState;
}) {
  const { t, to, format, mayWrite } = useView();
  const texts = t.releases.rollout;
  const { release, before, counts, shares } = rollout;
  const { id, version, rollout: share, publishedAt } = release;
  const reached = SHARES.findLast((one) => Number(one) <= share);
  const others = shares.filter((one) => Number(one) !== share);
  const next = others.find((one) => Number(one) > share);
  return (
    <Panel
      id="rollout"
      title={texts.panel(version)}

      aside={publishedAt === null ? undefined : texts.since(format.localDay(publishedAt))}
    >
      <PanelBody>
        <FormErrors form={form} />
        <p>
          {isReplaced
            ? texts.replaced(version)
            : share === 100
              ? texts.all(version)
              : texts.share(version, format.number(share))}
          {isReplaced || share === 100 || before === undefined ? null : ` ${texts.others(before)}`}
        </p>
        {isReplaced ? null : (
          <ol class="stepper" aria-labelledby="h-rollout">
            {SHARES.map((one) => (
              <li
                {...(Number(one) <= share ? { class: 'done' } : {})}
                {...(one === reached ? { 'aria-current': 'step' as const } : {})}
              >
                {texts.to(one)}
              </li>
            ))}
          </ol>
        )}
      </PanelBody>
      {counts === undefined ? null : (
        <Table
          caption={texts.caption}
          rows={[version, before].filter((one) => one !== undefined)}
          empty={null}
          columns={[
            { title: t.releases.columns.version, kind: 'name', cell: (one) => one },
            {
              title: texts.downloads,
              kind: 'number',
              cell: (one) => format.number(counts.get(one)?.downloads ?? 0),
            },
            {
              title: texts.refusals,
              kind: 'number',
              cell: (one) => format.number(counts.get(one)?.refused ?? 0),
            },
          ]}
        />
      )}
      {mayWrite && !isReplaced ? (
        <PanelBody>
          <Form path={`/releases/${id}/rollout`} form={form} label={texts.panel(version)}>
            <p class="acts">
              {others.map((one) => (
                <Submit
                  kind={one === next ? 'primary' : 'quiet'}
                  name="rollout"
                  value={one}
                  label={texts.raise(one)}
                />
              ))}
              <a class="btn btn-plain" href={to(`/releases/${id}/withdraw`)}>
                {texts.stop}
              </a>
            </p>
            <p class="hint">{texts.hint}</p>
          </Form>
        </PanelBody>
      ) : null}
    </Panel>
  );
}

/** The field for the rollout of a version that is published. @param shares the possible shares (`rolloutShares`) */
export function RolloutField({ shares }: { shares: string[] }) {
  const texts = useView().t.releases.rollout;
  if (shares.length === 1) return <p class="hint">{texts.onlyAll}</p>;
  return (
    <Select
      name="rollout"
      label={texts.field}
      hint={texts.fieldHint}
      value={ALL}
      options={[...shares].reverse().map((value) => ({ value, label: texts.option(value) }))}
    />
  );
}
