/**
 * Yields the items in chunks, in their order.
 * @param size must be below 1,000, at which MariaDB turns the values of an `IN` into a subquery
 */
export function* chunksOf<T>(items: readonly T[], size = 500): Generator<T[]> {
  for (let i = 0; i < items.length; i += size) yield items.slice(i, i + size);
}

/** Processes one chunk after the other. @returns the results of all chunks */
export async function inChunks<T, R>(
  items: readonly T[],
  work: (chunk: T[]) => Promise<Iterable<R>>,
  size?: number,
): Promise<R[]> {
  const results: R[] = [];
  for (const chunk of chunksOf(items, size)) results.push(...(await work(chunk)));
  return results;
}
