import { normalizeIdentifier } from '../licensing/core/identifiers';
import { includedProducts, readCatalogue } from '../licensing/bundles';
import { branchesOf } from '../licensing/core/branches';
import { findOffered, offeredVersion } from '../licensing/updates';
import { liveStatus } from '../licensing/core/states';
import { countDownloads, type LoggedAccess } from '../store/access-log';
import {
  activationKey,
  findActivations,
  findActivationsOfSites,
  listActivations,
  listFree,
} from '../store/licenses/activations';
import type { Db } from '../store/engine/database';
import { findEvents, type EventAction, type RecordedEvent } from '../store/events';
import { countSlotsOfKeys, findKeys } from '../store/licenses/license-keys';
import { findLicensesByIds, type License } from '../store/licenses/licenses';
import { findLatestOutboxRow } from '../store/outbox';
import { listReleases } from '../store/releases';
import { listReportedSitesOf } from '../store/reported-sites';
import { FREE_SITES_READ } from './explain-sites';
import type { LicenseCase, CaseState, KeyWithSuccessor, Likely } from './case-state';
import { STATUS_BY_EVENT } from './refusal-causes';
import { findLikely } from './likely-licenses';
import { uniqueNonNull } from './distinct';

/** Reads the data for the findings about a licence and about accesses. */

const MAX_HINTS = 20;
/** The maximum of sites that a finding names. */
const MAX_REPORTED = 5;
/** The maximum of searches for a replaced key, each of which scans all events. */
const MAX_HISTORY_SEARCHES = 5;
/** The maximum of licences whose history is read, and of stops read for each. */
const MAX_HISTORIES = 20;
const MAX_STOPS = 20;
const STOPS = Object.keys(STATUS_BY_EVENT) as EventAction[];

/** Reads the data for a licence's own findings. */
export async function loadLicenseCase(
  db: Db,
  license: License,
  /** the network of its latest request; undefined: no request */
  network: string | undefined,
  now: Date,
): Promise<LicenseCase> {
  const { id, expiresAt } = license;
  const status = liveStatus(license, now);
  const free = await listFree(db, id, FREE_SITES_READ);
  const sites = uniqueNonNull(free.map(({ site }) => site)).map((site) => ({ licenseId: id, site }));
  const holders = (await findActivationsOfSites(db, sites)).filter((one) => !one.free);
  const mail = await findLatestOutboxRow(db, 'license_key', id);
  const undelivered = mail?.lastError && mail.sentAt === null ? mail : undefined;
  const told = await listReportedSitesOf(db, [id], MAX_REPORTED);
  const failedPayment = await findFailedPayment(db, id);
  const known = {
    now,
    free,
    holders,
    undelivered,
    told,
    failedPayment,
    ...(await readOffer(db, license, network, now)),
  };
  if (status === 'active') return { ...known, stopped: undefined, refusedSince: { times: 0, isMore: false } };
  if (status === 'expired') {
    const refusedSince = await countDownloads(db, id, 'LICENSE_EXPIRED', expiresAt ?? new Date(0));
    return { ...known, stopped: undefined, refusedSince };
  }
  const [stopped] = await findEvents(db, STOPS, { licenseId: id }, 1);
  const refusedSince = await countDownloads(db, id, 'LICENSE_INACTIVE', stopped?.at ?? new Date(0));
  return { ...known, stopped, refusedSince };
}

async function findFailedPayment(db: Db, licenseId: number): Promise<RecordedEvent | undefined> {
  const [latest] = await findEvents(db, ['payment-failed', 'renew', 'set-end'], { licenseId }, 1);
  return latest?.action === 'payment-failed' ? latest : undefined;
}

/** Reads which products the licence covers, and whether a version of any of them is published. */
async function readOffer(
  db: Db,
  license: License,
  network: string | undefined,
  now: Date,
): Promise<Pick<LicenseCase, 'latestVersion' | 'withdrawnVersion' | 'included' | 'includedPublished'>> {
  const { id: productId } = license.product;
  const releases = await listReleases(db, productId);
  const published = releases.filter(({ state }) => state === 'published');
  const catalogue = await readCatalogue(db);
  const branches = branchesOf(catalogue.get(productId)?.securityBranch ?? 'minor', releases);
  const latest =
    offeredVersion(license, { id: productId, published, branches }, network, now) ?? published[0];
  const latestVersion = latest?.version;
  const withdrawn = releases.find(
    ({ state, publishedAt, versionOrder }) =>
      state === 'withdrawn' && publishedAt !== null && versionOrder > (latest?.versionOrder ?? ''),
  );
  const included = includedProducts(catalogue, productId);
  let includedPublished = false;
  for (const { id } of latestVersion === undefined ? included : [])
    includedPublished ||= (await findOffered(db, id)) !== undefined;
  return { latestVersion, withdrawnVersion: withdrawn?.version, included, includedPublished };
}

