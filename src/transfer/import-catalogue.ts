import { compareVersions, isVersion, versionOrder } from '../licensing/versions';
import { findIncludesFault, includesNone, readCatalogue, type Includes } from '../licensing/bundles';
import { listPlans, lockProduct, replaceIncludes, setProduct, type Plan } from '../store/catalogue';
import type { Row } from '../store/export';
import { findRows, insertInChunks, lockRows, updateRow } from '../store/import';
import { statPackage } from '../packages/package-files';
import { fieldsToRow, rowToFields, type RowOf } from '../store/engine/row-fields';
import { findRelease, needsPackage, RELEASE_STATES } from '../store/releases';
import { findSbom, packText, putSbom, unpackText, type ReleaseSbom } from '../store/sboms';
import { readSbom } from '../packages/sbom';
import { bringPackage, packageFault } from './export';
import { changeRow, conflict, hasChanges, insertNew, DRY_RUN_ID, tally, type ImportJob } from './import-job';
import { atLine, type Numbered } from './record-reader';
import { fromRow, RECORDS, toRow, type RecordOf } from './records';

/** Imports products. They are matched by id, because customers' sites use addresses that contain it. */
export async function importProducts(job: ImportJob, records: Numbered<'product'>[]): Promise<void> {
  const ids = records.map(({ value }) => value.id);
  const existing = new Map((await findRows(job.trx, 'products', 'id', ids)).map((row) => [row.id, row]));
  const added: Numbered<'product'>[] = [];
  for (const record of records) {
    const { line, value } = record;
    job.products.add(value.id);
    const row = existing.get(value.id);
    const noteBundle = (counted: 'new' | 'same' | 'changed') => {
      if (!includesNone(value)) job.bundles.push({ line, id: value.id, includes: value.includes, counted });
    };
    if (row === undefined) {
      added.push(record);
      noteBundle('new');
    } else {
      const here = fromRow('product', row);
      if (here.name !== value.name)
        conflict(
          job,
          'product',
          line,
          `product ${value.id} has another name here. If it is the same product, give it the same name in both places`,
        );
      else if (here.element !== null && value.element !== null && here.element !== value.element)
        conflict(job, 'product', line, `product ${value.id} has another element here`);
      else {
        const row = toRow('product', value);
        // Keep the update XML's settings, which contain a path of this machine. Only fill empty fields.
        const missing = (Object.keys(here) as (keyof typeof here)[]).filter(
          (field) => here[field] === null && value[field] !== null,
        );
        noteBundle(missing.length === 0 ? 'same' : 'changed');
        if (missing.length === 0) tally(job, 'product', 'same');
        else
          await changeRow(
            job,
            'product',
            value.id,
            Object.fromEntries(missing.map((field) => [field, row[field] ?? null])),
          );
      }
    }
  }
  tally(job, 'product', 'new', added.length);
  if (job.writes && added.length > 0)
    await insertInChunks(
      job.trx,
      'products',
      // `importBundles` adds the products that they include.
      added.map(({ value }) => ({ ...toRow('product', value), includes_all: 0 })),
    );
}

/**
 * Sets which products the file's bundles include, after all products of the file are imported. An existing bundle keeps
 * its list; a different list in the file is a conflict.
 */
export async function importBundles(job: ImportJob): Promise<void> {
  const bundles = job.bundles.splice(0);
  if (bundles.length === 0) return;
  const { trx } = job;
  const ids = bundles.flatMap(({ id, includes }) => (includes === 'all' ? [id] : [id, ...includes]));
  if (job.writes) for (const id of [...new Set(ids)].sort((a, b) => a - b)) await lockProduct(trx, id);
  const catalogue = await readCatalogue(trx);
  // In a dry run, and after a conflict, the database does not contain the file's new products.
  const whole = new Map<number, { includes: Includes }>(
    [...job.products].map((id) => [id, { includes: [] }]),
  );
  for (const [id, { includes }] of catalogue) whole.set(id, { includes });
  for (const { line, id, includes, counted } of bundles) {
    const refuse = (message: string) => {
      tally(job, 'product', counted, -1);
      conflict(job, 'product', line, message);
    };
    const here = whole.get(id)?.includes ?? [];
    if (!includesNone({ includes: here })) {
      if (String(here) !== String(includes))
        refuse(`product ${id} includes other products here than in the file`);
      continue;
    }
    const fault = findIncludesFault(whole, id, includes);
    if (fault !== undefined) {
      refuse(fault.message.replace(/\.$/, ''));
      continue;
    }
    whole.set(id, { includes });
    if (counted === 'same') {
      tally(job, 'product', 'same', -1);
      tally(job, 'product', 'changed');
    }
    if (!job.writes) continue;
    if (includes === 'all') await setProduct(trx, id, { includesAll: true });
    else await replaceIncludes(trx, id, includes);
  }
}

