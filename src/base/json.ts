import { formatTimestamp } from './days';

/** Converts a name's type to snake case: `expiresAt` to `expires_at`. */
export type Snake<Name extends string> = Name extends `${infer Letter}${infer Rest}`
  ? `${Letter extends Lowercase<Letter> ? Letter : `_${Lowercase<Letter>}`}${Snake<Rest>}`
  : Name;

const names = new Map<string, string>();

/** Returns the name of a field in a table or in JSON: `expires_at` for `expiresAt`. */
export function snakeCase(field: string): string {
  let name = names.get(field);
  if (name === undefined) {
    name = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    names.set(field, name);
  }
  return name;
}

/** The type of fields in JSON: names in snake case, and times as text. */
export type JsonOf<Fields> = {
  [Name in keyof Fields as Snake<Name & string>]: JsonValueOf<Fields[Name]>;
};

type JsonValueOf<Value> = Value extends Date ? string : Value;

/** Returns the named fields as JSON, in the order of the names. */
export function jsonOf<Fields extends object, Name extends keyof Fields & string>(
  fields: Fields,
  ...names: Name[]
): JsonOf<Pick<Fields, Name>> {
  const json: Record<string, unknown> = {};
  for (const name of names) {
    const value = fields[name];
    json[snakeCase(name)] = value instanceof Date ? formatTimestamp(value) : value;
  }
  return json as JsonOf<Pick<Fields, Name>>;
}
