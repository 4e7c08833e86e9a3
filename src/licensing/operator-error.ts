import { CodedError } from '../base/errors';

/** The kind of refusal, for programs: the API's codes where they fit, otherwise REFUSED. */
export type OperatorErrorCode =
  | 'INVALID_REQUEST'
  | 'NOT_FOUND'
  | 'CONFLICT'
  /** the disk is full */
  | 'INSUFFICIENT_STORAGE'
  /** the operator must first repair something on the server */
  | 'SERVICE_UNAVAILABLE'
  | 'REFUSED';

/** The refusals of each folder. A folder adds its own to this interface in a file that throws some of them. */
export interface Refusals {
  licensing:
    | { reason: 'no-product' | 'no-plan' | 'no-higher-id' | 'product-in-use' }
    | { reason: 'undecided' | 'counts-otherwise' }
    | { reason: 'includes-others'; product: number }
    | { reason: 'is-included'; by: number }
    | { reason: 'plan-in-use'; plan: number }
    /** `sku` null: for the shop's test orders */
    | { reason: 'plan-in-shop'; plan: number; shop: string; sku: string | null }
    | { reason: 'no-license-named' | 'lifetime-license' | 'other-plan' | 'key-ended' }
    | { reason: 'other-customer' | 'activated' | 'not-activated'; license: number }
    | { reason: 'key-not-kept' | 'no-key' | 'main-key'; license: number }
    /** `isCovered`: the other product includes the licence's product */
    | { reason: 'other-product'; isCovered: boolean }
    | { reason: 'no-key-secret' | 'secret-elsewhere' }
    | { reason: 'no-signing-key' | 'signing-key-retired' | 'last-signing-key' };
}

/** The facts of a refusal. A command or page adds the remedy to them. */
export type RefusalFacts = Refusals[keyof Refusals];

/** A refusal whose text fits every caller. Nothing has changed when it is thrown. */
export class OperatorError extends CodedError<OperatorErrorCode, RefusalFacts> {
  /** the JSON name of the refused field of the request */
  readonly field: string | undefined;

  constructor(
    message: string,
    {
      code = 'REFUSED',
      field,
      facts,
    }: { code?: OperatorErrorCode; field?: string | undefined; facts?: RefusalFacts | undefined } = {},
  ) {
    super(code, message, facts);
    this.field = field;
  }
}
