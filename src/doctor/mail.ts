import { toMailFailure } from '../mail/failures';
import { failures as german } from '../texts/operators/de/failures';
import { failures } from '../texts/operators/en/failures';
import { describeStored, mailRemedy } from '../texts/operators/failures';
import { STORED_MAIL } from '../mail/settings';
import { findTextFaults } from '../mail/texts';
import { createMailTransport } from '../mail/transport';
import { serviceGainsNoRights } from '../process/units';
import { countUndelivered } from '../store/outbox';
import { ok, problem, warning, type Check, type Finding } from './finding';

const PATIENCE_MS = 5_000;
const WEEK_MS = 7 * 24 * 60 * 60 * 1000;

/** Checks that mails can leave this machine, without sending one. */
export const checkMail: Check = async ({ config }) => {
  const { mail, mailOff, publicUrl, mailTexts } = config;
  if (mail === undefined)
    return [
      ok(
        'MAIL',
        `Mail is off: ${mailOff?.english ?? 'it is not set up.'}`,
        `Der Mailversand ist aus: ${mailOff?.german ?? 'Er ist nicht eingerichtet.'}`,
      ),
    ];
  if (publicUrl === undefined)
    return [
      warning(
        'MAIL_OFF',
        'Mail is off: LICENSING_PUBLIC_URL is not set.',
        {
          why: 'Links in mails need the address of the site.',
          remedy: 'Set LICENSING_PUBLIC_URL, and restart the service.',
        },
        {
          what: 'Der Mailversand ist aus: LICENSING_PUBLIC_URL ist nicht gesetzt.',
          why: 'Links in Mails brauchen die Adresse der Website.',
          remedy: 'Setzen Sie LICENSING_PUBLIC_URL, und starten Sie den Dienst neu.',
        },
      ),
    ];
  const faults = findTextFaults(mailTexts).map((fault) =>
    warning(
      'MAIL_TEXT',
      fault,
      {
        why: 'The text that comes with this program is sent instead.',
        remedy: 'Correct the file (docs/mail.md); a restart is not needed.',
      },
      {
        what: 'Ein eigener Mailtext ist nicht benutzbar.',
        said: fault,
        why: 'Stattdessen wird der Text gesendet, der mit diesem Programm kommt.',
        remedy: 'Berichtigen Sie die Datei (docs/mail.md); ein Neustart ist nicht nötig.',
      },
    ),
  );
  try {
    const timeouts = { connect: PATIENCE_MS, silence: PATIENCE_MS };
    await createMailTransport(mail, { timeouts, gainsNoRights: await serviceGainsNoRights() }).verify();
  } catch (error) {
    const { stored } = toMailFailure(error);
    const isOwn = mail.source === 'LICENSING_MAIL_URL' || mail.source === STORED_MAIL;
    const what = `Mails cannot be sent, by ${mail.source}: ${describeStored(failures.mail, stored)}.`;
    const remedy =
      mailRemedy(failures, stored, mail.from.address) ??
      `Correct ${isOwn ? mail.source : "the site's mail settings"}, and try: licensing mail test ADDRESS`;
    const why = 'Mails wait, and are tried again for two days.';
    const inGerman = {
      what: `Mails können nicht gesendet werden (eingestellt durch ${sourceInGerman(mail.source)}). ${describeStored(german.mail, stored)}.`,
      why: 'Mails warten und werden zwei Tage lang wieder versucht.',
      remedy:
        mailRemedy(german, stored, mail.from.address) ??
        `Berichtigen Sie ${isOwn ? sourceInGerman(mail.source) : 'die Mail-Einstellungen der Website'}, und versuchen Sie: licensing mail test ADDRESS`,
    };
    return [
      // A shop that wants no mails need not have a site that can send.
      (isOwn ? problem : warning)('MAIL', what, { why, remedy }, inGerman),
      ...faults,
    ];
  }
  return [
    ok(
      'MAIL',
      `Mails can be sent from ${mail.from.address}, by ${mail.source}.`,
      `Mails können von ${mail.from.address} gesendet werden (eingestellt durch ${sourceInGerman(mail.source)}).`,
    ),
    ...faults,
  ];
};

function sourceInGerman(source: string): string {
  if (source === STORED_MAIL) return 'die gespeicherten Einstellungen';
  return source === 'LICENSING_MAIL_URL' ? source : 'configuration.php der Website';
}

/** Tells of mails that did not leave. */
export const checkOutbox: Check = async ({ db, now }): Promise<Finding[]> => {
  const { failed, waiting } = await countUndelivered(db, 'mail', new Date(now().getTime() - WEEK_MS));
  if (failed + waiting === 0) return [];
  return [
    warning(
      'MAILS_NOT_SENT',
      `Mails given up within a week: ${failed}. Mails that failed and are tried again: ${waiting}.`,
      {
        why: 'Customers did not get their key, link or reminder.',
        remedy: '"licensing mail list --failed" shows why, and "licensing mail send KEY" mails a key again.',
      },
      {
        what: `In einer Woche aufgegebene Mails: ${failed}. Mails, die scheiterten und wieder versucht werden: ${waiting}.`,
        why: 'Kunden haben ihren Schlüssel, ihren Link oder ihre Erinnerung nicht bekommen.',
        remedy:
          '„licensing mail list --failed“ zeigt die Gründe, und „licensing mail send KEY“ sendet einen Schlüssel noch einmal.',
      },
    ),
  ];
};
