import { DAY_MS } from '../base/days';
import { toMailFailure } from '../mail/failures';
import { describeRoute, STORED_MAIL } from '../mail/settings';
import { findTextFaults } from '../mail/texts';
import { createMailTransport } from '../mail/transport';
import { serviceGainsNoRights } from '../process/units';
import { countUndelivered } from '../store/outbox';
import { ok, problem, warning, type Check, type CheckFinding } from './finding';

const TIMEOUT_MS = 5_000;
const WEEK_MS = 7 * DAY_MS;

/** Checks that mails can leave this machine, without sending one. */
export const checkMail: Check = async ({ config }) => {
  const { mail, mailOff, publicUrl, mailTexts } = config;
  if (mail === undefined) return [ok('MAIL', (t) => t.mailIsOff(t.mailOff[mailOff ?? 'unset']))];
  if (publicUrl === undefined) return [warning('MAIL_OFF', (t) => t.mailWithoutUrl)];
  const faults = findTextFaults(mailTexts).map((fault) => warning('MAIL_TEXT', (t) => t.mailText(fault)));
  try {
    const timeouts = { connect: TIMEOUT_MS, silence: TIMEOUT_MS };
    await createMailTransport(mail, { timeouts, gainsNoRights: await serviceGainsNoRights() }).verify();
  } catch (error) {
    const { stored } = toMailFailure(error);
    const isOwn = mail.source === 'LICENSING_MAIL_URL' || mail.source === STORED_MAIL;
    return [
      // Only warn about the site's own mail settings: a shop that wants no mails may have a site that cannot send.
      (isOwn ? problem : warning)('MAIL', (t) =>
        t.mailFails(describeRoute(mail), mail.source, stored, mail.from.address),
      ),
      ...faults,
    ];
  }
  return [ok('MAIL', (t) => t.mailWorks(describeRoute(mail), mail.source)), ...faults];
};

/** Reports mails that were not sent. */
export const checkOutbox: Check = async ({ db, now }): Promise<CheckFinding[]> => {
  const { failed, waiting } = await countUndelivered(db, new Date(now().getTime() - WEEK_MS));
  if (failed + waiting === 0) return [];
  return [warning('MAILS_NOT_SENT', (t) => t.mailsNotSent(failed, waiting))];
};
