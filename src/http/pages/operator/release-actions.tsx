import { findSbomInfo, releasesOf, type Release } from '../../../packages/releases';
import { readProduct } from '../../../licensing/catalogue';
import { withAdvice } from '../../../licensing/changelog';
import { releaseForShare } from '../../../licensing/updates';
import { compareVersions, isPrerelease } from '../../../licensing/versions';
import { submitOperation } from '../submit';
import { formRoute } from '../form-route';
import type { FormState } from '../form-state';
import { ButtonLink, Checkbox, TextArea } from '../kit/fields';
import { FormPage } from '../kit/form-page';
import { redirectWithFlash, type PageResponse, type OperatorCall, type Route } from '../page';
import { versionInUpdateXml } from './catalogue';
import { AdviceFields, otherVersions, readAdvice } from './release-advice';
import { ChangelogPreview } from './release-changelog';
import { isOffered, RolloutField, rolloutShares } from './release-rollout';
import {
  readAllowances,
  AllowanceBoxes,
  explainPackage,
  lacksManifestLines,
  redirectToReleases,
} from './release-new';
import { describeSbom, requireReleaseInPath } from './release-sbom';
import { ManifestPanel, readOffer } from './update-xml';
import { releaseOperations } from '../../../operations/releases';

/** Actions for one release: change its changelog, publish a draft, and withdraw it. */

export const releaseActionRoutes: Route<OperatorCall>[] = [
  formRoute('/releases/:id/edit', {
    needsNoRecentSignIn: true,
    hasDeadline: false,
    find: requireReleaseInPath,
    show: showEdit,
    work: edit,
    explain: explainPackage,
  }),
  formRoute('/releases/:id/publish', {
    hasDeadline: false,
    find: requireReleaseInPath,
    show: askPublish,
    work: publish,
    explain: explainPackage,
  }),
  formRoute('/releases/:id/withdraw', {
    hasDeadline: false,
    find: requireReleaseInPath,
    show: askWithdraw,
    work: withdraw,
    explain: explainPackage,
  }),
];

const listOf = ({ productId }: Release) => `/releases?product_id=${productId}`;

/** Returns the version that most addresses would download without this one. */
async function offeredBeside({ db }: OperatorCall, { id, productId }: Release): Promise<string | undefined> {
  const others = (await releasesOf(db, productId)).filter(
    (one) => one.state === 'published' && one.id !== id,
  );
  return releaseForShare(others)?.version;
}

async function edit(call: OperatorCall, sent: URLSearchParams, release: Release): Promise<PageResponse> {
  const body = {
    changelog: sent.get('changelog') ?? '',
    security: sent.get('security') === 'true',
    ...readAdvice(sent),
  };
  await submitOperation(call, sent, releaseOperations.updateRelease, { path: { id: release.id }, body });
  return redirectWithFlash(listOf(release), 'saved');
}

async function publish(call: OperatorCall, sent: URLSearchParams, release: Release): Promise<PageResponse> {
  const body = { ...readAllowances(sent), rollout: sent.get('rollout') ?? undefined };
  const data = await submitOperation(call, sent, releaseOperations.publishRelease, {
    path: { id: release.id },
    body,
  });
  return redirectToReleases(call, release.productId, data);
}

async function withdraw(call: OperatorCall, sent: URLSearchParams, release: Release): Promise<PageResponse> {
  const body = sent.get('allow_downgrade') === 'true' ? { allow_downgrade: true } : {};
  const { update_xml } = await submitOperation(call, sent, releaseOperations.withdrawRelease, {
    path: { id: release.id },
    body,
  });
  const offered = await versionInUpdateXml(call, release.productId);
  return redirectWithFlash(listOf(release), 'releaseWithdrawn', release.version, update_xml.state, offered);
}

