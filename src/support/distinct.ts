/** Returns the values without duplicates and null. */
export function uniqueNonNull<T>(values: (T | null)[]): T[] {
  return [...new Set(values.filter((value): value is T => value !== null))];
}
