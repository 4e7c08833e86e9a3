import { formatTimestamp } from './days';

/** Converts a name's type to snake case: `expiresAt` to `expires_at`. */
export type Snake<Name extends string> = Name extends `${infer Letter}${infer Rest}`
  ? `${Letter extends Lowercase<Letter> ? Letter : `_${Lowercase<Letter>}`}${Snake<Rest>}`
  : Name;

/** A name such as `expires_at` as `expiresAt`. */
export type Camel<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<Camel<Rest>>}`
  : Name;

/** Returns the name of a field that JSON or a column has as `expires_at`. */
export function camelCase<Name extends string>(name: Name): Camel<Name> {
  return name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()) as Camel<Name>;
}

/** Returns the fields of a JSON object under the names that the code gives them. */
export function fieldsOf<Json extends object>(
  json: Json,
): { [Name in keyof Json as Camel<Name & string>]: Json[Name] } {
  return Object.fromEntries(Object.entries(json).map(([name, value]) => [camelCase(name), value])) as never;
}

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
