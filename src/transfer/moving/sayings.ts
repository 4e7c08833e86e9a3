import type { moved } from '../../texts/operators/en/moved';

/** What a move says of rows: a code, and the facts that its sentence names. Each door words it (texts, `moved`). */

export type LeftOutCode = keyof typeof moved.leftOut;
export type WarningCode = keyof typeof moved.warnings;
export type StaysCode = keyof typeof moved.stays;

/** A code alone, or with its facts; never with a cell's text, which may be a key. */
export type LeftOutReason = LeftOutCode | readonly [LeftOutCode, ...string[]];

type Sentences<Code extends string> = Record<Code, string | ((...facts: string[]) => string)>;

/** The sentence of a code. */
export function say<Code extends string>(
  sentences: Sentences<Code>,
  { code, facts }: { code: Code; facts: readonly string[] },
): string {
  const sentence = sentences[code];
  return typeof sentence === 'string' ? sentence : sentence(...facts);
}

export function codeOf(reason: LeftOutReason): { code: LeftOutCode; facts: string[] } {
  if (typeof reason === 'string') return { code: reason, facts: [] };
  const [code, ...facts] = reason;
  return { code, facts };
}
