import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { explainReadFault } from './file-faults';

/** Pictures that a seller sets for customers' pages. */

export interface Picture {
  type: 'image/png' | 'image/jpeg' | 'image/webp' | 'image/svg+xml';
  bytes: Buffer;
}

/** The types that a browser may upload. An SVG may contain a script, so it must be a file on the machine. */
export const UPLOADED_TYPES = ['image/png', 'image/jpeg', 'image/webp'] as const;
export const MAX_UPLOADED_BYTES = 256 * 1024;

/** Reads an uploaded picture, by its content. @returns undefined for a type that may not be uploaded */
export function uploadedPicture(bytes: Buffer): Picture | undefined {
  const type = typeOf(bytes);
  return UPLOADED_TYPES.some((one) => one === type) ? { type: type as Picture['type'], bytes } : undefined;
}

/** Returns a short text for a picture's URL that differs from other pictures'. */
export function pictureFingerprint({ bytes }: Picture): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 8);
}

/** The maximum size of a file, because every page of a customer loads it, often over a mobile connection. */
const MAX_BYTES = 200 * 1024;

/** Reads a picture's file. @throws Error for the operator */
export function readPicture(path: string): Picture {
  const bytes = readSmallFile(path);
  const type = typeOf(bytes);
  if (type === undefined) throw new Error(`${path} is not a PNG, JPEG, WebP or SVG picture.`);
  return { type, bytes };
}

function readSmallFile(path: string): Buffer {
  try {
    const stats = statSync(path);
    // Refuse other files, because reading a pipe could block.
    if (!stats.isFile()) throw new Error(`${path} is not a file.`);
    if (stats.size > MAX_BYTES)
      throw new Error(`${path} has ${Math.ceil(stats.size / 1024)} KB; the limit is 200 KB.`);
    return readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    throw new Error(`${path} cannot be read: ${explainReadFault(error)}.`, { cause: error });
  }
}

/** Returns the type by the content, because browsers refuse a picture with a wrong type (`nosniff`). */
function typeOf(bytes: Buffer): Picture['type'] | undefined {
  const at = (start: number, end: number) => bytes.toString('latin1', start, end);
  if (at(0, 8) === '\x89PNG\r\n\x1a\n') return 'image/png';
  if (at(0, 3) === '\xff\xd8\xff') return 'image/jpeg';
  if (at(0, 4) === 'RIFF' && at(8, 12) === 'WEBP') return 'image/webp';
  return SVG.test(bytes.toString('utf8')) ? 'image/svg+xml' : undefined;
}

/** The root element of an SVG, after a declaration, comments and a document type. */
const SVG =
  /^\uFEFF?\s*(?:<\?xml[^>]*>\s*|<!--(?:(?!-->)[^])*-->\s*|<!DOCTYPE\s[^>[]*(?:\[[^\]]*\]\s*)?>\s*)*<svg[\s>]/i;
