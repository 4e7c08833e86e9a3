/** Why something did not happen, in one language. Each text is a clause that follows a colon, without its full stop. */
export interface FailureTexts {
  /** `NOBODYS`: a link that was asked for with an address that no customer has */
  mail: Record<MailFailureCode | ComposeFailure | 'NOBODYS', string>;
  webhook: Record<PostFailure, string>;
  /** why a shop's own list could not be read */
  catchUp: Record<AskFailure, string>;
  /** why a line of an order waits. @param what the article, or the order that it renews; missing: not to be named */
  waits: Record<WaitsFor, (what?: string) => string>;
  /** why an order's keys were not mailed */
  keysNotMailed: Record<NoMailReason, string>;
  /** what helps where the rights of sendmail do not suffice */
  mailRights: (from: string) => string;
}

export type MailFailureCode =
  /** the server takes no mail for this address */
  | 'ADDRESS_REFUSED'
  /** the server does not want this mail */
  | 'MAIL_REFUSED'
  /** the server takes nothing from this sender or this machine: relaying denied, a block list, no sign-in */
  | 'SENDER_REFUSED'
  | 'PASSWORD_REFUSED'
  /** the server asks to come again */
  | 'LATER'
  | 'TLS'
  | 'TIMEOUT'
  /** the server's name was not found */
  | 'NOT_RESOLVED'
  /** no server, or another service, answers at its port */
  | 'NOT_CONNECTED'
  | 'SENDMAIL'
  /** the program needs rights that systemd's NoNewPrivileges keeps from it */
  | 'SENDMAIL_RIGHTS'
  /** the program of the site's settings is not a mail program that only root can change */
  | 'SENDMAIL_OWNER'
  | 'FOLDER'
  | 'UNKNOWN';

export type ComposeFailure = 'NO_CUSTOMER' | 'KEY_UNKNOWN' | 'ANSWER_UNKNOWN';

/** Why an attempt failed, as it is stored; with a status, `STATUS 500`. */
export type PostFailure =
  | 'STATUS'
  | 'TIMEOUT'
  | 'ADDRESS_REFUSED'
  | 'NOT_RESOLVED'
  | 'TLS'
  | 'NOT_CONNECTED'
  | 'INVALID_ANSWER'
  | 'SECRET'
  | 'UNKNOWN';

export type NoMailReason = 'test' | 'nothing_issued' | 'off' | 'no_address' | 'mail_off' | 'not_sent';

/** Why a list could not be read, as it is stored; with a status, `STATUS 500`. */
export type AskFailure =
  | PostFailure
  /** 401 or 403 */
  | 'KEY_REFUSED'
  | 'NOT_FOUND'
  | 'MOVED'
  | 'RATE_LIMITED'
  | 'TOO_LARGE';

export type WaitsFor =
  | 'not_mapped'
  | 'unknown_order'
  | 'too_many'
  | 'reference_in_use'
  | 'no_plan'
  | 'failed'
  | LineProblem
  | 'other';

/** Why a line of a sender's message cannot be taken as it came (orders/message.ts). */
export type LineProblem = 'no_article' | 'bad_quantity' | 'bad_article' | 'unreadable';

/** A stored failure, such as `ADDRESS_REFUSED 550`, as a clause. */
export function describeStored(texts: Record<string, string> & { UNKNOWN: string }, stored: string): string {
  const [code = '', status] = stored.split(' ');
  return `${texts[code] ?? texts.UNKNOWN}${status === undefined ? '' : ` (${status})`}`;
}

/** @param what see `FailureTexts.waits` */
export function describeWait(
  { waits }: Pick<FailureTexts, 'waits'>,
  waitsFor: string,
  what?: string,
): string {
  return ((waits[waitsFor as WaitsFor] as FailureTexts['waits'][WaitsFor] | undefined) ?? waits.other)(what);
}

/** What helps against a failure of mail that the settings cause; undefined: nothing general. */
export function mailRemedy(
  { mailRights }: Pick<FailureTexts, 'mailRights'>,
  stored: string,
  from: string,
): string | undefined {
  return /^SENDMAIL_(?:RIGHTS|OWNER)/.test(stored) ? mailRights(from) : undefined;
}
