import { createHash } from 'node:crypto';
import { isCoded } from '../base/errors';
import type { Release } from '../store/releases';
import { openPackage } from './package-files';

const MISSING = 'is missing';
/** The fault of an unreadable package, which need not be damaged. */
export const UNREADABLE = 'cannot be read by this user';

/** Compares a package with its hash. @returns the fault; undefined if it is undamaged */
export async function findPackageDamage(
  path: string,
  { fileSize, sha256 }: Pick<Release, 'fileSize' | 'sha256'>,
  onRead: (bytes: number) => void = () => undefined,
): Promise<string | undefined> {
  const hash = createHash('sha256');
  let size = 0;
  try {
    const { handle } = await openPackage(path);
    for await (const chunk of handle.createReadStream({ highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>) {
      hash.update(chunk);
      size += chunk.length;
      onRead(chunk.length);
    }
  } catch (error) {
    if (isCoded(error, 'NO_FILE')) return `is ${error.message}`;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EACCES' || code === 'EPERM') return UNREADABLE;
    return code === 'ENOENT' ? MISSING : `cannot be read (${code ?? 'no reason given'})`;
  }
  if (size !== fileSize) return `has ${size} bytes instead of ${fileSize}`;
  return hash.digest('hex') === sha256 ? undefined : 'differs from the published package';
}
