/** The errors that all folders throw. Programs distinguish them by code; code that shows an error has its own words for it. */

/** The codes of errors that need no class of their own. */
type PlainCode =
  /** there is too much work to do it in time */
  | 'BUSY'
  | 'DEADLINE'
  | 'CLIENT_GONE'
  | 'BODY_TOO_LARGE'
  /** facts: the seconds after which the client may try again */
  | 'OVER_LIMIT'
  /** the site's configuration cannot be read now */
  | 'SITE_AWAY'
  /** the message explains the error to the operator, and never contains the password */
  | 'DATABASE_UNUSABLE'
  /** no server in the list is writable; the message has the reason for each */
  | 'NO_WRITABLE_NODE'
  /** another instance has taken over the call and answers it */
  | 'TAKEN_OVER'
  /** facts: an address that webhooks may not reach */
  | 'ADDRESS_REFUSED'
  /** the message states what the path leads to instead of a file */
  | 'NO_FILE'
  /** there was no response; the message is shown by a site after "Error connecting to the server: " */
  | 'NO_ANSWER'
  /** the message is the end of a sentence */
  | 'TOO_LARGE'
  /** a document that XML parsers do not accept; the message is the end of a sentence */
  | 'MALFORMED_XML'
  /** a document that would take too much time or memory; the message is a whole sentence */
  | 'XML_TOO_BIG';

/** The base class of errors with a code. `facts` has the details that the message is about. */
export class CodedError<Code extends string = PlainCode, Facts = undefined> extends Error {
  constructor(
    readonly code: Code,
    message = '',
    readonly facts?: Facts | undefined,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Reports whether an error has one of these codes. */
export function isCoded(error: unknown, ...codes: PlainCode[]): error is CodedError<PlainCode, unknown> {
  return error instanceof CodedError && codes.includes(error.code as PlainCode);
}

/** A request or message that cannot be read. The text is meant for its sender, and names the field. */
export class InvalidRequestError extends CodedError<'INVALID_REQUEST' | 'UNSUPPORTED_MEDIA_TYPE'> {
  constructor(message: string, code: InvalidRequestError['code'] = 'INVALID_REQUEST') {
    super(code, message);
  }
}

/** A setting that cannot be used. The message names it, with the expected form or a remedy. */
export class ConfigError extends CodedError<'CONFIGURATION'> {
  constructor(message: string, options?: ErrorOptions) {
    super('CONFIGURATION', message, undefined, options);
  }
}
