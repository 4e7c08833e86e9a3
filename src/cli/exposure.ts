import type { Readable } from 'node:stream';
import { Option, type Command } from 'commander';
import { readFixedVersions } from '../figures/exposure';
import { exposureOperations } from '../operations/exposure';
import { asUsageError, positiveInteger } from './arguments';
import { withSession } from './command';
import { operate, type DataOf } from './operate';
import { toStandardOutput } from './output-file';
import { formatTable } from './tables';

interface ExposureOptions {
  product: number;
  fixedIn: string[];
  format: 'table' | 'csv';
}

/** Adds `exposure`, which counts the licences and sites that a security hole affects. */
export function addExposureCommand(program: Command): void {
  program
    .command('exposure')
    .description(
      'Counts the sites and licences with a version that has a security hole, and the customers who were notified. With --format csv, it lists the licences.',
    )
    .requiredOption('--product <id>', 'product id', positiveInteger)
    .requiredOption(
      '--fixed-in <version>',
      'a version that has the fix; repeat it for each branch of versions',
      (version: string, before: string[] | undefined) => [
        ...(before ?? []),
        ...asUsageError(() => readFixedVersions([version])),
      ],
    )
    .addOption(
      new Option('--format <format>', 'the form of the result').choices(['table', 'csv']).default('table'),
    )
    .addHelpText(
      'after',
      '\nA version is affected if it is lower than the fixed version of its branch. In a branch without a fix, the highest fixed version counts.\n\nExamples:\n  licensing exposure --product 42 --fixed-in 2.4.2 --fixed-in 3.0.1\n  licensing exposure --product 42 --fixed-in 2.4.2 --format csv > affected.csv',
    )
    .action(({ product, fixedIn, format }: ExposureOptions, command: Command) =>
      withSession(command, async (session) => {
        const asked = { path: { id: product }, query: { fixed_in: fixedIn } };
        if (format === 'csv') {
          const { bytes } = await operate(session, exposureOperations.getExposureCsv, asked);
          for await (const line of bytes as Readable) await toStandardOutput(String(line));
          return;
        }
        const found = await operate(session, exposureOperations.getExposure, asked);
        session.output.print(found, () => exposureText(found));
      }),
    );
}

const NAMES = {
  unknown: 'licences, version unknown',
  active: 'licences, active',
  expired_covered: 'licences, expired, may have a fixed version',
  expired_not_covered: 'licences, expired, may not',
  customers: 'customers',
  customers_without_address: 'customers without an address',
  notified: 'customers notified',
  failed: 'customers whose mail failed',
} as const;

function exposureText(found: DataOf<typeof exposureOperations.getExposure>): string {
  const { sites, downloads, notified_first_at: first, notified_last_at: last } = found;
  const rows = [
    ...Object.entries(sites).map(([version, count]) => [`sites with ${version}`, count]),
    ...Object.entries(downloads).map(([version, count]) => [`licences, last download ${version}`, count]),
    ...Object.entries(NAMES).map(([name, text]) => [text, found[name as keyof typeof NAMES]]),
  ];
  const sent = first === null ? '' : ` Mails were sent from ${first} to ${last}.`;
  return `${formatTable(['', 'COUNT'], rows)}\n\nCounted: ${found.computed_at}.${sent}`;
}
