import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { readConfig } from '../config';
import { OperatorError } from '../licensing/operator-error';
import { composerOf, composeTest } from '../mail/compose';
import { toMailFailure } from '../mail/failures';
import { doctor } from '../texts/operators/en/doctor';
import { failures } from '../texts/operators/en/failures';
import { describeStored, mailRemedy } from '../texts/operators/failures';
import { listAllMails, mailJson } from '../mail/queue';
import { findTextFaults } from '../mail/texts';
import { createMailTransport } from '../mail/transport';
import { mailOperations } from '../operations/mails';
import { serviceGainsNoRights } from '../process/units';
import { emailAddress, positiveInteger } from './arguments';
import { createOutput, withSession } from './command';
import { KEY_ARGUMENT, requireLicense } from './license-argument';
import { operate } from './operate';
import { printable } from './printable';
import { formatTable } from './tables';

export function addMailCommands(program: Command): void {
  const mail = program.command('mail').description('Mails to customers: keys, links and reminders.');
  addTest(mail);
  addSend(mail);
  addList(mail);
}

/** For a person who waits for it. */
const TEST_LIMIT_MS = 60_000;

function addTest(mail: Command): void {
  mail
    .command('test')
    .description('Sends a test mail at once, and prints what the mail server said.')
    .argument('<address>', 'where it goes', emailAddress)
    .addHelpText('after', '\nExample:\n  licensing mail test jane@example.com')
    .action(async (address: string, _options: object, command: Command) => {
      const config = readConfig();
      const output = createOutput(command);
      for (const warning of config.warnings) output.note(warning);
      // A test makes no code.
      const composer = composerOf(config, () => Promise.resolve(undefined));
      if (config.mail === undefined || composer === undefined)
        throw new OperatorError(
          config.mailOff === undefined
            ? 'LICENSING_PUBLIC_URL is not set, and links in mails need the address of the site.'
            : doctor.mailOff[config.mailOff],
        );
      for (const fault of findTextFaults(config.mailTexts)) output.note(`note: ${fault}`);
      const { mail: settings, mailLanguage: language } = config;
      const messageId = randomBytes(16).toString('hex');
      const composed = composeTest(address, { language, messageId }, composer);
      const from = { address: settings.from.address, name: composer.shopName };
      const signal = AbortSignal.timeout(TEST_LIMIT_MS);
      const answer = await createMailTransport(settings, { gainsNoRights: await serviceGainsNoRights() })
        .send(composed, from, signal)
        .catch((error: unknown) => {
          const { stored, said } = toMailFailure(error);
          const remedy = mailRemedy(failures, stored, settings.from.address);
          throw new OperatorError(
            `The mail was not sent, by ${settings.source}: ${describeStored(failures.mail, stored)}.${said === undefined ? '' : ` It said: ${printable(said.trim())}`}${remedy === undefined ? '' : ` ${remedy}`}`,
          );
        });
      output.print(
        { to: address, from: from.address, answer },
        `The mail to ${address}, from ${from.address}, was taken: ${answer}`,
      );
    });
}

function addSend(mail: Command): void {
  mail
    .command('send')
    .description("Mails a licence's key to its customer, again too.")
    .argument('<key>', KEY_ARGUMENT)
    .addHelpText('after', '\nExample:\n  licensing mail send 12')
    .action((key: string, _options: object, command: Command) =>
      withSession(command, async (session) => {
        const { id, customer } = await requireLicense(session.db, key);
        session.output.print(
          await operate(session, mailOperations.sendLicenseMail, { path: { id } }),
          `The key of licence ${id} is mailed to ${customer ?? '-'} as soon as the service runs.`,
        );
      }),
    );
}

function addList(mail: Command): void {
  mail
    .command('list')
    .description('Lists the latest mails, without addresses.')
    .option('--failed', 'only those that were given up, or failed and are tried again')
    .option('--limit <n>', 'how many at the most', positiveInteger, 100)
    .addHelpText('after', '\nExample:\n  licensing mail list --failed')
    .action(({ failed = false, limit }: { failed?: boolean; limit: number }, command: Command) =>
      withSession(command, async ({ db, output }) => {
        const mails = await listAllMails(db, { failed, limit });
        const rows = mails.map(({ mail: one, licenseId, attempts, error, isNobodys }) => ({
          ...mailJson(one),
          license_id: licenseId,
          attempts,
          error,
          ...(isNobodys && { error: 'NOBODYS' }),
        }));
        output.print(rows, () =>
          formatTable(
            ['ID', 'TYPE', 'STATE', 'LICENCE', 'QUEUED', 'SENT', 'ATTEMPTS', 'WHY NOT'],
            rows.map((row) => [
              ...[row.id, row.type, row.state, row.license_id, row.created_at, row.sent_at, row.attempts],
              row.error === null ? null : describeStored(failures.mail, row.error),
            ]),
            'No mails.',
          ),
        );
      }),
    );
}
