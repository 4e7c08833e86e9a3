import { readFileSync, statSync } from 'node:fs';
import { explainReadFault } from './file-faults';

/** Pictures that a seller names in the settings, for the pages of customers. */

export interface Picture {
  type: 'image/png' | 'image/webp' | 'image/svg+xml';
  bytes: Buffer;
}

/** Every page of a customer loads it, often over a phone's line. */
const MOST_BYTES = 200 * 1024;

/** @throws Error for the operator */
export function readPicture(path: string): Picture {
  const bytes = readSmallFile(path);
  const type = typeOf(bytes);
  if (type === undefined) throw new Error(`${path} is not a PNG, WebP or SVG picture.`);
  return { type, bytes };
}

function readSmallFile(path: string): Buffer {
  try {
    const stats = statSync(path);
    // Reading a pipe could block.
    if (!stats.isFile()) throw new Error(`${path} is not a file.`);
    if (stats.size > MOST_BYTES)
      throw new Error(`${path} has ${Math.ceil(stats.size / 1024)} KB, and may have 200 KB at most.`);
    return readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    throw new Error(`${path} cannot be read: ${explainReadFault(error)}.`, { cause: error });
  }
}

/** Why a picture cannot be used; undefined: it can. */
export function pictureFault(path: string): string | undefined {
  try {
    readPicture(path);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** By the content, because a wrong ending would make browsers refuse the picture (`nosniff`). */
function typeOf(bytes: Buffer): Picture['type'] | undefined {
  const at = (start: number, end: number) => bytes.toString('latin1', start, end);
  if (at(0, 8) === '\x89PNG\r\n\x1a\n') return 'image/png';
  if (at(0, 4) === 'RIFF' && at(8, 12) === 'WEBP') return 'image/webp';
  return SVG.test(bytes.toString('utf8')) ? 'image/svg+xml' : undefined;
}

/** The root element, after a declaration, comments and a document type. */
const SVG =
  /^\uFEFF?\s*(?:<\?xml[^>]*>\s*|<!--(?:(?!-->)[^])*-->\s*|<!DOCTYPE\s[^>[]*(?:\[[^\]]*\]\s*)?>\s*)*<svg[\s>]/i;