/** Imports plans. They are matched by product and name; the id decides between plans with one name. */
export async function importPlans(job: ImportJob, records: Numbered<'plan'>[]): Promise<void> {
  const named = (productId: number, name: string) => `${productId} ${name}`;
  for (const { line, value } of records) {
    if (!job.products.has(value.product_id))
      throw atLine(line, `the file has no product ${value.product_id}`);
    if (value.free_staging && value.activation_type !== 'domain')
      throw atLine(line, 'staging sites are free only on plans that count domains');
    const known = (id: number) => {
      const plan = { id, productId: value.product_id, activationType: value.activation_type };
      job.plans.set(value.id, plan);
      job.localPlans.set(id, plan);
    };
    const name = named(value.product_id, value.name);
    const namesakes = job.plansHere.filter((plan) => named(plan.productId, plan.name) === name);
    const hasTwin =
      job.planNames.has(name) ||
      records.some(({ value: other }) => other !== value && named(other.product_id, other.name) === name);
    const match =
      namesakes.find(({ id }) => id === value.id) ??
      (namesakes.length === 1 && !hasTwin ? namesakes[0] : undefined);
    // An earlier plan with this name may already have been matched.
    const isTaken = [...job.plans.values()].some(({ id }) => id === match?.id);
    if (match === undefined || isTaken) {
      if (!job.empty.plan && (namesakes.length > 0 || hasTwin)) {
        conflict(
          job,
          'plan',
          line,
          `product ${value.product_id} has several plans of this name, so it is not clear which one is meant. Give each a name of its own`,
        );
        known(DRY_RUN_ID);
      } else {
        await insertNew(job, 'plan', [{ line, value }]);
        known(job.writes ? await findPlanId(job, value) : DRY_RUN_ID);
      }
      continue;
    }
    known(match.id);
    if (match.activationType !== value.activation_type) {
      conflict(
        job,
        'plan',
        line,
        `plan ${match.id} counts by ${match.activationType} here, and by ${value.activation_type} in the file`,
      );
      continue;
    }
    const changes = planChanges(match, value);
    if (hasChanges(changes)) await changeRow(job, 'plan', match.id, changes);
    else tally(job, 'plan', 'same');
  }
  for (const { value } of records) job.planNames.add(named(value.product_id, value.name));
}

/** Returns the columns in which the file's plan differs from the matched plan here. */
function planChanges(match: Plan, value: RecordOf<'plan'>): Row {
  const here: Row = fieldsToRow(match);
  const differing = Object.entries(toRow('plan', value)).filter(
    ([column, there]) => !['id', 'created_at'].includes(column) && here[column] !== there,
  );
  return Object.fromEntries(differing);
}

async function findPlanId(job: ImportJob, plan: RecordOf<'plan'>): Promise<number> {
  if (job.empty.plan) return plan.id;
  return Math.max(
    ...(await listPlans(job.trx, plan.product_id))
      .filter(({ name }) => name === plan.name)
      .map(({ id }) => id),
  );
}

/** Imports releases, matched by product and version. The package of a published version never changes, unlike a draft's. */
export async function importReleases(job: ImportJob, records: Numbered<'release'>[]): Promise<void> {
  const added: Numbered<'release'>[] = [];
  const productIds = [...new Set(records.map(({ value }) => value.product_id))].sort((a, b) => a - b);
  // This lock keeps other publishers of these products waiting, so that no version is stored twice in two spellings.
  if (job.writes) for (const id of productIds) await lockProduct(job.trx, id);
  const here = new Map<string, RecordOf<'release'>>();
  // Lock the rows, so that the import does not publish a version again that is withdrawn meanwhile.
  const find = job.writes ? lockRows : findRows;
  for (const row of job.empty.release ? [] : await find(job.trx, 'releases', 'product_id', productIds)) {
    const release = fromRow('release', row);
    here.set(versionKey(release), release);
  }
  for (const record of records) {
    const { line, value } = record;
    if (!job.products.has(value.product_id))
      throw atLine(line, `the file has no product ${value.product_id}`);
    if (!isVersion(value.version)) throw atLine(line, '"version" is not a version');
    const versions = job.versions.get(value.product_id) ?? [];
    if (versions.some((other) => compareVersions(other, value.version) === 0))
      throw atLine(
        line,
        `version ${value.version} of product ${value.product_id} appears earlier in the file, or a version that is the same to Joomla does`,
      );
    job.versions.set(value.product_id, [...versions, value.version]);
    job.releases.set(value.id, { product: value.product_id, version: value.version });
    await lookAtPackage(job, record);
    const match = here.get(versionKey(value));
    if (match === undefined) {
      added.push(record);
      continue;
    }
    const difference = releaseConflict(match, value);
    const changes = releaseChanges(match, value);
    if (difference !== undefined) conflict(job, 'release', line, difference);
    else if (hasChanges(changes)) await changeRow(job, 'release', match.id, changes);
    else tally(job, 'release', 'same');
  }
  await insertNew(job, 'release', added, ({ value }) => ({
    version_order: versionOrder(value.version),
    // Linked below, because releases may have other ids here.
    same_fix_as: null,
  }));
  for (const { value } of records) await linkFix(job, value);
}

