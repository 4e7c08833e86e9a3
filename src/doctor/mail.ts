import { describeFailure, remedyOf, toMailFailure } from '../mail/failures';
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
  if (mail === undefined) return [ok('MAIL', `Mail is off: ${mailOff ?? 'it is not set up.'}`)];
  if (publicUrl === undefined)
    return [
      warning('MAIL_OFF', 'Mail is off: LICENSING_PUBLIC_URL is not set.', {
        why: 'Links in mails need the address of the site.',
        remedy: 'Set LICENSING_PUBLIC_URL, and restart the service.',
      }),
    ];
  const faults = findTextFaults(mailTexts).map((fault) =>
    warning('MAIL_TEXT', fault, {
      why: 'The text that comes with this program is sent instead.',
      remedy: 'Correct the file (docs/mail.md); a restart is not needed.',
    }),
  );
  try {
    const timeouts = { connect: PATIENCE_MS, silence: PATIENCE_MS };
    await createMailTransport(mail, { timeouts, gainsNoRights: await serviceGainsNoRights() }).verify();
  } catch (error) {
    const { stored } = toMailFailure(error);
    const isOwn = mail.source === 'LICENSING_MAIL_URL';
    const what = `Mails cannot be sent, by ${mail.source}: ${describeFailure(stored)}.`;
    const remedy =
      remedyOf(stored, mail.from.address) ??
      `Correct ${isOwn ? mail.source : "the site's mail settings"}, and try: licensing mail test ADDRESS`;
    const why = 'Mails wait, and are tried again for two days.';
    return [
      // A shop that wants no mails need not have a site that can send.
      isOwn ? problem('MAIL', what, { why, remedy }) : warning('MAIL', what, { why, remedy }),
      ...faults,
    ];
  }
  return [ok('MAIL', `Mails can be sent from ${mail.from.address}, by ${mail.source}.`), ...faults];
};

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
    ),
  ];
};
