import type { Readable } from 'node:stream';
import { Busboy, type BusboyHeaders } from '@fastify/busboy';
import { CodedError } from '../../base/errors';
import type { Context } from '../context';
import { refuseEncoded } from '../read-body';
import { allowSlowBody } from '../server';
import { hasBody, unsupported } from './body';
import { invalid, OperationError } from '../../operations/kit/failures';
import type { Upload, UploadRules } from '../../operations/kit/upload';

/** Receives an upload: a body that is only the file, or a form with the part `file`, next to which it may have more. */

const FORM = 'multipart/form-data';
/** The maximum number of fields, which a plan of a former system needs. */
const MAX_FIELDS = 200;
/** The maximum size of a field; a changelog has at most a megabyte. */
const MAX_FIELD_BYTES = 2 * 1024 * 1024;
/** The maximum size of all fields together. */
const MAX_FIELDS_BYTES = 2 * MAX_FIELD_BYTES;

/**
 * Receives an upload: the whole body, or no file without a body. If it throws, nothing of the upload remains.
 * @param others names of further parts of a form that are files @throws OperationError
 */
export async function receiveUpload<F>(
  ctx: Context,
  types: string[],
  rules: UploadRules<F>,
  others: string[] = [],
): Promise<Upload<F>> {
  allowSlowBody(ctx.req);
  if (!hasBody(ctx)) return { fields: {}, file: undefined, others: {} };
  refuseEncoded(ctx);
  if (ctx.is(FORM)) return receiveForm(ctx, rules, others);
  if (!ctx.is(...types)) throw unsupported(ctx, [...types, FORM]);
  const { req } = ctx;
  const file = await rules.take(limited(req, rules.limit)).catch((error: unknown) => {
    if (req.errored || req.destroyed) throw new CodedError('CLIENT_GONE');
    req.resume();
    throw error;
  });
  return { fields: {}, file, others: {} };
}

/** Yields the bytes up to a limit. It leaves the stream open, so that the rest can be read and the refusal sent. */
async function* limited(bytes: Readable, limit: number): AsyncIterable<Buffer> {
  let size = 0;
  for await (const chunk of bytes.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) throw tooLarge(limit);
    yield chunk;
  }
}

async function receiveForm<F>(ctx: Context, rules: UploadRules<F>, others: string[]): Promise<Upload<F>> {
  const { req } = ctx;
  const fields: Record<string, string> = {};
  const files = new Map<string, { stream: Readable; taken: Promise<F> }>();
  const form = openForm(ctx, others.length);
  try {
    await new Promise<void>((resolve, reject) => {
      let bytes = 0;
      form.on('field', (name: string, value: string, isNameCut: boolean, isValueCut: boolean) => {
        bytes += Buffer.byteLength(value);
        if (Object.hasOwn(fields, name)) reject(invalid(name, 'It is given twice.'));
        else if (isNameCut || isValueCut) reject(tooLarge(MAX_FIELD_BYTES));
        else if (bytes > MAX_FIELDS_BYTES) reject(tooLarge(MAX_FIELDS_BYTES));
        else fields[name] = value;
      });
      form.on('file', (name: string, stream: Readable, fileName: string | undefined) => {
        // Ignore errors: a refusal may destroy a stream without a reader, and an unhandled error ends the service.
        stream.on('error', () => undefined);
        // A browser sends a field without a chosen file as an empty part with an empty name.
        if (fileName === '' && others.includes(name)) {
          stream.resume();
          return;
        }
        if (!['file', ...others].includes(name) || files.has(name)) {
          stream.resume();
          reject(invalid('file', 'The form must have one file, in the part "file".'));
          return;
        }
        const taken = rules.take(limited(stream, rules.limit));
        taken.catch(reject);
        files.set(name, { stream, taken });
      });
      form.on('fieldsLimit', () =>
        reject(new OperationError('INVALID_REQUEST', 'The form has too many parts.')),
      );
      form.on('error', () => reject(new OperationError('INVALID_REQUEST', 'The form cannot be read.')));
      form.on('finish', () => resolve());
      req.once('close', () => {
        if (!req.readableEnded) reject(new CodedError('CLIENT_GONE'));
      });
      req.pipe(form);
    });
    const taken: Record<string, F> = {};
    for (const name of others) {
      const file = files.get(name);
      if (file !== undefined) taken[name] = await file.taken;
    }
    return { fields, file: await files.get('file')?.taken, others: taken };
  } catch (error) {
    req.unpipe(form);
    req.resume();
    for (const { stream, taken } of files.values()) {
      stream.destroy(error as Error);
      await taken.then((file) => rules.discard(file)).catch(() => undefined);
    }
    throw error;
  }
}

function openForm(ctx: Context, others: number): InstanceType<typeof Busboy> {
  try {
    return new Busboy({
      headers: ctx.headers as BusboyHeaders,
      limits: { files: others + 2, fields: MAX_FIELDS, fieldSize: MAX_FIELD_BYTES },
    });
  } catch {
    throw new OperationError('INVALID_REQUEST', 'The form has no boundary.');
  }
}

function tooLarge(limit: number): OperationError {
  return new OperationError('PAYLOAD_TOO_LARGE', `The file must not be larger than ${limit} bytes.`);
}
