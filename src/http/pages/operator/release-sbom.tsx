import { submitOperation } from '../submit';
import { formRoute } from '../form-route';
import type { FormState } from '../form-state';
import { ButtonLink, FileField } from '../kit/fields';
import { FormPage } from '../kit/form-page';
import { redirectWithFlash, type PageResponse, type OperatorCall, type Route } from '../page';
import type { View } from '../view';
import type { ErrorResponse } from '../../../operations/kit/failures';
import { OperationError } from '../../../operations/kit/failures';
import { readId } from '../../../operations/kit/request-params';
import { releaseOperations } from '../../../operations/releases';
import {
  findReleaseById,
  findSbomInfo,
  sbomFile,
  type Release,
  type SbomInfo,
} from '../../../packages/releases';

/** The SBOM of a version: its download, and a form for the seller's own. */

export const releaseSbomRoutes: Route<OperatorCall>[] = [
  { path: '/releases/:id/sbom.json', get: giveSbom },
  formRoute('/releases/:id/sbom', {
    upload: true,
    find: requireReleaseInPath,
    show: showSbom,
    work: storeSbom,
    explain: explainSbom,
  }),
];

export const SBOM_ACCEPT = '.json,application/json';

/** Returns a version. @throws OperationError (404) if it does not exist */
export async function requireReleaseInPath(call: OperatorCall): Promise<Release> {
  const release = await findReleaseById(call.db, readId(call));
  if (release === undefined) throw new OperationError('NOT_FOUND', '');
  return release;
}

async function giveSbom(call: OperatorCall): Promise<PageResponse> {
  const sbom = await sbomFile(call.db, await requireReleaseInPath(call));
  if (sbom === undefined) throw new OperationError('NOT_FOUND', '');
  return { file: sbom.name, type: 'application/json', content: sbom.json };
}

async function storeSbom(call: OperatorCall, sent: URLSearchParams, { id }: Release): Promise<PageResponse> {
  await submitOperation(call, sent, releaseOperations.putReleaseSbom, { path: { id } });
  return redirectWithFlash(`/releases/${id}/edit`, 'saved');
}

/** Returns the page's sentence about the SBOM of a version. */
export function describeSbom({ t, format }: View, sbom: SbomInfo | undefined): string {
  const texts = t.releases.sbom;
  return sbom === undefined ? texts.none : texts[sbom.origin](sbom.format, format.localDay(sbom.createdAt));
}

/** Returns the page's sentence for a refused SBOM; undefined for another refusal. */
export function explainSbom({ view }: OperatorCall, { status, facts }: ErrorResponse): string | undefined {
  const texts = view.t.releases.sbom;
  if (facts?.reason === 'bad-sbom') return texts.refused[facts.fault] ?? texts.refusedVersion(facts.format);
  return status === 413 ? texts.refused['too-large'] : undefined;
}

async function showSbom(call: OperatorCall, form: FormState, release: Release): Promise<PageResponse> {
  const { view } = call;
  const { sbom: texts, title: list, editPage } = view.t.releases;
  const { id, version, productId } = release;
  const sbom = await findSbomInfo(call.db, id);
  return {
    page: (
      <FormPage
        title={texts.title(version)}
        nav="releases"
        crumbs={[
          [list, `/releases?product_id=${productId}`],
          [editPage.title(version), `/releases/${id}/edit`],
        ]}
        path={`/releases/${id}/sbom`}
        form={form}
        upload
        points={[describeSbom(view, sbom), texts.hidden, ...(sbom === undefined ? [] : [texts.replaces])]}
        submit={texts.submit}
        acts={
          sbom === undefined ? null : <ButtonLink path={`/releases/${id}/sbom.json`} label={texts.download} />
        }
        back={`/releases/${id}/edit`}
      >
        <FileField name="file" accept={SBOM_ACCEPT} label={texts.field} hint={texts.fieldHint} required />
      </FormPage>
    ),
  };
}
