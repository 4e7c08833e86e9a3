import {
  Type,
  type TSchema,
  type TUnsafe,
  type Static,
  type TObject,
  type TProperties,
} from '@sinclair/typebox';
import type { PlanOptionsJson } from '../../licensing/views';
import { MAX_UINT32 } from '../../licensing/core/columns';

/** Parts that the schemas of several operations share. A schema with a title becomes a component of `openapi.json`. */

/** The JSON types of a schema, and null. */
export function orNull<S extends TSchema>(schema: S): TUnsafe<Static<S> | null> {
  const { type, enum: values, ...others } = schema as unknown as { type: string; enum?: unknown[] };
  return Type.Unsafe<Static<S> | null>({
    ...others,
    type: [type, 'null'],
    ...(values && { enum: [...values, null] }),
  });
}

/** An object in which nothing else is allowed: an operator's typo must not be ignored. */
export function exactly<P extends TProperties>(properties: P, options: object = {}): TObject<P> {
  return Type.Object(properties, { additionalProperties: false, ...options });
}

export function oneOf<const V extends string>(values: readonly V[], options: object = {}): TUnsafe<V> {
  return Type.Unsafe<V>({ type: 'string', enum: [...values], ...options });
}

/** `oneOf` for an answer, whose values the database holds as texts. */
export function wordOf(values: readonly string[]): TUnsafe<string> {
  return Type.Unsafe<string>({ type: 'string', enum: [...values] });
}

export const Id = Type.Integer({ minimum: 1, maximum: 2 ** 53 - 1 });
/** The id of a product or plan in a request. */
export const IdGiven = Type.Integer({ minimum: 1, maximum: MAX_UINT32 });
export const Text = Type.String();
export const TextOrNull = orNull(Text);
/** ISO 8601 UTC in whole seconds. */
export const Time = Type.String({
  format: 'date-time',
  pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ$',
  examples: ['2027-06-30T23:59:59Z'],
});
export const TimeOrNull = orNull(Time);
/** A time in a request: with its zone, or a day. */
export const TimeGiven = Type.String({
  description: 'A time such as 2027-06-30T12:00:00Z, or a day such as 2027-06-30.',
  examples: ['2027-06-30'],
});
export const DurationGiven = Type.String({
  description: 'Years, months or days: 1y, 6m, 30d.',
  examples: ['1y'],
});
export const Limit = Type.Integer({ minimum: 0, maximum: MAX_UINT32, description: '0: unlimited.' });
/** What a plan grants besides slots and a duration. */
export const planOptions = {
  after_expiry: oneOf(['nothing', 'last_release'], {
    description: 'What an expired licence may still download.',
  }),
  free_staging: Type.Boolean({ description: 'Local and staging sites take no slot.' }),
  self_service_moves: Type.Integer({
    minimum: 0,
    maximum: MAX_UINT32,
    description: "How many sites customers may remove on the customer's page within 30 days.",
  }),
  upgrade_url: {
    ...TextOrNull,
    description:
      'Where customers get a larger licence: an https address of at most 500 characters. It is shown when no slot is free or a product is not covered. null: nowhere.',
  },
} satisfies Record<keyof PlanOptionsJson, TSchema>;

export const Reason = {
  reason: Type.Optional(Type.String({ description: "Kept in the licence's history." })),
};

/** In a query. */
export const Flag = oneOf(['1', '0', 'true', 'false']);

/** In the query of a list: one of its orders. @param description what it is sorted by, and how without it */
export function sortBy<const V extends string>(sorts: readonly V[], description: string) {
  return Type.Optional(oneOf(sorts, { description: `${description} With \`-\` downwards.` }));
}

/** The query of a list. */
export const Paging = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 500, default: 50, description: 'How many at the most.' }),
  ),
  after: Type.Optional(Type.String({ description: 'The `next` of the page before.' })),
};
