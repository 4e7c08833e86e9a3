import { Type } from '@sinclair/typebox';
import { enumOf, nullable, Time } from '../../licensing/schemas/catalogue';

/** Schemas that several operations share. A schema with a title becomes a component of `openapi.json`. */

export * from '../../licensing/schemas/catalogue';
export { SmallId as IdGiven } from '../../licensing/schemas/catalogue';

export const Text = Type.String();
export const TextOrNull = nullable(Text);
export const TimeOrNull = nullable(Time);
/** A time in a request, with its zone, or a day. */
export const TimeInput = Type.String({
  description: 'A time such as 2027-06-30T12:00:00Z, or a day such as 2027-06-30.',
  examples: ['2027-06-30'],
});
export const DurationInput = Type.String({
  description: 'Years, months or days, such as 1y, 6m or 30d.',
  examples: ['1y'],
});

export const ReasonField = {
  reason: Type.Optional(Type.String({ description: "Kept in the licence's history." })),
};

/** A flag in a query. */
export const QueryFlag = enumOf(['1', '0', 'true', 'false']);

/** Returns the `sort` of a list's query. @param description the column that it sorts by, and the default */
export function sortBy<const V extends string>(sorts: readonly V[], description: string) {
  return Type.Optional(enumOf(sorts, { description: `${description} With \`-\` in descending order.` }));
}

/** The fields of pagination in a list's query. */
export const Paging = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 500, default: 50, description: 'How many to list at most.' }),
  ),
  after: Type.Optional(Type.String({ description: 'The `next` of the previous page.' })),
};
