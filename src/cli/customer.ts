import { resolve } from 'node:path';
import { Option, type Command } from 'commander';
import { CUSTOMER_LANGUAGES, type CustomerLanguage } from '../texts/customers/languages';
import { countOf } from '../base/count-of';
import { requireEmail } from '../licensing/customer-email';
import { OperatorError } from '../licensing/operator-error';
import { customerJson, readStoredCustomer, type CustomerData } from '../privacy/customer';
import { readCustomerAddress } from '../privacy/customer-address';
import { customerOperations } from '../operations/customers';
import { countMentions } from '../privacy/erase-customer';
import { CUSTOMER_FILE, exportCustomer } from '../privacy/export-customer';
import type { Section } from '../privacy/stored-data';
import { emailAddress, fileName, positiveInteger, upTo } from './arguments';
import { withSession } from './command';
import { operate } from './operate';
import { escapeInvisible } from './printable';
import { ownFiles, writeOutput } from './output-file';
import { askYesOrNo, readValue } from './standard-input';
import { accessJson } from '../licensing/views';
import { formatFields, formatTable, licenseTable } from './tables';
import { inBothForms } from '../licensing/core/identifiers';

const EMAIL_ARGUMENT =
  "the customer's e-mail address, or - to read it from standard input, or be asked for it";
const MAX_PAGE = 500;

export function addCustomerCommands(program: Command): void {
  const customer = program
    .command('customer')
    .description('Shows, exports, changes and erases what is stored about a customer.');
  addShow(customer);
  addSet(customer);
  addExport(customer);
  addErase(customer);
}

function addShow(customer: Command): void {
  customer
    .command('show')
    .description(
      'Shows everything that is stored about a customer: licences, keys, activations, orders, mails, and the latest accesses.',
    )
    .argument('<email>', EMAIL_ARGUMENT)
    .option('--limit <n>', `how many licences and seats to show, at most ${MAX_PAGE}`, upTo(MAX_PAGE), 50)
    .option(
      '--after <id>',
      'the next page: only licences, and seats on licences, with a higher id than this',
      positiveInteger,
    )
    .addHelpText('after', '\nExample:\n  licensing customer show jane@example.com')
    .action((email: string, page: { limit: number; after?: number }, command: Command) =>
      withSession(command, async ({ db, now, output }) => {
        const found = await readStoredCustomer(db, await readValue(email, 'E-mail address'), page);
        const { licenses, last } = found;
        const json = customerJson(found, last ?? null, now);
        const { seats, licenses: shown } = json;
        const accesses = found.accesses.slice(0, SHOWN_ACCESSES);
        output.print(json, () =>
          [
            ...personLine(json),
            licenseTable(licenses, now),
            '',
            ...keyTable(shown),
            formatTable(
              ['LICENCE', 'IDENTIFIER', 'NAME', 'IP', 'ACTIVATED'],
              [
                ...shown.flatMap(({ id, activation_type: type, activations: own }) =>
                  own.map((one) => [
                    id,
                    inBothForms(one.identifier, type),
                    one.name,
                    one.ip,
                    one.activated_at,
                  ]),
                ),
                ...seats.map((one) => [one.license_id, one.identifier, one.name, one.ip, one.activated_at]),
              ],
              'No activations.',
            ),
            '',
            ...metadataTable(shown),
            ...orderTable(json),
            ...mailTable(json),
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
            ...storedBesides(json),
          ].join('\n'),
        );
        if (last !== undefined) output.note(`There may be more: --after ${last}`);
      }),
    );
}

/** Formats name, language and former addresses, followed by an empty line; nothing if none is known. */
function personLine({ name, language, former_addresses: former }: CustomerJson): string[] {
  const known = [name, language].filter((one) => one !== null);
  const lines = [
    ...(known.length === 0 ? [] : [known.join(', ')]),
    ...(former.length === 0 ? [] : [`Former addresses: ${former.join(', ')}`]),
  ];
  return lines.length === 0 ? [] : [...lines, ''];
}

interface SetOptions {
  email?: string;
  language?: CustomerLanguage | 'none';
  name?: string;
  note?: string;
  join?: boolean;
}

