/** A number with its noun, as `1 plan` and `2 plans`. */
export function counted(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
}
