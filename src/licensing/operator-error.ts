/** The kind of refusal, for programs: the API's codes where they fit, otherwise REFUSED. */
export type OperatorErrorCode = 'INVALID_REQUEST' | 'NOT_FOUND' | 'CONFLICT' | 'REFUSED';

/** A refused command. The message tells the operator what to do instead; nothing has changed when it is thrown. */
export class OperatorError extends Error {
  readonly code: OperatorErrorCode;
  /** the name of the refused part of the request */
  readonly field: string | undefined;

  constructor(
    message: string,
    { code = 'REFUSED', field }: { code?: OperatorErrorCode; field?: string } = {},
  ) {
    super(message);
    this.code = code;
    this.field = field;
  }
}
