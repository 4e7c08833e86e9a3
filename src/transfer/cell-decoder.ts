import { TextDecoder } from 'node:util';

/** The error for bytes that are not text in any encoding that tables use. */
export class NotTextError extends Error {}

/** The characters of Windows-1252 at 0x80 to 0x9F; the rest equals Latin-1. A blank marks a byte without a character. */
const WINDOWS_1252 = '€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ';
const NO_CHARACTER = /[\u0081\u008d\u008f\u0090\u009d]/;
const BEYOND_ASCII = /[^\0-\x7f]/;
// oxlint-disable-next-line no-control-regex -- tables contain no such characters, and every packed file does
const NO_TABLE = /[\0-\x08\x0e-\x1a\x1c-\x1f]/;

/**
 * Decodes a table chunk by chunk: UTF-16 if it has a byte order mark, otherwise UTF-8, or Windows-1252 if the first
 * character beyond ASCII is not UTF-8. So a damaged UTF-8 file is refused instead of decoded wrongly. @throws NotTextError
 */
export class CellDecoder {
  #encoding: 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252' | undefined;
  #utf16: TextDecoder | undefined;
  /** the beginning of a UTF-8 character that the next chunk completes */
  #held: Buffer = Buffer.alloc(0);
  /** whether all text so far is ASCII, without characters that tables do not contain */
  #isAscii = true;
  #isBegun = false;

  decode(chunk: Buffer): string {
    this.#encoding ??= encodingOf(chunk);
    if (this.#encoding === 'utf-8')
      return this.#withoutMark(this.#decodeUtf8(Buffer.concat([this.#held, chunk])));
    if (this.#encoding === 'windows-1252') return decodeWindows1252(chunk);
    this.#utf16 ??= new TextDecoder(this.#encoding, { fatal: true });
    return orNotText(() => this.#utf16?.decode(chunk, { stream: true }) ?? '');
  }

  /** Returns the rest of the text at the file's end. */
  end(): string {
    const held = this.#held;
    if (held.length > 0) return this.#asWindows1252(held);
    return orNotText(() => this.#utf16?.decode() ?? '');
  }

  #withoutMark(text: string): string {
    if (this.#isBegun || text === '') return text;
    this.#isBegun = true;
    return text.replace(/^\ufeff/, '');
  }

  #decodeUtf8(bytes: Buffer): string {
    const whole = bytes.length - unfinished(bytes);
    this.#held = bytes.subarray(whole);
    try {
      const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
        bytes.subarray(0, whole),
      );
      const bare = text.replace(/^\ufeff/, '');
      this.#isAscii &&= !BEYOND_ASCII.test(bare) && !NO_TABLE.test(bare);
      return text;
    } catch {
      this.#held = Buffer.alloc(0);
      return this.#asWindows1252(bytes);
    }
  }

  #asWindows1252(bytes: Buffer): string {
    // A valid UTF-8 character before the fault shows that the file is damaged UTF-8.
    if (!this.#isAscii || /[^\0-\x7f\ufffd]/.test(bytes.toString('utf8'))) throw new NotTextError();
    this.#encoding = 'windows-1252';
    return decodeWindows1252(bytes);
  }
}

function orNotText(decode: () => string): string {
  try {
    return decode();
  } catch {
    throw new NotTextError();
  }
}

/** Decodes without TextDecoder, because some versions of Node decode Windows-1252 as Latin-1. */
function decodeWindows1252(bytes: Buffer): string {
  const latin1 = bytes.toString('latin1');
  if (NO_TABLE.test(latin1) || NO_CHARACTER.test(latin1)) throw new NotTextError();
  return latin1.replace(/[\x80-\x9f]/g, (one) => WINDOWS_1252.charAt(one.charCodeAt(0) - 0x80));
}

/** Returns the number of bytes at the end that begin a UTF-8 character without completing it. */
function unfinished(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] as number;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? back : 0;
  }
  return 0;
}

function encodingOf([first, second]: Buffer): 'utf-8' | 'utf-16le' | 'utf-16be' {
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8';
}
