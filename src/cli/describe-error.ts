import { ConfigError } from '../config';
import { OperatorError } from '../licensing/operator-error';
import { SealError } from '../licensing/sealing';
import { driverReason } from '../store/errors';
import { SchemaError } from '../store/migrate';
import { isOutcomeUnknown } from '../store/transaction';
import { DatabaseTrouble } from '../store/trouble';

/** An error in words, for an operator. */
export function describeError(error: unknown): string {
  return isOutcomeUnknown(error)
    ? `${reasonOf(error)} What was asked for may have been done all the same: look before you repeat it.`
    : reasonOf(error);
}

/** A driver's message would repeat the statement with its values. */
function reasonOf(error: unknown): string {
  if (
    [OperatorError, ConfigError, SchemaError, SealError, DatabaseTrouble].some(
      (kind) => error instanceof kind,
    )
  )
    return (error as Error).message;
  const reason = driverReason(error);
  return reason === undefined
    ? (error as Error).message
    : `The database refused the statement: ${reason.replace(/\.+$/, '')}.`;
}
