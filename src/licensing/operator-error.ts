/** What a refusal is, for programs: the API's codes where it has one, REFUSED for the rest. */
export type OperatorErrorCode = 'INVALID_REQUEST' | 'NOT_FOUND' | 'CONFLICT' | 'REFUSED';

/** A command refused, in words for the operator that say what to do instead. Nothing has changed when it is thrown. */
export class OperatorError extends Error {
  readonly code: OperatorErrorCode;
  /** what of the request is refused, by its name */
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
