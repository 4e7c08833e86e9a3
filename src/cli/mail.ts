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
    .description("Sends a test mail at once, and prints the mail server's answer.")
    .argument('<address>', 'the recipient', emailAddress)
    .addHelpText('after', '\nExample:\n  licensing mail test jane@example.com')
    .action((address: string, _options: object, command: Command) =>
      withSession(command, async (session) => {
        const { output, config } = session;
        for (const fault of findTextFaults(config.mailTexts)) output.note(`note: ${fault}`);
        const sent = await operate(session, configurationOperations.sendTestMail, { body: { to: address } });
        output.print(
          sent,
          `The mail server accepted the mail to ${address}, from ${sent.from}: ${sent.answer}`,
        );
      }),
    );
}

function addText(mail: Command): void {
  const text = mail.command('text').description('The texts of mails: built-in texts, and your own.');
  const named = (command: Command) =>
    command
      .argument('<name>', 'such as license_key; "licensing mail text list" shows all', oneOf(TEXT_NAMES))
      .argument('<language>', 'en or de', oneOf(CUSTOMER_LANGUAGES));
  text
    .command('list')
    .description('Lists the texts, and the source of each.')
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
    .description('Prints a text. Its first line is the subject.')
    .option('--preview', 'fill in the text for an invented customer')
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
    .description('Sets a text of your own. A file in LICENSING_MAIL_TEXTS_DIR takes precedence.')
    .argument('<file>', 'the text, whose first line is the subject; - reads standard input', fileName)
    .addHelpText('after', '\nExample:\n  licensing mail text set license_key de license_key.de.txt')
    .action((name: TextName, language: CustomerLanguage, file: string, _options: object, command: Command) =>
      withSession(command, async (session) => {
        const body = { text: await readText(file) };
        const set = await operate(session, mailTextOperations.setMailText, {
          path: { name, language },
          body,
        });
        session.output.print(set, `From now on, the mail ${name} has your text in ${language}.`);
      }),
    );
  named(text.command('reset'))
    .description('Restores the built-in text.')
    .addHelpText('after', '\nExample:\n  licensing mail text reset license_key de')
    .action((name: TextName, language: CustomerLanguage, _options: object, command: Command) =>
      withSession(command, async (session) => {
        const reset = await operate(session, mailTextOperations.resetMailText, { path: { name, language } });
        session.output.print(reset, `The mail ${name} has the built-in text in ${language} again.`);
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
    .description("Mails a licence's key to its customer, even if it was mailed before.")
    .argument('<key>', KEY_ARGUMENT)
    .addHelpText('after', '\nExample:\n  licensing mail send 12')
    .action((key: string, _options: object, command: Command) =>
      withSession(command, async (session) => {
        const { id, customer } = await licenseArgument(session.db, key);
        session.output.print(
          await operate(session, mailOperations.sendLicenseMail, { path: { id } }),
          `The key of licence ${id} will be mailed to ${customer ?? '-'} as soon as the service runs.`,
        );
      }),
    );
}

function addAnswer(mail: Command): void {
  mail
    .command('answer')
    .description(
      "Prints an answer to a licence's customer that fits the present state of the licence, or mails it.",
    )
    .argument('<key>', KEY_ARGUMENT)
    .option('--language <code>', "en or de; default: the customer's language", oneOf(CUSTOMER_LANGUAGES))
    .option('--send', 'mail the answer instead of printing it')
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
        session.output.print(
          sent,
          `The answer will be mailed to ${ready.to ?? '-'} as soon as the service runs.`,
        );
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
      'only mails that failed and will be tried again, and mails that were given up and neither sent again nor dismissed',
    )
    .option('--limit <n>', 'how many to list', positiveInteger, 100)
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
    .description('Resends a mail that was given up, to the present address of its order or licence.')
    .argument('<id>', 'its id; "licensing mail list --failed" shows it', positiveInteger)
    .addHelpText('after', '\nExample:\n  licensing mail again 77')
    .action((id: number, _options: object, command: Command) =>
      withSession(command, async (session) => {
        const sent = await operate(session, mailOperations.sendMailAgain, { path: { id } });
        session.output.print(
          sent,
          `Mail ${id} will be sent again, as mail ${sent.id}, as soon as the service runs.`,
        );
      }),
    );
}

function addDismiss(mail: Command): void {
  mail
    .command('dismiss')
    .description('Removes a mail that was given up from the lists of things that need your attention.')
    .argument('<id>', 'its id; "licensing mail list --failed" shows it', positiveInteger)
    .addHelpText('after', '\nExample:\n  licensing mail dismiss 77')
    .action((id: number, _options: object, command: Command) =>
      withSession(command, async (session) => {
        const dismissed = await operate(session, mailOperations.dismissMail, { path: { id } });
        session.output.print(dismissed, `Mail ${id} is dismissed.`);
      }),
    );
}
