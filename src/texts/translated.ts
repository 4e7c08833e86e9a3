/** The texts of another language, with the same structure. */
export type Translated<T> = T extends string
  ? string
  : T extends (...values: infer Values) => infer Text
    ? (...values: Values) => Translated<Text>
    : { [Name in keyof T]: Translated<T[Name]> };
