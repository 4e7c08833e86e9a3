import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync, inflateSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { packageRoot } from '../../../src/settings/config';

/** Small PNGs of pages: with a palette of 256 colours, a page has a third of its size. */

const FOLDER = join(packageRoot, 'docs/pictures');
/** The maximum size, so that a picture in a README stays small. */
const MAX_BYTES = 120_000;

/** Writes docs/pictures/NAME.png of a page. @param most the height at which a taller page is cut off */
export async function savePicture(page: Page, name: string, most: number): Promise<void> {
  const { width } = page.viewportSize()!;
  const height = await page.evaluate<number>('document.documentElement.scrollHeight');
  await page.setViewportSize({ width, height: Math.min(height, most) });
  const png = smallPng(await page.screenshot({ animations: 'disabled', caret: 'hide' }));
  if (png.length > MAX_BYTES) throw new Error(`${name}.png has ${png.length} bytes.`);
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(join(FOLDER, `${name}.png`), png);
  process.stdout.write(`${name}.png ${png.length}\n`);
}

interface Picture {
  width: number;
  height: number;
  /** The pixels as 0xRRGGBB. */
  pixels: Uint32Array;
}

/** Returns the picture with at most 256 colours. @param png from a browser: 8 bits, RGB or RGBA */
export function smallPng(png: Buffer): Buffer {
  const { width, height, pixels } = decode(png);
  const { colours, indexOf } = choosePalette(pixels);
  const lines = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) lines[y * (width + 1) + 1 + x] = indexOf.get(pixels[y * width + x]!)!;
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk(
      'PLTE',
      Buffer.from(colours.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255])),
    ),
    chunk('IDAT', deflateSync(lines, { level: 9, memLevel: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

function decode(png: Buffer): Picture {
  const data: Buffer[] = [];
  let [width, height, bytes] = [0, 0, 0];
  for (let at = SIGNATURE.length; at < png.length;) {
    const length = png.readUInt32BE(at);
    const content = png.subarray(at + 8, at + 8 + length);
    const type = png.toString('latin1', at + 4, at + 8);
    if (type === 'IHDR') {
      [width, height] = [content.readUInt32BE(0), content.readUInt32BE(4)];
      bytes = { 2: 3, 6: 4 }[content[9]!] ?? 0;
      if (content[8] !== 8 || bytes === 0 || content[12] !== 0)
        throw new Error('This kind of PNG is not read here.');
    }
    if (type === 'IDAT') data.push(content);
    at += 12 + length;
  }
  const raw = inflateSync(Buffer.concat(data));
  const stride = width * bytes;
  const pixels = new Uint32Array(width * height);
  let above = Buffer.alloc(stride);
  for (let y = 0; y < height; y++) {
    const start = y * (stride + 1);
    const line = raw.subarray(start + 1, start + 1 + stride);
    undoFilter(raw[start]!, line, above, bytes);
    for (let x = 0; x < width; x++) pixels[y * width + x] = line.readUIntBE(x * bytes, 3);
    above = line;
  }
  return { width, height, pixels };
}

/** Reverses PNG's filters (chapter 9 of the specification). */
function undoFilter(filter: number, line: Buffer, above: Buffer, bytes: number): void {
  for (let i = 0; i < line.length; i++) {
    const left = i < bytes ? 0 : line[i - bytes]!;
    const up = above[i]!;
    const corner = i < bytes ? 0 : above[i - bytes]!;
    const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter]!;
    line[i] = (line[i]! + guess) & 255;
  }
}

function paeth(left: number, up: number, corner: number): number {
  const [a, b, c] = [up - corner, left - corner, left + up - 2 * corner].map(Math.abs) as [
    number,
    number,
    number,
  ];
  return a <= b && a <= c ? left : b <= c ? up : corner;
}

/** Chooses the most frequent colours, and for each other colour the nearest of them. */
function choosePalette(pixels: Uint32Array): { colours: number[]; indexOf: Map<number, number> } {
  const counts = new Map<number, number>();
  for (const colour of pixels) counts.set(colour, (counts.get(colour) ?? 0) + 1);
  const all = [...counts].sort(([, a], [, b]) => b - a).map(([colour]) => colour);
  const colours = all.slice(0, 256);
  const nearest = (colour: number) => {
    let best = 0;
    for (let i = 1; i < colours.length; i++)
      if (distance(colours[i]!, colour) < distance(colours[best]!, colour)) best = i;
    return best;
  };
  return { colours, indexOf: new Map(all.map((colour, i) => [colour, i < 256 ? i : nearest(colour)])) };
}

function distance(a: number, b: number): number {
  const parts = [16, 8, 0].map((shift) => ((a >> shift) & 255) - ((b >> shift) & 255));
  return parts.reduce((sum, part) => sum + part * part, 0);
}

function chunk(type: string, content: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), content]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(content.length);
  check.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, check]);
}

/** Computes a CRC-32. Node 20.19 lacks the types of the one in node:zlib. */
function crc32(bytes: Buffer): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}
