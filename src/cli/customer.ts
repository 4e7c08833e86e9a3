import { resolve } from 'node:path';
import type { Command } from 'commander';
import { quantity } from '../licensing/quantity';
import { OperatorError } from '../licensing/operator-error';
import { readCustomer, type CustomerData } from '../privacy/customer';
import { readCustomerAddress } from '../privacy/customer-address';
import { countMentions, eraseCustomer } from '../privacy/erase-customer';
import { CUSTOMER_FILE, exportCustomer } from '../privacy/export-customer';
import { fileName, positiveInteger, upTo } from './arguments';
import { withSession } from './command';
import { escapeUnseen } from './printable';
import { ownFiles, writeOutput } from './output-file';
import { askYesOrNo, readValue } from './standard-input';
import { accessJson, activationJson, licenseJson } from '../licensing/views';
import { formatTable, licenseTable } from './tables';

const EMAIL_ARGUMENT =
  "the customer's e-mail address, or - to read it from standard input, or be asked for it";
const MAX_PAGE = 500;

export function addCustomerCommands(program: Command): void {
  const customer = program.command('customer').description('What is stored about a person, and its end.');
  addShow(customer);
  addExport(customer);
  addErase(customer);
}

function addShow(customer: Command): void {
  customer
    .command('show')
    .description("Shows a customer's licences, their activations, and the latest accesses.")
    .argument('<email>', EMAIL_ARGUMENT)
    .option('--limit <n>', `how many licences and seats, ${MAX_PAGE} at the most`, upTo(MAX_PAGE), 50)
    .option('--after <id>', 'only licences, and seats on licences, after this id', positiveInteger)
    .addHelpText('after', '\nExample:\n  licensing customer show jane@example.com')
    .action((email: string, page: { limit: number; after?: number }, command: Command) =>
      withSession(command, async ({ db, now, output }) => {
        const found = await readCustomer(db, await readValue(email, 'E-mail address'), page);
        const { customer: address, licenses, seats, last, activations, accesses } = found;
        const shown: LicenseWithActivations[] = licenses.map((license, i) => ({
          ...licenseJson(license, now),
          activations: (activations[i] ?? []).map((one) => activationJson(one, license)),
        }));
        output.print({ customer: address, licenses: shown, seats, accesses: accesses.map(accessJson) }, () =>
          [
            licenseTable(licenses, now),
            '',
            formatTable(
              ['LICENCE', 'IDENTIFIER', 'NAME', 'IP', 'ACTIVATED'],
              [
                ...shown.flatMap(({ id, activations: own }) =>
                  own.map((one) => [id, one.identifier, one.name, one.ip, one.activated_at]),
                ),
                ...seats.map((one) => [one.license_id, one.identifier, one.name, one.ip, one.activated_at]),
              ],
              'No activations.',
            ),
            '',
            ...metadataTable(shown),
            formatTable(
              ['AT', 'LICENCE', 'ENDPOINT', 'OUTCOME', 'TIMES', 'VERSION', 'IP'],
              accesses
                .map(accessJson)
                .map((one) => [
                  ...[one.at, one.license_id, one.endpoint, one.outcome],
                  ...[one.times, one.version, one.ip],
                ]),
              'No accesses.',
            ),
            ...toldSites(accesses),
          ].join('\n'),
        );
        if (last !== undefined) output.note(`There may be more: --after ${last}`);
      }),
    );
}

/** In a line of their own: the table is as wide as a terminal. */
function toldSites(accesses: CustomerData['accesses']): string[] {
  const told = accesses.flatMap(({ site, installedVersion }) =>
    site === null && installedVersion === null
      ? []
      : [`${site ?? 'a site'}${installedVersion === null ? '' : ` (${installedVersion} installed)`}`],
  );
  return told.length === 0 ? [] : ['', `Downloads said they were for: ${[...new Set(told)].join(', ')}`];
}

/** Followed by an empty line; nothing when no licence has metadata. */
function metadataTable(licenses: LicenseWithActivations[]): string[] {
  const rows = licenses.flatMap(({ id, metadata }) =>
    Object.entries(metadata).map(([name, text]) => [id, name, text]),
  );
  return rows.length === 0 ? [] : [formatTable(['LICENCE', 'METADATA', 'TEXT'], rows), ''];
}

type LicenseWithActivations = ReturnType<typeof licenseJson> & {
  activations: ReturnType<typeof activationJson>[];
};

function addExport(customer: Command): void {
  customer
    .command('export')
    .description(
      'Writes everything stored about a customer as JSON, for a person who asks: licences, activations, history, accesses, and wherever else the address stands.',
    )
    .argument('<email>', EMAIL_ARGUMENT)
    .requiredOption('--out <file>', 'the file; - for standard output', fileName)
    .addHelpText('after', '\nExample:\n  licensing customer export jane@example.com --out jane.json')
    .action((email: string, { out }: { out: string }, command: Command) =>
      withSession(command, async ({ db, config, now, output }) => {
        const address = await readValue(email, 'E-mail address');
        const { licenses, mentions } = await writeOutput(out, ownFiles(config), CUSTOMER_FILE, (sink) =>
          exportCustomer(db, address, now, out === '-' ? (text) => sink(escapeUnseen(text)) : sink),
        );
        const text = `Exported: ${quantity(licenses, 'licence')} with all that belongs to ${licenses === 1 ? 'it' : 'them'}, and ${quantity(mentions, 'mention')} elsewhere.`;
        if (out === '-') output.note(text);
        else output.print({ file: resolve(out), licenses, mentions }, text);
      }),
    );
}

function addErase(customer: Command): void {
  customer
    .command('erase')
    .description(
      "Takes a customer's address out of everything stored, and the network addresses their licences were used from. Licences and slots stay. There is no way back.",
    )
    .argument('<email>', EMAIL_ARGUMENT)
    .option('--yes', 'do not ask')
    .addHelpText('after', '\nExample:\n  licensing customer erase jane@example.com')
    .action((email: string, { yes }: { yes?: boolean }, command: Command) =>
      withSession(command, async ({ db, now, actor, output }) => {
        const address = await readValue(email, 'E-mail address');
        const found = await readCustomerAddress(db, address);
        const counts = Object.entries(await countMentions(db, found)).filter(([, count]) => count > 0);
        if (counts.length === 0) {
          output.print({ licenses: 0, rows: 0 }, 'Nothing is stored about this address.');
          return;
        }
        if (!yes) {
          output.note(
            `The address stands in ${counts.map(([table, count]) => `${quantity(count, 'row')} of ${table}`).join(', ')}.`,
          );
          const answer = await askYesOrNo('Erase it? There is no way back. [y/N] ');
          if (answer === undefined)
            throw new OperatorError(
              'Nothing was erased: there is nobody to ask. --yes erases without asking.',
            );
          if (!answer) throw new OperatorError('Nothing was erased.');
        }
        const progress = (done: number, total: number) =>
          output.progress(`Erasing: ${done} of ${quantity(total, 'licence')}`);
        const { licenses, rows } = await eraseCustomer(db, address, { actor, now }, progress);
        output.print(
          { licenses, rows },
          `Erased from ${quantity(licenses, 'licence')} and ${quantity(rows, 'other row')}. What backups and earlier exports hold is not erased.`,
        );
      }),
    );
}
