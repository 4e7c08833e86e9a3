import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { OperatorError } from '../licensing/operator-error';
import { asCaller } from '../process/rights';
import { listAllMails, reportJson } from '../mail/queue';
import { findTextFaults, TEXT_NAMES, type TextName } from '../mail/texts';
import { answerOperations } from '../operations/answers';
import { configurationOperations } from '../operations/configuration';
import { mailTextOperations } from '../operations/mail-texts';
import { mailOperations } from '../operations/mails';
import { explainReadFault } from '../packages/file-faults';
import { CUSTOMER_LANGUAGES, type CustomerLanguage } from '../texts/customers/languages';
import { failures } from '../texts/operators/en/failures';
import { describeStored } from '../texts/operators/failures';
import { emailAddress, fileName, oneOf, positiveInteger } from './arguments';
import { withSession } from './command';
import { KEY_ARGUMENT, licenseArgument } from './license-argument';
import { operate } from './operate';
import { readValue } from './standard-input';
import { formatTable } from './tables';

export function addMailCommands(program: Command): void {
  const mail = program.command('mail').description('Mails to customers: keys, links and reminders.');
  addTest(mail);
  addSend(mail);
  addAnswer(mail);
  addList(mail);
  addAgain(mail);
  addDismiss(mail);
  addText(mail);
}

function addTest(mail: Command): void {
  mail
    .command('test')
    .description('Sends a test mail at once, and prints what the mail server said.')
    .argument('<address>', 'where it goes', emailAddress)
    .addHelpText('after', '\nExample:\n  licensing mail test jane@example.com')
    .action((address: string, _options: object, command: Command) =>
      withSession(command, async (session) => {
        const { output, config } = session;
        for (const fault of findTextFaults(config.mailTexts)) output.note(`note: ${fault}`);
        const sent = await operate(session, configurationOperations.sendTestMail, { body: { to: address } });
        output.print(sent, `The mail to ${address}, from ${sent.from}, was taken: ${sent.answer}`);
      }),
    );
}

function addText(mail: Command): void {
  const text = mail.command('text').description('The texts of mails: those of this program, and your own.');
  const named = (command: Command) =>
    command
      .argument('<name>', 'such as license_key; "mail text list" shows all', oneOf(TEXT_NAMES))
      .argument('<language>', 'en or de', oneOf(CUSTOMER_LANGUAGES));
  text
    .command('list')
    .description('Lists the texts, and where each comes from.')
    .addHelpText('after', '\nExample:\n  licensing mail text list')
    .action((_options: object, command: Command) =>
      withSession(command, async (session) => {
        const rows = await operate(session, mailTextOperations.listMailTexts);
        session.output.print(rows, () =>
          formatTable(
            ['NAME', 'LANGUAGE', 'SOURCE'],
            rows.map(({ name, language, source }) => [name, language, source]),
          ),
        );
      }),
    );
  named(text.command('show'))
    .description('Prints a text, with the subject in the first line.')
    .option('--preview', 'filled in for a customer who does not exist')
    .addHelpText('after', '\nExample:\n  licensing mail text show license_key de > license_key.de.txt')
    .action((name: TextName, language: CustomerLanguage, options: { preview?: true }, command: Command) =>
      withSession(command, async (session) => {
        const path = { name, language };
        if (options.preview) {
          const mail = await operate(session, mailTextOperations.previewMailText, { path });
          session.output.print(mail, `${mail.subject}\n\n${mail.text.trim()}`);
          return;
        }
        const found = await operate(session, mailTextOperations.getMailText, { path });
        session.output.print(found, found.text.trim());
      }),
    );
  named(text.command('set'))
    .description('Sets a text of your own. A file in LICENSING_MAIL_TEXTS_DIR wins over it.')
    .argument('<file>', 'the text, with the subject in the first line; - reads standard input', fileName)
    .addHelpText('after', '\nExample:\n  licensing mail text set license_key de license_key.de.txt')
    .action((name: TextName, language: CustomerLanguage, file: string, _options: object, command: Command) =>
      withSession(command, async (session) => {
        const body = { text: await readText(file) };
        const set = await operate(session, mailTextOperations.setMailText, {
          path: { name, language },
          body,
        });
        session.output.print(set, `The mail ${name} has your text in ${language} from now on.`);
      }),
    );
  named(text.command('reset'))
    .description('Returns to the text that comes with this program.')
    .addHelpText('after', '\nExample:\n  licensing mail text reset license_key de')
    .action((name: TextName, language: CustomerLanguage, _options: object, command: Command) =>
      withSession(command, async (session) => {
        const reset = await operate(session, mailTextOperations.resetMailText, { path: { name, language } });
        session.output.print(reset, `The mail ${name} has the text of this program in ${language} again.`);
      }),
    );
}

