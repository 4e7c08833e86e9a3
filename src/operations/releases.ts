import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Type, type Static } from '@sinclair/typebox';
import { publish, readPackageVersion } from '../joomla/publish';
import { requireRolloutSupport, stageRelease } from '../joomla/update-xml/rollout-support';
import { listReleasePage, RELEASE_SORTS } from '../licensing/lists';
import { OperatorError } from '../licensing/operator-error';
import { REMARKS } from '../licensing/remarks';
import { releaseJson } from '../licensing/views';
import {
  packagePath,
  pathOfStaged,
  removeStaged,
  stageBytes,
  statPackage,
  type StagedPackage,
} from '../packages/package-files';
import {
  editRelease,
  findReleaseById,
  readCveList,
  replaceSbom,
  sbomFile,
  withdrawRelease,
  type SbomInfo,
} from '../packages/releases';
import { MAX_SBOM_BYTES, sbomTooLarge } from '../packages/sbom';
import { formatTimestamp } from '../base/days';
import { invalid, notFound } from './kit/failures';
import { regenerateAfterCommit } from './kit/regenerate-xml';
import { file, get, list, patch, post, put, type OperationCall } from './kit/operation';
import { isSet, pageOf, readId } from './kit/request-params';
import {
  strictObject,
  IdGiven,
  nullable,
  QueryFlag,
  Paging,
  sortBy,
  Text,
  TextOrNull,
  textEnum,
  enumOf,
  Time,
} from './kit/schemas';
import { requireRecentSignIn } from './kit/sign-in-again';
import { smallUpload, type UploadRules } from './kit/upload';
import { Release } from './kit/response-schemas';

const Rollout = Type.Integer({
  minimum: 1,
  maximum: 100,
  description: 'The share of addresses that are offered it, in percent; 100 means all.',
});

const ADVISORY = 'Advice for the users of a security release, in Markdown, of at most 2,000 characters.';
const SAME_FIX_AS =
  'The id of the release whose fix it brings to another branch. Each customer is notified once of releases with the same fix.';

const AdviceFields = {
  advisory: Type.Optional({ ...TextOrNull, description: ADVISORY }),
  cve: Type.Optional(
    Type.Array(Text, { description: 'The vulnerabilities that it closes, such as CVE-2026-12345.' }),
  ),
  same_fix_as: Type.Optional({ ...nullable(IdGiven), description: SAME_FIX_AS }),
};

const UploadFields = strictObject({
  version: Type.Optional(
    Type.String({ description: 'Such as 2.1.0. Default: the version in the package. Both must agree.' }),
  ),
  changelog: Type.Optional(Type.String({ description: 'The changes in this version.' })),
  draft: Type.Optional(QueryFlag),
  rollout: Type.Optional(Rollout),
  security: Type.Optional(
    Type.Unsafe<Static<typeof QueryFlag>>({ ...QueryFlag, description: 'It closes a security hole.' }),
  ),
  advisory: Type.Optional(Type.String({ description: ADVISORY })),
  cve: Type.Optional(
    Type.String({
      description: 'The vulnerabilities that it closes, such as CVE-2026-12345, with commas between them.',
    }),
  ),
  same_fix_as: Type.Optional({ ...IdGiven, description: SAME_FIX_AS }),
  unchecked: Type.Optional(
    Type.Unsafe<Static<typeof QueryFlag>>({
      ...QueryFlag,
      description:
        'Publishes a package although it lacks files that its manifest names or, if it is the first, the lines for updates.',
    }),
  ),
  new_update_server: Type.Optional(
    Type.Unsafe<Static<typeof QueryFlag>>({
      ...QueryFlag,
      description:
        'Allows update servers in the manifest that differ from those of the version before or, in a first package, from the address of the update XML. Joomla up to 5.3.0 drops the Download Key when the address changes.',
    }),
  ),
});

/** Returns the release in the path. */
async function requireRelease(call: Pick<OperationCall, 'db' | 'path'>) {
  return (await findReleaseById(call.db, readId(call, 'id', 'release'))) ?? notThere();
}

function noSbom(): never {
  throw notFound('SBOM');
}

function notThere(): never {
  throw notFound('release');
}

const FOLLOW = regenerateAfterCommit('ReleaseWithXml', 'product_id');

const Published = strictObject(
  {
    ...Release.properties,
    remarks: Type.Array(
      strictObject(
        { code: textEnum([...REMARKS]), facts: Type.Array(Text), message: Text },
        { title: 'Remark' },
      ),
      {
        description:
          'What is unusual about the package, the reasons why a draft will be refused, and checks that were skipped. `facts` contains the names and addresses in the sentence.',
      },
    ),
  },
  { title: 'Published' },
);
const FOLLOW_PUBLISHED = regenerateAfterCommit('PublishedWithXml', 'product_id');