/** Reads the data for sentences about accesses. @param histories the number of unknown keys to search in all events */
export async function loadCaseState(
  db: Db,
  accesses: LoggedAccess[],
  now: Date,
  known: [hint: string, likely: Likely[]][] = [],
  histories = MAX_HISTORY_SEARCHES,
): Promise<CaseState> {
  const licenses = await findLicensesByIds(db, uniqueNonNull(accesses.map(({ licenseId }) => licenseId)));
  const byId = new Map(licenses.map((license) => [license.id, license]));
  const unknown = accesses.filter(
    ({ outcome, licenseId }) => outcome === 'LICENSE_NOT_FOUND' && licenseId === null,
  );
  const likely = new Map(known);
  for (const [i, hint] of uniqueNonNull(unknown.map(({ keyHint: seen }) => seen))
    .filter((seen) => !likely.has(seen))
    .slice(0, MAX_HINTS)
    .entries())
    likely.set(hint, await findLikely(db, hint, now, { inHistory: i < histories }));
  const products = uniqueNonNull(
    accesses.map(({ outcome, productId }) => (outcome === 'DOWNLOAD_NOT_FOUND' ? productId : null)),
  );
  const releases: CaseState['releases'] = new Map();
  for (const id of products) releases.set(id, await listReleases(db, id));
  return {
    now,
    licenses: byId,
    likely,
    keys: await readKeys(db, uniqueNonNull(accesses.map(concernedKey))),
    activated: await findActivated(db, accesses, byId),
    sites: await readSites(db, accesses, byId),
    releases,
    stops: await findStops(db, accesses),
    catalogue: accesses.some(({ outcome }) => ['PRODUCT_MISMATCH', 'DOWNLOAD_NOT_FOUND'].includes(outcome))
      ? await readCatalogue(db)
      : new Map<number, never>(),
  };
}

/** Returns the key that explains an access. */
function concernedKey({ outcome, keyId }: LoggedAccess): number | null {
  return outcome === 'LICENSE_NOT_FOUND' || outcome.startsWith('ACTIVATION_') ? keyId : null;
}

/** Reads keys by id, each with its replacement and the slots that the replacement takes. */
export async function readKeys(db: Db, ids: number[]): Promise<Map<number, KeyWithSuccessor>> {
  const keys = await findKeys(db, ids);
  const successors = await findKeys(db, uniqueNonNull(keys.map(({ replacedBy }) => replacedBy)));
  const byId = new Map(successors.map((key) => [key.id, key]));
  const slots = await countSlotsOfKeys(db, uniqueNonNull(keys.map(({ id, replacedBy }) => replacedBy ?? id)));
  return new Map(
    keys.map((key) => {
      const effective = key.replacedBy ?? key.id;
      return [key.id, { key, successor: byId.get(effective), used: slots.get(effective) ?? 0 }];
    }),
  );
}

async function readSites(
  db: Db,
  accesses: LoggedAccess[],
  licenses: Map<number, License>,
): Promise<CaseState['sites']> {
  const full = accesses.filter(
    ({ outcome, licenseId }) =>
      outcome === 'ACTIVATION_LIMIT_REACHED' && licenses.get(licenseId ?? 0)?.plan.freeStaging,
  );
  const sites: CaseState['sites'] = new Map();
  for (const licenseId of uniqueNonNull(full.map((access) => access.licenseId)).slice(0, MAX_HISTORIES))
    sites.set(licenseId, await listActivations(db, licenseId));
  return sites;
}

async function findStops(db: Db, accesses: LoggedAccess[]): Promise<CaseState['stops']> {
  const inactive = accesses.filter(({ outcome }) => outcome === 'LICENSE_INACTIVE');
  const stops: CaseState['stops'] = new Map();
  for (const licenseId of uniqueNonNull(inactive.map((access) => access.licenseId)).slice(0, MAX_HISTORIES))
    stops.set(licenseId, await findEvents(db, STOPS, { licenseId }, MAX_STOPS));
  return stops;
}

async function findActivated(
  db: Db,
  accesses: LoggedAccess[],
  licenses: Map<number, License>,
): Promise<CaseState['activated']> {
  const asked = new Map<string, { licenseId: number; identifier: string }>();
  for (const { licenseId, identifier, outcome } of accesses) {
    if (licenseId === null || identifier === null || !outcome.startsWith('ACTIVATION_')) continue;
    const type = licenses.get(licenseId)?.plan.activationType;
    const normalized = type === undefined ? undefined : normalizeIdentifier(type, identifier);
    if (normalized !== undefined)
      asked.set(activationKey({ licenseId, identifier }), { licenseId, identifier: normalized });
  }
  const found = await findActivations(db, [...asked.values()]);
  return new Map(
    [...asked].flatMap(([sent, pair]): [string, number | null][] => {
      const activation = found.get(activationKey(pair));
      return activation ? [[sent, activation.keyId]] : [];
    }),
  );
}
