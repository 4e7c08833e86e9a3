/** A body that is a file: what an operation does with it. Each door reads it in its own way. */

/** What an operation does with the bytes, while they arrive. */
export interface UploadRules<F> {
  /** bytes */
  limit: number;
  take(bytes: AsyncIterable<Buffer>): Promise<F>;
  /** tells a file from others */
  digest(file: F): string;
  /** undoes `take` */
  discard(file: F): Promise<unknown>;
}

export interface Upload<F> {
  /** the form's other parts */
  fields: Record<string, string>;
  file: F | undefined;
  /** further parts that are files, by their names */
  others: Record<string, F>;
}