async function upload(call: OperationCall<Static<typeof UploadFields>, Upload>) {
  const { db, path, query, body, settings, now, gone: signal } = call;
  const { file, sbom } = body;
  if (!isSet(query.draft)) requireRecentSignIn(call);
  if (file === undefined) throw invalid('file', 'The package is missing: the part "file".');
  // Ignore an empty version, because a form also sends its empty fields.
  const version =
    query.version?.trim() ||
    (await readPackageVersion(await pathOfStaged(settings.packagesDir, file), signal).catch(
      refuseThePackage,
    ));
  if (version === undefined)
    throw new OperatorError('The package does not contain its version: give "version".', {
      code: 'INVALID_REQUEST',
      field: 'version',
      facts: { reason: 'no-version-inside' },
    });
  const { release, remarks } = await publish(
    db,
    placesOf(settings),
    {
      productId: readId({ path }, 'id', 'product'),
      version,
      file,
      changelog: query.changelog,
      draft: isSet(query.draft),
      security: query.security === undefined ? undefined : isSet(query.security),
      advisory: query.advisory,
      cve: query.cve === undefined ? undefined : readCveList(query.cve),
      sameFixAs: query.same_fix_as,
      date: undefined,
      rollout: query.rollout,
      newUpdateServer: isSet(query.new_update_server),
      unchecked: isSet(query.unchecked),
      signal,
      sbom: sbom && (await readStagedSbom(sbom)),
    },
    now,
  ).catch(refuseThePackage);
  return { data: { ...releaseJson(release), remarks } };
}

function placesOf({ packagesDir, updateXml }: OperationCall['settings']) {
  return { packagesDir, home: updateXml };
}

/** Converts the refusal of a package's content to an invalid request, because it is not a conflict. */
export function refuseThePackage(error: unknown): never {
  throw error instanceof OperatorError && error.code === 'REFUSED'
    ? new OperatorError(error.message, { code: 'INVALID_REQUEST', field: 'file', facts: error.facts })
    : error;
}

interface Upload {
  file: StagedPackage | undefined;
  sbom?: StagedPackage;
}

/** Reads an SBOM that came with a package. @throws OperatorError before a large one is in memory */
async function readStagedSbom({ path, size }: StagedPackage): Promise<Buffer> {
  if (size > MAX_SBOM_BYTES) throw sbomTooLarge();
  return readFile(path);
}

const Sbom = strictObject(
  {
    format: Type.String({ description: 'Such as `CycloneDX 1.6` or `SPDX-2.3`.' }),
    origin: enumOf(['given', 'generated']),
    created_at: Time,
  },
  { title: 'Sbom' },
);

const sbomJson = ({ format, origin, createdAt }: SbomInfo) => ({
  format,
  origin,
  created_at: formatTimestamp(createdAt),
});

const SBOM_TYPES = ['application/json', 'application/vnd.cyclonedx+json', 'application/spdx+json'];

const PACKAGE_TYPES = ['application/zip', 'application/x-zip-compressed', 'application/octet-stream'];

