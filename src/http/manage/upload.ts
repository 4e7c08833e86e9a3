import { pipeline } from 'node:stream/promises';
import { Busboy, type BusboyHeaders } from '@fastify/busboy';
import type { Context } from '../context';
import { ClientGoneError } from '../faults';
import { hasBody, unsupported } from './body';
import { invalid, ManageError } from './failures';

/** A body that is a file: alone, or as the part `file` of a form. */

/** What an operation does with the bytes, while they arrive. */
export interface UploadRules<F> {
  /** bytes */
  limit: number;
  take: (bytes: AsyncIterable<Buffer>) => Promise<F>;
  /** tells a file from others */
  digest: (file: F) => string;
  /** undoes `take` */
  discard: (file: F) => Promise<unknown>;
}

export interface Upload<F> {
  /** the form's other parts */
  fields: Record<string, string>;
  file: F | undefined;
}

const FORM = 'multipart/form-data';
const MAX_FIELDS = 20;
/** A changelog has a megabyte at the most. */
const MAX_FIELD_BYTES = 2 * 1024 * 1024;

/** Reads the whole body. Nothing of it is left when this throws. @throws ManageError */
export async function receiveUpload<F>(
  ctx: Context,
  types: string[],
  rules: UploadRules<F>,
): Promise<Upload<F>> {
  if (!hasBody(ctx)) throw invalid('file', 'The body must be the file, or a form with the part "file".');
  if (ctx.is(FORM)) return receiveForm(ctx, rules);
  if (!ctx.is(...types)) throw unsupported(ctx, [...types, FORM]);
  const file = await rules.take(limited(ctx.req, rules.limit)).catch((error: unknown) => {
    throw ctx.req.errored || ctx.req.readableAborted ? new ClientGoneError() : error;
  });
  return { fields: {}, file };
}

async function* limited(bytes: AsyncIterable<Buffer>, limit: number): AsyncIterable<Buffer> {
  let size = 0;
  for await (const chunk of bytes) {
    size += chunk.length;
    if (size > limit) throw tooLarge(limit);
    yield chunk;
  }
}

async function receiveForm<F>(ctx: Context, { limit, take, discard }: UploadRules<F>): Promise<Upload<F>> {
  const fields: Record<string, string> = {};
  const taken: Promise<F>[] = [];
  const faults: unknown[] = [];
  const busboy = openForm(ctx);
  busboy.on('field', (name, value, isNameCut, isValueCut) => {
    if (Object.hasOwn(fields, name)) faults.push(invalid(name, 'It is given twice.'));
    else if (isNameCut || isValueCut) faults.push(tooLarge(MAX_FIELD_BYTES));
    else fields[name] = value;
  });
  busboy.on('file', (name, stream) => {
    if (name !== 'file' || taken.length > 0) {
      faults.push(invalid('file', 'The form must have one file, in the part "file".'));
      stream.resume();
    } else taken.push(take(limited(stream as AsyncIterable<Buffer>, limit)));
  });
  busboy.on('fieldsLimit', () => faults.push(new ManageError('INVALID_REQUEST', 'The form has too many parts.')));
  const [received, ...files] = await Promise.allSettled([pipeline(ctx.req, busboy), ...taken]);
  // A file may have begun after the list was made.
  const [file = files[0]] = await Promise.allSettled(taken);
  const fault = faults[0] ?? (file?.status === 'rejected' ? file.reason : undefined);
  if (received.status === 'rejected' || fault !== undefined) {
    if (file?.status === 'fulfilled') await discard(file.value);
    ctx.req.resume();
    if (fault instanceof ManageError) throw fault;
    if (ctx.req.readableAborted) throw new ClientGoneError();
    if (fault !== undefined) throw fault as Error;
    throw new ManageError('INVALID_REQUEST', 'The form cannot be read.');
  }
  return { fields, file: file?.value };
}

function openForm(ctx: Context): Busboy {
  try {
    return new Busboy({
      headers: ctx.headers as BusboyHeaders,
      limits: { files: 2, fields: MAX_FIELDS, fieldSize: MAX_FIELD_BYTES },
    });
  } catch {
    throw new ManageError('INVALID_REQUEST', 'The form has no boundary.');
  }
}

function tooLarge(limit: number): ManageError {
  return new ManageError('PAYLOAD_TOO_LARGE', `The file must not be larger than ${limit} bytes.`);
}
