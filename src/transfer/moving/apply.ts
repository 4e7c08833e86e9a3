import { createHash } from 'node:crypto';
import { chunksOf, inChunks } from '../../base/chunks';
import { shortDigest } from '../../base/digest';
import { jsonOf } from '../../base/json';
import { generateKey, keyHint } from '../../licensing/core/keys';
import { mergeMetadata, metadataDifference, readMetadata, storedMetadata } from '../../licensing/metadata';
import { liveStatus } from '../../licensing/core/states';
import { activationKey, findActivations } from '../../store/licenses/activations';
import { customerDigest } from '../../store/customer-digest';
import { nameCustomers } from '../../store/customer-profiles';
import type { Transaction } from '../../store/engine/database';
import { insertEvents, type LicenseEvent } from '../../store/events';
import type { Row } from '../../store/export';
import { findRows, updateRows } from '../../store/import';
import { findImported, insertImported, setBaseline } from '../../store/imports';
import {
  findKeysByDigests,
  findKeysByFoldedDigests,
  transferKey,
  setKey,
  type LicenseKey,
} from '../../store/licenses/license-keys';
import { lockLicenses, type LockedLicense } from '../../store/licenses/licenses';
import { rowToFields, fieldsToRow } from '../../store/engine/row-fields';
import { noteLine } from '../lines';
import {
  classifyAll,
  insertNewLicenses,
  insertOtherKeys,
  insertSites,
  type ImportContext,
  type ImportedLicense,
  type NewSite,
} from '../new-licenses';
import {
  allSites,
  nextBaseline,
  compareThreeWay,
  parseBaseline,
  shortKey,
  writeBrought,
  type ImportBaseline,
  type MergeDecision,
} from './import-baseline';
import type { Plan } from '../../store/catalogue';
import type { Target } from './plan-map';
import { TOO_SHORT, type Reporter } from './report';
import type { SourceLicense } from './source';
import { OVER, sourceStandingOf } from './standing';
import { bytesOf, keepsKey, type KeyRows } from './survey';
import type { MergedField, DesiredLicense, DesiredKey } from './desired-license';

/** Applies the licences of a source: inserts new ones at once, and changes existing ones at the end, under their locks. */

export interface ApplyState extends ImportContext {
  trx: Transaction;
  report: Reporter;
  /** false in a dry run */
  writes: boolean;
  /** the run's id; 0 in a dry run */
  importId: number;
  keyRows: KeyRows;
  /** the first row of each key, by the digest as bytes (`bytesOf`) of the key without regard to case */
  folded: Map<string, number>;
  /** changes of existing licences, applied at the end so that their requests wait only briefly */
  later: Later[];
  /** customers' addresses and names, one text per batch, a third of the memory of objects; only the end blocks orders */
  names: string[];
  /** beginnings of digests of product and site; in one of 50,000 runs with 100,000 sites, two sites collide */
  sites: Set<number>;
  /** the ids of this source's runs */
  runs: ReadonlySet<number>;
  /** the plans of this service */
  plans: { find(planId: number): Plan | undefined };
}

export interface IncomingLicense {
  item: SourceLicense;
  wanted: DesiredLicense;
  target: Target;
}

/** The changes of a licence that wait until all licences are read. */
interface Later {
  licenseId: number;
  wanted: DesiredLicense;
  /** false if this run has just inserted the licence, so that it only receives keys */
  wasHere: boolean;
  /** keys to move here from other licences of the same source */
  moving: DesiredKey[];
}