export const releaseOperations = {
  listProductReleases: list(
    '/products/{id}/releases',
    {
      summary: "List a product's versions, highest first",
      query: strictObject({
        sort: sortBy(
          RELEASE_SORTS,
          'Sorts by version or by publication time. Default: highest version first. In ascending order, drafts come last.',
        ),
        ...Paging,
      }),
      data: Release,
    },
    async (call) => {
      const { items, next } = await listReleasePage(
        call.db,
        readId(call, 'id', 'product'),
        pageOf(call.query),
        call.query.sort,
      );
      return { data: items.map(releaseJson), next };
    },
  ),
  uploadRelease: post(
    '/products/{id}/releases',
    {
      noRecentSignInWith: 'a draft',
      summary: 'Publish a version by uploading its package',
      description:
        'The body is the package, or a form with the part `file`. The other fields are in the query or in the form. A published package never changes.',
      query: UploadFields,
      upload: {
        types: PACKAGE_TYPES,
        others: {
          sbom: 'Its SBOM: JSON of CycloneDX 1.4 or a later 1.x, or of SPDX 2.3, of at most 5 MiB. Default: one that is generated from the lock files in the package.',
        },
        rules: ({ packagesDir, uploadLimit }): UploadRules<StagedPackage> => ({
          limit: uploadLimit,
          take: (bytes) => stageBytes(packagesDir, bytes),
          digest: ({ sha256 }) => sha256,
          discard: removeStaged,
        }),
        before: ({ db, path, query, settings }) =>
          requireRolloutSupport(
            db,
            settings.updateXml,
            readId({ path }, 'id', 'product'),
            (query as { rollout?: number }).rollout,
          ),
      },
      data: Published,
      status: 201,
      hasDeadline: false,
      afterCommit: FOLLOW_PUBLISHED,
    },
    upload,
  ),
  getRelease: get('/releases/{id}', { summary: 'Read a version', data: Release }, async (call) => ({
    data: releaseJson(await requireRelease(call)),
  })),
  getReleasePackage: file(
    '/releases/{id}/package',
    'application/zip',
    {
      summary: "Download a version's package",
      description:
        'This includes the package of a draft. `licensing packages fetch` uses this call to copy packages to another host.',
    },
    async (call) => {
      const { sha256, fileName, fileSize } = await requireRelease(call);
      const { packagesDir } = call.settings;
      if ((await statPackage(packagesDir, sha256))?.size !== fileSize) throw notFound('package');
      const bytes = createReadStream(packagePath(packagesDir, sha256));
      return { name: fileName, size: fileSize, bytes };
    },
  ),
  getReleaseSbom: file(
    '/releases/{id}/sbom',
    'application/json',
    {
      summary: "Download a version's SBOM (software bill of materials)",
      description: 'CycloneDX or SPDX. It is not public.',
    },
    async (call) => {
      const { name, json } = (await sbomFile(call.db, await requireRelease(call))) ?? noSbom();
      const bytes = Buffer.from(json);
      return { name, size: bytes.length, bytes };
    },
  ),
  putReleaseSbom: put(
    '/releases/{id}/sbom',
    {
      summary: "Set a version's SBOM",
      description:
        'The body is the file: JSON of CycloneDX 1.4 or a later 1.x, or of SPDX 2.3. It replaces an earlier one.',
      upload: {
        types: SBOM_TYPES,
        rules: () => smallUpload(MAX_SBOM_BYTES),
      },
      data: Sbom,
    },
    async (call: OperationCall<unknown, { file: Buffer | undefined }>) => {
      const { db, body, now } = call;
      const release = await requireRelease(call);
      return { data: sbomJson(await replaceSbom(db, release, body.file ?? Buffer.alloc(0), now)) };
    },
  ),
  updateRelease: patch(
    '/releases/{id}',
    {
      noRecentSignInWith: 'a draft',
      summary:
        "Change a version's changelog, or the share of addresses that are offered it, or what it says about a security hole",
      description:
        'Its package never changes. Raising `rollout` never takes the version away from a site; to stop a rollout, withdraw the version.',
      body: strictObject({
        changelog: Type.Optional(Text),
        rollout: Type.Optional(Rollout),
        security: Type.Optional(Type.Boolean({ description: 'It closes a security hole.' })),
        ...AdviceFields,
      }),
      data: Release,
      // It requests the address of the update XML to check it, and writes up to 100 files.
      hasDeadline: false,
      afterCommit: FOLLOW,
    },
    async (call) => {
      const { db, body, settings } = call;
      let release = await requireRelease(call);
      const { productId, version, state } = release;
      if (state !== 'draft') requireRecentSignIn(call);
      if (body.rollout !== undefined)
        release = await stageRelease(db, settings.updateXml, release, body.rollout);
      const { changelog, security, advisory, cve, same_fix_as: sameFixAs } = body;
      const changes = { changelog, security, advisory, cve, sameFixAs };
      if (Object.values(changes).some((change) => change !== undefined))
        release = await editRelease(db, productId, version, changes);
      return { data: releaseJson(release) };
    },
  ),
  publishRelease: post(
    '/releases/{id}/publish',
    {
      summary: 'Publish a draft',
      body: strictObject({
        new_update_server: Type.Optional(Type.Boolean()),
        unchecked: Type.Optional(Type.Boolean()),
        rollout: Type.Optional(Rollout),
        security: Type.Optional(Type.Boolean()),
        ...AdviceFields,
      }),
      data: Published,
      hasDeadline: false,
      afterCommit: FOLLOW_PUBLISHED,
    },
    async (call) => {
      const { productId, version } = await requireRelease(call);
      const request = {
        productId,
        version,
        file: undefined,
        changelog: undefined,
        draft: false,
        date: undefined,
        newUpdateServer: call.body.new_update_server ?? false,
        unchecked: call.body.unchecked ?? false,
        rollout: call.body.rollout,
        security: call.body.security,
        advisory: call.body.advisory,
        cve: call.body.cve,
        sameFixAs: call.body.same_fix_as,
      };
      const { release, remarks } = await publish(call.db, placesOf(call.settings), request, call.now);
      return { data: { ...releaseJson(release), remarks } };
    },
  ),
  withdrawRelease: post(
    '/releases/{id}/withdraw',
    {
      summary: 'Withdraw a version for good',
      description:
        'The update XML then offers no lower version, because a site that still lists the withdrawn one would install it, and so go back to an older version.',
      body: strictObject({
        allow_downgrade: Type.Optional(
          Type.Boolean({ description: 'Allows the update XML to offer lower versions.' }),
        ),
      }),
      data: Release,
      afterCommit: FOLLOW,
    },
    async (call) => {
      const { productId, version } = await requireRelease(call);
      return { data: releaseJson(await withdrawRelease(call.db, productId, version, call.now)) };
    },
  ),
};
