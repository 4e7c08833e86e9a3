/**
 * Yields the items in chunks, in their order.
 * @param size MariaDB turns 1,000 values of an `IN` into a subquery
 */
export function* chunksOf<T>(items: readonly T[], size = 500): Generator<T[]> {
  for (let i = 0; i < items.length; i += size) yield items.slice(i, i + size);
}

/** Does the work for one chunk after the other. @returns the results of all */
export async function inChunks<T, R>(
  items: readonly T[],
  work: (chunk: T[]) => Promise<Iterable<R>>,
  size?: number,
): Promise<R[]> {
  const results: R[] = [];
  for (const chunk of chunksOf(items, size)) results.push(...(await work(chunk)));
  return results;
}