async function readText(file: string): Promise<string> {
  if (file === '-') return readValue('-', 'Text');
  return asCaller(() => readFile(file, 'utf8')).catch((error: unknown) => {
    throw new OperatorError(`The text ${file} cannot be read: ${explainReadFault(error)}.`);
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
        const { id, customer } = await licenseArgument(session.db, key);
        session.output.print(
          await operate(session, mailOperations.sendLicenseMail, { path: { id } }),
          `The key of licence ${id} is mailed to ${customer ?? '-'} as soon as the service runs.`,
        );
      }),
    );
}

function addAnswer(mail: Command): void {
  mail
    .command('answer')
    .description("Prints the ready answer to a licence's customer, by what holds now, or mails it.")
    .argument('<key>', KEY_ARGUMENT)
    .option('--language <code>', "en or de; by default the customer's", oneOf(CUSTOMER_LANGUAGES))
    .option('--send', 'mail it as it is printed without this option')
    .addHelpText(
      'after',
      '\nExamples:\n  licensing mail answer 12\n  licensing mail answer 12 --language de --send',
    )
    .action((key: string, { language, send }: AnswerOptions, command: Command) =>
      withSession(command, async (session) => {
        const { id } = await licenseArgument(session.db, key);
        const ready = await operate(session, answerOperations.getLicenseAnswer, {
          path: { id },
          query: { language },
        });
        const { subject, body } = ready;
        if (!send) {
          session.output.print(ready, `To: ${ready.to ?? '-'}\nSubject: ${subject}\n\n${body}`);
          return;
        }
        const sent = await operate(session, answerOperations.sendAnswer, {
          body: { license_id: id, subject, body, language: ready.language as CustomerLanguage },
        });
        session.output.print(sent, `The answer is mailed to ${ready.to ?? '-'} as soon as the service runs.`);
      }),
    );
}

interface AnswerOptions {
  language?: CustomerLanguage;
  send?: true;
}

function addList(mail: Command): void {
  mail
    .command('list')
    .description('Lists the latest mails, with their recipients.')
    .option(
      '--failed',
      'only those that failed and are tried again, or were given up and not sent again or dismissed',
    )
    .option('--limit <n>', 'how many at the most', positiveInteger, 100)
    .addHelpText('after', '\nExample:\n  licensing mail list --failed')
    .action(({ failed = false, limit }: { failed?: boolean; limit: number }, command: Command) =>
      withSession(command, async ({ db, output }) => {
        const mails = await listAllMails(db, { failed, limit });
        const rows = mails.map((one) => ({
          ...reportJson(one),
          ...(one.isNobodys && { error: 'NOBODYS' }),
        }));
        output.print(rows, () =>
          formatTable(
            ['ID', 'TYPE', 'STATE', 'LICENCE', 'TO', 'QUEUED', 'SENT', 'ATTEMPTS', 'WHY NOT'],
            rows.map((row) => [
              ...[row.id, row.type, row.state, row.license_id, row.recipient],
              ...[row.created_at, row.sent_at, row.attempts],
              row.error === null ? null : describeStored(failures.mail, row.error),
            ]),
            'No mails.',
          ),
        );
      }),
    );
}

function addAgain(mail: Command): void {
  mail
    .command('again')
    .description('Sends a mail again that was given up, to the address that its order or licence has now.')
    .argument('<id>', 'its id, from "mail list --failed"', positiveInteger)
    .addHelpText('after', '\nExample:\n  licensing mail again 77')
    .action((id: number, _options: object, command: Command) =>
      withSession(command, async (session) => {
        const sent = await operate(session, mailOperations.sendMailAgain, { path: { id } });
        session.output.print(
          sent,
          `Mail ${id} is sent again as mail ${sent.id} as soon as the service runs.`,
        );
      }),
    );
}

function addDismiss(mail: Command): void {
  mail
    .command('dismiss')
    .description('Takes a mail that was given up off the lists of what needs you.')
    .argument('<id>', 'its id, from "mail list --failed"', positiveInteger)
    .addHelpText('after', '\nExample:\n  licensing mail dismiss 77')
    .action((id: number, _options: object, command: Command) =>
      withSession(command, async (session) => {
        const dismissed = await operate(session, mailOperations.dismissMail, { path: { id } });
        session.output.print(dismissed, `Mail ${id} is dismissed.`);
      }),
    );
}
