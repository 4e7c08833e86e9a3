import { randomBytes } from 'node:crypto';
import { OperatorError } from '../licensing/operator-error';
import type { CustomerLanguage } from '../texts/customers/languages';
import { failures } from '../texts/operators/en/failures';
import { describeStored, mailRemedy } from '../texts/operators/failures';
import { composerOf, composeTest, type MailConfig } from './compose';
import { toMailFailure } from './failures';
import { doctor } from '../texts/operators/en/doctor';
import type { MailOff } from '../texts/operators/doctor';
import type { MailSettings } from './settings';
import { createMailTransport } from './transport';

/** Tests mail settings while the user waits. */

const TEST_LIMIT_MS = 60_000;
const TRY_TIMEOUTS = { connect: 10_000, silence: 10_000 };

/** The mail server's response, and the parts of the settings that its reader may see. */
export interface TestedMail {
  to: string;
  from: string;
  /** the mail server's response */
  answer: string;
}

/** Sends a test mail at once. @throws OperatorError (CONFLICT) if mail is off, or the mail was refused */
export async function sendTestMail(
  config: MailConfig & { mailOff: MailOff | undefined; mailLanguage: CustomerLanguage },
  to: string,
  gainsNoRights: boolean,
): Promise<TestedMail> {
  // A test mail has no one-time code.
  const composer = composerOf(config, () => Promise.resolve(undefined));
  if (config.mail === undefined || composer === undefined)
    throw new OperatorError(
      config.mail === undefined && config.mailOff !== undefined
        ? doctor.mailOff[config.mailOff]
        : 'Links in mails need the address of the site, which is not set: licensing settings set public_url https://shop.example',
      { code: 'CONFLICT', facts: { reason: 'mail-off' } },
    );
  const { mail: settings, mailLanguage: language } = config;
  const messageId = randomBytes(16).toString('hex');
  const composed = composeTest(to, { language, messageId }, composer);
  const from = { address: settings.from.address, name: composer.shopName };
  const signal = AbortSignal.timeout(TEST_LIMIT_MS);
  const answer = await createMailTransport(settings, { gainsNoRights })
    .send(composed, from, signal)
    .catch((error: unknown) => {
      throw mailRefused('The mail was not sent', settings, error);
    });
  return { to, from: from.address, answer };
}

/** Connects and logs in without sending a mail. @throws OperatorError (CONFLICT) with the field's name */
export async function tryMailServer(
  settings: MailSettings,
  { field, gainsNoRights }: { field: string; gainsNoRights: boolean },
): Promise<void> {
  await createMailTransport(settings, { gainsNoRights, timeouts: TRY_TIMEOUTS })
    .verify()
    .catch((error: unknown) => {
      throw mailRefused('The mail server was tried, and nothing was saved', settings, error, field);
    });
}

function mailRefused(what: string, settings: MailSettings, error: unknown, field?: string): OperatorError {
  const { stored, said } = toMailFailure(error);
  const remedy = mailRemedy(failures, stored, settings.from.address);
  const parts = [
    `${what}, by ${settings.source}: ${describeStored(failures.mail, stored)}.`,
    ...(said === undefined ? [] : [`The server answered: ${oneLine(said)}`]),
    ...(remedy === undefined ? [] : [remedy]),
  ];
  return new OperatorError(parts.join(' '), {
    code: 'CONFLICT',
    field,
    facts: {
      reason: field === undefined ? 'mail-refused' : 'mail-server',
      failure: stored,
      said: said === undefined ? null : oneLine(said),
    },
  });
}

function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\s]+/gu, ' ').trim();
}