/** Links a release that has no link here to the release with the same fix. */
async function linkFix(
  job: ImportJob,
  { product_id: product, ...value }: RecordOf<'release'>,
): Promise<void> {
  const fix = value.same_fix_as === null ? undefined : job.releases.get(value.same_fix_as);
  if (!job.writes || fix === undefined || fix.product !== product) return;
  const [own, other] = await Promise.all(
    [value.version, fix.version].map((version) => findRelease(job.trx, product, version)),
  );
  if (own && other && own.id !== other.id && own.sameFixAs === null)
    await updateRow(job.trx, RECORDS.release.table, own.id, { same_fix_as: other.id });
}

/** Imports SBOMs, matched by their release. A seller's own is not replaced by a generated one. */
export async function importSboms(job: ImportJob, records: Numbered<'sbom'>[]): Promise<void> {
  const { trx } = job;
  for (const { line, value } of records) {
    const release = job.releases.get(value.release_id);
    if (release === undefined) throw atLine(line, `the file has no release ${value.release_id}`);
    let sbom: { format: string };
    try {
      sbom = readSbom(Buffer.from(value.json));
    } catch {
      throw atLine(line, `the SBOM of version ${release.version} is not one`);
    }
    if (sbom.format !== value.format)
      throw atLine(line, `the SBOM of version ${release.version} is ${sbom.format}`);
    const here = await findRelease(trx, release.product, release.version);
    const stored = here && (await findSbom(trx, here.id));
    if (stored === undefined) tally(job, 'sbom', 'new');
    else {
      const isKept = stored.origin === 'given' && value.origin === 'generated';
      if (isKept || (await unpackText(stored.packed)) === value.json) {
        tally(job, 'sbom', 'same');
        continue;
      }
      tally(job, 'sbom', 'changed');
    }
    // In a dry run, and after a conflict, the database does not contain the file's new releases.
    if (!job.writes || here === undefined) continue;
    const row = { ...toRow('sbom', value), release_id: here.id, packed: await packText(value.json) };
    const { id, ...fields } = rowToFields(row as RowOf<ReleaseSbom>);
    await putSbom(trx, job.empty.sbom ? { ...fields, id } : fields);
  }
}

function versionKey({ product_id, version }: { product_id: number; version: string }): string {
  return `${product_id} ${isVersion(version) ? versionOrder(version) : version}`;
}

const PACKAGE_FIELDS = ['file_name', 'file_size', 'sha256', 'sha384', 'sha512'] as const;

function releaseConflict(here: RecordOf<'release'>, there: RecordOf<'release'>): string | undefined {
  const name = `version ${there.version} of product ${there.product_id}`;
  if (here.version !== there.version)
    return `${name} is the same to Joomla as version ${here.version}, which exists here`;
  if (RELEASE_STATES.indexOf(here.state) > RELEASE_STATES.indexOf(there.state))
    return `${name} is ${here.state} here and ${there.state} in the file, and there is no way back`;
  if (here.state !== 'draft' && PACKAGE_FIELDS.some((field) => here[field] !== there[field]))
    return `${name} has another package here, and customers' updaters check the download against the hash of that one`;
  return undefined;
}

function releaseChanges(here: RecordOf<'release'>, there: RecordOf<'release'>): Row {
  const told = here.notified_at === null ? (['notified_at'] as const) : [];
  const fields = [
    ...(['state', 'changelog', 'security', 'advisory', 'cve', 'published_at'] as const),
    ...told,
    ...PACKAGE_FIELDS,
  ] as const;
  const row = toRow('release', there);
  return Object.fromEntries(
    fields
      .filter((field) => JSON.stringify(here[field]) !== JSON.stringify(there[field]))
      .map((field) => [field, row[field] ?? null]),
  );
}

async function lookAtPackage(job: ImportJob, { line, value }: Numbered<'release'>): Promise<void> {
  const { packagesFrom, packagesDir, dryRun } = job.options;
  if (packagesFrom === undefined) {
    if (needsPackage(value.state) && !(await statPackage(packagesDir, value.sha256)))
      job.report.packagesMissing++;
    return;
  }
  const fault = dryRun
    ? (await packageFault(packagesDir, value.sha256)) && (await packageFault(packagesFrom, value.sha256))
    : await bringPackage(packagesFrom, packagesDir, value.sha256);
  if (fault !== undefined && needsPackage(value.state))
    throw atLine(
      line,
      `the package ${value.sha256}.zip of version ${value.version} is ${fault} in ${packagesFrom}`,
    );
}
