/** The reasons for failures, in one language. Each text is a clause that follows a colon, without its full stop. */
export interface FailureTexts {
  /** `NOBODYS`: the failure of a link that was requested for an address without a customer */
  mail: Record<MailFailureCode | ComposeFailure | 'NOBODYS', string>;
  webhook: Record<PostFailure, string>;
  /** the reason why a shop's own list could not be read */
  catchUp: Record<AskFailure, string>;
  /** the reason why a line of an order waits. @param what the article, or the renewed order; missing: not named */
  waits: Record<WaitsFor, (what?: string) => string>;
  /** the reason why an order's keys were not mailed */
  keysNotMailed: Record<NoMailReason, string>;
  /** the remedy if sendmail lacks rights */
  mailRights: (from: string) => string;
}

export type MailFailureCode =
  /** the server does not accept mail for this address */
  | 'ADDRESS_REFUSED'
  /** the server refuses this mail */
  | 'MAIL_REFUSED'
  /** the server accepts nothing from this sender or this machine: relaying denied, a block list, no authentication */
  | 'SENDER_REFUSED'
  | 'PASSWORD_REFUSED'
  /** the server asks for a retry */
  | 'LATER'
  | 'TLS'
  | 'TIMEOUT'
  /** the server's name was not found */
  | 'NOT_RESOLVED'
  /** no server, or a different service, answers at its port */
  | 'NOT_CONNECTED'
  | 'SENDMAIL'
  /** the program needs rights that systemd's NoNewPrivileges withholds */
  | 'SENDMAIL_RIGHTS'
  /** the program in the site's settings is not a mail program that only root can change */
  | 'SENDMAIL_OWNER'
  | 'FOLDER'
  | 'UNKNOWN';

export type ComposeFailure = 'NO_CUSTOMER' | 'KEY_UNKNOWN' | 'ANSWER_UNKNOWN';

/** The stored reason for a failed attempt; with a status, `STATUS 500`. */
export type PostFailure =
  | 'STATUS'
  /** a CDN or firewall answered instead of the receiver */
  | 'CHALLENGED'
  | 'TIMEOUT'
  | 'ADDRESS_REFUSED'
  | 'NOT_RESOLVED'
  | 'TLS'
  | 'NOT_CONNECTED'
  | 'INVALID_ANSWER'
  | 'SECRET'
  | 'UNKNOWN';

export type NoMailReason = 'test' | 'nothing_issued' | 'off' | 'no_address' | 'mail_off' | 'not_sent';

/** The stored reason why a list could not be read; with a status, `STATUS 500`. */
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

/** The reason why a line of a sender's message cannot be accepted as it arrived (orders/message.ts). */
export type LineProblem = 'no_article' | 'bad_quantity' | 'bad_article' | 'unreadable';

/** Returns a stored failure, such as `ADDRESS_REFUSED 550`, as a clause. */
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

/** Returns the remedy for a mail failure that the settings cause; undefined if there is no general one. */
export function mailRemedy(
  { mailRights }: Pick<FailureTexts, 'mailRights'>,
  stored: string,
  from: string,
): string | undefined {
  return /^SENDMAIL_(?:RIGHTS|OWNER)/.test(stored) ? mailRights(from) : undefined;
}
