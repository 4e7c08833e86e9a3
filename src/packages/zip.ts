import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { crc32 } from 'node:zlib';
import { fromBufferPromise, openPromise, type Entry, type ZipFile } from 'yauzl';
import { OperatorError } from '../licensing/operator-error';

const NO_ZIP = { facts: { reason: 'no-zip' } } as const;

/**
 * Reads every name, content and checksum: a truncated or damaged package, or one that would write outside its folder,
 * does not unpack on the customer's site.
 * @throws OperatorError
 */
export async function checkZip(path: string): Promise<void> {
  let entries = 0;
  try {
    await eachEntry(path, async (zip, entry) => {
      entries++;
      if (entry.isEncrypted())
        throw new OperatorError(`"${entry.fileName}" in it is encrypted; Joomla cannot unpack it.`);
      if (!entry.fileName.endsWith('/')) await checkContent(zip, entry);
    });
  } catch (error) {
    throw unreadable(error);
  }
  if (entries === 0) throw new OperatorError('The package is an empty zip file.', NO_ZIP);
}

/** The refusal of a zip that cannot be read; a fault of our own disk stays one. */
export function unreadable(error: unknown): unknown {
  if (isFileError(error)) return error;
  return new OperatorError(`The package is not a readable zip file: ${(error as Error).message}`, NO_ZIP);
}

/** Visits entries in order. @param source a path, or the zip itself. @throws what `visit` throws, or an error that says what is wrong with the zip */
export async function eachEntry(
  source: string | Buffer,
  visit: (zip: ZipFile, entry: Entry) => Promise<void>,
): Promise<void> {
  // autoClose off: the file is closed here, even after an error. yauzl checks the names: no "..", no "/x", no "\".
  const options = { autoClose: false, strictFileNames: true };
  const zip = await (typeof source === 'string'
    ? openPromise(source, options)
    : fromBufferPromise(source, options));
  try {
    await new Promise<void>((resolve, reject) => {
      zip.on('error', reject);
      zip.on('end', resolve);
      zip.on('entry', (entry: Entry) => {
        visit(zip, entry).then(() => zip.readEntry(), reject);
      });
      zip.readEntry();
    });
  } finally {
    zip.close();
  }
}

async function checkContent(zip: ZipFile, entry: Entry): Promise<void> {
  let crc = 0;
  await pipeline(
    await zip.openReadStreamPromise(entry),
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        crc = crc32(chunk, crc);
        done();
      },
    }),
  );
  if (crc !== entry.crc32) throw new OperatorError(`"${entry.fileName}" in it does not match its checksum.`);
}

/** An error of the file itself, not of its content; the caller explains it better. */
function isFileError(error: unknown): boolean {
  return ['ENOENT', 'EISDIR', 'EACCES', 'EMFILE', 'EIO'].includes(
    (error as NodeJS.ErrnoException).code ?? '',
  );
}