/** Applies a batch of licences. */
export async function applyBatch(job: ApplyState, batch: IncomingLicense[]): Promise<void> {
  const here = await findHere(job, batch);
  const fresh: { arrived: IncomingLicense; keys: SortedKeys }[] = [];
  for (const arrived of batch) {
    const { wanted } = arrived;
    remarkSites(job, wanted);
    const license = here.byReference.get(wanted.reference);
    const keys = sortKeys(job, here, arrived, license?.id);
    const { row, customer, expiresAt } = wanted;
    const lost = wanted.keys.length > 0 && keys.fresh.length + keys.moving.length === 0;
    // The customer has paid for a licence that works, so it gets a key of its own.
    const works = keys.twins > 0 && sourceStandingOf({ ...arrived.item, expiresAt }, job.now) !== OVER;
    if (license === undefined && lost && !works) {
      job.report.leaveOut('keys-elsewhere', row);
      continue;
    }
    if (keys.twins > 0) job.report.warn('key-twice', row, customer === null ? {} : { customer });
    if (license === undefined) fresh.push({ arrived, keys });
    else compareHere(job, arrived, license, keys, here);
  }
  const isTheirs = ({ reference, customer }: DesiredLicense) =>
    here.byReference.get(reference)?.customer === customer;
  noteNames(job, [
    ...fresh.map(({ arrived }) => arrived.wanted),
    ...batch.map(({ wanted }) => wanted).filter(isTheirs),
  ]);
  await remarkTwins(
    job,
    fresh.map(({ keys }) => keys.fresh),
    fresh.map(({ arrived }) => arrived.wanted.row),
  );
  const drafts = fresh.map(({ arrived, keys }) => draftOf(job, arrived, keys));
  fresh.forEach(({ arrived, keys }, i) => describe(job, arrived, keys, drafts[i] as ImportedLicense));
  job.report.tally('new', fresh.length);
  const moved = fresh.flatMap(({ arrived, keys }, i) =>
    keys.moving.length === 0 ? [] : [{ i, wanted: arrived.wanted, moving: keys.moving }],
  );
  if (!job.writes || drafts.length === 0) return;
  const ids = await insertNewLicenses(job.trx, drafts, job);
  await insertImported(
    job.trx,
    fresh.map(({ arrived }, i) => ({
      kind: 'license' as const,
      itemId: ids[i] as number,
      importId: job.importId,
      broughtJson: writeBrought(job.importId, nextBaseline(arrived.wanted)),
    })),
  );
  for (const { i, wanted, moving } of moved)
    job.later.push({ licenseId: ids[i] as number, wanted, wasHere: false, moving });
}

interface Here {
  byReference: Map<string, LockedLicense>;
  /** keyed by digest */
  keys: Map<string, LicenseKey>;
  /** the values that the latest run imported, keyed by licence id */
  brought: Map<number, ImportBaseline>;
  /** the ids of licences that came from this source */
  ofSource: Set<number>;
  /** the existing activations (`activationKey`) */
  activated: Set<string>;
}

async function findHere({ trx, runs }: ApplyState, batch: IncomingLicense[]): Promise<Here> {
  const wanted = batch.map((one) => one.wanted);
  const rows = await findRows(
    trx,
    'licenses',
    'reference',
    wanted.map(({ reference }) => reference),
  );
  const licenses = rows.map((row) => rowToFields(row) as unknown as LockedLicense);
  const byReference = new Map(licenses.map((license) => [license.reference as string, license]));
  const keys = await inChunks(
    wanted.flatMap((one) => one.keys.map(({ digest }) => digest)),
    (some) => findKeysByDigests(trx, some),
  );
  const ids = [...new Set([...licenses.map(({ id }) => id), ...keys.map(({ licenseId }) => licenseId)])];
  const imported = new Map(await inChunks(ids, (some) => findImported(trx, 'license', some)));
  const pairs = wanted.flatMap((one) => {
    const license = byReference.get(one.reference);
    return license ? allSites(one).map((identifier) => ({ licenseId: license.id, identifier })) : [];
  });
  return {
    byReference,
    keys: new Map(keys.map((key) => [key.keyDigest, key])),
    brought: new Map([...imported].map(([id, { broughtJson }]) => [id, parseBaseline(broughtJson)])),
    ofSource: new Set([...imported].flatMap(([id, { importId }]) => (runs.has(importId) ? [id] : []))),
    activated: new Set((await findActivations(trx, pairs)).keys()),
  };
}

