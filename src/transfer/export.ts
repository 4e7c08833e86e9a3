import { explainFileFault } from '../packages/file-faults';
import { OperatorError } from '../licensing/operator-error';
import type { FileKind, Sink } from '../packages/replace-file';
import { listIncludes } from '../store/catalogue';
import type { Db, Transaction } from '../store/engine/database';
import { readPages, withKeys, withOrderRows, type Row } from '../store/export';
import {
  acceptPackage,
  asCaller,
  asServiceUser,
  isPackageWhole,
  packagePath,
  removeStaged,
  stageFile,
  type WithRights,
} from '../packages/package-files';
import { needsPackage, type ReleaseState } from '../store/releases';
import { unpackText } from '../store/sboms';
import {
  FORMAT,
  FORMAT_VERSION,
  RECORD_TYPES,
  tableLayout,
  toLine,
  type RecordType,
  type RowWithChildren,
} from './records';
import { inSnapshot } from '../store/engine/transaction';

type RecordCounts = Record<RecordType, number>;

interface ExportOptions {
  /** the folders between which packages are copied */
  packages?: { from: string; to: string };
  onProgress?: (type: RecordType, count: number) => void;
}

const HEADER = JSON.stringify({ type: 'header', format: FORMAT, version: FORMAT_VERSION });

/** The kind of an export file in any version of the format, which a new export may overwrite. */
export const EXPORT_FILE: FileKind = {
  name: 'an earlier export',
  isOne: (beginning) => beginning.startsWith(HEADER.slice(0, HEADER.indexOf(',"version"'))),
};

const PAGE = 1_000;
/** The number of SBOMs that are in memory at once, of up to 5 MiB each. */
const SBOMS_PAGE = 10;

/**
 * Writes all records except packages as lines of JSON (docs/export-format.md), from one snapshot.
 * @returns the number of records of each type @throws OperatorError when a package to copy is missing or damaged
 */
export function exportRecords(db: Db, sink: Sink, options: ExportOptions = {}): Promise<RecordCounts> {
  const { packages, onProgress } = options;
  return inSnapshot(db, async (trx) => {
    const counts = {} as RecordCounts;
    await sink(`${HEADER}\n`);
    for (const type of RECORD_TYPES) {
      counts[type] = 0;
      for await (const rows of readPages(trx, tableLayout(type), type === 'sbom' ? SBOMS_PAGE : PAGE)) {
        if (type === 'product') await addIncludes(trx, rows);
        if (type === 'sbom') for (const row of rows) row.packed = await unpackText(row.packed as string);
        const whole =
          type === 'setting'
            ? rows.filter(isPortable)
            : type === 'license'
              ? await withKeys(trx, rows)
              : type === 'order'
                ? await withOrderRows(trx, rows)
                : rows;
        await sink(whole.map((row) => `${writeLine(type, row)}\n`).join(''));
        if (type === 'release' && packages) await copyPackages(rows, packages.from, packages.to);
        counts[type] += whole.length;
        onProgress?.(type, counts[type]);
      }
    }
    await sink(`${JSON.stringify({ type: 'footer', records: counts })}\n`);
    return counts;
  });
}

/** Reports whether a setting is exported. Sealed values (passwords) stay here. A copy elsewhere must not mail customers. */
function isPortable({ name, value }: Row): boolean {
  return value !== null && name !== 'mail_url';
}

/** Writes the ids of included products into a row's `includes_all`, from which its record is made. */
async function addIncludes(trx: Transaction, products: Row[]): Promise<void> {
  const inclusions = await listIncludes(trx);
  for (const row of products) {
    const listed = inclusions.filter(({ productId }) => productId === row.id);
    if (row.includes_all === 0) row.includes_all = JSON.stringify(listed.map(({ includedId }) => includedId));
  }
}

function writeLine(type: RecordType, row: RowWithChildren): string {
  try {
    return toLine(type, row);
  } catch {
    throw new OperatorError(
      `The ${type} with the id ${(row.id as number | null) ?? '?'} contains text that is not JSON: it was changed by hand with SQL. Repair its row first.`,
    );
  }
}

async function copyPackages(releases: Row[], from: string, to: string): Promise<void> {
  for (const { product_id: product, version, state, sha256 } of releases as Record<string, string>[]) {
    const fault = await bringPackage(from, to, sha256 as string, asServiceUser, asCaller);
    if (fault !== undefined && needsPackage(state as ReleaseState))
      throw new OperatorError(
        `The package of version ${version ?? ''} of product ${product ?? ''} is ${fault}: ${packagePath(from, sha256 as string)}.`,
        { facts: { reason: 'no-package' } },
      );
  }
}

/**
 * Copies a package between two packages folders, unless the target has it already. The caller's rights are used to read
 * an import's folder and to write an export's; the service owns the other folder.
 * @returns the source's fault; undefined if the package was copied @throws OperatorError when it cannot be written
 */
export async function bringPackage(
  from: string,
  to: string,
  sha256: string,
  reading: WithRights = asCaller,
  writing: WithRights = (work) => work(),
): Promise<PackageFault | undefined> {
  if (await writing(() => isPackageWhole(to, sha256))) return undefined;
  const fault = await packageFault(from, sha256, reading);
  // The copy's name is the digest of its own bytes, so a wrong package cannot get this name.
  if (fault !== undefined) return fault;
  try {
    await writing(async () => {
      const staged = await stageFile(to, packagePath(from, sha256), undefined, reading);
      await acceptPackage(to, staged, () => Promise.resolve()).finally(() => removeStaged(staged));
    });
  } catch (error) {
    const why = explainFileFault(error, packagePath(to, sha256));
    throw why === undefined ? error : new OperatorError(`The packages were not copied to ${to}: ${why}.`);
  }
  return undefined;
}

export type PackageFault = 'missing' | 'damaged';

export async function packageFault(
  dir: string,
  sha256: string,
  reading: WithRights = asCaller,
): Promise<PackageFault | undefined> {
  const whole = await reading(() => isPackageWhole(dir, sha256));
  return whole === undefined ? 'missing' : whole ? undefined : 'damaged';
}
