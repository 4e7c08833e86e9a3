import { requireLabel } from './fields';
import { containsKey } from './core/keys';
import { OperatorError } from './operator-error';

/** A licence's metadata: names and texts that the shop defines. This file is pure: issue.ts and amend.ts store it. */

export type Metadata = Record<string, string>;
/** Changes of metadata; null removes a name. */
export type MetadataChanges = Record<string, string | null>;

export const MAX_METADATA_NAMES = 20;
const NAME = /^[a-z0-9][a-z0-9_.-]{0,39}$/;
/** The maximum length of a text, in code points. */
export const MAX_METADATA_TEXT = 500;

/** Reads a licence's metadata as stored: JSON, or null without any. */
export function readMetadata(stored: string | null): Metadata {
  return stored === null ? {} : (JSON.parse(stored) as Metadata);
}

/** Returns the stored form, sorted by name, so that equal metadata is stored as equal text. */
export function storedMetadata(metadata: Metadata): string | null {
  const entries = Object.entries(metadata).sort(([a], [b]) => (a < b ? -1 : 1));
  return entries.length === 0 ? null : JSON.stringify(Object.fromEntries(entries));
}

/** Checks a change; an empty text becomes null. @throws OperatorError for a forbidden name or text; it repeats neither */
export function requireMetadataChange(name: string, text: string | null): [string, string | null] {
  if (!NAME.test(name) || containsKey(name))
    throw invalid(
      'A name must have 1 to 40 characters of a-z, 0-9, "_", "." and "-", begin with a letter or digit, and not be a licence key.',
    );
  return [
    name,
    text === null || text.trim() === '' ? null : requireLabel(text, 'metadata', MAX_METADATA_TEXT),
  ];
}

/** @throws OperatorError if the result has too many names */
export function mergeMetadata(stored: Metadata, changes: MetadataChanges): Metadata {
  const merged = new Map<string, string | null>(Object.entries({ ...stored, ...changes }));
  const left = [...merged].filter((entry): entry is [string, string] => entry[1] !== null);
  if (left.length > MAX_METADATA_NAMES)
    throw invalid(`A licence has at most ${MAX_METADATA_NAMES} names in its metadata. "NAME=" removes one.`);
  return Object.fromEntries(left);
}

/** Returns the names that differ, with null for a missing name; undefined if none differs. */
export function metadataDifference(
  before: Metadata,
  after: Metadata,
): Record<'before' | 'after', MetadataChanges> | undefined {
  const [was, is] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  const names = [...new Set([...was.keys(), ...is.keys()])]
    .filter((name) => was.get(name) !== is.get(name))
    .sort();
  const pick = (from: Map<string, string>) =>
    Object.fromEntries(names.map((name) => [name, from.get(name) ?? null]));
  return names.length === 0 ? undefined : { before: pick(was), after: pick(is) };
}

/** Reports whether the metadata already equals the result of the changes. */
export function hasMetadata(metadata: Metadata, changes: MetadataChanges): boolean {
  return Object.entries(changes).every(
    ([name, text]) => (Object.hasOwn(metadata, name) ? metadata[name] : null) === text,
  );
}

/** Reports whether a value from a file is metadata that could be stored here. */
export function isMetadata(value: unknown): value is Metadata {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  try {
    const texts = Object.entries(value).map(([name, text]) =>
      typeof text === 'string' ? requireMetadataChange(name, text)[1] : null,
    );
    return texts.length <= MAX_METADATA_NAMES && !texts.includes(null);
  } catch (error) {
    if (error instanceof OperatorError) return false;
    throw error;
  }
}

function invalid(message: string): OperatorError {
  return new OperatorError(message, { code: 'INVALID_REQUEST', field: 'metadata' });
}
