import { createHash } from 'node:crypto';

/** Uploads: a body that is a file. The API and the pages read it in their own ways. */

/** The processing of the bytes by an operation while they arrive. */
export interface UploadRules<F> {
  /** the maximum number of bytes */
  limit: number;
  take(bytes: AsyncIterable<Buffer>): Promise<F>;
  /** returns a text that distinguishes a file from others */
  digest(file: F): string;
  /** undoes `take` */
  discard(file: F): Promise<unknown>;
}

export interface Upload<F> {
  /** the form's other parts */
  fields: Record<string, string>;
  file: F | undefined;
  /** further parts that are files, by name */
  others: Record<string, F>;
}

/** Returns the rules for a small file, which is kept in memory. */
export function smallUpload(limit: number): UploadRules<Buffer> {
  return {
    limit,
    async take(bytes) {
      const chunks: Buffer[] = [];
      for await (const chunk of bytes) chunks.push(chunk);
      return Buffer.concat(chunks);
    },
    digest: (file) => createHash('sha256').update(file).digest('hex'),
    discard: () => Promise.resolve(),
  };
}