/** Warns about a site that another licence of the product has as well. */
function remarkSites({ report, sites }: ApplyState, wanted: DesiredLicense): void {
  for (const site of allSites(wanted)) {
    const number = createHash('sha256').update(`${wanted.plan.productId} ${site}`).digest().readUIntBE(0, 6);
    if (sites.has(number)) report.warn('site-twice', wanted.row);
    sites.add(number);
  }
}

interface SortedKeys {
  /** keys that no licence here has */
  fresh: DesiredKey[];
  /** keys to move to this licence from another one that was imported from the same source */
  moving: DesiredKey[];
  /** ids of this licence's keys that have ended at the source */
  ended: number[];
  /** the number of keys that another row keeps */
  twins: number;
}

function sortKeys(
  { report, keyRows, now }: ApplyState,
  here: Here,
  { wanted }: IncomingLicense,
  licenseId: number | undefined,
): SortedKeys {
  const sorted: SortedKeys = { fresh: [], moving: [], ended: [], twins: 0 };
  for (const key of wanted.keys) {
    const owner = here.keys.get(key.digest);
    if (!keepsKey(keyRows, key.digest, wanted.row)) sorted.twins++;
    else if (owner === undefined) sorted.fresh.push(key);
    else if (owner.licenseId === licenseId) {
      if (key.ended && (owner.endsAt === null || owner.endsAt > now)) sorted.ended.push(owner.id);
    } else if (here.ofSource.has(owner.licenseId)) sorted.moving.push(key);
    else report.warn('key-taken', wanted.row);
  }
  if (sorted.moving.length > 0) report.warn('key-moves', wanted.row);
  return sorted;
}

async function remarkTwins(
  { trx, report, folded }: ApplyState,
  keys: DesiredKey[][],
  rows: number[],
): Promise<void> {
  const all = keys.flat().flatMap((key) => key.folded ?? []);
  const stored = new Set(
    (await inChunks(all, (some) => findKeysByFoldedDigests(trx, some))).map((one) => one.foldedDigest),
  );
  keys.forEach((some, i) => {
    for (const key of some) {
      if (key.folded === undefined) continue;
      const twin = noteLine(folded, bytesOf(key.folded), rows[i] as number);
      if (twin === undefined && !stored.has(key.folded)) continue;
      report.warn('case-twin', rows[i] as number);
    }
  });
}

/** Reports whether a key works for the whole licence. */
function isMain({ limit, ended }: DesiredKey): boolean {
  return limit === null && !ended;
}

function draftOf(
  { report, now, secret }: ApplyState,
  { wanted }: IncomingLicense,
  { fresh }: SortedKeys,
): ImportedLicense {
  const { plan, status, activationLimit, expiresAt, customer, reference, metadata, lastUsedAt, row } = wanted;
  const main = fresh.find(isMain);
  const others = fresh.filter((key) => key !== main);
  if (main === undefined) {
    report.warn('own-key', row);
    if (secret === undefined) report.warn('key-not-kept', row);
  }
  if (others.some(({ ended }) => ended)) report.warn('ended-key', row);
  const keyOfSite = new Map(others.flatMap((key, i) => key.sites.map((site) => [site, i] as const)));
  const { sites, used } = classifyAll(plan, activationLimit, allSites(wanted));
  if (activationLimit !== 0 && used > activationLimit) report.warn('over-limit', row);
  return {
    plan,
    status,
    activationLimit,
    expiresAt,
    customer,
    reference,
    metadata,
    lastCheckAt: lastUsedAt,
    key: main?.key ?? generateKey(),
    otherKeys: others.map(({ key, limit, ended }) => ({ key, limit, endsAt: ended ? now : null })),
    sites: sites.map((site): NewSite => ({ ...site, otherKey: keyOfSite.get(site.identifier) })),
  };
}

