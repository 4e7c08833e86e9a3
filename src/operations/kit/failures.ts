import { CodedError, InvalidRequestError } from '../../base/errors';
import { SealError } from '../../licensing/sealing';
import type { MailTextFault } from '../../mail/texts';
import { OperatorError, type OperatorErrorCode, type RefusalFacts } from '../../licensing/operator-error';

declare module '../../licensing/operator-error' {
  interface Refusals {
    operations:
      | { reason: 'no-version-inside' | 'text-file' }
      | { reason: 'in-environment'; variable: string }
      | { reason: 'mail-text'; fault: MailTextFault };
  }
}

/** The refusals of the operator's API: its error codes with their status (docs/operator-api.md). */

const STATUSES = {
  INVALID_REQUEST: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  SIGN_IN_AGAIN: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  CONFLICT: 409,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  IDEMPOTENCY_MISMATCH: 422,
  RATE_LIMITED: 429,
  SERVICE_UNAVAILABLE: 503,
  INSUFFICIENT_STORAGE: 507,
} as const;

export type OperationErrorCode = keyof typeof STATUSES;

/** A refusal in the form of the answer. */
export interface ErrorResponse {
  status: number;
  error: { code: OperationErrorCode; message: string; field?: string };
  /** the seconds for `Retry-After` */
  retryAfter?: number;
  /** the facts of the refusal, which the API's answer leaves out */
  facts?: RefusalFacts;
}

export class OperationError extends CodedError<OperationErrorCode> {
  constructor(
    code: OperationErrorCode,
    message: string,
    readonly options: { field?: string | undefined; retryAfter?: number } = {},
  ) {
    super(code, message);
  }
}

export function notFound(what: string): OperationError {
  return new OperationError('NOT_FOUND', `There is no such ${what}.`);
}

export function invalid(field: string, message: string): OperationError {
  return new OperationError('INVALID_REQUEST', message, { field });
}

/** The codes for errors of operators. It is a conflict if the installation lacks something, such as a secret. */
const CODES: Record<OperatorErrorCode, OperationErrorCode> = {
  INVALID_REQUEST: 'INVALID_REQUEST',
  NOT_FOUND: 'NOT_FOUND',
  CONFLICT: 'CONFLICT',
  INSUFFICIENT_STORAGE: 'INSUFFICIENT_STORAGE',
  SERVICE_UNAVAILABLE: 'SERVICE_UNAVAILABLE',
  REFUSED: 'CONFLICT',
};

/** Returns the refusal of an error; undefined for a fault. @param given the request's query and body, by field */
export function toErrorResponse(error: unknown, given: object): ErrorResponse | undefined {
  if (error instanceof OperationError) return failure(error.code, error.message, error.options);
  if (error instanceof InvalidRequestError) return failure(error.code, error.message);
  if (error instanceof SealError) return failure('CONFLICT', error.message);
  if (!(error instanceof OperatorError)) return undefined;
  const field = error.field ?? namedBy(error, given);
  // An unknown thing in a field is a wrong field, because 404 is for the address.
  const code = error.code === 'NOT_FOUND' && field !== undefined ? 'INVALID_REQUEST' : CODES[error.code];
  const { facts } = error;
  const retryAfter = code === 'SERVICE_UNAVAILABLE' ? RETRY_AFTER_MENDED : undefined;
  return {
    ...failure(code, error.message, { field, ...(retryAfter && { retryAfter }) }),
    ...(facts && { facts }),
  };
}

/** Explains why a shop's message cannot be accepted; undefined if it is not at fault, so that a retry may succeed. */
export function faultOfMessage(error: unknown): string | undefined {
  const failure = error instanceof SealError ? undefined : toErrorResponse(error, {});
  return failure === undefined || failure.status >= 500 ? undefined : failure.error.message;
}

/** The seconds for `Retry-After` if an operator has to repair something first. */
const RETRY_AFTER_MENDED = 60;

function failure(
  code: OperationErrorCode,
  message: string,
  { field, retryAfter }: { field?: string | undefined; retryAfter?: number } = {},
): ErrorResponse {
  return {
    status: STATUSES[code],
    error: { code, message, ...(field === undefined ? {} : { field }) },
    ...(retryAfter === undefined ? {} : { retryAfter }),
  };
}

/** Fields that name a thing, by the reason for its absence. */
const FIELDS: Record<string, string[]> = {
  'no-product': ['covers', 'product_id'],
  'no-plan': ['plan_id', 'test_plan_id'],
  'no-key': ['key_id'],
};

/** Returns the field that names a missing thing. */
function namedBy({ facts }: OperatorError, given: object): string | undefined {
  const fields = FIELDS[facts?.reason ?? ''] ?? [];
  return fields.find((field) => Object.hasOwn(given, field));
}
