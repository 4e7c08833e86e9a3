import { randomBytes } from 'node:crypto';
import { createWriteStream, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import { publishRelease, type PublishRequest } from '../../src/packages/releases';
import type { Release } from '../../src/store/releases';
import { temporaryFolder } from './processes';
import type { TestService } from './service';

export interface TestPackage {
  path: string;
  bytes: Buffer;
}

/**
 * Creates a unique real zip.
 *
 * @param entries names and contents of its files
 * @param size further bytes, incompressible
 */
export async function makePackage(
  entries: Record<string, string | Buffer> = {},
  size = 1_000,
): Promise<TestPackage> {
  const path = join(temporaryFolder('licensing-package'), 'package.zip');
  const zip = new ZipFile();
  for (const [name, content] of Object.entries(entries)) zip.addBuffer(Buffer.from(content), name);
  zip.addBuffer(randomBytes(size), 'payload.bin', { compress: false });
  zip.end();
  await pipeline(zip.outputStream, createWriteStream(path));
  return { path, bytes: readFileSync(path) };
}

/** Returns a zip of these files; a name that ends in `/` is an empty folder. */
export async function zipOf(entries: Record<string, string | Buffer>): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [name, content] of Object.entries(entries))
    if (name.endsWith('/')) zip.addEmptyDirectory(name);
    else zip.addBuffer(Buffer.from(content), name);
  zip.end();
  return buffer(zip.outputStream);
}

/** Publishes a version like an operator, with a new package unless `file` is given. */
export async function giveRelease(
  service: Pick<TestService, 'db' | 'packagesDir'> & Partial<Pick<TestService, 'clock'>>,
  release: Partial<PublishRequest> & { version: string; file?: string },
): Promise<{ release: Release; bytes: Buffer }> {
  const file = release.file ?? (await makePackage()).path;
  const published = await publishRelease(
    service.db,
    service.packagesDir,
    { productId: 42, changelog: undefined, draft: false, date: undefined, ...release, file },
    service.clock?.now ?? new Date(),
  );
  return { release: published, bytes: readFileSync(file) };
}