function describe(
  { report, now }: ApplyState,
  { item, wanted, target }: IncomingLicense,
  { fresh, moving }: SortedKeys,
  { sites, status, expiresAt }: ImportedLicense,
): void {
  const state = liveStatus({ status, expiresAt }, now);
  const hints = (keys: DesiredKey[]) => keys.map(({ key }) => keyHint(key) ?? TOO_SHORT);
  report.count(target.product, target.plan.name, state);
  report.sample(`${target.plan.id} ${state}`, () => ({
    before: {
      id: item.id,
      plan: item.plan,
      customer: item.customer,
      status: item.status,
      startsAt: item.startsAt ?? null,
      expiresAt: item.expiresAt,
      keys: hints(wanted.keys),
      sites: [...item.sites, ...item.keys.flatMap((key) => key.sites)],
    },
    after: {
      reference: wanted.reference,
      product: target.product,
      plan: target.plan.name,
      customer: wanted.customer,
      status: state,
      expiresAt,
      activationLimit: wanted.activationLimit,
      keys: [...(fresh.some(isMain) ? [] : [null]), ...hints([...fresh, ...moving])],
      sites: sites.map(({ identifier }) => identifier),
    },
  }));
}

function compareHere(
  job: ApplyState,
  arrived: IncomingLicense,
  license: LockedLicense,
  keys: SortedKeys,
  here: Here,
): void {
  const { report, writes, later, now } = job;
  const { wanted, target } = arrived;
  const brought = here.brought.get(license.id) ?? { keys: [], sites: [] };
  const { changed, kept } = differences(job, license, wanted, brought);
  const missing = allSites(wanted).some(
    (identifier) =>
      !here.activated.has(activationKey({ licenseId: license.id, identifier })) &&
      !brought.sites.includes(shortDigest(identifier)),
  );
  report.count(target.product, target.plan.name, liveStatus(license, now));
  const ended = keys.ended.filter((id) => id !== license.mainKeyId);
  if (ended.length < keys.ended.length) report.warn('main-key-ended', wanted.row);
  const withKeys = keys.fresh.length + keys.moving.length + ended.length > 0;
  if (kept.length > 0) report.keep({ license: license.id, reference: wanted.reference, fields: kept });
  if (changed.length > 0 || missing || withKeys) {
    report.tally('changed');
    if (writes) later.push({ licenseId: license.id, wanted, wasHere: true, moving: keys.moving });
  } else if (kept.length === 0) report.tally('same');
}

function differences(
  { plans }: ApplyState,
  license: LockedLicense,
  wanted: DesiredLicense,
  brought: ImportBaseline,
): MergeDecision {
  const compared = compareThreeWay(license, wanted, brought);
  const { changed, kept } = compared;
  // Keep the plan: the new one counts something else, and would not find the licence's activations.
  if (
    !changed.includes('plan_id') ||
    plans.find(license.planId)?.activationType === wanted.plan.activationType
  )
    return compared;
  return { ...compared, changed: changed.filter((field) => field !== 'plan_id'), kept: ['plan_id', ...kept] };
}

function noteNames({ names, writes }: ApplyState, named: DesiredLicense[]): void {
  const lines = named.flatMap(({ customer, customerName }) =>
    customer !== null && customerName !== null ? [`${customer}\t${customerName}`] : [],
  );
  if (writes && lines.length > 0) names.push(lines.join('\n'));
}

/** Names the customers who have no name yet. Runs before existing licences are locked, in the lock order of orders. */
export async function applyNames({ trx, names, importId }: ApplyState): Promise<void> {
  for (const lines of names) {
    const named = lines.split('\n').map((line) => line.split('\t') as [string, string]);
    const ids = await nameCustomers(trx, new Map(named));
    const before = await findImported(trx, 'customer', ids);
    const added = ids.filter((id) => !before.has(id));
    await insertImported(
      trx,
      added.map((itemId) => ({ kind: 'customer' as const, itemId, importId, broughtJson: null })),
    );
  }
}

