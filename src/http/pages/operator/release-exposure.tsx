import {
  exposureRows,
  listFixedVersions,
  readExposure,
  type ExposureFigures,
} from '../../../figures/exposure';
import { OperationError } from '../../../operations/kit/failures';
import { ButtonLink } from '../kit/fields';
import { TitledPage } from '../kit/operator-page';
import { DescriptionList, Panel } from '../kit/panel';
import type { PageResponse, OperatorCall, Route } from '../page';
import { useView } from '../view';
import { requireReleaseInPath } from './release-sbom';

/** The exposure to the hole that a security release closes: sites, licences and customers, and who was notified. */

export const releaseExposureRoutes: Route<OperatorCall>[] = [
  { path: '/releases/:id/exposure', get: showExposure },
  { path: '/releases/:id/exposure.csv', get: downloadExposure, hasDeadline: false },
];

/** The number of versions that the page shows. */
const MAX_SHOWN = 100;

async function readQuery(call: OperatorCall) {
  const release = await requireReleaseInPath(call);
  if (!release.security) throw new OperationError('NOT_FOUND', '');
  const query = { productId: release.productId, fixedIn: await listFixedVersions(call.db, release) };
  return { release, query };
}

async function downloadExposure(call: OperatorCall): Promise<PageResponse> {
  const { release, query } = await readQuery(call);
  return { csv: `exposure-${release.version}.csv`, rows: exposureRows(call.db, query, call.at) };
}

async function showExposure(call: OperatorCall): Promise<PageResponse> {
  const { release, query } = await readQuery(call);
  const { id, version, productId, state } = release;
  const figures = await readExposure(call.db, query, { now: call.at, waits: false });
  const { t, format, mayWrite } = call.view;
  const { exposure: texts } = t.told;
  return {
    page: (
      <TitledPage
        title={texts.title(version)}
        nav="releases"
        crumbs={[[t.releases.title, `/releases?product_id=${productId}`]]}
        sub={texts.fixedIn(query.fixedIn.join(', '))}
        actions={
          <>
            {mayWrite && state === 'published' ? (
              <ButtonLink path={`/releases/${id}/notify`} label={t.releases.security.tell} />
            ) : null}
            <ButtonLink path={`/products/${productId}/sites`} label={t.releases.notifyPage.sites} />
            <ButtonLink path={`/releases/${id}/exposure.csv`} label={t.common.csv} />
          </>
        }
      >
        <Panel id="figures" inside footer={figures && texts.counted(format.moment(figures.computedAt))}>
          {figures === undefined ? <p>{texts.counting}</p> : <Figures figures={figures} />}
          <p class="hint">{texts.how}</p>
        </Panel>
      </TitledPage>
    ),
  };
}

function Figures({ figures }: { figures: ExposureFigures }) {
  const { t, format } = useView();
  const { facts, mails } = t.told.exposure;
  const { notifiedFirstAt: first, notifiedLastAt: last } = figures;
  const shown = (value: number | Record<string, number>) =>
    typeof value === 'number' ? format.number(value) : versions(value) || t.common.none;
  const versions = (counts: Record<string, number>) =>
    Object.entries(counts)
      .slice(0, MAX_SHOWN)
      .map(([version, count]) => `${version}: ${format.number(count)}`)
      .join(', ');
  return (
    <DescriptionList
      facts={[
        ...(Object.keys(facts) as (keyof typeof facts)[]).map(
          (name) => [facts[name], shown(figures[name])] as const,
        ),
        first === null || last === null
          ? undefined
          : [mails, `${format.moment(new Date(first))}, ${format.moment(new Date(last))}`],
      ]}
    />
  );
}
