import { stat } from 'node:fs/promises';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { crc32 } from 'node:zlib';
import { fromBufferPromise, openPromise, type Entry, type ZipFile } from 'yauzl';
import { OperatorError } from '../licensing/operator-error';

const NO_ZIP = { facts: { reason: 'no-zip' } } as const;

/** Far more than an extension has, and read within seconds: 3.2 MB can claim terabytes, each of which would be inflated. */
const MAX_UNPACKED_BYTES = 2 ** 31;
const MAX_ENTRIES = 200_000;

/**
 * Reads every name, content and checksum: a truncated or damaged package, or one that would write outside its folder,
 * does not unpack on the customer's site. What its directory claims is added up before anything is unpacked.
 * @param signal stops it @throws OperatorError, or the signal's reason
 */
export async function checkZip(path: string, signal?: AbortSignal): Promise<void> {
  let entries = 0;
  try {
    await requireModest(path, signal);
    await eachEntry(
      path,
      async (zip, entry) => {
        entries++;
        if (entry.isEncrypted())
          throw new OperatorError(`"${entry.fileName}" in it is encrypted; Joomla cannot unpack it.`);
        if (!entry.fileName.endsWith('/')) await checkContent(zip, entry, signal);
      },
      signal,
    );
  } catch (error) {
    signal?.throwIfAborted();
    throw unreadable(error);
  }
  if (entries === 0) throw new OperatorError('The package is an empty zip file.', NO_ZIP);
}

/** Refuses a zip that would unpack to more than any extension has. @throws Error that ends a sentence */
async function requireModest(path: string, signal: AbortSignal | undefined): Promise<void> {
  const { size } = await stat(path);
  let [packed, unpacked] = [0, 0];
  await eachEntry(
    path,
    (_zip, { compressedSize, uncompressedSize }) => {
      packed += compressedSize;
      unpacked += uncompressedSize;
      if (unpacked > MAX_UNPACKED_BYTES)
        throw new Error(`unpacked, it would have more than ${MAX_UNPACKED_BYTES / 2 ** 30} GiB`);
      // Entries that share their bytes make a small file large.
      if (packed > size) throw new Error('its entries claim more bytes than it has');
      return Promise.resolve();
    },
    signal,
  );
}

/** The refusal of a zip that cannot be read; a fault of our own disk stays one. */
export function unreadable(error: unknown): unknown {
  if (isFileError(error)) return error;
  return new OperatorError(`The package is not a readable zip file: ${(error as Error).message}`, NO_ZIP);
}

/**
 * Visits entries in order.
 * @param source a path, or the zip itself
 * @throws what `visit` throws, the signal's reason, or an error that says what is wrong with the zip
 */
export async function eachEntry(
  source: string | Buffer,
  visit: (zip: ZipFile, entry: Entry) => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  // autoClose off: the file is closed here, even after an error. yauzl checks the names: no "..", no "/x", no "\".
  const options = { autoClose: false, strictFileNames: true };
  const zip = await (typeof source === 'string'
    ? openPromise(source, options)
    : fromBufferPromise(source, options));
  try {
    if (zip.entryCount > MAX_ENTRIES) throw new Error(`it has more than ${MAX_ENTRIES} entries`);
    await new Promise<void>((resolve, reject) => {
      zip.on('error', reject);
      zip.on('end', resolve);
      zip.on('entry', (entry: Entry) => {
        readOn(zip, entry, visit, signal).catch(reject);
      });
      zip.readEntry();
    });
  } finally {
    zip.close();
  }
}

async function readOn(
  zip: ZipFile,
  entry: Entry,
  visit: (zip: ZipFile, entry: Entry) => Promise<void>,
  signal: AbortSignal | undefined,
): Promise<void> {
  signal?.throwIfAborted();
  await visit(zip, entry);
  zip.readEntry();
}

async function checkContent(zip: ZipFile, entry: Entry, signal: AbortSignal | undefined): Promise<void> {
  let crc = 0;
  await pipeline(
    await zip.openReadStreamPromise(entry),
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        crc = crc32(chunk, crc);
        done();
      },
    }),
    ...(signal === undefined ? [] : [{ signal }]),
  );
  if (crc !== entry.crc32) throw new OperatorError(`"${entry.fileName}" in it does not match its checksum.`);
}

/** An error of the file itself, not of its content; the caller explains it better. */
function isFileError(error: unknown): boolean {
  return ['ENOENT', 'EISDIR', 'EACCES', 'EMFILE', 'EIO'].includes(
    (error as NodeJS.ErrnoException).code ?? '',
  );
}
