import { open, stat } from 'node:fs/promises';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { crc32 } from 'node:zlib';
import { fromBufferPromise, openPromise, type Entry, type ZipFile } from 'yauzl';
import { OperatorError } from '../licensing/operator-error';

/** The first bytes of a zip with entries, and of a zip without entries. */
const BEGINNINGS = ['PK\x03\x04', 'PK\x05\x06'];

/** Limits against zip bombs, above any extension's size and read within seconds: 3.2 MB can claim to unpack to terabytes. */
const MAX_UNPACKED_BYTES = 2 ** 31;
const MAX_ENTRIES = 200_000;

/**
 * Reads every name, content and checksum of a zip. A truncated or damaged package, or one with paths outside its
 * folder, would not unpack on the customer's site. The sizes in the directory are added up before anything is unpacked.
 * @param signal aborts it @throws OperatorError, or the signal's reason
 */
export async function checkZip(path: string, signal?: AbortSignal): Promise<void> {
  let entries = 0;
  try {
    await requireModest(path, signal);
    await eachEntry(
      path,
      async (zip, entry) => {
        entries++;
        if (!entry.fileName.endsWith('/')) await checkContent(zip, entry, signal);
      },
      signal,
    );
  } catch (error) {
    signal?.throwIfAborted();
    throw await unreadable(path, error);
  }
  if (entries === 0)
    throw new OperatorError('The package is an empty zip file.', {
      facts: { reason: 'no-zip', fault: 'empty' },
    });
}

/** Refuses a zip that would unpack to more than any extension has. @throws Error whose message is the end of a sentence */
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
      // Refuse entries that share their bytes, which make a small file large.
      if (packed > size) throw new Error('its entries claim more bytes than it has');
      return Promise.resolve();
    },
    signal,
  );
}

/** Returns the refusal of a zip that cannot be read. An error of our own disk is returned unchanged. */
export async function unreadable(path: string, error: unknown): Promise<unknown> {
  if (isFileError(error)) return error;
  const fault = await faultOf(path, error);
  const why = WORDS[fault] ?? (error as Error).message;
  return new OperatorError(`The package is not a readable zip file: ${why}`, {
    facts: { reason: 'no-zip', fault },
  });
}

/** The fault of a zip. `other`: it is another kind of file. `cut`: its end is missing. */
export type ZipFault = 'empty' | 'other' | 'cut' | 'encrypted' | 'damaged';

const WORDS: Partial<Record<ZipFault, string>> = {
  empty: 'it is empty.',
  other: 'it does not begin like a zip file.',
  cut: 'its end is missing, as after an interrupted upload. Upload it again, or pack it again.',
};

/** Returns the kind of fault, if a seller can mend it. */
async function faultOf(path: string, error: unknown): Promise<ZipFault> {
  if (error instanceof OperatorError && error.facts?.reason === 'no-zip') return error.facts.fault;
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, 0);
    if (bytesRead === 0) return 'empty';
    if (!BEGINNINGS.includes(buffer.toString('latin1'))) return 'other';
  } finally {
    await file.close();
  }
  const { message } = error as Error;
  if (message.includes('strong encryption')) return 'encrypted';
  return message.startsWith('End of central directory') ? 'cut' : 'damaged';
}

/**
 * Visits the entries in order.
 * @param source a path, or the zip itself
 * @throws the error of `visit`, the signal's reason, or an error about the zip's fault
 */
export async function eachEntry(
  source: string | Buffer,
  visit: (zip: ZipFile, entry: Entry) => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  // Without autoClose, the file is closed here, even after an error. yauzl checks the names: no "..", no "/x", no "\".
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
  if (entry.isEncrypted())
    throw new OperatorError(`"${entry.fileName}" in it is encrypted; Joomla cannot unpack it.`, {
      facts: { reason: 'no-zip', fault: 'encrypted' },
    });
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

/** Reports whether an error is about the file itself instead of its content, which the caller explains better. */
function isFileError(error: unknown): boolean {
  return ['ENOENT', 'EISDIR', 'EACCES', 'EMFILE', 'EIO'].includes(
    (error as NodeJS.ErrnoException).code ?? '',
  );
}
