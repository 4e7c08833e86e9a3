import { ConfigError } from '../config';
import { OperatorError } from '../licensing/operator-error';
import { SealError } from '../licensing/sealing';
import { SchemaError } from '../store/migrate';
import { DatabaseTrouble } from '../store/trouble';

/** An error in words; a driver's message would repeat the statement with its values. */
export function describeError(error: unknown): string {
  if (
    [OperatorError, ConfigError, SchemaError, SealError, DatabaseTrouble].some(
      (kind) => error instanceof kind,
    )
  )
    return (error as Error).message;
  const { code, sql, sqlMessage, message } = error as {
    code?: string;
    sql?: string;
    sqlMessage?: string;
    message: string;
  };
  return sql === undefined
    ? message
    : `The database refused the statement: ${sqlMessage ?? code ?? 'no reason given'}.`;
}