function addSet(customer: Command): void {
  customer
    .command('set')
    .description(
      "Changes a customer's address, language, name or note. Licences, orders and waiting mails move to a new address, and both addresses get a mail about it.",
    )
    .argument('<email>', EMAIL_ARGUMENT)
    .option('--email <new>', 'the new address', emailAddress)
    .addOption(
      new Option(
        '--language <language>',
        'the language of mails, answers and pages; none: the one that the latest order or link gave',
      ).choices([...CUSTOMER_LANGUAGES, 'none']),
    )
    .option('--name <name>', "the customer's name; none: the one that the latest order gave")
    .option('--note <text>', 'your own note, which customers do not see; none removes it')
    .option('--join', 'merge both customers if the new address already belongs to one')
    .addHelpText(
      'after',
      '\nExamples:\n  licensing customer set jane@example.com --language de\n  licensing customer set jane@example.com --email jane@example.org',
    )
    .action((email: string, { join, ...given }: SetOptions, command: Command) =>
      withSession(command, async (session) => {
        if (Object.keys(given).length === 0)
          throw new OperatorError('Give at least one of --email, --language, --name and --note.');
        const customer = requireEmail(await readValue(email, 'E-mail address'));
        const changes = {
          email: given.email,
          language: given.language === 'none' ? null : given.language,
          name: given.name === 'none' ? null : given.name,
          note: given.note === 'none' ? null : given.note,
        };
        const change = (joins: boolean | undefined) =>
          operate(session, customerOperations.updateCustomer, {
            path: { customer },
            body: { ...changes, join: joins },
          });
        const changed = await change(join).catch(async (error: unknown) => {
          const isTaken = error instanceof OperatorError && error.facts?.reason === 'customer-exists';
          if (!isTaken) throw error;
          const answer = await askYesOrNo(
            `${given.email} is already a customer. Merge both? This cannot be undone. [y/N] `,
          );
          if (answer === undefined) throw error;
          if (!answer) throw new OperatorError('Nothing was changed.');
          return change(true);
        });
        session.output.print(changed, () =>
          formatFields([
            ['Customer', changed.customer],
            ['Name', changed.name],
            ['Language', changed.language],
            ['Note', changed.note],
            ...(changes.email === undefined
              ? []
              : ([
                  ['Licences moved', changed.moved.licenses],
                  ['Orders moved', changed.moved.orders],
                ] as [string, number][])),
          ]),
        );
      }),
    );
}

/** Lists the reported sites on lines of their own, because the table already fills a terminal's width. */
function toldSites(accesses: CustomerData['accesses']): string[] {
  const told = accesses.flatMap(({ site, installedVersion }) =>
    site === null && installedVersion === null
      ? []
      : [
          `${site === null ? 'a site' : inBothForms(site, 'domain')}${installedVersion === null ? '' : ` (${installedVersion} installed)`}`,
        ],
  );
  return told.length === 0 ? [] : ['', `Sites that downloads named: ${[...new Set(told)].join(', ')}`];
}

/** Formats the metadata, followed by an empty line; nothing if no licence has metadata. */
function metadataTable(licenses: CustomerJson['licenses']): string[] {
  const rows = licenses.flatMap(({ id, metadata }) =>
    Object.entries(metadata).map(([name, text]) => [id, name, text]),
  );
  return rows.length === 0 ? [] : [formatTable(['LICENCE', 'METADATA', 'TEXT'], rows), ''];
}

/** Formats the keys, followed by an empty line; nothing if there is no licence. */
function keyTable(shown: CustomerJson['licenses']): string[] {
  const rows = shown.flatMap(({ id, keys }) =>
    keys.map((key) => [id, key.key_hint, key.label, key.ends_at, key.created_at]),
  );
  return rows.length === 0 ? [] : [formatTable(['LICENCE', 'KEY', 'LABEL', 'ENDS', 'ADDED'], rows), ''];
}

function orderTable({ orders }: CustomerJson): string[] {
  const rows = (orders as Record<Named, Cell>[]).map((one) => [
    ...[one.id, one.shop, one.order, one.state, one.customer, one.customer_name],
    one.created_at,
  ]);
  const heads = ['ORDER', 'SHOP', 'NUMBER', 'STATE', 'CUSTOMER', 'NAME', 'AT'];
  return rows.length === 0 ? [] : [formatTable(heads, rows), ''];
}

function mailTable({ mails }: CustomerJson): string[] {
  const rows = (mails as Record<Named, Cell>[]).map((one) => [
    ...[one.type, one.license_id, one.created_at, one.sent_at ?? one.failed_at],
  ]);
  return rows.length === 0 ? [] : [formatTable(['MAIL', 'LICENCE', 'QUEUED', 'SENT'], rows), ''];
}

