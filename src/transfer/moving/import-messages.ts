import type { moved } from '../../texts/operators/en/moved';

/** The codes of remarks about rows, and the values in their sentences. Each interface has its own words (texts, `moved`). */

export type SkipCode = keyof typeof moved.leftOut;
export type WarningCode = keyof typeof moved.warnings;
export type KeptCode = keyof typeof moved.stays;

/** A code, alone or with its values. It never contains a cell's text, which may be a key. */
export type SkipReason = SkipCode | readonly [SkipCode, ...string[]];

type Sentences<Code extends string> = Record<Code, string | ((...facts: string[]) => string)>;

/** Returns the sentence of a code. */
export function importMessageOf<Code extends string>(
  sentences: Sentences<Code>,
  { code, facts }: { code: Code; facts: readonly string[] },
): string {
  const sentence = sentences[code];
  return typeof sentence === 'string' ? sentence : sentence(...facts);
}

export function skipCodeOf(reason: SkipReason): { code: SkipCode; facts: string[] } {
  if (typeof reason === 'string') return { code: reason, facts: [] };
  const [code, ...facts] = reason;
  return { code, facts };
}
