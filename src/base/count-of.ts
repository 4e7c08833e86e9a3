/** Returns a number with its noun, in singular or plural: `1 row`, `2 rows`. */
export function countOf(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
}