async function showEdit(call: OperatorCall, form: FormState, release: Release): Promise<PageResponse> {
  const { t } = call.view;
  const { editPage, form: fields, title: list } = t.releases;
  const { id, version, state } = release;
  return {
    page: (
      <FormPage
        title={editPage.title(version)}
        nav="releases"
        crumbs={[[list, listOf(release)]]}
        path={`/releases/${id}/edit`}
        form={form}
        submit={t.common.save}
        acts={
          <>
            {state === 'draft' ? (
              <ButtonLink path={`/releases/${id}/publish`} label={editPage.publish(version)} />
            ) : null}
            {state === 'published' &&
            (await isOffered(call, release)) &&
            (release.rollout < 100 || (await rolloutShares(call, release.productId)).length > 1) ? (
              <ButtonLink path={`/releases/${id}/rollout`} label={t.releases.rollout.link} />
            ) : null}
            {state === 'published' && release.security ? (
              <ButtonLink path={`/releases/${id}/notify`} label={t.releases.security.tell} />
            ) : null}
            {release.security ? (
              <ButtonLink path={`/releases/${id}/exposure`} label={t.told.exposure.link} />
            ) : null}
            <ButtonLink path={`/releases/${id}/sbom`} label={t.releases.sbom.upload} />
            {state === 'withdrawn' ? null : (
              <ButtonLink path={`/releases/${id}/withdraw`} label={editPage.withdraw(version)} />
            )}
          </>
        }
      >
        <TextArea
          name="changelog"
          label={fields.changelog}
          hint={fields.changelogHint}
          value={release.changelog}
          rows={8}
        />
        <ChangelogPreview changelog={form.value('changelog') ?? withAdvice(release, release.changelog)} />
        <Checkbox
          name="security"
          value="true"
          label={t.releases.security.field}
          hint={t.releases.security.fieldHint}
          checked={release.security}
        />
        <AdviceFields release={release} others={await otherVersions(call, release)} />
        <p class="hint">{editPage.about}</p>
        <p class="hint">{describeSbom(call.view, await findSbomInfo(call.db, id))}</p>
      </FormPage>
    ),
  };
}

async function askPublish(call: OperatorCall, form: FormState, release: Release): Promise<PageResponse> {
  const { publishPage: texts, title: list } = call.view.t.releases;
  const { id, version } = release;
  const latest = await offeredBeside(call, release);
  const { product } = await readProduct(call.db, release.productId);
  const offer = lacksManifestLines(form) ? await readOffer(call, product) : undefined;
  return {
    page: (
      <FormPage
        title={texts.title(version)}
        nav="releases"
        crumbs={[[list, listOf(release)]]}
        above={offer === undefined ? null : <ManifestPanel offer={offer} />}
        path={`/releases/${id}/publish`}
        form={form}
        points={[
          latest === undefined || isGivenFirst(version, latest)
            ? texts.download(version)
            : texts.stays(version, latest),
          texts.never,
        ]}
        submit={texts.submit(version)}
        busy={texts.busy}
        back={listOf(release)}
      >
        <RolloutField shares={await rolloutShares(call, release.productId)} />
        <AllowanceBoxes form={form} value="true" />
      </FormPage>
    ),
  };
}

/** Reports whether a download chooses the first of two versions. */
function isGivenFirst(version: string, other: string): boolean {
  const ordered = [version, other].sort((a, b) => compareVersions(b, a));
  return releaseForShare(ordered.map((one) => ({ version: one, rollout: 100 })))?.version === version;
}

async function askWithdraw(call: OperatorCall, form: FormState, release: Release): Promise<PageResponse> {
  const { withdrawPage: texts, title: list } = call.view.t.releases;
  const { id, version, state } = release;
  const latest = await offeredBeside(call, release);
  // A higher version remains offered.
  const staying =
    latest === undefined || isGivenFirst(version, latest) || isPrerelease(version) ? undefined : latest;
  const offers = isPrerelease(version) ? texts.offersBefore(version) : texts.offers(version);
  const points =
    state === 'draft'
      ? [texts.draft, texts.number]
      : [
          texts.nobody,
          latest === undefined ? texts.nothing : texts.then(latest),
          staying === undefined ? offers : texts.same(staying),
          texts.number,
        ];
  return {
    page: (
      <FormPage
        danger
        title={texts.title(version)}
        nav="releases"
        crumbs={[[list, listOf(release)]]}
        path={`/releases/${id}/withdraw`}
        form={form}
        points={points}
        submit={texts.submit(version)}
        busy={texts.busy}
        back={[texts.back, listOf(release)]}
      >
        {state === 'draft' || staying !== undefined ? null : (
          <Checkbox name="allow_downgrade" value="true" label={texts.allow} hint={texts.allowHint} />
        )}
      </FormPage>
    ),
  };
}
