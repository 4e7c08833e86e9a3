import { resolve } from 'node:path';
import type { Command } from 'commander';
import { countOf } from '../base/count-of';
import { EXPORT_FILE, exportRecords } from '../transfer/export';
import { RECORD_TYPES, type RecordType } from '../transfer/records';
import { makeFolder } from '../packages/replace-file';
import { asCaller } from '../process/rights';
import { fileName, folderName } from './arguments';
import { withSession } from './command';
import { ownFiles, writeOutput } from './output-file';

const NOUNS: Record<RecordType, [one: string, many?: string]> = {
  product: ['product'],
  plan: ['plan'],
  release: ['release'],
  sbom: ['SBOM'],
  license: ['licence'],
  shop: ['shop'],
  sku: ['article of a shop', 'articles of shops'],
  order: ['order'],
  shop_link: ['link of a shop', 'links of shops'],
  customer: ['customer'],
  activation: ['activation'],
  event: ['event'],
  access: ['access', 'accesses'],
  signing_key: ['signing key'],
  setting: ['setting'],
};

export function addExportCommand(program: Command): void {
  program
    .command('export')
    .summary('write everything into one file')
    .description(
      'Writes everything into one file, as it is at one moment: products, plans, releases, licences, shops with their orders, activations, history and access log. "licensing import" reads the file into this database or another.',
    )
    .requiredOption('--out <file>', 'the file; - for standard output', fileName)
    .option('--packages <dir>', "a folder to copy the releases' packages to", folderName)
    .addHelpText(
      'after',
      '\nThe file contains no licence keys in plain text. It contains your customers and, with LICENSING_KEY_SECRET, sealed keys:\nkeep it as safe as the database.\n\nExample:\n  licensing export --out licences.jsonl --packages packages',
    )
    .action(({ out, packages }: { out: string; packages?: string }, command: Command) =>
      withSession(command, async ({ db, config, output }) => {
        if (packages !== undefined) await asCaller(() => makeFolder(resolve(packages)));
        const counts = await writeOutput(out, ownFiles(config), EXPORT_FILE, (sink) =>
          exportRecords(db, sink, {
            ...(packages === undefined
              ? {}
              : { packages: { from: config.packagesDir, to: resolve(packages) } }),
            onProgress: (type, count) => output.progress(`${type}: ${count}`),
          }),
        );
        const text = `Exported: ${RECORD_TYPES.map((type) => countOf(counts[type], ...NOUNS[type])).join(', ')}.`;
        // Keep standard output for the export itself.
        if (out === '-') output.note(text);
        else output.print({ file: resolve(out), records: counts }, text);
      }),
    );
}
