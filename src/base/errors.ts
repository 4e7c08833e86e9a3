/** What every folder throws and tells apart by. Programs read the code; whoever shows an error has its own words for it. */

/** The errors that need no class of their own. */
type PlainCode =
  /** more is asked for than can be done in time */
  | 'BUSY'
  | 'DEADLINE'
  | 'CLIENT_GONE'
  | 'BODY_TOO_LARGE'
  /** facts: in how many seconds to come again */
  | 'OVER_LIMIT'
  /** the configuration of the site cannot be read now */
  | 'SITE_AWAY'
  /** the message explains it to the operator and never contains the password */
  | 'DATABASE_UNUSABLE'
  /** no server of the list can be written to; the message gives the reason of each */
  | 'NO_WRITABLE_NODE'
  /** another instance has taken a call over and answers it */
  | 'TAKEN_OVER'
  /** facts: an address that webhooks may not reach */
  | 'ADDRESS_REFUSED'
  /** the message says what a path leads to instead */
  | 'NO_FILE'
  /** there was no answer; the message is what a site shows after "Error connecting to the server: " */
  | 'NO_ANSWER'
  /** the message is the end of a sentence */
  | 'TOO_LARGE'
  /** a document that no XML parser reads to its end; the message is the end of a sentence */
  | 'MALFORMED_XML'
  /** a document that would take too much time or memory; the message is a whole sentence */
  | 'TOO_MUCH_XML';

/** The base of the errors that have a code; `facts` are what it is about. */
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

/** Whether it is an error with one of these codes. */
export function isCoded(error: unknown, ...codes: PlainCode[]): error is CodedError<PlainCode, unknown> {
  return error instanceof CodedError && codes.includes(error.code as PlainCode);
}

/** A request or message that cannot be read. The text is for who sent it and names the field. */
export class InvalidRequestError extends CodedError<'INVALID_REQUEST' | 'UNSUPPORTED_MEDIA_TYPE'> {
  constructor(message: string, code: InvalidRequestError['code'] = 'INVALID_REQUEST') {
    super(code, message);
  }
}

/** A setting that cannot be used: its message names it and gives the expected form or the remedy. */
export class ConfigError extends CodedError<'CONFIGURATION'> {
  constructor(message: string, options?: ErrorOptions) {
    super('CONFIGURATION', message, undefined, options);
  }
}
