import { CommanderError } from 'commander';
import { isCoded, ConfigError } from '../base/errors';
import { redactKeys } from '../licensing/core/keys';
import { OperatorError } from '../licensing/operator-error';
import { SealError } from '../licensing/sealing';
import { driverReason, isOutcomeUnknown, SchemaError } from '../setup/database';
import { optionOf, withHint, withSchemaHint } from './hints';

/** A failure in `--json`, with the API's error codes where they fit. */
export interface CommandFailure {
  code: string;
  message: string;
  field?: string;
}

export function toCommandFailure(error: unknown): CommandFailure {
  if (error instanceof CommanderError) return usageFailure(error);
  const { field } = error instanceof OperatorError ? error : {};
  const message = redactKeys(describeError(error));
  return { code: codeOf(error), message, ...(field === undefined ? {} : { field: optionOf(field) }) };
}

function codeOf(error: unknown): string {
  if (isOutcomeUnknown(error)) return 'OUTCOME_UNKNOWN';
  if (error instanceof OperatorError) return error.code;
  if ([ConfigError, SchemaError, SealError].some((kind) => error instanceof kind)) return 'CONFIGURATION';
  return isCoded(error, 'DATABASE_UNUSABLE') || driverReason(error) !== undefined
    ? 'SERVICE_UNAVAILABLE'
    : 'INTERNAL_ERROR';
}

function usageFailure(error: CommanderError & { field?: string | undefined }): CommandFailure {
  const isHelp = error.code === 'commander.help';
  const message = isHelp ? 'A command is missing; --help lists them.' : error.message;
  // Find the option in Commander's message, its only place. An unknown option is left out, because it may be a key.
  const [, named] =
    error.code === 'commander.unknownOption'
      ? []
      : (/(?:option '(?:-\w, )?--|argument ')([a-z][a-z-]*)/.exec(message) ?? []);
  const field = error.field ?? named;
  return {
    code: 'INVALID_REQUEST',
    message: redactKeys(message.replace(/^error: /, '')),
    ...(field === undefined ? {} : { field }),
  };
}

/** Describes an error for an operator. */
export function describeError(error: unknown): string {
  return isOutcomeUnknown(error)
    ? `${reasonOf(error)} The change may have been made all the same: check before you run the command again.`
    : reasonOf(error);
}

/** Returns the reason of an error without a driver's message, which repeats the statement with its values. */
function reasonOf(error: unknown): string {
  if (error instanceof OperatorError) return withHint(error);
  if (error instanceof SchemaError) return withSchemaHint(error);
  if (error instanceof ConfigError || error instanceof SealError || isCoded(error, 'DATABASE_UNUSABLE'))
    return error.message;
  const reason = driverReason(error);
  return reason === undefined
    ? (error as Error).message
    : `The database refused the statement: ${reason.replace(/\.+$/, '')}.`;
}
