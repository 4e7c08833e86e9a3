import { withSchemaHint } from '../cli/hints';
import { SchemaError } from '../store/engine/migrate';

export { reasonCode } from '../store/engine/errors';
export { SchemaError };

/** Explains to the operator why the service does not start. */
export function describeStartError(error: unknown): string {
  if (error instanceof SchemaError) return withSchemaHint(error);
  return error instanceof Error ? error.message : String(error);
}
