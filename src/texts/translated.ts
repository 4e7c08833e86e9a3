/** The texts of another language: the same names, with texts of their own. */
export type Translated<T> = T extends string
  ? string
  : T extends (...values: infer Values) => infer Text
    ? (...values: Values) => Translated<Text>
    : { [Name in keyof T]: Translated<T[Name]> };
