import { CodedError } from '../base/errors';

/** The kind of refusal, for programs: the API's codes where they fit, otherwise REFUSED. */
export type OperatorErrorCode =
  | 'INVALID_REQUEST'
  | 'NOT_FOUND'
  | 'CONFLICT'
  /** the disk is full */
  | 'INSUFFICIENT_STORAGE'
  /** the operator has to mend something on the server first */
  | 'SERVICE_UNAVAILABLE'
  | 'REFUSED';

/** What a refusal is about; a command or page adds what to do next. */
export type RefusalFacts =
  | {
      reason:
        | 'no-product'
        | 'no-plan'
        | 'no-higher-id'
        | 'product-in-use'
        | 'lifetime-license'
        | 'no-license-named'
        | 'nothing-found'
        | 'other-plan'
        | 'undecided'
        | 'counts-otherwise'
        | 'key-ended'
        | 'mail-off'
        | 'secret-elsewhere';
    }
  /** `isCovered`: the other product includes the one that the licence is for */
  | { reason: 'other-product'; isCovered: boolean }
  | { reason: 'plan-in-use'; plan: number }
  /** `sku` null: for its test orders */
  | { reason: 'plan-in-shop'; plan: number; shop: string; sku: string | null }
  /** `id`: the other one's */
  | { reason: 'customer-exists'; id: string }
  | { reason: 'no-shop' | 'no-order' }
  | { reason: 'no-unmatched' }
  | { reason: 'unmatched-done' | 'pays-nothing' | 'other-order'; unmatched: number }
  | { reason: 'no-keys' | 'no-address'; order: number }
  | { reason: 'includes-others'; product: number }
  | { reason: 'is-included'; by: number }
  | {
      reason:
        | 'other-customer'
        | 'no-customer'
        | 'license-final'
        | 'key-not-kept'
        | 'activated'
        | 'not-activated'
        | 'no-key'
        | 'main-key';
      license: number;
    }
  | { reason: 'no-draft' | 'no-draft-package' }
  | { reason: 'no-version' | 'xml-of-another'; product: number }
  | { reason: 'other-update-server' | 'no-version-inside' }
  /** `named`: the package's update servers; `url`: the address of the update XML */
  | { reason: 'foreign-server'; named: string; url: string }
  | { reason: 'no-zip'; fault: ZipFault }
  | { reason: 'not-published' | 'not-security' | 'is-notified' }
  | { reason: 'is-published' | 'is-withdrawn' | 'equal-version'; version: string }
  | { reason: 'no-package' | 'not-an-export' | 'sealed-elsewhere' }
  | { reason: 'too-much-xml'; product: number }
  | { reason: 'no-manifest'; product?: number }
  | { reason: 'malformed-manifest'; path: string; fault: string }
  | {
      reason: 'package-lacks';
      lacks: string[];
      /** undefined: its update ends in success */ joomla: string | undefined;
    }
  | { reason: 'without-lines' }
  | { reason: 'rollout-number' | 'rollout-draft' | 'rollout-withdrawn' }
  | {
      reason: 'rollout-no-address' | 'rollout-silent' | 'rollout-apache' | 'rollout-nginx';
      /** of the update XML */
      url: string;
    }
  | { reason: 'manifest-version'; version: string | undefined }
  | { reason: 'other-element'; product: number; element: string; inPackage: string }
  /** of a table, or of a move from another system (transfer/refusals.ts): what its sentence is, and what that names */
  | { reason: 'import-refused'; code: string; facts: readonly string[] }
  | { reason: 'token-name' | 'no-token' | 'is-operator' | 'no-operator' }
  | { reason: 'no-key-secret' | 'no-signing-key' | 'signing-key-retired' | 'last-signing-key' }
  /** of a mail that was sent, and of a mail server that was tried. `failure`: as stored of a mail; `said`: by the server */
  | { reason: 'mail-refused' | 'mail-server'; failure: string; said: string | null }
  | { reason: 'in-environment'; variable: string }
  | { reason: 'mail-text'; fault: MailTextFault }
  | { reason: 'text-file' }
  | { reason: 'no-webhook' | 'webhook-address' }
  | { reason: 'disk-full' | 'folder-closed' };

/** Why a zip cannot be read: `other` is another kind of file, and `cut` lacks its end. */
export type ZipFault = 'empty' | 'other' | 'cut' | 'encrypted' | 'damaged';

/** Why a text of a mail cannot be used; `line` counts from 1. */
export type MailTextFault =
  | { code: 'empty' }
  | { code: 'placeholder'; found: string; line: number; known: string[] }
  | { code: 'lacks'; needed: string };

/** A refusal in words that fit every caller. Nothing has changed when it is thrown. */
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