/** Counts the stored data that has no table here. */
function storedBesides(json: CustomerJson): string[] {
  const counts = [
    ...BESIDES.map(([name, noun]) => [json[name].length, noun] as const),
    [Object.values(json.mentions).flat().length, 'mention elsewhere'] as const,
  ].flatMap(([count, noun]) => (count === 0 ? [] : countOf(count, noun)));
  return counts.length === 0
    ? []
    : ['', `Also stored: ${counts.join(', ')}. --json and \`licensing customer export\` show them.`];
}

const BESIDES: [Section, string][] = [
  ['messages', "shop's message"],
  ['links', "shop's customer id"],
  ['webhooks', 'webhook'],
  ['receivers', 'receiver of webhooks'],
  ['sessions', 'session'],
  ['sign_in_links', 'sign-in link'],
  ['link_requests', 'request for a link'],
  ['search_words', 'licence with search words'],
  ['operators', 'operator'],
];

/** The maximum number of requests in the table. */
const SHOWN_ACCESSES = 20;

/** The fields of orders and mails (privacy/stored-data.ts). */
type Named =
  | ('id' | 'shop' | 'order' | 'state' | 'customer' | 'customer_name' | 'created_at')
  | ('type' | 'license_id' | 'sent_at' | 'failed_at');
type Cell = string | number | null;
type CustomerJson = ReturnType<typeof customerJson>;

function addExport(customer: Command): void {
  customer
    .command('export')
    .description(
      'Writes everything that is stored about a customer as JSON, to answer a request for access: licences, activations, history, accesses, and all other records that contain the address.',
    )
    .argument('<email>', EMAIL_ARGUMENT)
    .requiredOption('--out <file>', 'the file; - for standard output', fileName)
    .addHelpText('after', '\nExample:\n  licensing customer export jane@example.com --out jane.json')
    .action((email: string, { out }: { out: string }, command: Command) =>
      withSession(command, async ({ db, config, now, output }) => {
        const address = await readValue(email, 'E-mail address');
        const { licenses, mentions } = await writeOutput(out, ownFiles(config), CUSTOMER_FILE, (sink) =>
          exportCustomer(db, address, now, out === '-' ? (text) => sink(escapeInvisible(text)) : sink),
        );
        const text = `Exported: ${countOf(licenses, 'licence')} with all that belongs to ${licenses === 1 ? 'it' : 'them'}, and ${countOf(mentions, 'mention')} elsewhere.`;
        if (out === '-') output.note(text);
        else output.print({ file: resolve(out), licenses, mentions }, text);
      }),
    );
}

function addErase(customer: Command): void {
  customer
    .command('erase')
    .description(
      "Erases a customer's address everywhere, and the network addresses from which the licences were used. Licences and slots stay. This cannot be undone.",
    )
    .argument('<email>', EMAIL_ARGUMENT)
    .option('--yes', 'do not ask')
    .addHelpText('after', '\nExample:\n  licensing customer erase jane@example.com')
    .action((email: string, { yes }: { yes?: boolean }, command: Command) =>
      withSession(command, async (session) => {
        const { db, output } = session;
        const address = await readValue(email, 'E-mail address');
        const found = await readCustomerAddress(db, address);
        const counts = Object.entries(await countMentions(db, found)).filter(([, count]) => count > 0);
        if (counts.length === 0) {
          output.print({ licenses: 0, rows: 0 }, 'Nothing is stored about this address.');
          return;
        }
        if (!yes) {
          output.note(
            `${found.addresses.length === 1 ? 'The address is' : `The addresses ${found.addresses.join(', ')} are`} in ${counts.map(([table, count]) => `${countOf(count, 'row')} of ${table}`).join(', ')}.`,
          );
          const answer = await askYesOrNo('Erase it? This cannot be undone. [y/N] ');
          if (answer === undefined)
            throw new OperatorError(
              'Nothing was erased: there is no terminal to ask on. --yes erases without asking.',
            );
          if (!answer) throw new OperatorError('Nothing was erased.');
        }
        const erased = await operate(session, customerOperations.removeCustomer, {
          path: { customer: found.address },
          onProgress: (done, total = 0) =>
            output.progress(`Erasing: ${done} of ${countOf(total, 'licence')}`),
        });
        const { licenses, rows } = erased;
        output.print(
          erased,
          `Erased from ${countOf(licenses, 'licence')} and ${countOf(rows, 'other row')}. Backups and earlier exports still contain it.`,
        );
      }),
    );
}
