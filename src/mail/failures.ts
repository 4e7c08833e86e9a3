import { CodedError } from '../base/errors';
import type { MailFailureCode } from '../texts/operators/failures';

/** Classifies the failures of sending a mail. Codes are stored and shown, and contain neither addresses nor secrets. */

export class MailFailure extends CodedError<MailFailureCode> {
  constructor(
    code: MailFailureCode,
    /** the server's three digits */
    readonly status?: number | undefined,
    /** the server's text, which may contain the address: only for the user who sends, never for a log */
    readonly said?: string | undefined,
  ) {
    super(code, code);
  }

  /** Reports whether a retry would fail too. Other failures may pass: a wrong password, full mailbox or stopped server. */
  get isFinal(): boolean {
    return this.code === 'ADDRESS_REFUSED' || this.code === 'MAIL_REFUSED';
  }

  /** Reports whether every mail would fail now, regardless of its recipient. */
  get isOfServer(): boolean {
    return (
      this.code.startsWith('SENDMAIL') ||
      ['PASSWORD_REFUSED', 'TLS', 'NOT_RESOLVED', 'NOT_CONNECTED', 'FOLDER'].includes(this.code)
    );
  }

  /** Returns the form that is stored, such as `ADDRESS_REFUSED 550`. */
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
  const { responseCode: status, response = '' } = error as SmtpError;
  // Drop lines of another protocol: the caller may name any host, and must not read another service (RFC 5321, 4.2).
  const said = response.split(/\r?\n/).filter((line) => /^[2-5]\d\d(?:[ -]|$)/.test(line));
  return new MailFailure(codeOf(error as SmtpError), status, said.join('\n') || undefined);
}

function codeOf({
  code = '',
  originalCode = '',
  responseCode: status,
  response = '',
  command = '',
  name,
}: SmtpError): MailFailureCode {
  if (code === 'ETLS' || /CERT|SSL|TLS|SELF_SIGNED|VERIFY/.test(code + originalCode)) return 'TLS';
  if (code === 'ETIMEDOUT' || code === 'EABORT' || name === 'AbortError') return 'TIMEOUT';
  if (status !== undefined && status < 500) return 'LATER';
  if (code === 'EAUTH' || code === 'ENOAUTH') return 'PASSWORD_REFUSED';
  if (status !== undefined && (code === 'EENVELOPE' || code === 'EMESSAGE')) {
    if (command === 'MAIL FROM') return 'SENDER_REFUSED';
    if (code === 'EMESSAGE') return 'MAIL_REFUSED';
    return isAboutAddress(status, response) ? 'ADDRESS_REFUSED' : 'SENDER_REFUSED';
  }
  if (code === 'EDNS') return 'NOT_RESOLVED';
  return ['ECONNECTION', 'ESOCKET', 'EPROTOCOL'].includes(code) ? 'NOT_CONNECTED' : 'UNKNOWN';
}

/**
 * Reports whether a refusal of RCPT is about the address. Servers also refuse the sender at this point: Postfix does so
 * by default (`smtpd_delay_reject`). Such a mail is not given up, because the seller can correct the cause. The
 * enhanced status decides (RFC 3463), otherwise the reply's number and words.
 */
function isAboutAddress(status: number, response: string): boolean {
  const [, enhanced] = /^\d{3}[ -](5\.\d{1,3}\.\d{1,3})\b/.exec(response) ?? [];
  // Exchange Online replies 5.4.1 for an unknown address; 5.1.7 and 5.1.8 are about the sender's address.
  if (enhanced !== undefined) return /^5\.[124]\./.test(enhanced) && !/^5\.1\.[78]$/.test(enhanced);
  return [501, 550, 551, 553, 556].includes(status) && !/relay|authenticat|block|black/i.test(response);
}
