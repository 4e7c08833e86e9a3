/**
 * Does work for each item, although it fails for one of them: the error of one must not hold up the others.
 * @throws the first failure, once all are done
 */
export async function forEach<T>(items: Iterable<T>, work: (item: T) => Promise<unknown>): Promise<void> {
  const failures: unknown[] = [];
  for (const item of items) await work(item).catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}
