/** Why a mail was not taken. Codes are stored and shown; they hold no address and no secret. */

export type MailFailureCode =
  /** the server takes no mail for this address */
  | 'ADDRESS_REFUSED'
  /** the server does not want this mail */
  | 'MAIL_REFUSED'
  | 'SENDER_REFUSED'
  | 'PASSWORD_REFUSED'
  /** the server asks to come again */
  | 'LATER'
  | 'TLS'
  | 'TIMEOUT'
  | 'NOT_CONNECTED'
  | 'SENDMAIL'
  | 'FOLDER'
  | 'UNKNOWN';

export class MailFailure extends Error {
  constructor(
    readonly code: MailFailureCode,
    /** the server's three digits */
    readonly status?: number | undefined,
    /** what the server said, which may name the address: for the person who asked, never for a log */
    readonly said?: string | undefined,
  ) {
    super(code);
  }

  /** Trying again would be refused again. All else may be mended: a password, a full mailbox, the server. */
  get isFinal(): boolean {
    return this.code === 'ADDRESS_REFUSED' || this.code === 'MAIL_REFUSED';
  }

  /** As it is stored, such as `ADDRESS_REFUSED 550`. */
  get stored(): string {
    return this.status === undefined ? this.code : `${this.code} ${this.status}`;
  }
}

interface SmtpError extends Error {
  code?: string;
  originalCode?: string;
  responseCode?: number;
  response?: string;
  command?: string;
}

export function toMailFailure(error: unknown): MailFailure {
  if (error instanceof MailFailure) return error;
  const { responseCode: status, response: said } = error as SmtpError;
  return new MailFailure(codeOf(error as SmtpError), status, said);
}

function codeOf({
  code = '',
  originalCode = '',
  responseCode,
  command = '',
  name,
}: SmtpError): MailFailureCode {
  if (code === 'EAUTH' || code === 'ENOAUTH') return 'PASSWORD_REFUSED';
  if (code === 'ETLS' || /CERT|SSL|TLS|SELF_SIGNED|VERIFY/.test(code + originalCode)) return 'TLS';
  if (code === 'ETIMEDOUT' || code === 'EABORT' || name === 'AbortError') return 'TIMEOUT';
  if (responseCode !== undefined && responseCode < 500) return 'LATER';
  if (responseCode !== undefined && (code === 'EENVELOPE' || code === 'EMESSAGE')) {
    if (command === 'MAIL FROM') return 'SENDER_REFUSED';
    return code === 'EMESSAGE' ? 'MAIL_REFUSED' : 'ADDRESS_REFUSED';
  }
  return ['ECONNECTION', 'EDNS', 'ESOCKET', 'EPROTOCOL'].includes(code) ? 'NOT_CONNECTED' : 'UNKNOWN';
}

/** The code that a row's `last_error` begins with. */
export function failureCode(stored: string): string {
  return stored.split(' ')[0] ?? '';
}

const WORDS: Record<string, string> = {
  ADDRESS_REFUSED: 'the mail server takes no mail for this address',
  MAIL_REFUSED: 'the mail server refused this mail',
  SENDER_REFUSED: 'the mail server does not let this sender send',
  PASSWORD_REFUSED: 'the mail server refused the user or the password',
  LATER: 'the mail server asked to try again later',
  TLS: "the connection could not be encrypted, or the mail server's certificate is not valid for its name",
  TIMEOUT: 'the mail server did not answer in time',
  NOT_CONNECTED: 'the mail server cannot be reached',
  SENDMAIL: 'the sendmail program failed or cannot be run',
  FOLDER: 'the folder for mails cannot be written to',
  NO_CUSTOMER: 'the licence has no customer with an e-mail address any more',
  KEY_UNKNOWN: "the licence's key cannot be revealed",
};

/** A stored code in words for the operator, as a clause. */
export function describeFailure(stored: string): string {
  const [code = '', status] = stored.split(' ');
  return `${WORDS[code] ?? 'of an unknown fault'}${status === undefined ? '' : ` (${status})`}`;
}
