import { formatTimestamp } from './days';

/** A name such as `expiresAt` as `expires_at`. */
export type Snake<Name extends string> = Name extends `${infer Letter}${infer Rest}`
  ? `${Letter extends Lowercase<Letter> ? Letter : `_${Lowercase<Letter>}`}${Snake<Rest>}`
  : Name;

const names = new Map<string, string>();

/** The name of a field as a column or in JSON: `expires_at` for `expiresAt`. */
export function snakeCase(field: string): string {
  let name = names.get(field);
  if (name === undefined) {
    name = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    names.set(field, name);
  }
  return name;
}

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
    json[snakeCase(name)] = value instanceof Date ? formatTimestamp(value) : value;
  }
  return json as JsonOf<Pick<Fields, Name>>;
}
