import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Option, type Command } from 'commander';
import { OperatorError } from '../licensing/operator-error';
import { explainReadFault } from '../packages/file-faults';
import { replaceSbom, requireRelease, sbomFile } from '../packages/releases';
import type { FileKind } from '../packages/replace-file';
import { MAX_SBOM_BYTES, sbomTooLarge } from '../packages/sbom';
import { asCaller } from '../process/rights';
import { fileName, positiveInteger } from './arguments';
import { withSession } from './command';
import { ownFiles, writeOutput } from './output-file';

/** The files that `--out` may overwrite. */
const SBOM_FILE: FileKind = {
  name: 'an earlier SBOM',
  isOne: (beginning) => /"(?:bomFormat|spdxVersion)"/.test(beginning),
};

interface SbomOptions {
  product: number;
  version: string;
  out?: string;
  file?: string;
}

/** Adds `release sbom`, which prints the SBOM of a version or stores another one. */
export function addSbom(release: Command): void {
  release
    .command('sbom')
    .description("Prints a version's SBOM (software bill of materials), or stores another. It is not public.")
    .requiredOption('--product <id>', 'product id', positiveInteger)
    .requiredOption('--version <version>', 'the version')
    .option('--out <file>', 'the file to write; by default, and for -, standard output', fileName)
    .addOption(
      new Option('--file <file>', 'store this SBOM: CycloneDX 1.4 or a later 1.x, or SPDX 2.3, as JSON')
        .argParser(fileName)
        .conflicts('out'),
    )
    .addHelpText(
      'after',
      '\nExamples:\n  licensing release sbom --product 42 --version 2.1.0 --out sbom.json\n  licensing release sbom --product 42 --version 2.0.0 --file sbom.json',
    )
    .action(({ product, version, out = '-', file }: SbomOptions, command: Command) =>
      withSession(command, async ({ db, config, now, output }) => {
        const found = await requireRelease(db, product, version.trim());
        if (file !== undefined) {
          const { format, origin } = await replaceSbom(db, found, await readSbomFile(file), now);
          output.print({ format, origin }, `The SBOM of version ${found.version} is stored: ${format}.`);
          return;
        }
        const sbom = await sbomFile(db, found);
        if (sbom === undefined)
          throw new OperatorError(`Version ${found.version} has no SBOM. Store one with --file.`, {
            code: 'NOT_FOUND',
          });
        await writeOutput(out, ownFiles(config), SBOM_FILE, (sink) => sink(sbom.json));
        if (out !== '-') output.print({ file: resolve(out) }, `Written: ${resolve(out)}.`);
      }),
    );
}

/** Reads a seller's file. @throws OperatorError if it cannot be read, or is too large for an SBOM */
export function readSbomFile(file: string): Promise<Buffer> {
  return asCaller(async () => {
    if ((await stat(file)).size > MAX_SBOM_BYTES) throw sbomTooLarge();
    return readFile(file);
  }).catch((error: unknown) => {
    if (error instanceof OperatorError) throw error;
    throw new OperatorError(`The SBOM ${file} cannot be read: ${explainReadFault(error)}.`);
  });
}
