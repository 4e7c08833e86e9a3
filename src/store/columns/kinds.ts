import {
  Type,
  type Static,
  type TObject,
  type TProperties,
  type TSchema,
  type TUnsafe,
} from '@sinclair/typebox';
import { camelCase, jsonOf } from '../../base/json';
import { MAX_UINT32 } from '../words';
import type { FieldsOf } from '../engine/row-fields';

/**
 * The columns of a table as TypeBox schemas. The type of its rows, the API's answers and bodies, the export and the search
 * for a person follow from one declaration of them.
 */

/**
 * The rule that a text obeys: `FIELD_JUDGES` (licensing/fields.ts) checks it, and the export of the column
 * (transfer/records.ts).
 */
export type Kind = 'label' | 'element' | 'address' | 'json' | 'duration' | 'month';

/** A symbol, because `openapi.json` must not show it. */
const KIND = Symbol('kind');

/** Returns the schema with the rule that its text obeys. */
export function ofKind<S extends TSchema>(kind: Kind, schema: S): S {
  return { ...schema, [KIND]: kind };
}

export function kindOf(schema: TSchema | undefined): Kind | undefined {
  return (schema as { [KIND]?: Kind } | undefined)?.[KIND];
}

/** The fields that the code reads from these columns. */
export type FieldsFrom<P extends TProperties> = FieldsOf<Static<TObject<P>>>;

/** Lists the columns with text that a person typed, and that may name one. */
export function typedColumns(columns: TProperties): string[] {
  const typed: (Kind | undefined)[] = ['label', 'element', 'address', 'json'];
  return Object.keys(columns).filter((name) => typed.includes(kindOf(columns[name])));
}

/** Returns the schema of the same value or null. */
export function nullable<S extends TSchema>(schema: S): TUnsafe<Static<S> | null> {
  const { type, enum: values, ...others } = schema as unknown as { type: string; enum?: unknown[] };
  return Type.Unsafe<Static<S> | null>({
    ...others,
    type: [type, 'null'],
    ...(values && { enum: [...values, null] }),
  });
}

/** Returns the schema of a text that is one of these words. */
export function enumOf<const V extends string>(values: readonly V[], options: object = {}): TUnsafe<V> {
  return Type.Unsafe<V>({ type: 'string', enum: [...values], ...options });
}

/** Returns the same for an answer, because the database holds any text. */
export function textEnum(values: readonly string[], options: object = {}): TUnsafe<string> {
  return Type.Unsafe<string>({ type: 'string', enum: [...values], ...options });
}

/** Returns the schema of an object without other fields: an operator's typo must not be ignored. */
export function strictObject<P extends TProperties>(properties: P, options: object = {}): TObject<P> {
  return Type.Object(properties, { additionalProperties: false, ...options });
}

/** Returns the fields that a schema names, as JSON. */
export function jsonBy<P extends TProperties>(
  { properties }: TObject<P>,
  fields: object,
): Static<TObject<P>> {
  return jsonOf(fields, ...(Object.keys(properties).map(camelCase) as never[])) as Static<TObject<P>>;
}

/** The id of a product or plan, which has 32 bits. */
export const SmallId = Type.Integer({ minimum: 1, maximum: MAX_UINT32 });
export const Limit = Type.Integer({ minimum: 0, maximum: MAX_UINT32, description: '0: unlimited.' });
export const Id = Type.Integer({ minimum: 1, maximum: 2 ** 53 - 1 });
export const Label = ofKind('label', Type.String());
/** ISO 8601 UTC in whole seconds. */
export const Time = Type.String({
  format: 'date-time',
  pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ$',
  examples: ['2027-06-30T23:59:59Z'],
});
export const AddressOrNull = nullable(ofKind('address', Type.String()));