/** Changes existing licences, under their locks, in the order of their ids. */
export async function applyUpdates(job: ApplyState): Promise<void> {
  const { trx, later } = job;
  later.sort((a, b) => a.licenseId - b.licenseId);
  const digests = later.flatMap(({ moving }) => moving.map(({ digest }) => digest));
  const givers = (await inChunks(digests, (some) => findKeysByDigests(trx, some))).map(
    ({ licenseId }) => licenseId,
  );
  const ids = [...new Set([...later.map(({ licenseId }) => licenseId), ...givers])].sort((a, b) => a - b);
  for (const some of chunksOf(ids)) await lockLicenses(trx, some);
  for (const some of chunksOf(later)) await changeSome(job, some);
}

async function changeSome(job: ApplyState, some: Later[]): Promise<void> {
  const { trx, now, actor } = job;
  const ids = some.map(({ licenseId }) => licenseId);
  const licenses = new Map(
    (await findRows(trx, 'licenses', 'id', ids)).map((row) => [
      row.id as number,
      rowToFields(row) as unknown as LockedLicense,
    ]),
  );
  const imported = await findImported(trx, 'license', ids);
  const keys = new Map(
    (
      await inChunks(
        some.flatMap(({ wanted }) => wanted.keys.map(({ digest }) => digest)),
        (digests) => findKeysByDigests(trx, digests),
      )
    ).map((key) => [key.keyDigest, key]),
  );
  const givers = await findImported(
    trx,
    'license',
    some.flatMap(({ moving }) => moving.flatMap(({ digest }) => keys.get(digest)?.licenseId ?? [])),
  );
  const firstGiverOf = (key: LicenseKey) =>
    parseBaseline(givers.get(key.licenseId)?.broughtJson).moved?.[shortKey(key.keyDigest)] ?? key.licenseId;
  const changes: [number, Row][] = [];
  const events: LicenseEvent[] = [];
  for (const one of some) {
    const { licenseId, wanted, wasHere } = one;
    const license = licenses.get(licenseId) as LockedLicense;
    const brought = parseBaseline(imported.get(licenseId)?.broughtJson);
    const { changed, equal } = wasHere
      ? differences(job, license, wanted, brought)
      : { changed: [], equal: [] };
    const row = rowOf(job, license, wanted, changed);
    // Collect this before the keys move.
    const moved = one.moving.flatMap(({ digest }) => {
      const key = keys.get(digest);
      return key === undefined ? [] : [[shortKey(digest), firstGiverOf(key)] as const];
    });
    const limit = (row.activation_limit as number | undefined) ?? license.activationLimit;
    const used = wasHere ? await addSites(job, { ...license, activationLimit: limit }, wanted, brought) : 0;
    const given = await addKeys(job, license, one, keys);
    // A new plan may also change the limit.
    const shown: MergedField[] =
      limit === license.activationLimit ? changed : [...new Set([...changed, 'activation_limit' as const])];
    if (used > 0) row.activations_used = license.activationsUsed + used;
    const difference =
      'metadata' in row
        ? metadataDifference(readMetadata(license.metadata), readMetadata(row.metadata as string))
        : undefined;
    events.push({
      licenseId,
      at: now,
      actor,
      action: 'import' as const,
      before: { ...pick(shown, termsOf(license)), ...(difference && { metadata: difference.before }) },
      after: {
        ...pick(shown, { ...termsOf(license), ...termsOf(wantedLicense(license, wanted)) }),
        ...(difference && { metadata: difference.after }),
        ...(used > 0 && { activations_used: license.activationsUsed + used }),
        ...(given > 0 && { keys: given }),
      },
    });
    changes.push([licenseId, { ...row, revision: license.revision + 1 }]);
    // A field that keeps a value from here is still compared with the value that was imported before.
    const next = wasHere ? nextBaseline(wanted, brought, [...changed, ...equal]) : brought;
    if (moved.length > 0) next.moved = { ...next.moved, ...Object.fromEntries(moved) };
    await setBaseline(trx, licenseId, writeBrought(job.importId, next));
  }
  await updateRows(trx, 'licenses', changes);
  await insertEvents(trx, events);
}

