import { formatTimestamp } from '../base/days';
import { columnOf, type Snake } from '../store/engine/row-fields';

/** Fields in JSON: `expiresAt` is `expires_at`, and times are texts. */
export type JsonOf<Fields> = {
  [Name in keyof Fields as Snake<Name & string>]: JsonValueOf<Fields[Name]>;
};

type JsonValueOf<Value> = Value extends Date ? string : Value;

/** The fields of these names, in their order. */
export function jsonOf<Fields extends object, Name extends keyof Fields & string>(
  fields: Fields,
  ...names: Name[]
): JsonOf<Pick<Fields, Name>> {
  const json: Record<string, unknown> = {};
  for (const name of names) {
    const value = fields[name];
    json[columnOf(name)] = value instanceof Date ? formatTimestamp(value) : value;
  }
  return json as JsonOf<Pick<Fields, Name>>;
}
