import { Type } from '@sinclair/typebox';
import { oneOf, orNull, Time } from '../../licensing/schemas/catalogue';

/** Parts that the schemas of several operations share. A schema with a title becomes a component of `openapi.json`. */

export * from '../../licensing/schemas/catalogue';
export { SmallId as IdGiven } from '../../licensing/schemas/catalogue';

export const Text = Type.String();
export const TextOrNull = orNull(Text);
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