function rowOf(
  { plans }: ApplyState,
  license: LockedLicense,
  wanted: DesiredLicense,
  changed: MergedField[],
): Row {
  const { plan, status, activationLimit, expiresAt, customer, metadata, unsaid } = wanted;
  const values: Record<MergedField, Partial<LockedLicense>> = {
    // If the source states no limit, the new plan's limit applies, unless the licence had its own limit here.
    plan_id: {
      planId: plan.id,
      ...(unsaid.has('activation_limit') &&
        license.activationLimit === plans.find(license.planId)?.activationLimit && { activationLimit }),
    },
    status: { status },
    activation_limit: { activationLimit },
    expires_at: { expiresAt, graceDays: 0 },
    customer: { customer },
    metadata: { metadata: storedMetadata(mergeMetadata(readMetadata(license.metadata), metadata)) },
  };
  const row = fieldsToRow(
    Object.assign({}, ...changed.map((field) => values[field])) as Partial<LockedLicense>,
  ) as Row;
  return changed.includes('customer') ? { ...row, customer_digest: customerDigest(customer) } : row;
}

function wantedLicense(license: LockedLicense, wanted: DesiredLicense): LockedLicense {
  const { plan, status, activationLimit, expiresAt, customer } = wanted;
  return { ...license, planId: plan.id, status, activationLimit, expiresAt, customer };
}

function termsOf(license: LockedLicense): Record<string, unknown> {
  return jsonOf(license, 'planId', 'status', 'activationLimit', 'customer', 'expiresAt');
}

function pick(fields: MergedField[], from: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(fields.filter((field) => field in from).map((field) => [field, from[field]]));
}

/** Adds the source's new sites. @returns the number of slots that they use */
async function addSites(
  { trx, report, now }: ApplyState,
  license: LockedLicense,
  wanted: DesiredLicense,
  brought: ImportBaseline,
): Promise<number> {
  const wantedSites = allSites(wanted).filter((site) => !brought.sites.includes(shortDigest(site)));
  const there = await findActivations(
    trx,
    wantedSites.map((identifier) => ({ licenseId: license.id, identifier })),
  );
  const missing = wantedSites.filter(
    (identifier) => !there.has(activationKey({ licenseId: license.id, identifier })),
  );
  const { sites, used } = classifyAll(wanted.plan, license.activationLimit, missing);
  if (license.activationLimit !== 0 && license.activationsUsed + used > license.activationLimit)
    report.warn('over-limit', wanted.row);
  await insertSites(
    trx,
    sites.map((site) => ({ ...site, licenseId: license.id, keyId: null })),
    now,
  );
  return used;
}

/** Moves, adds and ends keys. @param keys the source's keys that exist here, by digest @returns the number of changed keys */
async function addKeys(
  job: ApplyState,
  license: LockedLicense,
  { wanted, wasHere, moving }: Later,
  keys: Map<string, LicenseKey>,
): Promise<number> {
  const { trx, now, secret } = job;
  let count = 0;
  for (const key of moving) {
    const stored = keys.get(key.digest);
    if (stored === undefined || stored.licenseId === license.id) continue;
    await transferKey(trx, stored, license.id, {
      activationLimit: key.limit,
      instead: (licenseId) =>
        insertOtherKeys(trx, [{ key: generateKey(), licenseId, limit: null, endsAt: null }], { secret, now }),
    });
    count++;
  }
  if (!wasHere) return count;
  const fresh = wanted.keys.filter(
    ({ digest }) => !keys.has(digest) && keepsKey(job.keyRows, digest, wanted.row),
  );
  await insertOtherKeys(
    trx,
    fresh.map(({ key, limit, ended }) => ({ key, limit, endsAt: ended ? now : null, licenseId: license.id })),
    { secret, now },
  );
  count += fresh.length;
  for (const { digest, ended } of wanted.keys) {
    const stored = keys.get(digest);
    const isOpen = stored !== undefined && (stored.endsAt === null || stored.endsAt > now);
    if (!ended || !isOpen || stored.licenseId !== license.id || stored.id === license.mainKeyId) continue;
    await setKey(trx, stored.id, { endsAt: now });
    count++;
  }
  return count;
}
